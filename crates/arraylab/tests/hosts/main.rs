//! Load from several hosts: network namespaces on this machine, with a real `sshd` in each. They need root.

#[path = "../it/support.rs"]
#[allow(dead_code)]
mod support;

mod clocks;
mod counts;
mod failures;
mod fio_servers;
mod lab;
mod refusals;
mod scaling;
mod wakeup_latency;

//! The experiment of `arraylab explain host-balance`. Its two agents run in real time, so it is no part of `experiments`, whose tests get
//! only the processor time that others leave: an agent that gets none for 3 s is taken for lost.

use crate::experiments::{OF_HOSTS, differs_without_its_mechanism};

/// Proves that hosts which get the same of a target show it, and those of which one gets most do not.
#[test]
fn even_hosts_show_it() {
    differs_without_its_mechanism(&OF_HOSTS);
}

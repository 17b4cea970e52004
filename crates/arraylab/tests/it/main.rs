//! Black-box tests of the binary: what a user types, and what comes of it.

mod agreement;
mod bad_input;
mod campaigns;
mod command_line;
mod decoders;
mod disk_full;
mod import;
mod kills;
mod real_arrays;
mod searches;
mod served;
mod support;

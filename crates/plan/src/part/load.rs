//! Several loads at once.

use super::{HostChoice, Moment};
use crate::matrix::Assignment;
use crate::source::Place;

/// Target of a load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadTarget {
    /// The `--target` of this number, from 0.
    Number(usize),
    /// The target of this name: the last part of its path or address.
    Name(String),
}

/// One of several loads of a stage.
#[derive(Debug, Clone)]
pub struct LoadTemplate {
    /// Its name in results.
    pub name: String,
    /// Its target; without it, loads and targets are paired in their order, or share the only target.
    pub target: Option<LoadTarget>,
    /// Hosts that it runs on; those of the stage without it.
    pub hosts: Option<HostChoice>,
    /// Start of the load within the case; without it, the start of the case.
    pub start: Option<Moment>,
    pub(crate) start_place: Place,
    pub(crate) settings: Vec<Assignment>,
}

//! Load hosts of a plan, and which of them a load runs on.

use hosts::HostAddress;

/// A host that issues load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanHost {
    /// Its name.
    pub name: String,
    /// Address; the command line may give it instead (`--host NAME=ADDRESS`).
    pub address: Option<HostAddress>,
    /// Its targets, where they have other names there than on the command line.
    pub targets: Vec<String>,
}

/// Use of a volume that several hosts see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VolumeShare {
    /// Each host uses a part of its own.
    Parts,
    /// Each host uses the whole.
    Whole,
}

impl VolumeShare {
    /// The share of this name.
    pub fn of_name(name: &str) -> Option<VolumeShare> {
        [VolumeShare::Parts, VolumeShare::Whole].into_iter().find(|share| share.name() == name)
    }

    /// Its name in plans and manifests.
    pub fn name(self) -> &'static str {
        match self {
            VolumeShare::Parts => "parts",
            VolumeShare::Whole => "whole",
        }
    }
}

/// Jobs of a load that several hosts issue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum JobShare {
    /// Each host runs all of them, as with fio's client and server.
    #[default]
    Each,
    /// Jobs are divided among the hosts, and the columns of a stripe with them: the load is the same from one host or many.
    Divided,
}

impl JobShare {
    /// The share of this name.
    pub fn of_name(name: &str) -> Option<JobShare> {
        [JobShare::Each, JobShare::Divided].into_iter().find(|share| share.name() == name)
    }

    /// Its name in plans.
    pub fn name(self) -> &'static str {
        match self {
            JobShare::Each => "each",
            JobShare::Divided => "divided",
        }
    }
}

/// Hosts that a load runs on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum HostChoice {
    /// All hosts of the run.
    #[default]
    All,
    /// These.
    Named(Vec<String>),
}

impl HostChoice {
    /// Returns true if a host of this name is among them.
    pub fn contains(&self, host: &str) -> bool {
        match self {
            HostChoice::All => true,
            HostChoice::Named(names) => names.iter().any(|name| name == host),
        }
    }
}

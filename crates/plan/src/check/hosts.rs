//! Load hosts: names, addresses, targets, and which of them a load is for.

use super::Checker;
use crate::document::{HostDocument, PlanDocument};
use crate::part::{HostChoice, JobShare, PlanHost, VolumeShare};
use crate::yaml::{Located, OneOrMany};
use crate::{PlanError, PlanErrorKind as Kind};
use array::did_you_mean;
use hosts::{HOSTS_LIMIT, HostAddress, HostError, HostSpec};
use std::collections::BTreeSet;

/// The most targets of a host.
const TARGETS_LIMIT: usize = 1_024;

impl Checker<'_> {
    pub(super) fn hosts(&self, document: &PlanDocument) -> Result<Vec<PlanHost>, PlanError> {
        if let Some(excess) = document.hosts.get(HOSTS_LIMIT) {
            let message = format!("a plan has at most {HOSTS_LIMIT} hosts");
            return Err(self.error(Kind::OverLimit, excess.name.place, message));
        }
        let mut names = BTreeSet::new();
        let mut hosts = Vec::new();
        for host in &document.hosts {
            if !names.insert(host.name.value.as_str()) {
                let message = format!("two hosts are named `{}`", host.name.value);
                return Err(self.error(Kind::Contradiction, host.name.place, message));
            }
            hosts.push(self.host(host)?);
        }
        Ok(hosts)
    }

    fn host(&self, document: &HostDocument) -> Result<PlanHost, PlanError> {
        let refused = |place, error: &HostError| match error {
            HostError::Address { text, problem, hint } => self
                .error(Kind::OutOfRange, place, format!("`{text}` is no host: {problem}"))
                .with_hint(*hint),
            HostError::Failed { hint, .. } => {
                self.error(Kind::OutOfRange, place, error.to_string()).with_hint(hint.as_str())
            }
        };
        HostSpec::new(&document.name.value, "local").map_err(|error| refused(document.name.place, &error))?;
        let address = document.address.as_ref().map(|address| {
            HostAddress::parse(&address.value).map_err(|error| refused(address.place, &error))
        });
        let mut targets = Vec::new();
        if let Some(list) = &document.targets {
            if list.value.0.len() > TARGETS_LIMIT {
                let message = format!("a host has at most {TARGETS_LIMIT} targets");
                return Err(self.error(Kind::OverLimit, list.place, message));
            }
            for target in &list.value.0 {
                if target.value.is_empty() || target.value.chars().any(char::is_control) {
                    return Err(self.error(Kind::OutOfRange, target.place, "a target has a name"));
                }
                targets.push(target.value.clone());
            }
        }
        Ok(PlanHost { name: document.name.value.clone(), address: address.transpose()?, targets })
    }

    pub(super) fn volume_share(
        &self,
        share: Option<&Located<String>>,
    ) -> Result<Option<VolumeShare>, PlanError> {
        let Some(share) = share else { return Ok(None) };
        let Some(known) = VolumeShare::of_name(&share.value) else {
            let message = format!("`share` is `{}`", share.value);
            return Err(self
                .error(Kind::OutOfRange, share.place, message)
                .with_hint("`parts`: each host uses a part of its own; `whole`: each uses all of it"));
        };
        Ok(Some(known))
    }

    pub(super) fn job_share(&self, jobs: Option<&Located<String>>) -> Result<JobShare, PlanError> {
        let Some(jobs) = jobs else { return Ok(JobShare::default()) };
        JobShare::of_name(&jobs.value).ok_or_else(|| {
            let message = format!("`jobs` is `{}`", jobs.value);
            self.error(Kind::OutOfRange, jobs.place, message).with_hint(
                "`each`: each host runs all jobs of a load; `divided`: the hosts run them together",
            )
        })
    }

    /// The hosts that a stage or a load is for. A plan that lists no hosts leaves their names to the command line.
    pub(super) fn host_choice(
        &self,
        choice: Option<&Located<OneOrMany>>,
        known: &[HostDocument],
    ) -> Result<Option<HostChoice>, PlanError> {
        let Some(Located { value: OneOrMany(names), place }) = choice else { return Ok(None) };
        if names.is_empty() || names.len() > HOSTS_LIMIT {
            let message = format!("`hosts` names 1 to {HOSTS_LIMIT} hosts, or is `all`");
            return Err(self.error(Kind::OutOfRange, *place, message));
        }
        if let [only] = names.as_slice()
            && only.value == "all"
        {
            return Ok(Some(HostChoice::All));
        }
        for name in names {
            let is_known = |host: &HostDocument| host.name.value == name.value;
            if HostSpec::new(&name.value, "local").is_err()
                || !(known.is_empty() || known.iter().any(is_known))
            {
                let message = format!("the plan has no host `{}`", name.value);
                let names = known.iter().map(|host| host.name.value.as_str());
                return Err(self
                    .error(Kind::Contradiction, name.place, message)
                    .maybe_hint(did_you_mean(&name.value, names)));
            }
        }
        Ok(Some(HostChoice::Named(names.iter().map(|name| name.value.clone()).collect())))
    }
}

//! Hosts of a run: from the plan and the command line, and back from a manifest.

use crate::CampaignError;
use crate::error::refused;
use crate::remote::connect::OpenHost;
use diagnostic::Problem;
use hosts::{HOSTS_LIMIT, HostAddress, HostSpec, OpenedTarget};
use plan::Plan;
use store::{ManifestHost, ManifestTarget};

/// A host of a run with its targets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunHost {
    pub spec: HostSpec,
    /// Its targets, as it names them.
    pub targets: Vec<String>,
}

/// The hosts of a request (`--host`, `--target @NAME=TARGET`) and its plan, and the targets that are left for this host.
/// No hosts where neither the plan nor the command line says where one is.
pub(crate) fn of_request(
    plan: &Plan,
    given: &[String],
    targets: &[String],
) -> Result<(Vec<RunHost>, Vec<String>), CampaignError> {
    let mut own_targets: Vec<(&str, &str)> = Vec::new();
    let mut common = Vec::new();
    for target in targets {
        match target.strip_prefix('@').map(|rest| rest.split_once('=')) {
            None => common.push(target.clone()),
            Some(Some((host, path))) => own_targets.push((host, path)),
            Some(None) => {
                let problem = Problem::new(format!("`{target}` names no target"));
                return refused(problem.with_hint("write @HOST=TARGET, for example @h1=/dev/sdb"));
            }
        }
    }
    let mut specs: Vec<HostSpec> = Vec::new();
    for text in given {
        let spec = HostSpec::parse(text)?;
        if specs.iter().any(|known| known.name == spec.name) {
            return refused(format!("--host names `{}` twice", spec.name));
        }
        specs.push(spec);
    }
    let mut hosts = Vec::new();
    let mut without_address = Vec::new();
    for host in &plan.hosts {
        let place = specs.iter().position(|spec| spec.name == host.name);
        let address = match (place, &host.address) {
            (Some(place), _) => specs.remove(place).address,
            (None, Some(address)) => address.clone(),
            (None, None) => {
                without_address.push(host.name.as_str());
                continue;
            }
        };
        let spec = HostSpec { name: host.name.clone(), address };
        hosts.push(RunHost { spec, targets: host.targets.clone() });
    }
    hosts.extend(specs.into_iter().map(|spec| RunHost { spec, targets: Vec::new() }));
    if let (false, Some(name)) = (hosts.is_empty(), without_address.first()) {
        let problem = Problem::new(format!("nobody says where the host `{name}` of the plan is"));
        return refused(problem.with_hint(format!("give --host {name}=ssh://USER@HOST")));
    }
    if hosts.len() > HOSTS_LIMIT {
        return refused(format!("{} hosts are more than {HOSTS_LIMIT}", hosts.len()));
    }
    for (name, _) in &own_targets {
        if !hosts.iter().any(|host| host.spec.name == *name) {
            return refused(format!("--target @{name}=… is for a host that the run does not have"));
        }
    }
    for host in &mut hosts {
        let own = own_targets.iter().filter(|(name, _)| *name == host.spec.name);
        let own: Vec<String> = own.map(|(_, path)| (*path).to_owned()).collect();
        if !own.is_empty() {
            host.targets = own;
        } else if host.targets.is_empty() {
            host.targets.clone_from(&common);
        }
        if host.targets.is_empty() {
            let name = &host.spec.name;
            let problem = Problem::new(format!("the host `{name}` has no target"));
            return refused(problem.with_hint(format!("give --target, or --target @{name}=PATH")));
        }
    }
    Ok((hosts, common))
}

/// The hosts as a run keeps them, so that it can be resumed.
pub(crate) fn manifest_hosts(hosts: &[RunHost], open: &[OpenHost]) -> Vec<ManifestHost> {
    let target = |target: &OpenedTarget| ManifestTarget {
        spec: target.spec.clone(),
        identity: target.identity.clone(),
    };
    let one = |(host, open): (&RunHost, &OpenHost)| ManifestHost {
        name: host.spec.name.clone(),
        address: host.spec.address.to_string(),
        targets: open.opened.targets.iter().map(target).collect(),
        facts: open.opened.facts.clone(),
    };
    hosts.iter().zip(open).map(one).collect()
}

/// The hosts of a run that goes on.
pub(crate) fn of_manifest(kept: &[ManifestHost]) -> Result<Vec<RunHost>, CampaignError> {
    let one = |host: &ManifestHost| {
        let spec = HostSpec { name: host.name.clone(), address: HostAddress::parse(&host.address)? };
        Ok(RunHost { spec, targets: host.targets.iter().map(|target| target.spec.clone()).collect() })
    };
    kept.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(hosts: &str) -> Plan {
        let text = format!("title: t\n{hosts}stages:\n  one:\n    settings: {{ rw: read, bs: 4k }}\n");
        plan::parse_plan("test", "test.yaml", &text).unwrap()
    }

    fn hosts(
        plan_hosts: &str,
        given: &[&str],
        targets: &[&str],
    ) -> Result<Vec<(String, String, Vec<String>)>, String> {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        of_request(&plan(plan_hosts), &owned(given), &owned(targets))
            .map(|(hosts, _)| {
                let shown = |host: RunHost| (host.spec.name, host.spec.address.to_string(), host.targets);
                hosts.into_iter().map(shown).collect()
            })
            .map_err(|error| diagnostic::full_text(&error))
    }

    /// Proves that the command line says where hosts of the plan are, and which targets they have.
    #[test]
    fn hosts_come_from_plan_and_command_line() {
        let listed = "hosts: [{ name: a, address: ssh://a, targets: /dev/x }, { name: b }]\n";
        let row =
            |name: &str, address: &str, target: &str| (name.into(), address.into(), vec![target.into()]);
        assert_eq!(
            hosts(listed, &["b=ssh://b", "c=local"], &["/dev/y", "@c=/dev/z"]),
            Ok(vec![
                row("a", "ssh://a", "/dev/x"),
                row("b", "ssh://b", "/dev/y"),
                row("c", "local", "/dev/z")
            ])
        );
        assert_eq!(hosts("", &[], &["/dev/y"]), Ok(Vec::new()));
        assert_eq!(hosts("hosts: [{ name: a }]\n", &[], &["/dev/y"]), Ok(Vec::new()));
    }

    /// Proves that a host without address or target, one that is named twice and a target for nobody are refused by name.
    #[test]
    fn incomplete_hosts_are_refused() {
        let listed = "hosts: [{ name: a, address: ssh://a }, { name: b }]\n";
        assert!(hosts(listed, &[], &["/dev/y"]).unwrap_err().contains("--host b=ssh://"));
        assert!(hosts("", &["a=local", "a=local"], &["/x"]).unwrap_err().contains("twice"));
        assert!(hosts("", &["a=local"], &["@b=/x", "/y"]).unwrap_err().contains("@b="));
        assert!(hosts("", &["a=local", "b=local"], &["@b=/x"]).unwrap_err().contains("`a` has no target"));
        assert!(hosts("", &["a=local"], &["@a"]).unwrap_err().contains("@HOST=TARGET"));
        assert!(hosts("", &["a=http://x"], &["/y"]).unwrap_err().contains("http://x"));
    }
}

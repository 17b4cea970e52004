//! Explanations of data services: what each does, a claim that shows it on a twin, and the values that it rests on.

use serde::Serialize;

/// A data service, explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ServiceExplanation {
    /// Name in `arraylab explain`.
    pub service: &'static str,
    /// Definition.
    pub what: &'static str,
    /// Plan with the claim, whose file is named for the service.
    pub plan: &'static str,
    /// Description of the array where it is no shipped one: its file's name, and its text.
    pub array: Option<(&'static str, &'static str)>,
    /// Target on which the claim holds.
    pub on: &'static str,
    /// The same with the service switched off, on which the claim is refuted.
    pub off: &'static str,
    /// Beginnings of the paths of the array's values that the claim rests on.
    pub rests_on: &'static [&'static str],
}

impl ServiceExplanation {
    /// Name of the plan's file.
    pub fn plan_file(&self) -> String {
        format!("{}.yaml", self.service)
    }

    /// Name or file of the array.
    pub fn array_name(&self) -> &'static str {
        let target = self.on.strip_prefix("twin:").unwrap_or(self.on);
        target.split(',').next().unwrap_or(target)
    }
}

/// All data services that are explained.
pub const SERVICES: [ServiceExplanation; 11] = [
    ServiceExplanation {
        service: "thin",
        what: "Thin provisioning: capacity is allocated with the first write to it, in units. An allocation costs a processor and a record; \
               reads of what was never written ask no drive.",
        plan: include_str!("thin.yaml"),
        array: None,
        on: "twin:reduced-flash,condition=fresh",
        off: "twin:reduced-flash,condition=fresh,thin=off",
        rests_on: &["thin."],
    },
    ServiceExplanation {
        service: "reduction",
        what: "Inline data reduction: written blocks are deduplicated and compressed before they go to the drives. How far they shrink is what the \
               load declares of its content; a processor pays for every byte that comes in.",
        plan: include_str!("reduction.yaml"),
        array: None,
        on: "twin:reduced-flash,write_cache=off",
        off: "twin:reduced-flash,write_cache=off,reduction=off",
        rests_on: &["reduction."],
    },
    ServiceExplanation {
        service: "snapshots",
        what: "Snapshots: the first write to an extent after a snapshot keeps the old one, by a copy (copy-on-write) or by going to a new \
               place (redirect-on-write).",
        plan: include_str!("snapshots.yaml"),
        array: None,
        on: "twin:reduced-flash",
        off: "twin:reduced-flash,snapshots=off",
        rests_on: &["snapshots."],
    },
    ServiceExplanation {
        service: "drive-cache",
        what: "Read cache on drives: what was read once or twice from slow drives is kept on fast ones. Memory is switched off on both sides \
               of the experiment, so that it answers nothing.",
        plan: include_str!("drive-cache.yaml"),
        array: None,
        on: "twin:hybrid-read-cache,read_cache=off",
        off: "twin:hybrid-read-cache,read_cache=off,drive_cache=off",
        rests_on: &["drive_cache.", "groups[0].drives.read"],
    },
    ServiceExplanation {
        service: "tier",
        what: "Tier of fast drives: extents that are read and written most are moved to it from slow drives, and others back. Unlike a cache it \
               has the only copy of what it holds, and writes go to it too.",
        plan: include_str!("tier.yaml"),
        array: Some(("tiered.yaml", include_str!("tiered.yaml"))),
        on: "twin:tiered.yaml",
        off: "twin:tiered.yaml,tier=off",
        rests_on: &["tier.", "groups[0].drives.read"],
    },
    ServiceExplanation {
        service: "mirror",
        what: "Synchronous mirror: a second array has every write before it is answered. Reads stay at home.",
        plan: include_str!("mirror.yaml"),
        array: None,
        on: "twin:two-sites",
        off: "twin:two-sites,mirror=off",
        rests_on: &["mirror."],
    },
    ServiceExplanation {
        service: "replication",
        what: "Asynchronous copies of snapshots to a second array: at every interval a snapshot is taken, and what was changed since the last one \
               crosses. No write waits for it; the second array is as old as the last snapshot that it has whole.",
        plan: include_str!("replication.yaml"),
        array: Some(("copied.yaml", include_str!("copied.yaml"))),
        on: "twin:copied.yaml",
        off: "twin:copied.yaml,replication=off",
        rests_on: &["replication.", "snapshots.", "groups[0].drives.read"],
    },
    ServiceExplanation {
        service: "limits",
        what: "Limits with burst credits: a bucket fills at the limit of a volume up to its credits, which pay for what goes beyond the \
               limit, up to the burst rate.",
        plan: include_str!("limits.yaml"),
        array: Some(("credits.yaml", include_str!("credits.yaml"))),
        on: "twin:credits.yaml",
        off: "twin:credits.yaml,limits=off",
        rests_on: &["volumes[0].limit."],
    },
    ServiceExplanation {
        service: "volume-manager",
        what: "Stripe of a volume manager on the host: units of one volume follow those of the next, and an I/O becomes one for each unit that it \
               touches. What each volume may do adds up, also for I/Os in order.",
        plan: include_str!("volume-manager.yaml"),
        array: Some(("striped.yaml", include_str!("striped.yaml"))),
        on: "twin:striped.yaml",
        off: "twin:striped.yaml,volume_manager=off",
        rests_on: &["volumes[0].stripe_unit", "volumes[0].limit."],
    },
    ServiceExplanation {
        service: "wear",
        what: "Wear of drives with a rated endurance: bytes that they were given, bytes that their flash programmed with what collection \
               moved, and the days until the rating is used up at the mean rate so far. It takes no time.",
        plan: include_str!("wear.yaml"),
        array: Some(("worn.yaml", include_str!("worn.yaml"))),
        on: "twin:worn.yaml,condition=fresh",
        off: "twin:worn.yaml,condition=fresh,wear=off",
        rests_on: &[
            "groups[0].drives.endurance",
            "groups[0].drives.capacity",
            "groups[0].drives.mapping_unit",
        ],
    },
    ServiceExplanation {
        service: "protocol",
        what: "Costs of a protocol in software (iSCSI, NVMe/TCP): processor time of the host's job and of the array's controller for \
               each command.",
        plan: include_str!("protocol.yaml"),
        array: None,
        on: "twin:nas-iscsi-raid6",
        off: "twin:nas-iscsi-raid6,protocol=off",
        rests_on: &["fabric.initiator", "fabric.target", "controllers.read", "controllers.processors"],
    },
];

/// Explains a data service by its name, also with `_` for `-`, as switches have it.
pub fn explain_service(name: &str) -> Option<&'static ServiceExplanation> {
    let name = name.replace('_', "-");
    SERVICES.iter().find(|explained| explained.service == name)
}

//! Data guard: decides whether a target may be written.

use crate::block::BlockDevice;
use crate::classify::Classification;
use crate::content::{Content, Signature};
use crate::inspect::{Inspected, Subject};
use crate::lvm::VolumeGroup;
use crate::origin::Origin;
use crate::roots::Roots;
use diagnostic::Diagnostic;
use std::borrow::Cow;

/// Says what may be written. It has no way to be switched off.
#[derive(Debug, Clone, Default)]
pub struct Guard {
    pub(crate) roots: Roots,
}

/// Reason why a target is not written. Nothing has been touched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GuardRefusal {
    /// No consent helps.
    #[error("`{target}` is never written: {}", reasons.join("; "))]
    Forbidden {
        /// Target as named by the user.
        target: String,
        /// Reasons that forbid it.
        reasons: Vec<String>,
        /// Remedy for the first of the reasons.
        hint: &'static str,
    },
    /// The target may be written once the user consents.
    #[error(
        "`{target}` holds data: {holds}{}",
        wrong_consent.as_ref().map(|given| format!("; {given} is not its ID")).unwrap_or_default()
    )]
    ConsentNeeded {
        /// Target as named by the user.
        target: String,
        /// Data that would be lost.
        holds: String,
        /// Consent ID that permits the loss.
        id: String,
        /// An ID that was given and looks as if it was meant for this target.
        wrong_consent: Option<String>,
    },
    /// The target has changed since its inspection.
    #[error("`{target}` has changed since it was looked at: {what}")]
    Changed {
        /// Target as named by the user.
        target: String,
        /// Description of the change.
        what: String,
    },
    /// Another program, or another run, has it.
    #[error("`{target}` is in use: {what}")]
    InUse {
        /// Target as named by the user.
        target: String,
        /// Evidence of the use.
        what: String,
    },
}

impl Diagnostic for GuardRefusal {
    fn hint(&self) -> Option<Cow<'_, str>> {
        Some(match self {
            GuardRefusal::Forbidden { hint, .. } => (*hint).into(),
            GuardRefusal::ConsentNeeded { id, .. } => {
                format!("everything on it will be lost with --overwrite-data {id}").into()
            }
            GuardRefusal::Changed { .. } => "start again, and look at the new ID".into(),
            GuardRefusal::InUse { .. } => "end the other program or run first".into(),
        })
    }
}

impl Guard {
    /// A guard that reads the host at `roots`.
    pub fn new(roots: Roots) -> Self {
        Guard { roots }
    }

    /// Checks that `inspected` may be written with these consents. Touches nothing; with several targets, ask for
    /// all of them before the first permit.
    pub fn check_write(&self, inspected: &Inspected, consents: &[String]) -> Result<(), GuardRefusal> {
        let target = inspected.spec.to_string();
        let (reasons, holds) = match &inspected.subject {
            Subject::NewFile { .. } | Subject::Null => return Ok(()),
            Subject::Nbd(nbd) => {
                let read_only = nbd.export.read_only.then(|| "the server exports it read-only".to_owned());
                let reasons = nbd.users.iter().cloned().chain(read_only).collect();
                (reasons, Some("an NBD export, whose content arraylab did not make".to_owned()))
            }
            Subject::Existing(Classification::File(file)) => (file.users.clone(), foreign_data(file.origin)),
            Subject::Existing(Classification::BlockDevice { device, content, claimed, .. }) => (
                reasons_not_to_write(device, content.as_ref(), *claimed),
                Some(device_data(device, content.as_ref())),
            ),
        };
        if let Some(first) = reasons.first() {
            let hint = hint_for(first);
            return Err(GuardRefusal::Forbidden { target, reasons, hint });
        }
        let (Some(holds), Some(id)) = (holds, &inspected.consent_id) else { return Ok(()) };
        if consents.iter().any(|consent| consent == id) {
            return Ok(());
        }
        let readable = id.rsplit_once('-').map_or(id.as_str(), |(name, _)| name);
        let wrong_consent = consents
            .iter()
            .find(|consent| consent.rsplit_once('-').is_some_and(|(name, _)| name == readable))
            .cloned();
        Err(GuardRefusal::ConsentNeeded { target, holds, id: id.clone(), wrong_consent })
    }
}

fn foreign_data(origin: Origin) -> Option<String> {
    match origin {
        Origin::Ours => None,
        Origin::OursUnclean => {
            Some("arraylab created it, but its last run on it did not end cleanly".to_owned())
        }
        Origin::OursChanged => {
            Some("arraylab created it, but it has been changed or copied since".to_owned())
        }
        Origin::Foreign => Some("it is a file that arraylab did not create".to_owned()),
    }
}

/// Reasons from sysfs, from the content (a partition table that the kernel has not read) and from the kernel itself.
fn reasons_not_to_write(device: &BlockDevice, content: Option<&Content>, claimed: bool) -> Vec<String> {
    let mut reasons = device.reasons_not_to_write();
    if device.usage.partitions.is_empty() {
        let tables = content.into_iter().flat_map(|c| &c.signatures).filter(|s| s.is_partition_table());
        reasons.extend(tables.map(|table| format!("it is partitioned (it begins with {})", table.noun())));
    }
    if let Some(group) = content.and_then(|content| content.volume_group.as_ref())
        && !group.active_volumes.is_empty()
        && !device.usage.holders.iter().any(|holder| group.active_volumes.contains(&holder.name))
    {
        let VolumeGroup { name, active_volumes, .. } = group;
        reasons.push(format!(
            "it belongs to LVM volume group {name}, which is active ({})",
            active_volumes.join(", ")
        ));
    }
    if claimed && reasons.is_empty() {
        reasons.push("the kernel says that something has opened it for itself".to_owned());
    }
    reasons
}

fn device_data(device: &BlockDevice, content: Option<&Content>) -> String {
    let name = match (&device.model, &device.serial) {
        (Some(model), Some(serial)) => format!("{model}, serial {serial}, "),
        (Some(model), None) => format!("{model}, "),
        _ => String::new(),
    };
    let found = match content {
        None => "its content could not be read".to_owned(),
        Some(content) if !content.signatures.is_empty() => {
            content.signatures.iter().map(|s| signature_with_name(*s, content)).collect::<Vec<_>>().join(", ")
        }
        Some(content) if content.begins_with_zeros => {
            "it begins with zeros, which does not prove that it is empty".to_owned()
        }
        Some(_) => "data of no known format".to_owned(),
    };
    let unseen = device.fabric.map(|fabric| {
        format!("; it is reached over {fabric}, and whether other hosts use it cannot be seen from here")
    });
    format!(
        "block device {} ({name}{}): {found}{}",
        device.kernel_name,
        units::human_bytes(device.size_bytes),
        unseen.unwrap_or_default()
    )
}

fn signature_with_name(signature: Signature, content: &Content) -> String {
    match &content.volume_group {
        Some(group) if signature == Signature::LvmPhysicalVolume => {
            format!("{} of volume group {}", signature.noun(), group.name)
        }
        _ => signature.noun().to_owned(),
    }
}

fn hint_for(reason: &str) -> &'static str {
    if reason.contains("open for writing by") {
        "end that program if this is the right one, or choose another target"
    } else if reason.contains("is exported by") {
        "whoever uses the export may write to it: remove the export if this is the right one, or choose another target"
    } else if reason.contains("volume group") {
        "take it out of its volume group (pvmove, vgreduce, pvremove), or choose another target"
    } else if reason.starts_with("/dev/") && !reason.contains("one path of") {
        "both lead to the same bytes: take the other one out of use if this is the right disk, or choose another target"
    } else if reason.contains("mounted") {
        "unmount it if it is the right one, or choose another target"
    } else if reason.contains("partitioned") {
        "name one of its partitions, or remove the partition table (wipefs -a) if it is the right device"
    } else if reason.contains("one path of") {
        "name the multipath device under /dev/mapper instead"
    } else if reason.contains("read-only") {
        "make it writable, or run a plan that only reads"
    } else {
        "take it out of use if it is the right one, or choose another target"
    }
}

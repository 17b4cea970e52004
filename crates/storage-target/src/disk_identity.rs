//! Disk identity, to tell whether two block devices are one disk.

use crate::sysfs::{attribute, kernel_name, serial, vendor_and_model};
use std::fs;
use std::path::Path;

/// The names by which a disk can be known on two paths. Blank and placeholder values are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DiskIdentity {
    /// NAA, EUI-64, NGUID, UUID or T10 designator, as the kernel chose it.
    wwn: Option<String>,
    /// All identifiers of an NVMe namespace: EUI-64, NGUID and UUID.
    namespace_ids: Vec<(&'static str, String)>,
    /// Name of an NVMe namespace: namespaces of one controller share its serial number.
    namespace: Option<String>,
    serial: Option<String>,
    model: Option<String>,
    size_sectors: Option<String>,
    /// Host, channel and target of a SCSI device, without the LUN.
    scsi_target: Option<String>,
    /// UUID of an md array or a device-mapper device.
    uuid: Option<String>,
}

impl DiskIdentity {
    /// Reads the whole device whose sysfs directory this is.
    pub(crate) fn read(directory: &Path) -> Self {
        let device = directory.join("device");
        let id = |name: &str| {
            attribute(directory, name).map(|text| normalized(&text)).filter(|text| !is_placeholder(text))
        };
        let namespace_ids = [("EUI-64", id("eui")), ("NGUID", id("nguid")), ("UUID", id("uuid"))].into_iter();
        let wwn = attribute(directory, "wwid")
            .or_else(|| attribute(&device, "wwid"))
            .or_else(|| wwn_of_multipath_map(directory));
        DiskIdentity {
            wwn: wwn.map(|wwn| wwn.to_ascii_lowercase()).filter(|wwn| is_wwn(wwn)),
            namespace_ids: namespace_ids.filter_map(|(kind, id)| Some((kind, id?))).collect(),
            namespace: attribute(directory, "nsid").or_else(|| namespace_of(&kernel_name(directory))),
            serial: serial(directory).filter(|serial| !is_placeholder(&normalized(serial))),
            model: vendor_and_model(directory),
            size_sectors: attribute(directory, "size"),
            scsi_target: fs::canonicalize(&device).ok().and_then(|device| scsi_target(&device)),
            uuid: attribute(directory, "md/uuid").or_else(|| attribute(directory, "dm/uuid")),
        }
    }

    /// Returns true if this is its WWN or an identifier of its namespace, in any spelling. A blank or a placeholder
    /// identifies no disk.
    pub(crate) fn has_wwn(&self, wwn: &str) -> bool {
        let wanted = designator(wwn);
        let ids = self.namespace_ids.iter().map(|(_, id)| id.clone());
        !wanted.is_empty() && self.wwn.iter().map(|wwn| designator(wwn)).chain(ids).any(|id| id == wanted)
    }

    /// Returns true if this is its serial number. A blank or a placeholder identifies no disk.
    pub(crate) fn has_serial(&self, serial: &str) -> bool {
        self.serial.as_deref().map(str::trim) == Some(serial.trim())
    }

    /// Returns the identifier that proves both to be one disk: "WWN naa.5000c5007a000001"; `None` if they are two
    /// disks, or if nothing proves that they are one.
    pub(crate) fn same_disk(&self, other: &DiskIdentity) -> Option<String> {
        if let (Some(ours), Some(theirs)) = (&self.wwn, &other.wwn)
            && ours == theirs
        {
            return Some(format!("WWN {ours}"));
        }
        if let Some((kind, id)) = self.namespace_ids.iter().find(|id| other.namespace_ids.contains(id)) {
            return Some(format!("{kind} {id}"));
        }
        if let Some(uuid) = self.uuid.as_ref().filter(|uuid| other.uuid.as_ref() == Some(*uuid)) {
            return Some(format!("UUID {uuid}"));
        }
        let serial = self.serial.as_ref().filter(|serial| other.serial.as_ref() == Some(*serial))?;
        // An array may give all its LUNs one serial number, a controller its namespaces: then the WWN decides, the
        // namespace or the LUN on the same target.
        let have_other_names = self.wwn.is_some() && other.wwn.is_some();
        let are_two_luns = self.scsi_target.is_some() && self.scsi_target == other.scsi_target;
        let agree = self.model == other.model
            && self.namespace == other.namespace
            && self.size_sectors.is_some()
            && self.size_sectors == other.size_sectors;
        (agree && !have_other_names && !are_two_luns)
            .then(|| format!("serial number {serial}, model and size"))
    }
}

/// A designator without its kind: `naa.5000C5007A000001`, `0x5000c5007a000001` and `5000c5007a000001` are one.
fn designator(wwn: &str) -> String {
    let lower = wwn.to_ascii_lowercase();
    let bare = ["naa.", "eui.", "uuid.", "t10.", "0x"].iter().find_map(|kind| lower.strip_prefix(kind));
    normalized(bare.unwrap_or(&lower))
}

/// Letters and digits alone: `00 25 38 4b` and `0025-384b` are one identifier.
fn normalized(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// Values of devices that have no number of their own (USB bridges, virtual disks, firmware left blank).
fn is_placeholder(normalized: &str) -> bool {
    let mut bytes = normalized.bytes();
    let Some(first) = bytes.next() else { return true };
    if bytes.all(|byte| byte == first) {
        return true;
    }
    const COUNTED_UP: &str = "0123456789abcdef0123456789abcdef0123456789";
    const WORDS: [&str; 9] = [
        "none",
        "null",
        "unknown",
        "default",
        "serial",
        "serialnumber",
        "tobefilledbyoem",
        "notset",
        "invalid",
    ];
    // `1` and `0001` are a tool's default.
    normalized.len() >= 6 && COUNTED_UP.contains(normalized)
        || WORDS.contains(&normalized)
        || normalized.trim_start_matches('0').len() <= 1
}

/// Returns true if a designator identifies one disk: `naa.0000000000000000`, and a designator made from a blank
/// serial number, do not.
fn is_wwn(wwn: &str) -> bool {
    let (kind, designator) = wwn.split_once('.').unwrap_or(("", wwn));
    match kind {
        // t10.VENDOR  MODEL  SERIAL
        "t10" => {
            designator.split_whitespace().count() > 1
                && designator
                    .split_whitespace()
                    .next_back()
                    .is_some_and(|last| !is_placeholder(&normalized(last)))
        }
        // nvme.VENDOR-SERIAL-MODEL-NAMESPACE, serial and model as hexadecimal text
        "nvme" => {
            designator.split('-').nth(1).is_some_and(|serial| !is_placeholder(&normalized(&text_of(serial))))
        }
        // The first digit of a NAA designator is its type; zeros behind it are an unset number.
        _ => {
            let digits = normalized(designator);
            !is_placeholder(&digits) && digits.bytes().skip(1).any(|byte| byte != b'0')
        }
    }
}

/// `30303031` → `0001`.
fn text_of(hexadecimal: &str) -> String {
    let digits: Vec<u8> = hexadecimal.chars().filter_map(|c| c.to_digit(16).map(|d| d as u8)).collect();
    digits.chunks(2).map(|pair| char::from(pair.iter().fold(0, |byte, digit| byte << 4 | digit))).collect()
}

/// `nvme0n2` → `2`.
fn namespace_of(kernel_name: &str) -> Option<String> {
    let (_, namespace) = kernel_name.strip_prefix("nvme")?.rsplit_once('n')?;
    Some(namespace.to_owned())
}

/// `…/target5:0:0/5:0:0:1` → `5:0:0`.
fn scsi_target(device: &Path) -> Option<String> {
    let address = device.file_name()?.to_string_lossy().into_owned();
    let fields: Vec<&str> = address.split(':').collect();
    let is_address = fields.len() == 4 && fields.iter().all(|f| f.bytes().all(|b| b.is_ascii_digit()));
    is_address.then(|| fields[..3].join(":"))
}

/// The designator that a disk gives every path to it: `dm/uuid` of a multipath map is `mpath-` and the WWID of
/// multipath-tools (the designator's type as a digit, then the designator).
fn wwn_of_multipath_map(directory: &Path) -> Option<String> {
    let wwid = attribute(directory, "dm/uuid")?.strip_prefix("mpath-")?.to_owned();
    let kinds = [("3", "naa."), ("2", "eui."), ("1", "t10.")];
    if wwid.contains('.') {
        // NVMe: the map has the kernel's own wwid.
        return Some(wwid);
    }
    kinds.iter().find_map(|(digit, prefix)| Some(format!("{prefix}{}", wwid.strip_prefix(digit)?)))
}

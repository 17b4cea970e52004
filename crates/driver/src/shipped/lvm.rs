//! Striped and RAID logical volumes: `lvcreate`, `lvremove`, `lvs` (lvm(8), lvmraid(7)).
//!
//! A volume is made of free extents of a volume group that the user named, so nobody's data is overwritten; only a
//! volume with our name *and* our tag is removed.

use crate::command::{Answer, run};
use crate::names::PREFIX;
use crate::shipped::request::Request;
use crate::shipped::volume::{Creation, Permission, RoundedSize, Volume, VolumeState, VolumeTool};
use crate::{CommandLimits, DriverError, Options};
use diagnostic::Problem;
use serde_json::Value;
use std::path::PathBuf;

const HINT: &str = "expected is the output of lvs --reportformat json";
const VGS_HINT: &str = "expected is the output of vgs --reportformat json";
const TAG: &str = "arraylab";

/// The tools and the volume group.
pub(crate) struct Lvm {
    lvcreate: PathBuf,
    lvremove: PathBuf,
    lvs: PathBuf,
    vgs: PathBuf,
    group: String,
    limits: CommandLimits,
}

impl Lvm {
    pub(crate) fn new(
        options: &mut Options,
        tools: Option<&str>,
        limits: CommandLimits,
    ) -> Result<(Self, String), DriverError> {
        let group = options.required(
            "group",
            "name the volume group: exec:lvm,group=vg0,drives=/dev/sdb+/dev/sdc,size=12g",
        )?;
        // lvm(8), VALID NAMES; a leading `-` would be an option.
        let valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '_' | '.' | '-');
        if group.starts_with('-') || !group.chars().all(valid) {
            return Err(options
                .problem("gives a group= that is no name of a volume group", "see lvm(8), VALID NAMES"));
        }
        let tool = |name| Options::tool(tools, &["/usr/sbin", "/sbin"], name);
        let lvm = Lvm {
            lvcreate: tool("lvcreate"),
            lvremove: tool("lvremove"),
            lvs: tool("lvs"),
            vgs: tool("vgs"),
            limits,
            group: group.clone(),
        };
        Ok((lvm, format!("group={group}")))
    }

    fn run(&self, tool: &PathBuf, arguments: &[String]) -> Result<Answer, DriverError> {
        run(tool, arguments, b"", self.limits)?.successful()
    }
}

impl VolumeTool for Lvm {
    const NOUN: &'static str = "logical volume";
    const HAS_WRITE_CACHE: bool = false;
    const INITIALISES: bool = false;
    const DIFFERENCE_HINT: &'static str =
        "LVM rounds to whole extents of each stripe; `lvs --options +stripes,stripe_size` says what it made";

    fn unsupported(&self, request: &Request) -> Option<String> {
        // lvmraid(7): LVM wants three drives of data under RAID 6, and whole mirrors under RAID 10.
        let drives = request.drives.len();
        let least = match request.raid {
            0 => 1,
            1 => 2,
            5 => 3,
            6 => 5,
            _ => 4,
        };
        if drives < least {
            return Some(format!("RAID {} of LVM needs at least {least} drives, not {drives}", request.raid));
        }
        if request.raid == 10 && drives % 2 == 1 {
            return Some(format!("RAID 10 of LVM needs an even number of drives, not {drives}"));
        }
        request.size_bytes.is_none().then(|| "a volume needs a size: give the driver size=".to_owned())
    }

    /// Up to whole extents of the volume group, as many on each stripe (lvcreate(8), `--size` and `--stripes`).
    fn rounded_size(&self, request: &Request) -> Result<Option<RoundedSize>, DriverError> {
        let Some(wanted) = request.size_bytes else { return Ok(None) };
        let arguments = [
            "--reportformat",
            "json",
            "--units",
            "b",
            "--nosuffix",
            "--options",
            "vg_extent_size",
            &self.group,
        ];
        let answer = self.run(&self.vgs, &arguments.map(str::to_owned))?;
        let report: Value = serde_json::from_str(&answer.stdout)
            .map_err(|error| answer.not_understood(format!("it is not JSON: {error}"), VGS_HINT))?;
        let extent_bytes: u64 = report["report"][0]["vg"][0]["vg_extent_size"]
            .as_str()
            .and_then(|size| size.trim().parse().ok())
            .filter(|&bytes| bytes > 0)
            .ok_or_else(|| answer.not_understood("no `vg_extent_size`", VGS_HINT))?;
        let unit_bytes = extent_bytes.saturating_mul(data_stripes(request) as u64);
        let bytes = wanted.div_ceil(unit_bytes).saturating_mul(unit_bytes);
        Ok(Some(RoundedSize { bytes, unit_bytes }))
    }

    fn check_drives(&self, _request: &Request, _permission: &Permission<'_>) -> Result<(), DriverError> {
        // lvcreate takes free extents only.
        Ok(())
    }

    fn list(&self) -> Result<Vec<Volume>, DriverError> {
        let arguments = [
            "--reportformat",
            "json",
            "--units",
            "b",
            "--nosuffix",
            "--options",
            "lv_name,lv_uuid,lv_path,lv_size,lv_active,segtype,stripes,stripe_size,lv_tags,sync_percent,lv_health_status",
            &self.group,
        ];
        let answer = self.run(&self.lvs, &arguments.map(str::to_owned))?;
        let report: Value = serde_json::from_str(&answer.stdout)
            .map_err(|error| answer.not_understood(format!("it is not JSON: {error}"), HINT))?;
        let entries = report["report"][0]["lv"]
            .as_array()
            .ok_or_else(|| answer.not_understood("no list of volumes", HINT))?;
        let mut volumes = Vec::new();
        for entry in entries {
            let text = |key: &str| entry[key].as_str().map(str::trim).filter(|text| !text.is_empty());
            let missing = |key: &str| answer.not_understood(format!("a volume without `{key}`"), HINT);
            let name = text("lv_name").ok_or_else(|| missing("lv_name"))?;
            if !name.starts_with(PREFIX) {
                continue;
            }
            if !text("lv_tags").is_some_and(|tags| tags.split(',').any(|tag| tag == TAG)) {
                return Err(DriverError::Protected {
                    what: format!("logical volume {}/{name}", self.group),
                    source: Problem::new(format!("it lacks the tag `{TAG}`")).with_hint(format!(
                        "if arraylab may remove it: lvchange --addtag {TAG} {}/{name}",
                        self.group
                    )),
                });
            }
            let size_bytes =
                text("lv_size").and_then(|size| size.parse().ok()).ok_or_else(|| missing("lv_size"))?;
            let stripes: usize =
                text("stripes").and_then(|n| n.parse().ok()).ok_or_else(|| missing("stripes"))?;
            volumes.push(Volume {
                id: format!("{}/{name}", self.group),
                name: name.to_owned(),
                raid: raid_level(text("segtype").ok_or_else(|| missing("segtype"))?),
                size_bytes: Some(size_bytes),
                segment_bytes: text("stripe_size")
                    .and_then(|size| size.parse().ok())
                    .filter(|&bytes: &u64| bytes > 0 && stripes > 1),
                write_cache: None,
                drives: vec![],
                device: text("lv_path").map(PathBuf::from),
                identity: Some(text("lv_uuid").ok_or_else(|| missing("lv_uuid"))?.to_owned()),
                state: state(text("lv_active"), text("lv_health_status"), text("sync_percent")),
            });
        }
        Ok(volumes)
    }

    fn delete(&self, volume: &Volume, _permission: &Permission<'_>) -> Result<(), DriverError> {
        self.run(&self.lvremove, &["--yes".to_owned(), volume.id.clone()]).map(drop)
    }

    fn create(
        &self,
        name: &str,
        request: &Request,
        _permission: &Permission<'_>,
    ) -> Result<Creation, DriverError> {
        let mut arguments: Vec<String> =
            ["--yes", "--wipesignatures", "y", "--addtag", TAG, "--name", name, "--size"]
                .map(str::to_owned)
                .to_vec();
        arguments.push(format!("{}b", request.size_bytes.unwrap_or_default()));
        let kind = match request.raid {
            0 => "striped".to_owned(),
            raid => format!("raid{raid}"),
        };
        arguments.extend(["--type".to_owned(), kind]);
        match request.raid {
            1 => arguments.extend(["--mirrors".to_owned(), (request.drives.len() - 1).to_string()]),
            10 => arguments.extend(["--mirrors".to_owned(), "1".to_owned()]),
            _ => {}
        }
        if request.raid != 1 {
            arguments.extend(["--stripes".to_owned(), data_stripes(request).to_string()]);
        }
        if data_stripes(request) > 1 {
            arguments.extend(["--stripesize".to_owned(), format!("{}k", request.segment_bytes >> 10)]);
        }
        arguments.push(self.group.clone());
        arguments.extend(request.drives.iter().cloned());
        self.run(&self.lvcreate, &arguments)?;
        Ok(Creation::Created)
    }

    fn initialise(&self, _volume: &Volume) -> Result<(), DriverError> {
        Ok(())
    }

    fn state(&self, volume: &Volume) -> Result<VolumeState, DriverError> {
        let now = self.list()?.into_iter().find(|v| v.identity == volume.identity);
        now.map(|volume| volume.state).ok_or_else(|| DriverError::Unexpected {
            what: format!("logical volume {} has gone", volume.id),
            hint: "was it removed by somebody else?",
        })
    }
}

/// Drives' worth of data in a stripe; the size of a volume is a multiple of as many extents.
fn data_stripes(request: &Request) -> usize {
    let drives = request.drives.len();
    match request.raid {
        0 => drives.max(1),
        1 => 1,
        5 => drives - 1,
        6 => drives - 2,
        _ => drives / 2,
    }
}

/// RAID level of a segment type: `linear`, `striped`, `raid1`, `raid5_ls`, `raid6_zr`, `raid10` (lvmraid(7)).
fn raid_level(segment_type: &str) -> Option<u8> {
    match segment_type {
        "linear" | "striped" => Some(0),
        other => other.strip_prefix("raid")?.split('_').next()?.parse().ok(),
    }
}

/// From the columns `lv_active`, `lv_health_status` and `sync_percent` of lvs(8).
fn state(active: Option<&str>, health: Option<&str>, sync_percent: Option<&str>) -> VolumeState {
    if active != Some("active") {
        return VolumeState::Unusable(active.unwrap_or("not active").to_owned());
    }
    if let Some(problem) = health {
        return VolumeState::Unusable(problem.to_owned());
    }
    match sync_percent.and_then(|percent| percent.parse::<f64>().ok()) {
        Some(percent) if percent < 100.0 => {
            VolumeState::Busy { percent: Some(percent), state: "synchronising".to_owned() }
        }
        _ => VolumeState::Ready,
    }
}

//! Dell OpenManage Server Administrator: `omconfig storage …`, `omreport storage …` (Dell's CLI User's Guide).
//!
//! Reports are asked for as `-fmt ssv`: a header line that begins with `ID;`, then a line for each object. Older and
//! newer versions differ in columns, so columns are found by their names.

use crate::command::{Answer, run};
use crate::shipped::request::Request;
use crate::shipped::volume::{Creation, Permission, Volume, VolumeState, VolumeTool};
use crate::{CommandLimits, DriverError, Options};
use std::collections::BTreeMap;
use std::path::PathBuf;

const INSTALLED: &[&str] = &["/opt/dell/srvadmin/bin", "/opt/dell/srvadmin/sbin"];
const HINT: &str = "expected is the output of omreport storage … -fmt ssv";
/// Words of `omconfig` that are about the host or the moment, not about the set that was asked for.
const NOT_ABOUT_THE_SET: &[&str] = &[
    "privilege",
    "permission",
    "not running",
    "not available",
    "timed out",
    "in progress",
    "controller does not exist",
];

/// The tools and the controller.
pub(crate) struct OpenManage {
    omconfig: PathBuf,
    omreport: PathBuf,
    controller: u32,
    limits: CommandLimits,
}

impl OpenManage {
    pub(crate) fn new(
        options: &mut Options,
        tools: Option<&str>,
        limits: CommandLimits,
    ) -> Result<(Self, String), DriverError> {
        let controller = options.number("controller", 0)?;
        let tool = OpenManage {
            omconfig: Options::tool(tools, INSTALLED, "omconfig"),
            omreport: Options::tool(tools, INSTALLED, "omreport"),
            controller,
            limits,
        };
        Ok((tool, format!("controller={controller}")))
    }

    fn configure(&self, words: &[String]) -> Result<Answer, DriverError> {
        let mut arguments = vec!["storage".to_owned()];
        arguments.extend_from_slice(words);
        run(&self.omconfig, &arguments, b"", self.limits)
    }

    /// A change that must succeed; `omconfig` says so in words besides its exit status.
    fn change(&self, words: &[String]) -> Result<(), DriverError> {
        let answer = self.configure(words)?;
        if succeeded(&answer) { Ok(()) } else { Err(answer.failure()) }
    }

    fn report(&self, object: &str, vdisk: Option<&str>) -> Result<Vec<Row>, DriverError> {
        let mut arguments =
            vec!["storage".to_owned(), object.to_owned(), format!("controller={}", self.controller)];
        arguments.extend(vdisk.map(|id| format!("vdisk={id}")));
        arguments.extend(["-fmt".to_owned(), "ssv".to_owned()]);
        let answer = run(&self.omreport, &arguments, b"", self.limits)?.successful()?;
        rows(&answer)
    }

    fn volume(&self, row: &Row, answer_of: &str) -> Result<Volume, DriverError> {
        let column = |name: &str| {
            row.get(name).map(String::as_str).filter(|v| !v.is_empty()).ok_or_else(|| DriverError::Answer {
                from: answer_of.to_owned(),
                problem: format!("a virtual disk without `{name}`"),
                hint: HINT,
            })
        };
        let id = column("ID")?.to_owned();
        let layout = column("Layout")?;
        let drives = self
            .report("pdisk", Some(&id))?
            .into_iter()
            .filter_map(|drive| drive.get("ID").cloned())
            .collect();
        Ok(Volume {
            name: column("Name")?.to_owned(),
            raid: layout.to_ascii_uppercase().strip_prefix("RAID-").and_then(|level| level.parse().ok()),
            size_bytes: bytes_in_parentheses(column("Size")?),
            segment_bytes: row
                .get("Stripe Element Size")
                .and_then(|size| units::parse_bytes(&size.replace(' ', "")).ok()),
            write_cache: row.get("Write Policy").and_then(|policy| match policy.to_ascii_lowercase() {
                policy if policy.contains("write through") => Some(false),
                policy if policy.contains("write back") => Some(true),
                _ => None,
            }),
            drives,
            device: row.get("Device Name").filter(|name| name.starts_with('/')).map(PathBuf::from),
            identity: None,
            state: state(column("State")?, row.get("Progress")),
            id,
        })
    }
}

impl VolumeTool for OpenManage {
    const NOUN: &'static str = "virtual disk";
    const HAS_WRITE_CACHE: bool = true;
    const INITIALISES: bool = true;
    const DIFFERENCE_HINT: &'static str = "the controller changed a setting by itself; a write cache, for example, is off without a charged battery";

    fn unsupported(&self, _request: &Request) -> Option<String> {
        // What the controller cannot make it says itself.
        None
    }

    fn check_drives(&self, request: &Request, _permission: &Permission<'_>) -> Result<(), DriverError> {
        let known: BTreeMap<String, String> = self
            .report("pdisk", None)?
            .into_iter()
            .filter_map(|mut row| Some((row.remove("ID")?, row.remove("State").unwrap_or_default())))
            .collect();
        for drive in &request.drives {
            let problem = match known.get(drive).map(String::as_str) {
                // Online: in a virtual disk already, perhaps ours.
                Some("Ready" | "Online") => continue,
                Some(state) => format!("physical disk {drive} is {state}"),
                None => format!("controller {} has no physical disk {drive}", self.controller),
            };
            return Err(DriverError::Unexpected {
                what: problem,
                hint: "omreport storage pdisk controller=N lists the disks; drives= must name Ready ones",
            });
        }
        Ok(())
    }

    fn list(&self) -> Result<Vec<Volume>, DriverError> {
        let rows = self.report("vdisk", None)?;
        rows.iter().map(|row| self.volume(row, "omreport storage vdisk")).collect()
    }

    fn delete(&self, volume: &Volume, _permission: &Permission<'_>) -> Result<(), DriverError> {
        self.change(&[
            "vdisk".to_owned(),
            "action=deletevdisk".to_owned(),
            format!("controller={}", self.controller),
            format!("vdisk={}", volume.id),
        ])
    }

    fn create(
        &self,
        name: &str,
        request: &Request,
        _permission: &Permission<'_>,
    ) -> Result<Creation, DriverError> {
        let size = match request.size_bytes {
            None => "max".to_owned(),
            Some(bytes) if bytes % (1 << 30) == 0 => format!("{}g", bytes >> 30),
            Some(bytes) => format!("{}m", bytes >> 20),
        };
        let answer = self.configure(&[
            "controller".to_owned(),
            "action=createvdisk".to_owned(),
            format!("controller={}", self.controller),
            format!("raid=r{}", request.raid),
            format!("size={size}"),
            format!("pdisk={}", request.drives.join(",")),
            format!("stripesize={}kb", request.segment_bytes >> 10),
            "readpolicy=nra".to_owned(),
            format!("writepolicy={}", if request.write_cache { "wb" } else { "wt" }),
            format!("name={name}"),
        ])?;
        if succeeded(&answer) {
            return Ok(Creation::Created);
        }
        let reason = crate::error::excerpt(&format!("{} {}", answer.stdout, answer.stderr));
        let lower = reason.to_ascii_lowercase();
        let is_refusal = lower.contains("error") || lower.contains("invalid");
        if !is_refusal || NOT_ABOUT_THE_SET.iter().any(|words| lower.contains(words)) {
            return Err(answer.failure());
        }
        Ok(Creation::Refused(reason))
    }

    fn initialise(&self, volume: &Volume) -> Result<(), DriverError> {
        self.change(&[
            "vdisk".to_owned(),
            "action=slowinit".to_owned(),
            format!("controller={}", self.controller),
            format!("vdisk={}", volume.id),
        ])
    }

    fn state(&self, volume: &Volume) -> Result<VolumeState, DriverError> {
        let rows = self.report("vdisk", Some(&volume.id))?;
        let row = rows.iter().find(|row| row.get("ID") == Some(&volume.id)).ok_or_else(|| {
            DriverError::Unexpected {
                what: format!("virtual disk {} has gone", volume.id),
                hint: "was it deleted by somebody else?",
            }
        })?;
        Ok(state(row.get("State").map_or("", String::as_str), row.get("Progress")))
    }
}

type Row = BTreeMap<String, String>;

/// The rows of an `ssv` report. A new header may come before any row, where the columns of objects differ.
fn rows(answer: &Answer) -> Result<Vec<Row>, DriverError> {
    let mut header: Option<Vec<&str>> = None;
    let mut rows = Vec::new();
    for line in answer.stdout.lines().map(str::trim_end) {
        let fields: Vec<&str> = line.split(';').map(str::trim).collect();
        match &header {
            _ if line.starts_with("ID;") => header = Some(fields),
            Some(names) if fields.len() == names.len() => {
                rows.push(
                    names.iter().zip(&fields).map(|(n, f)| ((*n).to_owned(), (*f).to_owned())).collect(),
                );
            }
            _ if fields.len() > 1 => {
                return Err(
                    answer.not_understood("a line with another number of fields than its header", HINT)
                );
            }
            _ => {}
        }
    }
    let lower = answer.stdout.to_ascii_lowercase();
    let says_none = ["no virtual disk", "no physical disk"].iter().any(|words| lower.contains(words));
    if header.is_none() && !says_none {
        return Err(answer.not_understood("it has no table", HINT));
    }
    Ok(rows)
}

fn succeeded(answer: &Answer) -> bool {
    answer.status.success() && answer.stdout.to_ascii_lowercase().contains("command successful")
}

/// `278.88 GB (299439751168 bytes)`
fn bytes_in_parentheses(size: &str) -> Option<u64> {
    size.split_once('(')?.1.split_whitespace().next()?.replace(',', "").parse().ok()
}

fn state(text: &str, progress: Option<&String>) -> VolumeState {
    // `8% complete`
    let percent = progress.and_then(|p| p.split('%').next()?.trim().parse().ok());
    let lower = text.to_ascii_lowercase();
    const WORK: &[&str] =
        &["initializ", "formatting", "resynch", "regenerat", "rebuild", "reconstruct", "clear"];
    if lower == "ready" {
        VolumeState::Ready
    } else if WORK.iter().any(|word| lower.contains(word)) && !lower.contains("degraded") {
        VolumeState::Busy { percent, state: text.to_owned() }
    } else {
        VolumeState::Unusable(if text.is_empty() { "in no state".to_owned() } else { text.to_owned() })
    }
}

//! Broadcom StorCLI and Dell PercCLI (StorCLI Reference Manual): every command ends in `J` and answers with JSON.
//!
//! The shapes are those of the first generation (`storcli64`, `perccli64`); `storcli2` answers in another shape,
//! which is not understood and changes nothing.

use crate::command::run;
use crate::shipped::Shipped;
use crate::shipped::request::Request;
use crate::shipped::volume::{Creation, Permission, Volume, VolumeState, VolumeTool};
use crate::{CommandLimits, DriverError, Options};
use serde_json::{Map, Value};
use std::path::PathBuf;

const HINT: &str = "expected is the JSON of storcli64 or perccli64 (not storcli2)";
/// `Number of Blocks` counts these on drives of either sector size.
const BLOCK_BYTES: u64 = 512;
/// Words about the controller or the moment, not about the set that was asked for.
const NOT_ABOUT_THE_SET: &[&str] =
    &["not found", "busy", "permission", "privilege", "timeout", "un-supported command", "syntax error"];

/// The tool and the controller.
pub(crate) struct Storcli {
    tool: PathBuf,
    controller: u32,
    limits: CommandLimits,
}

struct Reply {
    command: String,
    success: bool,
    /// Text of everything that it prints about a failure.
    failure_text: String,
    data: Map<String, Value>,
    no_volumes: bool,
}

impl Storcli {
    pub(crate) fn new(
        which: Shipped,
        options: &mut Options,
        tools: Option<&str>,
        limits: CommandLimits,
    ) -> Result<(Self, String), DriverError> {
        let controller = options.number("controller", 0)?;
        let (installed, name): (&[&str], &str) = match which {
            Shipped::Perccli => (&["/opt/MegaRAID/perccli"], "perccli64"),
            _ => (&["/opt/MegaRAID/storcli"], "storcli64"),
        };
        let tool = Storcli { tool: Options::tool(tools, installed, name), controller, limits };
        Ok((tool, format!("controller={controller}")))
    }

    /// Runs a command on `/cN` plus `path`. A failure that the tool reports in its JSON is an answer.
    fn ask(&self, path: &str, words: &[String]) -> Result<Reply, DriverError> {
        let mut arguments = vec![format!("/c{}{path}", self.controller)];
        arguments.extend_from_slice(words);
        arguments.push("J".to_owned());
        let answer = run(&self.tool, &arguments, b"", self.limits)?;
        let Ok(json) = serde_json::from_str::<Value>(&answer.stdout) else {
            if !answer.status.success() {
                return Err(answer.failure());
            }
            return Err(answer.not_understood("it is not JSON", HINT));
        };
        let controller = &json["Controllers"][0];
        let status = &controller["Command Status"];
        let (Some(word), false) = (status["Status"].as_str(), json["Controllers"][1].is_object()) else {
            return Err(answer.not_understood("no `Command Status` of one controller", HINT));
        };
        let description = status["Description"].as_str().unwrap_or_default().to_owned();
        let details = status["Detailed Status"].as_array().map(Vec::as_slice).unwrap_or_default();
        let mut failure_text = description.clone();
        for detail in details {
            if let Some(message) = detail["ErrMsg"].as_str().filter(|m| !m.is_empty() && *m != "-") {
                failure_text.push_str(&format!(": {message}"));
            }
        }
        Ok(Reply {
            command: answer.command,
            success: word == "Success" && answer.status.success(),
            failure_text,
            data: controller["Response Data"].as_object().cloned().unwrap_or_default(),
            no_volumes: description.starts_with("No VDs have been configured"),
        })
    }

    fn change(&self, path: &str, words: &[&str]) -> Result<(), DriverError> {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        let reply = self.ask(path, &words)?;
        if reply.success { Ok(()) } else { Err(reply.failure()) }
    }
}

impl Reply {
    fn failure(self) -> DriverError {
        DriverError::Failed {
            command: self.command,
            status: "status Failure".to_owned(),
            stderr: self.failure_text,
        }
    }

    fn not_understood(&self, problem: String) -> DriverError {
        DriverError::Answer { from: self.command.clone(), problem, hint: HINT }
    }
}

impl VolumeTool for Storcli {
    const NOUN: &'static str = "virtual drive";
    const HAS_WRITE_CACHE: bool = true;
    const INITIALISES: bool = true;
    const DIFFERENCE_HINT: &'static str = "the controller changed a setting by itself; a write cache, for example, is off without a charged battery";

    fn unsupported(&self, _request: &Request) -> Option<String> {
        // What the controller cannot make it says itself.
        None
    }

    fn check_drives(&self, request: &Request, _permission: &Permission<'_>) -> Result<(), DriverError> {
        let words = ["show".to_owned()];
        let reply = self.ask("/eall/sall", &words)?;
        if !reply.success {
            return Err(reply.failure());
        }
        let Some(drives) = reply.data.get("Drive Information").and_then(Value::as_array) else {
            return Err(reply.not_understood("no `Drive Information`".to_owned()));
        };
        for wanted in &request.drives {
            let found = drives.iter().find(|drive| drive["EID:Slt"].as_str() == Some(wanted));
            let problem = match found.and_then(|drive| drive["State"].as_str()) {
                // Onln: in a virtual drive already, perhaps ours.
                Some("UGood" | "Onln") => continue,
                Some(state) => format!("drive {wanted} is {state}"),
                None => format!("controller {} has no drive {wanted}", self.controller),
            };
            return Err(DriverError::Unexpected {
                what: problem,
                hint: "storcli64 /cN/eall/sall show lists the drives; drives= must name UGood ones as EID:SLOT",
            });
        }
        Ok(())
    }

    fn list(&self) -> Result<Vec<Volume>, DriverError> {
        let reply = self.ask("/vall", &["show".to_owned(), "all".to_owned()])?;
        if reply.no_volumes {
            return Ok(vec![]);
        }
        if !reply.success {
            return Err(reply.failure());
        }
        let prefix = format!("/c{}/v", self.controller);
        let mut volumes = Vec::new();
        for (key, value) in &reply.data {
            let Some(id) = key.strip_prefix(&prefix).filter(|id| id.parse::<u32>().is_ok()) else { continue };
            let volume = volume(id, &value[0], &reply.data).ok_or_else(|| {
                reply.not_understood(format!("virtual drive {id} lacks its name, type, state or drives"))
            })?;
            volumes.push(volume);
        }
        if volumes.is_empty() {
            return Err(reply.not_understood("neither virtual drives nor that there are none".to_owned()));
        }
        Ok(volumes)
    }

    fn delete(&self, volume: &Volume, _permission: &Permission<'_>) -> Result<(), DriverError> {
        // Without `force` the firmware keeps a virtual drive that begins with a file system, as a test leaves one.
        // Never `/vall`.
        self.change(&format!("/v{}", volume.id), &["del", "force"])
    }

    fn create(
        &self,
        name: &str,
        request: &Request,
        _permission: &Permission<'_>,
    ) -> Result<Creation, DriverError> {
        let mut words = vec!["add".to_owned(), "vd".to_owned(), format!("type=raid{}", request.raid)];
        words.push(match request.size_bytes {
            None => "size=all".to_owned(),
            Some(bytes) if bytes % (1 << 30) == 0 => format!("size={}gb", bytes >> 30),
            Some(bytes) => format!("size={}mb", bytes >> 20),
        });
        words.push(format!("name={name}"));
        words.push(format!("drives={}", request.drives.join(",")));
        if request.raid == 10 {
            // Spans of mirrored pairs; the manual requires it for level 10.
            words.push("pdperarray=2".to_owned());
        }
        words.push("direct".to_owned());
        words.push(if request.write_cache { "wb" } else { "wt" }.to_owned());
        words.push("nora".to_owned());
        words.push(format!("strip={}", request.segment_bytes >> 10));
        let reply = self.ask("", &words)?;
        if reply.success {
            return Ok(Creation::Created);
        }
        let lower = reply.failure_text.to_ascii_lowercase();
        if reply.failure_text.trim().is_empty() || NOT_ABOUT_THE_SET.iter().any(|words| lower.contains(words))
        {
            return Err(reply.failure());
        }
        Ok(Creation::Refused(reply.failure_text))
    }

    fn initialise(&self, volume: &Volume) -> Result<(), DriverError> {
        // `force`: the drives may still hold what an earlier virtual drive left at the same place.
        self.change(&format!("/v{}", volume.id), &["start", "init", "full", "force"])
    }

    fn state(&self, volume: &Volume) -> Result<VolumeState, DriverError> {
        let reply = self.ask(&format!("/v{}", volume.id), &["show".to_owned(), "init".to_owned()])?;
        if !reply.success {
            return Err(reply.failure());
        }
        let operation = reply.data.get("VD Operation Status").map(|list| &list[0]);
        let Some(status) = operation.and_then(|operation| operation["Status"].as_str()) else {
            return Err(reply.not_understood("no `VD Operation Status`".to_owned()));
        };
        if status.eq_ignore_ascii_case("in progress") || status.eq_ignore_ascii_case("paused") {
            let percent = operation.map(|operation| &operation["Progress%"]).and_then(|percent| {
                percent.as_f64().or_else(|| percent.as_str().and_then(|text| text.trim().parse().ok()))
            });
            return Ok(VolumeState::Busy {
                percent,
                state: format!("initialisation {}", status.to_ascii_lowercase()),
            });
        }
        if !status.eq_ignore_ascii_case("not in progress") && !status.eq_ignore_ascii_case("completed") {
            return Err(reply.not_understood(format!("initialisation is {status:?}")));
        }
        let now = self.list()?.into_iter().find(|v| v.id == volume.id && v.name == volume.name);
        now.map(|volume| volume.state).ok_or_else(|| DriverError::Unexpected {
            what: format!("virtual drive {} has gone", volume.id),
            hint: "was it deleted by somebody else?",
        })
    }
}

/// `/cN/vM`, `PDs for VD M` and `VDM Properties` of `show all`.
fn volume(id: &str, entry: &Value, data: &Map<String, Value>) -> Option<Volume> {
    let properties = data.get(&format!("VD{id} Properties")).cloned().unwrap_or_default();
    let text = |key: &str| properties[key].as_str().map(str::trim).filter(|text| !text.is_empty());
    let drives = data.get(&format!("PDs for VD {id}"))?.as_array()?;
    let cache = entry["Cache"].as_str().unwrap_or_default();
    let state = entry["State"].as_str()?;
    Some(Volume {
        id: id.to_owned(),
        name: entry["Name"].as_str()?.trim().to_owned(),
        raid: entry["TYPE"].as_str()?.strip_prefix("RAID").and_then(|level| level.parse().ok()),
        size_bytes: properties["Number of Blocks"]
            .as_u64()
            .and_then(|blocks| blocks.checked_mul(BLOCK_BYTES)),
        segment_bytes: text("Strip Size").and_then(|size| units::parse_bytes(&size.replace(' ', "")).ok()),
        write_cache: if cache.contains("WT") { Some(false) } else { cache.contains("WB").then_some(true) },
        drives: drives
            .iter()
            .map(|drive| drive["EID:Slt"].as_str().map(str::to_owned))
            .collect::<Option<_>>()?,
        device: text("OS Drive Name").filter(|name| name.starts_with('/')).map(PathBuf::from),
        identity: text("SCSI NAA Id").map(str::to_owned),
        state: if state == "Optl" { VolumeState::Ready } else { VolumeState::Unusable(state.to_owned()) },
    })
}

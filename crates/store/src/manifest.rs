//! Run manifest `manifest.json`: the request, the target and the host.

use crate::directory::{read_limited, write_atomically};
use crate::{Shard, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;
use std::time::SystemTime;

/// The version of `manifest.json` that this code writes and reads.
pub const MANIFEST_VERSION: u32 = 1;

/// The largest manifest that is read. A plan and an array are kilobytes; inventories are the large part.
const MANIFEST_LIMIT_BYTES: u64 = 64 << 20;

/// A plan or an array as it was read, so that the run can be understood and resumed without the original file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SourceText {
    /// Its name.
    pub name: String,
    /// Source of the text: a path, or `shipped`.
    pub source: String,
    /// The whole text.
    pub text: String,
}

/// One target of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ManifestTarget {
    /// Target as on the command line.
    pub spec: String,
    /// Identity of the device, so that a resume can refuse another one under the same name.
    pub identity: Value,
}

/// A host that issues load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ManifestHost {
    /// Its name.
    pub name: String,
    /// Address, as on the command line.
    pub address: String,
    /// Its targets, as it names them.
    pub targets: Vec<ManifestTarget>,
    /// Facts of the host and its inventory.
    #[serde(default)]
    pub facts: Value,
}

/// Selected cases, as on the command line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selection {
    /// `--stage`.
    pub stages: Vec<String>,
    /// `--only`.
    pub only: Vec<(String, Vec<String>)>,
    /// `--set`.
    pub set: Vec<(String, String)>,
}

/// Manifest of a run: plan, array, targets, selection and host. Written once, before the first case.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`MANIFEST_VERSION`]; readers refuse others.
    pub format_version: u32,
    /// The version of arraylab that created the run.
    pub arraylab_version: String,
    /// Names the run among others; [`new_run_id`] makes one.
    pub run_id: String,
    /// Time of creation, in UTC (RFC 3339). Set by `Run::create` where empty.
    pub created_utc: String,
    /// The seed of addresses, mixes and twins.
    pub seed: u64,
    /// The plan.
    pub plan: SourceText,
    /// The array, where the run has a twin.
    pub array: Option<SourceText>,
    /// The arrays of a size question, in the order of the command line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arrays: Vec<SourceText>,
    /// The targets, in the order of the command line.
    pub targets: Vec<ManifestTarget>,
    /// Hosts that issue the load, where other hosts do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<ManifestHost>,
    /// Engine that issued the load: `sim`, `fio`, `ring`, or `import`.
    pub engine: String,
    /// Selection of cases.
    pub selection: Selection,
    /// Array settings given with the target (`twin:NAME,key=value`), which plans override.
    pub overrides: Vec<(String, String)>,
    /// Length of an interval.
    pub interval_ns: u64,
    /// The command line, word by word.
    pub command_line: Vec<String>,
    /// Facts about the host: kernel, processors, memory, inventories.
    pub host: Value,
    /// Metadata of the plan and its stages that the report shows.
    pub plan_details: Value,
    /// Driver of a real array, as on the command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array_driver: Option<String>,
    /// The time that the run was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_budget_ns: Option<u64>,
    /// Cases of the plan that did not fit into that time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOutCase>,
    /// The part of the cases that this run directory is for, where it is not all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// The runs of shards that were merged into this one, by their `run_id`, in the order of the shards.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub merged_from: Vec<String>,
}

impl Manifest {
    /// Returns true if a case is to be carried out in this run directory.
    pub fn has_case(&self, case_index: u32) -> bool {
        self.shard.as_ref().is_none_or(|shard| shard.contains(case_index))
    }
}

/// A case that was chosen and left out, and why.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOutCase {
    /// Its stage.
    pub stage: String,
    /// Its name.
    pub case: String,
    /// Reason in words.
    pub reason: String,
    /// The array has none of the parts that the stage takes away, so that limits on the stage do not apply to it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_without_part: bool,
}

/// A name for a new run: when, and four random bytes.
pub fn new_run_id() -> String {
    let mut random = [0u8; 4];
    // Four bytes after boot cannot fail or come short; were they zeros, the time would still tell runs apart.
    let _ = rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty());
    let time = utc_text(SystemTime::now()).replace(['-', ':'], "");
    format!("{time}-{:08x}", u32::from_be_bytes(random))
}

/// Calendar year of a run that is created now, in UTC.
pub fn current_year() -> Option<u32> {
    utc_text(SystemTime::now()).split('-').next()?.parse().ok()
}

pub(crate) fn utc_text(time: SystemTime) -> String {
    humantime::format_rfc3339_seconds(time).to_string()
}

pub(crate) fn write_manifest(path: &Path, manifest: &Manifest) -> Result<(), StoreError> {
    let mut text = serde_json::to_string_pretty(manifest)
        .map_err(|error| StoreError::Invalid { what: "the manifest", detail: error.to_string() })?;
    text.push('\n');
    write_atomically(path, text.as_bytes())
}

pub(crate) fn read_manifest(path: &Path) -> Result<Manifest, StoreError> {
    let corrupt = |detail: String| StoreError::Corrupt { path: path.into(), detail };
    let bytes = read_limited(path, MANIFEST_LIMIT_BYTES)?;
    let value: Value = serde_json::from_slice(&bytes).map_err(|error| corrupt(error.to_string()))?;
    // The version is looked at first: a later format need not look like this one anywhere else.
    let version = value.get("format_version").and_then(Value::as_i64);
    match version {
        Some(found) if found == i64::from(MANIFEST_VERSION) => {}
        Some(found) => {
            return Err(StoreError::WrongVersion {
                path: path.into(),
                found,
                supported: i64::from(MANIFEST_VERSION),
            });
        }
        None => return Err(corrupt("it has no format_version".into())),
    }
    serde_json::from_value(value).map_err(|error| corrupt(error.to_string()))
}

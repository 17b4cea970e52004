//! Document of a stage.

use super::settings::{Assignments, MatrixDocument, NumberOrText};
use super::{Conditions, FindDocument, PickDocument, ReplayDocument};
use crate::part::Moment;
use crate::quantity::Quantity;
use crate::yaml::{Entries, Located, OneOrMany, OneOrMap};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A stage: one case for each point of its matrix.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Stage")]
pub(crate) struct StageDocument {
    /// What the stage shows, in one line.
    #[serde(default)]
    pub title: Option<String>,
    /// Remarks that stand in the report beside the stage.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Settings of every case of the stage, unless its matrix says otherwise.
    #[serde(default)]
    pub settings: Assignments,
    /// What varies.
    #[serde(default)]
    pub matrix: MatrixDocument,
    /// How often the whole matrix is run, and what ends it early; the setting `repeat` tells the rounds apart.
    #[serde(default)]
    pub repeats: Option<RepeatsDocument>,
    /// True where each case begins in the state in which the case before it left the target, on a twin too;
    /// `stage-before` where the first one goes on from the stage before.
    #[serde(default)]
    pub continues: ContinuesDocument,
    /// Loads that run at once in each case, by name. What a load does not set it has from the case.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, LoadDocument>")]
    pub loads: Entries<LoadDocument>,
    /// Hosts that its loads run on: `all`, a name, or several names.
    #[serde(default)]
    #[schemars(with = "Option<super::settings::TextOrTexts>")]
    pub hosts: Option<Located<OneOrMany>>,
    /// A stripe that the host makes over several targets.
    #[serde(default)]
    pub stripe: Option<StripeDocument>,
    /// How file systems are made and mounted for cases whose setting `filesystem` asks for one.
    #[serde(default)]
    #[schemars(with = "Option<FilesystemDocument>")]
    pub filesystem: Option<Located<FilesystemDocument>>,
    /// What each case searches for, instead of being one load.
    #[serde(default)]
    #[schemars(with = "Option<FindDocument>")]
    pub find: Option<Located<FindDocument>>,
    /// The jobs and depth of its cases: those of a case of an earlier stage, chosen from its results.
    #[serde(default)]
    pub load_of: Option<LoadOfDocument>,
    /// A recorded trace that each case replays.
    #[serde(default)]
    #[schemars(with = "Option<ReplayDocument>")]
    pub replay: Option<Located<ReplayDocument>>,
    /// A time without load after each case: fixed, or as long as what was written needs at a rate found earlier.
    #[serde(default)]
    pub pause: Option<PauseDocument>,
    /// Writes before the stage's first case, and before each case whose array settings differ from those of the
    /// case before it.
    #[serde(default)]
    pub precondition: Option<PreconditionDocument>,
    /// What is done to the target while each case runs.
    #[serde(default)]
    pub events: Vec<Located<EventDocument>>,
    /// True where the stage is left out, with its reason on the report's first page, on a twin that does not have its events;
    /// without it such a run is refused.
    #[serde(default)]
    #[schemars(with = "bool")]
    pub optional: Option<Located<bool>>,
}

/// Jobs and depth of a case of an earlier stage, chosen from its results.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "LoadOf")]
pub(crate) struct LoadOfDocument {
    /// The earlier stage.
    #[schemars(with = "String")]
    pub stage: Located<String>,
    /// Which of its cases may be chosen: all without it.
    #[serde(default)]
    pub cases: Conditions,
    /// Which of them is; of rounds by their means over the measurement window.
    pub pick: PickDocument,
    /// Settings of another of its cases: the one is chosen then whose quantity is nearest to half-way between the picked one
    /// and this one.
    #[serde(default)]
    pub half_way_to: Conditions,
}

/// One of several loads that run at once.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Load")]
pub(crate) struct LoadDocument {
    /// What it does not have from the case.
    #[serde(default)]
    pub settings: Assignments,
    /// Which target it is for: the number of a `--target`, from 0, or its name.
    #[serde(default)]
    #[schemars(with = "Option<NumberOrText>")]
    pub target: Option<Located<String>>,
    /// Hosts that it runs on: `all`, a name, or several names; those of the stage without it.
    #[serde(default)]
    #[schemars(with = "Option<super::settings::TextOrTexts>")]
    pub hosts: Option<Located<OneOrMany>>,
    /// When it begins; with the case without it.
    #[serde(default)]
    #[schemars(with = "Option<Moment>")]
    pub start: Option<Located<Moment>>,
}

/// A stripe that the host makes over several targets.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Stripe")]
pub(crate) struct StripeDocument {
    /// Bytes on one target before the next: a size, or `whole` for targets one after another.
    #[schemars(with = "NumberOrText")]
    pub unit: Located<String>,
    /// How many targets it is made over.
    pub columns: Located<u32>,
}

/// How file systems are made and mounted.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Filesystem")]
pub(crate) struct FilesystemDocument {
    /// What `mkfs` is told, word by word.
    #[serde(default)]
    pub mkfs: Vec<String>,
    /// Mount options.
    #[serde(default)]
    pub mount: Vec<String>,
    /// How much of it the file takes that is loaded, in percent; 80 without it.
    #[serde(default)]
    #[schemars(with = "Option<u8>")]
    pub fill: Option<Located<u8>>,
}

/// A pause after each case.
#[derive(Debug)]
pub(crate) enum PauseDocument {
    /// Fixed time.
    Fixed(Located<String>),
    /// Time to write the case's bytes at a rate found earlier.
    Over(PauseOverDocument),
}

/// A pause as long as what the case wrote needs at a rate found earlier.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PauseOver")]
pub(crate) struct PauseOverDocument {
    /// The rate by which what the case wrote is divided.
    pub bytes_over: RateDocument,
    /// The pause where the rate is not known, because its case was not run or shows none.
    pub otherwise: units::Nanos,
}

/// A rate that another stage finds.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Rate")]
pub(crate) struct RateDocument {
    /// The stage, one before this one.
    pub stage: Located<String>,
    /// Which quantity of its case: a bandwidth.
    pub quantity: Located<Quantity>,
    /// Settings that its case has in common with the case that pauses.
    #[serde(rename = "match")]
    pub match_settings: Located<Vec<Located<String>>>,
    /// Further settings that its case has.
    #[serde(default)]
    pub cases: Conditions,
}

impl<'de> Deserialize<'de> for PauseDocument {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        OneOrMap::deserialize(deserializer).map(|found| match found {
            OneOrMap::One(text) => PauseDocument::Fixed(text),
            OneOrMap::Map(over) => PauseDocument::Over(over),
        })
    }
}

impl JsonSchema for PauseDocument {
    fn schema_name() -> Cow<'static, str> {
        "Pause".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let over = generator.subschema_for::<PauseOverDocument>();
        let fixed = generator.subschema_for::<units::Nanos>();
        json_schema!({ "anyOf": [fixed, over] })
    }
}

/// Repetitions of a matrix: a number, or a number and a condition that ends them early.
#[derive(Debug)]
pub(crate) enum RepeatsDocument {
    /// Number of repetitions.
    Times(Located<String>),
    /// Repetitions until a condition holds.
    Until(RoundsDocument),
}

/// How often a matrix is run at most, and what ends it early.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Rounds")]
pub(crate) struct RoundsDocument {
    /// The most rounds.
    pub at_most: Located<u32>,
    /// The stage ends once all of these are steady by SNIA's rule: over five rounds a range within 20 % and a slope
    /// within 10 % of the mean.
    #[serde(default)]
    pub until_steady: Vec<TrackedDocument>,
    /// Only the first and then every so-manyth round is looked at.
    #[serde(default)]
    #[schemars(with = "Option<u32>")]
    pub every: Option<Located<u32>>,
    /// The stage also ends once so much has been written: bytes, or a share of the target (`400%`).
    #[serde(default)]
    #[schemars(with = "Option<NumberOrText>")]
    pub until_written: Option<Located<String>>,
}

/// A quantity by which steady state is judged.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Tracked")]
pub(crate) struct TrackedDocument {
    /// Which quantity.
    pub quantity: Located<Quantity>,
    /// Of which of the stage's cases: all without it; several are added up.
    #[serde(default)]
    pub cases: Conditions,
}

impl<'de> Deserialize<'de> for RepeatsDocument {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        OneOrMap::deserialize(deserializer).map(|found| match found {
            OneOrMap::One(text) => RepeatsDocument::Times(text),
            OneOrMap::Map(until) => RepeatsDocument::Until(until),
        })
    }
}

impl JsonSchema for RepeatsDocument {
    fn schema_name() -> Cow<'static, str> {
        "Repeats".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let until = generator.subschema_for::<RoundsDocument>();
        json_schema!({ "anyOf": [{ "type": "integer", "minimum": 2 }, until] })
    }
}

/// `true`, `false` or `stage-before`.
#[derive(Debug, Default)]
pub(crate) struct ContinuesDocument(pub Option<Located<String>>);

impl<'de> Deserialize<'de> for ContinuesDocument {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Located::<String>::deserialize(deserializer).map(|text| ContinuesDocument(Some(text)))
    }
}

impl JsonSchema for ContinuesDocument {
    fn schema_name() -> Cow<'static, str> {
        "Continues".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "enum": [true, false, "stage-before"] })
    }
}

/// Writes that bring a target into the state in which it is tested.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Precondition")]
pub(crate) struct PreconditionDocument {
    /// True where everything is discarded first (SNIA's purge); a target that takes no discards is left as it is,
    /// and the run says so.
    #[serde(default)]
    #[schemars(with = "bool")]
    pub purge: Option<Located<bool>>,
    /// How many times the size of the target is written; with `purge` none without it.
    #[serde(default)]
    #[schemars(with = "Option<u8>")]
    pub times: Option<Located<u8>>,
    /// Settings of the writes: `rw` (`write` without it), `bs`, `numjobs`, `iodepth`.
    #[serde(default)]
    pub settings: Assignments,
    /// The array settings whose change asks for the writes, in whichever stage they changed; with it, a stage that
    /// begins with these settings unchanged is not written again.
    #[serde(default)]
    #[schemars(with = "Option<Vec<String>>")]
    pub after_change_of: Option<Vec<Located<String>>>,
}

/// Something that is done to the target in each case, at a moment or on a condition.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Event")]
pub(crate) struct EventDocument {
    /// When.
    #[serde(default)]
    pub at: Option<Moment>,
    /// On what condition, looked at whenever a sample ends.
    #[serde(default)]
    #[schemars(with = "Option<ConditionDocument>")]
    pub when: Option<Located<ConditionDocument>>,
    /// With `when`: the moment at which it is done even if the condition has not held. Without it, it is then not
    /// done, and the run says so.
    #[serde(default)]
    #[schemars(with = "Option<Moment>")]
    pub latest: Option<Located<Moment>>,
    /// What: the name of an action that the target knows.
    pub action: String,
    /// What the action is told.
    #[serde(default)]
    pub with: serde_json::Map<String, serde_json::Value>,
}

/// A condition on the samples of a case: exactly one of `steady`, `written` and `quantity`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "When")]
pub(crate) struct ConditionDocument {
    /// This quantity is steady by SNIA's rule over the last five samples.
    #[serde(default)]
    #[schemars(with = "Option<Quantity>")]
    pub steady: Option<Located<Quantity>>,
    /// So much has been written since the case began: bytes, or a share of the target (`200%`).
    #[serde(default)]
    #[schemars(with = "Option<NumberOrText>")]
    pub written: Option<Located<String>>,
    /// This quantity is beyond a bound: `above`, `below`, or `below_peak`.
    #[serde(default)]
    #[schemars(with = "Option<Quantity>")]
    pub quantity: Option<Located<Quantity>>,
    /// The bound, a latency (`1ms`) and a bandwidth (`800MB/s`) with its unit.
    #[serde(default)]
    #[schemars(with = "Option<NumberOrText>")]
    pub above: Option<Located<String>>,
    /// The bound, a latency (`1ms`) and a bandwidth (`800MB/s`) with its unit.
    #[serde(default)]
    #[schemars(with = "Option<NumberOrText>")]
    pub below: Option<Located<String>>,
    /// The bound in percent of the largest sample of the case so far.
    #[serde(default)]
    #[schemars(with = "Option<u8>")]
    pub below_peak: Option<Located<u8>>,
    /// In how many samples in a row; 1 without it.
    #[serde(default)]
    #[schemars(with = "Option<u32>")]
    pub samples: Option<Located<u32>>,
}

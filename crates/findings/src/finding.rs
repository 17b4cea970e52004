//! Finding: a fact with its numbers and the samples behind it.

use crate::facts::*;
use crate::observation::ObservedCase;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use std::sync::Arc;

/// A fact drawn from samples.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Names it among the findings of a run, the same in every run of the same plan: kind, stage, and what it is
    /// about (`write-cliff/group-1/scenario=1,bs=4096`).
    pub id: String,
    /// The stage whose cases it is drawn from.
    pub stage: String,
    /// The case that it is about, or in which its extreme was measured; `None` for a fact about several.
    pub case: Option<String>,
    /// The fact itself.
    pub fact: Fact,
    /// The samples.
    pub rests_on: Arc<[Basis]>,
}

/// Samples of a case: all that were counted, or those of a span.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Basis {
    /// The stage.
    #[serde(serialize_with = "as_text")]
    pub stage: Arc<str>,
    /// The case.
    #[serde(serialize_with = "as_text")]
    pub case: Arc<str>,
    /// Beginning of the span, in seconds since the start of the case's load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_s: Option<f64>,
    /// End of the span.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_s: Option<f64>,
}

fn as_text<S: Serializer>(text: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(text)
}

impl Basis {
    /// All counted samples of a case.
    pub(crate) fn of(case: &ObservedCase) -> Basis {
        Basis { stage: case.stage.as_str().into(), case: case.name.as_str().into(), from_s: None, to_s: None }
    }

    /// The samples of a span of a case, in seconds since the start of its load.
    pub(crate) fn span(case: &ObservedCase, from_s: f64, to_s: f64) -> Basis {
        Basis { from_s: Some(from_s), to_s: Some(to_s), ..Basis::of(case) }
    }
}

/// Declares [`Fact`] and [`Kind`] from one list, so that a kind without a fact or an explanation cannot be.
macro_rules! facts {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// Fact by kind. Boxed, because the largest are several times as long as those that each case of a large campaign has.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(untagged)]
        pub enum Fact {
            $($(#[$doc])* $variant(Box<$variant>),)*
        }

        $(impl From<$variant> for Fact {
            fn from(fact: $variant) -> Fact {
                Fact::$variant(Box::new(fact))
            }
        })*

        /// The kinds of findings.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Kind {
            $($(#[$doc])* $variant,)*
        }

        impl Kind {
            /// Every kind.
            pub const ALL: &[Kind] = &[$(Kind::$variant,)*];

            /// Its name in JSON, in identifiers and in `arraylab explain`.
            pub fn name(self) -> &'static str {
                match self { $(Kind::$variant => $name,)* }
            }

            /// The kind of this name.
            pub fn named(name: &str) -> Option<Kind> {
                Kind::ALL.iter().copied().find(|kind| kind.name() == name)
            }
        }

        impl Fact {
            /// Its kind.
            pub fn kind(&self) -> Kind {
                match self { $(Fact::$variant(_) => Kind::$variant,)* }
            }
        }
    };
}

facts! {
    /// The mean level of a case.
    Level = "level",
    /// A lasting fall of the write rate.
    WriteCliff = "write-cliff",
    /// A fall of the write rate within the ramp, which is not counted.
    RampFall = "ramp-fall",
    /// A series of writes without a cliff, or one that cannot show any.
    NoWriteCliff = "no-write-cliff",
    /// SNIA's steady state, reached or not.
    SteadyState = "steady-state",
    /// SNIA's steady state over the rounds of a stage, reached or not.
    SteadyRounds = "steady-rounds",
    /// Load from which on more of it gives no more.
    Saturation = "saturation",
    /// The highest rate of a group of cases.
    Maximum = "maximum",
    /// The highest rate with latency under a bound.
    BoundedMaximum = "maximum-under-latency",
    /// The largest load under a bound, as a search found it.
    FoundLoad = "found-load",
    /// The lowest latency of a group of cases.
    MinimalLatency = "minimal-latency",
    /// Block sizes that suit the target.
    BestBlockSize = "best-block-size",
    /// From which block size on bytes a second stay constant.
    Flattening = "flattening",
    /// Bottleneck of a case: the part that bounds its rate.
    Limit = "limit",
    /// Division of the load over paths.
    PathBalance = "path-balance",
    /// Division of the load over hosts.
    HostBalance = "host-balance",
    /// Writes as a share of reads.
    WritePenalty = "write-penalty",
    /// Effect of a change of one setting.
    Effect = "effect",
    /// Effect of an event on the load.
    Disruption = "disruption",
    /// Rate that a limit allowed beside the rate delivered.
    Conformance = "conformance",
}

impl Finding {
    /// A fact about one case, named by its kind and the case. It rests on a span of the case's samples, since the start of
    /// its load, or on all that were counted.
    pub(crate) fn of_case(case: &ObservedCase, fact: Fact, span_s: Option<(f64, f64)>) -> Finding {
        Finding {
            id: format!("{}/{}", fact.kind().name(), case.path()),
            stage: case.stage.clone(),
            case: Some(case.name.clone()),
            fact,
            rests_on: [
                span_s.map_or_else(|| Basis::of(case), |(from_s, to_s)| Basis::span(case, from_s, to_s))
            ]
            .into(),
        }
    }

    /// The kind of its fact.
    pub fn kind(&self) -> Kind {
        self.fact.kind()
    }

    /// Its fields, as `arraylab findings --json` prints them.
    pub fn to_json(&self) -> serde_json::Result<Map<String, Value>> {
        match serde_json::to_value(self)? {
            Value::Object(fields) => Ok(fields),
            // It serialises as a map.
            _ => Ok(Map::new()),
        }
    }
}

/// Fields of a finding in the order in which they are printed.
#[derive(Serialize)]
struct Fields<'a> {
    kind: &'static str,
    id: &'a str,
    stage: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    case: Option<&'a str>,
    #[serde(flatten)]
    fact: &'a Fact,
    rests_on: &'a [Basis],
}

impl Serialize for Finding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Straight into the serializer: an effect over all pairs of a large campaign rests on thousands of cases.
        let Finding { id, stage, case, fact, rests_on } = self;
        Fields { kind: self.kind().name(), id, stage, case: case.as_deref(), fact, rests_on }
            .serialize(serializer)
    }
}

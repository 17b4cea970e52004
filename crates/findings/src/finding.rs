//! Finding: a fact with its numbers and the samples behind it.

use crate::facts::*;
use crate::observation::ObservedCase;
use serde::ser::{Error as _, SerializeMap};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

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
    pub rests_on: Vec<Basis>,
}

/// Samples of a case: all that were counted, or those of a span.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Basis {
    /// The stage.
    pub stage: String,
    /// The case.
    pub case: String,
    /// Beginning of the span, in seconds since the start of the case's load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_s: Option<f64>,
    /// End of the span.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_s: Option<f64>,
}

/// Declares [`Fact`] and [`Kind`] from one list, so that a kind without a fact or an explanation cannot be.
macro_rules! facts {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// Fact by kind.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Fact {
            $($(#[$doc])* $variant($variant),)*
        }

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

            fn to_json(&self) -> serde_json::Result<Value> {
                match self { $(Fact::$variant(fact) => serde_json::to_value(fact),)* }
            }
        }
    };
}

facts! {
    /// The mean level of a case.
    Level = "level",
    /// A lasting fall of the write rate.
    WriteCliff = "write-cliff",
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
            rests_on: vec![Basis {
                stage: case.stage.clone(),
                case: case.name.clone(),
                from_s: span_s.map(|span| span.0),
                to_s: span_s.map(|span| span.1),
            }],
        }
    }

    /// The kind of its fact.
    pub fn kind(&self) -> Kind {
        self.fact.kind()
    }

    /// Its fields, as `arraylab findings --json` prints them.
    pub fn to_json(&self) -> serde_json::Result<Map<String, Value>> {
        let mut object = Map::new();
        object.insert("kind".into(), self.kind().name().into());
        object.insert("id".into(), self.id.as_str().into());
        object.insert("stage".into(), self.stage.as_str().into());
        if let Some(case) = &self.case {
            object.insert("case".into(), case.as_str().into());
        }
        if let Value::Object(fields) = self.fact.to_json()? {
            object.extend(fields);
        }
        object.insert("rests_on".into(), serde_json::to_value(&self.rests_on)?);
        Ok(object)
    }
}

impl Serialize for Finding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let object = self.to_json().map_err(S::Error::custom)?;
        let mut map = serializer.serialize_map(Some(object.len()))?;
        for (name, value) in &object {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

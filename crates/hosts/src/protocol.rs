//! Messages between coordinator and agent, version 1.
//!
//! ```text
//! agent        {"hello": {"protocol": 1, "version": "0.1.0", …}}   (also as plain fields, see [`Hello`])
//! coordinator  open → opened | refused        the plan, the targets, the consents of this host
//!              ping → pong                    at any time: round trips, and the sign of life of both
//!              measure → ready | ended        a case is set up: host settings, writes before it, the loads
//!              start → sample…, ended         at a moment of the agent's clock
//!              stop, inventory
//! ```
//!
//! A case is named by stage and name: both sides expand the same plan with the same version of this program, so that only
//! what results have chosen (rates, jobs, depths) and the host's own seed and share are told.

use crate::sample::{WireCounter, WireLoad, WireSample};
use diagnostic::Problem;
use load::LoadSpec;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The version of these messages.
pub const PROTOCOL: u32 = 1;
/// The most loads of a case.
const LOADS_LIMIT: usize = 1_024;
/// The most targets of a host, and the most words of other lists.
const LIST_LIMIT: usize = 4_096;

/// First message of an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`PROTOCOL`].
    pub protocol: u32,
    /// The version of this program.
    pub version: String,
    /// The name that the machine has for itself.
    #[serde(default)]
    pub machine: String,
    /// Process ID of the agent.
    #[serde(default)]
    pub pid: u32,
}

/// Selection of cases, as on the command line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SelectionText {
    /// `--stage`.
    pub stages: Vec<String>,
    /// `--only`.
    pub only: Vec<(String, Vec<String>)>,
    /// `--set`.
    pub set: Vec<(String, String)>,
}

/// Part of a shared volume that is a host's: number `index` of `of`, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Number of the part, from 0.
    pub index: u32,
    /// Number of parts.
    pub of: u32,
}

/// Opening of a host for a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenRequest {
    /// The host's name in the run.
    pub host: String,
    /// The plan's name.
    pub plan_name: String,
    /// Source of the plan.
    pub plan_source: String,
    /// Its text.
    pub plan_text: String,
    /// Selection of cases.
    pub selection: SelectionText,
    /// The run's seed.
    pub seed: u64,
    /// Names of all hosts, in order: a load for another one is not this host's.
    pub hosts: Vec<String>,
    /// Targets of this host.
    pub targets: Vec<String>,
    /// Consents of the run.
    pub consents: Vec<String>,
    /// The part of shared volumes that is this host's, where they are divided.
    pub part: Option<Part>,
}

/// A load of a case, as results of other cases and the host's share have made it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadRequest {
    /// Its name.
    pub name: String,
    /// Load to issue.
    pub load: LoadSpec,
    /// Settings of the engine among others.
    pub settings: Map<String, Value>,
    /// The part of its range that is this host's, where hosts divide it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
}

/// A case to measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasureRequest {
    /// Its stage.
    pub stage: String,
    /// Its name.
    pub case: String,
    /// Its loads on this host.
    pub loads: Vec<LoadRequest>,
}

/// Message of the coordinator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// A round trip.
    Ping {
        /// Tells it from others.
        id: u64,
    },
    /// Opens the host for a run.
    Open(Box<OpenRequest>),
    /// Runs commands of the inventory, word by word; no shell reads them.
    Inventory {
        /// Each with its arguments.
        commands: Vec<Vec<String>>,
    },
    /// Sets a case up.
    Measure(Box<MeasureRequest>),
    /// Begins the case that is set up.
    Start {
        /// Time of the start on the agent's clock, in nanoseconds.
        at_ns: u64,
    },
    /// Ends the case under way.
    Stop,
}

/// A target of an opened host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenedTarget {
    /// Target as given.
    pub spec: String,
    /// Identity of the device.
    pub identity: Value,
    /// Its size.
    pub capacity_bytes: u64,
}

/// Answer to an opening.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Opened {
    /// The targets, in the order of the request.
    pub targets: Vec<OpenedTarget>,
    /// Paths of block devices among them, for commands of the inventory.
    pub devices: Vec<String>,
    /// Facts of the host.
    pub facts: Value,
    /// Notices for people.
    pub notices: Vec<String>,
}

/// End of a case on one host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseEnd {
    /// `done`, `failed`, `refused`, `not-settable`, or `stopped`.
    pub status: String,
    /// Reason why it is not done.
    pub error: Option<String>,
    /// True if no later case can be measured either.
    pub gave_up: bool,
    /// Time at which the last worker of its loads began, on the agent's clock.
    pub began_at_ns: Option<u64>,
    /// The targets.
    pub target: String,
    /// The counted time.
    pub duration_ns: u64,
    /// Totals of its loads.
    pub loads: Vec<WireLoad>,
    /// Warnings for the reader of the results.
    pub warnings: Vec<String>,
}

/// Message of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply {
    /// A round trip's stamp.
    Pong {
        /// Number of the ping that it answers.
        id: u64,
        /// The agent's clock.
        at_ns: u64,
    },
    /// The host is open.
    Opened(Box<Opened>),
    /// The host cannot be opened, and why.
    Refused {
        /// Reason in words.
        why: String,
    },
    /// Output of the inventory commands.
    Inventory {
        /// One for each.
        answers: Vec<Value>,
    },
    /// The case is set up and waits for its start.
    Ready,
    /// An interval.
    Sample {
        /// The load.
        load: String,
        /// Counts and latencies of the interval.
        sample: Box<WireSample>,
    },
    /// An event of the case.
    Event {
        /// Time since the common start, in nanoseconds.
        case_at_ns: u64,
        /// Its kind.
        kind: String,
        /// Description in words.
        text: String,
        /// Figures of the event.
        data: Option<Value>,
    },
    /// Counters of the host.
    Counters {
        /// The agent's clock.
        at_ns: u64,
        /// Their values.
        counters: Vec<WireCounter>,
    },
    /// A path was lost or came back.
    Path {
        /// The agent's clock.
        at_ns: u64,
        /// Name of the path.
        path: String,
        /// True if the path can be used.
        is_usable: bool,
        /// State of the path in the kernel's words.
        state: String,
    },
    /// Reason for which the case waits.
    Waiting {
        /// Reason in words.
        text: String,
    },
    /// Progress of the case.
    Progress {
        /// 0 to 1.
        share: f64,
    },
    /// A setting of the host was changed or put back.
    Changed {
        /// True if the change is for the case under way.
        is_of_case: bool,
        /// Its name.
        name: String,
        /// Value before the change.
        before: Option<String>,
        /// Value after the change.
        after: Option<String>,
    },
    /// Warning for the reader of the run.
    Warning {
        /// Text of the warning.
        text: String,
    },
    /// The case has ended.
    Ended(Box<CaseEnd>),
}

fn checked<T>(message: T, counts: &[(&str, usize, usize)]) -> Result<T, Problem> {
    match counts.iter().find(|(_, count, limit)| count > limit) {
        Some((what, count, limit)) => Err(format!("{count} {what} are more than {limit}").into()),
        None => Ok(message),
    }
}

fn not_json(error: serde_json::Error) -> Problem {
    Problem::new("it is not the JSON expected").caused_by(error)
}

/// The coordinator's message, or what is wrong with it.
pub fn decode_request(body: &[u8]) -> Result<Request, Problem> {
    let request: Request = serde_json::from_slice(body).map_err(not_json)?;
    let counts = match &request {
        Request::Open(open) => {
            vec![
                ("targets", open.targets.len(), LIST_LIMIT),
                ("hosts", open.hosts.len(), crate::HOSTS_LIMIT),
                ("consents", open.consents.len(), LIST_LIMIT),
            ]
        }
        Request::Measure(measure) => vec![("loads", measure.loads.len(), LOADS_LIMIT)],
        Request::Inventory { commands } => vec![("commands", commands.len(), LIST_LIMIT)],
        _ => Vec::new(),
    };
    let mut parts = match &request {
        Request::Open(open) => vec![open.part],
        Request::Measure(measure) => measure.loads.iter().map(|load| load.part).collect(),
        _ => Vec::new(),
    };
    parts.retain(|part| {
        part.is_some_and(|part| part.index >= part.of || part.of as usize > crate::HOSTS_LIMIT)
    });
    if !parts.is_empty() {
        return Err("a part that is none of its parts".into());
    }
    checked(request, &counts)
}

/// The agent's message, or what is wrong with it.
pub fn decode_reply(body: &[u8]) -> Result<Reply, Problem> {
    let reply: Reply = serde_json::from_slice(body).map_err(not_json)?;
    let counts = match &reply {
        Reply::Opened(opened) => vec![("targets", opened.targets.len(), LIST_LIMIT)],
        Reply::Ended(end) => vec![("loads", end.loads.len(), LOADS_LIMIT)],
        Reply::Counters { counters, .. } => vec![("counters", counters.len(), 1 << 20)],
        _ => Vec::new(),
    };
    checked(reply, &counts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use diagnostic::text_with_causes;
    use load::{LoadShape, Pattern};
    use proptest::prelude::*;

    fn measure() -> Request {
        let load = LoadSpec {
            pattern: Pattern::Randrw,
            rwmixread: 70,
            bs_bytes: 4096,
            numjobs: 4,
            iodepth: 8,
            offset_bytes: 1 << 20,
            size_bytes: Some(1 << 30),
            rate_iops: Some(1234.5),
            ramp_ns: 0,
            runtime_ns: 60_000_000_000,
            interval_ns: 1_000_000_000,
            seed: u64::MAX,
            shape: LoadShape {
                arrival: Some(load::Arrival::poisson(0.1)),
                distribution: load::Distribution::Zipf { theta: 1.1 },
                ..LoadShape::default()
            },
        };
        let settings =
            serde_json::json!({ "bs": 4096, "name": "$(reboot)\n'\"" }).as_object().cloned().unwrap();
        let part = Some(Part { index: 1, of: 3 });
        let loads = vec![LoadRequest { name: "load".into(), load, settings, part }];
        Request::Measure(Box::new(MeasureRequest { stage: "s".into(), case: "bs=4096".into(), loads }))
    }

    /// Proves that messages come back as they were, the load to the last digit of its rates and its seed.
    #[test]
    fn messages_come_back() {
        for request in [Request::Ping { id: 7 }, Request::Stop, Request::Start { at_ns: u64::MAX }, measure()]
        {
            let body = serde_json::to_vec(&request).unwrap();
            assert_eq!(decode_request(&body).unwrap(), request);
        }
        let reply = Reply::Ended(Box::new(CaseEnd { status: "done".into(), ..CaseEnd::default() }));
        assert_eq!(decode_reply(&serde_json::to_vec(&reply).unwrap()).unwrap(), reply);
        assert_eq!(serde_json::to_string(&Request::Stop).unwrap(), "\"stop\"");
    }

    /// Proves that a field nobody knows is refused, and not passed over, and that lists have their limits.
    #[test]
    fn unknown_fields_and_long_lists_are_refused() {
        let mut value = serde_json::to_value(measure()).unwrap();
        value["measure"]["loads"][0]["load"]["rwmixraed"] = 70.into();
        assert!(
            text_with_causes(&decode_request(value.to_string().as_bytes()).unwrap_err())
                .contains("rwmixraed")
        );
        let many = Request::Inventory { commands: vec![Vec::new(); LIST_LIMIT + 1] };
        assert!(
            decode_request(&serde_json::to_vec(&many).unwrap()).unwrap_err().to_string().contains("commands")
        );
    }

    proptest! {
        /// Proves that any bytes are an error or a message, and no panic: whole garbage and messages with bytes changed.
        #[test]
        fn any_bytes_are_taken(
            garbage in prop::collection::vec(any::<u8>(), 0..200),
            changes in prop::collection::vec((any::<u16>(), any::<u8>()), 1..6),
        ) {
            let _ = decode_request(&garbage);
            let _ = decode_reply(&garbage);
            let mut body = serde_json::to_vec(&measure()).unwrap();
            for (place, byte) in changes {
                let place = usize::from(place) % body.len();
                body[place] = byte;
            }
            if let Ok(Request::Measure(measure)) = decode_request(&body) {
                // What is issued is checked again by whoever issues it.
                let _ = measure.loads.iter().map(|one| one.load.check()).collect::<Vec<_>>();
            }
        }
    }
}

//! Messages of a worker as replies of an agent.

use crate::message::{CaseEvent, Message};
use hosts::{Reply, WireCounter, WireSample};

/// Translates a message into a reply; `None` for one without content for the coordinator. Times of the run's clock become
/// those of the agent's.
pub(super) fn reply_of(message: Message, clock_ns: impl Fn(u64) -> u64) -> Option<Reply> {
    Some(match message {
        Message::Sample { load, sample, .. } => {
            Reply::Sample { load, sample: Box::new(WireSample::new(&sample)) }
        }
        Message::Happened { event: CaseEvent { case_at_ns, kind, text, data }, .. } => {
            Reply::Event { case_at_ns, kind, text, data }
        }
        Message::Progress { share, .. } => Reply::Progress { share },
        Message::Waiting { text, .. } => Reply::Waiting { text },
        Message::Changed { case_index, change } => Reply::Changed {
            is_of_case: case_index.is_some(),
            name: change.name,
            before: change.before,
            after: change.after,
        },
        Message::Warning { text } => Reply::Warning { text },
        Message::HostCounters { at_ns, counters } => Reply::Counters {
            at_ns: clock_ns(at_ns),
            counters: counters
                .into_iter()
                // JSON has no other numbers.
                .filter(|counter| counter.value.is_finite())
                .map(|counter| WireCounter {
                    source: counter.source.into_owned(),
                    entity: counter.entity,
                    name: counter.name,
                    value: counter.value,
                })
                .collect(),
        },
        Message::PathChanged { at_ns, path, is_usable, state } => {
            Reply::Path { at_ns: clock_ns(at_ns), path, is_usable, state }
        }
        Message::Flush(done) => {
            let _ = done.send(());
            return None;
        }
        Message::Loaded { .. }
        | Message::Ended { .. }
        | Message::HostSample { .. }
        | Message::HostTotals { .. }
        | Message::RunEvent { .. } => {
            return None;
        }
    })
}

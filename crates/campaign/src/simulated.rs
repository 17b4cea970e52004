//! Cases on a twin, in simulated time.

use crate::CampaignError;
use crate::carry_out::{ONLY_LOAD, Order, Worker};
use crate::message::{CaseEvent, Ended, Message, OwnedCounter};
use plan::{Case, SettingScope};
use serde_json::{Map, Value};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use store::{CaseOutcome, CaseStatus, LoadOutcome};
use target::TwinSpec;
use twin::{ArrayDescription, Twin};

/// Brings an array to life for each case.
#[derive(Debug)]
pub(crate) struct Simulator {
    description: Box<ArrayDescription>,
    /// Settings given with the target, which a case's own override.
    settings: Map<String, Value>,
    target: String,
    threads: usize,
}

impl Simulator {
    pub fn new(
        description: ArrayDescription,
        twin: &TwinSpec,
        target: String,
        threads: Option<usize>,
    ) -> Self {
        let settings = twin.settings.iter().map(|(name, text)| (name.clone(), typed(name, text))).collect();
        let processors = || std::thread::available_parallelism().map_or(1, usize::from);
        Simulator {
            description: Box::new(description),
            settings,
            target,
            threads: threads.unwrap_or_else(processors).max(1),
        }
    }

    pub fn threads(&self) -> usize {
        self.threads
    }

    /// The twin of a case, with its events placed.
    pub fn build(&self, case: &Case) -> Result<Twin, CampaignError> {
        let refused = |source| CampaignError::Twin {
            stage: case.stage.clone(),
            case: case.name.clone(),
            source: Box::new(source),
        };
        let mut settings = self.settings.clone();
        settings.extend(case.settings_of(SettingScope::Array));
        let mut twin = Twin::build(&self.description, &settings, case.load.seed).map_err(refused)?;
        for event in &case.events {
            twin.act(event.at_ns, &event.action, &event.arguments).map_err(refused)?;
        }
        Ok(twin)
    }
}

/// A setting's value as the plan types it, or its text where the plan language does not know it: switches of a twin.
fn typed(name: &str, text: &str) -> Value {
    plan::setting(name).and_then(|setting| setting.parse(text).ok()).unwrap_or_else(|| Value::from(text))
}

impl Worker for Simulator {
    fn measure(&self, case: &Case, order: &Order, tell: &SyncSender<Message>, stop: &AtomicBool) -> Ended {
        let mut outcome = CaseOutcome {
            status: CaseStatus::Done,
            engine: "sim".into(),
            target: self.target.clone(),
            duration_ns: case.load.runtime_ns,
            loads: Vec::new(),
            error: None,
            warnings: Vec::new(),
        };
        let mut totals = LoadOutcome { name: ONLY_LOAD.into(), ..LoadOutcome::default() };
        let measured = self.build(case).map_err(|error| error.to_string()).and_then(|mut twin| {
            load::run_simulated(&mut twin, &case.load, &mut |twin: &mut Twin, sample| {
                totals.add(&sample);
                let message = Message::Sample {
                    case_index: order.case_index,
                    counters: counters(twin),
                    events: events(twin),
                    sample: Box::new(sample),
                };
                if tell.send(message).is_err() || stop.load(Ordering::Relaxed) {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            })
            .map_err(|error| error.to_string())
        });
        if stop.load(Ordering::Relaxed) {
            return Ended::Stopped;
        }
        outcome.loads.push(totals);
        if let Err(error) = measured {
            outcome.status = CaseStatus::Failed;
            outcome.error = Some(error);
        }
        Ended::Outcome(Box::new(outcome))
    }
}

fn counters(twin: &Twin) -> Vec<OwnedCounter> {
    twin.counters()
        .into_iter()
        .map(|counter| OwnedCounter {
            source: "twin",
            entity: counter.entity,
            name: counter.name.to_owned(),
            value: counter.value as f64,
        })
        .collect()
}

fn events(twin: &mut Twin) -> Vec<CaseEvent> {
    twin.take_notes()
        .into_iter()
        .map(|note| CaseEvent { case_at_ns: note.at_ns, kind: "event".into(), text: note.says })
        .collect()
}

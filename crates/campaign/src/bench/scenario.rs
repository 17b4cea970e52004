//! Benchmark loads on shipped arrays, simulated on one core.

use super::process::{forget_peak_memory, peak_memory_bytes, thread_processor_ns};
use crate::CampaignError;
use diagnostic::Problem;
use load::{LoadShape, LoadSpec, NEVER_STOPPED, Pattern, run_simulated};
use serde_json::{Map, Value};
use std::ops::ControlFlow;
use twin::{ArrayDescription, Twin};
use units::NANOS_PER_SECOND;

/// Rounds of each scenario, taken in turn, so that a busy moment of the machine troubles all of them.
pub const BENCH_ROUNDS: usize = 5;

/// I/Os of one round: a third of a second to a few seconds.
const ROUND_IOS: u64 = 3_000_000;

/// Samples of a round.
const ROUND_SAMPLES: u64 = 100;

/// I/Os after which an array's memory is what it will be.
const MEMORY_IOS: u64 = 300_000;

/// Array and load of a measurement.
struct Scenario {
    name: &'static str,
    array: &'static str,
    /// Settings of the twin.
    settings: &'static [(&'static str, &'static str)],
    /// Drives, where the array's own number is not meant.
    drives: Option<u32>,
    rwmixread: u8,
    bs_bytes: u32,
    numjobs: u32,
    iodepth: u32,
}

/// Disks that serve in order of arrival, with nothing around them: what is left are layout, seek and rotation.
const IN_ORDER: &[(&str, &str)] =
    &[("reordering", "off"), ("drive_buffer", "off"), ("links", "off"), ("processors", "off")];

/// Drives as after hours of random writes; the host's threads are not part of an array.
const STEADY: &[(&str, &str)] = &[("condition", "steady"), ("host", "off")];

impl Scenario {
    /// A scenario with disks.
    const fn disks(name: &'static str, array: &'static str, rwmixread: u8, numjobs: u32) -> Scenario {
        Scenario {
            name,
            array,
            settings: IN_ORDER,
            drives: None,
            rwmixread,
            bs_bytes: 4096,
            numjobs,
            iodepth: 1,
        }
    }

    /// A scenario with the composite flash array: 256 I/Os outstanding.
    const fn flash(name: &'static str, rwmixread: u8) -> Scenario {
        Scenario {
            name,
            array: "composite-flash",
            settings: STEADY,
            drives: None,
            rwmixread,
            bs_bytes: 4096,
            numjobs: 32,
            iodepth: 8,
        }
    }

    /// The same with another load.
    const fn with_load(self, numjobs: u32, iodepth: u32) -> Scenario {
        Scenario { numjobs, iodepth, ..self }
    }

    /// The same with so many drives.
    const fn with_drives(self, count: u32) -> Scenario {
        Scenario { drives: Some(count), ..self }
    }
}

/// The five that have goals (`docs/benchmarks.md`), then how the cost of an I/O changes with what is outstanding and with
/// the number of drives.
const SCENARIOS: &[Scenario] = &[
    Scenario::disks("hdd1", "st1000nm0023", 100, 1),
    Scenario::disks("raid5-12hdd-70", "raid-levels", 70, 32),
    Scenario::flash("flash-100", 100),
    Scenario::flash("flash-70", 70),
    Scenario::flash("flash-0", 0),
    Scenario::flash("flash-70-outstanding-1", 70).with_load(1, 1),
    Scenario::flash("flash-70-outstanding-32", 70).with_load(32, 1),
    Scenario::flash("flash-70-outstanding-10000", 70).with_load(100, 100),
    Scenario::flash("flash-70-drives-3", 70).with_drives(3),
    Scenario::flash("flash-70-drives-200", 70).with_drives(200),
];

/// Benchmark result of one scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct ScenarioRow {
    /// Its name.
    pub scenario: &'static str,
    /// Simulated I/Os a second of one core's time, the median of all rounds.
    pub ios_per_s: f64,
    /// The slowest round.
    pub lowest: f64,
    /// The fastest round.
    pub highest: f64,
}

/// A twin that goes on from round to round.
struct ScenarioTwin {
    twin: Twin,
    spec: LoadSpec,
    rates: Vec<f64>,
}

impl ScenarioTwin {
    fn begin(scenario: &Scenario) -> Result<ScenarioTwin, CampaignError> {
        let twin = build(scenario)?;
        let spec = LoadSpec {
            pattern: Pattern::Randrw,
            rwmixread: scenario.rwmixread,
            bs_bytes: scenario.bs_bytes,
            numjobs: scenario.numjobs,
            iodepth: scenario.iodepth,
            offset_bytes: 0,
            size_bytes: None,
            rate_iops: None,
            ramp_ns: 0,
            // Ended by the number of I/Os.
            runtime_ns: u64::MAX / 2,
            interval_ns: NANOS_PER_SECOND,
            seed: 1,
            shape: LoadShape::default(),
        };
        let mut running = ScenarioTwin { twin, spec, rates: Vec::new() };
        // The first stretch brings the drives into their condition and says how long an interval may be.
        let (ios, simulated_ns) = running.simulate(1)?;
        let ns_per_io = (simulated_ns / ios.max(1)).max(1);
        running.spec.interval_ns = ns_per_io * (ROUND_IOS / ROUND_SAMPLES);
        Ok(running)
    }

    /// Runs the load until so many I/Os are done; returns how many were, and in how much simulated time.
    fn simulate(&mut self, wanted_ios: u64) -> Result<(u64, u64), CampaignError> {
        let (mut ios, mut simulated_ns) = (0, 0);
        run_simulated(&mut self.twin, &self.spec, &NEVER_STOPPED, &mut |_, sample| {
            ios += sample.read.ios + sample.write.ios;
            simulated_ns = sample.end_ns;
            if ios < wanted_ios { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
        .map_err(|error| Problem::new("the load cannot be simulated").caused_by(error))?;
        Ok((ios, simulated_ns))
    }

    fn round(&mut self) -> Result<(), CampaignError> {
        self.spec.seed += 1;
        let begun_ns = thread_processor_ns();
        let (ios, _) = self.simulate(ROUND_IOS)?;
        let spent_ns = (thread_processor_ns() - begun_ns).max(1);
        self.rates.push(ios as f64 * NANOS_PER_SECOND as f64 / spent_ns as f64);
        Ok(())
    }

    fn row(mut self, scenario: &Scenario) -> ScenarioRow {
        self.rates.sort_by(f64::total_cmp);
        let rate = |place: usize| self.rates.get(place).copied().unwrap_or_default();
        ScenarioRow {
            scenario: scenario.name,
            ios_per_s: rate(self.rates.len() / 2),
            lowest: rate(0),
            highest: rate(self.rates.len().saturating_sub(1)),
        }
    }
}

fn build(scenario: &Scenario) -> Result<Twin, CampaignError> {
    let mut description: ArrayDescription = plan::load_array(scenario.array)?.description;
    if let Some(count) = scenario.drives {
        description.parts.groups[0].count.count.value = count.into();
    }
    let settings: Map<String, Value> =
        scenario.settings.iter().map(|&(name, value)| (name.to_owned(), value.into())).collect();
    Twin::build(&description, &settings, 1).map_err(|source| CampaignError::Twin {
        stage: "bench sim".into(),
        case: scenario.name.into(),
        source: Box::new(source),
    })
}

/// Measures all scenarios; rows are handed over when all rounds are done.
pub fn bench_scenarios(on_row: &mut dyn FnMut(&ScenarioRow)) -> Result<(), CampaignError> {
    let mut running = Vec::with_capacity(SCENARIOS.len());
    for scenario in SCENARIOS {
        running.push(ScenarioTwin::begin(scenario)?);
    }
    for _ in 0..BENCH_ROUNDS {
        running.iter_mut().try_for_each(ScenarioTwin::round)?;
    }
    for (running, scenario) in running.into_iter().zip(SCENARIOS) {
        on_row(&running.row(scenario));
    }
    Ok(())
}

/// Names a shipped array and the most memory that this process had while it was simulated, [`MEMORY_IOS`] I/Os long.
pub fn bench_memory(on_row: &mut dyn FnMut(&'static str, u64)) -> Result<(), CampaignError> {
    for shipped in plan::shipped_arrays() {
        forget_peak_memory();
        let whole = Scenario {
            name: shipped.name,
            array: shipped.name,
            settings: &[],
            drives: None,
            rwmixread: 70,
            bs_bytes: 4096,
            numjobs: 64,
            iodepth: 8,
        };
        ScenarioTwin::begin(&whole)?.simulate(MEMORY_IOS)?;
        if let Some(peak_bytes) = peak_memory_bytes() {
            on_row(shipped.name, peak_bytes);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that every scenario's twin can be built and driven, and that the five with goals are there by their names.
    #[test]
    fn scenarios_run() {
        let names: Vec<&str> = SCENARIOS.iter().map(|scenario| scenario.name).collect();
        assert_eq!(names[..5], ["hdd1", "raid5-12hdd-70", "flash-100", "flash-70", "flash-0"]);
        for scenario in SCENARIOS {
            let (ios, simulated_ns) = ScenarioTwin::begin(scenario).unwrap().simulate(1000).unwrap();
            assert!(ios >= 1000 && simulated_ns > 0, "{}", scenario.name);
        }
    }
}

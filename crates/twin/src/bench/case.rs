//! Random cases of the fast-forward benchmark: an array with some parts changed, a load, and events.

use load::{Arrival, Device as _, LoadSpec, NEVER_STOPPED, Pattern, Random, Sample, run_simulated};
use serde_json::{Map, Value, json};
use std::ops::ControlFlow;

use crate::{ArrayDescription, DRIVE_SLOW, Event, Twin, TwinError};

/// Length of a case's load, and of each interval.
const RUNTIME_NS: u64 = 60_000_000_000;
const INTERVAL_NS: u64 = 1_000_000_000;
/// Load by which an array's rate is found before a rate for it is drawn.
const TRIAL_NS: u64 = 500_000_000;
/// Cases of more I/Os than this are drawn anew: the exact run of each is waited for.
const IOS_LIMIT: f64 = 45e6;

/// One random case.
#[derive(Debug, Clone)]
pub struct FastForwardCase {
    /// The array with its changes.
    pub description: ArrayDescription,
    /// Keys of the description that were changed, with their values.
    pub changes: Map<String, Value>,
    /// Settings of the twin.
    pub settings: Map<String, Value>,
    /// The load.
    pub load: LoadSpec,
    /// Seconds, action and arguments of each event.
    pub events: Vec<(f64, String, Map<String, Value>)>,
}

impl FastForwardCase {
    /// Draws a case. `None` where the array refuses what was drawn, or where the case would take too long.
    pub fn draw(arrays: &[ArrayDescription], random: &mut Random) -> Option<FastForwardCase> {
        let array = &arrays[random.below(arrays.len() as u64) as usize];
        let (description, changes) = changed(array, random)?;
        let settings = settings_of(&description, random);
        let load = load_of(random);
        let mut case = FastForwardCase { description, changes, settings, load, events: Vec::new() };
        let rate = case.trial_rate()?;
        match random.below(4) {
            // Closed loop with a limit, which may lie above what the array can do.
            0 => case.load.rate_iops = Some((rate * percent(random, 20, 120)).max(50.0).round()),
            1 => {
                let iops = (rate * percent(random, 15, 80)).max(50.0).round();
                let process = random.below(3);
                let arrival = if process == 0 { Arrival::regular(iops) } else { Arrival::poisson(iops) };
                case.load.shape.arrival = Some(arrival);
                // Room for what waits, as an open loop needs.
                case.load.iodepth = case.load.iodepth.max(64);
            }
            _ => {}
        }
        case.draw_events(random);
        let reaches = case.load.shape.arrival.as_ref().map_or(rate, |arrival| arrival.rate.peak_iops());
        (reaches.min(rate) * (RUNTIME_NS as f64 / 1e9) <= IOS_LIMIT && case.build(true).is_ok())
            .then_some(case)
    }

    /// The twin of the case with its events scheduled.
    pub fn build(&self, exact: bool) -> Result<Twin, TwinError> {
        let mut settings = self.settings.clone();
        if exact {
            settings.insert("exact".into(), "on".into());
        }
        let mut twin = Twin::build(&self.description, &settings, self.load.seed)?;
        for (at_s, action, arguments) in &self.events {
            twin.act((at_s * 1e9) as u64, action, arguments)?;
        }
        Ok(twin)
    }

    /// I/Os a second of a short run of the load as fast as it goes.
    fn trial_rate(&self) -> Option<f64> {
        let mut twin = self.build(true).ok()?;
        let load = LoadSpec { runtime_ns: TRIAL_NS, interval_ns: TRIAL_NS, ..self.load.clone() };
        let mut ios = 0;
        let count = &mut |_: &mut Twin, sample: Sample| {
            ios += sample.read.ios + sample.write.ios;
            ControlFlow::Continue(())
        };
        run_simulated(&mut twin, &load, &NEVER_STOPPED, count).ok()?;
        (ios > 0 && twin.capacity_bytes() > 0).then_some(ios as f64 / (TRIAL_NS as f64 / 1e9))
    }

    fn draw_events(&mut self, random: &mut Random) {
        if random.below(100) >= 40 {
            return;
        }
        let at_s = 10.0 + random.below(300) as f64 / 10.0;
        let factor = 2 + random.below(8);
        let limit_iops = 500 + random.below(20_000);
        let volume = self.settings.get("volume").cloned().unwrap_or_else(|| "nvme".into());
        let choices = [
            (Event::DriveFailure.name(), json!({})),
            (Event::DriveFailure.name(), json!({})),
            (Event::ControllerFailover.name(), json!({})),
            (Event::FirmwareUpdate.name(), json!({})),
            (DRIVE_SLOW, json!({ "drive": 1, "factor": factor })),
            (Event::Limit.name(), json!({ "volume": volume, "iops": limit_iops })),
        ];
        let first = random.below(choices.len() as u64) as usize;
        let able = (0..choices.len()).map(|step| &choices[(first + step) % choices.len()]).find(
            |(action, arguments)| {
                let arguments = arguments.as_object().cloned().unwrap_or_default();
                Twin::build(&self.description, &self.settings, 1)
                    .is_ok_and(|mut twin| twin.act(0, action, &arguments).is_ok())
            },
        );
        if let Some((action, arguments)) = able {
            let arguments = arguments.as_object().cloned().unwrap_or_default();
            self.events.push((at_s, (*action).to_owned(), arguments));
        }
    }

    /// Data services that the array has; limits of volumes and stripes of hosts over them too.
    pub fn services(&self) -> Vec<&'static str> {
        let array = &self.description.parts;
        let mut services = array.services();
        let (limited, _) = array::limited_volumes(array);
        services.extend((limited > 0 && !array.has_chains()).then_some("limits"));
        services.extend(array::striped_volumes(array).next().map(|_| "volume_manager"));
        services
    }

    /// The load's settings in fio's names, for a line of JSON.
    pub fn settings_json(&self) -> Map<String, Value> {
        let load = &self.load;
        let mut map = Map::new();
        map.insert("rw".into(), load.pattern.name().into());
        map.insert("rwmixread".into(), load.rwmixread.into());
        map.insert("bs".into(), load.bs_bytes.into());
        map.insert("numjobs".into(), load.numjobs.into());
        map.insert("iodepth".into(), load.iodepth.into());
        if let Some(rate) = load.rate_iops {
            map.insert("rate_iops".into(), rate.into());
        }
        if let Some(arrival) = &load.shape.arrival {
            map.insert("rate_process".into(), format!("{:?}", arrival.process).to_lowercase().into());
            map.insert("arrival_iops".into(), arrival.rate.peak_iops().into());
        }
        map.extend(self.settings.clone());
        map.extend(self.changes.clone());
        map.insert("seed".into(), load.seed.into());
        map
    }
}

/// Between two percentages, as a share.
fn percent(random: &mut Random, least: u64, most: u64) -> f64 {
    (least + random.below(most - least + 1)) as f64 / 100.0
}

fn one_of<T: Copy>(random: &mut Random, values: &[T]) -> T {
    values[random.below(values.len() as u64) as usize]
}

fn load_of(random: &mut Random) -> LoadSpec {
    let pattern = match random.below(20) {
        0..=3 => Pattern::Randread,
        4..=6 => Pattern::Randwrite,
        7..=16 => Pattern::Randrw,
        17 => Pattern::Read,
        18 => Pattern::Write,
        _ => Pattern::Rw,
    };
    let rwmixread = pattern.fixed_read_share().unwrap_or(one_of(random, &[10, 30, 50, 70, 80, 90]));
    LoadSpec {
        pattern,
        rwmixread,
        bs_bytes: one_of(random, &[4096, 4096, 4096, 8192, 8192, 16384, 65536, 262_144]),
        numjobs: one_of(random, &[1, 4, 8, 16, 32, 64]),
        iodepth: one_of(random, &[1, 2, 4, 8, 16, 32, 64]),
        offset_bytes: 0,
        size_bytes: None,
        rate_iops: None,
        ramp_ns: one_of(random, &[0, 0, 5_000_000_000]),
        runtime_ns: RUNTIME_NS,
        interval_ns: INTERVAL_NS,
        seed: 1 + random.below(1 << 30),
        shape: load::LoadShape::default(),
    }
}

/// Settings that the array has, each drawn or left alone.
fn settings_of(description: &ArrayDescription, random: &mut Random) -> Map<String, Value> {
    let has: Vec<&str> = Twin::settings(description).iter().map(|setting| setting.name).collect();
    let mut settings = Map::new();
    let mut put = |name: &str, value: Value| {
        if has.contains(&name) {
            settings.insert(name.to_owned(), value);
        }
    };
    let has_chains = description.parts.has_chains();
    let has_drives = |is_meant: fn(&array::Drives) -> bool| {
        !has_chains && description.parts.groups.iter().any(|group| is_meant(&group.drives))
    };
    if has_drives(|drives| matches!(drives, array::Drives::SolidState(_))) {
        put("condition", one_of(random, &["filled", "steady", "steady", "written"]).into());
        put("raid", one_of(random, &[0, 5]).into());
        put("write_cache", one_of(random, &["on", "off", "off"]).into());
    }
    if has_chains {
        // The first pool is drawn twice as often.
        let names: Vec<&str> =
            description.parts.volumes.iter().map(|volume| volume.keys.name.text.as_str()).collect();
        if let [first, second, ..] = names.as_slice() {
            put("volume", one_of(random, &[*first, *first, *second]).into());
        }
        put("host", one_of(random, &["node", "client"]).into());
    }
    if has_drives(|drives| matches!(drives, array::Drives::HardDisk(_))) {
        put("write_cache", one_of(random, &["on", "off"]).into());
    }
    settings
}

/// An array some of whose parts are drawn anew.
fn changed(array: &ArrayDescription, random: &mut Random) -> Option<(ArrayDescription, Map<String, Value>)> {
    let mut description = array.clone();
    let mut changes = Map::new();
    for (key, factors) in [
        ("fabric.ports", &[0.5, 1.0, 2.0][..]),
        ("groups[0].drives.count", &[0.5, 1.0, 1.0]),
        ("groups[0].drives.over_provisioning", &[0.5, 1.0, 1.5]),
        ("groups[0].drives.program", &[0.5, 1.0, 2.0]),
        ("controllers.processors", &[0.5, 1.0, 2.0]),
    ] {
        let factor = one_of(random, factors);
        let parts = &mut description.parts;
        if parts.has_chains() {
            continue;
        }
        let Some(before) = parts.value_mut(key).map(|(_, parameter)| parameter.value) else { continue };
        let drawn = ((before as f64 * factor).round() as u64).max(1);
        if drawn != before {
            **parts = parts.with_value(key, drawn).ok()?;
            changes.insert(key.to_owned(), drawn.into());
        }
    }
    description.check().ok().map(|()| (description, changes))
}

//! Flash modules: a command processor, a read path and a write path each, and times that hold up nobody else.

use super::Traffic;
use crate::drive::Slowness;
use crate::engine::{Rate, Server};

/// Times and rates of equal modules.
#[derive(Debug, Clone)]
pub(crate) struct ModuleTiming {
    pub command_ns: u64,
    pub read_ns: u64,
    pub random_read: Rate,
    pub sequential_read: Rate,
    pub write: Rate,
    /// Share of a random read's time that a write of the same size takes from the read path, in 2^-16.
    pub interference_scaled: u64,
    pub read_latency_ns: u64,
    pub write_latency_ns: u64,
}

impl ModuleTiming {
    /// A share in the unit of [`ModuleTiming::interference_scaled`].
    pub fn scaled(share: f64) -> u64 {
        (share * f64::from(1u32 << SCALE_BITS)).round() as u64
    }
}

/// One module.
#[derive(Debug, Clone, Default)]
pub(crate) struct Module {
    commands: Server,
    read_path: Server,
    write_path: Server,
    slowness: Slowness,
    pub traffic: Traffic,
}

impl Module {
    /// Busy times of command processor, read path and write path.
    pub fn busy_ns(&self) -> [u64; 3] {
        [self.commands.busy_ns(), self.read_path.busy_ns(), self.write_path.busy_ns()]
    }
}

/// All modules of a group, spares included.
#[derive(Debug, Clone)]
pub(crate) struct Modules {
    timing: ModuleTiming,
    modules: Box<[Module]>,
}

const SCALE_BITS: u32 = 16;

impl Modules {
    /// So many modules.
    pub fn new(timing: ModuleTiming, count: u32) -> Self {
        Modules { timing, modules: vec![Module::default(); count as usize].into() }
    }

    /// A module reads; returns when the data is there.
    #[inline]
    pub fn read(&mut self, now_ns: u64, drive: u32, bytes: u64, is_sequential: bool) -> u64 {
        let timing = &self.timing;
        let module = &mut self.modules[drive as usize];
        let slowness = module.slowness;
        let service_ns = if is_sequential {
            timing.sequential_read.duration_ns(bytes)
        } else {
            timing.read_ns + timing.random_read.duration_ns(bytes)
        };
        module.traffic.count_read(bytes);
        let taken_ns = module.commands.serve(now_ns, slowness.of_ns(timing.command_ns));
        module.read_path.serve(taken_ns, slowness.of_ns(service_ns)) + slowness.of_ns(timing.read_latency_ns)
    }

    /// A module writes; returns when it is safe there.
    #[inline]
    pub fn write(&mut self, now_ns: u64, drive: u32, bytes: u64) -> u64 {
        let timing = &self.timing;
        let module = &mut self.modules[drive as usize];
        let slowness = module.slowness;
        module.traffic.count_write(bytes);
        let taken_ns = module.commands.serve(now_ns, slowness.of_ns(timing.command_ns));
        let as_read_ns = slowness.of_ns(timing.read_ns + timing.random_read.duration_ns(bytes));
        module.read_path.serve(taken_ns, (as_read_ns * timing.interference_scaled) >> SCALE_BITS);
        module.write_path.serve(taken_ns, slowness.of_ns(timing.write.duration_ns(bytes)))
            + slowness.of_ns(timing.write_latency_ns)
    }

    /// From now on whatever a module does takes so many thousandths of its time.
    pub fn slow_down(&mut self, drive: u32, slowness: Slowness) {
        self.modules[drive as usize].slowness = slowness;
    }

    /// Returns how slow a module is at present.
    pub fn slowness(&self, drive: u32) -> Slowness {
        self.modules[drive as usize].slowness
    }

    /// The modules, for their counters.
    pub fn iter(&self) -> impl Iterator<Item = &Module> {
        self.modules.iter()
    }
}

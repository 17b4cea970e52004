//! Instances of the services of a node, and what their slices leave them of processors and memory.

use super::super::rates::rate;
use super::super::settings::Settings;
use crate::engine::{Rate, ServerPool};

/// Resources of a service instance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Share {
    /// Cores, or a part of one.
    pub processors: f64,
    pub memory_bytes: u64,
}

/// Returns what an instance of the service of a role gets: its wish, or where a slice's services wish for more than the slice has,
/// the same part of its wish as the others get. A role that no service has runs on so many cores.
pub(crate) fn share(array: &array::Array, settings: &Settings, role: u64, cores: u32) -> Share {
    let Some(service) = array.service_of(role) else {
        return Share { processors: f64::from(cores), memory_bytes: u64::MAX };
    };
    let wish = Share { processors: service.processors.share(), memory_bytes: service.memory.get() };
    let slice = array.slices.iter().find(|slice| slice.name.text == service.slice.text);
    let Some(slice) = slice.filter(|_| settings.on.slices) else { return wish };
    let in_slice = || array.services.iter().filter(|other| other.slice.text == slice.name.text);
    let (mut processors, mut memory_bytes) = (slice.processors.share(), slice.memory.get());
    if in_slice().any(|other| other.role.get() == array::Service::CONTROLLERS) {
        processors = settings.slice_processors.unwrap_or(processors);
        memory_bytes = settings.slice_memory_bytes.unwrap_or(memory_bytes);
    }
    let (mut all_processors, mut all_memory) = (0.0, 0.0);
    for other in in_slice() {
        let instances = other.instances.get() as f64;
        all_processors += instances * other.processors.share();
        all_memory += instances * other.memory.get() as f64;
    }
    let part = |has: f64, wished: f64| if wished > has { has / wished } else { 1.0 };
    Share {
        processors: wish.processors * part(processors, all_processors),
        memory_bytes: (wish.memory_bytes as f64 * part(memory_bytes as f64, all_memory)) as u64,
    }
}

/// One instance of a service on its share of the processors.
#[derive(Debug, Clone)]
pub(crate) struct Instance {
    pool: ServerPool,
    /// Time that a nanosecond of a whole core takes here.
    slowness: f64,
    pub requests: u64,
}

impl Instance {
    pub fn new(share: Share, takes_time: bool) -> Self {
        // Less than a core is a slow core: at this scale a quota is spread evenly over time.
        let cores = share.processors.ceil().max(1.0);
        let slowness = if takes_time { cores / share.processors } else { 0.0 };
        Instance { pool: ServerPool::new(cores as u32), slowness, requests: 0 }
    }

    /// Nanoseconds here of so many on a whole core.
    pub fn cost_ns(&self, ns: u64) -> u64 {
        (ns as f64 * self.slowness).round() as u64
    }

    /// Time here for bytes that a whole core passes at this rate.
    pub fn rate(&self, bytes_per_s: u64) -> Rate {
        if self.slowness > 0.0 && bytes_per_s != array::UNLIMITED {
            rate((bytes_per_s as f64 / self.slowness) as u64, true)
        } else {
            Rate::UNLIMITED
        }
    }

    #[inline]
    pub fn serve(&mut self, now_ns: u64, cost_ns: u64) -> u64 {
        self.requests += 1;
        self.pool.serve(now_ns, cost_ns)
    }

    pub fn busy_ns(&self) -> u64 {
        self.pool.busy_ns()
    }
}

/// Counts out a share of events evenly: true for the n-th, where n × share passes a whole number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EvenShare {
    share: f64,
    sum: f64,
}

impl EvenShare {
    /// A share from 0 to 1.
    pub fn new(share: f64) -> Self {
        EvenShare { share: share.clamp(0.0, 1.0), sum: 0.0 }
    }

    #[inline]
    pub fn next(&mut self) -> bool {
        self.sum += self.share;
        let is_one = self.sum >= 1.0;
        if is_one {
            self.sum -= 1.0;
        }
        is_one
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that half a core takes twice as long, and that more than a core serves two at a time.
    #[test]
    fn a_share_acts_on_time() {
        let share = |processors| Share { processors, memory_bytes: 0 };
        let mut half = Instance::new(share(0.5), true);
        let cost_ns = half.cost_ns(10_000);
        assert_eq!([half.serve(0, cost_ns), half.serve(0, cost_ns)], [20_000, 40_000]);
        let mut two = Instance::new(share(2.0), true);
        let cost_ns = two.cost_ns(10_000);
        assert_eq!([two.serve(0, cost_ns), two.serve(0, cost_ns)], [10_000, 10_000]);
    }

    /// Proves that a portion is met over any hundred events.
    #[test]
    fn a_portion_is_exact() {
        let mut portion = EvenShare::new(0.25);
        assert_eq!((0..100).filter(|_| portion.next()).count(), 25);
        let mut none = EvenShare::new(0.0);
        assert_eq!((0..100).filter(|_| none.next()).count(), 0);
    }
}

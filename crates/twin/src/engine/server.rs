//! First-come, first-served servers.
//!
//! Such a resource needs no queue of its own: the moment at which it is next free says everything. This is exact
//! as long as it is asked in the order in which commands arrive, which the event queue sees to.

/// Fractional bits of a time for a byte: 2^-20 ns is 2 parts in 10^6 at 2 GB/s.
const FRACTION_BITS: u32 = 20;

/// Transfer rate, in whole nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rate {
    /// Nanoseconds a byte, in units of 2^-20.
    scaled_ns_per_byte: u64,
}

impl Rate {
    /// No time, whatever the number of bytes.
    pub const UNLIMITED: Rate = Rate { scaled_ns_per_byte: 0 };

    /// The rate of so many times 10^6 bytes a second.
    pub fn from_mb_per_s(mb_per_s: f64) -> Self {
        Rate { scaled_ns_per_byte: (1000.0 / mb_per_s * f64::from(1u32 << FRACTION_BITS)).round() as u64 }
    }

    /// Returns how long so many bytes take, rounded down.
    #[inline]
    pub fn duration_ns(self, bytes: u64) -> u64 {
        (bytes * self.scaled_ns_per_byte) >> FRACTION_BITS
    }
}

/// Serves one command at a time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Server {
    free_at_ns: u64,
    busy_ns: u64,
}

impl Server {
    /// Serves a command that arrives now; returns when it is done.
    #[inline]
    pub fn serve(&mut self, arrival_ns: u64, service_ns: u64) -> u64 {
        let done_ns = self.free_at_ns.max(arrival_ns) + service_ns;
        self.free_at_ns = done_ns;
        self.busy_ns += service_ns;
        done_ns
    }

    /// All the time that it was given to serve, also that which is still to come.
    pub fn busy_ns(&self) -> u64 {
        self.busy_ns
    }
}

/// Serves as many commands at a time as it has servers; the one that is free first takes the next.
#[derive(Debug, Clone)]
pub(crate) struct ServerPool {
    /// Moments at which servers are free: a ring in order, the earliest at `first`. Which server is which makes no
    /// difference, and where commands take about equally long, the one that begins last is done last.
    free_at_ns: Box<[u64]>,
    first: usize,
    busy_ns: u64,
}

impl ServerPool {
    /// A pool of `count` servers.
    pub fn new(count: u32) -> Self {
        ServerPool { free_at_ns: vec![0; count as usize].into(), first: 0, busy_ns: 0 }
    }

    /// Serves a command that arrives now; returns when it is done.
    #[inline]
    pub fn serve(&mut self, arrival_ns: u64, service_ns: u64) -> u64 {
        let count = self.free_at_ns.len();
        let done_ns = self.free_at_ns[self.first].max(arrival_ns) + service_ns;
        self.busy_ns += service_ns;
        // The place of the earliest becomes that of the latest; later ones than this command move up.
        let mut place = self.first;
        self.first = if place + 1 == count { 0 } else { place + 1 };
        while place != self.first {
            let before = if place == 0 { count - 1 } else { place - 1 };
            if self.free_at_ns[before] <= done_ns {
                break;
            }
            self.free_at_ns[place] = self.free_at_ns[before];
            place = before;
        }
        self.free_at_ns[place] = done_ns;
        done_ns
    }

    /// The busy time of all servers together.
    pub fn busy_ns(&self) -> u64 {
        self.busy_ns
    }

    /// Returns how many servers there are.
    pub fn servers(&self) -> u64 {
        self.free_at_ns.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that a single server's waiting follows Lindley's recursion on a schedule worked out by hand.
    #[test]
    fn one_server_serves_in_order() {
        let mut server = Server::default();
        let done: Vec<u64> = [(0, 10), (3, 10), (25, 5), (26, 1)]
            .map(|(arrival, service)| server.serve(arrival, service))
            .into();
        assert_eq!(done, [10, 20, 30, 31]);
        assert_eq!(server.busy_ns(), 26);
    }

    /// Proves that two servers share a queue: the third command starts when the first of the two is free.
    #[test]
    fn a_pool_gives_the_next_command_to_the_first_free() {
        let mut pool = ServerPool::new(2);
        let done: Vec<u64> =
            [(0, 10), (0, 4), (1, 10), (2, 1)].map(|(arrival, service)| pool.serve(arrival, service)).into();
        assert_eq!(done, [10, 4, 14, 11]);
        assert_eq!(pool.busy_ns(), 25);
    }

    /// Proves that a pool of any size does what a search for the server that is free first does.
    #[test]
    fn a_pool_is_a_search_for_the_first_free() {
        let mut random = load::Random::from_seed(3);
        for count in [1, 2, 3, 16] {
            let mut pool = ServerPool::new(count);
            let mut free_at_ns = vec![0; count as usize];
            let mut now_ns = 0;
            for _ in 0..10_000 {
                now_ns += random.below(60);
                let service_ns = random.below(200);
                let first = free_at_ns.iter_mut().min().unwrap();
                *first = now_ns.max(*first) + service_ns;
                assert_eq!(pool.serve(now_ns, service_ns), *first);
            }
        }
    }

    /// Proves that times for bytes are exact to the rounding of a nanosecond up to a gigabyte.
    #[test]
    fn rates_are_exact() {
        assert_eq!(Rate::from_mb_per_s(800.0).duration_ns(4096), 5120);
        assert_eq!(Rate::from_mb_per_s(1000.0).duration_ns(1 << 30), 1 << 30);
        assert_eq!(Rate::UNLIMITED.duration_ns(1 << 30), 0);
    }
}

//! Links: one direction of a full-duplex pipe.

use crate::engine::Server;

/// Transmission queue of one direction of a link.
#[derive(Debug, Clone, Default)]
pub(crate) struct LinkDirection {
    server: Server,
    pub bytes: u64,
}

impl LinkDirection {
    /// Carries so many bytes, which take so long; returns when they are there.
    #[inline]
    pub fn carry(&mut self, now_ns: u64, bytes: u64, service_ns: u64) -> u64 {
        self.bytes += bytes;
        self.server.serve(now_ns, service_ns)
    }

    /// All the time that it was given to carry, also that which is still to come.
    pub fn busy_ns(&self) -> u64 {
        self.server.busy_ns()
    }
}

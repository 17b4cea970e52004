//! Fill of a write cache, and levels to which it is warmed.

/// Fill of a write cache.
#[derive(Debug, Clone, Copy)]
pub struct WriteCacheFill {
    /// Written data that it holds.
    pub held_bytes: u64,
    /// Fill from which it is emptied.
    pub destage_from_bytes: u64,
    /// Fill at which writes wait.
    pub room_bytes: u64,
}

/// Level to which write caches are warmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteCacheLevel {
    /// Fill from which they are emptied, which they keep as long as that is as fast as they take writes in.
    DestageFrom,
    /// All that they have room for, of those that already take in more than is destaged.
    Full,
}

impl WriteCacheFill {
    /// Bytes of a level.
    pub fn bytes_of(&self, level: WriteCacheLevel) -> u64 {
        match level {
            WriteCacheLevel::DestageFrom => self.destage_from_bytes,
            WriteCacheLevel::Full => self.room_bytes,
        }
    }

    /// Returns whether it is warmed to a level.
    pub fn goes_to(&self, level: WriteCacheLevel) -> bool {
        match level {
            WriteCacheLevel::DestageFrom => self.destage_from_bytes > 0,
            WriteCacheLevel::Full => self.held_bytes >= risen(self.destage_from_bytes, self.room_bytes),
        }
    }

    /// Returns whether hardly a write finds room.
    pub fn is_full(&self) -> bool {
        self.held_bytes >= self.room_bytes - self.room_bytes / 64
    }
}

/// Fill from which a cache rises, rather than that stripes are under way.
fn risen(destage_from: u64, room: u64) -> u64 {
    destage_from + (room - destage_from) / 16
}

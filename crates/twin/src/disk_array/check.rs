//! Checks of the description of an array of hard disks.

use serde_json::Map;

use super::Description;
use super::arrangement::Arrangement;
use super::settings::Settings;
use crate::DescriptionError;
use crate::availability::check_availability;
use crate::description::{PART_LIMIT, STEP_LIMIT_US, WINDOW_LIMIT, rate, refuse, whole, within};
use crate::part::{check_controllers, check_hosts};

/// The largest memory of a controller: a block's number and place fit twice into the laboratory's own memory.
const CACHE_LIMIT_BYTES: u64 = 1 << 40;
/// The most blocks of a cache.
const BLOCKS_LIMIT: u64 = 1 << 24;

impl Description {
    /// Refuses what no array can have, naming the key.
    pub(crate) fn check(&self) -> Result<(), DescriptionError> {
        check_hosts(&self.hosts.count, &self.hosts.submission_us)?;
        for (index, file_system) in self.hosts.file_systems.iter().enumerate() {
            let key = |name: &str| format!("hosts.file_systems[{index}].{name}");
            within(&key("submission_us"), &file_system.submission_us, 0.0, STEP_LIMIT_US)?;
            within(&key("completion_us"), &file_system.completion_us, 0.0, STEP_LIMIT_US)?;
            rate(&key("completion_mb_per_s"), &file_system.completion_mb_per_s)?;
        }
        self.links.check()?;
        rate("drive_links.mb_per_s", &self.drive_links.mb_per_s)?;
        self.check_controllers()?;
        self.check_cache()?;
        self.drives.check().map_err(|error| error.under("drives"))?;
        self.check_layout()?;
        let (controllers, drive_bytes) = (self.controllers.count.get(), self.drives.capacity_bytes.get());
        check_availability(self.rebuild.as_ref(), self.firmware_update.as_ref(), controllers, drive_bytes)
    }

    fn check_controllers(&self) -> Result<(), DescriptionError> {
        let controllers = &self.controllers;
        check_controllers(&controllers.count, &controllers.processors, &self.links)?;
        within("controllers.read_us", &controllers.read_us, 0.0, STEP_LIMIT_US)?;
        within("controllers.write_us", &controllers.write_us, 0.0, STEP_LIMIT_US)?;
        within("controllers.parity_us", &controllers.parity_us, 0.0, STEP_LIMIT_US)?;
        rate("controllers.data_mb_per_s", &controllers.data_mb_per_s)?;
        rate("controllers.parity_mb_per_s", &controllers.parity_mb_per_s)
    }

    fn check_cache(&self) -> Result<(), DescriptionError> {
        let cache = &self.cache;
        let block_bytes = cache.block_bytes.get();
        if !block_bytes.is_power_of_two() || !(512..=1 << 30).contains(&block_bytes) {
            return refuse(
                "cache.block_bytes",
                format!("{block_bytes} is no block size"),
                "it must be a power of two from 512 to 2^30",
            );
        }
        for (path, bytes) in
            [("cache.write_bytes", &cache.write_bytes), ("cache.read_bytes", &cache.read_bytes)]
        {
            whole(path, bytes, 0, CACHE_LIMIT_BYTES.min(BLOCKS_LIMIT * block_bytes))?;
        }
        if cache.write_back.get() && cache.write_bytes.get() < block_bytes {
            return refuse(
                "cache.write_bytes",
                format!("{} bytes hold no block", cache.write_bytes.get()),
                "give at least one block, or set `cache.write_back` to false",
            );
        }
        within("cache.destage_from_percent", &cache.destage_from_percent, 0.0, 99.0)?;
        whole("cache.destage_stripes", &cache.destage_stripes, 1, u64::from(WINDOW_LIMIT))?;
        if let Some(mirror) = &cache.mirror_mb_per_s {
            rate("cache.mirror_mb_per_s", mirror)?;
        }
        whole("cache.read_ahead_bytes", &cache.read_ahead_bytes, 0, 1 << 30)
    }

    /// The layout as described must be one, and the volumes must fit.
    fn check_layout(&self) -> Result<(), DescriptionError> {
        let layout = &self.layout;
        whole("volumes.count", &self.volumes.count, 1, u64::from(PART_LIMIT))?;
        let (least, most) = (layout.segment_bytes_least.get(), layout.segment_bytes_most.get());
        if !(512..=most).contains(&least) {
            return refuse(
                "layout.segment_bytes_least",
                format!("{least} bytes"),
                "it must be at least 512 and at most `layout.segment_bytes_most`",
            );
        }
        let made = Settings::parse(self, &Map::new()).and_then(|settings| Arrangement::new(self, &settings));
        let Err(error) = made else { return Ok(()) };
        let crate::TwinError::BadSetting { name, value, allowed } = error else {
            return refuse("layout", error.to_string(), "describe an array that can be made");
        };
        let path = match name.as_str() {
            "segment" => "layout.segment_bytes",
            "volume_size" => "volumes.bytes",
            "layout" => "layout.pool",
            _ => "layout.disks",
        };
        refuse(path, format!("it cannot be {value}"), format!("it takes {allowed}"))
    }
}

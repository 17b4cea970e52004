//! Checks of the description of an SSD array.

use super::Description;
use crate::DescriptionError;
use crate::availability::check_availability;
use crate::description::{CAPACITY_LIMIT_BYTES, STEP_LIMIT_US, WINDOW_LIMIT, rate, refuse, whole, within};
use crate::part::check_controllers;

/// The most LUNs.
const LUN_LIMIT: u32 = 4096;
/// The most queues of a host: one for each LUN and link.
const PATHS_LIMIT: u64 = 1 << 16;
/// The most that a controller slows down: ten times with 1000 commands.
const CROWDING_LIMIT_PER_1000_COMMANDS: f64 = 10.0;
/// The longest microseconds a KiB: slower than any link.
const JOB_LIMIT_US_PER_KIB: f64 = 1e4;

impl Description {
    /// Refuses what no array can have, naming the key.
    pub fn check(&self) -> Result<(), DescriptionError> {
        within("host.job_us", &self.host.job_us, 0.0, STEP_LIMIT_US)?;
        within("host.job_us_per_kib", &self.host.job_us_per_kib, 0.0, JOB_LIMIT_US_PER_KIB)?;
        whole("host.queue_depth", &self.host.queue_depth, 1, u64::from(WINDOW_LIMIT))?;
        rate("host.adapter_mb_per_s", &self.host.adapter_mb_per_s)?;
        self.links.check()?;
        self.check_controllers()?;
        self.check_layout()?;
        self.check_drives()?;
        let (controllers, drive_bytes) = (self.controllers.count.get(), self.drives.capacity_bytes.get());
        check_availability(self.rebuild.as_ref(), self.firmware_update.as_ref(), controllers, drive_bytes)
    }

    fn check_controllers(&self) -> Result<(), DescriptionError> {
        let controllers = &self.controllers;
        check_controllers(&controllers.count, &controllers.processors, &self.links)?;
        let paths = &controllers.command_us;
        for (path, value) in [
            ("controllers.command_us.plain_read", &paths.plain_read),
            ("controllers.command_us.plain_write", &paths.plain_write),
            ("controllers.command_us.parity_read", &paths.parity_read),
            ("controllers.command_us.parity_write", &paths.parity_write),
            ("controllers.read_answer_us", &controllers.read_answer_us),
            ("controllers.write_answer_us", &controllers.write_answer_us),
            ("cache.answer_us", &self.cache.answer_us),
        ] {
            within(path, value, 0.0, STEP_LIMIT_US)?;
        }
        if let Some(log) = &controllers.parity_log_us {
            within("controllers.parity_log_us", log, 0.0, STEP_LIMIT_US)?;
        }
        within(
            "controllers.crowding_per_1000_commands",
            &controllers.crowding_per_1000_commands,
            0.0,
            CROWDING_LIMIT_PER_1000_COMMANDS,
        )?;
        rate("controllers.parity_engine_mb_per_s", &controllers.parity_engine_mb_per_s)?;
        rate("controllers.parity_mb_per_s", &controllers.parity_mb_per_s)?;
        if let Some(updates) = &controllers.parity_updates {
            whole("controllers.parity_updates", updates, 1, u64::from(WINDOW_LIMIT))?;
        }
        rate("cache.mirror_mb_per_s", &self.cache.mirror_mb_per_s)?;
        whole("cache.dirty_limit_bytes", &self.cache.dirty_limit_bytes, 1, CAPACITY_LIMIT_BYTES)?;
        whole("cache.destage_commands", &self.cache.destage_commands, 1, u64::from(WINDOW_LIMIT))
    }

    fn check_layout(&self) -> Result<(), DescriptionError> {
        let level = self.layout.raid.get();
        if !matches!(level, 0 | 5) {
            return refuse("layout.raid", format!("RAID {level} is not known to this kind"), "use 0 or 5");
        }
        whole("layout.luns", &self.layout.luns, 1, u64::from(LUN_LIMIT))?;
        if self.layout.luns.get() < self.controllers.count.get() {
            return refuse(
                "layout.luns",
                format!("{} LUNs for {} controllers", self.layout.luns.get(), self.controllers.count.get()),
                "give every controller a LUN",
            );
        }
        let paths = u64::from(self.layout.luns.get()) * u64::from(self.links.count.get());
        if paths > PATHS_LIMIT {
            return refuse(
                "layout.luns",
                format!(
                    "{paths} queues: {} LUNs over {} links",
                    self.layout.luns.get(),
                    self.links.count.get()
                ),
                format!("use at most {PATHS_LIMIT} together"),
            );
        }
        for (path, size) in [
            ("layout.segment_bytes", self.layout.segment_bytes.get()),
            ("host.stripe_unit_bytes", self.host.stripe_unit_bytes.get()),
        ] {
            if !size.is_power_of_two() || !(4096..=layout::SEGMENT_BYTES_LIMIT).contains(&size) {
                return refuse(
                    path,
                    format!("{size} is no segment size"),
                    format!("it must be a power of two, 4096 to {}", layout::SEGMENT_BYTES_LIMIT),
                );
            }
        }
        Ok(())
    }

    fn check_drives(&self) -> Result<(), DescriptionError> {
        self.drives.check().map_err(|error| error.under("drives"))?;
        let capacity_bytes = self.drives.capacity_bytes.get();
        let least = self.layout.segment_bytes.get().max(self.host.stripe_unit_bytes.get());
        if capacity_bytes < 64 * least {
            return refuse(
                "drives.capacity_bytes",
                format!("{capacity_bytes} holds fewer than 64 segments"),
                "use larger drives or smaller segments",
            );
        }
        Ok(())
    }
}

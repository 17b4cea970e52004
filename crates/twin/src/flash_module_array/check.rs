//! Checks of the description of a flash module array.

use super::Description;
use crate::DescriptionError;
use crate::availability::check_availability;
use crate::description::{
    CAPACITY_LIMIT_BYTES, DRIVE_LIMIT, STEP_LIMIT_US, WINDOW_LIMIT, rate, refuse, whole, within,
};
use crate::part::{check_capacity, check_controllers, check_hosts};

impl Description {
    /// Refuses what no array can have, naming the key.
    pub fn check(&self) -> Result<(), DescriptionError> {
        check_hosts(&self.hosts.count, &self.hosts.submission_us)?;
        self.links.check()?;
        self.check_controllers()?;
        self.check_drives()?;
        self.check_layout()?;
        let (controllers, drive_bytes) = (self.controllers.count.get(), self.drives.capacity_bytes.get());
        check_availability(self.rebuild.as_ref(), self.firmware_update.as_ref(), controllers, drive_bytes)
    }

    fn check_controllers(&self) -> Result<(), DescriptionError> {
        let controllers = &self.controllers;
        self.links.check_reach(self.hosts.count.get(), "host")?;
        check_controllers(&controllers.count, &controllers.processors, &self.links)?;
        within("controllers.command_us", &controllers.command_us, 0.0, STEP_LIMIT_US)?;
        whole("controllers.window_commands", &controllers.window_commands, 1, u64::from(WINDOW_LIMIT))?;
        whole("controllers.window_bytes", &controllers.window_bytes, 512, CAPACITY_LIMIT_BYTES)?;
        rate("controllers.write_buffer_mb_per_s", &controllers.write_buffer_mb_per_s)?;
        within("controllers.write_answer_us", &controllers.write_answer_us, 0.0, STEP_LIMIT_US)?;
        whole("controllers.sequential_streams", &controllers.sequential_streams, 0, u64::from(WINDOW_LIMIT))
    }

    fn check_drives(&self) -> Result<(), DescriptionError> {
        let drives = &self.drives;
        whole("drives.count", &drives.count, 1, u64::from(DRIVE_LIMIT))?;
        check_capacity("drives.capacity_bytes", &drives.capacity_bytes)?;
        within("drives.command_us", &drives.command_us, 0.0, STEP_LIMIT_US)?;
        within("drives.read_us", &drives.read_us, 0.0, STEP_LIMIT_US)?;
        rate("drives.read_mb_per_s", &drives.read_mb_per_s)?;
        rate("drives.sequential_read_mb_per_s", &drives.sequential_read_mb_per_s)?;
        rate("drives.write_mb_per_s", &drives.write_mb_per_s)?;
        within("drives.write_interference_percent", &drives.write_interference_percent, 0.0, 1000.0)?;
        within("drives.read_latency_us", &drives.read_latency_us, 0.0, STEP_LIMIT_US)?;
        within("drives.write_latency_us", &drives.write_latency_us, 0.0, STEP_LIMIT_US)
    }

    fn check_layout(&self) -> Result<(), DescriptionError> {
        let layout = &self.layout;
        let level = layout.raid.get();
        if level != 5 {
            return refuse("layout.raid", format!("RAID {level} is not known to this engine"), "use 5");
        }
        let members = layout.members.get();
        if members < 3 {
            return refuse(
                "layout.members",
                format!("RAID 5 over {members} drives"),
                "RAID 5 needs at least 3",
            );
        }
        let count = self.drives.count.get();
        if members > count {
            return refuse(
                "layout.members",
                format!("{members} drives in the RAID set, but `drives.count` is {count}"),
                "fit more drives or use fewer",
            );
        }
        let segment_bytes = layout.segment_bytes.get();
        if !segment_bytes.is_power_of_two()
            || segment_bytes < 512
            || segment_bytes > self.drives.capacity_bytes.get()
        {
            return refuse(
                "layout.segment_bytes",
                format!("{segment_bytes} is no segment size"),
                "it must be a power of two, at least 512 and at most the drive's capacity",
            );
        }
        match self.set() {
            Ok(_) => Ok(()),
            Err(error) => refuse("layout", error.to_string(), "change the drives or the layout"),
        }
    }
}

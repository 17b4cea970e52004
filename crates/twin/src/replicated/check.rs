//! Checks of the description of a replicated system.

use super::{COPIES, Description};
use crate::DescriptionError;
use crate::description::{
    CAPACITY_LIMIT_BYTES, DRIVE_LIMIT, PART_LIMIT, STEP_LIMIT_US, rate, refuse, whole, within,
};

/// The most templates, volumes, slices or services.
const LIST_LIMIT: usize = 1024;
/// The most instances of a server in a node: the product's own limit.
const SERVER_INSTANCES_LIMIT: u64 = 4;
/// The longest wait before a batch is written, in milliseconds.
const BATCH_AFTER_LIMIT_MS: f64 = 60_000.0;
/// The largest object; the product's own limit is 32 MiB.
const OBJECT_LIMIT_BYTES: u64 = 1 << 30;

impl Description {
    /// Refuses what no system can have, naming the key.
    pub fn check(&self) -> Result<(), DescriptionError> {
        self.check_machines()?;
        self.check_services()?;
        self.check_drives()?;
        self.check_write_buffer()?;
        self.check_volumes()?;
        let relocation = &self.relocation;
        rate("relocation.mb_per_s", &relocation.mb_per_s)?;
        whole("relocation.chunk_bytes", &relocation.chunk_bytes, 512, self.object_bytes.get())?;
        whole("relocation.objects", &relocation.objects, 1, u64::from(PART_LIMIT))
    }

    fn check_machines(&self) -> Result<(), DescriptionError> {
        let parts = u64::from(PART_LIMIT);
        // Each replica is on a node of its own.
        whole("nodes.count", &self.nodes.count, COPIES as u64, parts)?;
        whole("nodes.processors", &self.nodes.processors, 1, parts)?;
        whole("nodes.memory_bytes", &self.nodes.memory_bytes, 1 << 20, CAPACITY_LIMIT_BYTES)?;
        whole("clients.count", &self.clients.count, 0, parts)?;
        whole("clients.processors", &self.clients.processors, 1, parts)?;
        whole("clients.memory_bytes", &self.clients.memory_bytes, 1 << 20, CAPACITY_LIMIT_BYTES)?;
        rate("network.mb_per_s", &self.network.mb_per_s)?;
        within("network.message_us", &self.network.message_us, 0.0, STEP_LIMIT_US)?;
        whole("network.header_bytes", &self.network.header_bytes, 0, 1 << 20)?;
        within("network.hop_us", &self.network.hop_us, 0.0, STEP_LIMIT_US)
    }

    fn check_services(&self) -> Result<(), DescriptionError> {
        few("slices", self.slices.len(), 0)?;
        few("services", self.services.len(), 0)?;
        let (mut processors, mut memory_bytes) = (0.0, 0);
        for (index, slice) in self.slices.iter().enumerate() {
            let cores = f64::from(self.nodes.processors.get());
            within(&format!("slices[{index}].processors"), &slice.processors, 0.01, cores)?;
            let key = format!("slices[{index}].memory_bytes");
            whole(&key, &slice.memory_bytes, 1 << 20, self.nodes.memory_bytes.get())?;
            processors += slice.processors.get();
            memory_bytes += slice.memory_bytes.get();
        }
        if processors > f64::from(self.nodes.processors.get()) || memory_bytes > self.nodes.memory_bytes.get()
        {
            return refuse(
                "slices",
                format!("they guarantee {processors} cores and {memory_bytes} bytes"),
                "guarantee no more than a node has",
            );
        }
        for (index, service) in self.services.iter().enumerate() {
            let key = |name: &str| format!("services[{index}].{name}");
            if !self.slices.iter().any(|slice| slice.name == service.slice) {
                let problem = format!("there is no slice `{}`", service.slice);
                return refuse(&key("slice"), problem, "name one of `slices`");
            }
            whole(&key("instances"), &service.instances, 1, u64::from(PART_LIMIT))?;
            within(&key("processors"), &service.processors, 0.01, f64::from(PART_LIMIT))?;
            whole(&key("memory_bytes"), &service.memory_bytes, 1, CAPACITY_LIMIT_BYTES)?;
            if service.name == "server" {
                whole(&key("instances"), &service.instances, 1, SERVER_INSTANCES_LIMIT)?;
            }
        }
        let instances = u64::from(self.server_instances());
        let for_disks = u64::from(self.hdd.count.get() > 0);
        let nvme_instances = &self.server.nvme_instances;
        whole("server.nvme_instances", nvme_instances, 1, instances.saturating_sub(for_disks).max(1))?;
        if instances <= u64::from(nvme_instances.get()) && for_disks > 0 {
            return refuse(
                "server.nvme_instances",
                "no server is left for the hard disks".into(),
                "give `server` more instances",
            );
        }
        for (key, parameter) in [
            ("block.submission_us", &self.block.submission_us),
            ("block.completion_us", &self.block.completion_us),
            ("server.read_us", &self.server.read_us),
            ("server.nvme_write_us", &self.server.nvme_write_us),
            ("server.hdd_write_us", &self.server.hdd_write_us),
            ("nvmed.command_us", &self.nvmed.command_us),
        ] {
            within(key, parameter, 0.0, STEP_LIMIT_US)?;
        }
        rate("block.mb_per_s", &self.block.mb_per_s)?;
        rate("server.mb_per_s", &self.server.mb_per_s)?;
        whole("server.index_bytes_per_gib", &self.server.index_bytes_per_gib, 0, 1 << 30)
    }

    fn check_drives(&self) -> Result<(), DescriptionError> {
        let (nvme, hdd) = (&self.nvme, &self.hdd);
        let per_node = u64::from(DRIVE_LIMIT) / u64::from(self.nodes.count.get());
        whole("nvme.count", &nvme.count, 0, per_node)?;
        whole("hdd.count", &hdd.count, 0, per_node - u64::from(nvme.count.get()))?;
        nvme.check().map_err(|error| error.under("nvme"))?;
        hdd.check().map_err(|error| error.under("hdd"))
    }

    fn check_write_buffer(&self) -> Result<(), DescriptionError> {
        let buffer = &self.write_buffer;
        whole("write_buffer.bytes", &buffer.bytes, 1 << 20, CAPACITY_LIMIT_BYTES)?;
        within("write_buffer.command_us", &buffer.command_us, 0.0, STEP_LIMIT_US)?;
        rate("write_buffer.mb_per_s", &buffer.mb_per_s)?;
        whole("write_buffer.batch_bytes", &buffer.batch_bytes, 4096, 1 << 30)?;
        within("write_buffer.batch_after_ms", &buffer.batch_after_ms, 0.0, BATCH_AFTER_LIMIT_MS)?;
        whole("write_buffer.metadata_bytes", &buffer.metadata_bytes, 0, 4096)?;
        whole("write_buffer.index_write_bytes", &buffer.index_write_bytes, 512, 1 << 24)?;
        let least = 4 * buffer.batch_bytes.get() + buffer.index_write_bytes.get();
        whole("write_buffer.log_bytes", &buffer.log_bytes, least, self.hdd.capacity_bytes.get())
    }

    fn check_volumes(&self) -> Result<(), DescriptionError> {
        whole("object_bytes", &self.object_bytes, 4096, OBJECT_LIMIT_BYTES)?;
        few("templates", self.templates.len(), 1)?;
        few("volumes", self.volumes.len(), 1)?;
        for (index, template) in self.templates.iter().enumerate() {
            if let Some(class) = template.classes().into_iter().find(|&class| self.count_of(class) == 0) {
                return refuse(
                    &format!("templates[{index}]"),
                    format!("it places replicas on {class:?}, of which a node has none"),
                    "give the nodes such drives",
                );
            }
        }
        for (index, volume) in self.volumes.iter().enumerate() {
            let key = |name: &str| format!("volumes[{index}].{name}");
            whole(&key("bytes"), &volume.bytes, 1 << 20, CAPACITY_LIMIT_BYTES)?;
            if !self.templates.iter().any(|template| template.name == volume.template) {
                let problem = format!("there is no template `{}`", volume.template);
                return refuse(&key("template"), problem, "name one of `templates`");
            }
            if self.volumes[..index].iter().any(|other| other.name == volume.name) {
                return refuse(&key("name"), format!("a second `{}`", volume.name), "give each its own name");
            }
            if !volume.limit.is_possible() {
                return refuse(&key("limit"), "a rate that is none".into(), "give numbers above 0");
            }
        }
        super::placement::Placement::new(self, 0, self.write_buffer.log_bytes.get()).map(|_| ())
    }

    fn count_of(&self, class: super::DriveClass) -> u32 {
        match class {
            super::DriveClass::Nvme => self.nvme.count.get(),
            super::DriveClass::Hdd => self.hdd.count.get(),
        }
    }
}

fn few(key: &str, count: usize, least: usize) -> Result<(), DescriptionError> {
    if (least..=LIST_LIMIT).contains(&count) {
        return Ok(());
    }
    refuse(key, format!("{count} entries"), format!("give {least} to {LIST_LIMIT}"))
}

//! Selection of the block devices that are watched.

/// Selection of block devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeviceSelection {
    /// Every whole device, no partitions.
    Whole,
    /// These kernel names, and the devices that these are made of: the drives of a volume, the paths to a device.
    Named(Vec<String>),
}

//! Inventory: commands and pictures stored beside the results.

use schemars::JsonSchema;
use serde::Deserialize;

/// When a command of the inventory is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum InventoryMoment {
    /// Before the first case.
    #[default]
    Start,
    /// After the last case.
    End,
    /// Before the first and after the last case.
    Both,
}

/// A command whose output is kept with the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InventoryCommand {
    /// The program and its arguments; no shell reads them. `{device}` stands for each block device under test.
    pub arguments: Vec<String>,
    /// Time of execution: before the first case, after the last, or both.
    pub at: InventoryMoment,
}

impl InventoryCommand {
    /// Placeholder for each block device under test.
    pub const DEVICE: &'static str = "{device}";

    /// The commands that it is with these devices: one for each where it names `{device}`, else one.
    pub fn for_devices(&self, devices: &[String]) -> Vec<Vec<String>> {
        if !self.arguments.iter().any(|argument| argument.contains(Self::DEVICE)) {
            return vec![self.arguments.clone()];
        }
        let with = |device: &String| {
            self.arguments.iter().map(|argument| argument.replace(Self::DEVICE, device)).collect()
        };
        devices.iter().map(with).collect()
    }
}

/// A picture of the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Its file, beside the plan's.
    pub file: String,
    /// Caption in one line.
    pub caption: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that a command is run once for each device where it names one, and once where it does not.
    #[test]
    fn a_command_is_run_for_each_device() {
        let command = |words: &[&str]| InventoryCommand {
            arguments: words.iter().map(|word| (*word).to_owned()).collect(),
            at: InventoryMoment::Start,
        };
        let devices = ["/dev/sda".to_owned(), "/dev/sdb".to_owned()];
        assert_eq!(command(&["lscpu"]).for_devices(&devices), [vec!["lscpu"]]);
        assert_eq!(
            command(&["smartctl", "-a", "{device}"]).for_devices(&devices),
            [vec!["smartctl", "-a", "/dev/sda"], vec!["smartctl", "-a", "/dev/sdb"]]
        );
        assert!(command(&["smartctl", "{device}"]).for_devices(&[]).is_empty());
    }
}

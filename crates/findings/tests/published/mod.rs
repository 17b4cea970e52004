//! Pictures like the published ones, each with its mechanisms to switch off.
#![allow(dead_code, reason = "each test file uses the part that it needs")]

pub mod changed;
pub mod dorado_2100_g2;
pub mod e2700;
pub mod flashsystem_840;
pub mod raid_levels;
pub mod storpool;

//! The driver's control device: the ring that each thread needs for it, and devices that killed servers left behind.

use io_uring::{IoUring, squeue};
use libublk::ctrl::{UblkCtrl, ublk_init_ctrl_task_ring};
use libublk::{UblkError, sys};
use std::path::Path;

/// Commands of a thread that are under way at once; the library gives its own rings as many.
const RING_DEPTH: u32 = 16;
/// Upper half of the flags that the driver keeps for a device's server: "arlb".
const OWNER_MAGIC: u64 = 0x6172_6c62 << 32;

/// Gives the calling thread a ring for control commands, unless it has one. The library panics without it, and makes one
/// only on the thread that makes a control.
pub(super) fn open_ring() -> Result<(), UblkError> {
    ublk_init_ctrl_task_ring(|ring| {
        if ring.is_none() {
            *ring = Some(IoUring::<squeue::Entry128>::builder().build(RING_DEPTH)?);
        }
        Ok(())
    })
}

/// Returns what the driver keeps with a device: that it is ours, and of which process.
pub(super) fn owner_tag(process: u32) -> u64 {
    OWNER_MAGIC | u64::from(process)
}

/// Removes the devices of our own whose server was killed. The driver has taken their block devices away already and
/// keeps the number, `/dev/ublkcN` and the memory of the queues.
pub(super) fn remove_leftovers() {
    UblkCtrl::for_each_dev_id(|number| {
        // Where there is a block device, there is a server.
        if Path::new(&format!("/sys/block/ublkb{number}")).exists() {
            return;
        }
        let Ok(control) = UblkCtrl::new_simple(number as i32) else { return };
        let info = control.dev_info();
        if is_leftover(info.ublksrv_flags, u32::from(info.state), &|process| {
            Path::new(&format!("/proc/{process}")).exists()
        }) && control.del_dev_async().is_ok()
        {
            eprintln!("ublk: removed /dev/ublkc{number}, which a killed server had left behind");
        }
    });
}

/// Returns whether a device has a tag of ours, nothing behind it, and a server that has ended. One being made is dead
/// for the driver as well, and its server lives.
fn is_leftover(tag: u64, state: u32, is_alive: &dyn Fn(u32) -> bool) -> bool {
    let process = tag as u32;
    state == sys::UBLK_S_DEV_DEAD && tag == owner_tag(process) && !is_alive(process)
}

/// Ends and removes a device by a handle of its own.
pub(super) fn remove(number: u32) {
    // Where the driver refuses, there is nothing left to try; the next start finds it.
    if let Ok(control) = UblkCtrl::new_simple(number as i32) {
        let _ = control.kill_dev();
        let _ = control.del_dev_async();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that a device is removed only if it is ours, dead, and its server has ended.
    #[test]
    fn only_dead_devices_of_ours_are_leftovers() {
        let (dead, live) = (sys::UBLK_S_DEV_DEAD, sys::UBLK_S_DEV_LIVE);
        let lives = |process: u32| process == 7;
        assert!(is_leftover(owner_tag(8), dead, &lives));
        assert!(!is_leftover(owner_tag(7), dead, &lives), "its server makes it just now");
        assert!(!is_leftover(owner_tag(8), live, &lives), "recovered by another program");
        assert!(!is_leftover(0, dead, &lives), "of another program");
        assert!(!is_leftover(8, dead, &lives), "of another program with flags of its own");
    }
}

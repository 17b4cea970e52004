//! io_uring capabilities of the kernel, probed once.

use std::sync::OnceLock;

use io_uring::{IoUring, Probe, cqueue, opcode, squeue};

use crate::trim::ring_discards;
use crate::{Interface, RingError};

/// Capabilities of the engine on this kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// io_uring works.
    pub io_uring: bool,
    /// Reason why it does not, in words.
    pub why_not: Option<String>,
    /// Completion work can be left to the moment we wait (Linux 6.1).
    pub deferred_completion: bool,
    /// Waiting with a timeout needs no extra operation (Linux 5.11).
    pub wait_with_timeout: bool,
    /// Holes in files and zeroing go through the ring (Linux 5.6).
    pub fallocate: bool,
    /// Discards of block devices go through the ring (Linux 6.12).
    pub block_discard: bool,
}

/// The engine.
#[derive(Debug, Clone, Copy)]
pub struct Engine;

impl Engine {
    /// Returns what can be used. The kernel is asked once for each process.
    pub fn probe() -> &'static Capabilities {
        static PROBED: OnceLock<Capabilities> = OnceLock::new();
        PROBED.get_or_init(probe)
    }
}

fn probe() -> Capabilities {
    let ring = match IoUring::new(2) {
        Ok(ring) => ring,
        Err(error) => {
            let why = match error.raw_os_error() {
                Some(libc::ENOSYS) => "the kernel has no io_uring".to_owned(),
                Some(libc::EPERM | libc::EACCES) => {
                    "io_uring is forbidden (kernel.io_uring_disabled, or the container's seccomp filter)"
                        .to_owned()
                }
                _ => format!("io_uring cannot be set up: {error}"),
            };
            return Capabilities {
                io_uring: false,
                why_not: Some(why),
                deferred_completion: false,
                wait_with_timeout: false,
                fallocate: false,
                block_discard: false,
            };
        }
    };
    let mut operations = Probe::new();
    let is_known = ring.submitter().register_probe(&mut operations).is_ok();
    let wait_with_timeout = ring.params().is_feature_ext_arg();
    let has_basics = is_known
        && operations.is_supported(opcode::Read::CODE)
        && operations.is_supported(opcode::Write::CODE)
        && wait_with_timeout;
    Capabilities {
        io_uring: has_basics,
        why_not: (!has_basics).then(|| "the kernel's io_uring is older than Linux 5.11".to_owned()),
        deferred_completion: IoUring::<squeue::Entry, cqueue::Entry>::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .build(2)
            .is_ok(),
        wait_with_timeout,
        fallocate: is_known && operations.is_supported(opcode::Fallocate::CODE),
        block_discard: is_known && operations.is_supported(opcode::UringCmd16::CODE) && ring_discards(),
    }
}

/// The way to take, and what to tell the user about it.
pub(crate) fn choose(
    wanted: Interface,
    capabilities: &Capabilities,
) -> Result<(Interface, Option<String>), RingError> {
    match (wanted, capabilities.io_uring) {
        (Interface::Auto | Interface::IoUring, true) => Ok((Interface::IoUring, None)),
        (Interface::Threads, _) => Ok((Interface::Threads, None)),
        (_, false) => {
            let why = capabilities.why_not.clone().unwrap_or_default();
            if wanted == Interface::IoUring {
                return Err(RingError::refused(why, "leave the interface to `auto` to use threads instead"));
            }
            Ok((Interface::Threads, Some(format!("{why}: threads with pread and pwrite were used instead"))))
        }
    }
}

/// As [`choose`], for a load that may discard ranges of block devices, which needs a newer kernel than the rest.
pub(crate) fn choose_with_discards(
    wanted: Interface,
    discards_blocks: bool,
    capabilities: &Capabilities,
) -> Result<(Interface, Option<String>), RingError> {
    let (interface, warning) = choose(wanted, capabilities)?;
    if interface != Interface::IoUring || !discards_blocks || capabilities.block_discard {
        return Ok((interface, warning));
    }
    let why = "this kernel's io_uring cannot discard on block devices (before Linux 6.12)";
    if wanted == Interface::IoUring {
        return Err(RingError::refused(why, "leave the interface to `auto` to use threads instead"));
    }
    Ok((Interface::Threads, Some(format!("{why}: threads were used instead"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that threads take the place of an io_uring that is forbidden, with a word about it, unless it was insisted on.
    #[test]
    fn threads_are_the_way_out() {
        let forbidden = Capabilities {
            io_uring: false,
            why_not: Some("it is forbidden".into()),
            deferred_completion: false,
            wait_with_timeout: false,
            fallocate: false,
            block_discard: false,
        };
        let (way, warning) = choose(Interface::Auto, &forbidden).unwrap();
        assert_eq!(way, Interface::Threads);
        assert!(warning.unwrap().contains("it is forbidden: threads"));
        assert!(choose(Interface::IoUring, &forbidden).is_err());
        let works = Capabilities { io_uring: true, why_not: None, ..forbidden };
        assert_eq!(choose(Interface::Auto, &works).unwrap(), (Interface::IoUring, None));
    }

    /// Proves that discards of block devices go to threads, with a word about it, where only the ring's discards are missing, and
    /// that other loads stay with the ring.
    #[test]
    fn discards_are_left_to_threads_on_older_kernels() {
        let older = Capabilities {
            io_uring: true,
            why_not: None,
            deferred_completion: true,
            wait_with_timeout: true,
            fallocate: true,
            block_discard: false,
        };
        let (way, warning) = choose_with_discards(Interface::Auto, true, &older).unwrap();
        assert_eq!(way, Interface::Threads);
        assert!(warning.unwrap().contains("before Linux 6.12"));
        assert!(choose_with_discards(Interface::IoUring, true, &older).is_err());
        let on_ring = Ok((Interface::IoUring, None));
        assert_eq!(choose_with_discards(Interface::Auto, false, &older).map_err(drop), on_ring);
        let newer = Capabilities { block_discard: true, ..older };
        assert_eq!(choose_with_discards(Interface::Auto, true, &newer).map_err(drop), on_ring);
    }
}

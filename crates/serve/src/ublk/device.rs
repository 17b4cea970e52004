//! Kernel block device whose queues hand their requests to the request pool.

use super::control;
use super::request::{Request, SECTOR_BYTES, failure, flag, operation};
use super::request_pool::RequestPool;
use crate::ServeError;
use io_uring::{opcode, types};
use libublk::ctrl::{UblkCtrl, UblkCtrlBuilder};
use libublk::helpers::IoBuf;
use libublk::io::{BufDesc, BufDescList, UblkDev, UblkIOCtx, UblkQueue};
use libublk::{UblkError, UblkFlags, UblkIORes, sys};
use nbd::Export;
use rustix::event::{EventfdFlags, PollFlags, eventfd};
use std::fmt::Display;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Queues of a device, each with a thread that waits for the driver.
const QUEUES: u16 = 2;
/// Requests of a queue that are under way at once.
const DEPTH: u16 = 128;
/// Bytes that the kernel may free or make zero by one request.
const RANGE_BYTES_LIMIT: u64 = 1 << 30;
/// Unit in which the kernel frees.
const DISCARD_GRANULARITY_BYTES: u32 = 4096;
/// Queues come behind the numbers of NBD's connections.
const FIRST_CONNECTION: u64 = 1 << 32;

/// Proof that `request` reads what the library's copy of the kernel's header says.
const _: () = assert!(
    operation::READ == sys::UBLK_IO_OP_READ
        && operation::WRITE == sys::UBLK_IO_OP_WRITE
        && operation::FLUSH == sys::UBLK_IO_OP_FLUSH
        && operation::DISCARD == sys::UBLK_IO_OP_DISCARD
        && operation::WRITE_ZEROES == sys::UBLK_IO_OP_WRITE_ZEROES
        && flag::FUA == sys::UBLK_IO_F_FUA
        && flag::NO_UNMAP == sys::UBLK_IO_F_NOUNMAP
);

/// Period at which [`Attached::attach`] looks whether it is to give up.
const STOP_POLL: Duration = Duration::from_millis(20);

/// A block device, until it is detached.
pub(crate) struct Attached {
    path: PathBuf,
    control: Arc<UblkCtrl>,
    thread: JoinHandle<()>,
}

/// Path of the device, or why there is none.
type Outcome = Result<PathBuf, UblkError>;

/// Sender of the outcome that reports a panic of its thread too: without it, `attach` would wait for ever for a thread
/// that has ended.
#[derive(Clone)]
struct OutcomeSender(Sender<Outcome>);

impl OutcomeSender {
    fn send(&self, outcome: Outcome) {
        // Nobody listens once the device is there.
        let _ = self.0.send(outcome);
    }
}

impl Drop for OutcomeSender {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.send(Err(UblkError::IOError(io::Error::other("a thread of the device panicked"))));
        }
    }
}

impl Attached {
    /// Makes a block device of an export, unless `stop` is set before the kernel has it.
    pub(crate) fn attach(export: Arc<dyn Export>, stop: &AtomicBool) -> Result<Attached, ServeError> {
        super::check()?;
        control::remove_leftovers();
        let request_pool =
            RequestPool::open(export.clone()).map_err(ServeError::io("start the block device's threads"))?;
        let request_pool = Arc::new(request_pool);
        let control = UblkCtrlBuilder::default()
            .name("arraylab")
            .nr_queues(QUEUES)
            .depth(DEPTH)
            .ctrl_target_flags(control::owner_tag(std::process::id()))
            .dev_flags(UblkFlags::UBLK_DEV_F_ADD_DEV)
            .build()
            .map_err(failed)?;
        let control = Arc::new(control);
        let number = control.dev_info().dev_id;
        let (tx, outcome) = channel();
        let tx = OutcomeSender(tx);
        let running = control.clone();
        let device = Builder::new().name("ublk".into()).spawn(move || {
            let (started_tx, failed_tx) = (tx.clone(), tx.clone());
            let ended = control::open_ring().and_then(|()| {
                running.run_target(
                    |device| {
                        set_parameters(device, &*export);
                        Ok(())
                    },
                    move |queue: u16, device: &UblkDev| serve_queue(queue, device, &request_pool, &tx),
                    move |control: &UblkCtrl| started_tx.send(Ok(PathBuf::from(control.get_bdev_path()))),
                )
            });
            if let Err(error) = ended {
                failed_tx.send(Err(error));
            }
        });
        let thread = device.map_err(ServeError::io("start the block device's thread"))?;
        let error = loop {
            match outcome.recv_timeout(STOP_POLL) {
                Ok(Ok(path)) => return Ok(Attached { path, control, thread }),
                Ok(Err(error)) => break error,
                Err(RecvTimeoutError::Timeout) if stop.load(Ordering::Acquire) => {
                    break UblkError::IOError(io::Error::from(io::ErrorKind::Interrupted));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break UblkError::QueueIsDown,
            }
        };
        // The thread may hold `control` while the driver waits for a queue that never comes; another handle is not held.
        control::remove(number);
        Err(failed(error))
    }

    /// `/dev/ublkbN`
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Takes the device away; returns when the kernel has nothing under way any more. Who still has it open or mounted
    /// is not waited for: the driver forgets the device with its last user.
    pub(crate) fn detach(self) {
        // It may have been taken away by others, and then these fail.
        if control::open_ring().is_ok() {
            let _ = self.control.kill_dev();
            let _ = self.thread.join();
            let _ = self.control.del_dev_async();
        }
    }
}

fn failed(error: UblkError) -> ServeError {
    let source = match error {
        UblkError::IOError(error) => error,
        UblkError::UringIOError(code) | UblkError::OtherError(code) => {
            io::Error::from_raw_os_error(code.abs())
        }
        other => io::Error::other(other),
    };
    ServeError::Io { operation: "make a block device with ublk_drv".to_owned(), source }
}

/// Sets what the kernel is to know of the device.
fn set_parameters(device: &mut UblkDev, export: &dyn Export) {
    let size_bytes = export.size_bytes();
    let mut attributes = sys::UBLK_ATTR_VOLATILE_CACHE | sys::UBLK_ATTR_FUA;
    if export.is_read_only() {
        attributes |= sys::UBLK_ATTR_READ_ONLY;
    }
    let range_sectors = (RANGE_BYTES_LIMIT / SECTOR_BYTES) as u32;
    let buffer_bytes = device.dev_info.max_io_buf_bytes;
    device.tgt.dev_size = size_bytes;
    device.tgt.params = sys::ublk_params {
        types: sys::UBLK_PARAM_TYPE_BASIC | sys::UBLK_PARAM_TYPE_DISCARD,
        basic: sys::ublk_param_basic {
            attrs: attributes,
            logical_bs_shift: 9,
            physical_bs_shift: 12,
            io_opt_shift: 12,
            io_min_shift: 12,
            max_sectors: buffer_bytes / SECTOR_BYTES as u32,
            dev_sectors: size_bytes / SECTOR_BYTES,
            ..Default::default()
        },
        discard: sys::ublk_param_discard {
            discard_granularity: DISCARD_GRANULARITY_BYTES,
            max_discard_sectors: range_sectors,
            max_write_zeroes_sectors: range_sectors,
            max_discard_segments: 1,
            ..Default::default()
        },
        ..Default::default()
    };
}

/// Answers of a queue that are to be given to the driver, and what wakes its thread for them.
struct Answered {
    answers: Mutex<Vec<(u16, Vec<u8>, i32)>>,
    bell: OwnedFd,
}

impl Answered {
    fn new() -> io::Result<Answered> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Answered { answers: Mutex::default(), bell })
    }

    fn put(&self, tag: u16, payload: Vec<u8>, result: i32) {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).push((tag, payload, result));
        // Only a count that is full fails, and that rings as well.
        let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
    }

    fn take(&self) -> Vec<(u16, Vec<u8>, i32)> {
        // It rings again for what comes from here on.
        let _ = rustix::io::read(&self.bell, &mut [0; 8]);
        std::mem::take(&mut *self.answers.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Asks the queue's ring to say when there are answers.
    fn watch(&self, queue: &UblkQueue<'_>) -> Result<(), UblkError> {
        let bell = types::Fd(self.bell.as_raw_fd());
        let entry = opcode::PollAdd::new(bell, u32::from(PollFlags::IN.bits())).build();
        queue.ublk_submit_sqe_sync(entry.user_data(UblkIOCtx::build_user_data(0, 0, 0, true)))
    }
}

/// Hands the requests of a queue to the desk and its answers to the driver, until the device is taken away.
fn serve_queue(number: u16, device: &UblkDev, request_pool: &RequestPool, tx: &OutcomeSender) {
    let mut buffers = device.alloc_queue_io_bufs();
    let made = Answered::new().map_err(UblkError::IOError).and_then(|answered| {
        let queue = UblkQueue::new(number, device)?;
        let queue = queue.submit_fetch_commands_unified(BufDescList::Slices(Some(&buffers)))?;
        answered.watch(&queue)?;
        Ok((queue, Arc::new(answered)))
    });
    let (queue, answered) = match made {
        Ok(made) => made,
        Err(error) => return tx.send(Err(error)),
    };
    let connection = FIRST_CONNECTION + u64::from(number);
    queue.wait_and_handle_io(|queue, tag, event| {
        if event.is_tgt_io() {
            for (tag, payload, result) in answered.take() {
                let buffer = &mut buffers[usize::from(tag)];
                let room = &mut buffer.as_mut_slice()[..payload.len()];
                room.copy_from_slice(&payload);
                complete(queue, tag, buffer, result);
            }
            log_lost(answered.watch(queue));
            return;
        }
        let buffer = &buffers[usize::from(tag)];
        let descriptor = queue.get_iod(tag);
        let (op_flags, sectors) = (descriptor.op_flags, descriptor.nr_sectors);
        match Request::decode(op_flags, descriptor.start_sector, sectors, buffer.as_slice().len()) {
            Err(error) => complete(queue, tag, buffer, failure(&error)),
            Ok(request) => {
                let payload = buffer.as_slice()[..request.payload_bytes()].to_vec();
                let answered = answered.clone();
                let answer = move |payload, result| answered.put(tag, payload, result);
                request_pool.take(request, payload, connection, Box::new(answer));
            }
        }
    });
}

fn complete(queue: &UblkQueue<'_>, tag: u16, buffer: &IoBuf<u8>, result: i32) {
    let buffer = BufDesc::Slice(buffer.as_slice());
    log_lost(queue.complete_io_cmd_unified(tag, buffer, Ok(UblkIORes::Result(result))));
}

/// The driver ends what is not answered when the device is taken away; until then somebody should know.
fn log_lost(outcome: Result<(), impl Display>) {
    if let Err(error) = outcome {
        eprintln!("ublk: an answer was lost: {error}");
    }
}

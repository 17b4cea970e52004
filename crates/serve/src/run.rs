//! Lifecycle of a served array.

use crate::ServeError;
use crate::array::ServedArray;
use crate::control_session::accept;
use crate::controlled::Controlled;
use crate::exports::ArrayExports;
use crate::live::LiveArray;
use crate::maintenance::{destage, look_after};
use crate::model_record::{ModelFaults, faults_left, settings_left};
use crate::monitoring::Monitoring;
use crate::named_drives::named_drives;
use crate::options::{Endpoint, Options};
use crate::paced::{Model, Pacer, PacingErrorReport, TwinSpec};
use crate::page::Page;
use crate::power::PowerCutStore;
use crate::reported_losses::{ReportedLosses, lost_drives};
use crate::ublk::{self, Attached};
use crate::volumes::known;
use diagnostic::text_with_causes;
use load::Operation;
use metrics::{AccessScope, MetricsError, MetricsListener, MetricsServer, Token};
use nbd::{Exports as _, Listener, Server, TlsSettings};
use serde_json::Map;
use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use twin::Faults;
use volume::{Directory, VolumeMap};

const LOOK_EVERY: Duration = Duration::from_millis(20);

/// End of serving.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was told to stop.
    Stopped,
    /// The command ended with this status; 128 and the signal's number where a signal ended it.
    CommandEnded(u8),
}

/// Addresses of a served array.
#[derive(Debug, Clone, Copy)]
pub struct Announcement<'a> {
    /// NBD address.
    pub uri: &'a str,
    /// The block device, where one was asked for.
    pub block_device: Option<&'a Path>,
    /// Address at which Prometheus may scrape, and of the page.
    pub metrics: Option<SocketAddr>,
    /// The file of the token that permits changes there.
    pub token: &'a Path,
}

/// An array that was served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// End of the run.
    pub outcome: Outcome,
    /// Delay with which replies left, where they were paced.
    pub lateness: Option<PacingErrorReport>,
    /// Arrivals with their moments in nanoseconds of the twin's clock, where [`Options::kept_arrivals`] asked for them.
    pub arrivals: Vec<(u64, Operation)>,
}

/// Serves until `stop` is set or the command ends. `on_ready` is called once clients may come.
pub fn run(
    options: &Options,
    stop: &AtomicBool,
    on_ready: &dyn Fn(&Announcement<'_>),
) -> Result<Served, ServeError> {
    serve_array(ServedArray::parse(&options.array)?, options, stop, on_ready)
}

/// As [`run`], with an array made otherwise; `options.array` is not looked at.
pub fn serve_array(
    array: ServedArray,
    options: &Options,
    stop: &AtomicBool,
    on_ready: &dyn Fn(&Announcement<'_>),
) -> Result<Served, ServeError> {
    raise_descriptor_limit();
    if options.block_device.is_some() {
        ublk::check()?;
    }
    let tls = options.tls.as_deref().map(load_tls).transpose()?;
    let volume_error = |source| ServeError::Volume { data: options.data.clone(), source };
    let named = named_drives(options)?;
    let directory = Directory::lock(&options.data, named).map_err(volume_error)?;
    let (live, map) = LiveArray::open(array, PowerCutStore::new(directory)).map_err(volume_error)?;
    let live = Arc::new(live);
    let ModelFaults { faults, losses } =
        live.volume().map_or_else(ModelFaults::default, |volume| faults_left(&volume, &lost_drives(&live)));
    let pacer = match options.speed_millionths {
        Some(speed_millionths) => Some(Arc::new(start_pacer(&live, &map, &faults, speed_millionths)?)),
        None => None,
    };
    if let (Some(pacer), expected @ 1..) = (&pacer, options.kept_arrivals) {
        // A model that does not answer has nothing to keep.
        let _ = pacer.ask(move |paced| paced.model.keep_arrivals(expected));
    }
    let exports = Arc::new(ArrayExports::new(&live, pacer.as_ref(), &map));
    let (listener, address, socket) = listen(&options.endpoint, tls.is_some())?;
    let control_path = options.control_path();
    let control = bind(&control_path)?;
    // Before anyone is told of it: whoever may fail drives is the owner.
    fs::set_permissions(&control_path, fs::Permissions::from_mode(0o600))
        .map_err(ServeError::io("protect the control socket"))?;
    let server =
        Arc::new(Server::start(listener, exports.clone(), tls).map_err(ServeError::io("start the server"))?);
    let controlled = Arc::new(Controlled {
        live: live.clone(),
        exports: exports.clone(),
        server: server.clone(),
        pacer: pacer.clone(),
        changes: Mutex::default(),
        reported_losses: ReportedLosses::left(&live, &losses),
        faults_written: Mutex::default(),
        options: options.clone(),
    });
    controlled.restore_model_conditions();
    let monitoring =
        Arc::new(Monitoring { controlled: controlled.clone(), page: Page::new(controlled.clone()) });
    let token_path = options.token_path();
    let metrics =
        options.metrics.map(|address| serve_metrics(address, &token_path, &monitoring)).transpose()?;
    let device = options.block_device.as_deref().map(|export| attach(&exports, export, stop)).transpose()?;
    let device_path = device.as_ref().map(Attached::path);
    let is_stopping = AtomicBool::new(false);
    let (answering, stopped) = UnixStream::pair().map_err(ServeError::io("make a pair of sockets"))?;
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| look_after(&controlled, &is_stopping));
        scope.spawn(|| destage(&controlled.live, &is_stopping));
        scope.spawn(|| accept(&control, &controlled, &stopped));
        if metrics.is_some() {
            scope.spawn(|| monitoring.page.look_on(&is_stopping));
        }
        let at = metrics.as_ref().map(MetricsServer::address);
        on_ready(&Announcement { uri: &address, block_device: device_path, metrics: at, token: &token_path });
        let outcome = match &options.command {
            None => wait_for(stop),
            Some(command) => run_command(command, (&address, device_path), &control_path, stop),
        };
        is_stopping.store(true, Ordering::Release);
        if let Some(volume) = controlled.live.volume() {
            volume.end_destaging();
        }
        drop(answering);
        live.wake();
        outcome
    });
    drop(metrics);
    // While replies leave: the kernel waits for those of the device.
    if let Some(device) = device {
        device.detach();
    }
    let kept = pacer.as_ref().filter(|_| options.kept_arrivals > 0);
    let kept = kept.and_then(|pacer| pacer.ask(|paced| paced.model.take_arrivals()).ok());
    let arrivals = kept.unwrap_or_default();
    if let Some(volume) = live.volume() {
        controlled.write_faults(&volume);
    }
    // Before the server, which waits for replies that are held.
    let lateness = pacer.as_ref().and_then(|pacer| pacer.stop());
    server.stop();
    // Whatever comes of it, the sockets go.
    let _ = fs::remove_file(&control_path);
    if let Some(socket) = socket {
        let _ = fs::remove_file(socket);
    }
    if let Some(volume) = live.volume() {
        volume.checkpoint().map_err(volume_error)?;
    }
    Ok(Served { outcome: outcome?, lateness, arrivals })
}

fn serve_metrics(
    address: SocketAddr,
    token: &Path,
    monitoring: &Arc<Monitoring>,
) -> Result<MetricsServer, ServeError> {
    let listener = MetricsListener::bind(address, AccessScope::Loopback).map_err(|error| match error {
        MetricsError::NotLoopback(address) => ServeError::Options {
            problem: format!("--metrics {address} can be reached from other hosts"),
            hint: "take 127.0.0.1; from another host it is reached with `ssh -L PORT:127.0.0.1:PORT`",
        },
        error => ServeError::Metrics(error),
    })?;
    let token = Token::read_or_make(token)?;
    Ok(listener.serve(monitoring.clone(), Some(token))?)
}

pub(crate) fn start_pacer(
    live: &LiveArray,
    map: &VolumeMap,
    faults: &Faults,
    speed_millionths: u64,
) -> Result<Pacer, ServeError> {
    let array = &live.array;
    let Some(twin) = array.twin.clone() else {
        return Err(ServeError::Array {
            problem: format!("`{}` has no model of its time", array.name),
            hint: "serve it as fast as it goes, with --untimed",
        });
    };
    // The exports number them in the same order.
    let number_of =
        |name: &str| map.volumes().iter().position(|volume| volume.name == name).map(|at| at as u32);
    let volumes = known(array, map, &number_of);
    let left = live.volume().map_or_else(Map::new, |volume| settings_left(&volume, array));
    let settings = twin.settings.clone().into_iter().chain(left).collect();
    let as_left = Model::new(TwinSpec { settings, ..twin.clone() }, &volumes, faults);
    let model = as_left.or_else(|error| {
        // The array's description may have changed: it has other settings now.
        live.note(&format!("settings of the model are as at the first start: {}", text_with_causes(&error)));
        Model::new(twin, &volumes, faults)
    });
    Pacer::start(model?, speed_millionths)
}

fn wait_for(stop: &AtomicBool) -> Result<Outcome, ServeError> {
    while !stop.load(Ordering::Acquire) {
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(Outcome::Stopped)
}

/// Makes a block device of an export.
fn attach(exports: &ArrayExports, name: &str, stop: &AtomicBool) -> Result<Attached, ServeError> {
    let export = exports.find(name).ok_or_else(|| ServeError::Options {
        problem: format!("--ublk={name}: there is no such volume"),
        hint: "--ublk alone takes the whole array; `arraylab ctl SOCKET status` lists the volumes",
    })?;
    Attached::attach(export, stop)
}

fn run_command(
    command: &str,
    (address, device): (&str, Option<&Path>),
    control: &Path,
    stop: &AtomicBool,
) -> Result<Outcome, ServeError> {
    let failed = |source| ServeError::Io { operation: format!("run `{command}`"), source };
    let mut child = Command::new("/bin/sh")
        .args(["-c", command])
        .env("ARRAYLAB_NBD_URI", address)
        .env("ARRAYLAB_CONTROL", control)
        .envs(device.map(|device| ("ARRAYLAB_BLOCK_DEVICE", device)))
        .spawn()
        .map_err(failed)?;
    loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            let signal = status.signal().map_or(1, |signal| 128 + signal);
            return Ok(Outcome::CommandEnded(status.code().unwrap_or(signal) as u8));
        }
        if stop.load(Ordering::Acquire) {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
            return Ok(Outcome::Stopped);
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

fn load_tls(directory: &Path) -> Result<TlsSettings, ServeError> {
    TlsSettings::load(directory).map_err(|error| ServeError::Options {
        problem: error.to_string(),
        hint: "scripts/make-certificates.sh DIR makes an authority, a server's and a client's certificate",
    })
}

fn listen(endpoint: &Endpoint, has_tls: bool) -> Result<(Listener, String, Option<PathBuf>), ServeError> {
    let scheme = if has_tls { "nbds" } else { "nbd" };
    match endpoint {
        Endpoint::Unix(path) => {
            let listener = bind(path)?;
            let absolute = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            let address = format!("{scheme}+unix:///?socket={}", escaped(&absolute));
            Ok((Listener::Unix(listener), address, Some(path.clone())))
        }
        Endpoint::Tcp(address) => {
            let listener =
                TcpListener::bind(address).map_err(ServeError::io(format!("listen on {address}")))?;
            let listener = Listener::Tcp(listener);
            let address = listener.tcp_address().unwrap_or(*address);
            Ok((listener, format!("{scheme}://{address}"), None))
        }
    }
}

/// A path as a value of a URI's query (RFC 3986).
fn escaped(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    let mut text = String::new();
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
                text.push(byte as char);
            }
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

/// Binds a Unix socket; one that a dead server left behind is taken away first.
fn bind(path: &Path) -> Result<UnixListener, ServeError> {
    if let Ok(metadata) = fs::symlink_metadata(path) {
        let problem = if !metadata.file_type().is_socket() {
            Some(format!("{} exists and is no socket", path.display()))
        } else if UnixStream::connect(path).is_ok() {
            Some(format!("a server answers at {} already", path.display()))
        } else {
            None
        };
        if let Some(problem) = problem {
            return Err(ServeError::Options { problem, hint: "give another path" });
        }
        fs::remove_file(path)
            .map_err(ServeError::io(format!("remove the dead socket {}", path.display())))?;
    }
    UnixListener::bind(path).map_err(ServeError::io(format!("make the socket {}", path.display())))
}

/// A thousand clients need more descriptors than a shell allows at first.
fn raise_descriptor_limit() {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let raised = rustix::process::Rlimit { current: limit.maximum, ..limit };
    // Without it there is room for fewer clients.
    let _ = rustix::process::setrlimit(rustix::process::Resource::Nofile, raised);
}

/// An operation of the bench that failed.
pub(crate) fn bench_error(what: &str, problem: impl Into<String>) -> ServeError {
    ServeError::Io { operation: what.to_owned(), source: io::Error::other(problem.into()) }
}

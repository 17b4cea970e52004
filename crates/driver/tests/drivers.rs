//! Drivers that are programs of the user's, the operator, or a served array.

use diagnostic::full_text;
use driver::protocol::{
    ErrorKind, Ready, Request, Response, ResponseError, ResponseResult, Verb, read_line, to_line,
};
use driver::{
    ArrayDriver, DriverError, DriverSpec, HostProtection, Opening, Protection as _, Readiness, SetOutcome,
    Settings, exec_schema,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufReader, Cursor, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/array-drivers.md");
const SCHEMA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/array-driver.schema.json");

fn open(spec: &str, answers: &str) -> Result<Box<dyn ArrayDriver>, DriverError> {
    let opening = Opening {
        consents: &["sdb-0123456789".to_owned()],
        protection: Box::new(HostProtection::default()),
        answers: Box::new(Cursor::new(answers.to_owned())),
        questions: Box::new(std::io::sink()),
    };
    DriverSpec::parse(spec)?.open(opening).map(|(driver, _)| driver)
}

fn object(value: &Value) -> Settings {
    value.as_object().expect("an object").clone()
}

struct Program {
    directory: TempDir,
    spec: String,
}

/// A shell script in a directory of its own.
fn program(script: &str, options: &str) -> Program {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("program");
    fs::write(&path, script).expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
    let spec = format!("exec:{}{options}", path.display());
    Program { directory, spec }
}

/// A fork of another test may hold the new script open for a moment (ETXTBSY).
fn set(spec: &str, settings: &Settings) -> Result<SetOutcome, DriverError> {
    let mut driver = open(spec, "")?;
    loop {
        match driver.set(settings) {
            Err(DriverError::Start { source, .. })
                if source.kind() == std::io::ErrorKind::ExecutableFileBusy => {}
            result => return result,
        }
    }
}

/// Proves that the example in the documentation is a driver, and that the documented schemas are the contract's.
#[test]
fn the_documented_example_works() {
    let text = fs::read_to_string(DOCUMENT).expect("the document");
    let script = text.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next()).expect("the example");
    let program = program(script, "");
    let spec = format!("{},state={}/raid", program.spec, program.directory.path().display());
    let made = set(&spec, &object(&json!({ "raid": 5, "disks": 4 }))).expect("made");
    let SetOutcome::Made { changes, devices, .. } = made else { panic!("{made:?}") };
    assert_eq!(
        (changes[0].name.as_str(), changes[0].after.as_deref(), devices.len()),
        ("raid", Some("5"), 0)
    );
    let refused = set(&spec, &object(&json!({ "raid": 6 }))).expect("refused");
    assert_eq!(refused, SetOutcome::Refused { reason: "this array has no RAID 6".into() });
    let mut driver = open(&spec, "").expect("opened");
    assert_eq!(driver.ready().expect("ready"), Readiness::Ready);
    assert_eq!(driver.status().expect("status"), json!({ "raid": "5" }));
    let error = full_text(&driver.event("upgrade", &Settings::new()).expect_err("no events"));
    assert!(error.contains("no events here"), "{error}");

    let schema = format!("{:#}\n", exec_schema());
    if std::env::var_os("ARRAYLAB_BLESS").is_some() {
        fs::write(SCHEMA, &schema).expect("written");
    }
    assert_eq!(fs::read_to_string(SCHEMA).expect("the schemas"), schema, "write them with ARRAYLAB_BLESS=1");
}

/// Proves that a program is given the verb, the settings, its options and the consents.
#[test]
fn a_program_is_given_everything() {
    let program = program(
        "#!/bin/sh\necho '{\"devices\":[{\"path\":\"/dev/sdz\",\"id\":\"naa.6001\"}]}'\ncat >${0%/*}/\"$1.json\"\n",
        ",color=red,timeout=5",
    );
    let outcome = set(&program.spec, &object(&json!({ "raid": 10 }))).expect("made");
    let SetOutcome::Made { devices, .. } = outcome else { panic!("{outcome:?}") };
    assert_eq!((devices[0].path.as_path(), devices[0].id.as_str()), (Path::new("/dev/sdz"), "naa.6001"));
    let request: Value =
        serde_json::from_str(&fs::read_to_string(program.directory.path().join("set.json")).expect("kept"))
            .expect("JSON");
    assert_eq!(
        request,
        json!({ "contract": 1, "verb": "set", "options": { "color": "red" }, "consents": ["sdb-0123456789"],
                "settings": { "raid": 10 } })
    );
}

/// Proves that each way in which a program can misbehave is an error of its own, within the limits, and never a set.
#[test]
fn misbehaving_programs_are_told() {
    let started = Instant::now();
    for (script, says) in [
        ("#!/bin/sh\necho bad disk >&2; exit 1\n", "bad disk"),
        ("#!/bin/sh\nexit 0\n", "not the JSON expected"),
        ("#!/bin/sh\necho '[1,2'\n", "not the JSON expected"),
        ("#!/bin/sh\necho '{} {}'\n", "not the JSON expected"),
        ("#!/bin/sh\necho '{\"device\":\"/dev/sda\"}'\n", "unknown field"),
        ("#!/bin/sh\necho '{\"devices\":[{\"path\":\"sda\",\"id\":\"x\"}]}'\n", "absolute path"),
        ("#!/bin/sh\necho '{\"devices\":[{\"path\":\"/dev/sda\",\"id\":\" \"}]}'\n", "an id"),
        ("#!/bin/sh\necho '{\"refused\":\"no\"}'\n", "exits with 0"),
        ("#!/bin/sh\nyes\n", "wrote more than"),
        ("#!/bin/sh\nsleep 100 & sleep 100\n", "gave no answer"),
        ("#!/bin/sh\nkill -9 $$\n", "signal: 9"),
        ("#!/no/such/interpreter\n", "cannot run"),
    ] {
        // Only the one that hangs shall be stopped, however late a busy host starts the others.
        let program = program(script, if says == "gave no answer" { ",timeout=0.5" } else { ",timeout=15" });
        let error = full_text(&set(&program.spec, &Settings::new()).expect_err(script));
        assert!(error.contains(says) && error.contains("\nhint: "), "{script}: {error}");
    }
    // Exit status 3 alone refuses, with the reason from standard error.
    let program = program("#!/bin/sh\necho 'odd number' >&2\nexit 3\n", "");
    assert_eq!(
        set(&program.spec, &Settings::new()).expect("refused"),
        SetOutcome::Refused { reason: "odd number".into() }
    );
    // A daemon that a program leaves behind does not hold it up.
    let program = self::program("#!/bin/sh\nsleep 20 &\necho '{}'\n", "");
    assert!(matches!(set(&program.spec, &Settings::new()), Ok(SetOutcome::Made { .. })));
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}

/// Proves that the operator is asked only for what changes, and that each answer is what it says.
#[test]
fn the_operator_is_asked() {
    let answers = "what?\nDone\nrefused  write cache has no battery\nskip\nskip lunch\ndone\n";
    let mut driver = open("manual", answers).expect("opened");
    let off = object(&json!({ "raid": 5, "write_cache": "off" }));
    let on = object(&json!({ "raid": 5, "write_cache": "on" }));
    let SetOutcome::Made { changes, .. } = driver.set(&off).expect("done") else { panic!() };
    assert_eq!(changes.len(), 2);
    let SetOutcome::Made { changes, .. } = driver.set(&off).expect("nothing to do") else { panic!() };
    assert!(changes.is_empty());
    assert_eq!(
        driver.set(&on).expect("refused"),
        SetOutcome::Refused { reason: "write cache has no battery".into() }
    );
    // After that, nobody knows the state, so everything is asked for again.
    let SetOutcome::Refused { reason } = driver.set(&off).expect("skipped") else { panic!() };
    assert_eq!(reason, "skipped by the operator: no reason given");
    let error = full_text(&driver.event("firmware-update", &Settings::new()).expect_err("skipped"));
    assert!(error.contains("skipped by the operator: lunch"), "{error}");
    assert!(matches!(driver.set(&off), Ok(SetOutcome::Made { .. })));
    assert!(matches!(driver.set(&on), Err(DriverError::Operator { .. })), "there are no more answers");
}

/// Proves the client side of a control socket against a server that answers, refuses, lies and hangs up.
#[test]
fn a_served_array_is_set_over_its_socket() {
    let directory = TempDir::new().expect("a directory");
    let socket = directory.path().join("array.ctl");
    let listener = UnixListener::bind(&socket).expect("bound");
    let server = std::thread::spawn(move || {
        let (stream, _) = listener.accept().expect("a client");
        let mut reader = BufReader::new(stream.try_clone().expect("a clone"));
        let mut writer = stream;
        while let Some(line) = read_line(&mut reader).expect("a line") {
            let request = Request::parse(&line).expect("a request");
            let ok = |value| ResponseResult::Ok(value);
            let error =
                |kind, message: &str| ResponseResult::Error(ResponseError { kind, message: message.into() });
            let mut id = Some(request.id);
            let result = match &request.verb {
                Verb::Set { settings } if settings.get("raid") == Some(&json!(6)) => {
                    error(ErrorKind::Refused, "no RAID 6 here")
                }
                Verb::Set { .. } => ok(json!({})),
                Verb::Ready => ok(json!(Ready { progress_percent: Some(40.0), ..Ready::default() })),
                Verb::Event { name, .. } if name == "lie" => {
                    id = Some(request.id + 1);
                    ok(json!({}))
                }
                Verb::Event { name, .. } if name == "end" => return,
                Verb::Event { .. } => error(ErrorKind::Failed, "it failed"),
                Verb::Status => ok(json!({ "raid": 5 })),
            };
            writer.write_all(&to_line(&Response { id, result }).expect("a line")).expect("written");
        }
    });
    let mut driver = open(&format!("ctl:{}", socket.display()), "").expect("connected");
    assert!(matches!(driver.set(&object(&json!({ "raid": 5 }))), Ok(SetOutcome::Made { .. })));
    assert_eq!(
        driver.set(&object(&json!({ "raid": 6 }))).expect("refused"),
        SetOutcome::Refused { reason: "no RAID 6 here".into() }
    );
    let Readiness::Busy(progress) = driver.ready().expect("asked") else { panic!("not ready") };
    assert_eq!(progress.percent, Some(40.0));
    assert_eq!(driver.status().expect("status"), json!({ "raid": 5 }));
    for (event, says) in [("upgrade", "it failed"), ("lie", "instead of"), ("end", "control socket")] {
        let error = full_text(&driver.event(event, &Settings::new()).expect_err(event));
        assert!(error.contains(says), "{event}: {error}");
    }
    server.join().expect("the server ended well");
    assert!(open("ctl:/no/such/socket", "").is_err());
}

/// Proves that a device of the host is taken only with its ID, and never while another program has it.
#[test]
fn the_host_guards_its_devices() {
    let directory = TempDir::new().expect("a directory");
    let image = directory.path().join("image");
    fs::File::create(&image).and_then(|file| file.set_len(16 << 20)).expect("an image");
    let attached = Command::new("losetup").args(["--find", "--show"]).arg(&image).output().expect("losetup");
    assert!(attached.status.success(), "a loop device is needed (run as root): {attached:?}");
    let device = String::from_utf8(attached.stdout).expect("a path").trim().to_owned();
    let path = Path::new(&device);
    let host = HostProtection::default();
    let without = full_text(&host.check_consent(path, &[]).expect_err("no consent"));
    let id = without.split("--overwrite-data ").nth(1).expect("the ID").trim().to_owned();
    let with = host.check_consent(path, &[id]);
    let unused = host.check_unused(path);
    let identity = host.identity(path);
    let held = fs::OpenOptions::new()
        .write(true)
        .custom_flags(rustix::fs::OFlags::EXCL.bits() as i32)
        .open(path)
        .expect("opened for itself");
    let used = host.check_unused(path);
    drop(held);
    Command::new("losetup").args(["--detach", &device]).status().expect("detached");
    assert!(with.is_ok() && unused.is_ok(), "{with:?} {unused:?}");
    assert_eq!(identity.expect("identity").0, 16 << 20);
    assert!(matches!(used, Err(DriverError::Protected { .. })), "{used:?}");
}

/// Proves that lines and requests over the limits are refused, and that a line never takes more memory than its limit.
#[test]
fn protocol_limits_hold() {
    let long = vec![b'x'; driver::protocol::LINE_LIMIT_BYTES + 1];
    assert!(read_line(&mut long.as_slice()).is_err());
    assert!(Request::parse(&long).is_err());
    assert!(read_line(&mut b"{\"id\"".as_slice()).is_err(), "cut off");
    assert_eq!(read_line(&mut b"".as_slice()).expect("the end"), None);
    let many: Settings = (0..=256).map(|n| (format!("s{n}"), json!(n))).collect();
    let name = object(&json!({ "x".repeat(129): 1 }));
    for settings in [many, name] {
        let line = to_line(&Request { id: 1, token: None, verb: Verb::Set { settings } }).expect("a line");
        assert!(Request::parse(&line).is_err());
    }
    let deep = format!("{{\"id\":1,\"verb\":\"set\",\"settings\":{{\"a\":{}", "[".repeat(100_000));
    assert!(Request::parse(deep.as_bytes()).is_err());
}

fn requests() -> impl Strategy<Value = Request> {
    let settings = proptest::collection::vec(("[a-z_]{1,9}", any::<i64>()), 0..6).prop_map(|entries| {
        entries.into_iter().map(|(name, value)| (name, json!(value))).collect::<Settings>()
    });
    let verbs = prop_oneof![
        Just(Verb::Ready),
        Just(Verb::Status),
        settings.clone().prop_map(|settings| Verb::Set { settings }),
        ("\\PC{0,20}", settings).prop_map(|(name, arguments)| Verb::Event { name, arguments }),
    ];
    (any::<u64>(), proptest::option::of("\\PC{0,20}"), verbs).prop_map(|(id, token, verb)| Request {
        id,
        token,
        verb,
    })
}

proptest! {
    /// Proves that what one side writes is one line, which the other side reads as the same request.
    #[test]
    fn requests_read_back(request in requests()) {
        let line = to_line(&request).unwrap();
        prop_assert_eq!(line.iter().filter(|&&byte| byte == b'\n').count(), 1);
        let read = read_line(&mut line.as_slice()).unwrap().unwrap();
        prop_assert_eq!(Request::parse(&read).unwrap(), request);
    }

    /// Proves that no bytes, and no damage to a request, make the reader of either side panic.
    #[test]
    fn no_bytes_panic(request in requests(), at in any::<prop::sample::Index>(), byte: u8, noise: Vec<u8>) {
        let mut line = to_line(&request).unwrap();
        let at = at.index(line.len());
        line[at] = byte;
        for bytes in [line.as_slice(), noise.as_slice()] {
            let _ = Request::parse(bytes);
            let _ = Response::parse(bytes);
            let _ = read_line(&mut &*bytes);
        }
    }
}

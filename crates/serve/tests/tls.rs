//! Served arrays under TLS, by clients with GnuTLS and without certificates.

mod common;

use common::{array, directory, options, serve_with, tool};
use nbd::{Client, ClientError};
use serve::{Endpoint, Options, ServeError, serve_array};
use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// An authority, a server's and a client's certificate.
fn certificates(directory: &Path) -> PathBuf {
    let made = directory.join("certificates");
    let script = format!("{}/../../scripts/make-certificates.sh", env!("CARGO_MANIFEST_DIR"));
    tool(&script, &[made.to_str().unwrap()]);
    made
}

fn encrypted(directory: &Path, certificates: &Path) -> Options {
    Options {
        endpoint: Endpoint::Tcp("127.0.0.1:0".parse().unwrap()),
        tls: Some(certificates.join("server")),
        ..options(directory)
    }
}

/// Proves that `nbdinfo` and `nbdcopy` with a certificate of the authority read and write over TLS on several
/// connections what comes back unchanged; and that neither a client without certificate, nor one of another
/// authority, nor one without TLS gets anything.
#[test]
fn only_clients_with_a_certificate_are_served() {
    let directory = directory();
    let made = certificates(directory.path());
    let array = array("raid-levels,raid=6,disks=6,capacity=16m");
    let served = serve_with(&array, encrypted(directory.path(), &made));
    assert!(served.uri.starts_with("nbds://127.0.0.1:"), "{}", served.uri);
    let with = |certificates: &Path| format!("{}/?tls-certificates={}", served.uri, certificates.display());
    let uri = with(&made.join("client"));
    let info = tool("nbdinfo", &["--json", &uri]);
    let info: serde_json::Value = serde_json::from_slice(&info.stdout).unwrap();
    assert_eq!(info["TLS"], true, "{info}");
    let (from, to) = (directory.path().join("from"), directory.path().join("to"));
    let content: Vec<u8> =
        (0..10u32 << 20).flat_map(|word| word.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    fs::write(&from, &content).unwrap();
    tool("nbdcopy", &["--flush", from.to_str().unwrap(), &uri]);
    tool("nbdcopy", &[&uri, to.to_str().unwrap()]);
    assert!(fs::read(&to).unwrap()[..content.len()] == content, "what came back differs");

    let strangers = directory.path().join("strangers");
    fs::create_dir(&strangers).unwrap();
    let strange = certificates(&strangers);
    // Their client's certificate, with this server's authority, so that only the server can refuse.
    fs::copy(made.join("client/ca-cert.pem"), strange.join("client/ca-cert.pem")).unwrap();
    let bare = directory.path().join("bare");
    fs::create_dir(&bare).unwrap();
    fs::copy(made.join("client/ca-cert.pem"), bare.join("ca-cert.pem")).unwrap();
    for refused in [strange.join("client"), bare] {
        let output = Command::new("nbdinfo").args(["--size", &with(&refused)]).output().unwrap();
        assert!(!output.status.success(), "{} is served", refused.display());
    }
    let address = served.uri.strip_prefix("nbds://").unwrap();
    let in_clear = Client::connect(TcpStream::connect(address).unwrap(), "", true, Duration::from_secs(10));
    // NBD_REP_ERR_TLS_REQD.
    assert!(
        matches!(in_clear, Err(ClientError::Refused { reply: 0x8000_0005, .. })),
        "{:?}",
        in_clear.map(|_| ())
    );
    let again = tool("nbdinfo", &["--size", &uri]);
    assert!(!again.stdout.is_empty(), "served after all that");
}

/// Proves that certificates that cannot be used are refused by name before anything is made.
#[test]
fn bad_certificates_are_refused() {
    let directory = directory();
    let made = certificates(directory.path());
    let refusal = |words: &str| {
        let options = encrypted(directory.path(), &made);
        let array = array("raid-levels,raid=6,disks=6,capacity=4m");
        let error = serve_array(array, &options, &AtomicBool::new(true), &|_| ()).unwrap_err();
        assert!(matches!(error, ServeError::Options { .. }) && error.to_string().contains(words), "{error}");
        assert!(!options.data.exists(), "something was made");
    };
    let key = made.join("server/server-key.pem");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    refusal("others may read this key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    fs::copy(made.join("client/client-key.pem"), &key).unwrap();
    refusal("cannot be used");
    fs::write(made.join("server/ca-cert.pem"), "nothing").unwrap();
    refusal("ca-cert.pem");
    fs::remove_file(made.join("server/server-cert.pem")).unwrap();
    refusal("-cert.pem");
}

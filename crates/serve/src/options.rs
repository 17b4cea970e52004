//! Serve options, independent of the command line.

use crate::ServeError;
use crate::array::ServedArray;
use load::{REAL_SPEED, SPEEDS};
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::{Path, PathBuf};

/// Endpoint for clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// A Unix socket.
    Unix(PathBuf),
    /// A TCP port; beyond loopback only with TLS.
    Tcp(SocketAddr),
}

/// `serve ARRAY --socket PATH|--listen ADDR:PORT …`
#[derive(Debug, Clone)]
pub struct Options {
    /// `NAME[,key=value]…`
    pub array: String,
    /// `--socket` or `--listen`.
    pub endpoint: Endpoint,
    /// `--tls`: a directory with `ca-cert.pem`, `server-cert.pem` and `server-key.pem`. Clients need a certificate then.
    pub tls: Option<PathBuf>,
    /// `--data`: the directory that keeps the bytes.
    pub data: PathBuf,
    /// `--control`; by default the served socket's path with `.ctl` behind, or `control` in the data directory
    /// where a port is served.
    pub control: Option<PathBuf>,
    /// `--run`: a shell command to run while the array is served.
    pub command: Option<String>,
    /// `--ublk`: the export to make a block device of; empty for the whole array.
    pub block_device: Option<String>,
    /// `--drive`: files or devices for the first drives.
    pub drives: Vec<PathBuf>,
    /// `--metrics`: where Prometheus may scrape and the page is; loopback only.
    pub metrics: Option<SocketAddr>,
    /// `--token-file`: what permits changes over `metrics`; by default `token` in the data directory.
    pub token_file: Option<PathBuf>,
    /// `--speed`: the model's time in millionths of ours; none where the array is served as fast as it goes.
    pub speed_millionths: Option<u64>,
    /// `--overwrite-data`: IDs of drives whose data may go.
    pub overwrite_data: Vec<String>,
    /// For measurements: room for so many requests, which are kept with their moments; 0 keeps none.
    pub kept_arrivals: usize,
}

/// From `--untimed` and `--speed`: how fast the model's time goes, in millionths of ours; none for no model.
pub fn parse_speed(untimed: bool, speed: Option<f64>) -> Result<Option<u64>, ServeError> {
    match (untimed, speed) {
        (true, _) => Ok(None),
        (false, None) => Ok(Some(REAL_SPEED)),
        (false, Some(speed)) => {
            let millionths = load::speed_millionths(speed).ok_or_else(|| ServeError::Options {
                problem: format!("--speed {speed} is not between {} and {}", SPEEDS.start(), SPEEDS.end()),
                hint: "1 is the array's own speed, 10 ten times as fast; --untimed is as fast as it goes",
            })?;
            Ok(Some(millionths))
        }
    }
}

impl Options {
    /// An array on the socket `nbd` in a directory, its bytes in `data` there, as fast as it goes and without anything
    /// that must be asked for.
    pub fn untimed(array: impl Into<String>, directory: &Path) -> Options {
        Options {
            array: array.into(),
            endpoint: Endpoint::Unix(directory.join("nbd")),
            tls: None,
            data: directory.join("data"),
            control: None,
            command: None,
            block_device: None,
            drives: Vec::new(),
            metrics: None,
            token_file: None,
            speed_millionths: None,
            overwrite_data: Vec::new(),
            kept_arrivals: 0,
        }
    }

    /// Returns the path of the token that permits changes over HTTP.
    pub fn token_path(&self) -> PathBuf {
        self.token_file.clone().unwrap_or_else(|| self.data.join("token"))
    }

    /// The command line that serves `array` in place of this one, its bytes in another directory that is named after `changes`.
    pub(crate) fn command_for(&self, array: &ServedArray, changes: &str) -> String {
        let data = self.data.display().to_string();
        let mut words = vec!["arraylab".to_owned(), "serve".to_owned(), array.in_words(&self.array)];
        words.extend(match &self.endpoint {
            Endpoint::Unix(path) => ["--socket".to_owned(), path.display().to_string()],
            Endpoint::Tcp(address) => ["--listen".to_owned(), address.to_string()],
        });
        words.extend(["--data".to_owned(), format!("{}-{changes}", data.trim_end_matches('/'))]);
        let path = |option: &str, path: &Path| [option.to_owned(), path.display().to_string()];
        words.extend(self.tls.iter().flat_map(|tls| path("--tls", tls)));
        words.extend(self.control.iter().flat_map(|control| path("--control", control)));
        words.extend(self.metrics.iter().flat_map(|at| ["--metrics".to_owned(), at.to_string()]));
        words.extend(self.token_file.iter().flat_map(|file| path("--token-file", file)));
        match self.speed_millionths {
            None => words.push("--untimed".to_owned()),
            Some(REAL_SPEED) => {}
            Some(speed) => {
                words.extend(["--speed".to_owned(), (speed as f64 / REAL_SPEED as f64).to_string()]);
            }
        }
        words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }

    /// Returns the path of the control socket.
    pub fn control_path(&self) -> PathBuf {
        if let Some(control) = &self.control {
            return control.clone();
        }
        match &self.endpoint {
            Endpoint::Unix(path) => {
                let mut name = path.clone().into_os_string();
                name.push(".ctl");
                name.into()
            }
            Endpoint::Tcp(_) => self.data.join("control"),
        }
    }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._,=:-[]".contains(&byte);
    if word.bytes().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

impl Endpoint {
    /// From `--socket` and `--listen`: exactly one of them. Beyond loopback only with `--tls`.
    pub fn choose(
        socket: Option<&Path>,
        listen: Option<&str>,
        has_tls: bool,
    ) -> Result<Endpoint, ServeError> {
        let refuse = |problem: String, hint| Err(ServeError::Options { problem, hint });
        match (socket, listen) {
            (Some(path), None) => Ok(Endpoint::Unix(path.to_owned())),
            (None, Some(address)) => {
                let resolved = address.to_socket_addrs().ok().and_then(|mut found| found.next());
                match resolved {
                    Some(address) if has_tls || address.ip().is_loopback() => Ok(Endpoint::Tcp(address)),
                    Some(address) => refuse(
                        format!(
                            "{address} is not on loopback, where NBD without TLS would give the data to anyone"
                        ),
                        "give --tls DIR with certificates, listen on 127.0.0.1 or [::1], or serve a Unix socket",
                    ),
                    None => {
                        refuse(format!("`{address}` is no address"), "for example --listen 127.0.0.1:10809")
                    }
                }
            }
            _ => refuse(
                "exactly one of --socket and --listen is needed".to_owned(),
                "for example --socket /run/array",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that the command for another array has all that this one was served with, as a shell takes it.
    #[test]
    fn another_array_is_one_command() {
        let array = concat!(env!("CARGO_MANIFEST_DIR"), "/../../arrays/raid-levels.yaml");
        let array = ServedArray::parse(&format!("{array},raid=6,capacity=1g")).unwrap();
        let mut options = Options::untimed("raid-levels,capacity=1g", Path::new("/tmp/it's mine"));
        options.metrics = "127.0.0.1:9101".parse().ok();
        assert_eq!(
            options.command_for(&array, "raid6"),
            r"arraylab serve raid-levels,raid=6,capacity=1g --socket '/tmp/it'\''s mine/nbd' --data '/tmp/it'\''s mine/data-raid6' --metrics 127.0.0.1:9101 --untimed"
        );
        options =
            Options { speed_millionths: Some(REAL_SPEED / 10), ..Options::untimed("", Path::new("/d")) };
        assert_eq!(
            options.command_for(&array, "raid6"),
            "arraylab serve raid-levels,raid=6,capacity=1g --socket /d/nbd --data /d/data-raid6 --speed 0.1"
        );
    }

    /// Proves that a port beyond loopback without TLS, and none or two places are refused.
    #[test]
    fn endpoints_are_chosen_safely() {
        let choose =
            |socket: Option<&str>, listen, has_tls| Endpoint::choose(socket.map(Path::new), listen, has_tls);
        assert!(matches!(choose(Some("/s"), None, false), Ok(Endpoint::Unix(_))));
        assert!(matches!(choose(None, Some("127.0.0.1:0"), false), Ok(Endpoint::Tcp(_))));
        assert!(matches!(choose(None, Some("0.0.0.0:10809"), true), Ok(Endpoint::Tcp(_))));
        for (socket, listen, tls, words) in [
            (None, Some("0.0.0.0:10809"), false, "not on loopback"),
            (None, Some("192.0.2.1:1"), false, "not on loopback"),
            (None, Some("nonsense"), true, "no address"),
            (None, None, true, "exactly one"),
            (Some("/s"), Some("127.0.0.1:0"), false, "exactly one"),
        ] {
            assert!(choose(socket, listen, tls).unwrap_err().to_string().contains(words), "{words}");
        }
    }
}

//! Laboratory of hosts: each a network namespace with a `sshd`, a loop device, and a clock of its own. Everything is taken
//! down in the end, also when a test fails.

use crate::support::{LoopDevice, command, query, tool, write_program};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use test_support::wait_until;

/// One laboratory at a time: they share addresses, and starts are timed.
static ONE: Mutex<()> = Mutex::new(());

const ARRAYLAB: &str = env!("CARGO_BIN_EXE_arraylab");
pub const DEVICE_BYTES: u64 = 64 << 20;

pub struct Host {
    pub name: String,
    pub namespace: String,
    /// This machine's end of its cable.
    pub link: String,
    pub address: String,
    pub device: LoopDevice,
    sshd: Child,
}

impl Host {
    /// Process IDs of a program in the host's namespace.
    pub fn pids(&self, program: &str) -> Vec<u32> {
        let listed = tool("ip", &["netns", "pids", &self.namespace]);
        let pids = listed.split_whitespace().filter_map(|pid| pid.parse().ok());
        pids.filter(|pid: &u32| {
            let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            name.trim().starts_with(program)
        })
        .collect()
    }

    /// Kills all processes of a program on the host at once.
    pub fn kill(&self, program: &str) {
        self.signal(program, "-KILL");
    }

    /// Sends a signal (`-STOP`) to all processes of a program on the host.
    pub fn signal(&self, program: &str, signal: &str) {
        for pid in self.pids(program) {
            let _ = Command::new("kill").args([signal, &pid.to_string()]).stderr(Stdio::null()).status();
        }
    }

    /// Takes its cable down (`down`) or up (`up`).
    pub fn cable(&self, state: &str) {
        tool("ip", &["link", "set", &self.link, state]);
    }

    /// I/Os that its device has completed, with those that the kernel merged into others because they lay side by side
    /// (Documentation/admin-guide/iostats.rst, fields 1, 2, 5 and 6).
    pub fn completed_ios(&self) -> u64 {
        let name = self.device.path.trim_start_matches("/dev/");
        let stat = std::fs::read_to_string(format!("/sys/block/{name}/stat")).expect("statistics");
        let fields: Vec<u64> = stat.split_whitespace().filter_map(|field| field.parse().ok()).collect();
        fields[0] + fields[1] + fields[4] + fields[5]
    }

    /// An attribute of its device's queue.
    pub fn queue(&self, attribute: &str) -> String {
        let name = self.device.path.trim_start_matches("/dev/");
        let path = format!("/sys/block/{name}/queue/{attribute}");
        std::fs::read_to_string(path).expect("an attribute").trim().to_owned()
    }

    /// Ports that anything on the host listens on (`/proc/net/tcp` and `tcp6`, state 0A).
    pub fn listening_ports(&self) -> BTreeSet<u16> {
        let tables = ["exec", &self.namespace, "cat", "/proc/net/tcp", "/proc/net/tcp6"];
        let sockets = tool("ip", &[&["netns"], &tables[..]].concat());
        let port = |line: &str| {
            let mut fields = line.split_whitespace().skip(1);
            let local = fields.next()?.to_owned();
            let state = fields.nth(1)?;
            (state == "0A").then(|| u16::from_str_radix(local.rsplit(':').next()?, 16).ok())?
        };
        sockets.lines().filter_map(port).collect()
    }

    fn start_sshd(&mut self, directory: &Path) {
        self.sshd = sshd(&self.namespace, &directory.join(&self.name));
    }
}

fn sshd(namespace: &str, directory: &Path) -> Child {
    // sshd wants to be called by its whole path.
    Command::new("ip")
        .args(["netns", "exec", namespace, "/usr/sbin/sshd", "-D", "-e", "-f"])
        .arg(directory.join("sshd_config"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(directory.join("sshd.log")).unwrap())
        .spawn()
        .expect("sshd (scripts/install-test-clients.sh installs it)")
}

pub struct Lab {
    pub hosts: Vec<Host>,
    pub directory: tempfile::TempDir,
    /// Servers of fio.
    servers: Mutex<Vec<Child>>,
    _one: MutexGuard<'static, ()>,
}

impl Lab {
    /// Hosts `h1`, `h2`, …, whose clocks are moved by so many milliseconds.
    pub fn new(clock_offsets_ms: &[i64]) -> Lab {
        Lab::with_agents(clock_offsets_ms, |_| String::new())
    }

    /// Hosts whose agents, by their number, are started by these words.
    pub fn with_agents(clock_offsets_ms: &[i64], words_before: impl Fn(usize) -> String) -> Lab {
        let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let text = |path: PathBuf| path.to_str().unwrap().to_owned();
        for key in ["host_key", "user_key"] {
            tool("ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-f", &text(root.join(key))]);
        }
        std::fs::create_dir_all("/run/sshd").unwrap();
        let host_key = std::fs::read_to_string(root.join("host_key.pub")).unwrap();
        let mut known_hosts = String::new();
        let mut hosts = Vec::new();
        let id = std::process::id();
        for (number, offset_ms) in clock_offsets_ms.iter().enumerate() {
            let name = format!("h{}", number + 1);
            let (namespace, link) = (format!("al{id}{name}"), format!("al{id}{name}"));
            // A network of four addresses for each cable.
            let net = format!("10.213.{}.", id % 250);
            let (ours, theirs) = (format!("{net}{}", 4 * number + 1), format!("{net}{}", 4 * number + 2));
            let ip = |words: &[&str]| tool("ip", words);
            ip(&["netns", "add", &namespace]);
            let peer = format!("p{id}{name}");
            ip(&["link", "add", &link, "type", "veth", "peer", "name", &peer]);
            ip(&["link", "set", &peer, "netns", &namespace]);
            ip(&["address", "add", &format!("{ours}/30"), "dev", &link]);
            ip(&["link", "set", &link, "up"]);
            ip(&["-n", &namespace, "address", "add", &format!("{theirs}/30"), "dev", &peer]);
            ip(&["-n", &namespace, "link", "set", &peer, "up"]);
            ip(&["-n", &namespace, "link", "set", "lo", "up"]);
            ip(&["-n", &namespace, "route", "add", "default", "via", &ours]);
            let own = root.join(&name);
            std::fs::create_dir_all(own.join("bin")).unwrap();
            write_program(
                &own.join("bin/arraylab"),
                &format!(
                    "#!/bin/sh\nexec {} {ARRAYLAB} \"$@\" --clock-offset-ms {offset_ms}\n",
                    words_before(number)
                ),
            );
            let config = format!(
                "ListenAddress {theirs}\nHostKey {root}/host_key\nAuthorizedKeysFile {root}/user_key.pub\nStrictModes no\n\
                 UsePAM no\nPermitRootLogin yes\nPasswordAuthentication no\nPidFile none\n\
                 SetEnv PATH={own}/bin:/usr/sbin:/usr/bin:/sbin:/bin\n",
                root = root.display(),
                own = own.display()
            );
            std::fs::write(own.join("sshd_config"), config).unwrap();
            writeln!(known_hosts, "{theirs} {host_key}").unwrap();
            let sshd = sshd(&namespace, &own);
            let device = LoopDevice::new(DEVICE_BYTES);
            hosts.push(Host { name, namespace, link, address: theirs, device, sshd });
        }
        std::fs::write(root.join("known_hosts"), known_hosts.replace("\n\n", "\n")).unwrap();
        let config = format!(
            "IdentityFile {root}/user_key\nUserKnownHostsFile {root}/known_hosts\nGlobalKnownHostsFile /dev/null\n\
             StrictHostKeyChecking yes\nIdentitiesOnly yes\n",
            root = root.display()
        );
        std::fs::write(root.join("ssh_config"), config).unwrap();
        std::fs::create_dir_all(root.join("bin")).unwrap();
        write_program(
            &root.join("bin/ssh"),
            &format!("#!/bin/sh\nexec /usr/bin/ssh -F {}/ssh_config \"$@\"\n", root.display()),
        );
        let lab = Lab { hosts, directory, servers: Mutex::default(), _one: one };
        for host in &lab.hosts {
            lab.wait_for_sshd(host);
        }
        lab
    }

    fn wait_for_sshd(&self, host: &Host) {
        let begun = Instant::now();
        while std::net::TcpStream::connect((host.address.as_str(), 22)).is_err() {
            let log = self.directory.path().join(&host.name).join("sshd.log");
            assert!(
                begun.elapsed() < Duration::from_secs(10),
                "sshd does not listen: {}",
                std::fs::read_to_string(log).unwrap_or_default()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// A plan in a file.
    pub fn plan(&self, text: &str) -> String {
        let path = self.directory.path().join("plan.yaml");
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    pub fn run_directory(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A command of the binary that finds this laboratory's hosts.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(arguments);
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}/bin:{path}", self.directory.path().display()));
        command
    }

    /// Starts a server of fio on each host. They end with the laboratory.
    pub fn start_fio_servers(&self) {
        for host in &self.hosts {
            let server = format!("--server={},8765", host.address);
            let log =
                std::fs::File::create(self.directory.path().join(format!("{}/fio.log", host.name))).unwrap();
            let started = Command::new("ip")
                .args(["netns", "exec", &host.namespace, "fio", &server])
                .stdin(Stdio::null())
                .stdout(log.try_clone().unwrap())
                .stderr(log)
                .spawn()
                .expect("fio (scripts/install-test-clients.sh installs it)");
            self.servers.lock().unwrap().push(started);
            wait_until(Duration::from_secs(10), "fio listens", || {
                std::net::TcpStream::connect((host.address.as_str(), 8765)).is_ok()
            });
        }
    }

    /// Words of a run by servers of fio.
    pub fn fio_words(&self, plan: &str, run: &Path, target: impl Fn(&Host) -> String) -> Vec<String> {
        let mut words =
            ["run", plan, "--engine", "fio", "--out", run.to_str().unwrap()].map(str::to_owned).to_vec();
        for host in &self.hosts {
            words.extend(["--host".into(), format!("{}=fio://{}:8765", host.name, host.address)]);
            words.extend(["--target".into(), format!("@{}={}", host.name, target(host))]);
        }
        words
    }

    /// Words of a run on all hosts, each with its own device.
    pub fn run_words(&self, plan: &str, run: &Path) -> Vec<String> {
        self.words_on(plan, run, |host| host.device.path.clone())
    }

    /// Words of a run on all hosts, each with a target of its own.
    pub fn words_on(&self, plan: &str, run: &Path, target: impl Fn(&Host) -> String) -> Vec<String> {
        let mut words =
            vec!["run".to_owned(), plan.to_owned(), "--out".to_owned(), run.to_str().unwrap().to_owned()];
        for host in &self.hosts {
            words.extend(["--host".into(), format!("{}=ssh://root@{}", host.name, host.address)]);
            words.extend(["--target".into(), format!("@{}={}", host.name, target(host))]);
        }
        words
    }

    /// Carries out what must succeed.
    pub fn succeed(&self, words: &[String]) -> String {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let output = self.command(&words).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{words:?} ended with {}\n{message}", output.status);
        message
    }

    /// Puts a host back to where it was: its cable, and its `sshd`.
    pub fn repair(&mut self, number: usize) {
        let directory = self.directory.path().to_owned();
        let host = &mut self.hosts[number];
        host.cable("up");
        // The address of a cable stays; what is left of sshd ends.
        let _ = host.sshd.kill();
        let _ = host.sshd.wait();
        host.kill("sshd");
        host.start_sshd(&directory);
        self.wait_for_sshd(&self.hosts[number]);
    }

    /// Sessions on a host begin in a directory of its own from here on, which this gives.
    pub fn begin_sessions_in_own_directory(&mut self, number: usize) -> PathBuf {
        let own = self.directory.path().join(&self.hosts[number].name);
        let config = own.join("sshd_config");
        let mut text = std::fs::read_to_string(&config).unwrap();
        writeln!(text, "ForceCommand cd {} && exec sh -c \"$SSH_ORIGINAL_COMMAND\"", own.display()).unwrap();
        std::fs::write(&config, text).unwrap();
        self.repair(number);
        own
    }

    /// Agents that run on any host.
    pub fn agents(&self) -> usize {
        self.hosts.iter().map(|host| host.pids("arraylab").len()).sum()
    }

    /// Waits until no agent runs any more; how long that took.
    pub fn wait_for_no_agent(&self, limit: Duration) -> Option<Duration> {
        let begun = Instant::now();
        while self.agents() > 0 {
            if begun.elapsed() > limit {
                return None;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Some(begun.elapsed())
    }
}

/// Waits until so many intervals of a run are kept.
pub fn wait_for_intervals(run: &Path, intervals: u64) {
    let kept = || query(run, "SELECT count(*) FROM intervals").parse::<u64>().unwrap();
    wait_until(Duration::from_secs(30), "the load has begun", || {
        run.join("manifest.json").exists() && kept() >= intervals
    });
}

impl Drop for Lab {
    fn drop(&mut self) {
        let servers = self.servers.get_mut().unwrap_or_else(PoisonError::into_inner);
        servers.iter_mut().for_each(|server| drop(server.kill().and_then(|()| server.wait())));
        for host in &mut self.hosts {
            let _ = host.sshd.kill();
            let _ = host.sshd.wait();
            if let Ok(listed) = Command::new("ip").args(["netns", "pids", &host.namespace]).output() {
                for pid in String::from_utf8_lossy(&listed.stdout).split_whitespace() {
                    let _ = Command::new("kill").args(["-KILL", pid]).stderr(Stdio::null()).status();
                }
            }
            let _ = Command::new("ip").args(["link", "del", &host.link]).status();
            let _ = Command::new("ip").args(["netns", "del", &host.namespace]).status();
        }
    }
}

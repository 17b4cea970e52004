//! PostgreSQL on ext4 on a served array that loses a drive, its power, and its server. Part of `make test-long`
//! (feature `long-tests`), because it installs and starts a database.

mod common;

use common::{PATIENCE, Teardown, array, directory, is_whole, options, tool};
use serve::{ctl, serve_array};
use std::fs;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use test_support::wait_until;

const CHILD: &str = "ARRAYLAB_POSTGRES_CHILD";
/// PostgreSQL does not run as root.
const USER: &str = "nobody";
const CRASHES: u32 = 4;
const LOAD: Duration = Duration::from_secs(8);

/// Finds where Debian keeps the server's programs, which are not on everyone's path.
fn program(name: &str) -> String {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let newest = versions.map(|entry| entry.path().join("bin").join(name)).filter(|path| path.exists()).max();
    newest.map_or_else(|| name.to_owned(), |path| path.to_str().unwrap().to_owned())
}

fn as_user(name: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("runuser");
    command.args(["-u", USER, "--", &program(name)]).args(arguments).current_dir("/");
    command
}

/// The array, its disk by nbdfuse and a loop device, ext4 and the database on it.
struct DatabaseOnArray {
    directory: PathBuf,
    processes: Vec<Child>,
    /// The process number of the database.
    database: Option<String>,
    teardown: Teardown,
}

impl DatabaseOnArray {
    fn at(&self, name: &str) -> String {
        self.directory.join(name).to_str().unwrap().to_owned()
    }

    fn start(directory: &Path, is_new: bool) -> DatabaseOnArray {
        let mut bench = DatabaseOnArray {
            directory: directory.to_owned(),
            processes: Vec::new(),
            database: None,
            teardown: Teardown::default(),
        };
        let (socket, disk, tree) = (bench.at("nbd"), bench.at("disk"), bench.at("tree"));
        let server = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "databases_survive", "--nocapture"])
            .env(CHILD, directory)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        bench.processes.push(server);
        wait_until(PATIENCE, "the array is served", || UnixStream::connect(&socket).is_ok());
        fs::write(&disk, []).unwrap();
        fs::create_dir_all(&tree).unwrap();
        let uri = format!("nbd+unix:///?socket={socket}");
        bench.processes.push(Command::new("nbdfuse").args([&disk, &uri]).spawn().unwrap());
        bench.teardown.add("umount", &["-l", &disk]);
        wait_until(PATIENCE, "nbdfuse shows the disk", || {
            fs::metadata(&disk).map_or(0, |metadata| metadata.len()) > 0
        });
        let output = tool("losetup", &["-f", "--show", &disk]);
        let device = String::from_utf8(output.stdout).unwrap().trim().to_owned();
        bench.teardown.add("losetup", &["-d", &device]);
        if is_new {
            tool("mkfs.ext4", &["-q", &device]);
        }
        tool("mount", &[&device, &tree]);
        bench.teardown.add("umount", &["-l", &tree]);
        let data = format!("{tree}/database");
        if is_new {
            fs::create_dir(&data).unwrap();
            tool("chown", &[USER, &data]);
            tool("chmod", &["711", directory.to_str().unwrap()]);
            let output = as_user("initdb", &["-D", &data, "-A", "trust", "-U", "lab"]).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        let database =
            as_user("postgres", &["-D", &data, "-k", "/tmp", "-p", "54329", "-c", "listen_addresses="])
                .stderr(fs::File::create(bench.at("log")).unwrap())
                .spawn()
                .unwrap();
        bench.processes.push(database);
        wait_until(PATIENCE, "the database answers", || bench.sql("select 1").is_some());
        let numbers = fs::read_to_string(format!("{data}/postmaster.pid")).unwrap();
        bench.database = numbers.lines().next().map(str::to_owned);
        bench
    }

    /// The one value of a query.
    fn sql(&self, query: &str) -> Option<i64> {
        let arguments = ["-h", "/tmp", "-p", "54329", "-U", "lab", "-d", "postgres", "-Atc", query];
        let output = Command::new("psql").args(arguments).output().expect("psql is needed by this test");
        String::from_utf8_lossy(&output.stdout).trim().parse().ok()
    }

    fn pgbench(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("pgbench");
        command.args(["-h", "/tmp", "-p", "54329", "-U", "lab"]).args(arguments).arg("postgres");
        command.current_dir(&self.directory).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn ctl(&self, words: &str) -> serde_json::Value {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        ctl(&self.directory.join("nbd.ctl"), &words).unwrap()
    }

    /// Ends everything at once, as a machine that loses its power; the rest goes with `self`.
    fn crash(mut self) {
        let server = &mut self.processes[0];
        server.kill().unwrap();
        server.wait().unwrap();
    }
}

impl Drop for DatabaseOnArray {
    fn drop(&mut self) {
        // `runuser` stands between us and the database.
        if let Some(database) = &self.database {
            let _ = Command::new("kill").args(["-QUIT", database]).output();
            let deadline = Instant::now() + PATIENCE;
            while Path::new(&format!("/proc/{database}")).exists() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        for process in self.processes.iter_mut().rev() {
            let _ = process.kill();
        }
        drop(std::mem::take(&mut self.teardown));
        for process in &mut self.processes {
            let _ = process.wait();
        }
    }
}

/// Proves that PostgreSQL, on ext4 on an array that loses a drive under `pgbench` and then by turns its power (with
/// half of the unsynced sectors) and its server (`kill -9`), comes back each time with every transaction that was
/// committed, and with balances that add up.
#[test]
fn databases_survive() {
    if let Some(path) = std::env::var_os(CHILD) {
        let array = array("raid-levels,raid=6,disks=6,capacity=128m");
        serve_array(array, &options(Path::new(&path)), &AtomicBool::new(false), &|_| ()).unwrap();
        return;
    }
    let directory = directory();
    let mut bench = DatabaseOnArray::start(directory.path(), true);
    assert!(
        bench.pgbench(&["-i", "-q", "-s", "2"]).status().expect("pgbench is needed by this test").success()
    );
    let mut committed = 0;
    for crash in 0..CRASHES {
        let prefix = format!("crash{crash}");
        // `-n`: pgbench would empty the history first.
        let mut load =
            bench.pgbench(&["-n", "-c", "4", "-T", "60", "-l", "--log-prefix", &prefix]).spawn().unwrap();
        std::thread::sleep(LOAD / 2);
        bench.ctl(&format!("fail {crash}"));
        std::thread::sleep(LOAD / 2);
        if crash % 2 == 0 {
            bench.ctl(&format!("power-cut {crash}"));
        }
        bench.crash();
        load.wait().unwrap();
        // A line for each transaction whose commit pgbench was told of.
        for entry in fs::read_dir(directory.path()).unwrap() {
            let path = entry.unwrap().path();
            if path.file_name().unwrap().to_str().unwrap().starts_with(&prefix) {
                committed += fs::read_to_string(path).unwrap().lines().count() as i64;
            }
        }
        bench = DatabaseOnArray::start(directory.path(), false);
        let kept = bench.sql("select count(*) from pgbench_history").unwrap();
        println!("crash {crash}: {committed} transactions committed, {kept} kept");
        assert!(kept >= committed && committed > 0, "crash {crash}: {committed} committed, {kept} kept");
        let sums = ["pgbench_accounts", "pgbench_tellers", "pgbench_branches"].map(|table| {
            let column = table.strip_prefix("pgbench_").unwrap().chars().next().unwrap();
            bench.sql(&format!("select sum({column}balance) from {table}")).unwrap()
        });
        let history = bench.sql("select coalesce(sum(delta), 0) from pgbench_history").unwrap();
        assert_eq!(sums, [history; 3], "crash {crash}: balances do not add up");
        wait_until(PATIENCE, "it is rebuilt", || is_whole(&bench.ctl("status")));
        // What was kept beyond what was told counts from now on.
        committed = kept;
    }
    let report = {
        bench.ctl("scrub");
        wait_until(PATIENCE, "it is scrubbed", || {
            bench.ctl("status")["background"]["scrub"]["is_running"] == false
        });
        bench.ctl("status")["background"]["scrub"]["report"].clone()
    };
    assert_eq!(report["unrepairable_sectors"], 0, "{report}");
    assert_eq!(report["parity_rewritten_stripes"], 0, "{report}");
}

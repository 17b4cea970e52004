//! A served array from the command line.

use crate::support::{refuse, succeed};

/// Proves that an array is served at its own speed unless told otherwise, that it can be managed, and that how late it
/// was is said at the end.
#[test]
fn serve_takes_the_models_time() {
    let directory = tempfile::tempdir().unwrap();
    let (socket, data) = (directory.path().join("a.sock"), directory.path().join("data"));
    let program = env!("CARGO_BIN_EXE_arraylab");
    let command = format!(
        "{program} ctl \"$ARRAYLAB_CONTROL\" set write_cache=off && \
         {program} ctl \"$ARRAYLAB_CONTROL\" limit vol0 iops=500 && \
         qemu-io -f raw -c 'write 0 64k' \"$ARRAYLAB_NBD_URI\" && \
         {program} watch --once \"$ARRAYLAB_CONTROL\" && \
         {program} ctl \"$ARRAYLAB_CONTROL\" status"
    );
    let (socket, data) = (socket.to_str().unwrap(), data.to_str().unwrap());
    let array = "raid-levels,raid=6,disks=6,capacity=64m";
    let output =
        crate::support::arraylab(&["serve", array, "--socket", socket, "--data", data, "--run", &command]);
    let (printed_text, also) =
        (crate::support::text(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{printed_text}{also}");
    assert!(
        printed_text.contains(r#""write_cache":"off""#) && printed_text.contains(r#""iops":500.0"#),
        "{printed_text}"
    );
    assert!(printed_text.contains("drives, whole") && printed_text.contains("iops 500.0"), "{printed_text}");
    assert!(also.contains("paced replies; pacing error"), "{also}");
}

/// Proves that an array is served while a command runs, that the command finds it by its environment, that `ctl` reaches
/// it, and that the command's exit status is passed on.
#[test]
fn serve_runs_a_command() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("a.sock");
    let data = directory.path().join("data");
    let serve = |command: &str| {
        crate::support::arraylab(&[
            "serve",
            "flashsystem-840,capacity=64m",
            "--socket",
            socket.to_str().unwrap(),
            "--data",
            data.to_str().unwrap(),
            "--untimed",
            "--run",
            command,
        ])
    };
    let program = env!("CARGO_BIN_EXE_arraylab");
    let output =
        serve(&format!("nbdinfo --size \"$ARRAYLAB_NBD_URI\" && {program} ctl \"$ARRAYLAB_CONTROL\" status"));
    let printed_text = crate::support::text(&output.stdout);
    assert!(output.status.success(), "{printed_text}{}", String::from_utf8_lossy(&output.stderr));
    // Six data drives of seven hold what clients see.
    let size: u64 = printed_text.lines().find_map(|line| line.parse().ok()).expect("nbdinfo prints the size");
    assert!(size > 5 * (64 << 20) && size <= 6 * (64 << 20), "{size}");
    assert!(printed_text.contains("\"drives\""), "{printed_text}");
    assert_eq!(serve("exit 7").status.code(), Some(7));
}

/// Proves that a speed that makes no sense is refused, that a missing array is named, and that a build without block devices
/// says how to get one that has them.
#[test]
fn what_cannot_be_served_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (socket, data) = (directory.path().join("a.sock"), directory.path().join("data"));
    let (socket, data) = (socket.to_str().unwrap(), data.to_str().unwrap());
    let (code, printed_text) =
        refuse(&["serve", "flashsystem-840", "--socket", socket, "--data", data, "--speed", "0"]);
    assert_eq!(code, Some(2));
    assert!(printed_text.contains("--speed 0 is not between"), "{printed_text}");
    let (code, printed_text) =
        refuse(&["serve", "flashsystem-804", "--socket", socket, "--data", data, "--untimed"]);
    assert_eq!(code, Some(2));
    assert!(printed_text.contains("flashsystem-840"), "{printed_text}");
    // Tests are built without block devices; with them there is no driver, or it is for its owner to try.
    if cfg!(not(feature = "ublk")) {
        let array = ["serve", "flashsystem-840", "--socket", socket, "--data", data, "--untimed"];
        for volume in ["--ublk", "--ublk=vol0"] {
            let (code, printed_text) = refuse(&[array.as_slice(), &[volume]].concat());
            assert_eq!(code, Some(2));
            assert!(
                printed_text.contains("built without block devices") && printed_text.contains("libclang"),
                "{printed_text}"
            );
        }
    }
    assert!(!std::path::Path::new(data).exists(), "nothing is written");
    // Nobody looks for a control socket that is not there.
    assert!(!printed_text.contains("control socket"), "{printed_text}");
    succeed(&["serve", "--help"]);
}

/// Proves what `ctl` ends with: 0 where it was done, 2 where the array refuses it or it was mistyped, 3 where no array answers.
#[test]
fn ctl_ends_with_what_came_of_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let program = env!("CARGO_BIN_EXE_arraylab");
    let words = ["fail 1", "fail 99", "set raid=6", "slow 1", "sing"];
    let printed_text =
        words.map(|words| format!("{program} ctl \"$ARRAYLAB_CONTROL\" {words}; echo \"status $?\""));
    let (socket, data, command) = (path("s"), path("d"), printed_text.join("; "));
    let array = "raid-levels,raid=5,disks=3,capacity=16m";
    let arguments = ["serve", array, "--socket", &socket, "--data", &data, "--untimed", "--run", &command];
    let output = crate::support::arraylab(&arguments);
    let printed_text = crate::support::text(&output.stdout);
    let statuses: Vec<&str> = printed_text.lines().filter(|line| line.starts_with("status")).collect();
    assert_eq!(statuses, ["status 0", "status 2", "status 2", "status 2", "status 2"], "{printed_text}");
    assert_eq!(refuse(&["ctl", &path("nothing"), "status"]).0, Some(3));
}

/// Proves that who makes a volume, makes it larger or deletes it is told its size and what is free: in words in a terminal, as JSON
/// into a pipe.
#[test]
fn ctl_says_what_became_of_a_volume() {
    let directory = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_arraylab");
    let (socket, data) = (directory.path().join("a.sock"), directory.path().join("data"));
    let ctl = |words: &str| format!("{program} ctl \"$ARRAYLAB_CONTROL\" {words}");
    let in_terminal = |words: &str| format!("script -qec '{}' /dev/null </dev/null", ctl(words));
    let command = [
        ctl("resize vol0 16m"),
        in_terminal("create logs 8m"),
        in_terminal("resize logs 4m"),
        ctl("delete logs"),
    ]
    .join(" && ");
    let array = "raid-levels,raid=5,disks=3,capacity=16m";
    let words = ["serve", array, "--socket", socket.to_str().unwrap(), "--data", data.to_str().unwrap()];
    let output = crate::support::arraylab(&[&words[..], &["--untimed", "--run", &command]].concat());
    let printed_text = crate::support::text(&output.stdout).replace('\r', "");
    let (_, answers) = printed_text.split_once('\n').unwrap();
    assert_eq!(
        answers,
        "{\"volume\":\"vol0\",\"size_bytes\":16777216,\"free_bytes\":16777216}\n\
         logs: 8 MiB; 8 MiB of the array are free\n\
         logs: 4 MiB; 12 MiB of the array are free\n\
         {\"volume\":\"logs\",\"size_bytes\":null,\"free_bytes\":16777216}\n"
    );
}

/// Proves that `ctl` in a terminal answers in words and a table, and with JSON into a pipe or with `--json`.
#[test]
fn ctl_is_readable_in_a_terminal() {
    let directory = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_arraylab");
    let (socket, data) = (directory.path().join("a.sock"), directory.path().join("data"));
    // `script` gives its command a terminal.
    let in_terminal = |words: &str| {
        format!("script -qec '{program} ctl \"$ARRAYLAB_CONTROL\" {words}' /dev/null </dev/null")
    };
    let command = [
        in_terminal("status"),
        "echo ----".into(),
        in_terminal("ready"),
        in_terminal("limit vol0 iops=500"),
        "echo ----".into(),
        in_terminal("--json ready"),
        format!("{program} ctl \"$ARRAYLAB_CONTROL\" ready | cat"),
    ]
    .join(" && ");
    let array = "raid-levels,raid=6,disks=6,capacity=64m";
    let words = ["serve", array, "--socket", socket.to_str().unwrap(), "--data", data.to_str().unwrap()];
    let output = crate::support::arraylab(&[&words[..], &["--run", &command]].concat());
    let printed_text = crate::support::text(&output.stdout).replace('\r', "");
    assert!(output.status.success(), "{printed_text}{}", String::from_utf8_lossy(&output.stderr));
    let parts: Vec<&str> = printed_text.split("----\n").collect();
    let [status, words, json] = parts[..] else { panic!("{printed_text}") };
    assert!(status.contains("drives, whole") && status.contains("read IOPS"), "{printed_text}");
    assert!(!status.contains("{\""), "{printed_text}");
    assert_eq!(words, "ready: all drives are present\ndone\n", "{printed_text}");
    let lines: Vec<&str> = json.lines().collect();
    assert_eq!((lines.len(), lines[0]), (2, lines[1]), "{printed_text}");
    assert!(lines[0].starts_with("{\"ready\":true"), "{printed_text}");
}

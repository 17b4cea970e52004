//! Agents by OpenSSH: the command line of `ssh`, and copying this program.
//!
//! Host keys, users' keys and jump hosts are `ssh`'s own business, as the user has configured it. `BatchMode` has it fail
//! where it would ask. What is handed to the other side's shell is made here, of quoted words.

use crate::quote::quote;
use crate::{HostAddress, HostError, HostSpec, SshAddress};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Connection timeout of `ssh`, in seconds.
const CONNECT_TIMEOUT_S: u32 = 10;
/// Directory for copies of this program on other hosts, in the user's home there.
const PUSHED_DIRECTORY: &str = ".cache/arraylab";

/// Command that starts an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentCommand {
    /// The program on the other host; `arraylab` from its `PATH` without it.
    pub program: Option<String>,
    /// Arguments after `agent`.
    pub arguments: Vec<String>,
}

impl AgentCommand {
    /// The command that starts an agent on a host.
    pub fn command(&self, host: &HostSpec) -> Result<Command, HostError> {
        match &host.address {
            HostAddress::Ssh(ssh) => {
                let program = self.program.as_deref().unwrap_or("arraylab");
                let words = [program, "agent"].into_iter().chain(self.arguments.iter().map(String::as_str));
                let words: Vec<String> = words.map(quote).collect();
                Ok(ssh_command(ssh, &format!("exec {}", words.join(" "))))
            }
            HostAddress::Local => {
                let own = std::env::current_exe().map_err(|error| {
                    HostError::failed(&host.name, format!("this program is not found: {error}"), "")
                })?;
                let mut command = Command::new(self.program.as_ref().map_or(own, PathBuf::from));
                command.arg("agent").args(&self.arguments);
                Ok(command)
            }
            HostAddress::Fio(_) => Err(HostError::failed(
                &host.name,
                format!("{} is a server of fio, on which no agent runs", host.address),
                "use --engine fio, or give the host's ssh:// address",
            )),
        }
    }
}

fn ssh_command(ssh: &SshAddress, remote: &str) -> Command {
    let mut command = Command::new("ssh");
    command.args(["-T", "-x", "-a"]);
    for option in [
        "BatchMode=yes".to_owned(),
        format!("ConnectTimeout={CONNECT_TIMEOUT_S}"),
        // A connection of its own, that ends with this process: shared ones outlive it.
        "ControlMaster=no".to_owned(),
        "ControlPath=none".to_owned(),
        "ServerAliveInterval=2".to_owned(),
        "ServerAliveCountMax=2".to_owned(),
        "EscapeChar=none".to_owned(),
    ] {
        command.arg("-o").arg(option);
    }
    if let Some(port) = ssh.port {
        command.arg("-p").arg(port.to_string());
    }
    if let Some(user) = &ssh.user {
        command.arg("-l").arg(user);
    }
    command.arg("--").arg(&ssh.machine).arg(remote);
    command
}

/// Copies this program to a host, unless the same version is there already; returns its path there. Only on request
/// (`--push-binary`).
pub fn push_binary(host: &HostSpec, version: &str) -> Result<Option<String>, HostError> {
    let HostAddress::Ssh(ssh) = &host.address else { return Ok(None) };
    let failed =
        |problem: String| HostError::failed(&host.name, problem, "check that its home can be written");
    let own =
        std::env::current_exe().map_err(|error| failed(format!("this program is not found: {error}")))?;
    let hash = hash_of(&own).map_err(|error| failed(format!("{}: {error}", own.display())))?;
    let path = format!("{PUSHED_DIRECTORY}/arraylab-{version}-{hash:016x}");
    let quoted = quote(&path);
    let there = format!("test -x {quoted}");
    let found = ssh_command(ssh, &there)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .output()
        .map_err(|error| failed(format!("ssh cannot be started: {error}")))?;
    match found.status.code() {
        Some(0) => return Ok(Some(path)),
        // ssh itself ends so; anything else is the shell's answer.
        Some(255) => return Err(failed(last_line(&found.stderr))),
        _ => {}
    }
    let new = quote(&format!("{path}.new"));
    let script = format!(
        "umask 077; mkdir -p {} && cat > {new} && chmod 700 {new} && mv -f {new} {quoted}",
        quote(PUSHED_DIRECTORY)
    );
    let input = File::open(&own).map_err(|error| failed(format!("{}: {error}", own.display())))?;
    let copied = ssh_command(ssh, &script)
        .stdin(input)
        .stdout(Stdio::null())
        .output()
        .map_err(|error| failed(format!("ssh cannot be started: {error}")))?;
    if copied.status.success() {
        Ok(Some(path))
    } else {
        Err(failed(format!("this program could not be copied: {}", last_line(&copied.stderr))))
    }
}

/// The last line of what a program printed.
pub(crate) fn last_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it printed nothing").trim().to_owned()
}

/// FNV-1a over a file: tells one build from another, no more.
fn hash_of(path: &Path) -> std::io::Result<u64> {
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 1 << 20];
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hash),
            bytes => {
                for &byte in &buffer[..bytes] {
                    hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(command: &Command) -> Vec<String> {
        command.get_args().map(|argument| argument.to_string_lossy().into_owned()).collect()
    }

    /// Proves that `ssh` never asks, that the machine follows `--`, and that the other shell gets one quoted command.
    #[test]
    fn the_command_line_is_quoted() {
        let host = HostSpec::parse("h1=ssh://root@10.0.0.1:2222").unwrap();
        let agent = AgentCommand {
            program: Some("/opt/a b/$(x)'/arraylab".into()),
            arguments: vec!["--clock-offset-ms".into(), "5000".into()],
        };
        let command = agent.command(&host).unwrap();
        let arguments = arguments(&command);
        assert_eq!(command.get_program(), "ssh");
        assert!(arguments.contains(&"BatchMode=yes".to_owned()));
        assert!(!arguments.iter().any(|argument| argument.contains("StrictHostKeyChecking")));
        let end: Vec<&str> = arguments.iter().rev().take(3).rev().map(String::as_str).collect();
        assert_eq!(
            end,
            ["--", "10.0.0.1", "exec '/opt/a b/$(x)'\\''/arraylab' 'agent' '--clock-offset-ms' '5000'"]
        );
        let fio = HostSpec::parse("h2=fio://10.0.0.2").unwrap();
        assert!(agent.command(&fio).unwrap_err().to_string().contains("host `h2`"));
    }
}

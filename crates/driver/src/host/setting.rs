//! Host settings that a plan can ask for.

use crate::host::HostError;
use std::fmt;

/// A longer name or value is a mistake.
const TEXT_LIMIT_BYTES: usize = 1024;

/// A setting and the value it shall have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostSetting {
    /// An attribute in the `queue` directory of the target's devices and of all devices below them.
    Queue {
        /// Name of the attribute, for example `scheduler` or `iosched/low_latency`.
        attribute: String,
        /// Value to write, for example `none`.
        value: String,
    },
    /// A file under `/proc/sys`.
    Sysctl {
        /// Name as sysctl(8) writes it: `vm.swappiness`.
        name: String,
        /// Its value.
        value: String,
    },
    /// A parameter of a kernel module. It is checked, never set: most take effect only when the module is loaded.
    ModuleParameter {
        /// Name of the module, for example `qla2xxx`.
        module: String,
        /// Name of the parameter, for example `ql2xmaxqdepth`.
        parameter: String,
        /// Value that it must have.
        value: String,
    },
}

impl HostSetting {
    /// Reads `queue.ATTRIBUTE`, `sysctl.NAME` or `module.MODULE.PARAMETER`.
    pub fn parse(name: &str, value: &str) -> Result<Self, HostError> {
        let problem = |problem: &str| HostError::Name {
            name: name.chars().take(80).collect(),
            problem: problem.to_owned(),
        };
        if name.len() > TEXT_LIMIT_BYTES || value.len() > TEXT_LIMIT_BYTES {
            return Err(problem("a name or a value is longer than 1024 bytes"));
        }
        let value = value.trim();
        if value.is_empty() || value.chars().any(|c| c.is_control() && c != '\t') {
            return Err(problem("its value is empty or has a control character in it"));
        }
        let value = value.to_owned();
        let (kind, rest) = name.split_once('.').ok_or_else(|| problem("it has no kind before a dot"))?;
        match kind {
            "queue" if is_path(rest, '/', 2) => Ok(HostSetting::Queue { attribute: rest.to_owned(), value }),
            "sysctl" if is_path(rest, '.', 16) => Ok(HostSetting::Sysctl { name: rest.to_owned(), value }),
            "module" => match rest.split_once('.') {
                Some((module, parameter)) if is_path(module, '/', 1) && is_path(parameter, '/', 1) => {
                    Ok(HostSetting::ModuleParameter {
                        module: module.replace('-', "_"),
                        parameter: parameter.to_owned(),
                        value,
                    })
                }
                _ => Err(problem("a module parameter is module.MODULE.PARAMETER")),
            },
            "queue" | "sysctl" => Err(problem("it is no name of a file of the kernel")),
            _ => Err(problem("its kind is not queue, sysctl or module")),
        }
    }
}

impl fmt::Display for HostSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostSetting::Queue { attribute, value } => write!(f, "queue.{attribute}={value}"),
            HostSetting::Sysctl { name, value } => write!(f, "sysctl.{name}={value}"),
            HostSetting::ModuleParameter { module, parameter, value } => {
                write!(f, "module.{module}.{parameter}={value}")
            }
        }
    }
}

/// Returns true for one to `depth` names, none of which leads elsewhere. Names that begin with a dot would be `.` and `..`.
pub(crate) fn is_path(text: &str, separator: char, depth: usize) -> bool {
    let valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ':' | '@');
    let parts: Vec<&str> = text.split(separator).collect();
    parts.len() <= depth && parts.iter().all(|part| !part.is_empty() && part.chars().all(valid))
}

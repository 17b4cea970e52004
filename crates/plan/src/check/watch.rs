//! Checks of `watch:`.

use super::{Checker, INTERVAL_LEAST_NS, LIST_LIMIT};
use crate::document::{WatchCommandDocument, WatchDocument, WatchPrometheusDocument};
use crate::part::{PollSettings, Watch, WatchedAddress, WatchedCommand, WatchedDevices};
use crate::yaml::Located;
use crate::{PlanError, PlanErrorKind as Kind};
use std::collections::BTreeSet;
use units::{NANOS_PER_SECOND, Nanos};

/// The interval of samples where a plan gives none: 5 s, that of the published tests' telemetry.
const INTERVAL_DEFAULT_NS: u64 = 5 * NANOS_PER_SECOND;
/// Programs are started and addresses asked no more often: what they cost should not be seen in what is measured.
const EVERY_LEAST_NS: u64 = NANOS_PER_SECOND;
/// Timeout of an answer where a plan gives none: Prometheus's own default for a scrape.
const TIMEOUT_DEFAULT_NS: u64 = 10 * NANOS_PER_SECOND;
/// The longest time for an answer.
const TIMEOUT_MOST_NS: u64 = 600 * NANOS_PER_SECOND;
/// The most commands and addresses, each: every one has a thread.
const SOURCES_LIMIT: usize = 64;
/// The longest name, pattern or device.
const NAME_CHARS_LIMIT: usize = 128;

impl Checker<'_> {
    /// The length of a sample.
    pub(super) fn interval_ns(&self, document: &WatchDocument) -> Result<u64, PlanError> {
        match &document.interval {
            Some(interval) if interval.value.0 < INTERVAL_LEAST_NS => {
                Err(self.error(Kind::OutOfRange, interval.place, "`interval` must be at least 10ms"))
            }
            interval => Ok(interval.as_ref().map_or(INTERVAL_DEFAULT_NS, |interval| interval.value.0)),
        }
    }

    pub(super) fn watch(&self, document: WatchDocument, interval_ns: u64) -> Result<Watch, PlanError> {
        let devices = self.watched_devices(document.devices.map(|list| list.0).unwrap_or_default())?;
        let (commands, addresses) = (document.command, document.prometheus);
        let commands = commands.map(|list| list.0).unwrap_or_default();
        let addresses = addresses.map(|list| list.0).unwrap_or_default();
        if commands.len().max(addresses.len()) > SOURCES_LIMIT {
            let message =
                format!("a plan has at most {SOURCES_LIMIT} commands and addresses in `watch`, each");
            return Err(PlanError::new(Kind::OverLimit, message));
        }
        let mut names = BTreeSet::new();
        for name in commands.iter().map(|one| &one.name).chain(addresses.iter().map(|one| &one.name)) {
            self.watched_name(name)?;
            if !names.insert(name.value.as_str()) {
                let message = format!("two things in `watch` are named `{}`", name.value);
                return Err(self.error(Kind::Contradiction, name.place, message));
            }
        }
        Ok(Watch {
            devices,
            has_health: document.health.unwrap_or(true),
            commands: commands
                .iter()
                .map(|one| self.watched_command(one, interval_ns))
                .collect::<Result<_, _>>()?,
            addresses: addresses
                .iter()
                .map(|one| self.watched_address(one, interval_ns))
                .collect::<Result<_, _>>()?,
        })
    }

    fn watched_devices(&self, list: Vec<Located<String>>) -> Result<WatchedDevices, PlanError> {
        if let [one] = list.as_slice()
            && one.value == "all"
        {
            return Ok(WatchedDevices::All);
        }
        if list.len() > LIST_LIMIT {
            let message = format!("a plan watches at most {LIST_LIMIT} devices by name");
            return Err(
                PlanError::new(Kind::OverLimit, message).with_hint("`devices: all` watches all of the host")
            );
        }
        for device in &list {
            // A kernel name such as `cciss/c0d0` has a `/` inside, so only its parts are looked at.
            let parts = device.value.strip_prefix("/dev/").unwrap_or(&device.value).split('/');
            let is_part = |part: &str| !part.is_empty() && part != "." && part != "..";
            let is_char = |c: char| c.is_ascii_graphic();
            let is_short = device.value.chars().count() <= NAME_CHARS_LIMIT;
            if !is_short || !parts.clone().all(is_part) || !device.value.chars().all(is_char) {
                let message = format!("`{}` is no block device", device.value);
                return Err(self
                    .error(Kind::OutOfRange, device.place, message)
                    .with_hint("a path below /dev, a kernel name such as `sdb`, or `all` alone"));
            }
        }
        Ok(WatchedDevices::Named(list.into_iter().map(|device| device.value).collect()))
    }

    fn watched_command(
        &self,
        document: &WatchCommandDocument,
        interval_ns: u64,
    ) -> Result<WatchedCommand, PlanError> {
        Ok(WatchedCommand {
            name: document.name.value.clone(),
            arguments: self.arguments(&document.command)?,
            cumulative: self.patterns(&document.cumulative)?,
            poll: self.poll_settings(document.every.as_ref(), document.timeout.as_ref(), interval_ns)?,
        })
    }

    fn watched_address(
        &self,
        document: &WatchPrometheusDocument,
        interval_ns: u64,
    ) -> Result<WatchedAddress, PlanError> {
        let address = &document.address;
        if document.metrics.value.is_empty() {
            let message = "`metrics` names at least one metric";
            return Err(self
                .error(Kind::OutOfRange, document.metrics.place, message)
                .with_hint("`*` stands for any characters: [volume_*, up]"));
        }
        Ok(WatchedAddress {
            name: document.name.value.clone(),
            address: address.value.parse().map_err(|error| {
                self.error(Kind::OutOfRange, address.place, format!("{error}"))
                    .with_hint("for example http://127.0.0.1:9100/metrics")
            })?,
            metrics: self.patterns(&document.metrics.value)?,
            poll: self.poll_settings(document.every.as_ref(), document.timeout.as_ref(), interval_ns)?,
        })
    }

    fn watched_name(&self, name: &Located<String>) -> Result<(), PlanError> {
        let is_char = |c: char| c.is_alphanumeric() || super::KNOWN_NAME.contains(c);
        let length = name.value.chars().count();
        if (1..=NAME_CHARS_LIMIT).contains(&length) && name.value.chars().all(is_char) {
            return Ok(());
        }
        let message = format!("a name has letters, digits and `._-`, at most {NAME_CHARS_LIMIT}");
        Err(self.error(Kind::OutOfRange, name.place, message))
    }

    fn patterns(&self, list: &[Located<String>]) -> Result<Vec<String>, PlanError> {
        for pattern in list {
            let length = pattern.value.chars().count();
            let has_control = pattern.value.chars().any(|c| c.is_control() || c.is_whitespace());
            if has_control || !(1..=NAME_CHARS_LIMIT).contains(&length) {
                let message =
                    format!("a counter's name has 1 to {NAME_CHARS_LIMIT} characters and no blanks");
                return Err(self.error(Kind::OutOfRange, pattern.place, message));
            }
        }
        if list.len() > LIST_LIMIT {
            let message = format!("at most {LIST_LIMIT} names of counters stand in one list");
            return Err(PlanError::new(Kind::OverLimit, message).with_hint("`*` stands for any characters"));
        }
        Ok(list.iter().map(|pattern| pattern.value.clone()).collect())
    }

    fn poll_settings(
        &self,
        every: Option<&Located<Nanos>>,
        timeout: Option<&Located<Nanos>>,
        interval_ns: u64,
    ) -> Result<PollSettings, PlanError> {
        let every_ns = match every {
            Some(every) if every.value.0 < EVERY_LEAST_NS => {
                return Err(self.error(Kind::OutOfRange, every.place, "`every` must be at least 1s"));
            }
            Some(every) => every.value.0,
            None => interval_ns.max(EVERY_LEAST_NS),
        };
        let timeout_ns = match timeout {
            Some(timeout) if !(1..=TIMEOUT_MOST_NS).contains(&timeout.value.0) => {
                let message = "`timeout` must be above 0 and at most 10m";
                return Err(self.error(Kind::OutOfRange, timeout.place, message));
            }
            Some(timeout) => timeout.value.0,
            None => every_ns.min(TIMEOUT_DEFAULT_NS),
        };
        Ok(PollSettings { every_ns, timeout_ns })
    }
}

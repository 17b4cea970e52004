//! Forms of names that identify a device, a host or a person, whatever they stand in.

use regex_lite::Regex;

/// Kind of a pseudonym: its first word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SecretKind {
    Serial,
    Wwn,
    Host,
    User,
    Address,
    Path,
    Id,
}

impl SecretKind {
    pub(crate) fn word(self) -> &'static str {
        match self {
            SecretKind::Serial => "serial",
            SecretKind::Wwn => "wwn",
            SecretKind::Host => "host",
            SecretKind::User => "user",
            SecretKind::Address => "address",
            SecretKind::Path => "path",
            SecretKind::Id => "id",
        }
    }
}

/// Pattern of a secret: its first capture is the secret, or the whole match where it captures nothing.
pub(crate) struct Pattern {
    pub(crate) kind: SecretKind,
    pub(crate) regex: Regex,
    /// Decides whether a match of the form is a secret.
    pub(crate) is_secret: fn(&str) -> bool,
}

fn any(_: &str) -> bool {
    true
}

/// Not all letters, not all zeros: a word behind `serial` need not be a number.
fn has_digit(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
}

fn is_ipv6(text: &str) -> bool {
    let address = text.split(['%', '/']).next().unwrap_or_default();
    // `::` alone is Rust's and C++'s sign for a path, and no host has it.
    address.len() > 2 && address.parse::<std::net::Ipv6Addr>().is_ok()
}

fn is_ipv4(text: &str) -> bool {
    text.split('.').all(|part| part.parse::<u16>().is_ok_and(|part| part < 256))
}

/// A word of a pseudonym is not looked at again.
fn is_no_pseudonym(text: &str) -> bool {
    let kinds = ["serial-", "wwn-", "host-", "user-", "address-", "path-", "id-"];
    !kinds.iter().any(|kind| {
        text.strip_prefix(kind).is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

fn is_labelled_serial(text: &str) -> bool {
    has_digit(text) && is_no_pseudonym(text)
}

/// Upper-case letters and digits as manufacturers number devices.
fn is_like_serial(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let letters = text.bytes().filter(u8::is_ascii_uppercase).count();
    digits >= 2 && letters >= 1
}

/// Kind, regular expression, and whether a match is a name.
type Form = (SecretKind, &'static str, fn(&str) -> bool);

const FORMS: &[Form] = &[
    // NVMe and iSCSI names (NVMe base specification 4.7; RFC 3720, 3.2.6.3).
    (SecretKind::Address, r"(?i)\bnqn\.[0-9]{4}-[0-9]{2}\.[^\s\x22',;()\[\]]+", any),
    (SecretKind::Address, r"(?i)\biqn\.[0-9]{4}-[0-9]{2}[^\s\x22',;()\[\]]+", any),
    // Names of SCSI and NVMe devices (SPC-5, 7.7.6; udev's wwn-, nvme- and scsi-).
    (SecretKind::Wwn, r"(?i)\b(?:naa|eui|t10|nguid)\.[0-9a-z_.-]{8,}", any),
    (SecretKind::Id, r"(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", any),
    (SecretKind::Wwn, r"(?i)\b(?:[0-9a-f]{2}:){7}[0-9a-f]{2}\b", any),
    (SecretKind::Address, r"(?i)\b(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}\b", any),
    (SecretKind::Wwn, r"(?i)\b(?:0x)?[1-6][0-9a-f]{15}(?:[0-9a-f]{16,17})?\b", any),
    // Identities of machines and boots (machine-id(5)).
    (SecretKind::Id, r"(?i)\b[0-9a-f]{32}\b", any),
    // user@host, and hosts of addresses.
    (SecretKind::User, r"\b([A-Za-z_][A-Za-z0-9._-]*)@[A-Za-z0-9\[]", is_no_pseudonym),
    (SecretKind::Address, r"@\[?([0-9A-Fa-f:]+:[0-9A-Fa-f:.%]*)", is_ipv6),
    (SecretKind::Address, r"\b([0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3})\b", is_ipv4),
    (
        SecretKind::Address,
        r"(?:^|[^0-9A-Za-z:.])([0-9A-Fa-f]*:[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*(?:%[A-Za-z0-9]+)?(?:\b|::))",
        is_ipv6,
    ),
    (SecretKind::Host, r"@([A-Za-z0-9][A-Za-z0-9._-]*)", is_no_pseudonym),
    (SecretKind::Host, r"(?i)\b(?:ssh|fio|nbds?|https?|tcp)://([A-Za-z0-9][A-Za-z0-9._-]*)", is_no_pseudonym),
    (
        SecretKind::Host,
        r"(?i)\b([a-z0-9][a-z0-9-]*(?:\.[a-z0-9-]+)*\.(?:com|net|org|edu|gov|mil|local|lan|internal|intranet|corp|home|localdomain|example|invalid))\b",
        any,
    ),
    (SecretKind::Host, r"(?i)\b([a-z][a-z0-9-]*(?:\.[a-z][a-z0-9-]*){2,})\b", is_host_of_three),
    // Words behind their names.
    (
        SecretKind::Serial,
        r"(?i)\b(?:unit |product )?(?:serial(?:[ _-]?(?:number|num|no\.?))?|s/n|sn|(?:asset|service)[ _-]?tag|id_serial(?:_short)?)\x22?(?:\s*[:=]\s*|\s+)\x22?([A-Za-z0-9][A-Za-z0-9._-]{2,})",
        is_labelled_serial,
    ),
    (
        SecretKind::Wwn,
        r"(?i)\b(?:wwid|wwn|wwpn|wwnn|port_name|node_name|eui64|nguid|lu wwn device id)\x22?\s*[:=]\s*\x22?([0-9A-Za-z][0-9A-Za-z._: -]{6,}[0-9A-Za-z])",
        is_labelled_serial,
    ),
    (
        SecretKind::Host,
        r"(?i)\b(?:host ?name|nodename|static hostname|symname)\x22?\s*[:=]\s*\x22?([A-Za-z0-9][A-Za-z0-9._-]+)",
        is_no_pseudonym,
    ),
    (
        SecretKind::User,
        r"(?i)\b(?:user(?: ?name)?|login|owner|logname)\x22?\s*[:=]\s*\x22?([A-Za-z_][A-Za-z0-9._-]+)",
        is_no_pseudonym,
    ),
    // Absolute paths and those of a home.
    (
        SecretKind::Path,
        r"(?:^|://|[\s\x22'=:,(\[{>`|])((?:~/|/)[A-Za-z0-9._@%+-][^\s\x22'`,;)\]}<>|?&]*)",
        is_path,
    ),
];

/// Names of three parts: not of files, of settings and of fields that reports have.
fn is_host_of_three(text: &str) -> bool {
    let last = text.rsplit('.').next().unwrap_or_default();
    let ends =
        ["csv", "yaml", "json", "sqlite", "html", "conf", "service", "mean", "iops", "log", "ko", "gz"];
    let firsts = ["read.", "write.", "trim.", "queue.", "sysctl.", "module.", "random."];
    last.len() >= 2
        && last.bytes().all(|byte| byte.is_ascii_alphabetic())
        && !ends.contains(&last)
        && !firsts.iter().any(|first| text.starts_with(first))
}

fn is_path(text: &str) -> bool {
    text.len() >= 3 && !text.starts_with("~~")
}

/// All forms, in the order in which they are looked for: a longer form before one that it contains.
pub(crate) fn patterns() -> Vec<Pattern> {
    compiled(FORMS)
}

/// Forms for outputs of commands, where numbers of devices stand in columns without a name.
pub(crate) fn patterns_of_outputs() -> Vec<Pattern> {
    compiled(&[(SecretKind::Serial, r"\b([A-Z0-9][A-Z0-9_-]{7,})\b", is_like_serial)])
}

fn compiled(forms: &[Form]) -> Vec<Pattern> {
    let compiled = forms.iter().filter_map(|&(kind, form, is_secret)| {
        Some(Pattern { kind, regex: Regex::new(form).ok()?, is_secret })
    });
    compiled.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that every form is one that the matcher reads.
    #[test]
    fn every_form_is_read() {
        assert_eq!(patterns().len(), FORMS.len());
        assert_eq!(patterns_of_outputs().len(), 1);
    }
}

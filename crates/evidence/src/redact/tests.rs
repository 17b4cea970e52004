//! Tests of redaction.

use super::*;
use serde_json::json;

fn redacted(known: &Value, text: &str) -> String {
    let mut redactor = Redactor::new();
    redactor.learn_manifest(&json!({"host": known}));
    redactor.compile();
    redactor.output(text)
}

/// Proves that each form of a name becomes a pseudonym, the same name the same one, and that what identifies nobody stays.
#[test]
fn forms_become_pseudonyms() {
    for (text, expected) in [
        ("on /dev/disk/by-id/x, again /dev/disk/by-id/x", "on path-1, again path-1"),
        ("file:/tmp/test.img,size=1g", "file:path-1,size=1g"),
        ("nbd+unix:///?socket=/tmp/a.sock and file:///srv/x", "nbd+unix:///?socket=path-1 and file://path-2"),
        ("ssh://ada@db01.example.com:22", "ssh://user-1@host-1:22"),
        ("from 10.1.2.3 to 10.1.2.4 and 10.1.2.3", "from address-1 to address-2 and address-1"),
        ("2001:db8::1 and fe80::1%eth0", "address-1 and address-2"),
        ("mac 52:54:00:12:34:56", "mac address-1"),
        ("port 50:01:43:80:12:34:56:78 and 0x5001438012345678", "port wwn-1 and wwn-1"),
        ("3600508b1001c7e1a2b3c4d5e6f708192", "wwn-1"),
        ("naa.600508b1001c7e1a2b3c4d5e6f708192", "wwn-1"),
        ("nqn.2014-08.org.nvmexpress:uuid:1b4e28ba-2fa1-11d2-883f-0016d3cca427", "address-1"),
        ("iqn.1994-05.com.redhat:8a7b", "address-1"),
        ("Serial Number: S4EVNX0R1", "Serial Number: serial-1"),
        ("ID_SERIAL_SHORT=abc123", "ID_SERIAL_SHORT=serial-1"),
        ("uuid 1b4e28ba-2fa1-11d2-883f-0016d3cca427", "uuid id-1"),
        // Nothing of this names anybody.
        (
            "4k/8k random reads at 12:34:56, 99.9 % of 1.5 GB/s, p99.9",
            "4k/8k random reads at 12:34:56, 99.9 % of 1.5 GB/s, p99.9",
        ),
        ("bs=4096,rw=randread and read.latency_ns.mean", "bs=4096,rw=randread and read.latency_ns.mean"),
        (
            "plans/quick.yaml, published/raid-levels/read-512.csv",
            "plans/quick.yaml, published/raid-levels/read-512.csv",
        ),
        ("queue.nr_requests and std::fmt, IOPS / s", "queue.nr_requests and std::fmt, IOPS / s"),
    ] {
        assert_eq!(redacted(&json!({}), text), expected, "{text}");
    }
}

/// Proves that names which fields hold are found in other texts, in whatever case and within names of devices.
#[test]
fn known_names_are_found_elsewhere() {
    let known =
        json!({"hostname": "Lyra7.lab", "serial": "zx81a", "wwid": "0x5000c500a1b2c3d4", "user": "ada"});
    let text = "LYRA7 wrote nvme-MODEL_zx81a and wwn-0x5000C500A1B2C3D4 for ada, not for adamant";
    // The serial has less than six characters, so it is found as a word.
    let expected = "host-1 wrote nvme-MODEL_serial-1 and wwn-wwn-1 for user-1, not for adamant";
    assert_eq!(redacted(&known, text), expected);
}

/// Proves that a host has one pseudonym by its short and its full name, that two hosts which share a short name stay two, and that
/// an address in the place of a name hides no numbers.
#[test]
fn a_host_has_one_pseudonym() {
    let short = json!({"hostname": "lyra7.lab.example"});
    assert_eq!(redacted(&short, "LYRA7, then lyra7.lab.example"), "host-1, then host-1");
    let shared = json!([{"hostname": "lyra7.east.example"}, {"hostname": "lyra7.west.example"}]);
    let text = "lyra7.east.example, lyra7.west.example, lyra7";
    assert_eq!(redacted(&shared, text), "host-1, host-2, host-3");
    let address = json!({"hostname": "192.168.7.20"});
    assert_eq!(redacted(&address, "192 IOPS of 192.168.7.20"), "192 IOPS of address-1");
}

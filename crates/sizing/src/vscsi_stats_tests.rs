use super::*;
use crate::tool_output::is_tool_output;
use crate::workload_source::workload_of_tool_output;
use proptest::prelude::*;

/// A disk as ESXi prints it, with fewer buckets: 200 reads and 800 writes in 998 ms, and 580,000 s before the first.
const DISK: &str = "Histogram: IO lengths of commands,virtual machine worldGroupID,2099979,virtual disk handleID,8194 (scsi0:0)
min,512\nmax,300000\nmean,6964\ncount,1000\nFrequency,Histogram Bucket Limit\n1000,524288\n
Histogram: IO lengths of Read commands,virtual machine worldGroupID,2099979,virtual disk handleID,8194 (scsi0:0)
min,300000\nmax,300000\nmean,300000\ncount,200\nFrequency,Histogram Bucket Limit\n0,262144\n200,524288\n0,524288
Histogram: IO lengths of Write commands,virtual machine worldGroupID,2099979,virtual disk handleID,8194 (scsi0:0)
min,512\nmax,600000\nmean,10768\ncount,800\nFrequency,Histogram Bucket Limit\n400,4095\n392,4096\n0,524288\n8,524288
Histogram: distance (in LBNs) between successive Read commands,virtual machine worldGroupID,2099979,virtual disk handleID,8194 (scsi0:0)
min,-9\nmax,9\nmean,0\ncount,200\nFrequency,Histogram Bucket Limit\n4,-1\n0,0\n196,1\n0,2
Histogram: distance (in LBNs) between successive Write commands,virtual machine worldGroupID,2099979,virtual disk handleID,8194 (scsi0:0)
min,-9\nmax,9\nmean,0\ncount,800\nFrequency,Histogram Bucket Limit\n400,-1\n200,0\n200,1\n0,2
Histogram: latency of IO interarrival time in Microseconds (us),virtual machine worldGroupID,2099979,virtual disk handleID,8194 (scsi0:0)
min,6\nmax,580000000000\nmean,580000998\ncount,1000\nFrequency,Histogram Bucket Limit\n0,1\n999,1000\n1,100000
";

fn read(text: &str) -> Workload {
    assert!(is_tool_output(text.as_bytes()));
    let workload = workload_of_tool_output("f", &mut text.as_bytes(), None).unwrap();
    workload.case("f").unwrap();
    assert_eq!(Workload::parse("f", &workload.text()).unwrap(), workload);
    workload
}

fn refusal(text: &str) -> String {
    diagnostic::full_text(&workload_of_tool_output("f", &mut text.as_bytes(), None).unwrap_err())
}

/// Proves that rates are of the time of the collection without the time before its first command, and that sizes and order are those of each direction.
#[test]
fn histograms_become_streams() {
    let workload = read(DISK);
    let names: Vec<&str> = workload.streams.iter().map(|stream| stream.name.as_str()).collect();
    let expected =
        ["2099979-scsi0-0-sequential-reads", "2099979-scsi0-0-writes", "2099979-scsi0-0-sequential-writes"];
    assert_eq!(names, expected);
    // 999 intervals in 998 ms.
    let all = 999.0 / 0.998;
    let shares = [0.2, 0.8 * 0.75, 0.8 * 0.25];
    for (stream, share) in workload.streams.iter().zip(shares) {
        assert!((stream.iops / (all * share) - 1.0).abs() < 1e-4, "{} {}", stream.name, stream.iops);
    }
    let [reads, writes, sequential] = &workload.streams[..] else { panic!("{workload:?}") };
    // No larger than the largest that was seen, in whole sectors.
    assert_eq!((reads.settings["bs"].as_u64(), reads.numjobs), (Some(300_032), 1));
    assert_eq!(writes.settings["bssplit"], "3584/50:4096/49:600064/1");
    assert_eq!(
        (writes.settings["rw"].as_str(), sequential.settings["rw"].as_str()),
        (Some("randwrite"), Some("write"))
    );
    let sizes = workload.not_known.iter().find(|one| one.starts_with("sizes:")).unwrap();
    // 200 × 300,032 + 400 × 3,584 + 392 × 4,096 + 8 × 600,064 bytes against 200 × 300,000 + 800 × 10,768.
    assert!(sizes.contains(" 0 % more bytes"), "{sizes}");
    let smaller = read(&DISK.replace("mean,10768", "mean,5000"));
    assert!(smaller.not_known.iter().any(|one| one.contains(" 6 % more bytes")), "{smaller:?}");
}

/// Proves that of several outputs the one with the highest rate is taken for each disk, that `unit` chooses one disk, and that fast arrivals, whose
/// mean is printed in whole microseconds, have their uncertainty said.
#[test]
fn the_busiest_output_of_each_disk_is_taken() {
    let slow = DISK.replace("mean,580000998", "mean,580009998");
    let other = DISK.replace("2099979", "7").replace("mean,580000998", "mean,580000020");
    let text = format!("{slow}Sun Nov 29 19:33:20 UTC 2026\n{DISK}{slow}{other}");
    let workload = read(&text);
    assert_eq!(workload.streams.len(), 6);
    assert_eq!(workload.streams[..3], read(DISK).streams[..]);
    let not_known = workload.not_known.join("; ");
    assert!(not_known.contains("up to 3 outputs") && not_known.contains("up to 5 % too high"), "{not_known}");
    let one = workload_of_tool_output("f", &mut text.as_bytes(), Some("7-scsi0:0")).unwrap();
    assert_eq!(one.streams[..], workload.streams[3..]);
    let refused = workload_of_tool_output("f", &mut text.as_bytes(), Some("scsi0:0")).unwrap_err();
    let refused = diagnostic::full_text(&refused);
    assert!(refused.contains("2099979-scsi0:0, 7-scsi0:0"), "{refused}");
}

/// Proves that a disk without commands takes no part, and that output with missing lines, missing histograms or without -c is refused with its line.
#[test]
fn what_cannot_be_sized_is_refused() {
    let zero = |text: &str| {
        text.replace("count,1000\nFrequency,Histogram Bucket Limit\n0,1\n999,1000\n1,100000", "count,0\n0,1")
    };
    let beside_idle = read(&format!("{}{DISK}", zero(&DISK.replace("2099979", "7"))));
    assert_eq!(beside_idle.streams, read(DISK).streams);
    assert!(beside_idle.not_known.iter().any(|one| one.starts_with("disks: 1 ")), "{beside_idle:?}");
    for (text, expected) in [
        (zero(DISK), "no virtual disk was given 100 commands"),
        (DISK.replace("196,1\n", ""), "f:28: the buckets hold 4 commands, its count is 200"),
        (DISK.replace("latency of IO interarrival", "IO interarrival"), "no histogram `latency of IO interarrival"),
        (DISK.replace("count,800", "count,9000000000000000000").replace("392,4096", "8999999999999999592,4096"), "its count is"),
        (DISK.replace("of Write commands", "of Trim commands"), "no histogram `IO lengths of Write"),
        (DISK.replace("mean,580000998", "mean,9"), "contradict each other"),
        ("Histogram: IO lengths of commands for virtual machine worldGroupID : 7, virtual disk handleID : 8 {\n".into(), "f:1"),
    ] {
        let refused = refusal(&text);
        assert!(refused.contains(expected), "{expected}: {refused}");
    }
}

proptest! {
    /// Proves that no output with some of its bytes replaced, and none with any numbers, makes the reader panic or gives a load that no plan can have.
    #[test]
    fn any_output_is_read_or_refused(
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..12),
        (max, mean, count, limit) in any::<(i64, i64, u64, i64)>(),
    ) {
        let mut changed = DISK.as_bytes().to_vec();
        for (place, byte) in places {
            let place = place.index(changed.len());
            changed[place] = byte;
        }
        let numbers = DISK
            .replace("max,600000\nmean,10768", &format!("max,{max}\nmean,{mean}"))
            .replace("count,800", &format!("count,{count}"))
            .replace("392,4096", &format!("{count},{limit}"));
        for bytes in [changed, numbers.into_bytes()] {
            if let Ok(workload) = workload_of_tool_output("f", &mut bytes.as_slice(), None) {
                let _ = workload.case("f");
            }
        }
    }
}

use super::*;
use crate::workload::Workload;
use crate::workload_source::workload_of_tool_output;
use proptest::prelude::*;

const IOSTAT: &str = "Linux 6.8.0 (db3) \t11/23/2026 \t_x86_64_\t(8 CPU)

11/23/2026 11:59:50 PM
avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           0.50    0.00    0.25    0.10    0.00   99.15

Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz  aqu-sz  %util
sda            900.00  90000.00     0.00   0.00    1.00   100.00    9.00   9000.00     0.00   0.00    1.00  1000.00    0.10   9.00

11/23/2026 11:59:55 PM
avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           0.50    0.00    0.25    0.10    0.00   99.15

Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz  aqu-sz  %util
sda            100.00    800.00     0.00   0.00    1.00     8.00   50.00    800.00     0.00   0.00    1.00    16.00    0.10   9.00
sda1           100.00    800.00     0.00   0.00    1.00     8.00   50.00    800.00     0.00   0.00    1.00    16.00    0.10   9.00
dm-0           100.00    800.00     0.00   0.00    1.00     8.00   50.00    800.00     0.00   0.00    1.00    16.00    0.10   9.00

11/24/2026 12:00:00 AM
avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           0.50    0.00    0.25    0.10    0.00   99.15

Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz  aqu-sz  %util
sda            200.00   1600.00     0.00   0.00    1.00     8.00    0.00      0.00     0.00   0.00    1.00    16.00    0.10   9.00
";

const SAR: &str = "Linux 6.8.0 (db3) \t11/23/26 \t_x86_64_\t(8 CPU)

00:00:01          DEV       tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util
00:10:01          sda     60,00    400,00    200,00      0,00     10,00      0,10      1,00      9,00
00:20:01          sda     30,00    300,00      0,00      0,00     10,00      0,10      1,00      9,00
Average:          sda     45,00    350,00    100,00      0,00     10,00      0,10      1,00      9,00
";

const SADF: &str = r#"{"sysstat": {"hosts": [{"nodename": "db3", "statistics": [
  {"timestamp": {"date": "2026-11-23", "time": "00:10:01", "utc": 1, "interval": 600},
   "disk": [{"disk-device": "sda", "tps": 60.0, "rd_sec": 800.0, "wr_sec": 400.0, "rkB": 400.0, "wkB": 200.0, "areq-sz": 10.0}]}]}]}}"#;

const IOSTAT_JSON: &str = r#"{"sysstat": {"hosts": [{"nodename": "db3", "date": "11/23/2026", "statistics": [
  {"timestamp": "2026-11-23T19:33:20+0000", "disk": [{"disk_device": "sda", "r/s": 9.0, "w/s": 9.0, "rkB/s": 9.0, "wkB/s": 9.0}]},
  {"timestamp": "2026-11-23T19:33:25+0000", "disk": [{"disk_device": "sda", "r/s": 100.0, "w/s": 50.0, "rkB/s": 800.0, "wkB/s": 800.0}]}]}]}}"#;

const PERFMON: &str = "\"(PDH-CSV 4.0) (W. Europe Standard Time)(-60)\",\"\\\\SQL1\\PhysicalDisk(0 C:)\\Disk Reads/sec\",\"\\\\SQL1\\PhysicalDisk(0 C:)\\Disk Writes/sec\",\"\\\\SQL1\\PhysicalDisk(0 C:)\\Disk Read Bytes/sec\",\"\\\\SQL1\\PhysicalDisk(0 C:)\\Disk Write Bytes/sec\",\"\\\\SQL1\\PhysicalDisk(_Total)\\Disk Reads/sec\"\r
\"11/23/2026 19:33:05.123\",\" \",\" \",\" \",\" \",\" \"\r
\"11/23/2026 19:33:20.123\",\"100.5\",\"50\",\"823296\",\"819200\",\"100.5\"\r
";

const ESXTOP: &str = "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\esx1\\Physical Disk SCSI Device(naa.600508)\\Reads/sec\",\"\\\\esx1\\Physical Disk SCSI Device(naa.600508)\\Writes/sec\",\"\\\\esx1\\Physical Disk SCSI Device(naa.600508)\\MBytes Read/sec\",\"\\\\esx1\\Physical Disk SCSI Device(naa.600508)\\MBytes Written/sec\",\"\\\\esx1\\Physical Disk Adapter(vmhba0)\\Reads/sec\"\n\"11/23/2026 19:33:05\",\"128\",\"64\",\"1\",\"1\",\"128\"\n\"11/23/2026 19:33:10\",\"128\",\"64\",\"1\",\"1\",\"128\"\n";

const PROMETHEUS: &str = r#"{"status":"success","data":{"resultType":"matrix","result":[
  {"metric":{"__name__":"node_disk_reads_completed_total","device":"sda","instance":"db3:9100"},"values":[[1000,"0"],[1060,"6000"],[1120,"5"]]},
  {"metric":{"__name__":"node_disk_writes_completed_total","device":"sda","instance":"db3:9100"},"values":[[1000,"0"],[1060,"3000"],[1120,"5"]]},
  {"metric":{"__name__":"node_disk_read_bytes_total","device":"sda","instance":"db3:9100"},"values":[[1000,"0"],[1060,"49152000"],[1120,"5"]]},
  {"metric":{"__name__":"node_disk_written_bytes_total","device":"sda","instance":"db3:9100"},"values":[[1000,"0"],[1060,"49152000"],[1120,"5"]]}]}}"#;

fn read(text: &str) -> ToolOutput {
    assert!(is_tool_output(text.as_bytes()));
    read_tool_output("f", text, None).unwrap()
}

fn rates(sample: &ToolSample) -> [f64; 4] {
    [sample.read_iops, sample.write_iops, sample.read_bytes_per_s, sample.written_bytes_per_s]
}

/// Proves that iostat's text is read by its columns, over midnight, without its report since the boot, and that devices which lie on
/// others are left out and named.
#[test]
fn iostat_text_is_read() {
    let output = read(IOSTAT);
    assert_eq!(output.samples.len(), 2, "{output:?}");
    assert_eq!(rates(&output.samples[0]), [100.0, 50.0, 819_200.0, 819_200.0]);
    assert_eq!((output.samples[0].at_s, output.samples[1].at_s), (86_395, 86_400));
    assert_eq!(output.samples[1].seconds, 5.0);
    let not_known = output.not_known.join("; ");
    assert!(
        not_known.contains("sda1") && not_known.contains("dm-0") && not_known.contains("boot"),
        "{not_known}"
    );
    let dm = read_tool_output("f", IOSTAT, Some("dm-0")).unwrap();
    assert_eq!((dm.samples.len(), dm.samples[0].device.as_str()), (1, "dm-0"));
    let old = "Device:         rrqm/s   wrqm/s     r/s     w/s   rsec/s   wsec/s avgrq-sz\nsdb 0,00 0,00 100,00 50,00 1600,00 1600,00 12\n";
    let old = read(old);
    assert_eq!(rates(&old.samples[0]), [100.0, 50.0, 819_200.0, 819_200.0]);
    assert!(old.not_known.iter().any(|one| one.starts_with("time:")), "{old:?}");
}

/// Proves that each other tool's output is read into the same rates, and that what it cannot tell is said.
#[test]
fn other_tools_are_read() {
    let expected = [100.0, 50.0, 819_200.0, 819_200.0];
    assert_eq!(rates(&read(IOSTAT_JSON).samples[0]), expected);
    let perfmon = read(PERFMON);
    assert_eq!((perfmon.tool, rates(&perfmon.samples[0])), ("perfmon", [100.5, 50.0, 823_296.0, 819_200.0]));
    assert_eq!(perfmon.samples.len(), 1, "the first record has no rates, and the total is no disk");
    let esxtop = read(ESXTOP);
    assert_eq!((esxtop.tool, rates(&esxtop.samples[1])), ("esxtop", [128.0, 64.0, MIB, MIB]));
    let prometheus = read(PROMETHEUS);
    assert_eq!(prometheus.samples.len(), 1, "a counter that went back is no rate: {prometheus:?}");
    assert_eq!((rates(&prometheus.samples[0]), prometheus.samples[0].seconds), (expected, 60.0));
    for (text, reports) in [(SAR, 2), (SADF, 1)] {
        let sar = read(text);
        assert_eq!(sar.samples.len(), reports);
        assert_eq!(rates(&sar.samples[0]), [40.0, 20.0, 409_600.0, 204_800.0]);
        assert!(sar.not_known.contains(&SPLIT.to_owned()), "{sar:?}");
    }
    assert_eq!(read(SAR).samples[1].seconds, 600.0);
}

/// Proves that the output of each tool becomes a workload that can be simulated, with the rate of its busiest reports, mean sizes and what is not known.
#[test]
fn an_output_becomes_a_workload() {
    for text in [IOSTAT, SAR, SADF, IOSTAT_JSON, PERFMON, ESXTOP, PROMETHEUS] {
        let workload = workload_of_tool_output("f", &mut text.as_bytes(), None).unwrap();
        assert_eq!(Workload::parse("f", &workload.text()).unwrap(), workload);
        assert_eq!(workload.case("f").unwrap().loads.len() % 2, 0, "{workload:?}");
    }
    let workload = workload_of_tool_output("f", &mut IOSTAT.as_bytes(), None).unwrap();
    let of = |name: &str| workload.streams.iter().find(|stream| stream.name == name).unwrap();
    assert_eq!((of("sda-reads").iops, of("sda-reads").settings["bs"].as_u64()), (200.0, Some(8192)));
    assert_eq!((of("sda-writes").iops, of("sda-writes").settings["bs"].as_u64()), (50.0, Some(16_384)));
    assert!(
        workload.source.starts_with("iostat")
            && workload.not_known.iter().any(|one| one.starts_with("sizes"))
    );
    workload.case("f").unwrap();
}

/// Proves that an output that cannot be used is refused with what to do.
#[test]
fn wrong_outputs_are_refused() {
    for (text, expected) in [
        (IOSTAT.replace("r/s", "x/s"), "no column"),
        (IOSTAT.replace("   200.00  ", "   1.2k  "), "line of a device"),
        (SADF.replace("\"tps\": 60.0, ", ""), "no rate of I/Os"),
        (IOSTAT_JSON.replace("800.0", "-1"), "out of range"),
        (PERFMON.replace("Disk Writes", "Disk Wri"), "no disk has all"),
        (PROMETHEUS.replace("\"__name__\"", "\"name\""), "no device has all"),
        ("{\"sysstat\": 3}".into(), "no statistics"),
        ("{\"resultType\": 3".into(), "EOF"),
    ] {
        let refused = diagnostic::full_text(&read_tool_output("f", &text, None).unwrap_err());
        assert!(refused.contains(expected), "{refused}");
    }
    assert!(read_tool_output("f", IOSTAT, Some("sdz")).unwrap_err().to_string().contains("sdz"));
    assert!(!is_tool_output(b"fio version 2 iolog\n/dev/sda add\n"));
}

/// Proves that a disk that does hardly anything makes a stream with a rate.
#[test]
fn a_disk_that_does_hardly_anything_has_a_rate() {
    let text = "Device r/s rkB/s w/s wkB/s\nsda 0.004 0.02 0 0\n";
    let workload = workload_of_tool_output("f", &mut text.as_bytes(), None).unwrap();
    assert_eq!(workload.streams[0].iops, 0.01);
    assert_eq!(Workload::parse("f", &workload.text()).unwrap(), workload);
}

/// Proves that a host with hundreds of disks becomes a workload that can be simulated.
#[test]
fn hundreds_of_disks_become_a_workload() {
    let disks: String = (0..500).map(|n| format!("nvme{n}n1 30 240 20 160\n")).collect();
    let text = format!("Device r/s rkB/s w/s wkB/s\n{disks}");
    let workload = workload_of_tool_output("f", &mut text.as_bytes(), None).unwrap();
    let case = Workload::parse("f", &workload.text()).unwrap().case("f").unwrap();
    assert_eq!(case.loads.len(), 1000);
    let outstanding: u64 =
        case.loads.iter().map(|load| u64::from(load.load.numjobs * load.load.iodepth)).sum();
    assert!(
        outstanding <= load::OUTSTANDING_LIMIT && outstanding > load::OUTSTANDING_LIMIT / 2,
        "{outstanding}"
    );
}

proptest! {
    /// Proves that no bytes, and no output with some of its bytes replaced, make a reader panic.
    #[test]
    fn any_bytes_are_read_or_refused(
        noise in prop::collection::vec(any::<u8>(), 0..400),
        which in 0_usize..6,
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..12),
    ) {
        let valid = [IOSTAT, SAR, SADF, IOSTAT_JSON, PERFMON, PROMETHEUS][which];
        let mut changed = valid.as_bytes().to_vec();
        for (place, byte) in places {
            let place = place.index(changed.len());
            changed[place] = byte;
        }
        for bytes in [&noise, &changed, &changed[..changed.len() / 2].to_vec()] {
            let _ = is_tool_output(bytes);
            if let Ok(workload) = workload_of_tool_output("f", &mut bytes.as_slice(), None) {
                let _ = workload.case("f");
            }
        }
    }
}

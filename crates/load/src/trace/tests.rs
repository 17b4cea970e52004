//! Each format on lines as its recorder writes them, and bad input of every kind.

use proptest::prelude::*;

use super::*;

fn read(text: &str) -> Result<Trace, TraceError> {
    Trace::read("t", &mut text.as_bytes(), None)
}

fn record(at_ns: u64, direction: Direction, offset_bytes: u64, length_bytes: u32) -> TraceRecord {
    TraceRecord { at_ns, offset_bytes, length_bytes, direction }
}

/// Proves that an iolog of version 3, as fio 3.33 writes it, keeps its times and that syncs are counted, not replayed.
#[test]
fn iolog_version_3() {
    let trace = read(
        "fio version 3 iolog\n15 /f add\n99 /f open\n103 /f read 61440 4096\n3914 /f write 774144 8192\n\
         3914 /f trim 0 4096\n4000 /f datasync 0 0\n1000082 /f close\n",
    )
    .unwrap();
    assert_eq!(trace.format, TraceFormat::IologV3);
    assert_eq!(
        trace.records(),
        [
            record(0, Direction::Read, 61_440, 4096),
            record(3_811_000, Direction::Write, 774_144, 8192),
            record(3_811_000, Direction::Trim, 0, 4096),
        ]
    );
    assert_eq!(trace.skipped, BTreeMap::from([("datasync".to_owned(), 1)]));
    assert_eq!((trace.duration_ns(), trace.end_bytes(), trace.largest_bytes()), (3_811_000, 782_336, 8192));
}

/// Proves that the waits of version 2 add up.
#[test]
fn iolog_version_2() {
    let trace = read("fio version 2 iolog\n/f add\n/f read 0 512\n/f wait 20\n/f wait 5\n/f write 512 512\n")
        .unwrap();
    assert_eq!(
        trace.records(),
        [record(0, Direction::Read, 0, 512), record(25_000, Direction::Write, 512, 512)]
    );
}

/// Proves that blkparse's issued requests are taken and nothing of what was queued before, merged or completed; and
/// that queue events serve where nothing was issued.
#[test]
fn blkparse_text() {
    let queued = "  8,0    3        1     0.000000000   697  Q   W 223490 + 8 [kjournald]\n";
    let text = format!(
        "{queued}  8,0    3        2     0.000001829   697  G   W 223490 + 8 [kjournald]\n\
           8,0    3        7     0.000010000   697  D   W 223490 + 8 [kjournald]\n\
           8,0    3        8     0.000011000   697  D  RM 100 + 16 [kjournald]\n\
           8,0    3        9     0.000012000   697  D   D 4096 + 1024 [kjournald]\n\
           8,0    3        9     0.000012500   697  D  FN [kjournald]\n\
           8,0    3        9     0.000013000     0  C   W 223490 + 8 [0]\n\
         CPU3 (8,0):\n Reads Queued:           0,        0KiB\n"
    );
    let trace = read(&text).unwrap();
    assert_eq!(
        trace.records(),
        [
            record(0, Direction::Write, 223_490 * 512, 4096),
            record(1000, Direction::Read, 51_200, 8192),
            record(2000, Direction::Trim, 4096 * 512, 1024 * 512),
        ]
    );
    assert_eq!(trace.skipped, BTreeMap::from([("flush".to_owned(), 1)]));
    assert_eq!(read(queued).unwrap().records(), [record(0, Direction::Write, 223_490 * 512, 4096)]);
}

/// Proves that MSR Cambridge lines are read with ticks of 100 ns, put in order of time.
#[test]
fn msr_csv() {
    let trace = read(
        "128166372003061629,hm,0,Read,383496192,32768,413\n128166372016382155,hm,0,Write,2822144,4096,2044\n\
         128166372003061600,hm,0,Write,512,512,9\n",
    )
    .unwrap();
    assert_eq!(
        trace.records(),
        [
            record(0, Direction::Write, 512, 512),
            record(2900, Direction::Read, 383_496_192, 32_768),
            record(1_332_055_500, Direction::Write, 2_822_144, 4096),
        ]
    );
}

/// Proves that SPC lines are read exactly, further fields or none, and that several ASUs need a choice.
#[test]
fn spc_lines() {
    let text = "0,20941264,8192,W,0.551706\n0,20939840,8192,w,0.554041,1\n1,3072,1536,r,1.5\n";
    let error = diagnostic::full_text(&read(text).unwrap_err());
    assert!(error.contains("2 disks or files: 0, 1") && error.contains("`unit:`"), "{error}");
    let trace = Trace::read("t", &mut text.as_bytes(), Some("0")).unwrap();
    assert_eq!(
        trace.records(),
        [
            record(0, Direction::Write, 20_941_264 * 512, 8192),
            record(2_335_000, Direction::Write, 20_939_840 * 512, 8192),
        ]
    );
    assert_eq!(trace.units, BTreeMap::from([("0".to_owned(), 2), ("1".to_owned(), 1)]));
    assert!(
        Trace::read("t", &mut text.as_bytes(), Some("7"))
            .unwrap_err()
            .to_string()
            .contains("the trace has 0, 1")
    );
}

/// Proves that I/Os off the sector grid are rounded outwards and counted.
#[test]
fn sectors_are_whole() {
    let trace = read("fio version 2 iolog\n/f write 700 100\n/f write 500 100\n").unwrap();
    assert_eq!(
        trace.records(),
        [record(0, Direction::Write, 512, 512), record(0, Direction::Write, 0, 1024)]
    );
    assert_eq!(trace.rounded, 2);
}

/// Proves that what cannot be read is refused with its line and column.
#[test]
fn bad_lines_are_named() {
    for (text, place, what) in [
        ("", "t:1:1", "empty"),
        ("fio version 1 iolog\n", "t:1:1", "not known"),
        ("fio version 3 iolog\n", "t:1:1", "no reads"),
        ("fio version 2 iolog\n/f read 0 x\n", "t:2:11", "`x`"),
        ("fio version 2 iolog\n/f read 0\n", "t:2:10", "ends before its length"),
        ("fio version 2 iolog\n/f frob 0 1\n", "t:2:4", "action"),
        ("fio version 2 iolog\n/f read 18446744073709551615 1024\n", "t:2:1", "largest address"),
        ("fio version 2 iolog\n/f read 0 999999999\n", "t:2:1", "the most is"),
        ("0,1,512,W,1.5\n0,1,512,X,1.5\n", "t:2:9", "opcode"),
        ("0,1,512,W,-1\n", "t:1:11", "seconds"),
        ("1,h,0,Read,0,512,1\n2,h,0,Erase,0,512,1\n", "t:2:7", "type"),
        ("8,0 0 1 0.5 1 D W 5 * 3 [x]\n", "t:1:21", "`+`"),
        ("hello world\n", "t:1:1", "no known trace format"),
    ] {
        let error = diagnostic::full_text(&read(text).unwrap_err());
        assert!(
            error.starts_with(place) && error.contains(what) && error.contains("hint: "),
            "{text:?}: {error}"
        );
    }
    let long = "x".repeat(TRACE_LINE_LIMIT_BYTES + 1);
    assert!(read(&long).unwrap_err().to_string().contains("longer than"));
    assert!(
        Trace::read("t", &mut &[0x7f, 0xff, 0x0a][..], None).unwrap_err().to_string().contains("not text")
    );
}

proptest! {
    /// Proves that no text makes the decoders panic, and that what they accept keeps its promises.
    #[test]
    fn any_text_is_read_or_refused(header in 0usize..5, lines in prop::collection::vec("[0-9a-zA-Z,./ +\\[\\]-]{0,40}", 0..8)) {
        let start = ["fio version 2 iolog\n", "fio version 3 iolog\n", "8,0 0 1 0.5 1 D W 5 + 3\n", "1,h,0,Read,0,512,1\n", "0,1,512,W,1.5\n"];
        if let Ok(trace) = read(&format!("{}{}", start[header], lines.join("\n"))) {
            prop_assert!(trace.records().is_sorted_by_key(|record| record.at_ns));
            prop_assert!(trace.records().iter().all(|record| record.offset_bytes % 512 == 0 && record.length_bytes % 512 == 0));
        }
    }
}

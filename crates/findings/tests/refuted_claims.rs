//! Every claim can be refuted: on pictures like the published ones, each condition of its check fails by itself.

mod published;
mod synthetic;

use findings::{Findings, Observation, ObservedCase, Verdict, claim};
use published::changed::{
    Change, changed, earlier, is, is_random, latency, number, rate, rate_in, rate_of, read_latency,
};
use published::dorado_2100_g2::{self, Dorado};
use published::flashsystem_840::{self, Flash};
use published::storpool::{self, Pool};
use published::{e2700, raid_levels};
use synthetic::{busy, carried};

/// A claim, the cases that are changed, and how.
type Row = (&'static str, &'static str, &'static str, Change);

fn judge(picture: &Observation, id: &str) -> (Verdict, String) {
    let result = claim(id).expect(id).on(&Findings::of(picture.clone()));
    (result.verdict, result.because)
}

/// Each row refutes a claim that holds on these cases of the picture: no more than the claims look at, to save time.
fn refutes(mut picture: Observation, looked_at: impl Fn(&ObservedCase) -> bool, rows: &[Row]) {
    picture.cases.retain(looked_at);
    let mut ids: Vec<&str> = rows.iter().map(|row| row.0).collect();
    ids.dedup();
    let found = Findings::of(picture.clone());
    for id in ids {
        let result = claim(id).expect(id).on(&found);
        assert_eq!(result.verdict, Verdict::Holds, "{id} as published: {}", result.because);
    }
    for (number, (id, stage, settings, change)) in rows.iter().enumerate() {
        let (verdict, because) = judge(&changed(&picture, stage, settings, *change), id);
        assert_eq!(
            verdict,
            Verdict::Refuted,
            "row {number}, {id} with {stage} {settings} changed: {because}"
        );
    }
}

/// Proves that every condition of F1 to F8 refutes its claim by itself.
#[test]
fn flashsystem() {
    let picture = flashsystem_840::picture(Flash::default());
    refutes(
        picture.clone(),
        |case| {
            ["seq-read", "seq-write", "peak-4k", "block-size", "read-share"].contains(&case.stage.as_str())
        },
        &[
            ("F1", "seq-read", "", |case| rate(case, 0.7)),
            ("F1", "seq-write", "", |case| rate(case, 0.7)),
            ("F2", "peak-4k", "", |case| rate(case, 0.9)),
            ("F3", "block-size", "bs=65536", |case| rate(case, 1.3)),
            ("F4", "block-size", "bs=4096", |case| read_latency(case, 0.4)),
            ("F4", "block-size", "bs=131072", |case| read_latency(case, 1.5)),
            ("F4", "block-size", "bs=131072", |case| read_latency(case, 0.85)),
            ("F4", "block-size", "bs=4096", |case| read_latency(case, 0.558)),
            ("F4", "block-size", "", |case| read_latency(case, 1.3)),
            ("F4", "block-size", "bs=32768", |case| read_latency(case, 0.8)),
            ("F5", "read-share", "rwmixread=50", |case| rate(case, 0.8)),
            ("F5", "read-share", "rwmixread=100", |case| rate(case, 1.1)),
            ("F5", "read-share", "rwmixread=100", |case| rate(case, 1.03)),
            ("F5", "read-share", "rwmixread=70", |case| rate(case, 1.33)),
            ("F6", "read-share", "rwmixread=0", |case| rate(case, 0.7)),
            ("F6", "read-share", "rwmixread=0", |case| rate(case, 1.4)),
            ("F8", "peak-4k", "", |case| rate(case, 0.8)),
            ("F8", "peak-4k", "", |case| rate(case, 1.3)),
        ],
    );
    refutes(
        picture,
        |case| ["firmware-update"].contains(&case.stage.as_str()),
        &[
            ("F7", "firmware-update", "", |case| rate_in(case, |index| [200, 280].contains(&index), 1.67)),
            ("F7", "firmware-update", "", |case| rate_in(case, |index| (200..230).contains(&index), 0.5)),
            ("F7", "firmware-update", "", |case| rate_in(case, |index| index > 400 && index % 4 == 0, 0.5)),
            ("F7", "firmware-update", "", |case| {
                case.intervals[360..].iter_mut().for_each(|one| one.read.latency_sum_ns *= 1.8);
            }),
            ("F7", "firmware-update", "", |case| {
                case.intervals[360..].iter_mut().for_each(|one| one.read.latency_sum_ns /= 1.1);
            }),
        ],
    );
}

/// Proves that every condition of D1 to D9 refutes its claim by itself.
#[test]
fn dorado_under_long_load() {
    let picture = dorado_2100_g2::picture(Dorado::default());
    refutes(
        picture.clone(),
        |case| case.stage == "fill" || is(case, "group-1", "scenario=1"),
        &[
            ("D1", "fill", "pass=1", |case| rate(case, 1.4)),
            ("D2", "group-1", "scenario=1 bs=4096", |case| earlier(case, 16)),
            ("D2", "group-1", "scenario=1 bs=4096", |case| rate_in(case, |index| index < 60, 2.45)),
            ("D2", "group-1", "scenario=1 bs=4096", |case| rate_in(case, |index| index >= 160, 2.0)),
            ("D2", "group-1", "scenario=1 bs=4096", |case| rate_in(case, |index| index >= 160, 0.6)),
            ("D2", "group-1", "scenario=1 bs=8192", |case| {
                rate_in(case, |index| (160..175).contains(&index), 2.0);
            }),
            ("D2", "group-1", "scenario=1 bs=8192", |case| rate_in(case, |index| index >= 160, 0.87)),
            ("D2", "group-1", "scenario=1 bs=8192", |case| rate_in(case, |index| index >= 228, 2.0)),
            ("D2", "group-1", "scenario=1 bs=8192", |case| {
                for index in 28..case.intervals.len() {
                    let sagged = 1.0 - 0.8 * (index - 28) as f64 / 212.0;
                    rate_in(case, |one| one == index, sagged);
                }
            }),
            ("D3", "group-1", "scenario=1 bs=4096", |case| rate(case, 1.8)),
            ("D3", "group-1", "scenario=1 bs=16384", |case| rate(case, 1.5)),
            ("D3", "group-1", "scenario=1 bs=1048576", |case| rate(case, 0.5)),
            ("D6", "group-1", "scenario=1 bs=8192", |case| rate(case, 0.8)),
        ],
    );
    refutes(
        picture,
        |case| case.stage == "group-1" && [4096.0, 8192.0].contains(&number(case, "bs")),
        &[
            ("D4", "group-1", "scenario=2 bs=4096", |case| rate(case, 0.8)),
            ("D4", "group-1", "scenario=2 bs=4096", |case| earlier(case, 8)),
            ("D4", "group-1", "scenario=2 bs=4096", |case| rate_in(case, |index| index < 28, 0.41)),
            ("D5", "group-1", "scenario=3 bs=8192", |case| rate(case, 1.2)),
            ("D5", "group-1", "scenario=3 bs=8192", |case| earlier(case, 8)),
            ("D7", "group-1", "scenario=4 bs=4096", |case| {
                case.intervals[28..].iter_mut().for_each(|one| one.read.ios *= 1.5);
            }),
            ("D8", "group-1", "scenario=4", |case| rate(case, 0.7)),
            ("D8", "group-1", "scenario=5", |case| rate(case, 1.4)),
            ("D9", "group-1", "scenario=6 bs=4096", |case| {
                rate_in(case, |index| index < 28, 0.42);
                rate_in(case, |index| index >= 28, 0.45);
            }),
            ("D9", "group-1", "scenario=6 bs=4096", |case| rate_in(case, |index| index >= 28, 0.4)),
        ],
    );
}

/// Proves that every condition of D10 and D12 to D15 refutes its claim by itself.
#[test]
fn dorado_by_the_minute() {
    let picture = dorado_2100_g2::picture(Dorado::default());
    let by_minute = |case: &ObservedCase| ["group-2", "group-3"].contains(&case.stage.as_str());
    refutes(
        picture.clone(),
        |case| by_minute(case) && is(case, &case.stage, "ioengine=libaio") && number(case, "numjobs") >= 64.0,
        &[
            ("D10", "group-2", "rwmixread=0 bs=1048576", |case| rate(case, 0.6)),
            ("D10", "group-3", "rwmixread=0 bs=1048576", |case| rate(case, 1.4)),
            ("D12", "group-2", "rwmixread=100 bs=1048576", |case| rate(case, 0.8)),
            ("D12", "group-2", "rwmixread=100 bs=1048576", |case| rate(case, 1.2)),
            ("D12", "group-3", "rwmixread=70 bs=1048576", |case| rate(case, 0.8)),
            ("D12", "group-2", "rwmixread=100 bs=1048576", |case| {
                case.busy = vec![busy("drive", "drive-0", "bus", 0.95)];
            }),
            ("D14", "group-2", "rwmixread=0 ioengine=libaio", |case| latency(case, 1.3)),
        ],
    );
    refutes(
        picture.clone(),
        |case| by_minute(case) && is(case, &case.stage, "rwmixread=0"),
        &[
            ("D13", "group-2", "ioengine=libaio bs=65536", |case| {
                rate_of(case, 10.0 * number(case, "numjobs"));
            }),
            ("D13", "group-2", "ioengine=libaio", |case| {
                if number(case, "bs") < 32_768.0 {
                    rate_of(case, 1_000.0);
                }
            }),
            ("D13", "group-2", "ioengine=sync", |case| rate_of(case, 1_000.0)),
            ("D13", "group-3", "ioengine=sync", |case| rate_of(case, 10.0 * number(case, "numjobs"))),
        ],
    );
    refutes(
        picture,
        |case| is(case, "group-2", "bs=4096") && number(case, "rwmixread") != 70.0,
        &[
            ("D15", "group-2", "rwmixread=100", |case| latency(case, 0.1)),
            ("D15", "group-2", "rwmixread=0", |case| latency(case, 0.1)),
            ("D15", "group-2", "rwmixread=100 ioengine=sync bs=4096 numjobs=1", |case| rate(case, 100.0)),
        ],
    );
}

/// Proves that D11 and R2, which the published figures contradict, hold where the figures are as the words.
#[test]
fn contradicted_claims_can_hold() {
    let mut picture = dorado_2100_g2::picture(Dorado::default());
    picture.cases.retain(|case| case.stage == "group-2");
    let writes = "rwmixread=0 bs=16384";
    let meant = changed(&picture, "group-2", writes, |case| rate(case, 1.5));
    assert_eq!(judge(&meant, "D11").0, Verdict::Holds);
    let eight = changed(&meant, "group-2", "rwmixread=100 bs=8192", |case| rate(case, 0.8));
    assert_eq!(judge(&eight, "D11").0, Verdict::Refuted);
    let meant = changed(&raid_levels::picture(false, false), "sets", "rwmixread=100", |case| {
        let parity = [(5.0, 1.0), (6.0, 2.0)].into_iter().find(|(raid, _)| *raid == number(case, "raid"));
        rate_of(case, 257.0 * (number(case, "disks") - parity.map_or(0.0, |(_, disks)| disks)));
    });
    assert_eq!(judge(&meant, "R2").0, Verdict::Holds);
    let one = changed(&meant, "sets", "raid=5 disks=12 rwmixread=100 bs=512", |case| rate(case, 0.6));
    assert_eq!(judge(&one, "R2").0, Verdict::Refuted);
}

/// Proves that every condition of R1 and R3 to R7 refutes its claim by itself.
#[test]
fn raid() {
    refutes(
        raid_levels::picture(false, false),
        |case| ["sets"].contains(&case.stage.as_str()),
        &[
            ("R1", "sets", "raid=5 disks=12 rwmixread=100 bs=512", |case| rate(case, 0.3)),
            ("R1", "sets", "raid=0 disks=12 rwmixread=100 bs=512", |case| rate(case, 3.0)),
            ("R1", "sets", "raid=6 disks=8 rwmixread=70 bs=512", |case| rate(case, 0.8)),
            ("R3", "sets", "raid=5 rwmixread=0", |case| rate(case, 1.4)),
            ("R3", "sets", "raid=5 rwmixread=0", |case| rate(case, 0.6)),
            ("R3", "sets", "raid=6 rwmixread=0", |case| rate(case, 1.5)),
            ("R3", "sets", "raid=6 rwmixread=0", |case| rate(case, 0.6)),
            ("R3", "sets", "rwmixread=0", |case| match number(case, "raid") {
                5.0 => rate(case, 0.8),
                6.0 => rate(case, 1.2),
                _ => {}
            }),
            ("R4", "sets", "raid=6 disks=12 rwmixread=0", |case| rate(case, 0.9)),
            ("R5", "sets", "bs=4096", |case| rate(case, 0.8)),
            ("R5", "sets", "bs=4096", |case| rate(case, 1.2)),
            ("R6", "sets", "rwmixread=0 write_cache=on", |case| rate(case, 0.85)),
            ("R6", "sets", "rwmixread=0 write_cache=on", |case| rate(case, 1.3)),
            ("R6", "sets", "rwmixread=0 write_cache=on", |case| match number(case, "raid") {
                5.0 => rate(case, 0.72),
                6.0 => rate(case, 1.4),
                _ => {}
            }),
            ("R7", "sets", "raid=6 rwmixread=0", |case| rate(case, 0.6)),
            ("R7", "sets", "raid=6 rwmixread=70", |case| rate(case, 0.6)),
        ],
    );
}

/// Proves that every condition of N1 to N12 refutes its claim by itself.
#[test]
fn e2700() {
    let picture = e2700::picture(false, false, false);
    refutes(
        picture.clone(),
        |case| ["patterns"].contains(&case.stage.as_str()),
        &[
            ("N1", "patterns", "rw=write", |case| rate(case, 0.7)),
            ("N1", "patterns", "rw=write", |case| rate(case, 1.2)),
            ("N2", "patterns", "layout=ddp rw=randread", |case| latency(case, 0.1)),
            ("N2", "patterns", "rw=read", |case| rate(case, 1.4)),
            ("N6", "patterns", "layout=ddp", |case| rate(case, 0.5)),
            ("N6", "patterns", "layout=raid10", |case| rate(case, 1.8)),
            ("N7", "patterns", "layout=raid10 rw=randrw", |case| latency(case, 1.5)),
            ("N7", "patterns", "layout=raid10 rw=write", |case| rate(case, 2.0)),
            ("N7", "patterns", "layout=raid10 rw=randrw", |case| rate_in(case, |index| index % 2 == 0, 1.1)),
            ("N8", "patterns", "layout=raid6", |case| rate(case, 0.9)),
            ("N8", "patterns", "layout=raid10", |case| rate(case, 0.8)),
            ("N10", "patterns", "layout=raid6 bs=16384", |case| latency(case, 1.1)),
            ("N10", "patterns", "layout=ddp bs=16384", |case| latency(case, 1.1)),
            ("N10", "patterns", "layout=raid10 bs=16384", |case| latency(case, 0.9)),
            ("N11", "patterns", "rw=randread", |case| rate(case, 0.3)),
            ("N11", "patterns", "rw=randwrite", |case| rate(case, 0.7)),
            ("N12", "patterns", "layout=ddp rw=read bs=262144", |case| {
                case.carried = vec![carried("link", "link-0", 6e9), carried("link", "link-1", 4e9)];
            }),
        ],
    );
    refutes(
        picture,
        |case| ["segments", "file-system"].contains(&case.stage.as_str()),
        &[
            ("N3", "segments", "layout=raid6 segment=32768", |case| {
                if is_random(case) {
                    rate(case, 0.8);
                }
            }),
            ("N3", "segments", "layout=raid10 segment=131072", |case| {
                if is_random(case) {
                    rate(case, 1.2);
                }
            }),
            ("N4", "segments", "segment=524288", |case| {
                if is_random(case) {
                    rate(case, 2.0);
                }
            }),
            ("N4", "segments", "segment=32768 rw=write", |case| rate(case, 1.5)),
            ("N4", "segments", "rw=write", |case| {
                if number(case, "bs") == number(case, "segment") {
                    rate(case, 0.9);
                }
            }),
            ("N5", "segments", "segment=1048576 rw=write", |case| latency(case, 0.8)),
            ("N5", "segments", "segment=1048576 rw=write", |case| rate(case, 1.3)),
            ("N9", "file-system", "filesystem=ext4", |case| rate(case, 0.9)),
            ("N9", "file-system", "filesystem=ext4", |case| latency(case, 0.9)),
            ("N9", "file-system", "filesystem=ext4", |case| latency(case, 1.2)),
        ],
    );
}

/// Proves that every condition of S1 to S9 refutes its claim by itself.
#[test]
fn storpool() {
    refutes(
        storpool::picture(Pool::default()),
        |case| {
            ["latency", "iops", "mixed", "bandwidth", "limits", "neighbour", "template"]
                .contains(&case.stage.as_str())
        },
        &[
            ("S1", "latency", "volume=hdd host=node rw=randread", |case| latency(case, 1.4)),
            ("S1", "latency", "volume=hdd host=client rw=randread", |case| latency(case, 1.5)),
            ("S1", "latency", "volume=hdd host=client rw=randread", |case| latency(case, 0.8)),
            ("S2", "latency", "volume=nvme host=client rw=randread", |case| latency(case, 1.4)),
            ("S2", "latency", "volume=nvme host=client rw=randread", |case| latency(case, 0.7)),
            ("S3", "iops", "volume=hybrid host=node rw=randread", |case| rate(case, 0.7)),
            ("S3", "iops", "volume=hybrid host=client rw=randread", |case| rate(case, 1.3)),
            ("S3", "iops", "volume=hybrid host=client rw=randwrite", |case| rate(case, 3.0)),
            ("S4", "bandwidth", "volume=hybrid", |case| rate(case, 0.5)),
            ("S4", "bandwidth", "volume=hdd", |case| rate(case, 4.0)),
            ("S5", "limits", "volume=nvme", |case| rate_in(case, |second| (52..56).contains(&second), 1.1)),
            ("S5", "limits", "volume=nvme", |case| rate_in(case, |second| (48..72).contains(&second), 0.8)),
            ("S5", "limits", "volume=nvme", |case| rate_in(case, |second| (48..51).contains(&second), 9.0)),
            ("S6", "template", "", |case| rate_in(case, |second| second == 100, 0.0)),
            ("S6", "template", "", |case| case.intervals[100].read.errors = 1),
            ("S6", "template", "", |case| {
                for second in 60..case.intervals.len() {
                    let before = &case.intervals[second % 60];
                    (case.intervals[second].read, case.intervals[second].write) = (before.read, before.write);
                }
            }),
            ("S7", "iops", "volume=hdd host=node rw=randwrite", |case| rate(case, 0.1)),
            ("S8", "neighbour", "", |case| {
                case.loads[0].1[60..].iter_mut().for_each(|one| one.read.ios *= 0.8);
            }),
            ("S8", "neighbour", "", |case| {
                case.loads[1].1[60..70].iter_mut().for_each(|one| one.write.ios *= 1.5);
            }),
            ("S9", "limits", "volume=hdd", |case| rate_in(case, |second| (48..72).contains(&second), 0.9)),
        ],
    );
}

//! Claims on made-up runs: each holds where the published picture is there, and is refuted where its mechanism is
//! switched off.

mod synthetic;

use findings::{Fact, Findings, Kind, Verdict, claim, claims_of};
use synthetic::{Run, Series, limit, moment, settings};

fn verdict(findings: &Findings, id: &str) -> Verdict {
    let result = claim(id).expect(id).on(findings);
    println!("{id}: {} because {}", result.verdict.name(), result.because);
    assert!(!result.because.is_empty());
    assert!(result.verdict == Verdict::NotShown || !result.findings.is_empty(), "{id} cites nothing");
    for cited in &result.findings {
        assert!(findings.get(cited).is_some(), "{id} cites {cited}, which does not exist");
    }
    result.verdict
}

fn expect(findings: &Findings, wanted: Verdict, ids: &[&str]) {
    for id in ids {
        assert_eq!(verdict(findings, id), wanted, "{id}");
    }
}

/// Proves that the balance of paths is that of the device whose load divides least evenly, that devices which carried
/// next to nothing say nothing, that ports have a finding of their own, and that the first page says what is uneven.
#[test]
fn uneven_paths_are_found_and_said() {
    let mut run = Run::new("own");
    let series = Series::level(60.0, 1000.0, 0.0, 1e6, 4096.0);
    run.add("reads", "bs=4096", settings(&[("rw", "randread")]), &series);
    let mut observation = run.observation();
    let carried = |paths: &str, bytes: [f64; 2]| {
        [0, 1].map(|number| synthetic::carried(paths, &format!("{paths}-{number}"), bytes[number]))
    };
    observation.cases[0].carried = [
        carried("path of mpatha", [5e9, 5e9]),
        carried("path of mpathb", [8e9, 2e9]),
        carried("path of mpathc", [1e3, 0.0]),
        carried("port", [6e9, 4e9]),
    ]
    .concat();
    let findings = Findings::of(observation);
    let found: Vec<_> = findings
        .of_kind(Kind::PathBalance)
        .map(|finding| match &finding.fact {
            Fact::PathBalance(balance) => {
                (finding.id.as_str(), balance.paths.as_str(), balance.shares_percent.clone())
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        found,
        [
            ("path-balance/reads/bs=4096", "path of mpathb", vec![80.0, 20.0]),
            ("path-balance/reads/bs=4096/port", "port", vec![60.0, 40.0])
        ]
    );
    let said: Vec<String> = findings.conclusions().into_iter().map(|one| one.text).collect();
    let wanted = "The paths of mpathb do not share the load evenly: 80.0 : 20.0 % (random reads).";
    assert!(said.iter().any(|text| text == wanted), "{said:?}");
}

/// Proves that all 51 claims are there, each with words for its mechanism and tolerance, and that none is shown on an
/// empty run.
#[test]
fn all_claims_are_there_and_none_is_shown_by_nothing() {
    let mut count = 0;
    for (plan, letter, last) in [
        ("dorado-2100-g2", 'D', 15),
        ("flashsystem-840", 'F', 8),
        ("raid-levels", 'R', 7),
        ("e2700", 'N', 12),
        ("storpool", 'S', 9),
    ] {
        let ids: Vec<String> = claims_of(plan).iter().map(|claim| claim.id.to_owned()).collect();
        let wanted: Vec<String> = (1..=last).map(|number| format!("{letter}{number}")).collect();
        assert_eq!(ids, wanted);
        count += ids.len();
        for result in Findings::of(Run::new(plan).observation()).claims() {
            assert_eq!(result.verdict, Verdict::NotShown, "{}", result.id);
            assert!(!result.mechanism.is_empty() && !result.tolerance.is_empty(), "{}", result.id);
        }
    }
    assert_eq!(count, 51);
}

/// What of the FlashSystem is switched off.
#[derive(Clone, Copy, Default)]
struct Flash {
    free_bytes: bool,
    no_window: bool,
    no_links: bool,
    cheap_writes: bool,
    no_failover: bool,
}

fn flashsystem(off: Flash) -> Findings {
    let mut run = Run::new("flashsystem-840");
    let level = |iops: f64, reads: f64, bs: f64| Series::level(iops, reads, 1.2e6, 0.6e6, bs);
    run.add(
        "seq-read",
        "seq-read",
        settings(&[("rw", "read"), ("bs", "256k")]),
        &level(20_000.0, 1.0, 262_144.0),
    );
    run.add(
        "seq-write",
        "seq-write",
        settings(&[("rw", "write"), ("bs", "256k")]),
        &level(7_450.0, 0.0, 262_144.0),
    );
    run.add(
        "peak-4k",
        "peak-4k",
        settings(&[("rw", "randrw"), ("bs", "4k")]),
        &level(507_724.0, 0.8, 4096.0),
    );
    for (bs, iops, read, write) in [
        (4096, 507_724.0, 1.2e6, 0.6e6),
        (16_384, 174_311.0, 4.8e6, 2.9e6),
        (32_768, 90_000.0, 9.5e6, 6.9e6),
        (65_536, 45_839.0, 18.8e6, 16.2e6),
        (131_072, 22_500.0, 37.0e6, 33.0e6),
    ] {
        let iops = if off.free_bytes { 400_000.0 } else { iops };
        let write = if off.no_window { read * 1.01 } else { write };
        let text = bs.to_string();
        let series = Series::level(iops, 0.8, read, write, f64::from(bs));
        run.add("block-size", &format!("bs={bs}"), settings(&[("rw", "randrw"), ("bs", &text)]), &series);
    }
    for (share, iops) in
        [(0, 187_480.0), (30, 226_443.0), (50, 257_174.0), (70, 296_792.0), (90, 385_369.0), (100, 378_269.0)]
    {
        let iops = match share {
            100 if off.no_links => 450_000.0,
            0 if off.cheap_writes => 370_000.0,
            _ => iops,
        };
        let text = share.to_string();
        let series = level(iops, f64::from(share) / 100.0, 8192.0);
        run.add(
            "read-share",
            &format!("rwmixread={share}"),
            settings(&[("rw", "randrw"), ("bs", "8k"), ("rwmixread", &text)]),
            &series,
        );
    }
    let point = |index: usize| {
        let dips = !off.no_failover && (index == 200 || index == 280);
        let slower = if (360..1400).contains(&index) { 1.06 } else { 1.0 };
        let iops = if dips { 60_000.0 } else { 100_000.0 + (index % 3) as f64 * 100.0 };
        (0.8 * iops, 0.2 * iops, 1.2e6 * slower, 0.7e6 * slower)
    };
    let series = Series::of((0..2160).map(point), 5.0, 8192.0);
    let case = run.add(
        "firmware-update",
        "firmware-update",
        settings(&[("rw", "randrw"), ("rate_iops", "100000")]),
        &series,
    );
    case.moments = vec![
        moment(1000.0, "controller 0 leaves"),
        moment(1300.0, "controller 0 is back"),
        moment(1400.0, "controller 1 leaves"),
        moment(1700.0, "controller 1 is back"),
        moment(1800.0, "verification of the RAID stripes begins"),
        moment(7000.0, "verification of the RAID stripes is done"),
    ];
    Findings::of(run.observation())
}

/// Proves that F1 to F8 hold on the published figures, and that F3 to F7 are refuted without their mechanism.
#[test]
fn flashsystem_claims() {
    let published = flashsystem(Flash::default());
    expect(&published, Verdict::Holds, &["F1", "F2", "F3", "F4", "F5", "F6", "F7", "F8"]);
    let off = Flash::default();
    expect(&flashsystem(Flash { free_bytes: true, ..off }), Verdict::Refuted, &["F3"]);
    expect(&flashsystem(Flash { no_window: true, ..off }), Verdict::Refuted, &["F4"]);
    expect(&flashsystem(Flash { no_links: true, ..off }), Verdict::Refuted, &["F5"]);
    expect(&flashsystem(Flash { cheap_writes: true, ..off }), Verdict::Refuted, &["F6"]);
    expect(&flashsystem(Flash { no_failover: true, ..off }), Verdict::Refuted, &["F7"]);
}

/// What of the Dorado is switched off.
#[derive(Clone, Copy, Default)]
struct Dorado {
    no_collection: bool,
    no_units: bool,
    reads_go_on: bool,
    no_parity: bool,
    wide_links: bool,
}

const SIZES: [(u32, &str, f64, f64); 6] = [
    (4096, "4k", 110_000.0, 45_000.0),
    (8192, "8k", 110_000.0, 43_000.0),
    (16_384, "16k", 61_000.0, 21_400.0),
    (32_768, "32k", 30_500.0, 10_700.0),
    (65_536, "64k", 15_200.0, 5_300.0),
    (1_048_576, "1m", 2_030.0, 763.0),
];

fn dorado(off: Dorado) -> Findings {
    let mut run = Run::new("dorado-2100-g2");
    for (pass, iops) in [("1", 30_000.0), ("2", 40_000.0)] {
        let series = Series::level(iops, 0.0, 0.0, 5e6, 16_384.0);
        run.add(
            "fill",
            &format!("pass={pass}"),
            settings(&[("rw", "write"), ("bs", "16k"), ("pass", pass)]),
            &series,
        );
    }
    for (scenario, reads, raid) in
        [("1", 0.0, "5"), ("2", 0.0, "5"), ("3", 0.0, "5"), ("4", 0.5, "5"), ("5", 0.3, "5"), ("6", 0.0, "0")]
    {
        for (bytes, bs, before, after) in SIZES {
            let after = if off.no_units { 180e6 / f64::from(bytes) } else { after };
            let faster = if raid == "0" && !off.no_parity { 2.8 } else { 1.0 };
            let (before, after) = (before * faster / (1.0 - reads), after * faster / (1.0 - reads));
            let after = if off.no_collection { before } else { after };
            let mut series = Series::cliff(before, after, reads, 28, 240, f64::from(bytes));
            if off.reads_go_on && reads > 0.0 {
                for interval in &mut series.intervals {
                    interval.read.ios = before * reads * 5.0;
                }
            }
            let name = format!("scenario={scenario},bs={bytes}");
            let all = settings(&[("rw", "randwrite"), ("bs", bs), ("scenario", scenario), ("raid", raid)]);
            run.add("group-1", &name, all, &series);
        }
    }
    for (stage, raid) in [("group-2", "5"), ("group-3", "0")] {
        for (share, limit_bytes) in [(0u32, 2.13e9), (70, 4.1e9), (100, 3.16e9)] {
            for (bytes, bs, writes, _) in SIZES {
                for (engine, depth) in [("libaio", "32"), ("sync", "1")] {
                    for jobs in [1u32, 2, 4, 8, 16, 32, 64, 128, 256] {
                        let most = match share {
                            0 => writes,
                            70 => 132_000.0,
                            _ => 140_000.0,
                        };
                        let limit = if off.wide_links { 9e9 } else { limit_bytes };
                        let most = most.min(limit / f64::from(bytes));
                        let outstanding = f64::from(jobs) * depth.parse::<f64>().expect("a number");
                        let full = match (engine, bytes >= 32_768) {
                            ("sync", _) => 128.0,
                            (_, true) => 96.0,
                            _ => 256.0,
                        };
                        let iops = most * (outstanding / full).min(1.0);
                        let latency = outstanding * 1e9 / iops;
                        let reads = f64::from(share) / 100.0;
                        let name = format!(
                            "rwmixread={share},ioengine={engine},iodepth={depth},bs={bytes},numjobs={jobs}"
                        );
                        let (jobs, share) = (jobs.to_string(), share.to_string());
                        let all = settings(&[
                            ("rw", "randrw"),
                            ("bs", bs),
                            ("numjobs", &jobs),
                            ("iodepth", depth),
                            ("rwmixread", &share),
                            ("ioengine", engine),
                            ("raid", raid),
                        ]);
                        run.add(
                            stage,
                            &name,
                            all,
                            &Series::level(iops, reads, latency, latency, f64::from(bytes)),
                        );
                    }
                }
            }
        }
    }
    Findings::of(run.observation())
}

/// Proves that the Dorado's claims hold on figures like the published ones (D11 is refuted by them, as the reference
/// says), and that D2, D3, D7, D9 and D12 are refuted without their mechanism.
#[test]
fn dorado_claims() {
    let published = dorado(Dorado::default());
    expect(
        &published,
        Verdict::Holds,
        &["D1", "D2", "D3", "D4", "D5", "D6", "D7", "D8", "D9", "D10", "D12", "D13", "D14", "D15"],
    );
    expect(&published, Verdict::Refuted, &["D11"]);
    let off = Dorado::default();
    expect(&dorado(Dorado { no_collection: true, ..off }), Verdict::Refuted, &["D2"]);
    expect(&dorado(Dorado { no_units: true, ..off }), Verdict::Refuted, &["D3"]);
    expect(&dorado(Dorado { reads_go_on: true, ..off }), Verdict::Refuted, &["D7"]);
    expect(&dorado(Dorado { no_parity: true, ..off }), Verdict::Refuted, &["D9"]);
    expect(&dorado(Dorado { wide_links: true, ..off }), Verdict::Refuted, &["D12"]);
}

fn raid_levels(proportional: bool, no_penalty: bool) -> Findings {
    let mut run = Run::new("raid-levels");
    for (raid, least, share) in [(0u32, 2u32, 1.0), (10, 4, 0.55), (5, 3, 0.26), (6, 4, 0.20)] {
        for disks in least..=12 {
            let n = f64::from(disks);
            let reads = if proportional { 257.0 * n } else { 514.0 * libm::pow(n / 2.0, 0.53) };
            let narrowing = if raid == 6 { 0.9 + 0.1 * n / 12.0 } else { 1.0 };
            let writes = if no_penalty { reads } else { reads * share * narrowing };
            for (mix, iops) in [(100u32, reads), (0, writes), (70, 1.0 / (0.7 / reads + 0.3 / writes))] {
                for (bs, cache, gain) in [("512", "off", 1.0), ("4096", "off", 0.98), ("512", "on", 1.1)] {
                    let (raid, disks, mix_text) = (raid.to_string(), disks.to_string(), mix.to_string());
                    let name =
                        format!("raid={raid},disks={disks},rwmixread={mix},bs={bs},write_cache={cache}");
                    let all = settings(&[
                        ("rw", "randrw"),
                        ("bs", bs),
                        ("raid", &raid),
                        ("disks", &disks),
                        ("rwmixread", &mix_text),
                        ("write_cache", cache),
                    ]);
                    run.add(
                        "sets",
                        &name,
                        all,
                        &Series::level(iops * gain, f64::from(mix) / 100.0, 8e6, 2e7, 512.0),
                    );
                }
            }
        }
    }
    Findings::of(run.observation())
}

/// Proves that R1 and R3 to R7 hold on figures like the published ones, that these refute R2, as the reference says, and
/// that R1 and R3 are refuted without their mechanism.
#[test]
fn raid_claims() {
    let published = raid_levels(false, false);
    expect(&published, Verdict::Holds, &["R1", "R3", "R4", "R5", "R6", "R7"]);
    expect(&published, Verdict::Refuted, &["R2"]);
    expect(&raid_levels(true, false), Verdict::Refuted, &["R1"]);
    expect(&raid_levels(false, true), Verdict::Refuted, &["R3"]);
}

fn e2700(cached: bool, no_segments: bool, cheap_mirror: bool) -> Findings {
    let mut run = Run::new("e2700");
    for (layout, factor) in [("ddp", 0.9), ("raid6", 1.0), ("raid10", 1.1)] {
        for (rw, bytes_per_s, latency) in [("read", 1.1e9, 3e6), ("write", 1.45e9, 2e6), ("rw", 1.2e9, 3e6)] {
            for bs in [262_144u32, 524_288, 1_048_576] {
                let text = bs.to_string();
                let mirror = if layout == "raid10" && !cheap_mirror { 0.7 } else { 1.0 };
                let reads = match rw {
                    "read" => 1.0,
                    "write" => 0.0,
                    _ => 0.5,
                };
                let series = Series::level(
                    bytes_per_s * mirror / f64::from(bs),
                    reads,
                    latency,
                    latency,
                    f64::from(bs),
                );
                run.add(
                    "patterns",
                    &format!("layout={layout},rw={rw},bs={bs}"),
                    settings(&[("rw", rw), ("bs", &text), ("layout", layout)]),
                    &series,
                );
            }
        }
        for (rw, iops) in [("randread", 1500.0), ("randwrite", 900.0), ("randrw", 700.0)] {
            for bs in [4096u32, 8192, 16_384] {
                let text = bs.to_string();
                let growth = f64::from(bs) / 4096.0;
                let change = if layout == "raid10" { 1.0 + 0.01 * growth } else { 1.0 - 0.01 * growth };
                let latency = if cached && rw == "randread" { 3e5 } else { 8e6 * change / factor };
                let reads = match rw {
                    "randread" => 1.0,
                    "randwrite" => 0.0,
                    _ => 0.5,
                };
                let series = Series::level(iops * factor, reads, latency, latency, f64::from(bs));
                run.add(
                    "patterns",
                    &format!("layout={layout},rw={rw},bs={bs}"),
                    settings(&[("rw", rw), ("bs", &text), ("layout", layout)]),
                    &series,
                );
            }
        }
    }
    for layout in ["raid6", "raid10"] {
        for kib in [32u32, 64, 128, 256, 512, 1024] {
            let doubling = libm::log2(f64::from(kib) / 32.0);
            for (rw, bs) in [
                ("write", 262_144u32),
                ("write", 524_288),
                ("write", 1_048_576),
                ("randread", 4096),
                ("randwrite", 8192),
                ("randrw", 16_384),
            ] {
                let (segment, text) = (format!("{kib}k"), bs.to_string());
                let is_random = bs < 100_000;
                let equal = if bs == kib * 1024 { 1.05 } else { 1.0 };
                let factor = match (no_segments, is_random) {
                    (true, _) => 1.0,
                    (_, true) => 1.4 - 0.12 * doubling,
                    (_, false) => (1.0 + 0.02 * doubling) * equal,
                };
                let slower = if kib == 1024 { 1.1 } else { 1.0 };
                let iops = if is_random { 900.0 } else { 1.2e9 / f64::from(bs) } * factor;
                let reads = match rw {
                    "randread" => 1.0,
                    "randrw" => 0.5,
                    _ => 0.0,
                };
                let series = Series::level(iops, reads, 9e6 * slower, 9e6 * slower, f64::from(bs));
                let all = settings(&[("rw", rw), ("bs", &text), ("layout", layout), ("segment", &segment)]);
                run.add("segments", &format!("layout={layout},segment={kib}k,rw={rw},bs={bs}"), all, &series);
            }
        }
    }
    for (kind, latency) in [("raw", 10e6), ("ext4", 11.8e6)] {
        let series = Series::level(1200.0, 0.0, 0.0, latency, 1_048_576.0);
        run.add(
            "file-system",
            &format!("filesystem={kind}"),
            settings(&[("rw", "write"), ("bs", "1m"), ("filesystem", kind)]),
            &series,
        );
    }
    let mut observation = run.observation();
    for case in &mut observation.cases {
        case.carried =
            vec![synthetic::carried("link", "link-0", 5.02e9), synthetic::carried("link", "link-1", 4.98e9)];
    }
    Findings::of(observation)
}

/// Proves that N1 to N12 hold on a picture like the published one, and that N2, N3 and N7 are refuted without their
/// mechanism.
#[test]
fn e2700_claims() {
    let published = e2700(false, false, false);
    // RAID 10 is better in random load here, and DDP worse, as published.
    expect(
        &published,
        Verdict::Holds,
        &["N1", "N2", "N3", "N4", "N5", "N6", "N7", "N8", "N9", "N10", "N11", "N12"],
    );
    expect(&e2700(true, false, false), Verdict::Refuted, &["N2"]);
    expect(&e2700(false, true, false), Verdict::Refuted, &["N3"]);
    expect(&e2700(false, false, true), Verdict::Refuted, &["N7"]);
}

#[derive(Clone, Copy, Default)]
struct Pool {
    cached_disks: bool,
    fast_replicas: bool,
    no_limits: bool,
    neighbour_unlimited: bool,
}

fn storpool(off: Pool) -> Findings {
    let mut run = Run::new("storpool");
    for (host, hop) in [("node", 0.0), ("client", 30e3)] {
        for (volume, read_ns, write_ns, reads, writes, bulk) in [
            ("nvme", 140e3, 140e3, 100e3, 100e3, 1.0e9),
            ("hybrid", 138e3, 300e3, 101e3, 40e3, 0.8e9),
            ("hdd", 7.1e6, 300e3, 1500.0, 6000.0, 0.3e9),
        ] {
            let read_ns = if off.cached_disks && volume == "hdd" { 200e3 } else { read_ns };
            let writes = if off.fast_replicas { 100e3 } else { writes };
            let with =
                |rw: &str, bs: &str| settings(&[("rw", rw), ("bs", bs), ("volume", volume), ("host", host)]);
            let name = |rw: &str| format!("volume={volume},host={host},rw={rw}");
            let (read, write) = (read_ns + hop, write_ns + hop);
            run.add(
                "latency",
                &name("randread"),
                with("randread", "4k"),
                &Series::level(1e9 / read, 1.0, read, write, 4096.0),
            );
            run.add(
                "latency",
                &name("randwrite"),
                with("randwrite", "4k"),
                &Series::level(1e9 / write, 0.0, read, write, 4096.0),
            );
            run.add(
                "iops",
                &name("randread"),
                with("randread", "4k"),
                &Series::level(reads, 1.0, 1e6, 1e6, 4096.0),
            );
            run.add(
                "iops",
                &name("randwrite"),
                with("randwrite", "4k"),
                &Series::level(writes, 0.0, 1e6, 1e6, 4096.0),
            );
            run.add(
                "mixed",
                &name("randrw"),
                with("randrw", "4k"),
                &Series::level(bulk / 2e4, 0.5, 1e6, 1e6, 4096.0),
            );
            for rw in ["read", "write"] {
                let share = if rw == "read" { 1.0 } else { 0.0 };
                run.add(
                    "bandwidth",
                    &name(rw),
                    with(rw, "1m"),
                    &Series::level(bulk / 1_048_576.0, share, 1e6, 1e6, 1_048_576.0),
                );
            }
        }
    }
    for (volume, free) in [("nvme", 100e3), ("hybrid", 101e3), ("hdd", 1500.0)] {
        let point = |second: usize| {
            let allowed: f64 =
                if (48..72).contains(&second) && !off.no_limits { 1000.0 } else { f64::INFINITY };
            (allowed.min(free), 0.0, 1e6, 0.0)
        };
        let all = settings(&[("rw", "randread"), ("bs", "4k"), ("volume", volume)]);
        let case = run.add(
            "limits",
            &format!("volume={volume}"),
            all,
            &Series::of((0..120).map(point), 1.0, 4096.0),
        );
        case.limits = vec![limit(48.0, Some(1000.0), None), limit(72.0, None, None)];
    }
    let victim = |second: usize| {
        let held = second >= 60 && !off.neighbour_unlimited;
        let rate = if second < 30 || held { 50e3 } else { 20e3 };
        (rate, 0.0, 3e5, 0.0)
    };
    let noisy = |second: usize| {
        let rate = match second {
            0..30 => 0.0,
            60..90 if !off.neighbour_unlimited => 500.0,
            _ => 8000.0,
        };
        (0.0, rate, 0.0, 1e7)
    };
    let (victim, noisy) =
        (Series::of((0..120).map(victim), 1.0, 4096.0), Series::of((0..120).map(noisy), 1.0, 65_536.0));
    let mut both = victim.clone();
    for (all, other) in both.intervals.iter_mut().zip(&noisy.intervals) {
        all.write = other.write;
    }
    let case = run.add(
        "neighbour",
        "neighbour",
        settings(&[("rw", "randread"), ("bs", "4k"), ("volume", "nvme")]),
        &both,
    );
    case.loads = vec![("victim".into(), victim.intervals), ("noisy".into(), noisy.intervals)];
    case.limits = vec![limit(60.0, Some(500.0), None), limit(90.0, None, None)];
    for change in &mut case.limits {
        change.load = Some("noisy".into());
    }
    let moved = |second: usize| {
        let rate = if second < 60 { 1500.0 } else { 1500.0 + 60.0 * second as f64 };
        (0.7 * rate, 0.3 * rate, 5e6, 5e6)
    };
    let case = run.add(
        "template",
        "template",
        settings(&[("rw", "randrw"), ("bs", "4k"), ("volume", "hdd")]),
        &Series::of((0..600).map(moved), 1.0, 4096.0),
    );
    case.moments = vec![moment(60.0, "template nvme")];
    Findings::of(run.observation())
}

/// Proves that S1 to S9 hold on a picture like the published one, and that S1, S3, S5 and S8 are refuted without their
/// mechanism.
#[test]
fn storpool_claims() {
    let published = storpool(Pool::default());
    expect(&published, Verdict::Holds, &["S1", "S2", "S3", "S4", "S5", "S6", "S7", "S8", "S9"]);
    let off = Pool::default();
    expect(&storpool(Pool { cached_disks: true, ..off }), Verdict::Refuted, &["S1"]);
    expect(&storpool(Pool { fast_replicas: true, ..off }), Verdict::Refuted, &["S3"]);
    expect(&storpool(Pool { no_limits: true, ..off }), Verdict::Refuted, &["S5", "S9"]);
    expect(&storpool(Pool { neighbour_unlimited: true, ..off }), Verdict::Refuted, &["S8"]);
}

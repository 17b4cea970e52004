//! A report with every kind of part, of invented figures.

use report::*;

pub fn axis(label: &str, unit: &str, scale: Scale, format: TickFormat) -> Axis {
    Axis { label: label.into(), unit: unit.into(), scale, format }
}

pub fn series(
    label: &str,
    style: usize,
    role: Role,
    points: impl IntoIterator<Item = (f64, Option<f64>)>,
) -> Series {
    Series {
        label: label.into(),
        style,
        role,
        points: points.into_iter().map(|(x, y)| Point::new(x, y)).collect(),
    }
}

pub fn block_sizes() -> Chart {
    let sizes = [4096.0, 8192.0, 16384.0, 32768.0, 65536.0, 131_072.0];
    let iops = [496_000.0, 271_000.0, 172_000.0, 90_500.0, 46_700.0, 23_400.0];
    Chart {
        id: "block-size-iops".into(),
        title: "IOPS by block size".into(),
        caption: "Random, 80 % reads, 64 jobs of depth 8.".into(),
        x: axis("Block size", "", Scale::Log2, TickFormat::Bytes),
        y: axis("IOPS", "", Scale::LinearFromZero, TickFormat::Number),
        series: vec![
            series("", 0, Role::Run, sizes.iter().zip(iops).map(|(x, y)| (*x, Some(y)))),
            series(
                "",
                0,
                Role::Published,
                [(4096.0, Some(507_724.0)), (16384.0, Some(174_311.0)), (65536.0, Some(45_839.0))],
            ),
        ],
        marks: vec![],
        levels: vec![Level { y: 516_667.0, label: "declared, 8 of 12 modules".into() }],
        ranges: Ranges::default(),
    }
}

pub fn latencies() -> Chart {
    let sizes = [4096.0, 8192.0, 16384.0, 32768.0, 65536.0, 131_072.0];
    let line = |label, style, values: [f64; 6]| {
        let points = sizes.iter().zip(values).map(|(x, y)| (*x, (y > 0.0).then_some(y)));
        series(label, style, Role::Run, points)
    };
    Chart {
        id: "block-size-latency".into(),
        title: "Latency by block size".into(),
        caption: String::new(),
        x: axis("Block size", "", Scale::Log2, TickFormat::Bytes),
        y: axis("Completion latency", "ms", Scale::Log10, TickFormat::Number),
        series: vec![
            line("read mean", 0, [1.2, 2.3, 4.7, 9.6, 19.0, 38.1]),
            line("write mean", 1, [0.6, 1.2, 2.9, 0.0, 16.0, 37.0]),
            line("read p99", 2, [3.1, 4.4, 8.0, 15.0, 30.0, 61.0]),
            line("write p99", 3, [1.6, 3.4, 7.0, 13.0, 29.5, 61.5]),
        ],
        marks: vec![],
        levels: vec![],
        ranges: Ranges::default(),
    }
}

pub fn over_time() -> Chart {
    let line = |label: &str, style, level: f64, onset: f64| Series {
        label: label.into(),
        style,
        role: Role::Run,
        points: (0..480)
            .map(|i| {
                let t = f64::from(i) * 5.0;
                let wave = 1.0 + 0.03 * f64::from((i * 7919) % 13 - 6) / 6.0;
                let y = if t < onset { level } else { level * 0.42 } * wave;
                let gap = style == 1 && (200..230).contains(&i);
                Point { x: t, y: (!gap).then_some(y), range: (!gap).then_some((y * 0.93, y * 1.05)) }
            })
            .collect(),
    };
    Chart {
        id: "group-1-time".into(),
        title: "IOPS against time".into(),
        caption: "Each point is the mean of one interval of 5 s; the band spans smallest to largest.".into(),
        x: axis("Time since the load began", "s", Scale::Linear, TickFormat::Seconds),
        y: axis("IOPS", "", Scale::LinearFromZero, TickFormat::Number),
        series: vec![
            line("4k", 0, 110_000.0, 150.0),
            line("8k", 1, 107_000.0, 160.0),
            line("64k", 2, 41_000.0, 170.0),
            line("1m", 3, 2_800.0, 175.0),
        ],
        marks: vec![
            Mark { x: 160.0, until: None, label: "write cliff".into() },
            Mark { x: 1200.0, until: Some(1320.0), label: "controller 2 is updated".into() },
        ],
        levels: vec![],
        ranges: Ranges::default(),
    }
}

pub fn bars() -> Chart {
    let names = ["RAID 0", "RAID 10", "RAID 5", "RAID 6"].map(String::from).to_vec();
    Chart {
        id: "raid-bars".into(),
        title: "IOPS by RAID level".into(),
        caption: "Twelve disks, 512 B; no result for RAID 6 mixed.".into(),
        x: axis("RAID level", "", Scale::Categories(names), TickFormat::Number),
        y: axis("IOPS", "", Scale::LinearFromZero, TickFormat::Number),
        series: vec![
            series(
                "100 % reads",
                0,
                Role::Run,
                [1320.0, 1310.0, 1305.0, 1300.0].iter().enumerate().map(|(i, y)| (i as f64, Some(*y))),
            ),
            series(
                "70 % reads",
                1,
                Role::Run,
                [(0.0, Some(1210.0)), (1.0, Some(905.0)), (2.0, Some(620.0)), (3.0, None)],
            ),
            series(
                "writes",
                2,
                Role::Run,
                [1190.0, 640.0, 330.0, 260.0].iter().enumerate().map(|(i, y)| (i as f64, Some(*y))),
            ),
            series("100 % reads", 0, Role::Published, [(0.0, Some(1337.0)), (1.0, Some(1290.0))]),
        ],
        marks: vec![],
        levels: vec![],
        ranges: Ranges::default(),
    }
}

pub fn sample() -> Report {
    Report {
        title: "FlashSystem 840".into(),
        subtitle: "The plan flashsystem-840 on the twin flashsystem-840, 20 November 2026".into(),
        origin: Origin::Simulated { twin: "flashsystem-840".into() },
        answers: None,
        decision: Decision {
            risk: vec!["Kept with the least to spare: latency.".into()],
            not_tested: vec!["Writes for ten minutes or more.".into()],
            ask: vec!["Which rate lasts?".into()],
        },
        verdict: Verdict {
            meaning: "Not everything that the plan requires was kept: as it is, do not accept it.",
            passed: Some(false),
            because: vec!["1 limit kept, 1 not kept, 0 not shown.".into()],
        },
        model: vec!["The model has no garbage collection.".into()],
        facts: vec![
            Fact::new("Plan", "flashsystem-840"),
            Fact::new("Target", "twin:flashsystem-840"),
            Fact::new("Started", "2026-11-20 13:37:10 UTC"),
            Fact::new("Version", "arraylab 0.1.0"),
            Fact::new("Seed", "1"),
            Fact::new("Cases", "21 done, 1 failed, 2 not settable"),
        ],
        in_short: vec![Answer {
            question: "What it sustains".into(),
            answer: Conclusion {
                text: "Up to 496,000 IOPS (peak-4k), over the measured time.".into(),
                verdict: None,
                evidence: vec![Evidence { id: "peak-4k".into(), label: "peak-4k".into() }],
            },
        }],
        headlines: vec![
            Headline {
                label: "Highest IOPS".into(),
                value: "496,000".into(),
                detail: "peak-4k, 64 jobs × depth 8, 1.2 ms read".into(),
                section_id: "peak-4k".into(),
            },
            Headline {
                label: "Highest bandwidth".into(),
                value: "5.21 GB/s".into(),
                detail: "seq-read, 256k".into(),
                section_id: "peak-4k".into(),
            },
            Headline {
                label: "Lowest mean latency".into(),
                value: "140 µs".into(),
                detail: "peak-4k, 1 outstanding".into(),
                section_id: "peak-4k".into(),
            },
        ],
        conclusions: vec![
            Conclusion {
                text:
                    "4 KB 80/20 random reaches 496,000 IOPS with 8 of 12 modules; published 507,724 (−2.3 %)."
                        .into(),
                verdict: Some("holds".into()),
                evidence: vec![Evidence { id: "block-size-iops".into(), label: "chart".into() }],
            },
            Conclusion {
                text: "The maximum is at 100 % reads, not at 90 %.".into(),
                verdict: Some("refuted".into()),
                evidence: vec![],
            },
            Conclusion {
                text: "Firmware update was not run.".into(),
                verdict: Some("not-shown".into()),
                evidence: vec![],
            },
        ],
        warnings: vec!["Each case ran for 2 s where the plan says 60 s.".into()],
        requirements: vec![Table {
            id: "required".into(),
            caption: "1 limits kept, 1 not kept, 0 not shown".into(),
            columns: vec![Column::words("Verdict"), Column::words("Required"), Column::numbers("Measured")],
            rows: vec![
                vec!["✗ FAIL".into(), "half a million IOPS".into(), "496,000".into()],
                vec!["✓ PASS".into(), "no read fails".into(), "0".into()],
            ],
        }],
        pictures: vec![Picture {
            caption: "The bench & its cables".into(),
            file: "bench.png".into(),
            media_type: "image/png",
            bytes: b"\x89PNG\r\n\x1a\n".to_vec(),
        }],
        bench: Some(Drawing {
            title: "The bench".into(),
            layers: vec![
                Layer {
                    kind: LayerKind::Box,
                    label: "IBM POWER S822".into(),
                    detail: "AIX, stripe over 16 LUs".into(),
                    count: 2,
                },
                Layer { kind: LayerKind::Link, label: "8 Gb FC".into(), detail: String::new(), count: 8 },
                Layer { kind: LayerKind::Box, label: "Controller".into(), detail: String::new(), count: 2 },
                Layer {
                    kind: LayerKind::Link,
                    label: "internal link".into(),
                    detail: String::new(),
                    count: 8,
                },
                Layer {
                    kind: LayerKind::Drive,
                    label: "2 TB eMLC flash module".into(),
                    detail: "7 in RAID 5, 1 spare".into(),
                    count: 8,
                },
            ],
        }),
        tested: vec![Table {
            id: "stages".into(),
            caption: "Stages".into(),
            columns: vec![Column::words("Stage"), Column::words("Settings"), Column::numbers("Cases")],
            rows: vec![
                vec!["block-size".into(), "rw=randrw rwmixread=80 bs=4k…128k".into(), "6".into()],
                vec!["read-share".into(), "bs=8k rwmixread=0…100".into(), "11".into()],
            ],
        }],
        comparisons: vec![Table {
            id: "published".into(),
            caption: "Published figures beside this run".into(),
            columns: vec![
                Column::words("Case"),
                Column::words("Quantity"),
                Column::numbers("Published"),
                Column::numbers("This run"),
                Column::numbers("Difference"),
            ],
            rows: vec![vec![
                "bs=4096".into(),
                "IOPS".into(),
                "507,724".into(),
                "496,000".into(),
                "−2.3 %".into(),
            ]],
        }],
        sections: vec![Section {
            id: "peak-4k".into(),
            title: "block-size".into(),
            intro: vec!["Random 80 % reads with blocks of 4 to 128 KB.".into()],
            charts: vec![block_sizes(), latencies(), over_time(), bars()],
            large_charts: usize::MAX,
            contours: Vec::new(),
            heat_maps: Vec::new(),
            tables: vec![],
            notes: vec!["Time series were thinned.".into()],
        }],
        not_run: vec![Table {
            id: "not-run-table".into(),
            caption: "Cases without a result".into(),
            columns: vec![Column::words("Case"), Column::words("Status"), Column::words("Why")],
            rows: vec![vec!["firmware-update".into(), "not selected".into(), "left out by --stage".into()]],
        }],
        method: vec!["Latency is completion latency (fio’s clat).".into()],
        inventory: vec![Output {
            title: "lscpu (before the first case)".into(),
            text: "Model name: <fast> & many\n".into(),
        }],
        findings: vec![],
        claims: vec![],
    }
}

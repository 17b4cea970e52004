//! Report of a campaign of 1,010 cases: size, and accessibility by axe-core in headless Chromium.

#[path = "common/sized.rs"]
mod sized;

use load::{Direction, Random, Sample};
use std::path::{Path, PathBuf};
use std::process::Command;
use store::{
    CaseOutcome, CaseStatus, LoadOutcome, Manifest, ManifestTarget, NewCase, Run, RunEnd, RunReader,
    SourceText,
};

const INTERVALS: u64 = 10;
const INTERVAL_NS: u64 = 5_000_000_000;
/// Directory that `scripts/install-test-clients.sh` installs axe-core into.
const AXE: &str = "axe-core-4.14.1";

/// The whole plan of the Dorado with figures drawn at random: writes take longer with larger blocks, and fall half-way in long
/// loads.
fn campaign(directory: &Path) -> RunReader {
    let loaded = plan::load_plan("dorado-2100-g2").expect("it ships");
    let array = plan::load_array("dorado-2100-g2").expect("it ships");
    let cases = plan::expand(&loaded.plan, &plan::Selection::default()).expect("cases");
    let new_cases: Vec<NewCase> = cases
        .iter()
        .map(|case| NewCase {
            plan: case.plan.clone(),
            stage: case.stage.clone(),
            name: case.name.clone(),
            settings: case.settings.clone(),
            estimated_duration_ns: 1,
            estimated_write_bytes: 0,
        })
        .collect();
    let manifest = Manifest {
        arraylab_version: "0.1.0".into(),
        run_id: "20261120T134000Z-01020304".into(),
        created_utc: "2026-11-20T13:40:00Z".into(),
        seed: 1,
        plan: SourceText { name: loaded.name, source: loaded.source, text: loaded.text },
        array: Some(SourceText { name: array.name, source: array.source, text: array.text }),
        targets: vec![ManifestTarget {
            spec: "twin:dorado-2100-g2".into(),
            identity: serde_json::Value::Null,
        }],
        engine: "sim".into(),
        interval_ns: INTERVAL_NS,
        ..Manifest::default()
    };
    let mut run = Run::create(directory, &manifest, &new_cases).expect("a run");
    let mut random = Random::from_seed(1);
    for (index, case) in new_cases.iter().enumerate() {
        let index = index as u32;
        let number = |name: &str| case.settings.get(name).and_then(serde_json::Value::as_u64).unwrap_or(1);
        let (bs, reads) = (number("bs").max(512), number("rwmixread").min(100));
        let is_long = case.stage == "group-1";
        let samples: Vec<Sample> = (0..INTERVALS)
            .map(|interval| {
                let mut sample = Sample {
                    start_ns: interval * INTERVAL_NS,
                    end_ns: (interval + 1) * INTERVAL_NS,
                    ..Sample::default()
                };
                let ios = if is_long && interval >= INTERVALS / 2 { 60 } else { 150 };
                for (direction, share) in [(Direction::Read, reads), (Direction::Write, 100 - reads)] {
                    let part = sample.direction_mut(direction);
                    for _ in 0..ios * share / 100 {
                        part.ios += 1;
                        part.bytes += bs;
                        part.latency.record((random.exponential(2e5) + 50.0 * bs as f64) as u64);
                    }
                }
                sample
            })
            .collect();
        run.begin_case(index).expect("begun");
        run.append_samples(index, "main", &samples).expect("samples");
        let outcome = CaseOutcome {
            status: CaseStatus::Done,
            engine: "sim".into(),
            target: "twin:dorado-2100-g2".into(),
            duration_ns: INTERVALS * INTERVAL_NS,
            loads: vec![LoadOutcome::of_samples("main", &samples)],
            error: None,
            warnings: Vec::new(),
            extrapolation: None,
        };
        run.finish_case(index, &outcome).expect("finished");
    }
    run.end(&RunEnd::Done).expect("ended");
    RunReader::open(directory).expect("a run")
}

fn axe() -> String {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let directory = cache.or(home).expect("a home").join("arraylab").join(AXE);
    let path = directory.join("node_modules/axe-core/axe.min.js");
    std::fs::read_to_string(&path).unwrap_or_else(|error| {
        panic!("{}: {error}: scripts/install-test-clients.sh installs it", path.display())
    })
}

/// A copy of the page with scripts of the test's own, which its policy would not let run; what they find becomes an attribute of
/// its body. `width` is that of the window.
fn ask(directory: &Path, html: &str, script: &str, width: u32) -> serde_json::Value {
    let policy = html.find("<meta http-equiv").expect("a policy")
        ..html.find("<meta name=\"viewport\"").expect("a viewport");
    let page = directory.join("asked.html");
    let copy = format!("{}{}", &html[..policy.start], &html[policy.end..]);
    std::fs::write(&page, copy.replace("</body>", &format!("<script>{script}</script></body>")))
        .expect("written");
    let output = Command::new("timeout")
        .arg("170")
        .arg("chromium")
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
        ])
        .args(["--disable-component-update", "--disable-sync", "--virtual-time-budget=100000", "--dump-dom"])
        .arg(format!("--window-size={width},1200"))
        .arg(format!("--user-data-dir={}", directory.join("profile").display()))
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("Chromium starts");
    let dom = String::from_utf8_lossy(&output.stdout);
    let from = dom.rfind("data-asked=\"").expect("the script ran") + "data-asked=\"".len();
    let answer = &dom[from..from + dom[from..].find('"').expect("an end")];
    let answer =
        answer.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    serde_json::from_str(&answer).expect("JSON")
}

/// Asserts that axe-core finds nothing serious or critical in a page at desk and phone width.
fn nothing_serious(directory: &Path, html: &str) {
    // A `</script>` within axe-core would end it here.
    let axe = axe().replace("</script", "<\\/script");
    let check = "axe.run(document, {resultTypes: ['violations']}).then((found) => document.body.setAttribute('data-asked', \
                 JSON.stringify(found.violations.map((one) => ({id: one.id, impact: one.impact, nodes: one.nodes.length, \
                 first: one.nodes[0].html.slice(0, 200), why: one.nodes[0].failureSummary})))));";
    for width in [1280, 400] {
        let found = ask(directory, html, &format!("{axe}\n{check}"), width);
        let serious: Vec<&serde_json::Value> = found
            .as_array()
            .expect("a list")
            .iter()
            .filter(|one| matches!(one["impact"].as_str(), Some("serious" | "critical")))
            .collect();
        assert!(serious.is_empty(), "at {width} px: {serious:#?}");
        println!("at {width} px: {found}");
    }
}

/// Proves that axe-core finds nothing serious or critical in the reports of sizing runs, of arrays and of a space, and that their
/// charts give the peak, the limit and each point in words. `ARRAYLAB_SCREENSHOTS=DIR` keeps the pages.
#[test]
fn answers_of_sizing_runs_are_accessible() {
    let directory = tempfile::tempdir_in("/dev/shm").expect("a directory");
    for (name, question) in [("arrays", sized::Question::Arrays), ("space", sized::Question::Space)] {
        let is_space = question == sized::Question::Space;
        let run = sized::run(&directory.path().join(name), question);
        let html = report::from_run(&run).expect("a report").html();
        if let Some(kept) = std::env::var_os("ARRAYLAB_SCREENSHOTS") {
            std::fs::write(Path::new(&kept).join(format!("size-{name}.html")), &html).expect("kept");
        }
        nothing_serious(directory.path(), &html);
        for words in [
            "Line at 1: limit: 1 ms.",
            "Mark at 1,000: your peak: 1,000 IOPS.",
            "p99 latency, 95 % range (ms)",
        ] {
            assert!(html.contains(words), "{name}: no “{words}”");
        }
        // Two designs beside the front of one cost have a row each in the table behind the chart, all three one in that of designs.
        let rows = html.matches("<td class=\"n\">6</td>").count();
        assert!(!is_space || rows == 2 + 3, "{rows} rows of 6 drives");
    }
}

/// Proves that axe-core finds nothing serious or critical in the report of a run about changes of an array, that each chart gives its values
/// and ranges in words, a loss as well, and that an answer within the noise and one that did not settle say so. `ARRAYLAB_SCREENSHOTS=DIR`
/// keeps the page.
#[test]
fn answers_about_changes_are_accessible() {
    let directory = tempfile::tempdir_in("/dev/shm").expect("a directory");
    let run = sized::run(&directory.path().join("run"), sized::Question::Changes);
    let html = report::from_run(&run).expect("a report").html();
    if let Some(kept) = std::env::var_os("ARRAYLAB_SCREENSHOTS") {
        std::fs::write(Path::new(&kept).join("what-if.html"), &html).expect("kept");
    }
    nothing_serious(directory.path(), &html);
    for words in [
        "Rate, 95 % range (IOPS)",
        "<td class=\"n\">500 to 2,000</td>",
        "With links.count=4: 800 IOPS (−20 %)",
        "1,004 IOPS (0 %, no more than sampling gives)",
        "cache.size=8g: the level still changed, or a cache still filled, when the simulation ended (12 s counted).",
        "Drives: a quarter more gains 20 %",
        "1.25 × links, 1.25 × drives",
        "<td class=\"n\">−1 %</td>",
    ] {
        assert!(html.contains(words), "no “{words}”");
    }
}

/// Proves that the report of 1,010 cases is under 10 MB, that axe-core finds nothing serious or critical in it at desk and phone
/// width, that its long tables have a filter by which rows are found from the keyboard, and that small charts can be made large.
/// `ARRAYLAB_SCREENSHOTS=DIR` keeps the page.
#[test]
fn a_campaign_of_a_thousand_cases_is_small_and_accessible() {
    let directory = tempfile::tempdir_in("/dev/shm").expect("a directory");
    let run = campaign(&directory.path().join("run"));
    let html = report::from_run(&run).expect("a report").html();
    if let Some(kept) = std::env::var_os("ARRAYLAB_SCREENSHOTS") {
        std::fs::write(Path::new(&kept).join("campaign.html"), &html).expect("kept");
    }
    println!("{} bytes", html.len());
    assert!(html.len() < 10 << 20, "{} bytes", html.len());
    nothing_serious(directory.path(), &html);
    let filter = "const region = [...document.querySelectorAll('.tall')].find((one) => one.querySelectorAll('tbody tr').length > 100); \
                  const input = region.previousElementSibling.querySelector('input[type=search]'); const all = \
                  region.querySelectorAll('tbody tr').length; input.value = '16k'; input.dispatchEvent(new Event('input')); const \
                  shown = [...region.querySelectorAll('tbody tr')].filter((row) => !row.hidden); const figure = \
                  document.querySelector('.multiples figure'); figure.querySelector('.enlarge').click(); \
                  document.body.setAttribute('data-asked', JSON.stringify({all, shown: shown.length, every: shown.every((row) => \
                  row.textContent.includes('16k')), status: region.previousElementSibling.querySelector('[role=status]').textContent, \
                  large: figure.classList.contains('large'), small: document.querySelectorAll('.multiples figure').length, \
                  paint: Math.max(0, ...performance.getEntriesByType('paint').map((one) => one.startTime))}));";
    let found = ask(directory.path(), &html, filter, 1280);
    println!("{found}");
    let (all, shown) = (found["all"].as_u64().expect("rows"), found["shown"].as_u64().expect("rows"));
    assert!(shown > 0 && shown < all && found["every"] == true, "{found}");
    assert_eq!(found["status"], format!("{shown} of {all} rows"));
    assert!(found["large"] == true && found["small"].as_u64() > Some(8), "{found}");
}

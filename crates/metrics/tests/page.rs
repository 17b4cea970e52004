//! The page of a running campaign in a real browser.

#[path = "common/browser.rs"]
mod browser;
mod common;

use browser::Browser;
use common::record;
use load::Sample;
use metrics::{AccessScope, LiveRun, MetricsServer, RunLabels, RunProgress};
use std::sync::Arc;
use store::CaseStatus;

/// Five seconds in which so many reads took 1 ms each.
fn sample(number: u64, reads: u64) -> Sample {
    let start_ns = number * 5_000_000_000;
    let mut sample = Sample { start_ns, end_ns: start_ns + 5_000_000_000, ..Sample::default() };
    sample.read.ios = reads;
    sample.read.bytes = reads * 4096;
    (0..reads).for_each(|_| sample.read.latency.record(1_000_000));
    sample
}

/// Proves that the page follows a campaign as it goes on: its plan, what is done, left and under way, IOPS and latency
/// with their charts, and what happened, names that look like markup included; that nothing can be changed there; and
/// that the console has nothing to say.
#[test]
fn the_page_follows_a_campaign() {
    let labels = RunLabels { plan: "quick".into(), target: "twin:a".into(), version: "1".into() };
    let run = LiveRun::new(labels);
    let progress = |cases_ended, share| RunProgress {
        cases_total: 4,
        cases_ended,
        share,
        time_left_ns: Some(90_000_000_000),
    };
    run.run_progress(progress(1, 0.25));
    run.case_started(&record(1, "bs=4096 <b>bold</b>"));
    run.case_progress(1, 0.5);
    (0..3).for_each(|number| run.sample(1, "load", &sample(number, 5000)));
    run.event("random bs=512: 1,000 IOPS <script>alert(1)</script>");
    let server =
        MetricsServer::start("127.0.0.1:0".parse().unwrap(), AccessScope::Loopback, Arc::new(run.clone()))
            .unwrap();
    let mut browser = Browser::open(server.address());
    browser.look(1200, 900, "light");
    browser.wait_for("document.getElementById('title').textContent === 'quick'");
    for words in
        ["A simulated run, not a measured one, on twin:a", "1 of 4", "1 min 30 s", "bs=4096 <b>bold</b>"]
    {
        browser.wait_for(&format!("document.body.innerText.includes('{words}')"));
    }
    browser.wait_for("document.querySelector('#cases tbody').rows[0].cells[5].textContent === '1,000'");
    browser.wait_for("document.querySelector('#cases tbody').rows[0].cells[7].textContent === '1 ms'");
    browser.wait_for("document.querySelectorAll('#latency path').length === 1");
    browser.wait_for("document.getElementById('events').textContent.includes('<script>alert(1)</script>')");
    assert_eq!(browser.value("document.querySelectorAll('form, #main script, #main b').length"), 0);

    run.sample(1, "load", &sample(3, 10_000));
    browser.wait_for("document.querySelector('#cases tbody').rows[0].cells[5].textContent === '2,000'");
    run.host_sample(1, "h2", "load", &sample(3, 4_000));
    let host = "document.querySelector('#cases tbody').rows[1]?.cells";
    browser
        .wait_for(&format!("{host}[3].textContent === 'host h2: load' && {host}[5].textContent === '800'"));
    run.case_ended(1, CaseStatus::Done);
    run.run_progress(progress(4, 1.0));
    browser.wait_for("document.body.innerText.includes('the run is done')");
    browser.wait_for("document.querySelector('#cases tbody').rows.length === 0");
    browser.wait_for("document.querySelectorAll('#latency path').length === 1");
    browser.look(360, 800, "dark");
    browser.wait_for("document.documentElement.scrollWidth <= innerWidth");
    browser.keep_picture("run-360-dark", 360, "dark");
    assert_eq!(browser.remarks, Vec::<String>::new());
}

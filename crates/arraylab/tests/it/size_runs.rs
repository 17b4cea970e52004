//! Run directories of `arraylab size`.

use crate::support::{json_lines, refuse, succeed};
use std::path::Path;

/// Proves that `size --out` keeps a run directory whose cases are the simulated points that the answers cite, with the same rates and
/// percentiles, that `findings` and `report` read it, that the same question gives the same results, and that a directory with a run in
/// it is refused. What carries all that was tried has that as the least of its headroom, in the table and on the page.
#[test]
fn a_size_run_has_the_cases_that_its_answers_cite() {
    let directory = tempfile::tempdir().unwrap();
    let sized = |out: &Path| {
        succeed(&[
            "size",
            "fio:rw=randread,bs=8k,rate_iops=2000,rate_process=poisson,runtime=2",
            "--array",
            "small-flash",
            "--array",
            "composite-flash",
            "--require",
            "p99<2ms",
            "--state",
            "healthy",
            "--state",
            "drive-lost",
            "--growth",
            "30%/y:3y",
            "--json",
            "--out",
            out.to_str().unwrap(),
        ])
    };
    let runs = ["first", "second"].map(|name| directory.path().join(name));
    let answers = json_lines(&sized(&runs[0]));
    assert_eq!(answers, json_lines(&sized(&runs[1])));
    let [first, second] =
        [&runs[0], &runs[1]].map(|run| succeed(&["results", run.to_str().unwrap(), "--json"]));
    assert_eq!(first, second, "the same question gives the same results");
    let results = json_lines(&first);
    let mut cited = 0;
    for answer in &answers {
        let cases = answer["cases"].as_array().unwrap();
        let points = answer["points"].as_array().unwrap();
        assert_eq!(cases.len(), points.len(), "{answer}");
        for (case, point) in cases.iter().zip(points) {
            let is_its = |result: &&serde_json::Value| {
                let path = [&result["stage"], &result["case"]].map(|part| part.as_str().unwrap_or_default());
                case.as_str() == Some(&path.join("/"))
            };
            let of_case: Vec<&serde_json::Value> = results.iter().filter(is_its).collect();
            let [result] = of_case[..] else { panic!("{case} names {} cases", of_case.len()) };
            let [own, its] = [result, point].map(|one| one["iops"].as_f64().unwrap());
            // Quotients of the same counts, taken in another order.
            assert!((own - its).abs() <= 1e-12 * its, "{case}: {own} and {its}");
            assert_eq!(result["read"]["latency_ns"]["p99"], point["p99_ns"], "{case}");
            cited += 1;
        }
    }
    assert_eq!(cited, results.len(), "no case without an answer");
    let healthy = &answers[0];
    let peak = &healthy["at_peak"];
    assert_eq!(
        (peak["requirement"].as_str(), peak["limit_ns"].as_u64()),
        (Some("p99 < 2 ms"), Some(2_000_000))
    );
    let range = &peak["latency_ns_95"];
    assert!(
        range[0].as_f64() <= peak["latency_ns"].as_f64() && peak["latency_ns"].as_f64() <= range[1].as_f64()
    );
    let run = runs[0].to_str().unwrap();
    succeed(&["findings", run]);
    let report = succeed(&["report", run, "--format", "json"]);
    let published = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../published");
    let checked = report_check::Run::open(&runs[0], &published).unwrap();
    let found = report_check::check(&checked, &serde_json::from_str(&report).unwrap());
    assert!(found.is_empty(), "{found:?}");
    let carries_all = answers.iter().filter(|answer| answer["headroom"] == 64.0).count();
    let words = std::fs::read_to_string(runs[0].join("size.txt")).unwrap();
    let counts = [words.matches("≥ 64.00  ").count(), report.matches("at least 64.00 (").count()];
    assert!(carries_all > 0 && counts == [carries_all; 2], "{carries_all}: {counts:?} in {words}");
    // A title as a person would write it, and the year of the report in the text beside it.
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let title = report["title"]["text"].as_str().unwrap();
    assert!(
        title.starts_with("8K random reads") && title.ends_with(" on small-flash and composite-flash"),
        "{title}"
    );
    let text = std::fs::read_to_string(runs[0].join("size.txt")).unwrap();
    let until =
        |text: &str| text.split(" through 3 years of growth, until ").nth(1).map(|rest| rest[..4].to_owned());
    let sentence =
        report["sentences"].as_array().unwrap().iter().find(|one| one["part"] == "sizing-answer").unwrap();
    let year = until(&text);
    assert!(year.is_some() && year == until(sentence["text"].as_str().unwrap()), "{text}\n{sentence}");
    // What a report says of a test's loads would be taken for the array's: this one has the answers alone.
    let sentences = report["sentences"].as_array().unwrap();
    let of_part = |part: &str| sentences.iter().filter(|one| one["part"] == part).collect::<Vec<_>>();
    assert!(of_part("found").is_empty() && of_part("in-short").is_empty());
    assert!(report["tiles"].as_array().unwrap().is_empty());
    let answered = of_part("sizing-answer");
    let [small, composite] = answered[..] else { panic!("{answered:#?}") };
    let begins =
        |one: &serde_json::Value, with: &str| one["text"].as_str().is_some_and(|text| text.starts_with(with));
    assert!(begins(small, "small-flash meets your load through 3 years of growth, until "), "{small}");
    assert!(
        begins(composite, "composite-flash meets your load through 3 years of growth, until "),
        "{composite}"
    );
    // Page, Markdown and JSON have the same sentence, and the page a chart with the peak and the limit.
    let markdown = directory.path().join("report.md");
    succeed(&["report", run, "--format", "md", "--out", markdown.to_str().unwrap()]);
    let page = directory.path().join("report.html");
    succeed(&["report", run, "--out", page.to_str().unwrap()]);
    let (markdown, page) =
        (std::fs::read_to_string(markdown).unwrap(), std::fs::read_to_string(page).unwrap());
    let sentence = small["text"].as_str().unwrap();
    assert!(markdown.contains(sentence) && page.contains(sentence));
    for words in
        ["id=\"size-1-curve\"", "your peak: 2,000", "limit: 2 ms", "do not sign on this", "Ask the vendor"]
    {
        assert!(page.contains(words), "no {words}");
    }
    let (status, message) = refuse(&[
        "size",
        "fio:rw=randread,bs=8k,rate_iops=2000,rate_process=poisson,runtime=2",
        "--array",
        "small-flash",
        "--require",
        "p99<2ms",
        "--out",
        run,
    ]);
    assert_eq!(status, Some(2), "{message}");
    assert!(message.contains("holds a run already"), "{message}");
}

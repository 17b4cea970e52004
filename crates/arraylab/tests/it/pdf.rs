//! Reports on paper, printed by the Chromium of scripts/install-test-clients.sh.

use crate::support::{command, run_on, succeed, text, tool};

/// Proves that the PDF of a report has pages with numbers, the first page's verdict, contents and an outline, that a missing
/// browser is refused with a hint and leaves the file as it was, and that no half file appears.
#[test]
fn a_report_is_printed() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    let shorter = ["--only", "bs=4k,8k", "--set", "runtime=2"];
    assert!(run_on("flashsystem-840", "twin:flashsystem-840", &run, &shorter).status.success());
    let run = run.to_str().unwrap();
    let path = directory.path().join("report.pdf");
    let pdf = path.to_str().unwrap();
    let printed = succeed(&["report", run, "--format", "pdf", "--out", pdf]);
    assert_eq!(printed, format!("{pdf}\n"));
    let bytes = std::fs::read(&path).unwrap();
    assert!(bytes.starts_with(b"%PDF-"));
    let facts = tool("pdfinfo", &[pdf]);
    let pages = facts.lines().find_map(|line| line.strip_prefix("Pages:")).expect("pages").trim().to_owned();
    assert!(pages.parse::<u32>().unwrap() > 2, "{facts}");
    let first = tool("pdftotext", &["-l", "1", "-layout", pdf, "-"]);
    assert!(first.contains("Simulated, not measured.") && first.contains(&format!("1 / {pages}")), "{first}");
    let all = tool("pdftotext", &["-layout", pdf, "-"]);
    assert!(all.contains(&format!("{pages} / {pages}")) && all.contains("What was tested"), "{pages}");

    let missing = command(&["report", run, "--format", "pdf", "--out", pdf])
        .env("ARRAYLAB_BROWSER", "/no/such/browser")
        .output()
        .unwrap();
    assert_eq!(missing.status.code(), Some(2));
    let message = text(&missing.stderr);
    assert!(message.contains("no browser") && message.contains("hint: install Chromium"), "{message}");
    let failing = command(&["report", run, "--format", "pdf", "--out", pdf])
        .env("ARRAYLAB_BROWSER", "/bin/false")
        .output()
        .unwrap();
    assert_eq!(failing.status.code(), Some(3), "{}", text(&failing.stderr));
    assert_eq!(std::fs::read(&path).unwrap(), bytes, "the file is as it was");
}

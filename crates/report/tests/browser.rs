//! The page in a real browser: headless Chromium.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

fn chromium() -> PathBuf {
    ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"]
        .iter()
        .map(PathBuf::from)
        .find(|path| path.exists())
        .expect("Chromium is missing: scripts/install-test-clients.sh installs it")
}

fn run(directory: &Path, arguments: &[&str], page: &Path) -> String {
    let output = Command::new("timeout")
        .arg("60")
        .arg(chromium())
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--hide-scrollbars",
        ])
        .arg(format!("--user-data-dir={}", directory.join("profile").display()))
        .args(arguments)
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("Chromium starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // A blocked script or style would be reported here, with the words of the policy.
    let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !complaints.contains("Content Security Policy") && !complaints.contains("Uncaught"),
        "{complaints}"
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Proves that Chromium shows every heading, that the page's script runs under its own policy and that pictures
/// come out at desk, phone and dark settings and on paper. `ARRAYLAB_SCREENSHOTS=DIR` keeps the pictures.
#[test]
fn chromium_renders_the_page() {
    let directory = tempfile::tempdir().unwrap();
    let page = directory.path().join("report.html");
    std::fs::write(&page, common::sample().html()).unwrap();

    let dom = run(directory.path(), &["--enable-logging=stderr", "--dump-dom"], &page);
    for heading in
        ["FlashSystem 840", "What was found", "What was tested", "block-size", "What has no result"]
    {
        assert!(dom.contains(&format!(">{heading}</h")), "no heading {heading}");
    }
    assert!(dom.contains("Simulated, not measured."));
    assert_eq!(
        dom.matches("Zoom and read values").count() - 2,
        3,
        "a button for each chart with an axis of numbers"
    );

    // The click that a reader would make; the copy has no policy, so that the test's own script may run.
    let clicked = directory.path().join("clicked.html");
    let html = common::sample().html();
    let policy = html.find("<meta http-equiv").unwrap()..html.find("<meta name=\"viewport\"").unwrap();
    let click =
        "<script>document.querySelectorAll('button').forEach((button) => button.click());</script></body>";
    std::fs::write(
        &clicked,
        format!("{}{}", &html[..policy.start], &html[policy.end..]).replace("</body>", click),
    )
    .unwrap();
    let dom = run(directory.path(), &["--enable-logging=stderr", "--dump-dom"], &clicked);
    assert_eq!(dom.matches("<canvas").count(), 3, "uPlot draws each chart that was asked for");

    let kept = std::env::var_os("ARRAYLAB_SCREENSHOTS").map(PathBuf::from);
    let pictures = kept.as_deref().unwrap_or(directory.path());
    for (name, size, more) in [
        ("desk", "1280,2600", ""),
        ("dark", "1280,2600", "--blink-settings=preferredColorScheme=0"),
        ("phone", "500,3000", ""),
        ("clicked", "1280,3600", ""),
    ] {
        let page = if name == "clicked" { &clicked } else { &page };
        let picture = pictures.join(format!("{name}.png"));
        let arguments =
            [format!("--screenshot={}", picture.display()), format!("--window-size={size}"), more.to_owned()];
        let arguments: Vec<&str> =
            arguments.iter().map(String::as_str).filter(|argument| !argument.is_empty()).collect();
        run(directory.path(), &arguments, page);
        assert!(std::fs::metadata(&picture).is_ok_and(|file| file.len() > 20_000), "{name} is no picture");
    }
    let paper = pictures.join("paper.pdf");
    run(directory.path(), &[&format!("--print-to-pdf={}", paper.display()), "--no-pdf-header-footer"], &page);
    assert!(std::fs::metadata(&paper).is_ok_and(|file| file.len() > 20_000));
}

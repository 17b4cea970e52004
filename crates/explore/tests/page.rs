//! The explorer in a real browser, and whoever asks without its token.

#[path = "../../metrics/tests/common/browser.rs"]
mod browser;

use browser::Browser;
use explore::Explorer;
use metrics::{AccessScope, MetricsListener, MetricsServer, Token};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

fn start(array: &str) -> (MetricsServer, String) {
    let token = Token::random().unwrap();
    let text = token.reveal().to_owned();
    let listener = MetricsListener::bind("127.0.0.1:0".parse().unwrap(), AccessScope::Loopback).unwrap();
    (listener.serve(Arc::new(Explorer::new(array).unwrap()), Some(token)).unwrap(), text)
}

fn post(address: SocketAddr, token: &str, body: &str) -> String {
    let mut answer = String::new();
    send(address, "/api/simulate", token, body).read_to_string(&mut answer).unwrap();
    answer
}

/// Sends a question; what is read from the connection is its answer.
fn send(address: SocketAddr, path: &str, token: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nX-Arraylab-Token: {token}\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    stream
}

/// Proves that a question is answered to whoever has the token and to nobody else, that a wrong one is refused in words, and that nothing is
/// loaded from elsewhere.
#[test]
fn questions_need_the_token() {
    let (server, token) = start("raid-levels");
    let question = r#"{"array":"raid-levels","load":{"rw":"randread"}}"#;
    let answer = post(server.address(), &token, question);
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\"points\":["), "{answer}");
    assert!(answer.contains("default-src 'none'"), "{answer}");
    for wrong in ["", "0123456789abcdef0123456789abcdef"] {
        assert!(post(server.address(), wrong, question).starts_with("HTTP/1.1 401"));
    }
    let refused = post(server.address(), &token, r#"{"array":"/etc/passwd"}"#);
    assert!(refused.starts_with("HTTP/1.1 409") && refused.contains("ships"), "{refused}");
    assert!(Explorer::new("no-such-array").is_err());
}

/// Proves that a time line comes line by line to whoever has the token, that a wrong one is refused in words, and that one which
/// nobody listens to any more is given up, so that the next question is answered.
#[test]
fn time_lines_come_line_by_line() {
    let (server, token) = start("raid-levels");
    let ask = |token: &str, body: &str| {
        let mut answer = String::new();
        send(server.address(), "/api/time-line", token, body).read_to_string(&mut answer).unwrap();
        answer
    };
    let question = r#"{"array":"small-flash","load":{"rw":"randwrite"},"time_line":"long-write"}"#;
    assert!(ask("", question).starts_with("HTTP/1.1 401"));
    for (wrong, expected) in [
        (question.replace("long", "short"), "no time line"),
        (question.replace("long-write", "drive-failure"), "lost data"),
        (question.replace("small-flash", "/etc/passwd"), "ships"),
    ] {
        let answer = ask(&token, &wrong);
        assert!(answer.starts_with("HTTP/1.1 409") && answer.contains(expected), "{answer}");
    }
    let answer = ask(&token, question);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200") && head.contains("default-src 'none'"), "{head}");
    let lines: Vec<serde_json::Value> =
        body.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines[0]["begin"]["command"].as_str().unwrap().starts_with("arraylab run time-line.yaml"));
    assert!(lines[1..lines.len() - 1].iter().all(|line| line["point"]["iops"].as_f64().unwrap() > 0.0));
    assert!(!lines[lines.len() - 1]["end"]["sentences"].as_array().unwrap().is_empty(), "{body}");
    assert_eq!(ask(&token, question), answer);

    // Refined it takes seconds; its first line is there long before.
    let long = question.replace("{\"array", "{\"effort\":\"refined\",\"array");
    let mut first = [0];
    send(server.address(), "/api/time-line", &token, &long).read_exact(&mut first).unwrap();
    assert!(post(server.address(), &token, r#"{"array":"raid-levels"}"#).starts_with("HTTP/1.1 200"));
}

/// Proves that a time line is drawn rough and then refined, with its cliff marked, told and in figures; that one with a failing drive shows
/// the failure and its rebuild; that a screen reader gets it, a link has it, it fits a phone, and one that cannot be is refused in words.
#[test]
fn the_page_draws_time_lines() {
    let (server, token) = start("small-flash");
    let mut browser = Browser::open(server.address());
    browser.look(1200, 900, "light");
    let state = |array: &str, time_line: &str| {
        format!(
            r#"location.hash = new URLSearchParams({{token: "{token}", state: JSON.stringify({{array: "{array}", load: {{rw: "randwrite"}}, changes: "", timeLine: "{time_line}"}})}}).toString()"#
        )
    };
    // What is drawn rough may be refined before anybody looks again.
    browser.value(
        "window.efforts = []; new MutationObserver(() => efforts.push(document.getElementById('time-line-effort').textContent)).observe(document.getElementById('time-line-effort'), {childList: true})",
    );
    browser.value(&state("small-flash", "long-write"));
    browser.wait_for("document.getElementById('time-line-effort').textContent === '(refined)'");
    let efforts = browser.value("efforts.filter((effort) => /rough|refined/.test(effort)).join(' ')");
    assert_eq!(efforts, "(rough) (refined)");
    let marks = "[...document.querySelectorAll('#time-line-drawing .marked')].map((one) => one.textContent)";
    browser.wait_for(&format!("{marks}.includes('write cliff')"));
    browser.wait_for("document.getElementById('time-line-told').textContent.includes('Writes fall by')");
    browser.wait_for("document.querySelector('#time-line-table tbody').rows.length >= 48");
    browser
        .wait_for("document.getElementById('time-line-command').value.includes('--target twin:array.yaml,')");
    let link = browser.value("document.getElementById('state-link').href");
    assert!(link.as_str().unwrap().contains("long-write"), "{link}");
    let spoken = browser.spoken();
    assert!(
        spoken.iter().any(|(_, name)| name.starts_with("Time line over") && name.contains("IOPS")),
        "{spoken:?}"
    );
    browser.keep_picture("explore-time-line", 1200, "light");

    browser.value(&state("dorado-2100-g2", "drive-failure"));
    browser.wait_for(&format!("{marks}.some((one) => one.includes('fails'))"));
    browser.wait_for("document.querySelectorAll('#time-line-drawing rect.span').length === 1");
    browser.wait_for("document.getElementById('time-line-told').textContent.includes('The rebuild takes')");
    browser.wait_for("document.getElementById('time-line-room').textContent.includes('times less room')");
    browser.keep_picture("explore-drive-failure", 1200, "light");
    browser.look(360, 800, "dark");
    browser.wait_for("document.documentElement.scrollWidth <= innerWidth");
    browser.keep_picture("explore-drive-failure-narrow", 360, "dark");

    // By keyboard: the choice that follows, of an array whose lost drive is lost data.
    browser.value(&state("small-flash", ""));
    browser.wait_for("document.getElementById('time-line').hidden");
    browser.value("document.getElementById('time-line-kind').focus()");
    browser.press("End");
    browser.wait_for("document.getElementById('time-line-status').textContent.includes('lost data')");
    // A refused question is an answer with status 409, which the console tells.
    browser.remarks.retain(|remark| !remark.contains("409"));
    assert_eq!(browser.remarks, Vec::<String>::new());
}

/// Proves that the page answers at once and refines, that a change by keyboard and one of a value change the answer, that two configurations stand
/// side by side, that a link has the state, and that it fits a phone; the console has nothing to say.
#[test]
fn the_page_answers() {
    let (server, token) = start("flashsystem-840");
    let mut browser = Browser::open(server.address());
    browser.look(1200, 900, "light");
    browser.wait_for("document.getElementById('status').textContent.includes('it has a token')");
    browser.value(&format!("location.hash = '#token={token}'"));
    browser.wait_for("document.getElementById('effort').textContent === '(refined)'");
    browser.wait_for("document.getElementById('sentence').textContent.includes('limit: hosts')");
    browser.wait_for("document.querySelectorAll('#curve circle.point').length === 8");
    browser.wait_for("document.querySelectorAll('#curve circle.ring').length === 1");
    browser.wait_for("document.querySelector('#points tbody').rows.length === 8");
    browser.wait_for("document.getElementById('basis').textContent.includes('no fit has seen')");
    assert_eq!(browser.value("document.querySelectorAll('#drawing rect.box.limit').length"), 1);
    browser.keep_picture("explore", 1200, "light");
    let before = browser.value("document.getElementById('sentence').textContent");

    browser.value("document.getElementById('keep').click()");
    browser.value("document.getElementById('changes').focus()");
    browser.write("hosts.submit=100us");
    browser.press("Tab");
    browser.wait_for("document.getElementById('command').value.includes('--change hosts.submit=100us')");
    browser.wait_for("document.querySelectorAll('#curve polyline').length === 2");
    browser.wait_for("document.querySelector('#points tbody').rows.length === 16");
    browser.wait_for(&format!("document.getElementById('sentence').textContent !== {before}"));
    browser.wait_for("document.getElementById('basis').textContent.includes('twice the worst')");
    browser.value(
        "(() => { const field = document.querySelector('#values input[aria-label=\"fabric.ports\"]'); field.value = '16'; field.dispatchEvent(new Event('change')); })()",
    );
    browser.wait_for("document.getElementById('command').value.includes('fabric.ports=16')");
    let link = browser.value("document.getElementById('state-link').href");
    assert!(link.as_str().unwrap().contains("fabric.ports%3D16"), "{link}");
    browser.value("document.getElementById('changes').value = 'nonsense'; document.getElementById('changes').dispatchEvent(new Event('change'))");
    browser.wait_for("document.getElementById('status').textContent.includes('KEY=VALUE')");
    browser.look(360, 800, "dark");
    browser.wait_for("document.documentElement.scrollWidth <= innerWidth");
    assert_eq!(browser.remarks, Vec::<String>::new());
}

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
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!(
        "POST /api/simulate HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nX-Arraylab-Token: {token}\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
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

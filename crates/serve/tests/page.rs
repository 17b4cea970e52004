//! The page of a served array in a real browser, and what clients of its server can do to others.

#[path = "../../metrics/tests/common/browser.rs"]
mod browser;
mod common;

use browser::Browser;
use common::{PATIENCE, Served, array, directory, serve_timed};
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Reads and writes one after the other until it is told to stop; how long each took.
fn load(served: &Served, is_over: &AtomicBool) -> Vec<Duration> {
    let mut client = served.client();
    let mut took = Vec::new();
    for number in 0u64.. {
        if is_over.load(Ordering::Acquire) {
            break;
        }
        let began = Instant::now();
        let offset_bytes = number * 37 % 2048 * 4096;
        match number % 3 {
            0 => client.write(offset_bytes, &[7; 4096], false).unwrap(),
            _ => drop(client.read(offset_bytes, 4096).unwrap()),
        }
        took.push(began.elapsed());
    }
    took
}

/// Sets a flag when it goes out of scope, so that threads end also where a test fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

const IS_OPEN: &str = "document.querySelectorAll('#verbs form').length > 5";

/// Types a token into the page and presses Enter.
fn show_token(browser: &mut Browser, token: &str) {
    browser.value("document.getElementById('token').focus()");
    browser.write(token);
    browser.press("Enter");
}

/// Proves that the page draws a served array under load with each drive and live figures, without a word on the
/// console; that without the token, with a wrong one and past the page nothing changes; that with it the keyboard alone
/// fails a drive, after a question, and the page shows that; that a limit set there is shown; that everything is named
/// for a screen reader; that nothing is wider than a phone; and that the page says when the server has gone.
#[test]
fn the_page_shows_an_array_and_changes_it_with_the_token() {
    let directory = directory();
    // As many disks as there are: no spare takes a lost one's place.
    let served = serve_timed(&array("raid-levels,raid=6,disks=12,capacity=16m"), directory.path());
    let address = served.metrics.unwrap();
    let token = fs::read_to_string(directory.path().join("data/token")).unwrap();
    let is_over = AtomicBool::new(false);
    let mut browser = Browser::open(address);
    browser.look(1200, 900, "light");
    std::thread::scope(|scope| {
        let over = Over(&is_over);
        scope.spawn(|| load(&served, &is_over));
        browser.wait_for("document.querySelectorAll('#drawing [data-state=ok]').length === 12");
        browser.wait_for("Number(document.querySelector('#volumes tbody').rows[0].cells[2].textContent) > 0");
        browser.wait_for("document.querySelectorAll('#iops path').length === 2");
        browser.wait_for("document.querySelector('#drawing svg').textContent.includes('controller-0')");
        assert_eq!(browser.remarks, Vec::<String>::new());

        assert_eq!(browser.value("document.querySelectorAll('#verbs form').length"), 0);
        show_token(&mut browser, "0123456789abcdef");
        browser.wait_for("document.getElementById('said').textContent === 'That is not the token.'");
        assert_eq!(browser.value("document.querySelectorAll('#verbs form').length"), 0);
        let past = "fetch('/control', {method: 'POST', headers: {'Content-Type': 'application/json'}, \
                    body: '{\"words\":[\"fail\",\"2\"]}'}).then((answer) => answer.status)";
        assert_eq!(browser.value(past), 401);
        assert!(common::is_whole(&served.ctl("status")));
        // The console says that the two were refused, and nothing else.
        assert!(browser.remarks.iter().all(|remark| remark.contains("401")), "{:?}", browser.remarks);
        browser.remarks.clear();

        show_token(&mut browser, token.trim_end());
        browser.wait_for(IS_OPEN);
        assert_eq!(browser.value("document.querySelector('[data-verb=template]')"), serde_json::Value::Null);
        browser.value("document.getElementById('fail-drive').value = '2'");
        browser.value("document.querySelector('[data-verb=fail] button').focus()");
        browser.press("Enter");
        browser.wait_for("document.querySelector('dialog[open]') !== null");
        assert!(common::is_whole(&served.ctl("status")), "nothing before the question is answered");
        browser.press("Tab");
        browser.press("Enter");
        browser.wait_for("document.getElementById('said').textContent === 'fail 2: done'");
        browser.wait_for("document.querySelector('#drawing [data-drive=\"2\"]').dataset.state === 'failed'");
        browser
            .wait_for("document.querySelector('#drawing [data-drive=\"2\"]').textContent.includes('FAILED')");
        assert_eq!(served.ctl("status")["volume"]["drives"][2]["condition"], "failed");

        browser.value("document.getElementById('limit-pairs').focus()");
        browser.write("iops=50");
        browser.press("Enter");
        browser
            .wait_for("document.querySelector('#volumes tbody').rows[0].cells[9].textContent === '50 IOPS'");
        browser.value("document.getElementById('set-pairs').focus()");
        browser.write("colour=red");
        browser.press("Enter");
        browser.wait_for("document.getElementById('said').textContent.includes('no setting `colour`')");
        assert!(browser.remarks.iter().all(|remark| remark.contains("409")), "{:?}", browser.remarks);

        let spoken = browser.spoken();
        let nameless = spoken.iter().filter(|(role, name)| {
            ["button", "textbox", "combobox", "image", "img", "link", "table"].contains(&role.as_str())
                && name.is_empty()
                && role != "table"
        });
        assert_eq!(nameless.collect::<Vec<_>>(), Vec::<&(String, String)>::new());
        assert!(spoken.iter().any(|(_, name)| name.starts_with("Drives: 11 ok, 1 failed.")), "{spoken:?}");
        for (width, how) in [(360, "light"), (360, "dark"), (1200, "light"), (1200, "dark"), (800, "print")] {
            browser.look(width, 800, how);
            browser.wait_for("document.documentElement.scrollWidth <= innerWidth");
            browser.keep_picture(&format!("array-{width}-{how}"), width, how);
        }
        drop(over);
    });
    served.stop();
    browser.wait_for("document.getElementById('link').textContent.startsWith('No answer since')");
}

/// Half of what Prometheus waits for a scrape, unless told otherwise.
const SCRAPE_LIMIT: Duration = Duration::from_secs(5);

/// One scrape.
fn scrape(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// Opens connections and sends a byte at a time into them, as fast as it is hung up on; how many it opened.
fn drip(address: SocketAddr, is_over: &AtomicBool, opened: &AtomicU64) {
    let mut held: Vec<TcpStream> = Vec::new();
    while !is_over.load(Ordering::Acquire) {
        // Among four threads more than may ask at once.
        while held.len() < 80 {
            let Ok(mut stream) = TcpStream::connect(address) else { break };
            let _ = stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: ");
            opened.fetch_add(1, Ordering::Relaxed);
            held.push(stream);
        }
        held.retain_mut(|stream| stream.write_all(b"y").is_ok());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Proves that 320 connections that send a byte at a time and come back when they are hung up on, and four clients that
/// ask without pause, let every scrape through in half of Prometheus's time, and at most double the median latency of an NBD client.
#[test]
fn hostile_http_clients_harm_nobody() {
    let directory = directory();
    let served = serve_timed(&array("flashsystem-840,capacity=16m"), directory.path());
    let address = served.metrics.unwrap();
    let spell = Duration::from_secs(2);
    let measure = |is_hostile: bool| {
        let is_over = AtomicBool::new(false);
        let (opened, requested) = (AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            let over = Over(&is_over);
            if is_hostile {
                for _ in 0..4 {
                    scope.spawn(|| drip(address, &is_over, &opened));
                    scope.spawn(|| {
                        while !is_over.load(Ordering::Acquire) {
                            scrape(address, "/state.json");
                            requested.fetch_add(1, Ordering::Relaxed);
                        }
                    });
                }
            }
            let loaded = scope.spawn(|| load(&served, &is_over));
            let began = Instant::now();
            let mut slowest = Duration::ZERO;
            let mut scrapes = 0;
            while began.elapsed() < spell {
                let asked_at = Instant::now();
                let page = scrape(address, "/metrics");
                assert!(page.starts_with("HTTP/1.1 200 ") && page.ends_with("# EOF\n"), "{page}");
                slowest = slowest.max(asked_at.elapsed());
                scrapes += 1;
                std::thread::sleep(Duration::from_millis(50));
            }
            drop(over);
            let mut took = loaded.join().unwrap();
            took.sort();
            println!(
                "hostile: {is_hostile}; {} slow connections, {} questions; {scrapes} scrapes, the slowest {slowest:?}; \
                 {} NBD requests, median {:?}, p99 {:?}",
                opened.load(Ordering::Relaxed),
                requested.load(Ordering::Relaxed),
                took.len(),
                took[took.len() / 2],
                took[took.len() * 99 / 100],
            );
            assert!(slowest < SCRAPE_LIMIT, "{scrapes} scrapes, {slowest:?}");
            took[took.len() / 2]
        })
    };
    // Not how many there were: that says more about what else the machine does. It may do so in one of the two spells, too.
    let rounds = (0..5).map(|_| (measure(false), measure(true)));
    let seen: Vec<_> = rounds.take_while(|(quiet, hostile)| *hostile > *quiet * 2).collect();
    assert!(seen.len() < 5, "median without and with them, in each round: {seen:?}");
}

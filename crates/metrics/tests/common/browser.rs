//! A headless Chromium that is told what to do over its debugging pipe, as a person would do it with a keyboard.

#![allow(dead_code, reason = "each test binary uses a part")]

use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// Chromium ends by itself after this, whatever becomes of the test.
const LIFE_SECONDS: &str = "180";
const PROGRAMS: [&str; 3] = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
/// Command that starts Chromium with named pipes for its commands and answers: no descriptor has to be handed over by
/// hand.
const START: &str = r#"exec timeout "$1" "$2" --headless --no-sandbox --disable-gpu --no-first-run --hide-scrollbars \
    --disable-background-networking --disable-component-update --disable-sync --remote-debugging-pipe \
    --user-data-dir="$3/profile" about:blank 3<"$3/commands" 4>"$3/answers""#;

pub struct Browser {
    process: Child,
    commands: File,
    answers: BufReader<File>,
    next: u64,
    session: String,
    /// Messages of the console: errors, warnings of the policy, failed loads.
    pub remarks: Vec<String>,
    // Last, so that the browser has gone before its files.
    _directory: TempDir,
}

impl Browser {
    /// Opens a page.
    pub fn open(address: SocketAddr) -> Browser {
        let program = PROGRAMS.iter().find(|path| PathBuf::from(path).exists());
        let program = program.expect("Chromium is needed by this test: scripts/install-test-clients.sh");
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let made = Command::new("mkfifo").args([path("commands"), path("answers")]).status().unwrap();
        assert!(made.success());
        let process = Command::new("sh")
            .args(["-c", START, "browser", LIFE_SECONDS, program])
            .arg(directory.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // In the order in which the shell opens them.
        let commands = OpenOptions::new().write(true).open(path("commands")).unwrap();
        let answers = BufReader::new(File::open(path("answers")).unwrap());
        let mut browser = Browser {
            process,
            commands,
            answers,
            next: 1,
            session: String::new(),
            remarks: Vec::new(),
            _directory: directory,
        };
        let targets = browser.call("Target.getTargets", json!({}));
        let targets = targets["targetInfos"].as_array().unwrap();
        let page =
            targets.iter().find(|target| target["type"] == "page").expect("a page")["targetId"].clone();
        let attached = browser.call("Target.attachToTarget", json!({"targetId": page, "flatten": true}));
        browser.session = attached["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser.call("Page.navigate", json!({"url": format!("http://{address}/")}));
        // A navigation is answered before its document is read: until then there is nothing to look at.
        let deadline = Instant::now() + PATIENCE;
        while browser.value("location.protocol + document.readyState") != json!("http:complete") {
            assert!(Instant::now() < deadline, "never read: http://{address}/");
            std::thread::sleep(Duration::from_millis(10));
        }
        browser
    }

    /// One command of the DevTools protocol, and its result.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        let number = self.next;
        self.next += 1;
        let mut message = json!({"id": number, "method": method});
        message["params"] = parameters;
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.commands.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let mut bytes = Vec::new();
            let count = self.answers.read_until(0, &mut bytes).unwrap();
            assert!(count > 0, "Chromium ended during {method}");
            bytes.pop();
            let answer: Value = serde_json::from_slice(&bytes).unwrap();
            if answer["id"] == number {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
            self.remark(&answer);
        }
    }

    fn remark(&mut self, event: &Value) {
        let parameters = &event["params"];
        match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => self.remarks.push(parameters["exceptionDetails"].to_string()),
            Some("Log.entryAdded") => self.remarks.push(parameters["entry"].to_string()),
            Some("Runtime.consoleAPICalled") => self.remarks.push(parameters.to_string()),
            _ => {}
        }
    }

    /// The value of an expression in the page, waited for if it is a promise.
    pub fn value(&mut self, expression: &str) -> Value {
        let requested = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let result = self.call("Runtime.evaluate", requested);
        assert!(result["exceptionDetails"].is_null(), "{expression}: {}", result["exceptionDetails"]);
        result["result"]["value"].clone()
    }

    /// Asks until the expression is true.
    pub fn wait_for(&mut self, expression: &str) {
        let deadline = Instant::now() + PATIENCE;
        while self.value(expression) != json!(true) {
            if Instant::now() > deadline {
                let text = self.value("document.body.innerText");
                panic!("never {expression}:\n{}", text.as_str().unwrap_or(""));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Presses a key: `Tab`, `Enter` or `End`.
    pub fn press(&mut self, key: &str) {
        let (code, text) = match key {
            "Tab" => (9, ""),
            "Enter" => (13, "\r"),
            "End" => (35, ""),
            _ => panic!("no key {key}"),
        };
        let key =
            json!({"type": "keyDown", "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text});
        self.call("Input.dispatchKeyEvent", key.clone());
        let mut up = key;
        up["type"] = json!("keyUp");
        self.call("Input.dispatchKeyEvent", up);
    }

    /// Types into what has the focus.
    pub fn write(&mut self, text: &str) {
        self.call("Input.insertText", json!({"text": text}));
    }

    /// The page's room, and how it is looked at: `light`, `dark` or `print`.
    pub fn look(&mut self, width: u32, height: u32, how: &str) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size);
        let media = if how == "print" { "print" } else { "" };
        let scheme = if how == "dark" { "dark" } else { "light" };
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", json!({"media": media, "features": features}));
    }

    /// Returns the content for a screen reader: role and name of everything that has a name.
    pub fn spoken(&mut self) -> Vec<(String, String)> {
        let tree = self.call("Accessibility.getFullAXTree", json!({}));
        let nodes = tree["nodes"].as_array().unwrap().iter().filter(|node| node["ignored"] != true);
        let text = |value: &Value| value["value"].as_str().unwrap_or("").to_owned();
        nodes.map(|node| (text(&node["role"]), text(&node["name"]))).collect()
    }

    /// A picture of the whole page, kept where `ARRAYLAB_SCREENSHOTS` says.
    pub fn keep_picture(&mut self, name: &str, width: u32, how: &str) {
        let Some(directory) = std::env::var_os("ARRAYLAB_SCREENSHOTS") else { return };
        self.look(width, 900, how);
        let height = self.value("document.documentElement.scrollHeight").as_u64().unwrap() as u32;
        self.look(width, height, how);
        // Drawn anew for the width at the next look.
        std::thread::sleep(Duration::from_millis(1500));
        let picture = self.call("Page.captureScreenshot", json!({"format": "png"}));
        let path = PathBuf::from(directory).join(format!("{name}.png.base64"));
        std::fs::write(path, picture["data"].as_str().unwrap()).unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It ends when nobody holds its pipe any more, at the latest when its life is over.
        let close = json!({"id": 0, "method": "Browser.close"});
        let _ = self.commands.write_all(format!("{close}\0").as_bytes());
        let _ = self.process.wait();
    }
}

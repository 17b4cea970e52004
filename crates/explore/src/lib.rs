//! Explorer of arrays: a page, and answers to what it asks.

#![doc = include_str!("../README.md")]

mod question;
mod time_line;

pub use question::{ExploreError, answer};
pub use time_line::time_line;

use diagnostic::Problem;
use metrics::{PageFile, Source};
use serde_json::{Value, json};
use sizing::TwinCache;
use std::sync::{Mutex, PoisonError};

const SCRIPT_TYPE: &str = "text/javascript; charset=utf-8";

/// The page.
const FILES: &[PageFile] = &[
    PageFile { path: "/", kind: "text/html; charset=utf-8", text: include_str!("../assets/explore.html") },
    PageFile {
        path: "/explore.css",
        kind: "text/css; charset=utf-8",
        text: include_str!("../assets/explore.css"),
    },
    PageFile { path: "/explore.js", kind: SCRIPT_TYPE, text: include_str!("../assets/explore.js") },
    PageFile { path: "/drawing.js", kind: SCRIPT_TYPE, text: include_str!("../assets/drawing.js") },
    PageFile { path: "/time-line.js", kind: SCRIPT_TYPE, text: include_str!("../assets/time-line.js") },
    PageFile { path: "/icon.svg", kind: "image/svg+xml", text: include_str!("../assets/icon.svg") },
];

/// Source of the page: one question is answered at a time, so that no page keeps more than one processor busy.
#[derive(Debug)]
pub struct Explorer {
    array: String,
    /// Held while a question is answered; the twin that was built last.
    working: Mutex<TwinCache>,
}

impl Explorer {
    /// An explorer that begins with an array by its name or path.
    pub fn new(array: &str) -> Result<Explorer, ExploreError> {
        sizing::Configuration::load(array)?;
        Ok(Explorer { array: array.to_owned(), working: Mutex::default() })
    }
}

impl Source for Explorer {
    fn exposition(&self) -> String {
        "# EOF\n".into()
    }

    fn state(&self) -> String {
        let arrays: Vec<Value> = plan::shipped_arrays()
            .iter()
            .map(|array| json!({ "name": array.name, "title": array.title }))
            .collect();
        json!({ "kind": "explorer", "array": self.array, "arrays": arrays }).to_string()
    }

    fn files(&self) -> &'static [PageFile] {
        FILES
    }

    fn command_path(&self) -> &'static str {
        "/api/simulate"
    }

    fn command(&self, body: &[u8]) -> Result<Value, Problem> {
        let twins = self.working.lock().unwrap_or_else(PoisonError::into_inner);
        answer(body, &twins).map_err(|error| Problem::of(&error))
    }

    fn stream_path(&self) -> Option<&'static str> {
        Some("/api/time-line")
    }

    fn stream(&self, body: &[u8], send: &mut dyn FnMut(&Value) -> bool) -> Result<(), Problem> {
        let _one = self.working.lock().unwrap_or_else(PoisonError::into_inner);
        time_line(body, send).map_err(|error| Problem::of(&error))
    }
}

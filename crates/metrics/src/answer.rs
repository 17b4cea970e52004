//! HTTP responses by path.

use crate::cached_snapshot::CachedSnapshot;
use crate::request::{NOT_FOUND, UNAUTHORISED, WRONG_METHOD};
use crate::token::Token;
use crate::{PageFile, Source};
use diagnostic::full_text;
use serde_json::Value;
use std::sync::Arc;

const OK: &str = "200 OK";
/// Status of a request that was understood and not carried out.
const NOT_DONE: &str = "409 Conflict";
const METRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const JSON_TYPE: &str = "application/json";
/// JSON objects, one a line.
const JSON_LINES_TYPE: &str = "application/jsonl; charset=utf-8";
const TEXT_TYPE: &str = "text/plain; charset=utf-8";
const SCRIPT_TYPE: &str = "text/javascript; charset=utf-8";
/// Nothing is loaded, sent to, or framed by anyone else; nothing in the page itself is run.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The page of a run or a served array.
pub(crate) const FILES: &[PageFile] = &[
    PageFile { path: "/", kind: "text/html; charset=utf-8", text: include_str!("../assets/page.html") },
    PageFile { path: "/page.css", kind: "text/css; charset=utf-8", text: include_str!("../assets/page.css") },
    PageFile { path: "/page.js", kind: SCRIPT_TYPE, text: include_str!("../assets/page.js") },
    PageFile { path: "/parts.js", kind: SCRIPT_TYPE, text: include_str!("../assets/parts.js") },
    PageFile { path: "/chart.js", kind: SCRIPT_TYPE, text: include_str!("../assets/chart.js") },
    PageFile { path: "/array.js", kind: SCRIPT_TYPE, text: include_str!("../assets/array.js") },
    PageFile { path: "/control.js", kind: SCRIPT_TYPE, text: include_str!("../assets/control.js") },
    PageFile { path: "/run.js", kind: SCRIPT_TYPE, text: include_str!("../assets/run.js") },
    PageFile { path: "/icon.svg", kind: "image/svg+xml", text: include_str!("../assets/icon.svg") },
];

pub(crate) struct Answer {
    status: &'static str,
    kind: &'static str,
    pub(crate) body: Arc<str>,
}

/// Routes of the server.
pub(crate) struct Routes {
    source: Arc<dyn Source>,
    /// Token for changes; without one, nothing can be changed.
    token: Option<Token>,
    /// True if only this host's own names are answered to.
    pub(crate) is_local_only: bool,
    exposition: CachedSnapshot,
    state: CachedSnapshot,
}

impl Routes {
    pub(crate) fn new(source: Arc<dyn Source>, token: Option<Token>, is_local_only: bool) -> Routes {
        Routes {
            source,
            token,
            is_local_only,
            exposition: CachedSnapshot::default(),
            state: CachedSnapshot::default(),
        }
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        let of = |kind, body| Answer { status: OK, kind, body };
        match path {
            "/metrics" => of(METRICS_TYPE, self.exposition.get(|| self.source.exposition())),
            "/state.json" => of(JSON_TYPE, self.state.get(|| self.source.state())),
            _ if self.is_command(path) => Answer::refusal(WRONG_METHOD),
            _ => match self.source.files().iter().find(|file| file.path == path) {
                Some(file) => of(file.kind, file.text.into()),
                None => Answer::refusal(NOT_FOUND),
            },
        }
    }

    /// Admits a command by its path and token, or returns the refusal.
    pub(crate) fn admit(&self, path: &str, shown: &[u8]) -> Result<(), Answer> {
        if !self.is_command(path) {
            return Err(Answer::refusal(match self.is_there(path) {
                true => WRONG_METHOD,
                false => NOT_FOUND,
            }));
        }
        match &self.token {
            Some(token) if token.is(shown) => Ok(()),
            _ => Err(Answer::error(UNAUTHORISED, "the token is missing or wrong")),
        }
    }

    pub(crate) fn command(&self, body: &[u8]) -> Answer {
        match self.source.command(body) {
            Ok(message) => Answer { status: OK, kind: JSON_TYPE, body: message.to_string().into() },
            Err(problem) => Answer::error(NOT_DONE, &full_text(&problem)),
        }
    }

    fn is_command(&self, path: &str) -> bool {
        path == self.source.command_path() || self.is_streamed(path)
    }

    /// Returns true if the answers to commands of this path are sent line by line.
    pub(crate) fn is_streamed(&self, path: &str) -> bool {
        self.source.stream_path() == Some(path)
    }

    /// Carries out a command whose answer is sent line by line.
    pub(crate) fn stream(&self, body: &[u8], send: &mut dyn FnMut(&Value) -> bool) -> Result<(), Answer> {
        self.source.stream(body, send).map_err(|problem| Answer::error(NOT_DONE, &full_text(&problem)))
    }

    fn is_there(&self, path: &str) -> bool {
        ["/metrics", "/state.json"].contains(&path)
            || self.source.files().iter().any(|file| file.path == path)
    }
}

impl Answer {
    pub(crate) fn refusal(status: &'static str) -> Answer {
        Answer { status, kind: TEXT_TYPE, body: format!("{status}\n").into() }
    }

    fn error(status: &'static str, why: &str) -> Answer {
        let body = serde_json::json!({"error": why}).to_string().into();
        Answer { status, kind: JSON_TYPE, body }
    }

    pub(crate) fn head(&self) -> String {
        let allow = if self.status == WRONG_METHOD { "Allow: GET, HEAD, POST\r\n" } else { "" };
        head(self.status, self.kind, &format!("Content-Length: {}\r\n{allow}", self.body.len()))
    }
}

/// Head of an answer that is sent line by line and ends with its connection.
pub(crate) fn stream_head() -> String {
    head(OK, JSON_LINES_TYPE, "")
}

fn head(status: &str, kind: &str, own_lines: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{own_lines}Cache-Control: no-store\r\n\
         Content-Security-Policy: {POLICY}\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\nConnection: close\r\n\r\n"
    )
}

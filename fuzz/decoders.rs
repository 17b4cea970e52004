//! Every decoder of what comes from outside, as a function of bytes: it must not panic, and what it understands it
//! must write again as it was. Shared by the targets of cargo-fuzz beside this file and by the test
//! `decoders` of `crates/arraylab`, which runs on stable Rust.

use driver::protocol as control;
use nbd::decode::{
    ContextQuery, ExportQuery, Information, OptionHeader, OptionReplyHeader, ReplyHeader, Request,
};
use std::path::Path;

/// A decoder: its name and what feeds it.
pub type Decoder = (&'static str, fn(&[u8]));

/// All of them.
pub const DECODERS: [Decoder; 6] = [
    ("nbd", nbd_messages),
    ("control", control_lines),
    ("fio", fio_output),
    ("workloads", workload_files),
    ("plan", plans),
    ("array", arrays),
];

/// Handshake, options, requests and replies of the NBD protocol.
pub fn nbd_messages(bytes: &[u8]) {
    if let Some(Ok(header)) = bytes.first_chunk().map(OptionHeader::decode) {
        assert_eq!(header.encode(), bytes[..16]);
    }
    if let Some(Ok(header)) = bytes.first_chunk().map(OptionReplyHeader::decode) {
        assert_eq!(header.encode(), bytes[..20]);
    }
    if let Some(Ok(request)) = bytes.first_chunk().map(Request::decode) {
        assert_eq!(request.encode(), bytes[..28]);
    }
    if let Ok(query) = ExportQuery::decode(bytes) {
        assert_eq!(query.encode(), bytes);
    }
    if let Ok(query) = ContextQuery::decode(bytes) {
        assert_eq!(query.encode(), bytes);
    }
    if let Ok(header) = ReplyHeader::decode(bytes) {
        let mut encoded = Vec::new();
        header.encode(&mut encoded);
        assert_eq!(encoded, bytes);
    }
    if let Ok(information) = Information::decode(bytes) {
        assert_eq!(Information::decode(&information.encode()), Ok(information));
    }
}

/// Lines of the control socket, both sides.
pub fn control_lines(bytes: &[u8]) {
    let mut stream = bytes;
    while let Ok(Some(line)) = control::read_line(&mut stream) {
        if let Ok(request) = control::Request::parse(&line) {
            // Not compared: a number that no f64 is equal to comes back rounded.
            let line = control::to_line(&request).expect("what was read can be written");
            control::Request::parse(&line).expect("what was written can be read");
        }
        let _ = control::Response::parse(&line);
    }
}

/// Reports and logs of fio.
pub fn fio_output(bytes: &[u8]) {
    let _ = fio::read_report(bytes);
    let _ = fio::read_histogram_log(bytes);
    let _ = fio::read_interval_log(bytes, fio::LogKind::Latency { is_microseconds: false }, None);
    let _ = fio::read_interval_log(bytes, fio::LogKind::Bandwidth, Some(true));
}

/// Job files of fio and parameter files of vdbench, and the plans made from them.
pub fn workload_files(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    // Included files would be looked for here, where there are none.
    let name = Path::new("/nonexistent/fuzzed");
    if let Ok(imported) = import::import_plan(name, text)
        && let Some(plan) = imported.text
    {
        plan::parse_plan("fuzzed", "fuzzed", &plan)
            .expect("a plan that was made from a job file can be read");
    }
}

/// Plans, and the cases they expand to.
pub fn plans(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(plan) = plan::parse_plan("fuzzed", "fuzzed", text)
    {
        let _ = plan::expand(&plan, &plan::Selection::default());
    }
}

/// Arrays.
pub fn arrays(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = plan::parse_array("fuzzed", text);
    }
}

//! Every decoder of what comes from outside, as a function of bytes: it must not panic, and what it understands it
//! must write again as it was. Shared by the targets of cargo-fuzz beside this file and by the test
//! `decoders` of `crates/arraylab`, which runs on stable Rust.

use driver::protocol as control;
use nbd::decode::{
    Command, ContextQuery, ExportQuery, Information, OptionHeader, OptionReplyHeader, ReplyHeader, Request,
};
use std::io::Write as _;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;
use volume::{BackingStore as _, MemoryBackingStore, Volume, VolumeSpec};

/// A decoder: its name and what feeds it.
pub type Decoder = (&'static str, fn(&[u8]));

/// All of them.
pub const DECODERS: [Decoder; 15] = [
    ("nbd", nbd_messages),
    ("nbd-client", nbd_servers),
    ("control", control_lines),
    ("agent", agent_messages),
    ("http", http_heads),
    ("fio", fio_output),
    ("workloads", workload_files),
    ("plan", plans),
    ("array", arrays),
    ("addresses", addresses),
    ("traces", traces),
    ("results", results),
    ("telemetry", telemetry),
    ("store", stored_histograms),
    ("volume", stored_volumes),
];

/// A client waits for nobody here: everything that the server says is there, and then its end.
const CLIENT_PATIENCE: Duration = Duration::from_secs(5);

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

/// Messages between a coordinator and the agents on other hosts: frames of both sides, and the samples in them.
pub fn agent_messages(bytes: &[u8]) {
    let mut input = bytes;
    while let Ok(Some(body)) = hosts::read_frame(&mut input) {
        if let Ok(request) = hosts::decode_request(&body) {
            let written = serde_json::to_vec(&request).expect("a request");
            assert_eq!(hosts::decode_request(&written).expect("the same"), request);
            if let hosts::Request::Measure(measure) = &request {
                measure.loads.iter().for_each(|one| drop(one.load.check()));
            }
        }
        match hosts::decode_reply(&body) {
            Ok(hosts::Reply::Sample { sample, .. }) => {
                if let Ok(sample) = sample.to_sample() {
                    let again = hosts::WireSample::new(&sample).to_sample();
                    assert_eq!(again.expect("the same").read.latency, sample.read.latency);
                }
            }
            Ok(hosts::Reply::Ended(end)) => end.loads.iter().for_each(|load| drop(load.to_load())),
            _ => {}
        }
    }
}

/// A server that says anything at all: the client refuses it or takes what it says, within its limits.
pub fn nbd_servers(bytes: &[u8]) {
    let (Some((&shape, message)), Ok((ours, mut theirs))) = (bytes.split_first(), UnixStream::pair()) else {
        return;
    };
    // What the buffer of a socket does not take, nobody would read.
    let _ = theirs.set_nonblocking(true);
    let _ = theirs.write_all(message);
    let _ = theirs.shutdown(Shutdown::Write);
    let is_structured = shape & 1 == 0;
    let Ok(mut client) = nbd::Client::connect(ours, "vol0", is_structured, CLIENT_PATIENCE) else { return };
    let command = if shape & 2 == 0 { Command::Read } else { Command::BlockStatus };
    for index in 0..4 {
        if client.submit(command, 0, index * 4096, 4096, &[]).is_err() {
            return;
        }
    }
    while let Ok(reply) = client.receive() {
        assert!(reply.data.len() <= 4096, "a reply holds more than was asked for");
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

/// Heads of HTTP requests to the server of metrics and the page.
pub fn http_heads(bytes: &[u8]) {
    let Ok(understood) = metrics::decode_head(bytes, true) else { return };
    // Whoever is let in from this host is let in from anywhere, and has named this host if a name was needed.
    assert_eq!(metrics::decode_head(bytes, false), Ok(understood.clone()));
    let text = String::from_utf8_lossy(bytes).to_ascii_lowercase();
    let is_named = ["localhost", "127.", "[:", "[0"].iter().any(|name| text.contains(name));
    assert!(is_named || text.contains("http/1.0"), "{text}");
    if let metrics::RequestKind::Post { body_bytes, .. } = understood {
        assert!(body_bytes <= 16 << 10 && text.contains("application/json"));
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

/// Addresses and short texts of the command line: targets, NBD addresses, drivers, sizes and times.
pub fn addresses(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let _ = storage_target::TargetSpec::parse(text);
    let _ = storage_target::NbdAddress::parse(text);
    let _ = driver::DriverSpec::parse(text);
    let _ = text.parse::<probe::HttpAddress>();
    let _ = units::parse_bytes(text);
    let _ = units::parse_nanos(text);
}

/// Recorded loads in every format.
pub fn traces(mut bytes: &[u8]) {
    if let Ok(trace) = load::Trace::read("fuzzed", &mut bytes, None) {
        assert!(trace.records().is_sorted_by_key(|record| record.at_ns), "a trace is out of order");
        let _ = (trace.end_bytes(), trace.largest_bytes(), trace.duration_ns());
    }
}

/// Results of fio and vdbench.
pub fn results(bytes: &[u8]) {
    // Logs would be looked for here, where there are none.
    let name = Path::new("/nonexistent/fuzzed");
    let _ = import::count_results(name, &String::from_utf8_lossy(bytes));
}

/// Answers of commands, Prometheus addresses and drives.
pub fn telemetry(bytes: &[u8]) {
    probe::read_as_any_answer(bytes);
}

/// Histograms as rows of a run keep them, and its manifest.
pub fn stored_histograms(bytes: &[u8]) {
    if let Ok(histogram) = store::decode_histogram(bytes) {
        let again = store::decode_histogram(&store::encode_histogram(&histogram));
        assert_eq!(again, Ok(histogram), "a histogram comes back otherwise");
    }
    let _ = serde_json::from_slice::<store::Manifest>(bytes);
}

/// What a volume keeps beside its data: the record of its condition, and the journal, whose checksums are made to fit so
/// that what they cover is looked at.
pub fn stored_volumes(bytes: &[u8]) {
    let Some((&kind, stored)) = bytes.split_first() else { return };
    let raid = layout::Raid { drives: 4, drive_capacity_bytes: 24 << 10, segment_bytes: 2048 };
    let layout = layout::Layout::raid6(raid, layout::Rotation::LeftSymmetric).expect("a sound array");
    let spec = VolumeSpec { layout, drive_capacity_bytes: vec![24 << 10; 4], identity: "fuzzed".to_owned() };
    let store = MemoryBackingStore::default();
    drop(Volume::open(store.clone(), spec.clone()).expect("a new volume"));
    if kind & 1 == 0 {
        store.write_record(stored).expect("memory takes it");
    } else {
        write_journal_record(&store, u32::from(kind >> 1), stored);
    }
    if let Ok(volume) = Volume::open(store, spec) {
        let mut sector = [0; 512];
        let _ = volume.read_at(0, &mut sector);
        let _ = volume.write_at(0, &sector, true);
    }
}

/// Appends a record to an empty journal, as `crates/volume/src/journal.rs` has them.
fn write_journal_record(store: &MemoryBackingStore, kind: u32, content: &[u8]) {
    const NEWER_HALF: u64 = 0;
    let block_store = store.journal().expect("memory has one");
    let mut headers = [0; 1024];
    block_store.read_at(NEWER_HALF, &mut headers).expect("memory can be read");
    let epoch = headers.chunks(512).map(|header| u64::from_le_bytes(header[28..36].try_into().unwrap()));
    let epoch = epoch.max().expect("two headers");
    let mut content = content.to_vec();
    let content_sum = if kind == 1 { fit_images(&mut content) } else { crc32c::crc32c(&content) };
    let mut record = Vec::with_capacity(32 + content.len());
    record.extend(0x616c_7265u32.to_le_bytes());
    record.extend((content.len() as u32).to_le_bytes());
    record.extend(epoch.to_le_bytes());
    record.extend(0u64.to_le_bytes());
    let sum = crc32c::crc32c_append(crc32c::crc32c(&record), &kind.to_le_bytes());
    let sum = crc32c::crc32c_append(sum, &content_sum.to_le_bytes());
    record.extend(sum.to_le_bytes());
    record.extend(kind.to_le_bytes());
    record.extend(&content);
    block_store.write_at(NEWER_HALF + 4096, &record).expect("memory takes it");
}

/// Makes the checksums of images' sectors fit, and returns the one of the content without the sectors; of malformed content
/// what the decoder takes for it.
fn fit_images(content: &mut [u8]) -> u32 {
    const OF_ZEROS: u32 = 0x30fc_edc0;
    let (mut at, mut sum) = (0, 0);
    while at < content.len() {
        let entry = &mut content[at..];
        if entry.len() < 16 {
            return !sum;
        }
        let length = u32::from_le_bytes(entry[4..8].try_into().expect("four bytes")) as usize;
        let start = 16 + length / 512 * 4;
        if !length.is_multiple_of(512) || entry.len() < start + length {
            return !sum;
        }
        let (header, sectors) = entry.split_at_mut(start);
        for (sector, sum) in sectors.chunks(512).zip(header[16..].chunks_exact_mut(4)) {
            sum.copy_from_slice(&(crc32c::crc32c(sector) ^ OF_ZEROS).to_le_bytes());
        }
        sum = crc32c::crc32c_append(sum, header);
        at += start + length;
    }
    sum
}

//! Every decoder: arbitrary bytes never panic, and what is decoded encodes to the same bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nbd::decode::{
    ContextQuery, ExportQuery, Information, OptionHeader, OptionReplyHeader, ReplyHeader, Request,
};

fuzz_target!(|bytes: &[u8]| {
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
});

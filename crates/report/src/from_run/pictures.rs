//! Pictures of the plan, from the run or beside the plan file.

use super::Source;
use crate::model::Picture;
use findings::{Cited, cited};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// A larger picture is left out: it stands in the page in base64.
const PICTURE_LIMIT_BYTES: u64 = 8 << 20;

/// The pictures, and what is to be said of those that are not there.
pub fn of(source: &Source<'_>) -> (Vec<Picture>, Vec<Cited>) {
    let (mut pictures, mut missing) = (Vec::new(), Vec::new());
    for image in source.plan.iter().flat_map(|plan| &plan.images) {
        let beside_plan =
            Path::new(&source.manifest.plan.source).parent().map_or_else(PathBuf::new, Path::to_owned);
        let places = [source.run.directory().join(store::PICTURES_DIRECTORY), beside_plan];
        let read = places.iter().map(|place| read(&place.join(&image.file))).reduce(|first, second| {
            match (&first, &second) {
                (Err(_), Ok(_)) => second,
                _ => first,
            }
        });
        match read {
            Some(Ok((media_type, bytes))) => pictures.push(Picture {
                caption: image.caption.clone(),
                file: image.file.clone(),
                media_type,
                bytes,
            }),
            Some(Err(error)) => missing.push(cited!(
                "The picture {} (“{}”) is not in this report: {}. It was looked for in the run and beside the plan.",
                Cited::quote(&image.file, findings::Source::quote("plan")),
                Cited::quote(&image.caption, findings::Source::quote("plan")),
                Cited::quote(error.to_string(), findings::Source::quote("error"))
            )),
            None => {}
        }
    }
    (pictures, missing)
}

fn read(path: &Path) -> io::Result<(&'static str, Vec<u8>)> {
    let mut bytes = Vec::new();
    File::open(path)?.take(PICTURE_LIMIT_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > PICTURE_LIMIT_BYTES {
        return Err(io::Error::other(format!("it has more than {PICTURE_LIMIT_BYTES} bytes")));
    }
    let media_type = media_type(&bytes)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "it is no PNG, JPEG or WebP"))?;
    Ok((media_type, bytes))
}

/// By the signatures of the formats: what a browser would do with anything else is not for a report to find out.
fn media_type(bytes: &[u8]) -> Option<&'static str> {
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        Some("image/png")
    } else if bytes.starts_with(b"\xff\xd8\xff") {
        Some("image/jpeg")
    } else if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        Some("image/webp")
    } else {
        None
    }
}

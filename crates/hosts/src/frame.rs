//! Frames: a length of four bytes, little-endian, and so many bytes of JSON.

use std::io::{self, Read, Write};

/// The largest frame. A plan is kilobytes, an interval's histograms tens of kilobytes, inventories a megabyte a command.
pub const FRAME_BYTES_LIMIT: usize = 64 << 20;
/// Memory is taken in steps of this while bytes come, so that a length alone takes none.
const STEP_BYTES: usize = 64 << 10;

/// A stream that is no stream of frames.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The stream could not be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A frame is longer than any can be.
    #[error("a message of {0} bytes is longer than {FRAME_BYTES_LIMIT}")]
    TooLong(usize),
    /// The stream ended within a frame.
    #[error("the stream ended within a message")]
    Short,
}

/// The next frame; `None` at the end of the stream.
pub fn read_frame(input: &mut impl Read) -> Result<Option<Vec<u8>>, FrameError> {
    let mut length = [0; 4];
    let mut filled = 0;
    while filled < length.len() {
        match input.read(&mut length[filled..]) {
            Ok(0) if filled == 0 => return Ok(None),
            Ok(0) => return Err(FrameError::Short),
            Ok(bytes) => filled += bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    let length = u32::from_le_bytes(length) as usize;
    if length > FRAME_BYTES_LIMIT {
        return Err(FrameError::TooLong(length));
    }
    let mut bytes = Vec::new();
    while bytes.len() < length {
        let step = STEP_BYTES.min(length - bytes.len());
        let before = bytes.len();
        input.take(step as u64).read_to_end(&mut bytes)?;
        if bytes.len() - before < step {
            return Err(FrameError::Short);
        }
    }
    Ok(Some(bytes))
}

/// Writes a frame in one call, and passes it on at once.
pub fn write_frame(output: &mut impl Write, body: &[u8]) -> Result<(), FrameError> {
    if body.len() > FRAME_BYTES_LIMIT {
        return Err(FrameError::TooLong(body.len()));
    }
    let mut frame = Vec::with_capacity(4 + body.len());
    frame.extend_from_slice(&(body.len() as u32).to_le_bytes());
    frame.extend_from_slice(body);
    output.write_all(&frame)?;
    output.flush()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Proves that frames come back as they were written, one after the other, until the end.
        #[test]
        fn frames_come_back(bodies in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..8)) {
            let mut stream = Vec::new();
            for body in &bodies {
                write_frame(&mut stream, body).unwrap();
            }
            let mut input = stream.as_slice();
            for body in &bodies {
                let read = read_frame(&mut input).unwrap();
                prop_assert_eq!(read.as_ref(), Some(body));
            }
            prop_assert!(read_frame(&mut input).unwrap().is_none());
        }

        /// Proves that a stream which is cut anywhere is an end or an error, and never an incomplete frame.
        #[test]
        fn a_cut_stream_is_no_frame(body in prop::collection::vec(any::<u8>(), 1..300), cut in 0usize..300) {
            let mut stream = Vec::new();
            write_frame(&mut stream, &body).unwrap();
            let cut = cut.min(stream.len() - 1);
            let read = read_frame(&mut &stream[..cut]);
            let is_refused = if cut == 0 { matches!(read, Ok(None)) } else { matches!(read, Err(FrameError::Short)) };
            prop_assert!(is_refused);
        }
    }

    /// Proves that a length beyond the limit is refused before any memory is taken for it.
    #[test]
    fn a_length_beyond_the_limit_is_refused() {
        let mut input: &[u8] = &[0xff, 0xff, 0xff, 0xff, 1, 2, 3];
        assert!(matches!(read_frame(&mut input), Err(FrameError::TooLong(_))));
        let long = vec![0; FRAME_BYTES_LIMIT + 1];
        assert!(matches!(write_frame(&mut Vec::new(), &long), Err(FrameError::TooLong(_))));
    }
}

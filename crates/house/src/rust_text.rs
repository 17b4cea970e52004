//! Rust source split into code, comments and string literals.

/// Kind of a piece of source text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PieceKind {
    /// Code.
    Code,
    /// Line or block comment.
    Comment,
    /// String literal, raw or not.
    Text,
}

/// Piece of a source file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece<'a> {
    /// Kind of the piece.
    pub kind: PieceKind,
    /// Line of its first character, from 1.
    pub line: usize,
    /// Its text.
    pub text: &'a str,
}

/// Splits Rust source into pieces. Character literals belong to the code.
pub fn pieces(source: &str) -> Vec<Piece<'_>> {
    let bytes = source.as_bytes();
    let (mut pieces, mut start, mut at) = (Vec::new(), 0, 0);
    while at < bytes.len() {
        let is_in_word = at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
        let found = match bytes[at] {
            b'/' if bytes.get(at + 1) == Some(&b'/') => Some((PieceKind::Comment, line_end(bytes, at))),
            b'/' if bytes.get(at + 1) == Some(&b'*') => Some((PieceKind::Comment, block_end(bytes, at))),
            b'"' => Some((PieceKind::Text, quote_end(bytes, at + 1))),
            b'r' if !is_in_word || bytes[at - 1] == b'b' => {
                raw_end(bytes, at + 1).map(|end| (PieceKind::Text, end))
            }
            b'\'' => {
                at = character_end(bytes, at);
                None
            }
            _ => None,
        };
        let Some((kind, end)) = found else {
            at += 1;
            continue;
        };
        push(&mut pieces, source, PieceKind::Code, start, at);
        push(&mut pieces, source, kind, at, end);
        (start, at) = (end, end);
    }
    push(&mut pieces, source, PieceKind::Code, start, bytes.len());
    pieces
}

fn push<'a>(pieces: &mut Vec<Piece<'a>>, source: &'a str, kind: PieceKind, start: usize, end: usize) {
    if start < end {
        let line = source.as_bytes()[..start].iter().filter(|byte| **byte == b'\n').count() + 1;
        pieces.push(Piece { kind, line, text: &source[start..end] });
    }
}

fn line_end(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |length| at + length)
}

fn block_end(bytes: &[u8], at: usize) -> usize {
    bytes[at + 2..].windows(2).position(|pair| pair == b"*/").map_or(bytes.len(), |length| at + length + 4)
}

fn quote_end(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(bytes.len())
}

fn raw_end(bytes: &[u8], at: usize) -> Option<usize> {
    let hashes = bytes[at..].iter().take_while(|byte| **byte == b'#').count();
    if bytes.get(at + hashes) != Some(&b'"') {
        return None;
    }
    let close: Vec<u8> = std::iter::once(b'"').chain(std::iter::repeat_n(b'#', hashes)).collect();
    let text = at + hashes + 1;
    let length = bytes[text..].windows(close.len()).position(|window| window == close);
    Some(length.map_or(bytes.len(), |length| text + length + close.len()))
}

/// Last byte of a character literal, or the apostrophe of a lifetime.
fn character_end(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at + 1..];
    let limit = rest.len().min(12);
    match rest.first() {
        Some(b'\\') => rest[2.min(limit)..limit]
            .iter()
            .position(|byte| *byte == b'\'')
            .map_or(at, |length| at + length + 3),
        Some(first) => {
            let width = match first {
                0xf0.. => 4,
                0xe0.. => 3,
                0xc0.. => 2,
                _ => 1,
            };
            if rest.get(width) == Some(&b'\'') { at + width + 1 } else { at }
        }
        None => at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that code, comments, plain and raw strings, characters and lifetimes are told apart, with their lines.
    #[test]
    fn pieces_are_told_apart() {
        let source = "let a: &'x str = \"q\\\"//\"; // say\nlet b = (r#\"\"told\"\"#, '\"', '\\'', b\"c\"); /* d\n*/ e";
        let found: Vec<_> =
            pieces(source).into_iter().map(|piece| (piece.kind, piece.line, piece.text)).collect();
        assert_eq!(
            found,
            [
                (PieceKind::Code, 1, "let a: &'x str = "),
                (PieceKind::Text, 1, "\"q\\\"//\""),
                (PieceKind::Code, 1, "; "),
                (PieceKind::Comment, 1, "// say"),
                (PieceKind::Code, 1, "\nlet b = ("),
                (PieceKind::Text, 2, "r#\"\"told\"\"#"),
                (PieceKind::Code, 2, ", '\"', '\\'', b"),
                (PieceKind::Text, 2, "\"c\""),
                (PieceKind::Code, 2, "); "),
                (PieceKind::Comment, 2, "/* d\n*/"),
                (PieceKind::Code, 3, " e"),
            ]
        );
    }
}

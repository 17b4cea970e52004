//! Words of an expression.

/// The longest expression, in characters.
pub(super) const EXPRESSION_CHARS_LIMIT: usize = 4_000;

/// A mistake in an expression: where, in characters from its start, and what.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mistake {
    pub at: usize,
    pub width: usize,
    pub message: String,
    pub hint: Option<String>,
}

impl Mistake {
    pub fn new(at: usize, width: usize, message: impl Into<String>) -> Mistake {
        Mistake { at, width: width.max(1), message: message.into(), hint: None }
    }

    pub fn with_hint(self, hint: impl Into<String>) -> Mistake {
        Mistake { hint: Some(hint.into()), ..self }
    }

    pub fn maybe_hint(self, hint: Option<String>) -> Mistake {
        Mistake { hint, ..self }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Number(f64),
    /// A name; also operators that are words, and units after numbers.
    Name(String),
    /// Everything between braces.
    Braces(String),
    Sign(&'static str),
}

/// A token with its place in characters.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Lexeme {
    pub token: Token,
    pub at: usize,
    pub width: usize,
}

const SIGNS: &[&str] =
    &["..", "<=", ">=", "<", ">", "~", "+", "-", "*", "/", "÷", "×", "(", ")", "[", "]", ":", ",", "%"];

pub(super) fn lex(text: &str) -> Result<Vec<Lexeme>, Mistake> {
    let chars: Vec<char> = text.chars().collect();
    if chars.len() > EXPRESSION_CHARS_LIMIT {
        let message = format!("an expression has at most {EXPRESSION_CHARS_LIMIT} characters");
        return Err(Mistake::new(0, 1, message));
    }
    let mut lexemes = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let c = chars[at];
        if c.is_whitespace() {
            at += 1;
            continue;
        }
        let (token, width) = if c.is_ascii_digit() {
            number(&chars, at)?
        } else if is_name_start(c) {
            name(&chars, at)
        } else if c == '{' {
            braces(&chars, at)?
        } else {
            sign(&chars, at)?
        };
        lexemes.push(Lexeme { token, at, width });
        at += width;
    }
    Ok(lexemes)
}

fn is_name_start(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || c == 'µ'
}

/// `1.5e3`, `500_000`; two dots are a range, not a decimal point.
fn number(chars: &[char], at: usize) -> Result<(Token, usize), Mistake> {
    let mut end = at;
    let is_digit = |index: usize| chars.get(index).is_some_and(char::is_ascii_digit);
    while is_digit(end) || (chars.get(end) == Some(&'_') && is_digit(end + 1)) {
        end += 1;
    }
    if chars.get(end) == Some(&'.') && is_digit(end + 1) {
        end += 1;
        while is_digit(end) {
            end += 1;
        }
    }
    if matches!(chars.get(end), Some('e' | 'E')) {
        let signed = usize::from(matches!(chars.get(end + 1), Some('-' | '+')));
        if is_digit(end + 1 + signed) {
            end += 1 + signed;
            while is_digit(end) {
                end += 1;
            }
        }
    }
    let text: String = chars[at..end].iter().filter(|c| **c != '_').collect();
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok((Token::Number(value), end - at)),
        _ => Err(Mistake::new(at, end - at, format!("`{text}` is not a number"))),
    }
}

/// Letters, digits, `_`, and `.` and `-` between them: `read.latency_ns.p99.9`, `write-cliff.onset_s`. A minus sign has a
/// blank before it.
fn name(chars: &[char], at: usize) -> (Token, usize) {
    let is_part = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | 'µ');
    let mut end = at;
    loop {
        match chars.get(end) {
            Some(c) if is_part(c) => end += 1,
            Some('.' | '-') if chars.get(end + 1).is_some_and(is_part) => end += 2,
            _ => break,
        }
    }
    (Token::Name(chars[at..end].iter().collect()), end - at)
}

fn braces(chars: &[char], at: usize) -> Result<(Token, usize), Mistake> {
    match chars[at..].iter().position(|c| *c == '}') {
        Some(length) => Ok((Token::Braces(chars[at + 1..at + length].iter().collect()), length + 1)),
        None => Err(Mistake::new(at, 1, "`{` has no `}`")),
    }
}

fn sign(chars: &[char], at: usize) -> Result<(Token, usize), Mistake> {
    let stands = |sign: &&&str| sign.chars().enumerate().all(|(index, c)| chars.get(at + index) == Some(&c));
    match SIGNS.iter().find(stands) {
        Some(sign) => Ok((Token::Sign(sign), sign.chars().count())),
        None => Err(Mistake::new(at, 1, format!("`{}` has no meaning here", chars[at].escape_default()))
            .with_hint("comparisons are < <= > >= ~ and `in a..b`; words are and, or, not")),
    }
}

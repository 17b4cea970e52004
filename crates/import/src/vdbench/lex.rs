//! Lines of a parameter file as statements of `keyword=value` parameters.

use crate::{ImportError, ImportWarning};
use std::path::{Path, PathBuf};

/// The longest file, with what it includes.
const LENGTH_LIMIT_BYTES: usize = 4 << 20;
/// The most parameters of a file.
const PARAMETER_LIMIT: usize = 100_000;
/// Largest depth of nested parentheses.
const NESTING_LIMIT: usize = 8;

/// `keyword=value` or `keyword=(value,…)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parameter {
    /// Keyword in lower case.
    pub keyword: String,
    /// Values of the parameter: one, or those of the list.
    pub values: Vec<String>,
    /// The file it stands in.
    pub file: PathBuf,
    pub line: usize,
    pub column: usize,
}

impl Parameter {
    /// Returns the text as written, but for blanks and quotes.
    pub fn written(&self) -> String {
        match self.values.as_slice() {
            [value] => format!("{}={value}", self.keyword),
            values => format!("{}=({})", self.keyword, values.join(",")),
        }
    }

    pub fn invalid(&self, message: impl Into<String>) -> ImportError {
        ImportError::Invalid {
            path: self.file.clone(),
            line: self.line,
            column: self.column,
            message: format!("`{}`: {}", self.written(), message.into()),
            hint: None,
        }
    }

    pub fn warning(&self, text: impl Into<String>) -> ImportWarning {
        ImportWarning { file: self.file.clone(), line: self.line, column: self.column, text: text.into() }
    }
}

/// The parameters of one statement; the first says which one it is.
pub(crate) type Statement = Vec<Parameter>;

/// A character and where it stands.
#[derive(Debug, Clone, Copy)]
struct Placed {
    c: char,
    line: usize,
    column: usize,
}

/// Reads the statements of a file and of the files that it includes, one level deep.
pub(crate) fn statements(
    path: &Path,
    text: &str,
    include: &mut dyn FnMut(&str) -> std::io::Result<String>,
    warnings: &mut Vec<ImportWarning>,
) -> Result<Vec<Statement>, ImportError> {
    let mut lexer = Lexer { include, warnings, statements: Vec::new(), length_bytes: 0, parameters: 0 };
    lexer.read(path, text, true)?;
    Ok(lexer.statements)
}

struct Lexer<'a> {
    include: &'a mut dyn FnMut(&str) -> std::io::Result<String>,
    warnings: &'a mut Vec<ImportWarning>,
    statements: Vec<Statement>,
    length_bytes: usize,
    parameters: usize,
}

impl Lexer<'_> {
    fn read(&mut self, path: &Path, text: &str, may_include: bool) -> Result<(), ImportError> {
        self.length_bytes = self.length_bytes.saturating_add(text.len());
        if self.length_bytes > LENGTH_LIMIT_BYTES {
            let limit_bytes = LENGTH_LIMIT_BYTES as u64;
            return Err(ImportError::TooLong { path: path.to_owned(), limit_bytes });
        }
        let mut pending: Vec<Placed> = Vec::new();
        let mut lines = text.lines().enumerate();
        while let Some((index, raw)) = lines.next() {
            let line = index + 1;
            let trimmed = raw.trim();
            if trimmed.is_empty() || trimmed.starts_with(['/', '#', '*']) {
                continue;
            }
            if trimmed.eq_ignore_ascii_case("eof") {
                if let Some((after, _)) = lines.find(|(_, rest)| !rest.trim().is_empty()) {
                    let text = "lines after `eof` are not read, by vdbench either".to_owned();
                    self.warnings.push(ImportWarning {
                        file: path.to_owned(),
                        line: after + 1,
                        column: 1,
                        text,
                    });
                }
                break;
            }
            if let Some(name) = trimmed.strip_prefix("include=") {
                let name = name.split_whitespace().next().unwrap_or_default();
                let invalid = |message: String| ImportError::Invalid {
                    path: path.to_owned(),
                    line,
                    column: 1,
                    message,
                    hint: None,
                };
                if !may_include {
                    return Err(invalid(
                        "an included file includes another, which vdbench does not allow".into(),
                    ));
                }
                let included = (self.include)(name)
                    .map_err(|error| invalid(format!("cannot read the included `{name}`: {error}")))?;
                let included_path = path.parent().unwrap_or(Path::new("")).join(name);
                self.read(&included_path, &included, false)?;
                continue;
            }
            let indent = raw.chars().take_while(|c| c.is_whitespace()).count();
            pending.extend(content(trimmed, line, indent));
            if pending.last().is_some_and(|last| last.c != ',') {
                self.statement(path, &std::mem::take(&mut pending))?;
            }
        }
        if let Some(last) = pending.pop() {
            let text = "the file ends where a line says that it goes on".to_owned();
            self.warnings.push(ImportWarning {
                file: path.to_owned(),
                line: last.line,
                column: last.column,
                text,
            });
            self.statement(path, &pending)?;
        }
        Ok(())
    }

    fn statement(&mut self, path: &Path, text: &[Placed]) -> Result<(), ImportError> {
        let mut parameters: Statement = Vec::new();
        for part in split(path, text)? {
            let Some(first) = part.first() else { continue };
            let invalid = |message: String| ImportError::Invalid {
                path: path.to_owned(),
                line: first.line,
                column: first.column,
                message,
                hint: Some("a parameter is `keyword=value` or `keyword=(value,value)`".into()),
            };
            let Some(equals) = part.iter().position(|placed| placed.c == '=') else {
                // `distribution=spike,(10,5)` and the like go on without a keyword.
                if let (Some(before), '(') = (parameters.last_mut(), first.c) {
                    before.values.extend(values(path, part)?);
                    continue;
                }
                return Err(invalid(format!("`{}` has no `=`", written(part))));
            };
            let keyword = written(&part[..equals]).trim().to_ascii_lowercase();
            let is_word = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
            if keyword.chars().count() < 2 || !keyword.chars().all(is_word) {
                return Err(invalid(format!("`{keyword}` is no keyword")));
            }
            self.parameters += 1;
            if self.parameters > PARAMETER_LIMIT {
                return Err(invalid(format!("more than {PARAMETER_LIMIT} parameters")));
            }
            parameters.push(Parameter {
                keyword,
                values: values(path, &part[equals + 1..])?,
                file: path.to_owned(),
                line: first.line,
                column: first.column,
            });
        }
        if !parameters.is_empty() {
            self.statements.push(parameters);
        }
        Ok(())
    }
}

/// A line up to its first blank outside of quotes; the rest is a comment.
fn content(trimmed: &str, line: usize, indent: usize) -> Vec<Placed> {
    let mut is_quoted = false;
    let mut placed = Vec::new();
    for (index, c) in trimmed.chars().enumerate() {
        if c == '"' {
            is_quoted = !is_quoted;
        }
        if c.is_whitespace() && !is_quoted {
            break;
        }
        placed.push(Placed { c, line, column: indent + index + 1 });
    }
    placed
}

fn written(part: &[Placed]) -> String {
    part.iter().map(|placed| placed.c).collect()
}

/// The parts between commas outside of parentheses and quotes.
fn split<'a>(path: &Path, text: &'a [Placed]) -> Result<Vec<&'a [Placed]>, ImportError> {
    let mut parts = Vec::new();
    let (mut start, mut depth, mut is_quoted) = (0, 0usize, false);
    let mut opened: Option<Placed> = None;
    for (index, placed) in text.iter().enumerate() {
        let invalid = |message: &str| ImportError::Invalid {
            path: path.to_owned(),
            line: placed.line,
            column: placed.column,
            message: message.into(),
            hint: None,
        };
        match placed.c {
            '"' => is_quoted = !is_quoted,
            '(' if !is_quoted => {
                depth += 1;
                opened = Some(*placed);
                if depth > NESTING_LIMIT {
                    return Err(invalid("parentheses nest too deep"));
                }
            }
            ')' if !is_quoted => {
                depth = depth
                    .checked_sub(1)
                    .ok_or_else(|| invalid("a parenthesis is closed that was not opened"))?;
            }
            ',' if !is_quoted && depth == 0 => {
                parts.push(&text[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    if let (Some(opened), true) = (opened, depth > 0) {
        return Err(ImportError::Invalid {
            path: path.to_owned(),
            line: opened.line,
            column: opened.column,
            message: "a parenthesis is not closed".into(),
            hint: Some("a line goes on in the next one only where it ends with a comma".into()),
        });
    }
    parts.push(&text[start..]);
    Ok(parts)
}

/// The values behind the `=`; lists in lists are laid flat.
fn values(path: &Path, part: &[Placed]) -> Result<Vec<String>, ImportError> {
    let inner = match part {
        [first, inner @ .., last] if first.c == '(' && last.c == ')' => inner,
        _ => return Ok(vec![unquoted(part)]),
    };
    let mut all = Vec::new();
    for piece in split(path, inner)? {
        if piece.first().is_some_and(|first| first.c == '(') {
            all.extend(values(path, piece)?);
        } else if !piece.is_empty() {
            all.push(unquoted(piece));
        }
    }
    Ok(all)
}

fn unquoted(part: &[Placed]) -> String {
    part.iter().map(|placed| placed.c).filter(|c| *c != '"').collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lexed(text: &str) -> Result<(Vec<Statement>, Vec<String>), String> {
        let mut warnings = Vec::new();
        let mut include = |name: &str| match name {
            "one" => Ok("compratio=2\n".to_owned()),
            "two" => Ok("include=one\n".to_owned()),
            _ => Err(std::io::ErrorKind::NotFound.into()),
        };
        statements(Path::new("p"), text, &mut include, &mut warnings)
            .map(|found| (found, warnings.iter().map(ToString::to_string).collect()))
            .map_err(|error| error.to_string())
    }

    /// Proves comments, continuation, quotes, lists and places.
    #[test]
    fn statements_are_found() {
        let text = "* one\n# two\n/ three\n\n  sd=sd1,lun=\"/dev/a b,c\", goes on\n threads=4 tail=ignored\nrd=r,forthreads=(1-64,d),\n* between\ncurve=((1,2),3)\neof\nrest=1\n";
        let (found, warnings) = lexed(text).unwrap();
        let written: Vec<Vec<String>> =
            found.iter().map(|statement| statement.iter().map(Parameter::written).collect()).collect();
        assert_eq!(
            written,
            [
                vec!["sd=sd1", "lun=/dev/a b,c", "threads=4"],
                vec!["rd=r", "forthreads=(1-64,d)", "curve=(1,2,3)"]
            ]
        );
        assert_eq!((found[0][1].line, found[0][1].column), (5, 10));
        assert_eq!((found[0][2].line, found[0][2].column), (6, 2));
        assert_eq!(warnings, ["p:11:1: lines after `eof` are not read, by vdbench either"]);
    }

    /// Proves that files are included one level deep.
    #[test]
    fn one_level_of_includes() {
        assert_eq!(lexed("include=one\nsd=a1\n").unwrap().0.len(), 2);
        assert!(
            lexed("\ninclude=two\n").unwrap_err().starts_with("two:1:1: an included file includes another")
        );
        assert!(lexed("include=gone\n").unwrap_err().starts_with("p:1:1: cannot read the included `gone`"));
    }

    /// Proves that each error names its place.
    #[test]
    fn errors_have_a_place() {
        assert!(lexed("sd=a,(b\n").unwrap_err().starts_with("p:1:6: a parenthesis is not closed"));
        assert!(lexed("sd=a)\n").unwrap_err().starts_with("p:1:5: a parenthesis is closed"));
        assert!(lexed("sd=a,fast\n").unwrap_err().starts_with("p:1:6: `fast` has no `=`"));
        assert!(lexed("=a\n").unwrap_err().starts_with("p:1:1: `` is no keyword"));
        assert!(lexed(&format!("sd={}\n", "(".repeat(20))).unwrap_err().contains("too deep"));
        assert_eq!(lexed("sd=a,\n").unwrap().1.len(), 1);
    }
}

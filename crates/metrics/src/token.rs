//! The token that permits changes: a file that only its owner reads.

use diagnostic::Diagnostic;
use rustix::fs::OFlags;
use std::borrow::Cow;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use subtle::ConstantTimeEq as _;

/// Random bytes of a token that is made here: nobody guesses 256 bits.
const RANDOM_BYTES: usize = 32;
/// Shorter ones could be guessed.
const LENGTH_LIMITS_BYTES: std::ops::RangeInclusive<usize> = 16..=256;
const OWNER_ONLY: u32 = 0o600;

/// Token that a client shows to change something.
pub struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Errors of the token file.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file cannot be read or made.
    #[error("cannot use {path} as the token's file")]
    File {
        /// Path of the file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// Another user could read or replace the file.
    #[error("{0} holds a token, and others than its owner may read or write it")]
    Exposed(PathBuf),
    /// The file holds no token.
    #[error("{0} holds no token: one line of 16 to 256 printable characters without spaces")]
    Unusable(PathBuf),
}

impl Diagnostic for TokenError {
    fn hint(&self) -> Option<Cow<'_, str>> {
        match self {
            TokenError::File { .. } => None,
            TokenError::Exposed(_) => Some("chmod 600, as the user who serves".into()),
            TokenError::Unusable(_) => {
                Some("name a file that does not exist, and a token is made there".into())
            }
        }
    }
}

impl Token {
    /// The token in a file. Where there is no file, a token is made and kept there.
    pub fn read_or_make(path: &Path) -> Result<Token, TokenError> {
        let failed = |source| TokenError::File { path: path.to_owned(), source };
        match make(path) {
            Ok(token) => Ok(token),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => read(path),
            Err(error) => Err(failed(error)),
        }
    }

    /// A token of the system's randomness, which is kept nowhere.
    pub fn random() -> io::Result<Token> {
        let mut random = [0u8; RANDOM_BYTES];
        let filled = rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
        if filled < RANDOM_BYTES {
            return Err(io::Error::other("the system has too little randomness"));
        }
        Ok(Token(random.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// Returns the text of the token, for those who may have it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Returns true if this is the token. Takes as long for any other of the same length, so that the duration gives nothing
    /// away.
    pub(crate) fn is(&self, shown: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(shown).into()
    }
}

fn make(path: &Path) -> io::Result<Token> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(OWNER_ONLY).open(path)?;
    let token = Token::random()?;
    file.write_all(format!("{}\n", token.0).as_bytes())?;
    file.sync_all()?;
    Ok(token)
}

fn read(path: &Path) -> Result<Token, TokenError> {
    let failed = |source| TokenError::File { path: path.to_owned(), source };
    // A link could lead to a file of somebody else's choice, a pipe would never end.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(TokenError::Unusable(path.to_owned()));
    }
    let is_own = metadata.uid() == rustix::process::geteuid().as_raw();
    if !is_own || metadata.mode() & 0o077 != 0 {
        return Err(TokenError::Exposed(path.to_owned()));
    }
    let text = text_of(file).map_err(failed)?;
    let token = text.trim_end_matches(['\n', '\r']);
    let is_printable = token.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_printable || !LENGTH_LIMITS_BYTES.contains(&token.len()) {
        return Err(TokenError::Unusable(path.to_owned()));
    }
    Ok(Token(token.to_owned()))
}

fn text_of(file: File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.take(*LENGTH_LIMITS_BYTES.end() as u64 + 3).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    /// Proves that a token is made once, for its owner alone, and that it and nothing else is admitted.
    #[test]
    fn a_token_is_made_and_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("token");
        let made = Token::read_or_make(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.trim_end().len(), 2 * RANDOM_BYTES);
        assert!(made.is(text.trim_end().as_bytes()));
        assert!(Token::read_or_make(&path).unwrap().is(text.trim_end().as_bytes()));
        for other in [&b""[..], b"x", text.as_bytes(), &[0; 64], &text.as_bytes()[..63]] {
            assert!(!made.is(other));
        }
        assert!(!format!("{made:?}").contains(&text[..8]));
        let second = Token::read_or_make(&directory.path().join("other")).unwrap();
        assert!(!second.is(text.trim_end().as_bytes()));
    }

    /// Proves that a file that others may read, a link, a directory and a file without a token are refused with a reason.
    #[test]
    fn what_is_not_safe_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let write = |name: &str, text: &str, mode| {
            fs::write(at(name), text).unwrap();
            fs::set_permissions(at(name), fs::Permissions::from_mode(mode)).unwrap();
        };
        write("good", "0123456789abcdef\n", 0o600);
        write("open", "0123456789abcdef\n", 0o640);
        write("short", "secret\n", 0o600);
        write("spaces", "0123456789 abcdef\n", 0o600);
        write("long", &"x".repeat(10_000), 0o600);
        symlink(at("good"), at("link")).unwrap();
        fs::create_dir(at("directory")).unwrap();
        assert!(Token::read_or_make(&at("good")).is_ok());
        for (name, words) in [
            ("open", "others than its owner"),
            ("short", "no token"),
            ("spaces", "no token"),
            ("long", "no token"),
            ("link", "cannot use"),
            ("directory", "no token"),
            ("missing/token", "cannot use"),
        ] {
            let error = diagnostic::full_text(&Token::read_or_make(&at(name)).unwrap_err());
            assert!(error.contains(words), "{name}: {error}");
        }
    }
}

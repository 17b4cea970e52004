//! Quoting of words for a POSIX shell: `ssh` hands one string to the shell of the other host.

/// Quotes a word so that a shell reads it back unchanged. Single quotes protect every character but themselves.
pub fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::process::Command;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
        /// Proves with a real shell that any word comes out as it went in: quotes, newlines, `$()`, back quotes.
        #[test]
        fn a_shell_reads_the_word_back(word in "[^\\x00]{0,60}") {
            let script = format!("printf %s {}", quote(&word));
            let output = Command::new("sh").args(["-c", &script]).output().unwrap();
            prop_assert_eq!(String::from_utf8(output.stdout).unwrap(), word);
        }
    }

    /// Proves the same for what is dangerous on purpose, and that nothing of it is run.
    #[test]
    fn dangerous_words_are_words() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("made");
        let touch = format!("touch {}", file.display());
        for word in [
            format!("$({touch})"),
            format!("`{touch}`"),
            format!("'; {touch}; '"),
            format!("\n{touch}\n"),
            format!("'\\''; {touch} #"),
            "~/x*?[a]{b,c}!".to_owned(),
        ] {
            let script = format!("printf %s {}", quote(&word));
            let output = Command::new("sh").args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), word);
            assert!(!file.exists(), "{word}");
        }
    }
}

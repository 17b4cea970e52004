//! Names with `*`.

/// Returns true if the name matches the pattern, in which each `*` stands for any characters, or none.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

pub(super) fn any_matches(patterns: &[String], name: &str) -> bool {
    patterns.iter().any(|pattern| matches(pattern, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that a star stands for any characters and that parts must follow one another without overlap.
    #[test]
    fn stars_stand_for_anything() {
        for (pattern, name) in [
            ("a", "a"),
            ("*", ""),
            ("node_*", "node_x"),
            ("*_total", "a_total"),
            ("a*b*c", "a-b-b-c"),
            ("a*a", "aa"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in
            [("a", "ab"), ("", "a"), ("a*a", "a"), ("a*b*c", "acb"), ("*x", "xy"), ("ab*", "a")]
        {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }
}

//! Texts of refusals: the nearest known word, and quotes of a file that stay short.

/// The known word nearest to `word`, where it is near enough to be what was meant.
///
/// Near enough: at most a third of the letters differ, counted as by Damerau and Levenshtein (a swap of two
/// neighbours is one mistake), and never more than three.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    // A word of a hostile file may be long; no known word is.
    if word.len() > 64 {
        return None;
    }
    let allowed = (word.chars().count() / 3).clamp(1, 3);
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&word, &candidate.to_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// `did you mean `bs`?`, or the list of what there is.
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> Option<String> {
    if let Some(candidate) = nearest(word, known.clone()) {
        return Some(format!("did you mean `{candidate}`?"));
    }
    let all: Vec<&str> = known.into_iter().collect();
    (!all.is_empty()).then(|| format!("known here: {}", all.join(", ")))
}

/// The hint, empty where nothing is known.
pub(crate) fn hint_of<'a>(word: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    did_you_mean(word, known).unwrap_or_default()
}

/// Shortens a text of a file for quotation in a message: one line, at most this many characters.
pub fn shorten(text: &str, characters: usize) -> String {
    let clean: String =
        text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(characters + 1).collect();
    if clean.chars().count() > characters {
        clean.chars().take(characters).chain(['…']).collect()
    } else {
        clean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that slips of the finger find their word and that other words find none.
    #[test]
    fn slips_find_their_word() {
        let known = ["bs", "iodepth", "numjobs", "rwmixread"];
        assert_eq!(nearest("iodpeth", known), Some("iodepth"));
        assert_eq!(nearest("numjob", known), Some("numjobs"));
        assert_eq!(nearest("RWMIXREAD", known), Some("rwmixread"));
        assert_eq!(nearest("colour", known), None);
        assert_eq!(nearest(&"x".repeat(100_000), known), None);
    }
}

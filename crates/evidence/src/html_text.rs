//! Text of an HTML page, to hold against the texts of the report's JSON.

/// The text between the tags, with one blank for every run of blanks and tags and a backtick on either side of code, as the JSON
/// has it; scripts and styles left out.
pub(crate) fn visible_text(page: &str) -> String {
    let mut text = String::with_capacity(page.len() / 2);
    let mut rest = page;
    while let Some(start) = rest.find('<') {
        push(&mut text, &rest[..start]);
        rest = &rest[start..];
        let closing = ["script", "style"].into_iter().find(|name| rest[1..].starts_with(name));
        let end = match closing {
            Some(name) => rest.find(&format!("</{name}")),
            None => None,
        };
        rest = end.map_or(rest, |end| &rest[end..]);
        let Some(end) = rest.find('>') else { return text };
        let mark = if matches!(&rest[..=end], "<code>" | "</code>") { "`" } else { " " };
        push(&mut text, mark);
        rest = &rest[end + 1..];
    }
    push(&mut text, rest);
    text
}

/// A text with one blank for every run of white space.
pub(crate) fn normalized(words: &str) -> String {
    let mut text = String::with_capacity(words.len());
    push_plain(&mut text, words);
    text.trim_end().to_owned()
}

/// Returns true if a page has a text, and not only as a part of a longer word or number: `1.5 ms` is no part of `91.5 ms`.
pub(crate) fn has_text(page: &str, wanted: &str) -> bool {
    let is_part = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
    page.match_indices(wanted).any(|(at, _)| {
        let (before, after) = (page[..at].chars().next_back(), page[at + wanted.len()..].chars().next());
        let goes_on = |outer: Option<char>, inner: Option<char>| is_part(outer) && is_part(inner);
        !goes_on(before, wanted.chars().next()) && !goes_on(after, wanted.chars().next_back())
    })
}

fn push(text: &mut String, escaped: &str) {
    if !escaped.contains('&') {
        return push_plain(text, escaped);
    }
    let plain = escaped
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("&#x27;", "'")
        .replace("&amp;", "&");
    push_plain(text, &plain);
}

fn push_plain(text: &mut String, words: &str) {
    for letter in words.chars() {
        // No-break spaces stand between a number and its unit in both.
        if matches!(letter, ' ' | '\n' | '\t' | '\r') {
            if !text.is_empty() && !text.ends_with(' ') {
                text.push(' ');
            }
        } else {
            text.push(letter);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that tags, scripts and styles are left out, that escapes are read, that code is between backticks, and that a page
    /// which ends within a tag does no harm.
    #[test]
    fn tags_are_left_out() {
        let page = "<style>a{}</style><p>6&nbsp;%\n <b>a &lt; b &amp;amp;</b></p><script>if (a < b) {}</script><i>end";
        assert_eq!(visible_text(page), "6&nbsp;% a < b &amp; end");
        assert_eq!(visible_text("a <b"), "a ");
        assert_eq!(visible_text("<p>set <code>bs</code>, <code>a b</code>.</p>"), "set `bs`, `a b`. ");
        assert_eq!(normalized(" a \n b "), "a b");
    }

    /// Proves that a text is not found within a longer number or word, and is found beside signs.
    #[test]
    fn a_longer_number_is_another_one() {
        assert!(has_text("about 1.5 ms.", "1.5 ms") && has_text("(1.5 ms)", "1.5 ms"));
        assert!(!has_text("91.5 ms", "1.5 ms") && !has_text("1.5 msec", "1.5 ms"));
        assert!(has_text("91.5 ms and 1.5 ms", "1.5 ms"));
    }
}

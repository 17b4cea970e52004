//! Lists of processors, as fio's `cpus_allowed` has them.

/// The highest number of a processor: what the kernel's smallest set holds.
const PROCESSOR_LIMIT: usize = 1023;
/// Form of a processor list, to complete "must be …".
pub(super) const MUST_BE: &str = "numbers of processors and ranges of them, 0 to 1023, as in 0-3:8";

/// Reads `0-3:8`, and fio's own `0-3,8`: numbers in rising order, each once.
pub fn parse_processors(text: &str) -> Option<Vec<usize>> {
    let mut numbers = Vec::new();
    for part in text.split([',', ':']) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number =
            |text: &str| text.trim().parse::<usize>().ok().filter(|number| *number <= PROCESSOR_LIMIT);
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return None;
        }
        numbers.extend(first..=last);
    }
    numbers.sort_unstable();
    numbers.dedup();
    Some(numbers)
}

/// The one way in which a list is printed: without commas, which separate values on the command line.
pub(super) fn print(numbers: &[usize]) -> String {
    let ranges: Vec<String> = numbers
        .chunk_by(|a, b| a + 1 == *b)
        .map(|range| match range {
            [first, .., last] => format!("{first}-{last}"),
            _ => range.iter().map(usize::to_string).collect(),
        })
        .collect();
    ranges.join(":")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that lists are read as fio reads them and printed in one way, and that what is no list is refused.
    #[test]
    fn lists_of_fio() {
        let printed = |text: &str| parse_processors(text).map(|numbers| print(&numbers));
        assert_eq!(parse_processors("8,0-2"), Some(vec![0, 1, 2, 8]));
        for (text, wanted) in [("0-3,8", "0-3:8"), ("5:4:4", "4-5"), ("7", "7"), (" 1 - 1 ", "1")] {
            assert_eq!(printed(text).as_deref(), Some(wanted), "{text}");
        }
        for wrong in ["", "3-1", "a", "0-", "1024", "0,,1", "-1", "1.5"] {
            assert_eq!(printed(wrong), None, "{wrong}");
        }
    }
}

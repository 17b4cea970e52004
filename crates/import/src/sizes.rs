//! fio's mixes of sizes, `bssplit` and `bsrange`, as plans write them.

use std::collections::BTreeMap;

/// Normalises `4k/10:64k/50:32k/` by fio's rules: sizes without a share divide the rest, equal sizes are one, and the
/// last size gets what the shares leave of 100. `None` where the text is no such list.
pub(crate) fn normalized_split(text: &str) -> Option<String> {
    let mut sizes: Vec<(u64, Option<u64>)> = Vec::new();
    for part in text.split(':').filter(|part| !part.trim().is_empty()) {
        let (size, share) = part.split_once('/').unwrap_or((part, ""));
        let bytes = units::parse_bytes(size.trim()).ok().filter(|bytes| *bytes > 0)?;
        let share = share.trim().trim_end_matches('%');
        let share = if share.is_empty() { None } else { Some(share.parse::<u64>().ok()?) };
        sizes.push((bytes, share));
    }
    let given: u64 = sizes.iter().filter_map(|(_, share)| *share).sum();
    let left = 100u64.checked_sub(given)?;
    let open = sizes.iter().filter(|(_, share)| share.is_none()).count() as u64;
    let each = left.checked_div(open).unwrap_or(0);
    let mut shares: Vec<(u64, u64)> =
        sizes.iter().map(|(bytes, share)| (*bytes, share.unwrap_or(each))).collect();
    let rest = 100 - shares.iter().map(|(_, share)| share).sum::<u64>().min(100);
    shares.last_mut()?.1 += rest;
    let mut merged: Vec<(u64, u64)> = Vec::new();
    for (bytes, share) in shares.into_iter().filter(|(_, share)| *share > 0) {
        match merged.iter_mut().find(|(known, _)| *known == bytes) {
            Some((_, sum)) => *sum += share,
            None => merged.push((bytes, share)),
        }
    }
    print(&merged)
}

/// `4k-64k` as fio draws it: a number of bytes up to the largest, evenly, rounded down to a multiple of the smallest and
/// never below it. The smallest size has two parts, the largest next to none. None where it is no range; true beside it
/// where shares were rounded to whole percents.
pub(crate) fn split_of_range(text: &str) -> Option<(String, bool)> {
    let (least, most) = text.trim().split_once('-')?;
    let least = units::parse_bytes(least.trim()).ok().filter(|bytes| *bytes > 0)?;
    let most = units::parse_bytes(most.trim()).ok().filter(|bytes| *bytes >= least)?;
    let steps = most / least;
    if steps > load::SIZE_CLASSES_LIMIT as u64 {
        return None;
    }
    // Parts of `most` bytes that round to each size.
    let parts: BTreeMap<u64, u64> = (1..=steps)
        .map(|step| {
            let from = if step == 1 { 1 } else { step * least };
            let to = ((step + 1) * least - 1).min(most);
            (step * least, to - from + 1)
        })
        .collect();
    let parts: Vec<(u64, u64)> = parts.into_iter().collect();
    whole_percents(&parts)
}

/// Sizes from `least` to `most` in steps, each as likely as the others. None where they are too many.
pub(crate) fn even_split(least: u64, most: u64, step: u64) -> Option<(String, bool)> {
    let step = step.max(1);
    if least == 0 || most < least || (most - least) / step >= load::SIZE_CLASSES_LIMIT as u64 {
        return None;
    }
    let sizes: Vec<(u64, u64)> = (0..=(most - least) / step).map(|index| (least + index * step, 1)).collect();
    whole_percents(&sizes)
}

/// Parts of a whole as whole percents, by the largest remainder, so that they add up to 100; true beside them where that
/// changed a share by more than a fiftieth of a percent.
fn whole_percents(parts: &[(u64, u64)]) -> Option<(String, bool)> {
    let whole: u64 = parts.iter().map(|(_, part)| part).sum();
    let mut shares: Vec<(u64, u64, u64)> =
        parts.iter().map(|(size, part)| (*size, part * 100 / whole, part * 100 % whole)).collect();
    let is_rounded = shares.iter().any(|(.., rest)| (*rest).min(whole - rest) > whole / 50);
    let mut missing = 100 - shares.iter().map(|(_, share, _)| share).sum::<u64>();
    let mut by_rest: Vec<usize> = (0..shares.len()).collect();
    by_rest.sort_by_key(|index| std::cmp::Reverse(shares[*index].2));
    for index in by_rest {
        if missing > 0 {
            shares[index].1 += 1;
            missing -= 1;
        }
    }
    let sizes: Vec<(u64, u64)> =
        shares.into_iter().filter(|(_, share, _)| *share > 0).map(|(size, share, _)| (size, share)).collect();
    Some((print(&sizes)?, is_rounded))
}

fn print(sizes: &[(u64, u64)]) -> Option<String> {
    let parts: Vec<String> =
        sizes.iter().map(|(bytes, share)| format!("{}/{share}", units::Bytes(*bytes))).collect();
    (!parts.is_empty()).then(|| parts.join(":"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that a split has the shares that fio gives it: open ones, equal sizes and a remainder.
    #[test]
    fn splits_are_those_of_fio() {
        for (text, split) in [
            ("4k/10:64k/50:32k/40", "4k/10:64k/50:32k/40"),
            ("4k/50:64k/:32k/", "4k/50:64k/25:32k/25"),
            ("4k/33:8k/:16k/", "4k/33:8k/33:16k/34"),
            ("4k/30:8k/30", "4k/30:8k/70"),
            ("4k/50:4k/50", "4k/100"),
            ("4k/0:8k/100", "8k/100"),
            ("4k", "4k/100"),
        ] {
            assert_eq!(normalized_split(text).as_deref(), Some(split), "{text}");
        }
        for text in ["", "4k/90:8k/90", "x/50", "4k/x", "0/100"] {
            assert_eq!(normalized_split(text), None, "{text}");
        }
    }

    /// Proves that a range is the mix that fio draws from it.
    #[test]
    fn ranges_are_drawn_as_by_fio() {
        assert_eq!(split_of_range("4k-4k"), Some(("4k/100".into(), false)));
        assert_eq!(split_of_range("4k-16k"), Some(("4k/50:8k/25:12k/25".into(), false)));
        assert_eq!(split_of_range("1k-3k").map(|(split, _)| split), Some("1k/67:2k/33".into()));
        assert_eq!(even_split(4096, 16384, 4096), Some(("4k/25:8k/25:12k/25:16k/25".into(), false)));
        assert_eq!(even_split(512, 1536, 512), Some(("512/34:1k/33:1536/33".into(), true)));
        assert_eq!(split_of_range("512-1g"), None);
        assert_eq!(split_of_range("8k-4k"), None);
    }
}

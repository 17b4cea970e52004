//! fio's own notations in one value: `bssplit` and `random_distribution`.

use load::{BANDS_LIMIT, Band, Distribution, SIZE_CLASSES_LIMIT, SizeShare};
use std::fmt::Write as _;
use units::parse_bytes;

/// Form of `bssplit`, to complete "must be …".
pub(crate) const SIZES_MUST_BE: &str =
    "sizes with their shares in percent, as in 4k/30:64k/70; the shares add up to 100";
/// Form of `random_distribution`, to complete "must be …".
pub(crate) const DISTRIBUTION_MUST_BE: &str =
    "random, zipf:THETA, pareto:H or zoned:ACCESSES/SIZE:… in percent, as in zipf:1.1 or zoned:80/20:20/80";

/// Reads `4k/30:64k/70`. Shares that are left out (`4k/30:64k/`) get equal parts of what the others leave, as in fio.
pub(crate) fn parse_sizes(text: &str) -> Option<Vec<SizeShare>> {
    let mut sizes: Vec<(u32, Option<u32>)> = Vec::new();
    for part in text.split(':') {
        let (size, share) = part.split_once('/').unwrap_or((part, ""));
        let bs_bytes = u32::try_from(parse_bytes(size.trim()).ok()?).ok()?;
        let share = share.trim();
        let share = if share.is_empty() { None } else { Some(share.parse().ok()?) };
        let is_known = sizes.iter().any(|(known, _)| *known == bs_bytes);
        if bs_bytes == 0
            || !bs_bytes.is_multiple_of(512)
            || u64::from(bs_bytes) > super::BS_BYTES_LIMIT
            || is_known
            || share == Some(0)
            || sizes.len() == SIZE_CLASSES_LIMIT
        {
            return None;
        }
        sizes.push((bs_bytes, share));
    }
    let given = sizes.iter().try_fold(0u32, |sum, (_, share)| sum.checked_add(share.unwrap_or(0)))?;
    let left = 100u32.checked_sub(given)?;
    let open = sizes.iter().filter(|(_, share)| share.is_none()).count() as u32;
    let each = left.checked_div(open).unwrap_or(0);
    if (open == 0 && left > 0) || (open > 0 && (each == 0 || each * open != left)) {
        return None;
    }
    Some(
        sizes
            .into_iter()
            .map(|(bs_bytes, share)| SizeShare { bs_bytes, weight: share.unwrap_or(each) })
            .collect(),
    )
}

/// The one way in which a mix is printed.
pub(crate) fn print_sizes(sizes: &[SizeShare]) -> String {
    let mut text = String::new();
    for (index, size) in sizes.iter().enumerate() {
        let colon = if index > 0 { ":" } else { "" };
        let _ = write!(text, "{colon}{}/{}", size.bs_bytes, size.weight);
    }
    text
}

/// Reads fio's `random_distribution`. `random` is uniform; whether a block may come twice is `norandommap`'s matter.
pub(crate) fn parse_distribution(text: &str) -> Option<Distribution> {
    let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
    let number = |least: f64, most: f64| {
        let value: f64 = rest.parse().ok()?;
        (value > least && value < most).then_some(value)
    };
    match kind {
        "random" if rest.is_empty() => Some(Distribution::Uniform),
        "zipf" => Some(Distribution::Zipf { theta: number(0.0, 100.0)? }),
        "pareto" => Some(Distribution::Pareto { h: number(0.0, 0.5)? }),
        "zoned" => parse_bands(rest).map(Distribution::Bands),
        _ => None,
    }
}

/// Reads `80/20:20/80`. The last zone may leave its size out: it has what the others leave, as in fio.
fn parse_bands(text: &str) -> Option<Vec<Band>> {
    let percent = |text: &str| text.trim().parse::<u32>().ok().filter(|percent| *percent <= 100);
    let mut bands: Vec<Band> = Vec::new();
    let mut parts = text.split(':').peekable();
    while let Some(part) = parts.next() {
        let (accesses, size) = part.split_once('/')?;
        let given = bands.iter().map(|band| band.size_percent).sum::<u32>();
        let size_percent = match (size.trim(), parts.peek()) {
            ("", None) => 100u32.checked_sub(given)?,
            (size, _) => percent(size)?,
        };
        if bands.len() == BANDS_LIMIT {
            return None;
        }
        bands.push(Band { access_percent: percent(accesses)?, size_percent });
    }
    let sum = |share: fn(&Band) -> u32| bands.iter().map(share).sum::<u32>();
    let is_whole = sum(|band| band.access_percent) == 100
        && sum(|band| band.size_percent) == 100
        && bands.iter().all(|band| band.access_percent == 0 || band.size_percent > 0);
    is_whole.then_some(bands)
}

/// The one way in which a distribution is printed.
pub(crate) fn print_distribution(distribution: &Distribution) -> String {
    match distribution {
        Distribution::Uniform | Distribution::NoRepeat => "random".to_owned(),
        Distribution::Zipf { theta } => format!("zipf:{theta}"),
        Distribution::Pareto { h } => format!("pareto:{h}"),
        Distribution::Bands(bands) => {
            let mut text = "zoned".to_owned();
            for band in bands {
                let _ = write!(text, ":{}/{}", band.access_percent, band.size_percent);
            }
            text
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that fio's notations are read as fio reads them, and that what adds up to nothing is refused.
    #[test]
    fn notations_of_fio() {
        let printed = |text: &str| parse_sizes(text).map(|sizes| print_sizes(&sizes));
        assert_eq!(printed("4k/30:64k/70").as_deref(), Some("4096/30:65536/70"));
        assert_eq!(printed("4k/50:64k/:32k/").as_deref(), Some("4096/50:65536/25:32768/25"));
        assert_eq!(printed("8k").as_deref(), Some("8192/100"));
        for wrong in
            ["", "4k/0:8k/100", "4k/30:8k/60", "4k/30:8k/80", "4k/50:4k/50", "100/100", "4k/:8k/:16k/"]
        {
            assert_eq!(printed(wrong), None, "{wrong}");
        }
        let printed = |text: &str| parse_distribution(text).map(|it| print_distribution(&it));
        assert_eq!(printed("zoned:50/5:30/15:20/").as_deref(), Some("zoned:50/5:30/15:20/80"));
        for right in ["random", "zipf:1.1", "pareto:0.2", "zoned:80/20:20/80"] {
            assert_eq!(printed(right).as_deref(), Some(right));
        }
        for wrong in [
            "zipf",
            "zipf:0",
            "zipf:nan",
            "pareto:0.5",
            "pareto:inf",
            "zoned:80/20",
            "zoned:50/0:50/100",
            "normal:5",
            "",
        ] {
            assert_eq!(printed(wrong), None, "{wrong}");
        }
    }
}

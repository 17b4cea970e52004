//! Answer to when the target falls.

use super::answer;
use crate::sentences::disruptions::HELD_MOST_S;
use crate::sentences::{Sentence, Sentences};
use findings::{Cited, Fact, Finding, Kind, Quantity, Source, WriteCliff, cited};

/// Of so many falls and more the middle half is told, because one that is unlike the others says little of the next.
const MANY_FALLS: usize = 8;

impl Sentences<'_> {
    pub(super) fn falls(&self) -> Option<Sentence> {
        let cliffs = self.found.write_cliffs();
        let mut rests_on: Vec<&Finding> = cliffs.iter().map(|(finding, _)| *finding).collect();
        let typical = |field: &str, cite: fn(Quantity) -> Cited| {
            typical(&cliffs.iter().map(|one| one.0.number(field)).collect::<Vec<_>>(), cite)
        };
        let mut text = if cliffs.is_empty() {
            self.never_fell(&mut rests_on)?
        } else {
            let steadfast = self.found.steadfast(&cliffs);
            let own: Vec<Source> =
                cliffs.iter().map(|(finding, _)| Source::finding(&finding.id, "onset_s")).collect();
            let others = steadfast.iter().map(|finding| Source::finding(&finding.id, "length_s"));
            let all: Vec<Source> = own.iter().cloned().chain(others).collect();
            let subject = if all.len() == 1 {
                cited!("Writes")
            } else if self.found.are_rare(&cliffs) {
                let quiet = Quantity::count_of(&all[own.len()..]).plain(0);
                cited!(
                    "In {} of {} that write long enough, writes did not fall. In {} they",
                    quiet,
                    Quantity::count_of(&all).count("case"),
                    Quantity::count_of(&own).plain(0)
                )
            } else {
                cited!(
                    "In {} of {} that write long enough, writes",
                    Quantity::count_of(&own).plain(0),
                    Quantity::count_of(&all).count("case")
                )
            };
            cited!(
                "{} fall by {} after {}, with {} written{}.",
                subject,
                typical("depth_percent", Quantity::percent_of_all),
                typical("onset_s", Quantity::duration),
                typical("bytes_written", Quantity::gigabytes),
                match cliffs.len() {
                    1 => "",
                    many if many < MANY_FALLS => " (each the median, with the lowest and highest)",
                    _ => " (each the median, with the middle half of these cases)",
                }
            )
        };
        if let Some(sentence) = self.earliest(&cliffs) {
            text.push(sentence);
        }
        if let Some((fall, _)) = self.found.ramp_falls().first() {
            rests_on.push(*fall);
            text.push(cited!(
                "\nIn the ramp before, which is not counted, they fell by {} after {}, with {} written: {}.",
                fall.number("depth_percent").percent_of_all(),
                fall.number("onset_s").duration(),
                fall.number("bytes_written").gigabytes(),
                self.load_of(fall)
            ));
        }
        if let Some((finding, sentence)) = self.deepest_dip() {
            rests_on.push(finding);
            text.push(sentence);
        }
        Some(answer(text, &rests_on))
    }

    /// Answer where writes did not fall: for how long they were watched, or why a fall could not be told.
    fn never_fell<'a>(&'a self, rests_on: &mut Vec<&'a Finding>) -> Option<Cited> {
        let none = || {
            self.found.of_kind(Kind::NoWriteCliff).filter_map(|finding| match &finding.fact {
                Fact::NoWriteCliff(none) => Some((finding, &**none)),
                _ => None,
            })
        };
        let longest = |could_show: bool| {
            none()
                .filter(|(_, none)| none.could_show() == could_show)
                .max_by(|a, b| a.1.length_s.total_cmp(&b.1.length_s))
        };
        if let Some((finding, _)) = longest(true) {
            rests_on.push(finding);
            return Some(cited!(
                "Writes did not fall within the tested range, at most {} at a stretch.",
                finding.number("length_s").duration()
            ));
        }
        let (finding, none) = longest(false)?;
        rests_on.push(finding);
        Some(cited!(
            "Whether writes fall{} is not shown: {}.",
            self.beyond_ramp(),
            Cited::quote(&none.reason, Source::finding(&finding.id, "reason"))
        ))
    }

    /// Words for where a fall was looked for, where a ramp has shown one already.
    pub(in crate::sentences) fn beyond_ramp(&self) -> &'static str {
        if self.found.ramp_falls().is_empty() { "" } else { " after the ramp" }
    }

    /// The one of many falls that comes first: what to reckon with at worst.
    fn earliest(&self, cliffs: &[(&Finding, &WriteCliff)]) -> Option<Cited> {
        let (finding, _) = cliffs.iter().min_by(|a, b| a.1.onset_s.total_cmp(&b.1.onset_s))?;
        let sentence = || {
            cited!(
                "\nThe earliest begins after {}, with {} written: {}.",
                finding.number("onset_s").duration(),
                finding.number("bytes_written").gigabytes(),
                self.load_of(finding)
            )
        };
        (cliffs.len() >= MANY_FALLS).then(sentence)
    }

    fn deepest_dip(&self) -> Option<(&Finding, Cited)> {
        // A limit that was set is meant to take the rate down.
        let events = self.found.of_kind(Kind::Disruption).filter(|finding| !self.found.is_limited(finding));
        // A field, how far it goes, and whether it stays there.
        let falls = events.flat_map(|finding| match &finding.fact {
            Fact::Disruption(one) => {
                let dips = one.dips.iter().enumerate().map(|(place, dip)| {
                    (finding, one, format!("dips.{place}"), dip.extreme_percent, Some(dip.is_over))
                });
                let change = one
                    .rate_change
                    .filter(|change| change.held_s <= HELD_MOST_S)
                    .map(|change| (finding, one, "rate_change".to_owned(), change.change_percent, None));
                dips.chain(change).collect()
            }
            _ => Vec::new(),
        });
        let (finding, disruption, field, percent, is_over) = falls.min_by(|a, b| a.3.total_cmp(&b.3))?;
        if percent >= 0.0 {
            return None;
        }
        let number = |name: &str| finding.number(&format!("{field}.{name}"));
        let event = Cited::quote(&disruption.event, Source::finding(&finding.id, "event"));
        let by = || {
            let [mean, extreme] =
                ["mean_percent", "extreme_percent"].map(|field| number(field).abs().percent_of_all());
            // A dip of one depth has one figure.
            match mean.text() == extreme.text() {
                true => cited!("by up to {}", extreme),
                false => cited!("by {} in the mean and up to {},", mean, extreme),
            }
        };
        let sentence = match is_over {
            Some(true) => cited!(
                "\nAround the event “{}” IOPS dip {} for {}.",
                event,
                by(),
                number("length_s").duration()
            ),
            Some(false) => cited!(
                "\nAround the event “{}” IOPS dip {} and had not recovered when the case ended after {}.",
                event,
                by(),
                number("length_s").duration()
            ),
            None => cited!(
                "\nAfter the event “{}” IOPS stay {} lower from {} on.",
                event,
                number("change_percent").abs().percent(),
                number("from_s").duration()
            ),
        };
        Some((finding, sentence))
    }
}

/// The middle of several values, with the lowest and the highest, of many with those of the middle half, where they are printed
/// differently.
fn typical(values: &[Quantity], cite: fn(Quantity) -> Cited) -> Cited {
    let is_many = values.len() >= MANY_FALLS;
    let half = if is_many { Quantity::middle_half(values) } else { None };
    let range = half.or_else(|| Some([Quantity::smallest(values)?, Quantity::largest(values)?]));
    let (Some([low, high]), Some(middle)) = (range, Quantity::median(values)) else {
        return Cited::default();
    };
    let (low, high, middle) = (cite(low), cite(high), cite(middle));
    if low.text() == high.text() { middle } else { cited!("{} ({} to {})", middle, low, high) }
}

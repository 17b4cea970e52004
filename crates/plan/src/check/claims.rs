//! Claims of a plan.

use super::Checker;
use crate::claim::{Claim, Expr, Mistake, Names, Needs, Type, parse, unknown_name_in};
use crate::document::ClaimDocument;
use crate::source::Place;
use crate::yaml::Located;
use crate::{PlanError, PlanErrorKind as Kind};

/// The most claims of a plan, and the most values of a claim.
const CLAIMS_LIMIT: usize = 1_000;
const VALUES_LIMIT: usize = 64;

impl Checker<'_> {
    pub(super) fn claims(
        &self,
        documents: &[ClaimDocument],
        stages: &[&str],
    ) -> Result<Vec<Claim>, PlanError> {
        if documents.len() > CLAIMS_LIMIT {
            return Err(PlanError::new(Kind::OverLimit, format!("a plan has at most {CLAIMS_LIMIT} claims")));
        }
        let mut claims: Vec<Claim> = Vec::with_capacity(documents.len());
        for document in documents {
            let id = &document.id;
            if claims.iter().any(|claim| claim.id == id.value) {
                let message = format!("the claim `{}` stands twice", id.value);
                return Err(self.error(Kind::Contradiction, id.place, message));
            }
            claims.push(self.claim(document, stages)?);
        }
        Ok(claims)
    }

    fn claim(&self, document: &ClaimDocument, stages: &[&str]) -> Result<Claim, PlanError> {
        if document.values.0.len() > VALUES_LIMIT {
            let message = format!("a claim has at most {VALUES_LIMIT} values");
            return Err(self.error(Kind::OverLimit, document.id.place, message));
        }
        let mut types: Vec<(String, Type)> = Vec::new();
        let mut values = Vec::new();
        for (name, text) in &document.values.0 {
            let (expr, kind) = self.expression(text, &Names { stages, values: &types })?;
            if !matches!(kind, Type::Number(_)) {
                return Err(self.error(Kind::WrongType, text.place, "a value of a claim is no comparison"));
            }
            types.push((name.value.clone(), kind));
            values.push((name.value.clone(), expr));
        }
        let names = Names { stages, values: &types };
        let truth = |text: &Located<String>| match self.expression(text, &names)? {
            (expr, Type::Truth) => Ok(expr),
            (_, Type::Number(_)) => Err(self
                .error(Kind::WrongType, text.place, "a check is a comparison, and this is a value")
                .with_hint("for example `iops{stage=one} > 1000`")),
        };
        if let Some(because) = &document.because
            && let Some(name) = unknown_name_in(&because.value, &types)
        {
            let message = format!("the claim has no value `{name}`");
            return Err(self.error(Kind::Contradiction, because.place, message));
        }
        Ok(Claim {
            id: document.id.value.clone(),
            says: document.says.clone(),
            origin: document.origin,
            source: document.source.clone(),
            mechanism: document.mechanism.clone(),
            tolerance: self.tolerance(&document.tolerance)?,
            needs: document.needs.as_ref().map(|needs| self.needs(needs)).transpose()?.unwrap_or_default(),
            given: document.given.as_ref().map(&truth).transpose()?,
            check: truth(&document.check)?,
            check_text: document.check.value.split_whitespace().collect::<Vec<_>>().join(" "),
            values,
            because: document.because.as_ref().map(|because| because.value.clone()),
            known: document.known.as_ref().map(|known| (known.reason, known.says.clone())),
        })
    }

    fn tolerance(&self, text: &Located<String>) -> Result<f64, PlanError> {
        let written = text.value.trim();
        let share = match written.strip_suffix('%') {
            Some(percent) => percent.trim().parse::<f64>().map(|percent| percent / 100.0),
            None => written.parse::<f64>(),
        };
        share.ok().filter(|share| (0.0..1.0).contains(share)).ok_or_else(|| {
            let message = format!("`{written}` is not a share from 0 to below 100 %");
            self.error(Kind::OutOfRange, text.place, message).with_hint("`2%`, or 0.02")
        })
    }

    fn needs(&self, text: &Located<String>) -> Result<Needs, PlanError> {
        let written = text.value.trim();
        if let Some(count) = written.strip_suffix("intervals").and_then(|count| count.trim().parse().ok()) {
            return Ok(Needs { intervals: count, ..Needs::default() });
        }
        let (written, is_load) = match written.strip_suffix("under load") {
            Some(time) => (time.trim(), true),
            None => (written, false),
        };
        match units::parse_nanos(written) {
            Ok(nanos) if written.parse::<f64>().is_err() => {
                let time_s = nanos as f64 / 1e9;
                Ok(match is_load {
                    true => Needs { load_s: time_s, ..Needs::default() },
                    false => Needs { time_s, ..Needs::default() },
                })
            }
            _ => {
                let message = format!("`{written}` is neither a time nor a number of intervals");
                Err(self
                    .error(Kind::OutOfRange, text.place, message)
                    .with_hint("`10s`, `2m under load` or `20 intervals`"))
            }
        }
    }

    fn expression(&self, text: &Located<String>, names: &Names<'_>) -> Result<(Expr, Type), PlanError> {
        parse(&text.value, names).map_err(|mistake| {
            let Mistake { at, width, message, hint } = mistake;
            let place = self.place_within(text, at, width);
            self.error(Kind::OutOfRange, place, message).maybe_hint(hint)
        })
    }

    /// The place of a character of a text, whichever way YAML wrote it: blanks and line breaks may differ, other characters do
    /// not.
    fn place_within(&self, text: &Located<String>, at: usize, width: usize) -> Place {
        let wanted = text.value.chars().take(at).filter(|c| !c.is_whitespace()).count();
        let lines = self.source.text.split('\n').skip(text.place.line.saturating_sub(1));
        let mut seen = 0;
        let mut is_started = false;
        let first = text.value.trim_start().chars().next();
        for (number, line) in lines.enumerate() {
            let skipped = if number == 0 { text.place.column.saturating_sub(1) } else { 0 };
            for (column, c) in line.chars().enumerate().skip(skipped) {
                // A quote or the sign of a block stands before the text.
                is_started |= Some(c) == first;
                if !is_started || c.is_whitespace() {
                    continue;
                }
                if seen == wanted {
                    return Place { line: text.place.line + number, column: column + 1, width };
                }
                seen += 1;
            }
        }
        text.place
    }
}

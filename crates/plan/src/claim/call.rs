//! Functions and literals of expressions.

use super::lex::{Mistake, Token};
use super::names::Type;
use super::parse::{Parsed, Parser, same_unit};
use super::{Call, Expr, Function, Unit};
use array::did_you_mean;

impl Parser<'_> {
    /// A number with the unit that may stand behind it.
    pub(super) fn literal(&mut self, value: f64) -> Parsed {
        let number = |value: f64, unit: Option<Unit>| Ok((Expr::Number(value, unit), Type::Number(unit)));
        if self.take_sign("%") {
            return number(value / 100.0, Some(Unit::NONE));
        }
        let units =
            [("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
        for (name, seconds) in units {
            if self.take_word(name) {
                return number(value * seconds, Some(Unit::TIME));
            }
        }
        if self.take_word("IOPS") {
            return number(value, Some(Unit::RATE));
        }
        for (name, bytes) in [("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12)] {
            if self.take_word(name) {
                let is_rate = self.take_sign("/");
                if is_rate && !self.take_word("s") {
                    return Err(self.mistake(format!("`{name}/s` is meant, or `{name}`")));
                }
                return number(value * bytes, Some(if is_rate { Unit::BANDWIDTH } else { Unit::BYTES }));
            }
        }
        number(value, None)
    }

    /// `name(…)`, from the bracket on.
    pub(super) fn call(&mut self, name: &str, place: (usize, usize)) -> Parsed {
        self.need_sign("(")?;
        let inner_place = self.here();
        if name == "steps" {
            return self.steps(inner_place);
        }
        let Some((_, function)) = Function::ALL.iter().find(|(known, _)| *known == name) else {
            let known = Function::ALL.iter().map(|(known, _)| *known).chain(["steps"]);
            return Err(Mistake::new(place.0, place.1, format!("there is no function `{name}`"))
                .maybe_hint(did_you_mean(name, known)));
        };
        if matches!(function, Function::All | Function::Any | Function::Share) {
            let inner = self.or()?;
            self.need_sign(")")?;
            let inner = self.truth(inner, inner_place, &format!("`{name}`"))?;
            let is_truth = *function != Function::Share;
            let kind = if is_truth { Type::Truth } else { Type::Number(Some(Unit::NONE)) };
            return Ok((of(*function, vec![inner], Vec::new()), kind));
        }
        let (arguments, units) = self.arguments(*function, inner_place)?;
        let by = self.groups(*function)?;
        self.need_sign(")")?;
        let unit = match function {
            Function::Count | Function::Spread | Function::Discordant => Some(Unit::NONE),
            Function::AtMax | Function::AtMin => units[1],
            _ => units.into_iter().flatten().next(),
        };
        let kind = if *function == Function::Measured { Type::Truth } else { Type::Number(unit) };
        Ok((of(*function, arguments, by), kind))
    }

    fn steps(&mut self, inner_place: (usize, usize)) -> Parsed {
        let inner = self.sum()?;
        let (inner, _) = self.number(inner, inner_place)?;
        self.need_sign(",")?;
        let setting = self.setting(&[])?;
        self.need_sign(")")?;
        Ok((Expr::Steps(Box::new(inner), setting), Type::Number(Some(Unit::NONE))))
    }

    /// Values between commas; as many as the function takes.
    fn arguments(
        &mut self,
        function: Function,
        inner_place: (usize, usize),
    ) -> Result<(Vec<Expr>, Vec<Option<Unit>>), Mistake> {
        let takes_two = matches!(function, Function::AtMax | Function::AtMin | Function::Discordant);
        let (mut arguments, mut units): (Vec<Expr>, Vec<Option<Unit>>) = (Vec::new(), Vec::new());
        let mut place = inner_place;
        loop {
            let parsed = self.sum()?;
            let (argument, unit) = self.number(parsed, place)?;
            if let Some(first) = arguments.first()
                && !matches!(function, Function::AtMax | Function::AtMin)
            {
                same_unit(first, units.iter().copied().flatten().next(), &argument, unit, place)?;
            }
            arguments.push(argument);
            units.push(unit);
            if !self.take_sign(",") {
                break;
            }
            place = self.here();
        }
        if takes_two && arguments.len() != 2 {
            return Err(self
                .mistake(format!("this takes two values, and there are {}", arguments.len()))
                .with_hint("`at_max(iops{stage=one}, settings.numjobs{stage=one})`"));
        }
        Ok((arguments, units))
    }

    /// `by raid, disks`.
    fn groups(&mut self, function: Function) -> Result<Vec<String>, Mistake> {
        let place = self.here();
        if !self.take_word("by") {
            return Ok(Vec::new());
        }
        if matches!(function, Function::Absolute | Function::Measured) {
            return Err(Mistake::new(place.0, place.1, "this makes no one value of several to group by"));
        }
        let mut by = vec![self.setting(&["stage"])?];
        while self.take_sign(",") {
            by.push(self.setting(&["stage"])?);
        }
        Ok(by)
    }

    /// The name of a setting, or one of these words.
    fn setting(&mut self, words: &[&str]) -> Result<String, Mistake> {
        let here = self.here();
        let Some(Token::Name(name)) = self.peek().cloned() else {
            return Err(self.mistake("the name of a setting is missing here"));
        };
        if crate::setting(&name).is_none() && !words.contains(&name.as_str()) {
            let known = crate::SETTINGS.iter().map(|setting| setting.name).chain(words.iter().copied());
            return Err(Mistake::new(here.0, here.1, format!("there is no setting `{name}`"))
                .maybe_hint(did_you_mean(&name, known)));
        }
        self.at += 1;
        Ok(name)
    }
}

fn of(function: Function, arguments: Vec<Expr>, by: Vec<String>) -> Expr {
    Expr::Call(Call { function, arguments, by })
}

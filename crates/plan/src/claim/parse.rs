//! Parser of claim expressions, with types and units.

use super::lex::{Lexeme, Mistake, Token, lex};
use super::names::{Names, Type};
use super::select::selector;
use super::{Comparator, Comparison, Expr, Operator, Unit};
use array::did_you_mean;

/// The deepest nesting of an expression.
const DEPTH_LIMIT: usize = 32;

/// Reads an expression.
pub(crate) fn parse(text: &str, names: &Names<'_>) -> Result<(Expr, Type), Mistake> {
    let lexemes = lex(text)?;
    let end = text.chars().count();
    let mut parser = Parser { chars: text.chars().collect(), lexemes, at: 0, depth: 0, end, names };
    let parsed = parser.or()?;
    match parser.lexemes.get(parser.at) {
        Some(more) => Err(Mistake::new(more.at, more.width, "the expression ends before this")),
        None => Ok(parsed),
    }
}

pub(super) struct Parser<'a> {
    pub chars: Vec<char>,
    lexemes: Vec<Lexeme>,
    pub at: usize,
    depth: usize,
    end: usize,
    pub names: &'a Names<'a>,
}

pub(super) type Parsed = Result<(Expr, Type), Mistake>;

impl Parser<'_> {
    pub(super) fn peek(&self) -> Option<&Token> {
        self.lexemes.get(self.at).map(|lexeme| &lexeme.token)
    }

    /// Returns position and width of the next token, in characters.
    pub(super) fn here(&self) -> (usize, usize) {
        self.lexemes.get(self.at).map_or((self.end.saturating_sub(1), 1), |next| (next.at, next.width))
    }

    pub(super) fn mistake(&self, message: impl Into<String>) -> Mistake {
        let (at, width) = self.here();
        Mistake::new(at, width, message)
    }

    pub(super) fn take_sign(&mut self, sign: &str) -> bool {
        let is_it = matches!(self.peek(), Some(Token::Sign(found)) if *found == sign);
        self.at += usize::from(is_it);
        is_it
    }

    pub(super) fn take_word(&mut self, word: &str) -> bool {
        let is_it = matches!(self.peek(), Some(Token::Name(found)) if found == word);
        self.at += usize::from(is_it);
        is_it
    }

    pub(super) fn need_sign(&mut self, sign: &str) -> Result<(), Mistake> {
        if self.take_sign(sign) { Ok(()) } else { Err(self.mistake(format!("`{sign}` is missing here"))) }
    }

    fn text_between(&self, from: usize, to: usize) -> String {
        self.chars[from.min(to)..to.min(self.chars.len())].iter().collect::<String>().trim().to_owned()
    }

    /// Returns the end of the token before the next one.
    fn behind(&self) -> usize {
        self.at.checked_sub(1).and_then(|before| self.lexemes.get(before)).map_or(0, |one| one.at + one.width)
    }

    pub(super) fn truth(
        &self,
        (expr, kind): (Expr, Type),
        at: (usize, usize),
        what: &str,
    ) -> Result<Expr, Mistake> {
        match kind {
            Type::Truth => Ok(expr),
            Type::Number(_) => {
                Err(Mistake::new(at.0, at.1, format!("{what} takes a comparison, and this is a value"))
                    .with_hint("for example `iops{stage=one} > 1000`"))
            }
        }
    }

    pub(super) fn number(
        &self,
        (expr, kind): (Expr, Type),
        at: (usize, usize),
    ) -> Result<(Expr, Option<Unit>), Mistake> {
        match kind {
            Type::Number(unit) => Ok((expr, unit)),
            Type::Truth => Err(Mistake::new(at.0, at.1, "a value is needed here, and this is a comparison")),
        }
    }

    pub(super) fn or(&mut self) -> Parsed {
        self.depth += 1;
        if self.depth > DEPTH_LIMIT {
            return Err(self.mistake(format!("an expression is nested at most {DEPTH_LIMIT} deep")));
        }
        let parsed = self.words("or", Parser::and, |a, b| Expr::Or(Box::new(a), Box::new(b)));
        self.depth -= 1;
        parsed
    }

    fn and(&mut self) -> Parsed {
        self.words("and", Parser::not, |a, b| Expr::And(Box::new(a), Box::new(b)))
    }

    fn words(&mut self, word: &str, inner: fn(&mut Self) -> Parsed, join: fn(Expr, Expr) -> Expr) -> Parsed {
        let place = self.here();
        let mut left = inner(self)?;
        while self.take_word(word) {
            let what = format!("`{word}`");
            let first = self.truth(left, place, &what)?;
            let place = self.here();
            let second = inner(self)?;
            left = (join(first, self.truth(second, place, &what)?), Type::Truth);
        }
        Ok(left)
    }

    fn not(&mut self) -> Parsed {
        if !self.take_word("not") {
            return self.comparison();
        }
        let place = self.here();
        let inner = self.comparison()?;
        Ok((Expr::Not(Box::new(self.truth(inner, place, "`not`")?)), Type::Truth))
    }

    fn comparison(&mut self) -> Parsed {
        let place = self.here();
        let left = self.sum()?;
        let comparators = [
            ("<=", Comparator::AtMost),
            (">=", Comparator::AtLeast),
            ("<", Comparator::Less),
            (">", Comparator::Greater),
            ("~", Comparator::Near),
        ];
        let left_end = self.behind();
        for (sign, comparator) in comparators {
            if !self.take_sign(sign) {
                continue;
            }
            let (left, left_unit) = self.number(left, place)?;
            let right_place = self.here();
            let right = self.sum()?;
            let (right, right_unit) = self.number(right, right_place)?;
            same_unit(&left, left_unit, &right, right_unit, right_place)?;
            let text =
                [self.text_between(place.0, left_end), self.text_between(right_place.0, self.behind())];
            return Ok((Expr::Compare(Box::new(Comparison { comparator, left, right, text })), Type::Truth));
        }
        if !self.take_word("in") {
            return Ok(left);
        }
        let (value, unit) = self.number(left, place)?;
        let low = match self.peek() {
            Some(Token::Sign("..")) => Expr::Number(f64::NEG_INFINITY, None),
            _ => self.bound(&value, unit)?,
        };
        self.need_sign("..")?;
        let is_open = matches!(low, Expr::Number(end, _) if end.is_infinite());
        let high = match self.peek() {
            None | Some(Token::Sign(")")) if !is_open => Expr::Number(f64::INFINITY, None),
            Some(Token::Name(word)) if !is_open && matches!(word.as_str(), "and" | "or") => {
                Expr::Number(f64::INFINITY, None)
            }
            _ => self.bound(&value, unit)?,
        };
        Ok((Expr::Within(Box::new(value), Box::new(low), Box::new(high)), Type::Truth))
    }

    /// An end of a range of a value.
    fn bound(&mut self, value: &Expr, unit: Option<Unit>) -> Result<Expr, Mistake> {
        let place = self.here();
        let end = self.sum()?;
        let (end, end_unit) = self.number(end, place)?;
        same_unit(value, unit, &end, end_unit, place)?;
        Ok(end)
    }

    pub(super) fn sum(&mut self) -> Parsed {
        let mut place = self.here();
        let mut left = self.product()?;
        loop {
            let operator = match self.peek() {
                Some(Token::Sign("+")) => Operator::Add,
                Some(Token::Sign("-")) => Operator::Subtract,
                _ => return Ok(left),
            };
            self.at += 1;
            let (first, first_unit) = self.number(left, place)?;
            place = self.here();
            let second = self.product()?;
            let (second, second_unit) = self.number(second, place)?;
            same_unit(&first, first_unit, &second, second_unit, place)?;
            let unit = first_unit.or(second_unit);
            left = (Expr::Arithmetic(operator, Box::new(first), Box::new(second)), Type::Number(unit));
        }
    }

    fn product(&mut self) -> Parsed {
        let mut place = self.here();
        let mut left = self.unary()?;
        loop {
            let operator = match self.peek() {
                Some(Token::Sign("*" | "×")) => Operator::Multiply,
                Some(Token::Sign("/" | "÷")) => Operator::Divide,
                _ => return Ok(left),
            };
            self.at += 1;
            let (first, first_unit) = self.number(left, place)?;
            place = self.here();
            let second = self.unary()?;
            let (second, second_unit) = self.number(second, place)?;
            let unit = match (operator, first_unit, second_unit) {
                (_, None, None) => None,
                (Operator::Divide, a, b) => Some(a.unwrap_or(Unit::NONE).over(b.unwrap_or(Unit::NONE))),
                (_, a, b) => Some(a.unwrap_or(Unit::NONE).times(b.unwrap_or(Unit::NONE))),
            };
            left = (Expr::Arithmetic(operator, Box::new(first), Box::new(second)), Type::Number(unit));
        }
    }

    fn unary(&mut self) -> Parsed {
        if !self.take_sign("-") {
            return self.primary();
        }
        let place = self.here();
        let inner = self.primary()?;
        let (inner, unit) = self.number(inner, place)?;
        Ok((Expr::Negative(Box::new(inner)), Type::Number(unit)))
    }

    fn primary(&mut self) -> Parsed {
        let Some(lexeme) = self.lexemes.get(self.at).cloned() else {
            return Err(self.mistake("the expression is not complete"));
        };
        match lexeme.token {
            Token::Number(value) => {
                self.at += 1;
                self.literal(value)
            }
            Token::Sign("(") => {
                self.at += 1;
                let inner = self.or()?;
                self.need_sign(")")?;
                Ok(inner)
            }
            Token::Name(name) => {
                self.at += 1;
                match self.peek() {
                    Some(Token::Braces(_)) => self.select(&name, lexeme.at),
                    Some(Token::Sign("(")) => self.call(&name, (lexeme.at, lexeme.width)),
                    _ => self.value(&name, (lexeme.at, lexeme.width)),
                }
            }
            Token::Braces(_) | Token::Sign(_) => {
                Err(Mistake::new(lexeme.at, lexeme.width, "a value is needed here"))
            }
        }
    }

    fn value(&self, name: &str, place: (usize, usize)) -> Parsed {
        match self.names.values.iter().position(|(known, _)| known == name) {
            Some(index) => Ok((Expr::Value(index), self.names.values[index].1)),
            None => {
                let known: Vec<&str> = self.names.values.iter().map(|(name, _)| name.as_str()).collect();
                let message = format!("there is no value `{name}` before this");
                Err(Mistake::new(place.0, place.1, message).with_hint(
                    did_you_mean(name, known.iter().copied()).unwrap_or_else(|| {
                        format!("a quantity has the cases in braces: `{name}{{stage=…}}`")
                    }),
                ))
            }
        }
    }

    fn select(&mut self, name: &str, at: usize) -> Parsed {
        let braces = self.lexemes[self.at].clone();
        self.at += 1;
        let Token::Braces(inside) = &braces.token else { return Err(self.mistake("a `{` is missing here")) };
        let (mut selector, unit) = selector(name, at, inside, braces.at + 1, self.names)?;
        if self.take_sign("[") {
            let window_at = self.here();
            let from = self.window_end(window_at)?;
            self.need_sign(":")?;
            let to = self.window_end(window_at)?;
            self.need_sign("]")?;
            selector.take_window(from, to, window_at)?;
        }
        selector.text = self.text_between(at, self.behind());
        Ok((Expr::Select(Box::new(selector)), Type::Number(unit)))
    }

    fn window_end(&mut self, place: (usize, usize)) -> Result<Expr, Mistake> {
        let here = self.here();
        let end = self.sum()?;
        match self.number(end, here)? {
            (end, Some(Unit::TIME)) => Ok(end),
            (end @ Expr::Number(0.0, None), None) => Ok(end),
            _ => Err(Mistake::new(place.0, place.1, "a span is between two times").with_hint("`[5s:10s]`")),
        }
    }
}

/// Checks that values which are added or compared have one unit. A bare number takes that of the other side, except for a
/// time, whose unit is never guessed.
pub(super) fn same_unit(
    left: &Expr,
    left_unit: Option<Unit>,
    right: &Expr,
    right_unit: Option<Unit>,
    place: (usize, usize),
) -> Result<(), Mistake> {
    let is_bare_time = |one: &Expr, one_unit: Option<Unit>, other: Option<Unit>| {
        one_unit.is_none()
            && other == Some(Unit::TIME)
            && matches!(one, Expr::Number(value, None) if *value != 0.0)
    };
    if is_bare_time(left, left_unit, right_unit) || is_bare_time(right, right_unit, left_unit) {
        return Err(Mistake::new(place.0, place.1, "a time has a unit").with_hint("`2ms`, `90us`, `10s`"));
    }
    match (left_unit, right_unit) {
        (Some(left), Some(right)) if left != right => {
            let message = format!("{} and {} have different units", left.name(), right.name());
            Err(Mistake::new(place.0, place.1, message))
        }
        _ => Ok(()),
    }
}

/// Reads the names in braces of `because`: those that are no values are mistakes.
pub(crate) fn unknown_name_in(template: &str, values: &[(String, Type)]) -> Option<String> {
    template
        .split('{')
        .skip(1)
        .map(|rest| rest.split(['}', ':']).next().unwrap_or_default())
        .find(|name| !values.iter().any(|(known, _)| known == name))
        .map(str::to_owned)
}

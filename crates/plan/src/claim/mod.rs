//! Claims: conclusions about a test, each with the expression over results and findings that shows or refutes it.
//!
//! `docs/plan-language.md` describes the language. Here it is read and checked; `findings` evaluates it.

mod call;
mod fields;
mod lex;
mod names;
mod parse;
mod select;
mod unit;

pub use fields::{finding_fields, finding_words};
pub(crate) use lex::Mistake;
pub(crate) use names::{Names, Type};
pub(crate) use parse::{parse, unknown_name_in};
pub use unit::Unit;

use crate::quantity::Quantity;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Who draws a conclusion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ClaimOrigin")]
pub enum Origin {
    /// The author of the published test.
    #[default]
    Published,
    /// Arithmetic on the published figures, or the plan's own author.
    Derived,
}

/// Kind of reason why a claim is refuted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "KnownReason")]
pub enum Reason {
    /// The publication's own figures, or arithmetic on its own words, contradict it.
    PublishedInconsistency,
    /// The twin's model has no part that makes it so; says nothing of a device.
    LimitOfTheModel,
}

/// A conclusion with its check.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// `S1`; unique in the plan.
    pub id: String,
    /// The conclusion.
    pub says: String,
    /// Origin of the conclusion.
    pub origin: Origin,
    /// Publication that states it.
    pub source: String,
    /// Mechanism in the array that explains it.
    pub mechanism: String,
    /// Share by which two values may differ and count as equal.
    pub tolerance: f64,
    /// Minimum of evidence from each case that the check reads; a shorter case shows nothing.
    pub needs: Needs,
    /// Named parts of the check, which `because` may name.
    pub values: Vec<(String, Expr)>,
    /// Precondition of the check: where it does not hold, the check shows nothing.
    pub given: Option<Expr>,
    /// Condition that must hold.
    pub check: Expr,
    /// Text of `check` as the plan has it.
    pub check_text: String,
    /// The reason in words, with `{name}` for the values; made of the values without it.
    pub because: Option<String>,
    /// Reason for a refutation that is known beforehand.
    pub known: Option<(Reason, String)>,
}

impl Claim {
    /// Returns the criterion in words: the check, the tolerance and the span that are needed.
    pub fn criterion(&self) -> String {
        // Shares of a percent have no more than two decimals.
        let percent = (10_000.0 * self.tolerance).round() / 100.0;
        let mut text = format!("{}; equal within {percent} %", self.check_text);
        if self.needs.time_s > 0.0 {
            text.push_str(&format!("; from {} s a case on", self.needs.time_s));
        }
        if self.needs.load_s > 0.0 {
            text.push_str(&format!("; from {} s under load on", self.needs.load_s));
        }
        if self.needs.intervals > 0 {
            text.push_str(&format!("; from {} intervals a case on", self.needs.intervals));
        }
        text
    }
}

/// Minimum measurement that a case must have to show a claim.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Needs {
    /// Counted time.
    pub time_s: f64,
    /// Time under load, the ramp included: what a cache takes to fill.
    pub load_s: f64,
    /// Counted intervals.
    pub intervals: usize,
}

/// An expression; its types and units are consistent.
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    /// A literal; without a unit it has that of what it stands beside.
    Number(f64, Option<Unit>),
    /// Values of cases, intervals or findings.
    Select(Box<Selector>),
    /// The value of this place among the claim's values.
    Value(usize),
    /// `-x`
    Negative(Box<Expr>),
    /// `a + b`
    Arithmetic(Operator, Box<Expr>, Box<Expr>),
    /// `a < b`
    Compare(Box<Comparison>),
    /// `x in a..b`; an end that is left out is infinite.
    Within(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `not a`
    Not(Box<Expr>),
    /// `a and b`
    And(Box<Expr>, Box<Expr>),
    /// `a or b`
    Or(Box<Expr>, Box<Expr>),
    /// `max(x by raid)`
    Call(Call),
    /// `steps(x, setting)`: each value ÷ the one before it along a setting.
    Steps(Box<Expr>, String),
}

/// A function of all values of all its arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The function.
    pub function: Function,
    /// Its arguments; one at least.
    pub arguments: Vec<Expr>,
    /// Settings, or `stage`, for each of whose values the function gives one of its own.
    pub by: Vec<String>,
}

/// Two values that are compared, with the text of both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Comparison operator.
    pub comparator: Comparator,
    /// The left side.
    pub left: Expr,
    /// The right side.
    pub right: Expr,
    /// Both sides as they are written.
    pub text: [String; 2],
}

/// Arithmetic operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
}

/// Comparisons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparator {
    /// `<`: smaller by more than the tolerance.
    Less,
    /// `<=`: smaller, or equal within the tolerance.
    AtMost,
    /// `>`: larger by more than the tolerance.
    Greater,
    /// `>=`: larger, or equal within the tolerance.
    AtLeast,
    /// `~`: equal within the tolerance.
    Near,
    /// `=`, in braces only: equal.
    Equal,
    /// `!=`, in braces only: another.
    Unequal,
    /// `=*`, in braces only: any value, or none; values that differ in it belong together all the same.
    Any,
}

/// Functions of all values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Function {
    Min,
    Max,
    Mean,
    GeometricMean,
    Median,
    Sum,
    Count,
    /// Largest ÷ smallest.
    Spread,
    /// The first, in the order of the plan.
    First,
    /// The last, in the order of the plan.
    Last,
    /// Distance from zero.
    Absolute,
    /// True if the condition holds for every value.
    All,
    /// True if the condition holds for one value at least.
    Any,
    /// Share of the values for which the condition holds.
    Share,
    /// True if the run has a value of the argument.
    Measured,
    /// The second argument where the first is largest.
    AtMax,
    /// The second argument where the first is smallest.
    AtMin,
    /// Pairs of values that stand one way round in the first argument and the other in the second.
    Discordant,
}

impl Function {
    /// Every function with its name.
    pub const ALL: &[(&'static str, Function)] = &[
        ("min", Function::Min),
        ("max", Function::Max),
        ("mean", Function::Mean),
        ("geomean", Function::GeometricMean),
        ("median", Function::Median),
        ("sum", Function::Sum),
        ("count", Function::Count),
        ("spread", Function::Spread),
        ("first", Function::First),
        ("last", Function::Last),
        ("abs", Function::Absolute),
        ("all", Function::All),
        ("any", Function::Any),
        ("share", Function::Share),
        ("measured", Function::Measured),
        ("at_max", Function::AtMax),
        ("at_min", Function::AtMin),
        ("discordant", Function::Discordant),
    ];
}

/// Selector of values: `iops{stage=latency, volume=hdd}`.
#[derive(Debug, Clone, PartialEq)]
pub struct Selector {
    /// Source of the values.
    pub source: Source,
    /// The stages of the cases or findings.
    pub stages: Vec<String>,
    /// The load, where a case has several.
    pub load: Option<String>,
    /// Conditions on settings and on words of findings; only values that fulfil all are selected.
    pub filters: Vec<Filter>,
    /// Window since the start of the case's load, from and until: the value is the median of intervals that lie within.
    pub window: Option<(Expr, Expr)>,
    /// The unit of its values, where it is known.
    pub unit: Option<Unit>,
    /// Text of the selector as the plan has it.
    pub text: String,
}

/// Data services whose counters claims may name.
pub const COUNTED_SERVICES: [&str; 11] = [
    "thin",
    "reduction",
    "snapshots",
    "drive_cache",
    "tier",
    "mirror",
    "replication",
    "limits",
    "protocol",
    "volume_manager",
    "wear",
];

/// A value of cases or findings.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// A quantity of results, over the counted time.
    Quantity(Quantity),
    /// A setting that is a number.
    Setting(&'static str),
    /// Counted intervals without a completed I/O.
    StalledIntervals,
    /// Time at which a load first completes an I/O.
    BeginsS,
    /// The counted time of a case.
    DurationS,
    /// Counter of a data service of a twin: by how much it grew in the counted time, or its last value where it is a level.
    Counter {
        /// The service.
        service: &'static str,
        /// The counter.
        name: String,
    },
    /// Presence of a finding of this kind about a case: 1 if there is one, 0 if there is none.
    Found(&'static str),
    /// A field of findings, with dots between its parts.
    Finding {
        /// The kind.
        kind: &'static str,
        /// The field.
        field: &'static str,
    },
}

/// A condition on a setting of cases or on a word of findings.
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    /// The setting or word.
    pub name: String,
    /// Comparison operator: `=`, `!=`, `<`, `<=`, `>`, `>=`; `~` is "contains".
    pub comparator: Comparator,
    /// Values to compare with; one of them must fulfil the comparison.
    pub values: Vec<Value>,
    /// The setting of the same case with which it is compared, in place of `values`: `segment=settings.bs`.
    pub setting: Option<&'static str>,
}

impl Filter {
    /// Returns a text that is equal for filters of the same comparison and values.
    pub fn text(&self) -> String {
        let values: Vec<String> = self.values.iter().map(Value::to_string).collect();
        format!("{:?} {} {}", self.comparator, values.join("|"), self.setting.unwrap_or_default())
    }
}

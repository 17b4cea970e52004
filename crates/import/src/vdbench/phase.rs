//! Run definitions and the runs of their loops.

use std::path::PathBuf;

/// Rate of a phase.
#[derive(Debug, Clone, PartialEq)]
pub enum Rate {
    /// As fast as possible: closed loop.
    Max,
    /// A total rate: open loop.
    Fixed(f64),
    /// First as fast as possible, then open loop at these shares of the reached rate, in percent.
    Curve(Vec<f64>),
    /// A share of what the last run at full rate reached, in percent.
    ShareOfMax(f64),
}

/// A loop over the values of one parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Loop {
    /// The parameter, without `for`: `threads`, `xfersize`, `rdpct`, ….
    pub parameter: String,
    /// Its values.
    pub values: Vec<f64>,
    /// The line that asks for it.
    pub line: usize,
}

/// A run definition.
#[derive(Debug, Clone, PartialEq)]
pub struct Phase {
    /// Its label.
    pub name: String,
    /// The file that defines it.
    pub file: PathBuf,
    /// The line that defines it.
    pub line: usize,
    /// Numbers of its patterns, all at once.
    pub patterns: Vec<usize>,
    /// Numbers of its targets, where it replaces those of its patterns.
    pub targets: Option<Vec<usize>>,
    /// I/O rate.
    pub rate: Rate,
    /// Time that is counted with a warmup; without one, the first interval of it is left out.
    pub elapsed_s: f64,
    /// Length of an interval.
    pub interval_s: f64,
    /// Load before counting begins.
    pub warmup_s: f64,
    /// A time without load between runs.
    pub pause_s: f64,
    /// The loops, outermost first.
    pub loops: Vec<Loop>,
    /// Arrivals of a rate: `exponential` without a word.
    pub distribution: String,
    /// I/Os outstanding on each target, where it is said here.
    pub threads: Option<u64>,
    /// Flags with which targets are opened, beside their own.
    pub openflags: Vec<String>,
    /// `maxdata`: the bytes after which it ends, or their share of the target, as a plan writes them.
    pub max_data: Option<String>,
}

/// One run of a phase.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Name as in vdbench's output: the phase's label, with the share of a curve.
    pub name: String,
    /// The values of the loops, outermost first.
    pub values: Vec<(String, f64)>,
    /// I/O rate.
    pub rate: Rate,
}

/// Runs of a phase beyond this many are not listed.
const RUNS_LIMIT: usize = 1_000_000;

impl Phase {
    /// Load that is counted. Without a warmup, vdbench leaves the first interval out of its averages.
    pub fn counted_s(&self) -> f64 {
        if self.warmup_s > 0.0 {
            self.elapsed_s
        } else {
            (self.elapsed_s - self.interval_s).max(self.interval_s)
        }
    }

    /// Load before counting begins.
    pub fn ramp_s(&self) -> f64 {
        if self.warmup_s > 0.0 || self.elapsed_s <= self.interval_s { self.warmup_s } else { self.interval_s }
    }

    /// Returns the number of its runs; saturates.
    pub fn run_count(&self) -> usize {
        let points = if let Rate::Curve(points) = &self.rate { points.len() + 1 } else { 1 };
        self.loops.iter().fold(points, |count, this| count.saturating_mul(this.values.len()))
    }

    /// Its runs, in order: the first loop is the outermost; a curve follows its run at full rate.
    pub fn runs(&self) -> Vec<Run> {
        let mut runs = Vec::new();
        if self.run_count() > RUNS_LIMIT {
            return runs;
        }
        let mut position = vec![0usize; self.loops.len()];
        loop {
            let values: Vec<(String, f64)> = self
                .loops
                .iter()
                .zip(&position)
                .map(|(this, &at)| (this.parameter.clone(), this.values[at]))
                .collect();
            let looped = values.iter().find(|(parameter, _)| parameter == "iorate").map(|(_, rate)| *rate);
            match (&self.rate, looped) {
                (Rate::Curve(points), _) => {
                    runs.push(Run {
                        name: format!("{}_(max)", self.name),
                        values: values.clone(),
                        rate: Rate::Max,
                    });
                    runs.extend(points.iter().map(|&share| Run {
                        name: format!("{}_({share}%)", self.name),
                        values: values.clone(),
                        rate: Rate::ShareOfMax(share),
                    }));
                }
                (_, Some(rate)) => runs.push(Run { name: self.name.clone(), values, rate: rate_of(rate) }),
                (rate, None) => runs.push(Run { name: self.name.clone(), values, rate: rate.clone() }),
            }
            let mut at = self.loops.len();
            loop {
                if at == 0 {
                    return runs;
                }
                at -= 1;
                position[at] += 1;
                if position[at] < self.loops[at].values.len() {
                    break;
                }
                position[at] = 0;
            }
        }
    }
}

/// vdbench's number for `iorate=max`.
pub(crate) const MAX_RATE: f64 = 9_999_988.0;
/// vdbench's number for `iorate=curve`.
pub(crate) const CURVE_RATE: f64 = 9_999_977.0;

/// The rate that a number stands for.
pub(crate) fn rate_of(number: f64) -> Rate {
    if number >= MAX_RATE {
        Rate::Max
    } else if number < 0.0 {
        Rate::ShareOfMax(-number)
    } else {
        Rate::Fixed(number)
    }
}

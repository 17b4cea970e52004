//! Search of designs: all of them, or those that can be on the Pareto front.
//!
//! The front needs few headrooms. A design that fails at a multiple which another carries for no more is not on it, and one simulated
//! point shows that; where its ceilings lie below the multiple, none is needed. Neither is a whole point needed of a design whose I/Os
//! demand at least as much of every part as those of another with no smaller caches: a short simulation of both, with the same random
//! numbers, shows whether arithmetic has missed something (common random numbers: Law and Kelton 2000, 11.2).
//!
//! Points are of the grid of multiples on which headrooms are searched for, so that a design that is left out by its bound or by a point
//! exceeds what is found by no more than a step of it (2.2 %). The comparison is a judgement.

use crate::answer::in_parallel;
use crate::bound::{Profile, most_times};
use crate::headroom::{HeadroomPoint, point};
use crate::pareto::{Cost, mark_pareto};
use crate::size::{Outcome, SizeQuestion, blank_row, in_state, searched_row, size_point};
use crate::state::State;
use crate::{Configuration, Effort, LeftOut, SizeErrors, SizeRow, SizeVerdict, SizingError};
use std::collections::BTreeMap;

/// I/Os of a short simulation, by which two designs are compared that differ in one direction only.
const GLANCE_IOS: u64 = 20_000;
/// Share of the multiple that the known design fails at, under which both are compared: its queues do not grow there.
const COMPARED_AT: f64 = 0.9;
/// A design is no faster where its latency is at least this share of the other's.
const SAME_SPEED: f64 = 0.99;

/// Designs whose headroom is searched for between two comparisons: one of each range of costs.
const RANGES: usize = 16;

/// Answers about every design in every state, in their order. `on_answer` is called after each.
pub fn size(
    designs: &[Configuration],
    question: &SizeQuestion,
    on_answer: &(dyn Fn() + Sync),
) -> Result<Vec<SizeRow>, SizingError> {
    let questions: Vec<(&Configuration, State)> =
        designs.iter().flat_map(|design| question.states.iter().map(move |&state| (design, state))).collect();
    let answers = in_parallel(&questions, question.effort.threads, &|&(design, state)| {
        let row = searched_row(design, state, question);
        on_answer();
        row
    });
    let mut rows = Vec::with_capacity(questions.len());
    for answer in answers {
        rows.push(answer?.0);
    }
    mark_pareto(&mut rows);
    Ok(rows)
}

/// Answers questions about a space of designs, in their order: designs that can be on the Pareto front as [`size`] answers, the
/// others left out with what is known of them. Calls `on_answer` after each. The answers do not depend on the number of
/// threads.
pub fn size_front(
    designs: &[Configuration],
    question: &SizeQuestion,
    on_answer: &(dyn Fn() + Sync),
) -> Result<Vec<SizeRow>, SizingError> {
    let blank: Vec<Vec<SizeRow>> = designs
        .iter()
        .map(|design| question.states.iter().map(|&state| blank_row(design, state, question)).collect())
        .collect();
    let cost = Cost::of(blank.iter().flatten());
    let costs: Vec<Option<f64>> =
        blank.iter().map(|rows| rows.first().and_then(|row| cost.of_row(row))).collect();
    if costs.iter().any(Option::is_none) {
        // What costs nothing that is known can be compared with nothing.
        return size(designs, question, on_answer);
    }
    // The arithmetic is of whole arrays.
    let has_bound = question.states.contains(&State::Healthy);
    let bounds = in_parallel(designs, question.effort.threads, &|design| {
        if has_bound { most_times(design, &question.case) } else { f64::INFINITY }
    });
    let profiles =
        in_parallel(designs, question.effort.threads, &|design| Profile::of(design, &question.case));
    let mut pending: Vec<Pending> = (0..designs.len())
        .map(|index| Pending {
            index,
            cost: costs[index].unwrap_or(f64::INFINITY),
            bound: bounds[index],
            carries: 0.0,
            slack: bounds[index],
        })
        .collect();
    let mut found: Vec<Vec<SizeRow>> = blank;
    let mut measured: Vec<Measured> = Vec::new();
    while !pending.is_empty() {
        let chosen = take_of_each_range(&mut pending);
        let questions: Vec<(usize, State)> = chosen
            .iter()
            .flat_map(|one| question.states.iter().map(move |&state| (one.index, state)))
            .collect();
        let answers = in_parallel(&questions, question.effort.threads, &|&(index, state)| {
            let answer = searched_row(&designs[index], state, question);
            on_answer();
            answer
        });
        let mut answers = answers.into_iter();
        for one in chosen {
            let mut fails_at = f64::INFINITY;
            let mut is_known = false;
            for row in &mut found[one.index] {
                let Some(answer) = answers.next() else { break };
                let (answered, own) = answer?;
                *row = answered;
                is_known |= own.is_some();
                fails_at = fails_at.min(own.unwrap_or(f64::INFINITY));
            }
            if is_known {
                measured.push(Measured { index: one.index, cost: one.cost, fails_at });
            }
        }
        pending = survivors(designs, &pending, &measured, question, &profiles, &mut found, on_answer)?;
    }
    let mut rows: Vec<SizeRow> = found.into_iter().flatten().collect();
    mark_pareto(&mut rows);
    Ok(rows)
}

/// Design whose headroom is not known yet.
#[derive(Debug, Clone)]
struct Pending {
    index: usize,
    cost: f64,
    /// Times the workload at most, by arithmetic.
    bound: f64,
    /// Largest multiple that it was seen to carry.
    carries: f64,
    /// Promise of the design: its slack to the latency bound at the last multiple that was simulated, before that its upper
    /// bound.
    slack: f64,
}

/// Design whose headroom is known.
struct Measured {
    index: usize,
    cost: f64,
    /// Smallest simulated multiple that it does not carry in every state.
    fails_at: f64,
}

/// Takes the most promising design of each range of costs out of those that are left; of equals the last, whose values are the largest
/// as a rule.
fn take_of_each_range(pending: &mut Vec<Pending>) -> Vec<Pending> {
    let mut costs: Vec<f64> = pending.iter().map(|one| one.cost).collect();
    costs.sort_by(f64::total_cmp);
    costs.dedup();
    let per_range = costs.len().div_ceil(RANGES).max(1);
    let mut taken: Vec<Pending> = Vec::new();
    for range in costs.chunks(per_range) {
        let is_in = |one: &&Pending| range.contains(&one.cost);
        let best = pending
            .iter()
            .filter(is_in)
            .max_by(|one, other| one.slack.total_cmp(&other.slack).then(one.index.cmp(&other.index)))
            .map(|one| one.index);
        if let Some(place) = pending.iter().position(|one| Some(one.index) == best) {
            taken.push(pending.remove(place));
        }
    }
    taken
}

/// Pending designs that carry what those known carry for no more. The others get their rows.
fn survivors(
    designs: &[Configuration],
    pending: &[Pending],
    measured: &[Measured],
    question: &SizeQuestion,
    profiles: &[Option<Profile>],
    found: &mut [Vec<SizeRow>],
    on_answer: &(dyn Fn() + Sync),
) -> Result<Vec<Pending>, SizingError> {
    let best = |one: &Pending, is_eligible: &dyn Fn(&Measured) -> bool| {
        let cheaper = measured.iter().filter(|other| other.cost <= one.cost && is_eligible(other));
        cheaper.max_by(|one, other| one.fails_at.total_cmp(&other.fails_at))
    };
    let rivals: Vec<Rivals<'_>> = pending
        .iter()
        .map(|one| {
            let is_better = |other: &Measured| {
                let profiles = profiles[one.index].as_ref().zip(profiles[other.index].as_ref());
                designs[one.index].name == designs[other.index].name
                    && other.fails_at > 0.0
                    && other.fails_at.is_finite()
                    && profiles.is_some_and(|(own, its)| own.is_no_better_than(its))
            };
            Rivals { best: best(one, &|_| true), like: best(one, &is_better) }
        })
        .collect();
    let mut likes: Vec<&Measured> = rivals.iter().filter_map(|rivals| rivals.like).collect();
    likes.sort_by_key(|like| like.index);
    likes.dedup_by_key(|like| like.index);
    let glances = in_parallel(&likes, question.effort.threads, &|like| {
        glance(&designs[like.index], COMPARED_AT * like.fails_at, question)
    });
    let mut seen: BTreeMap<usize, Vec<Option<f64>>> = BTreeMap::new();
    for (like, glance) in likes.iter().zip(glances) {
        seen.insert(like.index, glance?);
    }
    let questions: Vec<(&Pending, &Rivals<'_>)> = pending.iter().zip(&rivals).collect();
    let answers = in_parallel(&questions, question.effort.threads, &|&(one, rivals)| {
        let design = &designs[one.index];
        match rivals.best {
            // Nothing known costs as little, or nothing new is known of what does.
            None => Ok(Gate::Open { slack: one.slack, times: one.carries }),
            Some(best) if best.fails_at <= one.carries => {
                Ok(Gate::Open { slack: one.slack, times: one.carries })
            }
            Some(best) => {
                if one.bound > best.fails_at
                    && let Some(like) = rivals.like
                    && let Some(its) = seen.get(&like.index)
                    && is_no_faster(&glance(design, COMPARED_AT * like.fails_at, question)?, its)
                {
                    return Ok(Gate::Shut { left_out: LeftOut::Comparison, outcomes: unseen(question) });
                }
                gate(design, one.bound, best.fails_at, question)
            }
        }
    });
    let mut left = Vec::new();
    for ((one, rivals), answer) in questions.into_iter().zip(answers) {
        match answer? {
            Gate::Open { slack, times } => left.push(Pending { slack, carries: times, ..one.clone() }),
            Gate::Shut { left_out, outcomes } => {
                let rival = match left_out {
                    LeftOut::Comparison => rivals.like,
                    LeftOut::Arithmetic | LeftOut::Simulation => rivals.best,
                };
                let Some(rival) = rival else { continue };
                let better = &designs[rival.index];
                let texts = crate::change_texts(&better.changed).join(" ");
                let because = format!(
                    "left out: {} {texts} carries as much for no more, by {}",
                    better.name,
                    match left_out {
                        LeftOut::Arithmetic => "arithmetic",
                        LeftOut::Simulation => "one simulated point",
                        LeftOut::Comparison => "demands of each I/O and a short simulation of both",
                    }
                );
                for (row, outcome) in found[one.index].iter_mut().zip(outcomes) {
                    row.verdict = SizeVerdict::NotShown;
                    row.because.clone_from(&because);
                    row.left_out = Some(left_out);
                    match outcome {
                        StateGate::Point(point) => row.points.push(*point),
                        StateGate::Fails(because) => {
                            (row.verdict, row.because) = (SizeVerdict::Fails, because);
                            (row.headroom, row.headroom_95) = (Some(0.0), Some([0.0, 0.0]));
                        }
                        StateGate::NotModelled(because) => {
                            (row.verdict, row.because) = (SizeVerdict::NotModelled, because);
                        }
                        StateGate::Unseen => {}
                    }
                    row.headroom_below =
                        Some(rival.fails_at.min(one.bound)).filter(|times| times.is_finite());
                    on_answer();
                }
            }
        }
    }
    Ok(left)
}

/// Known designs that cost no more than a pending one.
struct Rivals<'a> {
    /// Design that carries the largest multiple of the workload.
    best: Option<&'a Measured>,
    /// Design that carries the largest multiple, among those whose I/Os demand no more of any part.
    like: Option<&'a Measured>,
}

/// Latency by its bound in each state, in a short simulation; `None` where the model does not have the state, infinite where it fails.
fn glance(
    design: &Configuration,
    times: f64,
    question: &SizeQuestion,
) -> Result<Vec<Option<f64>>, SizingError> {
    let effort = Effort {
        ios: GLANCE_IOS.min(question.effort.ios),
        most_ios: GLANCE_IOS.min(question.effort.most_ios),
        // Of two profiles the better has no smaller read cache.
        most_warming_ios: 0,
        ..question.effort
    };
    let of_state = |&state: &State| {
        let simulate = |array: &Configuration, case: &plan::Case| {
            let point = point(array, case, &question.requirements, &effort, times)?;
            Ok(if point.kept_up() { point.tightest(&question.requirements) } else { f64::INFINITY })
        };
        Ok(match in_state(design, state, question, simulate, |own, worst| own > worst)? {
            Outcome::Simulated(share) => Some(share),
            Outcome::Fails(_) => Some(f64::INFINITY),
            Outcome::NotModelled(_) => None,
        })
    };
    question.states.iter().map(of_state).collect()
}

/// Returns true if a design was no faster in any state than another, under the same arrivals at the same addresses.
fn is_no_faster(own: &[Option<f64>], its: &[Option<f64>]) -> bool {
    own.iter().zip(its).all(|pair| match pair {
        (Some(own), Some(its)) => *own >= SAME_SPEED * *its,
        (None, None) => true,
        _ => false,
    })
}

fn unseen(question: &SizeQuestion) -> Vec<StateGate> {
    question.states.iter().map(|_| StateGate::Unseen).collect()
}

/// Outcome of one multiple of the workload.
enum Gate {
    /// The multiple is carried in every state that the model has.
    Open { slack: f64, times: f64 },
    /// The multiple is not carried in one of the states.
    Shut { left_out: LeftOut, outcomes: Vec<StateGate> },
}

/// Outcome of one multiple of the workload in one state.
enum StateGate {
    Point(Box<crate::SizePoint>),
    Fails(String),
    NotModelled(String),
    /// Another state was enough.
    Unseen,
}

/// Checks that a design carries a multiple of the workload in every state.
fn gate(
    design: &Configuration,
    bound: f64,
    times: f64,
    question: &SizeQuestion,
) -> Result<Gate, SizingError> {
    let mut outcomes: Vec<StateGate> = Vec::new();
    let shut = |left_out: LeftOut, mut outcomes: Vec<StateGate>| {
        outcomes.resize_with(question.states.len(), || StateGate::Unseen);
        Ok(Gate::Shut { left_out, outcomes })
    };
    if bound <= times {
        return shut(LeftOut::Arithmetic, outcomes);
    }
    let mut slack = f64::INFINITY;
    for &state in &question.states {
        let simulate = |array: &Configuration, case: &plan::Case| {
            point(array, case, &question.requirements, &question.effort, times)
        };
        let is_worse = |own: &HeadroomPoint, worst: &HeadroomPoint| {
            let rank = |point: &HeadroomPoint| (!point.kept_up(), point.tightest(&question.requirements));
            rank(own) > rank(worst)
        };
        match in_state(design, state, question, simulate, is_worse)? {
            Outcome::Simulated(point) => {
                slack = slack.min(1.0 / point.tightest(&question.requirements).max(1e-9));
                let holds = point.holds(&question.requirements);
                let errors = SizeErrors::of(design, state, &question.requirements);
                outcomes.push(StateGate::Point(Box::new(size_point(&point, &errors, question))));
                if !holds {
                    return shut(LeftOut::Simulation, outcomes);
                }
            }
            Outcome::Fails(because) => {
                outcomes.push(StateGate::Fails(because));
                return shut(LeftOut::Simulation, outcomes);
            }
            Outcome::NotModelled(because) => outcomes.push(StateGate::NotModelled(because)),
        }
    }
    Ok(Gate::Open { slack, times })
}

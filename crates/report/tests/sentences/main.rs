//! Sentences about made-up runs of which everything is known.

#[path = "../../../findings/tests/synthetic/mod.rs"]
mod synthetic;

mod answers;
mod conclusions;
mod junit;
mod nouns;

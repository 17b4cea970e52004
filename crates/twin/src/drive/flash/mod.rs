//! Flash: translation, collection, and how long both take.

pub mod analytic;
pub mod translation;
#[cfg(test)]
mod translation_tests;

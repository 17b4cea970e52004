//! Runner of drawn cases that several tests share.

use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// A runner of so many cases, the same ones each time.
pub fn runner(cases: u32) -> TestRunner {
    TestRunner::new_with_rng(
        Config { failure_persistence: None, ..Config::with_cases(cases) },
        TestRng::deterministic_rng(RngAlgorithm::ChaCha),
    )
}

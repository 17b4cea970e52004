//! The change-point search against the library ruptures, on recorded vectors (`scripts/change-point-vectors.py`).

use findings::{binary_segmentation, pelt};
use serde_json::Value;

/// Proves that PELT and binary segmentation find the change points that ruptures finds, in series clean and noisy, with
/// and without a slope.
#[test]
fn change_points_are_those_of_ruptures() {
    let vectors: Value = serde_json::from_str(include_str!("ruptures.json")).expect("recorded by the script");
    let vectors = vectors.as_array().expect("a list");
    assert!(vectors.len() >= 60);
    let mut changes = 0;
    for (number, vector) in vectors.iter().enumerate() {
        let numbers = |name: &str| -> Vec<f64> {
            vector[name].as_array().expect(name).iter().map(|value| value.as_f64().expect(name)).collect()
        };
        let points = |name: &str| -> Vec<usize> { numbers(name).into_iter().map(|at| at as usize).collect() };
        let series = numbers("series");
        let penalty = vector["penalty"].as_f64().expect("a number");
        let shortest = vector["shortest"].as_u64().expect("a number") as usize;
        assert_eq!(pelt(&series, penalty, shortest), points("pelt"), "PELT, vector {number}");
        assert_eq!(
            binary_segmentation(&series, penalty, shortest),
            points("binary_segmentation"),
            "binary segmentation, vector {number}"
        );
        changes += points("pelt").len();
    }
    assert!(changes > 60, "vectors without changes prove nothing");
}

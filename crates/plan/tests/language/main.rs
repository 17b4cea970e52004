//! The plan language, from the outside.

mod budgets;
mod cases;
mod claims;
mod conformance;
mod documents;
mod hosts;
mod mistakes;
mod properties;
mod shipped;
mod whole;

/// A plan of one stage with this matrix.
fn plan_of_matrix(matrix: &str) -> String {
    format!(
        "title: t\ndefaults: {{ rw: randrw, bs: 4k, runtime: 10 }}\nstages:\n  one:\n    matrix:\n{}",
        matrix.lines().map(|line| format!("      {line}\n")).collect::<String>()
    )
}

fn parse(text: &str) -> plan::Plan {
    plan::parse_plan("test", "test.yaml", text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn names(cases: &[plan::Case]) -> Vec<&str> {
    cases.iter().map(|case| case.name.as_str()).collect()
}

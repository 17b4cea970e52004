//! Invariants of plan texts and matrices.

use super::{names, plan_of_matrix};
use plan::{Selection, expand};
use proptest::prelude::*;

fn rounds() -> u32 {
    if test_support::is_long() { 20_000 } else { 1_000 }
}

/// Pieces of which texts near the plan language are made: what a fuzzer would find slowly.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        proptest::sample::select(vec![
            "title: t\n",
            "stages:\n",
            "  one:\n",
            "    settings: { rw: read, bs: 4k }\n",
            "    matrix:\n",
            "      bs: [4k, 0x1000, 1e3]\n",
            "      include:\n",
            "        - { bs: 8k }\n",
            "&a ",
            "*a",
            "<<: *a\n",
            "!!binary ",
            "? ",
            "- ",
            "| \n",
            ">-\n",
            "\t",
            "\u{feff}",
            "---\n",
            "...\n",
            "null\n",
            "~",
            "{",
            "}",
            "[",
            "]",
            ": ",
            ",",
            "#",
            "\"",
            "'",
            "\\u0000",
            "\r\n",
            "defaults: {}\n",
            "show: []\n",
            "watch: { interval: 1 }\n",
            "watch: { devices: all, command: { name: a, command: b } }\n",
            "watch: { prometheus: [ { name: a, address: http://a, metrics: [b] } ] }\n",
            "events: [{at: 1%}]\n",
        ])
        .prop_map(str::to_owned),
        "\\PC{0,8}",
        any::<String>(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(rounds()))]

    /// Proves that no text makes the reader panic, and that what it refuses it refuses with a message.
    #[test]
    fn no_text_panics(pieces in proptest::collection::vec(piece(), 0..20)) {
        if let Err(error) = plan::parse_plan("p", "p.yaml", &pieces.concat()) {
            prop_assert!(!error.message().is_empty());
            let shown = diagnostic::full_text(&error);
            prop_assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "{shown:?}");
        }
    }

    /// Proves that a shipped plan with one character changed is read or refused, never a panic.
    #[test]
    fn no_slip_panics(at in any::<proptest::sample::Index>(), slip in any::<char>()) {
        let text = plan::shipped_plans()[1].text;
        let mut characters: Vec<char> = text.chars().collect();
        let index = at.index(characters.len());
        characters[index] = slip;
        let _ = plan::parse_plan("p", "p.yaml", &characters.into_iter().collect::<String>());
    }

    /// Proves that an expansion has the product of its axes' cases, each name once, and is the same every time.
    #[test]
    fn expansion_is_the_product_and_deterministic(
        depths in proptest::collection::btree_set(1u32..200, 1..6),
        shares in proptest::collection::btree_set(0u32..=100, 1..6),
        blocks in proptest::collection::btree_set(1u32..64, 1..6),
    ) {
        let matrix = format!(
            "iodepth: {depths:?}\nrwmixread: {shares:?}\nbs: {:?}",
            blocks.iter().map(|k| format!("{k}k")).collect::<Vec<_>>()
        ).replace('{', "[").replace('}', "]");
        let plan = super::parse(&plan_of_matrix(&matrix));
        let cases = expand(&plan, &Selection::default()).expect("cases");
        prop_assert_eq!(cases.len(), depths.len() * shares.len() * blocks.len());
        let mut unique = names(&cases);
        unique.sort_unstable();
        unique.dedup();
        prop_assert_eq!(unique.len(), cases.len());
        prop_assert_eq!(&cases, &expand(&plan, &Selection::default()).expect("cases"));
    }
}

//! The part of `docs/plan-language.md` that is written from the tables.

use crate::quantity::QUANTITIES;
use crate::setting::{SETTINGS, SettingScope};
use std::fmt::Write as _;

/// The tables of settings and quantities, in Markdown.
pub fn reference() -> String {
    let mut text = String::new();
    for (scope, heading) in [
        (SettingScope::Load, "What is issued (every engine obeys these)"),
        (SettingScope::Engine, "How the engine issues it on a real target (a twin has no such thing)"),
        (SettingScope::Host, "How the host is set up on a real target (see Host settings)"),
        (SettingScope::Array, "How the array is set up (a twin or an array driver carries these out)"),
        (SettingScope::Plan, "What tells cases apart or weighs them (nobody carries these out)"),
    ] {
        let _ = writeln!(
            text,
            "**{heading}**\n\n| setting | kind | values | default | what it is |\n|---|---|---|---|---|"
        );
        for setting in SETTINGS.iter().filter(|setting| setting.scope == scope) {
            let _ = writeln!(
                text,
                "| `{}` | {} | {} | {} | {} |",
                setting.name,
                setting.kind.name(),
                setting.kind.must_be(),
                setting.default.unwrap_or(""),
                setting.doc
            );
        }
        text.push('\n');
    }
    let _ = writeln!(text, "**Quantities** (`quantity:` and `y:`): `{}`.", QUANTITIES.join("`, `"));
    text
}

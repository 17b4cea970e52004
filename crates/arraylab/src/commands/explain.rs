//! `explain`: a kind of finding or a data service, with an experiment on a twin that shows it.

use super::check;
use crate::cli::ExplainArgs;
use crate::failure::Failure;
use crate::output::print;
use diagnostic::Problem;
use findings::Kind;
use report::{SERVICES, ServiceExplanation};
use std::process::ExitCode;

/// Other words of the field for kinds of findings.
const SYNONYMS: [(&str, Kind); 6] = [
    ("bottleneck", Kind::Limit),
    ("cliff", Kind::WriteCliff),
    ("dip", Kind::Disruption),
    ("knee", Kind::Saturation),
    ("peak", Kind::Maximum),
    ("steady", Kind::SteadyState),
];

/// `arraylab explain`
pub fn explain(arguments: &ExplainArgs) -> Result<ExitCode, Failure> {
    let name = &arguments.finding;
    let text = match (Kind::named(name), report::explain_service(name)) {
        (Some(kind), _) => of_kind(kind),
        (None, Some(service)) => of_service(service)?,
        (None, None) => {
            let kinds: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
            let services: Vec<&str> = SERVICES.iter().map(|explained| explained.service).collect();
            let synonym = SYNONYMS.iter().find(|(word, _)| word == name).map(|(_, kind)| kind.name());
            let near = synonym.or_else(|| plan::nearest(name, kinds.iter().chain(&services).copied()));
            let problem = Problem::new(format!("there is no finding or data service `{name}`"));
            return Err(Failure::refused(problem.with_hint(format!(
                "{}findings are {}; data services are {}",
                near.map_or_else(String::new, |near| format!("did you mean `{near}`? ")),
                kinds.join(", "),
                services.join(", ")
            ))));
        }
    };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn of_kind(kind: Kind) -> String {
    let explanation = report::explain(kind);
    let experiment = explanation.experiment;
    let command = |run: &str, directory: &str| {
        format!(
            "  arraylab {run} --out {directory} && arraylab findings {directory} --json | grep {}",
            kind.name()
        )
    };
    let plan =
        experiment.plan.map_or_else(String::new, |plan| format!("  with this as bound.yaml:\n\n{plan}\n"));
    format!(
        "{}\n\n{}\n\nHow it is found\n{}\n\nTry it: first as it is, then with what makes it switched off\n{plan}{}\n{}\n{}\n",
        kind.name(),
        explanation.what,
        explanation.how_found,
        command(experiment.on, "/tmp/on"),
        command(experiment.off, "/tmp/off"),
        experiment.look_for
    )
}

fn of_service(explained: &ServiceExplanation) -> Result<String, Failure> {
    let file = explained.plan_file();
    let mut text = format!("{}\n\n{}\n", explained.service, explained.what);
    for claim in &plan::parse_plan(explained.service, &file, explained.plan)?.claims {
        text.push_str(&format!(
            "\nClaim\n{}\n{}\nCheck: {}\n",
            claim.says,
            claim.mechanism,
            claim.criterion()
        ));
    }
    let name = explained.array_name();
    let description = match explained.array {
        Some((file, text)) => plan::parse_array(file, text)?,
        None => plan::load_array(name)?.description,
    };
    let is_meant = |path: &str| explained.rests_on.iter().any(|beginning| path.starts_with(beginning));
    text.push_str(&format!(
        "\nRests on\n{}Nothing of it is fitted; docs/models/services.md has the equations, and public figures of those services that have some.\n",
        check::value_table(&description.parts, is_meant)
    ));
    text.push_str("\nTry it: the claim holds on the first, and is refuted on the second, where the service is switched off\n");
    for (file, content) in explained.array.into_iter().chain([(file.as_str(), explained.plan)]) {
        text.push_str(&format!("  with this as {file}:\n\n{content}\n"));
    }
    for (target, directory) in [(explained.on, "/tmp/on"), (explained.off, "/tmp/off")] {
        text.push_str(&format!(
            "  arraylab run {file} --target {target} --out {directory} && arraylab claims {directory}\n"
        ));
    }
    Ok(text)
}

//! Question of the page: an array with changes, a load, and how exact the answer is to be.

use diagnostic::Diagnostic;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use sizing::{Configuration, Effort, LoadSource, Row, SizingError, TwinCache, WarmedTwins};
use std::borrow::Cow;

/// Points of the curve.
const POINTS: usize = 8;
/// Most changes of one question.
const CHANGES_LIMIT: usize = 64;
/// Settings of the load where the question says nothing.
const LOAD: [(&str, &str); 5] =
    [("rw", "randrw"), ("rwmixread", "70"), ("bs", "8k"), ("iodepth", "16"), ("numjobs", "8")];
/// Effort of a refined answer.
const REFINED: Effort = Effort { ios: 100_000, most_ios: 1_000_000, threads: 1, ..Effort::FULL };

/// Questions that cannot be answered.
#[derive(Debug, thiserror::Error)]
pub enum ExploreError {
    /// The question is no JSON object of the fields that are known.
    #[error("the question cannot be read")]
    Syntax(#[from] serde_json::Error),
    /// The array or the load cannot be.
    #[error(transparent)]
    Sizing(#[from] SizingError),
    /// The array of the question cannot be read.
    #[error(transparent)]
    Array(#[from] plan::PlanError),
    /// Too much is asked at once.
    #[error("there are {count} changes, at most {limit} are made")]
    Changes {
        /// So many.
        count: usize,
        /// The limit.
        limit: usize,
    },
}

impl Diagnostic for ExploreError {
    fn hint(&self) -> Option<Cow<'_, str>> {
        match self {
            ExploreError::Sizing(error) => error.hint(),
            ExploreError::Array(error) => error.hint(),
            ExploreError::Syntax(_) | ExploreError::Changes { .. } => None,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    array: Value,
    #[serde(default)]
    load: Map<String, Value>,
    #[serde(default)]
    effort: Option<EffortWord>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum EffortWord {
    Rough,
    Refined,
}

/// Named array with changes, in the words of `what-if --change`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedArray {
    name: String,
    #[serde(default)]
    changes: Map<String, Value>,
}

/// Answer to a question: `{"array": "name" | {"name", "changes"} | an array document, "load": fio settings, "effort": "rough" |
/// "refined"}`. It has the curve's points, the answer about the load itself, and both as files and as a command line.
/// The twin that was built last is taken from a cache, which changes nothing but the time that an answer takes.
pub fn answer(body: &[u8], twins: &TwinCache) -> Result<Value, ExploreError> {
    let question: Question = serde_json::from_slice(body)?;
    let configuration = Configuration { twins: Some(twins.clone()), ..configuration(&question.array)? };
    let load = load(&question.load)?;
    let source = LoadSource::read(&load)?;
    let case = &source.case;
    let is_refined = question.effort == Some(EffortWord::Refined);
    let effort = if is_refined { REFINED } else { Effort::ROUGH };
    let at_load = match is_refined {
        true => sizing::answer_with_elasticity(&configuration, case, &effort)?,
        false => sizing::answer(&configuration, case, &effort)?,
    };
    let points = sizing::curve(&configuration, case, POINTS, &effort, &at_load)?;
    let row = Row { change: configuration.changed.clone(), answer: at_load };
    let checked = plan::array_check(&configuration.name, &configuration.description.parts);
    Ok(json!({
        "effort": if is_refined { "refined" } else { "rough" },
        "array": {
            "name": configuration.name,
            "title": configuration.description.title,
            "text": configuration.text,
            "check": checked,
            "drawing": drawing(&configuration),
        },
        "load": load,
        "answer": row.json(),
        "points": points,
        "command": command(&configuration, &load),
        "plan": plan_text(&source),
    }))
}

pub(crate) fn configuration(array: &Value) -> Result<Configuration, ExploreError> {
    let (name, changes) = match array {
        Value::String(name) => (name.clone(), Map::new()),
        Value::Object(document) if document.contains_key("name") && !is_description(document) => {
            let named: NamedArray = serde_json::from_value(array.clone())?;
            (named.name, named.changes)
        }
        document => {
            let text = document.to_string();
            let description = plan::parse_array("array", &text)?;
            let (settings, changed) = (Vec::new(), Map::new());
            let name = "array".to_owned();
            return Ok(Configuration {
                name,
                text,
                description,
                is_shipped: false,
                settings,
                changed,
                has_no_rows: false,
                twins: None,
                warmed: WarmedTwins::default(),
            });
        }
    };
    if changes.len() > CHANGES_LIMIT {
        return Err(ExploreError::Changes { count: changes.len(), limit: CHANGES_LIMIT });
    }
    // Only what ships: a page must not name files of this host.
    let is_known = plan::shipped_arrays().iter().any(|shipped| shipped.name == name);
    if !is_known {
        let known: Vec<&str> = plan::shipped_arrays().iter().map(|shipped| shipped.name).collect();
        return Err(ExploreError::Sizing(SizingError::Question {
            message: format!("no array `{name}` ships"),
            hint: format!("give its document, or one of {}", known.join(", ")),
        }));
    }
    let changes: Vec<(&str, &Value)> = changes.iter().map(|(key, value)| (key.as_str(), value)).collect();
    Ok(Configuration::load(&name)?.with_all(&changes)?)
}

fn is_description(document: &Map<String, Value>) -> bool {
    document.contains_key("groups")
}

/// The load in the words of `--load`.
pub(crate) fn load(settings: &Map<String, Value>) -> Result<String, ExploreError> {
    let mut all: Vec<(String, String)> =
        LOAD.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    for (name, value) in settings {
        let text = sizing::value_text(value);
        if name.contains([',', '=']) || text.contains(',') {
            return Err(ExploreError::Sizing(SizingError::Question {
                message: format!("`{name}` has a comma"),
                hint: "settings are those of one load in fio's words".into(),
            }));
        }
        match all.iter_mut().find(|(known, _)| known == name) {
            Some((_, own)) => *own = text,
            None => all.push((name.clone(), text)),
        }
    }
    // Pure reads and writes have no mix.
    let is_mixed = all
        .iter()
        .any(|(name, value)| name == "rw" && matches!(value.as_str(), "randrw" | "rw" | "readwrite"));
    all.retain(|(name, _)| is_mixed || name != "rwmixread");
    let pairs: Vec<String> = all.iter().map(|(name, value)| format!("{name}={value}")).collect();
    Ok(format!("fio:{}", pairs.join(",")))
}

/// Kinds of parts with their counts, from the hosts to the drives.
fn drawing(configuration: &Configuration) -> Value {
    let topology = configuration.description.bench();
    let of = |kind: &str, parts: &[twin::TopologyPart]| -> Vec<Value> {
        let kind_of = |part: &twin::TopologyPart| {
            // A hot spare does nothing.
            if part.label.ends_with("hot spare") { "spares".to_owned() } else { kind.to_owned() }
        };
        let one = |part: &twin::TopologyPart| json!({ "part": kind_of(part), "label": part.label, "count": part.count });
        parts.iter().map(one).collect()
    };
    let all = [
        of("hosts", &topology.hosts),
        of("links", &topology.links),
        of("controllers", &topology.controllers),
        of("drives", &topology.drives),
    ];
    Value::Array(all.concat())
}

/// The same question on the command line.
fn command(configuration: &Configuration, load: &str) -> String {
    let mut text = format!("arraylab what-if {} --load {}", configuration.name, quoted(load));
    for change in sizing::change_texts(&configuration.changed) {
        text.push_str(&format!(" --change {}", quoted(&change)));
    }
    text
}

/// A word for a shell.
pub(crate) fn quoted(text: &str) -> String {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b":=,._-%/".contains(&byte));
    if is_plain { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

/// The load as a plan.
fn plan_text(load: &LoadSource) -> String {
    format!(
        "title: A load of the explorer\nstages:\n  load:\n    settings: {{ {}, runtime: 60 }}\n",
        load.plan_settings()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(text: &str) -> Result<Value, ExploreError> {
        answer(text.as_bytes(), &TwinCache::default())
    }

    /// Proves that an answer has the curve, the load's own point among it, the parts' busy shares, and the files and command line that give the
    /// same.
    #[test]
    fn answers_are_whole() {
        let text = r#"{"array":{"name":"flashsystem-840","changes":{"links.count":16}},"load":{"rw":"randread","bs":"64k"}}"#;
        let answer = ask(text).unwrap();
        let points = answer["points"].as_array().unwrap();
        assert!(points.len() == POINTS && points.iter().any(|point| point["outstanding"] == 128));
        let rates: Vec<f64> = points.iter().map(|point| point["iops"].as_f64().unwrap()).collect();
        assert!(rates[0] < rates[POINTS - 1]);
        assert_eq!(answer["answer"]["change"]["links.count"], 16);
        assert!(answer["answer"]["busy"].as_object().is_some_and(|busy| !busy.is_empty()));
        assert_eq!(
            answer["command"],
            "arraylab what-if flashsystem-840 --load fio:rw=randread,bs=64k,iodepth=16,numjobs=8 --change links.count=16"
        );
        plan::parse_plan("p", "p.yaml", answer["plan"].as_str().unwrap()).unwrap();
        let again = plan::parse_array("a", answer["array"]["text"].as_str().unwrap()).unwrap();
        assert_eq!(again.parts.fabric.ports.get(), 16);
        // Whatever was asked before.
        let twins = TwinCache::default();
        for before in [text.replace("randread", "randrw"), text.replace("16}", "4}"), text.to_owned()] {
            super::answer(before.as_bytes(), &twins).unwrap();
            assert_eq!(super::answer(text.as_bytes(), &twins).unwrap(), answer);
        }
    }

    /// Proves that an array's own document is a question, too.
    #[test]
    fn documents_are_arrays() {
        let text = plan::load_array("nas-raid5").unwrap().text;
        let document: Value = plan::parse_yaml("nas", &text).unwrap();
        let answer = ask(&json!({ "array": document, "load": { "rw": "randread" } }).to_string()).unwrap();
        assert!(answer["answer"]["iops"].as_f64().unwrap() > 0.0);
        assert_eq!(answer["answer"]["validated"], "assumed");
    }

    /// Proves that what cannot be answered is refused in words, without a file of this host being read.
    #[test]
    fn wrong_questions_are_refused() {
        for (text, expected) in [
            ("", "cannot be read"),
            ("[]", "cannot be read"),
            ("{\"array\":\"no-such\"}", "ships"),
            ("{\"array\":\"/etc/passwd\"}", "ships"),
            ("{\"array\":{\"name\":\"../../etc/passwd\"}}", "ships"),
            ("{\"array\":{\"name\":\"raid-levels\",\"chnages\":{}}}", "chnages"),
            ("{\"array\":\"raid-levels\",\"load\":{\"rw\":\"randred\"}}", "randread"),
            ("{\"array\":\"raid-levels\",\"load\":{\"bs\":\"4k,rw=write\"}}", "comma"),
            ("{\"array\":\"raid-levels\",\"effort\":\"much\"}", "cannot be read"),
            ("{\"array\":{\"name\":\"raid-levels\",\"changes\":{\"drives.rpm\":-1}}}", "cannot be `-1`"),
            ("{\"array\":{\"groups\":[]}}", "hint"),
        ] {
            let refused = diagnostic::full_text(&ask(text).unwrap_err());
            assert!(refused.contains(expected), "{text}: {refused}");
        }
    }
}

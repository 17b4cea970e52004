//! Every shipped plan and every example against the JSON Schema that editors use.

use serde_json::Value;

/// Checks a value against the parts of JSON Schema 2020-12 that our schemas use. A keyword that is not known here is
/// a failure, so that nothing passes because it was not looked at.
fn validate(root: &Value, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    let Some(keywords) = schema.as_object() else {
        return if schema == &Value::Bool(true) {
            Ok(())
        } else {
            Err(format!("{at}: nothing may stand here"))
        };
    };
    for (keyword, wanted) in keywords {
        let fail = || Err(format!("{at}: {value} is not as `{keyword}: {wanted}` asks"));
        match keyword.as_str() {
            "$schema"
            | "$defs"
            | "title"
            | "description"
            | "default"
            | "format"
            | "examples"
            | "additionalProperties"
            | "patternProperties" => {}
            "$ref" => {
                let path =
                    wanted.as_str().and_then(|path| path.strip_prefix('#')).expect("a reference within");
                validate(root, root.pointer(path).expect("a definition"), value, at)?;
            }
            "type" => {
                let names: Vec<&str> = match wanted {
                    Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
                    name => name.as_str().into_iter().collect(),
                };
                if !names.iter().any(|name| is_of_type(value, name)) {
                    return fail();
                }
            }
            "enum" if !wanted.as_array().expect("a list").contains(value) => return fail(),
            "const" if wanted != value => return fail(),
            "enum" | "const" => {}
            "minimum" | "maximum" | "exclusiveMinimum" => {
                let bound = wanted.as_f64().expect("a number");
                let keeps = |number: f64| match keyword.as_str() {
                    "minimum" => number >= bound,
                    "maximum" => number <= bound,
                    _ => number > bound,
                };
                if value.as_f64().is_some_and(|number| !keeps(number)) {
                    return fail();
                }
            }
            "minItems"
                if value.as_array().is_some_and(|list| (list.len() as u64) < wanted.as_u64().unwrap()) =>
            {
                return fail();
            }
            "minProperties"
                if value.as_object().is_some_and(|map| (map.len() as u64) < wanted.as_u64().unwrap()) =>
            {
                return fail();
            }
            "minItems" | "minProperties" => {}
            "pattern"
                if value.as_str().is_some_and(|text| !matches(wanted.as_str().expect("text"), text)) =>
            {
                return fail();
            }
            "pattern" => {}
            "anyOf" | "oneOf" => {
                let choices = wanted.as_array().expect("a list");
                let failures: Vec<String> =
                    choices.iter().filter_map(|choice| validate(root, choice, value, at).err()).collect();
                if failures.len() == choices.len() {
                    return Err(failures.join(" and "));
                }
            }
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    validate(root, wanted, item, &format!("{at}/{index}"))?;
                }
            }
            "properties" => {
                for (name, own) in value.as_object().into_iter().flatten() {
                    let path = format!("{at}/{name}");
                    let by_pattern = keywords
                        .get("patternProperties")
                        .and_then(Value::as_object)
                        .into_iter()
                        .flatten()
                        .find(|(pattern, _)| matches(pattern, name))
                        .map(|(_, schema)| schema);
                    let own_schema = wanted.get(name).or(by_pattern).or(keywords.get("additionalProperties"));
                    if let Some(schema) = own_schema {
                        validate(root, schema, own, &path)?;
                    }
                }
            }
            "required" => {
                let mut names = wanted.as_array().expect("a list").iter().filter_map(Value::as_str);
                if let Some(missing) = names.find(|name| value.get(name).is_none()) {
                    return Err(format!("{at}: `{missing}` is missing"));
                }
            }
            unknown => return Err(format!("{at}: this test does not know the keyword `{unknown}`")),
        }
    }
    // Maps with free names have no `properties`.
    if let (None, Some(other)) = (keywords.get("properties"), keywords.get("additionalProperties")) {
        for (name, own) in value.as_object().into_iter().flatten() {
            validate(root, other, own, &format!("{at}/{name}"))?;
        }
    }
    Ok(())
}

fn matches(pattern: &str, text: &str) -> bool {
    regex_lite::Regex::new(pattern).expect("a pattern").is_match(text)
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => {
            value.is_u64() || value.is_i64() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        other => panic!("type {other}"),
    }
}

fn conforms(text: &str) -> Result<(), String> {
    let schema = plan::schema(plan::Kind::Plan);
    let value: Value = plan::parse_yaml("plan.yaml", text).expect("YAML");
    validate(&schema, &schema, &value, "")
}

/// Proves that every shipped plan is as the schema says, so that no editor marks what arraylab reads.
#[test]
fn every_shipped_plan_conforms() {
    for shipped in plan::shipped_plans() {
        conforms(shipped.text).unwrap_or_else(|error| panic!("{}: {error}", shipped.name));
    }
}

/// Proves that the examples of the language page are as the schema says.
#[test]
fn every_example_conforms() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/plan-language.md");
    let page = std::fs::read_to_string(path).expect("docs/plan-language.md");
    for example in
        page.split("```yaml\n").skip(1).filter_map(|rest| rest.split_once("```")).map(|(text, _)| text)
    {
        conforms(example).unwrap_or_else(|error| panic!("{error}\n{example}"));
    }
}

/// Proves that the schema refuses what the reader refuses, for a mistake of each kind that a schema can see.
#[test]
fn the_schema_refuses_mistakes() {
    let good = "title: t\nstages:\n  one:\n    settings: { rw: read, bs: 4k, queue.scheduler: none }\n    pause: 5\n";
    conforms(good).expect("good");
    for (from, to) in [
        ("title", "titel"),
        ("rw: read", "rw: reed"),
        ("bs: 4k", "bs: [4k]"),
        ("queue.", "queu."),
        ("pause: 5", "pause: []"),
        ("pause: 5", "pause: { otherwise: 5 }"),
        ("pause: 5", "matrix: { bs: 4k }"),
        ("pause: 5", "loads: { a: { seting: {} } }"),
        ("pause: 5", "events: [ { action: x, when: { steady: iop } } ]"),
        ("pause: 5", "stripe: { columns: 8 }"),
    ] {
        let text = good.replace(from, to);
        assert!(conforms(&text).is_err(), "{text}");
        assert!(plan::parse_plan("t", "t.yaml", &text).is_err(), "{text}");
    }
}

fn array_conforms(text: &str) -> Result<(), String> {
    let schema = plan::schema(plan::Kind::Array);
    let value: Value = plan::parse_yaml("array.yaml", text).expect("YAML");
    validate(&schema, &schema, &value, "")
}

/// Proves that every shipped array, of parts or of a kind, is as the schema says, and that it refuses mistakes in an array of parts.
#[test]
fn every_shipped_array_conforms() {
    for shipped in plan::shipped_arrays() {
        array_conforms(shipped.text).unwrap_or_else(|error| panic!("{}: {error}", shipped.name));
    }
    let good = "title: t\ngroups: [{ name: g, drives: { use: nvme-3840-tlc, count: 24 }, layout: raid6 }]\n";
    array_conforms(good).expect("good");
    for (from, to) in
        [("layout", "layuot"), ("raid6", "raid7"), ("count: 24", "count: many"), ("count: 24", "count: 0")]
    {
        assert!(array_conforms(&good.replace(from, to)).is_err(), "{to}");
    }
}

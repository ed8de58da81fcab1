//! The documents in `docs/schema`, and whether output is as they say.

use serde_json::Value;

/// A small validator for the part of JSON Schema that our schemas use: the document is the specification.
pub(crate) fn validate(schema: &Value, root: &Value, value: &Value, path: &str) {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = root.pointer(reference.trim_start_matches('#')).expect("a definition");
        validate(target, root, value, path);
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        let kind = |choice: &Value| choice["type"].as_str().map(str::to_owned);
        let fitting = choices.iter().find(|choice| kind(choice).is_none_or(|kind| has_type(value, &kind)));
        assert!(fitting.is_some(), "{path}: {value} fits no choice");
        fitting.into_iter().for_each(|choice| validate(choice, root, value, path));
    }
    if !schema["const"].is_null() {
        assert_eq!(&schema["const"], value, "{path}");
    }
    if let Some(words) = schema["enum"].as_array() {
        assert!(words.contains(value), "{path}: {value} is none of {words:?}");
    }
    match &schema["type"] {
        Value::String(kind) => assert!(has_type(value, kind), "{path}: {value} is no {kind}"),
        Value::Array(kinds) => {
            let fits = kinds.iter().filter_map(Value::as_str).any(|kind| has_type(value, kind));
            assert!(fits, "{path}: {value} is none of {kinds:?}");
        }
        _ => {}
    }
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        assert!(value.get(name).is_some(), "{path}: {name} is missing");
    }
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        if let Some(value) = value.get(name) {
            validate(inner, root, value, &format!("{path}/{name}"));
        }
    }
    for (at, element) in value.as_array().into_iter().flatten().enumerate() {
        if !schema["items"].is_null() {
            validate(&schema["items"], root, element, &format!("{path}/{at}"));
        }
    }
}

fn has_type(value: &Value, kind: &str) -> bool {
    match kind {
        "null" => value.is_null(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        _ => false,
    }
}

/// One of `docs/schema`.
pub(crate) fn schema(name: &str) -> Value {
    let path = format!("{}/../../docs/schema/{name}.schema.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).expect("the schema")).expect("JSON")
}

/// Every field at the top of an object is one that the schema has.
pub(crate) fn is_documented(definition: &Value, object: &Value) {
    let known = definition["properties"].as_object().expect("properties");
    for name in object.as_object().expect("an object").keys() {
        assert!(known.contains_key(name), "{name} is not documented");
    }
}

//! SARIF 2.1.0 (OASIS): the format that code hosts and editors show findings from.

use serde_json::{Value, json};

use super::{Missing, Place, Told, ToldFinding, baseline};

/// Every kind of finding, in the order of the rules: results name them by index.
const RULES: [(&str, &str); 8] = [
    ("race", "Two accesses to the same bytes may happen in either order"),
    ("out-of-bounds", "An access lies outside every buffer"),
    ("misaligned", "An address is not a multiple of the size of the access"),
    ("hang", "Threads wait for ever"),
    ("protocol", "A rule of barriers, mbarriers, clusters or tensor memory is broken"),
    ("trap", "A trap is executed"),
    ("assertion", "An assertion fails"),
    ("operand", "An operand is out of range"),
];

/// One log with one run for all launches.
pub fn sarif(told: &[Told]) -> String {
    let mut results = Vec::new();
    for told in told {
        results.extend(told.findings.iter().map(|finding| result(told, finding, false)));
        results.extend(told.known.iter().map(|finding| result(told, finding, true)));
    }
    let rules: Vec<Value> = RULES
        .iter()
        .map(|(id, text)| {
            json!({ "id": id, "shortDescription": { "text": text }, "defaultConfiguration": { "level": "error" } })
        })
        .collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {
                "driver": { "name": "fencepost", "version": env!("CARGO_PKG_VERSION"), "rules": rules },
            },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    format!("{log:#}\n")
}

fn result(told: &Told, finding: &ToldFinding, known: bool) -> Value {
    let level = if finding.not_under.is_empty() { "error" } else { "warning" };
    let rule = RULES.iter().position(|(id, _)| *id == finding.kind);
    let locations: Vec<Value> = finding.places.last().map(|place| location(told, place, None)).into_iter().collect();
    let others = finding.places.iter().rev().skip(1).enumerate();
    let related: Vec<Value> = others.map(|(id, place)| location(told, place, Some(id))).collect();
    let section = if finding.section.is_empty() { String::new() } else { format!(" (PTX ISA {})", finding.section) };
    let mut result = json!({
        "ruleId": finding.kind,
        "level": level,
        "message": { "text": format!("{}: {}{section}", told.entry, finding.message) },
        "locations": locations,
        "relatedLocations": related,
        "partialFingerprints": { "fencepost/v1": baseline::fingerprint(told, finding) },
    });
    if let Some(rule) = rule {
        result["ruleIndex"] = rule.into();
    }
    if let Some(missing) = &finding.missing {
        result["fixes"] = json!([fix(told, missing)]);
    }
    if known {
        result["suppressions"] = json!([{ "kind": "external", "status": "accepted" }]);
        result["baselineState"] = "unchanged".into();
    }
    result
}

/// The line that is missing, put in before another.
fn fix(told: &Told, missing: &Missing) -> Value {
    let at = json!({ "startLine": missing.line, "startColumn": 1, "endLine": missing.line, "endColumn": 1 });
    json!({
        "description": { "text": format!("put in `{}`", missing.text) },
        "artifactChanges": [{
            "artifactLocation": { "uri": uri(&told.file) },
            "replacements": [{ "deletedRegion": at, "insertedContent": { "text": format!("{}\n", missing.text) } }],
        }],
    })
}

/// A line of the source if there is one, else of the module.
fn location(told: &Told, place: &Place, id: Option<usize>) -> Value {
    let module = place.file.as_ref().unwrap_or(&told.file);
    let (file, region) = match &place.source {
        Some(source) => (&source.file, json!({ "startLine": source.line.max(1) })),
        None => (module, json!({ "startLine": place.line.max(1), "startColumn": place.column.max(1) })),
    };
    let note = if place.note.is_empty() { String::new() } else { format!(" ({})", place.note) };
    let mut location = json!({
        "physicalLocation": { "artifactLocation": { "uri": uri(file) }, "region": region },
        "message": { "text": format!("{module}, line {}: {}{note}", place.line, place.text) },
    });
    if let Some(id) = id {
        location["id"] = id.into();
    }
    location
}

/// A path as a URI reference (RFC 3986): what is no part of one is written `%20`.
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    if path.starts_with('/') {
        uri.push_str("file://");
    }
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => uri.push(char::from(byte)),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

//! SARIF 2.1.0 (OASIS): the format that code hosts and editors show findings from.

use serde_json::{Value, json};

use super::{Place, Told, ToldFinding};

/// One log with one run for all launches.
pub fn sarif(told: &[Told]) -> String {
    let mut results = Vec::new();
    let mut kinds: Vec<&str> = Vec::new();
    for told in told {
        for finding in &told.findings {
            if !kinds.contains(&finding.kind) {
                kinds.push(finding.kind);
            }
            results.push(result(told, finding));
        }
    }
    let rules: Vec<Value> = kinds.iter().map(|kind| json!({ "id": kind })).collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "fencepost", "rules": rules } },
            "results": results,
        }],
    });
    format!("{log:#}\n")
}

fn result(told: &Told, finding: &ToldFinding) -> Value {
    let level = if finding.not_under.is_empty() { "error" } else { "warning" };
    let locations: Vec<Value> = finding.places.last().map(|place| location(told, place)).into_iter().collect();
    let related: Vec<Value> = finding.places.iter().rev().skip(1).map(|place| location(told, place)).collect();
    json!({
        "ruleId": finding.kind,
        "level": level,
        "message": { "text": format!("{}: {}", told.entry, finding.message) },
        "locations": locations,
        "relatedLocations": related,
    })
}

fn location(told: &Told, place: &Place) -> Value {
    let (uri, line) = match &place.source {
        Some(source) => (source.file.clone(), source.line),
        None => (told.file.clone(), place.line),
    };
    json!({
        "physicalLocation": {
            "artifactLocation": { "uri": uri },
            "region": { "startLine": line },
        },
        "message": { "text": format!("{}, line {}: {} ({})", told.file, place.line, place.text, place.note) },
    })
}

//! `corpus/pairs.tsv`: pairs of broken test and fixed twin with what `fix` makes of the broken one. A sample is repaired again
//! here; `cargo run --release --example pairs -- compare` repairs them all and prints the file anew.

use crate::common::{Folder, fencepost};
use crate::docs::root;

/// Every so many rows are repaired again, of tests that are no longer than this.
const EVERY: usize = 12;
const SHORT: u64 = 900;

struct Row {
    broken: String,
    fixed: String,
    twin: u64,
    ours: Option<u64>,
    word: String,
    reason: String,
}

fn rows() -> Vec<Row> {
    let text = std::fs::read_to_string(root().join("corpus/pairs.tsv")).expect("the list of pairs");
    let row = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        assert_eq!(fields.len(), 6, "{line}");
        Row {
            broken: fields[0].to_owned(),
            fixed: fields[1].to_owned(),
            twin: fields[2].parse().expect("a cost"),
            ours: fields[3].parse().ok(),
            word: fields[4].to_owned(),
            reason: fields[5].to_owned(),
        }
    };
    text.lines().filter(|line| !line.starts_with('#')).map(row).collect()
}

#[test]
fn every_pair_is_there_and_what_is_not_as_good_has_a_reason() {
    let rows = rows();
    assert!(rows.len() >= 250, "{} pairs", rows.len());
    for row in &rows {
        for name in [&row.broken, &row.fixed] {
            assert!(root().join(format!("corpus/{name}.litmus")).is_file(), "{name}");
        }
        let is_as_good = row.ours.is_some_and(|ours| ours <= row.twin);
        assert_eq!(row.reason.is_empty(), is_as_good, "{}", row.broken);
        assert_eq!(row.ours.is_some(), matches!(row.word.as_str(), "cheapest" | "best found"), "{}", row.broken);
    }
    let as_good = rows.iter().filter(|row| row.reason.is_empty()).count();
    let cheapest = rows.iter().filter(|row| row.word == "cheapest").count();
    assert!(100 * as_good >= 95 * rows.len(), "{as_good} of {} are at most as dear as the twin", rows.len());
    assert!(100 * cheapest >= 80 * rows.len(), "{cheapest} of {} are the cheapest", rows.len());
}

#[test]
fn a_sample_of_the_pairs_is_repaired_as_the_list_says() {
    let is_short = |row: &&Row| {
        let file = std::fs::metadata(root().join(format!("corpus/{}.litmus", row.broken)));
        row.word == "cheapest" && file.is_ok_and(|file| file.len() <= SHORT)
    };
    let rows = rows();
    let sample: Vec<&Row> = rows.iter().filter(is_short).step_by(EVERY).collect();
    assert!(sample.len() >= 10, "{} in the sample", sample.len());
    for row in sample {
        let path = root().join(format!("corpus/{}.litmus", row.broken));
        let run = fencepost(&Folder::new(), &["fix", path.to_str().expect("UTF-8"), "--json"]);
        let report: serde_json::Value = serde_json::from_str(&run.out).expect("JSON");
        assert_eq!(report["answer"], "repaired", "{}: {}", row.broken, run.out);
        assert_eq!(report["repair"]["cost"].as_u64(), row.ours, "{}: {}", row.broken, run.out);
        assert_eq!(report["repair"]["cheapest"], true, "{}", row.broken);
        assert_eq!(report["repair"]["second_engine"], serde_json::Value::Null, "{}: {}", row.broken, run.out);
    }
}

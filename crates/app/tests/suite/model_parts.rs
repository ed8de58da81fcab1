//! A model in parts: a copy of the folder, and the one file that `fencepost models show` prints, answer as the shipped one.

use std::fs;
use std::path::Path;

use super::common::{Folder, fencepost};

/// The files of the `models` folder that make the model `ptx`.
fn copy(to: &Folder) {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    to.write("copy/ptx.cat", fs::read(models.join("ptx.cat")).expect("a model"));
    for entry in fs::read_dir(models.join("ptx")).expect("its parts").flatten() {
        let name = entry.file_name().into_string().expect("a name");
        to.write(&format!("copy/ptx/{name}"), fs::read(entry.path()).expect("a part"));
    }
}

#[test]
fn a_copy_of_the_folder_and_the_shown_text_answer_as_the_shipped_model() {
    let folder = Folder::new();
    copy(&folder);
    let shown = fencepost(&folder, &["models", "show", "ptx"]);
    assert!(!shown.out.contains("\ninclude ") && shown.out.contains("Glossary"), "{}", shown.out);
    folder.write("one.cat", &shown.out);
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/wild");
    let corpus = corpus.to_str().expect("a path");
    let reports = |model: &str| {
        let run = fencepost(&folder, &["check", corpus, "--json", "--model", model]);
        assert!(run.code < 2, "{model}: {}", run.err);
        let report = |line: &str| -> serde_json::Value {
            let mut report: serde_json::Value = serde_json::from_str(line).expect("a report");
            report["model"].take();
            report["expectation"].take();
            report
        };
        run.out.lines().map(report).collect::<Vec<_>>()
    };
    let (copied, saved, shipped) = (reports("copy/ptx.cat"), reports("one.cat"), reports("ptx"));
    assert!(shipped.len() > 20 && copied.len() == shipped.len() && saved.len() == shipped.len());
    for ((copied, saved), shipped) in copied.iter().zip(&saved).zip(&shipped) {
        assert!(copied == saved, "{}", copied["test"]);
        // Programs are unfolded further for a model of one's own, so that the events of a witness have other numbers.
        let answers = |report: &serde_json::Value| {
            let [races, protocol] = ["races", "protocol"].map(|part| report[part]["answer"].clone());
            [report["test"].clone(), report["verdict"].clone(), races, protocol]
        };
        assert_eq!(answers(copied), answers(shipped));
    }
}

/// A misspelt reading in a part would be a rule lost in silence. The message names the part and the line.
#[test]
fn a_reading_that_a_part_asks_for_and_the_head_does_not_declare_is_refused_there() {
    let folder = Folder::new();
    copy(&folder);
    let tensor = folder.read("copy/ptx/tensor.cat");
    folder.write("copy/ptx/tensor.cat", tensor.replace("tcgen05-fence-in-thread=orders", "tcgen05-fence=orders"));
    let shown = fencepost(&folder, &["models", "show", "copy/ptx.cat"]);
    assert_eq!(shown.code, 2, "{}", shown.out);
    assert!(shown.err.contains("`tcgen05-fence` is not among the readings"), "{}", shown.err);
    assert!(shown.err.contains("ptx/tensor.cat:"), "{}", shown.err);
}

//! Expectations beside tests, and agreement with published answers.

use crate::common;

use std::path::PathBuf;

use common::{Folder, STALE, fencepost, message_passing, strong_message_passing};

#[test]
fn refreshing_makes_everything_as_expected_and_changes_nothing_twice() {
    let folder = Folder::new();
    folder.write("mp.litmus", strong_message_passing(&format!("exists {STALE}")));
    assert_eq!(fencepost(&folder, &["check", "mp.litmus"]).code, 1);
    let refresh = fencepost(&folder, &["expect", "--refresh", "."]);
    assert_eq!(refresh.code, 0, "{}{}", refresh.out, refresh.err);
    let written = folder.read("mp.expect");
    for line in [
        "ptx: Violated, 3 executions, 3 outcomes",
        "ptx-6.0: Violated, 3 executions, 3 outcomes",
        "ptx-7.5: Violated, 3 executions, 3 outcomes",
        "sc: Violated, 3 executions, 3 outcomes",
    ] {
        assert!(written.contains(line), "{line}: {written}");
    }
    let check = fencepost(&folder, &["check", "."]);
    assert_eq!(check.code, 0, "{}{}", check.out, check.err);
    assert!(check.out.contains("4 checks: 4 as expected"), "{}", check.out);
    assert_eq!(fencepost(&folder, &["expect", "--refresh", "."]).out, "");
    assert_eq!(folder.read("mp.expect"), written);
}

#[test]
fn a_wrong_count_is_a_difference() {
    let folder = Folder::new();
    folder.write("mp.litmus", strong_message_passing(&format!("exists {STALE}")));
    folder.write("mp.expect", "ptx-7.5: Violated, 4 executions, 3 outcomes # one too many\n");
    let run = fencepost(&folder, &["check", "mp.litmus"]);
    assert_eq!(run.code, 1, "{}{}", run.out, run.err);
    assert!(run.out.contains("expected 4 executions, found 3"), "{}", run.out);
    let run = fencepost(&folder, &["expect", "mp.litmus"]);
    assert_eq!(run.code, 1);
    assert!(run.out.contains("mp.litmus (MP): changed: ptx-7.5: Violated, 3 executions"), "{}", run.out);
}

#[test]
fn refreshing_keeps_the_lines_of_other_models() {
    let folder = Folder::new();
    folder.write("mp.litmus", strong_message_passing(&format!("exists {STALE}")));
    folder.write("mp.expect", "sc: Violated\nptx-7.5: Holds\n");
    let run = fencepost(&folder, &["check", "mp.litmus", "--model", "ptx-7.5", "--refresh"]);
    assert_eq!(run.code, 1, "the run itself still says what was wrong: {}", run.out);
    let written = folder.read("mp.expect");
    assert!(written.contains("sc: Violated\n") && written.contains("ptx-7.5: Violated, 3 executions"), "{written}");
}

#[test]
fn published_answers_are_compared_row_by_row() {
    let folder = Folder::new();
    folder.write("set/mp.litmus", strong_message_passing(&format!("exists {STALE}")));
    folder.write("set/weak.litmus", message_passing(&format!("exists {STALE}"), "weak", "weak"));
    folder.write(
        "set/expected.csv",
        "file,model,property,pass\nmp.litmus,ptx-6.0,condition,0\nmp.litmus,ptx-7.5,condition,1\nweak.litmus,ptx-7.5,condition,1\nweak.litmus,ptx-7.5,termination,1\n",
    );
    let run = fencepost(&folder, &["conform", "set"]);
    assert_eq!(run.code, 1, "{}{}", run.out, run.err);
    assert_eq!(run.out, "mp.litmus,ptx-7.5,condition: expected Holds, found Violated\n3 of 4 agree\n");
    folder.write("set/expected.csv", "file,model,property,pass\nmp.litmus,ptx-6.0,condition,0\n");
    let run = fencepost(&folder, &["conform", "set"]);
    assert_eq!((run.code, run.out.as_str()), (0, "1 of 1 agree\n"));
    folder.write("set/expected.csv", "file,model,property,pass\n# none yet\n");
    let run = fencepost(&folder, &["conform", "set"]);
    assert_eq!((run.code, run.out.as_str()), (2, "0 of 0 agree\n"));
    assert!(run.err.contains("`set` has nothing to compare with"), "{}", run.err);
    folder.write("set/expected.csv", "\u{feff}file,model,property,pass\nmp.litmus,ptx-6.0,condition,0\n");
    let run = fencepost(&folder, &["conform", "set"]);
    assert_eq!((run.code, run.out.as_str()), (0, "1 of 1 agree\n"), "{}", run.err);
    folder.write("set/expected.csv", "file,model,property,pass\nnowhere.litmus,sc,condition,1\n");
    let run = fencepost(&folder, &["conform", "set"]);
    assert_eq!((run.code, run.out.as_str()), (2, "0 of 1 agree\n"), "{}", run.err);
}

/// The public corpora are not part of this repository.
fn corpora() -> Option<PathBuf> {
    let beside = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpora"));
    let path = std::env::var_os("FENCEPOST_CORPORA").map_or(beside, PathBuf::from);
    path.is_dir().then_some(path)
}

#[test]
fn the_public_corpora_agree() {
    let Some(corpora) = corpora() else {
        println!("note: no public corpora at $FENCEPOST_CORPORA or ../shared/corpora: nothing compared");
        return;
    };
    let folder = Folder::new();
    let conform = |name: &str| {
        let path = corpora.join(name);
        path.is_dir().then(|| fencepost(&folder, &["conform", &path.display().to_string()]))
    };
    for name in ["dat3m-ptx", "dat3m-x86"] {
        if let Some(run) = conform(name) {
            assert_eq!(run.code, 0, "{name}: {}{}", run.out, run.err);
        }
    }
    // NVIDIA's model gives fences no proxy, so that fence-based patterns are empty there; PTX ISA 8.8 and ours forbid.
    if let Some(run) = conform("nvlitmus") {
        let lines: Vec<&str> = run.out.lines().collect();
        let known = |line: &&str| {
            line.contains("Release_acquire_pattern.test,ptx-7.5,condition: expected Holds, found Violated")
        };
        let (last, differences) = lines.split_last().expect("a last line");
        assert!(differences.iter().all(known) && last.ends_with("agree"), "{}", run.out);
    }
}

//! Tables 1 and 2 of "Compound Memory Models": what `fencepost conform corpus/gem5` says of them.

use crate::common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use common::{Folder, fencepost};
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("two levels below the root").to_path_buf()
}

/// Every cell agrees; what the protocol without its invariant allows and gem5 never showed is reported with a trace.
#[test]
fn both_tables_agree_and_what_was_not_seen_has_a_trace() {
    let folder = root().join("corpus/gem5").display().to_string();
    let run = fencepost(&Folder::new(), &["conform", &folder, "--time-limit", "100"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.out.ends_with("\n59 of 59 agree\n"), "{}", run.out);
    let unseen: Vec<&str> = run.out.lines().filter(|line| line.ends_with("allowed, not seen")).collect();
    let line = |name: &str| format!("{name}.litmus,coherence:arch=xc:swmr=off,seen: allowed, not seen");
    assert_eq!(unseen, [line("t2-sb-sys-f"), line("t2-iriw1-sys")]);
    assert_eq!(run.out.matches("with invalidations still under way").count(), 3, "{}", run.out);
}

/// The one cell that loses its verdict with the invariant.
#[test]
fn without_the_invariant_mp1_sys_f_flips() {
    let test = root().join("corpus/gem5/t2-mp1-sys-f.litmus").display().to_string();
    for (swmr, code) in [("on", 1), ("off", 0)] {
        let run = fencepost(&Folder::new(), &["machine", "coherence", "--arch", "xc", "--swmr", swmr, &test]);
        assert_eq!(run.code, code, "{}", run.out);
    }
}

/// What is not seen may be allowed; what is seen may not be forbidden.
#[test]
fn a_model_that_forbids_what_was_seen_disagrees() {
    let folder = Folder::new();
    let test = std::fs::read_to_string(root().join("corpus/gem5/t2-mp1-sys-f.litmus")).expect("the test");
    folder.write("t.litmus", test);
    folder.write(
        "expected.csv",
        "t.litmus,coherence:arch=xc,seen,1\nt.litmus,cmm,seen,0\nt.litmus,coherence,termination,1\n",
    );
    let run = fencepost(&folder, &["conform", "."]);
    let expected = "t.litmus,coherence:arch=xc,seen: expected Holds, found Violated\n\
                    t.litmus,coherence,termination: a machine is not asked about termination\n1 of 3 agree\n";
    assert_eq!((run.code, run.out.as_str()), (1, expected), "{}", run.err);
}

/// Our table is the published one.
#[test]
fn the_cells_are_those_of_the_paper() {
    let base = std::env::var_os("FENCEPOST_CORPORA").map_or_else(|| root().join("../shared/corpora"), PathBuf::from);
    let path = base.join("lostpop/gem5_tables.json");
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("note: {} is not there; nothing is compared", path.display());
        return;
    };
    let tables: Value = serde_json::from_str(&text).expect("JSON");
    let mut published = BTreeMap::new();
    for (table, columns) in [
        (
            "table1",
            &[
                ("x86TSO", "-x86", "lost-pop"),
                ("x86-Gem5", "-x86", "coherence"),
                ("XC-M.", "-xc", "lost-pop:arch=xc"),
                ("XC-Gem5", "-xc", "coherence:arch=xc"),
            ][..],
        ),
        (
            "table2",
            &[
                ("Model", "", "lost-pop:arch=xc"),
                ("SWMR", "", "coherence:arch=xc"),
                ("no-SWMR", "", "coherence:arch=xc:swmr=off"),
            ],
        ),
    ] {
        for row in tables[table].as_array().expect("rows") {
            let name = row["test"].as_str().expect("a name").to_lowercase();
            for (cell, ending, model) in columns {
                let Some(verdict) = row["cells"][cell].as_str() else { continue };
                let file = format!("t{}-{name}{ending}.litmus", &table[5..]);
                published.insert((file, (*model).to_owned()), verdict == "allowed");
            }
        }
    }
    let ours = std::fs::read_to_string(root().join("corpus/gem5/expected.csv")).expect("our table");
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let [file, model, "condition" | "seen", pass] = cells[..] else { return None };
        Some(((file.to_owned(), model.to_owned()), pass == "1"))
    };
    assert_eq!(ours.lines().filter_map(row).collect::<BTreeMap<_, _>>(), published);
}

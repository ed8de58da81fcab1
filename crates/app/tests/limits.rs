//! Limits: an answer or `Unknown` with the limit, soon after it, however large the test.

mod common;

use std::time::{Duration, Instant};

use common::{Folder, fencepost};

/// Four threads that write a location five times each, in any order of the threads' writes.
fn writers(question: &str) -> String {
    let mut text = "PTX writers\n{ x = 0; }\n".to_owned();
    let row = |cell: &dyn Fn(usize) -> String| (0..4).map(cell).collect::<Vec<_>>().join(" | ") + " ;\n";
    text += &row(&|thread| format!("P{thread}@cta {thread},gpu 0"));
    for at in 0..5 {
        text += &row(&|thread| format!("st.relaxed.gpu x, {}", 5 * thread + at + 1));
    }
    text + question + "\n"
}

/// One thread with so many weak writes of a location.
fn long(writes: usize, question: &str) -> String {
    format!("PTX long\n{{ x = 0; }}\nP0@cta 0,gpu 0 ;\n{}{question}\n", "st.weak x, 1 ;\n".repeat(writes))
}

#[test]
fn counting_everything_takes_no_answer_away() {
    let folder = Folder::new();
    folder.write("writers.litmus", writers("exists (x == 77)"));
    let run =
        fencepost(&folder, &["check", "writers.litmus", "--model", "ptx-7.5", "--all", "--json", "--time-limit", "3"]);
    assert_eq!(run.code, 1, "{}{}", run.out, run.err);
    let report: serde_json::Value = serde_json::from_str(&run.out).expect("one JSON object");
    assert_eq!(report["verdict"], "Violated");
    assert_eq!(report["executions"]["complete"], false, "the order of twenty writes: {}", report["executions"]);
}

#[test]
fn many_accesses_of_one_location_stay_within_the_limits() {
    let folder = Folder::new();
    for (name, question) in [("reached.litmus", "exists (x == 1)"), ("not-reached.litmus", "exists (x == 2)")] {
        folder.write(name, long(1200, question));
        for limits in [["--time-limit", "1"], ["--memory-limit", "50M"]] {
            let start = Instant::now();
            let run = fencepost(&folder, &["check", name, "--model", "ptx-7.5", limits[0], limits[1]]);
            assert!([0, 1, 3].contains(&run.code), "{name} {limits:?}: {}{}", run.out, run.err);
            assert_eq!(run.code == 3, run.out.contains("limit was reached"), "{name} {limits:?}: {}", run.out);
            assert!(start.elapsed() < Duration::from_secs(15), "{name} {limits:?}: {:?}", start.elapsed());
        }
    }
}

/// Six threads that meet in pairs three times: who meets whom has more ways than can be listed.
#[test]
fn ways_to_meet_at_a_counted_barrier_stay_within_the_limits() {
    let folder = Folder::new();
    let thread = |at: usize| {
        let meets = "bar.sync 1, 64;\n".repeat(3);
        format!("P{at}@cta 0, gpu 0 {{\n{meets}st.relaxed.cta.shared.u32 [x], {at};\n}}\n")
    };
    let threads: String = (0..6).map(thread).collect();
    for (question, code) in [("exists (x=3)", 0), ("exists (x=9)", 3)] {
        folder.write("pairs.litmus", format!("PTX pairs\n{{ x = 0; }}\n{threads}{question}\n"));
        for limits in [["--time-limit", "1"], ["--memory-limit", "20M"]] {
            for engine in ["enumerate", "sat"] {
                let start = Instant::now();
                let arguments = ["check", "pairs.litmus", "--model", "sc", "--engine", engine, limits[0], limits[1]];
                let run = fencepost(&folder, &arguments);
                assert_eq!(run.code, code, "{question} {engine} {limits:?}: {}{}", run.out, run.err);
                assert!(start.elapsed() < Duration::from_secs(15), "{engine} {limits:?}: {:?}", start.elapsed());
            }
        }
    }
}

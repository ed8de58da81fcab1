//! Limits: an answer or `Unknown` with the limit, soon after it, however large the test; and a run that is stopped, killed
//! or cannot write loses nothing that it knows, and says what is missing.

mod common;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{Folder, STALE, fencepost, strong_message_passing};
use serde_json::Value;

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

/// A quick test, one that `--all` does not end, and another quick one.
fn with_a_slow_one() -> Folder {
    let folder = Folder::new();
    let quick = strong_message_passing(&format!("~exists {STALE}"));
    folder.write("a.litmus", &quick);
    folder.write("b.litmus", writers("~exists (x == 77)"));
    folder.write("c.litmus", &quick);
    folder
}

/// `timeout` signals the program and then its group, so that it gets two signals.
fn timed_out(folder: &Folder, arguments: &[&str]) -> (i32, String) {
    let mut command = Command::new("timeout");
    command.args(["--preserve-status", "6", env!("CARGO_BIN_EXE_fencepost"), "check", "-j", "1"]).args(arguments);
    let output = command.current_dir(folder.path()).output().expect("coreutils has it");
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn a_run_that_times_out_keeps_what_is_known() {
    let folder = with_a_slow_one();
    let (code, out) = timed_out(&folder, &["a.litmus", "b.litmus", "c.litmus", "--all", "--json"]);
    assert_eq!(code, 3, "what is known is as it should be, and not all is known: {out}");
    let reports: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).expect("a whole line")).collect();
    let complete: Vec<_> = reports.iter().map(|report| (&report["file"], &report["executions"]["complete"])).collect();
    assert_eq!(complete.len(), 2, "{out}");
    assert!(complete[0] == (&"a.litmus".into(), &true.into()) && complete[1] == (&"b.litmus".into(), &false.into()));
    let (code, out) = timed_out(&folder, &["a.litmus", "b.litmus", "c.litmus", "--all", "--junit", "-"]);
    assert_eq!(code, 3, "{out}");
    assert!(out.contains("tests=\"3\" failures=\"0\" errors=\"1\"") && out.ends_with("</testsuites>\n"), "{out}");
    let (code, out) = timed_out(&folder, &["a.litmus", "b.litmus", "c.litmus", "--all"]);
    assert!(code == 3 && out.ends_with("stopped: 1 of 3 files were not checked\n"), "{out}");
}

#[test]
fn results_are_written_as_they_come() {
    let folder = with_a_slow_one();
    for arguments in [&["--json"][..], &["--herd"], &[]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
        command.args(["check", "a.litmus", "b.litmus", "--all"]).args(arguments);
        let mut child = command.current_dir(folder.path()).stdout(Stdio::piped()).spawn().expect("the binary runs");
        let mut first = String::new();
        let read = BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut first);
        let running = child.try_wait().expect("a child").is_none();
        child.kill().expect("it has not ended");
        child.wait().expect("it ends");
        assert!(read.is_ok() && first.contains("MP") && running, "{arguments:?}: {first}");
    }
}

#[test]
fn a_full_disk_is_an_error_and_a_closed_pipe_is_not() {
    let folder = with_a_slow_one();
    let full = || std::fs::File::options().write(true).open("/dev/full").expect("Linux has it");
    let cases =
        [&["check", "a.litmus"][..], &["check", "a.litmus", "--json"], &["models"], &["--help"], &["--version"]];
    for arguments in cases {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
        let output = command.args(arguments).current_dir(folder.path()).stdout(full()).output().expect("it runs");
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {err}");
        assert!(err.contains("cannot write to standard output: no space is left"), "{arguments:?}: {err}");
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    command.args(["check", "a.litmus"]).current_dir(folder.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary runs");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
}

/// What a limit keeps from being found out contradicts nothing.
#[test]
fn a_limit_alone_is_never_a_difference() {
    let folder = Folder::new();
    folder.write("writers.litmus", writers("~exists (x == 77)"));
    let expected = "ptx-7.5: Holds, 11732745024 executions, 4 outcomes, race-free, terminates\n";
    folder.write("writers.expect", expected);
    let limits = ["--time-limit", "0.3"];
    let run = fencepost(&folder, &[&["check", "writers.litmus"][..], &limits].concat());
    assert_eq!(run.code, 3, "{}{}", run.out, run.err);
    assert!(run.out.contains("not decided: expected 11732745024 executions, found not counted"), "{}", run.out);
    let run = fencepost(&folder, &[&["check", "writers.litmus", "--json"][..], &limits].concat());
    let report: Value = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!(report["expectation"]["answer"], "undecided", "{}", run.out);
    assert_eq!(fencepost(&folder, &[&["expect", "writers.litmus"][..], &limits].concat()).code, 3);
    // Rewriting keeps it.
    for arguments in [&["check", "writers.litmus", "--refresh"][..], &["expect", "--refresh", "writers.litmus"]] {
        let run = fencepost(&folder, &[arguments, &limits].concat());
        assert!(run.code == 3 && run.err.contains("1 line of expectations kept"), "{}{}", run.out, run.err);
        assert_eq!(folder.read("writers.expect"), expected);
    }
    // What is found against it is a difference, limit or not.
    folder.write("writers.expect", "ptx-7.5: Violated, 2 executions\n");
    let run = fencepost(&folder, &[&["check", "writers.litmus"][..], &limits].concat());
    assert_eq!(run.code, 1, "{}{}", run.out, run.err);
    folder.write("set/writers.litmus", writers("exists (x == 20)"));
    folder.write("set/expected.csv", "file,model,property,pass\nwriters.litmus,ptx-7.5,condition,0\n");
    assert_eq!(fencepost(&folder, &["conform", "set", "--time-limit", "0"]).code, 3);
    assert_eq!(fencepost(&folder, &["conform", "set"]).code, 1);
}

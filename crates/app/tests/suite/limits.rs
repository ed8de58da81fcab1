//! Limits: an answer or `Unknown` with the limit, soon after it, however large the test; and a run that is stopped, killed
//! or cannot write loses nothing that it knows, and says what is missing.

use crate::common;
use crate::hostile;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{Folder, STALE, fencepost, strong_message_passing};
use hostile::{Limits, Random, SHAPES, Shape, attempt, squeezed, tests_below};
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

/// Nothing is asked, so that all of it is: what was not finished is no answer.
#[test]
fn a_test_without_a_question_that_a_limit_ended_is_unknown() {
    let folder = Folder::new();
    folder.write("writers.litmus", writers("locations [x;]"));
    for (limit, kind) in
        [(["--time-limit", "0"], "time"), (["--time-limit", "0.3"], "time"), (["--memory-limit", "1"], "memory")]
    {
        let arguments = ["check", "writers.litmus", "--model", "ptx-7.5", "--all", limit[0], limit[1]];
        let run = fencepost(&folder, &arguments);
        let said = format!("Unknown  (the {kind} limit was reached)");
        assert!(run.code == 3 && run.out.contains(&said), "{limit:?}: {}{}", run.out, run.err);
        assert!(!run.out.contains("--all"), "it was given: {}", run.out);
        let run = fencepost(&folder, &[&arguments[..], &["--json"]].concat());
        let report: Value = serde_json::from_str(&run.out).expect("one JSON object");
        assert_eq!((run.code, &report["why"]["kind"]), (3, &kind.into()), "{limit:?}: {report}");
    }
    let run = fencepost(&folder, &["check", "writers.litmus", "--model", "ptx-7.5"]);
    assert!(run.code == 0 && run.out.contains("(--all counts all)"), "the cap is no limit: {}", run.out);
}

/// The same of a request.
#[cfg(unix)]
#[test]
fn a_test_without_a_question_that_a_request_ended_is_unknown() {
    let folder = Folder::new();
    folder.write("writers.litmus", writers("locations [x;]"));
    let mut command = Command::new("timeout");
    command.args(["--preserve-status", "-s", "INT", "1", env!("CARGO_BIN_EXE_fencepost"), "check", "writers.litmus"]);
    let output = command.args(["--all", "--json"]).current_dir(folder.path()).output().expect("coreutils has it");
    let report: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    assert_eq!((output.status.code(), &report["why"]["kind"]), (Some(3), &"cancelled".into()), "{report}");
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
    // What the process needs to start differs between machines, so a witness that must be found has memory to spare.
    for (question, code, memory) in [("exists (x=3)", 0, "100M"), ("exists (x=9)", 3, "20M")] {
        folder.write("pairs.litmus", format!("PTX pairs\n{{ x = 0; }}\n{threads}{question}\n"));
        for limits in [["--time-limit", "1"], ["--memory-limit", memory]] {
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
    command.args(["--preserve-status", "4", env!("CARGO_BIN_EXE_fencepost"), "check", "-j", "1"]).args(arguments);
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

fn shape(name: &str) -> &'static Shape {
    SHAPES.iter().find(|shape| shape.name == name).expect("a shape of that name")
}

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_fencepost"))
}

/// Other work on the machine is no defect: what takes too long is tried again.
#[allow(clippy::panic, reason = "a test may panic")]
fn holds(name: &str, size: usize, limits: Limits) -> hostile::Ran {
    let folder = Folder::new();
    let mut last = String::new();
    for _ in 0..3 {
        let ran = attempt(program(), folder.path(), shape(name), size, limits).expect("the binary runs");
        match limits.broken_by(&ran) {
            None => return ran,
            Some(wrong) => last = wrong,
        }
    }
    panic!("{name} {size} under {limits:?}: {last}");
}

/// Parsing, lowering and unfolding took 20 s, a minute and 4 GB of these.
#[test]
fn every_phase_asks_the_limits() {
    for (name, size) in
        [("threads", 8_000), ("stores", 300_000), ("declarations", 400_000), ("cat-definitions", 60_000)]
    {
        let ran = holds(name, size, Limits { seconds: 0.3, memory: Some(300) });
        assert_eq!(ran.code, Some(3), "{name}: {}{}", ran.out, ran.err);
    }
}

#[test]
fn what_is_too_large_to_read_in_time_says_which_limit_it_was() {
    let ran = holds("stores", 100_000, Limits { seconds: 0.01, memory: None });
    assert!(
        ran.err.contains("was not read to its end: the time limit was reached; `--time-limit` gives"),
        "{}",
        ran.err
    );
}

/// A sample of `examples/limits.rs sizes`.
#[test]
fn inputs_of_every_shape_stay_within_the_limits() {
    let mut random = Random(1);
    for shape in SHAPES {
        let (size, seconds) = (random.choose(&[30, 300, 3000]), random.choose(&[0.02, 0.2]));
        holds(shape.name, size, Limits { seconds, memory: random.choose(&[None, Some(100)]) });
    }
}

/// A sample of `examples/limits.rs tiny`.
#[test]
fn a_limit_takes_answers_away_and_never_changes_one() {
    let folder = Folder::new();
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let mut tests = tests_below(&corpus.canonicalize().expect("the corpus"));
    let mut random = Random(1);
    for _ in 0..12 {
        let test = tests.swap_remove(random.below(tests.len()));
        let limits = Limits { seconds: random.choose(&[0.001, 0.01, 0.1]), memory: random.choose(&[None, Some(20)]) };
        let wrong = squeezed(program(), folder.path(), &test, limits).expect("the binary runs");
        assert_eq!(wrong, None, "{} under {limits:?}", test.display());
    }
}

/// It overflowed the stack of the first thread, where one file is checked, and all was lost.
#[test]
fn a_sum_of_thousands_of_terms_is_refused() {
    let ran = holds("c-sums", 16_000, Limits { seconds: 5.0, memory: None });
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(ran.err.contains("this expression chains more than 1000 operators"), "{}", ran.err);
    let ran = holds("c-sums", 900, Limits { seconds: 20.0, memory: None });
    assert_eq!(ran.code, Some(1), "{}", ran.err);
}

/// Two threads with stacks of their usual size do not fit.
#[cfg(target_os = "linux")]
#[test]
fn a_system_with_few_threads_to_give_is_enough() {
    let folder = Folder::new();
    for name in ["a.litmus", "b.litmus"] {
        folder.write(name, long(3, "exists (x == 1)"));
    }
    let limited = format!("ulimit -v 900000; exec {} check a.litmus b.litmus -j 2", program().display());
    let output = Command::new("sh").args(["-c", &limited]).current_dir(folder.path()).output().expect("a shell");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("2 checks: 2 hold"), "{text}");
}

/// However far it has got: reading, lowering, unfolding.
#[cfg(unix)]
#[test]
fn a_request_to_stop_ends_every_phase_within_a_second() {
    let folder = Folder::new();
    folder.write("stores.litmus", (shape("stores").text)(350_000));
    let stop = |wait: u64| {
        let child = Command::new(program()).args(["check", "stores.litmus"]).current_dir(folder.path()).spawn();
        let mut child = child.expect("the binary runs");
        std::thread::sleep(Duration::from_millis(wait));
        let asked = Instant::now();
        let signal = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
        assert!(signal.is_ok_and(|status| status.success()));
        let status = child.wait().expect("it ends");
        // Before its handler is there, a signal ends a program at once.
        assert!(status.code().is_none_or(|code| code == 3), "{status}");
        asked.elapsed()
    };
    for wait in [20, 200, 1000] {
        // Whatever else the machine does, it does not do it three times in a row.
        let took: Vec<Duration> = (0..3).map(|_| stop(wait)).collect();
        assert!(took.iter().any(|took| *took < Duration::from_millis(1500)), "{took:?} after {wait} ms");
    }
}

/// A program that cannot write because nobody reads goes on after the first signal. Within a second another one is the
/// same request; a later one ends the program at once.
#[cfg(unix)]
#[test]
fn a_later_second_signal_ends_the_program_at_once() {
    use std::os::unix::process::ExitStatusExt;
    let folder = Folder::new();
    for at in 0..200 {
        folder.write(&format!("{at}.litmus"), strong_message_passing(&format!("~exists {STALE}")));
    }
    let mut command = Command::new(program());
    command.args(["check", ".", "--json"]).current_dir(folder.path()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("the binary runs");
    let id = child.id().to_string();
    let signal = || Command::new("kill").args(["-TERM", &id]).status().expect("coreutils has it").success();
    std::thread::sleep(Duration::from_secs(3));
    assert!(signal() && signal());
    std::thread::sleep(Duration::from_millis(1500));
    let running = child.try_wait().expect("a child").is_none();
    assert!(running, "nobody has read what it wrote, so it cannot have ended");
    assert!(signal());
    let status = child.wait().expect("it ends");
    assert_eq!((status.code(), status.signal()), (Some(130), None), "{status}");
}

/// What a hundred threads may do in one of very many executions: none of them was counted.
#[test]
fn a_reachable_question_counts_at_least_its_witness() {
    let folder = Folder::new();
    let names = (0..100).map(|thread| format!("P{thread}@cta {thread}, gpu 0")).collect::<Vec<_>>().join(" | ");
    let body = (1..=100).map(|value| format!("st.relaxed.gpu x, {value}")).collect::<Vec<_>>().join(" | ");
    folder.write("hundred.litmus", format!("PTX H\n{{ x = 0; }}\n{names} ;\n{body} ;\nexists (x == 5)\n"));
    let run = fencepost(&folder, &["check", "hundred.litmus"]);
    assert!(run.out.contains("reachable\n  at least 1 execution, at least 1 outcome"), "{}", run.out);
    let run = fencepost(&folder, &["check", "hundred.litmus", "--herd"]);
    assert!(run.out.contains("States 1\n[x]=5;\n") && run.out.contains("Positive: 1 Negative: 0"), "{}", run.out);
    let run = fencepost(&folder, &["check", "hundred.litmus", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&run.out).expect("one JSON object");
    assert_eq!(report["questions"][0]["positive"], 1, "{}", report["questions"][0]);
    assert_eq!((&report["executions"]["count"], &report["executions"]["complete"]), (&1.into(), &false.into()));
}

#[test]
fn outcomes_are_listed_up_to_a_number_and_all_are_counted() {
    let folder = Folder::new();
    folder.write("mp.litmus", common::message_passing(&format!("exists {STALE}"), "weak", "weak"));
    let run = fencepost(&folder, &["check", "mp.litmus", "--all", "--outcomes", "1"]);
    assert!(
        run.out.contains("4 outcomes") && run.out.contains("3 more outcomes (--outcomes N lists so many)"),
        "{}",
        run.out
    );
    let run = fencepost(&folder, &["check", "mp.litmus", "--all", "--json", "--outcomes", "1"]);
    let report: serde_json::Value = serde_json::from_str(&run.out).expect("one JSON object");
    assert_eq!(report["outcomes"].as_array().map(Vec::len), Some(1));
    assert_eq!(report["unlisted"], 3);
}

/// Twenty interchangeable writers stand for 20! executions each, and three readers for eight of those: more than 64 bits.
#[test]
fn a_count_that_is_too_large_is_at_least_what_it_was() {
    let folder = Folder::new();
    let names = (0..24).map(|thread| format!("P{thread}")).collect::<Vec<_>>().join(" | ");
    let cells = [vec!["mov [y],$1"; 20], vec!["mov [x],$1"], vec!["mov EAX,[x]"; 3]].concat().join(" | ");
    let shown = "locations [21:EAX; 22:EAX; 23:EAX;]";
    let text = format!("X86 O\n{{ x = 0; y = 0; }}\n{names} ;\n{cells} ;\n{shown}\nexists (21:EAX=1)\n");
    folder.write("over.litmus", text);
    let run = fencepost(&folder, &["check", "over.litmus", "--model", "x86-tso", "--all"]);
    assert!(run.out.contains("  at least 17030314057236480000 executions, at least 8 outcomes"), "{}", run.out);
}

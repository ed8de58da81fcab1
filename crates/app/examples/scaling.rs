//! Runs the scaling families and prints one row per test, with seconds and the peak of memory (Linux only):
//! `cargo run --release --example scaling -- [SIZE…] [FAMILY…]`.
//! With `--write DIR` it writes the tests instead. With `--counts` it counts every execution of the families that herd7
//! was measured on (`check --all`) and prints the seconds beside herd7's, and whether the count is the closed form's:
//! of a process, from its start to its end, and of the checking alone, in this process and with the model compiled. Both
//! are the best of several runs where these are short. herd7's seconds are those of a process.
//! Each test runs in a process of its own, so that the times include start-up; one that takes longer than 60 s is
//! reported as such. Exit code 1 if an answer is wrong or missing.

#![allow(clippy::print_stdout, clippy::print_stderr)]

#[path = "support/families.rs"]
mod families;

use std::io::Write;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use fencepost_check::options::{Options, Outcomes};
use fencepost_check::{LoadedModel, Models, check, load};
use fencepost_syntax::Source;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, folder, sizes @ ..] = arguments.as_slice()
        && flag == "--write"
    {
        return write(folder, &parse(sizes));
    }
    if arguments.first().is_some_and(|flag| flag == "--counts") {
        return counts();
    }
    let sizes = parse(&arguments);
    let mut wrong = 0;
    let names: Vec<&String> = arguments.iter().filter(|argument| argument.parse::<u32>().is_err()).collect();
    println!("{:<44} {:>9} {:>7}  answer", "test", "seconds", "MiB");
    for instance in sizes.iter().flat_map(|&size| families::all(size)) {
        if !names.is_empty() && !names.iter().any(|name| *name == instance.family) {
            continue;
        }
        let started = Instant::now();
        let (code, memory) = run(&instance).unwrap_or((None, None));
        let expected = if instance.reachable { Some(0) } else { Some(1) };
        let answer = match code {
            Some(0) => "reachable",
            Some(1) => "unreachable",
            Some(3) => "unknown",
            _ => "failed",
        };
        let mark = if code == expected { "" } else { "  WRONG" };
        wrong += u32::from(code != expected);
        let seconds = started.elapsed().as_secs_f64();
        let memory = memory.map_or("-".to_string(), |kib| (kib / 1024).to_string());
        println!("{:<44} {seconds:>9.3} {memory:>7}  {answer}{mark}", instance.name());
    }
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// 12 by default: the size herd7 reaches on rings.
fn parse(sizes: &[String]) -> Vec<u32> {
    let sizes: Vec<u32> = sizes.iter().filter_map(|size| size.parse().ok()).collect();
    if sizes.is_empty() { vec![12] } else { sizes }
}

/// `fencepost check -` on one test: the exit code (0 reachable, 1 unreachable, 3 unknown), and the most memory seen, in
/// KiB.
fn run(instance: &families::Instance) -> Option<(Option<i32>, Option<u64>)> {
    let arguments = ["check", "-", "--model", instance.model, "--time-limit", "60"];
    let mut child = start(&arguments, &instance.text, Stdio::null())?;
    let mut peak = None;
    loop {
        peak = peak_memory(child.id()).max(peak);
        if let Some(status) = child.try_wait().ok()? {
            return Some((status.code(), peak));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The kernel's high-water mark of a running process, in KiB.
fn peak_memory(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}

/// Every execution of each family: seconds, herd7's seconds, how many times as fast, and the number of executions.
fn counts() -> ExitCode {
    let Some(model) = Models::shipped("x86-tso") else { return ExitCode::FAILURE };
    let mut wrong = 0;
    let (process, checking) = ("process", "checking");
    println!("family           size executions {process:>9} {checking:>9}     herd7   ratio  ratio of checking");
    for test in families::counted() {
        let mut report = String::new();
        let process = best(|| {
            let output = start(&["check", "-", "--model", "x86-tso", "--all", "--json"], &test.text, Stdio::piped())
                .and_then(|child| child.wait_with_output().ok());
            report = output.and_then(|output| String::from_utf8(output.stdout).ok()).unwrap_or_default();
        });
        let right = report.contains(&format!("\"executions\":{{\"count\":{},\"complete\":true}}", test.executions));
        let checking = best(|| check_here(&test.text, &model));
        let mark = if right { "" } else { "  WRONG" };
        wrong += u32::from(!right);
        let (family, size, executions, herd) = (test.family, test.size, test.executions, test.herd);
        let (ratio, inner) = (herd / process, herd / checking);
        println!(
            "{family:<16} {size:>4} {executions:>10} {process:>9.4} {checking:>9.4} {herd:>9.2} {ratio:>6.0}x {inner:>6.0}x{mark}"
        );
    }
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The seconds of the fastest of up to twenty runs, fewer where they are long: a run of a few milliseconds is disturbed
/// by anything else the machine does.
fn best(mut work: impl FnMut()) -> f64 {
    let started = Instant::now();
    let mut fastest = f64::INFINITY;
    for _ in 0..20 {
        let begun = Instant::now();
        work();
        fastest = fastest.min(begun.elapsed().as_secs_f64());
        if started.elapsed() > Duration::from_secs(1) {
            break;
        }
    }
    fastest
}

/// Reads and checks a test in this process.
fn check_here(text: &str, model: &LoadedModel) {
    let options = Options { outcomes: Outcomes::All, ..Options::default() };
    for test in &load(&Source::new("-", text)).0 {
        std::hint::black_box(check(test, model, &options));
    }
}

/// The program beside this example, with a test on its standard input.
fn start(arguments: &[&str], test: &str, output: Stdio) -> Option<Child> {
    let binary = std::env::current_exe().ok()?.parent()?.parent()?.join("fencepost");
    let mut child = Command::new(binary)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(output)
        .spawn()
        .inspect_err(|error| eprintln!("cannot start fencepost (build it first with --release): {error}"))
        .ok()?;
    child.stdin.take()?.write_all(test.as_bytes()).ok()?;
    Some(child)
}

fn write(folder: &str, sizes: &[u32]) -> ExitCode {
    let written = std::fs::create_dir_all(folder).and_then(|()| {
        for instance in sizes.iter().flat_map(|&size| families::all(size)) {
            std::fs::write(format!("{folder}/{}.litmus", instance.name()), instance.text)?;
        }
        Ok(())
    });
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cannot write to {folder}: {error}");
            ExitCode::FAILURE
        }
    }
}

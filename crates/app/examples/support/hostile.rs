//! Inputs of any size in every notation, and tests under limits that are too small for them: what `examples/limits.rs` runs
//! in the long run and `tests/suite/limits.rs` in part. Of every run is asked that it ends by an exit code of the manual, by the
//! larger of twice its time limit and its time limit plus a second, with at most 1.25 times its memory limit.
#![allow(dead_code, reason = "a test uses its part")]

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// splitmix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % bound.max(1) as u64) as usize
    }

    pub(crate) fn choose<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// What the program did.
#[derive(Debug)]
pub(crate) struct Ran {
    /// None: it died of a signal.
    pub(crate) code: Option<i32>,
    pub(crate) seconds: f64,
    /// The kernel's high-water mark, where the system tells it.
    pub(crate) peak: Option<u64>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs the program to its end. Its output goes to files: a pipe that nobody empties would make it wait.
pub(crate) fn run(program: &Path, folder: &Path, arguments: &[String]) -> std::io::Result<Ran> {
    let (out, err) = (folder.join("standard-output"), folder.join("standard-error"));
    let start = Instant::now();
    let mut child = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(std::fs::File::create(&out)?)
        .stderr(std::fs::File::create(&err)?)
        .spawn()?;
    let mut peak = None;
    let status = loop {
        peak = peak_memory(child.id()).max(peak);
        if let Some(status) = child.try_wait()? {
            break status;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let seconds = start.elapsed().as_secs_f64();
    let read = |path: &Path| std::fs::read(path).map(|text| String::from_utf8_lossy(&text).into_owned());
    Ok(Ran { code: status.code(), seconds, peak, out: read(&out)?, err: read(&err)? })
}

/// In bytes.
fn peak_memory(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

/// Limits of one run.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Limits {
    pub(crate) seconds: f64,
    /// In MiB.
    pub(crate) memory: Option<u64>,
}

/// What the program itself takes, whatever it checks: no limit keeps it below that.
const OWN_MEMORY: u64 = 24 << 20;

impl Limits {
    pub(crate) fn arguments(self) -> Vec<String> {
        let mut all = vec!["--time-limit".to_owned(), self.seconds.to_string()];
        if let Some(memory) = self.memory {
            all.extend(["--memory-limit".to_owned(), format!("{memory}M")]);
        }
        all
    }

    /// What is wrong with a run under these limits, if anything is.
    pub(crate) fn broken_by(self, ran: &Ran) -> Option<String> {
        let allowed = (2.0 * self.seconds).max(self.seconds + 1.0);
        let most = self.memory.map(|memory| (memory << 20) / 4 * 5).map(|most| most.max(OWN_MEMORY));
        match ran {
            Ran { code: None, err, .. } => Some(format!("died of a signal: {err}")),
            Ran { code: Some(code), err, .. } if !(0..=3).contains(code) => Some(format!("exit code {code}: {err}")),
            Ran { seconds, .. } if *seconds > allowed => Some(format!("{seconds:.2} s, {allowed:.2} s are allowed")),
            Ran { peak: Some(peak), .. } if most.is_some_and(|most| *peak > most) => {
                Some(format!("{} MiB at its peak, with a limit of {:?} MiB", peak >> 20, self.memory))
            }
            _ => None,
        }
    }
}

/// Texts that grow in one direction.
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    /// What the file is called behind its name.
    pub(crate) ending: &'static str,
    pub(crate) text: fn(usize) -> String,
}

/// One thread that stores 1 to `x`, with this before it and behind it.
fn store(before: &str, behind: &str) -> String {
    format!("PTX T\n{before}{{ x = 0; }}\nP0 ;\nst.relaxed.gpu [x], 1 ;\n{behind}\n")
}

fn ptx(body: &str) -> String {
    format!("PTX T\n{{ x = 0; }}\nP0@cta 0, gpu 0 {{\n{body}}}\nexists (x=1)\n")
}

fn c(body: &str) -> String {
    format!("C T\n{{ x = 0; }}\nP0 (atomic_int* x) {{ int r0 = 0; {body} }}\nexists (0:r0=1)\n")
}

fn numbered(count: usize, each: impl Fn(usize) -> String, between: &str) -> String {
    let mut text = String::new();
    for number in 0..count {
        let _ = write!(text, "{}{}", if number == 0 { "" } else { between }, each(number));
    }
    text
}

fn around(count: usize, open: &str, inner: &str, close: &str) -> String {
    format!("{}{inner}{}", open.repeat(count), close.repeat(count))
}

/// Threads, each in a CTA of its own, with one instruction.
fn threads(count: usize, instruction: &str, question: &str) -> String {
    let names = numbered(count, |thread| format!("P{thread}@cta {thread}, gpu 0"), " | ");
    let body = numbered(count, |_| instruction.to_owned(), " | ");
    format!("PTX T\n{{ x = 0; }}\n{names} ;\n{body} ;\n{question}\n")
}

pub(crate) const SHAPES: &[Shape] = &[
    Shape { name: "threads", ending: "litmus", text: |n| threads(n, "st.relaxed.gpu x, 1", "exists (x=1)") },
    Shape { name: "readers", ending: "litmus", text: |n| threads(n, "ld.relaxed.gpu r0, x", "exists (0:r0=1)") },
    Shape { name: "updates", ending: "litmus", text: |n| threads(n, "atom.relaxed.gpu.add r0, x, 1", "exists (x=2)") },
    Shape { name: "fences", ending: "litmus", text: |n| threads(n, "fence.sc.sys", "exists (x=1)") },
    Shape {
        name: "stores",
        ending: "litmus",
        text: |n| format!("PTX T\n{{ x = 0; }}\nP0 ;\n{}exists (x=1)\n", "st.relaxed.gpu [x], 1 ;\n".repeat(n)),
    },
    Shape {
        name: "declarations",
        ending: "litmus",
        text: |n| {
            let all = numbered(n, |number| format!("x{number} = 0;"), " ");
            format!("PTX T\n{{ {all} x = 0; }}\nP0 ;\nst.relaxed.gpu [x], 1 ;\nexists (x=1)\n")
        },
    },
    Shape { name: "branches", ending: "litmus", text: |n| ptx(&branches(n)) },
    Shape { name: "loops", ending: "litmus", text: |n| ptx(&loops(n)) },
    Shape { name: "waits", ending: "litmus", text: |n| ptx(&"bar.sync 0;\n".repeat(n)) },
    Shape {
        name: "conditions",
        ending: "litmus",
        text: |n| store("", &format!("exists ({})", numbered(n, |number| format!("x == {number}"), " \\/ "))),
    },
    Shape {
        name: "implications",
        ending: "litmus",
        text: |n| store("", &format!("forall ({})", numbered(n, |_| "x == 1".to_owned(), " => "))),
    },
    Shape {
        name: "parentheses",
        ending: "litmus",
        text: |n| store("", &format!("exists {}", around(n, "(", "x == 1", ")"))),
    },
    Shape { name: "negations", ending: "litmus", text: |n| store("", &format!("exists ({}(x == 1))", "~".repeat(n))) },
    Shape { name: "comments", ending: "litmus", text: |n| store(&around(n, "(*", "", "*)"), "exists (x == 1)") },
    Shape { name: "ptx-blocks", ending: "litmus", text: |n| ptx(&around(n, "{\n", "st.u32 [x], 1;\n", "}\n")) },
    Shape {
        name: "ptx-vectors",
        ending: "litmus",
        text: |n| ptx(&format!("mov.b32 %r0, {};\n", around(n, "{", "1", "}"))),
    },
    Shape {
        name: "ptx-addresses",
        ending: "litmus",
        text: |n| ptx(&format!("st.u32 {}, 1;\n", around(n, "[", "x", "]"))),
    },
    Shape { name: "ptx-offsets", ending: "litmus", text: |n| ptx(&format!("st.u32 [x{}], 1;\n", "+0".repeat(n))) },
    Shape {
        name: "c-sums",
        ending: "litmus",
        text: |n| c(&format!("r0 = {};", numbered(n, |_| "1".to_owned(), " + "))),
    },
    Shape {
        name: "c-values",
        ending: "litmus",
        text: |n| c(&format!("r0 = atomic_load(x); r0 = {};", numbered(n, |_| "r0".to_owned(), " + "))),
    },
    Shape { name: "c-parentheses", ending: "litmus", text: |n| c(&format!("r0 = {};", around(n, "(", "1", ")"))) },
    Shape { name: "c-negations", ending: "litmus", text: |n| c(&format!("r0 = {} 1;", "- ".repeat(n))) },
    Shape { name: "c-ifs", ending: "litmus", text: |n| c(&format!("{} r0 = 1;", "if (r0) ".repeat(n))) },
    Shape {
        name: "c-elses",
        ending: "litmus",
        text: |n| c(&format!("if (r0) {{ }} {}", "else if (r0) { r0 = 1; } ".repeat(n))),
    },
    Shape { name: "c-statements", ending: "litmus", text: |n| c(&"r0 = r0 + 1; ".repeat(n)) },
    Shape {
        name: "x86-stores",
        ending: "litmus",
        text: |n| format!("X86 T\n{{ x = 0; }}\nP0 ;\n{}exists (x=1)\n", "mov [x],$1 ;\n".repeat(n)),
    },
    Shape { name: "json", ending: "json", text: |n| around(n, "[", "", "]") },
    Shape {
        name: "cat-parentheses",
        ending: "cat",
        text: |n| format!("M\nacyclic {} as a\n", around(n, "(", "po", ")")),
    },
    Shape {
        name: "cat-unions",
        ending: "cat",
        text: |n| format!("M\nacyclic {} as a\n", numbered(n, |_| "po".to_owned(), " | ")),
    },
    Shape { name: "cat-complements", ending: "cat", text: |n| format!("M\nacyclic {}po as a\n", "~".repeat(n)) },
    Shape {
        name: "cat-definitions",
        ending: "cat",
        text: |n| {
            let all = numbered(n, |number| format!("let r{} = r{number} ; rf\n", number + 1), "");
            format!("M\nlet r0 = po\n{all}acyclic r{n} as a\n")
        },
    },
    Shape {
        name: "cat-checks",
        ending: "cat",
        text: |n| format!("M\n{}", numbered(n, |number| format!("acyclic po | rf as a{number}\n"), "")),
    },
    Shape {
        name: "cat-lets",
        ending: "cat",
        text: |n| format!("M\nlet q = {}a\nacyclic q as a\n", "let a = po in ".repeat(n)),
    },
    Shape {
        name: "cat-conditions",
        ending: "cat",
        text: |n| format!("M\n{}", around(n, "if \"a\"\n", "acyclic po as a\n", "end\n")),
    },
];

/// Each value that is read decides a branch: the ways double.
fn branches(count: usize) -> String {
    numbered(
        count,
        |n| format!("ld.relaxed.gpu.u32 %r1, [x];\nsetp.eq.u32 %p1, %r1, 7;\n@%p1 bra L{n};\nst.u32 [x], 1;\nL{n}:\n"),
        "",
    )
}

/// Loops in loops.
fn loops(count: usize) -> String {
    let heads = numbered(count, |n| format!("L{n}:\n"), "");
    let ends = numbered(
        count,
        |n| {
            let back = count - 1 - n;
            format!("ld.relaxed.gpu.u32 %r1, [x];\nsetp.eq.u32 %p1, %r1, {n};\n@%p1 bra L{back};\n")
        },
        "",
    );
    format!("{heads}st.relaxed.gpu.u32 [x], 1;\n{ends}")
}

/// One attempt of a shape at a size.
pub(crate) fn attempt(
    program: &Path,
    folder: &Path,
    shape: &Shape,
    size: usize,
    limits: Limits,
) -> std::io::Result<Ran> {
    let text = (shape.text)(size);
    let file = format!("input.{}", shape.ending);
    std::fs::write(folder.join(&file), text)?;
    let mut arguments = vec!["check".to_owned()];
    if shape.ending == "cat" {
        std::fs::write(folder.join("plain.litmus"), store("", "exists (x == 1)"))?;
        arguments.extend(["plain.litmus".to_owned(), "--model".to_owned(), file]);
    } else {
        arguments.push(file);
    }
    arguments.extend(limits.arguments());
    run(program, folder, &arguments)
}

/// The tests below a folder, sorted.
pub(crate) fn tests_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        if path.is_dir() {
            found.extend(tests_below(&path));
        } else if path.extension().is_some_and(|ending| ending == "litmus") && path.with_extension("expect").is_file() {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// A recorded test under limits that may be too small: the recorded answer or none, so that it is never exit code 1.
pub(crate) fn squeezed(program: &Path, folder: &Path, test: &Path, limits: Limits) -> std::io::Result<Option<String>> {
    let mut arguments = vec!["check".to_owned(), test.display().to_string(), "--json".to_owned()];
    arguments.extend(limits.arguments());
    let ran = run(program, folder, &arguments)?;
    let wrong = match ran.code {
        Some(0 | 3) => None,
        code => Some(format!("exit code {code:?}: {}{}", ran.out, ran.err)),
    };
    Ok(wrong.or_else(|| limits_of_rows(limits, test).broken_by(&ran)))
}

/// A time limit is of each check, and a test is checked under each model of its expectations.
fn limits_of_rows(limits: Limits, test: &Path) -> Limits {
    let rows = std::fs::read_to_string(test.with_extension("expect")).unwrap_or_default();
    let rows = rows.lines().filter(|line| !line.trim().is_empty()).count().max(1);
    // Each is allowed a second, and the larger of the two bounds holds for all of them together.
    Limits { seconds: (limits.seconds + 1.0) * rows as f64, ..limits }
}

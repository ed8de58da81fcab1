//! The litmus tests of `corpus/` as kernels: a run with clocks says of each what the axioms say of all executions.
//!
//! `cargo test` takes a sample; FENCEPOST_CORPUS=1 takes every test. FENCEPOST_ONLY=TEXT takes those whose path contains it and
//! prints the kernels, FENCEPOST_KERNELS_UNPROVED=1 prints where the answers differ in a way that may be.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use fencepost_check::{Test, load};
use fencepost_report::Access;
use fencepost_syntax::Source;
use fencepost_syntax::instruction::Instruction;
use fencepost_syntax::litmus::tree::Litmus;

use crate::compare::{Facts, Kind, kinds};
use crate::from_litmus::{Refused, Translated, has, instructions, of_thread, translate};
use crate::program::Layout;
use crate::sides::{Kernel, Model, Readings, kernel_of, model_of};

/// Every so many tests of `cargo test`.
const EVERY: usize = 4;

fn files(root: &Path) -> Vec<PathBuf> {
    fn add(folder: &Path, files: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                add(&path, files);
            } else if path.extension().is_some_and(|end| end == "litmus") {
                files.push(path);
            }
        }
    }
    let mut files = Vec::new();
    add(root, &mut files);
    files.sort();
    files
}

fn tests_of(path: &Path) -> Vec<Test> {
    load(&Source::new(path.display().to_string(), std::fs::read_to_string(path).unwrap())).0
}

/// Of comparisons: each test is compared under the weakest readings and under the strongest.
#[derive(Default, Debug)]
struct Figures {
    tests: u64,
    compared: u64,
    /// The axioms were not done in their time.
    undecided: u64,
    /// One execution, and nothing wrong with it.
    right: u64,
    right_proved: u64,
    /// The run has no doubts, and the axioms find races.
    racy: u64,
    same_races: u64,
    /// Tests that are no kernels, and why.
    refused: BTreeMap<Refused, u64>,
}

struct Compared {
    kernel: Kernel,
    model: Model,
    kinds: Vec<Kind>,
}

fn compared(test: &Test, translated: &Translated, readings: Readings) -> Result<Compared, Refused> {
    let module = translated.module()?;
    let launch = translated.launch(&module);
    let run = |seed: u64| kernel_of(&translated.text, &module, &launch, readings, seed);
    let seeds: &[u64] = if translated.layout == Layout::Warps { &[0, 0x9e37_79b9] } else { &[0] };
    let runs: Vec<Kernel> = seeds.iter().map(|seed| run(*seed)).collect();
    if let Some(text) = runs.iter().find_map(|run| run.unmodelled.clone()) {
        return Err(format!("the kernel has `{text}`, which has no model"));
    }
    // A question about a register that is in use is no instruction.
    let items: BTreeSet<u32> = translated.text.items.values().copied().collect();
    let item = |access: &Access| if items.contains(&access.start) { access.start } else { u32::MAX };
    let mut model = model_of(test, readings, Duration::from_secs(5), &item);
    leave_out_pairs(&test.litmus, &mut model);
    let facts = facts(&test.litmus);
    let mut found: Vec<Kind> = runs.iter().flat_map(|run| kinds(facts, run, &model)).collect();
    found.sort_unstable();
    found.dedup();
    let Some(kernel) = runs.into_iter().next() else { return Err("no run".to_owned()) };
    Ok(Compared { kernel, model, kinds: found })
}

/// That allocations of a pair of CTAs are over together is assumed by a run, and says so; to the axioms they are no meeting.
fn leave_out_pairs(litmus: &Litmus, model: &mut Model) {
    let together = |own: &&Instruction| has(own, "cta_group::2") && (has(own, "alloc") || has(own, "dealloc"));
    let of_pairs: BTreeSet<u32> = instructions(litmus).filter(together).map(|own| own.span().start).collect();
    let races = model.races.len();
    model.races.retain(|(first, second)| !of_pairs.contains(first) && !of_pairs.contains(second));
    if model.races.is_empty() && races > 0 {
        model.race_free = None;
    }
}

fn facts(litmus: &Litmus) -> Facts {
    let mut facts = Facts { peeks: false, is_free: false, lanes_meet_evenly: true, invalidates: false };
    for thread in &litmus.threads {
        let own: Vec<&Instruction> = of_thread(thread).collect();
        for (at, instruction) in own.iter().enumerate() {
            let words = ["relaxed", "acquire", "release", "acq_rel", "volatile", "mmio"];
            match instruction.opcode.node.as_str() {
                "mbarrier" if has(instruction, "inval") => facts.invalidates = true,
                "mbarrier" if has(instruction, "test_wait") || has(instruction, "try_wait") => {
                    // An answer that is not only asked for until it is yes may come late.
                    let again = |next: &&Instruction| {
                        next.opcode.node == "bra" && next.guard.as_ref().is_some_and(|guard| guard.negated)
                    };
                    facts.peeks |= own.get(at + 1).copied().filter(again).is_none();
                }
                "ld" | "st" => facts.is_free |= words.into_iter().any(|word| has(instruction, word)),
                "atom" | "red" | "multimem" | "clusterlaunchcontrol" => facts.is_free = true,
                _ => {}
            }
        }
    }
    facts.is_free |= facts.peeks;
    facts
}

impl Figures {
    fn add(&mut self, Compared { kernel, model, .. }: &Compared) {
        self.compared += 1;
        self.undecided += u64::from(!model.is_decided());
        let right = model.is_clean() && model.executions == Some(1);
        self.right += u64::from(right);
        self.right_proved += u64::from(right && kernel.is_proved());
        let racy = !model.races.is_empty() && kernel.is_sure() && !kernel.races.is_empty();
        self.racy += u64::from(racy);
        self.same_races += u64::from(racy && kernel.races == model.races);
    }
}

/// What is wrong with a test.
fn look_at(name: &str, test: &Test, is_shown: bool, figures: &mut Figures) -> Vec<String> {
    let mut wrong = Vec::new();
    figures.tests += 1;
    let refused = |figures: &mut Figures, why: Refused| {
        if is_shown {
            eprintln!("{name}: {why}");
        }
        *figures.refused.entry(why).or_default() += 1;
    };
    let translated = match translate(&test.litmus) {
        Ok(translated) => translated,
        Err(why) => {
            refused(figures, why);
            return wrong;
        }
    };
    if is_shown {
        eprintln!("{}", translated.text.text);
    }
    for readings in [Readings::Weakest, Readings::Strongest] {
        let compared = match compared(test, &translated, readings) {
            Ok(compared) => compared,
            Err(why) => {
                refused(figures, why);
                break;
            }
        };
        figures.add(&compared);
        let Compared { kernel, model, kinds } = &compared;
        let differs = kernel.races != model.races || (model.is_clean() && !kernel.is_proved());
        if is_shown || (differs && std::env::var("FENCEPOST_KERNELS_UNPROVED").is_ok()) {
            eprintln!("{name} {readings:?}\n  {kernel:?}\n  {model:?}");
        }
        let kinds = kinds.iter().filter(|kind| kind.is_wrong());
        wrong.extend(kinds.map(|kind| format!("{name} {readings:?}: {kind}\n  {kernel:?}\n  {model:?}")));
    }
    wrong
}

#[test]
fn the_corpus_and_its_kernels_agree() {
    let only = std::env::var("FENCEPOST_ONLY").ok();
    let every = if only.is_some() || std::env::var("FENCEPOST_CORPUS").is_ok() { 1 } else { EVERY };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let is_meant = |path: &PathBuf| only.as_ref().is_none_or(|only| path.to_string_lossy().contains(only));
    let (mut figures, mut wrong) = (Figures::default(), Vec::new());
    for path in files(&root).into_iter().filter(is_meant).step_by(every) {
        let name = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
        for test in &tests_of(&path) {
            wrong.extend(look_at(&name, test, only.is_some(), &mut figures));
        }
    }
    eprintln!("{figures:#?}");
    assert!(wrong.is_empty(), "{} disagreements\n{}", wrong.len(), wrong.join("\n"));
    if only.is_none() {
        assert!(figures.compared >= figures.tests, "{figures:?}");
        assert!(10 * figures.right_proved >= 9 * figures.right, "{figures:?}");
        assert!(10 * figures.same_races >= 9 * figures.racy, "{figures:?}");
    }
}

fn kernel_of_file(name: &str) -> Kernel {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../corpus/{name}.litmus"));
    let tests = tests_of(&path);
    let translated = translate(&tests[0].litmus).unwrap();
    let compared = compared(&tests[0], &translated, Readings::Weakest).unwrap();
    assert!(compared.kinds.is_empty(), "{name}: {:?}", compared.kinds);
    compared.kernel
}

/// The two answers were not the same at first.
#[test]
fn rules_that_the_corpus_showed_to_be_missing_hold() {
    // A fence before `complete_tx`, and a bulk group behind a copy that tells an mbarrier.
    for name in ["async/cluster/remote-store-completes-fenced", "wild/d5-map-changed-under-load-fixed-by-group"] {
        assert!(kernel_of_file(name).is_proved(), "{name}");
    }
    let told = |name: &str| {
        let kernel = kernel_of_file(name);
        [kernel.protocol, kernel.other].concat().join(" ")
    };
    assert!(told("async/mbarrier/parity-two").contains("NoParity(2)"));
    assert!(told("async/placement/window-arrive-result").contains("own CTA"));
}

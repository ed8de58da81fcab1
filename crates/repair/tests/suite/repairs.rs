//! One mistake in a correct test of the corpus has a repair that is confirmed and no larger than to undo the mistake: an
//! instruction of synchronisation that is missing, a word that is too weak, two neighbours in the wrong order.
//!
//! A sample that is the same every time; `REPAIRS=all` takes every mistake.

use std::path::{Path, PathBuf};

use super::check;
use fencepost_check::{Models, Options, load};
use fencepost_report::Diagnosis;
use fencepost_syntax::Source;

/// Of so many mistakes one is looked at.
const EVERY: u64 = 6;

/// A correct test with one mistake.
struct Mistake {
    name: String,
    text: String,
    /// What it takes to undo it.
    size: u32,
}

const WORD: u32 = 2;
const MOVE: u32 = 4;
const PUT: u32 = 6;
const LOOP: u32 = 7;

fn tests() -> Vec<PathBuf> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let mut open: Vec<PathBuf> =
        ["wild", "algorithms", "tcgen05", "async"].iter().map(|name| corpus.join(name)).collect();
    let mut found = Vec::new();
    while let Some(folder) = open.pop() {
        for entry in
            std::fs::read_dir(&folder).expect("a folder of the corpus").map(|entry| entry.expect("an entry").path())
        {
            if entry.is_dir() {
                open.push(entry);
            } else if entry.extension().is_some_and(|kind| kind == "litmus") && is_correct(&entry) {
                found.push(entry);
            }
        }
    }
    found.sort();
    found
}

fn is_correct(path: &Path) -> bool {
    let expected = std::fs::read_to_string(path.with_extension("expect")).unwrap_or_default();
    let first = expected.lines().next().unwrap_or_default();
    let wrong = ["may hang", "warns", "broken", "depend", "finds"];
    // What is large is for `REPAIRS=all`.
    let many = !first.contains("1 execution,") && !first.contains("2 executions,");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    if std::env::var_os("REPAIRS").is_none() && (many || text.lines().count() > 28) {
        return false;
    }
    first.starts_with("ptx: Holds") && first.contains("race-free") && !wrong.iter().any(|word| first.contains(word))
}

fn is_synchronisation(line: &str) -> bool {
    let line = line.trim();
    let starts = ["fence", "mbarrier.arrive", "mbarrier.expect", "tcgen05.commit", "tcgen05.wait", "tcgen05.fence"];
    let more = ["wgmma.commit", "wgmma.wait", "bar.", "barrier.", "griddep"];
    let copies =
        line.starts_with("cp.async") && ["commit", "wait_", "mbarrier.arrive"].iter().any(|word| line.contains(word));
    copies || starts.iter().chain(&more).any(|word| line.starts_with(word))
}

/// The words that are weakened, and how.
const WEAKER: &[(&str, &str)] =
    &[(".release", ".relaxed"), (".acquire", ".relaxed"), (".gpu", ".cta"), (".sys", ".gpu"), (".cluster.", ".cta.")];

fn mistakes(path: &Path) -> Vec<Mistake> {
    let text = std::fs::read_to_string(path).expect("a test");
    let lines: Vec<&str> = text.lines().collect();
    let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
    let mut found = Vec::new();
    let mut add = |what: &str, at: usize, lines: &[String], size: u32| {
        found.push(Mistake { name: format!("{name}, {what} line {}", at + 1), text: lines.join("\n"), size });
    };
    let own = |change: &[(usize, String)]| -> Vec<String> {
        let changed = |at: usize| change.iter().find(|(line, _)| *line == at).map(|(_, text)| text.clone());
        lines.iter().enumerate().map(|(at, line)| changed(at).unwrap_or_else(|| (*line).to_owned())).collect()
    };
    let mut inside = false;
    for (at, line) in lines.iter().enumerate() {
        let starts = line.starts_with('P') && line.trim_end().ends_with('{');
        inside = (inside || starts) && line.trim() != "}";
        if !inside || starts {
            continue;
        }
        let next = lines.get(at + 1).copied().unwrap_or_default();
        if line.trim().starts_with("mbarrier.try_wait") && next.contains("bra") {
            add("without", at, &own(&[(at, String::new()), (at + 1, String::new())]), LOOP);
        }
        let is_plain = |line: &str| line.trim().ends_with(';') && !line.contains("bra") && !line.contains('|');
        if is_synchronisation(line) && is_plain(line) {
            add("without", at, &own(&[(at, String::new())]), PUT);
        }
        if (is_synchronisation(line) || is_synchronisation(next)) && is_plain(line) && is_plain(next) {
            let swapped = own(&[(at, next.to_owned()), (at + 1, (*line).to_owned())]);
            add("swapped", at, &swapped, MOVE);
        }
        let speaks = ["ld.", "st.", "atom.", "red.", "mbarrier."].iter().any(|word| line.trim().starts_with(word));
        for (strong, weak) in WEAKER.iter().filter(|(strong, _)| speaks && line.contains(strong)) {
            add("weaker", at, &own(&[(at, line.replacen(strong, weak, 1))]), WORD);
        }
    }
    found
}

/// As large as the words say.
fn size(diagnosis: &Diagnosis) -> u32 {
    let one = |text: &str| {
        let what = text.split('`').nth(1).unwrap_or_default();
        let instructions = what.matches("; ").count() as u32;
        match () {
            () if what.starts_with('.') => 1 + what.matches('.').count() as u32,
            () if text.contains("belongs") => MOVE,
            () if text.contains("instead of") || text.starts_with("an initial count") => WORD,
            () if text.starts_with("a loop") => LOOP,
            () if text.contains(" and in P") => PUT + 4 + 4 * instructions,
            () => PUT + 2 * instructions,
        }
    };
    diagnosis.missing.iter().map(|missing| one(&missing.text)).sum()
}

/// By its name (FNV-1a), so that a new test of the corpus does not exchange all others.
fn is_sampled(name: &str, every: u64) -> bool {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    name.bytes().fold(0xcbf2_9ce4_8422_2325, mix).is_multiple_of(every)
}

#[test]
fn one_mistake_needs_no_larger_repair() {
    let every = if std::env::var_os("REPAIRS").is_some() { 1 } else { EVERY };
    let all: Vec<Mistake> = tests().iter().flat_map(|path| mistakes(path)).collect();
    assert!(all.len() > 1000, "{}", all.len());
    let model = Models::shipped("ptx").expect("a model");
    let (mut racy, mut larger) = (0, Vec::new());
    for mistake in all.iter().filter(|mistake| is_sampled(&mistake.name, every)) {
        let (mut tests, _) = load(&Source::new("mistake.litmus", &mistake.text));
        let Some(test) = tests.pop() else { continue };
        let report = check(&test, &model, &Options::default()).report;
        let found: Vec<&Diagnosis> = report.races.pairs.iter().filter_map(|race| race.diagnosis.as_ref()).collect();
        racy += u32::from(!found.is_empty());
        // Of several races of one mistake each has its repair.
        if let Some(worst) = found.iter().find(|found| !found.confirmed || size(found) > mistake.size) {
            larger.push(format!("{}: {} ({:?})", mistake.name, worst.why, worst.missing));
        }
    }
    assert!(u64::from(racy) > 500 / every, "{racy}");
    assert!(larger.len() * 100 <= racy as usize * 8, "{} of {racy}:\n{}", larger.len(), larger.join("\n"));
}

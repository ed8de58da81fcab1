//! Which tests of the corpus are twins: one is wrong by its expectation, the other is right, and few instructions differ.

use std::path::{Path, PathBuf};

use fencepost_check::expect::expectation::{self, Expectation, ExpectedEnd, ExpectedProtocol, ExpectedRaces};
use fencepost_check::model::purpose::Purpose;
use fencepost_check::{Models, Test, load};
use fencepost_repair::fix::costs::Costs;
use fencepost_repair::fix::difference::{Difference, Spelled, differences};
use fencepost_syntax::Source;
use fencepost_syntax::instruction::Instruction;
use fencepost_syntax::litmus::{QuestionKind, print};

pub(crate) const HEAD: &str =
    "# broken\tfixed twin\tcost of the twin's own fix\tcost of our repair\tword\twhy ours is not as good";

/// Folders of the corpus in which tests have twins.
const FOLDERS: [&str; 6] = ["algorithms", "async", "launch", "races", "tcgen05", "wild"];
/// Twins differ in no more places.
const MOST: usize = 6;

pub(crate) struct Pair {
    /// Below `corpus`, without the ending.
    pub(crate) broken: String,
    pub(crate) fixed: String,
    pub(crate) cost: u32,
    /// In words.
    pub(crate) changes: String,
}

struct Known {
    name: String,
    folder: PathBuf,
    test: Test,
    questions: String,
    /// Whether something is wrong; None where that is not said, or contested.
    is_wrong: Option<bool>,
    verdict: String,
    /// Nothing is found beside that.
    is_clean: bool,
}

/// All of them, by name.
pub(crate) fn pairs(root: &Path) -> Vec<Pair> {
    let corpus = root.join("corpus");
    let mut found = Vec::new();
    for folder in FOLDERS {
        let mut files = Vec::new();
        below(&corpus.join(folder), &mut files);
        files.sort();
        let known: Vec<Known> = files.iter().filter_map(|file| known(&corpus, file)).collect();
        found.extend(known.iter().filter(|it| it.is_wrong == Some(true)).filter_map(|it| nearest(it, &known)));
    }
    found
}

/// The tests of a folder, by name, that are right.
pub(crate) fn right(root: &Path, folder: &str) -> Vec<String> {
    let corpus = root.join("corpus");
    let mut files = Vec::new();
    below(&corpus.join(folder), &mut files);
    files.sort();
    let known = files.iter().filter_map(|file| known(&corpus, file));
    known.filter(|it| it.is_wrong == Some(false) && it.is_clean).map(|it| it.name).collect()
}

fn below(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        if path.is_dir() {
            below(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "litmus") {
            files.push(path);
        }
    }
}

fn known(corpus: &Path, file: &Path) -> Option<Known> {
    let text = std::fs::read_to_string(file).ok()?;
    let expected = std::fs::read_to_string(file.with_extension("expect")).ok()?;
    let (mut tests, _) = load(&Source::new(file.to_string_lossy().into_owned(), text));
    let test = tests.pop().filter(|_| tests.is_empty())?;
    let model = Models::default_for(Purpose::of(&test));
    let (expected, _) = expectation::parse(&expected);
    let line = expected.lines.into_iter().find(|line| line.model == model && line.readings.is_empty())?;
    let name = file.strip_prefix(corpus).ok()?.with_extension("").to_string_lossy().replace('\\', "/");
    Some(Known {
        name,
        folder: file.parent()?.to_owned(),
        questions: questions(&test),
        is_wrong: is_wrong(&test, &line),
        is_clean: line.finds.is_empty(),
        verdict: line.verdict,
        test,
    })
}

/// The questions as they are printed.
fn questions(test: &Test) -> String {
    let text = print(&test.litmus);
    text.rsplit_once("}\n").map_or(text.clone(), |(_, questions)| questions.to_owned())
}

fn is_wrong(test: &Test, line: &Expectation) -> Option<bool> {
    let is_contested = line.races == Some(ExpectedRaces::Depends)
        || line.protocol == Some(ExpectedProtocol::Depends)
        || line.termination == Some(ExpectedEnd::Depends)
        || !matches!(line.verdict.as_str(), "Holds" | "Violated");
    if is_contested {
        return None;
    }
    let promises =
        |kind: QuestionKind| matches!(kind, QuestionKind::Forall | QuestionKind::NotExists | QuestionKind::Assert);
    let is_broken = line.verdict == "Violated" && test.program.questions.iter().any(|it| promises(it.kind));
    Some(
        is_broken
            || line.races == Some(ExpectedRaces::Some)
            || line.protocol == Some(ExpectedProtocol::Broken)
            || line.termination == Some(ExpectedEnd::MayHang),
    )
}

fn nearest(broken: &Known, all: &[Known]) -> Option<Pair> {
    let costs = Costs::default();
    let kin = |name: &str| name.rsplit('/').next().and_then(|name| name.split('-').next()).map(str::to_owned);
    let promises = broken.questions.starts_with("forall") || broken.questions.starts_with("~exists");
    let twins = all.iter().filter(|it| {
        it.is_wrong == Some(false)
            && it.folder == broken.folder
            && it.questions == broken.questions
            && (promises || it.verdict == broken.verdict)
            && kin(&it.name) == kin(&broken.name)
    });
    let compared = twins.filter_map(|twin| {
        let found = differences(&broken.test.litmus, &twin.test.litmus)?;
        let is_near = !found.is_empty() && found.len() <= MOST && found.iter().all(keeps_the_data);
        let cost = found.iter().map(|one| one.cost(&costs)).sum::<u32>().max(1);
        is_near.then(|| (found.len(), cost, twin, words(&found)))
    });
    let (_, cost, twin, changes) =
        compared.min_by_key(|(number, cost, twin, _)| (*number, *cost, twin.name.clone()))?;
    Some(Pair { broken: broken.name.clone(), fixed: twin.name.clone(), cost, changes })
}

/// A twin that copies, writes or is asked something else is another program, and no repair.
fn keeps_the_data(difference: &Difference<'_>) -> bool {
    let operands = |it: &Spelled<'_>| it.text.split_once(' ').map(|(_, operands)| operands.to_owned());
    match difference {
        Difference::Came(it) => !is_data(it.own) || it.own.opcode.node == "ld",
        Difference::Gone(it) => !is_data(it.own),
        Difference::Became(was, is) if is_data(was.own) || is_data(is.own) => {
            was.own.opcode.node == is.own.opcode.node && operands(was) == operands(is)
        }
        Difference::Became(..) | Difference::Moved(_) => true,
        Difference::Declared(Some(text)) => {
            text.contains(".mbarrier") || [".launch", ".stream", ".event"].iter().any(|word| text.starts_with(word))
        }
        Difference::Declared(None) => false,
    }
}

/// Whether an instruction reads or writes data.
fn is_data(own: &Instruction) -> bool {
    let has = |word: &str| own.modifiers.iter().any(|it| it.node == word);
    match own.opcode.node.as_str() {
        "ld" | "st" | "atom" | "red" | "ldmatrix" | "stmatrix" | "multimem" | "sust" | "suld" | "tex" => true,
        "cp" => !has("wait_group") && !has("wait_all") && !has("commit_group") && !has("arrive"),
        "wgmma" => has("mma_async"),
        "tcgen05" => ["mma", "cp", "ld", "st", "shift"].iter().any(|word| has(word)),
        _ => false,
    }
}

fn words(found: &[Difference<'_>]) -> String {
    let all: Vec<String> = found
        .iter()
        .map(|one| match one {
            Difference::Came(it) => format!("`{}` comes", it.text),
            Difference::Gone(it) => format!("`{}` goes", it.text),
            Difference::Became(was, is) => format!("`{}` becomes `{}`", was.text, is.text),
            Difference::Moved(it) => format!("`{}` stands elsewhere", it.text),
            Difference::Declared(Some(text)) => format!("`{text}` is declared"),
            Difference::Declared(None) => "a declaration goes".to_owned(),
        })
        .collect();
    all.join(", ")
}

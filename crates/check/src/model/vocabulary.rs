//! What a model's header says of itself, so that no name of a model is known here: a model of somebody's own with the same
//! header gets the same service as a shipped one. The header is the comment lines at the head of its file.
//!
//! `// findings: FLAG FLAG=WORD …` gives flags the words of [`FindingKind`]; a flag that has the name of a word needs no `=`.
//! A model without the line is read by the names of its flags: those of words mean that, and one named after a race is a
//! race, unless a line `// races: FLAG …` says which are.
//!
//! `// assumes: WORD …` says what may be taken for granted of its executions ([`Assumption`]), and `// repairs: own`, or
//! `// repairs: MODEL`, who says what a race lacks ([`Repairs`]). `// default-for: WORD …` says which programs a shipped model is
//! for ([`Purpose`]).

use std::collections::{BTreeMap, BTreeSet};

use fencepost_axiom::model::{Check, Model};
use fencepost_report::finding::FindingKind;
use fencepost_syntax::cat::CheckRole;
use fencepost_syntax::{Diagnostic, Source, Span};

use crate::model::purpose::Purpose;

const FINDINGS: &str = "// findings:";
const RACES: &str = "// races:";
const ASSUMES: &str = "// assumes:";
const REPAIRS: &str = "// repairs:";
const DEFAULT_FOR: &str = "// default-for:";

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Vocabulary {
    findings: Option<BTreeMap<String, FindingKind>>,
    races: Option<Vec<String>>,
    pub assumptions: BTreeSet<Assumption>,
    pub repairs: Repairs,
    /// What the model is for, where nobody names one.
    pub purposes: BTreeSet<Purpose>,
}

/// What may be taken for granted of the executions of a model. Of a model that does not say so, nothing is.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Assumption {
    /// `atomic-updates`: nothing comes between the halves of a read-modify-write, so that one which writes what it reads may be
    /// left out of a loop that waits.
    AtomicUpdates,
    /// `ordering-barriers`: barriers order memory, so that rounds which a CTA goes through together may be left out.
    OrderingBarriers,
    /// `alike-elements`: elements of a tile that the same operations access alike are told apart by their values only.
    AlikeElements,
    /// `specified-names`: axioms and relations have the names of the specification and mean what it says, so that a story may
    /// tell them in its words and cite its sections.
    SpecifiedNames,
}

impl Assumption {
    const WORDS: [(&'static str, Assumption); 4] = [
        ("atomic-updates", Assumption::AtomicUpdates),
        ("ordering-barriers", Assumption::OrderingBarriers),
        ("alike-elements", Assumption::AlikeElements),
        ("specified-names", Assumption::SpecifiedNames),
    ];

    fn from_word(word: &str) -> Option<Assumption> {
        Assumption::WORDS.into_iter().find(|(known, _)| *known == word).map(|(_, assumption)| assumption)
    }
}

/// Who says what a race, a hang or a broken promise lacks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Repairs {
    /// Nobody.
    #[default]
    None,
    /// The model has the relations that repairs are looked for with.
    Own,
    /// It knows the same races as this shipped model, which has them.
    By(String),
}

/// Whether a model's header says that it is for such programs. Only the lines before the first empty one are looked at: that is
/// where the shipped models have theirs.
pub(crate) fn is_default_for(text: &str, purpose: Purpose) -> bool {
    let lines = head(text).take_while(|line| *line != "//").filter_map(|line| line.strip_prefix(DEFAULT_FOR));
    lines.flat_map(split).any(|word| Purpose::from_word(word) == Some(purpose))
}

/// The comment lines at the head of a model.
fn head(text: &str) -> impl Iterator<Item = &str> {
    let is_comment = |line: &&str| line.is_empty() || line.starts_with("//");
    let mut lines = text.lines().map(str::trim).peekable();
    // The name of the model, or of its architecture, may come first.
    lines.next_if(|line| !is_comment(line));
    lines.take_while(is_comment)
}

/// The words of all lines of the head that begin so.
fn words<'t>(text: &'t str, begin: &str) -> impl Iterator<Item = &'t str> {
    head(text).filter_map(move |line| line.strip_prefix(begin)).flat_map(split)
}

fn split(line: &str) -> impl Iterator<Item = &str> {
    line.split([',', ' ', '\t']).filter(|word| !word.is_empty())
}

/// A flag and the word for what it means.
fn finding(word: &str) -> (&str, &str) {
    word.split_once('=').unwrap_or((word, word))
}

impl Vocabulary {
    /// Of the text of a model.
    pub fn of(text: &str) -> Vocabulary {
        let mut vocabulary = Vocabulary::default();
        for line in head(text) {
            // Few lines of a head are about this, and every check reads one.
            if let Some(words) = line.strip_prefix(FINDINGS) {
                let findings = vocabulary.findings.get_or_insert_default();
                findings.extend(
                    split(words)
                        .map(finding)
                        .filter_map(|(flag, word)| Some((flag.to_owned(), FindingKind::from_word(word)?))),
                );
            } else if let Some(words) = line.strip_prefix(RACES) {
                vocabulary.races.get_or_insert_default().extend(split(words).map(str::to_owned));
            } else if let Some(words) = line.strip_prefix(ASSUMES) {
                vocabulary.assumptions.extend(split(words).filter_map(Assumption::from_word));
            } else if let Some(words) = line.strip_prefix(DEFAULT_FOR) {
                vocabulary.purposes.extend(split(words).filter_map(Purpose::from_word));
            } else if let Some(word) = line.strip_prefix(REPAIRS).and_then(|words| split(words).next()) {
                vocabulary.repairs = if word == "own" { Repairs::Own } else { Repairs::By(word.to_owned()) };
            }
        }
        vocabulary
    }

    /// What a flag of this name means.
    pub fn kind(&self, flag: &str) -> FindingKind {
        if let Some(findings) = &self.findings {
            return findings.get(flag).copied().unwrap_or(FindingKind::Noted);
        }
        let named = FindingKind::from_word(flag).filter(|kind| *kind != FindingKind::Noted);
        match &self.races {
            Some(races) if races.iter().any(|race| race == flag) => {
                named.filter(|kind| kind.is_race()).unwrap_or(FindingKind::Race)
            }
            Some(_) => named.filter(|kind| !kind.is_race()).unwrap_or(FindingKind::Noted),
            None => named.unwrap_or(if is_race(flag) { FindingKind::Race } else { FindingKind::Noted }),
        }
    }

    /// What a header says that is not so: a flag or a relation that the model does not have, a word that is none.
    pub fn problem(source: &Source, model: &Model) -> Option<Diagnostic> {
        let text = source.text.as_str();
        let marks = |check: &Check| matches!(check.role, CheckRole::Flag | CheckRole::UndefinedUnless);
        let is_flag = |name: &str| model.checks.iter().any(|check| marks(check) && check.name == name);
        let error = |word: &str, message: String, help: &str| {
            // A word of the text itself.
            let at = (word.as_ptr() as usize).saturating_sub(text.as_ptr() as usize) as u32;
            Diagnostic::error(Span::new(at, at + word.len() as u32), message).help(help)
        };
        if let Some(flag) = words(text, RACES).find(|flag| !is_flag(flag)) {
            let help = "`// races:` names flags of the model that are races; without the line these are the flags named after one";
            return Some(error(flag, format!("this model has no flag `{flag}`"), help));
        }
        for (flag, word) in words(text, FINDINGS).map(finding) {
            let help =
                "`// findings: FLAG FLAG=WORD` says what the flags of the model mean; docs/findings.md has the words";
            if !is_flag(flag) {
                return Some(error(flag, format!("this model has no flag `{flag}`"), help));
            }
            if FindingKind::from_word(word).is_none() {
                return Some(error(word, format!("`{word}` is no finding"), help));
            }
        }
        let unknown = |word: &&str| Assumption::from_word(word).is_none();
        if let Some(word) = words(text, ASSUMES).find(unknown) {
            let known: Vec<&str> = Assumption::WORDS.iter().map(|(word, _)| *word).collect();
            let help = format!("`// assumes:` takes {}", known.join(", "));
            return Some(error(word, format!("`{word}` is nothing that can be assumed of a model"), &help));
        }
        if let Some(word) = words(text, DEFAULT_FOR).find(|word| Purpose::from_word(word).is_none()) {
            let known: Vec<&str> = Purpose::WORDS.iter().map(|(word, _)| *word).collect();
            let help = format!("`// default-for:` takes {}", known.join(", "));
            return Some(error(word, format!("`{word}` is no kind of program"), &help));
        }
        let own = words(text, REPAIRS).find(|word| *word == "own")?;
        let has = |name: &&&str| model.nodes.iter().any(|node| node.name.as_deref() == Some(**name));
        let missing = REPAIR_RELATIONS.iter().find(|name| !has(name))?;
        let help = "`// repairs: own` is for a model with the relations of ptx.cat; leave the line out, or name a shipped model";
        Some(error(
            own,
            format!("repairs are looked for with the relation `{missing}`, which this model does not have"),
            help,
        ))
    }
}

/// The relations that repairs cannot do without.
const REPAIR_RELATIONS: [&str; 3] = ["base-causality", "causality", "to-strand"];

/// Whether a flag is about races by its name: some word of it is `race`, `races` or `racy` (`data-race`, `race_on_locks`,
/// `unseqRace`).
fn is_race(flag: &str) -> bool {
    let is_capital = |character: char| character.is_ascii_uppercase();
    let words = flag.split(|character: char| !character.is_ascii_alphanumeric());
    words.into_iter().any(|word| {
        let last = word.rfind(is_capital).map_or(word, |at| word.get(at..).unwrap_or(word));
        [word, last].iter().any(|part| matches!(part.to_ascii_lowercase().as_str(), "race" | "races" | "racy"))
    })
}

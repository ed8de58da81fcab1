//! What a model's header says of itself, so that no name of a model is known here: a model of somebody's own with the same
//! header gets the same service as a shipped one. The header is the comment lines at the head of its file.
//!
//! `// findings: FLAG FLAG=WORD …` gives flags the words of [`FindingKind`]; a flag that has the name of a word needs no `=`.
//! A model without the line is read by the names of its flags: those of words mean that, and one named after a race is a
//! race, unless a line `// races: FLAG …` says which are.
//!
//! `// relations: NAME NAME=WORD …`, `// axioms:` and `// variants:` do the same for what repairs, explanations and layers of the
//! answer ask for by role ([`crate::model::role`]). A model without such a line is read by its names.
//!
//! `// assumes: WORD …` says what may be taken for granted of its executions ([`Assumption`]), and `// repairs: own`, or
//! `// repairs: MODEL`, who says what a race lacks ([`Repairs`]). `// default-for: WORD …` says which programs a shipped model is
//! for ([`Purpose`]).
//!
//! `// question: NAME TEXT` says what a reading of the model asks, and `// questions-from: TEXT` whose texts leave it open.
//! `// without-thin-air: NAME=VALUE …` names the readings under which the model has no axiom against thin air, and
//! `// mapping-claim: SCHEME TEXT` the published claim that mappings by that scheme keep their source; both are for compiler mappings.

use std::borrow::Cow;

use fencepost_axiom::model::shipped::FILES;
use fencepost_axiom::model::{Model, Node, NodeKind};
use fencepost_report::finding::FindingKind;
use fencepost_syntax::cat::CheckRole;
use fencepost_syntax::sorted::{SortedMap, SortedSet};
use fencepost_syntax::{Diagnostic, Source, Span};

use crate::model::purpose::Purpose;
use crate::model::readings::{Point, Settings};
use crate::model::role::{Axiom, Relation, Role, Roles, Variant};
use crate::model::variants::Mentioned;

const FINDINGS: &str = "// findings:";
const RACES: &str = "// races:";
const RELATIONS: &str = "// relations:";
const AXIOMS: &str = "// axioms:";
const VARIANTS: &str = "// variants:";
const ASSUMES: &str = "// assumes:";
const REPAIRS: &str = "// repairs:";
const DEFAULT_FOR: &str = "// default-for:";
const QUESTION: &str = "// question:";
const QUESTIONS_FROM: &str = "// questions-from:";
const WITHOUT_THIN_AIR: &str = "// without-thin-air:";
const MAPPING_CLAIM: &str = "// mapping-claim:";

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Vocabulary {
    findings: Option<SortedMap<String, FindingKind>>,
    races: Option<Vec<String>>,
    pub relations: Roles<Relation>,
    pub axioms: Roles<Axiom>,
    pub variants: Roles<Variant>,
    pub assumptions: SortedSet<Assumption>,
    pub repairs: Repairs,
    /// What the model is for, where nobody names one.
    pub purposes: SortedSet<Purpose>,
    /// The readings under which the model has no axiom against thin air: no compiler mapping promises that one.
    pub without_thin_air: Settings,
    /// What somebody claims of compiler mappings to the model.
    pub mapping_claim: Option<MappingClaim>,
    /// What its readings ask, by their names.
    questions: SortedMap<String, String>,
    /// Whose texts leave that open.
    questions_from: String,
}

/// "Theorem 6.1": that a mapping by a scheme keeps the promises of its source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MappingClaim {
    pub scheme: String,
    pub name: String,
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
    /// `one-run-decides`: what a thread reads depends on what others did before it and on nothing else
    /// ([`fencepost_axiom::engine::determined`]).
    OneRunDecides,
    /// `specified-names`: axioms and relations with roles mean what the specification says, so that a story may
    /// tell them in its words and cite its sections.
    SpecifiedNames,
}

impl Assumption {
    const WORDS: [(&'static str, Assumption); 5] = [
        ("atomic-updates", Assumption::AtomicUpdates),
        ("ordering-barriers", Assumption::OrderingBarriers),
        ("alike-elements", Assumption::AlikeElements),
        ("one-run-decides", Assumption::OneRunDecides),
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

/// The shipped models that say which programs they are for, with the words. Found when this is compiled: every check of a test
/// for which nobody chose a model asks for it.
const DEFAULTS: [(&str, &str); FILES.len()] = {
    let mut defaults = [("", ""); FILES.len()];
    let mut at = 0;
    while at < FILES.len() {
        defaults[at] = (FILES[at].0, default_line(FILES[at].1));
        at += 1;
    }
    defaults
};

/// What stands behind the first `// default-for:` of a text. Only the lines before the first empty one are looked at: that is
/// where the shipped models have theirs.
const fn default_line(text: &str) -> &str {
    let (bytes, wanted) = (text.as_bytes(), DEFAULT_FOR.as_bytes());
    let mut line = 0;
    while line < bytes.len() {
        let (mut end, mut same) = (line, 0);
        while end < bytes.len() && bytes[end] != b'\n' {
            if same == end - line && same < wanted.len() && bytes[end] == wanted[same] {
                same += 1;
            }
            end += 1;
        }
        if same == wanted.len() {
            return text.split_at(end).0.split_at(line + same).1;
        }
        let is_empty = end == line || end == line + 2 && bytes[line] == b'/';
        if is_empty {
            return "";
        }
        line = end + 1;
    }
    ""
}

/// The first shipped model whose header says that it is for such programs.
pub(crate) fn default_for(purpose: Purpose) -> Option<&'static str> {
    let is_for = |words: &str| split(words).any(|word| Purpose::from_word(word) == Some(purpose));
    DEFAULTS.iter().find(|(_, words)| is_for(words)).map(|(name, _)| *name)
}

/// Whether a line begins as those do that this is about: `// word:`.
fn has_key(line: &str) -> bool {
    let Some(word) = line.strip_prefix("// ") else { return false };
    word.bytes().find(|byte| !matches!(byte, b'a'..=b'z' | b'-')) == Some(b':')
}

/// A line without the white space around it, which most have none of.
fn trimmed(line: &str) -> &str {
    let ends = [line.as_bytes().first(), line.as_bytes().last()];
    let is_trimmed = ends.iter().all(|end| end.is_some_and(u8::is_ascii_graphic));
    if is_trimmed { line } else { line.trim() }
}

/// The comment lines at the head of a model.
fn head(text: &str) -> impl Iterator<Item = &str> {
    let is_comment = |line: &&str| line.is_empty() || line.starts_with("//");
    let mut lines = text.lines().map(trimmed).peekable();
    // The name of the model, or of its architecture, may come first.
    lines.next_if(|line| !is_comment(line));
    lines.take_while(is_comment)
}

/// The lines of the head that [`Vocabulary::of`] reads, as a text that it reads alike.
pub(crate) fn keyed_head(text: &str) -> String {
    head(text).filter(|line| has_key(line)).flat_map(|line| [line, "\n"]).collect()
}

/// The words of all lines of the head that begin so.
fn words<'t>(text: &'t str, begin: &str) -> impl Iterator<Item = &'t str> {
    head(text).filter_map(move |line| line.strip_prefix(begin)).flat_map(split)
}

/// The first word of a line, and the text behind it.
fn labelled(line: &str) -> (&str, &str) {
    let line = line.trim();
    line.split_once([' ', '\t']).map_or((line, ""), |(name, question)| (name, question.trim()))
}

fn split(line: &str) -> impl Iterator<Item = &str> {
    line.split([',', ' ', '\t']).filter(|word| !word.is_empty())
}

/// A name and the word for what it means.
fn named(word: &str) -> (&str, &str) {
    word.split_once('=').unwrap_or((word, word))
}

impl Vocabulary {
    /// Of the text of a model.
    pub fn of(text: &str) -> Vocabulary {
        let mut vocabulary = Vocabulary::default();
        // Few lines of a head are about this, and every check reads one.
        for line in head(text).filter(|line| has_key(line)) {
            if let Some(words) = line.strip_prefix(FINDINGS) {
                let findings = vocabulary.findings.get_or_insert_default();
                findings.extend(
                    split(words)
                        .map(named)
                        .filter_map(|(flag, word)| Some((flag.to_owned(), FindingKind::from_word(word)?))),
                );
            } else if let Some(words) = line.strip_prefix(RACES) {
                vocabulary.races.get_or_insert_default().extend(split(words).map(str::to_owned));
            } else if let Some(words) = line.strip_prefix(RELATIONS) {
                vocabulary.relations.list(split(words).map(named));
            } else if let Some(words) = line.strip_prefix(AXIOMS) {
                vocabulary.axioms.list(split(words).map(named));
            } else if let Some(words) = line.strip_prefix(VARIANTS) {
                vocabulary.variants.list(split(words).map(named));
            } else if let Some(words) = line.strip_prefix(ASSUMES) {
                vocabulary.assumptions.extend(split(words).filter_map(Assumption::from_word));
            } else if let Some(words) = line.strip_prefix(DEFAULT_FOR) {
                vocabulary.purposes.extend(split(words).filter_map(Purpose::from_word));
            } else if let Some(word) = line.strip_prefix(REPAIRS).and_then(|words| split(words).next()) {
                vocabulary.repairs = if word == "own" { Repairs::Own } else { Repairs::By(word.to_owned()) };
            } else if let Some(words) = line.strip_prefix(WITHOUT_THIN_AIR) {
                let readings = split(words).map(named).map(|(name, value)| (name.to_owned(), value.to_owned()));
                vocabulary.without_thin_air.0.extend(readings);
            } else if let Some(line) = line.strip_prefix(MAPPING_CLAIM) {
                let (scheme, name) = labelled(line);
                vocabulary.mapping_claim = Some(MappingClaim { scheme: scheme.to_owned(), name: name.to_owned() });
            } else if let Some(line) = line.strip_prefix(QUESTION) {
                let (name, question) = labelled(line);
                vocabulary.questions.insert(name.to_owned(), question.to_owned());
            } else if let Some(line) = line.strip_prefix(QUESTIONS_FROM) {
                line.trim().clone_into(&mut vocabulary.questions_from);
            }
        }
        vocabulary
    }

    /// Gives the model's own points the questions of its header.
    pub(crate) fn ask(&self, points: &mut [Point]) {
        for point in points.iter_mut().filter(|point| point.id.is_none()) {
            point.question = self.questions.get(&point.name).cloned().unwrap_or_default();
            point.sections = Cow::Owned(self.questions_from.clone());
        }
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
}

/// What a header says that is not so: a name that the model does not have, a word that is none. `variants` are those that
/// the texts of the model ask about.
pub(crate) fn problem(source: &Source, model: &Model, variants: &Mentioned, points: &[Point]) -> Option<Diagnostic> {
    let header = Header { text: &source.text, model };
    let is_axiom = |name: &str| header.has_check(name, &[CheckRole::Axiom]);
    let is_variant = |name: &str| variants.contains_key(name);
    header
        .bad_flag()
        .or_else(|| header.bad_finding())
        .or_else(|| header.bad_role::<Relation>(RELATIONS, "relation", &|name| header.has_relation(name)))
        .or_else(|| header.bad_role::<Axiom>(AXIOMS, "axiom", &is_axiom))
        .or_else(|| header.bad_role::<Variant>(VARIANTS, "variant", &is_variant))
        .or_else(|| header.bad_assumption())
        .or_else(|| header.bad_purpose())
        .or_else(|| header.bad_repairs())
        .or_else(|| header.bad_question(points))
        .or_else(|| header.bad_reading(points))
        .or_else(|| header.bad_claim())
}

/// A header, and the model that it is about.
struct Header<'m> {
    text: &'m str,
    model: &'m Model,
}

impl Header<'_> {
    /// About a word of the text itself.
    fn error(&self, word: &str, message: String, help: &str) -> Diagnostic {
        let at = (word.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize) as u32;
        Diagnostic::error(Span::new(at, at + word.len() as u32), message).help(help)
    }

    fn has_check(&self, name: &str, roles: &[CheckRole]) -> bool {
        self.model.checks.iter().any(|check| roles.contains(&check.role) && check.name == name)
    }

    fn is_flag(&self, name: &str) -> bool {
        self.has_check(name, &[CheckRole::Flag, CheckRole::UndefinedUnless])
    }

    fn has_relation(&self, name: &str) -> bool {
        let is_named = |node: &Node| node.kind == NodeKind::Relation && node.name.as_deref() == Some(name);
        self.model.nodes.iter().any(is_named)
    }

    fn bad_flag(&self) -> Option<Diagnostic> {
        let flag = words(self.text, RACES).find(|flag| !self.is_flag(flag))?;
        let help =
            "`// races:` names flags of the model that are races; without the line these are the flags named after one";
        Some(self.error(flag, format!("this model has no flag `{flag}`"), help))
    }

    fn bad_finding(&self) -> Option<Diagnostic> {
        let help =
            "`// findings: FLAG FLAG=WORD` says what the flags of the model mean; docs/findings.md has the words";
        words(self.text, FINDINGS).map(named).find_map(|(flag, word)| match () {
            () if !self.is_flag(flag) => Some(self.error(flag, format!("this model has no flag `{flag}`"), help)),
            () if FindingKind::from_word(word).is_none() => {
                Some(self.error(word, format!("`{word}` is no finding"), help))
            }
            () => None,
        })
    }

    fn bad_role<R: Role>(&self, line: &str, what: &str, has: &dyn Fn(&str) -> bool) -> Option<Diagnostic> {
        words(self.text, line).map(named).find_map(|(name, word)| match () {
            () if !has(name) => {
                let help = format!(
                    "`{line} NAME NAME=WORD` says what the names of the model stand for; one that only renames another is \
                     not listed"
                );
                Some(self.error(name, format!("this model has no {what} `{name}`"), &help))
            }
            () if R::from_word(word).is_none() => {
                let known: Vec<&str> = R::all().map(R::word).collect();
                let help = format!("`{line}` takes {}", known.join(", "));
                Some(self.error(word, format!("`{word}` is nothing that a name can stand for"), &help))
            }
            () => None,
        })
    }

    fn bad_assumption(&self) -> Option<Diagnostic> {
        let word = words(self.text, ASSUMES).find(|word| Assumption::from_word(word).is_none())?;
        let known: Vec<&str> = Assumption::WORDS.iter().map(|(word, _)| *word).collect();
        let help = format!("`{ASSUMES}` takes {}", known.join(", "));
        Some(self.error(word, format!("`{word}` is nothing that can be assumed of a model"), &help))
    }

    fn bad_purpose(&self) -> Option<Diagnostic> {
        let word = words(self.text, DEFAULT_FOR).find(|word| Purpose::from_word(word).is_none())?;
        let known: Vec<&str> = Purpose::WORDS.iter().map(|(word, _)| *word).collect();
        let help = format!("`{DEFAULT_FOR}` takes {}", known.join(", "));
        Some(self.error(word, format!("`{word}` is no kind of program"), &help))
    }

    fn bad_question(&self, points: &[Point]) -> Option<Diagnostic> {
        let help = "`// question: NAME TEXT` says what a reading asks that the model itself declares";
        let lines = head(self.text).filter_map(|line| line.strip_prefix(QUESTION)).map(labelled);
        lines.into_iter().find_map(|(name, question)| {
            let point = points.iter().find(|point| point.name == name);
            let message = match point {
                None => format!("`{name}` is not among the readings of this model"),
                Some(point) if point.id.is_some() => format!("`{name}` is a point of PTX, which has its question"),
                Some(_) if question.is_empty() => format!("the question of `{name}` is missing"),
                Some(_) => return None,
            };
            Some(self.error(name, message, help))
        })
    }

    fn bad_reading(&self, points: &[Point]) -> Option<Diagnostic> {
        let help =
            "`// without-thin-air: NAME=VALUE` names the readings under which the model has no axiom against thin air";
        words(self.text, WITHOUT_THIN_AIR).find_map(|word| {
            let mut settings = Settings::default();
            let bad = settings.add(word).and_then(|()| settings.check(points)).err()?;
            Some(self.error(word, bad.to_string(), help))
        })
    }

    fn bad_claim(&self) -> Option<Diagnostic> {
        let lines = head(self.text).filter_map(|line| line.strip_prefix(MAPPING_CLAIM)).map(labelled);
        let (scheme, _) = lines.into_iter().find(|(_, name)| name.is_empty())?;
        let help = "`// mapping-claim: SCHEME TEXT` says who claims that mappings by a scheme keep their source";
        Some(self.error(scheme, "who claims this is missing".to_owned(), help))
    }

    fn bad_repairs(&self) -> Option<Diagnostic> {
        let own = words(self.text, REPAIRS).find(|word| *word == "own")?;
        let roles = Vocabulary::of(self.text).relations;
        let has = |role: Relation| roles.names(role).into_iter().any(|name| self.has_relation(name));
        let missing = REPAIR_RELATIONS.into_iter().find(|role| !has(*role))?.word();
        let help = "`// repairs: own` is for a model with the relations of ptx.cat; leave the line out, or name a shipped model";
        let message = format!("repairs are looked for with the relation `{missing}`, which this model does not have");
        Some(self.error(own, message, help))
    }
}

/// The relations that repairs cannot do without.
const REPAIR_RELATIONS: [Relation; 3] = [Relation::BaseCausality, Relation::Causality, Relation::ToStrand];

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

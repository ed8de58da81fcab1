//! Memory models, ready to use: the compiled form for the engines, the trees for the independent evaluator, the texts
//! for people.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use fencepost_axiom::model::compile::{Compilation, Options, compile_parsed};
use fencepost_axiom::model::{BaseRelation, BaseSet, Model, Operator, shipped};
use fencepost_axiom::replay::Includes;
use fencepost_program::program::{Feature, Version};
use fencepost_program::tag::Tag;
use fencepost_program::unfold::{Dependencies, Elements, Joint, Rewriting, UnfoldOptions};
use fencepost_syntax::litmus::Arch;
use fencepost_syntax::sorted::SortedMap;
use fencepost_syntax::{Diagnostic, Source, Spanned, cat};

use crate::look::crash::CrashModel;
use crate::look::race::Flags;
use crate::model::compiled::{self, Compiled};
use crate::model::family::{Family, MIXED};
use crate::model::purpose::Purpose;
use crate::model::readings::{Point, Settings};
use crate::model::variants::{self, Mentioned};
use crate::model::vocabulary::{self, Assumption, Vocabulary};
use crate::phrase::either;
use crate::test::Test;

#[derive(Clone, Debug)]
pub struct LoadedModel {
    /// `ptx-7.5`, or the path as given.
    pub name: String,
    /// Compiled with the default readings for the newest version, or as [`LoadedModel::under`] says.
    pub model: Model,
    pub source: Source,
    pub includes: Includes,
    /// What its header says of it.
    pub vocabulary: Arc<Vocabulary>,
    /// The points the model can be read in several ways on.
    pub points: Vec<Point>,
    /// What it is about; None: any program.
    pub family: Option<Family>,
    text: Arc<Text>,
    /// The variants that are on.
    variants: BTreeSet<String>,
    flags: Arc<OnceLock<Flags>>,
    crash: Arc<OnceLock<Option<CrashModel>>>,
}

/// What a model is compiled from, again for each set of variants, and what was compiled already.
#[derive(Debug)]
struct Text {
    /// Read when it is first asked for: a shipped model is compiled already.
    tree: OnceLock<cat::Model>,
    /// The tree of a shipped model as bytes.
    kept: &'static [u8],
    /// Of the includes.
    sources: SortedMap<String, Source>,
    mentioned: Mentioned,
    compiled: Mutex<SortedMap<BTreeSet<String>, Option<Arc<LoadedModel>>>>,
}

/// A model that is one with its default readings has an error under others.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct NotCompiled;

impl std::fmt::Display for NotCompiled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the model has an error under these readings")
    }
}

impl std::error::Error for NotCompiled {}

fn variants_on(mentioned: &Mentioned, points: &[Point], settings: &Settings, version: Version) -> BTreeSet<String> {
    let is_on = |name: &&String| variants::is_on(name, points, settings, version);
    mentioned.keys().filter(is_on).cloned().collect()
}

fn compile(
    source: &Source,
    (tree, problems): (&cat::Model, Vec<Diagnostic>),
    mut find: impl FnMut(&str) -> Option<Source>,
    on: &BTreeSet<String>,
) -> Result<Model, Vec<(Source, Diagnostic)>> {
    let options = Options { variants: on.clone(), ..Options::default() };
    let Compilation { model, diagnostics, files } =
        compile_parsed(source.clone(), (tree, problems), &options, &mut find);
    model.ok_or_else(|| {
        let errors = diagnostics.into_iter().filter(|found| found.diagnostic.is_error());
        let place = |file: usize| files.get(file).unwrap_or(source).clone();
        errors.map(|found| (place(found.file.index()), found.diagnostic)).collect()
    })
}

/// Every `if "name=value"` must ask for a reading that the header names: a misspelt one would be a rule lost in silence.
fn undeclared(mentioned: &Mentioned, points: &[Point], source: &Source) -> Vec<(Source, Diagnostic)> {
    let mut errors = Vec::new();
    for (variant, &span) in mentioned {
        let Some((name, value)) = variant.split_once('=') else { continue };
        let message = match points.iter().find(|point| point.name == name) {
            Some(point) if point.values.iter().any(|known| known == value) => continue,
            Some(point) => format!("`{name}` is {}, never `{value}`", either(&point.values)),
            None => format!("`{name}` is not among the readings of this model"),
        };
        let help = "the line `// readings: name=default|other` at the head of a model declares them";
        errors.push((source.clone(), Diagnostic::error(span, message).help(help)));
    }
    errors
}

/// Of the `// features:` line of a model about memory that survives a crash.
const PERSISTENCE: &str = "persistence";

/// Of the `// features:` line of a model for which a dependency in name only is none.
const REAL_DEPENDENCIES: &str = "real-dependencies";

impl LoadedModel {
    /// How a program is unrolled for it.
    pub fn unfolding(&self, bound: u32) -> UnfoldOptions {
        let assumes = |assumption| self.vocabulary.assumptions.contains(&assumption);
        let rewriting = if assumes(Assumption::AtomicUpdates) { Rewriting::Spins } else { Rewriting::Unrolled };
        let joint = if assumes(Assumption::OrderingBarriers) { Joint::Spins } else { Joint::Unrolled };
        let elements = if assumes(Assumption::AlikeElements) { Elements::OneOfAlike } else { Elements::All };
        let real = self.model.features.iter().any(|known| known == REAL_DEPENDENCIES);
        let dependencies = if real { Dependencies::Real } else { Dependencies::Syntactic };
        UnfoldOptions { bound, rewriting, joint, elements, dependencies, ..UnfoldOptions::default() }
    }

    /// Whether the model has rules for a part of the ISA that not every model knows: its `// features:` line says so, or
    /// it names the events only that part has.
    pub fn knows(&self, feature: Feature) -> bool {
        let word = match feature {
            Feature::Proxy => "proxy",
            Feature::Cluster => "cluster",
            Feature::Async => "async",
            Feature::Launch => "launch",
            Feature::Span => "span",
            Feature::Mixed => MIXED,
            Feature::Multimem => "multimem",
            Feature::Persistence => PERSISTENCE,
        };
        let names = |operator: &Operator| match (feature, operator) {
            (Feature::Cluster, Operator::Base(BaseSet::Tagged(Tag::ScopeCluster))) => true,
            (Feature::Proxy, Operator::Base(BaseSet::Tagged(tag))) => {
                matches!(tag, Tag::Surface | Tag::Texture | Tag::Constant | Tag::Alias)
            }
            (Feature::Proxy, Operator::BaseRelation(BaseRelation::Vloc)) => true,
            (Feature::Mixed, Operator::Base(BaseSet::Tagged(Tag::X86))) => true,
            _ => false,
        };
        self.model.features.iter().any(|known| known == word)
            || self.model.nodes.iter().any(|node| names(&node.operator))
    }

    /// The model read as somebody chose, in a version of the ISA; None if that is this one.
    pub fn under(&self, settings: &Settings, version: Version) -> Result<Option<Arc<LoadedModel>>, NotCompiled> {
        let on = variants_on(&self.text.mentioned, &self.points, settings, version);
        if on == self.variants {
            return Ok(None);
        }
        let mut compiled = self.text.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        let model = compiled.entry(on).or_insert_with_key(|on| self.compiled(on).map(Arc::new));
        model.clone().map(Some).ok_or(NotCompiled)
    }

    /// The model with a variant of its text that is no reading; None if the text has no such variant, or it is on. Of such
    /// a model nothing is assumed that a text in a file would not promise.
    pub fn with_variant(&self, name: &str) -> Option<LoadedModel> {
        if !self.text.mentioned.contains_key(name) || self.variants.contains(name) {
            return None;
        }
        let on = self.variants.iter().cloned().chain([name.to_owned()]).collect();
        let mut own = self.compiled(&on)?;
        own.assume_nothing();
        Some(own)
    }

    /// Whatever its header says.
    pub(crate) fn assume_nothing(&mut self) {
        Arc::make_mut(&mut self.vocabulary).assumptions.clear();
    }

    fn compiled(&self, on: &BTreeSet<String>) -> Option<LoadedModel> {
        let find = |file: &str| self.text.sources.get(file).cloned();
        let model = compile(&self.source, (self.tree(), Vec::new()), find, on).ok()?;
        Some(LoadedModel {
            name: self.name.clone(),
            model,
            source: self.source.clone(),
            includes: self.includes.clone(),
            vocabulary: Arc::clone(&self.vocabulary),
            points: self.points.clone(),
            family: self.family,
            text: Arc::clone(&self.text),
            variants: on.clone(),
            flags: Arc::default(),
            crash: Arc::default(),
        })
    }

    /// The variants of the text that are on.
    pub fn variants(&self) -> &BTreeSet<String> {
        &self.variants
    }

    /// The text, parsed.
    pub fn tree(&self) -> &cat::Model {
        self.text.tree.get_or_init(|| compiled::tree(self.text.kept).unwrap_or_else(|| cat::parse(&self.source.text).0))
    }

    /// What it says of crashes, if it does.
    pub fn crash(&self) -> Option<&CrashModel> {
        self.crash.get_or_init(|| CrashModel::new(&self.model)).as_ref()
    }

    pub fn flags(&self) -> &Flags {
        self.flags.get_or_init(|| Flags::new(&self.model, &self.vocabulary))
    }

    /// What [`Models::shipped`] needs to know to do without the text.
    pub(crate) fn to_keep(&self) -> Compiled {
        Compiled {
            model: self.model.clone(),
            on: self.variants.iter().cloned().collect(),
            mentioned: self.text.mentioned.clone(),
            readings: Point::words(&self.source.text).map(|(standing, word)| (standing, word.to_owned())).collect(),
            header: self.tree().header.first().map(|word| word.node.clone()),
            head: vocabulary::keyed_head(&self.source.text).into(),
            tree: &[],
        }
    }

    /// Whether the model has a reading of this name.
    pub fn has_reading(&self, name: &str) -> bool {
        self.points.iter().any(|point| point.name == name)
    }

    /// Whether the model is about programs of this architecture. Under a model of another one, fences would silently
    /// mean nothing.
    pub fn is_about(&self, arch: Arch) -> bool {
        self.family.is_none_or(|family| family == Family::Compound || family == Family::of(arch))
    }
}

/// The words of the `// features:` lines of a model's text.
fn features(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("// features:"));
    lines.flat_map(|words| words.split([',', ' ']).filter(|word| !word.is_empty()))
}

fn is_mixed(test: &Test) -> bool {
    test.program.features.iter().any(|feature| feature.node == Feature::Mixed)
}

/// The shipped models, and models from text.
pub struct Models;

impl Models {
    /// Every shipped model, sorted.
    pub fn names() -> Vec<&'static str> {
        shipped::names().collect()
    }

    /// The shipped models that a test is compared under, sorted: those about persistent memory where it has some, else those
    /// about its architecture, or about several where it has several.
    pub fn of_test(test: &Test) -> Vec<&'static str> {
        let family = if is_mixed(test) { Family::Compound } else { Family::of(test.program.arch) };
        let persists = test.program.features.iter().any(|feature| feature.node == Feature::Persistence);
        let about = |(name, text): &(&'static str, &str)| {
            let known = features(text).any(|word| word == PERSISTENCE);
            let own = || Family::of_model(features(text), text.lines().next(), name);
            known == persists && (persists || own().is_none_or(|about| about == family))
        };
        shipped::files().filter(about).map(|(name, _)| name).collect()
    }

    /// The shipped model for such programs, where nothing else is said.
    pub fn default_for(purpose: Purpose) -> &'static str {
        let first = vocabulary::default_for(purpose);
        first.expect("invariant: each word is in the header of a shipped model, which a test checks")
    }

    /// The first sentence of a shipped model's header.
    pub fn summary(name: &str) -> String {
        let text = shipped::shipped(name).unwrap_or("");
        let comments = text.lines().filter_map(|line| line.trim().strip_prefix("//")).map(str::trim);
        let head: Vec<&str> = comments
            .take_while(|line| !line.is_empty() && !HEADERS.iter().any(|header| line.starts_with(header)))
            .collect();
        let head = head.join(" ");
        head.split_once(". ").map_or(head.clone(), |(first, _)| format!("{first}."))
    }

    pub fn shipped(name: &str) -> Option<LoadedModel> {
        let name = shipped::names().find(|shipped| *shipped == name)?;
        let source = Source::fixed(format!("{name}.cat"), shipped::shipped(name)?);
        match Compiled::find(name, &source) {
            Some(compiled) => Models::from_compiled(name, source, compiled).or_else(|| Models::from_text(name)),
            None => Models::from_text(name),
        }
    }

    /// A shipped model, compiled now.
    pub fn from_text(name: &str) -> Option<LoadedModel> {
        let source = Source::fixed(format!("{name}.cat"), shipped::shipped(name)?);
        let loaded = Models::from_source(name, source, &mut |_| None);
        let loaded = loaded.expect("invariant: the shipped models compile, which a test checks");
        Some(loaded)
    }

    /// None if other variants are on by now.
    fn from_compiled(name: &str, source: Source, compiled: Compiled) -> Option<LoadedModel> {
        let Compiled { model, on, mentioned, readings, header, head, tree } = compiled;
        let mut points: Vec<Point> = readings.iter().map(|(standing, word)| Point::of_word(*standing, word)).collect();
        let variants = variants_on(&mentioned, &points, &Settings::default(), Version::NEWEST);
        if !variants.iter().eq(&on) {
            return None;
        }
        let family = Family::of_model(model.features.iter().map(String::as_str), header.as_deref(), name);
        let (sources, compiled) = (SortedMap::new(), Mutex::default());
        let vocabulary = Arc::new(Vocabulary::of(&head));
        vocabulary.ask(&mut points);
        let text = Text { tree: OnceLock::new(), kept: tree, sources, mentioned, compiled };
        Some(LoadedModel {
            name: name.to_owned(),
            model,
            source,
            includes: Includes::new(),
            vocabulary,
            points,
            family,
            text: Arc::new(text),
            variants,
            flags: Arc::default(),
            crash: Arc::default(),
        })
    }

    /// A model from its text. `resolve` finds included files; what it does not find is looked for in the built-in
    /// library. On failure, every error with the text it is about.
    pub fn from_source(
        name: &str,
        source: Source,
        resolve: &mut dyn FnMut(&str) -> Option<String>,
    ) -> Result<LoadedModel, Vec<(Source, Diagnostic)>> {
        let (tree, problems) = cat::parse(&source.text);
        let gathered = gather(&source, &tree, resolve)?;
        let mut asked = vec![(&source, variants::mentioned(&tree))];
        asked.extend(gathered.values().map(|(source, tree)| (source, variants::mentioned(tree))));
        // The header is read before the model is compiled: which variants are on depends on it.
        let mut points = Point::of_model(&source.text);
        let mut undeclared: Vec<_> =
            asked.iter().flat_map(|(source, mentioned)| undeclared(mentioned, &points, source)).collect();
        let mentioned: Mentioned = asked.into_iter().rev().flat_map(|(_, mentioned)| mentioned).collect();
        let variants = variants_on(&mentioned, &points, &Settings::default(), Version::NEWEST);
        let find = |file: &str| gathered.get(file).map(|(source, _)| source.clone());
        let model = compile(&source, (&tree, problems), find, &variants)?;
        let problem = vocabulary::problem(&source, &model, &mentioned, &points);
        undeclared.extend(problem.map(|problem| (source.clone(), problem)));
        if !undeclared.is_empty() {
            return Err(undeclared);
        }
        let first = tree.header.first().map(|word| word.node.as_str());
        let family = Family::of_model(model.features.iter().map(String::as_str), first, name);
        let vocabulary = Arc::new(Vocabulary::of(&source.text));
        vocabulary.ask(&mut points);
        let sources = gathered.iter().map(|(file, (source, _))| (file.clone(), source.clone())).collect();
        let includes = gathered.into_iter().map(|(file, (_, tree))| (file, tree)).collect();
        let text = Arc::new(Text { tree: tree.into(), kept: &[], sources, mentioned, compiled: Mutex::default() });
        Ok(LoadedModel {
            name: name.to_owned(),
            model,
            source,
            includes,
            vocabulary,
            points,
            family,
            text,
            variants,
            flags: Arc::default(),
            crash: Arc::default(),
        })
    }
}

type Gathered = SortedMap<String, (Source, cat::Model)>;

/// What lines of a header begin with that are no prose.
const HEADERS: [&str; 15] = [
    "default-for:",
    "features:",
    "readings:",
    "settled:",
    "findings:",
    "races:",
    "relations:",
    "axioms:",
    "variants:",
    "assumes:",
    "repairs:",
    "question:",
    "questions-from:",
    "without-thin-air:",
    "mapping-claim:",
];

/// No model of the field has a tenth of this.
const MOST_FILES: usize = 256;

/// Reads every file that the model includes, directly or not. The compiler takes a file once only, which would hide a
/// cycle: a file that includes itself did not mean what it says, so it is refused here.
fn gather(
    root: &Source,
    tree: &cat::Model,
    resolve: &mut dyn FnMut(&str) -> Option<String>,
) -> Result<Gathered, Vec<(Source, Diagnostic)>> {
    let mut gathered = Gathered::new();
    // The files being read, by the name they are found under, each with the includes still to follow.
    let own_name = root.name.rsplit(['/', '\\']).next().unwrap_or(&root.name).to_owned();
    let mut path = vec![(own_name, root.clone(), included(&tree.instructions))];
    while let Some((from, source, left)) = path.last_mut() {
        let Some(file) = left.pop() else {
            path.pop();
            continue;
        };
        let (from, here) = (from.clone(), source.clone());
        for name in cat::include_names(Some(&from), &file.node) {
            if path.iter().any(|(open, ..)| *open == name) {
                let names: Vec<&str> = path.iter().map(|(name, ..)| name.as_str()).chain([name.as_str()]).collect();
                let message = format!("the files include each other: {}", names.join(" includes "));
                return Err(vec![(here, Diagnostic::error(file.span, message).label("closes the cycle"))]);
            }
            if gathered.contains_key(&name) {
                break;
            }
            if gathered.len() >= MOST_FILES {
                let message = format!("more than {MOST_FILES} included files");
                return Err(vec![(here, Diagnostic::error(file.span, message))]);
            }
            // What is not found may be in the built-in library; the compiler says so if it is not.
            let Some(text) = resolve(&name) else { continue };
            let (tree, _) = cat::parse(&text);
            let source = Source::new(name.clone(), text);
            let next = included(&tree.instructions);
            gathered.insert(name.clone(), (source.clone(), tree));
            path.push((name, source, next));
            break;
        }
    }
    Ok(gathered)
}

/// The includes of a file, last one first, also those under a condition.
fn included(instructions: &[Spanned<cat::CatInstruction>]) -> Vec<Spanned<String>> {
    let mut found = Vec::new();
    for instruction in instructions.iter().rev() {
        match &instruction.node {
            cat::CatInstruction::Include { file } => found.push(file.clone()),
            cat::CatInstruction::If { then, otherwise, .. } => {
                found.extend(included(otherwise));
                found.extend(included(then));
            }
            cat::CatInstruction::Procedure { body, .. } => found.extend(included(body)),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_may_be_included_twice_but_not_by_itself() {
        let file = |file: &str| match file {
            "left.cat" => Some("include \"base.cat\"\n".to_owned()),
            "base.cat" => Some("let hb = po | rf\n".to_owned()),
            "loop.cat" => Some("include \"left.cat\"\ninclude \"loop.cat\"\n".to_owned()),
            _ => None,
        };
        let load = |text: &str| Models::from_source("m", Source::new("m.cat", text), &mut |name| file(name));
        let twice = load("include \"left.cat\"\ninclude \"base.cat\"\nacyclic hb | co\n");
        assert_eq!(twice.expect("a model").includes.len(), 2);
        let errors = load("include \"loop.cat\"\nacyclic po\n").expect_err("a cycle");
        let (source, diagnostic) = &errors[0];
        assert_eq!((source.name.as_str(), source.position(diagnostic.span.start).line), ("loop.cat", 2));
        assert!(diagnostic.message.contains("m.cat includes loop.cat includes loop.cat"), "{}", diagnostic.message);
    }

    #[test]
    fn includes_under_a_condition_and_in_a_folder_are_found() {
        let file = |file: &str| match file {
            "lib/all.cat" => Some("if \"fast\" include \"fast.cat\" else include \"slow.cat\" end\n".to_owned()),
            "lib/slow.cat" => Some("include \"base.cat\"\nlet hb = base | rf\n".to_owned()),
            "base.cat" => Some("let base = po\n".to_owned()),
            _ => None,
        };
        let text = "include \"lib/all.cat\"\nacyclic hb | co\n";
        let model = Models::from_source("m", Source::new("x/m.cat", text), &mut |name| file(name)).expect("a model");
        assert_eq!(model.includes.keys().collect::<Vec<_>>(), ["base.cat", "lib/all.cat", "lib/slow.cat"]);
    }

    #[test]
    fn a_model_is_about_what_its_first_word_says() {
        let about = |name: &str, text: &str| {
            let model = Models::from_source(name, Source::new(name, text), &mut |_| None).expect("a model");
            (model.is_about(Arch::Ptx), model.is_about(Arch::X86))
        };
        assert_eq!(about("x86/mine.cat", "PTX\nacyclic po"), (true, false));
        assert_eq!(about("x86/mine.cat", "acyclic po"), (true, true));
        assert_eq!(about("x86-mine.cat", "acyclic po"), (false, true));
        assert_eq!(about("mine.cat", "\"X86 TSO\"\nacyclic po"), (false, true));
        assert_eq!(about("mine.cat", "SC\nacyclic po"), (true, true));
        assert_eq!(about("mine.cat", "AArch64\nacyclic po"), (false, false));
        assert_eq!(about("mine.cat", "PTX\n// features: mixed\nacyclic po"), (true, true));
        assert_eq!(about("rc11-mine.cat", "acyclic po"), (false, false));
    }

    #[test]
    fn every_kind_of_program_has_one_shipped_model() {
        for (word, purpose) in Purpose::WORDS {
            let is_for =
                |name: &&str| Models::shipped(name).is_some_and(|it| it.vocabulary.purposes.contains(&purpose));
            let names: Vec<&str> = Models::names().into_iter().filter(is_for).collect();
            assert_eq!(names, [Models::default_for(purpose)], "{word}");
        }
    }

    #[test]
    fn every_shipped_model_compiles() {
        for name in Models::names() {
            assert!(Models::shipped(name).is_some(), "{name}");
            assert!(!Models::summary(name).is_empty(), "{name}");
        }
    }
}

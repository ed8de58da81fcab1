//! Cat text to compiled model: includes resolved, functions expanded, names and types checked.
//!
//! The semantics of the language is herd7's ("herding cats", and the manual's chapter on cat), with the base relations
//! that Dartagnan adds for GPUs. Nothing here reads files: the caller resolves includes. What is not supported is
//! refused by its name at its place, and then there is no model.

pub(crate) mod definition;
pub(crate) mod expression;
pub(crate) mod graph;
pub(crate) mod instruction;
pub(crate) mod layout;
pub(crate) mod orders;
pub(crate) mod value;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use fencepost_syntax::cat::{self, Binding, BindingPattern, CatInstruction, Expression};
use fencepost_syntax::sorted::SharedSort as _;
use fencepost_syntax::{Diagnostic, Source, Spanned};

use crate::model::compile::graph::Graph;
use crate::model::compile::layout::DraftCheck;
use crate::model::compile::value::{Bindings, Environment, Trouble};
use crate::model::ir::{Coherence, FileId, Model, NodeId, Reading};
use crate::model::vocabulary::library;
use crate::model::vocabulary::names;

/// A compiled model, or why there is none.
#[derive(Clone, Debug)]
pub struct Compilation {
    /// None if a diagnostic is an error.
    pub model: Option<Model>,
    pub diagnostics: Vec<FileDiagnostic>,
    /// What the diagnostics and the model's spans point into.
    pub files: Vec<Source>,
}

/// A diagnostic, and which of [`Compilation::files`] it is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileDiagnostic {
    pub file: FileId,
    pub diagnostic: Diagnostic,
}

impl Compilation {
    pub fn source(&self, file: FileId) -> Option<&Source> {
        self.files.get(file.index())
    }

    pub fn errors(&self) -> impl Iterator<Item = &FileDiagnostic> {
        self.diagnostics.iter().filter(|found| found.diagnostic.is_error())
    }
}

/// How to compile, apart from the text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// The variants that are on, for `if "name"`. All others are off.
    pub variants: BTreeSet<String>,
    /// Definitions to change: each `let` of this name gets this expression instead, in the environment of the old one.
    /// Tests drop a clause of a definition with it.
    pub replace: Vec<Replacement>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Replacement {
    pub name: String,
    /// A cat expression.
    pub expression: String,
}

/// Finds an included file by a name relative to the model's folder ([`cat::include_names`]); None falls back to the
/// built-in library.
pub type Includes<'a> = dyn FnMut(&str) -> Option<Source> + 'a;

/// Compiles a model. Its name is the source's, without folder and `.cat`.
pub fn compile(source: Source, options: &Options, includes: &mut Includes<'_>) -> Compilation {
    let parsed = cat::parse(&source.text);
    compile_parsed(source, (&parsed.0, parsed.1), options, includes)
}

/// As [`compile`], of a text that is parsed already: parsing takes longer than compiling.
pub fn compile_parsed(
    source: Source,
    (tree, diagnostics): (&cat::Model, Vec<Diagnostic>),
    options: &Options,
    includes: &mut Includes<'_>,
) -> Compilation {
    let name = model_name(&source.name);
    let features = features(&source.text);
    let mut compiler = Compiler::new(options, includes);
    compiler.included.insert(source.name.clone());
    let environment = compiler.prelude();
    compiler.read_replacements();
    compiler.enter(source, diagnostics);
    let root = compiler.file;
    compiler.run(&tree.instructions, environment);
    let coherence = tree.header.first().and_then(|title| names::coherence_of(&title.node));
    compiler.finish(name, features, root, coherence)
}

/// Compiles a text that includes nothing but the built-in library.
pub fn compile_text(name: &str, text: &str) -> Compilation {
    compile(Source::new(name, text), &Options::default(), &mut |_| None)
}

fn model_name(source: &str) -> String {
    let file = source.rsplit(['/', '\\']).next().unwrap_or(source);
    file.strip_suffix(".cat").unwrap_or(file).to_owned()
}

/// The words of the `// features:` lines.
fn features(text: &str) -> Vec<String> {
    words(text, "// features:").map(str::to_owned).collect()
}

/// The names in the `// readings:` lines of the model, each with the values that an `if "name=value"` of its text or of an
/// included one asks for.
fn readings(text: &str, files: &[Source]) -> Vec<Reading> {
    let reading = |name: &str| {
        let asked = files.iter().flat_map(|file| file.text.split('"').skip(1).step_by(2));
        let mut values: Vec<String> =
            asked.filter_map(|word| word.strip_prefix(name)?.strip_prefix('=')).map(str::to_owned).collect();
        values.shared_sort();
        values.dedup();
        Reading { name: name.to_owned(), values }
    };
    words(text, "// readings:").map(reading).collect()
}

fn words<'t>(text: &'t str, line: &'static str) -> impl Iterator<Item = &'t str> {
    let lines = text.lines().filter_map(move |found| found.trim().strip_prefix(line));
    lines.flat_map(|words| words.split([',', ' ']).filter(|word| !word.is_empty()))
}

/// A sample under evaluation; see [`crate::model::compile::orders`].
#[derive(Debug)]
pub(crate) struct Sample {
    pub(crate) sizes: &'static [u32],
    /// The partial order that the linearisations extend.
    pub(crate) before: Option<NodeId>,
}

/// None if the text is no expression.
type ReplacedBy = Option<Rc<Spanned<Expression>>>;

pub(crate) struct Compiler<'a> {
    pub(crate) options: &'a Options,
    pub(crate) includes: &'a mut Includes<'a>,
    pub(crate) graph: Graph,
    pub(crate) bindings: Bindings,
    pub(crate) checks: Vec<DraftCheck>,
    pub(crate) shown: Vec<(String, NodeId)>,
    pub(crate) files: Vec<Source>,
    /// The file that the expression under evaluation stands in.
    pub(crate) file: FileId,
    pub(crate) diagnostics: Vec<FileDiagnostic>,
    /// Definitions that failed, reported as errors when used and as warnings when not.
    pub(crate) pending: Vec<Rc<Trouble>>,
    pub(crate) included: BTreeSet<String>,
    /// The name under which each included file was found, for the includes in it.
    pub(crate) included_as: BTreeMap<FileId, String>,
    pub(crate) in_library: bool,
    pub(crate) sample: Option<Sample>,
    /// Set by `with co from …`.
    pub(crate) declared_coherence: Option<Coherence>,
    /// The variables of the recursive definitions under evaluation, outermost first.
    pub(crate) open_variables: Vec<Vec<NodeId>>,
    /// The name that a `call … as` gives to unnamed checks.
    pub(crate) label: Option<String>,
    pub(crate) depth: u32,
    pub(crate) steps: u64,
    /// Functions and procedures under expansion.
    pub(crate) nesting: u32,
    pub(crate) calls: u32,
    replacements: Vec<(String, FileId, ReplacedBy)>,
    replaced: BTreeSet<String>,
}

impl<'a> Compiler<'a> {
    fn new(options: &'a Options, includes: &'a mut Includes<'_>) -> Compiler<'a> {
        Compiler {
            options,
            includes,
            graph: Graph::default(),
            bindings: Bindings::default(),
            checks: Vec::new(),
            shown: Vec::new(),
            files: Vec::new(),
            file: FileId::default(),
            diagnostics: Vec::new(),
            pending: Vec::new(),
            included: BTreeSet::new(),
            included_as: BTreeMap::new(),
            in_library: false,
            sample: None,
            declared_coherence: None,
            open_variables: Vec::new(),
            label: None,
            depth: 0,
            steps: 0,
            nesting: 0,
            calls: 0,
            replacements: Vec::new(),
            replaced: BTreeSet::new(),
        }
    }

    fn prelude(&mut self) -> Environment {
        self.in_library = true;
        let tree = self.open(Source::fixed(library::PRELUDE_NAME, library::PRELUDE));
        let environment = self.run(&tree.instructions, Environment::default());
        self.in_library = false;
        environment
    }

    fn read_replacements(&mut self) {
        for replacement in &self.options.replace {
            let text = format!("let {} = {}", replacement.name, replacement.expression);
            let tree = self.open(Source::new(format!("<replacement of {}>", replacement.name), text));
            let expression = tree.instructions.into_iter().next().and_then(|instruction| match instruction.node {
                CatInstruction::Let { bindings, .. } => {
                    bindings.into_iter().next().map(|binding| binding.value.into_inner())
                }
                _ => None,
            });
            self.replacements.push((replacement.name.clone(), self.file, expression.map(Rc::new)));
        }
    }

    /// The expression to evaluate instead of a binding's own, and the file it stands in.
    pub(crate) fn replacement(&mut self, binding: &Binding) -> Option<(FileId, Rc<Spanned<Expression>>)> {
        if self.replacements.is_empty() || self.in_library || self.nesting > 0 {
            return None;
        }
        let (BindingPattern::Name(name) | BindingPattern::Function { name, .. }) = &binding.pattern else {
            return None;
        };
        let (_, file, expression) = self.replacements.iter().find(|(replaced, ..)| *replaced == name.node)?;
        let found = (*file, Rc::clone(expression.as_ref()?));
        self.replaced.insert(name.node.clone());
        Some(found)
    }

    /// Tells a failure, once.
    pub(crate) fn report(&mut self, trouble: &Trouble) {
        if trouble.reported.replace(true) {
            return;
        }
        let diagnostic = diagnostic(trouble, Diagnostic::error(trouble.place.span, trouble.message.clone()));
        self.diagnostics.push(FileDiagnostic { file: trouble.place.file, diagnostic });
    }

    fn finish(
        mut self,
        name: String,
        features: Vec<String>,
        root: FileId,
        architecture: Option<Coherence>,
    ) -> Compilation {
        for trouble in std::mem::take(&mut self.pending) {
            if !trouble.reported.replace(true) {
                let message = format!("a definition that is never used has no meaning: {}", trouble.message);
                let diagnostic = diagnostic(&trouble, Diagnostic::warning(trouble.place.span, message));
                self.diagnostics.push(FileDiagnostic { file: trouble.place.file, diagnostic });
            }
        }
        for replacement in &self.options.replace {
            if !self.replaced.contains(&replacement.name) {
                let message = format!("the model has no definition of `{}` to replace", replacement.name);
                let diagnostic = Diagnostic::error(Default::default(), message);
                self.diagnostics.push(FileDiagnostic { file: root, diagnostic });
            }
        }
        let usable = !self.diagnostics.iter().any(|found| found.diagnostic.is_error());
        let files = self.files.clone();
        let readings = files.get(root.index()).map_or_else(Vec::new, |model| readings(&model.text, &files));
        let mut diagnostics = std::mem::take(&mut self.diagnostics);
        let model = usable.then(|| {
            layout::lay_out(layout::Draft {
                name,
                features,
                readings,
                graph: self.graph,
                checks: self.checks,
                shown: self.shown,
                declared_coherence: self.declared_coherence.or(architecture),
                files: self.files,
            })
        });
        for found in model.iter().flat_map(|model| &model.unrecognised) {
            let diagnostic = Diagnostic::error(found.span, found.message.clone()).label("not supported");
            let diagnostic = diagnostic.help(UNRECOGNISED_HELP);
            diagnostics.push(FileDiagnostic { file: found.file, diagnostic });
        }
        let model = model.filter(|model| model.unrecognised.is_empty());
        Compilation { model, diagnostics, files }
    }
}

const UNRECOGNISED_HELP: &str = "coherence is partial here, because an axiom subtracts `co`; if it is meant to be a total order per location, name \
     the architecture first in the file (`X86`, `C`) or include \"cos.cat\"";

fn diagnostic(trouble: &Trouble, plain: Diagnostic) -> Diagnostic {
    let labelled = plain.label(trouble.label.clone());
    match &trouble.help {
        Some(help) => labelled.help(help.clone()),
        None => labelled,
    }
}

//! The language of models: its instructions and operators, each with an example and one sentence of meaning.
//!
//! `docs/cat.md` is written from these tables, and a test compiles every example: what is supported compiles, and what is
//! refused is refused. [`instruction`] says which row an instruction belongs to, so that a new one needs a row to compile.

use fencepost_syntax::cat::{CatInstruction, CheckRole};

/// A construct of the language.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Construct {
    /// In cat, as short as it gets.
    pub example: &'static str,
    pub support: Support,
    /// What it does, in one sentence.
    pub meaning: &'static str,
}

/// What becomes of a model that uses a construct.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Support {
    Supported,
    /// Accepted, and without an effect.
    Ignored,
    /// The model is refused, at the place.
    Refused,
}

use Support::{Ignored, Refused, Supported};

const fn row(example: &'static str, support: Support, meaning: &'static str) -> Construct {
    Construct { example, support, meaning }
}

const LET: Construct = row("let r = po; rf", Supported, "Names a set, a relation or a function (`let f (a, b) = …`).");
const LET_REC: Construct = row(
    "let rec r = rf | (r; rmw; r)",
    Supported,
    "The least relations that satisfy the equations (joined by `and`), or recursive functions.",
);
const LET_WHEN: Construct = row(
    "let rec r = po | (r; r) when irreflexive r",
    Refused,
    "herd drops executions whose fixed point fails the test.",
);
const AXIOM: Construct = row(
    "acyclic po | rf as name",
    Supported,
    "An axiom: `acyclic`, `irreflexive` or `empty`, or one of them with `~`; an execution that violates it is not consistent.",
);
const FLAG: Construct = row(
    "flag ~empty (po & rf) as name",
    Supported,
    "Marks the executions in which the relation has a pair; which flags are races the head of the model says.",
);
const UNDEFINED: Construct = row(
    "undefined_unless empty (po & rf) as name",
    Supported,
    "Makes the behaviour of a program undefined if an execution fails the check.",
);
const ASSERT: Construct = row("assert empty po & rf", Refused, "herd stops with an error where it fails.");
const SHOW: Construct = row(
    "show rf, co",
    Supported,
    "Names relations for who looks at the model: `as crash-prefix`, `persists-before` and `durable-at` say what a crash leaves.",
);
const UNSHOW: Construct = row("unshow rf", Supported, "Draws them no more.");
const INCLUDE: Construct = row(
    "include \"cos.cat\"",
    Supported,
    "Reads another file here, once; it is looked for beside the file, then beside the model, then in the built-in library.",
);
const PROCEDURE: Construct =
    row("procedure check (r) = acyclic r as name end", Supported, "Names instructions with parameters.");
const CALL: Construct = row("call subseteq (rf, loc) as name", Supported, "Runs a procedure.");
const WITH_FROM: Construct =
    row("include \"cross.cat\" with co from generate_cos (co0)", Supported, "Says that `co` is any of these orders.");
const IF: Construct = row(
    "if \"variant\" acyclic po else acyclic rf end",
    Supported,
    "Chooses instructions by a variant: a reading `name=value`, or a version of the ISA such as `9.4`.",
);
const FORALL: Construct = row("forall s in classes-loc (W) do empty s end", Refused, "herd repeats instructions.");
const MATCH: Construct =
    row("match 'cta with || 'cta -> acyclic po || _ -> acyclic rf end", Refused, "herd chooses by a tag of bell.");
const ENUM: Construct = row("enum scopes = 'cta || 'gpu", Refused, "herd declares tags of bell.");
const BELL: Construct = row("instructions R[{'once}]", Refused, "herd declares instructions of bell.");
const DEBUG: Construct = row("debug po", Ignored, "herd prints the value.");

/// Every instruction.
pub const INSTRUCTIONS: &[Construct] = &[
    LET, LET_REC, AXIOM, FLAG, UNDEFINED, INCLUDE, IF, PROCEDURE, CALL, WITH_FROM, SHOW, UNSHOW, DEBUG, LET_WHEN,
    ASSERT, FORALL, MATCH, ENUM, BELL,
];

/// The row of [`INSTRUCTIONS`] about an instruction.
pub fn instruction(instruction: &CatInstruction) -> &'static Construct {
    match instruction {
        CatInstruction::Let { when: Some(_), .. } => &LET_WHEN,
        CatInstruction::Let { recursive: true, .. } => &LET_REC,
        CatInstruction::Let { .. } => &LET,
        CatInstruction::Check(check) => match check.role {
            CheckRole::Axiom => &AXIOM,
            CheckRole::Flag => &FLAG,
            CheckRole::UndefinedUnless => &UNDEFINED,
            CheckRole::Assert => &ASSERT,
        },
        CatInstruction::Show { .. } => &SHOW,
        CatInstruction::Unshow { .. } => &UNSHOW,
        CatInstruction::Include { .. } => &INCLUDE,
        CatInstruction::Procedure { .. } => &PROCEDURE,
        CatInstruction::Call { .. } => &CALL,
        CatInstruction::WithFrom { .. } => &WITH_FROM,
        CatInstruction::Forall { .. } => &FORALL,
        CatInstruction::If { .. } => &IF,
        CatInstruction::Match { .. } => &MATCH,
        CatInstruction::Enum { .. } => &ENUM,
        CatInstruction::Debug(_) => &DEBUG,
        CatInstruction::Bell { .. } => &BELL,
    }
}

/// The expressions.
pub const EXPRESSIONS: &[Construct] = &[
    row("rf | co", Supported, "Union, of two sets or two relations."),
    row("rf & ext", Supported, "Intersection."),
    row("po \\ loc", Supported, "Difference."),
    row("~po", Supported, "Complement, within the events of the execution."),
    row("po; rf", Supported, "Sequence: a step of the first, then a step of the second."),
    row("rf^-1", Supported, "The relation read backwards."),
    row("po+", Supported, "One step or more."),
    row("po*", Supported, "Any number of steps, none included."),
    row("po?", Supported, "One step or none."),
    row("[W]", Supported, "The identity on a set."),
    row("W * R", Supported, "Every pair of an event of one set and an event of the other."),
    row("0", Supported, "The empty set or relation."),
    row("{}", Supported, "The same."),
    row("fencerel (F)", Supported, "A function applied."),
    row("fun r -> r; r", Supported, "A function without a name."),
    row("let r = po in r; r", Supported, "A name for the expression behind `in`."),
    row("if \"9.4\" then po else rf", Supported, "A choice by a variant; `&&`, `||` and `not` combine variants."),
    row("try unknown with po", Supported, "The second expression if the first has no meaning."),
    row("if po = rf then po else rf", Refused, "A choice by a comparison, also with `in` and `subset`."),
    row("'tag", Refused, "A tag of bell."),
];

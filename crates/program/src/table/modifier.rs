//! The dotted words of PTX instructions, by class (PTX ISA 9.7). An instruction form lists the classes it takes; a word is
//! looked up in those classes only, in any order, because PTX, Dartagnan's dialect and NVLitmus order them differently.

use fencepost_syntax::instruction::Instruction;
use fencepost_syntax::litmus::Comparison;
use fencepost_syntax::short::ShortText;
use fencepost_syntax::suggest::nearest;
use fencepost_syntax::{Diagnostic, Span, Spanned};

use crate::lower::findings::Refusal;
use crate::program::{BarrierKind, ReductionOperation, Scope};
use crate::table::typo;
use crate::tag::Tag;
use crate::value::Type;
use crate::value::expression::BinaryOperator;

/// Memory semantics (PTX ISA 8.4).
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Sem {
    Weak,
    Relaxed,
    Acquire,
    Release,
    AcqRel,
    Sc,
    Volatile,
    Mmio,
    /// Of `pacq` and `prel`, which have no word for it: a relaxed access that acquires or releases persists.
    Persist,
}

pub(crate) const SEMS: &[(&str, Sem)] = &[
    ("weak", Sem::Weak),
    ("relaxed", Sem::Relaxed),
    ("acquire", Sem::Acquire),
    ("release", Sem::Release),
    ("acq_rel", Sem::AcqRel),
    ("sc", Sem::Sc),
    ("volatile", Sem::Volatile),
    ("mmio", Sem::Mmio),
];

const SCOPES: &[(&str, Scope)] =
    &[("cta", Scope::Cta), ("cluster", Scope::Cluster), ("gpu", Scope::Gpu), ("gl", Scope::Gpu), ("sys", Scope::Sys)];

/// How `atom` and `red` combine; `Cas` and `Exchange` take their operands differently.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum UpdateWord {
    Apply(BinaryOperator),
    Exchange,
    Cas,
    Increment,
    Decrement,
}

const UPDATES: &[(&str, UpdateWord)] = &[
    ("add", UpdateWord::Apply(BinaryOperator::Add)),
    ("sub", UpdateWord::Apply(BinaryOperator::Subtract)),
    ("mul", UpdateWord::Apply(BinaryOperator::Multiply)),
    ("div", UpdateWord::Apply(BinaryOperator::Divide)),
    ("and", UpdateWord::Apply(BinaryOperator::And)),
    ("or", UpdateWord::Apply(BinaryOperator::Or)),
    ("xor", UpdateWord::Apply(BinaryOperator::Xor)),
    ("min", UpdateWord::Apply(BinaryOperator::Minimum)),
    ("max", UpdateWord::Apply(BinaryOperator::Maximum)),
    ("exch", UpdateWord::Exchange),
    ("cas", UpdateWord::Cas),
    ("inc", UpdateWord::Increment),
    ("dec", UpdateWord::Decrement),
];

/// Integer comparisons of `setp`; `lo`, `ls`, `hi`, `hs` are the unsigned spellings (PTX ISA 9.3.1.1).
const COMPARISONS: &[(&str, Comparison)] = &[
    ("eq", Comparison::Equal),
    ("ne", Comparison::NotEqual),
    ("lt", Comparison::Less),
    ("le", Comparison::LessEqual),
    ("gt", Comparison::Greater),
    ("ge", Comparison::GreaterEqual),
    ("lo", Comparison::Less),
    ("ls", Comparison::LessEqual),
    ("hi", Comparison::Greater),
    ("hs", Comparison::GreaterEqual),
];

/// State spaces of an access (PTX ISA 5.1).
const SPACES: &[&str] =
    &["global", "shared", "shared::cta", "shared::cluster", "local", "const", "param", "param::entry", "param::func"];

const VECTORS: &[(&str, u8)] = &[("v2", 2), ("v4", 4), ("v8", 8)];

/// Performance hints: no effect on values (PTX ISA 9.7.10.1 and 9.7.10.2).
const HINTS: &[&str] = &["ca", "cg", "cs", "lu", "wb", "wt"];
const HINT_PREFIXES: &[&str] = &["L1::", "L2::", "l1::", "l2::"];

const PROXIES: &[(&str, Tag)] = &[
    ("generic", Tag::Generic),
    ("constant", Tag::Constant),
    ("texture", Tag::Texture),
    ("surface", Tag::Surface),
    ("alias", Tag::Alias),
];

const BARRIERS: &[(&str, BarrierKind)] =
    &[("sync", BarrierKind::Sync), ("arrive", BarrierKind::Arrive), ("red", BarrierKind::Red)];

const REDUCTIONS: &[(&str, ReductionOperation)] =
    &[("popc", ReductionOperation::PopCount), ("and", ReductionOperation::And), ("or", ReductionOperation::Or)];

/// Which part of a product `mul` and `mad` keep.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    Low,
    High,
    Wide,
}

const PARTS: &[(&str, Part)] = &[("lo", Part::Low), ("hi", Part::High), ("wide", Part::Wide)];

/// What `setp` does with its result and another predicate.
const BOOLEANS: &[(&str, BinaryOperator)] =
    &[("and", BinaryOperator::And), ("or", BinaryOperator::Or), ("xor", BinaryOperator::Xor)];

/// Types of the floating-point sums that `atom` and `red` have.
const FLOATS: &[(&str, Type)] = &[
    ("f32", Type::U32),
    ("f64", Type::U64),
    ("f16", Type { bits: 16, signed: false }),
    ("bf16", Type { bits: 16, signed: false }),
    ("f16x2", Type::U32),
    ("bf16x2", Type::U32),
];

/// A class of modifiers that a form may take.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    Sem,
    Scope,
    Space,
    Type,
    /// A type whose values are only moved: of floating point, the bits.
    Bits,
    /// `.b128`.
    Wide,
    /// `.f32`, `.f64`, and the types of 16 bits.
    Float,
    /// `.v2`, `.v4`, `.v8`.
    Vector,
    Hint,
    Update,
    Comparison,
    Proxy,
    Barrier,
    Reduction,
    Part,
    /// `.and`, `.or`, `.xor` of `setp`.
    Boolean,
    /// Exactly this word, which means nothing of its own (`.uni`, `.to`, `.aligned`, `.cta` of `bar.cta`).
    Word(&'static str),
}

/// The modifiers of one instruction, each class resolved.
#[derive(Clone, Debug, Default)]
pub(crate) struct Modifiers {
    pub(crate) sem: Option<Spanned<Sem>>,
    pub(crate) mmio: bool,
    pub(crate) scope: Option<Spanned<Scope>>,
    pub(crate) space: Option<Spanned<ShortText>>,
    pub(crate) types: Vec<Type>,
    pub(crate) vector: Option<u8>,
    pub(crate) update: Option<UpdateWord>,
    pub(crate) comparison: Option<Comparison>,
    pub(crate) proxy: Option<Spanned<Tag>>,
    pub(crate) barrier: Option<BarrierKind>,
    pub(crate) reduction: Option<ReductionOperation>,
    pub(crate) part: Option<Part>,
    pub(crate) boolean: Option<BinaryOperator>,
    /// The type is one of floating point.
    pub(crate) float: Option<Type>,
    pub(crate) words: Vec<&'static str>,
}

pub(crate) fn find<T: Copy>(table: &[(&str, T)], word: &str) -> Option<T> {
    table.iter().find(|(name, _)| *name == word).map(|(_, value)| *value)
}

/// The spellings [`integer_type`] takes.
const TYPES: &[&str] = &["u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "b8", "b16", "b32", "b64", "pred"];

/// Types that are bits to an instruction that computes nothing.
const BITS: &[(&str, u8)] =
    &[("f16", 16), ("bf16", 16), ("f16x2", 32), ("bf16x2", 32), ("f32", 32), ("tf32", 32), ("f64", 64), ("b128", 128)];

/// As [`integer_type`], with floating-point and packed types as bits of their size.
pub(crate) fn bits_type(word: &str) -> Option<Type> {
    integer_type(word).or_else(|| find(BITS, word).map(|bits| Type { bits, signed: false }))
}

/// `.u32`, `.s64`, `.b16`, `.pred`; arithmetic on floating-point and packed types has no model.
pub(crate) fn integer_type(word: &str) -> Option<Type> {
    if word == "pred" {
        return Some(Type::PREDICATE);
    }
    let signed = match word.as_bytes().first()? {
        b's' => true,
        b'u' | b'b' => false,
        _ => return None,
    };
    let bits = match word.get(1..)? {
        "8" => 8,
        "16" => 16,
        "32" => 32,
        "64" => 64,
        _ => return None,
    };
    Some(Type { bits, signed })
}

/// A hint for the caches: no effect on values.
pub(crate) fn is_hint(word: &str) -> bool {
    HINTS.contains(&word) || HINT_PREFIXES.iter().any(|prefix| word.starts_with(prefix))
}

/// Reads the modifiers of `instruction` with the classes its form takes.
pub(crate) fn parse(instruction: &Instruction, classes: &[Class]) -> Result<Modifiers, Refusal> {
    let mut found = Modifiers::default();
    for modifier in &instruction.modifiers {
        let taken = classes.iter().any(|class| found.take(*class, modifier));
        if !taken {
            return Err(refuse(instruction, modifier, classes));
        }
    }
    Ok(found)
}

impl Modifiers {
    /// Whether the class has the word and was still free for it.
    fn take(&mut self, class: Class, modifier: &Spanned<ShortText>) -> bool {
        let word = modifier.node.as_str();
        match class {
            // `.mmio.relaxed.sys` is the one form with two words of semantics (PTX ISA 8.4.1).
            Class::Sem if word == "mmio" => !std::mem::replace(&mut self.mmio, true),
            Class::Sem => fill(&mut self.sem, find(SEMS, word).map(|sem| Spanned::new(sem, modifier.span))),
            Class::Scope => fill(&mut self.scope, find(SCOPES, word).map(|scope| Spanned::new(scope, modifier.span))),
            Class::Space => fill(&mut self.space, SPACES.contains(&word).then(|| modifier.clone())),
            Class::Type | Class::Bits | Class::Wide if self.types.len() >= 2 => false,
            Class::Type | Class::Bits | Class::Wide => {
                let ty = match class {
                    Class::Type => integer_type(word),
                    Class::Wide => bits_type(word).filter(|ty| ty.bits > 64),
                    _ => bits_type(word),
                };
                self.types.extend(ty);
                ty.is_some()
            }
            Class::Vector => fill(&mut self.vector, find(VECTORS, word)),
            Class::Hint => is_hint(word),
            Class::Update => fill(&mut self.update, find(UPDATES, word)),
            Class::Comparison => fill(&mut self.comparison, find(COMPARISONS, word)),
            Class::Proxy => fill(&mut self.proxy, find(PROXIES, word).map(|tag| Spanned::new(tag, modifier.span))),
            Class::Barrier => fill(&mut self.barrier, find(BARRIERS, word)),
            Class::Reduction => fill(&mut self.reduction, find(REDUCTIONS, word)),
            Class::Part => fill(&mut self.part, find(PARTS, word)),
            Class::Boolean => fill(&mut self.boolean, find(BOOLEANS, word)),
            Class::Float if !self.types.is_empty() => false,
            Class::Float => {
                let taken = fill(&mut self.float, find(FLOATS, word));
                self.types.extend(self.float.filter(|_| taken));
                taken
            }
            Class::Word(expected) if expected == word && !self.words.contains(&expected) => {
                self.words.push(expected);
                true
            }
            Class::Word(_) => false,
        }
    }
}

fn fill<T>(slot: &mut Option<T>, value: Option<T>) -> bool {
    let free = slot.is_none();
    match value {
        Some(value) if free => {
            *slot = Some(value);
            true
        }
        _ => false,
    }
}

/// Words that are long enough to recognise misspelt. The others are too close to words of forms we do not model.
const RECOGNISABLE: &[&str] = &["relaxed", "acquire", "release", "acq_rel", "volatile", "cluster"];

/// A word of another class (or a second of the same) is a mistake in the text, and so is a misspelt word; a word we do not
/// know at all is a form we do not model.
fn refuse(instruction: &Instruction, modifier: &Spanned<ShortText>, classes: &[Class]) -> Refusal {
    let word = modifier.node.as_str();
    let opcode = instruction.opcode.node.as_str();
    let is_order = find(SEMS, word).is_some() || find(SCOPES, word).is_some();
    let ordered = classes.contains(&Class::Sem) || classes.contains(&Class::Scope);
    if is_order && ordered {
        let message = format!("`{opcode}` cannot take `.{word}` here");
        let help = "it takes one semantics and one scope, each at most once";
        return Refusal::Error(Diagnostic::error(modifier.span, message).label("not taken").help(help));
    }
    match nearest(word, RECOGNISABLE).filter(|_| ordered) {
        Some(meant) => Refusal::Error(
            Diagnostic::error(modifier.span, format!("`{opcode}` has no modifier `.{word}`"))
                .label("not a modifier")
                .help(format!("did you mean `.{meant}`?")),
        ),
        None => {
            let what = typo::unknown_modifier(spelled(instruction), word, &candidates(classes));
            Refusal::Unsupported(instruction.span(), what)
        }
    }
}

/// The words of these classes, for suggestions.
pub(crate) fn candidates(classes: &[Class]) -> Vec<&'static str> {
    fn names<T>(table: &[(&'static str, T)]) -> Vec<&'static str> {
        table.iter().map(|(name, _)| *name).collect()
    }
    let words = |class: &Class| match class {
        Class::Sem => names(SEMS),
        Class::Scope => names(SCOPES),
        Class::Space => SPACES.to_vec(),
        Class::Type => TYPES.to_vec(),
        Class::Bits => TYPES.iter().copied().chain(names(BITS)).collect(),
        Class::Wide => vec!["b128"],
        Class::Vector => names(VECTORS),
        Class::Hint => Vec::new(),
        Class::Update => names(UPDATES),
        Class::Comparison => names(COMPARISONS),
        Class::Proxy => names(PROXIES),
        Class::Barrier => names(BARRIERS),
        Class::Reduction => names(REDUCTIONS),
        Class::Part => names(PARTS),
        Class::Boolean => names(BOOLEANS),
        Class::Float => names(FLOATS),
        Class::Word(word) => vec![*word],
    };
    classes.iter().flat_map(words).collect()
}

/// The instruction's opcode and modifiers, as a name for messages.
pub(crate) fn spelled(instruction: &Instruction) -> String {
    format!("`{}`", spelling(instruction))
}

/// The same as the text has it, kept for each instruction.
pub(crate) fn spelling(instruction: &Instruction) -> ShortText {
    let opcode = &instruction.opcode.node;
    if instruction.modifiers.is_empty() {
        return opcode.clone();
    }
    let length = instruction.modifiers.iter().map(|modifier| modifier.node.len() + 1).sum::<usize>();
    let mut name = String::with_capacity(opcode.len() + length);
    name.push_str(opcode);
    for modifier in &instruction.modifiers {
        name.push('.');
        name.push_str(&modifier.node);
    }
    name.into()
}

/// Checks the semantics against those the form allows.
pub(crate) fn check_sem(opcode: &str, sem: &Spanned<Sem>, legal: &[Sem]) -> Result<(), Refusal> {
    if legal.contains(&sem.node) {
        return Ok(());
    }
    let names: Vec<String> =
        SEMS.iter().filter(|(_, sem)| legal.contains(sem)).map(|(name, _)| format!("`.{name}`")).collect();
    let word = SEMS.iter().find(|(_, other)| *other == sem.node).map_or("", |(name, _)| name);
    let message = format!("`{opcode}` cannot be `.{word}`");
    Err(Refusal::Error(
        Diagnostic::error(sem.span, message).label("wrong semantics").help(format!("it can be {}", names.join(", "))),
    ))
}

/// `.gl` is a level of `membar` and the scope of nothing (PTX ISA 8.5, 9.7.15.4).
pub(crate) fn no_level(tree: &Instruction) -> Result<(), Refusal> {
    let Some(word) = tree.modifiers.iter().find(|word| word.node == "gl") else { return Ok(()) };
    let message = format!("{} is not PTX: only `membar` has `.gl`", spelled(tree));
    Err(Refusal::Error(Diagnostic::error(word.span, message).label("not PTX").help("did you mean `.gpu`?")))
}

/// The scope that strong semantics need (PTX ISA 9.7: `.scope` is mandatory there), and weak ones cannot have.
pub(crate) fn missing_scope(opcode: &str, span: Span) -> Refusal {
    Refusal::Error(
        Diagnostic::error(span, format!("`{opcode}` with these semantics needs a scope"))
            .label("no scope")
            .help("add `.cta`, `.cluster`, `.gpu` or `.sys`"),
    )
}

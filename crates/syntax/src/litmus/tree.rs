//! The tree of a litmus test, shared by column, block and NVLitmus notation.

use std::sync::Arc;

use crate::c;
use crate::instruction::Instruction;
use crate::span::{Span, Spanned};

/// An architecture: of a thread's instructions, and in the header of the threads that name none.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Arch {
    Ptx,
    X86,
    X86_64,
    /// C with `<stdatomic.h>`.
    C,
}

/// How the threads are laid out on the page.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Layout {
    /// herd's columns: `P0 | P1 ;` then one row per line.
    Columns,
    /// One `P0@cta 0, gpu 0 { ... }` block per thread, for long threads.
    Blocks,
    /// `d0.b0.t0 { ... }`: NVIDIA's NVLitmus.
    NvLitmus,
}

/// How instructions are written, which also fixes the barrier rule (Dartagnan's barriers differ from PTX's).
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Dialect {
    /// `ld.acquire.gpu r1, x`: bare locations, `bar.cta.sync instance[, id[, quorum]]`.
    Dartagnan,
    /// `ld.acquire.gpu.u32 %r1, [x];`: real PTX, pasted from a kernel.
    Ptx,
    /// NVLitmus: bracketed locations, bare registers, optional `== n` assumption.
    NvLitmus,
    /// x86 as herd writes it.
    X86,
    C,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Litmus {
    pub arch: Arch,
    pub layout: Layout,
    pub dialect: Dialect,
    pub name: Spanned<String>,
    /// Quoted strings and `Key=Value` lines between the name and the declarations, as written, each with a line end.
    pub comments: String,
    pub declarations: Vec<Spanned<Declaration>>,
    pub threads: Vec<Thread>,
    /// `locations [x; 0:r1;]`: what the histogram shows besides the condition.
    pub locations: Vec<Spanned<Term>>,
    /// `filter cond`: a hard assumption on every question.
    pub filter: Option<Spanned<Condition>>,
    /// `recover { … }`: the program that runs after a crash.
    pub recovery: Option<Recovery>,
    /// None where the test only asks for its outcomes. Columns and blocks have at most one about the end of a run, and any
    /// number about crashes; NVLitmus any number.
    pub questions: Vec<Question>,
}

/// What runs after a crash, from what persistent memory holds then.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recovery {
    /// Of its registers.
    pub declarations: Vec<Spanned<Declaration>>,
    pub threads: Vec<Thread>,
    /// The keyword.
    pub span: QuestionSpan,
}

/// The declarations that are not of registers: a recovery program has them too.
pub fn locations_of(declarations: &[Spanned<Declaration>]) -> impl Iterator<Item = Spanned<Declaration>> {
    let is_register = |item: &&Spanned<Declaration>| {
        matches!(item.node, Declaration::Register { .. } | Declaration::TypedRegister { .. })
    };
    declarations.iter().filter(move |item| !is_register(item)).cloned()
}

/// One entry of the `{ ... }` block, or an address line of NVLitmus.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Declaration {
    /// `x = 1`, `int x = 1`, `.global .u32 x;` (value None).
    Location {
        name: Spanned<String>,
        /// `nvm x = 0`: what it holds survives a crash.
        is_persistent: bool,
        /// `global`, `shared`, `const`…, without the dot.
        space: Option<String>,
        /// `.u32`, `int`, `uint64_t`, where the text says it; an access fixes its own size anyway.
        ty: Option<Spanned<LocationType>>,
        value: Option<Spanned<InitialValue>>,
    },
    /// `P0:r1 = 5`, `0:r1 = x` (an address), `P0:%rd1 = x`.
    Register { thread: u32, register: Spanned<String>, value: Spanned<InitialValue> },
    /// `.reg .u32 %r<4>;`-like typed registers of one thread or all: (`thread`, name, type without the dot). The name is as
    /// written, so that `%r<4>` stands for `%r0` to `%r3`.
    TypedRegister { thread: Option<u32>, register: Spanned<String>, ty: Spanned<String> },
    /// `.version 8.6`: which version of the PTX ISA the test is written for.
    Version { major: u8, minor: u8 },
    /// `.target sm_90a`: kept as written.
    Target { targets: Vec<Spanned<String>> },
    /// `t @ texture aliases x`, `.surfref s virtually aliases x`, `.global y physically aliases x`.
    Alias { name: Spanned<String>, kind: AliasKind, target: Spanned<String> },
    /// `m @ multimem aliases x, y`: one address of several locations, its replicas.
    Multimem { name: Spanned<String>, replicas: Vec<Spanned<String>> },
    /// `.launch 0 -> 1`, `.launch 0 => 1`: how the second kernel follows the first.
    Launch { first: Spanned<u32>, order: LaunchOrder, second: Spanned<u32> },
    /// `.stream a: 0 -> 1 => 2`: kernels in the order of a stream, each after all before it.
    Stream { name: Spanned<String>, first: Spanned<u32>, then: Vec<(LaunchOrder, Spanned<u32>)> },
    /// `.event e: 1 -> 4, 5`: recorded behind kernel 1 in its stream, waited for before kernels 4 and 5.
    Event { name: Spanned<String>, after: Spanned<u32>, before: Vec<Spanned<u32>> },
}

/// How one kernel follows another.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum LaunchOrder {
    /// `->`: it starts when the other has ended, as in a stream.
    Stream,
    /// `=>`: it may start earlier, and waits where it says so (programmatic dependent launch).
    Dependent,
}

/// The declared type of a location, as written and without PTX's dot.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LocationType {
    /// `u32`, `b64`, `int`, `uint64_t`, `uint64_t*`: a pointer.
    pub name: String,
    /// `x[4]`: how many elements; None for a scalar.
    pub length: Option<u32>,
    /// `x[2][4]`: the lengths of the further dimensions.
    pub inner: Vec<u32>,
    /// `.align 16`, which is kept for printing: where a location of a test lies is decided here.
    pub align: Option<u32>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum InitialValue {
    Integer(i128),
    /// A name: the address of a location for a register, a copy of its initial value for a location. `s@1` is the instance
    /// of CTA 1.
    Name(String),
    /// `&x`, `&x[2]`, `&x+8`: an address.
    Address(InitialAddress),
    /// `{1, &x}`: one integer or address per element of an array; elements without one are 0.
    List(Vec<Spanned<InitialValue>>),
    /// `?`: an unknown constant.
    Unknown,
}

/// An address that something holds at the start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InitialAddress {
    /// `s@1` is the instance of CTA 1.
    pub name: String,
    /// Which element of it.
    pub element: Option<u32>,
    /// So many bytes further on.
    pub offset: i128,
}

/// What an alias shares with its target.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum AliasKind {
    /// Another virtual address of the same location, generic proxy (`@ generic aliases`, `physically aliases`).
    Generic,
    /// Another name of the same virtual address, reached through another proxy.
    Texture,
    Surface,
    Constant,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Thread {
    /// `P0`, `d0.b0.t1`.
    pub name: Spanned<String>,
    /// What its instructions are written in: the header's, or another (`P0@x86` in a PTX test).
    pub arch: Arch,
    pub placement: Placement,
    /// Of a thread in C.
    pub parameters: Vec<c::Parameter>,
    pub body: Vec<Statement>,
}

/// Where the thread runs. A part that the text leaves out is None (x86 threads have none).
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Placement {
    pub cta: Option<u32>,
    pub cluster: Option<u32>,
    pub gpu: Option<u32>,
    /// Which kernel the thread belongs to.
    pub kernel: Option<u32>,
    pub side: Side,
}

/// `@host` is a thread of the host, and so is `@x86`.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Side {
    #[default]
    Device,
    Host,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Statement {
    /// `LC00:`
    Label(Spanned<String>),
    Instruction {
        instruction: Instruction,
        /// NVLitmus `ld r0, [x] == 1`: only executions where the loaded value is this count.
        assume: Option<Spanned<i128>>,
    },
    C(Spanned<c::Statement>),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Question {
    pub kind: QuestionKind,
    /// NVLitmus `as NAME`.
    pub name: Option<Spanned<String>>,
    pub condition: Spanned<Condition>,
    pub moment: Moment,
    /// The keyword.
    pub span: QuestionSpan,
}

/// When the condition of a question is judged.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Moment {
    /// When all threads have ended.
    #[default]
    End,
    /// `crash …`: when the power fails, at whatever point.
    Crash,
    /// `recover …`: when the recovery program has ended.
    Recovered,
}

/// A span that does not take part in equality (see [`Spanned`]).
pub type QuestionSpan = Spanned<()>;

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum QuestionKind {
    Exists,
    /// `~exists` / `not exists`.
    NotExists,
    Forall,
    /// NVLitmus `permit` = exists.
    Permit,
    /// NVLitmus `assert` = forall.
    Assert,
    /// NVLitmus `check`: report only.
    Check,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Condition {
    True,
    False,
    Compare { op: Comparison, left: Spanned<Term>, right: Spanned<Term> },
    Not(Box<Spanned<Condition>>),
    And(Vec<Spanned<Condition>>),
    Or(Vec<Spanned<Condition>>),
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

impl Comparison {
    /// The comparison with its sides exchanged.
    #[must_use]
    pub fn mirrored(self) -> Comparison {
        match self {
            Comparison::Less => Comparison::Greater,
            Comparison::LessEqual => Comparison::GreaterEqual,
            Comparison::Greater => Comparison::Less,
            Comparison::GreaterEqual => Comparison::LessEqual,
            same => same,
        }
    }

    /// The comparison that holds where this one does not.
    #[must_use]
    pub fn negated(self) -> Comparison {
        match self {
            Comparison::Equal => Comparison::NotEqual,
            Comparison::NotEqual => Comparison::Equal,
            Comparison::Less => Comparison::GreaterEqual,
            Comparison::LessEqual => Comparison::Greater,
            Comparison::Greater => Comparison::LessEqual,
            Comparison::GreaterEqual => Comparison::Less,
        }
    }
}

/// A leaf of a condition. Conditions name the same few things over and over: the name is shared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Term {
    Integer(i128),
    /// `P0:r1`, `0:EAX`; NVLitmus `r1` has no thread: its registers are unique in the file.
    Register {
        thread: Option<u32>,
        name: Arc<str>,
    },
    /// Final memory value, `x`, `[x]` or `x[2]`; `s@1` is the instance of CTA 1.
    Location {
        name: Arc<str>,
        index: Option<u32>,
    },
}

impl Litmus {
    /// How the instructions of a thread are written.
    pub fn dialect_of(&self, thread: &Thread) -> Dialect {
        match thread.arch {
            Arch::Ptx => self.dialect,
            Arch::X86 | Arch::X86_64 => Dialect::X86,
            Arch::C => Dialect::C,
        }
    }

    /// The place of the header name, for diagnostics about the whole test.
    pub fn span(&self) -> Span {
        self.name.span
    }
}

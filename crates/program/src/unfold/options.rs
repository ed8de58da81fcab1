//! What an unfolding may leave out, and how far it goes.

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct UnfoldOptions {
    /// Iterations per loop, for loops that are no spin loops; at least one is run.
    pub bound: u32,
    /// The most events (and traces) an unfolding may have.
    pub max_events: u32,
    pub rewriting: Rewriting,
    pub joint: Joint,
    pub elements: Elements,
    pub constants: ConstantMemory,
    pub dependencies: Dependencies,
    pub unmodelled: Unmodelled,
}

/// What becomes of a program with a question that rests on a value without a model (see `unfold::opaque`).
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Unmodelled {
    #[default]
    Refused,
    /// It is unfolded all the same, and the terms are noted ([`Unfolding::unmodelled`](crate::unfolding::Unfolding::unmodelled)): what races, hangs or breaks a rule
    /// does not rest on them.
    Noted,
}

/// Which operands of an instruction its result depends on.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Dependencies {
    /// All.
    #[default]
    Syntactic,
    /// Those that can matter: `xor r, r` is the same whatever `r` is. And what comes behind a branch depends on it only
    /// where its ways differ.
    Real,
}

/// What becomes of an iteration of a loop whose read-modify-writes write what they read (see `reduce::silent_updates`).
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Rewriting {
    /// It is an iteration like others.
    #[default]
    Unrolled,
    /// It is a spin where that is sound, in a model in which nothing comes between the halves of a read-modify-write.
    Spins,
}

/// What becomes of an iteration that all threads of a CTA go through together and that changes nothing (see `reduce::joint_rounds`).
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Joint {
    /// It is an iteration like others.
    #[default]
    Unrolled,
    /// It is a spin of each of them, in a model in which barriers order memory. Holds only if no thread can leave in the round
    /// after which another goes on ([`Unfolding::joint`](crate::unfolding::Unfolding::joint)).
    Spins,
}

/// Which elements of tiles have events (see `reduce::alike_elements`).
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Elements {
    #[default]
    All,
    /// One of those that nothing tells apart and whose values nobody looks at.
    OneOfAlike,
}

/// What a run knows of memory that keeps its initial value (see `reduce::constant_memory`).
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum ConstantMemory {
    #[default]
    Known,
    /// Nothing: its values are those of reads like others.
    Read,
}

impl Default for UnfoldOptions {
    fn default() -> UnfoldOptions {
        UnfoldOptions {
            bound: 2,
            max_events: 20_000,
            rewriting: Rewriting::Unrolled,
            joint: Joint::Unrolled,
            elements: Elements::All,
            constants: ConstantMemory::Known,
            dependencies: Dependencies::Syntactic,
            unmodelled: Unmodelled::Refused,
        }
    }
}

/// What becomes of the failing iterations of a spin loop (see `loops::spin`).
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Failing {
    LeftOut,
    OneKept,
}

//! What is missing: an instruction, a word, another place, or an order that no known change brings.

use crate::reason::OperandRule;
use crate::site::{Scope, Site};

/// A piece of synchronisation that is not there. `tell::words` says it.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Piece {
    /// Instructions, one after the other, at each of the places.
    Inserted {
        text: String,
        places: Vec<Spot>,
    },
    /// An entry of the declarations.
    Declared {
        text: String,
    },
    /// At an end of threads.
    Appended {
        text: String,
        end: End,
        threads: Vec<String>,
    },
    /// A loop around a wait, at an end of threads.
    LoopAppended {
        wait: String,
        end: End,
        threads: Vec<String>,
    },
    /// A loop around a wait that is put in.
    Loop {
        wait: String,
        place: Spot,
    },
    /// A wait whose parity alternates with the rounds.
    Alternating {
        wait: AlternatingWait,
        before: Option<String>,
        register: Option<ParityRegister>,
    },
    /// A branch back to an access, and the comparison where that is missing too.
    Repeated {
        access: Site,
        branch: String,
        label: Option<String>,
        place: Spot,
    },
    /// Another value of a register at the start.
    Started {
        thread: String,
        register: String,
        value: i64,
    },
    Removed {
        at: Site,
    },
    /// Other words on an instruction.
    Strengthened {
        at: Site,
        semantics: Option<Semantics>,
        scope: Option<Scope>,
    },
    /// A wait with other words, instead of that of the line.
    WaitReplaced {
        at: Site,
        by: String,
    },
    Replaced {
        at: Site,
        by: String,
    },
    /// An `atom` instead of a `red`.
    Returning {
        at: Site,
    },
    Moved {
        at: Site,
        side: Side,
        to: Site,
    },
    /// Another thread is to execute it.
    Handed {
        at: Site,
        behind: Site,
    },
    /// Another initial count of an mbarrier, where it is declared or in a line.
    Counted {
        mbarrier: String,
        count: i64,
        line: Option<u32>,
    },
    /// An order that no known change brings.
    OrderBetween {
        first: Site,
        second: Site,
    },
    OrderOfLines {
        first: Site,
        second: Site,
    },
    OneProxy,
    Message {
        scope: Scope,
        from: Site,
        to: Site,
    },
    TensorCompletion {
        operation: Site,
    },
    Completion {
        operation: Site,
    },
    OneWidth {
        first: Site,
        second: Site,
    },
    CtaKept {
        access: Site,
    },
    CtaStarted {
        access: Site,
    },
    AllocatedAddress {
        at: Site,
    },
    OneDeallocation {
        at: Site,
    },
    ClusterWait {
        at: Site,
    },
    ClusterArrive {
        at: Site,
    },
    OtherOperand {
        at: Site,
        rule: OperandRule,
    },
    ClusterWindow {
        at: Site,
    },
    BranchAroundRequest {
        at: Site,
    },
    DeallocationBehind {
        at: Site,
        other: Site,
    },
    OtherWarpBarrier,
    OneAtomic {
        read: Site,
        location: String,
    },
    KeptBefore {
        first: Site,
        second: Site,
    },
    OneScalarAccess {
        write: Site,
        read: Site,
        location: String,
    },
}

/// A place beside the instructions of a thread.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Spot {
    pub thread: String,
    pub at: Gap,
}

#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Gap {
    Between { above: u32, below: u32 },
    BehindLabel { label: String, line: u32 },
    Beside { side: Side, text: String, line: u32 },
    Line { side: Side, line: u32 },
    Anywhere,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    Before,
    Behind,
}

/// Of a thread.
#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    Beginning,
    End,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Semantics {
    Relaxed,
    Acquire,
    Release,
    AcqRel,
}

impl Semantics {
    /// As instructions write it.
    pub fn word(self) -> &'static str {
        match self {
            Semantics::Relaxed => "relaxed",
            Semantics::Acquire => "acquire",
            Semantics::Release => "release",
            Semantics::AcqRel => "acq_rel",
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum AlternatingWait {
    New { wait: String, place: Spot },
    Instead { at: Site, by: String },
}

/// A register that holds the parity: what sets it before the loop, and what turns it over behind a line of each round.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct ParityRegister {
    pub set: String,
    pub turn: String,
    pub line: u32,
}

//! The fixed look of each relation: colour, dash, width, order in the legend. One table for both formats, so that a
//! reader who knows one picture knows all of them. The colours keep apart in greyscale and for the common kinds of
//! colour blindness as far as seven of them can; the label on each edge says the same again.

use fencepost_check::model::role;
use fencepost_check::model::vocabulary::Vocabulary;
use fencepost_report::finding::FindingKind;

/// A drawn relation.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Relation {
    Po,
    Rf,
    Co,
    Fr,
    Rmw,
    SyncFence,
    Syncbar,
    /// From the instruction that starts an asynchronous operation to the operation.
    Issue,
    /// Inside an asynchronous operation.
    Then,
    /// From an asynchronous operation to the instruction that waits for it.
    Done,
    Launch,
    /// Of the model. Its name comes first, so that it sorts by it.
    Named(String, Meaning),
}

/// What a relation of the model is.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Meaning {
    Relation(Option<role::Relation>),
    Finding(FindingKind),
}

pub(crate) struct Style {
    pub(crate) colour: &'static str,
    /// An SVG dash pattern; empty for a solid line.
    pub(crate) dash: &'static str,
    /// In tenths of a pixel.
    pub(crate) width: u32,
}

const PO: Style = Style { colour: "#9aa0a6", dash: "", width: 12 };
const RF: Style = Style { colour: "#c5221f", dash: "", width: 16 };
const CO: Style = Style { colour: "#b06000", dash: "", width: 16 };
const FR: Style = Style { colour: "#1a62c5", dash: "", width: 16 };
const RMW: Style = Style { colour: "#5f6368", dash: "", width: 16 };
const SYNC_FENCE: Style = Style { colour: "#7b1fa2", dash: "6 3", width: 16 };
const SYNCBAR: Style = Style { colour: "#00796b", dash: "6 3", width: 16 };
const ISSUE: Style = Style { colour: "#3f6ba8", dash: "5 3", width: 14 };
const THEN: Style = Style { colour: "#7f93ad", dash: "", width: 12 };
const DONE: Style = Style { colour: "#2e7d32", dash: "5 3", width: 16 };
const LAUNCH: Style = Style { colour: "#00796b", dash: "8 3 2 3", width: 16 };

const SYNCHRONIZES_WITH: Style = Style { colour: "#2e7d32", dash: "6 3", width: 16 };
const OBSERVATION: Style = Style { colour: "#ad1457", dash: "2 3", width: 16 };
const BASE_CAUSALITY: Style = Style { colour: "#6d4c41", dash: "2 3", width: 16 };
const CAUSALITY: Style = Style { colour: "#827717", dash: "8 3 2 3", width: 16 };
const RACE: Style = Style { colour: "#d81b60", dash: "3 3", width: 20 };
const OTHER: Style = Style { colour: "#455a64", dash: "4 3", width: 16 };

impl Relation {
    /// The standard relation of that name, or a named one.
    pub(crate) fn of_name(name: &str, vocabulary: &Vocabulary) -> Relation {
        match name {
            "po" => Relation::Po,
            "rf" | "rfe" | "rfi" => Relation::Rf,
            "co" | "coe" | "coi" | "ws" => Relation::Co,
            "fr" | "fre" | "fri" => Relation::Fr,
            "rmw" | "amo" => Relation::Rmw,
            "sync_fence" => Relation::SyncFence,
            "syncbar" => Relation::Syncbar,
            "issue" => Relation::Issue,
            "so" => Relation::Then,
            "done" => Relation::Done,
            "launch" | "gridwait" => Relation::Launch,
            other => Relation::Named(other.to_owned(), Meaning::Relation(vocabulary.relations.of(other))),
        }
    }

    pub(crate) fn name(&self) -> &str {
        match self {
            Relation::Po => "po",
            Relation::Rf => "rf",
            Relation::Co => "co",
            Relation::Fr => "fr",
            Relation::Rmw => "rmw",
            Relation::SyncFence => "sync_fence",
            Relation::Syncbar => "syncbar",
            Relation::Issue => "issue",
            Relation::Then => "so",
            Relation::Done => "done",
            Relation::Launch => "launch",
            Relation::Named(name, _) => name,
        }
    }

    /// For the legend.
    pub(crate) fn words(&self) -> &str {
        match self {
            Relation::Po => "program order",
            Relation::Rf => "reads from",
            Relation::Co => "coherence",
            Relation::Fr => "from-read",
            Relation::Rmw => "one read-modify-write",
            Relation::SyncFence => "Fence-SC order",
            Relation::Syncbar => "barrier",
            Relation::Issue => "starts the operation beside it",
            Relation::Then => "inside an operation",
            Relation::Done => "the operation is complete",
            Relation::Launch => "kernel order",
            Relation::Named(_, Meaning::Relation(_)) => "",
            Relation::Named(_, Meaning::Finding(kind)) => match kind {
                FindingKind::DataRace | FindingKind::ScopedRace => "nothing orders the two",
                FindingKind::WgmmaRegisterInFlight => "a register is used before it is there",
                FindingKind::WgmmaNoFence => "no wgmma.fence between them",
                FindingKind::ExitBeforeAccess => "the memory may be gone",
                _ => "",
            },
        }
    }

    pub(crate) fn style(&self) -> &'static Style {
        match self {
            Relation::Po => &PO,
            Relation::Rf => &RF,
            Relation::Co => &CO,
            Relation::Fr => &FR,
            Relation::Rmw => &RMW,
            Relation::SyncFence => &SYNC_FENCE,
            Relation::Syncbar => &SYNCBAR,
            Relation::Issue => &ISSUE,
            Relation::Then => &THEN,
            Relation::Done => &DONE,
            Relation::Launch => &LAUNCH,
            Relation::Named(_, Meaning::Relation(role)) => match role {
                Some(role::Relation::SynchronizesWith) => &SYNCHRONIZES_WITH,
                Some(role::Relation::Observation) => &OBSERVATION,
                Some(role::Relation::BaseCausality) => &BASE_CAUSALITY,
                Some(role::Relation::Causality) => &CAUSALITY,
                _ => &OTHER,
            },
            Relation::Named(_, Meaning::Finding(kind)) => match kind {
                FindingKind::DataRace | FindingKind::ScopedRace | FindingKind::ExitBeforeAccess => &RACE,
                _ => &OTHER,
            },
        }
    }
}

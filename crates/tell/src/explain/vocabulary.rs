//! What the relations and axioms of a model mean, in words, and where the PTX ISA defines them: by their roles
//! ([`fencepost_check::model::role`]), and of base relations by their names. One that has neither is shown as it is.
//! Section numbers are those of PTX ISA 9.1 and later, chapter 8; only explanations under a shipped model cite them.

use fencepost_check::model::role::{Axiom, Relation};
use fencepost_check::model::vocabulary::Vocabulary;
use fencepost_program::sections;

/// How an edge of a named relation is told.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Telling {
    /// Look at what the name stands for instead: it is the sum of its steps.
    Through,
    ProgramOrder,
    /// Program order that a machine keeps.
    Kept(Kept),
    ReadsFrom,
    Coherence,
    FromRead,
    Observation,
    /// A release pattern to an acquire pattern that observes it.
    Pattern,
    FenceSc,
    Barrier,
    Dependency(&'static str),
    /// On a write that was not made.
    Omission,
    Atomic,
    /// An access leaves or enters its proxy at a fence.
    Proxy,
    /// An instruction starts an asynchronous operation.
    Issue,
    /// What an asynchronous operation does first.
    Strand,
    /// A wait is for an asynchronous operation.
    Done,
    /// A barrier completes without a thread that has exited.
    Exited,
    /// A barrier completes before it is used again.
    Generation,
    /// One kernel after another.
    Launch,
    /// A persist is durable before another.
    Persist,
    /// A `prel` that a `pacq` reads.
    PersistMessage,
}

/// Why program order is kept.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Kept {
    Preserved,
    /// An `mfence` is between the two.
    Mfence,
    /// A locked instruction or a fence is one of the two.
    Implied,
}

/// How a relation is told, and where it is defined.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    pub(crate) telling: Telling,
    /// Empty where the ISA has none.
    pub(crate) section: &'static str,
}

/// The relation that a model calls so: what its role says, else what the name means in cat.
pub(crate) fn relation(vocabulary: &Vocabulary, name: &str) -> Option<Entry> {
    let (telling, section) = match vocabulary.relations.of(name) {
        Some(role) => told(role)?,
        None => LANGUAGE.iter().find(|(known, _)| *known == name).map(|(_, told)| *told)?,
    };
    Some(Entry { telling, section })
}

/// None of a relation that is only asked about.
fn told(role: Relation) -> Option<(Telling, &'static str)> {
    Some(match role {
        Relation::ProgramOrder => (Telling::ProgramOrder, sections::PROGRAM_ORDER),
        Relation::CoherenceOrder => (Telling::Coherence, sections::COHERENCE_ORDER),
        Relation::FromRead => (Telling::FromRead, sections::COMMUNICATION_ORDER),
        Relation::Dependency => (Telling::Dependency("outcome"), sections::NO_THIN_AIR_AXIOM),
        Relation::Overlooked => (Telling::Omission, sections::NO_THIN_AIR_AXIOM),
        Relation::Observation | Relation::StrongObservation => (Telling::Observation, sections::OBSERVATION_ORDER),
        Relation::PatternSynchronizes => (Telling::Pattern, "8.8, 8.9.4"),
        Relation::SynchronizesWith => (Telling::Pattern, sections::MEMORY_SYNCHRONIZATION),
        Relation::FenceScOrder => (Telling::FenceSc, "8.9.3, 8.9.4"),
        Relation::BarrierSynchronizes => (Telling::Barrier, sections::MEMORY_SYNCHRONIZATION),
        Relation::WarpSynchronizes => (Telling::Barrier, sections::BAR_WARP_SYNC),
        Relation::LeavesProxy | Relation::EntersProxy => (Telling::Proxy, sections::CAUSALITY_ORDER),
        Relation::Causality | Relation::BaseCausality => (Telling::Through, sections::CAUSALITY_ORDER),
        Relation::Communication => (Telling::Through, sections::COMMUNICATION_ORDER),
        Relation::PreservedProgramOrder => (Telling::Kept(Kept::Preserved), ""),
        Relation::MfenceOrder => (Telling::Kept(Kept::Mfence), ""),
        Relation::Implied => (Telling::Kept(Kept::Implied), ""),
        Relation::PersistMemoryOrder => (Telling::Persist, ""),
        Relation::PersistSynchronizes => (Telling::PersistMessage, ""),
        Relation::MorallyStrong
        | Relation::RelatedByScope
        | Relation::ReleasePattern
        | Relation::AcquirePattern
        | Relation::BaseOfThreads
        | Relation::ToStrand
        | Relation::CompoundOrder
        | Relation::KernelOrder => return None,
    })
}

/// The base relations and those of the library, which every model has.
const LANGUAGE: &[(&str, (Telling, &str))] = &[
    ("po", (Telling::ProgramOrder, sections::PROGRAM_ORDER)),
    ("po-loc", (Telling::ProgramOrder, sections::PROGRAM_ORDER)),
    ("rf", (Telling::ReadsFrom, sections::COMMUNICATION_ORDER)),
    ("rfe", (Telling::ReadsFrom, "")),
    ("rfi", (Telling::ReadsFrom, "")),
    ("co", (Telling::Coherence, sections::COHERENCE_ORDER)),
    ("coe", (Telling::Coherence, "")),
    ("coi", (Telling::Coherence, "")),
    ("fr", (Telling::FromRead, sections::COMMUNICATION_ORDER)),
    ("fre", (Telling::FromRead, "")),
    ("fri", (Telling::FromRead, "")),
    ("rmw", (Telling::Atomic, sections::OPERATION_TYPES)),
    ("amo", (Telling::Atomic, sections::OPERATION_TYPES)),
    ("addr", (Telling::Dependency("address"), sections::NO_THIN_AIR_AXIOM)),
    ("data", (Telling::Dependency("value"), sections::NO_THIN_AIR_AXIOM)),
    ("ctrl", (Telling::Dependency("execution"), sections::NO_THIN_AIR_AXIOM)),
    ("sync_fence", (Telling::FenceSc, "8.9.3, 8.9.4")),
    ("syncbar", (Telling::Barrier, sections::MEMORY_SYNCHRONIZATION)),
    ("sync_barrier", (Telling::Barrier, sections::MEMORY_SYNCHRONIZATION)),
    ("exitbar", (Telling::Exited, sections::BAR)),
    ("generations", (Telling::Generation, sections::BAR)),
    ("issue", (Telling::Issue, sections::ASYNCHRONOUS_OPERATIONS)),
    ("so", (Telling::Strand, sections::ASYNCHRONOUS_OPERATIONS)),
    ("done", (Telling::Done, sections::COMPLETION_MECHANISMS)),
    ("launch", (Telling::Launch, sections::MEMORY_SYNCHRONIZATION)),
    ("gridwait", (Telling::Launch, sections::GRIDDEPCONTROL)),
    ("gridstart", (Telling::Launch, sections::GRIDDEPCONTROL)),
];

/// Of an axiom: its title, its section, and what its violation means.
pub(crate) struct Words {
    axiom: Axiom,
    pub(crate) title: &'static str,
    pub(crate) section: Option<&'static str>,
    pub(crate) rule: &'static str,
}

const AXIOMS: &[Words] = &[
    Words {
        axiom: Axiom::Causality,
        title: "Causality",
        section: Some(sections::CAUSALITY_AXIOM),
        rule: "a read may not return a value that is older than what causality order shows it, nor a later one",
    },
    Words {
        axiom: Axiom::Coherence,
        title: "Coherence",
        section: Some(sections::COHERENCE_AXIOM),
        rule: "writes of one location that causality order relates, or that are morally strong, are in coherence order",
    },
    Words {
        axiom: Axiom::FenceSc,
        title: "Fence-SC",
        section: Some(sections::FENCE_SC_AXIOM),
        rule: "Fence-SC order may not contradict causality order",
    },
    Words {
        axiom: Axiom::Atomicity,
        title: "Atomicity",
        section: Some(sections::ATOMICITY_AXIOM),
        rule: "no other write comes between the two halves of a read-modify-write",
    },
    Words {
        axiom: Axiom::SingleCopyAtomicity,
        title: "Single-copy atomicity",
        section: Some(sections::VECTOR_ACCESSES),
        rule: "a morally strong read does not mix the bytes of one write with older ones",
    },
    Words {
        axiom: Axiom::NoThinAir,
        title: "No-Thin-Air",
        section: Some(sections::NO_THIN_AIR_AXIOM),
        rule: "dependencies and reads-from may not form a cycle",
    },
    Words {
        axiom: Axiom::ScPerLocation,
        title: "SC-per-location",
        section: Some(sections::SC_PER_LOCATION_AXIOM),
        rule: "the accesses of one location have one order that respects program order",
    },
    Words {
        axiom: Axiom::FirstTrigger,
        title: "First trigger",
        section: Some(sections::GRIDDEPCONTROL),
        rule: "the `launch_dependents` of a CTA that counts is its first one",
    },
    Words {
        axiom: Axiom::PersistOrder,
        title: "Persist memory order",
        section: None,
        rule: "no persist is ordered before itself",
    },
    Words {
        axiom: Axiom::SystemFences,
        title: "The order of the system's fences",
        section: None,
        rule: "the fences of the system have one order that agrees with what threads see",
    },
    Words {
        axiom: Axiom::CompoundCausality,
        title: "Compound causality",
        section: None,
        rule: "what one thread sees of another may not contradict the order that both machines agree on",
    },
    Words {
        axiom: Axiom::Tso,
        title: "x86-TSO's global order",
        section: None,
        rule: "all accesses have one order, but for buffered stores",
    },
    Words {
        axiom: Axiom::Sc,
        title: "sequential consistency",
        section: None,
        rule: "all accesses have one order that respects program order",
    },
];

const fn own(axiom: Axiom, title: &'static str, rule: &'static str) -> Words {
    Words { axiom, title, section: None, rule }
}

/// Of the compound model of host and device (Goens et al., PLDI 2023), whose names are those of PTX and mean more.
const COMPOUND: &[Words] = &[
    own(
        Axiom::Coherence,
        "Coherence of the compound model",
        "writes of one location that are in each other's scope have one order, and the compound order agrees with it",
    ),
    own(
        Axiom::FenceSc,
        "Fence-SC of the compound model",
        "SC fences of the device, `mfence` and reads of the host have one order, and the compound order agrees with it",
    ),
    own(Axiom::Causality, "Causality of the compound model", "nobody reads around the compound order"),
    own(
        Axiom::Atomicity,
        "Atomicity of the compound model",
        "no write in scope comes between the two halves of a read-modify-write, of either side",
    ),
    own(
        Axiom::ScPerLocation,
        "SC-per-location of the compound model",
        "the accesses of one location in each other's scope have one order that respects program order",
    ),
    own(Axiom::NoThinAir, "No-Thin-Air of the compound model", "dependencies and reads-from may not form a cycle"),
];

/// Of RC11 (Lahav et al., PLDI 2017) with scopes.
const RC11: &[Words] = &[
    own(Axiom::Coherence, "Coherence of RC11", "nobody reads, overwrites or is overwritten against happens-before"),
    own(Axiom::Atomicity, "Atomicity of RC11", "no write comes between the two halves of a read-modify-write"),
    own(Axiom::Sc, "SC of RC11", "SC operations and SC fences in each other's scope have one order"),
    own(Axiom::NoThinAir, "No-Thin-Air of RC11", "program order and reads-from may not form a cycle"),
];

pub(crate) fn words(axiom: Axiom, family: Family) -> Option<&'static Words> {
    let special = match family {
        Family::Compound => COMPOUND,
        Family::C => RC11,
        Family::Ptx | Family::X86 => &[],
    };
    special.iter().chain(AXIOMS).find(|words| words.axiom == axiom)
}

/// Whose rules an explanation tells, and which specification it may cite.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Family {
    Ptx,
    X86,
    C,
    /// Of host and device together: each step has the rules of its own side.
    Compound,
}

#[cfg(test)]
mod tests {
    use fencepost_check::model::load::Models;
    use fencepost_syntax::cat::CheckRole;

    use super::*;

    #[test]
    fn every_axiom_of_the_shipped_models_has_words() {
        for name in Models::names() {
            let model = Models::shipped(name).unwrap();
            for check in model.model.checks.iter().filter(|check| check.role == CheckRole::Axiom) {
                let family = match name {
                    "cmm" => Family::Compound,
                    "rc11-scoped" => Family::C,
                    _ => Family::Ptx,
                };
                let words = model.vocabulary.axioms.of(&check.name).and_then(|axiom| words(axiom, family));
                assert!(words.is_some(), "{name}: {}", check.name);
            }
        }
    }

    #[test]
    fn the_table_has_each_name_once() {
        for (index, (name, _)) in LANGUAGE.iter().enumerate() {
            assert!(LANGUAGE[..index].iter().all(|(other, _)| other != name), "{name}");
        }
    }
}

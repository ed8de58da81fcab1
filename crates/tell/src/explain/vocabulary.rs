//! What the names of a model mean, in words, and where the PTX ISA defines them. One table for the shipped models, the
//! names Dartagnan's and herd's models use, and the base relations; a name it does not know is shown as it is.
//! Section numbers are those of PTX ISA 9.1 and later, chapter 8; only explanations under a shipped model cite them.

use fencepost_program::sections;

/// How an edge of a named relation is told.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Telling {
    /// Look at what the name stands for instead: it is the sum of its steps.
    Through,
    ProgramOrder,
    /// Kept program order: why is the rest of the sentence.
    Kept(&'static str),
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

pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) telling: Telling,
    pub(crate) section: Option<&'static str>,
}

const fn entry(name: &'static str, telling: Telling, section: &'static str) -> Entry {
    Entry { name, telling, section: if section.is_empty() { None } else { Some(section) } }
}

const RELATIONS: &[Entry] = &[
    entry("po", Telling::ProgramOrder, sections::PROGRAM_ORDER),
    entry("po-loc", Telling::ProgramOrder, sections::PROGRAM_ORDER),
    entry("po-address", Telling::ProgramOrder, sections::PROGRAM_ORDER),
    entry("rf", Telling::ReadsFrom, sections::COMMUNICATION_ORDER),
    entry("rfe", Telling::ReadsFrom, ""),
    entry("rfi", Telling::ReadsFrom, ""),
    entry("co", Telling::Coherence, sections::COHERENCE_ORDER),
    entry("coe", Telling::Coherence, ""),
    entry("coi", Telling::Coherence, ""),
    entry("fr", Telling::FromRead, sections::COMMUNICATION_ORDER),
    entry("fre", Telling::FromRead, ""),
    entry("fri", Telling::FromRead, ""),
    entry("rmw", Telling::Atomic, sections::OPERATION_TYPES),
    entry("amo", Telling::Atomic, sections::OPERATION_TYPES),
    entry("addr", Telling::Dependency("address"), sections::NO_THIN_AIR_AXIOM),
    entry("data", Telling::Dependency("value"), sections::NO_THIN_AIR_AXIOM),
    entry("ctrl", Telling::Dependency("execution"), sections::NO_THIN_AIR_AXIOM),
    entry("dependency", Telling::Dependency("outcome"), sections::NO_THIN_AIR_AXIOM),
    entry("overlooked", Telling::Omission, sections::NO_THIN_AIR_AXIOM),
    entry("observation", Telling::Observation, sections::OBSERVATION_ORDER),
    entry("strong-observation", Telling::Observation, sections::OBSERVATION_ORDER),
    entry("seen", Telling::Observation, sections::OBSERVATION_ORDER),
    entry("obs", Telling::Observation, sections::OBSERVATION_ORDER),
    entry("pattern-synchronizes", Telling::Pattern, "8.8, 8.9.4"),
    entry("synchronizes-with", Telling::Pattern, sections::MEMORY_SYNCHRONIZATION),
    entry("sync", Telling::Pattern, sections::MEMORY_SYNCHRONIZATION),
    entry("sw", Telling::Pattern, sections::MEMORY_SYNCHRONIZATION),
    entry("fence-sc-order", Telling::FenceSc, "8.9.3, 8.9.4"),
    entry("sync_fence", Telling::FenceSc, "8.9.3, 8.9.4"),
    entry("barrier-synchronizes", Telling::Barrier, sections::MEMORY_SYNCHRONIZATION),
    entry("syncbar", Telling::Barrier, sections::MEMORY_SYNCHRONIZATION),
    entry("sync_barrier", Telling::Barrier, sections::MEMORY_SYNCHRONIZATION),
    entry("exitbar", Telling::Exited, sections::BAR),
    entry("generations", Telling::Generation, sections::BAR),
    entry("leaves-proxy", Telling::Proxy, sections::CAUSALITY_ORDER),
    entry("enters-proxy", Telling::Proxy, sections::CAUSALITY_ORDER),
    entry("issue", Telling::Issue, sections::ASYNCHRONOUS_OPERATIONS),
    entry("so", Telling::Strand, sections::ASYNCHRONOUS_OPERATIONS),
    entry("done", Telling::Done, sections::COMPLETION_MECHANISMS),
    entry("launch", Telling::Launch, sections::MEMORY_SYNCHRONIZATION),
    entry("gridwait", Telling::Launch, sections::GRIDDEPCONTROL),
    entry("gridstart", Telling::Launch, sections::GRIDDEPCONTROL),
    entry("warp-synchronizes", Telling::Barrier, sections::BAR_WARP_SYNC),
    entry("pmo", Telling::Persist, ""),
    entry("persist-synchronizes", Telling::PersistMessage, ""),
    entry("causality", Telling::Through, sections::CAUSALITY_ORDER),
    entry("cause", Telling::Through, sections::CAUSALITY_ORDER),
    entry("base-causality", Telling::Through, sections::CAUSALITY_ORDER),
    entry("cause_base", Telling::Through, sections::CAUSALITY_ORDER),
    entry("communication", Telling::Through, sections::COMMUNICATION_ORDER),
    entry("com", Telling::Through, sections::COMMUNICATION_ORDER),
    entry("sb", Telling::ProgramOrder, ""),
    entry("mo", Telling::Coherence, ""),
    entry("rb", Telling::FromRead, ""),
    entry("happens-before", Telling::Through, ""),
    entry("eco", Telling::Through, ""),
    entry("scb", Telling::Through, ""),
    entry("psc", Telling::Through, ""),
    entry("psc-base", Telling::Through, ""),
    entry("psc-fence", Telling::Through, ""),
    entry("xgsw", Telling::Pattern, ""),
    entry("xgcause", Telling::Through, ""),
    entry("xgcause-base", Telling::Through, ""),
    entry("xhb", Telling::Through, ""),
    entry("gxhb", Telling::Through, ""),
    entry("cord", Telling::Through, ""),
    entry("wcord", Telling::Through, ""),
    entry("mfence", Telling::Kept("with an mfence between them"), ""),
    entry("locked", Telling::Kept("and a locked instruction is not reordered"), ""),
    entry("preserved-program-order", Telling::Kept("which x86-TSO keeps"), ""),
    entry("ppo", Telling::Kept("which the model keeps"), ""),
    entry("implied", Telling::Kept("and a locked instruction is not reordered"), ""),
];

pub(crate) fn relation(name: &str) -> Option<&'static Entry> {
    RELATIONS.iter().find(|entry| entry.name == name)
}

/// An axiom: its title, its section, and what its violation means.
pub(crate) struct Axiom {
    name: &'static str,
    title: &'static str,
    section: Option<&'static str>,
    pub(crate) rule: &'static str,
}

const AXIOMS: &[Axiom] = &[
    Axiom {
        name: "causality",
        title: "Causality",
        section: Some(sections::CAUSALITY_AXIOM),
        rule: "a read may not return a value that is older than what causality order shows it, nor a later one",
    },
    Axiom {
        name: "coherence",
        title: "Coherence",
        section: Some(sections::COHERENCE_AXIOM),
        rule: "writes of one location that causality order relates, or that are morally strong, are in coherence order",
    },
    Axiom {
        name: "fence-sc",
        title: "Fence-SC",
        section: Some(sections::FENCE_SC_AXIOM),
        rule: "Fence-SC order may not contradict causality order",
    },
    Axiom {
        name: "atomicity",
        title: "Atomicity",
        section: Some(sections::ATOMICITY_AXIOM),
        rule: "no other write comes between the two halves of a read-modify-write",
    },
    Axiom {
        name: "single-copy-atomicity",
        title: "Single-copy atomicity",
        section: Some(sections::VECTOR_ACCESSES),
        rule: "a morally strong read does not mix the bytes of one write with older ones",
    },
    Axiom {
        name: "no-thin-air",
        title: "No-Thin-Air",
        section: Some(sections::NO_THIN_AIR_AXIOM),
        rule: "dependencies and reads-from may not form a cycle",
    },
    Axiom {
        name: "sc-per-location",
        title: "SC-per-location",
        section: Some(sections::SC_PER_LOCATION_AXIOM),
        rule: "the accesses of one location have one order that respects program order",
    },
    Axiom {
        name: "first-trigger",
        title: "First trigger",
        section: Some(sections::GRIDDEPCONTROL),
        rule: "the `launch_dependents` of a CTA that counts is its first one",
    },
    Axiom {
        name: "persist-order",
        title: "Persist memory order",
        section: None,
        rule: "no persist is ordered before itself",
    },
    Axiom {
        name: "gpm-fences",
        title: "The order of GPM's fences",
        section: None,
        rule: "the fences of the system have one order that agrees with what threads see",
    },
    Axiom {
        name: "cord-eco",
        title: "Compound causality",
        section: None,
        rule: "what one thread sees of another may not contradict the order that both machines agree on",
    },
    Axiom {
        name: "tso",
        title: "x86-TSO's global order",
        section: None,
        rule: "all accesses have one order, but for buffered stores",
    },
    Axiom {
        name: "sc",
        title: "sequential consistency",
        section: None,
        rule: "all accesses have one order that respects program order",
    },
];

const fn own(name: &'static str, title: &'static str, rule: &'static str) -> Axiom {
    Axiom { name, title, section: None, rule }
}

/// Of the compound model of host and device (Goens et al., PLDI 2023), whose names are those of PTX and mean more.
const COMPOUND: &[Axiom] = &[
    own(
        "coherence",
        "Coherence of the compound model",
        "writes of one location that are in each other's scope have one order, and the compound order agrees with it",
    ),
    own(
        "fence-sc",
        "Fence-SC of the compound model",
        "SC fences of the device, `mfence` and reads of the host have one order, and the compound order agrees with it",
    ),
    own("causality", "Causality of the compound model", "nobody reads around the compound order"),
    own(
        "atomicity",
        "Atomicity of the compound model",
        "no write in scope comes between the two halves of a read-modify-write, of either side",
    ),
    own(
        "sc-per-location",
        "SC-per-location of the compound model",
        "the accesses of one location in each other's scope have one order that respects program order",
    ),
    own("no-thin-air", "No-Thin-Air of the compound model", "dependencies and reads-from may not form a cycle"),
];

/// Of RC11 (Lahav et al., PLDI 2017) with scopes.
const RC11: &[Axiom] = &[
    own("coherence", "Coherence of RC11", "nobody reads, overwrites or is overwritten against happens-before"),
    own("atomicity", "Atomicity of RC11", "no write comes between the two halves of a read-modify-write"),
    own("sc", "SC of RC11", "SC operations and SC fences in each other's scope have one order"),
    own("no-thin-air", "No-Thin-Air of RC11", "program order and reads-from may not form a cycle"),
];

pub(crate) fn axiom(name: &str, family: Family) -> Option<&'static Axiom> {
    let special = match family {
        Family::Compound => COMPOUND,
        Family::C => RC11,
        Family::Ptx | Family::X86 => &[],
    };
    special.iter().chain(AXIOMS).find(|axiom| axiom.name == name)
}

/// An axiom of somebody's own model may share its name with one of the specification and mean something else.
pub(crate) fn axiom_title(name: &str, family: Family, is_specified: bool) -> String {
    let known = if is_specified { axiom(name, family) } else { None };
    known.map_or_else(|| format!("`{name}`"), |axiom| axiom.title.to_owned())
}

pub(crate) fn axiom_section(name: &str, family: Family) -> Option<&'static str> {
    axiom(name, family)?.section
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
    use super::*;

    #[test]
    fn every_axiom_of_the_shipped_models_has_words() {
        for name in fencepost_check::model::load::Models::names() {
            let model = fencepost_check::model::load::Models::shipped(name).unwrap();
            let axioms =
                model.model.checks.iter().filter(|check| check.role == fencepost_syntax::cat::CheckRole::Axiom);
            for check in axioms {
                let family = match name {
                    "cmm" => Family::Compound,
                    "rc11-scoped" => Family::C,
                    _ => Family::Ptx,
                };
                assert!(axiom(&check.name, family).is_some(), "{name}: {}", check.name);
            }
        }
    }

    #[test]
    fn the_table_has_each_name_once() {
        for (index, entry) in RELATIONS.iter().enumerate() {
            assert!(RELATIONS[..index].iter().all(|other| other.name != entry.name), "{}", entry.name);
        }
    }
}

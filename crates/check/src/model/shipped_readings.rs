//! What the readings of the shipped models other than PTX's ask, for lists of them. Their names, values and defaults stand in the
//! models, which this table is checked against; the points of PTX are in [`crate::model::readings`].

/// A reading of a shipped model, in words.
pub(crate) struct Words {
    pub(crate) model: &'static str,
    pub(crate) name: &'static str,
    pub(crate) question: &'static str,
    pub(crate) source: &'static str,
}

/// What is known of a reading of this name.
pub(crate) fn words(model: &str, name: &str) -> Option<&'static Words> {
    TABLE.iter().find(|words| (words.model, words.name) == (model, name))
}

const CMM: &str = "Goens et al., \"Compound memory models\" (PLDI 2023): its text and its Alloy model differ";
const RC11: &str = "Lahav et al. (PLDI 2017); the Alloy text of Lustig et al. (ASPLOS 2019); Goens et al. (PLDI 2023)";

const SBRP: &str = "\"Scoped Buffered Persistency Model for GPUs\" (ASPLOS 2023): its text and its artifact";
const PELLEY: &str = "Pelley, Chen, Wenisch, \"Memory persistency\" (ISCA 2014)";
const BARRIER: &str = "Does a barrier of the CTA order persists?";
const PREFIX: &str = "Has all that is earlier in program order happened, or only what an event had to wait for?";

const fn row(model: &'static str, name: &'static str, question: &'static str, source: &'static str) -> Words {
    Words { model, name, question, source }
}

const TABLE: &[Words] = &[
    row("cmm", "eco", "Must each step of a chain of communication be in mutual scope, or the chain as a whole?", CMM),
    row("cmm", "internal-rf", "Do a host thread's reads of its own buffered stores count as communication?", CMM),
    row("cmm", "xhb", "May happens-before of x86 pass through events of the device between two of the host?", CMM),
    row(
        "cmm",
        "fence-sc",
        "Must the order of SC fences agree with causality over any number of fences, or over two?",
        CMM,
    ),
    row(
        "cmm",
        "causality",
        "Must the compound order itself be free of cycles, or only together with communication?",
        CMM,
    ),
    row("cmm", "program-order", "Does an mfence order all accesses around it, or only its direct neighbours?", CMM),
    row("cmm", "observation", "Does a read of the thread's own buffered store observe that store?", CMM),
    row("cmm", "barriers", "Do barriers of the device synchronise?", CMM),
    row(
        "cmm",
        "coherence",
        "Does causality order weak writes of one location, or do only strong ones have an order?",
        CMM,
    ),
    row("cmm", "chain", "May a chain of causality observe at its start only, or at each step?", CMM),
    row("epoch", "barrier-persist", BARRIER, SBRP),
    row("epoch", "crash-prefix", PREFIX, SBRP),
    row("epoch-buffered", "barrier-persist", BARRIER, SBRP),
    row("epoch-buffered", "crash-prefix", PREFIX, SBRP),
    row("gpm", "barrier-persist", BARRIER, SBRP),
    row("gpm", "crash-prefix", PREFIX, SBRP),
    row("sbrp", "same-address", "Does coherence order the persists of one location, or only choose the value?", SBRP),
    row("sbrp", "barrier-persist", BARRIER, SBRP),
    row("sbrp", "release-persist", "Do releases and acquires without a fence order persists?", SBRP),
    row(
        "sbrp",
        "release-store",
        "Is the store of a `prel` to persistent memory a persist that comes after earlier ones?",
        SBRP,
    ),
    row("sbrp", "persist-sync", "Must a `pacq` read a `prel`, or come after it in volatile memory order?", SBRP),
    row("sbrp", "crash-prefix", PREFIX, SBRP),
    row("sbrp", "cumulativity", "Does the order of persists pass through a thread that persists nothing?", SBRP),
    row("sbrp", "scope-match", "Must the scopes of `prel` and `pacq` include each other's thread, or be equal?", SBRP),
    row("sbrp", "release-visibility", "Is a `prel` seen before the persists that it releases are durable?", SBRP),
    row("strict", "strict-durability", "Does a thread wait until its persist is durable?", PELLEY),
    row("rc11-scoped", "scb", "Which program order counts between two SC operations?", RC11),
    row("rc11-scoped", "sc", "Is any cycle of SC operations forbidden, or only one of a single step?", RC11),
    row("rc11-scoped", "thin-air", "May program order and reads-from form a cycle?", RC11),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::load::Models;

    #[test]
    fn every_reading_of_a_shipped_model_has_words_and_no_words_are_left_over() {
        for name in Models::names() {
            let model = Models::shipped(name).unwrap();
            for point in model.points.iter().filter(|point| point.id.is_none()) {
                assert!(words(name, &point.name).is_some(), "{name}: {}", point.name);
            }
        }
        for words in TABLE {
            let model = Models::shipped(words.model).unwrap();
            assert!(model.has_reading(words.name), "{}: {}", words.model, words.name);
        }
    }
}

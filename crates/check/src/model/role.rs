//! What the relations, axioms and variants of a model are to those who ask: a repair asks for *causality*, whatever the model
//! calls it. The tables here are the only place with such names. A header gives roles to names (`// relations: wcord=compound-order`,
//! [`crate::model::vocabulary`]); a name of a model without the line has the role whose word it is.

use fencepost_syntax::short::ShortText;

/// Something that a name of a model may stand for.
pub trait Role: Copy + Eq + 'static {
    /// Each role with its word first, then with other names that the literature and the tools of the field have for it.
    const WORDS: &'static [(&'static str, Self)];

    fn from_word(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(known, _)| *known == word).map(|(_, role)| *role)
    }

    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, role)| *role == self).map_or("", |(word, _)| word)
    }

    fn all() -> impl Iterator<Item = Self> {
        let is_first = |at: usize, role: Self| !Self::WORDS[..at].iter().any(|(_, other)| *other == role);
        Self::WORDS.iter().enumerate().filter(move |(at, (_, role))| is_first(*at, *role)).map(|(_, (_, role))| *role)
    }
}

/// Relations that are asked about one by one, or told in words of their own. Sections are those of the PTX ISA.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Relation {
    /// 8.7.
    MorallyStrong,
    /// Strong operations with scopes that include each other (8.7).
    RelatedByScope,
    /// 8.9.2.
    Observation,
    /// The part of observation that synchronises.
    StrongObservation,
    /// 8.8.
    ReleasePattern,
    AcquirePattern,
    /// A release pattern that an acquire pattern observes (8.9.4).
    PatternSynchronizes,
    /// Synchronisation of any kind (8.9.4).
    SynchronizesWith,
    BarrierSynchronizes,
    WarpSynchronizes,
    /// 8.9.3.
    FenceScOrder,
    /// 8.9.5, asynchronous operations included.
    BaseCausality,
    /// The part of it between events in program order.
    BaseOfThreads,
    /// The part of it that enters an asynchronous operation.
    ToStrand,
    /// 8.9.5.
    Causality,
    /// The causality of host and device together.
    CompoundOrder,
    /// Kernels in the order of their launches.
    KernelOrder,
    /// An access to the fence at which it leaves its proxy.
    LeavesProxy,
    /// A fence to the access that enters its proxy there.
    EntersProxy,
    ProgramOrder,
    /// Of the writes to one location.
    CoherenceOrder,
    FromRead,
    /// Reads-from, coherence and from-read together.
    Communication,
    Dependency,
    /// A dependency on a write that is not made.
    Overlooked,
    /// Program order that the model keeps.
    PreservedProgramOrder,
    /// Program order around an `mfence`.
    MfenceOrder,
    /// Program order around a locked instruction, or any fence of x86.
    Implied,
    /// Of writes to memory that survives a crash.
    PersistMemoryOrder,
    /// A release of persists that an acquire of them reads.
    PersistSynchronizes,
}

impl Role for Relation {
    const WORDS: &'static [(&'static str, Relation)] = &[
        ("morally-strong", Relation::MorallyStrong),
        ("related-by-scope", Relation::RelatedByScope),
        ("observation", Relation::Observation),
        ("obs", Relation::Observation),
        ("strong-observation", Relation::StrongObservation),
        ("release-pattern", Relation::ReleasePattern),
        ("acquire-pattern", Relation::AcquirePattern),
        ("pattern-synchronizes", Relation::PatternSynchronizes),
        ("synchronizes-with", Relation::SynchronizesWith),
        ("sync", Relation::SynchronizesWith),
        ("sw", Relation::SynchronizesWith),
        ("barrier-synchronizes", Relation::BarrierSynchronizes),
        ("warp-synchronizes", Relation::WarpSynchronizes),
        ("fence-sc-order", Relation::FenceScOrder),
        ("base-causality", Relation::BaseCausality),
        ("cause_base", Relation::BaseCausality),
        ("base-of-threads", Relation::BaseOfThreads),
        ("to-strand", Relation::ToStrand),
        ("causality", Relation::Causality),
        ("cause", Relation::Causality),
        ("compound-order", Relation::CompoundOrder),
        ("kernel-order", Relation::KernelOrder),
        ("leaves-proxy", Relation::LeavesProxy),
        ("enters-proxy", Relation::EntersProxy),
        ("program-order", Relation::ProgramOrder),
        ("sb", Relation::ProgramOrder),
        ("coherence-order", Relation::CoherenceOrder),
        ("mo", Relation::CoherenceOrder),
        ("from-read", Relation::FromRead),
        ("rb", Relation::FromRead),
        ("communication", Relation::Communication),
        ("com", Relation::Communication),
        ("dependency", Relation::Dependency),
        ("overlooked", Relation::Overlooked),
        ("preserved-program-order", Relation::PreservedProgramOrder),
        ("ppo", Relation::PreservedProgramOrder),
        ("mfence-order", Relation::MfenceOrder),
        ("mfence", Relation::MfenceOrder),
        ("implied", Relation::Implied),
        ("persist-memory-order", Relation::PersistMemoryOrder),
        ("pmo", Relation::PersistMemoryOrder),
        ("persist-synchronizes", Relation::PersistSynchronizes),
    ];
}

/// Axioms that explanations have words for, or that an answer rests on.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Axiom {
    /// 8.10.1, and coherence of other models.
    Coherence,
    /// 8.10.2.
    FenceSc,
    /// 8.10.3.
    Atomicity,
    /// Which reads are whole. A model without it takes all for whole.
    SingleCopyAtomicity,
    /// 8.10.4.
    NoThinAir,
    /// 8.10.5.
    ScPerLocation,
    /// 8.10.6.
    Causality,
    /// The `launch_dependents` of a CTA that counts is its first one.
    FirstTrigger,
    /// The order of host and device together agrees with communication.
    CompoundCausality,
    /// The global order of x86.
    Tso,
    /// One order of all accesses, or of those that ask for it.
    Sc,
    /// Persists are not ordered in a circle.
    PersistOrder,
    /// The fences of the whole system have one order.
    SystemFences,
}

impl Role for Axiom {
    const WORDS: &'static [(&'static str, Axiom)] = &[
        ("coherence", Axiom::Coherence),
        ("fence-sc", Axiom::FenceSc),
        ("atomicity", Axiom::Atomicity),
        ("single-copy-atomicity", Axiom::SingleCopyAtomicity),
        ("no-thin-air", Axiom::NoThinAir),
        ("sc-per-location", Axiom::ScPerLocation),
        ("causality", Axiom::Causality),
        ("first-trigger", Axiom::FirstTrigger),
        ("compound-causality", Axiom::CompoundCausality),
        ("tso", Axiom::Tso),
        ("sc", Axiom::Sc),
        ("persist-order", Axiom::PersistOrder),
        ("system-fences", Axiom::SystemFences),
    ];
}

/// Variants of a model's text (`if "NAME"`) that are no readings.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Variant {
    /// What is left of the model where accesses of different sizes race (8.7.2).
    MixedSize,
}

impl Role for Variant {
    const WORDS: &'static [(&'static str, Variant)] = &[("mixed-size", Variant::MixedSize)];
}

/// The names of a model that have roles.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Roles<R> {
    /// As the header lists them; None of a model whose header does not.
    listed: Option<Vec<(ShortText, R)>>,
}

impl<R> Default for Roles<R> {
    fn default() -> Self {
        Roles { listed: None }
    }
}

impl<R: Role> Roles<R> {
    /// Of words `ROLE` and `NAME=ROLE`. From the first line on, only what is listed has a role.
    pub(crate) fn list<'t>(&mut self, words: impl Iterator<Item = (&'t str, &'t str)>) {
        let listed = self.listed.get_or_insert_default();
        listed.extend(words.filter_map(|(name, word)| Some((name.into(), R::from_word(word)?))));
    }

    /// The role of the name, if it has one.
    pub fn of(&self, name: &str) -> Option<R> {
        match &self.listed {
            Some(listed) => listed.iter().find(|(known, _)| known == name).map(|(_, role)| *role),
            None => R::from_word(name),
        }
    }

    /// The names with this role, whether the model has them all or not.
    pub fn names(&self, role: R) -> Vec<&str> {
        match &self.listed {
            Some(listed) => listed.iter().filter(|(_, own)| *own == role).map(|(name, _)| name.as_str()).collect(),
            None => R::WORDS.iter().filter(|(_, own)| *own == role).map(|(word, _)| *word).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn each_word_once<R: Role>() {
        for (at, (word, _)) in R::WORDS.iter().enumerate() {
            assert!(R::WORDS[..at].iter().all(|(other, _)| other != word), "{word}");
        }
    }

    #[test]
    fn a_word_has_one_role() {
        each_word_once::<Relation>();
        each_word_once::<Axiom>();
        each_word_once::<Variant>();
    }

    #[test]
    fn the_page_about_models_has_every_role() {
        let page = include_str!("../../../../models/README.md");
        let line = |of: &str| page.lines().find(|line| line.starts_with(&format!("| `{of}` |"))).expect("a line");
        let words = |of: &str| line(of).split('`').skip(3).step_by(2).collect::<Vec<_>>();
        assert_eq!(words("relations"), Relation::all().map(Role::word).collect::<Vec<_>>());
        assert_eq!(words("axioms"), Axiom::all().map(Role::word).collect::<Vec<_>>());
        assert_eq!(words("variants"), Variant::all().map(Role::word).collect::<Vec<_>>());
    }

    #[test]
    fn names_have_the_roles_that_a_header_lists_and_without_one_those_of_their_words() {
        let mut roles: Roles<Relation> = Roles::default();
        assert_eq!((roles.of("sw"), roles.of("mine")), (Some(Relation::SynchronizesWith), None));
        assert_eq!(roles.names(Relation::SynchronizesWith), ["synchronizes-with", "sync", "sw"]);
        roles.list([("mine", "causality"), ("observation", "observation")].into_iter());
        assert_eq!((roles.of("sw"), roles.of("mine")), (None, Some(Relation::Causality)));
        assert_eq!(roles.names(Relation::Causality), ["mine"]);
    }
}

//! One lattice for every answer of a check: whether a question's outcome is reachable, whether accesses race, whether a rule
//! about mbarriers is broken, whether a program may hang.
//!
//! The answers are a chain, from what says least to what nothing takes back:
//!
//! `NotAsked` < `NotDefined` < `No` < `Depends` < `Unknown` < `Yes`
//!
//! A search may be made in parts (a check per case of unknown initial values, executions that end and those that do not):
//! what all of them answer together is the greatest of their answers ([`Answer::join`]). One part that shows something is
//! enough for yes; no takes a no from every part. A limit that ends a search leaves open what it has not shown
//! ([`Answer::weaken`]). Weakening is monotone, so it does not matter whether it comes before a join or after.

use crate::verdict::Dependence;
use crate::why::Why;

/// Whether something is there, with the evidence `E` where it is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Answer<E = ()> {
    /// Nobody asked, or nothing is known yet.
    #[default]
    NotAsked,
    /// The model has no notion of it.
    NotDefined,
    /// Everything was looked at.
    No,
    /// It is there under some readings of the specification only.
    Depends(Dependence),
    /// Not everything was looked at, and it was not met.
    Unknown(Why),
    Yes(E),
}

impl<E> Answer<E> {
    /// The place in the chain.
    pub fn rank(&self) -> u8 {
        match self {
            Answer::NotAsked => 0,
            Answer::NotDefined => 1,
            Answer::No => 2,
            Answer::Depends(_) => 3,
            Answer::Unknown(_) => 4,
            Answer::Yes(_) => 5,
        }
    }

    /// What two parts of one search answer together. Of two that say the same, the first tells why.
    pub fn join(self, other: Answer<E>) -> Answer<E> {
        if other.rank() > self.rank() { other } else { self }
    }

    /// What is left of an answer if not everything was looked at: nothing is said of what was not found.
    pub fn weaken(self, why: &Why) -> Answer<E> {
        match self {
            Answer::No | Answer::Depends(_) => Answer::Unknown(why.clone()),
            answer => answer,
        }
    }

    /// The same in place.
    pub fn leave_open(&mut self, why: &Why) {
        *self = std::mem::take(self).weaken(why);
    }

    pub fn is_yes(&self) -> bool {
        matches!(self, Answer::Yes(_))
    }

    pub fn is_no(&self) -> bool {
        matches!(self, Answer::No)
    }

    pub fn is_unknown(&self) -> bool {
        matches!(self, Answer::Unknown(_))
    }

    pub fn yes(&self) -> Option<&E> {
        match self {
            Answer::Yes(evidence) => Some(evidence),
            _ => None,
        }
    }

    pub fn why(&self) -> Option<&Why> {
        match self {
            Answer::Unknown(why) => Some(why),
            _ => None,
        }
    }

    /// The same with other evidence.
    pub fn map<F>(self, evidence: impl FnOnce(E) -> F) -> Answer<F> {
        match self {
            Answer::NotAsked => Answer::NotAsked,
            Answer::NotDefined => Answer::NotDefined,
            Answer::No => Answer::No,
            Answer::Depends(on) => Answer::Depends(on),
            Answer::Unknown(why) => Answer::Unknown(why),
            Answer::Yes(own) => Answer::Yes(evidence(own)),
        }
    }

    /// Without the evidence.
    pub fn plain(&self) -> Answer {
        match self {
            Answer::NotAsked => Answer::NotAsked,
            Answer::NotDefined => Answer::NotDefined,
            Answer::No => Answer::No,
            Answer::Depends(on) => Answer::Depends(on.clone()),
            Answer::Unknown(why) => Answer::Unknown(why.clone()),
            Answer::Yes(_) => Answer::Yes(()),
        }
    }
}

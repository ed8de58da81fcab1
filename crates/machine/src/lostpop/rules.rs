//! Where the Lean implementation and Appendix A of the paper differ: twelve points, each an option, so that both can be
//! run. Lean is the default: it is what the published verdicts were obtained with, and the first point is decisive for
//! them. The one exception is `gpu-scope`, where Lean has no meaning without nested sets (it panics) and no test of the
//! authors uses `.gpu`; figures 2b and 10 of the paper do, and mean the device.

/// Which text decides a point.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Text {
    Lean,
    Appendix,
}

impl Text {
    pub const ALL: [Text; 2] = [Text::Lean, Text::Appendix];

    pub fn name(self) -> &'static str {
        match self {
            Text::Lean => "lean",
            Text::Appendix => "appendix",
        }
    }
}

macro_rules! differences {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $lean:literal, $appendix:literal;)*) => {
        /// A point on which the two texts differ.
        #[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Difference {
            $($(#[$doc])* $variant,)*
        }

        impl Difference {
            pub const ALL: [Difference; 12] = [$(Difference::$variant,)*];

            /// The name of the option.
            pub fn name(self) -> &'static str {
                match self {
                    $(Difference::$variant => $name,)*
                }
            }

            /// What the text says, in words.
            pub fn says(self, text: Text) -> &'static str {
                match (self, text) {
                    $((Difference::$variant, Text::Lean) => $lean,
                    (Difference::$variant, Text::Appendix) => $appendix,)*
                }
            }
        }
    };
}

differences! {
    AcceptMarksPredecessors = "accept-marks-predecessors",
        "accepting a read makes the writes to its address that the thread has seen predecessors",
        "only a write that propagates later becomes a predecessor (A.2.2)";
    AcceptObserves = "accept-observes",
        "an accepted request is ordered after what has propagated to its thread",
        "an accepted request is ordered after every active request to its address (A.2.1 (1))";
    PropagateOrders = "propagate-orders",
        "a propagated request is ordered before requests of the thread that it has no order with",
        "it is ordered before requests of the thread that have not propagated to its own thread (A.2.2 (2))";
    PredecessorEdges = "predecessor-edges",
        "a propagated write is a predecessor for every read of the thread it is ordered before",
        "only for the reads it gets ordered before by this step (A.2.2)";
    Between = "between",
        "a request is between a write and a read if it is before the read and not before the write",
        "if it is after the write and before the read (A.2.3 (5))";
    FenceOrder = "fence-order",
        "PTX orders W to F.acq, F.rel to R and F.rel to F.acq not",
        "every fence is ordered with everything of its thread (A.3, A.5.2 (1))";
    FenceWaits = "fence-waits",
        "a fence waits for its predecessors in the order",
        "it waits for the writes ordered before its reads too (A.5.2 (4), (5))";
    CrossThreadEdges = "cross-thread-edges",
        "an edge from another thread's request stalls only if it is of system scope",
        "any edge does (A.2.2 (2b))";
    WeakScope = "weak-scope",
        "a weak access keeps the scope it is written with, and makes no predecessors",
        "a weak access has the scope of its own thread (section 5)";
    GpuScope = "gpu-scope",
        "`.gpu` is the second smallest of the sets around the thread",
        "`.gpu` is the threads of the device";
    FinalState = "final-state",
        "a run ends when nothing is enabled and every read has its value",
        "and every write has propagated to every thread (A.4)";
    MfenceKinds = "mfence-kinds",
        "an x86 fence keeps a write before a later read",
        "A.5.1 lists no order from a write to a later read";
}

/// When a read may take its value from a write of its own thread. Not a difference between the texts, which agree on
/// [`Satisfaction::Early`], but a repair of both: as they stand, a read can be satisfied by its thread's own write while
/// an earlier read that it is ordered after has no value yet. So the x86 of LOST-POP is weaker than x86-TSO:
/// `W x=1; W y=1 || W x=2; R y; R x` may read 1 and 2 and end with x=1.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Satisfaction {
    #[default]
    Early,
    /// Not before the reads of its thread that are ordered before it.
    InOrder,
}

/// Which text decides each point.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Rules {
    appendix: u16,
    pub satisfaction: Satisfaction,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules::all(Text::Lean).with(Difference::GpuScope, Text::Appendix)
    }
}

impl Rules {
    pub fn all(text: Text) -> Rules {
        let appendix = if text == Text::Appendix { (1 << Difference::ALL.len()) - 1 } else { 0 };
        Rules { appendix, satisfaction: Satisfaction::Early }
    }

    #[must_use]
    pub fn with(self, difference: Difference, text: Text) -> Rules {
        let bit = 1 << difference as u16;
        let appendix = if text == Text::Appendix { self.appendix | bit } else { self.appendix & !bit };
        Rules { appendix, ..self }
    }

    pub fn text(self, difference: Difference) -> Text {
        if self.appendix >> difference as u16 & 1 == 1 { Text::Appendix } else { Text::Lean }
    }

    pub(crate) fn lean(self, difference: Difference) -> bool {
        self.text(difference) == Text::Lean
    }

    #[must_use]
    pub fn satisfying(self, satisfaction: Satisfaction) -> Rules {
        Rules { satisfaction, ..self }
    }

    /// Sets a point by the names people type.
    pub fn named(self, difference: &str, text: &str) -> Option<Rules> {
        let difference = Difference::ALL.into_iter().find(|it| it.name() == difference)?;
        let text = Text::ALL.into_iter().find(|it| it.name() == text)?;
        Some(self.with(difference, text))
    }
}

#[cfg(test)]
mod tests {
    use super::{Difference, Rules, Text};

    #[test]
    fn points_are_independent_and_named() {
        let rules = Rules::all(Text::Lean).named("between", "appendix").expect("a point");
        let differing: Vec<_> = Difference::ALL.into_iter().filter(|it| !rules.lean(*it)).collect();
        assert_eq!(differing, [Difference::Between]);
        assert_eq!(rules.with(Difference::Between, Text::Lean), Rules::all(Text::Lean));
        assert_eq!(rules.named("between", "both"), None);
        assert_eq!(Rules::default().text(Difference::GpuScope), Text::Appendix);
    }
}

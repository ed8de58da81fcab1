//! What an operation of a C program says besides what it does: its memory order and its scope.
//!
//! Labels are a lattice whose order is strength, coded as sets of bits: a stronger label has the bits of a weaker one. So
//! is what a label is compiled to, and the bounded check searches both lattices.

/// What an operation does.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub enum Kind {
    Read,
    Write,
    /// A read and a write: counts as two events.
    ReadModifyWrite,
    Fence,
}

impl Kind {
    pub const ALL: [Kind; 4] = [Kind::Read, Kind::Write, Kind::ReadModifyWrite, Kind::Fence];

    pub fn reads(self) -> bool {
        matches!(self, Kind::Read | Kind::ReadModifyWrite)
    }

    pub fn writes(self) -> bool {
        matches!(self, Kind::Write | Kind::ReadModifyWrite)
    }

    /// How many events of the bound it is.
    pub fn events(self) -> usize {
        if self == Kind::ReadModifyWrite { 2 } else { 1 }
    }

    /// The orders it may have, weakest first.
    pub fn orders(self) -> &'static [Order] {
        use Order::{AcqRel, Acquire, NonAtomic, Relaxed, Release, SeqCst};
        match self {
            Kind::Read => &[NonAtomic, Relaxed, Acquire, SeqCst],
            Kind::Write => &[NonAtomic, Relaxed, Release, SeqCst],
            Kind::ReadModifyWrite => &[Relaxed, Acquire, Release, AcqRel, SeqCst],
            Kind::Fence => &[Acquire, Release, AcqRel, SeqCst],
        }
    }
}

#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Order {
    NonAtomic,
    Relaxed,
    Acquire,
    Release,
    AcqRel,
    SeqCst,
}

impl Order {
    /// As the papers write it.
    pub fn short(self) -> &'static str {
        match self {
            Order::NonAtomic => "NA",
            Order::Relaxed => "RLX",
            Order::Acquire => "ACQ",
            Order::Release => "REL",
            Order::AcqRel => "ACQ-REL",
            Order::SeqCst => "SC",
        }
    }
}

/// The two scopes of the bounded check.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Level {
    Cta,
    System,
}

/// An order and a scope; [`Label::NOTHING`] is a plain access, or no fence at all.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Label(u8);

const ATOMIC: u8 = 1;
const RELEASE: u8 = 2;
const ACQUIRE: u8 = 4;
const SEQ_CST: u8 = 8;
const SYSTEM: u8 = 16;

impl Label {
    pub const NOTHING: Label = Label(0);

    pub fn new(kind: Kind, order: Order, level: Level) -> Label {
        let strength = match order {
            Order::NonAtomic => return Label::NOTHING,
            Order::Relaxed => 0,
            Order::Acquire => ACQUIRE,
            Order::Release => RELEASE,
            Order::AcqRel => ACQUIRE | RELEASE,
            Order::SeqCst => {
                let read = if kind == Kind::Write { 0 } else { ACQUIRE };
                let write = if kind == Kind::Read { 0 } else { RELEASE };
                read | write | SEQ_CST
            }
        };
        let access = if kind == Kind::Fence { 0 } else { ATOMIC };
        let system = if level == Level::System { SYSTEM } else { 0 };
        Label(strength | access | system)
    }

    /// What both have.
    pub fn meet(self, other: Label) -> Label {
        let both = self.0 & other.0;
        // A scope alone says nothing.
        Label(if both == SYSTEM { 0 } else { both })
    }

    pub fn join(self, other: Label) -> Label {
        Label(self.0 | other.0)
    }

    pub fn is_at_most(self, other: Label) -> bool {
        self.0 & !other.0 == 0
    }

    pub fn is_nothing(self) -> bool {
        self == Label::NOTHING
    }

    /// How strong, for sorting only: a stronger label has a larger number.
    pub fn weight(self) -> u32 {
        self.0.count_ones()
    }

    pub fn level(self) -> Level {
        if self.0 & SYSTEM == 0 { Level::Cta } else { Level::System }
    }

    /// The same order in the narrower scope.
    pub fn narrowed(self) -> Label {
        Label(self.0 & !SYSTEM)
    }

    pub fn order(self) -> Order {
        match (self.0 & SEQ_CST != 0, self.0 & ACQUIRE != 0, self.0 & RELEASE != 0, self.0 & ATOMIC != 0) {
            (true, ..) => Order::SeqCst,
            (_, true, true, _) => Order::AcqRel,
            (_, true, false, _) => Order::Acquire,
            (_, false, true, _) => Order::Release,
            (_, _, _, true) => Order::Relaxed,
            _ => Order::NonAtomic,
        }
    }

    pub fn acquires(self) -> bool {
        self.0 & ACQUIRE != 0
    }

    pub fn releases(self) -> bool {
        self.0 & RELEASE != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_keeps_its_order_and_scope() {
        for kind in Kind::ALL {
            for &order in kind.orders() {
                for level in [Level::Cta, Level::System] {
                    let label = Label::new(kind, order, level);
                    assert_eq!(label.order(), order, "{kind:?}");
                    assert!(order == Order::NonAtomic || label.level() == level);
                    let top = Label::new(kind, Order::SeqCst, Level::System);
                    assert!(label.is_at_most(top) && Label::NOTHING.is_at_most(label));
                }
            }
        }
    }

    #[test]
    fn halves_of_a_fence_have_nothing_in_common() {
        let fence = |order, level| Label::new(Kind::Fence, order, level);
        let acquire = fence(Order::Acquire, Level::System);
        let release = fence(Order::Release, Level::System);
        assert!(acquire.meet(release).is_nothing());
        assert_eq!(acquire.join(release), fence(Order::AcqRel, Level::System));
    }
}

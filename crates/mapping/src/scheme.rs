//! The mappings, as data: for each operation of scoped C/C++ the instructions it becomes.
//!
//! Trailing fences: Fig. 13 of Goens et al., "Compound memory models" (PLDI 2023), whose x86 column is the usual one
//! (fence behind SC stores). Its PTX row for SC stores prints an acquire write, which PTX does not have; a release write is
//! meant, and `PTX_PRINTED` has what a compiler that followed the letter would do: a write that does not release.
//! Leading fences: NVIDIA's published mapping of scoped C++ to PTX (Lustig, Sahasrabuddhe, Giroux, ASPLOS 2019), and for
//! x86 the other known one, a fence before SC loads.

use crate::label::{Kind, Label, Order};

/// What the instructions are for.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Device {
    X86,
    Ptx,
}

/// An instruction that an operation becomes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Part {
    /// The access itself, with this order where the architecture has orders.
    Access(Order),
    /// `fence.sc`, `fence.acq_rel`, …; on x86 `mfence`.
    Fence(Order),
}

/// Which scope the instructions get.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum ScopeRule {
    /// That of the operation.
    Same,
    /// Always the CTA's: a wrong mapping, for tests.
    Narrow,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Row {
    pub kind: Kind,
    pub order: Order,
    pub parts: &'static [Part],
    pub scope: ScopeRule,
}

/// How one device's code is made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Profile {
    pub name: &'static str,
    pub device: Device,
    pub rows: Vec<Row>,
}

/// What an operation becomes: a fence before, the access, a fence behind, each perhaps nothing.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Image {
    pub before: Label,
    pub access: Label,
    pub after: Label,
}

impl Image {
    pub fn meet(self, other: Image) -> Image {
        Image {
            before: self.before.meet(other.before),
            access: self.access.meet(other.access),
            after: self.after.meet(other.after),
        }
    }
}

const fn row(kind: Kind, order: Order, parts: &'static [Part]) -> Row {
    Row { kind, order, parts, scope: ScopeRule::Same }
}

use Kind::{Fence, Read, ReadModifyWrite as Rmw, Write};
use Order::{AcqRel, Acquire, NonAtomic, Relaxed, Release, SeqCst};
use Part::{Access, Fence as Barrier};

/// The rows that all schemes for PTX share.
const PTX_COMMON: [Row; 14] = [
    row(Read, NonAtomic, &[Access(NonAtomic)]),
    row(Read, Relaxed, &[Access(Relaxed)]),
    row(Read, Acquire, &[Access(Acquire)]),
    row(Write, NonAtomic, &[Access(NonAtomic)]),
    row(Write, Relaxed, &[Access(Relaxed)]),
    row(Write, Release, &[Access(Release)]),
    row(Rmw, Relaxed, &[Access(Relaxed)]),
    row(Rmw, Acquire, &[Access(Acquire)]),
    row(Rmw, Release, &[Access(Release)]),
    row(Rmw, AcqRel, &[Access(AcqRel)]),
    row(Fence, Acquire, &[Barrier(Acquire)]),
    row(Fence, Release, &[Barrier(Release)]),
    row(Fence, AcqRel, &[Barrier(AcqRel)]),
    row(Fence, SeqCst, &[Barrier(SeqCst)]),
];

const PTX_LEADING: [Row; 3] = [
    row(Read, SeqCst, &[Barrier(SeqCst), Access(Acquire)]),
    row(Write, SeqCst, &[Barrier(SeqCst), Access(Release)]),
    row(Rmw, SeqCst, &[Barrier(SeqCst), Access(AcqRel)]),
];

const PTX_TRAILING: [Row; 3] = [
    row(Read, SeqCst, &[Access(Acquire), Barrier(SeqCst)]),
    row(Write, SeqCst, &[Access(Release), Barrier(SeqCst)]),
    row(Rmw, SeqCst, &[Access(AcqRel), Barrier(SeqCst)]),
];

/// Fig. 13 by the letter.
const PTX_PRINTED: [Row; 3] = [
    row(Read, SeqCst, &[Access(Acquire), Barrier(SeqCst)]),
    row(Write, SeqCst, &[Access(Relaxed), Barrier(SeqCst)]),
    row(Rmw, SeqCst, &[Access(AcqRel), Barrier(SeqCst)]),
];

/// The rows that both schemes for x86 share. An access of x86 has no order; all read-modify-writes are locked.
const X86_COMMON: [Row; 15] = [
    row(Read, NonAtomic, &[Access(NonAtomic)]),
    row(Read, Relaxed, &[Access(NonAtomic)]),
    row(Read, Acquire, &[Access(NonAtomic)]),
    row(Write, NonAtomic, &[Access(NonAtomic)]),
    row(Write, Relaxed, &[Access(NonAtomic)]),
    row(Write, Release, &[Access(NonAtomic)]),
    row(Rmw, Relaxed, &[Access(NonAtomic)]),
    row(Rmw, Acquire, &[Access(NonAtomic)]),
    row(Rmw, Release, &[Access(NonAtomic)]),
    row(Rmw, AcqRel, &[Access(NonAtomic)]),
    row(Rmw, SeqCst, &[Access(NonAtomic)]),
    row(Fence, Acquire, &[]),
    row(Fence, Release, &[]),
    row(Fence, AcqRel, &[]),
    row(Fence, SeqCst, &[Barrier(SeqCst)]),
];

const X86_TRAILING: [Row; 2] =
    [row(Read, SeqCst, &[Access(NonAtomic)]), row(Write, SeqCst, &[Access(NonAtomic), Barrier(SeqCst)])];

const X86_LEADING: [Row; 2] =
    [row(Read, SeqCst, &[Barrier(SeqCst), Access(NonAtomic)]), row(Write, SeqCst, &[Access(NonAtomic)])];

/// A published way to place the fences.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Scheme {
    Leading,
    Trailing,
    /// Trailing, with the slip of Fig. 13.
    Printed,
}

impl Scheme {
    pub const ALL: [Scheme; 3] = [Scheme::Leading, Scheme::Trailing, Scheme::Printed];

    pub fn name(self) -> &'static str {
        match self {
            Scheme::Leading => "leading",
            Scheme::Trailing => "trailing",
            Scheme::Printed => "printed",
        }
    }

    pub fn profile(self, device: Device) -> Profile {
        let (name, rows): (&'static str, Vec<Row>) = match (device, self) {
            (Device::Ptx, Scheme::Leading) => ("PTX, leading fences", [&PTX_COMMON[..], &PTX_LEADING].concat()),
            (Device::Ptx, Scheme::Trailing) => ("PTX, trailing fences", [&PTX_COMMON[..], &PTX_TRAILING].concat()),
            (Device::Ptx, Scheme::Printed) => ("PTX, Fig. 13 as printed", [&PTX_COMMON[..], &PTX_PRINTED].concat()),
            (Device::X86, Scheme::Leading) => ("x86, leading fences", [&X86_COMMON[..], &X86_LEADING].concat()),
            (Device::X86, Scheme::Trailing | Scheme::Printed) => {
                ("x86, trailing fences", [&X86_COMMON[..], &X86_TRAILING].concat())
            }
        };
        Profile { name, device, rows }
    }
}

impl Profile {
    pub fn row(&self, kind: Kind, order: Order) -> Option<&Row> {
        self.rows.iter().find(|row| row.kind == kind && row.order == order)
    }

    /// What an operation with this label becomes. A fence that orders nothing becomes nothing.
    pub fn image(&self, kind: Kind, label: Label) -> Image {
        let Some(row) = self.row(kind, label.order()) else { return Image::default() };
        let mut image = Image::default();
        let mut seen_access = false;
        for part in row.parts {
            match *part {
                Part::Access(order) => {
                    image.access = Label::new(kind, order, label.level());
                    seen_access = true;
                }
                Part::Fence(order) if seen_access => image.after = Label::new(Kind::Fence, order, label.level()),
                Part::Fence(order) => image.before = Label::new(Kind::Fence, order, label.level()),
            }
        }
        match row.scope {
            ScopeRule::Same => image,
            ScopeRule::Narrow => Image {
                before: image.before.narrowed(),
                access: image.access.narrowed(),
                after: image.after.narrowed(),
            },
        }
    }

    /// With one row changed.
    pub fn changed(mut self, kind: Kind, order: Order, change: impl Fn(&mut Row)) -> Profile {
        self.rows.iter_mut().filter(|row| row.kind == kind && row.order == order).for_each(change);
        self
    }

    /// The table, one line per row.
    pub fn print(&self) -> String {
        let mut text = format!("{}\n", self.name);
        for kind in Kind::ALL {
            for &order in kind.orders() {
                let Some(row) = self.row(kind, order) else { continue };
                let parts: Vec<String> = row.parts.iter().map(|part| self.spell(kind, *part)).collect();
                let parts = if parts.is_empty() { "nothing".to_owned() } else { parts.join("; ") };
                let name = match kind {
                    Read => "R",
                    Write => "W",
                    Rmw => "RMW",
                    Fence => "F",
                };
                text.push_str(&format!("  {:<12} {parts}\n", format!("{name} {}", order.short())));
            }
        }
        text
    }

    /// An instruction without its operands and scope.
    pub fn spell(&self, kind: Kind, part: Part) -> String {
        let words = |order: Order| match order {
            NonAtomic => "weak",
            Relaxed => "relaxed",
            Acquire => "acquire",
            Release => "release",
            AcqRel => "acq_rel",
            SeqCst => "sc",
        };
        match (self.device, part, kind) {
            (Device::X86, Part::Fence(_), _) => "mfence".to_owned(),
            (Device::X86, Part::Access(_), Rmw) => "lock …".to_owned(),
            (Device::X86, Part::Access(_), _) => "mov".to_owned(),
            (Device::Ptx, Part::Fence(order), _) => format!("fence.{}", words(order)),
            (Device::Ptx, Part::Access(order), Read) => format!("ld.{}", words(order)),
            (Device::Ptx, Part::Access(order), Rmw) => format!("atom.{}", words(order)),
            (Device::Ptx, Part::Access(order), _) => format!("st.{}", words(order)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::label::Level;

    #[test]
    fn every_operation_has_a_row() {
        for device in [Device::X86, Device::Ptx] {
            for scheme in Scheme::ALL {
                let profile = scheme.profile(device);
                for kind in Kind::ALL {
                    for &order in kind.orders() {
                        let rows = profile.rows.iter().filter(|row| row.kind == kind && row.order == order).count();
                        assert_eq!(rows, 1, "{} {kind:?} {order:?}", profile.name);
                    }
                }
            }
        }
    }

    #[test]
    fn a_stronger_operation_becomes_stronger_code() {
        for device in [Device::X86, Device::Ptx] {
            for scheme in [Scheme::Leading, Scheme::Trailing] {
                let profile = scheme.profile(device);
                for kind in Kind::ALL {
                    let labels: Vec<Label> = (kind.orders().iter())
                        .flat_map(|order| [Level::Cta, Level::System].map(|level| Label::new(kind, *order, level)))
                        .collect();
                    for a in &labels {
                        for b in labels.iter().filter(|b| a.is_at_most(**b)) {
                            let (weak, strong) = (profile.image(kind, *a), profile.image(kind, *b));
                            assert_eq!(weak.meet(strong), weak, "{} {kind:?} {a:?} {b:?}", profile.name);
                        }
                    }
                }
            }
        }
    }
}

//! Two threads that take a lock, as a litmus test: the loop around the attempt, the fences on both sides of the section, what
//! gives the lock back, and one location for all that is accessed in between.
//!
//! Two threads stand for any number: whoever takes the lock reads from the one who gave it back last, and nobody else
//! does. So sections follow each other in a chain, and that each link orders is a matter of two threads.

use std::fmt::Write;

use fencepost_syntax::sorted::{SharedSort as _, SortedMap, SortedSet};

use crate::code::Entry;
use crate::code::op::{Access, Atomic, Op, Order, Pc, Scope};
use crate::launch::Launch;
use crate::order::Region;
use crate::report::Slice;
use crate::run::{Place, Section, Taken, Turn};

/// What a section does to the lock.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Role {
    take: Pc,
    first_fences: Vec<Pc>,
    /// Barriers on both sides of what the CTA does under the lock.
    barriers: bool,
    last_fences: Vec<Pc>,
    give: Pc,
}

/// Where two threads are in relation to each other.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Distance {
    Cta,
    Cluster,
    Gpu,
}

/// Two roles at a lock, and the values of the lock.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Pair {
    roles: [Role; 2],
    distance: Distance,
    is_shared: bool,
    size: u8,
    free: u64,
    held: u64,
}

/// Slices that are kept apart.
const MOST: usize = 16;
/// Fences on one side of a section. The check of a slice has no clock: it is small because the slice is.
const MOST_FENCES: usize = 4;

pub(super) type Slices = SortedSet<Pair>;

/// The pairs of sections that a run has. False if one of them has a form that is not written here.
pub(super) fn add(
    slices: &mut Slices,
    entry: &Entry,
    launch: &Launch,
    places: &SortedMap<Place, Turn>,
    taken: &Taken,
) -> bool {
    let mut sections: SortedMap<Place, Vec<(&Section, Role)>> = SortedMap::new();
    for section in &taken.sections {
        let Some(give) = section.give.filter(|_| section.own) else { return false };
        let role = Role {
            take: section.take,
            first_fences: section.first_fences.clone(),
            barriers: section.barriers >= 2,
            last_fences: section.last_fences.clone(),
            give,
        };
        sections.entry(section.place).or_default().push((section, role));
    }
    for (place, sections) in &sections {
        let Some(Turn::Lock { free, held }) = places.get(place).copied() else { continue };
        // One of each kind in a CTA stands for the others of that CTA.
        let kinds: SortedSet<(u32, &Role, u32, u32)> =
            sections.iter().map(|(own, role)| (own.cta, role, own.warp, own.lane)).collect();
        for (index, (cta, role, warp, lane)) in kinds.iter().enumerate() {
            let others = kinds.iter().skip(index + 1).filter(|(_, _, other, of)| (other, of) != (warp, lane));
            for (other_cta, other, ..) in others {
                let mut roles = [(*role).clone(), (*other).clone()];
                roles.shared_sort();
                let distance = distance(launch, *cta, *other_cta);
                let is_shared = matches!(place.0, Region::Shared(_));
                slices.insert(Pair { roles, distance, is_shared, size: place.2, free, held });
                if slices.len() > MOST {
                    return false;
                }
            }
        }
    }
    !taken.cut && slices.iter().all(|pair| pair.can_be_written(entry))
}

fn distance(launch: &Launch, a: u32, b: u32) -> Distance {
    let per = launch.ctas_per_cluster().max(1);
    match () {
        () if a == b => Distance::Cta,
        () if a / per == b / per => Distance::Cluster,
        () => Distance::Gpu,
    }
}

/// The text of each.
pub(super) fn named(slices: Slices, entry: &Entry) -> Vec<Slice> {
    slices.iter().enumerate().map(|(index, pair)| pair.written(entry, index + 1)).collect()
}

impl Pair {
    fn can_be_written(&self, entry: &Entry) -> bool {
        let is_known = |role: &Role| {
            attempt(entry, role.take).is_some()
                && release(entry, role.give).is_some()
                && role.first_fences.len().max(role.last_fences.len()) <= MOST_FENCES
                && role.first_fences.iter().chain(&role.last_fences).all(|pc| fence(entry, *pc).is_some())
        };
        // An address of another CTA's shared memory has no name in a litmus test.
        let is_near = !self.is_shared || self.distance == Distance::Cta;
        matches!(self.size, 2 | 4 | 8) && is_near && self.roles.iter().all(is_known)
    }

    fn written(&self, entry: &Entry, number: usize) -> Slice {
        let name: String =
            entry.name.chars().map(|own| if own.is_ascii_alphanumeric() { own } else { '-' }).take(60).collect();
        let name = format!("{name}-lock-{number}");
        let space = if self.is_shared { "shared" } else { "global" };
        let bits = u32::from(self.size) * 8;
        let mut writer = Writer::default();
        writer.line(&format!("PTX {name}"), None);
        writer.line("\"Two threads take a lock; x stands for all that is accessed under it.\"", None);
        writer.line(&format!("{{ .{space} .u{bits} lock = {}; .global .u32 x = 0; }}", self.free), None);
        let mut threads = 0;
        for (index, role) in self.roles.iter().enumerate() {
            let (cta, cluster) = match self.distance {
                Distance::Cta => ("0", ""),
                Distance::Cluster => (["0", "1"][index], ", cluster 0"),
                Distance::Gpu => (["0", "1"][index], ""),
            };
            // Two that take the lock for one CTA do not wait for each other under it.
            let has_barriers = role.barriers && self.distance != Distance::Cta;
            writer.line(&format!("P{threads}@cta {cta}{cluster} {{"), None);
            self.taker(&mut writer, entry, role, has_barriers, space);
            threads += 1;
            if has_barriers {
                writer.line(&format!("P{threads}@cta {cta}{cluster} {{"), None);
                writer.line("    bar.sync 0;", None);
                access(&mut writer);
                writer.line("    bar.sync 0;", None);
                writer.line("}", None);
                threads += 1;
            }
        }
        writer.line("forall (true)", None);
        Slice { name, text: writer.text, threads, lines: writer.lines }
    }

    fn taker(&self, writer: &mut Writer, entry: &Entry, role: &Role, has_barriers: bool, space: &str) {
        let bits = u32::from(self.size) * 8;
        let (take, is_exchange) = attempt(entry, role.take).unwrap_or_default();
        let operands = if is_exchange { self.held.to_string() } else { format!("{}, {}", self.free, self.held) };
        writer.line("TAKE:", None);
        let what = if is_exchange { "exch" } else { "cas" };
        writer.line(&format!("    atom{take}.{space}.{what}.b{bits} %taken, [lock], {operands};"), Some(role.take));
        writer.line(&format!("    setp.ne.u{bits} %again, %taken, {};", self.free), None);
        writer.line("    @%again bra TAKE;", None);
        let fences = |writer: &mut Writer, fences: &[Pc]| {
            for pc in fences {
                writer.line(&format!("    {};", fence(entry, *pc).unwrap_or_default()), Some(*pc));
            }
        };
        fences(writer, &role.first_fences);
        if has_barriers {
            writer.line("    bar.sync 0;", None);
            writer.line("    bar.sync 0;", None);
        } else {
            access(writer);
        }
        fences(writer, &role.last_fences);
        let given = match release(entry, role.give) {
            Some((order, Release::Store)) => format!("st{order}.{space}.u{bits} [lock], {}", self.free),
            Some((order, Release::Exchange)) => {
                format!("atom{order}.{space}.exch.b{bits} %given, [lock], {}", self.free)
            }
            Some((order, Release::CompareAndSwap)) => {
                format!("atom{order}.{space}.cas.b{bits} %given, [lock], {}, {}", self.held, self.free)
            }
            None => String::new(),
        };
        writer.line(&format!("    {given};"), Some(role.give));
        writer.line("}", None);
    }
}

#[derive(Default)]
struct Writer {
    text: String,
    lines: Vec<(u32, Pc)>,
    count: u32,
}

impl Writer {
    fn line(&mut self, text: &str, of: Option<Pc>) {
        self.count += 1;
        let _ = writeln!(self.text, "{text}");
        self.lines.extend(of.map(|pc| (self.count, pc)));
    }
}

fn access(writer: &mut Writer) {
    writer.line("    ld.global.u32 %x, [x];", None);
    writer.line("    st.global.u32 [x], 1;", None);
}

/// Semantics and scope of an operation that takes the lock, and whether it exchanges.
fn attempt(entry: &Entry, pc: Pc) -> Option<(String, bool)> {
    let Op::Atomic { access, operation, .. } = &entry.code[pc as usize].op else { return None };
    match operation {
        Atomic::CompareAndSwap => Some((strength(access)?, false)),
        Atomic::Exchange => Some((strength(access)?, true)),
        _ => None,
    }
}

enum Release {
    Store,
    Exchange,
    CompareAndSwap,
}

fn release(entry: &Entry, pc: Pc) -> Option<(String, Release)> {
    match &entry.code[pc as usize].op {
        Op::Store(access, _) => Some((strength(access)?, Release::Store)),
        Op::Atomic { access, operation: Atomic::Exchange, .. } => Some((strength(access)?, Release::Exchange)),
        Op::Atomic { access, operation: Atomic::CompareAndSwap, .. } => {
            Some((strength(access)?, Release::CompareAndSwap))
        }
        _ => None,
    }
}

fn fence(entry: &Entry, pc: Pc) -> Option<String> {
    let Op::Fence { order, scope } = &entry.code[pc as usize].op else { return None };
    Some(format!("fence.{}.{}", order_name(*order)?, scope_name(*scope)))
}

fn strength(access: &Access) -> Option<String> {
    Some(format!(".{}.{}", order_name(access.order)?, scope_name(access.scope)))
}

fn order_name(order: Order) -> Option<&'static str> {
    match order {
        Order::Weak => None,
        Order::Relaxed => Some("relaxed"),
        Order::Acquire => Some("acquire"),
        Order::Release => Some("release"),
        Order::AcquireRelease => Some("acq_rel"),
        Order::SequentiallyConsistent => Some("sc"),
    }
}

fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::Cta => "cta",
        Scope::Cluster => "cluster",
        Scope::Gpu => "gpu",
        Scope::Sys => "sys",
    }
}

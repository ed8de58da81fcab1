//! Several launches on the same memory: what one leaves for the next, and which accesses of two race.
//!
//! The end of a kernel orders everything before whatever comes after it. So a launch that starts when another has ended is
//! checked by itself, on the memory that the other left. Between launches of which neither waits for the other nothing is
//! ordered: two accesses to the same bytes race unless both only read, or both are strong at a scope that has both grids.

use std::collections::BTreeMap;

use crate::check::Limits;
use crate::code::op::{Pc, Scope};
use crate::code::{Entry, Module};
use crate::launch::{Contents, Launch};
use crate::order::policy::Policy;
use crate::order::record::{Kind, Record};
use crate::order::{Cta, Order, Region};
use crate::report::Finding;
use crate::run::watch::Early;
use crate::run::{Credit, Options, Outcome, Run};

/// Whether a launch waits for the one before it by itself (`griddepcontrol.wait`).
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Start {
    AfterTheLast,
    Dependent,
}

/// One run, for what it leaves and what it touches.
pub fn run(module: &Module, entry: &Entry, launch: &Launch, limits: &Limits, start: Start) -> Outcome {
    let options = Options::plain(Policy::WEAKEST, Credit::Determined, 0, limits.steps);
    let run = Run::new(module, entry, launch, options);
    match start {
        Start::AfterTheLast => run.run(),
        Start::Dependent => run.dependent().run(),
    }
}

/// A run with its timeline: of the first CTA in whose shared memory there is a race, else of CTA 0.
pub fn timeline(module: &Module, entry: &Entry, launch: &Launch, steps: u64) -> Outcome {
    let run = |cta: Cta| {
        let options = Options::plain(Policy::WEAKEST, Credit::Determined, 0, steps);
        Run::new(module, entry, launch, options).with_timeline(cta).run()
    };
    let first = run(0);
    let mut racing = first.findings.iter().filter_map(|finding| match finding {
        Finding::Race { race, .. } => match race.region {
            Region::Shared(cta) => Some(cta),
            _ => None,
        },
        _ => None,
    });
    match racing.clone().min().filter(|_| racing.all(|cta| cta != 0)) {
        Some(cta) => run(cta),
        None => first,
    }
}

/// The module with what an earlier launch left in its variables, and whether some of that is not known; None if that is
/// what they start with. The order is that of the buffers behind those of a launch.
pub fn with_variables(module: &Module, left: &[Contents]) -> Option<(Module, bool)> {
    let mut changed = module.clone();
    let (mut differs, mut some_unknown) = (false, false);
    let variables = changed.variables.iter_mut().filter(|variable| variable.address != 0);
    for (variable, contents) in variables.zip(left) {
        if let Contents::Left { data, unknown } = contents {
            let is_initial = |(index, byte): (usize, &u8)| *byte == variable.initial.get(index).copied().unwrap_or(0);
            differs |= !data.iter().enumerate().all(is_initial);
            some_unknown |= unknown.contains(&true);
            variable.initial.clone_from(data);
        }
    }
    (differs || some_unknown).then_some((changed, some_unknown))
}

/// Accesses to global memory, as far as a launch beside this one can race with them: per cell of four bytes.
#[derive(Clone, Debug, Default)]
pub struct Footprint {
    cells: BTreeMap<(u32, u64), Vec<Access>>,
    /// Accesses were forgotten.
    pub cut: bool,
}

#[derive(Copy, Clone, Debug)]
pub struct Access {
    pub record: Record,
    pub lane: u32,
    /// Which of the four bytes.
    bytes: u8,
}

/// Two accesses of two launches that nothing orders.
#[derive(Copy, Clone, Debug)]
pub struct Conflict {
    pub first: Access,
    pub second: Access,
    pub buffer: u32,
    pub at: u64,
}

/// What the launches do to each other.
#[derive(Clone, Debug, Default)]
pub struct Between {
    /// One for each pair of instructions.
    pub conflicts: Vec<Conflict>,
    /// Strong operations of both meet: what they read depends on which launch is faster.
    pub synchronise: bool,
}

impl Footprint {
    /// All that a run touched in the first so many buffers.
    pub fn of(order: &Order, buffers: u32) -> Footprint {
        let mut found = Footprint { cut: order.crowded, ..Footprint::default() };
        order.visit(|region, number, record, lanes, bytes| {
            if let Region::Global(buffer) = region
                && buffer < buffers
            {
                let access = Access { record: *record, lane: lanes.trailing_zeros().min(31), bytes };
                found.cells.entry((buffer, number)).or_default().push(access);
            }
        });
        found
    }

    /// What a dependent launch touched before it had waited.
    pub fn of_early(early: &Early, buffers: u32) -> Footprint {
        let mut found = Footprint { cut: early.cut, ..Footprint::default() };
        for own in early.accesses.iter().filter(|own| own.buffer < buffers && own.len > 0) {
            for number in own.start / 4..=(own.start + own.len - 1) / 4 {
                let from = own.start.saturating_sub(number * 4).min(4);
                let to = (own.start + own.len - number * 4).min(4);
                let bytes = (((1u32 << to) - 1) & !((1u32 << from) - 1)) as u8;
                let access = Access { record: own.record, lane: own.lane, bytes };
                let cell = found.cells.entry((own.buffer, number)).or_default();
                // One of each instruction is enough: lanes and rounds of a loop are alike to another launch.
                if !cell.iter().any(|other| other.record.pc == own.record.pc && other.bytes == bytes) {
                    cell.push(access);
                }
            }
        }
        found
    }
}

/// Compares two launches that may run at the same time. They share the first so many buffers; those behind are variables of
/// the module.
pub fn between(first: &Footprint, second: &Footprint, buffers: u32) -> Between {
    let mut found: BTreeMap<(Pc, Pc), Conflict> = BTreeMap::new();
    let mut synchronise = first.cut || second.cut;
    for (place, accesses) in second.cells.range(..(buffers, 0)) {
        for a in first.cells.get(place).into_iter().flatten() {
            for b in accesses {
                if a.bytes & b.bytes == 0 || !(a.record.kind.may_write() || b.record.kind.may_write()) {
                    continue;
                }
                // Whether a compare-and-swap fails may depend on the other launch.
                let one_writes = a.record.kind.writes() || b.record.kind.writes();
                if !one_writes || are_strong(&a.record, &b.record) {
                    synchronise = true;
                    continue;
                }
                let at = place.1 * 4 + u64::from((a.bytes & b.bytes).trailing_zeros());
                let conflict = Conflict { first: *a, second: *b, buffer: place.0, at };
                found.entry((a.record.pc, b.record.pc)).or_insert(conflict);
            }
        }
    }
    Between { conflicts: found.into_values().collect(), synchronise }
}

/// Morally strong (8.7): two grids are in one scope only from `.gpu` on.
fn are_strong(a: &Record, b: &Record) -> bool {
    let wide = |record: &Record| matches!(record.strong, Some(Scope::Gpu | Scope::Sys));
    let is_memory = |record: &Record| matches!(record.kind, Kind::Read | Kind::Write | Kind::Atomic | Kind::Attempt);
    wide(a) && wide(b) && a.size == b.size && is_memory(a) && is_memory(b)
}

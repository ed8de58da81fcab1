//! Where the two answers do not agree, by kinds, and the smallest program of a kind.

use std::collections::BTreeMap;
use std::fmt;

use crate::program::{Item, Layout, Order, Program};
use crate::sides::{self, Kernel, Model, Pair, Readings};

/// A disagreement, the graver ones first.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Kind {
    /// The run proves what the axioms refute.
    ProvedButRaces,
    ProvedButHangs,
    ProvedButBreaksRules,
    /// Only rules are broken that a run does not look at.
    ProvedInAGap,
    ProvedButUndefined,
    ProvedButManyOutcomes,
    /// The run finds what the axioms exclude.
    FalseRace,
    FalseHang,
    FalseError,
    /// A CTA ends before an access to its memory, says the run, in whatever it believes else.
    FalseExit,
    /// The same where the run has doubts as well: it may have been led astray.
    FalseRaceWithDoubts,
    FalseHangWithDoubts,
    /// Two runs without doubts do not say the same.
    ScheduleMatters,
    /// Both list a race, and not with the same proxies.
    OtherProxies,
    /// A race of the axioms that a run without doubts does not list, though it lists others.
    UnlistedRace,
}

impl Kind {
    /// Kinds that no program may show.
    pub(crate) fn is_wrong(self) -> bool {
        !matches!(self, Kind::ProvedInAGap | Kind::FalseRaceWithDoubts | Kind::FalseHangWithDoubts | Kind::UnlistedRace)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

pub(crate) struct Compared {
    pub(crate) kernel: Kernel,
    pub(crate) model: Model,
    pub(crate) kinds: Vec<Kind>,
}

/// What a comparison has to know of the program.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Facts {
    /// An answer of an mbarrier that nobody looks at may be about any phase.
    pub(crate) peeks: bool,
    /// A program that is right may have several outcomes.
    pub(crate) is_free: bool,
    /// In a litmus test `bar.warp.sync` meets whoever has one with its mask, and need not meet the others.
    pub(crate) lanes_meet_evenly: bool,
    /// To invalidate what is no mbarrier is an error to a run, and none to the axioms.
    pub(crate) invalidates: bool,
}

impl Facts {
    fn of(program: &Program) -> Facts {
        // Strong reads may see one of several writes without a race, and red sums are of any order.
        let strong =
            |item: Item| matches!(item, Item::Load { scope: Some(_), .. } | Item::IfZero { scope: Some(_), .. });
        let shows = program
            .items()
            .any(|item| matches!(item, Item::Load { .. } | Item::RemoteLoad { .. } | Item::IfZero { .. }));
        // Who comes first may show, too.
        let turns = |item: Item| matches!(item, Item::Lock { .. } | Item::Ticket { .. });
        // So may which of two strong vectors comes last: what they leave is no determined value.
        let vectors = |item: Item| matches!(item, Item::Vector { writes: true, order, .. } if order != Order::Weak);
        let last = program.items().any(turns) || program.items().any(vectors);
        Facts {
            peeks: program.items().any(|item| matches!(item, Item::Peek { .. })),
            is_free: program.items().any(strong) || last || !shows,
            lanes_meet_evenly: program.lanes_meet_evenly(),
            invalidates: program.items().any(|item| matches!(item, Item::Inval { .. })),
        }
    }
}

pub(crate) fn compare(program: &Program, readings: Readings) -> Compared {
    let model = sides::model(program, readings);
    let run = |layout: Layout, seed: u64| sides::kernel(program, layout, readings, seed);
    // The same launch in another order of warps, and the same threads as lanes of one warp.
    let mut runs = Vec::new();
    if !program.items().any(|item| matches!(item, Item::WarpSync { .. })) {
        runs.extend([0, 0x9e37_79b9, 0x1234_5678_9abc].map(|seed| run(Layout::Warps, seed)));
    }
    if program.fits_a_warp() {
        runs.push(run(Layout::Lanes, 0));
    }
    let together = program.fits_together().then(|| run(Layout::Together, 0));
    let mut others = runs.into_iter();
    // Lanes meet, and warps are counted: there is no such kernel.
    let Some(kernel) = others.next() else {
        return Compared { kernel: Kernel { flags: true, ..Kernel::default() }, model, kinds: Vec::new() };
    };
    let facts = Facts::of(program);
    let mut found = kinds(facts, &kernel, &model);
    for other in others {
        found.extend(kinds(facts, &other, &model));
        // Lanes of a warp of which one waits for a phase and another for a flag are doubted.
        let mixes = program.items().any(|item| matches!(item, Item::Await { .. }))
            && program.items().any(|item| matches!(item, Item::Wait { .. }));
        // Two orders of the turns may show different things.
        let tells_all = |own: &Kernel| own.is_sure() && !own.one_order;
        let matters = (kernel.is_proved() != other.is_proved() && !mixes)
            || (tells_all(&kernel) && tells_all(&other) && kernel.races.is_empty() != other.races.is_empty());
        if matters && kernel.protocol.is_empty() && other.protocol.is_empty() {
            found.push(Kind::ScheduleMatters);
        }
    }
    if let Some(together) = together {
        found.extend(kinds(facts, &together, &with_items(&model, &program.merged())));
    }
    found.sort_unstable();
    found.dedup();
    Compared { kernel, model, kinds: found }
}

/// The same races, of instructions that several threads have in common.
fn with_items(model: &Model, item_of: &BTreeMap<u32, u32>) -> Model {
    let of = |item: &u32| item_of.get(item).copied().unwrap_or(*item);
    let pair = |(a, b): &(u32, u32)| (of(a).min(of(b)), of(a).max(of(b)));
    Model { races: model.races.iter().map(pair).collect(), ..model.clone() }
}

pub(crate) fn kinds(facts: Facts, kernel: &Kernel, model: &Model) -> Vec<Kind> {
    let mut kinds = Vec::new();
    let mut add = |is: bool, kind: Kind| {
        if is {
            kinds.push(kind);
        }
    };
    if kernel.is_proved() {
        add(model.race_free == Some(false) && !model.races.is_empty(), Kind::ProvedButRaces);
        add(model.ends == Some(false), Kind::ProvedButHangs);
        let gap = |error: &String| facts.peeks && error.starts_with("parity-aliasing");
        let known = model.protocol.iter().all(gap);
        add(model.protocol_kept == Some(false) && !known, Kind::ProvedButBreaksRules);
        let known = known && model.undefined.iter().all(gap);
        add((model.protocol_kept == Some(false) || !model.undefined.is_empty()) && known, Kind::ProvedInAGap);
        add(!model.undefined.iter().all(gap), Kind::ProvedButUndefined);
        add(
            !facts.is_free && model.race_free == Some(true) && model.outcomes.is_some_and(|count| count > 1),
            Kind::ProvedButManyOutcomes,
        );
    }
    // Of a program that is undefined in another way, not every execution is looked at.
    let decided = model.race_free.is_some() && model.all_pairs && model.why.is_empty() && model.undefined.is_empty();
    let decided = decided && kernel.protocol.is_empty();
    // Of two accesses of which one races anyway the order may be lost.
    let races = |item: u32| model.races.iter().any(|(a, b)| *a == item || *b == item);
    let false_race =
        decided && kernel.races.iter().any(|(a, b)| !model.races.contains(&(*a, *b)) && !races(*a) && !races(*b));
    add(false_race && kernel.is_sure(), Kind::FalseRace);
    add(false_race && !kernel.is_sure(), Kind::FalseRaceWithDoubts);
    let false_hang = kernel.hang && model.ends == Some(true) && facts.lanes_meet_evenly;
    add(false_hang && !model.warned && kernel.is_sure(), Kind::FalseHang);
    add(kernel.hangs_late && model.ends == Some(true), Kind::FalseHang);
    add(false_hang && !kernel.is_sure(), Kind::FalseHangWithDoubts);
    let errors = !kernel.protocol.is_empty() || !kernel.other.is_empty();
    let errors = errors && !facts.invalidates;
    add(errors && !model.warned && kernel.is_sure() && model.is_decided() && model.is_clean(), Kind::FalseError);
    let no_exit = model.is_decided() && model.all_pairs && model.why.is_empty() && !model.ends_early();
    add(kernel.ends_early() && no_exit, Kind::FalseExit);
    let others = |(pair, proxies): (&Pair, &(&'static str, &'static str))| {
        kernel.proxies.get(pair).is_some_and(|own| !own.contains(proxies))
    };
    add(decided && kernel.is_sure() && model.proxies.iter().any(others), Kind::OtherProxies);
    let complete =
        kernel.is_sure() && !kernel.one_order && !kernel.hang && kernel.protocol.is_empty() && kernel.other.is_empty();
    // Behind a race that is listed, accesses that come before it may be forgotten.
    let listed = |item: u32| kernel.races.iter().any(|(a, b)| *a == item || *b == item);
    let unlisted = complete && !kernel.is_clean() && model.races.iter().any(|(a, b)| !listed(*a) && !listed(*b));
    add(unlisted, Kind::UnlistedRace);
    kinds
}

/// Removes lines, and threads without any, as long as the kind of disagreement stays.
pub(crate) fn shrunk(program: &Program, readings: Readings, kind: Kind) -> Program {
    let shows = |program: &Program| compare(program, readings).kinds.contains(&kind);
    let mut best = program.clone();
    loop {
        let mut smaller = None;
        'search: for thread in 0..best.threads.len() {
            for line in 0..best.threads[thread].lines.len() {
                let mut next = best.clone();
                next.threads[thread].lines.remove(line);
                if shows(&next) {
                    smaller = Some(next);
                    break 'search;
                }
            }
            if best.threads.len() > 1 && best.threads[thread].lines.is_empty() {
                let mut next = best.clone();
                next.threads.remove(thread);
                if next.ctas() == best.ctas() && shows(&next) {
                    smaller = Some(next);
                    break 'search;
                }
            }
        }
        match smaller {
            Some(next) => best = next,
            None => return best,
        }
    }
}

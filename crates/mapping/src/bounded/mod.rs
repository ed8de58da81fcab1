//! Every race-free program up to a number of events: is each behaviour of its compiled form one of its own?
//!
//! What is enumerated are behaviours of shapes, not programs: who reads what and what memory ends with. A behaviour is a
//! counterexample if for some labels the target shows it, the source forbids it, and some program with it is free of
//! races. The reductions, each of which can be left out ([`Reductions`]), are:
//! 1. one shape for all names of threads and locations, and one behaviour for all that a symmetry of its shape relates;
//! 2. no fences at the start or the end of a thread ([`crate::bounded::shape::EndFences`]);
//! 3. boxes of labels instead of labels ([`crate::bounded::lattice`]), and of labels with one image only the strongest;
//! 4. placements: threads that share their CTA with none, the host's too, or all of whose threads share one, need one
//!    scope only, and on x86, which has no scopes, all threads do;
//! 5. fully guarded programs ([`crate::bounded::race`]).

pub mod behaviour;
pub mod graph;
pub mod lattice;
pub mod race;
pub mod shape;
pub mod state;
pub mod text;

use std::collections::BTreeMap;

use fencepost_axiom::engine::decide::Decider;
use fencepost_axiom::model::{CheckId, Model};
use fencepost_syntax::sorted::SharedSort as _;

use crate::bounded::behaviour::{Behaviour, behaviours};
use crate::bounded::graph::{Extent, Graph, Placement};
use crate::bounded::lattice::{Choice, Oracle};
use crate::bounded::race::{Guards, Races};
use crate::bounded::shape::{EndFences, Kinds, Renamings, Shape, all_kinds, all_ordered_kinds, shapes};
use crate::label::{Kind, Label, Level};
use crate::scheme::{Device, Image, Profile};

/// What is compiled how, and who judges.
#[derive(Clone, Debug)]
pub struct Question<'q> {
    /// The source, as the claim is about it: without its axiom against thin air.
    pub source: &'q Model,
    /// The source with all its axioms, for races, and its flags.
    pub races: &'q Model,
    pub race_flags: Vec<CheckId>,
    pub target: &'q Model,
    /// Each thread is compiled by one of these; every assignment is tried.
    pub profiles: &'q [Profile],
    pub sc_scopes: ScScopes,
}

/// Which programs are asked about.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum ScScopes {
    #[default]
    Any,
    /// Only those whose operations of the strongest order have system scope.
    System,
}

/// What is left out of the search because something else in it stands for it.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Reduction {
    Names,
    EndFences,
    Strength,
    Placements,
    Guards,
}

impl Reduction {
    pub const ALL: [Reduction; 5] =
        [Reduction::Names, Reduction::EndFences, Reduction::Strength, Reduction::Placements, Reduction::Guards];
}

/// Which reductions are made.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Reductions(u8);

impl Reductions {
    pub const ALL: Reductions = Reductions(0b11111);
    pub const NONE: Reductions = Reductions(0);

    pub fn without(self, reduction: Reduction) -> Reductions {
        Reductions(self.0 & !(1 << reduction as u8))
    }

    pub fn has(self, reduction: Reduction) -> bool {
        self.0 >> reduction as u8 & 1 == 1
    }
}

impl ScScopes {
    fn include(self, label: Label) -> bool {
        self == ScScopes::Any || label.order() != crate::label::Order::SeqCst || label.level() == Level::System
    }
}

/// A program whose compiled form does more than it may.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub struct Counterexample {
    pub shape: Shape,
    pub behaviour: Behaviour,
    pub labels: Vec<Label>,
    /// By thread: an index into the profiles.
    pub profiles: Vec<usize>,
    pub placement: Placement,
    pub guards: Guards,
    pub lost: Lost,
}

/// What the source has that the target does not keep.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lost {
    /// Coherence, atomicity or SC: what the mappings promise.
    Promised,
    /// Only the axiom against thin air.
    ThinAir,
}

/// What was looked at.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Counts {
    pub shapes: u64,
    pub behaviours: u64,
    /// Those that the strongest labels forbid.
    pub weak: u64,
    /// Questions asked of the source, of the target, and about races.
    pub source: u64,
    pub target: u64,
    pub races: u64,
}

impl Counts {
    pub fn add(&mut self, other: &Counts) {
        self.shapes += other.shapes;
        self.behaviours += other.behaviours;
        self.weak += other.weak;
        self.source += other.source;
        self.target += other.target;
        self.races += other.races;
    }
}

/// The parts of a check, in order: programs whose threads have these kinds of operations.
pub fn units(bound: usize, reductions: Reductions) -> Vec<Kinds> {
    let ends = if reductions.has(Reduction::EndFences) { EndFences::Drop } else { EndFences::Keep };
    let kinds = if reductions.has(Reduction::Names) { all_kinds } else { all_ordered_kinds };
    (1..=bound).flat_map(|events| kinds(events, ends)).collect()
}

/// Checks one part after the other.
#[derive(Debug)]
pub struct Checker<'q> {
    question: Question<'q>,
    reductions: Reductions,
    source: Decider<'q>,
    whole: Decider<'q>,
    races: Decider<'q>,
    target: Decider<'q>,
    graph: Graph,
    pub counts: Counts,
}

impl<'q> Checker<'q> {
    pub fn new(question: Question<'q>, reductions: Reductions) -> Checker<'q> {
        Checker {
            source: Decider::new(question.source),
            whole: Decider::new(question.races),
            races: Decider::raising(question.races, &question.race_flags),
            target: Decider::new(question.target),
            question,
            reductions,
            graph: Graph::default(),
            counts: Counts::default(),
        }
    }

    /// One counterexample for each behaviour that has some.
    pub fn unit(&mut self, kinds: &Kinds) -> Vec<Counterexample> {
        let renamings = if self.reductions.has(Reduction::Names) { Renamings::One } else { Renamings::All };
        let mut found = Vec::new();
        for shape in shapes(kinds, renamings) {
            self.counts.shapes += 1;
            found.extend(self.shape(&shape));
        }
        found
    }

    fn shape(&mut self, shape: &Shape) -> Vec<Counterexample> {
        let mut all = behaviours(shape);
        if self.reductions.has(Reduction::Names) {
            let automorphisms = shape.automorphisms();
            all.retain(|behaviour| behaviour.is_representative(&automorphisms));
        }
        self.counts.behaviours += all.len() as u64;
        let contexts = contexts(shape, &self.question, self.reductions);
        let mut found = Vec::new();
        for behaviour in &all {
            let promised = self.behaviour(shape, behaviour, &contexts, Lost::Promised);
            let thin_air = || self.behaviour(shape, behaviour, &contexts, Lost::ThinAir);
            found.extend(promised.or_else(|| behaviour.is_cyclic(shape).then(thin_air).flatten()));
        }
        found
    }

    fn behaviour(
        &mut self,
        shape: &Shape,
        behaviour: &Behaviour,
        contexts: &[Context],
        lost: Lost,
    ) -> Option<Counterexample> {
        let strongest: Vec<Label> = (shape.operations())
            .map(|operation| Label::new(operation.kind, crate::label::Order::SeqCst, Level::System))
            .collect();
        let apart = Placement((0..shape.threads.len()).map(|thread| Some(thread as u32)).collect());
        if self.reductions.has(Reduction::Strength) {
            let mut asking = self.asking(shape, behaviour, (&apart, &[]), lost);
            if asking.source_allows(&strongest) {
                return None;
            }
        }
        self.counts.weak += 1;
        contexts.iter().find_map(|context| {
            let mut asking = self.asking(shape, behaviour, (&context.placement, &context.devices), lost);
            let found = match asking.checker.reductions.has(Reduction::Strength) {
                true => lattice::counterexample(&context.options, &mut asking)?,
                false => one_by_one(&context.options, &mut asking)?,
            };
            let guards = asking.guards.take()?;
            Some(Counterexample {
                shape: shape.clone(),
                behaviour: behaviour.clone(),
                labels: found.iter().map(|choice| choice.label).collect(),
                profiles: context.profiles.clone(),
                placement: context.placement.clone(),
                guards,
                lost,
            })
        })
    }

    fn asking<'a>(
        &'a mut self,
        shape: &'a Shape,
        behaviour: &'a Behaviour,
        (placement, devices): (&'a Placement, &'a [Device]),
        lost: Lost,
    ) -> Asking<'a, 'q> {
        let (images, known) = (Vec::new(), BTreeMap::new());
        Asking { checker: self, shape, behaviour, placement, devices, lost, images, guards: None, known }
    }
}

/// Every labelling by itself.
fn one_by_one(options: &[Vec<Choice>], oracle: &mut dyn Oracle) -> Option<Vec<Choice>> {
    let mut digits = vec![0; options.len()];
    loop {
        let chosen: Vec<Choice> = digits.iter().zip(options).map(|(digit, choices)| choices[*digit]).collect();
        let labels: Vec<Label> = chosen.iter().map(|choice| choice.label).collect();
        let images: Vec<Image> = chosen.iter().map(|choice| choice.image).collect();
        if !oracle.source_allows(&labels) && oracle.target_allows(&images) && oracle.race_free(&labels) {
            return Some(chosen);
        }
        let next = (0..digits.len()).find(|at| digits[*at] + 1 < options[*at].len())?;
        digits[..next].fill(0);
        digits[next] += 1;
    }
}

/// How the threads of a shape are compiled and placed, and the labels their operations may have.
struct Context {
    profiles: Vec<usize>,
    devices: Vec<Device>,
    placement: Placement,
    options: Vec<Vec<Choice>>,
}

/// Which scopes the operations of a thread may have.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Scopes {
    Both,
    /// Others are as good as none ([`Reductions`], 4).
    System,
}

fn contexts(shape: &Shape, question: &Question<'_>, reductions: Reductions) -> Vec<Context> {
    let profiles = question.profiles;
    let threads = shape.threads.len();
    let mut found = Vec::new();
    for code in 0..profiles.len().pow(threads as u32) {
        let chosen: Vec<usize> =
            (0..threads).map(|thread| code / profiles.len().pow(thread as u32) % profiles.len()).collect();
        let devices: Vec<Device> = chosen.iter().map(|profile| profiles[*profile].device).collect();
        for ctas in partitions(&devices, reductions) {
            let Some(scopes) = scopes(&ctas, reductions) else { continue };
            let options = (shape.threads.iter().enumerate())
                .flat_map(|(thread, operations)| operations.iter().map(move |operation| (thread, operation.kind)))
                .map(|(thread, kind)| {
                    let choices = choices(&profiles[chosen[thread]], kind, scopes[thread], reductions);
                    choices.into_iter().filter(|choice| question.sc_scopes.include(choice.label)).collect()
                })
                .collect();
            let placement = Placement(ctas);
            found.push(Context { profiles: chosen.clone(), devices: devices.clone(), placement, options });
        }
    }
    found
}

/// Every way to share CTAs among the device's threads. Where all threads are compiled to x86, the source may be placed as
/// any other.
fn partitions(devices: &[Device], reductions: Reductions) -> Vec<Vec<Option<u32>>> {
    let is_placed = |device: &Device| match device {
        Device::Ptx => true,
        Device::X86 => !reductions.has(Reduction::Placements) && !devices.contains(&Device::Ptx),
    };
    let mut found = vec![Vec::new()];
    for device in devices {
        let extended = found.iter().flat_map(|placed: &Vec<Option<u32>>| {
            let used = placed.iter().flatten().map(|cta| cta + 1).max().unwrap_or(0);
            let ctas: Vec<Option<u32>> = if is_placed(device) { (0..=used).map(Some).collect() } else { vec![None] };
            ctas.into_iter().map(move |cta| [placed.as_slice(), &[cta]].concat()).collect::<Vec<_>>()
        });
        found = extended.collect();
    }
    found
}

/// The scopes that each thread needs; None if another placement covers this one.
fn scopes(ctas: &[Option<u32>], reductions: Reductions) -> Option<Vec<Scopes>> {
    if !reductions.has(Reduction::Placements) {
        return Some(vec![Scopes::Both; ctas.len()]);
    }
    let mates = |cta: &Option<u32>| ctas.iter().filter(|other| *other == cta).count();
    let shares = |cta: &Option<u32>| cta.is_some() && mates(cta) > 1;
    if ctas.len() > 1 && ctas.iter().all(|cta| cta.is_some() && mates(cta) == ctas.len()) {
        return None;
    }
    Some(ctas.iter().map(|cta| if shares(cta) { Scopes::Both } else { Scopes::System }).collect())
}

fn choices(profile: &Profile, kind: Kind, scopes: Scopes, reductions: Reductions) -> Vec<Choice> {
    let mut found: Vec<Choice> = Vec::new();
    for &order in kind.orders() {
        for level in [Level::Cta, Level::System] {
            let label = Label::new(kind, order, level);
            // The weakest read-modify-write stands for those whose scope reaches nobody.
            let is_weakest = kind == Kind::ReadModifyWrite && order == crate::label::Order::Relaxed;
            let is_needed = scopes == Scopes::Both || level == Level::System || is_weakest || label.is_nothing();
            let choice = Choice { label, image: profile.image(kind, label) };
            if is_needed && !found.contains(&choice) {
                found.push(choice);
            }
        }
    }
    if reductions.has(Reduction::Strength) {
        let covers = |a: &Choice, b: &Choice| a != b && b.label.is_at_most(a.label) && a.image == b.image;
        let all = found.clone();
        found.retain(|choice| !all.iter().any(|other| covers(other, choice)));
    }
    found
}

/// The models, asked about one behaviour in one context.
struct Asking<'a, 'q> {
    checker: &'a mut Checker<'q>,
    shape: &'a Shape,
    behaviour: &'a Behaviour,
    placement: &'a Placement,
    devices: &'a [Device],
    lost: Lost,
    /// The last ones that the target was asked about and showed.
    images: Vec<Image>,
    /// Of the last program without a race.
    guards: Option<Guards>,
    known: BTreeMap<Vec<Label>, bool>,
}

impl Oracle for Asking<'_, '_> {
    fn source_allows(&mut self, labels: &[Label]) -> bool {
        if let Some(&known) = self.known.get(labels) {
            return known;
        }
        let Asking { checker, shape, behaviour, placement, lost, .. } = self;
        checker.counts.source += 1;
        let whole: Vec<Extent> =
            (shape.threads.iter()).map(|operations| Extent { operations: operations.len(), fails: false }).collect();
        checker.graph.source(shape, labels, placement, &whole);
        checker.graph.observe(shape, behaviour);
        let graph = &checker.graph;
        let decider = if *lost == Lost::Promised { &mut checker.source } else { &mut checker.whole };
        let allows = decider.decide(&graph.unfolding, &graph.rf, &graph.last).is_some();
        self.known.insert(labels.to_vec(), allows);
        allows
    }

    fn target_allows(&mut self, images: &[Image]) -> bool {
        let allows = self.shows(images, None);
        if allows {
            self.images = images.to_vec();
        }
        allows
    }

    fn race_free(&mut self, labels: &[Label]) -> bool {
        self.checker.counts.races += 1;
        let reads: Vec<bool> = self.shape.operations().map(|operation| operation.kind.reads()).collect();
        if self.checker.reductions.has(Reduction::Guards) && !self.behaviour.is_cyclic(self.shape) {
            self.guards = self.free(labels, &reads);
            return self.guards.is_some();
        }
        // Guards may keep the target from showing it: try all sets of them, most first.
        let images = self.images.clone();
        let count = reads.len();
        let mut sets: Vec<Vec<bool>> = (0..1usize << count)
            .filter(|set| (0..count).all(|at| set >> at & 1 == 0 || reads[at]))
            .map(|set| (0..count).map(|at| set >> at & 1 == 1).collect())
            .collect();
        sets.shared_sort_by_key(|set| std::cmp::Reverse(set.iter().filter(|guard| **guard).count()));
        self.guards = sets.into_iter().find_map(|set| {
            let guards = self.free(labels, &set)?;
            self.shows(&images, Some(&set)).then_some(guards)
        });
        self.guards.is_some()
    }
}

impl Asking<'_, '_> {
    fn shows(&mut self, images: &[Image], guards: Option<&[bool]>) -> bool {
        let Asking { checker, shape, behaviour, placement, devices, .. } = self;
        checker.counts.target += 1;
        checker.graph.target(shape, images, devices, placement);
        checker.graph.observe(shape, behaviour);
        if let Some(guards) = guards {
            checker.graph.guard(shape, guards);
        }
        let graph = &checker.graph;
        checker.target.decide(&graph.unfolding, &graph.rf, &graph.last).is_some()
    }

    fn free(&mut self, labels: &[Label], guarded: &[bool]) -> Option<Guards> {
        let checker = &mut *self.checker;
        Races {
            decider: &mut checker.races,
            graph: &mut checker.graph,
            shape: self.shape,
            labels,
            placement: self.placement,
            behaviour: self.behaviour,
        }
        .free(guarded)
    }
}

//! What to compute when: the nodes a model's axioms need, sorted into stages, and in which chosen relations each check is
//! monotone. Derived from the operators alone.
//!
//! A check (`acyclic`, `irreflexive`, `empty`, not negated) that is violated by a relation is violated by every larger
//! one. So where the chosen relations occur only positively in it, a violation by part of the choices is final, and the
//! check prunes the search; any other check is judged when all is chosen.

use std::sync::Arc;

use super::dependencies::operands;
use super::polarity::{Analysis, CO, SYNC_FENCE};
use crate::evaluate::{Chosen, Stage};
use crate::model::{BaseRelation, BaseSet, CheckId, Model, NodeId, NodeKind, Operator};
use fencepost_program::tag::Tag;
use fencepost_syntax::cat::{CheckKind, CheckRole};
use fencepost_syntax::sorted::SharedSort as _;

/// Where a value lies; operands have smaller slots than their users.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Slot(u32);

impl Slot {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Base {
    Set(BaseSet),
    Relation(BaseRelation),
}

/// An operator on slots. Sets and relations share those that work word by word.
#[derive(Copy, Clone, Debug)]
pub(super) enum Operation {
    Empty,
    Union(Slot, Slot),
    /// Of several: a part of [`Plan::united`].
    Unions(Part),
    Intersection(Slot, Slot),
    Difference(Slot, Slot),
    Complement(Slot),
    Domain(Slot),
    Range(Slot),
    Sequence(Slot, Slot),
    /// `[set] ; relation`.
    From(Slot, Slot),
    /// `relation ; [set]`.
    Into(Slot, Slot),
    Inverse(Slot),
    Plus(Slot),
    Star(Slot),
    Optional(Slot),
    Identity(Slot),
    Product(Slot, Slot),
}

/// Where something lies in a list.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Part {
    from: u32,
    to: u32,
}

impl Part {
    pub(super) fn of(self, list: &[Slot]) -> &[Slot] {
        &list[self.from as usize..self.to as usize]
    }
}

impl Operation {
    /// Whether some operand is such. Asked of every step of every candidate, so without an iterator.
    pub(super) fn any_operand(self, united: &[Slot], mut is: impl FnMut(Slot) -> bool) -> bool {
        match self {
            Operation::Empty => false,
            Operation::Unions(part) => part.of(united).iter().any(|slot| is(*slot)),
            Operation::Complement(a)
            | Operation::Domain(a)
            | Operation::Range(a)
            | Operation::Inverse(a)
            | Operation::Plus(a)
            | Operation::Star(a)
            | Operation::Optional(a)
            | Operation::Identity(a) => is(a),
            Operation::Union(a, b)
            | Operation::Intersection(a, b)
            | Operation::Difference(a, b)
            | Operation::Sequence(a, b)
            | Operation::From(a, b)
            | Operation::Into(a, b)
            | Operation::Product(a, b) => is(a) || is(b),
        }
    }

    pub(super) fn operands(self, united: &[Slot]) -> impl Iterator<Item = Slot> {
        let mut several: &[Slot] = &[];
        let (first, second) = match self {
            Operation::Empty => (None, None),
            Operation::Unions(part) => {
                several = part.of(united);
                (None, None)
            }
            Operation::Complement(a)
            | Operation::Domain(a)
            | Operation::Range(a)
            | Operation::Inverse(a)
            | Operation::Plus(a)
            | Operation::Star(a)
            | Operation::Optional(a)
            | Operation::Identity(a) => (Some(a), None),
            Operation::Union(a, b)
            | Operation::Intersection(a, b)
            | Operation::Difference(a, b)
            | Operation::Sequence(a, b)
            | Operation::From(a, b)
            | Operation::Into(a, b)
            | Operation::Product(a, b) => (Some(a), Some(b)),
        };
        first.into_iter().chain(second).chain(several.iter().copied())
    }
}

#[derive(Copy, Clone, Debug)]
pub(super) enum Step {
    Compute(Slot, Operation),
    Group(u32),
    Check { check: CheckId, needs: Chosen },
}

#[derive(Clone, Debug)]
pub(super) struct GroupPlan {
    pub(super) steps: Vec<(Slot, Operation)>,
    pub(super) variables: Vec<(Slot, Slot)>,
    /// What the members look at outside the group.
    pub(super) inputs: Vec<Slot>,
}

impl GroupPlan {
    /// The members of a group and its variables.
    pub(super) fn slots(&self) -> impl Iterator<Item = Slot> + '_ {
        self.steps.iter().map(|(slot, _)| *slot).chain(self.variables.iter().map(|(variable, _)| *variable))
    }
}

/// A place where an order occurs as part of a relation that must be acyclic: every pair that is in all of `masks` is,
/// once ordered, an edge of `node`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Occurrence {
    pub relation: BaseRelation,
    pub masks: Vec<NodeId>,
    pub node: NodeId,
    /// How much must be chosen for the check of `node` to count.
    pub needs: Chosen,
}

/// See the head of the file.
#[derive(Clone, Debug)]
pub struct Plan {
    slots: Vec<Slot>,
    slot_kinds: Vec<NodeKind>,
    analysis: Arc<Analysis>,
    pub(super) steps: [Vec<Step>; 5],
    pub(super) last: Vec<Step>,
    pub(super) groups: Vec<GroupPlan>,
    /// The operands of unions of several, one after the other.
    pub(super) united: Vec<Slot>,
    pub(super) static_bases: Vec<(Slot, Base)>,
    pub(super) chosen_bases: Vec<(Slot, Base)>,
    /// The slot of `W`, where `FW` is used.
    pub(super) writes: Option<Slot>,
    occurrences: Vec<Occurrence>,
    /// The slots that are looked at from outside, beside those of the checks.
    pub(super) asked: Vec<Slot>,
    prunes_reads_from: Pruning,
}

/// Whether some check can rule out a candidate before all of it is chosen.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Pruning {
    Some,
    None,
}

/// The number of the last list of steps; those before it are the stages.
pub(super) const LAST: usize = Stage::ALL.len();
pub(super) const LISTS: usize = LAST + 1;

impl Plan {
    /// A list of steps, by its number.
    pub(super) fn list(&self, number: usize) -> &[Step] {
        self.steps.get(number).unwrap_or(&self.last)
    }

    pub(super) fn list_mut(&mut self, number: usize) -> &mut Vec<Step> {
        self.steps.get_mut(number).unwrap_or(&mut self.last)
    }

    /// Of the axioms and demands, and of these nodes too.
    pub(super) fn new(model: &Model, roots: &[NodeId], analysis: Arc<Analysis>) -> Plan {
        let mut plan = Plan {
            slots: vec![Slot(u32::MAX); model.nodes.len()],
            slot_kinds: Vec::new(),
            analysis,
            steps: Default::default(),
            last: Vec::new(),
            groups: Vec::new(),
            united: Vec::new(),
            static_bases: Vec::new(),
            chosen_bases: Vec::new(),
            writes: None,
            occurrences: Vec::new(),
            asked: Vec::new(),
            prunes_reads_from: Pruning::None,
        };
        let live = plan.live(model, roots);
        plan.assign_slots(model, &live);
        plan.schedule(model, &live);
        plan.find_occurrences(model);
        let masks = plan.occurrences.iter().flat_map(|occurrence| &occurrence.masks);
        let asked = model.demands.iter().map(|demand| &demand.wanted).chain(roots).chain(masks);
        plan.asked = asked.map(|node| plan.slot(*node)).collect();
        plan
    }

    pub(super) fn slot(&self, node: NodeId) -> Slot {
        self.slots[node.index()]
    }

    pub(super) fn slot_count(&self) -> usize {
        self.slot_kinds.len()
    }

    pub(super) fn kinds(&self) -> impl Iterator<Item = NodeKind> + '_ {
        self.slot_kinds.iter().copied()
    }

    pub fn stage(&self, node: NodeId) -> Stage {
        self.analysis.stages[node.index()]
    }

    /// Whether a larger choice of orders can only add pairs to the node.
    pub fn grows_with_orders(&self, node: NodeId) -> bool {
        self.analysis.polarity[node.index()].shrinks & (CO | SYNC_FENCE) == 0
    }

    /// Whether more of any choice can only add pairs to the node.
    pub fn is_monotone(&self, node: NodeId) -> bool {
        self.analysis.polarity[node.index()].shrinks == 0
    }

    /// Whether some check prunes while reads-from is only partly chosen.
    pub fn prunes_reads_from(&self) -> Pruning {
        self.prunes_reads_from
    }

    pub fn occurrences(&self) -> &[Occurrence] {
        &self.occurrences
    }

    /// How much must be chosen for the check to count; None: all of it.
    fn needs(&self, model: &Model, check: CheckId) -> Option<Chosen> {
        let check = &model.checks[check.index()];
        let polarity = self.analysis.polarity[check.node.index()];
        let shrinks = if check.negated { polarity.grows | polarity.shrinks } else { polarity.shrinks };
        if shrinks == 0 {
            Some(Chosen::Partly)
        } else if shrinks & (CO | SYNC_FENCE) == 0 {
            Some(Chosen::ReadsFrom)
        } else {
            None
        }
    }

    /// Which nodes the axioms and demands need, and which of them only checks that come last need.
    fn live(&self, model: &Model, roots: &[NodeId]) -> Vec<Live> {
        let mut live = vec![Live::NOT; model.nodes.len()];
        for (index, check) in axioms(model) {
            live[check.index()].add(if self.needs(model, index).is_some() { Live::EARLY } else { Live::LAST });
        }
        for node in model.demands.iter().map(|demand| &demand.wanted).chain(roots) {
            live[node.index()].add(Live::EARLY);
        }
        mark(model, &mut live);
        live
    }

    fn assign_slots(&mut self, model: &Model, live: &[Live]) {
        let variables = model.groups.iter().flat_map(|group| &group.variables).map(|(variable, _)| variable.index());
        let mut variables: Vec<usize> = variables.filter(|&index| live[index].is_live()).collect();
        variables.sort_unstable();
        // How much there will be in each list, and no more.
        let (mut counts, mut bases) = ([0; Stage::ALL.len()], 0);
        for (index, node) in model.nodes.iter().enumerate().filter(|(index, _)| live[*index].is_live()) {
            counts[self.analysis.stages[index] as usize] += 1;
            bases += usize::from(matches!(node.operator, Operator::Base(_) | Operator::BaseRelation(_)));
        }
        let checks = model.checks.len();
        self.steps.iter_mut().zip(counts).for_each(|(steps, count)| steps.reserve(count + checks));
        self.static_bases.reserve(bases + 1);
        self.slot_kinds.reserve(counts.iter().sum::<usize>() + 1);
        for index in variables {
            self.slots[index] = self.new_slot(model.nodes[index].kind);
        }
        let mut uses_final = false;
        for (index, node) in model.nodes.iter().enumerate() {
            if !live[index].is_live() {
                continue;
            }
            self.slots[index] = match node.operator {
                Operator::Variable => continue,
                Operator::Plus(operand) if is_coherence(model, operand) => self.slots[operand.index()],
                _ => self.new_slot(node.kind),
            };
            uses_final |= matches!(node.operator, Operator::Base(BaseSet::FinalWrites));
        }
        if uses_final {
            let slot = self.new_slot(NodeKind::Set);
            self.static_bases.push((slot, Base::Set(BaseSet::Tagged(Tag::Write))));
            self.writes = Some(slot);
        }
    }

    /// A union of these, as an operation.
    pub(super) fn unite(&mut self, slots: &[Slot]) -> Operation {
        let from = self.united.len() as u32;
        self.united.extend(slots);
        Operation::Unions(Part { from, to: self.united.len() as u32 })
    }

    fn new_slot(&mut self, kind: NodeKind) -> Slot {
        self.slot_kinds.push(kind);
        Slot(self.slot_kinds.len() as u32 - 1)
    }

    fn schedule(&mut self, model: &Model, live: &[Live]) {
        let analysis = Arc::clone(&self.analysis);
        let in_group = &analysis.groups;
        // A node of a recursive group has its value once the group has run.
        let ready =
            |node: NodeId| in_group[node.index()].map_or(node.index(), |group| model.groups[group].last.index());
        // The axioms by the node after which they can be judged.
        let mut due: Vec<(usize, CheckId, NodeId)> =
            axioms(model).map(|(check, node)| (ready(node), check, node)).collect();
        due.shared_sort();
        let mut ending: Vec<(usize, usize)> =
            model.groups.iter().enumerate().map(|(group, source)| (source.last.index(), group)).collect();
        ending.shared_sort();
        ending.dedup_by_key(|(last, _)| *last);
        let (mut due, mut ending) = (due.as_slice(), ending.as_slice());
        // Most nodes are none that something waits for: the next one is compared, and not looked up.
        let after = |due: &[(usize, CheckId, NodeId)], ending: &[(usize, usize)]| {
            let due = due.first().map_or(usize::MAX, |(at, ..)| *at);
            ending.first().map_or(due, |(at, _)| due.min(*at))
        };
        let mut next = after(due, ending);
        for index in 0..model.nodes.len() {
            if live[index].is_live() && in_group[index].is_none() {
                let (slot, stage) = (self.slots[index], analysis.stages[index]);
                match &model.nodes[index].operator {
                    Operator::Base(set) => self.base(slot, stage, Base::Set(*set)),
                    Operator::BaseRelation(relation) => self.base(slot, stage, Base::Relation(*relation)),
                    Operator::Plus(operand) if is_coherence(model, *operand) => {}
                    operator => {
                        // Nodes that only the last checks need, and that the orders change, wait for the end.
                        let late = live[index] == Live::LAST && stage >= Stage::Fences;
                        let step = Step::Compute(slot, self.operation(model, operator));
                        self.push(stage, late, step);
                    }
                }
            }
            if index < next {
                continue;
            }
            if let Some((&(_, group), rest)) = ending.split_first().filter(|((last, _), _)| *last == index) {
                ending = rest;
                self.plan_group(model, group, in_group, live);
            }
            while let Some((&(_, check, node), rest)) = due.split_first().filter(|((at, ..), _)| *at == index) {
                due = rest;
                match self.needs(model, check) {
                    Some(needs) => {
                        if needs == Chosen::Partly && analysis.stages[node.index()] > Stage::Static {
                            self.prunes_reads_from = Pruning::Some;
                        }
                        self.push(analysis.stages[node.index()], false, Step::Check { check, needs });
                    }
                    None => self.last.push(Step::Check { check, needs: Chosen::ReadsFrom }),
                }
            }
            next = after(due, ending);
        }
    }

    fn push(&mut self, stage: Stage, late: bool, step: Step) {
        if late {
            self.last.push(step);
        } else {
            self.steps[stage as usize].push(step);
        }
    }

    fn base(&mut self, slot: Slot, stage: Stage, base: Base) {
        if stage == Stage::Static {
            self.static_bases.push((slot, base));
        } else {
            self.chosen_bases.push((slot, base));
        }
    }

    /// The members that depend on the group's variables; the group runs where its last node stands.
    fn plan_group(&mut self, model: &Model, group: usize, in_group: &[Option<usize>], live: &[Live]) {
        let source = &model.groups[group];
        let members = (source.first.index()..=source.last.index())
            .filter(|&index| live[index].is_live() && in_group[index] == Some(group))
            .filter(|&index| !matches!(model.nodes[index].operator, Operator::Variable));
        let members: Vec<usize> = members.collect();
        let Some(&any) = members.first() else { return };
        let steps =
            members.iter().map(|&index| (self.slots[index], self.operation(model, &model.nodes[index].operator)));
        let steps: Vec<(Slot, Operation)> = steps.collect();
        let variables = source.variables.iter().filter(|(variable, _)| live[variable.index()].is_live());
        let variables: Vec<(Slot, Slot)> =
            variables.map(|(variable, body)| (self.slot(*variable), self.slot(*body))).collect();
        let own =
            |slot: &Slot| steps.iter().any(|(own, _)| own == slot) || variables.iter().any(|(own, _)| own == slot);
        let inputs =
            steps.iter().flat_map(|(_, operation)| operation.operands(&[])).filter(|slot| !own(slot)).collect();
        self.groups.push(GroupPlan { steps, variables, inputs });
        let late = members.iter().all(|&index| live[index] == Live::LAST) && self.analysis.stages[any] >= Stage::Fences;
        let number = self.groups.len() as u32 - 1;
        self.push(self.analysis.stages[any], late, Step::Group(number));
    }

    fn operation(&self, model: &Model, operator: &Operator) -> Operation {
        let slot = |node: &NodeId| self.slots[node.index()];
        match operator {
            Operator::SetUnion(a, b) | Operator::Union(a, b) => Operation::Union(slot(a), slot(b)),
            Operator::SetIntersection(a, b) | Operator::Intersection(a, b) => Operation::Intersection(slot(a), slot(b)),
            Operator::SetDifference(a, b) | Operator::Difference(a, b) => Operation::Difference(slot(a), slot(b)),
            Operator::SetComplement(a) | Operator::Complement(a) => Operation::Complement(slot(a)),
            Operator::Domain(a) => Operation::Domain(slot(a)),
            Operator::Range(a) => Operation::Range(slot(a)),
            Operator::Sequence(a, b) => match (identity_of(model, *a), identity_of(model, *b)) {
                (Some(set), _) => Operation::From(slot(&set), slot(b)),
                (None, Some(set)) => Operation::Into(slot(a), slot(&set)),
                (None, None) => Operation::Sequence(slot(a), slot(b)),
            },
            Operator::Inverse(a) => Operation::Inverse(slot(a)),
            Operator::Plus(a) => Operation::Plus(slot(a)),
            Operator::Star(a) => Operation::Star(slot(a)),
            Operator::Optional(a) => Operation::Optional(slot(a)),
            Operator::Identity(a) => Operation::Identity(slot(a)),
            Operator::Product(a, b) => Operation::Product(slot(a), slot(b)),
            Operator::EmptySet
            | Operator::EmptyRelation
            | Operator::Base(_)
            | Operator::BaseRelation(_)
            | Operator::Variable => Operation::Empty,
        }
    }

    /// See [`Occurrence`].
    fn find_occurrences(&mut self, model: &Model) {
        let mut found = Vec::new();
        for (index, node) in axioms(model) {
            let check = &model.checks[index.index()];
            let Some(needs) = self.needs(model, index) else { continue };
            if check.kind == CheckKind::Acyclic && !check.negated {
                let mut places = Vec::new();
                self.collect_occurrences(model, node, &mut Vec::new(), &mut places);
                let occurrence = |(relation, masks)| Occurrence { relation, masks, node, needs };
                found.extend(places.into_iter().map(occurrence));
            }
        }
        self.occurrences = found;
    }

    fn collect_occurrences(
        &self,
        model: &Model,
        at: NodeId,
        masks: &mut Vec<NodeId>,
        found: &mut Vec<(BaseRelation, Vec<NodeId>)>,
    ) {
        match &model.nodes[at.index()].operator {
            Operator::BaseRelation(relation @ (BaseRelation::Co | BaseRelation::SyncFence)) => {
                found.push((*relation, masks.clone()));
            }
            Operator::Union(a, b) => {
                self.collect_occurrences(model, *a, masks, found);
                self.collect_occurrences(model, *b, masks, found);
            }
            Operator::Plus(a) | Operator::Optional(a) => self.collect_occurrences(model, *a, masks, found),
            Operator::Intersection(a, b) => {
                for (inner, mask) in [(*a, *b), (*b, *a)] {
                    if self.stage(mask) < Stage::Fences {
                        masks.push(mask);
                        self.collect_occurrences(model, inner, masks, found);
                        masks.pop();
                    }
                }
            }
            _ => {}
        }
    }
}

/// The checks that rule executions out, with their nodes.
fn axioms(model: &Model) -> impl Iterator<Item = (CheckId, NodeId)> + '_ {
    let checks = model.checks.iter().enumerate();
    checks.filter(|(_, check)| check.role == CheckRole::Axiom).map(|(index, check)| (CheckId(index as u32), check.node))
}

/// `co+` is `co`: engines keep coherence transitively closed.
fn is_coherence(model: &Model, node: NodeId) -> bool {
    matches!(model.nodes[node.index()].operator, Operator::BaseRelation(BaseRelation::Co))
}

/// `[S]`: the node of S.
fn identity_of(model: &Model, node: NodeId) -> Option<NodeId> {
    match &model.nodes[node.index()].operator {
        Operator::Identity(set) => Some(*set),
        _ => None,
    }
}

/// What the computation of a node reads: its operands, except that a mask reads the set and not `[set]`.
fn reads(model: &Model, operator: &Operator) -> [Option<NodeId>; 2] {
    match operator {
        Operator::Sequence(a, b) => match (identity_of(model, *a), identity_of(model, *b)) {
            (Some(set), _) => [Some(set), Some(*b)],
            (None, Some(set)) => [Some(*a), Some(set)],
            (None, None) => [Some(*a), Some(*b)],
        },
        other => operands(other),
    }
}

/// Who needs a node.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
struct Live(u8);

impl Live {
    const NOT: Live = Live(0);
    /// Checks that come last, and nothing else.
    const LAST: Live = Live(1);
    /// Something that is looked at while choices are made.
    const EARLY: Live = Live(3);

    fn add(&mut self, other: Live) {
        self.0 |= other.0;
    }

    fn is_live(self) -> bool {
        self != Live::NOT
    }
}

/// Closes a set of nodes under what their computation reads; a variable needs all bodies of its group.
fn mark(model: &Model, live: &mut [Live]) {
    loop {
        // Operands come before their users, so one pass is enough where no variable is read.
        for (index, node) in model.nodes.iter().enumerate().rev() {
            let by = live[index];
            if by.is_live() {
                let [first, second] = reads(model, &node.operator);
                first.iter().for_each(|node| live[node.index()].add(by));
                second.iter().for_each(|node| live[node.index()].add(by));
            }
        }
        let mut changed = false;
        for group in &model.groups {
            let mut by = Live::NOT;
            group.variables.iter().for_each(|(variable, _)| by.add(live[variable.index()]));
            for node in group.variables.iter().flat_map(|(variable, body)| [variable, body]) {
                let before = live[node.index()];
                live[node.index()].add(by);
                changed |= live[node.index()] != before;
            }
        }
        if !changed {
            return;
        }
    }
}

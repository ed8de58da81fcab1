//! The finished graph to a [`Model`]: demands read off, dead nodes dropped, nodes in evaluation order.
//!
//! Operands come before their users. A recursive group is contiguous: its variables, then the nodes of its bodies that
//! depend on them, and nothing else, so that an engine repeats no more than it must.

use fencepost_syntax::Source;
use fencepost_syntax::cat::{CheckKind, CheckRole};
use fencepost_syntax::short::ShortText;

use crate::evaluate::Plans;
use crate::model::analysis::demand::Reader;
use crate::model::analysis::polarity::{Polarity, polarities};
use crate::model::compile::graph::{Graph, Place, operands, with_operands};
use crate::model::ir::{
    Check, CheckId, Coherence, Demand, DemandedRelation, Model, Node, NodeId, Operator, Reading, RecursiveGroup,
    Unrecognised,
};

/// A check whose node is still in the graph under construction.
#[derive(Clone, Debug)]
pub(crate) struct DraftCheck {
    pub(crate) role: CheckRole,
    pub(crate) negated: bool,
    pub(crate) kind: CheckKind,
    pub(crate) node: NodeId,
    pub(crate) name: Option<String>,
    pub(crate) place: Place,
}

pub(crate) struct Draft {
    pub(crate) name: String,
    pub(crate) features: Vec<String>,
    pub(crate) readings: Vec<Reading>,
    pub(crate) graph: Graph,
    pub(crate) checks: Vec<DraftCheck>,
    pub(crate) shown: Vec<(String, NodeId)>,
    pub(crate) declared_coherence: Option<Coherence>,
    pub(crate) files: Vec<Source>,
}

pub(crate) fn lay_out(mut draft: Draft) -> Model {
    let polarity = graph_polarities(&draft.graph);
    let coherence = draft.declared_coherence.clone().unwrap_or_else(|| derived_coherence(&draft.checks, &polarity));
    let (demands, unrecognised) = read_demands(&mut draft, &polarity, &coherence);
    let polarity = if demands.is_empty() { polarity } else { graph_polarities(&draft.graph) };
    let roots = draft.checks.iter().map(|check| check.node);
    let roots = roots.chain(draft.shown.iter().map(|(_, node)| *node)).chain(demands.iter().map(|found| found.wanted));
    let order = Order::new(&draft.graph, roots.collect());
    let new = |old: NodeId| order.new_ids[old.index()].expect("invariant: operands of live nodes are live");
    let nodes = order.nodes.iter().map(|&old| {
        let node = draft.graph.node(old);
        Node {
            operator: with_operands(&node.operator, new),
            kind: node.kind,
            name: node.name.as_ref().map(|naming| ShortText::from(&naming.name)),
            file: node.place.file,
            span: node.place.span,
            depends: polarity[old.index()].depends(),
        }
    });
    let groups = order.groups.iter().map(|&(group, first, last)| RecursiveGroup {
        first,
        last,
        variables: draft.graph.groups[group].variables.iter().map(|&(v, body)| (new(v), new(body))).collect(),
    });
    Model {
        name: draft.name,
        nodes: nodes.collect(),
        groups: groups.collect(),
        checks: name_checks(&draft.checks, new),
        shown: draft.shown.iter().map(|(name, node)| (name.clone(), new(*node))).collect(),
        coherence,
        demands: demands.into_iter().map(|demand| Demand { wanted: new(demand.wanted), ..demand }).collect(),
        unrecognised,
        features: draft.features,
        readings: draft.readings,
        files: draft.files,
        plans: Plans::default(),
    }
}

fn graph_polarities(graph: &Graph) -> Vec<Polarity> {
    let operators: Vec<&Operator> = graph.nodes.iter().map(|node| &node.operator).collect();
    let variables: Vec<_> = graph.groups.iter().flat_map(|group| group.variables.iter().copied()).collect();
    polarities(&operators, &variables)
}

fn check_polarity(check: &DraftCheck, polarity: &[Polarity]) -> Polarity {
    let plain = polarity[check.node.index()];
    if check.negated { plain.flipped() } else { plain }
}

/// A model with an axiom that coherence edges can satisfy demands them: nothing else in it says that there are any.
fn derived_coherence(checks: &[DraftCheck], polarity: &[Polarity]) -> Coherence {
    let axioms = checks.iter().filter(|check| check.role == CheckRole::Axiom);
    let mut negative = axioms.filter(|check| check_polarity(check, polarity).co.negative);
    if negative.next().is_some() { Coherence::Partial } else { Coherence::Total }
}

fn read_demands(draft: &mut Draft, polarity: &[Polarity], coherence: &Coherence) -> (Vec<Demand>, Vec<Unrecognised>) {
    let mut demands = Vec::new();
    let mut unrecognised = Vec::new();
    let dependence = |relation: DemandedRelation| {
        let uses = polarity.iter().map(|polarity| match relation {
            DemandedRelation::Co => polarity.co.occurs(),
            DemandedRelation::SyncFence => polarity.sync_fence.negative || polarity.sync_fence.positive,
        });
        uses.collect::<Vec<bool>>()
    };
    let uses_co = dependence(DemandedRelation::Co);
    for (index, check) in draft.checks.iter().enumerate() {
        let used = match check.role {
            CheckRole::Axiom | CheckRole::Flag => check_polarity(check, polarity),
            // These tell of the executions for which the check fails, which more edges may make it do.
            CheckRole::UndefinedUnless | CheckRole::Assert => check_polarity(check, polarity).flipped(),
        };
        let is_plain = check.role == CheckRole::Axiom && !check.negated && check.kind == CheckKind::Empty;
        let relation = if used.co.negative {
            DemandedRelation::Co
        } else if used.sync_fence.negative {
            DemandedRelation::SyncFence
        } else {
            continue;
        };
        // The wanted side may itself use sync_fence (through causality), so only its bare occurrence is looked for.
        let uses = match relation {
            DemandedRelation::Co => uses_co.clone(),
            DemandedRelation::SyncFence => bare_sync_fence(&draft.graph),
        };
        let mut reader = Reader { graph: &mut draft.graph, relation, place: check.place, uses: &uses };
        let found = if is_plain { reader.demands(check.node) } else { None };
        match found {
            Some(found) => demands.extend(found.into_iter().map(|demand| Demand {
                check: CheckId(index as u32),
                wanted: demand.wanted,
                direction: demand.direction,
                relation,
            })),
            None if relation == DemandedRelation::Co && *coherence == Coherence::Partial => {
                unrecognised.push(Unrecognised {
                    file: check.place.file,
                    span: check.place.span,
                    message: unrecognised_message(check.role).to_owned(),
                });
            }
            None => {}
        }
    }
    (demands, unrecognised)
}

fn unrecognised_message(role: CheckRole) -> &'static str {
    match role {
        CheckRole::Axiom => {
            "over partial coherence, an axiom may subtract `co` only as `empty E \\ co` or `empty E \\ (co | co^-1)`, \
             where `E` does not depend on `co`"
        }
        // The engines keep coherence as small as the axioms let it be, and would miss it.
        _ => "over partial coherence, a check that only marks executions must not need edges of `co` to do so",
    }
}

/// The nodes made of `sync_fence` by union, inversion and difference alone.
fn bare_sync_fence(graph: &Graph) -> Vec<bool> {
    let mut bare = vec![false; graph.nodes.len()];
    for index in 0..bare.len() {
        let operator = graph.operator(NodeId(index as u32));
        bare[index] = match *operator {
            Operator::BaseRelation(crate::model::ir::BaseRelation::SyncFence) => true,
            Operator::Difference(_, b) => bare[b.index()],
            Operator::Union(a, b) | Operator::Intersection(a, b) => bare[a.index()] || bare[b.index()],
            Operator::Inverse(a) => bare[a.index()],
            _ => false,
        };
    }
    bare
}

fn name_checks(checks: &[DraftCheck], new: impl Fn(NodeId) -> NodeId) -> Vec<Check> {
    let mut counts = [0_u32; 4];
    let named = checks.iter().map(|check| {
        let (slot, word) = match check.role {
            CheckRole::Axiom => (0, "axiom"),
            CheckRole::Flag => (1, "flag"),
            CheckRole::UndefinedUnless => (2, "undefined"),
            CheckRole::Assert => (3, "assert"),
        };
        counts[slot] += 1;
        let number = counts[slot];
        Check {
            role: check.role,
            negated: check.negated,
            kind: check.kind,
            node: new(check.node),
            name: check.name.clone().unwrap_or_else(|| format!("{word} {number}")),
            file: check.place.file,
            span: check.place.span,
        }
    });
    named.collect()
}

/// The live nodes in evaluation order.
struct Order {
    nodes: Vec<NodeId>,
    new_ids: Vec<Option<NodeId>>,
    /// Which group, and its first and last node.
    groups: Vec<(usize, NodeId, NodeId)>,
}

/// What is placed at once: a node on its own, or a recursive group.
#[derive(Copy, Clone)]
enum Unit {
    Node(NodeId),
    Group(usize),
}

impl Order {
    fn new(graph: &Graph, roots: Vec<NodeId>) -> Order {
        let members: Vec<Vec<NodeId>> = (0..graph.groups.len()).map(|group| group_members(graph, group)).collect();
        let mut group_of = vec![None; graph.nodes.len()];
        for (group, members) in members.iter().enumerate() {
            for member in members {
                group_of[member.index()] = Some(group);
            }
        }
        let mut order = Order { nodes: Vec::new(), new_ids: vec![None; graph.nodes.len()], groups: Vec::new() };
        let mut entered = vec![false; graph.nodes.len()];
        // Depth first, with a stack of our own: definitions can be many thousands deep.
        let mut stack: Vec<(NodeId, bool)> = roots.into_iter().rev().map(|root| (root, false)).collect();
        while let Some((node, done)) = stack.pop() {
            let unit = group_of[node.index()].map_or(Unit::Node(node), Unit::Group);
            if done {
                order.place(unit, &members);
                continue;
            }
            if std::mem::replace(&mut entered[node.index()], true) {
                continue;
            }
            stack.push((node, true));
            match unit {
                Unit::Node(node) => stack.extend(operands(graph.operator(node)).map(|operand| (operand, false))),
                Unit::Group(group) => {
                    for member in &members[group] {
                        entered[member.index()] = true;
                        let outside = operands(graph.operator(*member));
                        let outside = outside.filter(|operand| group_of[operand.index()] != Some(group));
                        stack.extend(outside.map(|operand| (operand, false)));
                    }
                }
            }
        }
        order
    }

    fn place(&mut self, unit: Unit, members: &[Vec<NodeId>]) {
        let first = NodeId(self.nodes.len() as u32);
        match unit {
            Unit::Node(node) => self.push(node),
            Unit::Group(group) => {
                for &member in &members[group] {
                    self.push(member);
                }
                let last = NodeId(self.nodes.len() as u32 - 1);
                self.groups.push((group, first, last));
            }
        }
    }

    fn push(&mut self, node: NodeId) {
        self.new_ids[node.index()] = Some(NodeId(self.nodes.len() as u32));
        self.nodes.push(node);
    }
}

/// The variables of a group, then the nodes that its bodies need and that depend on them.
fn group_members(graph: &Graph, group: usize) -> Vec<NodeId> {
    let group = &graph.groups[group];
    let mut depends = vec![false; graph.nodes.len()];
    for (variable, _) in &group.variables {
        depends[variable.index()] = true;
    }
    for index in 0..depends.len() {
        let below = operands(graph.operator(NodeId(index as u32))).any(|operand| depends[operand.index()]);
        depends[index] |= below;
    }
    let mut member = vec![false; graph.nodes.len()];
    let mut open: Vec<NodeId> = group.variables.iter().map(|&(_, body)| body).collect();
    while let Some(node) = open.pop() {
        if depends[node.index()] && !std::mem::replace(&mut member[node.index()], true) {
            open.extend(operands(graph.operator(node)));
        }
    }
    let variables: Vec<NodeId> = group.variables.iter().map(|&(variable, _)| variable).collect();
    let others = (0..graph.nodes.len() as u32).map(NodeId);
    let others = others.filter(|node| member[node.index()] && !variables.contains(node));
    variables.iter().copied().chain(others.collect::<Vec<_>>()).collect()
}

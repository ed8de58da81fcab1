//! Instructions with `.aligned` where the text alone shows that only some lanes of a warp execute them: under the predicate of
//! `elect.sync`, or of a comparison of `%laneid` that not all lanes answer alike. All threads of the warp must execute such an
//! instruction together (PTX ISA 9.7.15.1, 9.7.17, 9.7.18), or the behaviour is undefined.
//!
//! A thread of a test is alone in its warp, so nothing else of a test tells lanes apart: conditions on `%tid` choose threads,
//! each with a warp of its own. What is not sure is not told: a predicate counts where every way to the place made it so, and
//! behind a branch only what the other side never reaches.

use fencepost_syntax::instruction::{Instruction, Operand};
use fencepost_syntax::litmus::Statement;
use fencepost_syntax::sorted::SortedMap;

use crate::lower::findings::Findings;
use crate::program::lint::LintKind;
use crate::sections;
use crate::table::modifier::spelled;

const LANES: std::ops::Range<i128> = 0..32;
/// Longer texts are not looked at.
const LONGEST: usize = 4_000;

/// What a register holds.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Holds {
    /// The lane's number.
    Lane,
    /// True in some lanes and false in others.
    Split,
    /// True in some lanes only, or in none.
    Some,
}

type State = SortedMap<String, Holds>;

pub(crate) fn collect(body: &[Statement], findings: &mut Findings) {
    if body.len() > LONGEST || !body.iter().filter_map(instruction).any(tells_lanes) {
        return;
    }
    let flow = Flow::new(body);
    let states = flow.states();
    for (at, statement) in body.iter().enumerate() {
        let Some(tree) = instruction(statement).filter(|tree| is_aligned(tree)) else { continue };
        let guarded = states[at].as_ref().and_then(|state| chosen(tree, state));
        if guarded.is_some() || flow.is_on_one_side(at, &states) {
            findings.lint(tree.span(), LintKind::Divergent { form: spelled(tree) }, section(tree));
        }
    }
}

fn section(tree: &Instruction) -> &'static str {
    match tree.opcode.node.as_str() {
        "wgmma" => sections::WGMMA,
        "tcgen05" => sections::TCGEN05,
        "barrier" if tree.modifiers.first().is_some_and(|word| word.node == "cluster") => sections::BARRIER_CLUSTER,
        "bar" | "barrier" => sections::BAR,
        _ => sections::INSTRUCTIONS,
    }
}

fn instruction(statement: &Statement) -> Option<&Instruction> {
    match statement {
        Statement::Instruction { instruction, .. } => Some(instruction),
        _ => None,
    }
}

fn tells_lanes(tree: &Instruction) -> bool {
    tree.opcode.node == "elect" || tree.operands.iter().any(|operand| is_lane(&operand.node))
}

fn is_lane(operand: &Operand) -> bool {
    matches!(operand, Operand::Register(name) if name == "%laneid")
}

/// `bar.sync` is `barrier.sync.aligned`; `bar.warp.sync` names its lanes.
fn is_aligned(tree: &Instruction) -> bool {
    let is_bar = tree.opcode.node == "bar" && tree.modifiers.first().is_some_and(|word| word.node != "warp");
    is_bar || tree.modifiers.iter().any(|word| word.node == "aligned")
}

/// What its guard chooses, if that is not all lanes or none.
fn chosen(tree: &Instruction, state: &State) -> Option<Holds> {
    let guard = tree.guard.as_ref()?;
    match state.get(guard.register.node.as_str())? {
        Holds::Split => Some(Holds::Split),
        Holds::Some if !guard.negated => Some(Holds::Some),
        _ => None,
    }
}

/// The ways through a thread.
struct Flow<'t> {
    body: &'t [Statement],
    labels: SortedMap<&'t str, usize>,
}

impl<'t> Flow<'t> {
    fn new(body: &'t [Statement]) -> Flow<'t> {
        let label = |(at, statement): (usize, &'t Statement)| match statement {
            Statement::Label(label) => Some((label.node.as_str(), at)),
            _ => None,
        };
        Flow { body, labels: body.iter().enumerate().filter_map(label).collect() }
    }

    /// Where a branch leads.
    fn target(&self, tree: &Instruction) -> Option<usize> {
        let name = tree.operands.first().filter(|_| tree.opcode.node == "bra")?;
        match &name.node {
            Operand::Symbol(name) => self.labels.get(name.as_str()).copied(),
            _ => None,
        }
    }

    fn successors(&self, at: usize) -> Vec<usize> {
        let next = at + 1;
        let Some(tree) = instruction(&self.body[at]) else { return vec![next] };
        let leaves = matches!(tree.opcode.node.as_str(), "bra" | "ret" | "exit" | "trap");
        let fallthrough = (!leaves || tree.guard.is_some()).then_some(next);
        fallthrough.into_iter().chain(self.target(tree)).collect()
    }

    /// What is known before each statement on every way to it; None where none leads.
    fn states(&self) -> Vec<Option<State>> {
        let mut states: Vec<Option<State>> = vec![None; self.body.len()];
        let mut left = vec![(0, State::new())];
        while let Some((at, state)) = left.pop() {
            let Some(known) = states.get_mut(at) else { continue };
            let merged = match known.as_ref() {
                None => state,
                Some(before) => {
                    before.iter().filter(|(name, holds)| state.get(*name) == Some(holds)).map(pair).collect()
                }
            };
            if known.as_ref() == Some(&merged) {
                continue;
            }
            *known = Some(merged.clone());
            let after = instruction(&self.body[at]).map_or(merged.clone(), |tree| step(tree, merged));
            left.extend(self.successors(at).into_iter().map(|next| (next, after.clone())));
        }
        states
    }

    /// Whether a branch that parts the lanes leads some here and the others never.
    fn is_on_one_side(&self, at: usize, states: &[Option<State>]) -> bool {
        (0..self.body.len()).any(|from| {
            let Some(tree) = instruction(&self.body[from]).filter(|tree| tree.opcode.node == "bra") else {
                return false;
            };
            let Some((state, target)) = states[from].as_ref().zip(self.target(tree)) else { return false };
            let Some(guard) = tree.guard.as_ref() else { return false };
            let (taken, other) = (self.reaches(target, at), self.reaches(from + 1, at));
            match state.get(guard.register.node.as_str()) {
                Some(Holds::Split) => taken != other,
                // Only the side on which it is true has some lanes only.
                Some(Holds::Some) if guard.negated => other && !taken,
                Some(Holds::Some) => taken && !other,
                _ => false,
            }
        })
    }

    fn reaches(&self, from: usize, wanted: usize) -> bool {
        let mut seen = vec![false; self.body.len()];
        let mut left = vec![from];
        while let Some(at) = left.pop() {
            if at == wanted {
                return true;
            }
            if at < seen.len() && !std::mem::replace(&mut seen[at], true) {
                left.extend(self.successors(at));
            }
        }
        false
    }
}

fn pair((name, holds): (&String, &Holds)) -> (String, Holds) {
    (name.clone(), *holds)
}

/// What is known behind an instruction.
fn step(tree: &Instruction, mut state: State) -> State {
    let results = results(tree, &state);
    // Under a guard the register may keep what it held.
    let is_sure = tree.guard.is_none();
    for name in written(tree) {
        state.remove(name);
    }
    if is_sure {
        state.extend(results);
    }
    state
}

/// The registers among the first operands, which are those that an instruction writes.
fn written(tree: &Instruction) -> Vec<&str> {
    let Some(first) = tree.operands.first() else { return Vec::new() };
    let mut left = vec![&first.node];
    let mut found = Vec::new();
    while let Some(operand) = left.pop() {
        match operand {
            Operand::Register(name) => found.push(name.as_str()),
            Operand::Pair(one, other) => left.extend([&one.node, &other.node]),
            Operand::Vector(all) | Operand::List(all) => left.extend(all.iter().map(|one| &one.node)),
            _ => {}
        }
    }
    found
}

fn results(tree: &Instruction, state: &State) -> Vec<(String, Holds)> {
    let Some(first) = tree.operands.first() else { return Vec::new() };
    let (one, other) = match &first.node {
        Operand::Pair(one, other) => (register(&one.node), register(&other.node)),
        operand => (register(operand), None),
    };
    let holds = |at: usize| tree.operands.get(at).and_then(|operand| held(&operand.node, state));
    let named = |name: Option<&str>, holds: Option<Holds>| name.map(str::to_owned).zip(holds);
    match tree.opcode.node.as_str() {
        "elect" => {
            let is_one = matches!(tree.operands.get(1).map(|mask| &mask.node), Some(Operand::Integer(mask)) if mask & (mask - 1) == 0);
            named(other, Some(Holds::Split).filter(|_| !is_one)).into_iter().collect()
        }
        "mov" => named(one, holds(1)).into_iter().collect(),
        "not" => named(one, holds(1).filter(|holds| *holds == Holds::Split)).into_iter().collect(),
        "and" => {
            let some = [holds(1), holds(2)].iter().any(|holds| matches!(holds, Some(Holds::Split | Holds::Some)));
            named(one, some.then_some(Holds::Some)).into_iter().collect()
        }
        "setp" => {
            let split = compared(tree, state);
            let (yes, no) = match tree.modifiers.get(1).map(|word| word.node.as_str()) {
                Some("and") => (split.map(|_| Holds::Some), split.map(|_| Holds::Some)),
                Some("or" | "xor") => (None, None),
                _ => (split, split),
            };
            named(one, yes).into_iter().chain(named(other, no)).collect()
        }
        _ => Vec::new(),
    }
}

fn register(operand: &Operand) -> Option<&str> {
    if let Operand::Register(name) = operand { Some(name) } else { None }
}

fn held(operand: &Operand, state: &State) -> Option<Holds> {
    if is_lane(operand) { Some(Holds::Lane) } else { state.get(register(operand)?).copied() }
}

/// A comparison of the lane's number with a constant that lanes answer differently.
fn compared(tree: &Instruction, state: &State) -> Option<Holds> {
    let [_, left, right, ..] = tree.operands.as_slice() else { return None };
    let Operand::Integer(limit) = right.node else { return None };
    (held(&left.node, state)? == Holds::Lane).then_some(())?;
    let comparison = tree.modifiers.first()?.node.as_str();
    let holds = |lane: i128| match comparison {
        "eq" => lane == limit,
        "ne" => lane != limit,
        "lt" | "lo" => lane < limit,
        "le" | "ls" => lane <= limit,
        "gt" | "hi" => lane > limit,
        _ => lane >= limit,
    };
    let is_known = ["eq", "ne", "lt", "lo", "le", "ls", "gt", "hi", "ge", "hs"].contains(&comparison);
    let yes = LANES.filter(|lane| holds(*lane)).count();
    (is_known && yes > 0 && yes < LANES.count()).then_some(Holds::Split)
}

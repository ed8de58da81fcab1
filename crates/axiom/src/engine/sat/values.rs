//! Values as one-hot finite domains.
//!
//! The domain of a read is the union of the domains of the writes it may read; the domain of a write comes from its
//! expression. The fixed point is cut after as many rounds as there are computed writes: a value that no thread made
//! up travels along an acyclic chain, so it passes each computed write at most once. `None` in a domain is the value
//! that depends on itself (thin air): reads on a potential circle of dependencies may have it, it satisfies every
//! condition, and an execution that uses it is never reported, only remembered. No domain has it where the model has an
//! axiom against it ([`super::thin_air`]).

use fencepost_program::condition::Holds as _;
use fencepost_program::expression::{Expression, Leaf};
use fencepost_program::program::{Condition, Term};
use fencepost_program::unfolding::{BarrierMatching, EventKind, Unfolding};
use fencepost_program::value::Value;
use fencepost_program::{EventId, LocationId, RegisterId, ThreadId};
use fencepost_syntax::litmus::Comparison;
use fencepost_syntax::sorted::{SortedMap, SortedSet};

use crate::base::location_of;

use super::encode::Encoding;
use super::solver::Lit;

/// The writes that a read may take its value from.
type Sources<'e> = &'e [(EventId, Lit)];

/// A value, or thin air.
type Content = Option<Value>;

/// More values than this at one event, or more rows in one table, are refused.
const MOST_VALUES: usize = 2048;
const MOST_ROWS: usize = 1 << 16;

/// The analysis or a table grew too large; the event says where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct TooManyValues {
    pub(super) event: Option<EventId>,
}

pub(super) struct Values {
    domains: SortedMap<EventId, SortedSet<Content>>,
    literals: SortedMap<EventId, Vec<(Content, Lit)>>,
    registers: SortedMap<(ThreadId, RegisterId), Vec<(Content, Lit)>>,
    memory: SortedMap<LocationId, Vec<(Content, Lit)>>,
}

/// The value of an expression where each read's content is given. Barrier results are computed from the matching.
pub(super) fn evaluate(
    unfolding: &Unfolding,
    matching: &BarrierMatching,
    expression: &Expression,
    read: &mut dyn FnMut(EventId) -> Content,
) -> Content {
    expression.evaluate(&mut |leaf| match leaf {
        Leaf::Read(event) => read(event),
        Leaf::BarrierResult(event) => barrier_result(unfolding, matching, event, read),
    })
}

fn barrier_result(
    unfolding: &Unfolding,
    matching: &BarrierMatching,
    event: EventId,
    read: &mut dyn FnMut(EventId) -> Content,
) -> Content {
    let group = matching.groups.iter().find(|group| group.contains(&event))?;
    let reduction = |member: &EventId| match &unfolding.events[member.index()].kind {
        EventKind::Barrier(barrier) => barrier.reduction.as_ref(),
        _ => None,
    };
    let (operation, _) = reduction(&event)?;
    let (mut contributions, mut truths) = (0, 0);
    for (_, predicate) in group.iter().filter_map(reduction) {
        contributions += 1;
        truths += i128::from(evaluate(unfolding, matching, predicate, read)? != Value(0));
    }
    Some(operation.combine(contributions, truths))
}

/// The reads an expression depends on, through barrier results too, each once.
pub(super) fn reads_of(unfolding: &Unfolding, matching: &BarrierMatching, expression: &Expression) -> Vec<EventId> {
    let mut found = SortedSet::new();
    let mut leaves = Vec::new();
    expression.leaves(&mut leaves);
    let mut seen = SortedSet::new();
    while let Some(leaf) = leaves.pop() {
        match leaf {
            Leaf::Read(event) => {
                found.insert(event);
            }
            Leaf::BarrierResult(event) if seen.insert(event) => {
                for member in matching.groups.iter().filter(|group| group.contains(&event)).flatten() {
                    if let EventKind::Barrier(barrier) = &unfolding.events[member.index()].kind
                        && let Some((_, predicate)) = &barrier.reduction
                    {
                        predicate.leaves(&mut leaves);
                    }
                }
            }
            Leaf::BarrierResult(_) => {}
        }
    }
    found.into_iter().collect()
}

fn written(unfolding: &Unfolding, event: EventId) -> Option<&Expression> {
    match &unfolding.events[event.index()].kind {
        EventKind::Write { value, .. } => Some(value),
        _ => None,
    }
}

impl Values {
    /// Computes the domains, and the clauses that tie values to reads-from and traces to their constraints.
    pub(super) fn encode(encoding: &mut Encoding<'_>) -> Result<Values, TooManyValues> {
        let mut values = Values {
            domains: SortedMap::new(),
            literals: SortedMap::new(),
            registers: SortedMap::new(),
            memory: SortedMap::new(),
        };
        values.analyse(encoding)?;
        values.spread_thin_air(encoding);
        values.reads(encoding);
        values.writes(encoding)?;
        values.transfer(encoding);
        values.constraints(encoding)?;
        values.operands(encoding)?;
        Ok(values)
    }

    /// The values an expression may have in the space. Contents of the reads are those of [`Values::analyse`].
    pub(super) fn possible(
        encoding: &Encoding<'_>,
        expression: &Expression,
    ) -> Result<SortedSet<Content>, TooManyValues> {
        let mut values = Values {
            domains: SortedMap::new(),
            literals: SortedMap::new(),
            registers: SortedMap::new(),
            memory: SortedMap::new(),
        };
        values.analyse(encoding)?;
        values.spread_thin_air(encoding);
        let rows = values.rows(encoding.unfolding, &encoding.space.matching, expression, None)?;
        Ok(rows.into_iter().map(|(_, result)| result).collect())
    }

    /// Barrier operands have the values for which the space's matching was computed.
    fn operands(&mut self, encoding: &mut Encoding<'_>) -> Result<(), TooManyValues> {
        for (operand, value) in &encoding.space.operands {
            let rows = self.rows(encoding.unfolding, &encoding.space.matching, operand, None)?;
            for (row, _) in rows.into_iter().filter(|(_, result)| *result != Some(*value)) {
                let clause: Vec<Lit> =
                    row.iter().map(|(read, content)| !self.literal(encoding, *read, *content)).collect();
                encoding.solver.clause(&clause);
            }
        }
        Ok(())
    }

    fn analyse(&mut self, encoding: &Encoding<'_>) -> Result<(), TooManyValues> {
        let (unfolding, matching) = (encoding.unfolding, &encoding.space.matching);
        let mut computed = Vec::new();
        for write in encoding.writes.values().flatten() {
            let Some(expression) = written(unfolding, *write) else { continue };
            match expression {
                Expression::Constant(value) => {
                    self.domains.insert(*write, SortedSet::from([Some(*value)]));
                }
                _ => {
                    self.domains.insert(*write, SortedSet::new());
                    computed.push(*write);
                }
            }
        }
        for round in 0..=computed.len() {
            let mut changed = false;
            // Most reads of a location have the same sources: the last list of each, and what it brings.
            let mut last: SortedMap<LocationId, (Sources<'_>, SortedSet<Content>)> = SortedMap::new();
            for (read, sources) in &encoding.sources {
                if encoding.gives_up() {
                    return Ok(());
                }
                let Some(location) = location_of(&unfolding.events[read.index()]) else { continue };
                let same = |known: Sources<'_>| {
                    known.iter().map(|(write, _)| write).eq(sources.iter().map(|(write, _)| write))
                };
                let known = last.get(&location).filter(|(known, _)| same(known));
                let incoming = match known {
                    Some((_, incoming)) => incoming.clone(),
                    None => {
                        // One by one: thousands of writes have few values, and each of them thousands of times.
                        let domains = sources.iter().filter_map(|(write, _)| self.domains.get(write));
                        let mut incoming = SortedSet::new();
                        for content in domains.flatten() {
                            incoming.insert(*content);
                        }
                        last.insert(location, (sources, incoming.clone()));
                        incoming
                    }
                };
                changed |= self.domains.get(read) != Some(&incoming);
                if incoming.len() > MOST_VALUES {
                    return Err(TooManyValues { event: Some(*read) });
                }
                self.domains.insert(*read, incoming);
            }
            // As many rounds have brought every value to every write; the last one is for the reads.
            for write in computed.iter().filter(|_| round < computed.len()) {
                if encoding.gives_up() {
                    return Ok(());
                }
                let expression = written(unfolding, *write).expect("invariant: computed writes have an expression");
                let rows = self.rows(unfolding, matching, expression, Some(*write))?;
                self.domains.insert(*write, rows.into_iter().map(|(_, result)| result).collect());
            }
            if !changed {
                break;
            }
        }
        Ok(())
    }

    /// Reads on a potential circle of value dependencies, and all that depend on them, may have thin air.
    fn spread_thin_air(&mut self, encoding: &Encoding<'_>) {
        if encoding.is_grounded {
            return;
        }
        let (unfolding, matching) = (encoding.unfolding, &encoding.space.matching);
        let mut inputs: SortedMap<EventId, Vec<EventId>> = SortedMap::new();
        for (read, sources) in &encoding.sources {
            inputs.insert(*read, sources.iter().map(|(write, _)| *write).collect());
        }
        for write in encoding.writes.values().flatten() {
            let reads = written(unfolding, *write).map(|value| reads_of(unfolding, matching, value));
            inputs.insert(*write, reads.unwrap_or_default());
        }
        // Peel what depends on nothing left; the rest is on a circle or depends on one.
        let mut left: SortedSet<EventId> = inputs.keys().copied().collect();
        while !encoding.gives_up() {
            let grounded: Vec<EventId> =
                left.iter().copied().filter(|event| inputs[event].iter().all(|input| !left.contains(input))).collect();
            if grounded.is_empty() {
                break;
            }
            grounded.iter().for_each(|event| {
                left.remove(event);
            });
        }
        for event in left {
            self.domains.entry(event).or_default().insert(None);
        }
    }

    /// All contents of the reads of an expression, with the result for each.
    #[expect(clippy::type_complexity, reason = "a table: assignments to reads, and the result")]
    fn rows(
        &self,
        unfolding: &Unfolding,
        matching: &BarrierMatching,
        expression: &Expression,
        event: Option<EventId>,
    ) -> Result<Vec<(Vec<(EventId, Content)>, Content)>, TooManyValues> {
        let reads = reads_of(unfolding, matching, expression);
        let mut assignments: Vec<Vec<(EventId, Content)>> = vec![Vec::new()];
        for read in &reads {
            let domain = self.domains.get(read).cloned().unwrap_or_default();
            if assignments.len().saturating_mul(domain.len()) > MOST_ROWS {
                return Err(TooManyValues { event });
            }
            let extended = assignments.iter().flat_map(|row| {
                domain.iter().map(move |content| row.iter().copied().chain([(*read, *content)]).collect())
            });
            assignments = extended.collect();
        }
        let result = |row: &[(EventId, Content)]| {
            evaluate(unfolding, matching, expression, &mut |read| {
                row.iter().find(|(event, _)| *event == read).and_then(|(_, content)| *content)
            })
        };
        Ok(assignments.into_iter().map(|row| (row.clone(), result(&row))).collect())
    }

    fn literal(&self, encoding: &Encoding<'_>, event: EventId, content: Content) -> Lit {
        let found = self.literals.get(&event).and_then(|list| list.iter().find(|(value, _)| *value == content));
        found.map_or(encoding.solver.no(), |(_, literal)| *literal)
    }

    /// One literal per content, at most one true, one of them if `occurs`.
    fn one_hot(encoding: &mut Encoding<'_>, domain: &SortedSet<Content>, occurs: Lit) -> Vec<(Content, Lit)> {
        let mut contents = domain.iter();
        if let (Some(only), None) = (contents.next(), contents.next()) {
            return vec![(*only, encoding.solver.yes())];
        }
        let list: Vec<(Content, Lit)> = domain.iter().map(|content| (*content, encoding.solver.fresh())).collect();
        let mut literals: Vec<Lit> = Vec::with_capacity(list.len() + 1);
        literals.extend(list.iter().map(|(_, literal)| *literal));
        encoding.solver.at_most_one(&literals);
        literals.push(!occurs);
        encoding.solver.clause(&literals);
        list
    }

    fn reads(&mut self, encoding: &mut Encoding<'_>) {
        let (sources, nothing) = (std::mem::take(&mut encoding.sources), SortedSet::new());
        for (read, sources) in &sources {
            if encoding.gives_up() {
                break;
            }
            let occurs = encoding.executed[read.index()];
            let domain = self.domains.get(read).unwrap_or(&nothing);
            let list = match told_by_source(encoding.unfolding, sources, domain) {
                Some(list) => list,
                None => Values::one_hot(encoding, domain, occurs),
            };
            self.literals.insert(*read, list);
        }
        encoding.sources = sources;
    }

    fn writes(&mut self, encoding: &mut Encoding<'_>) -> Result<(), TooManyValues> {
        let writes: Vec<EventId> = encoding.writes.values().flatten().copied().collect();
        for write in writes {
            if encoding.gives_up() {
                return Ok(());
            }
            let expression = written(encoding.unfolding, write).expect("invariant: a write has an expression");
            let occurs = encoding.executed[write.index()];
            let list = match expression {
                Expression::Constant(value) => vec![(Some(*value), encoding.solver.yes())],
                Expression::Read(read) => self.literals.get(read).cloned().unwrap_or_default(),
                _ => {
                    let domain = self.domains.get(&write).cloned().unwrap_or_default();
                    let list = Values::one_hot(encoding, &domain, occurs);
                    self.table(encoding, expression, &[occurs], &list, Some(write))?;
                    list
                }
            };
            self.literals.insert(write, list);
        }
        Ok(())
    }

    /// Under the premises, the literals of `list` say the value of the expression.
    fn table(
        &self,
        encoding: &mut Encoding<'_>,
        expression: &Expression,
        premises: &[Lit],
        list: &[(Content, Lit)],
        event: Option<EventId>,
    ) -> Result<(), TooManyValues> {
        for (row, result) in self.rows(encoding.unfolding, &encoding.space.matching, expression, event)? {
            let mut clause: Vec<Lit> = premises.iter().map(|premise| !*premise).collect();
            clause.extend(row.iter().map(|(read, content)| !self.literal(encoding, *read, *content)));
            clause.extend(list.iter().find(|(content, _)| *content == result).map(|(_, literal)| *literal));
            encoding.solver.clause(&clause);
        }
        Ok(())
    }

    /// A read has the value of the write it reads.
    fn transfer(&mut self, encoding: &mut Encoding<'_>) {
        let sources = std::mem::take(&mut encoding.sources);
        for (read, sources) in &sources {
            if encoding.gives_up() {
                break;
            }
            for (write, source) in sources {
                for (content, literal) in self.literals.get(write).into_iter().flatten() {
                    let same = self.literal(encoding, *read, *content);
                    if same != *source {
                        encoding.solver.clause(&[!*source, !*literal, same]);
                    }
                }
            }
        }
        encoding.sources = sources;
    }

    /// A trace is only taken if its constraints hold.
    fn constraints(&mut self, encoding: &mut Encoding<'_>) -> Result<(), TooManyValues> {
        for trace in encoding.space.traces.iter().flatten() {
            let taken = encoding.taken[trace.index()];
            let trace = &encoding.unfolding.traces[trace.index()];
            for constraint in trace.constraints.iter().chain(&trace.assumptions) {
                let rows =
                    self.rows(encoding.unfolding, &encoding.space.matching, constraint, trace.events.last().copied())?;
                for (row, _) in rows.into_iter().filter(|(_, result)| *result == Some(Value(0))) {
                    let literals = row.iter().map(|(read, content)| !self.literal(encoding, *read, *content));
                    let clause: Vec<Lit> = literals.chain([!taken]).collect();
                    encoding.solver.clause(&clause);
                }
            }
        }
        Ok(())
    }

    /// A literal that implies the condition (exactly, but for thin air, which satisfies everything).
    pub(super) fn condition(
        &mut self,
        encoding: &mut Encoding<'_>,
        condition: &Condition,
        wanted: Truth,
    ) -> Result<Lit, TooManyValues> {
        let conjunction =
            matches!((condition, wanted), (Condition::And(_), Truth::Holds) | (Condition::Or(_), Truth::Fails));
        Ok(match condition {
            Condition::True if wanted == Truth::Holds => encoding.solver.yes(),
            Condition::False if wanted == Truth::Fails => encoding.solver.yes(),
            Condition::True | Condition::False => encoding.solver.no(),
            Condition::Not(inner) => self.condition(encoding, inner, wanted.flipped())?,
            Condition::And(parts) | Condition::Or(parts) => {
                let mut literals = Vec::new();
                for part in parts.iter() {
                    literals.push(self.condition(encoding, part, wanted)?);
                }
                if conjunction { encoding.solver.all(&literals) } else { encoding.solver.any(&literals) }
            }
            Condition::Compare { op, left, right } => self.comparison(encoding, *op, left, right, wanted)?,
        })
    }

    fn comparison(
        &mut self,
        encoding: &mut Encoding<'_>,
        op: Comparison,
        left: &Term,
        right: &Term,
        wanted: Truth,
    ) -> Result<Lit, TooManyValues> {
        let (left, right) = (self.term(encoding, left)?, self.term(encoding, right)?);
        let mut ways = Vec::new();
        for (first, first_literal) in &left {
            for (second, second_literal) in &right {
                let holds = match (first, second) {
                    (Some(first), Some(second)) => op.holds(*first, *second) == (wanted == Truth::Holds),
                    _ => true,
                };
                if holds {
                    ways.push(encoding.solver.all(&[*first_literal, *second_literal]));
                }
            }
        }
        Ok(encoding.solver.any(&ways))
    }

    fn term(&mut self, encoding: &mut Encoding<'_>, term: &Term) -> Result<Vec<(Content, Lit)>, TooManyValues> {
        match term {
            Term::Constant(value) => Ok(vec![(Some(*value), encoding.solver.yes())]),
            Term::Register(thread, register) => self.register(encoding, *thread, *register),
            Term::Memory(location) => Ok(self.final_memory(encoding, *location)),
        }
    }

    fn register(
        &mut self,
        encoding: &mut Encoding<'_>,
        thread: ThreadId,
        register: RegisterId,
    ) -> Result<Vec<(Content, Lit)>, TooManyValues> {
        if let Some(list) = self.registers.get(&(thread, register)) {
            return Ok(list.clone());
        }
        let traces = encoding.space.traces.get(thread.index()).cloned().unwrap_or_default();
        let mut ways = Vec::new();
        for trace in &traces {
            let Some(expression) = encoding.unfolding.traces[trace.index()].registers.get(register.index()) else {
                continue;
            };
            ways.push((encoding.taken[trace.index()], expression));
        }
        let list = match ways.as_slice() {
            [(_, Expression::Constant(value))] => vec![(Some(*value), encoding.solver.yes())],
            [(_, Expression::Read(read))] => self.literals.get(read).cloned().unwrap_or_default(),
            _ => {
                let mut domain = SortedSet::new();
                for (_, expression) in &ways {
                    let rows = self.rows(encoding.unfolding, &encoding.space.matching, expression, None)?;
                    domain.extend(rows.into_iter().map(|(_, result)| result));
                }
                let yes = encoding.solver.yes();
                let list = Values::one_hot(encoding, &domain, yes);
                for (taken, expression) in &ways {
                    self.table(encoding, expression, &[*taken], &list, None)?;
                }
                list
            }
        };
        self.registers.insert((thread, register), list.clone());
        Ok(list)
    }

    /// The final value is that of one co-maximal write, whichever.
    fn final_memory(&mut self, encoding: &mut Encoding<'_>, location: LocationId) -> Vec<(Content, Lit)> {
        if let Some(list) = self.memory.get(&location) {
            return list.clone();
        }
        let writes = encoding.writes.get(&location).cloned().unwrap_or_default();
        let last: Vec<Lit> = writes.iter().map(|_| encoding.solver.fresh()).collect();
        encoding.solver.clause(&last);
        encoding.solver.at_most_one(&last);
        let mut domain = SortedSet::new();
        for (write, last) in writes.iter().zip(&last) {
            encoding.solver.implies(*last, encoding.executed[write.index()]);
            encoding.maximal(&[*last], *write);
            domain.extend(self.literals.get(write).into_iter().flatten().map(|(content, _)| *content));
        }
        let yes = encoding.solver.yes();
        let list = Values::one_hot(encoding, &domain, yes);
        for (write, last) in writes.iter().zip(&last) {
            for (content, literal) in self.literals.get(write).cloned().unwrap_or_default() {
                let same =
                    list.iter().find(|(value, _)| *value == content).map_or(encoding.solver.no(), |(_, same)| *same);
                encoding.solver.clause(&[!*last, !literal, same]);
            }
        }
        self.memory.insert(location, list.clone());
        list
    }
}

/// The contents of a read that has each from one write, with what says that it reads from that write: one of them is true
/// where the read occurs. None where a write may bring several values, or two the same.
fn told_by_source(
    unfolding: &Unfolding,
    sources: Sources<'_>,
    domain: &SortedSet<Content>,
) -> Option<Vec<(Content, Lit)>> {
    if domain.len() != sources.len() || domain.len() < 2 {
        return None;
    }
    let mut list = Vec::with_capacity(sources.len());
    for (write, literal) in sources {
        let Some(Expression::Constant(value)) = written(unfolding, *write) else { return None };
        list.push((Some(*value), *literal));
    }
    // In the order of the domain, and each once: as many values from as many writes.
    list.sort_unstable_by_key(|(content, _)| *content);
    list.iter().map(|(content, _)| content).eq(domain.iter()).then_some(list)
}

/// Which answer to a condition is wanted.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Truth {
    Holds,
    Fails,
}

impl Truth {
    fn flipped(self) -> Truth {
        match self {
            Truth::Holds => Truth::Fails,
            Truth::Fails => Truth::Holds,
        }
    }
}

//! The lazy SAT engine: for many threads, wide coherence and long chains, where enumeration drowns.
//!
//! The solver chooses traces, reads-from, coherence and Fence-SC orientations under the constraints of values, filter
//! and condition ([`encode`], [`values`]). The model's axioms are a theory beside it ([`theory`]): a propositional
//! model becomes a candidate, the candidate is evaluated, every violation is explained by the choices it rests on
//! ([`crate::reason`]), and "not all of these" is a clause. When no candidate is left, there is none; a candidate without
//! violation is an execution. After Haas, Meyer and Ponce de León (CAAT, OOPSLA 2022); batsat is restarted with new
//! clauses instead of calling back into the theory, because one evaluation finds many violations at once and the
//! solver's part of the time is small.
//!
//! Which barriers meet is chosen outside ([`barriers`]): one SAT problem per choice of traces and matching.

mod barriers;
mod clause;
mod encode;
mod raised;
mod solver;
mod symmetry;
mod theory;
mod thin_air;
mod values;

use fencepost_program::TraceId;
use fencepost_program::unfolding::{TraceEnd, Traces, Unfolding};
use fencepost_syntax::Span;

use crate::bits::Shape;
use crate::engine::raised::Wanted;
use crate::engine::{Ends, Engine, Exploration, Goal, Limits, Multiplicity, Stop, Visitor, cut};
use crate::model::{BaseSet, Coherence, Model, Operator};
use crate::watch::Watch;

use encode::{Encoding, Space};
use solver::{Answer, Solver, Work};
use theory::{Models, Outcome, Theory};
use values::{TooManyValues, Truth, Values};

/// See the head of the file.
#[derive(Copy, Clone, Debug, Default)]
pub struct Sat;

impl Engine for Sat {
    fn name(&self) -> &'static str {
        "sat"
    }

    fn explore(
        &self,
        unfolding: &Unfolding,
        model: &Model,
        goal: &Goal<'_>,
        limits: &Limits<'_>,
        visit: &mut Visitor<'_>,
    ) -> Exploration {
        explore((unfolding, model, goal), limits, Work::new(limits.work), visit)
    }
}

fn explore(
    (unfolding, model, goal): (&Unfolding, &Model, &Goal<'_>),
    limits: &Limits<'_>,
    work: Work,
    visit: &mut Visitor<'_>,
) -> Exploration {
    if let Some(stop) = refused(model) {
        return Exploration::Incomplete(stop);
    }
    let wanted = match Wanted::new(model, unfolding, goal) {
        Ok(wanted) => wanted,
        Err(stop) => return Exploration::Incomplete(stop),
    };
    if wanted.as_ref().is_some_and(|wanted| !wanted.is_possible) {
        return cut::doubt(unfolding, goal.ends).map_or(Exploration::Complete, Exploration::Incomplete);
    }
    let watch = Watch::new(limits);
    let theory = Theory::new(model, wanted, &watch);
    let mut search = Search { unfolding, model, goal, work, theory, doubt: None, watch: watch.clone() };
    match (search.run(visit), watch.ended()) {
        (Err(exploration @ (Exploration::Stopped | Exploration::Complete)), _) => exploration,
        // Whatever else was found after something was left unfinished is not to be believed.
        (_, Some(stop)) => Exploration::Incomplete(stop),
        (Err(exploration), None) => exploration,
        (Ok(()), None) => {
            let doubt = search.doubt.or_else(|| cut::doubt(unfolding, goal.ends));
            doubt.map_or(Exploration::Complete, Exploration::Incomplete)
        }
    }
}

/// What a round costs beside the solver's decisions, in units of work: reading off a candidate, evaluating the model, and
/// explaining what is wrong, by the size of the matrices.
const ROUND: u64 = 16;
/// Evaluating a model over a matrix of up to this many words costs about the same as over none.
const SMALL_MATRIX: u64 = 32;
/// So many clauses are written down in a unit of work.
const CLAUSES: u64 = 16;

/// What in the model this engine has no method for.
fn refused(model: &Model) -> Option<Stop> {
    if let (Coherence::Partial, Some(unrecognised)) = (&model.coherence, model.unrecognised.first()) {
        return Some(Stop::Unsupported { span: unrecognised.span, what: unrecognised.message.clone() });
    }
    let final_writes = model.nodes.iter().find(|node| node.operator == Operator::Base(BaseSet::FinalWrites))?;
    let what = "`FW` (final writes) in the SAT engine".to_owned();
    Some(Stop::Unsupported { span: final_writes.span, what })
}

struct Search<'a> {
    unfolding: &'a Unfolding,
    model: &'a Model,
    goal: &'a Goal<'a>,
    watch: Watch<'a>,
    work: Work,
    theory: Theory<'a>,
    /// Something that keeps an absence from being a proof.
    doubt: Option<Stop>,
}

impl<'a> Search<'a> {
    fn run(&mut self, visit: &mut Visitor<'_>) -> Result<(), Exploration> {
        // Nothing is written down when it is too late already.
        self.tick()?;
        self.all_spaces(self.goal.ends, &mut |search, space| search.solve(space, visit))?;
        Ok(())
    }

    /// The shape of the largest candidate of a space.
    fn largest(&self, space: &Space) -> Shape {
        let length = |trace: &TraceId| self.unfolding.traces[trace.index()].events.len();
        let longest = |traces: &Traces| traces.iter().map(length).max().unwrap_or(0);
        Shape::new(self.unfolding.locations.len() + space.traces.iter().map(longest).sum::<usize>())
    }

    fn allowed(&self, trace: TraceId, ending: Ends) -> bool {
        match self.unfolding.traces[trace.index()].end {
            TraceEnd::Exit | TraceEnd::NotStarted => true,
            TraceEnd::Spin { .. } | TraceEnd::Blocked { .. } => ending != Ends::Terminating,
            TraceEnd::Bound { .. } | TraceEnd::Wild { .. } => ending == Ends::Cut,
        }
    }

    /// Reports the executions of one space.
    fn solve(&mut self, space: &Space, visit: &mut Visitor<'_>) -> Result<(), Exploration> {
        let matrices = self.theory.memory_for(self.largest(space));
        if self.watch.is_too_much(matrices) {
            return Err(Exploration::Incomplete(Stop::Memory));
        }
        let solver = Solver::new(&self.watch, &self.work);
        let mut encoding = Encoding::new(self.unfolding, self.model, space, solver);
        self.tick()?;
        self.question(&mut encoding)?;
        self.theory.start();
        self.work.spend(encoding.solver.clauses() / CLAUSES);
        loop {
            self.work.spend(ROUND * (self.theory.words() / SMALL_MATRIX).max(1));
            self.tick()?;
            if self.watch.is_too_much(encoding.bytes() + matrices) {
                return Err(Exploration::Incomplete(Stop::Memory));
            }
            match encoding.solver.solve() {
                Answer::Unsatisfiable => return Ok(()),
                Answer::Interrupted => {
                    self.tick()?;
                    return Err(Exploration::Incomplete(Stop::Time));
                }
                Answer::Satisfiable => {}
            }
            let models = if encoding.solver.is_determined() { Models::Last } else { Models::Many };
            let outcome = self.theory.judge(&mut encoding, models);
            if let Some(stop) = self.watch.ended() {
                return Err(Exploration::Incomplete(stop));
            }
            match outcome {
                Outcome::Refuted => {}
                Outcome::ThinAir => self.doubt = Some(Stop::ThinAir),
                Outcome::NotMonotone(check) => {
                    let check = &self.model.checks[check.index()];
                    let what = format!("`{}` over partial coherence: fewer edges violate it", check.name);
                    return Err(Exploration::Incomplete(Stop::Unsupported { span: check.span, what }));
                }
                Outcome::Consistent(execution) => {
                    if visit(&execution).is_break() {
                        return Err(Exploration::Stopped);
                    }
                    theory::block(&mut encoding, &execution);
                }
            }
            if models == Models::Last {
                return Ok(());
            }
        }
    }

    /// Values, filter and condition; and for reachability, one witness of each symmetric set.
    fn question(&self, encoding: &mut Encoding<'_>) -> Result<(), Exploration> {
        let refuse = |too_many| self.too_many(too_many);
        let mut values = Values::encode(encoding).map_err(refuse)?;
        for condition in self.goal.filter.into_iter().chain(self.goal.condition) {
            let literal = values.condition(encoding, condition, Truth::Holds).map_err(refuse)?;
            encoding.solver.clause(&[literal]);
        }
        if self.goal.multiplicity == Multiplicity::First && self.goal.raised.is_none() {
            symmetry::break_symmetry(encoding, self.model, self.goal, &self.watch);
        }
        self.tick()
    }

    fn too_many(&self, too_many: TooManyValues) -> Exploration {
        let span = too_many.event.map_or(Span::default(), |event| self.unfolding.events[event.index()].span);
        let what = "so many possible values that the SAT engine cannot list them".to_owned();
        Exploration::Incomplete(Stop::Unsupported { span, what })
    }

    fn tick(&self) -> Result<(), Exploration> {
        if self.work.is_done() {
            return Err(Exploration::Incomplete(Stop::Work));
        }
        self.watch.is_over();
        self.watch.ended().map_or(Ok(()), |stop| Err(Exploration::Incomplete(stop)))
    }
}

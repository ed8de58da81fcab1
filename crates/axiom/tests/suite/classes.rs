//! Executions up to exchanging threads against all of them: on random programs with threads of the same text, and on families
//! whose numbers are known.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use crate::support::random::Random;
use crate::support::{Subject, front_end};
use fencepost_axiom::engine::enumerate::{Enumerate, explore_classes};
use fencepost_axiom::engine::exchange::{Exchange, Looked};
use fencepost_axiom::engine::{Ends, Engine, Exploration, Goal, Limits, Observed, Stop};
use fencepost_axiom::execution::Execution;
use fencepost_program::LocationId;
use fencepost_program::expression::{Expression, Leaf};
use fencepost_program::program::{Condition, Program, Term};
use fencepost_program::unfolding::{EventKind, Unfolding};
use fencepost_program::value::Value;

const NO_LIMITS: Limits<'static> = Limits { deadline: None, memory: None, cancelled: None, work: None };

/// Programs that take more are not compared.
const MOST_WORK: u64 = 20_000;

/// Final states with the number of executions that end in each.
type States = BTreeMap<Vec<Value>, u64>;

struct Case {
    program: Program,
    unfolding: Unfolding,
    terms: Vec<Term>,
}

impl Case {
    fn new(text: &str) -> Case {
        let (program, unfolding) = front_end(text, 2).expect(text).expect(text);
        let mut terms: Vec<Term> = program.questions.iter().flat_map(|question| question.condition.terms()).collect();
        terms.extend(program.shown.iter().cloned());
        terms.retain(|term| !matches!(term, Term::Constant(_)));
        terms.sort();
        terms.dedup();
        Case { program, unfolding, terms }
    }

    fn conditions(&self) -> Vec<&Condition> {
        let asked = self.program.questions.iter().map(|question| &question.condition);
        asked.chain(self.program.filter.iter().map(|filter| &filter.node)).collect()
    }

    fn exchange(&self) -> Option<Exchange> {
        Exchange::find(&self.unfolding, Looked { terms: &self.terms, conditions: &self.conditions() })
    }

    fn goal<'a>(&'a self, observed: Observed<'a>) -> Goal<'a> {
        let filter = self.program.filter.as_ref().map(|filter| &filter.node);
        Goal { filter, observed, ..Goal::new(Ends::Terminating) }
    }

    /// All, each by itself; None if they are very many.
    fn all(&self, subject: &Subject) -> Option<States> {
        let mut states = States::new();
        let end = Enumerate.explore(
            &self.unfolding,
            subject.model(),
            &self.goal(Observed::Everything),
            &Limits { work: Some(MOST_WORK), ..NO_LIMITS },
            &mut |execution| {
                self.states(execution).into_iter().for_each(|state| *states.entry(state).or_default() += 1);
                ControlFlow::Continue(())
            },
        );
        match end {
            Exploration::Complete => Some(states),
            Exploration::Incomplete(Stop::Work) => None,
            other => panic!("{other:?}"),
        }
    }

    /// By final state that stands for its class: the size of the class, and how many executions end in one of it.
    fn classes(&self, subject: &Subject, exchange: &Exchange) -> Result<BTreeMap<Vec<Value>, (u64, u64)>, Stop> {
        let mut classes: BTreeMap<Vec<Value>, (u64, u64)> = BTreeMap::new();
        let goal = self.goal(Observed::Terms(&self.terms));
        let end = explore_classes(&self.unfolding, subject.model(), &goal, exchange, &NO_LIMITS, &mut |execution| {
            for state in self.states(execution) {
                let class = exchange.class_of(&self.terms, &state).expect("small");
                let entry = classes.entry(class.state).or_insert((class.size, 0));
                assert_eq!(entry.0, class.size);
                entry.1 += execution.weight;
            }
            ControlFlow::Continue(())
        });
        match end {
            Exploration::Complete => Ok(classes),
            Exploration::Incomplete(stop) => Err(stop),
            Exploration::Stopped => panic!("nobody stopped it"),
        }
    }

    /// The final states of an execution: one for each choice of co-maximal writes.
    fn states(&self, execution: &Execution) -> Vec<Vec<Value>> {
        let value = |event| {
            let at = execution.events.binary_search(&event).expect("an event of the execution");
            execution.values[at]
        };
        let mut states = vec![Vec::new()];
        for term in &self.terms {
            let values = match term {
                Term::Constant(value) => vec![*value],
                Term::Register(thread, register) => {
                    let trace = &self.unfolding.traces[execution.traces[thread.index()].index()];
                    let expression: &Expression = &trace.registers[register.index()];
                    let leaf = &mut |leaf| match leaf {
                        Leaf::Read(event) => value(event),
                        Leaf::BarrierResult(_) => None,
                    };
                    vec![expression.evaluate(leaf).expect("a value")]
                }
                Term::Memory(location) => self.last(execution, *location),
            };
            let longer = |state: &Vec<Value>| {
                let state = state.clone();
                values.clone().into_iter().map(move |value| state.iter().copied().chain([value]).collect())
            };
            states = states.iter().flat_map(longer).collect();
        }
        states
    }

    fn last(&self, execution: &Execution, location: LocationId) -> Vec<Value> {
        let mut values = Vec::new();
        for (event, value) in execution.events.iter().zip(&execution.values) {
            let kind = &self.unfolding.events[event.index()].kind;
            let is_here = matches!(kind, EventKind::Write { location: own, .. } if *own == location);
            if is_here && !execution.co.iter().any(|(before, _)| before == event) {
                values.push(value.expect("a value"));
            }
        }
        values.sort();
        values.dedup();
        values
    }
}

/// Whether classes were counted; they must tell what all executions tell.
fn compare(text: &str, subject: &Subject) -> bool {
    let case = Case::new(text);
    let Some(exchange) = case.exchange() else { return false };
    let classes = match case.classes(subject, &exchange) {
        Ok(classes) => classes,
        Err(Stop::Unsupported { .. }) => return false,
        Err(stop) => panic!("{stop:?}\n{text}"),
    };
    let Some(all) = case.all(subject) else { return false };
    let mut members: BTreeMap<Vec<Value>, u64> = BTreeMap::new();
    for (state, &count) in &all {
        let class = exchange.class_of(&case.terms, state).expect("small");
        let (size, executions) = *classes
            .get(&class.state)
            .unwrap_or_else(|| panic!("no class of {state:?} under {}\n{text}", subject.name));
        assert_eq!((size * count, size), (executions, class.size), "{state:?} under {}\n{text}", subject.name);
        *members.entry(class.state).or_default() += 1;
    }
    for (class, size) in &members {
        let alike = exchange.all_like(&case.terms, class).expect("small");
        assert_eq!(alike.len() as u64, *size);
        assert!(alike.iter().all(|state| all.contains_key(state)));
    }
    let sizes: BTreeMap<Vec<Value>, u64> = classes.into_iter().map(|(state, (size, _))| (state, size)).collect();
    assert_eq!(members, sizes, "under {}\n{text}", subject.name);
    true
}

/// A line for each thread of a kind: what is its own has `#` for a number that no other thread has, `%` for one of two.
const X86_LINES: [&[&str]; 9] = [
    &["MOV [x],$#"],
    &["MOV [x],$1"],
    &["MOV EAX,$#", "XCHG [x],EAX"],
    &["MOV EAX,$1", "XCHG [x],EAX"],
    &["MOV EAX,[x]"],
    &["MOV EBX,[y]"],
    &["MOV [y],$#"],
    &["MOV EAX,$1", "LOCK XADD [x],EAX"],
    &["MFENCE"],
];
const PTX_LINES: [&[&str]; 10] = [
    &["st.relaxed.gpu.u32 [x], #"],
    &["st.weak.u32 [x], #"],
    &["st.release.gpu.u32 [y], 1"],
    &["atom.relaxed.gpu.exch.b32 %r0, [x], #"],
    &["atom.relaxed.cta.exch.b32 %r0, [x], 1"],
    &["ld.relaxed.gpu.u32 %r0, [x]"],
    &["ld.acquire.gpu.u32 %r1, [y]"],
    &["st.relaxed.sys.u32 [y], #"],
    &["atom.relaxed.gpu.add.u32 %r0, [x], 1"],
    &["fence.sc.gpu"],
];

/// Up to five threads of up to three kinds.
fn random_text(seed: u64, is_x86: bool) -> String {
    let random = &mut Random::new(seed);
    let lines: &[&[&str]] = if is_x86 { &X86_LINES } else { &PTX_LINES };
    let mut threads: Vec<Vec<String>> = Vec::new();
    let mut next = 1;
    while threads.len() < 2 + random.below(3) {
        let steps: Vec<&[&str]> = (0..1 + random.below(2)).map(|_| random.pick(lines)).collect();
        let copies = (1 + random.below(4)).min(5 - threads.len());
        // Numbers of a thread's own may begin with one that all threads write.
        next += random.below(2);
        for _ in 0..copies {
            let code = steps.iter().copied().flatten().map(|line| {
                next += usize::from(line.contains('#'));
                line.replace('#', &next.to_string())
            });
            threads.push(code.collect());
        }
    }
    let registers = if is_x86 { ["EAX", "EBX"] } else { ["%r0", "%r1"] };
    let mut claims: Vec<String> = Vec::new();
    let shape = random.below(4);
    for (thread, code) in threads.iter().enumerate() {
        for register in registers {
            let is_set = code.iter().any(|line| line.contains(register));
            if is_set && (shape != 0 || random.percent(60)) {
                let value = if shape == 1 { random.below(4) } else { 1 };
                let owner = if is_x86 { thread.to_string() } else { format!("P{thread}") };
                claims.push(format!("{owner}:{register}={value}"));
            }
        }
    }
    if random.percent(40) || claims.is_empty() {
        claims.push(format!("x={}", random.below(4)));
    }
    let (arch, connective) = (if is_x86 { "X86" } else { "PTX" }, random.pick(&[" /\\ ", " \\/ "]));
    let heads = (0..threads.len()).map(|thread| match is_x86 {
        true => format!("P{thread}"),
        false => format!("P{thread}@cta {}, gpu 0", random.below(2) * random.below(3)),
    });
    let mut text = format!("{arch} alike\n{{ x=0; y=0; }}\n {} ;\n", heads.collect::<Vec<_>>().join(" | "));
    for row in 0..threads.iter().map(Vec::len).max().unwrap_or(0) {
        let cells: Vec<&str> = threads.iter().map(|thread| thread.get(row).map_or("", String::as_str)).collect();
        text.push_str(&format!(" {} ;\n", cells.join(" | ")));
    }
    format!("{text}exists ({})\n", claims.join(connective))
}

fn compare_random(is_x86: bool, names: &[&'static str], seeds: u64) {
    let subjects: Vec<Subject> = names.iter().map(|name| Subject::shipped(name)).collect();
    let mut compared = 0;
    for seed in 0..seeds {
        let text = random_text(seed, is_x86);
        compared += subjects.iter().filter(|subject| compare(&text, subject)).count();
    }
    let asked = seeds as usize * subjects.len();
    assert!(compared * 4 > asked, "{compared} of {asked} were compared");
}

#[test]
fn x86_classes_tell_what_all_executions_tell() {
    compare_random(true, &["sc", "x86-tso"], 200);
}

#[test]
fn ptx_classes_tell_what_all_executions_tell() {
    compare_random(false, &["ptx-6.0", "ptx-7.5"], 200);
}

fn exchanges(count: usize, condition: &str) -> String {
    let join = |cell: &dyn Fn(usize) -> String| (0..count).map(cell).collect::<Vec<_>>().join(" | ");
    let rows =
        [join(&|at| format!("P{at}")), join(&|at| format!("MOV EAX,${}", at + 1)), join(&|_| "XCHG [x],EAX".into())];
    format!("X86 exchanges\n{{ x=0; }}\n {} ;\n {} ;\n {} ;\nexists ({condition})\n", rows[0], rows[1], rows[2])
}

fn factorial(number: u64) -> u64 {
    (1..=number).product()
}

/// Every order is an outcome: all are alike, unless two threads are named.
#[test]
fn sixteen_exchanges_are_counted() {
    let subject = Subject::shipped("x86-tso");
    let every = (0..16).map(|at| format!("{at}:EAX=0")).collect::<Vec<_>>().join(" /\\ ");
    let case = Case::new(&exchanges(16, &every));
    let classes = case.classes(&subject, &case.exchange().expect("alike")).expect("counted");
    assert_eq!(classes.into_values().collect::<Vec<_>>(), vec![(factorial(16), factorial(16))]);

    let two = "0:EAX=1 /\\ 15:EAX=0";
    let case = Case::new(&exchanges(16, two));
    let exchange = case.exchange().expect("alike");
    assert_eq!(exchange.order(), factorial(14));
    let classes = case.classes(&subject, &exchange).expect("counted");
    assert_eq!(classes.values().map(|(_, executions)| executions).sum::<u64>(), factorial(16));
}

/// Threads whose values somebody computes with or looks at are not exchanged.
#[test]
fn values_that_are_more_than_data_keep_threads_apart() {
    let order = |text: &str| Case::new(text).exchange().map_or(1, |exchange| exchange.order());
    let text = |second: &str, rest: &str| {
        format!("X86 t\n{{ x=0; y=0; }}\n P0 | P1 | P2 ;\n MOV [x],$1 | MOV [x],$2 | {second} ;\n{rest}")
    };
    assert_eq!(order(&text("MOV EAX,[x]", "exists (2:EAX=0)")), 2);
    assert_eq!(order(&text("MOV EAX,[x]", "exists (2:EAX=1)")), 1);
    assert_eq!(order(&text("MOV EAX,[x]", "exists (2:EAX=1 \\/ 2:EAX=2)")), 2);
    assert_eq!(order(&text("MOV [y],$2", "exists (x=0)")), 1);
    assert_eq!(order(&text("MOV EAX,[x]", " | | ADD EAX,$1 ;\nexists (2:EAX=0)")), 1);
    assert_eq!(
        order(&text("MOV EAX,[x]", " | | CMP EAX,$1 ;\n | | JE L ;\n | | MOV [y],$7 ;\n | | L: ;\nexists (y=7)")),
        1
    );
}

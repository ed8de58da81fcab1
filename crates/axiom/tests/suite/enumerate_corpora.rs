//! The enumeration engine on the public litmus corpora: the published verdicts, each in well under a second, and the
//! engine's share of the time.
//!
//! The corpora are looked for at `$FENCEPOST_CORPORA` or `../shared/corpora`; without them the tests pass with a note.

#![allow(clippy::print_stdout, clippy::panic, reason = "a report of rows, and helpers outside test functions")]

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use fencepost_axiom::engine::enumerate::Enumerate;
use fencepost_axiom::engine::{Ends, Engine, Exploration, Goal, Limits, Multiplicity, Stop};
use fencepost_axiom::model::{Model, compile::compile_text, shipped};
use fencepost_program::lower::lower;
use fencepost_program::program::{Condition, Program};
use fencepost_program::unfold::unfold;
use fencepost_program::unfolding::Unfolding;
use fencepost_syntax::litmus::{QuestionKind, parse};

fn folder(name: &str) -> Option<PathBuf> {
    let named = std::env::var_os("FENCEPOST_CORPORA").map(PathBuf::from);
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora");
    named.into_iter().chain([beside]).map(|root| root.join(name)).find(|path| path.is_dir())
}

/// A question about a program, and whether an execution that answers it means that the row passes.
struct Query {
    ends: Ends,
    condition: Option<Condition>,
    found_passes: bool,
}

fn query(program: &Program, property: &str) -> Option<Query> {
    if property != "condition" {
        return Some(Query { ends: Ends::Stuck, condition: None, found_passes: false });
    }
    let question = program.questions.first()?;
    let (condition, found_passes) = match question.kind {
        QuestionKind::Exists => (question.condition.clone(), true),
        QuestionKind::NotExists => (question.condition.clone(), false),
        QuestionKind::Forall => (Condition::Not(Box::new(question.condition.clone())), false),
        _ => return None,
    };
    Some(Query { ends: Ends::Terminating, condition: Some(condition), found_passes })
}

fn ask(unfolding: &Unfolding, model: &Model, program: &Program, query: &Query) -> (Exploration, Duration) {
    let goal = Goal {
        filter: program.filter.as_ref().map(|filter| &filter.node),
        condition: query.condition.as_ref(),
        multiplicity: Multiplicity::First,
        ..Goal::new(query.ends)
    };
    let limits =
        Limits { deadline: Some(Instant::now() + Duration::from_secs(10)), memory: None, cancelled: None, work: None };
    let start = Instant::now();
    let end = Enumerate.explore(unfolding, model, &goal, &limits, &mut |_| ControlFlow::Break(()));
    (end, start.elapsed())
}

/// Rows that agree, and a line for each that does not.
fn verdicts(name: &str) -> Option<(usize, Vec<String>)> {
    let Some(root) = folder(name) else {
        println!("note: no corpora here, nothing compared");
        return None;
    };
    let text = std::fs::read_to_string(root.join("expected.csv")).expect("a table");
    let mut models: BTreeMap<String, Model> = BTreeMap::new();
    let (mut agreed, mut wrong, mut total) = (0, Vec::new(), Duration::ZERO);
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [file, model, property, pass] = fields.as_slice() else { continue };
        let text = std::fs::read_to_string(root.join(file)).expect("a test");
        let program = parse(&text).0.and_then(|tree| lower(&tree).0).unwrap_or_else(|| panic!("{file} has no meaning"));
        let Some(query) = query(&program, property) else { continue };
        let unfolding = unfold(&program, &Default::default()).unwrap_or_else(|why| panic!("{file}: {why:?}"));
        let model = models
            .entry((*model).to_string())
            .or_insert_with(|| compile_text(model, shipped(model).expect("a shipped model")).model.expect("a model"));
        let (end, time) = ask(&unfolding, model, &program, &query);
        total += time;
        // The published rows ignore what the unrolling bound cut.
        let reached = match end {
            Exploration::Stopped => Some(true),
            Exploration::Complete | Exploration::Incomplete(Stop::Bound(_)) => Some(false),
            Exploration::Incomplete(_) => None,
        };
        if reached.is_some_and(|reached| (reached == query.found_passes) == (*pass == "1")) {
            agreed += 1;
        } else {
            wrong.push(format!("{line}: {end:?}"));
        }
        if time > Duration::from_millis(20) {
            println!("slow: {line} {time:?}");
        }
    }
    println!("{name}: {agreed} rows agree, {total:?} in the engine");
    Some((agreed, wrong))
}

#[test]
fn published_ptx_verdicts() {
    if let Some((agreed, wrong)) = verdicts("dat3m-ptx") {
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert!(agreed > 0);
    }
}

#[test]
fn published_x86_verdicts() {
    if let Some((agreed, wrong)) = verdicts("dat3m-x86") {
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert!(agreed > 0);
    }
}

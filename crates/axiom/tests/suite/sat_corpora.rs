//! The SAT engine on the public litmus corpora: the published verdicts, and the same executions as the enumeration.
//!
//! The corpora are looked for at `$FENCEPOST_CORPORA` or `../shared/corpora`; without them the tests pass with a note.

#![expect(clippy::panic, clippy::print_stdout, reason = "helpers of tests report and fail")]

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use fencepost_axiom::engine::enumerate::Enumerate;
use fencepost_axiom::engine::sat::Sat;
use fencepost_axiom::engine::{Ends, Engine, Exploration, Goal, Limits, Multiplicity, Stop};
use fencepost_axiom::execution::Execution;
use fencepost_axiom::model::{Model, compile::compile_text, shipped};
use fencepost_program::lower::lower;
use fencepost_program::program::{Condition, Program};
use fencepost_program::unfold::{UnfoldOptions, unfold};
use fencepost_program::unfolding::Unfolding;
use fencepost_syntax::litmus::{QuestionKind, parse};

fn corpora() -> Option<PathBuf> {
    let named = std::env::var_os("FENCEPOST_CORPORA").map(PathBuf::from);
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora");
    named.into_iter().chain([beside]).find(|path| path.is_dir())
}

struct Row {
    file: String,
    model: String,
    property: String,
    pass: bool,
}

fn rows(folder: &str) -> Option<(PathBuf, Vec<Row>)> {
    let Some(root) = corpora().map(|root| root.join(folder)) else {
        println!("note: no corpora here, nothing compared");
        return None;
    };
    let text = std::fs::read_to_string(root.join("expected.csv")).ok()?;
    let rows = text.lines().skip(1).filter_map(|line| {
        let fields: Vec<&str> = line.split(',').collect();
        let [file, model, property, pass] = fields.as_slice() else { return None };
        Some(Row { file: (*file).into(), model: (*model).into(), property: (*property).into(), pass: *pass == "1" })
    });
    Some((root, rows.collect()))
}

fn program(text: &str) -> Option<Program> {
    let litmus = parse(text).0?;
    lower(&litmus).0
}

fn compiled(name: &str) -> Option<Model> {
    compile_text(name, shipped(name)?).model
}

fn limits() -> Limits<'static> {
    Limits { deadline: Some(Instant::now() + Duration::from_secs(20)), memory: None, cancelled: None, work: None }
}

/// What is searched for, and whether finding it means that the row passes.
fn query(program: &Program, property: &str) -> Option<(Ends, Option<Condition>, bool)> {
    if property != "condition" {
        return Some((Ends::Stuck, None, false));
    }
    let question = program.questions.first()?;
    Some(match question.kind {
        QuestionKind::Exists => (Ends::Terminating, Some(question.condition.clone()), true),
        QuestionKind::NotExists => (Ends::Terminating, Some(question.condition.clone()), false),
        QuestionKind::Forall => (Ends::Terminating, Some(Condition::Not(Box::new(question.condition.clone()))), false),
        _ => return None,
    })
}

fn found(engine: &dyn Engine, unfolding: &Unfolding, model: &Model, goal: &Goal<'_>) -> Exploration {
    engine.explore(unfolding, model, goal, &limits(), &mut |_| ControlFlow::Break(()))
}

fn verdicts(folder: &str) {
    let Some((root, rows)) = rows(folder) else { return };
    let (mut agreed, mut skipped, mut wrong) = (0, Vec::new(), Vec::new());
    for row in rows {
        let Ok(text) = std::fs::read_to_string(root.join(&row.file)) else { continue };
        let (Some(program), Some(model)) = (program(&text), compiled(&row.model)) else {
            skipped.push(format!("{}: not lowered, or no model {}", row.file, row.model));
            continue;
        };
        let Some((ends, condition, positive)) = query(&program, &row.property) else { continue };
        let Ok(unfolding) = unfold(&program, &UnfoldOptions::default()) else { continue };
        let goal = Goal {
            filter: program.filter.as_ref().map(|filter| &filter.node),
            condition: condition.as_ref(),
            multiplicity: Multiplicity::First,
            ..Goal::new(ends)
        };
        let started = Instant::now();
        let end = found(&Sat, &unfolding, &model, &goal);
        if started.elapsed() > Duration::from_millis(500) {
            println!("slow: {} {:?}", row.file, started.elapsed());
        }
        let reached = match end {
            Exploration::Stopped => true,
            // The published rows unroll once and ignore what is cut.
            Exploration::Complete | Exploration::Incomplete(Stop::Bound(_)) => false,
            Exploration::Incomplete(stop) => {
                skipped.push(format!("{}: {stop:?}", row.file));
                continue;
            }
        };
        // Where both engines differ from a published row, the program's reading does, which is not for this test.
        let enumerated = found(&Enumerate, &unfolding, &model, &goal);
        if (enumerated == Exploration::Stopped) != reached && !matches!(enumerated, Exploration::Incomplete(_)) {
            wrong.push(format!("{}: enumeration says {enumerated:?}", row.file));
        } else if (reached == positive) == row.pass {
            agreed += 1;
        } else if (enumerated == Exploration::Stopped) == reached {
            skipped
                .push(format!("{} under {} ({}): both engines differ from the row", row.file, row.model, row.property));
        } else {
            wrong.push(format!("{} under {} ({})", row.file, row.model, row.property));
        }
    }
    println!("{folder}: {agreed} rows agree, {} skipped", skipped.len());
    skipped.iter().for_each(|skip| println!("  skipped {skip}"));
    assert!(wrong.is_empty(), "{} rows differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(skipped.len() * 20 <= agreed, "too many rows skipped");
}

#[test]
fn published_ptx_verdicts() {
    verdicts("dat3m-ptx");
}

#[test]
fn published_x86_verdicts() {
    verdicts("dat3m-x86");
}

const MOST: usize = 400;

/// All executions, or None if there are too many to compare.
fn executions(
    engine: &dyn Engine,
    unfolding: &Unfolding,
    model: &Model,
) -> Option<(BTreeSet<String>, usize, Exploration)> {
    let mut keys = BTreeSet::new();
    let mut count = 0;
    let goal = Goal::new(Ends::Terminating);
    let end = engine.explore(unfolding, model, &goal, &limits(), &mut |execution: &Execution| {
        keys.insert(format!("{execution:?}"));
        count += 1;
        if count > MOST { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    (end != Exploration::Stopped).then_some((keys, count, end))
}

fn same_executions(folder: &str, models: &[&str], step: usize) {
    let Some((root, rows)) = rows(folder) else { return };
    let files: BTreeSet<&String> = rows.iter().map(|row| &row.file).collect();
    let models: Vec<Model> = models.iter().map(|name| compiled(name).expect("a shipped model")).collect();
    let (mut compared, mut executions_seen, mut large) = (0, 0, 0);
    for file in files.into_iter().step_by(step) {
        let Some(program) = std::fs::read_to_string(root.join(file)).ok().and_then(|text| program(&text)) else {
            continue;
        };
        let Ok(unfolding) = unfold(&program, &UnfoldOptions::default()) else { continue };
        for model in &models {
            let Some((expected, _, end)) = executions(&Enumerate, &unfolding, model) else {
                large += 1;
                continue;
            };
            if matches!(end, Exploration::Incomplete(Stop::Unsupported { .. } | Stop::Time)) {
                continue;
            }
            let Some((seen, count, own_end)) = executions(&Sat, &unfolding, model) else {
                panic!("{file} under {}: more executions than the enumeration has", model.name);
            };
            if let Exploration::Incomplete(Stop::Unsupported { what, .. }) = &own_end {
                println!("skipped {file}: {what}");
                continue;
            }
            assert_eq!(count, seen.len(), "{file} under {}: an execution twice", model.name);
            assert!(seen == expected, "{file} under {}: {} executions, not {}", model.name, seen.len(), expected.len());
            compared += 1;
            executions_seen += count;
        }
    }
    println!("{folder}: {compared} comparisons, {executions_seen} executions, {large} too large");
}

#[test]
fn ptx_executions_are_those_of_the_enumeration() {
    same_executions("dat3m-ptx", &["ptx-6.0", "ptx-7.5"], 1);
}

#[test]
fn x86_executions_are_those_of_the_enumeration() {
    same_executions("dat3m-x86", &["x86-tso", "sc"], 1);
}

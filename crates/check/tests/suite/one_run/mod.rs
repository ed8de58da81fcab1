//! One run that decides for all executions ([`fencepost_axiom::engine::determined`]) against all executions: on correct and
//! broken rings, on tests that each break one condition of the theorem, and on random changes of all of them.

mod conditions;
mod ring;

use std::ops::ControlFlow;

use fencepost_axiom::engine::determined::{Determination, Obstacle, Orders, determine};
use fencepost_axiom::engine::enumerate::Enumerate;
use fencepost_axiom::engine::{Ends, Engine, Exploration, Goal, Limits, Multiplicity, Raised};
use fencepost_axiom::execution::Execution;
use fencepost_axiom::model::{CheckId, NodeId};
use fencepost_axiom::watch::Watch;
use fencepost_check::{LoadedModel, Models, Options, Verdict, load};
use fencepost_program::EventId;
use fencepost_program::program::LocationRole;
use fencepost_program::unfold::{UnfoldOptions, unfold};
use fencepost_program::unfolding::Unfolding;
use fencepost_syntax::Source;

use ring::{Ring, Without};

/// Work for each search through all executions; what takes more is not compared.
const WORK: u64 = 40_000;

struct Judge {
    model: LoadedModel,
    orders: Orders,
}

/// How one run fared against all executions.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Compared {
    /// The text is no test, or has no events.
    NoTest,
    /// It does not decide.
    Open(Obstacle),
    /// It decides, and rightly as far as all executions were seen.
    Right {
        complete: bool,
    },
    Wrong(String),
}

impl Judge {
    fn new() -> Judge {
        let model = Models::shipped("ptx").unwrap();
        let nodes = &model.model.nodes;
        let node =
            |name: &str| NodeId(nodes.iter().rposition(|node| node.name.as_deref() == Some(name)).unwrap() as u32);
        let orders = Orders { causality: node("causality"), base: node("base-causality") };
        Judge { model, orders }
    }

    fn unfolding(&self, text: &str) -> Option<Unfolding> {
        let (tests, diagnostics) = load(&Source::new("t.litmus", text));
        if diagnostics.iter().any(|diagnostic| diagnostic.is_error()) {
            return None;
        }
        unfold(&tests.first()?.program, &UnfoldOptions::default()).ok()
    }

    fn compare(&self, text: &str) -> Compared {
        let Some(unfolding) = self.unfolding(text) else { return Compared::NoTest };
        match determine(&unfolding, &self.model.model, self.orders, &Watch::default()) {
            Determination::All(run) => self.against_all(&unfolding, &run),
            Determination::One(_, _, obstacle) | Determination::Nothing(obstacle) => Compared::Open(obstacle),
        }
    }

    fn against_all(&self, unfolding: &Unfolding, run: &Execution) -> Compared {
        let is_mbarrier = |event: EventId| {
            let location = unfolding.events[event.index()].location();
            location.is_some_and(|it| unfolding.locations[it.index()].role == LocationRole::Mbarrier)
        };
        let differs = |other: &Execution| {
            let values = other.values.iter().zip(&run.values).zip(&other.events);
            other.events != run.events
                || values.into_iter().any(|((one, two), event)| one != two && !is_mbarrier(*event))
        };
        let (mut seen, mut wrong) = (0u64, None);
        let all = self.explore(unfolding, &Goal::new(Ends::Terminating), &mut |other| {
            seen += 1;
            wrong = differs(other).then(|| format!("{other:?}"));
            if wrong.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if let Some(wrong) = wrong {
            return Compared::Wrong(format!("another execution: {wrong}"));
        }
        if all == Exploration::Complete && seen == 0 {
            return Compared::Wrong("it is no execution".to_owned());
        }
        let mut complete = all == Exploration::Complete;
        let stuck = Goal { multiplicity: Multiplicity::First, ..Goal::new(Ends::Stuck) };
        let flags = (0..self.model.model.checks.len()).map(|flag| CheckId(flag as u32));
        let raising = |flag| Goal {
            multiplicity: Multiplicity::First,
            raised: Some(Raised { flag, beyond: &[] }),
            ..Goal::new(Ends::Terminating)
        };
        for goal in flags.map(raising).chain([stuck]) {
            match self.explore(unfolding, &goal, &mut |_| ControlFlow::Break(())) {
                Exploration::Stopped => return Compared::Wrong(format!("there is an execution for {goal:?}")),
                Exploration::Complete | Exploration::Incomplete(fencepost_axiom::engine::Stop::Unsupported { .. }) => {}
                Exploration::Incomplete(_) => complete = false,
            }
        }
        Compared::Right { complete }
    }

    fn explore(
        &self,
        unfolding: &Unfolding,
        goal: &Goal<'_>,
        visit: &mut dyn FnMut(&Execution) -> ControlFlow<()>,
    ) -> Exploration {
        let limits = Limits { deadline: None, memory: None, cancelled: None, work: Some(WORK) };
        Enumerate.explore(unfolding, &self.model.model, goal, &limits, visit)
    }
}

fn small_rings() -> Vec<Ring> {
    let sizes = [(1, 2, 1), (1, 2, 2), (2, 2, 1), (2, 3, 1), (1, 3, 1), (2, 3, 2), (1, 2, 3)];
    sizes.into_iter().map(|(stages, tiles, consumers)| Ring { stages, tiles, consumers }).collect()
}

#[test]
fn correct_rings_have_one_execution_up_to_order() {
    let judge = Judge::new();
    for ring in small_rings() {
        let compared = judge.compare(&ring.text(Without::Nothing));
        assert_eq!(compared, Compared::Right { complete: true }, "{ring:?}");
    }
}

#[test]
fn broken_rings_are_not_decided_by_one_run() {
    let judge = Judge::new();
    for without in [Without::ProxyFence, Without::EmptyWait, Without::FullWait, Without::Arrive, Without::Expect] {
        let ring = Ring { stages: 1, tiles: 3, consumers: 2 };
        let compared = judge.compare(&ring.text(without));
        assert!(matches!(compared, Compared::Open(_)), "{without:?}: {compared:?}");
    }
}

/// Numbers below `below` (xorshift).
fn numbers(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below.max(1) as u64) as usize
    }
}

/// One to three lines left out, doubled, exchanged or altered.
fn changed(text: &str, random: &mut impl FnMut(usize) -> usize) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let is_instruction = |line: &String| line.starts_with("    ") && line.contains(';');
    for _ in 0..=random(3) {
        let places: Vec<usize> = (0..lines.len()).filter(|at| is_instruction(&lines[*at])).collect();
        let (Some(&at), Some(&other)) = (places.get(random(places.len())), places.get(random(places.len()))) else {
            break;
        };
        match random(8) {
            0 | 1 => lines[at] = String::new(),
            2 if at + 1 < lines.len() && is_instruction(&lines[at + 1]) => lines.swap(at, at + 1),
            3 => lines.swap(at, other),
            4 => lines[at] = lines[at].replace("], 0;", "], #;").replace("], 1;", "], 0;").replace("], #;", "], 1;"),
            5 => lines[at] = lines[at].replace(".expect_tx", "").replace(", 16;", ";").replace("16, [", "32, ["),
            6 => {
                let count = |line: &mut String| {
                    *line = line.replace(" = 1;", " = #;").replace(" = 2;", " = 1;").replace(" = #;", " = 2;")
                };
                lines.iter_mut().filter(|line| line.contains(".mbarrier ") && line.starts_with("  .")).for_each(count);
            }
            _ if !lines[at].contains(": ") => {
                let twin = lines[at].clone();
                lines.insert(at, twin);
            }
            _ => {}
        }
    }
    lines.join("\n")
}

/// Compares random changes; how many runs decided, and how many of those were compared with all executions.
fn campaign(count: u64, seed: u64) -> (u64, u64) {
    let judge = Judge::new();
    let bases: Vec<String> = small_rings().into_iter().map(|ring| ring.text(Without::Nothing)).collect();
    let bases: Vec<String> = bases.into_iter().chain(conditions::texts()).collect();
    let mut random = numbers(seed);
    let (mut decided, mut compared) = (0, 0);
    for _ in 0..count {
        let text = changed(&bases[random(bases.len())], &mut random);
        match judge.compare(&text) {
            Compared::Wrong(why) => panic!("{why}\n{text}"),
            Compared::Right { complete } => (decided, compared) = (decided + 1, compared + u64::from(complete)),
            Compared::NoTest | Compared::Open(_) => {}
        }
    }
    (decided, compared)
}

#[test]
fn one_run_agrees_with_all_executions_of_random_changes() {
    let (decided, compared) = campaign(1_200, 1);
    assert!(decided > 100 && compared * 10 > decided * 9, "{decided} {compared}");
}

/// For as long as wanted: `ONE_RUN=100000 cargo test --release -p fencepost-check one_run_campaign -- --ignored --nocapture`.
#[test]
#[ignore = "as long as wanted"]
fn one_run_campaign() {
    let count = std::env::var("ONE_RUN").ok().and_then(|count| count.parse().ok()).unwrap_or(10_000);
    for seed in 2..=(count / 10_000).max(1) + 1 {
        println!("seed {seed}: {:?} decided and compared of {}", campaign(count.min(10_000), seed), count.min(10_000));
    }
}

/// A ring that has (3!)^12 orders of arrivals.
#[test]
fn a_large_ring_is_decided() {
    let model = Models::shipped("ptx").unwrap();
    let ring = Ring { stages: 4, tiles: 12, consumers: 3 };
    let check = |without| {
        let test = load(&Source::new("ring.litmus", ring.text(without))).0.remove(0);
        fencepost_check::check(&test, &model, &Options::default()).report
    };
    let report = check(Without::Nothing);
    assert_eq!(report.verdict, Verdict::Holds);
    assert!(report.counts_classes() && report.races.pairs.is_empty(), "{}", report.engine);
    assert_eq!(report.executions.map(|count| (count.count, count.complete)), Some((1, true)));
    for without in [Without::ProxyFence, Without::FullWait, Without::Expect] {
        let report = check(without);
        assert!(!report.races.pairs.is_empty() && !report.counts_classes(), "{without:?}");
    }
}

//! What the persist buffer leaves after a crash, the model allows: on every test of the corpus that the machine can run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use fencepost_check::compare::{Comparing, Relation, Result as Compared, Side, compare};
use fencepost_check::look::outcome::Observed;
use fencepost_check::operational::{self, Exploring, Outcomes as Listed, Trace};
use fencepost_check::options::{Outcomes, Wanted};
use fencepost_check::{Models, Options, Test, Verdict, check, load};
use fencepost_machine::explore::{Aim, Extent, Limits};
use fencepost_machine::model::{self, Model};
use fencepost_machine::persist_buffer::multiprocessors::{Hardware, Visible};
use fencepost_machine::persist_buffer::{Merge, Rule, Rules};
use fencepost_machine::requests::Requests;
use fencepost_machine::setup::Setup;
use fencepost_program::program::{AddressOperand, Crash, Instruction, LocationRole, Operation as Code, Term};
use fencepost_program::tag::Tag;
use fencepost_program::value::Value;
use fencepost_report::Number;
use fencepost_syntax::Source;

use super::crash_programs::{NAMES, Operation, Place, Program, SPARE, program};

const MOST_STATES: u64 = 300_000;
/// Programs on which a search that leaves states out is compared with one that does not.
const RANDOM_PROGRAMS: u64 = 400;
/// The store of a release to persistent memory comes after the persists that it releases, or need not.
const ORDERED: &str = "release-store=ordered";
const FORMULA: &str = "release-store=formula";

fn tests(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").filter_map(Result::ok) {
        let path = entry.path();
        if path.is_dir() {
            tests(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "litmus") {
            found.push(path);
        }
    }
    found.sort();
}

fn corpus(folder: &str) -> Vec<Test> {
    let mut files = Vec::new();
    tests(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/persistency").join(folder), &mut files);
    let read = |file: &PathBuf| {
        let source = Source::new(file.display().to_string(), std::fs::read_to_string(file).expect("a text"));
        load(&source).0.remove(0)
    };
    files.iter().map(read).collect()
}

/// What crashes leave of persistent memory.
struct Images {
    images: BTreeSet<Vec<i128>>,
    complete: bool,
}

impl Images {
    fn new<'a>(found: impl Iterator<Item = &'a Vec<Option<Value>>>, extent: Extent) -> Images {
        let number = |value: &Option<Value>| value.expect("durable memory has a value").0;
        let images = found.map(|left| left.iter().map(number).collect()).collect();
        Images { images, complete: extent == Extent::Complete }
    }
}

/// What a test is for the machine, or why it does not run it.
fn requests(test: &Test, model: Model) -> Result<(Requests, Vec<Term>), String> {
    let requests = operational::requests(test, &Setup::new(model), 2).map_err(|why| format!("{why:?}"))?;
    Ok((requests, test.program.persistent().map(Term::Memory).collect()))
}

/// The images of the machine, or why it does not run the test.
fn images(test: &Test, hardware: Hardware, most: u64) -> Result<Images, String> {
    let model = Model::PersistBuffer(hardware);
    let (requests, terms) = requests(test, model)?;
    let found = model.images(&requests, &terms, &Limits { states: most, ..Limits::default() });
    let found = found.map_err(|refused| refused.what)?;
    Ok(Images::new(found.images.iter(), found.extent))
}

/// The same by every state of the machine, and how many there are.
fn all_images(test: &Test, hardware: Hardware, most: u64) -> Result<(Images, u64), String> {
    let model = Model::PersistBuffer(hardware);
    let (requests, terms) = requests(test, model)?;
    let limits = Limits { states: most, ..Limits::default() };
    let found = model.explore(&requests, &Aim::Crashes(&terms), model::Wanted::Nothing, &limits);
    let found = found.map_err(|refused| refused.what)?;
    Ok((Images::new(found.crashes.keys(), found.extent), found.states))
}

/// Of the model under a reading, without what is asked.
fn allowed(test: &Test, reading: &str) -> BTreeSet<Vec<i128>> {
    let mut program = test.program.clone();
    assert!(program.locations.iter().all(|location| location.role == LocationRole::Data));
    (program.questions, program.crash) = (Vec::new(), Crash::default());
    let mut options = Options::default();
    options.readings.add(reading).expect("a reading");
    let report = check(&test.with_program(program), &Models::shipped("sbrp").expect("shipped"), &options).report;
    let states = report.crashes.expect("nothing is asked, so that crash states are").states;
    let known = |number: &Number| match number {
        Number::Known(value) => *value,
        Number::Unknown(name) => panic!("{name}"),
    };
    states.iter().map(|state| state.values.0.iter().map(|(_, value)| known(value)).collect()).collect()
}

/// Whether a release stores to persistent memory.
fn releases_to_nvm(test: &Test) -> bool {
    let program = &test.program;
    let is_one = |code: &Instruction| match &code.operation {
        Code::Store { address: AddressOperand::Static(address), tags, .. } => {
            let location = program.addresses[address.index()].location;
            tags.has(Tag::PersistRelease) && program.locations[location.index()].is_persistent
        }
        _ => false,
    };
    program.threads.iter().flat_map(|thread| &thread.code).any(is_one)
}

#[test]
fn what_the_persist_buffer_leaves_the_model_allows() {
    let (mut run, mut equal, mut skipped, mut beyond) = (0, 0, Vec::new(), 0);
    for test in corpus("") {
        let name = &test.source.name;
        let Images { images, complete } = match images(&test, Hardware::default(), MOST_STATES) {
            Ok(found) => found,
            Err(why) => {
                skipped.push(why);
                continue;
            }
        };
        let (formula, ordered) = (allowed(&test, FORMULA), allowed(&test, ORDERED));
        assert!(complete, "{name}: more than {MOST_STATES} states");
        assert!(images.is_subset(&formula), "{name}: {:?}", images.difference(&formula));
        // An eviction passes a release, and so the store of one that is a persist itself may be durable before the persists that it
        // releases: the design has the formula of the paper, and not its text. There is no other difference.
        if !images.is_subset(&ordered) {
            assert!(releases_to_nvm(&test), "{name}: {:?}", images.difference(&ordered));
            beyond += 1;
        }
        run += 1;
        equal += usize::from(images == formula);
    }
    assert!(run >= 70 && equal >= 30 && beyond > 0, "{run} run, {equal} equal, {beyond} beyond, skipped: {skipped:?}");
}

fn machine_options(outcomes: Listed) -> operational::Options {
    operational::Options {
        outcomes,
        trace: Trace::None,
        bound: 2,
        budget: Default::default(),
        exploring: Exploring { states: 20_000, workers: 1 },
    }
}

/// With the registers that questions mention: whoever has read something has not read it before it was there.
#[test]
fn what_a_question_about_crashes_finds_on_the_machine_the_model_allows() {
    let setup = Setup::parse("persist-buffer").expect("a machine");
    let (mut possible, mut registers, mut never) = (0, 0, 0);
    for test in corpus("litmus").into_iter().filter(|test| !test.program.crash.questions.is_empty()) {
        let name = &test.source.name;
        let report = operational::run(&test, &setup, &machine_options(Listed::All));
        let searched = operational::run(&test, &setup, &machine_options(Listed::Skip));
        let Some(crashes) = report.crashes else { continue };
        let Some(states) = crashes.states.filter(|_| report.incomplete.is_none()) else { continue };
        // Searched for and found among all.
        let reached = |report: &[operational::Answer]| report.iter().map(|it| it.reached).collect::<Vec<_>>();
        let searched = searched.crashes.expect("questions about crashes").questions;
        assert_eq!(reached(&crashes.questions), reached(&searched), "{name}");
        let mut options = Options { outcomes: Outcomes::All, ..Options::default() };
        options.readings.add(FORMULA).expect("a reading");
        let checked = check(&test, &Models::shipped("sbrp").expect("shipped"), &options).report;
        let allowed = checked.crashes.expect("an answer about crashes");
        let model: BTreeSet<_> = allowed.states.iter().map(|state| &state.values).collect();
        for state in &states {
            assert!(model.contains(&state.values), "{name}: {}", state.values);
        }
        for (own, of_model) in crashes.questions.iter().zip(&allowed.questions) {
            let is_possible = matches!(
                (own.kind.as_str(), &of_model.verdict),
                ("exists", Verdict::Holds) | ("~exists" | "forall", Verdict::Violated)
            );
            let is_open = matches!(of_model.verdict, Verdict::Depends(_));
            assert!(own.reached != Some(true) || is_possible || is_open, "{name}: {}", own.condition);
            possible += usize::from(own.reached == Some(true));
            never += usize::from(own.reached == Some(false));
            registers += usize::from(own.condition.contains('%'));
        }
    }
    assert!(
        possible > 10 && never > 10 && registers > 3,
        "{possible} possible, {never} not, {registers} with registers"
    );
}

fn comparing(observed: Observed) -> Comparing {
    let axioms = Options { outcomes: Outcomes::All, races: Wanted::No, termination: Wanted::No, ..Options::default() };
    Comparing { observed, witness: None, axioms, machine: Exploring { states: 20_000, workers: 1 } }
}

fn relation(test: &Test, observed: Observed) -> Option<Relation> {
    let mut readings = fencepost_check::model::readings::Settings::default();
    readings.add(FORMULA).expect("a reading");
    let machine = Side::Machine(Setup::parse("persist-buffer").expect("a machine"));
    let model = Side::Axioms(Models::shipped("sbrp").expect("shipped").into(), readings);
    match compare(test, &machine, &model, &comparing(observed)).result {
        Compared::Compared { relation, .. } => Some(relation),
        Compared::Skipped { .. } => None,
    }
}

/// Volatile memory is stronger on the machine: a run ends in a state in which the model lets it end.
#[test]
fn what_the_persist_buffer_ends_with_the_model_allows() {
    let mut compared = 0;
    for test in corpus("litmus") {
        for observed in [Observed::Everything, Observed::Crash] {
            let Some(relation) = relation(&test, observed) else { continue };
            assert!(matches!(relation, Relation::Equal | Relation::Within), "{}: {observed:?}", test.source.name);
            compared += 1;
        }
    }
    assert!(compared > 60, "{compared} compared");
}

/// A conventional release once stored its flag while other SMs did not see yet what comes before it.
#[test]
fn a_release_is_seen_after_what_it_releases() {
    for release in ["st.release.gpu.u32 [f], 1", "atom.release.gpu.global.exch.b32 %r9, [f], 1"] {
        let text = format!(
            "PTX t\n{{ nvm .global .u32 x = 0; .global .u32 f = 0; }}\nP0@cta 0, gpu 0 {{\n st.global.u32 [x], 1;\n {release};\n}}\n\
             P1@cta 1, gpu 0 {{\n ld.acquire.gpu.u32 %r1, [f];\n ld.global.u32 %r2, [x];\n}}\nexists (P1:%r1 = 1 /\\ P1:%r2 = 0)\n"
        );
        let test = load(&Source::new("t.litmus", text)).0.remove(0);
        assert_eq!(relation(&test, Observed::Everything), Some(Relation::Equal), "{release}");
    }
}

/// Whether the machine leaves what the model does not allow.
fn is_broken(name: &str, hardware: Hardware) -> bool {
    let test = corpus("litmus").into_iter().find(|test| test.program.name == name).expect("it is in the corpus");
    let allowed = allowed(&test, ORDERED);
    let found = images(&test, hardware, u64::from(u32::MAX)).expect("the machine runs it");
    assert!(found.complete);
    !found.images.is_subset(&allowed)
}

fn merging(merge: Merge) -> Hardware {
    Hardware { rules: Rules::new(merge), ..Hardware::default() }
}

/// An acquire that joins an older one of another warp lets a persist pass the one that it is ordered after.
#[test]
fn the_merging_of_the_artifact_breaks_the_order() {
    assert!(is_broken("PB-merge", merging(Merge::Artifact)));
    assert!(!is_broken("PB-merge", merging(Merge::Paper)));
}

/// A release on persistent memory that others see before it is durable does not keep what they persist behind it.
#[test]
fn a_flush_that_is_visible_before_it_is_durable_breaks_the_order() {
    assert!(is_broken("RED-final", Hardware { visible: Visible::AtFlush, ..Hardware::default() }));
    assert!(!is_broken("RED-final", Hardware::default()));
}

/// The comparison with the model notices a rule that is left out.
#[test]
fn without_a_rule_a_test_of_the_corpus_is_broken() {
    for (rule, name) in [
        (Rule::FenceHoldsBack, "IT-of"),
        (Rule::FlushStatusAtHead, "IT-of"),
        (Rule::OrderAheadOfEviction, "IT-of"),
        (Rule::OrderBehindHit, "IT-rewrite"),
        (Rule::OrderDelay, "MP-dev"),
        (Rule::AcquireHoldsBack, "MP-blk"),
    ] {
        let hardware = Hardware { rules: Rules::new(Merge::Paper).without(rule), ..Hardware::default() };
        assert!(is_broken(name, hardware), "{} on {name}", rule.name());
        assert!(!is_broken(name, Hardware::default()), "{name}");
    }
}

/// The program without what the machine refuses.
fn without_refused(mut program: Program) -> Program {
    let is_persistent = program.is_persistent;
    let is_refused = |operation: Operation| match operation {
        Operation::Atomic { on, .. } => is_persistent[on],
        Operation::Barrier => true,
        _ => false,
    };
    program.threads.iter_mut().for_each(|thread| thread.steps.retain(|step| !is_refused(step.operation)));
    program.claims.clear();
    program
}

/// The program with a line for each store to persistent memory, as far as there are lines. Who waits for a value that was moved
/// waits for it there.
fn writing_once(mut program: Program) -> Program {
    let (mut taken, mut spare) = ([false; NAMES.len()], SPARE);
    let mut moved: Vec<(Place, u8, Place)> = Vec::new();
    for thread in &mut program.threads {
        thread.steps.retain_mut(|step| {
            let is_persistent = |place: Place| program.is_persistent[place];
            let mut free = |place: Place| {
                let own = (!taken[place]).then_some(place).or_else(|| spare.next());
                own.inspect(|place| taken[*place] = true)
            };
            match &mut step.operation {
                Operation::Store { to, value, .. } if is_persistent(*to) => {
                    let Some(place) = free(*to) else { return false };
                    moved.push((*to, *value, place));
                    *to = place;
                }
                Operation::Copy { to, .. } if is_persistent(*to) => {
                    let Some(place) = free(*to) else { return false };
                    *to = place;
                }
                _ => {}
            }
            true
        });
    }
    for step in program.threads.iter_mut().flat_map(|thread| &mut thread.steps) {
        if let Operation::Wait { from, value, .. } | Operation::Try { from, value, .. } = &mut step.operation
            && let Some((.., to)) = moved.iter().find(|(place, own, _)| (place, own) == (from, value))
        {
            *from = *to;
        }
    }
    program
}

/// What is explored in few states and in all of them.
fn fewer_states(name: &str, test: &Test, most: u64) -> Option<(u64, u64)> {
    let model = Model::PersistBuffer(Hardware::default());
    let (requests, terms) = requests(test, model).ok()?;
    let found = model.images(&requests, &terms, &Limits::default()).ok()?;
    let (all, states) = all_images(test, Hardware::default(), most).ok().filter(|(all, _)| all.complete)?;
    let reduced = Images::new(found.images.iter(), found.extent);
    assert!(reduced.complete, "{name}: {:?}", found.extent);
    assert_eq!(reduced.images, all.images, "{name}");
    Some((found.states, states))
}

/// A search that leaves states out finds what all of them leave.
#[test]
fn few_states_leave_what_all_states_leave() {
    let (mut programs, mut few, mut all) = (0, 0, 0);
    for number in 0..RANDOM_PROGRAMS {
        let drawn = without_refused(program(number));
        for program in [writing_once(drawn.clone()), drawn] {
            let text = program.text();
            let test = load(&Source::new("t.litmus", text.clone())).0.remove(0);
            let Some((reduced, states)) = fewer_states(&text, &test, u64::MAX) else { continue };
            if reduced < states {
                (programs, few, all) = (programs + 1, few + reduced, all + states);
            }
        }
    }
    println!("{programs} programs: {few} of {all} states");
    assert!(programs > RANDOM_PROGRAMS / 2 && few * 20 < all, "{programs} programs, {few} of {all} states");
    for test in corpus("") {
        fewer_states(&test.source.name, &test, 5_000);
    }
}

/// A second store to a line waits while the line is in the buffer, and not while it is in flight: states may not be left out here.
#[test]
fn a_line_that_is_written_twice_is_explored_in_all_states() {
    let text = "PTX t\n{ nvm x = 0; nvm y = 0; f = 0; }\nP0@cta 0 {\n st.relaxed.gpu.u32 [x], 1;\n ofence;\n \
                st.relaxed.gpu.u32 [x], 2;\n st.relaxed.gpu.u32 [f], 1;\n}\nP1@cta 0 {\nL: ld.relaxed.gpu.u32 %r1, [f];\n \
                setp.ne.u32 %p1, %r1, 1;\n @%p1 bra L;\n st.relaxed.gpu.u32 [y], 1;\n}\ncrash exists (x = 0 /\\ y = 1)\n";
    let test = load(&Source::new("t.litmus", text)).0.remove(0);
    let (reduced, states) = fewer_states("t", &test, u64::MAX).expect("the machine runs it");
    assert_eq!(reduced, states);
    let found = images(&test, Hardware::default(), u64::MAX).expect("the machine runs it");
    assert!(found.images.contains(&vec![0, 1]), "{:?}", found.images);
}

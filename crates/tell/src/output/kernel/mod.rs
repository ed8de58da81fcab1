//! What `fencepost kernel` says: findings with their lines, doubts, what was covered; as text, JSON and SARIF.

pub mod baseline;
pub mod between;
mod inventory;
mod missing;
mod mutants;
pub mod picture;
mod sarif;
mod words;

use std::fmt::Write;

use fencepost_check::phrase;
use fencepost_kernel::code::op::{Op, Pc};
use fencepost_kernel::code::{Entry, Module};
use fencepost_kernel::launch::Launch;
use fencepost_kernel::mend::Insertion;
use fencepost_kernel::order::record::Record;
use fencepost_kernel::order::{Race, Region};
use fencepost_kernel::report::{Doubt, Finding, Report};
use fencepost_syntax::Source;
use fencepost_syntax::sorted::{SharedSort as _, SortedMap, SortedSet};
use serde::Serialize;

pub use inventory::{inventory_json, inventory_text};
pub use missing::Missing;
pub use mutants::Mutants;
pub use sarif::sarif;

/// The answer for one launch, in words and places.
#[derive(Serialize, Clone, Debug)]
pub struct Told {
    pub version: u32,
    pub file: String,
    pub entry: String,
    /// Its name, or its number in a file with several launches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub launch: Option<String>,
    pub answer: Answer,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub cluster: [u32; 3],
    pub shared: u32,
    pub schedules: u32,
    /// What of the launch is a guess.
    pub guessed: Vec<String>,
    pub findings: Vec<ToldFinding>,
    /// Findings that the baseline knows: they are not among the others.
    pub suppressed: u64,
    /// Those findings themselves.
    #[serde(skip)]
    pub known: Vec<ToldFinding>,
    pub doubts: Vec<ToldDoubt>,
    /// A limit ended the comparison of readings: which races they rule out is not known.
    #[serde(skip)]
    pub uncompared: bool,
    pub assumptions: Vec<String>,
    pub covered: Covered,
    /// Orders in which threads take turns at locks and queues, each of which was run.
    #[serde(skip_serializing_if = "is_zero")]
    pub orders: u32,
    /// Litmus tests of locks, which a proof rests on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub slices: Vec<ToldSlice>,
}

/// A litmus test of a lock, and what `check` says of it.
#[derive(Serialize, Clone, Debug)]
pub struct ToldSlice {
    pub name: String,
    pub threads: u32,
    pub engine: String,
    /// None where they were not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executions: Option<u64>,
    pub race_free: bool,
    pub ends: bool,
    #[serde(skip)]
    pub text: String,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[derive(Serialize, Copy, Clone, PartialEq, Eq, Debug)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// No execution of this launch has a race, hangs or breaks a protocol.
    Proved,
    Found,
    /// Nothing but findings that the baseline knows.
    Known,
    /// Races under some readings of the ISA only.
    Depends,
    /// Nothing was found, and nothing is proved.
    Unproved,
}

#[derive(Serialize, Clone, Debug)]
pub struct Covered {
    pub ctas: u32,
    pub warps: u32,
    pub lanes: u32,
    pub lane_instructions: u64,
    pub asynchronous_accesses: u64,
    pub phases: u64,
    pub barriers: u64,
    pub cells: u64,
}

#[derive(Serialize, Clone, Debug)]
pub struct ToldFinding {
    pub kind: &'static str,
    pub message: String,
    pub section: &'static str,
    pub places: Vec<Place>,
    /// The readings under which it is none; empty: it is one under all.
    pub not_under: Vec<String>,
    /// Pairs of instructions with the same lines of the source and the same reason.
    pub pairs: u64,
    /// A line that removes it, checked by running the changed kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<Missing>,
}

#[derive(Serialize, Clone, Debug)]
pub struct Place {
    pub line: u32,
    pub column: u32,
    pub text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceLine>,
    pub note: String,
    /// The module, where it is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

#[derive(Serialize, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SourceLine {
    pub file: String,
    pub line: u32,
    /// The line that calls the inlined function of which this is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub called: Option<u32>,
}

impl SourceLine {
    /// " (k.cu:5)", " (k.cu:5, called in line 12)".
    fn shown(&self) -> String {
        let called = self.called.map_or_else(String::new, |line| format!(", called in line {line}"));
        format!(" ({}:{}{called})", self.file, self.line)
    }
}

#[derive(Serialize, Clone, Debug)]
pub struct ToldDoubt {
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// Further places of which the same is to be said.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Place>,
    /// What it decides.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decides: Vec<Place>,
}

/// The module, the entry and the launch that a report is about.
pub struct About<'a> {
    pub source: &'a Source,
    pub module: &'a Module,
    pub entry: &'a Entry,
    pub launch: &'a Launch,
}

impl About<'_> {
    fn place(&self, pc: Pc, note: String) -> Place {
        let instruction = &self.entry.code[pc as usize];
        let position = self.source.position(instruction.span.start);
        let text = self.source.slice(instruction.span).split_whitespace().collect::<Vec<_>>().join(" ");
        let source = self.source_line(pc);
        Place { line: position.line, column: position.column, text, source, note, file: None }
    }

    fn source_line(&self, pc: Pc) -> Option<SourceLine> {
        let location = self.entry.code[pc as usize].location?;
        let file = self.module.files.get(&location.file)?.clone();
        (location.line > 0).then_some(SourceLine { file, line: location.line, called: location.called })
    }

    /// `CTA 0, warp 1, lane 4`.
    fn who(&self, record: &Record, lane: u32) -> String {
        let warps = self.launch.warps().max(1);
        format!("CTA {}, warp {}, lane {lane}", record.cta, record.warp % warps)
    }

    fn thread(&self, thread: u32) -> String {
        let threads = self.launch.threads().max(1);
        format!("CTA {}, thread {}", thread / threads, thread % threads)
    }

    fn memory(&self, region: Region, at: u64) -> String {
        match region {
            Region::Global(index) => {
                let name = self.launch.buffers.get(index as usize).map(|buffer| buffer.name.clone());
                let variables = || self.module.variables.iter().filter(|variable| variable.address != 0);
                let variable =
                    || variables().nth(index as usize - self.launch.buffers.len()).map(|own| own.name.clone());
                format!("`{}` + {at}", name.or_else(variable).unwrap_or_default())
            }
            Region::Shared(cta) => {
                let named =
                    self.entry.shared.iter().find(|(_, start, bytes)| (*start..start + bytes).contains(&(at as u32)));
                let (name, start) = named
                    .map_or(("dynamic shared memory", self.entry.dynamic_shared), |(name, start, _)| (name, *start));
                format!("{name} + {} of CTA {cta}", at as i64 - i64::from(start))
            }
            Region::Tensor(cta) => format!("tensor memory of CTA {cta}, lane {}, column {}", at / 512, at % 512),
        }
    }
}

/// Puts a report into words.
pub fn tell(report: &Report, about: &About, mend: &mut dyn FnMut(&[&Race]) -> Option<Insertion>) -> Told {
    let findings = findings(report, about, mend);
    let covered = &report.covered;
    let mut told = Told {
        version: 1,
        file: about.source.name.clone(),
        entry: about.entry.name.clone(),
        launch: None,
        answer: Answer::Unproved,
        grid: about.launch.grid,
        block: about.launch.block,
        cluster: about.launch.cluster,
        shared: about.launch.shared,
        schedules: report.schedules,
        guessed: Vec::new(),
        findings,
        suppressed: 0,
        known: Vec::new(),
        doubts: doubts(report, about),
        uncompared: report.doubts.contains(&Doubt::Readings),
        assumptions: report.assumptions.iter().map(|text| (*text).to_owned()).collect(),
        covered: Covered {
            ctas: covered.ctas,
            warps: covered.warps,
            lanes: covered.lanes,
            lane_instructions: covered.lane_instructions,
            asynchronous_accesses: covered.strands,
            phases: covered.phases,
            barriers: covered.barriers,
            cells: covered.cells,
        },
        orders: report.orders,
        slices: Vec::new(),
    };
    told.judge();
    told
}

impl Told {
    /// The answer that follows from what was found and what is in doubt.
    pub fn judge(&mut self) {
        let certain = self.findings.iter().any(|finding| finding.not_under.is_empty());
        self.answer = match () {
            () if certain => Answer::Found,
            () if !self.findings.is_empty() => Answer::Depends,
            () if !self.doubts.is_empty() => Answer::Unproved,
            // What is known is there all the same: this is no proof.
            () if !self.known.is_empty() => Answer::Known,
            () => Answer::Proved,
        };
    }
}

/// One line for all launches of a command.
pub fn summary_text(told: &[Told]) -> String {
    let count = |answer: Answer| told.iter().filter(|told| told.answer == answer).count();
    let mut parts = Vec::new();
    for (answer, words) in [
        (Answer::Found, "with findings"),
        (Answer::Depends, "dependent on how the ISA is read"),
        (Answer::Unproved, "not proved"),
        (Answer::Known, "with known findings only"),
        (Answer::Proved, "proved"),
    ] {
        match count(answer) {
            0 => {}
            number => parts.push(format!("{number} {words}")),
        }
    }
    let launches = match told.len() {
        1 => "1 launch".to_owned(),
        number => format!("{number} launches"),
    };
    format!("{launches}: {}\n", if parts.is_empty() { "none".to_owned() } else { parts.join(", ") })
}

/// Races with the same source lines, ways and reason are one finding.
fn findings(report: &Report, about: &About, mend: &mut dyn FnMut(&[&Race]) -> Option<Insertion>) -> Vec<ToldFinding> {
    let mut races: SortedMap<_, Vec<&Race>> = SortedMap::new();
    let mut others: Vec<(Option<Beside>, ToldFinding)> = Vec::new();
    for finding in &report.findings {
        let Finding::Race { race, only } = finding else {
            let (beside, told) = (Beside::of(finding), words::finding(finding, about));
            match others.iter_mut().find(|(own, _)| beside.is_some() && *own == beside) {
                Some((_, own)) => {
                    own.places.extend(told.places);
                    own.pairs += 1;
                }
                None => others.push((beside, told)),
            }
            continue;
        };
        let line = |pc: Pc| {
            about.source_line(pc).map_or_else(|| (String::new(), pc, None), |line| (line.file, line.line, line.called))
        };
        let key = (
            race.why,
            line(race.first.pc),
            line(race.second.pc),
            (race.first.kind, race.second.kind, race.first.path.proxy(), race.second.path.proxy()),
            only.clone(),
        );
        races.entry(key).or_default().push(race);
    }
    let told = races.iter().map(|((.., only), races)| told_races(races, only, about, mend));
    let mut told = both_ways(told.collect());
    // A hang comes last: what is wrong besides is often why.
    let (hangs, others): (Vec<_>, Vec<_>) = others.into_iter().map(|(_, told)| told).partition(|it| it.kind == "hang");
    told.extend(others);
    told.extend(hangs);
    told
}

/// Two accesses that race whichever comes first, and that one line orders, lack one thing: that is told once.
fn both_ways(told: Vec<ToldFinding>) -> Vec<ToldFinding> {
    let sides = |finding: &ToldFinding| [0, 1].map(|at| (finding.places[at].line, finding.places[at].text.clone()));
    let mut found: Vec<ToldFinding> = Vec::new();
    for one in told {
        let [first, second] = sides(&one);
        let is_mirrored = |own: &&mut ToldFinding| {
            one.missing.is_some()
                && own.missing == one.missing
                && own.not_under == one.not_under
                && sides(own) == [second.clone(), first.clone()]
        };
        match found.iter_mut().find(is_mirrored) {
            Some(own) => own.pairs += one.pairs,
            None => found.push(one),
        }
    }
    found
}

/// Accesses beside the same buffer, or where nothing is, have one cause: a size or a pointer of the launch, or an index.
#[derive(PartialEq, Eq)]
struct Beside(Option<String>);

impl Beside {
    fn of(finding: &Finding) -> Option<Beside> {
        let Finding::OutOfBounds { fault, .. } = finding else { return None };
        Some(Beside(fault.near.as_ref().map(|(name, ..)| name.clone())))
    }
}

fn told_races(
    races: &[&Race],
    only: &[&'static str],
    about: &About,
    mend: &mut dyn FnMut(&[&Race]) -> Option<Insertion>,
) -> ToldFinding {
    let race = races[0];
    let (message, section) = words::race(race, &about.memory(race.region, race.at));
    let note = |record: &Record, lane: u32| format!("{}, {}", words::access(record), about.who(record, lane));
    ToldFinding {
        kind: "race",
        message,
        section,
        places: vec![
            about.place(race.first.pc, note(&race.first, race.first_lane)),
            about.place(race.second.pc, note(&race.second, race.second_lane)),
        ],
        not_under: only.iter().map(|reading| (*reading).to_owned()).collect(),
        pairs: races.len() as u64,
        missing: mend(races).map(|insertion| Missing::of(&insertion, about)),
    }
}

/// A doubt about the launch as a whole.
pub fn add_doubt(told: &mut Told, doubt: &Doubt) {
    let (message, _) = words::doubt(doubt);
    if !told.doubts.iter().any(|other| other.message == message) {
        told.doubts.push(ToldDoubt { message, place: None, also: Vec::new(), decides: Vec::new() });
    }
    told.judge();
}

/// Each reason once, with all places that have it.
fn doubts(report: &Report, about: &About) -> Vec<ToldDoubt> {
    let mut reasons: Vec<(String, SortedSet<Pc>, SortedSet<Pc>)> = Vec::new();
    for doubt in &report.doubts {
        let (mut message, pc) = words::doubt(doubt);
        if let (Doubt::Flags { .. }, Some(pc)) = (doubt, pc)
            && matches!(about.entry.code[pc as usize].op, Op::Fence { .. })
        {
            words::FENCES_IN_TURN.clone_into(&mut message);
        }
        let decides = if let Doubt::Torn { decides, .. } = doubt { Some(*decides) } else { None };
        let with = match doubt {
            Doubt::MaySwap { with, .. } | Doubt::Unobserved { with, .. } => Some(*with),
            _ => None,
        };
        let pc = pc.into_iter().chain(with);
        match reasons.iter_mut().find(|(own, ..)| *own == message) {
            Some((_, places, decided)) => {
                places.extend(pc);
                decided.extend(decides);
            }
            None => reasons.push((message, pc.collect(), decides.into_iter().collect())),
        }
    }
    let placed = |pc: &Pc| about.place(*pc, String::new());
    // Of the first limit it is told where it ended the run.
    let limit = report.doubts.iter().find(|doubt| doubt.ends_a_run()).map(|doubt| words::doubt(doubt).0);
    let told = |(message, places, decides): &(String, SortedSet<Pc>, SortedSet<Pc>)| {
        let places: Vec<Place> = if limit.as_ref() == Some(message) {
            let standing = words::together(&report.stopped_at, about);
            standing.into_iter().map(|(pc, text)| about.place(pc, text)).collect()
        } else {
            places.iter().map(placed).collect()
        };
        let mut places = places.into_iter();
        let (place, also) = (places.next(), places.collect());
        let so = if limit.as_ref() == Some(message) && place.is_some() { "; the warps stood there" } else { "" };
        ToldDoubt { message: format!("{message}{so}"), place, also, decides: decides.iter().map(placed).collect() }
    };
    reasons.iter().map(told).collect()
}

/// One line of JSON (`docs/schema/kernel.schema.json`).
pub fn json(told: &Told) -> String {
    serde_json::to_string(told).map_or_else(|error| format!("{{\"error\":\"{error}\"}}\n"), |line| line + "\n")
}

pub fn text(told: &Told) -> String {
    let launch = told.launch.as_ref().map_or_else(String::new, |name| format!(", launch {name}"));
    let mut text = format!("{} in {}{launch}: {}\n", told.entry, told.file, answer(told));
    for finding in &told.findings {
        finding_text(&mut text, finding, told);
    }
    if told.suppressed > 0 {
        let known = phrase::count(told.suppressed, "known finding");
        let _ = writeln!(text, "  left out: {known} of the baseline");
    }
    if !told.doubts.is_empty() {
        text.push_str("not proved:\n");
        for doubt in &told.doubts {
            doubt_text(&mut text, doubt);
        }
    }
    let covered = &told.covered;
    let _ = writeln!(
        text,
        "  covered: {} of {} in {}, {}; {} of mbarriers, {}, {}",
        phrase::count(u64::from(covered.lanes), "lane"),
        phrase::count(u64::from(covered.warps), "warp"),
        phrase::count(u64::from(covered.ctas), "CTA"),
        phrase::count(covered.lane_instructions, "lane instruction"),
        phrase::count(covered.phases, "phase"),
        phrase::count(covered.barriers, "barrier"),
        phrase::count(covered.cells, "checked cell"),
    );
    turns_text(&mut text, told);
    if !told.guessed.is_empty() {
        let _ = writeln!(text, "  guessed: {}", told.guessed.join("; "));
    }
    for assumption in &told.assumptions {
        let _ = writeln!(text, "  assumed: {assumption}");
    }
    text
}

/// The orders that were run, and the slices.
fn turns_text(text: &mut String, told: &Told) {
    if told.orders > 0 {
        let orders = if told.orders == 1 { "1 order".to_owned() } else { format!("{} orders", told.orders) };
        let _ = writeln!(text, "  turns: {orders} in which threads take them at a lock or a queue, each run");
    }
    for slice in &told.slices {
        let threads = phrase::count(u64::from(slice.threads), "thread");
        let answer = match (slice.race_free, slice.ends) {
            (true, true) => "no race, every execution ends",
            (true, false) => "no race; whether every execution ends is open",
            (false, _) => "not free of races",
        };
        let engine = if slice.engine.is_empty() { "nobody" } else { slice.engine.as_str() };
        let _ = writeln!(text, "  slice: {} of {threads}, decided by {engine}: {answer}", slice.name);
    }
}

fn answer(told: &Told) -> String {
    match told.answer {
        Answer::Proved => {
            let launch = if told.guessed.is_empty() { "this launch" } else { "the guessed launch" };
            format!("proved for {launch}: no race, no hang, no protocol error")
        }
        Answer::Found => phrase::count(told.findings.len() as u64, "finding"),
        Answer::Known => "nothing new, and not proved".to_owned(),
        Answer::Depends => {
            let mut readings: Vec<&str> =
                told.findings.iter().flat_map(|finding| finding.not_under.iter().map(String::as_str)).collect();
            readings.shared_sort();
            readings.dedup();
            let readings = readings.join(", ");
            match told.uncompared {
                true => format!("races, unless the ISA is read otherwise ({readings}), which was not compared"),
                false => format!("depends on how the ISA is read ({readings})"),
            }
        }
        Answer::Unproved => {
            format!("nothing found in {}; not proved", phrase::count(u64::from(told.schedules), "schedule"))
        }
    }
}

fn finding_text(text: &mut String, finding: &ToldFinding, told: &Told) {
    let _ = write!(text, "{}: {}", finding.kind, finding.message);
    if !finding.section.is_empty() {
        let _ = write!(text, " (PTX ISA {})", finding.section);
    }
    text.push('\n');
    places_text(text, finding.places.iter());
    if finding.kind == "race" && finding.pairs > 1 {
        let more = phrase::count(finding.pairs - 1, "more pair");
        let _ = writeln!(text, "  and {more} of instructions from the same lines");
    }
    if let Some(missing) = &finding.missing {
        text.push_str(&missing.shown());
    }
    if !finding.not_under.is_empty() {
        let other = if told.uncompared { "not compared with" } else { "none under" };
        let _ = writeln!(text, "  {other} the other reading of {}", finding.not_under.join(" or "));
    }
}

fn place_text(text: &mut String, place: &Place) {
    let source = place.source.as_ref().map_or_else(String::new, SourceLine::shown);
    let file = place.file.as_ref().map_or_else(String::new, |file| format!("{file}, "));
    let _ = writeln!(text, "  {file}line {}{source}: {}", place.line, shortened(&place.text));
    if !place.note.is_empty() {
        let _ = writeln!(text, "    {}", place.note);
    }
}

fn doubt_text(text: &mut String, doubt: &ToldDoubt) {
    let Some(place) = &doubt.place else {
        let _ = writeln!(text, "  {}", doubt.message);
        return;
    };
    places_text(text, std::iter::once(place).chain(&doubt.also));
    let _ = writeln!(text, "    {}", doubt.message);
    if !doubt.decides.is_empty() {
        text.push_str("    it decides:\n");
        let mut decided = String::new();
        places_text(&mut decided, doubt.decides.iter());
        decided.lines().for_each(|line| text.push_str(&format!("    {line}\n")));
    }
}

/// So many places of one reason are shown: the rest is counted, and in the JSON.
const SHOWN: usize = 8;

fn places_text<'a>(text: &mut String, places: impl Iterator<Item = &'a Place> + Clone) {
    places.clone().take(SHOWN).for_each(|place| place_text(text, place));
    if let more @ 1.. = places.skip(SHOWN).count() {
        let _ = writeln!(text, "  and {}", phrase::count(more as u64, "more instruction"));
    }
}

/// Instructions with hundreds of registers end where reading them ends.
fn shortened(text: &str) -> String {
    const MOST: usize = 110;
    if text.chars().count() <= MOST {
        return text.to_owned();
    }
    text.chars().take(MOST).chain(['…']).collect()
}

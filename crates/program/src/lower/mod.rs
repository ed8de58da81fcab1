//! Trees to programs: names resolved, each instruction looked up in its architecture's table.
//!
//! Three kinds of trouble are kept apart: a mistake in the text is a [`Diagnostic`]; a form that is legal but has no model
//! is an [`Unsupported`](crate::program::Unsupported) entry of the program, so that its verdict is `Unknown` and not wrong;
//! a part of the ISA that not every model knows (`.cluster`, proxies) is a [`Feature`](crate::program::Feature).

pub(crate) mod builder;
mod c_blocks;
mod condition;
pub(crate) mod context;
mod cut;
mod declare;
pub(crate) mod findings;
mod launch;
mod lints;
pub(crate) mod memory;
pub(crate) mod names;
mod persistence;
mod recovery;
mod special_registers;
mod thread;

use fencepost_syntax::instruction::Instruction as Tree;
use fencepost_syntax::litmus::{Dialect, Litmus, Moment};
use fencepost_syntax::sorted::SortedSet;
use fencepost_syntax::{Diagnostic, limits};

use crate::lower::builder::ThreadBuilder;
use crate::lower::context::Context;
use crate::lower::findings::{Findings, Refusal};
use crate::lower::memory::{lanes, pointers, proxies, spaces, tensor};
use crate::lower::names::Names;
use crate::program::{BarrierRule, Crash, Place, Program, Version};
use crate::table;
use crate::value::{Type, Value};

/// The program of a test, or None if the diagnostics have an error or a limit ended it ([`limits::ended`]).
pub fn lower(litmus: &Litmus) -> (Option<Program>, Vec<Diagnostic>) {
    lower_cut(litmus, &SortedSet::new())
}

/// The same program with memory cut at these addresses too, for values that may be torn (PTX ISA 8.10.3). Where an address
/// lies in no variable, or in one whose parts are no bytes, nothing changes.
pub fn lower_cut(litmus: &Litmus, cuts: &SortedSet<Value>) -> (Option<Program>, Vec<Diagnostic>) {
    let mut findings = Findings::default();
    let version = declare::version(litmus, &mut findings);
    let mut builders = builder::builders(litmus, &mut findings);
    let places: Vec<Place> = builders.iter().map(|builder| builder.place).collect();
    let mut names = Names::new(litmus.dialect, &places);
    declare::declare(litmus, &mut names, &mut builders, &mut findings);
    let launched = launch::Declared::new(litmus, &mut findings);
    let terms = condition::terms(litmus);
    condition::ask_registers(&terms, &mut builders);
    lower_threads(litmus, &mut builders, &mut names, &mut findings, (&launched, version));
    if limits::ended().is_some() {
        return (None, Vec::new());
    }
    spaces::settle(&mut names, &builders, &mut findings);
    proxies::settle(&names, &builders, &mut findings);
    if barrier_rule(litmus.dialect) == BarrierRule::Ptx {
        lints::barriers::settle(&builders, &mut findings);
    }
    condition::touch_registers(&terms, &mut builders, &mut findings);
    let asked = condition::asked(&terms, &mut names, &builders);
    let reaches = cut::settle(&mut names, &builders, &asked, cuts, &mut findings);
    // What follows looks up addresses that are not there if this was left in the middle.
    if limits::ended().is_some() {
        return (None, Vec::new());
    }
    names.warn_of_undeclared(litmus, &mut findings);
    spaces::settle_computed(&names, &builders, &reaches, &mut findings);
    pointers::tie_copies(&mut names, &mut findings);
    lanes::settle(&mut names, &builders, &asked, &mut findings);
    tensor::settle(&names, &mut builders);
    let launches = launch::settle(litmus, &launched, &builders, &mut findings);
    let mut resolver = condition::Resolver::new(&names, &builders, &mut findings);
    let filter = litmus.filter.as_ref().map(|filter| resolver.spanned(filter));
    let at = |moment| litmus.questions.iter().filter(move |question| question.moment == moment);
    let questions = at(Moment::End).map(|question| resolver.question(question)).collect();
    let crashed = at(Moment::Crash).map(|question| resolver.question(question)).collect();
    let shown = litmus.locations.iter().flat_map(|term| resolver.shown(term)).collect();
    persistence::settle(litmus, &names, &mut findings);
    let recovery = recovery::lower(litmus, cuts, &mut findings);
    let text = lints::Text { names: &names, threads: &builders, launches: &launches, version, litmus };
    let lints = lints::collect(&text, &mut findings);
    let program = Program {
        name: litmus.name.node.clone(),
        arch: litmus.arch,
        barrier_rule: barrier_rule(litmus.dialect),
        locations: names.locations,
        addresses: names.addresses,
        threads: builders.into_iter().zip(launches.kernels).map(|(builder, kernel)| builder.finish(kernel)).collect(),
        filter,
        questions,
        crash: Crash { questions: crashed, recovery },
        shown,
        unsupported: findings.unsupported,
        features: findings.features,
        version,
        kernel_order: launches.order,
        lints,
        unknown_values: Vec::new(),
        dependent_launches: launches.dependents,
    };
    finished(program, findings.diagnostics)
}

fn lower_threads(
    litmus: &Litmus,
    builders: &mut [Box<ThreadBuilder>],
    names: &mut Names,
    findings: &mut Findings,
    (launched, version): (&launch::Declared, Version),
) {
    for (thread, builder) in litmus.threads.iter().zip(builders) {
        let dialect = builder.dialect;
        Context { dialect, names, findings, thread: builder, launched, version }.lower_body(&thread.body);
    }
}

/// What was lowered only in part is neither a program nor wrong.
fn finished(program: Program, diagnostics: Vec<Diagnostic>) -> (Option<Program>, Vec<Diagnostic>) {
    if limits::is_over() {
        return (None, Vec::new());
    }
    let failed = diagnostics.iter().any(Diagnostic::is_error);
    ((!failed).then_some(program), diagnostics)
}

/// For a thread that is not there.
fn threads_there(count: usize) -> String {
    match count {
        0 => "the test has no threads".to_owned(),
        1 => "the test has one thread, P0".to_owned(),
        _ => format!("the test has {count} threads, P0 to P{}", count - 1),
    }
}

fn barrier_rule(dialect: Dialect) -> BarrierRule {
    match dialect {
        Dialect::Dartagnan => BarrierRule::Dartagnan,
        Dialect::Ptx | Dialect::NvLitmus | Dialect::X86 | Dialect::C => BarrierRule::Ptx,
    }
}

/// What the PTX table says about one instruction on its own, for surveys of compiler output.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Support {
    Modelled,
    /// Legal as far as we know, without a model: what, in words.
    Unsupported(String),
    /// The table holds it to be a mistake.
    Wrong(Diagnostic),
}

/// The names that addresses start with, as large as may be.
fn declare_bases(instruction: &Tree, names: &mut Names) {
    use fencepost_syntax::instruction::Operand;
    for operand in &instruction.operands {
        let Operand::Address(address) = &operand.node else { continue };
        let Operand::Symbol(name) = &address.base.node else { continue };
        let made = names::Made { ty: Some(Type::U64), length: Some(names::LONGEST_ARRAY), ..names::Made::default() };
        // A name that cannot be declared is reported by the instruction.
        let _ = names.get(name).is_some() || names.declare(name, made).is_ok();
    }
}

/// Looks one real-PTX instruction up, its names and labels taken as declared.
pub fn ptx_support(instruction: &Tree) -> Support {
    let mut findings = Findings::default();
    let place = Place::Gpu { gpu: 0, cluster: 0, cta: 0 };
    let mut names = Names::new(Dialect::Ptx, &[place]);
    let mut thread = ThreadBuilder::new("P0", Dialect::Ptx, place);
    // On its own an instruction does not show its `.reg` declarations: a bare name in the destination's place is one.
    let destination = instruction.operands.first().map(|first| &first.node);
    if let Some(fencepost_syntax::instruction::Operand::Symbol(name)) = destination {
        thread.register(name, crate::value::Type::UNTYPED);
    }
    declare_bases(instruction, &mut names);
    let mut context = Context {
        dialect: Dialect::Ptx,
        names: &mut names,
        findings: &mut findings,
        thread: &mut thread,
        launched: &launch::Declared::default(),
        version: Version::NEWEST,
    };
    let result = context.lower_guard(instruction).and_then(|()| table::lower(&mut context, instruction, None));
    match result {
        Ok(()) => Support::Modelled,
        Err(Refusal::Unsupported(_, what)) => Support::Unsupported(what),
        Err(Refusal::Error(diagnostic)) => Support::Wrong(diagnostic),
    }
}

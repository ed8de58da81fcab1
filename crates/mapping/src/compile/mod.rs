//! Compiles a C litmus test by a scheme: to a test in PTX, in x86, or in both.
//!
//! Works on the lowered program, so that control flow and arithmetic are those that `check` sees, and writes text, so that
//! what is checked can be read and kept. What the target has no instruction for is refused by name.

mod ptx;
pub mod writer;
mod x86;

use fencepost_program::program::{FailedCas, Operation, Place, Program, Scope, Thread, Update};
use fencepost_program::tag::{Tag, Tags};
use fencepost_syntax::Span;

use crate::compile::writer::{NotCompiled, Writer, label, type_name};
use crate::label::{Kind, Order};
use crate::scheme::{Device, Part, Profile, ScopeRule};

/// How one thread is compiled.
#[derive(Copy, Clone, Debug)]
pub struct Assignment<'p> {
    pub profile: &'p Profile,
    pub place: Place,
}

/// A compiled test.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Compiled {
    pub text: String,
    /// Of each thread, what its variables are called: the variable and the register.
    pub registers: Vec<Vec<(String, String)>>,
}

/// A kind and an order of C, from the tags of an operation.
fn order(tags: Tags) -> Order {
    let has = |tag| tags.has(tag);
    match () {
        () if has(Tag::Sc) => Order::SeqCst,
        () if has(Tag::AcqRel) => Order::AcqRel,
        () if has(Tag::Acquire) => Order::Acquire,
        () if has(Tag::Release) => Order::Release,
        () if has(Tag::NonAtomic) => Order::NonAtomic,
        () => Order::Relaxed,
    }
}

/// An access or a fence of the source.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Labelled {
    pub(crate) kind: Kind,
    pub(crate) order: Order,
    pub(crate) scope: Option<Scope>,
}

/// None for what is no event.
fn labelled(operation: &Operation) -> Option<Labelled> {
    match operation {
        Operation::Load { tags, scope, .. } => Some(Labelled { kind: Kind::Read, order: order(*tags), scope: *scope }),
        Operation::Store { tags, scope, .. } => {
            Some(Labelled { kind: Kind::Write, order: order(*tags), scope: *scope })
        }
        Operation::Fence { tags, scope, .. } => {
            Some(Labelled { kind: Kind::Fence, order: order(*tags), scope: *scope })
        }
        Operation::ReadModifyWrite { read_tags, write_tags, scope, .. } => {
            let order = match (order(*read_tags), order(*write_tags)) {
                (Order::SeqCst, _) => Order::SeqCst,
                (Order::Acquire, Order::Release) => Order::AcqRel,
                (Order::Acquire, _) => Order::Acquire,
                (_, Order::Release) => Order::Release,
                _ => Order::Relaxed,
            };
            Some(Labelled { kind: Kind::ReadModifyWrite, order, scope: *scope })
        }
        _ => None,
    }
}

pub fn compile(program: &Program, assignments: &[Assignment<'_>]) -> Result<Compiled, NotCompiled> {
    widths(program, assignments)?;
    let only_host = assignments.iter().all(|one| one.profile.device == Device::X86);
    let mut declared: Vec<String> = Vec::new();
    for location in &program.locations {
        let ty = type_name(location.ty);
        let value = if location.is_unknown { "?".to_owned() } else { location.initial.0.to_string() };
        // x86 has no types of its own.
        let ty = if only_host { String::new() } else { format!(".global .{ty} ") };
        declared.push(format!("{ty}{} = {value};", location.name));
    }
    let mut bodies = String::new();
    let mut registers = Vec::new();
    for (at, (thread, assignment)) in program.threads.iter().zip(assignments).enumerate() {
        let place = match (assignment.profile.device, assignment.place) {
            (Device::X86, _) if only_host => String::new(),
            (Device::X86, _) | (Device::Ptx, Place::Host) => "@x86".to_owned(),
            (Device::Ptx, Place::Gpu { gpu, cta, .. }) => format!("@cta {cta}, gpu {gpu}"),
        };
        let (lines, names) = match assignment.profile.device {
            Device::X86 => {
                let mut writer = x86::Emitter::new(program, thread)?;
                translate(thread, assignment.profile, &mut writer)?;
                (writer.lines, writer.names)
            }
            Device::Ptx => {
                let mut writer = ptx::Emitter::new(program, thread);
                translate(thread, assignment.profile, &mut writer)?;
                declared.extend(writer.declarations(at));
                (writer.lines, writer.names)
            }
        };
        bodies.push_str(&format!("P{at}{place} {{\n"));
        lines.iter().for_each(|line| bodies.push_str(&format!("{line}\n")));
        bodies.push_str("}\n");
        registers.push(names);
    }
    let arch = if only_host { "X86" } else { "PTX" };
    let text = format!("{arch} {}\n{{\n  {}\n}}\n{bodies}", program.name, declared.join("\n  "));
    Ok(Compiled { text, registers })
}

/// Values of other widths would need conversions; x86 registers have one width in a test.
fn widths(program: &Program, assignments: &[Assignment<'_>]) -> Result<(), NotCompiled> {
    let refused = |thread: &Thread, bits: u8| NotCompiled {
        span: thread.code.first().map_or(Span::default(), |instruction| instruction.span),
        what: format!("values of {bits} bits"),
    };
    for (thread, assignment) in program.threads.iter().zip(assignments) {
        let known: &[u8] = if assignment.profile.device == Device::X86 { &[32] } else { &[32, 64] };
        let registers = thread.registers.iter().map(|register| register.ty.bits);
        // A location that nobody accesses has no width.
        let locations = program.locations.iter().map(|location| location.ty.bits).filter(|bits| *bits != 0);
        if let Some(bits) = registers.chain(locations).find(|bits| !known.contains(bits)) {
            return Err(refused(thread, bits));
        }
    }
    Ok(())
}

fn translate(thread: &Thread, profile: &Profile, writer: &mut dyn Writer) -> Result<(), NotCompiled> {
    let targets: Vec<usize> = (thread.code.iter())
        .filter_map(|instruction| match &instruction.operation {
            Operation::Branch { target } | Operation::BranchIf { target, .. } => Some(target.0 as usize),
            _ => None,
        })
        .collect();
    for (at, instruction) in thread.code.iter().enumerate() {
        if targets.contains(&at) {
            writer.label(&label(at));
        }
        let span = instruction.span;
        let refused = |what: String| NotCompiled { span, what };
        if instruction.guard.is_some() {
            return Err(refused("a guarded instruction".to_owned()));
        }
        let Some(labelled) = labelled(&instruction.operation) else {
            writer.local(&instruction.operation).map_err(refused)?;
            continue;
        };
        if let Operation::ReadModifyWrite { update, read_tags, .. } = &instruction.operation
            && let Update::CompareAndSwap { on_failure: FailedCas::Ordered { tags, .. }, .. } = update
            && order(*tags) != order(*read_tags)
        {
            return Err(refused("a compare-and-exchange whose failure has another order than its success".to_owned()));
        }
        let row = profile.row(labelled.kind, labelled.order);
        let row = row.ok_or_else(|| refused(format!("{:?} with order {}", labelled.kind, labelled.order.short())))?;
        let scope = match row.scope {
            ScopeRule::Same => labelled.scope,
            ScopeRule::Narrow => labelled.scope.map(|_| Scope::Cta),
        };
        for part in row.parts {
            match *part {
                Part::Fence(order) => writer.fence(order, scope),
                Part::Access(order) => writer.access(&instruction.operation, order, scope).map_err(refused)?,
            }
        }
    }
    if targets.contains(&thread.code.len()) {
        writer.label(&label(thread.code.len()));
    }
    Ok(())
}

//! Instructions of a function, one by one: the opcode chooses the file.

mod asynchronous;
mod compute;
mod forms;
mod memory;
mod synchronise;
mod tensor;
mod warp;

use std::collections::{HashMap, HashSet};

use fencepost_syntax::instruction::Operand;
use fencepost_syntax::ptx::Item;
use fencepost_syntax::{Diagnostic, Spanned};

use super::directives;
use super::flatten::{Flat, Functions, Line};
use super::op::{Op, Pc, Register, Space};
use super::operands::{Context, Decoded};
use super::{Entry, Guard, Instruction, Module, SHARED_START, SPECIALS, Skip, places_of_computation};

pub(super) fn entry<'t>(
    module: &Module,
    functions: &Functions<'t>,
    name: &Spanned<String>,
    header: &str,
    body: &'t [Spanned<Item>],
) -> Result<Entry, Box<Diagnostic>> {
    let refuse = |why: String| Box::new(Diagnostic::error(name.span, format!("entry `{}`: {why}", name.node)));
    let parameters = directives::parameters(header, &name.node).map_err(refuse)?;
    let mut names = HashSet::new();
    if let Some(again) = parameters.iter().find(|parameter| !names.insert(parameter.name.as_str())) {
        return Err(refuse(format!("a second parameter `{}`", again.name)));
    }
    let mut flat = Flat::of(body, functions, SPECIALS)
        .map_err(|(span, why)| Box::new(Diagnostic::error(span, format!("cannot be read: {why}"))))?;
    let layout = lay_out(module, &mut flat);
    let mut code = Vec::new();
    for line in &flat.lines {
        code.push(instruction(&Context { module, flat: &flat, parameters: &parameters, shared: &layout.places, line }));
    }
    let skips = skips(&code);
    let mut targets = vec![false; code.len() + 1];
    for instruction in &code {
        match &instruction.op {
            Op::Branch { to } => targets[*to as usize] = true,
            Op::BranchIndexed { to, .. } => to.iter().for_each(|to| targets[*to as usize] = true),
            _ => {}
        }
    }
    // What falls off the end returns.
    let (span, registers) = (name.span, Vec::new().into());
    code.push(Instruction { op: Op::Exit, guard: None, span, location: None, registers, aligned: None });
    Ok(Entry {
        name: name.node.clone(),
        span: name.span,
        parameters,
        required_threads: directives::triple(header, "reqntid"),
        most_threads: directives::triple(header, "maxntid"),
        cluster: directives::triple(header, "reqnctapercluster"),
        shared: layout.shared,
        dynamic_shared: layout.dynamic,
        uses_dynamic_shared: layout.uses_dynamic,
        local_bytes: layout.local,
        registers: flat.names.len() as u32,
        code: code.into(),
        targets: targets.into(),
        skips: skips.into(),
        register_names: flat.names,
    })
}

/// Branches whose two ways meet again after computation only: what they decide is values, not what happens.
fn skips(code: &[Instruction]) -> Vec<Option<Skip>> {
    let mut found = Vec::with_capacity(code.len() + 1);
    for (at, instruction) in code.iter().enumerate() {
        found.push(match instruction.op {
            Op::Branch { to } if instruction.guard.is_some() => meet(code, at as Pc + 1, to),
            _ => None,
        });
    }
    found.push(None);
    found
}

/// Where two ways meet, and the registers that they write before.
fn meet(code: &[Instruction], first: Pc, second: Pc) -> Option<Skip> {
    let (first, second) = (places_of_computation(code, first), places_of_computation(code, second));
    for (pc, count) in &first.0 {
        if let Some((_, other)) = second.0.iter().find(|(at, _)| at == pc) {
            let mut written = first.1[..*count].to_vec();
            written.extend(&second.1[..*other]);
            return Some(Skip { meet: *pc, written: written.into() });
        }
    }
    None
}

struct Layout {
    places: HashMap<String, u32>,
    shared: Vec<(String, u32, u32)>,
    dynamic: u32,
    uses_dynamic: bool,
    local: u32,
}

/// Shared variables that the function names, one after the other, then dynamic shared memory; local variables.
fn lay_out(module: &Module, flat: &mut Flat) -> Layout {
    let mut named = Vec::new();
    for line in &flat.lines {
        line.tree.operands.iter().for_each(|operand| names_in(&operand.node, &mut named));
    }
    let named: HashSet<&str> = named.into_iter().collect();
    let mut layout =
        Layout { places: HashMap::new(), shared: Vec::new(), dynamic: SHARED_START, uses_dynamic: false, local: 0 };
    let mut next = SHARED_START;
    let of_module = module.variables.iter().filter(|variable| named.contains(variable.name.as_str()));
    for variable in of_module.clone().filter(|variable| variable.space == Space::Shared) {
        if let Some(bytes) = variable.bytes {
            next = next.next_multiple_of(variable.align.max(1));
            layout.places.insert(variable.name.clone(), next);
            layout.shared.push((variable.name.clone(), next, bytes));
            next += bytes;
        }
    }
    for (_, variable) in &mut flat.variables {
        let bytes = variable.bytes.unwrap_or(0);
        let counter = if variable.space == Space::Shared { &mut next } else { &mut layout.local };
        *counter = counter.next_multiple_of(variable.align.max(1));
        variable.address = u64::from(*counter);
        if variable.space == Space::Shared {
            layout.shared.push((variable.name.clone(), *counter, bytes));
        }
        *counter += bytes;
    }
    // As ptxas does: right behind the others, aligned as it is declared and no more.
    let dynamic: Vec<_> = of_module.filter(|it| it.space == Space::Shared && it.bytes.is_none()).collect();
    let align = dynamic.iter().map(|variable| variable.align).max().unwrap_or(1);
    layout.dynamic = next.next_multiple_of(align.max(1));
    layout.uses_dynamic = !dynamic.is_empty();
    for variable in dynamic {
        layout.places.insert(variable.name.clone(), layout.dynamic);
    }
    layout
}

fn registers_in(context: &Context, operand: &Operand, registers: &mut Vec<Register>) {
    let mut names = Vec::new();
    all_names(operand, &mut names);
    for name in names {
        if let Some((register, ty)) = context.flat.register(context.line.block, name) {
            registers.extend(register..register + ty.halves());
        }
    }
}

fn all_names<'o>(operand: &'o Operand, names: &mut Vec<&'o str>) {
    match operand {
        Operand::Register(name) => names.push(name),
        Operand::Address(address) => {
            all_names(&address.base.node, names);
            address.rest.iter().for_each(|item| all_names(&item.node, names));
        }
        Operand::Vector(items) | Operand::List(items) => items.iter().for_each(|item| all_names(&item.node, names)),
        Operand::Pair(first, second) => {
            all_names(&first.node, names);
            all_names(&second.node, names);
        }
        Operand::Negated(inner) => all_names(&inner.node, names),
        other => names_in(other, names),
    }
}

fn names_in<'o>(operand: &'o Operand, names: &mut Vec<&'o str>) {
    match operand {
        Operand::Symbol(name) => names.push(name),
        Operand::Address(address) => {
            names_in(&address.base.node, names);
            address.rest.iter().for_each(|item| names_in(&item.node, names));
        }
        Operand::Offset(base, _) | Operand::Negated(base) => names_in(&base.node, names),
        Operand::Vector(items) | Operand::List(items) => items.iter().for_each(|item| names_in(&item.node, names)),
        Operand::Pair(first, second) => {
            names_in(&first.node, names);
            names_in(&second.node, names);
        }
        _ => {}
    }
}

fn instruction(context: &Context) -> Instruction {
    let line: &Line = context.line;
    let guard = line.tree.guard.as_ref().map(|guard| {
        let register = context.register_of(&Operand::Register(guard.register.node.clone()));
        register.map(|register| Guard { register, negated: guard.negated })
    });
    let (guard, op) = match guard.transpose() {
        Ok(guard) => (guard, op(context)),
        Err(why) => (None, Err(why)),
    };
    let op = op.unwrap_or_else(|why| unmodelled(context, &why));
    let mut registers = Vec::new();
    for operand in &line.tree.operands {
        registers_in(context, &operand.node, &mut registers);
    }
    let aligned = warp::aligned(context);
    Instruction { op, guard, span: line.span, location: line.location, registers: registers.into(), aligned }
}

/// An instruction that is not understood still says which registers it would have written, if that is plain.
fn unmodelled(context: &Context, why: &str) -> Op {
    let tree = context.tree();
    let mut text = tree.opcode.node.to_string();
    for modifier in &tree.modifiers {
        text.push('.');
        text.push_str(&modifier.node);
    }
    let first = tree.operands.first().map(|operand| &operand.node);
    let to = first.and_then(|operand| context.registers(operand).ok()).unwrap_or_default();
    Op::Unmodelled { text: if why.is_empty() { text } else { format!("{text} ({why})") }, to }
}

fn op(context: &Context) -> Decoded<Op> {
    let opcode = context.tree().opcode.node.as_str();
    forms::check(context)?;
    match opcode {
        "ld" | "ldu" | "st" | "atom" | "red" | "prefetch" | "prefetchu" | "discard" | "applypriority"
        | "createpolicy" | "cvta" | "isspacep" | "mapa" | "getctarank" | "ldmatrix" | "stmatrix" | "wmma"
        | "movmatrix" | "tensormap" => memory::op(context, opcode),
        "bar" | "barrier" | "mbarrier" | "fence" | "membar" | "griddepcontrol" => synchronise::op(context, opcode),
        "cp" => asynchronous::op(context),
        "clusterlaunchcontrol" => asynchronous::cancel(context),
        "wgmma" | "tcgen05" | "mma" => tensor::op(context, opcode),
        "bra" | "brx" | "ret" | "exit" | "trap" | "brkpt" | "call" | "nanosleep" | "pmevent" | "setmaxnreg"
        | "shfl" | "vote" | "match" | "redux" | "elect" | "activemask" => warp::op(context, opcode),
        _ => compute::op(context, opcode),
    }
}

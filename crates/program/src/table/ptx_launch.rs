//! Launches: `griddepcontrol` (PTX ISA 9.7.15.14), and what a host thread of a test does with kernels, `launch N` and
//! `sync N`, which stand for the calls of a runtime.

use fencepost_syntax::Diagnostic;
use fencepost_syntax::instruction::{Instruction, Operand as TreeOperand};

use crate::ids::KernelId;
use crate::lower::{Context, Refusal};
use crate::program::{Feature, HostCall, Operation};
use crate::table::form::{self, Form, version};
use crate::table::modifier::spelled;
use crate::tag::{Tag, Tags};

const fn row(head: &'static [&'static str], kind: Tag) -> Form<Tag> {
    Form { head, slots: &[], section: "9.7.15.14", since: version(7, 8), kind }
}

pub(crate) const FORMS: &[Form<Tag>] = &[
    row(&["griddepcontrol", "launch_dependents"], Tag::LaunchDependents),
    row(&["griddepcontrol", "wait"], Tag::GridWait),
];

pub(crate) fn grid(context: &mut Context<'_>, tree: &Instruction) -> Result<(), Refusal> {
    let Some(form) = form::select(FORMS, tree) else {
        return Err(Refusal::Unsupported(tree.span(), spelled(tree)));
    };
    form::words(form, tree)?;
    let [] = context.operands(tree)?;
    context.findings.floor(tree.span(), spelled(tree), form.since, form.section);
    context.findings.feature(Feature::Launch, tree.opcode.span);
    context.thread.emit(Operation::Mark { tags: Tags::NONE.with(form.kind), call: None });
    Ok(())
}

pub(crate) fn host(
    context: &mut Context<'_>,
    tree: &Instruction,
    call: fn(KernelId) -> HostCall,
) -> Result<(), Refusal> {
    if !tree.modifiers.is_empty() {
        return Err(Refusal::Unsupported(tree.span(), spelled(tree)));
    }
    let [kernel] = context.operands(tree)?;
    let number = match kernel.node {
        TreeOperand::Integer(number) => u32::try_from(number).ok(),
        _ => None,
    };
    let Some(number) = number else {
        let error = Diagnostic::error(kernel.span, "a kernel is a number").label("no kernel");
        return Err(Refusal::Error(error.help("write `launch 0` for the threads placed `kernel 0`")));
    };
    context.findings.feature(Feature::Launch, tree.opcode.span);
    context.thread.emit(Operation::Mark { tags: Tags::NONE, call: Some(call(KernelId(number))) });
    Ok(())
}

//! Launches: `griddepcontrol` (PTX ISA 9.7.15.14), and what a host thread of a test does with kernels, `launch N` and
//! `sync N`, which stand for the calls of a runtime. Both take a kernel or the name of a stream, `sync` also that of an
//! event; `sync` alone waits for all kernels.

use fencepost_syntax::instruction::{Instruction, Operand as TreeOperand};
use fencepost_syntax::{Diagnostic, Spanned};

use crate::ids::KernelId;
use crate::lower::context::Context;
use crate::lower::findings::Refusal;
use crate::program::{Feature, HostCall, Operation};
use crate::sections;
use crate::table::form::{self, Form, version};
use crate::table::modifier::spelled;
use crate::tag::{Tag, Tags};

const fn row(head: &'static [&'static str], kind: Tag) -> Form<Tag> {
    Form { head, slots: &[], section: sections::GRIDDEPCONTROL, since: version(7, 8), kind }
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
    let kernels: Vec<KernelId> = match tree.operands.as_slice() {
        [] if matches!(call(KernelId(0)), HostCall::Sync(_)) => context.launched.kernels().collect(),
        _ => {
            let [kernel] = context.operands(tree)?;
            called(context, kernel)?
        }
    };
    context.findings.feature(Feature::Launch, tree.opcode.span);
    for kernel in kernels {
        context.thread.emit(Operation::Mark { tags: Tags::NONE, call: Some(call(kernel)) });
    }
    Ok(())
}

/// The kernels that an operand of a host's call names.
fn called(context: &Context<'_>, operand: &Spanned<TreeOperand>) -> Result<Vec<KernelId>, Refusal> {
    let found = match &operand.node {
        TreeOperand::Integer(number) => u32::try_from(*number).ok().map(|number| vec![KernelId(number)]),
        TreeOperand::Symbol(name) | TreeOperand::Register(name) => context.launched.get(name).map(<[KernelId]>::to_vec),
        _ => None,
    };
    found.ok_or_else(|| {
        let error = Diagnostic::error(operand.span, "a kernel is a number").label("no kernel, stream or event");
        let known: Vec<&str> = context.launched.names().collect();
        let help = match known.as_slice() {
            [] => "write `launch 0` for the threads placed `kernel 0`".to_owned(),
            known => format!("streams and events of this test: {}", known.join(", ")),
        };
        Refusal::Error(error.help(help))
    })
}

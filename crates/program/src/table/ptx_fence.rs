//! Fences of PTX (PTX ISA 9.7.15.4): memory fences, proxy fences, and the older `membar`.

use fencepost_syntax::instruction::Instruction;
use fencepost_syntax::litmus::Dialect;
use fencepost_syntax::{Diagnostic, Spanned};

use crate::lower::{Context, Refusal};
use crate::program::{Feature, FenceCover, Operation, Scope};
use crate::table::modifier::{self, Modifiers, Sem};
use crate::table::ptx_memory::{note_scope, scope_tag};
use crate::tag::{Tag, Tags};

/// `fence.sem.scope`, `fence.proxy.kind`, and NVLitmus' `fence.alias`.
pub(crate) fn fence(context: &mut Context<'_>, tree: &Instruction, modifiers: &Modifiers) -> Result<(), Refusal> {
    let [] = context.operands(tree)?;
    note_scope(context, modifiers.scope.as_ref());
    if let Some(proxy) = &modifiers.proxy {
        return proxy_fence(context, tree, modifiers, proxy);
    }
    if !modifiers.words.is_empty() || modifiers.mmio {
        return Err(Refusal::Unsupported(tree.span(), modifier::spelled(tree)));
    }
    const LEGAL: &[Sem] = &[Sem::Sc, Sem::AcqRel, Sem::Acquire, Sem::Release];
    if let Some(sem) = &modifiers.sem {
        modifier::check_sem("fence", sem, LEGAL)?;
    }
    let tag = match modifiers.sem.as_ref().map(|sem| sem.node) {
        // `fence.scope` alone is acq_rel.
        None | Some(Sem::AcqRel) => Tag::AcqRel,
        Some(Sem::Sc) => Tag::Sc,
        Some(Sem::Acquire) => Tag::Acquire,
        Some(_) => Tag::Release,
    };
    let Some(scope) = &modifiers.scope else {
        return Err(modifier::missing_scope("fence", tree.opcode.span));
    };
    memory_fence(context, tag, scope.node);
    Ok(())
}

fn memory_fence(context: &mut Context<'_>, tag: Tag, scope: Scope) {
    let tags = Tags::from_iter([Tag::Fence, Tag::Generic, tag, scope_tag(scope)]);
    context.thread.emit(Operation::Fence { tags, scope: Some(scope), cover: FenceCover::EVERYTHING });
}

/// A proxy fence has its proxy's tag only; it takes effect inside its CTA and has no scope.
fn proxy_fence(
    context: &mut Context<'_>,
    tree: &Instruction,
    modifiers: &Modifiers,
    proxy: &Spanned<Tag>,
) -> Result<(), Refusal> {
    let named = modifiers.words.contains(&"proxy");
    let bare_alias = proxy.node == Tag::Alias && context.dialect == Dialect::NvLitmus;
    if !(named || bare_alias) {
        let message = format!("{} is no fence", modifier::spelled(tree));
        return Err(Refusal::Error(Diagnostic::error(proxy.span, message).help("write `fence.proxy.…`")));
    }
    // PTX 9.4's scoped alias halves have no model.
    if modifiers.sem.is_some() || modifiers.scope.is_some() {
        return Err(Refusal::Unsupported(tree.span(), modifier::spelled(tree)));
    }
    context.findings.feature(Feature::Proxy, tree.opcode.span);
    let tags = Tags::from_iter([Tag::Fence, Tag::ProxyFence, proxy.node]);
    context.thread.emit(Operation::Fence { tags, scope: None, cover: FenceCover::EVERYTHING });
    Ok(())
}

/// `membar.{cta,gl,sys}` is `fence.sc.{cta,gpu,sys}` on sm_70 and later (PTX ISA 9.7.13 membar).
pub(crate) fn membar(context: &mut Context<'_>, tree: &Instruction, modifiers: &Modifiers) -> Result<(), Refusal> {
    let [] = context.operands(tree)?;
    if let Some(proxy) = &modifiers.proxy {
        return proxy_fence(context, tree, modifiers, proxy);
    }
    match &modifiers.scope {
        Some(scope) if scope.node != Scope::Cluster && modifiers.words.is_empty() => {
            memory_fence(context, Tag::Sc, scope.node);
            Ok(())
        }
        _ => {
            let message = format!("{} is no fence", modifier::spelled(tree));
            Err(Refusal::Error(
                Diagnostic::error(tree.span(), message).help("it is `membar.cta`, `membar.gl` or `membar.sys`"),
            ))
        }
    }
}

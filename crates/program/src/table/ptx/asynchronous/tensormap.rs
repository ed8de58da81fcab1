//! Tensor maps that change (PTX ISA 9.7.10.29, 9.7.15.17): `tensormap.replace` is a weak generic write of the whole map,
//! whose value is the address of the tensor; `tensormap.cp_fenceproxy` copies a map and is the release half of a
//! tensormap proxy fence.

use fencepost_syntax::instruction::{Instruction, Operand as TreeOperand};
use fencepost_syntax::{Diagnostic, Spanned};

use crate::lower::context::Context;
use crate::lower::findings::Refusal;
use crate::program::{Feature, FenceCover, Operation, Scope};
use crate::sections;
use crate::table::form::{self, Form, Slot, Words, version};
use crate::table::ptx::asynchronous::copy::{address, wrong_operands};
use crate::table::ptx::memory::access::scope_tag;
use crate::tag::{Tag, Tags};
use crate::value::Type;

#[derive(Copy, Clone, Debug)]
pub(crate) enum Kind {
    ReplaceAddress,
    /// Any other field: the tensor stays.
    ReplaceField,
    CopyAndFence,
}

const SPACE: Slot = Slot::Maybe(&["global", "shared", "shared::cta"]);
const FIELD_TYPE: Slot = Slot::Maybe(&["b32", "b64"]);

const fn replace(head: &'static [&'static str], kind: Kind) -> Form<Kind> {
    Form {
        head,
        slots: &[SPACE, Slot::One(&["b1024"]), FIELD_TYPE],
        section: sections::TENSORMAP_REPLACE,
        since: version(8, 3),
        kind,
    }
}

pub(crate) const FORMS: &[Form<Kind>] = &[
    replace(&["tensormap", "replace", "tile", "global_address"], Kind::ReplaceAddress),
    replace(&["tensormap", "replace", "tile", "rank"], Kind::ReplaceField),
    replace(&["tensormap", "replace", "tile", "box_dim"], Kind::ReplaceField),
    replace(&["tensormap", "replace", "tile", "global_dim"], Kind::ReplaceField),
    replace(&["tensormap", "replace", "tile", "global_stride"], Kind::ReplaceField),
    replace(&["tensormap", "replace", "tile", "element_stride"], Kind::ReplaceField),
    replace(&["tensormap", "replace", "tile", "elemtype"], Kind::ReplaceField),
    replace(&["tensormap", "replace", "tile", "interleave_layout"], Kind::ReplaceField),
    replace(&["tensormap", "replace", "tile", "swizzle_mode"], Kind::ReplaceField),
    replace(&["tensormap", "replace", "tile", "swizzle_atomicity"], Kind::ReplaceField),
    replace(&["tensormap", "replace", "tile", "fill_mode"], Kind::ReplaceField),
    Form {
        head: &["tensormap", "cp_fenceproxy", "global", "shared::cta", "tensormap::generic", "release"],
        slots: &[Slot::One(&["cta", "cluster", "gpu", "sys"]), Slot::One(&["sync"]), Slot::One(&["aligned"])],
        section: sections::TENSORMAP_CP_FENCEPROXY,
        since: version(8, 3),
        kind: Kind::CopyAndFence,
    },
];

pub(crate) fn lower(context: &mut Context<'_>, tree: &Instruction) -> Option<Result<(), Refusal>> {
    let form = form::select(FORMS, tree)?;
    let lowered = form::words(form, tree).and_then(|words| {
        context.findings.feature(Feature::Async, tree.span());
        match form.kind {
            Kind::ReplaceAddress => replace_address(context, tree, &words),
            Kind::ReplaceField => replace_field(context, tree, &words),
            Kind::CopyAndFence => copy_and_fence(context, tree, &words),
        }
    });
    Some(lowered)
}

fn weak(half: Tag, space: Option<&str>) -> Tags {
    let tags = Tags::from_iter([half, Tag::Weak, Tag::Generic]);
    if space == Some("shared") { tags.with(Tag::OwnWindow) } else { tags }
}

fn space(words: &Words) -> Option<&'static str> {
    words.find(&[("global", "global"), ("shared", "shared"), ("shared::cta", "shared")]).map(|found| found.node)
}

fn map(
    context: &mut Context<'_>,
    tree: &Instruction,
    words: &Words,
    operand: &Spanned<TreeOperand>,
) -> Result<crate::program::AddressOperand, Refusal> {
    match space(words) {
        Some(space) => address(context, tree, operand, space),
        None => context.address(operand),
    }
}

fn replace_address(context: &mut Context<'_>, tree: &Instruction, words: &Words) -> Result<(), Refusal> {
    let [at, value] = context.operands(tree)?;
    let address = map(context, tree, words, at)?;
    let value = context.value(value)?;
    context.thread.emit(Operation::Store {
        address,
        value,
        ty: Type::UNTYPED,
        tags: weak(Tag::Write, space(words)),
        scope: None,
    });
    Ok(())
}

/// The whole map is rewritten; the tensor it describes stays, so that the value written is the one read.
fn replace_field(context: &mut Context<'_>, tree: &Instruction, words: &Words) -> Result<(), Refusal> {
    if !(2..=3).contains(&tree.operands.len()) {
        return Err(wrong_operands(tree, "a map, an index where the field has one, and a value"));
    }
    let address = map(context, tree, words, &tree.operands[0])?;
    let kept = context.thread.temporary(Type::UNTYPED);
    let (tags, ty) = (weak(Tag::Read, space(words)), Type::UNTYPED);
    context.thread.emit(Operation::Load {
        destination: Some(kept),
        address: address.clone(),
        ty,
        tags,
        scope: None,
        assume: None,
    });
    let value = crate::program::Operand::Register(kept);
    context.thread.emit(Operation::Store { address, value, ty, tags: weak(Tag::Write, space(words)), scope: None });
    Ok(())
}

/// `[d], [s], 128`: a weak generic copy of the map, then the release half.
fn copy_and_fence(context: &mut Context<'_>, tree: &Instruction, words: &Words) -> Result<(), Refusal> {
    let [to, from, size] = context.operands(tree)?;
    if !matches!(size.node, TreeOperand::Integer(128)) {
        let error = Diagnostic::error(size.span, "a tensor map has 128 bytes").label("not 128");
        return Err(Refusal::Error(error));
    }
    let to = address(context, tree, to, "global")?;
    let from = address(context, tree, from, "shared")?;
    const SCOPES: &[(&str, Scope)] =
        &[("cta", Scope::Cta), ("cluster", Scope::Cluster), ("gpu", Scope::Gpu), ("sys", Scope::Sys)];
    let scope = words.find(SCOPES).map_or(Scope::Gpu, |scope| scope.node);
    if scope == Scope::Cluster {
        context.findings.feature(Feature::Cluster, tree.span());
    }
    let (copied, ty) = (context.thread.temporary(Type::UNTYPED), Type::UNTYPED);
    let load = Operation::Load {
        destination: Some(copied),
        address: from,
        ty,
        tags: weak(Tag::Read, Some("shared")),
        scope: None,
        assume: None,
    };
    context.thread.emit(load);
    let value = crate::program::Operand::Register(copied);
    context.thread.emit(Operation::Store { address: to, value, ty, tags: weak(Tag::Write, None), scope: None });
    let tags = Tags::from_iter([Tag::Fence, Tag::ProxyFence, Tag::TensorMap, Tag::Release, scope_tag(scope)]);
    context.thread.emit(Operation::Fence { tags, scope: Some(scope), cover: FenceCover::EVERYTHING });
    Ok(())
}

//! Fences of PTX (PTX ISA 9.7.15.4): memory fences, proxy fences, and the older `membar`. What the dialects share is read by
//! classes of modifiers; the forms that only real PTX has are rows of their own.

use fencepost_syntax::instruction::{Instruction, Operand as TreeOperand};
use fencepost_syntax::litmus::Dialect;
use fencepost_syntax::{Diagnostic, Spanned};

use crate::lower::context::Context;
use crate::lower::findings::Refusal;
use crate::program::lint::LintKind;
use crate::program::{Cover, Feature, FenceCover, Operation, Scope};
use crate::sections;
use crate::table::form::{self, Form, Slot, Words, version};
use crate::table::modifier::{self, Modifiers, Sem, spelled};
use crate::table::ptx::memory::access::{note_scope, scope_tag};
use crate::tag::{Tag, Tags};

/// A form of real PTX.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Kind {
    /// Between virtual aliases.
    Alias,
    /// Between the generic and the async proxy, both ways.
    Async,
    /// Halves between the generic and the async proxy, limited to some memory.
    AsyncGeneric,
    /// Halves between the generic and the tensormap proxy.
    TensorMap,
    /// Halves between the generic and the fabric proxy, or within that one. No access of that proxy has a model (`fabric.…`
    /// is unsupported), so that there is nothing they order.
    Fabric,
    MbarrierInit,
    /// A memory fence limited to some memory.
    Restricted,
}

/// Of a memory fence.
pub(crate) const SEMANTICS: &[Sem] = &[Sem::Sc, Sem::AcqRel, Sem::Acquire, Sem::Release];

const HALF: Slot = Slot::One(&["acquire", "release"]);
const CLUSTER: Slot = Slot::One(&["cluster"]);
const FABRIC: &[Slot] = &[HALF, Slot::One(&["sys"])];
const RESTRICTIONS: &[&str] = &["sync_restrict::shared::cta", "sync_restrict::shared::cluster"];
const READ: &str = "sync_restrict::shared::cluster::read";

const fn form(head: &'static [&'static str], slots: &'static [Slot], since: (u8, u8), kind: Kind) -> Form<Kind> {
    Form { head, slots, section: sections::FENCE, since: version(since.0, since.1), kind }
}

pub(crate) const FORMS: &[Form<Kind>] = &[
    form(
        &["fence", "proxy", "alias"],
        &[Slot::Maybe(&["acquire", "release"]), Slot::Maybe(&["sys"])],
        (7, 5),
        Kind::Alias,
    ),
    form(
        &["fence", "proxy", "async"],
        &[Slot::Maybe(&["global", "shared::cta", "shared::cluster"])],
        (8, 0),
        Kind::Async,
    ),
    form(
        &["fence", "proxy", "async::generic"],
        &[HALF, Slot::One(&["sync_restrict::shared::cta", "sync_restrict::shared::cluster", READ]), CLUSTER],
        (8, 6),
        Kind::AsyncGeneric,
    ),
    form(
        &["fence", "proxy", "tensormap::generic"],
        &[HALF, Slot::One(&["cta", "cluster", "gpu", "sys"])],
        (8, 3),
        Kind::TensorMap,
    ),
    form(&["fence", "proxy", "generic::fabric", "alias"], FABRIC, (9, 3), Kind::Fabric),
    form(&["fence", "proxy", "fabric::generic", "alias"], FABRIC, (9, 3), Kind::Fabric),
    form(&["fence", "proxy", "fabric::fabric", "alias"], FABRIC, (9, 3), Kind::Fabric),
    form(&["fence", "mbarrier_init"], &[Slot::One(&["release"]), CLUSTER], (8, 0), Kind::MbarrierInit),
    form(&["fence"], &[HALF, Slot::One(RESTRICTIONS), CLUSTER], (8, 6), Kind::Restricted),
];

const SCOPES: &[(&str, Scope)] =
    &[("cta", Scope::Cta), ("cluster", Scope::Cluster), ("gpu", Scope::Gpu), ("sys", Scope::Sys)];
const HALVES: &[(&str, Tag)] = &[("acquire", Tag::Acquire), ("release", Tag::Release)];

/// Whether the instruction is one of [`FORMS`]. `membar.proxy` is `fence.proxy`.
pub(crate) fn real(context: &mut Context<'_>, tree: &Instruction) -> Option<Result<(), Refusal>> {
    if context.dialect != Dialect::Ptx {
        return None;
    }
    let mut named = tree.clone();
    if tree.modifiers.first().is_some_and(|word| word.node == "proxy") {
        named.opcode.node = "fence".into();
    }
    let form = form::select(FORMS, &named)?;
    let is_restricted = named.modifiers.iter().any(|word| word.node.starts_with("sync_restrict"));
    if matches!(form.kind, Kind::Restricted) && !is_restricted {
        return None;
    }
    Some(form::words(form, &named).and_then(|words| lower_form(context, tree, form, &words)))
}

fn lower_form(context: &mut Context<'_>, tree: &Instruction, form: &Form<Kind>, words: &Words) -> Result<(), Refusal> {
    let half = words.find(HALVES);
    let scope = words.find(SCOPES);
    note_scope(context, scope.as_ref());
    let mut since = form.since;
    let (own, feature, cover) = match form.kind {
        Kind::Alias => {
            if half.is_some() != scope.is_some() {
                let message = format!("{} needs both a half and a scope, or neither", spelled(tree));
                let help = "write `fence.proxy.alias`, or `.acquire.sys` or `.release.sys` behind it";
                return Err(Refusal::Error(Diagnostic::error(tree.span(), message).help(help)));
            }
            since = if half.is_some() { version(9, 4) } else { since };
            // The halves came with those of the async proxy; older models have no rule for them.
            let feature = if half.is_some() { Feature::Async } else { Feature::Proxy };
            (Tags::from_iter([Tag::ProxyFence, Tag::Alias]), feature, FenceCover::EVERYTHING)
        }
        Kind::Async => (Tags::from_iter([Tag::ProxyFence, Tag::Async]), Feature::Async, space(words)),
        Kind::AsyncGeneric => {
            since = if words.has(READ) { version(9, 4) } else { since };
            let tags = Tags::from_iter([Tag::ProxyFence, Tag::Async]);
            let tags = if words.has(READ) { tags.with(Tag::ReadsOnly) } else { tags };
            (tags, Feature::Async, restriction(tree, words)?)
        }
        Kind::TensorMap => {
            (Tags::from_iter([Tag::ProxyFence, Tag::TensorMap]), Feature::Async, map(context, tree, words)?)
        }
        Kind::Fabric => (Tags::NONE.with(Tag::ProxyFence), Feature::Async, FenceCover::EVERYTHING),
        Kind::MbarrierInit => (Tags::NONE.with(Tag::MbarrierInitFence), Feature::Async, FenceCover::EVERYTHING),
        Kind::Restricted => {
            (Tags::from_iter([Tag::Generic, Tag::Restricted]), Feature::Cluster, restriction(tree, words)?)
        }
    };
    if !matches!(cover, FenceCover::TensorMap(_)) {
        let [] = context.operands(tree)?;
    }
    context.findings.floor(tree.span(), spelled(tree), since, form.section);
    context.findings.feature(feature, tree.opcode.span);
    let mut tags = own.with(Tag::Fence);
    tags = half.map_or(tags, |half| tags.with(half.node));
    tags = scope.as_ref().map_or(tags, |scope| tags.with(scope_tag(scope.node)));
    context.thread.emit(Operation::Fence { tags, scope: scope.map(|scope| scope.node), cover });
    Ok(())
}

/// The state space `fence.proxy.async` is limited to.
fn space(words: &Words) -> FenceCover {
    FenceCover::Fixed(match () {
        () if words.has("global") => Cover::Global,
        () if words.has("shared::cta") => Cover::SharedCta,
        () if words.has("shared::cluster") => Cover::SharedCluster,
        () => Cover::Everything,
    })
}

/// An acquire is about the shared memory of the cluster, a release about that of the CTA, or about what it read.
fn restriction(tree: &Instruction, words: &Words) -> Result<FenceCover, Refusal> {
    let own = words.has("sync_restrict::shared::cta");
    let cover = match (words.has("release"), own) {
        (true, true) => Cover::SharedCta,
        (true, false) if words.has(READ) => Cover::SharedCluster,
        (false, false) if !words.has(READ) => Cover::SharedCluster,
        _ => {
            let message = format!("there is no {}", spelled(tree));
            let help =
                "`.acquire` goes with `.sync_restrict::shared::cluster`, `.release` with `.sync_restrict::shared::cta`";
            return Err(Refusal::Error(Diagnostic::error(tree.span(), message).help(help)));
        }
    };
    Ok(FenceCover::Fixed(cover))
}

/// `fence.proxy.tensormap::generic.acquire.scope [map], 128`; the release half has no operands.
fn map(context: &mut Context<'_>, tree: &Instruction, words: &Words) -> Result<FenceCover, Refusal> {
    if words.has("release") {
        return Ok(FenceCover::EVERYTHING);
    }
    let [address, size] = context.operands(tree)?;
    let address = context.address(address)?;
    match size.node {
        TreeOperand::Integer(128) => {}
        TreeOperand::Integer(bytes) => {
            context.findings.lint(size.span, LintKind::TensorMapSize { bytes }, sections::FENCE);
        }
        _ => return Err(Refusal::error(size.span, "the size of a tensor map is the constant 128")),
    }
    Ok(FenceCover::TensorMap(address))
}

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
    if let Some(sem) = &modifiers.sem {
        modifier::check_sem("fence", sem, SEMANTICS)?;
    }
    let tag = match modifiers.sem.as_ref().map(|sem| sem.node) {
        // `fence.scope` alone is acq_rel.
        None | Some(Sem::AcqRel) => Tag::AcqRel,
        Some(Sem::Sc) => Tag::Sc,
        Some(Sem::Acquire) => Tag::Acquire,
        Some(_) => Tag::Release,
    };
    let Some(scope) = &modifiers.scope else {
        if modifiers.sem.is_none() {
            let error = Diagnostic::error(tree.opcode.span, "`fence` says neither its semantics nor its scope");
            return Err(Refusal::Error(error.label("no scope").help("write `fence.acq_rel.gpu` or `fence.sc.gpu`")));
        }
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
    // The scoped halves of PTX 9.4 are real PTX's.
    if modifiers.sem.is_some() || modifiers.scope.is_some() {
        return Err(Refusal::Unsupported(tree.span(), modifier::spelled(tree)));
    }
    context.findings.feature(Feature::Proxy, tree.opcode.span);
    let tags = Tags::from_iter([Tag::Fence, Tag::ProxyFence, proxy.node]);
    context.thread.emit(Operation::Fence { tags, scope: None, cover: FenceCover::EVERYTHING });
    Ok(())
}

/// `membar.{cta,gl,sys}` is `fence.sc.{cta,gpu,sys}` on sm_70 and later (PTX ISA 9.7.15.4 membar).
pub(crate) fn membar(context: &mut Context<'_>, tree: &Instruction, modifiers: &Modifiers) -> Result<(), Refusal> {
    let [] = context.operands(tree)?;
    if let Some(proxy) = &modifiers.proxy {
        return proxy_fence(context, tree, modifiers, proxy);
    }
    if let Some(word) = tree.modifiers.iter().find(|word| word.node == "gpu") {
        let message = format!("{} is not PTX: the levels of `membar` are `.cta`, `.gl` and `.sys`", spelled(tree));
        let error = Diagnostic::error(word.span, message).label("not PTX");
        return Err(Refusal::Error(error.help("write `membar.gl`, or `fence.sc.gpu`, which means the same")));
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

/// `ofence` and `dfence` are about persists only: models decide whether they order anything else.
pub(crate) fn persist(context: &mut Context<'_>, tree: &Instruction, tag: Tag) -> Result<(), Refusal> {
    let [] = context.operands(tree)?;
    context.findings.feature(Feature::Persistence, tree.span());
    let tags = Tags::NONE.with(tag);
    context.thread.emit(Operation::Fence { tags, scope: None, cover: FenceCover::EVERYTHING });
    Ok(())
}

//! `cp.async` and bulk copies between global and shared memory (PTX ISA 9.7.10.28): copies, reductions, groups, and the
//! asynchronous arrive. `cp.async` accesses memory through the generic proxy, bulk copies through the async proxy; the
//! mbarrier operand is accessed through the generic proxy always.

use fencepost_syntax::instruction::{Instruction, Operand as TreeOperand};
use fencepost_syntax::{Diagnostic, Spanned};

use crate::lower::context::Context;
use crate::lower::findings::Refusal;
use crate::program::asynchronous::{
    Action, Arrive, Async, Base, Beside, Completion, Counting, Covered, Effect, Family, Home, Placement, Region,
    RegionId, Replicas, Size, Start, Told, Valid,
};
use crate::program::{AddressOperand, Feature, Operand, Operation, Scope, Space};
use crate::sections;
use crate::table::form::{self, Form, Slot, Words, version};
use crate::table::modifier;
use crate::table::ptx::asynchronous::reduction::{ELEMENT, combine};
use crate::table::ptx::memory::access::scope_tag;
use crate::table::ptx::memory::multimem;
use crate::tag::{Tag, Tags};
use crate::value::{Type, Value};

#[derive(Copy, Clone, Debug)]
pub(crate) enum Kind {
    /// `cp.async`.
    Small,
    ArriveLater,
    Commit(Family),
    WaitGroup(Family),
    WaitAll,
    /// A bulk copy from one state space to another.
    Bulk {
        to: &'static str,
        from: &'static str,
    },
    Reduce {
        to: &'static str,
    },
    /// A bulk copy to all replicas of a multimem address, or a reduction.
    Multimem,
    /// A hint: no effect on values or order.
    Hint,
}

pub(crate) const COMPLETE_TX: &str = "mbarrier::complete_tx::bytes";
const SHARED: Slot = Slot::One(&["shared", "shared::cta"]);
/// The ISA writes `.sem` and `.scope` before the state spaces (9.7.10.28.4.1).
const SEM: Slot = Slot::Early(&["weak", "relaxed"]);
const RELAXED: Slot = Slot::Early(&["relaxed"]);
const SCOPE: Slot = Slot::Early(&["cta", "cluster", "gpu", "sys"]);
const MULTICAST: Slot = Slot::Maybe(MULTICASTS);
/// The mask has 16 bits, which may be said, or 32.
pub(crate) const MULTICASTS: &[&str] = &["multicast::cluster", "multicast::cluster::16b", "multicast::cluster::32b"];
/// That nothing is reported, the default, may be said.
pub(crate) const REPORT: Slot = Slot::Maybe(&["mbarrier::report::disabled"]);
const STRENGTH: &[Slot] =
    &[SEM, SCOPE, Slot::One(&[COMPLETE_TX]), REPORT, MULTICAST, Slot::Maybe(&["b128"]), Slot::Hints];
const GROUPED: &[Slot] =
    &[SEM, SCOPE, Slot::One(&["bulk_group"]), Slot::Maybe(&["cp_mask"]), Slot::Maybe(&["b128"]), Slot::Hints];
const OPERATIONS: &[&str] = &["add", "min", "max", "inc", "dec", "and", "or", "xor"];

pub(crate) const FORMS: &[Form<Kind>] = &[
    Form {
        head: &["cp", "async"],
        slots: &[Slot::One(&["ca", "cg"]), SHARED, Slot::One(&["global"]), Slot::Hints],
        section: sections::CP_ASYNC,
        since: version(7, 0),
        kind: Kind::Small,
    },
    Form {
        head: &["cp", "async", "commit_group"],
        slots: &[],
        section: sections::CP_ASYNC_COMMIT_GROUP,
        since: version(7, 0),
        kind: Kind::Commit(Family::CpAsync),
    },
    Form {
        head: &["cp", "async", "wait_group"],
        slots: &[],
        section: sections::CP_ASYNC_WAIT_GROUP,
        since: version(7, 0),
        kind: Kind::WaitGroup(Family::CpAsync),
    },
    Form {
        head: &["cp", "async", "wait_all"],
        slots: &[],
        section: sections::CP_ASYNC_WAIT_GROUP,
        since: version(7, 0),
        kind: Kind::WaitAll,
    },
    Form {
        head: &["cp", "async", "mbarrier", "arrive"],
        slots: &[Slot::Maybe(&["noinc"]), Slot::Maybe(&["shared", "shared::cta"]), Slot::One(&["b64"])],
        section: sections::CP_ASYNC_MBARRIER_ARRIVE,
        since: version(7, 0),
        kind: Kind::ArriveLater,
    },
    Form {
        head: &["cp", "async", "bulk", "shared::cluster", "global"],
        slots: STRENGTH,
        section: sections::CP_ASYNC_BULK,
        since: version(8, 0),
        kind: Kind::Bulk { to: "shared::cluster", from: "global" },
    },
    Form {
        head: &["cp", "async", "bulk", "shared::cta", "global"],
        slots: STRENGTH,
        section: sections::CP_ASYNC_BULK,
        since: version(8, 6),
        kind: Kind::Bulk { to: "shared::cta", from: "global" },
    },
    Form {
        head: &["cp", "async", "bulk", "shared::cluster", "shared::cta"],
        slots: STRENGTH,
        section: sections::CP_ASYNC_BULK,
        since: version(8, 0),
        kind: Kind::Bulk { to: "shared::cluster", from: "shared::cta" },
    },
    Form {
        head: &["cp", "async", "bulk", "global", "shared::cta"],
        slots: GROUPED,
        section: sections::CP_ASYNC_BULK,
        since: version(8, 0),
        kind: Kind::Bulk { to: "global", from: "shared::cta" },
    },
    Form {
        head: &["cp", "reduce", "async", "bulk", "shared::cluster", "shared::cta"],
        slots: &[
            RELAXED,
            SCOPE,
            Slot::One(&[COMPLETE_TX]),
            Slot::One(OPERATIONS),
            Slot::Maybe(&["noftz"]),
            ELEMENT,
            Slot::Hints,
        ],
        section: sections::CP_REDUCE_ASYNC_BULK,
        since: version(8, 0),
        kind: Kind::Reduce { to: "shared::cluster" },
    },
    Form {
        head: &["cp", "reduce", "async", "bulk", "global", "shared::cta"],
        slots: &[
            RELAXED,
            SCOPE,
            Slot::One(&["bulk_group"]),
            Slot::One(OPERATIONS),
            Slot::Maybe(&["noftz"]),
            ELEMENT,
            Slot::Hints,
        ],
        section: sections::CP_REDUCE_ASYNC_BULK,
        since: version(8, 0),
        kind: Kind::Reduce { to: "global" },
    },
    Form {
        head: &["multimem", "cp", "async", "bulk"],
        slots: &[
            SEM,
            SCOPE,
            Slot::One(&["global"]),
            Slot::One(&["shared::cta"]),
            Slot::One(&["bulk_group"]),
            Slot::Maybe(&["cp_mask"]),
            Slot::Maybe(&["b128"]),
        ],
        section: sections::MULTIMEM_CP_ASYNC_BULK,
        since: version(9, 1),
        kind: Kind::Multimem,
    },
    Form {
        head: &["multimem", "cp", "reduce", "async", "bulk"],
        slots: &[
            RELAXED,
            SCOPE,
            Slot::One(&["global"]),
            Slot::One(&["shared::cta"]),
            Slot::One(&["bulk_group"]),
            Slot::One(OPERATIONS),
            Slot::Maybe(&["noftz"]),
            ELEMENT,
        ],
        section: sections::MULTIMEM_CP_REDUCE_ASYNC_BULK,
        since: version(9, 1),
        kind: Kind::Multimem,
    },
    Form {
        head: &["cp", "async", "bulk", "prefetch", "L2", "global"],
        slots: &[Slot::Hints],
        section: sections::CP_ASYNC_BULK_PREFETCH,
        since: version(8, 0),
        kind: Kind::Hint,
    },
    Form {
        head: &["cp", "async", "bulk", "commit_group"],
        slots: &[],
        section: sections::CP_ASYNC_BULK_COMMIT_GROUP,
        since: version(8, 0),
        kind: Kind::Commit(Family::Bulk),
    },
    Form {
        head: &["cp", "async", "bulk", "wait_group"],
        slots: &[Slot::Maybe(&["read"])],
        section: sections::CP_ASYNC_BULK_WAIT_GROUP,
        since: version(8, 0),
        kind: Kind::WaitGroup(Family::Bulk),
    },
    Form {
        head: &["prefetch"],
        slots: &[
            Slot::Maybe(&["global", "local", "const", "param"]),
            Slot::One(&["L1", "L2", "L2::evict_last", "L2::evict_normal", "tensormap"]),
            Slot::Hints,
        ],
        section: sections::PREFETCH,
        since: version(2, 0),
        kind: Kind::Hint,
    },
    Form {
        head: &["prefetchu"],
        slots: &[Slot::One(&["L1"])],
        section: sections::PREFETCH,
        since: version(2, 0),
        kind: Kind::Hint,
    },
];

pub(crate) fn lower(context: &mut Context<'_>, tree: &Instruction) -> Option<Result<(), Refusal>> {
    let form = form::select(FORMS, tree)?;
    Some(form::words(form, tree).and_then(|words| apply(context, tree, form.kind, &words)))
}

fn apply(context: &mut Context<'_>, tree: &Instruction, kind: Kind, words: &Words) -> Result<(), Refusal> {
    match kind {
        Kind::Small => small(context, tree, words),
        Kind::ArriveLater => {
            let [mbarrier] = context.operands(tree)?;
            let mbarrier = shared(context, tree, mbarrier)?;
            let counting = if words.has("noinc") { Counting::Included } else { Counting::Added };
            let arrive = Arrive { mbarrier, replicas: Replicas::One, counting, group: 0, told: Told::Everything };
            emit(context, tree, Family::CpAsync, Action::Arrive(arrive));
            Ok(())
        }
        Kind::Commit(family) => {
            let [] = context.operands(tree)?;
            emit(context, tree, family, Action::Commit);
            Ok(())
        }
        Kind::WaitGroup(family) => {
            let covered = if words.has("read") { Covered::Reads } else { Covered::Everything };
            wait_group(context, tree, family, covered)
        }
        Kind::WaitAll => {
            let [] = context.operands(tree)?;
            emit(context, tree, Family::CpAsync, Action::WaitAll);
            Ok(())
        }
        Kind::Bulk { to, from } => bulk(context, tree, words, to, from),
        Kind::Reduce { to } => reduce(context, tree, words, to),
        Kind::Multimem => multimem(context, tree, words),
        Kind::Hint => {
            context.thread.emit(Operation::Nothing);
            Ok(())
        }
    }
}

pub(crate) fn emit(context: &mut Context<'_>, tree: &Instruction, family: Family, action: Action) {
    context.findings.feature(Feature::Async, tree.span());
    context.thread.emit(Operation::Async(Box::new(Async { family, action })));
}

pub(crate) fn start(context: &mut Context<'_>, tree: &Instruction, family: Family, start: Start) {
    emit(context, tree, family, Action::Start(Box::new(start)));
}

/// Weak accesses through a proxy.
pub(crate) fn weak(proxy: Tag) -> (Tags, Option<Scope>) {
    (Tags::from_iter([proxy, Tag::Weak]), None)
}

/// Strong accesses through a proxy.
pub(crate) fn strong(proxy: Tag, sem: Tag, scope: Scope) -> (Tags, Option<Scope>) {
    (Tags::from_iter([proxy, sem, scope_tag(scope)]), Some(scope))
}

pub(crate) fn region(
    space: Space,
    address: AddressOperand,
    size: Size,
    (tags, scope): (Tags, Option<Scope>),
) -> Region {
    Region { base: Base::Address(address), size, replicas: Replicas::One, space: Some(space), tags, scope }
}

/// Memory that the instruction calls `.shared::cta`: the thread's own.
pub(crate) fn own(address: AddressOperand, size: Size, (tags, scope): (Tags, Option<Scope>)) -> Region {
    region(Space::Shared, address, size, (tags.with(Tag::OwnWindow), scope))
}

fn space(word: &str) -> Space {
    if word == "global" { Space::Global } else { Space::Shared }
}

/// An address operand in a state space.
pub(crate) fn address(
    context: &mut Context<'_>,
    tree: &Instruction,
    operand: &Spanned<TreeOperand>,
    space: &str,
) -> Result<AddressOperand, Refusal> {
    let address = context.address(operand)?;
    context.qualify(tree, Some(&Spanned::new(space.into(), operand.span)), &address)?;
    Ok(address)
}

pub(crate) fn shared(
    context: &mut Context<'_>,
    tree: &Instruction,
    operand: &Spanned<TreeOperand>,
) -> Result<AddressOperand, Refusal> {
    address(context, tree, operand, "shared")
}

pub(crate) fn wrong_operands(tree: &Instruction, expected: &str) -> Refusal {
    let message = format!("{} takes {expected}", modifier::spelled(tree));
    Refusal::Error(Diagnostic::error(tree.span(), message).label("wrong operands"))
}

/// The operands without the cache policy that `.L2::cache_hint` adds at the end: it has no effect on values.
pub(crate) fn operands(tree: &Instruction, words: &Words) -> Vec<Spanned<TreeOperand>> {
    let mut operands = tree.operands.clone();
    if words.has("L2::cache_hint") {
        // A byte mask comes after it.
        let last = operands.len().saturating_sub(if words.has("cp_mask") { 2 } else { 1 });
        if last < operands.len() {
            operands.remove(last);
        }
    }
    operands
}

pub(crate) fn wait_group(
    context: &mut Context<'_>,
    tree: &Instruction,
    family: Family,
    covered: Covered,
) -> Result<(), Refusal> {
    let [count] = context.operands(tree)?;
    let newest = match count.node {
        TreeOperand::Integer(count) => u32::try_from(count).ok(),
        _ => None,
    };
    let Some(newest) = newest else {
        let error = Diagnostic::error(count.span, "the number of groups is an immediate, 0 or more");
        return Err(Refusal::Error(error.label("no number of groups")));
    };
    emit(context, tree, family, Action::WaitGroup { newest, covered });
    Ok(())
}

/// `cp.async.{ca,cg}.shared.global [d], [s], size{, src-size | ignore-src}{, cache-policy}`.
fn small(context: &mut Context<'_>, tree: &Instruction, words: &Words) -> Result<(), Refusal> {
    let given = operands(tree, words);
    let (to, from, size, limit) = match given.as_slice() {
        [to, from, size] => (to, from, size, None),
        [to, from, size, limit] => (to, from, size, Some(limit)),
        _ => return Err(wrong_operands(tree, "a destination, a source and a size")),
    };
    let to = shared(context, tree, to)?;
    let from = address(context, tree, from, "global")?;
    if !matches!(size.node, TreeOperand::Integer(4 | 8 | 16)) {
        let error = Diagnostic::error(size.span, "`cp.async` copies 4, 8 or 16 bytes").label("no such size");
        return Err(Refusal::Error(error));
    }
    // 9.7.10.28.3.1: `.cg` takes whole 16 bytes past the first level of caches.
    if words.has("cg") && !matches!(size.node, TreeOperand::Integer(16)) {
        let error = Diagnostic::error(size.span, "`cp.async.cg` copies 16 bytes").label("`.ca` copies 4, 8 or 16");
        return Err(Refusal::Error(error));
    }
    if let (TreeOperand::Integer(bytes), Some(TreeOperand::Integer(valid))) =
        (&size.node, limit.map(|limit| &limit.node))
        && !(0..=*bytes).contains(valid)
    {
        let span = limit.map_or(size.span, |limit| limit.span);
        let error = Diagnostic::error(span, format!("`cp.async` of {bytes} bytes cannot read {valid} of them"));
        return Err(Refusal::Error(
            error.label("no such size").help("the size of the source is at most that of the copy"),
        ));
    }
    let size = context.value(size)?;
    let valid = match limit.map(|limit| context.value(limit)).transpose()? {
        None => Valid::All,
        Some(Operand::Register(register)) if context.thread.register_type(register) == Type::PREDICATE => {
            Valid::Unless(Operand::Register(register))
        }
        Some(bytes) => Valid::Bytes(bytes),
    };
    let regions = vec![
        region(Space::Global, from, Size::Bytes(size), weak(Tag::Generic)),
        own(to, Size::Bytes(size), weak(Tag::Generic)),
    ];
    let effect = Effect::Copy { source: RegionId(0), destination: RegionId(1), combine: None, valid };
    start(context, tree, Family::CpAsync, Start { regions, effect, completion: Completion::Group, tensor: None });
    Ok(())
}

const SCOPES: &[(&str, Scope)] =
    &[("cta", Scope::Cta), ("cluster", Scope::Cluster), ("gpu", Scope::Gpu), ("sys", Scope::Sys)];

/// What `.sem` and `.scope` say of a bulk copy, None where they are not there. They come together, but for `.weak`.
fn said_strength(tree: &Instruction, words: &Words) -> Result<Option<(Tags, Option<Scope>)>, Refusal> {
    match (words.has("relaxed"), words.find(SCOPES)) {
        (false, None) => Ok(None),
        (true, Some(scope)) => Ok(Some(strong(Tag::Async, Tag::Relaxed, scope.node))),
        (true, None) => Err(modifier::missing_scope("cp.async.bulk", tree.span())),
        (false, Some(scope)) => {
            let error = Diagnostic::error(scope.span, "a weak bulk copy has no scope");
            Err(Refusal::Error(error.label("not taken").help("make it `.relaxed`, or drop the scope")))
        }
    }
}

/// Where a bulk copy may go (PTX ISA 9.7.10.28.4.1). Of its mbarrier nothing is said; of a tensor copy's it is.
fn placement(to: &str, from: &str) -> Placement {
    let destination = match (to, from) {
        ("shared::cta", _) => Home::Own,
        (_, "shared::cta") => Home::Other,
        _ => Home::Any,
    };
    Placement { destination, mbarrier: Beside::Unsaid, section: sections::CP_ASYNC_BULK }
}

/// `cp.async.bulk…[d], [s], size, [mbar]{, mask}{, cache-policy}`, or without the mbarrier to global memory.
fn bulk(context: &mut Context<'_>, tree: &Instruction, words: &Words, to: &str, from: &str) -> Result<(), Refusal> {
    let given = operands(tree, words);
    let strength = said_strength(tree, words)?.unwrap_or(weak(Tag::Async));
    let (destination, source, size, rest) = match given.as_slice() {
        [destination, source, size, rest @ ..] => (destination, source, size, rest),
        _ => return Err(wrong_operands(tree, "a destination, a source and a size")),
    };
    let destination = address(context, tree, destination, to)?;
    let source = address(context, tree, source, from)?;
    let size = bulk_size(context, size)?;
    let mut valid = Valid::All;
    let (completion, replicas) = match (to, rest) {
        ("global", []) if !words.has("cp_mask") => (Completion::Group, Replicas::One),
        ("global", [mask]) if words.has("cp_mask") => {
            valid = Valid::Mask(context.value(mask)?);
            (Completion::Group, Replicas::One)
        }
        ("global", _) => return Err(wrong_operands(tree, "a destination, a source and a size")),
        (_, rest) => transaction(context, tree, words, (rest, placement(to, from)))?,
    };
    let mut written = region(space(to), destination, Size::Bytes(size), strength);
    written.replicas = replicas;
    let read = match from {
        "shared::cta" => own(source, Size::Bytes(size), strength),
        _ => region(space(from), source, Size::Bytes(size), strength),
    };
    let regions = vec![read, written];
    let effect = Effect::Copy { source: RegionId(0), destination: RegionId(1), combine: None, valid };
    start(context, tree, Family::Bulk, Start { regions, effect, completion, tensor: None });
    Ok(())
}

/// `[multimem], [s], size{, byte mask}`: one copy, or one reduction, per replica, in no order (PTX ISA 8.2.3).
fn multimem(context: &mut Context<'_>, tree: &Instruction, words: &Words) -> Result<(), Refusal> {
    let (destination, source, size, mask) = match (tree.operands.as_slice(), words.has("cp_mask")) {
        ([destination, source, size], false) => (destination, source, size, None),
        ([destination, source, size, mask], true) => (destination, source, size, Some(mask)),
        _ => return Err(wrong_operands(tree, "a multimem address, a source and a size")),
    };
    let replicas = multimem::replicas(context, destination)?;
    let source = shared(context, tree, source)?;
    let size = bulk_size(context, size)?;
    let valid = match mask {
        Some(mask) => Valid::Mask(context.value(mask)?),
        None => Valid::All,
    };
    let combine = combine(words, Type::UNTYPED);
    let unsaid = if combine.is_some() { strong(Tag::Async, Tag::Relaxed, Scope::Sys) } else { weak(Tag::Async) };
    let strength = said_strength(tree, words)?.unwrap_or(unsaid);
    context.findings.feature(Feature::Multimem, tree.opcode.span);
    for replica in replicas {
        let regions = vec![
            own(source.clone(), Size::Bytes(size), weak(Tag::Async)),
            region(Space::Global, replica, Size::Bytes(size), strength),
        ];
        let effect = Effect::Copy { source: RegionId(0), destination: RegionId(1), combine, valid };
        start(context, tree, Family::Bulk, Start { regions, effect, completion: Completion::Group, tensor: None });
    }
    Ok(())
}

/// Bulk copies move multiples of 16 bytes.
fn bulk_size(context: &mut Context<'_>, operand: &Spanned<TreeOperand>) -> Result<Operand, Refusal> {
    match context.value(operand)? {
        Operand::Constant(Value(size)) if size <= 0 || size % 16 != 0 => {
            let error = Diagnostic::error(operand.span, "a bulk copy moves a positive multiple of 16 bytes");
            Err(Refusal::Error(error.label("no such size")))
        }
        size => Ok(size),
    }
}

/// `[mbar]{, mask}`.
pub(crate) fn transaction(
    context: &mut Context<'_>,
    tree: &Instruction,
    words: &Words,
    (rest, placement): (&[Spanned<TreeOperand>], Placement),
) -> Result<(Completion, Replicas), Refusal> {
    let is_multicast = is_multicast(words);
    let (mbarrier, mask) = match rest {
        [mbarrier] if !is_multicast => (mbarrier, None),
        [mbarrier, mask] if is_multicast => (mbarrier, Some(mask)),
        _ if is_multicast => return Err(wrong_operands(tree, "an mbarrier and a CTA mask at the end")),
        _ => return Err(wrong_operands(tree, "an mbarrier at the end")),
    };
    let mbarrier = shared(context, tree, mbarrier)?;
    let replicas = match mask {
        None => Replicas::One,
        Some(mask) => wide_mask(context, tree, words, mask)?,
    };
    let told = match replicas {
        Replicas::Mask(mask) if words.has("cta_group::2") => Replicas::MaskOfPairs(mask),
        other => other,
    };
    Ok((Completion::Transaction { mbarrier, replicas: told, placement: Some(placement) }, replicas))
}

/// The CTAs of a mask. Its width may be said from 9.4 on.
pub(crate) fn wide_mask(
    context: &mut Context<'_>,
    tree: &Instruction,
    words: &Words,
    mask: &Spanned<TreeOperand>,
) -> Result<Replicas, Refusal> {
    context.findings.feature(Feature::Cluster, mask.span);
    if !words.has("multicast::cluster") {
        context.findings.floor(tree.span(), modifier::spelled(tree), version(9, 4), sections::ASYNC_COPY);
    }
    Ok(Replicas::Mask(context.value(mask)?))
}

pub(crate) fn is_multicast(words: &Words) -> bool {
    MULTICASTS.iter().any(|word| words.has(word))
}

/// `cp.reduce.async.bulk`: each element is combined by a relaxed read-modify-write, at system scope since PTX 9.4 and at
/// GPU scope before.
fn reduce(context: &mut Context<'_>, tree: &Instruction, words: &Words, to: &str) -> Result<(), Refusal> {
    let given = operands(tree, words);
    let [destination, source, size, rest @ ..] = given.as_slice() else {
        return Err(wrong_operands(tree, "a destination, a source and a size"));
    };
    let destination = address(context, tree, destination, to)?;
    let source = shared(context, tree, source)?;
    let size = bulk_size(context, size)?;
    let completion = match (to, rest) {
        ("global", []) => Completion::Group,
        ("global", _) => return Err(wrong_operands(tree, "a destination, a source and a size")),
        (_, rest) => transaction(context, tree, words, (rest, placement(to, "shared::cta")))?.0,
    };
    let unsaid = if context.version >= version(9, 4) { Scope::Sys } else { Scope::Gpu };
    let strength = said_strength(tree, words)?.unwrap_or(strong(Tag::Async, Tag::Relaxed, unsaid));
    let regions = vec![
        own(source, Size::Bytes(size), weak(Tag::Async)),
        region(space(to), destination, Size::Bytes(size), strength),
    ];
    let Some(combine) = combine(words, Type::UNTYPED).filter(|combine| combine.ty != Type::UNTYPED) else {
        return Err(Refusal::error(tree.span(), "the type is missing"));
    };
    let effect =
        Effect::Copy { source: RegionId(0), destination: RegionId(1), combine: Some(combine), valid: Valid::All };
    start(context, tree, Family::Bulk, Start { regions, effect, completion, tensor: None });
    Ok(())
}

//! Barriers, mbarriers, fences, launches (9.7.15).

use fencepost_syntax::instruction::Operand;

use crate::code::op::{Cover, Op, Order, Place, Reduction, Scope, Source, Space};
use crate::code::operands::{Context, Decoded};
use crate::code::ty::Ty;

const ZERO: Source = Source::Constant(0);

pub(super) fn op(context: &Context, opcode: &str) -> Decoded<Op> {
    match opcode {
        "bar" | "barrier" if context.has("warp") => Ok(Op::SyncWarp { mask: context.from(0, Ty::U32)? }),
        "barrier" if context.has("cluster") => cluster(context),
        "bar" | "barrier" => barrier(context),
        "mbarrier" => mbarrier(context),
        "membar" if context.has("proxy") => Err(String::new()),
        "membar" => {
            let scope = match context.words().next() {
                Some("cta") => Scope::Cta,
                Some("gl") => Scope::Gpu,
                Some("sys") => Scope::Sys,
                _ => return Err("no level".to_owned()),
            };
            Ok(Op::Fence { order: Order::SequentiallyConsistent, scope })
        }
        "fence" => fence(context),
        "griddepcontrol" if context.has("wait") => Ok(Op::GridWait),
        "griddepcontrol" if context.has("launch_dependents") => Ok(Op::GridLaunchDependents),
        _ => Err(String::new()),
    }
}

fn cluster(context: &Context) -> Decoded<Op> {
    if context.has("arrive") {
        return Ok(Op::ClusterArrive { order: context.order().unwrap_or(Order::Release) });
    }
    Ok(Op::ClusterWait { order: context.order().unwrap_or(Order::Acquire) })
}

fn barrier(context: &Context) -> Decoded<Op> {
    if !["sync", "arrive", "red"].iter().any(|word| context.has(word)) {
        return Err("it neither waits nor arrives".to_owned());
    }
    let reduction = match () {
        () if !context.has("red") => Reduction::None,
        () if context.has("popc") => Reduction::PopulationCount,
        () if context.has("and") => Reduction::And,
        () => Reduction::Or,
    };
    let mut op_threads = None;
    let (mut to, mut from, mut negated) = (None, ZERO, false);
    let id;
    if reduction == Reduction::None {
        id = context.from(0, Ty::U32)?;
        if context.count() > 1 {
            op_threads = Some(context.from(1, Ty::U32)?);
        }
    } else {
        to = Some(context.to(0)?);
        id = context.from(1, Ty::U32)?;
        let last = context.count() - 1;
        if last > 2 {
            op_threads = Some(context.from(2, Ty::U32)?);
        }
        let operand = match context.operand(last)? {
            Operand::Negated(inner) => {
                negated = true;
                &inner.node
            }
            other => other,
        };
        from = context.source(operand, Ty::PRED)?;
    }
    let arrive_only = context.has("arrive");
    Ok(Op::Barrier { id, threads: op_threads, arrive_only, reduction, to, from, negated })
}

fn mbarrier_place(context: &Context, index: usize) -> Decoded<Place> {
    context.place(index, context.space())
}

fn mbarrier(context: &Context) -> Decoded<Op> {
    let word = context.words().next().unwrap_or("");
    match word {
        "init" => Ok(Op::MbarrierInit { at: mbarrier_place(context, 0)?, count: context.from(1, Ty::U32)? }),
        "inval" => Ok(Op::MbarrierInvalidate { at: mbarrier_place(context, 0)? }),
        "arrive" | "arrive_drop" => arrive(context, word == "arrive_drop"),
        "expect_tx" | "complete_tx" => {
            let (at, bytes) = (mbarrier_place(context, 0)?, context.from(1, Ty::U32)?);
            let scope = context.scope().unwrap_or(Scope::Cta);
            Ok(match word {
                "expect_tx" => Op::MbarrierExpect { at, bytes, scope },
                _ => Op::MbarrierComplete { at, bytes, scope },
            })
        }
        "test_wait" | "try_wait" => Ok(Op::MbarrierWait {
            to: context.to(0)?,
            at: mbarrier_place(context, 1)?,
            state: context.from(2, Ty::U64)?,
            parity: context.has("parity"),
            order: context.order().unwrap_or(Order::Acquire),
            scope: context.scope().unwrap_or(Scope::Cta),
        }),
        "pending_count" => Ok(Op::MbarrierPending { to: context.to(0)?, token: context.from(1, Ty::U64)? }),
        _ => Err(String::new()),
    }
}

fn arrive(context: &Context, drop: bool) -> Decoded<Op> {
    // `arrive _, [m]`, `arrive %token, [m], 2`, and without a token `arrive [m]` on a remote mbarrier.
    let first = context.operand(0)?;
    let has_token = !matches!(first, Operand::Address(_));
    let token = if has_token { context.maybe_to(first)? } else { None };
    let at = usize::from(has_token);
    let rest = (context.count() > at + 1).then(|| context.from(at + 1, Ty::U32)).transpose()?;
    let (count, expect) = if context.has("expect_tx") {
        (Source::Constant(1), rest)
    } else {
        (rest.unwrap_or(Source::Constant(1)), None)
    };
    Ok(Op::MbarrierArrive {
        at: mbarrier_place(context, at)?,
        count,
        expect,
        drop,
        no_complete: context.has("noComplete"),
        order: context.order().unwrap_or(Order::Release),
        scope: context.scope().unwrap_or(Scope::Cta),
        token,
    })
}

fn fence(context: &Context) -> Decoded<Op> {
    if context.has("sync_restrict::shared::cta") || context.has("sync_restrict::shared::cluster") {
        if context.has("mbarrier_init") {
            return Ok(Op::FenceMbarrierInit);
        }
        return Err("a fence that is limited to shared memory".to_owned());
    }
    if context.has("mbarrier_init") {
        return Ok(Op::FenceMbarrierInit);
    }
    if context.has("proxy") {
        return proxy_fence(context);
    }
    let scope = context.scope().ok_or("no scope")?;
    Ok(Op::Fence { order: context.order().unwrap_or(Order::AcquireRelease), scope })
}

fn proxy_fence(context: &Context) -> Decoded<Op> {
    if context.has("alias") {
        return Ok(Op::FenceProxyAlias);
    }
    if context.has("tensormap::generic") {
        let scope = context.scope().ok_or("no scope")?;
        if context.has("release") {
            return Ok(Op::FenceProxyTensormapRelease { scope });
        }
        return Ok(Op::FenceProxyTensormapAcquire { scope, map: context.place(0, Space::Generic)? });
    }
    if !context.has("async") {
        return Err(String::new());
    }
    Ok(Op::FenceProxyAsync(match context.space() {
        Space::Global => Cover::Global,
        Space::Shared => Cover::SharedCta,
        Space::SharedCluster => Cover::SharedCluster,
        _ => Cover::Everything,
    }))
}

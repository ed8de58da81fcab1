//! Kernels of a test: which thread belongs to which, and which starts when. `.launch 0 -> 1` is stream order, `.launch 0 => 1`
//! a programmatic dependent launch; kernels that nothing relates run side by side.

use std::collections::{BTreeMap, BTreeSet};

use fencepost_syntax::litmus::{Declaration, LaunchOrder, Litmus, Side};
use fencepost_syntax::{Diagnostic, Span};

use crate::ids::KernelId;
use crate::lower::{Findings, ThreadBuilder};
use crate::program::{Feature, HostCall, Operation, Place, Scope};

#[derive(Default)]
pub(crate) struct Launches {
    /// By thread; None for host threads, and where there is but one kernel.
    pub(crate) kernels: Vec<Option<KernelId>>,
    /// See [`crate::unfolding::Unfolding::kernel_order`].
    pub(crate) order: Vec<(KernelId, KernelId)>,
    pub(crate) dependents: Vec<(KernelId, KernelId)>,
}

pub(crate) fn settle(litmus: &Litmus, threads: &[ThreadBuilder], findings: &mut Findings) -> Launches {
    check_hosts(litmus, threads, findings);
    let calls = threads.iter().flat_map(|thread| &thread.code).filter_map(|code| match code.operation {
        Operation::Mark { call: Some(HostCall::Launch(kernel) | HostCall::Sync(kernel)), .. } => {
            Some((kernel, code.span))
        }
        _ => None,
    });
    let calls: Vec<(KernelId, Span)> = calls.collect();
    let declared = declared(litmus);
    let placed = litmus.threads.iter().find(|thread| thread.placement.kernel.is_some());
    let first = placed.map(|thread| thread.name.span);
    let first = first.or(declared.first().map(|launch| launch.span)).or(calls.first().map(|(_, span)| *span));
    let Some(first) = first else {
        return Launches { kernels: vec![None; threads.len()], ..Launches::default() };
    };
    findings.feature(Feature::Launch, first);
    let kernels: Vec<Option<KernelId>> = (litmus.threads.iter())
        .map(|thread| match thread.placement.side {
            Side::Host => None,
            Side::Device => Some(KernelId(thread.placement.kernel.unwrap_or(0))),
        })
        .collect();
    let known: BTreeSet<KernelId> = kernels.iter().flatten().copied().collect();
    let named = declared.iter().flat_map(|launch| [(launch.first, launch.span), (launch.second, launch.span)]);
    for (kernel, span) in named.chain(calls).filter(|(kernel, _)| !known.contains(kernel)) {
        let error = Diagnostic::error(span, format!("no thread is in kernel {}", kernel.0)).label("no such kernel");
        let help = format!("place one there: `P0@cta 0, gpu 0, kernel {}`", kernel.0);
        findings.diagnostics.push(error.help(help));
    }
    check_ctas(litmus, threads, &kernels, findings);
    let order = order(&declared, findings);
    let pair = |launch: &Launch| (launch.first, launch.second);
    let dependents = declared.iter().filter(|launch| launch.order == LaunchOrder::Dependent).map(pair).collect();
    Launches { kernels, order, dependents }
}

struct Launch {
    first: KernelId,
    second: KernelId,
    order: LaunchOrder,
    span: Span,
}

fn declared(litmus: &Litmus) -> Vec<Launch> {
    let launch = |declaration: &fencepost_syntax::Spanned<Declaration>| match &declaration.node {
        Declaration::Launch { first, order, second } => Some(Launch {
            first: KernelId(first.node),
            second: KernelId(second.node),
            order: *order,
            span: declaration.span,
        }),
        _ => None,
    };
    litmus.declarations.iter().filter_map(launch).collect()
}

/// Every way from one kernel to another that has a stream order on it: a kernel behind a dependent launch starts after the
/// other has started, and one in stream order after everything before it has ended.
fn order(launches: &[Launch], findings: &mut Findings) -> Vec<(KernelId, KernelId)> {
    // Whether a kernel leads to another, and whether by a way with a stream order.
    let mut reached: BTreeMap<(KernelId, KernelId), bool> = BTreeMap::new();
    loop {
        let mut found = reached.clone();
        for launch in launches {
            let is_stream = launch.order == LaunchOrder::Stream;
            let mut add = |from, to, stream| *found.entry((from, to)).or_insert(false) |= stream;
            add(launch.first, launch.second, is_stream);
            for (&(from, to), &stream) in &reached {
                if to == launch.first {
                    add(from, launch.second, stream || is_stream);
                }
            }
        }
        if found == reached {
            break;
        }
        reached = found;
    }
    if let Some(launch) = launches.iter().find(|launch| reached.contains_key(&(launch.first, launch.first))) {
        let message = format!("kernel {} would start after itself", launch.first.0);
        findings.diagnostics.push(Diagnostic::error(launch.span, message).label("a cycle of launches"));
    }
    reached.into_iter().filter(|(_, stream)| *stream).map(|(pair, _)| pair).collect()
}

/// A CTA belongs to one kernel. Two that share a number would share memory and barriers.
fn check_ctas(litmus: &Litmus, threads: &[ThreadBuilder], kernels: &[Option<KernelId>], findings: &mut Findings) {
    let mut owners = BTreeMap::<(u32, u32), KernelId>::new();
    for ((thread, builder), kernel) in litmus.threads.iter().zip(threads).zip(kernels) {
        let (Place::Gpu { gpu, cluster, cta }, Some(kernel)) = (builder.place, *kernel) else { continue };
        let owner = *owners.entry((gpu, cluster)).or_insert(kernel);
        if owner != kernel {
            let message = format!("CTA {cta} of cluster {cluster} is in kernel {} and in kernel {}", owner.0, kernel.0);
            let help = "number the CTAs (and clusters) of all kernels throughout: each belongs to one kernel";
            findings.diagnostics.push(Diagnostic::error(thread.name.span, message).label("in two kernels").help(help));
        }
    }
}

/// A host thread accesses memory at system scope; everything else belongs to a GPU. Only a host thread launches.
fn check_hosts(litmus: &Litmus, threads: &[ThreadBuilder], findings: &mut Findings) {
    for (thread, builder) in litmus.threads.iter().zip(threads) {
        let is_host = thread.placement.side == Side::Host;
        for code in &builder.code {
            let fault = match &code.operation {
                Operation::Mark { call: Some(_), .. } if !is_host => Some("only a host thread launches kernels"),
                _ if !is_host => None,
                Operation::Load { scope, .. }
                | Operation::Store { scope, .. }
                | Operation::ReadModifyWrite { scope, .. }
                | Operation::Fence { scope, .. } => {
                    scope.is_some_and(|scope| scope != Scope::Sys).then_some("a host thread has the scope `.sys` only")
                }
                Operation::Barrier(_) | Operation::Async(_) | Operation::MbarrierWait(_) => {
                    Some("a host thread is in no CTA")
                }
                Operation::Mark { call: None, .. } => Some("a host thread is in no grid"),
                _ => None,
            };
            if let Some(fault) = fault {
                findings.diagnostics.push(Diagnostic::error(code.span, fault).label("not here"));
            }
        }
    }
}

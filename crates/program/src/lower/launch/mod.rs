//! Kernels of a test: which thread belongs to which, and which starts when. `.launch 0 -> 1` says that one starts when the
//! other has ended, `.launch 0 => 1` is a programmatic dependent launch; `.stream` and `.event` come to such edges, as far as
//! hosts call in that order ([`calls`]). Kernels that nothing relates run side by side.

mod calls;

use fencepost_syntax::litmus::{Declaration, LaunchOrder, Litmus, Side};
use fencepost_syntax::sorted::SharedSort as _;
use fencepost_syntax::sorted::{SortedMap, SortedSet};
use fencepost_syntax::{Diagnostic, Span, Spanned};

use crate::ids::KernelId;
use crate::lower::builder::ThreadBuilder;
use crate::lower::findings::Findings;
use crate::lower::launch::calls::Called;
use crate::program::{Feature, HostCall, Operation, Place, Scope};

#[derive(Default)]
pub(crate) struct Launches {
    /// By thread; None for host threads, and where there is but one kernel.
    pub(crate) kernels: Vec<Option<KernelId>>,
    /// See [`crate::unfolding::Unfolding::kernel_order`].
    pub(crate) order: Vec<(KernelId, KernelId)>,
    pub(crate) dependents: Vec<(KernelId, KernelId)>,
}

/// What the declarations say of kernels.
#[derive(Default)]
pub(crate) struct Declared {
    edges: Vec<Launch>,
    /// Streams and events by name: the kernels that a wait for one waits for, in order.
    named: SortedMap<String, Vec<KernelId>>,
    /// Every kernel that a thread is placed in.
    kernels: SortedSet<KernelId>,
}

struct Launch {
    first: KernelId,
    second: KernelId,
    order: LaunchOrder,
    source: Source,
    span: Span,
}

/// What an edge comes from.
#[derive(Clone)]
enum Source {
    Graph,
    Stream(String),
    /// Recorded behind this kernel.
    Event {
        name: String,
        after: KernelId,
    },
}

impl Declared {
    /// A stream is an edge from each kernel to each behind it, but for programmatic dependent launches, which relate
    /// neighbours only. An event is an edge from all that comes before it in its stream.
    pub(crate) fn new(litmus: &Litmus, findings: &mut Findings) -> Declared {
        let device = litmus.threads.iter().filter(|thread| thread.placement.side == Side::Device);
        let kernels = device.map(|thread| KernelId(thread.placement.kernel.unwrap_or(0))).collect();
        let mut declared = Declared { kernels, ..Declared::default() };
        for declaration in &litmus.declarations {
            match &declaration.node {
                Declaration::Launch { first, order, second } => {
                    let pair = (KernelId(first.node), KernelId(second.node));
                    declared.edge(pair, *order, Source::Graph, declaration.span);
                }
                Declaration::Stream { name, first, then } => {
                    let mut before = vec![KernelId(first.node)];
                    for (order, kernel) in then {
                        let kernel = KernelId(kernel.node);
                        let from = if *order == LaunchOrder::Stream { 0 } else { before.len() - 1 };
                        for &first in &before[from..] {
                            let source = Source::Stream(name.node.clone());
                            declared.edge((first, kernel), *order, source, declaration.span);
                        }
                        before.push(kernel);
                    }
                    let is_elsewhere = |kernel: &&KernelId| declared.named.values().flatten().any(|own| own == *kernel);
                    if let Some(kernel) = before.iter().find(is_elsewhere) {
                        let message = format!("kernel {} is in two streams", kernel.0);
                        let help = "order kernels of two streams by an event: `.event e: 0 -> 1`";
                        let error = Diagnostic::error(declaration.span, message).label("in two streams");
                        findings.diagnostics.push(error.help(help));
                    }
                    declared.name(name, before, findings);
                }
                _ => {}
            }
        }
        for declaration in &litmus.declarations {
            let Declaration::Event { name, after, before } = &declaration.node else { continue };
            let recorded = declared.up_to(KernelId(after.node));
            for kernel in before {
                let kernel = KernelId(kernel.node);
                for &first in &recorded {
                    let source = Source::Event { name: name.node.clone(), after: KernelId(after.node) };
                    declared.edge((first, kernel), LaunchOrder::Stream, source, declaration.span);
                }
            }
            declared.name(name, recorded, findings);
        }
        declared
    }

    fn edge(&mut self, (first, second): (KernelId, KernelId), order: LaunchOrder, source: Source, span: Span) {
        self.edges.push(Launch { first, second, order, source, span });
    }

    fn name(&mut self, name: &Spanned<String>, kernels: Vec<KernelId>, findings: &mut Findings) {
        if self.named.insert(name.node.clone(), kernels).is_some() {
            let error = Diagnostic::error(name.span, format!("a second stream or event `{}`", name.node));
            findings.diagnostics.push(error.label("declared before").help("give it another name"));
        }
    }

    /// The kernel and those before it in its stream.
    fn up_to(&self, kernel: KernelId) -> Vec<KernelId> {
        let with = self.named.values().find_map(|stream| {
            let at = stream.iter().position(|other| *other == kernel)?;
            Some(stream[..=at].to_vec())
        });
        with.unwrap_or_else(|| vec![kernel])
    }

    /// The kernels that a name of a stream or an event stands for.
    pub(crate) fn get(&self, name: &str) -> Option<&[KernelId]> {
        self.named.get(name).map(Vec::as_slice)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.named.keys().map(String::as_str)
    }

    pub(crate) fn kernels(&self) -> impl Iterator<Item = KernelId> {
        self.kernels.iter().copied()
    }
}

pub(crate) fn settle(
    litmus: &Litmus,
    declared: &Declared,
    threads: &[Box<ThreadBuilder>],
    findings: &mut Findings,
) -> Launches {
    check_hosts(litmus, threads, findings);
    let calls = threads.iter().flat_map(|thread| &thread.code).filter_map(|code| match code.operation {
        Operation::Mark { call: Some(HostCall::Launch(kernel) | HostCall::Sync(kernel)), .. } => {
            Some((kernel, code.span))
        }
        _ => None,
    });
    let calls: Vec<(KernelId, Span)> = calls.collect();
    let edges = &declared.edges;
    let placed = litmus.threads.iter().find(|thread| thread.placement.kernel.is_some());
    let first = placed.map(|thread| thread.name.span);
    let first = first.or(edges.first().map(|launch| launch.span)).or(calls.first().map(|(_, span)| *span));
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
    let mut named: Vec<(KernelId, Span)> =
        edges.iter().flat_map(|launch| [(launch.first, launch.span), (launch.second, launch.span)]).collect();
    named.extend(calls);
    named.shared_sort();
    named.dedup();
    for (kernel, span) in named.into_iter().filter(|(kernel, _)| !declared.kernels.contains(kernel)) {
        let error = Diagnostic::error(span, format!("no thread is in kernel {}", kernel.0)).label("no such kernel");
        let help = format!("place one there: `P0@cta 0, gpu 0, kernel {}`", kernel.0);
        findings.diagnostics.push(error.help(help));
    }
    check_ctas(litmus, threads, &kernels, findings);
    let called = Called::new(threads, findings);
    let edges = &standing(edges, &called, findings);
    let order = order(edges, findings);
    let dependents = edges.iter().filter(|launch| launch.order == LaunchOrder::Dependent);
    let mut dependents: Vec<_> = dependents.map(|launch| (launch.first, launch.second)).collect();
    dependents.retain(|pair| !order.contains(pair));
    Launches { kernels, order, dependents }
}

/// The edges that hold in the order in which hosts call.
fn standing<'d>(edges: &'d [Launch], called: &Called<'_>, findings: &mut Findings) -> Vec<&'d Launch> {
    let mut decided = SortedMap::<(&str, KernelId, KernelId), bool>::new();
    let holds = |launch: &&'d Launch| match &launch.source {
        Source::Graph => true,
        Source::Stream(name) => {
            let decide = || calls::stream_holds(called, (launch.first, launch.second), name, findings);
            *decided.entry((name, launch.first, launch.second)).or_insert_with(decide)
        }
        Source::Event { name, after } => {
            let decide = || calls::event_holds(called, (*after, launch.second), (name, launch.span), findings);
            *decided.entry((name, *after, launch.second)).or_insert_with(decide)
        }
    };
    edges.iter().filter(holds).collect()
}

/// The kernels that have ended before another starts: those with an edge to it, or to one that starts before it. Behind a
/// dependent launch a kernel starts after the other has started; that a dependent kernel has ended does not say that the
/// one it depends on has, unless it waited.
fn order(launches: &[&Launch], findings: &mut Findings) -> Vec<(KernelId, KernelId)> {
    // Whether a kernel leads to another, and whether by a way that begins with the end of the first.
    let mut reached: SortedMap<(KernelId, KernelId), bool> = SortedMap::new();
    loop {
        let mut found = reached.clone();
        for launch in launches {
            let ends = launch.order == LaunchOrder::Stream;
            let mut add = |from, to, ends| *found.entry((from, to)).or_insert(false) |= ends;
            add(launch.first, launch.second, ends);
            for (&(from, _), &ends) in reached.iter().filter(|((_, to), _)| *to == launch.first) {
                add(from, launch.second, ends);
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
    reached.into_iter().filter(|(_, ends)| *ends).map(|(pair, _)| pair).collect()
}

/// A CTA belongs to one kernel. Two that share a number would share memory and barriers.
fn check_ctas(litmus: &Litmus, threads: &[Box<ThreadBuilder>], kernels: &[Option<KernelId>], findings: &mut Findings) {
    let mut owners = SortedMap::<(u32, u32), KernelId>::new();
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
fn check_hosts(litmus: &Litmus, threads: &[Box<ThreadBuilder>], findings: &mut Findings) {
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
                Operation::VectorUpdate(update) => {
                    (update.scope != Some(Scope::Sys)).then_some("a host thread has the scope `.sys` only")
                }
                Operation::Trap => Some("a host thread has no `trap`"),
                Operation::Multimem(_) => Some("a host thread has no multimem operations"),
                Operation::Mark { call: None, .. } => Some("a host thread is in no grid"),
                _ => None,
            };
            if let Some(fault) = fault {
                findings.diagnostics.push(Diagnostic::error(code.span, fault).label("not here"));
            }
        }
    }
}

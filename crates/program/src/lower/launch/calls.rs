//! In which order host threads launch kernels. `cudaEventRecord` and `cudaStreamWaitEvent` are calls of a host like a launch:
//! an event is recorded right behind the launch of its kernel, and waited for right before that of another. A wait for an
//! event that has not been recorded yet waits for nothing (CUDA Runtime API, `cudaStreamWaitEvent`), and the order of a
//! stream is that of the calls. So what a declaration says holds if the host calls in that order on every way through its
//! code; where the calls have no order that the text shows, there is no model and the test is refused.

use fencepost_syntax::sorted::{SortedMap, SortedSet};
use fencepost_syntax::{Diagnostic, Span};

use crate::ids::KernelId;
use crate::lower::builder::ThreadBuilder;
use crate::lower::findings::{Findings, Refusal};
use crate::program::lint::LintKind;
use crate::program::{HostCall, Instruction, Operation};
use crate::sections;

/// Where a kernel is launched: a thread, and places of its code of which no two lie on one way.
struct Sites {
    thread: usize,
    at: SortedSet<usize>,
    span: Span,
}

/// How the launches of two kernels lie.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Calls {
    /// Wherever the second is launched, the first was before. So it is, too, where no host launches the first, or neither.
    InOrder,
    /// The second is launched before the first.
    Reversed,
    /// Of the two only one is launched, whichever way the host takes.
    Either,
    /// On some ways the first is left out.
    MayLack,
    /// By different threads.
    Apart,
    /// A host launches the first, and the second starts by itself.
    ByItself,
}

pub(crate) struct Called<'a> {
    threads: &'a [Box<ThreadBuilder>],
    sites: SortedMap<KernelId, Sites>,
}

impl<'a> Called<'a> {
    /// A kernel of a test runs once, and a host waits for it after its launch.
    pub(crate) fn new(threads: &'a [Box<ThreadBuilder>], findings: &mut Findings) -> Called<'a> {
        let mut called = Called { threads, sites: SortedMap::new() };
        for (thread, builder) in threads.iter().enumerate() {
            for (at, own) in builder.code.iter().enumerate() {
                let Some(HostCall::Launch(kernel)) = call(own) else { continue };
                called.launch(kernel, thread, at, own.span, findings);
            }
        }
        for (thread, builder) in threads.iter().enumerate() {
            for (at, own) in builder.code.iter().enumerate() {
                let Some(HostCall::Sync(kernel)) = call(own) else { continue };
                let behind = called.behind(thread, [at]);
                let launches = called.sites.get(&kernel).filter(|sites| sites.thread == thread);
                if launches.is_some_and(|sites| !sites.at.is_disjoint(&behind)) {
                    let message = format!("kernel {} is waited for before it is launched", kernel.0);
                    let help =
                        "as in CUDA, this would wait for nothing: launch the kernel first, or leave the wait out";
                    findings
                        .diagnostics
                        .push(Diagnostic::error(own.span, message).label("not launched yet").help(help));
                }
            }
        }
        called
    }

    fn launch(&mut self, kernel: KernelId, thread: usize, at: usize, span: Span, findings: &mut Findings) {
        let behind = self.behind(thread, [at]);
        let before = self.sites.get(&kernel);
        let is_again =
            |sites: &Sites| sites.thread != thread || self.behind(thread, sites.at.iter().copied()).contains(&at);
        let fault = match before {
            _ if behind.contains(&at) => Some("launched in a loop"),
            Some(sites) if is_again(sites) || !sites.at.is_disjoint(&behind) => Some("launched twice"),
            _ => None,
        };
        if let Some(fault) = fault {
            let help = "a kernel of a test runs once: write another for another launch";
            let error = Diagnostic::error(span, format!("kernel {} is {fault}", kernel.0));
            findings.diagnostics.push(error.label("launched here").help(help));
        }
        let sites = self.sites.entry(kernel).or_insert(Sites { thread, at: SortedSet::new(), span });
        if sites.thread == thread {
            sites.at.insert(at);
        }
    }

    pub(crate) fn span(&self, kernel: KernelId) -> Option<Span> {
        self.sites.get(&kernel).map(|sites| sites.span)
    }

    pub(crate) fn order(&self, first: KernelId, second: KernelId) -> Calls {
        let (from, to) = match (self.sites.get(&first), self.sites.get(&second)) {
            (None, _) => return Calls::InOrder,
            (Some(_), None) => return Calls::ByItself,
            (Some(from), Some(to)) => (from, to),
        };
        if from.thread != to.thread {
            return Calls::Apart;
        }
        let leads = |from: &Sites, to: &Sites| !self.behind(from.thread, from.at.iter().copied()).is_disjoint(&to.at);
        let code = &self.threads[from.thread].code;
        let surely: SortedSet<usize> = from.at.iter().copied().filter(|at| code[*at].guard.is_none()).collect();
        let without = walk(code, [0], &surely);
        match (leads(from, to), leads(to, from)) {
            (true, _) if to.at.is_disjoint(&without) => Calls::InOrder,
            (true, _) => Calls::MayLack,
            (false, true) => Calls::Reversed,
            (false, false) => Calls::Either,
        }
    }

    /// The places of the code that may be executed after these.
    fn behind(&self, thread: usize, places: impl IntoIterator<Item = usize>) -> SortedSet<usize> {
        let code = &self.threads[thread].code;
        let next: Vec<usize> = places.into_iter().flat_map(|at| next(code, at)).collect();
        walk(code, next, &SortedSet::new())
    }
}

fn call(code: &Instruction) -> Option<HostCall> {
    match code.operation {
        Operation::Mark { call, .. } => call,
        _ => None,
    }
}

/// The places that can be reached from these, with them, on ways that end at the walls.
fn walk(code: &[Instruction], from: impl IntoIterator<Item = usize>, walls: &SortedSet<usize>) -> SortedSet<usize> {
    let mut open: Vec<usize> = from.into_iter().collect();
    let mut reached = SortedSet::new();
    while let Some(at) = open.pop() {
        if at < code.len() && !walls.contains(&at) && reached.insert(at) {
            open.extend(next(code, at));
        }
    }
    reached
}

fn next(code: &[Instruction], at: usize) -> Vec<usize> {
    let Some(own) = code.get(at) else { return Vec::new() };
    let (falls, jump) = match &own.operation {
        Operation::Branch { target } => (false, Some(target.0 as usize)),
        Operation::BranchIf { target, .. } => (true, Some(target.0 as usize)),
        Operation::Exit => (false, None),
        _ => (true, None),
    };
    let falls = falls || own.guard.is_some();
    falls.then_some(at + 1).into_iter().chain(jump).collect()
}

/// What becomes of the order that a stream declares.
pub(crate) fn stream_holds(
    called: &Called<'_>,
    (first, second): (KernelId, KernelId),
    stream: &str,
    findings: &mut Findings,
) -> bool {
    let calls = called.order(first, second);
    let Some(span) = called.span(second) else { return true };
    let (first, second) = (first.0, second.0);
    match calls {
        Calls::InOrder | Calls::ByItself => {}
        Calls::Either => return false,
        Calls::Reversed => {
            let message =
                format!("kernel {second} is launched before kernel {first}, which is before it in stream `{stream}`");
            let help = "the order of a stream is that of the calls: launch its kernels in that order (`launch` with the \
                        name of the stream does), or declare the other order";
            findings.diagnostics.push(Diagnostic::error(span, message).label("launched too early").help(help));
        }
        Calls::MayLack => {
            let what =
                format!("kernel {second} behind kernel {first} in stream `{stream}`, which may not have been launched");
            findings.refuse(Refusal::Unsupported(span, what));
        }
        Calls::Apart => {
            let what = format!(
                "kernels {first} and {second} of stream `{stream}` launched by two host threads, whose calls have no order \
                 (`.launch {first} -> {second}` states one)"
            );
            findings.refuse(Refusal::Unsupported(span, what));
        }
    }
    true
}

/// Whether a kernel waits for an event that is recorded behind another.
pub(crate) fn event_holds(
    called: &Called<'_>,
    (after, before): (KernelId, KernelId),
    (event, declared): (&str, Span),
    findings: &mut Findings,
) -> bool {
    let span = called.span(before).unwrap_or(declared);
    let (first, second) = (after.0, before.0);
    let unknown = match called.order(after, before) {
        Calls::InOrder => return true,
        Calls::Either => return false,
        Calls::Reversed => {
            let what = LintKind::Unrecorded { event: event.to_owned(), recorded_behind: first, waits: second };
            findings.lint(span, what, sections::MEMORY_SYNCHRONIZATION);
            return false;
        }
        Calls::MayLack => format!("a wait for event `{event}`, whose kernel {first} may not have been launched"),
        Calls::Apart => format!(
            "a wait for event `{event}`, which another host thread records: nothing says that it has (`.launch {first} -> \
             {second}` states it)"
        ),
        Calls::ByItself => format!(
            "a wait for event `{event}`, which a host thread records, by kernel {second}, which no host thread launches \
             (`.launch {first} -> {second}` states an order)"
        ),
    };
    findings.refuse(Refusal::Unsupported(span, unknown));
    true
}

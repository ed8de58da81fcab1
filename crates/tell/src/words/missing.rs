//! Missing pieces in words: what, and where it belongs.

use fencepost_check::phrase::listed;
use fencepost_report::piece::{AlternatingWait, End, ParityRegister, Piece, Semantics, Side, Spot};
use fencepost_report::site::{Scope, Site};

use super::outcome::operand_rule;
use super::place::{both, called, operation, place, side, spot};

/// "`fence.proxy.async.shared::cta` in P0 between lines 8 and 9".
pub(super) fn text(piece: &Piece) -> String {
    match piece {
        Piece::Inserted { text, places } => inserted(text, places),
        Piece::Declared { text } => format!("`{text}` in the declarations"),
        Piece::Appended { text, end: at, threads } => format!("`{text}` at the {} of {}", end(*at), names(threads)),
        Piece::LoopAppended { wait, end: at, threads } => {
            format!("a loop around `{wait}` at the {} of {}", end(*at), names(threads))
        }
        Piece::Loop { wait, place } => format!("a loop around `{wait}` {}", spot(place)),
        Piece::Alternating { wait, before, register } => alternating(wait, before.as_deref(), register.as_ref()),
        Piece::Repeated { access, branch, label, place } => repeated(access, branch, label.as_deref(), place),
        Piece::Started { thread, register, value } => format!("`{thread}:{register} = {value}` in the declarations"),
        Piece::Removed { at } => format!("{} has to go", called(at)),
        Piece::Strengthened { at, semantics, scope } => strengthened(at, *semantics, *scope),
        Piece::WaitReplaced { at, by } => format!("`{by}` in {} instead of line {}", at.thread.0, at.line),
        Piece::Replaced { at, by } => replaced(at, by),
        Piece::Returning { at } => format!("`atom` instead of {}", called(at)),
        Piece::Moved { at, side: on, to } => moved(at, *on, to),
        Piece::Handed { at, behind } => {
            format!("{} belongs into {} after line {}", called(at), behind.thread.0, behind.line)
        }
        Piece::Counted { mbarrier, count, line } => {
            let place = line.map_or(String::new(), |line| format!(" in line {line}"));
            format!("an initial count of {count} for the mbarrier {mbarrier}{place}")
        }
        // No repair was found: the general means.
        Piece::OrderBetween { first, second } => order_between(first, second),
        Piece::OrderOfLines { first, second } => {
            format!("an order between lines {} and {} of {}", first.line, second.line, first.thread.0)
        }
        Piece::OneProxy => ONE_PROXY.to_owned(),
        Piece::Message { scope, from, to } => message(*scope, from, to),
        Piece::TensorCompletion { operation: of } => format!(
            "`tcgen05.commit` after {}, a wait for its mbarrier and `tcgen05.fence::after_thread_sync` before the other",
            operation(of)
        ),
        Piece::Completion { operation: of } => {
            format!("a wait for {} before the other access: for its group or for its mbarrier", operation(of))
        }
        Piece::OneWidth { first, second } => format!(
            "accesses of the same width and place in lines {} and {}, or an order between them",
            first.line, second.line
        ),
        Piece::OtherWarpBarrier => OTHER_WARP_BARRIER.to_owned(),
        Piece::OneAtomic { read, location } => one_atomic(read, location),
        Piece::KeptBefore { first, second } => {
            format!("what keeps {} from coming before {}: a barrier or a wait", place(first), place(second))
        }
        Piece::OneScalarAccess { write, read, location } => one_scalar_access(write, read, location),
        // Of memory that is not there, or is given back.
        Piece::CtaKept { access } => cta_kept(access),
        Piece::CtaStarted { access } => cta_started(access),
        Piece::AllocatedAddress { at } => of(at, "an address that `tcgen05.alloc` has written, read after it"),
        Piece::OneDeallocation { at } => of(at, "one `tcgen05.dealloc` of the columns has to go"),
        Piece::ClusterWait { at } => of(at, "`barrier.cluster.wait` between the two arrives"),
        Piece::ClusterArrive { at } => of(at, "`barrier.cluster.arrive` before the wait"),
        Piece::OtherOperand { at, rule } => of(at, &format!("another operand: this one {}", operand_rule(*rule))),
        Piece::ClusterWindow { at } => of(at, "`.shared::cluster` instead of `.shared::cta`"),
        Piece::BranchAroundRequest { at } => {
            of(at, "a branch that leaves the request out where the answer was a refusal")
        }
        Piece::DeallocationBehind { at, other } => of(at, &format!("the deallocation belongs after {}", place(other))),
    }
}

const ONE_PROXY: &str =
    "one proxy for both updates (both `red` or `atom`, or both bulk reductions), or an order between them";
const OTHER_WARP_BARRIER: &str = "a barrier that orders them under every reading instead of `bar.warp.sync`: `bar.sync`, or an \
                                  arrive on an mbarrier and a wait";

/// With its place.
fn of(at: &Site, text: &str) -> String {
    format!("{text} ({})", place(at))
}

fn order_between(first: &Site, second: &Site) -> String {
    let means = match first.thread == second.thread {
        true => "a wait, or a fence of the right proxies,",
        false => "a barrier, or a release and an acquire,",
    };
    format!("{means} between {}", both(first, second))
}

fn message(scope: Scope, from: &Site, to: &Site) -> String {
    format!(
        "a release of scope .{} in {} after line {} and an acquire in {} before line {} that observes it, \
         or the other way round",
        scope.word(),
        from.thread.0,
        from.line,
        to.thread.0,
        to.line
    )
}

fn one_atomic(read: &Site, location: &str) -> String {
    format!(
        "one atomic operation (`atom.cas`, `atom.exch`, `atom.add`) on {location} in {} instead of line {} and what \
         depends on it, or another look at {location} before the value is used",
        read.thread.0, read.line
    )
}

fn one_scalar_access(write: &Site, read: &Site, location: &str) -> String {
    format!(
        "one scalar access for what belongs together in {location} ({} and {}), or a release and an acquire between the \
         elements",
        place(write),
        place(read)
    )
}

fn cta_kept(access: &Site) -> String {
    format!(
        "what keeps the CTA there until {} is done: a `barrier.cluster` that all its threads and those of the CTA \
         pass last, or a wait for it",
        place(access)
    )
}

fn cta_started(access: &Site) -> String {
    format!(
        "what shows that the CTA has started before {}: a `barrier.cluster` that all threads of the cluster pass \
         first, or a message from one of its threads",
        place(access)
    )
}

fn repeated(access: &Site, branch: &str, label: Option<&str>, place: &Spot) -> String {
    let branch = match label {
        Some(label) => format!("`{branch} {label}`"),
        None => format!("`{branch}` back to it"),
    };
    format!("a loop around `{}` (line {}): {branch} {}", access.text, access.line, spot(place))
}

fn replaced(at: &Site, by: &str) -> String {
    format!("`{by}` in {} instead of `{}` (line {})", at.thread.0, at.text, at.line)
}

/// "`bar.sync 0` in P0 between lines 4 and 5 and in P1 before line 9".
fn inserted(text: &str, places: &[Spot]) -> String {
    let places: Vec<String> = places.iter().map(spot).collect();
    format!("`{text}` {}", listed(&places.iter().map(String::as_str).collect::<Vec<_>>()))
}

fn names(threads: &[String]) -> String {
    listed(&threads.iter().map(String::as_str).collect::<Vec<_>>())
}

fn end(end: End) -> &'static str {
    match end {
        End::Beginning => "beginning",
        End::End => "end",
    }
}

/// "`.release.gpu` on P0's `st.relaxed.cta.u32 [x], 1` (line 8), instead of `.relaxed.cta`".
fn strengthened(at: &Site, semantics: Option<Semantics>, scope: Option<Scope>) -> String {
    let words = semantics.map(Semantics::word).into_iter().chain(scope.map(Scope::word));
    let words: String = words.map(|word| format!(".{word}")).collect();
    let form = at.text.split_whitespace().find(|word| !word.starts_with('@')).unwrap_or_default();
    let goes = |word: &&str| match () {
        () if SEMANTICS.contains(word) => semantics.is_some(),
        () if SCOPES.contains(word) => scope.is_some(),
        () => false,
    };
    let replaced: String = form.split('.').skip(1).filter(goes).map(|word| format!(".{word}")).collect();
    match replaced.is_empty() {
        true => format!("`{words}` on {}", called(at)),
        false => format!("`{words}` on {}, instead of `{replaced}`", called(at)),
    }
}

/// What an instruction says of its strength, and of its scope (PTX ISA 8.5, 9.7.10).
const SEMANTICS: [&str; 6] = ["weak", "relaxed", "acquire", "release", "volatile", "mmio"];
const SCOPES: [&str; 4] = ["cta", "cluster", "gpu", "sys"];

/// "P1's `fence.proxy.async` (line 16) belongs before line 15".
fn moved(at: &Site, on: Side, to: &Site) -> String {
    let place = match at.line == to.line {
        true => format!("`{}` of the same line", to.text),
        false => format!("line {}", to.line),
    };
    format!("{} belongs {} {place}", called(at), side(on))
}

/// "a loop around `mbarrier.try_wait… [empty], %phase` in P0 between lines 6 and 7, with `mov.u32 %phase, 1` before the loop
/// and `xor.b32 %phase, %phase, 1` in each round after line 9".
fn alternating(wait: &AlternatingWait, before: Option<&str>, register: Option<&ParityRegister>) -> String {
    let mut text = match wait {
        AlternatingWait::New { wait, place } => format!("a loop around `{wait}` {}", spot(place)),
        AlternatingWait::Instead { at, by } => replaced(at, by),
    };
    if let Some(before) = before {
        text = format!("{text}, and before it `{before}`");
    }
    match register {
        Some(ParityRegister { set, turn, line }) => {
            format!("{text}, with `{set}` before the loop and `{turn}` in each round after line {line}")
        }
        None => text,
    }
}

//! Sentences for findings and doubts of kernels.

use fencepost_kernel::code::op::{Aligned, Pc};
use fencepost_kernel::memory::Fault;
use fencepost_kernel::order::record::{Kind, Path, Record};
use fencepost_kernel::order::{Cap, Race, Region, Why};
use fencepost_kernel::report::{Cause, Doubt, Finding, Protocol, Rule, Stuck, Waiting};
use fencepost_program::sections;

use super::{About, ToldFinding};

pub(super) fn access(record: &Record) -> String {
    let what = match record.kind {
        Kind::Read | Kind::Attempt => "reads",
        Kind::Write => "writes",
        Kind::Atomic => "reads and writes",
        Kind::Initialise => "initialises or invalidates an mbarrier",
        Kind::Mbarrier => "operates on an mbarrier",
        Kind::Allocate => "allocates",
        Kind::Deallocate => "deallocates",
    };
    let how = match record.path {
        Path::Generic => "through the generic proxy",
        Path::GenericStrand(_) => "asynchronously, through the generic proxy",
        Path::Async(_) => "through the async proxy",
        Path::ReadOnly => "through the read-only path",
        Path::Tensormap(_) => "through the tensormap proxy",
        Path::TensorMemory(_) | Path::TensorThread => "tensor memory",
    };
    format!("{what} {how}")
}

pub(super) fn race(race: &Race, place: &str) -> (String, &'static str) {
    let (why, section) = match race.why {
        Why::NotOrdered => ("no synchronisation leads from the one to the other", sections::CAUSALITY_ORDER),
        Why::Scope => ("both are strong, but the scope of one does not include the other", sections::MORALLY_STRONG),
        Why::Sizes => ("they are strong operations on different numbers of bytes", sections::MORALLY_STRONG),
        Why::NotComplete => {
            ("nothing between them says that the asynchronous operation is complete", sections::CAUSALITY_ORDER)
        }
        Why::ProxyFence => ("they are ordered, but no proxy fence stands between them", sections::PROXIES),
        Why::TensorFence => {
            ("they are ordered, but no tcgen05.fence hands tensor memory over", sections::TCGEN05_SYNCHRONIZATION)
        }
        Why::Map => ("the tensor map is not released by its writer or not acquired by its user", sections::PROXIES),
        Why::ReadOnly => ("what is read through the read-only path is written by the kernel", sections::LD_GLOBAL_NC),
    };
    (format!("{why}, at {place}"), section)
}

pub(super) fn finding(finding: &Finding, about: &About) -> ToldFinding {
    let (kind, message, section, places) = match finding {
        Finding::Race { race, .. } => ("race", String::new(), "", vec![about.place(race.first.pc, String::new())]),
        Finding::OutOfBounds { pc, thread, fault } => {
            ("out-of-bounds", out_of_bounds(fault), "", vec![about.place(*pc, about.thread(*thread))])
        }
        Finding::Misaligned { pc, thread, address, bytes } => {
            let message = format!("the address {address:#x} is not a multiple of {bytes}");
            ("misaligned", message, "", vec![about.place(*pc, about.thread(*thread))])
        }
        Finding::Hang { stuck } => {
            let places = together(stuck, about).into_iter().map(|(pc, text)| about.place(pc, text)).collect();
            ("hang", "no thread can go on".to_owned(), "", places)
        }
        Finding::Protocol { pc, thread, what } => {
            let (message, section) = protocol(what);
            ("protocol", message, section, vec![about.place(*pc, about.thread(*thread))])
        }
        Finding::Trap { pc, thread } => {
            ("trap", "a trap is executed".to_owned(), "", vec![about.place(*pc, about.thread(*thread))])
        }
        Finding::Assertion { pc, thread, .. } => {
            ("assertion", "an assertion fails".to_owned(), "", vec![about.place(*pc, about.thread(*thread))])
        }
        Finding::BadOperand { pc, thread, why } => {
            ("operand", why.clone(), "", vec![about.place(*pc, about.thread(*thread))])
        }
    };
    ToldFinding { kind, message, section, places, not_under: Vec::new(), pairs: 1, missing: None }
}

fn out_of_bounds(fault: &Fault) -> String {
    match &fault.near {
        Some((name, offset, size)) => {
            format!("{} bytes at {name} + {offset}, which has {size} bytes", fault.bytes)
        }
        None => format!("{} bytes at {:#x}, where nothing is", fault.bytes, fault.address),
    }
}

/// Those who stand at one instruction and wait for the same, told together; the first of each.
pub(super) fn together(stuck: &[Stuck], about: &About) -> Vec<(Pc, String)> {
    let mut groups: Vec<(&Stuck, String, u32)> = Vec::new();
    for one in stuck {
        let why = waiting(one, about);
        match groups.iter_mut().find(|(first, own, _)| first.pc == one.pc && *own == why) {
            Some((_, _, more)) => *more += 1,
            None => groups.push((one, why, 0)),
        }
    }
    let text = |(first, why, more): (&Stuck, String, u32)| {
        let lanes = if first.lanes == u32::MAX {
            String::new()
        } else {
            format!(" ({} of 32 lanes)", first.lanes.count_ones())
        };
        let others = match more {
            0 => String::new(),
            1 => " and 1 more warp".to_owned(),
            more => format!(" and {more} more warps"),
        };
        let verb = match (&first.why, more) {
            (Waiting::Nothing, 0) => "goes on here",
            (Waiting::Nothing, _) => "go on here",
            (_, 0) => "waits ",
            (_, _) => "wait ",
        };
        (first.pc, format!("CTA {}, warp {}{lanes}{others} {verb}{why}", first.cta, first.warp))
    };
    groups.into_iter().take(16).map(text).collect()
}

fn waiting(stuck: &Stuck, about: &About) -> String {
    match &stuck.why {
        Waiting::Barrier { id, arrived, expected } => {
            format!("at barrier {id}: {arrived} of {expected} threads are there")
        }
        Waiting::Cluster => "at the barrier of the cluster".to_owned(),
        Waiting::Lanes { missing } => format!("for lanes {missing:#x} of its warp"),
        Waiting::Mbarrier { cta, at, phase, pending, bytes } => {
            let arrivals = if *pending == 1 { "1 arrival".to_owned() } else { format!("{pending} arrivals") };
            let name = about.memory(Region::Shared(*cta), *at);
            let waits = format!("for phase {phase} of the mbarrier at {name}");
            match *bytes {
                0.. => format!("{waits}: {arrivals} and {bytes} bytes are pending"),
                more => {
                    let more = more.unsigned_abs();
                    format!("{waits}: {arrivals} pending, and {more} bytes more have arrived than were expected")
                }
            }
        }
        Waiting::Columns { count } => format!("for {count} free columns of tensor memory"),
        Waiting::Peer => "for a warp of the other CTA of its pair".to_owned(),
        Waiting::Products => "for the other warps of its warpgroup".to_owned(),
        Waiting::Memory => "for a value in memory".to_owned(),
        Waiting::Round => "for ever: all go round in loops that nothing ends".to_owned(),
        Waiting::Loop => "in a loop that never ends: nothing that it reads changes any more".to_owned(),
        Waiting::Nothing => String::new(),
    }
}

fn protocol(what: &Protocol) -> (String, &'static str) {
    match what {
        Protocol::NotAnMbarrier => {
            ("the address is not that of an initialised mbarrier".to_owned(), sections::MBARRIER)
        }
        Protocol::InitialisedTwice => {
            ("an mbarrier is initialised where one is in use; invalidate it first".to_owned(), sections::MBARRIER)
        }
        Protocol::AccessedAsData => {
            ("an mbarrier is in use here; invalidate it before this is memory again".to_owned(), sections::MBARRIER)
        }
        Protocol::TooManyArrivals => ("more arrivals than the phase has pending".to_owned(), sections::MBARRIER),
        Protocol::DropToZero => (
            "the last arrival that later phases expect is dropped; the expected count must stay 1 or more".to_owned(),
            sections::MBARRIER,
        ),
        Protocol::TooManyBytes => ("the tx-count leaves its range".to_owned(), sections::MBARRIER),
        Protocol::CountOutOfRange(count) => {
            (format!("the count is {count}; it must be 1 to {}", (1 << 20) - 1), sections::MBARRIER)
        }
        Protocol::NoParity(state) => {
            (format!("the parity is {}; before version 9.4 it must be 0 or 1", *state as i32), sections::MBARRIER)
        }
        Protocol::Completed => ("an arrival with .noComplete completes the phase".to_owned(), sections::MBARRIER),
        Protocol::BarrierCount { id, given, expected } => {
            (format!("barrier {id} is used for {given} threads while {expected} are awaited"), sections::BAR)
        }
        Protocol::BarrierNumber(number) => {
            (format!("barrier {number} does not exist: their numbers are 0 to 15"), sections::BAR)
        }
        Protocol::BarrierMixed { id } => {
            (format!("bar.red and another form of bar meet at barrier {id}"), sections::BAR)
        }
        Protocol::Diverged { missing, of } => (
            format!("lanes {missing:#x} of its warp do not come to this .aligned instruction, but to another"),
            aligned(*of),
        ),
        Protocol::Ended { lanes, of } => (
            format!("lanes {lanes:#x} of its warp end without this .aligned instruction, which takes all of them"),
            aligned(*of),
        ),
        Protocol::RegistersOfPart { missing } => {
            (format!("{missing} of the 4 warps of its warpgroup do not execute this setmaxnreg"), sections::SETMAXNREG)
        }
        Protocol::RegistersUnsynchronised => (
            "the warps of a warpgroup must synchronise between two setmaxnreg; these do not".to_owned(),
            sections::SETMAXNREG,
        ),
        Protocol::ColumnsKept { column, count } => (
            format!("{count} columns of tensor memory, from column {column} on, are never freed"),
            sections::TCGEN05_ALLOC,
        ),
        Protocol::Warpgroup { missing } => {
            (format!("{missing} warps of its warpgroup do not execute this wgmma"), sections::WGMMA_MMA_ASYNC)
        }
        Protocol::DifferentDescriptors => {
            ("the warps of a warpgroup give this wgmma different descriptors".to_owned(), sections::WGMMA_MMA_ASYNC)
        }
        Protocol::NotAState => (
            "the operand is no state of this mbarrier from this phase or the one before".to_owned(),
            sections::MBARRIER_WAIT,
        ),
        Protocol::ClusterTwice => {
            ("a thread arrives twice at the barrier of the cluster".to_owned(), sections::BARRIER_CLUSTER)
        }
        Protocol::ClusterAlone => (
            "a thread waits at the barrier of the cluster without having arrived".to_owned(),
            sections::BARRIER_CLUSTER,
        ),
        Protocol::TensorMemory(why) => (why.clone(), ""),
        Protocol::CancelAfterRefusal => (
            "a thread of this CTA has already looked at a refusal: another request is undefined".to_owned(),
            sections::CLUSTERLAUNCHCONTROL_TRY_CANCEL,
        ),
        Protocol::AccessBeforeStart { owner } => {
            (format!("CTA {owner}, whose memory this is, may not have started"), sections::BARRIER_CLUSTER)
        }
        Protocol::RegisterInFlight { name } => {
            (format!("{name} belongs to a wgmma that nobody has waited for"), sections::WGMMA)
        }
        Protocol::NoWgmmaFence { name: Some(name) } => (
            format!("{name} was used since the last wgmma.fence; this product needs one after that"),
            sections::WGMMA_FENCE,
        ),
        Protocol::NoWgmmaFence { name: None } => {
            ("no wgmma.fence stands before the first product".to_owned(), sections::WGMMA_FENCE)
        }
        Protocol::MissingWait => (
            "an arrival in the next phase must come after a wait for the one before; no wait need come first"
                .to_owned(),
            sections::MBARRIER_ARRIVE_ON,
        ),
        Protocol::ExcessBytes { at, bytes } => {
            (format!("{bytes} bytes come at the mbarrier at {at:#x} that nobody expects"), sections::MBARRIER)
        }
        Protocol::MissingBytes { at, bytes } => {
            (format!("{bytes} bytes are expected at the mbarrier at {at:#x} and never come"), sections::MBARRIER)
        }
        Protocol::ExitBeforeAccess { owner } => (
            format!("the threads of CTA {owner}, whose shared memory this is, may all have ended by then"),
            sections::EXIT,
        ),
    }
}

fn aligned(of: Aligned) -> &'static str {
    match of {
        Aligned::Barrier => sections::BAR,
        Aligned::Cluster => sections::BARRIER_CLUSTER,
        Aligned::Wgmma => sections::WGMMA,
        Aligned::TensorMemory => sections::TCGEN05_ISSUE_GRANULARITY,
        Aligned::Matrix => sections::WARP_MATRIX,
        Aligned::Tensormap => sections::TENSORMAP_CP_FENCEPROXY,
        Aligned::Registers => sections::SETMAXNREG,
    }
}

/// Of a `fence.sc` behind others: their order is the schedule's (8.9.3).
pub(super) const FENCES_IN_TURN: &str =
    "which of these fences comes first is a matter of time: one run does not stand for all";

/// The sentence, and the instruction it is about.
pub(super) fn doubt(doubt: &Doubt) -> (String, Option<Pc>) {
    match doubt {
        Doubt::Unmodelled { pc, text } => (format!("{text} has no model here"), Some(*pc)),
        Doubt::Stub { pc, name } => (format!("{name} is not in the module, and is taken to do nothing"), Some(*pc)),
        Doubt::Decided { pc, by } => (format!("this is decided by {}", cause(*by)), Some(*pc)),
        Doubt::Matching { pc, rule } => (rule_text(*rule).to_owned(), Some(*pc)),
        Doubt::Torn { pc, .. } => (
            format!(
                "the elements of a vector are accesses of their own (PTX ISA {}): they need not come from one write",
                sections::VECTOR_ACCESSES
            ),
            Some(*pc),
        ),
        Doubt::Polls { pc } => (
            "nobody else can go on; whether this loop ends depends on a count, a clock or a value that is not known"
                .to_owned(),
            Some(*pc),
        ),
        Doubt::Fault => ("after an access out of bounds, or to what is no mbarrier, nothing is defined: it was not followed much further".to_owned(), None),
        Doubt::MaySwap { pc, .. } => (
            format!(
                "this compare-and-swap fails here; where it swaps (PTX ISA {}), it races with another access",
                sections::ATOM
            ),
            Some(*pc),
        ),
        Doubt::Unobserved { pc, cap, .. } => {
            let why = match cap {
                Cap::Observations(most) => {
                    format!("no more than {most} strong writes of one place, and as many reads of them, are kept")
                }
                Cap::StandsFor(most) => format!("no more than {most} accesses that come before one write are kept"),
                Cap::Mbarrier => {
                    "which operations on an mbarrier a wait without `.acquire` has observed is not followed".to_owned()
                }
            };
            (format!("whether an observation orders this with a later access is not known: {why}"), Some(*pc))
        }
        Doubt::Crowded => ("too many accesses to one place were to be kept; some were forgotten".to_owned(), None),
        Doubt::Steps => ("the limit of instructions was reached".to_owned(), None),
        Doubt::Readings => (
            "a limit ended the comparison of readings: races through other proxies may be races under all".to_owned(),
            None,
        ),
        Doubt::Time => ("the time was over".to_owned(), None),
        Doubt::Memory => ("the memory limit was reached".to_owned(), None),
        Doubt::Cancelled => ("it was stopped".to_owned(), None),
        Doubt::Before => {
            ("a launch before it is not proved: what that one leaves in memory is not determined".to_owned(), None)
        }
        Doubt::Beside => {
            ("a launch that may run at the same time synchronises with it through memory".to_owned(), None)
        }
        Doubt::Flags { pc } => {
            ("threads synchronise through this place in memory: one run does not stand for all".to_owned(), Some(*pc))
        }
        Doubt::Disturbed => {
            ("it races with a launch that may run at the same time, whose report has the race".to_owned(), None)
        }
        Doubt::Footprint { pc, why } => (format!("which bytes it touches is not known: {why}"), Some(*pc)),
    }
}

fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::Float => "a value that is not computed here: an approximate or small float, or a matrix product",
        Cause::Environment => "the environment",
        Cause::Atomic => "the result of an atomic operation",
        Cause::Clock => "a clock",
        Cause::Stub => "an instruction or function without a model",
        Cause::Wait => "whether a phase was complete when it was asked for",
        Cause::Unknown => "data that nobody has written and the launch does not give",
        Cause::Read => "a value that depends on which thread is faster",
        Cause::Uninitialised => "a register that was never written",
        Cause::Columns => "which columns tcgen05.alloc gives, which only addresses of tensor memory may depend on",
        Cause::Token => "the state that an arrival returns, which only a wait may look at",
    }
}

fn rule_text(rule: Rule) -> &'static str {
    match rule {
        Rule::BarrierGeneration => "who arrives here need not know that the last use of the barrier is over",
        Rule::PhaseUnknown => "who operates on this phase need not know that the one before is complete",
        Rule::PhaseOvertaken => "the next phase may be complete before this wait looks: it would wait for another one",
        Rule::PhaseBytes => "the bytes that are expected and those that come need not belong to one phase",
        Rule::LanesEnd => {
            "lanes of the warp that leave this barrier out need not have ended when the others come to it"
        }
        Rule::Columns => "whether this allocation waits for another one's columns is a matter of time",
        Rule::OwnerEnds => "this need not be over, in every run, before the CTA ends whose shared memory it is",
        Rule::NoComplete => "an arrival with .noComplete may be the last of its phase",
    }
}

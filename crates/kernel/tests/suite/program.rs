//! A small program, written twice: as a litmus test, and as a kernel whose warps have one live lane each.

use std::collections::BTreeMap;
use std::fmt::Write;

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Scope {
    Cta,
    Cluster,
    Gpu,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Cover {
    Everything,
    SharedCta,
    SharedCluster,
    Global,
}

/// Eight bytes of a variable.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) name: &'static str,
    pub(crate) offset: u32,
}

/// An instruction, or a loop that waits.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Item {
    /// Weak without a scope.
    Load {
        from: Place,
        scope: Option<Scope>,
    },
    Store {
        to: Place,
        scope: Option<Scope>,
    },
    RemoteLoad {
        from: Place,
        rank: u32,
    },
    RemoteStore {
        to: Place,
        rank: u32,
    },
    /// The same, strongly with a scope, or an atomic operation. What is read is kept for what follows.
    Remote {
        what: Remote,
        at: Place,
        rank: u32,
        scope: Option<Scope>,
    },
    /// Two elements of a vector, weakly; the second is kept.
    RemotePair {
        at: &'static str,
        rank: u32,
        writes: bool,
    },
    /// Stores what was kept somewhere.
    KeptStore {
        to: Place,
    },
    /// Sets a flag to something that depends on what was kept, or seems to.
    KeptFlag {
        at: &'static str,
        depends: bool,
        release: bool,
        scope: Scope,
    },
    /// Asks for what was kept before anything else is done.
    KeptWait,
    /// Sets the flag of another CTA, or adds to it.
    FlagRemote {
        at: &'static str,
        rank: u32,
        what: Remote,
        release: bool,
        scope: Scope,
    },
    /// Waits for a flag of another CTA.
    AwaitRemote {
        at: &'static str,
        rank: u32,
        acquire: bool,
        scope: Scope,
    },
    Red {
        to: Place,
        scope: Scope,
    },
    Bar {
        id: u32,
        warps: Option<u32>,
        arrive: bool,
    },
    ClusterArrive {
        relaxed: bool,
    },
    ClusterWait,
    Init {
        at: &'static str,
        count: u32,
    },
    Inval {
        at: &'static str,
    },
    FenceInit,
    Arrive {
        at: &'static str,
        rank: Option<u32>,
        release: bool,
        scope: Scope,
        expect: Option<u32>,
        count: u32,
    },
    /// `.noComplete`.
    ArriveOnly {
        at: &'static str,
    },
    Expect {
        at: &'static str,
        bytes: u32,
    },
    /// `mbarrier.complete_tx`.
    Complete {
        at: &'static str,
        bytes: u32,
        rank: u32,
        scope: Scope,
    },
    Wait {
        at: &'static str,
        parity: u32,
        acquire: bool,
        scope: Scope,
    },
    Copy {
        to: Place,
        from: Place,
    },
    CopyCommit,
    /// Without a number: all.
    CopyWait {
        pending: Option<u32>,
    },
    CopyArrive {
        at: &'static str,
        no_increment: bool,
    },
    BulkLoad {
        to: &'static str,
        from: &'static str,
        at: &'static str,
    },
    Multicast {
        to: &'static str,
        from: &'static str,
        at: &'static str,
        mask: u32,
    },
    BulkPeer {
        to: &'static str,
        from: &'static str,
        at: &'static str,
        rank: u32,
    },
    BulkStore {
        to: &'static str,
        from: &'static str,
    },
    BulkReduce {
        to: &'static str,
        from: &'static str,
    },
    BulkCommit,
    BulkWait {
        pending: u32,
        reads: bool,
    },
    StoreAsync {
        to: Place,
        at: &'static str,
        rank: u32,
    },
    RedAsync {
        to: Place,
        at: &'static str,
        rank: u32,
    },
    Fence {
        sc: bool,
        scope: Scope,
    },
    FenceAsync(Cover),
    FlagSet {
        at: &'static str,
        release: bool,
        scope: Scope,
    },
    FlagSpin {
        at: &'static str,
        acquire: bool,
        scope: Scope,
    },
    FlagStore {
        at: &'static str,
        value: u32,
        release: bool,
        scope: Scope,
    },
    /// A weak access to a flag.
    FlagWeak {
        at: &'static str,
        writes: bool,
    },
    /// Takes a ticket; who has the last of so many puts the counter back, weakly.
    Reset {
        at: &'static str,
        count: u32,
        orders: bool,
        scope: Scope,
    },
    /// `red`, or `atom` whose result nobody uses.
    Count {
        at: &'static str,
        by: u32,
        atom: bool,
        release: bool,
        scope: Scope,
    },
    /// Waits until the value is so large, or is this one.
    Await {
        at: &'static str,
        value: u32,
        equal: bool,
        acquire: bool,
        scope: Scope,
    },
    /// Adds to a counter, and waits until its highest bit is another: one of so many adds the rest.
    GridSync {
        at: &'static str,
        rest_of: Option<u32>,
        release: bool,
        acquire: bool,
        scope: Scope,
    },
    /// Takes a ticket; who has the last of so many loads.
    Last {
        at: &'static str,
        count: u32,
        orders: bool,
        scope: Scope,
        from: Place,
    },
    /// Tries until the lock is free.
    Lock {
        at: &'static str,
        exchange: bool,
        acquire: bool,
        scope: Scope,
    },
    Unlock {
        at: &'static str,
        by: By,
        release: bool,
        scope: Scope,
    },
    /// All threads of the CTA wait for a flag that one of them reads.
    Together {
        at: &'static str,
        reads: bool,
        first_barrier: bool,
        acquire: bool,
        scope: Scope,
    },
    /// A store that only happens if a load returns 0.
    IfZero {
        from: Place,
        scope: Option<Scope>,
        to: Place,
    },
    /// A store that only the second to take a ticket makes.
    Ticket {
        from: Place,
        to: Place,
    },
    /// A question that is not repeated, and whose answer nobody uses.
    Peek {
        at: &'static str,
        parity: u32,
    },
    WarpSync {
        mask: u32,
    },
    /// A box of the tensor map over `ga`, which is all of it.
    TensorIn {
        to: &'static str,
        at: &'static str,
    },
    TensorOut {
        from: &'static str,
    },
    WgmmaFence,
    /// Both factors in shared memory.
    Wgmma {
        from: &'static str,
    },
    WgmmaCommit,
    WgmmaWait {
        pending: u32,
    },
    /// Reads or writes a register of the accumulator.
    WgmmaRead,
    WgmmaWrite,
    /// Columns of tensor memory: `ta` or `tb`.
    Mma {
        to: &'static str,
        from: [&'static str; 2],
        wide: bool,
    },
    TensorCopy {
        to: &'static str,
        from: &'static str,
    },
    TensorLoad {
        from: &'static str,
    },
    TensorStore {
        to: &'static str,
    },
    TensorWait {
        load: bool,
    },
    TensorCommit {
        at: &'static str,
    },
    TensorBefore,
    TensorAfter,
    /// A load or an atomic operation on a flag, and what is done if it returns this.
    Ask {
        at: &'static str,
        by: Ask,
        order: Order,
        scope: Scope,
        then: Option<(u32, Then)>,
    },
    /// A load or a store of several elements.
    Vector {
        at: Place,
        parts: u32,
        /// Of an element.
        bits: u32,
        order: Order,
        scope: Scope,
        writes: bool,
    },
}

/// What looks at a flag.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Ask {
    Load,
    Swap { compare: u32, value: u32 },
    Exchange { value: u32 },
    Add { by: u32 },
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    Weak,
    Relaxed,
    Acquire,
    Release,
    AcquireRelease,
}

/// A weak access behind an answer.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Then {
    StoreFlag(&'static str),
    LoadFlag(&'static str),
    Store(Place),
    Load(Place),
}

impl Order {
    /// As a modifier, with the scope where it has one.
    fn words(self, scope: Scope) -> String {
        let order = match self {
            Order::Weak => return "weak".to_owned(),
            Order::Relaxed => "relaxed",
            Order::Acquire => "acquire",
            Order::Release => "release",
            Order::AcquireRelease => "acq_rel",
        };
        format!("{order}.{}", scope.word())
    }
}

impl Then {
    fn text(self, id: u32) -> String {
        match self {
            Then::StoreFlag(at) => format!("st.weak.{}.u32 [{at}], {};", space(at), id + 101),
            Then::LoadFlag(at) => format!("ld.weak.{}.u32 %h{id}, [{at}];", space(at)),
            Then::Store(to) => format!("st.weak.{}.u64 {}, {};", space(to.name), address(to), id + 1),
            Then::Load(from) => format!("ld.weak.{}.u64 %t{id}, {};", space(from.name), address(from)),
        }
    }
}

fn ask_text(id: u32, at: &str, by: Ask, order: Order, scope: Scope, then: Option<(u32, Then)>) -> Vec<String> {
    let (how, space) = (order.words(scope), space(at));
    let mut lines = vec![match by {
        Ask::Load => format!("ld.{how}.{space}.u32 %g{id}, [{at}];"),
        Ask::Swap { compare, value } => format!("atom.{how}.{space}.cas.b32 %g{id}, [{at}], {compare}, {value};"),
        Ask::Exchange { value } => format!("atom.{how}.{space}.exch.b32 %g{id}, [{at}], {value};"),
        Ask::Add { by } => format!("atom.{how}.{space}.add.u32 %g{id}, [{at}], {by};"),
    }];
    if let Some((seen, then)) = then {
        lines.push(format!("setp.eq.u32 %p2, %g{id}, {seen};"));
        lines.push(format!("@%p2 {}", then.text(id)));
    }
    lines
}

impl Item {
    /// Whether it is the same whoever does it: no value of its own is written.
    fn is_shared(self) -> bool {
        use Item::{Ask, FlagSet, FlagWeak, IfZero, Red, RedAsync, Remote, RemotePair, RemoteStore};
        use Item::{Store, StoreAsync, Ticket, Vector};
        let has_value = matches!(self, FlagSet { .. } | IfZero { .. } | Red { .. } | RedAsync { .. })
            || matches!(self, Remote { .. } | RemotePair { .. })
            || matches!(self, RemoteStore { .. } | Store { .. } | StoreAsync { .. } | Ticket { .. })
            || matches!(self, Ask { .. } | Vector { writes: true, .. } | FlagWeak { writes: true, .. });
        !has_value
    }

    /// Whether it has operands in tensor memory, or behind a descriptor or a tensor map: the kernel needs more of a start.
    pub(crate) fn is_tensor(self) -> bool {
        use Item::{Mma, TensorAfter, TensorBefore, TensorCommit, TensorCopy, TensorIn, TensorLoad, TensorOut};
        use Item::{TensorStore, TensorWait, Wgmma, WgmmaCommit, WgmmaFence, WgmmaRead, WgmmaWait, WgmmaWrite};
        matches!(
            self,
            TensorIn { .. }
                | TensorOut { .. }
                | WgmmaFence
                | Wgmma { .. }
                | WgmmaCommit
                | WgmmaWait { .. }
                | WgmmaRead
                | WgmmaWrite
                | Mma { .. }
                | TensorCopy { .. }
                | TensorLoad { .. }
                | TensorStore { .. }
                | TensorWait { .. }
                | TensorCommit { .. }
                | TensorBefore
                | TensorAfter
        )
    }
}

/// Where the threads of a test are in the kernel.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Layout {
    /// Each alone in a warp.
    Warps,
    /// Together in one warp; what each of them does is a branch of its own.
    Lanes,
    /// Together in one warp; what several of them do next, they do together.
    Together,
}

/// An item with a number that stays when others are removed.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Line {
    pub(crate) id: u32,
    pub(crate) item: Item,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Thread {
    pub(crate) cta: u32,
    pub(crate) lines: Vec<Line>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Program {
    pub(crate) threads: Vec<Thread>,
}

/// A text, and which item each of its lines belongs to.
pub(crate) struct Text {
    pub(crate) text: String,
    pub(crate) items: BTreeMap<u32, u32>,
}

pub(crate) const GLOBALS: [&str; 2] = ["ga", "gb"];
pub(crate) const SHARED: [&str; 2] = ["sa", "sb"];
pub(crate) const MBARRIERS: [&str; 2] = ["ma", "mb"];
/// An access to the memory of another CTA.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Remote {
    Load,
    Store,
    Red,
    Add,
    Exchange,
}

impl Remote {
    /// The instruction, on a number of so many bits.
    fn text(self, how: &str, bits: u32, to: &str, value: u32) -> String {
        let kind = format!("{how}.shared::cluster");
        match self {
            Remote::Load => format!("ld.{kind}.u{bits} {to}, [%r1];"),
            Remote::Store => format!("st.{kind}.u{bits} [%r1], {value};"),
            Remote::Red => format!("red.{kind}.add.u{bits} [%r1], {value};"),
            Remote::Add => format!("atom.{kind}.add.u{bits} {to}, [%r1], {value};"),
            Remote::Exchange => format!("atom.{kind}.exch.b{bits} {to}, [%r1], {value};"),
        }
    }
}

/// What gives a lock back.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum By {
    Store,
    Exchange,
    CompareAndSwap,
}

pub(crate) const FLAGS: [&str; 2] = ["fg", "fs"];
pub(crate) const ALL_FLAGS: [&str; 3] = ["fg", "fs", "fh"];

pub(crate) fn place(name: &'static str, offset: u32) -> Place {
    Place { name, offset }
}

fn space(name: &str) -> &'static str {
    if name.starts_with('g') || name == "fg" || name == "fh" { "global" } else { "shared" }
}

impl Scope {
    fn word(self) -> &'static str {
        match self {
            Scope::Cta => "cta",
            Scope::Cluster => "cluster",
            Scope::Gpu => "gpu",
        }
    }
}

fn address(place: Place) -> String {
    if place.offset == 0 { format!("[{}]", place.name) } else { format!("[{}+{}]", place.name, place.offset) }
}

fn mapped(name: &str, offset: u32, rank: u32, register: &str) -> Vec<String> {
    let plus = if offset == 0 { String::new() } else { format!("+{offset}") };
    vec![
        format!("mov.u32 %n{register}, {name}{plus};"),
        format!("mapa.shared::cluster.u32 %{register}, %n{register}, {rank};"),
    ]
}

impl Line {
    /// The instructions, in the notation that both sides read.
    fn text(self, thread: usize) -> Vec<String> {
        let id = self.id;
        let one = |text: String| vec![text];
        match self.item {
            Item::Load { from, scope } => {
                let how = scope.map_or("weak".to_owned(), |scope| format!("relaxed.{}", scope.word()));
                one(format!("ld.{how}.{}.u64 %v{id}, {};", space(from.name), address(from)))
            }
            Item::Store { to, scope } => {
                let how = scope.map_or("weak".to_owned(), |scope| format!("relaxed.{}", scope.word()));
                one(format!("st.{how}.{}.u64 {}, {};", space(to.name), address(to), id + 1))
            }
            Item::RemoteLoad { from, rank } => {
                let mut lines = mapped(from.name, from.offset, rank, "r1");
                lines.push(format!("ld.shared::cluster.u64 %v{id}, [%r1];"));
                lines
            }
            Item::RemoteStore { to, rank } => {
                let mut lines = mapped(to.name, to.offset, rank, "r1");
                lines.push(format!("st.shared::cluster.u64 [%r1], {};", id + 1));
                lines
            }
            Item::Remote { what, at, rank, scope } => {
                let mut lines = mapped(at.name, at.offset, rank, "r1");
                let how = scope.map_or("weak".to_owned(), |scope| format!("relaxed.{}", scope.word()));
                lines.push(what.text(&how, 64, "%kept", id + 1));
                lines
            }
            Item::RemotePair { at, rank, writes } => {
                let mut lines = mapped(at, 0, rank, "r1");
                lines.push(if writes {
                    format!("st.shared::cluster.v2.u64 [%r1], {{{}, {}}};", id + 1, id + 2)
                } else {
                    format!("ld.shared::cluster.v2.u64 {{%v{id}, %kept}}, [%r1];")
                });
                lines
            }
            Item::KeptStore { to } => one(format!("st.weak.{}.u64 {}, %kept;", space(to.name), address(to))),
            Item::KeptFlag { at, depends, release, scope } => {
                let order = if release { "release" } else { "relaxed" };
                let mut lines = vec!["cvt.u32.u64 %low, %kept;".to_owned()];
                if !depends {
                    lines.push("and.b32 %low, %low, 0;".to_owned());
                }
                lines.push("or.b32 %low, %low, 1;".to_owned());
                lines.push(format!("st.{order}.{}.{}.u32 [{at}], %low;", scope.word(), space(at)));
                lines
            }
            Item::KeptWait => vec![
                format!("W{thread}_{id}:"),
                "setp.gt.u64 %p1, %kept, 1000;".to_owned(),
                format!("@%p1 bra W{thread}_{id};"),
            ],
            Item::FlagRemote { at, rank, what, release, scope } => {
                let order = if release { "release" } else { "relaxed" };
                let mut lines = mapped(at, 0, rank, "r1");
                lines.push(what.text(&format!("{order}.{}", scope.word()), 32, &format!("%g{id}"), 1));
                lines
            }
            Item::AwaitRemote { at, rank, acquire, scope } => {
                let order = if acquire { "acquire" } else { "relaxed" };
                let mut lines = mapped(at, 0, rank, "r1");
                lines.extend([
                    format!("W{thread}_{id}:"),
                    Remote::Load.text(&format!("{order}.{}", scope.word()), 32, "%f1", 0),
                    "setp.eq.u32 %p1, %f1, 0;".to_owned(),
                    format!("@%p1 bra W{thread}_{id};"),
                ]);
                lines
            }
            Item::Red { to, scope } => {
                one(format!("red.relaxed.{}.{}.add.u64 {}, {};", scope.word(), space(to.name), address(to), id + 1))
            }
            Item::Bar { id, warps, arrive } => {
                let how = if arrive { "arrive" } else { "sync" };
                one(match warps {
                    Some(warps) => format!("bar.{how} {id}, {};", warps * 32),
                    None => format!("bar.{how} {id};"),
                })
            }
            Item::ClusterArrive { relaxed: true } => one("barrier.cluster.arrive.relaxed;".to_owned()),
            Item::ClusterArrive { relaxed: false } => one("barrier.cluster.arrive;".to_owned()),
            Item::ClusterWait => one("barrier.cluster.wait;".to_owned()),
            Item::Init { at, count } => one(format!("mbarrier.init.shared::cta.b64 [{at}], {count};")),
            Item::Inval { at } => one(format!("mbarrier.inval.shared::cta.b64 [{at}];")),
            Item::FenceInit => one("fence.mbarrier_init.release.cluster;".to_owned()),
            Item::Arrive { at, rank, release, scope, expect, count } => {
                let order = if release { "release" } else { "relaxed" };
                let (mut lines, at, space) = match rank {
                    Some(rank) => (mapped(at, 0, rank, "r1"), "%r1", "shared::cluster"),
                    None => (Vec::new(), at, "shared::cta"),
                };
                let (what, operand) = match expect {
                    Some(bytes) => ("arrive.expect_tx", format!(", {bytes}")),
                    None if count == 1 => ("arrive", String::new()),
                    None => ("arrive", format!(", {count}")),
                };
                lines.push(format!("mbarrier.{what}.{order}.{}.{space}.b64 _, [{at}]{operand};", scope.word()));
                lines
            }
            Item::ArriveOnly { at } => {
                one(format!("mbarrier.arrive.noComplete.release.cta.shared::cta.b64 %t{id}, [{at}], 1;"))
            }
            Item::Expect { at, bytes } => {
                one(format!("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [{at}], {bytes};"))
            }
            Item::Complete { at, bytes, rank, scope } => {
                let mut lines = mapped(at, 0, rank, "r1");
                let how = format!("relaxed.{}.shared::cluster.b64", scope.word());
                lines.push(format!("mbarrier.complete_tx.{how} [%r1], {bytes};"));
                lines
            }
            Item::Wait { at, parity, acquire, scope } => {
                let order = if acquire { "acquire" } else { "relaxed" };
                let scope = scope.word();
                vec![
                    format!("W{thread}_{id}:"),
                    format!("mbarrier.try_wait.parity.{order}.{scope}.shared::cta.b64 %p1, [{at}], {parity};"),
                    format!("@!%p1 bra W{thread}_{id};"),
                ]
            }
            Item::Copy { to, from } => one(format!("cp.async.ca.shared.global {}, {}, 8;", address(to), address(from))),
            Item::CopyCommit => one("cp.async.commit_group;".to_owned()),
            Item::CopyWait { pending: Some(pending) } => one(format!("cp.async.wait_group {pending};")),
            Item::CopyWait { pending: None } => one("cp.async.wait_all;".to_owned()),
            Item::CopyArrive { at, no_increment } => {
                let how = if no_increment { ".noinc" } else { "" };
                one(format!("cp.async.mbarrier.arrive{how}.shared::cta.b64 [{at}];"))
            }
            Item::BulkLoad { to, from, at } => one(format!(
                "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [{to}], [{from}], 16, [{at}];"
            )),
            Item::Multicast { to, from, at, mask } => one(format!(
                "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [{to}], [{from}], 16, [{at}], {mask};"
            )),
            Item::BulkPeer { to, from, at, rank } => {
                let mut lines = mapped(to, 0, rank, "r1");
                lines.extend(mapped(at, 0, rank, "r2"));
                lines.push(format!(
                    "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r1], [{from}], 16, [%r2];"
                ));
                lines
            }
            Item::BulkStore { to, from } => {
                one(format!("cp.async.bulk.global.shared::cta.bulk_group [{to}], [{from}], 16;"))
            }
            Item::BulkReduce { to, from } => {
                one(format!("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u64 [{to}], [{from}], 16;"))
            }
            Item::BulkCommit => one("cp.async.bulk.commit_group;".to_owned()),
            Item::BulkWait { pending, reads } => {
                let how = if reads { ".read" } else { "" };
                one(format!("cp.async.bulk.wait_group{how} {pending};"))
            }
            Item::StoreAsync { to, at, rank } => {
                let mut lines = mapped(to.name, to.offset, rank, "r1");
                lines.extend(mapped(at, 0, rank, "r2"));
                lines.push(format!(
                    "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u64 [%r1], {}, [%r2];",
                    id + 1
                ));
                lines
            }
            Item::RedAsync { to, at, rank } => {
                let mut lines = mapped(to.name, to.offset, rank, "r1");
                lines.extend(mapped(at, 0, rank, "r2"));
                lines.push(format!("mov.u64 %v{id}, {};", id + 1));
                lines.push(format!(
                    "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64 [%r1], %v{id}, [%r2];"
                ));
                lines
            }
            Item::Fence { sc, scope } => one(format!("fence.{}.{};", if sc { "sc" } else { "acq_rel" }, scope.word())),
            Item::FenceAsync(Cover::Everything) => one("fence.proxy.async;".to_owned()),
            Item::FenceAsync(Cover::SharedCta) => one("fence.proxy.async.shared::cta;".to_owned()),
            Item::FenceAsync(Cover::SharedCluster) => one("fence.proxy.async.shared::cluster;".to_owned()),
            Item::FenceAsync(Cover::Global) => one("fence.proxy.async.global;".to_owned()),
            Item::FlagSet { at, release, scope } => {
                let order = if release { "release" } else { "relaxed" };
                one(format!("st.{order}.{}.{}.u32 [{at}], {};", scope.word(), space(at), id + 1))
            }
            Item::FlagStore { at, value, release, scope } => {
                let order = if release { "release" } else { "relaxed" };
                one(format!("st.{order}.{}.{}.u32 [{at}], {value};", scope.word(), space(at)))
            }
            // No other item writes this value: two weak writes of one value are let pass.
            Item::FlagWeak { at, writes: true } => one(format!("st.weak.{}.u32 [{at}], {};", space(at), id + 101)),
            Item::FlagWeak { at, writes: false } => one(format!("ld.weak.{}.u32 %g{id}, [{at}];", space(at))),
            Item::Reset { at, count, orders, scope } => {
                let order = if orders { "acq_rel" } else { "relaxed" };
                vec![
                    format!("atom.{order}.{}.{}.add.u32 %g{id}, [{at}], 1;", scope.word(), space(at)),
                    format!("setp.eq.u32 %p2, %g{id}, {};", count.saturating_sub(1)),
                    format!("@%p2 st.weak.{}.u32 [{at}], 0;", space(at)),
                ]
            }
            Item::Count { at, by, atom, release, scope } => {
                let (order, scope, space) = (if release { "release" } else { "relaxed" }, scope.word(), space(at));
                one(if atom {
                    format!("atom.{order}.{scope}.{space}.add.u32 %g{id}, [{at}], {by};")
                } else {
                    format!("red.{order}.{scope}.{space}.add.u32 [{at}], {by};")
                })
            }
            Item::Await { at, value, equal, acquire, scope } => {
                let order = if acquire { "acquire" } else { "relaxed" };
                let compare = if equal { "ne" } else { "lt" };
                vec![
                    format!("W{thread}_{id}:"),
                    format!("ld.{order}.{}.{}.u32 %f1, [{at}];", scope.word(), space(at)),
                    format!("setp.{compare}.u32 %p1, %f1, {value};"),
                    format!("@%p1 bra W{thread}_{id};"),
                ]
            }
            Item::GridSync { at, rest_of, release, acquire, scope } => {
                let by = rest_of.map_or(1, |count| 0x8000_0000 - (count - 1));
                let (release, acquire) =
                    (if release { "release" } else { "relaxed" }, if acquire { "acquire" } else { "relaxed" });
                vec![
                    format!("atom.{release}.{}.{}.add.u32 %g{id}, [{at}], {by};", scope.word(), space(at)),
                    format!("W{thread}_{id}:"),
                    format!("ld.{acquire}.{}.{}.u32 %f1, [{at}];", scope.word(), space(at)),
                    format!("xor.b32 %f2, %f1, %g{id};"),
                    "setp.gt.s32 %p1, %f2, -1;".to_owned(),
                    format!("@%p1 bra W{thread}_{id};"),
                ]
            }
            Item::Last { at, count, orders, scope, from } => {
                let order = if orders { "acq_rel" } else { "relaxed" };
                vec![
                    format!("atom.{order}.{}.{}.add.u32 %g{id}, [{at}], 1;", scope.word(), space(at)),
                    format!("setp.eq.u32 %p2, %g{id}, {};", count.saturating_sub(1)),
                    format!("@%p2 ld.weak.{}.u64 %v{id}, {};", space(from.name), address(from)),
                ]
            }
            Item::Lock { at, exchange, acquire, scope } => {
                let order = if acquire { "acquire" } else { "relaxed" };
                let (what, operands) = if exchange { ("exch", "1") } else { ("cas", "0, 1") };
                let (scope, space) = (scope.word(), space(at));
                vec![
                    format!("W{thread}_{id}:"),
                    format!("atom.{order}.{scope}.{space}.{what}.b32 %f1, [{at}], {operands};"),
                    "setp.ne.u32 %p1, %f1, 0;".to_owned(),
                    format!("@%p1 bra W{thread}_{id};"),
                ]
            }
            Item::Unlock { at, by, release, scope } => {
                let order = if release { "release" } else { "relaxed" };
                let (scope, space) = (scope.word(), space(at));
                one(match by {
                    By::Store => format!("st.{order}.{scope}.{space}.u32 [{at}], 0;"),
                    By::Exchange => format!("atom.{order}.{scope}.{space}.exch.b32 %g{id}, [{at}], 0;"),
                    By::CompareAndSwap => format!("atom.{order}.{scope}.{space}.cas.b32 %g{id}, [{at}], 1, 0;"),
                })
            }
            Item::Together { at, reads, first_barrier, acquire, scope } => {
                let order = if acquire { "acquire" } else { "relaxed" };
                let mut lines = vec![format!("W{thread}_{id}:")];
                if first_barrier {
                    lines.push("bar.sync 0;".to_owned());
                }
                if reads {
                    lines.push(format!("ld.{order}.{}.{}.u32 %f1, [{at}];", scope.word(), space(at)));
                    lines.push("st.shared.u32 [bc], %f1;".to_owned());
                }
                lines.push("bar.sync 0;".to_owned());
                lines.push("ld.shared.u32 %f2, [bc];".to_owned());
                lines.push("setp.eq.u32 %p1, %f2, 0;".to_owned());
                lines.push(format!("@%p1 bra W{thread}_{id};"));
                lines
            }
            Item::IfZero { from, scope, to } => {
                let how = scope.map_or("weak".to_owned(), |scope| format!("relaxed.{}", scope.word()));
                vec![
                    format!("ld.{how}.{}.u64 %v{id}, {};", space(from.name), address(from)),
                    format!("setp.eq.u64 %p2, %v{id}, 0;"),
                    format!("@%p2 st.weak.{}.u64 {}, {};", space(to.name), address(to), id + 1),
                ]
            }
            Item::Ticket { from, to } => vec![
                format!("atom.relaxed.gpu.{}.add.u64 %v{id}, {}, 1;", space(from.name), address(from)),
                format!("setp.ne.u64 %p2, %v{id}, 0;"),
                format!("@%p2 st.weak.{}.u64 {}, {};", space(to.name), address(to), id + 1),
            ],
            Item::Peek { at, parity } => {
                one(format!("mbarrier.test_wait.parity.acquire.cta.shared::cta.b64 %p3, [{at}], {parity};"))
            }
            Item::Ask { at, by, order, scope, then } => ask_text(id, at, by, order, scope, then),
            Item::Vector { at, parts, bits, order, scope, writes } => {
                let (how, space) = (order.words(scope), space(at.name));
                let list = |part: &dyn Fn(u32) -> String| (0..parts).map(part).collect::<Vec<_>>().join(", ");
                one(if writes {
                    let values = list(&|part| (1000 * (id + 1) + part).to_string());
                    format!("st.{how}.{space}.v{parts}.u{bits} {}, {{{values}}};", address(at))
                } else {
                    let letter = if bits == 64 { 'd' } else { 'c' };
                    let registers = list(&|part| format!("%{letter}{}", 4 * id + part));
                    format!("ld.{how}.{space}.v{parts}.u{bits} {{{registers}}}, {};", address(at))
                })
            }
            Item::WarpSync { mask } => one(format!("bar.warp.sync {mask};")),
            Item::TensorIn { to, at } => one(format!(
                "cp.async.bulk.tensor.1d.shared::cta.global.tile.mbarrier::complete_tx::bytes [{to}], [map, {{0}}], [{at}];"
            )),
            Item::TensorOut { from } => {
                one(format!("cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [map, {{0}}], [{from}];"))
            }
            Item::WgmmaFence => one("wgmma.fence.sync.aligned;".to_owned()),
            Item::Wgmma { from } => one(format!(
                "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%w0}}, {from}, {from}, 1, 1, 1, 0, 0;"
            )),
            Item::WgmmaCommit => one("wgmma.commit_group.sync.aligned;".to_owned()),
            Item::WgmmaWait { pending } => one(format!("wgmma.wait_group.sync.aligned {pending};")),
            Item::WgmmaRead => one(format!("mov.b32 %x{id}, %w0;")),
            Item::WgmmaWrite => one(format!("mov.b32 %w0, {id};")),
            Item::Mma { to, from: [a, b], wide } => {
                let shape = if wide { 64 } else { 0 };
                one(format!("tcgen05.mma.cta_group::1.kind::f16 [%{to}], {a}, {b}, {shape}, 1;"))
            }
            Item::TensorCopy { to, from } => one(format!("tcgen05.cp.cta_group::1.128x256b [%{to}], {from};")),
            Item::TensorLoad { from } => one(format!("tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%x{id}}}, [%{from}];")),
            Item::TensorStore { to } => one(format!("tcgen05.st.sync.aligned.32x32b.x1.b32 [%{to}], {{%xv}};")),
            Item::TensorWait { load } => one(format!("tcgen05.wait::{}.sync.aligned;", if load { "ld" } else { "st" })),
            Item::TensorCommit { at } => {
                one(format!("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [{at}];"))
            }
            Item::TensorBefore => one("tcgen05.fence::before_thread_sync;".to_owned()),
            Item::TensorAfter => one("tcgen05.fence::after_thread_sync;".to_owned()),
            Item::FlagSpin { at, acquire, scope } => {
                let order = if acquire { "acquire" } else { "relaxed" };
                vec![
                    format!("W{thread}_{id}:"),
                    format!("ld.{order}.{}.{}.u32 %f1, [{at}];", scope.word(), space(at)),
                    "setp.eq.u32 %p1, %f1, 0;".to_owned(),
                    format!("@%p1 bra W{thread}_{id};"),
                ]
            }
        }
    }

    /// The register that it reads into, for outcomes.
    fn shows(self) -> Option<String> {
        matches!(self.item, Item::Load { .. } | Item::RemoteLoad { .. } | Item::IfZero { .. })
            .then(|| format!("%v{}", self.id))
    }
}

impl Program {
    pub(crate) fn new(threads: Vec<(u32, Vec<Item>)>) -> Program {
        let mut id = 0;
        let mut number = |item: Item| {
            id += 1;
            Line { id: id - 1, item }
        };
        let threads = threads
            .into_iter()
            .map(|(cta, items)| Thread { cta, lines: items.into_iter().map(&mut number).collect() })
            .collect();
        Program { threads }
    }

    pub(crate) fn size(&self) -> usize {
        self.threads.iter().map(|thread| thread.lines.len()).sum()
    }

    pub(crate) fn items(&self) -> impl Iterator<Item = Item> {
        self.threads.iter().flat_map(|thread| thread.lines.iter().map(|line| line.item))
    }

    pub(crate) fn ctas(&self) -> u32 {
        self.threads.iter().map(|thread| thread.cta + 1).max().unwrap_or(1)
    }

    /// Whether its CTAs are one cluster. Where all threads of a CTA wait together, nobody else sees its shared memory.
    pub(crate) fn is_clustered(&self) -> bool {
        let names_others = |item: Item| {
            matches!(
                item,
                Item::RemoteLoad { .. }
                    | Item::RemoteStore { .. }
                    | Item::Remote { .. }
                    | Item::RemotePair { .. }
                    | Item::FlagRemote { .. }
                    | Item::AwaitRemote { .. }
                    | Item::Arrive { rank: Some(_), .. }
                    | Item::Complete { .. }
                    | Item::Multicast { .. }
                    | Item::BulkPeer { .. }
                    | Item::StoreAsync { .. }
                    | Item::RedAsync { .. }
            )
        };
        self.items().any(names_others) || !self.items().any(|item| matches!(item, Item::Together { .. }))
    }

    /// Whether threads keep what they have read from other CTAs.
    fn keeps(&self) -> bool {
        self.items().any(|item| {
            matches!(item, Item::Remote { .. } | Item::RemotePair { .. } | Item::KeptStore { .. })
                || matches!(item, Item::KeptFlag { .. } | Item::KeptWait)
        })
    }

    /// The most threads of a CTA.
    pub(crate) fn warps(&self) -> u32 {
        let of = |cta: u32| self.threads.iter().filter(|thread| thread.cta == cta).count() as u32;
        (0..self.ctas()).map(of).max().unwrap_or(1)
    }

    pub(crate) fn litmus(&self) -> Text {
        let mut out = Lines::default();
        out.line("PTX random", None);
        let mut declarations = String::new();
        for name in GLOBALS {
            let _ = write!(declarations, " .global .b64 {name}[2];");
        }
        for name in SHARED {
            let _ = write!(declarations, " .shared .b64 {name}[2];");
        }
        for name in MBARRIERS {
            let _ = write!(declarations, " .shared .b64 {name};");
        }
        if self.has_tensors() {
            declarations.push_str(" .param .tensormap map = ga; .tmem .b32 ta[1]; .tmem .b32 tb[1];");
            for thread in 0..self.threads.len() {
                let _ = write!(
                    declarations,
                    " P{thread}:%ta = ta; P{thread}:%tb = tb; P{thread}:%xv = 1; P{thread}:%w0 = 0;"
                );
            }
        }
        out.line(
            &format!("{{{declarations} .global .u32 fg; .global .u32 fh; .shared .u32 fs; .shared .u32 bc; }}"),
            None,
        );
        let mut shown = String::new();
        for (index, thread) in self.threads.iter().enumerate() {
            let cluster = if self.is_clustered() { 0 } else { thread.cta };
            out.line(&format!("P{index}@cta {}, cluster {cluster}, gpu 0 {{", thread.cta), None);
            if self.keeps() {
                out.line("mov.u64 %kept, 0;", None);
            }
            for line in &thread.lines {
                for text in line.text(index) {
                    out.line(&text, Some(line.id));
                }
                if let Some(register) = line.shows() {
                    let _ = write!(shown, "P{index}:{register}; ");
                }
            }
            out.line("}", None);
        }
        if !shown.is_empty() {
            out.line(&format!("locations [{shown}]"), None);
        }
        out.done()
    }

    /// Whether lanes of a warp that do the same thing at once do what as many threads would: an instruction of the whole warp
    /// is one operation, and a product that of four warps.
    pub(crate) fn fits_together(&self) -> bool {
        let of_a_warp =
            |item: Item| matches!(item, Item::TensorLoad { .. } | Item::TensorStore { .. } | Item::TensorWait { .. });
        self.fits_a_warp() && !self.items().any(of_a_warp)
    }

    /// Whether all lanes of a mask come to `bar.warp.sync` with it as often.
    pub(crate) fn lanes_meet_evenly(&self) -> bool {
        self.items().all(|item| {
            let Item::WarpSync { mask } = item else { return true };
            let count = |lane: usize| {
                let thread = self.threads.get(lane);
                thread.map_or(0, |thread| thread.lines.iter().filter(|line| line.item == item).count())
            };
            let mut counts = (0..32).filter(|lane| mask & (1 << lane) != 0).map(count);
            let first = counts.next();
            counts.all(|count| Some(count) == first)
        })
    }

    /// What the threads do, one thing after the other; what several have in common at once. A step is an item with the
    /// threads that do it, as bits of 8 * CTA + number in the CTA.
    fn steps(&self) -> Vec<(Line, u32, Vec<u32>)> {
        let mut next = vec![0; self.threads.len()];
        let mut seen = vec![0; self.ctas() as usize];
        let bits: Vec<u32> = (self.threads.iter())
            .map(|thread| {
                let number = &mut seen[thread.cta as usize];
                *number += 1;
                1 << (thread.cta * 8 + *number - 1)
            })
            .collect();
        let mut steps = Vec::new();
        loop {
            let heads: Vec<Option<Line>> =
                self.threads.iter().zip(&next).map(|(thread, at)| thread.lines.get(*at).copied()).collect();
            let alike = |line: &Line| -> Vec<usize> {
                let same = |other: &Option<Line>| {
                    other.is_some_and(|other| other.id == line.id || (other.item == line.item && line.item.is_shared()))
                };
                (0..heads.len()).filter(|at| same(&heads[*at])).collect()
            };
            let Some(line) = heads.iter().flatten().max_by_key(|line| alike(line).len()).copied() else { return steps };
            let threads = alike(&line);
            let ids = threads.iter().filter_map(|at| heads[*at].map(|line| line.id)).collect();
            steps.push((line, threads.iter().fold(0, |mask, at| mask | bits[*at]), ids));
            threads.iter().for_each(|at| next[*at] += 1);
        }
    }

    /// Which item stands for each where threads do things together.
    pub(crate) fn merged(&self) -> BTreeMap<u32, u32> {
        self.steps().into_iter().flat_map(|(line, _, ids)| ids.into_iter().map(move |id| (id, line.id))).collect()
    }

    pub(crate) fn has_tensors(&self) -> bool {
        self.items().any(Item::is_tensor)
    }

    /// How many warps lie between two threads: only each fourth warp reaches the same lanes of tensor memory.
    pub(crate) fn spacing(&self) -> u32 {
        if self.has_tensors() { 4 } else { 1 }
    }

    /// Whether its threads can be lanes of one warp: barriers with a number count warps.
    pub(crate) fn fits_a_warp(&self) -> bool {
        use Item::{Wgmma, WgmmaCommit, WgmmaFence, WgmmaRead, WgmmaWait, WgmmaWrite};
        !self.items().any(|item| {
            // Nor are products those of some lanes of a warp.
            matches!(item, Item::Bar { warps: Some(_), .. } | Wgmma { .. } | WgmmaCommit | WgmmaFence)
                || matches!(item, WgmmaRead | WgmmaWait { .. } | WgmmaWrite)
        }) && !self.lanes_diverge()
    }

    /// Whether lanes of a warp would come to different instructions of the whole warp, or wait for one that waits for them there.
    fn lanes_diverge(&self) -> bool {
        let of_a_warp =
            |item: Item| matches!(item, Item::TensorLoad { .. } | Item::TensorStore { .. } | Item::TensorWait { .. });
        let comes = |thread: &&Thread| thread.lines.iter().any(|line| of_a_warp(line.item));
        let ctas: Vec<u32> = self.threads.iter().filter(comes).map(|thread| thread.cta).collect();
        let goes_on = |thread: &Thread| {
            let behind = thread.lines.iter().skip_while(|line| !of_a_warp(line.item));
            behind.into_iter().any(|line| !of_a_warp(line.item))
        };
        // A barrier of the CTA waits for the lane that waits for its warp.
        let bars = |thread: &Thread| thread.lines.iter().filter(|line| matches!(line.item, Item::Bar { .. })).count();
        let later =
            |thread: &Thread| self.threads.iter().any(|other| other.cta == thread.cta && bars(other) > bars(thread));
        let waits = self.threads.iter().filter(comes).any(later);
        self.threads.iter().any(goes_on) || waits || (1..ctas.len()).any(|at| ctas[..at].contains(&ctas[at]))
    }

    pub(crate) fn kernel(&self, layout: Layout) -> Text {
        let mut out = Lines::default();
        out.line(".version 9.4", None);
        out.line(".target sm_100a", None);
        out.line(".address_size 64", None);
        let tensors = self.has_tensors();
        for name in GLOBALS {
            out.line(&format!(".global .align 16 .b64 {name}[2];"), None);
        }
        out.line(".global .align 4 .u32 fg;", None);
        out.line(".global .align 4 .u32 fh;", None);
        let parameters = if tensors { ".param .u64 base, .param .align 64 .b8 map[128]" } else { "" };
        out.line(&format!(".visible .entry k({parameters}) {{"), None);
        for name in SHARED {
            let elements = if tensors { 512 } else { 2 };
            out.line(&format!(".shared .align 16 .b64 {name}[{elements}];"), None);
        }
        for name in MBARRIERS {
            out.line(&format!(".shared .align 8 .b64 {name};"), None);
        }
        out.line(".shared .align 4 .u32 fs;", None);
        out.line(".shared .align 4 .u32 bc;", None);
        out.line(".reg .pred %p<4>;", None);
        out.line(".reg .u32 %f<4>, %r<4>, %nr<4>, %k<8>, %g<256>;", None);
        out.line(".reg .u64 %v<256>, %t<256>, %d<256>;", None);
        out.line(".reg .u32 %h<256>, %c<256>;", None);
        if self.keeps() {
            out.line(".reg .u64 %kept;", None);
            out.line(".reg .u32 %low;", None);
            out.line("mov.u64 %kept, 0;", None);
        }
        out.line("mov.u32 %k0, %tid.x;", None);
        match layout {
            Layout::Warps => {
                out.line(&format!("and.b32 %k1, %k0, {};", 32 * self.spacing() - 1), None);
                out.line("setp.ne.u32 %p0, %k1, 0;", None);
                out.line("@%p0 exit;", None);
                out.line(&format!("shr.u32 %k2, %k0, {};", 5 + self.spacing().trailing_zeros()), None);
            }
            Layout::Lanes | Layout::Together => {
                out.line("setp.gt.u32 %p0, %k0, 7;", None);
                out.line("@%p0 exit;", None);
                out.line("mov.u32 %k2, %k0;", None);
            }
        }
        out.line("mov.u32 %k3, %ctaid.x;", None);
        out.line("shl.b32 %k4, %k3, 3;", None);
        out.line("add.u32 %k5, %k4, %k2;", None);
        if tensors {
            // Lanes of one warp allocate together.
            let start = match layout {
                Layout::Warps => TENSOR_START.to_owned(),
                _ => TENSOR_START.replace("@%p0 tcgen05.alloc", "tcgen05.alloc"),
            };
            start.lines().for_each(|line| out.line(line, None));
        }
        if layout == Layout::Together {
            self.steps().iter().enumerate().for_each(|(number, step)| out.step(number, step, tensors));
            out.line("exit;", None);
            out.line("}", None);
            return out.done();
        }
        let mut seen = vec![0; self.ctas() as usize];
        for (index, thread) in self.threads.iter().enumerate() {
            let warp = &mut seen[thread.cta as usize];
            out.line(&format!("setp.eq.u32 %p0, %k5, {};", thread.cta * 8 + *warp), None);
            out.line(&format!("@%p0 bra T{index};"), None);
            *warp += 1;
        }
        out.line("exit;", None);
        for (index, thread) in self.threads.iter().enumerate() {
            out.line(&format!("T{index}:"), None);
            for line in &thread.lines {
                for text in line.text(index) {
                    let text = if tensors { with_registers(&text) } else { text };
                    let text = if layout == Layout::Warps { text } else { of_lanes(&text) };
                    out.line(&text, Some(line.id));
                }
            }
            out.line("exit;", None);
        }
        out.line("}", None);
        out.done()
    }
}

/// Tensor memory is allocated before anything else, descriptors are made, and `ga` is a buffer with a map over it.
const TENSOR_START: &str = "\
.shared .align 4 .u32 slot;
.reg .b32 %x<256>, %xv, %w<4>, %ta, %tb, %id<2>;
.reg .u64 %ga, %map, %dsa, %dsb;
mov.u32 %xv, 1;
mov.u32 %w0, 0;
mov.u32 %ta, 0;
mov.u32 %tb, 32;
mov.u32 %id0, 0x08040010;
mov.u32 %id1, 0x08080010;
ld.param.u64 %ga, [base];
mov.b64 %map, map;
cvta.param.u64 %map, %map;
mov.u32 %k6, sa;
shr.u32 %k6, %k6, 4;
cvt.u64.u32 %dsa, %k6;
or.b64 %dsa, %dsa, 0x0000401000080000;
mov.u32 %k6, sb;
shr.u32 %k6, %k6, 4;
cvt.u64.u32 %dsb, %k6;
or.b64 %dsb, %dsb, 0x0000401000080000;
setp.eq.u32 %p0, %k2, 0;
@%p0 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 64;
bar.sync 15;";

/// What a litmus test calls by its name, a kernel has in registers.
fn with_registers(text: &str) -> String {
    let mut text = text.replace("[ga", "[%ga").replace("[map", "[%map");
    if text.starts_with("wgmma.mma") || text.starts_with("tcgen05.mma") || text.starts_with("tcgen05.cp") {
        text = text.replace(", sa", ", %dsa").replace(", sb", ", %dsb");
        text = text.replace(", 64, 1;", ", %id1, 1;").replace(", 0, 1;", ", %id0, 1;");
    }
    text
}

/// Lanes of a warp come to barriers one by one: `bar` is for the whole warp.
pub(crate) fn of_lanes(text: &str) -> String {
    text.replace("bar.sync", "barrier.sync").replace("bar.arrive", "barrier.arrive")
}

#[derive(Default)]
pub(crate) struct Lines {
    text: String,
    items: BTreeMap<u32, u32>,
    count: u32,
}

impl Lines {
    pub(crate) fn line(&mut self, text: &str, item: Option<u32>) {
        self.count += 1;
        if let Some(item) = item {
            self.items.insert(self.count, item);
        }
        self.text.push_str(text);
        self.text.push('\n');
    }

    /// What the threads of a mask do, and the others leave out.
    fn step(&mut self, number: usize, (line, mask, _): &(Line, u32, Vec<u32>), tensors: bool) {
        self.line(&format!("mov.u32 %k7, {mask};"), None);
        self.line("shr.b32 %k7, %k7, %k5;", None);
        self.line("and.b32 %k7, %k7, 1;", None);
        self.line("setp.eq.u32 %p0, %k7, 0;", None);
        self.line(&format!("@%p0 bra S{number};"), None);
        for text in line.text(0) {
            let text = if tensors { with_registers(&text) } else { text };
            self.line(&of_lanes(&text), Some(line.id));
        }
        self.line(&format!("S{number}:"), None);
    }

    pub(crate) fn done(self) -> Text {
        Text { text: self.text, items: self.items }
    }
}

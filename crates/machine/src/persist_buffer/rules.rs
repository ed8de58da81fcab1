//! The options of a persist buffer, and its rules one by one, so that each can be switched off to show that it is needed.

/// When the entry of an ordering point joins an older one of the same kind.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Merge {
    /// Only with the last entry of the buffer: "without intervening any operations" (section 6.1).
    Paper,
    /// As the artifact does: with the newest entry of the kind that has no entry of the issuing warp behind it, whatever other
    /// warps have put in between. An acquire can so come to lie before the release that it reads from.
    Artifact,
}

impl Merge {
    pub const ALL: [Merge; 2] = [Merge::Paper, Merge::Artifact];

    pub fn name(self) -> &'static str {
        match self {
            Merge::Paper => "paper",
            Merge::Artifact => "artifact",
        }
    }

    pub fn named(name: &str) -> Option<Merge> {
        Merge::ALL.into_iter().find(|merge| merge.name() == name)
    }

    pub fn says(self) -> &'static str {
        match self {
            Merge::Paper => "an ordering point joins the last entry of the buffer, if that is of the same kind",
            Merge::Artifact => "an ordering point may join an older entry past those of other warps",
        }
    }
}

/// A rule of the buffer (section 6.1).
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Rule {
    /// A persist at the head waits while the flush status mask (FSM) has one of its warps.
    FlushStatusAtHead,
    /// So does an eviction.
    FlushStatusAtEviction,
    /// A line is not evicted while a fence or an acquire of one of its warps is ahead of it.
    OrderAheadOfEviction,
    /// A device-scoped acquire sets the order delay mask (ODM), as a device-scoped release and a dFence do.
    AcquireDelay,
    /// A warp waits while the ODM has it.
    OrderDelay,
    /// A warp waits while the eviction delay mask (EDM) has it.
    EvictionDelay,
    /// A store waits if its line has an entry with an ordering point of the same warp behind it.
    OrderBehindHit,
    /// A release is such an ordering point.
    ReleaseBehindHit,
    /// A store that joins the entry of its line adds its warp to the mask of the entry.
    CoalescedWarp,
    /// The FSM is reset when nothing is in flight any more (ACTR is zero), and not before.
    ResetAtZero,
    /// A fence that leaves the buffer sets the FSM.
    FenceHoldsBack,
    /// An acquire that leaves the buffer sets the FSM.
    AcquireHoldsBack,
    /// A release that leaves the buffer sets the FSM.
    ReleaseHoldsBack,
}

impl Rule {
    pub const ALL: [Rule; 13] = [
        Rule::FlushStatusAtHead,
        Rule::FlushStatusAtEviction,
        Rule::OrderAheadOfEviction,
        Rule::AcquireDelay,
        Rule::OrderDelay,
        Rule::EvictionDelay,
        Rule::OrderBehindHit,
        Rule::ReleaseBehindHit,
        Rule::CoalescedWarp,
        Rule::ResetAtZero,
        Rule::FenceHoldsBack,
        Rule::AcquireHoldsBack,
        Rule::ReleaseHoldsBack,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Rule::FlushStatusAtHead => "flush-status-at-head",
            Rule::FlushStatusAtEviction => "flush-status-at-eviction",
            Rule::OrderAheadOfEviction => "order-ahead-of-eviction",
            Rule::AcquireDelay => "acquire-delay",
            Rule::OrderDelay => "order-delay",
            Rule::EvictionDelay => "eviction-delay",
            Rule::OrderBehindHit => "order-behind-hit",
            Rule::ReleaseBehindHit => "release-behind-hit",
            Rule::CoalescedWarp => "coalesced-warp",
            Rule::ResetAtZero => "reset-at-zero",
            Rule::FenceHoldsBack => "fence-holds-back",
            Rule::AcquireHoldsBack => "acquire-holds-back",
            Rule::ReleaseHoldsBack => "release-holds-back",
        }
    }

    /// The rule in a line.
    pub fn says(self) -> &'static str {
        match self {
            Rule::FlushStatusAtHead => "a line at the head waits while the flush status mask has one of its warps",
            Rule::FlushStatusAtEviction => "an eviction waits while the flush status mask has one of the line's warps",
            Rule::OrderAheadOfEviction => "a line is not evicted past a fence or an acquire of one of its warps",
            Rule::AcquireDelay => "a device-scoped acquire waits until earlier persists are durable, as a release does",
            Rule::OrderDelay => "a warp waits while the order delay mask has it",
            Rule::EvictionDelay => "a warp waits while the eviction delay mask has it",
            Rule::OrderBehindHit => "a store waits if its line is in the buffer ahead of an ordering point of its warp",
            Rule::ReleaseBehindHit => "a release is such an ordering point",
            Rule::CoalescedWarp => "a store that joins the entry of its line adds its warp to the entry",
            Rule::ResetAtZero => "the flush status mask is reset when nothing is in flight any more, and not before",
            Rule::FenceHoldsBack => "a fence that leaves the buffer sets the flush status mask",
            Rule::AcquireHoldsBack => "an acquire that leaves the buffer sets the flush status mask",
            Rule::ReleaseHoldsBack => "a release that leaves the buffer sets the flush status mask",
        }
    }

    pub fn named(name: &str) -> Option<Rule> {
        Rule::ALL.into_iter().find(|rule| rule.name() == name)
    }
}

/// How a buffer behaves.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Rules {
    pub merge: Merge,
    /// The most entries; no limit if None.
    pub capacity: Option<u32>,
    /// The most lines in flight at a time (section 6.2); no limit if None. A full buffer flushes beyond it.
    pub window: Option<u32>,
    /// A bit per rule that is switched off.
    off: u16,
}

impl Rules {
    /// All rules, and no limits: a limit only makes operations or flushes wait, so what a limited buffer does, this one may do.
    pub fn new(merge: Merge) -> Rules {
        Rules { merge, capacity: None, window: None, off: 0 }
    }

    #[must_use]
    pub fn without(self, rule: Rule) -> Rules {
        Rules { off: self.off | 1 << rule as u8, ..self }
    }

    #[must_use]
    pub fn with(self, rule: Rule) -> Rules {
        Rules { off: self.off & !(1 << rule as u8), ..self }
    }

    #[must_use]
    pub fn with_capacity(self, entries: u32) -> Rules {
        Rules { capacity: Some(entries), ..self }
    }

    #[must_use]
    pub fn with_window(self, lines: u32) -> Rules {
        Rules { window: Some(lines), ..self }
    }

    pub fn has(self, rule: Rule) -> bool {
        self.off >> rule as u8 & 1 == 0
    }
}

//! What is drawn about proxies: the mark of an access that does not go through the generic proxy, and the shapes of the
//! fences between proxies (PTX ISA 8.9.4, 9.7.15.4). A proxy fence is a *gate*: an access passes from one proxy to the
//! other only where a gate stands on the way. The halves of a tensormap gate stand in two threads, and the fences of
//! `tcgen05` only bracket a synchronisation.

use fencepost_program::tag::Tag;
use fencepost_program::unfolding::{Event, EventKind};

/// A proxy other than the generic one, or tensor memory, which is accessed by tensor instructions only.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Mark {
    Async,
    TensorMap,
    TensorMemory,
    Constant,
    Texture,
    Surface,
}

const MARKS: &[(Tag, Mark)] = &[
    (Tag::Async, Mark::Async),
    (Tag::TensorMap, Mark::TensorMap),
    (Tag::TensorMemory, Mark::TensorMemory),
    (Tag::Constant, Mark::Constant),
    (Tag::Texture, Mark::Texture),
    (Tag::Surface, Mark::Surface),
];

impl Mark {
    /// Of an access; None for the generic proxy.
    pub(crate) fn of(event: &Event) -> Option<Mark> {
        let is_access = event.is_read() || event.is_write();
        let found = MARKS.iter().find(|(tag, _)| is_access && event.has(*tag));
        found.map(|(_, mark)| *mark)
    }

    /// Short, behind the access.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Mark::Async => "async",
            Mark::TensorMap => "tensormap",
            Mark::TensorMemory => "tmem",
            Mark::Constant => "constant",
            Mark::Texture => "texture",
            Mark::Surface => "surface",
        }
    }

    /// For the legend.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Mark::Async => "through the async proxy",
            Mark::TensorMap => "through the tensormap proxy",
            Mark::TensorMemory => "in tensor memory",
            Mark::Constant => "through the constant proxy",
            Mark::Texture => "through the texture proxy",
            Mark::Surface => "through the surface proxy",
        }
    }

    pub(crate) fn colour(self) -> &'static str {
        match self {
            Mark::Async => "#c2410c",
            Mark::TensorMap => "#0e7490",
            Mark::TensorMemory => "#6d28d9",
            Mark::Constant | Mark::Texture | Mark::Surface => "#4d7c0f",
        }
    }
}

/// The proxy of an access in words.
pub(crate) fn proxy(event: &Event) -> &'static str {
    match Mark::of(event) {
        None => "generic",
        Some(Mark::TensorMemory) => "tensor memory",
        Some(mark) => mark.name(),
    }
}

#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Gate {
    /// A proxy fence.
    Whole,
    /// `.release`: what comes before it may leave its proxy.
    Release,
    /// `.acquire`: what comes behind it may enter the other proxy.
    Acquire,
    /// `tcgen05.fence::before_thread_sync`.
    Before,
    /// `tcgen05.fence::after_thread_sync`.
    After,
}

impl Gate {
    pub(crate) fn of(event: &Event) -> Option<Gate> {
        match event.kind {
            EventKind::Fence => {}
            _ => return None,
        }
        let gate = match () {
            () if event.has(Tag::ProxyFence) && event.has(Tag::Release) => Gate::Release,
            () if event.has(Tag::ProxyFence) && event.has(Tag::Acquire) => Gate::Acquire,
            () if event.has(Tag::ProxyFence) => Gate::Whole,
            () if event.has(Tag::BeforeThreadSync) => Gate::Before,
            () if event.has(Tag::AfterThreadSync) => Gate::After,
            () => return None,
        };
        Some(gate)
    }

    /// For the legend.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Gate::Whole => "gate: proxy fence",
            Gate::Release | Gate::Acquire => "half gate: one half of a proxy fence",
            Gate::Before | Gate::After => "bracket: tcgen05 fence around a synchronisation",
        }
    }

    /// Release and acquire halves share their entry in the legend, as the two brackets do.
    pub(crate) fn legend(self) -> Gate {
        match self {
            Gate::Whole => Gate::Whole,
            Gate::Release | Gate::Acquire => Gate::Release,
            Gate::Before | Gate::After => Gate::Before,
        }
    }
}

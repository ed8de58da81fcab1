//! Pictures of executions: a thread-per-column SVG with a layout of its own, and the same content as DOT.
//!
//! `scene` is *what* is drawn (boxes with their text, edges, marks of proxies); `layout` is where it is (rows, columns,
//! the ways of the edges, their names); `write` only writes. Graphviz was not used for the layout: it is not
//! on every machine, it does not keep threads in columns, and its output changes between versions. Coordinates are sums
//! of constants over ordered data, rounded when written: the same execution gives the same bytes.
//!
//! What is shown: every event but the ends of threads; program order between neighbours; reads-from; coherence and
//! Fence-SC order without the edges that follow by transitivity; from-read to the coherence successors of the write that
//! was read. Coherence out of initial writes is left out: an initial write precedes every write of its location.
//! Operations on an mbarrier read from each other in coherence order: reads-from alone is drawn, with the phase.
//!
//! Elements of an array that one instruction accesses share a box and its edges. An asynchronous operation is a strand: a
//! lane beside its thread, with an edge from its issue and edges to what waits for it. A proxy fence is a gate.

mod layout;
mod picture;
mod scene;
mod write;

use fencepost_axiom::execution::Execution;
use fencepost_check::model::vocabulary::Vocabulary;
use fencepost_program::EventId;
use fencepost_program::unfolding::Unfolding;
use fencepost_program::value::Value;
use fencepost_report::finding::FindingKind;
use fencepost_syntax::Span;
use fencepost_syntax::sorted::SortedMap;

pub use picture::{Format, picture};

/// The text of the instruction at a span, on one line.
pub type Instructions<'a> = dyn Fn(Span) -> String + 'a;

/// What a picture says besides the execution.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Above the picture: the test and the model.
    pub title: String,
    /// Below the picture, a line each: the verdict, the axiom that is violated, the final state.
    pub caption: Vec<String>,
    /// Relations of the model to draw besides the standard ones.
    pub relations: Vec<DerivedRelation>,
    /// Edges to draw thick: the cycle that rules the execution out. Those of the standard relations are found by their
    /// name; others are added.
    pub highlight: Vec<HighlightedEdge>,
    /// Pairs of events that race in the execution.
    pub races: Vec<RacingPair>,
    /// The lines of the source that events stand in, counted from 1.
    pub lines: SortedMap<EventId, u32>,
    /// What the model's header says of the names of its relations.
    pub vocabulary: Vocabulary,
    /// What the values of tensor maps stand for.
    pub addresses: SortedMap<Value, String>,
    /// What a crash made of the events, where one ends the execution.
    pub fates: SortedMap<EventId, Fate>,
}

/// What a crash made of an event.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Fate {
    /// A persist that was durable.
    Durable,
    /// A persist that had happened and was not durable.
    Lost,
    /// It had not happened.
    Ahead,
}

/// Two events that raise a flag of the model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RacingPair {
    /// `data-race`.
    pub flag: String,
    pub kind: FindingKind,
    pub first: EventId,
    pub second: EventId,
}

/// A relation of the model with its pairs in this execution.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DerivedRelation {
    pub name: String,
    pub pairs: Vec<(EventId, EventId)>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HighlightedEdge {
    pub name: String,
    pub from: EventId,
    pub to: EventId,
}

/// The execution as a self-contained SVG document.
pub fn svg(unfolding: &Unfolding, text: &Instructions<'_>, execution: &Execution, options: &Options) -> String {
    let scene = scene::Scene::new(unfolding, text, execution, options);
    let layout = layout::Layout::new(&scene);
    write::svg::write(&scene, &layout)
}

/// The execution as a DOT graph, threads as clusters inside their CTA's and GPU's.
pub fn dot(unfolding: &Unfolding, text: &Instructions<'_>, execution: &Execution, options: &Options) -> String {
    write::dot::write(&scene::Scene::new(unfolding, text, execution, options))
}

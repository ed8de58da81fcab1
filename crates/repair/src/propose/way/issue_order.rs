//! Operations of the tensor core that are executed in the order in which they are issued (PTX ISA 9.7.18.6.2): two threads
//! that keep that order need not wait for the end of the first, only fences around what they synchronise with (9.7.18.6.4).

use fencepost_program::EventId;
use fencepost_program::program::asynchronous::TensorKind;
use fencepost_report::site::Proxy;

use crate::propose::proxy_fence::proxy;
use crate::propose::way::link::{Kind, Link, Node};
use crate::scene::Scene;

/// Less than a commit, which would wait for what need not be waited for.
const COST: u32 = 500;

/// From the operation to what its thread does later. The fences come with the proxies of the two accesses, and whether the two
/// are pipelined is the model's to say.
pub(crate) fn links(scene: &Scene<'_>, from: EventId, to: EventId) -> Vec<Link> {
    let is_pipelined = |id: EventId| {
        let tensor = scene.event(id).strand.as_ref().and_then(|strand| strand.tensor);
        let waited = tensor.is_none_or(|tensor| matches!(tensor.kind, TensorKind::Ld | TensorKind::St));
        !waited && proxy(scene, id) == Proxy::TensorMemory
    };
    let own = scene.thread(from).filter(|own| scene.thread(to).is_some_and(|other| other != *own));
    let Some(thread) = own.filter(|_| is_pipelined(from) && is_pipelined(to)) else { return Vec::new() };
    let later = scene.main_events(thread).into_iter().filter(|id| *id > scene.at(from)).map(Node::Event);
    let link =
        |node: Node| Link { from: Node::Event(from), to: node, kind: Kind::Pipelined, cost: COST, edits: Vec::new() };
    later.chain([Node::End(thread)]).map(link).collect()
}

//! What a module has: entries, what they use, and instructions without a model. No launch is needed.

use std::collections::BTreeMap;

use fencepost_syntax::sorted::SortedMap;

use crate::code::op::{Op, Pc};
use crate::code::{Entry, Module};

pub struct Inventory<'m> {
    pub module: &'m Module,
    pub entries: Vec<OfEntry<'m>>,
}

pub struct OfEntry<'m> {
    pub entry: &'m Entry,
    /// How many instructions use each feature.
    pub features: BTreeMap<&'static str, u32>,
    /// Instructions without a model, and functions that are not there: text, how often, where first.
    pub unmodelled: SortedMap<String, (u32, Pc)>,
}

pub fn of(module: &Module) -> Inventory<'_> {
    let entries = module.entries.iter().map(of_entry).collect();
    Inventory { module, entries }
}

fn of_entry(entry: &Entry) -> OfEntry<'_> {
    let mut features = BTreeMap::new();
    let mut unmodelled: SortedMap<String, (u32, Pc)> = SortedMap::new();
    for (pc, instruction) in entry.code.iter().enumerate() {
        if let Some(feature) = feature(&instruction.op) {
            *features.entry(feature).or_insert(0) += 1;
        }
        let text = match &instruction.op {
            Op::Unmodelled { text, .. } => text.clone(),
            Op::Call { name, .. } if name != "vprintf" && name != "__assertfail" => format!("call {name}"),
            _ => continue,
        };
        unmodelled.entry(text).or_insert((0, pc as Pc)).0 += 1;
    }
    OfEntry { entry, features, unmodelled }
}

/// What an instruction is an instance of, where it matters to synchronisation.
fn feature(op: &Op) -> Option<&'static str> {
    Some(match op {
        Op::Barrier { .. } => "barriers",
        Op::ClusterArrive { .. } | Op::ClusterWait { .. } => "cluster barriers",
        Op::MbarrierInit { .. }
        | Op::MbarrierArrive { .. }
        | Op::MbarrierWait { .. }
        | Op::MbarrierExpect { .. }
        | Op::MbarrierComplete { .. }
        | Op::MbarrierInvalidate { .. }
        | Op::MbarrierPending { .. } => "mbarriers",
        Op::CopyAsync { .. } | Op::CopyAsyncCommit | Op::CopyAsyncWait { .. } | Op::CopyAsyncArrive { .. } => {
            "cp.async"
        }
        Op::BulkLoad { .. } | Op::BulkStore { .. } => "bulk copies",
        Op::TensorLoad { .. } | Op::TensorStore { .. } | Op::TensorPrefetch { .. } => "tensor copies",
        Op::StoreAsync { .. } => "st.async",
        Op::TryCancel { .. } => "cancelled launches",
        Op::Wgmma { .. } | Op::WgmmaFence | Op::WgmmaCommit | Op::WgmmaWait { .. } => "wgmma",
        Op::Tcgen05Mma { .. }
        | Op::Tcgen05Alloc { .. }
        | Op::Tcgen05Load { .. }
        | Op::Tcgen05Store { .. }
        | Op::Tcgen05Copy { .. }
        | Op::Tcgen05Commit { .. } => "tcgen05",
        Op::Fence { .. } => "memory fences",
        Op::FenceProxyAsync(_) | Op::FenceProxyAlias => "proxy fences",
        Op::TensormapReplace { .. } | Op::TensormapCopyFence { .. } | Op::FenceProxyTensormapAcquire { .. } => {
            "tensor maps made on the device"
        }
        Op::Atomic { .. } => "atomics",
        Op::Load(access, _) if access.order != crate::code::op::Order::Weak => "strong loads",
        Op::Store(access, _) if access.order != crate::code::op::Order::Weak => "strong stores",
        Op::GridWait | Op::GridLaunchDependents => "dependent launches",
        _ => return None,
    })
}

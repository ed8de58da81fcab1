//! The proxy that an access goes through (PTX ISA 8.2, and tensor memory, which none of them reaches).

use fencepost_program::program::asynchronous::TensorKind;
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::Event;
use fencepost_report::site::{Operation, Proxy};

/// The proxy of an event that accesses memory.
pub fn proxy_of(event: &Event) -> Proxy {
    let known = [
        (Tag::TensorMemory, Proxy::TensorMemory),
        (Tag::TensorMap, Proxy::TensorMap),
        (Tag::Async, Proxy::Async),
        (Tag::Texture, Proxy::Texture),
        (Tag::Surface, Proxy::Surface),
        (Tag::Constant, Proxy::Constant),
    ];
    known.into_iter().find(|(tag, _)| event.tags.has(*tag)).map_or(Proxy::Generic, |(_, proxy)| proxy)
}

/// Which asynchronous operation an event is part of.
pub fn operation(event: &Event, instruction: &str) -> Operation {
    let has = |tag| event.tags.has(tag);
    let tensor = event.strand.as_ref().and_then(|strand| strand.tensor).map(|tensor| tensor.kind);
    match tensor {
        Some(TensorKind::Mma) => return Operation::Tcgen05Mma,
        Some(TensorKind::Cp { .. }) => return Operation::Tcgen05Cp,
        Some(TensorKind::Shift) => return Operation::Tcgen05Shift,
        Some(TensorKind::Ld) => return Operation::Tcgen05Ld,
        Some(TensorKind::St) => return Operation::Tcgen05St,
        None => {}
    }
    match () {
        () if has(Tag::Wgmma) => Operation::Wgmma,
        () if has(Tag::Tcgen05) => Operation::Tcgen05,
        () if instruction.contains("cp.reduce") => Operation::BulkReduction,
        () if instruction.contains(".tensor") => Operation::TensorCopy,
        () if instruction.contains("cp.async.bulk") => Operation::BulkCopy,
        () if instruction.contains("try_cancel") => Operation::ClusterLaunchRequest,
        () if instruction.contains("st.async") => Operation::AsynchronousStore,
        () if instruction.contains("red.async") => Operation::AsynchronousReduction,
        () if has(Tag::CpAsync) => Operation::CpAsync,
        () => Operation::Other,
    }
}

//! The proxy that an access goes through (PTX ISA 8.2, and tensor memory, which none of them reaches).

use fencepost_program::program::asynchronous::TensorKind;
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::Event;

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Proxy {
    Generic,
    Async,
    TensorMap,
    TensorMemory,
    Texture,
    Surface,
    Constant,
}

impl Proxy {
    pub fn of(event: &Event) -> Proxy {
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

    /// "async proxy".
    pub fn name(self) -> &'static str {
        match self {
            Proxy::Generic => "generic proxy",
            Proxy::Async => "async proxy",
            Proxy::TensorMap => "tensormap proxy",
            Proxy::TensorMemory => "tensor memory",
            Proxy::Texture => "texture proxy",
            Proxy::Surface => "surface proxy",
            Proxy::Constant => "constant proxy",
        }
    }
}

/// What an asynchronous operation is called: "the bulk copy".
pub fn operation_name(event: &Event, instruction: &str) -> &'static str {
    let has = |tag| event.tags.has(tag);
    let tensor = event.strand.as_ref().and_then(|strand| strand.tensor).map(|tensor| tensor.kind);
    match tensor {
        Some(TensorKind::Mma) => return "the tcgen05.mma",
        Some(TensorKind::Cp { .. }) => return "the tcgen05.cp",
        Some(TensorKind::Shift) => return "the tcgen05.shift",
        Some(TensorKind::Ld) => return "the tcgen05.ld",
        Some(TensorKind::St) => return "the tcgen05.st",
        None => {}
    }
    match () {
        () if has(Tag::Wgmma) => "the wgmma",
        () if has(Tag::Tcgen05) => "the tcgen05 operation",
        () if instruction.contains("cp.reduce") => "the bulk reduction",
        () if instruction.contains(".tensor") => "the tensor copy",
        () if instruction.contains("cp.async.bulk") => "the bulk copy",
        () if instruction.contains("try_cancel") => "the cluster launch request",
        () if instruction.contains("st.async") => "the asynchronous store",
        () if instruction.contains("red.async") => "the asynchronous reduction",
        () if has(Tag::CpAsync) => "the cp.async",
        () => "the asynchronous operation",
    }
}

//! Places of a test's text that reasons and missing pieces are about, and the small vocabularies they use.

use serde::de::{self, Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};

/// The name of a thread: `P0`.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct ThreadName(pub String);

/// An instruction of the text.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Site {
    pub thread: ThreadName,
    /// Byte offsets in the source.
    pub start: u32,
    pub end: u32,
    pub line: u32,
    pub column: u32,
    /// The instruction.
    pub text: String,
    /// Where an asynchronous operation of the instruction is meant: which.
    pub operation: Option<Operation>,
}

/// What an asynchronous instruction starts.
#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    Tcgen05Mma,
    Tcgen05Cp,
    Tcgen05Shift,
    Tcgen05Ld,
    Tcgen05St,
    /// Another one of `tcgen05`.
    Tcgen05,
    Wgmma,
    BulkReduction,
    TensorCopy,
    BulkCopy,
    ClusterLaunchRequest,
    AsynchronousStore,
    AsynchronousReduction,
    CpAsync,
    Other,
}

impl Operation {
    /// "bulk copy".
    pub fn name(self) -> &'static str {
        match self {
            Operation::Tcgen05Mma => "tcgen05.mma",
            Operation::Tcgen05Cp => "tcgen05.cp",
            Operation::Tcgen05Shift => "tcgen05.shift",
            Operation::Tcgen05Ld => "tcgen05.ld",
            Operation::Tcgen05St => "tcgen05.st",
            Operation::Tcgen05 => "tcgen05 operation",
            Operation::Wgmma => "wgmma",
            Operation::BulkReduction => "bulk reduction",
            Operation::TensorCopy => "tensor copy",
            Operation::BulkCopy => "bulk copy",
            Operation::ClusterLaunchRequest => "cluster launch request",
            Operation::AsynchronousStore => "asynchronous store",
            Operation::AsynchronousReduction => "asynchronous reduction",
            Operation::CpAsync => "cp.async",
            Operation::Other => "asynchronous operation",
        }
    }
}

/// PTX ISA 8.5.
#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    Cta,
    Cluster,
    Gpu,
    Sys,
}

impl Scope {
    /// As instructions write it.
    pub fn word(self) -> &'static str {
        match self {
            Scope::Cta => "cta",
            Scope::Cluster => "cluster",
            Scope::Gpu => "gpu",
            Scope::Sys => "sys",
        }
    }
}

/// What an access goes through (PTX ISA 8.6), and tensor memory, which no proxy reaches.
#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
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
    const ALL: [Proxy; 7] = [
        Proxy::Generic,
        Proxy::Async,
        Proxy::TensorMap,
        Proxy::TensorMemory,
        Proxy::Texture,
        Proxy::Surface,
        Proxy::Constant,
    ];

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

    fn from_name(name: &str) -> Option<Proxy> {
        Proxy::ALL.into_iter().find(|proxy| proxy.name() == name)
    }
}

/// A proxy by its name in JSON, for fields that had one before proxies were data; `none` where there is none.
pub(crate) mod proxy_or_none {
    use super::{Deserialize, Deserializer, Proxy, Serializer, de};

    const NONE: &str = "none";

    pub(crate) fn serialize<S: Serializer>(proxy: &Option<Proxy>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(proxy.map_or(NONE, Proxy::name))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Proxy>, D::Error> {
        let name = String::deserialize(deserializer)?;
        let known = Proxy::from_name(&name).map(Some).or((name == NONE).then_some(None));
        known.ok_or_else(|| de::Error::custom(format!("`{name}` is no proxy")))
    }
}

/// The same; null where there is none.
pub(crate) mod proxy_or_null {
    use super::{Deserialize, Deserializer, Proxy, Serialize, Serializer, de};

    pub(crate) fn serialize<S: Serializer>(proxy: &Option<Proxy>, serializer: S) -> Result<S::Ok, S::Error> {
        proxy.map(Proxy::name).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Proxy>, D::Error> {
        let Some(name) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
        let known = Proxy::from_name(&name).map(Some);
        known.ok_or_else(|| de::Error::custom(format!("`{name}` is no proxy")))
    }
}

/// Which memory a fence is about.
#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Memory {
    Shared,
    Global,
}

/// What an access does.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Act {
    Reads {
        location: String,
    },
    Writes {
        location: String,
    },
    Updates {
        location: String,
    },
    /// The end of a thread, with which the shared memory of its CTA may go.
    Exits,
    ClusterBarrier,
    AsksToCancel,
    StartsAsynchronous,
    /// A `wgmma.mma_async`.
    StartsProduct,
    /// One that has its registers until a wait covers it.
    StartsProductInFlight,
    /// The first of its thread, with no fence before it.
    StartsFirstProduct,
    /// A register of a product in flight.
    UsesRegister,
    /// A register of a product, with no fence between.
    AccessesRegister,
}

/// An access: where it is, and what it does.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct AccessSite {
    pub at: Site,
    pub act: Act,
}

//! A launch: which entry, how many threads, which parameters, what lies in memory.

mod argument;
pub mod program;
pub mod read;
mod table;
pub mod template;
mod tensor_map;
mod toml;
pub mod triton;

use crate::footprint::tensor_map::TensorMap;

#[derive(Clone, Debug)]
pub struct Launch {
    pub entry: String,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub cluster: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    pub arguments: Vec<Argument>,
    pub buffers: Vec<BufferSpec>,
    /// All CTAs are on the machine at once, and wait for each other without harm.
    pub cooperative: bool,
}

#[derive(Clone, Debug)]
pub enum Argument {
    Integer(u64),
    /// The bits of a float.
    Float(f64),
    /// A pointer into a buffer.
    Pointer {
        buffer: usize,
        offset: u64,
    },
    Bytes(Vec<u8>),
    /// A tensor map over a buffer: its address is that of the buffer plus its own.
    Map {
        map: TensorMap,
        buffer: usize,
    },
    /// A struct: what lies where in it; the rest is zero.
    Fields(Vec<Field>),
}

/// A part of a struct that is a parameter.
#[derive(Clone, Debug)]
pub struct Field {
    pub offset: u32,
    pub bytes: u32,
    pub value: Argument,
}

#[derive(Clone, Debug)]
pub struct BufferSpec {
    pub name: String,
    pub bytes: u64,
    pub contents: Contents,
}

#[derive(Clone, Debug)]
pub enum Contents {
    Zero,
    /// 0, 1, 2, … as 32-bit numbers.
    Iota,
    /// Numbers that look random, always the same for one seed.
    Seed(u64),
    File(Vec<u8>),
    /// Nothing is known of it.
    Unknown,
    /// What an earlier launch left, and of which words nothing is known; empty: all are known.
    Left {
        data: Vec<u8>,
        unknown: Vec<bool>,
    },
}

impl Launch {
    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    pub fn warps(&self) -> u32 {
        self.threads().div_ceil(32)
    }

    pub fn ctas(&self) -> u32 {
        self.grid.iter().product()
    }

    pub fn ctas_per_cluster(&self) -> u32 {
        self.cluster.iter().product()
    }
}

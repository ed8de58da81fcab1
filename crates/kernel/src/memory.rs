//! The memory of a launch: buffers, shared memory of each CTA, local memory, parameters; addresses and their windows.

use std::collections::HashMap;

use crate::code::op::Space;
use crate::code::{Entry, Module, SHARED_START};
use crate::launch::{Argument, Contents, Launch};
use crate::order::{Cta, Region};

/// The first address of the first buffer; the others follow in steps.
const BUFFERS: u64 = 0x0000_7f00_0000_0000;
const BUFFER_STEP: u64 = 1 << 36;
/// Bytes that a cooperative launch gives its grid for its barrier.
const WORKSPACE: usize = 4096;
const SHARED_WINDOW: u64 = 0x0000_1000_0000_0000;
const LOCAL_WINDOW: u64 = 0x0000_2000_0000_0000;
const PARAM_WINDOW: u64 = 0x0000_3000_0000_0000;
const WINDOW_STEP: u64 = 1 << 32;
/// A shared address of another CTA of the cluster has the rank plus one above this bit.
const RANK_SHIFT: u32 = 24;

/// The number of a set of things that a value depends on; 0: none.
pub type Taint = u32;

#[derive(Debug)]
pub struct Buffer {
    pub name: String,
    pub base: u64,
    pub data: Vec<u8>,
    taint: Vec<Taint>,
}

/// Where an address leads.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum At {
    Memory(Region, u64),
    Local(u64),
    Param(u64),
}

/// An address that leads nowhere, or over an end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    pub space: Space,
    pub address: u64,
    pub bytes: u64,
    /// The object it is next to, where it lies relative to that, and how large the object is.
    pub near: Option<(String, i64, u64)>,
}

pub struct Memory {
    pub buffers: Vec<Buffer>,
    pub shared: Vec<Buffer>,
    pub ctas_per_cluster: u32,
    param: Vec<u8>,
    local: HashMap<u32, Vec<u8>>,
    local_bytes: u32,
    /// How often something was written: who waits for a change looks here.
    pub version: u64,
}

impl Memory {
    pub fn new(module: &Module, entry: &Entry, launch: &Launch, unknown: Taint) -> Memory {
        let mut buffers = Vec::new();
        for (index, spec) in launch.buffers.iter().enumerate() {
            let data = contents(&spec.contents, spec.bytes as usize);
            let taint = match &spec.contents {
                Contents::Unknown => vec![unknown; data.len().div_ceil(4)],
                Contents::Left { unknown: words, .. } => {
                    words.iter().map(|is_unknown| if *is_unknown { unknown } else { 0 }).collect()
                }
                _ => Vec::new(),
            };
            let base = BUFFERS + BUFFER_STEP * index as u64;
            buffers.push(Buffer { name: spec.name.clone(), base, data, taint });
        }
        for variable in &module.variables {
            if variable.address != 0 {
                let mut data = variable.initial.clone();
                data.resize(variable.bytes.unwrap_or(0) as usize, 0);
                buffers.push(Buffer { name: variable.name.clone(), base: variable.address, data, taint: Vec::new() });
            }
        }
        let base = BUFFERS - BUFFER_STEP;
        let name = "the workspace of a cooperative launch".to_owned();
        buffers.push(Buffer { name, base, data: vec![0; WORKSPACE], taint: Vec::new() });
        let bytes = (entry.dynamic_shared + launch.shared) as usize;
        let shared = (0..launch.ctas())
            .map(|_| {
                // Nobody knows what lies there at the start.
                let taint = vec![unknown; bytes.div_ceil(4)];
                Buffer { name: "shared memory".to_owned(), base: 0, data: vec![0; bytes], taint }
            })
            .collect();
        let mut memory = Memory {
            buffers,
            shared,
            ctas_per_cluster: launch.ctas_per_cluster().max(1),
            param: Vec::new(),
            local: HashMap::new(),
            local_bytes: entry.local_bytes,
            version: 0,
        };
        memory.param = memory.parameters(entry, launch);
        memory
    }

    /// Its address, which `%envreg1` and `%envreg2` hold.
    pub fn workspace(&self) -> u64 {
        BUFFERS - BUFFER_STEP
    }

    fn parameters(&self, entry: &Entry, launch: &Launch) -> Vec<u8> {
        let size = entry.parameters.last().map_or(0, |last| last.offset + last.bytes) as usize;
        let mut bytes = vec![0; size];
        for (parameter, argument) in entry.parameters.iter().zip(&launch.arguments) {
            let at = parameter.offset as usize;
            self.put_argument(&mut bytes[at..at + parameter.bytes as usize], argument);
        }
        bytes
    }

    /// The bytes of an argument, as many as there is room for.
    fn put_argument(&self, to: &mut [u8], argument: &Argument) {
        let base = |buffer: usize| self.buffers.get(buffer).map_or(0, |buffer| buffer.base);
        let own: Vec<u8> = match argument {
            Argument::Integer(value) => value.to_le_bytes().to_vec(),
            Argument::Float(value) if to.len() >= 8 => value.to_bits().to_le_bytes().to_vec(),
            Argument::Float(value) => (*value as f32).to_bits().to_le_bytes().to_vec(),
            Argument::Pointer { buffer, offset } => base(*buffer).wrapping_add(*offset).to_le_bytes().to_vec(),
            Argument::Bytes(bytes) => bytes.clone(),
            Argument::Map { map, buffer } => {
                let mut map = *map;
                map.address = map.address.wrapping_add(base(*buffer));
                map.to_bytes().to_vec()
            }
            Argument::Fields(fields) => {
                for field in fields {
                    let (start, end) = (field.offset as usize, field.offset as usize + field.bytes as usize);
                    if let Some(part) = to.get_mut(start..end) {
                        self.put_argument(part, &field.value);
                    }
                }
                return;
            }
        };
        let length = own.len().min(to.len());
        to[..length].copy_from_slice(&own[..length]);
    }

    /// Where an address of a space leads for a thread of this CTA, if all its bytes are there.
    pub fn resolve(&self, space: Space, address: u64, bytes: u64, cta: Cta, thread: u32) -> Result<At, Fault> {
        match space {
            Space::Shared | Space::SharedCluster => self.shared_at(space, address & 0xffff_ffff, bytes, cta),
            Space::Local => self.local_at(address, bytes, space, address),
            Space::Param => self.param_at(address, bytes, address),
            Space::Global | Space::Const | Space::Generic => self.generic_at(space, address, bytes, thread),
        }
    }

    fn generic_at(&self, space: Space, address: u64, bytes: u64, thread: u32) -> Result<At, Fault> {
        if (SHARED_WINDOW..LOCAL_WINDOW).contains(&address) && space == Space::Generic {
            let cta = ((address - SHARED_WINDOW) / WINDOW_STEP) as Cta;
            return self.in_shared(space, (address - SHARED_WINDOW) % WINDOW_STEP, bytes, cta, address);
        }
        if (LOCAL_WINDOW..PARAM_WINDOW).contains(&address) && space == Space::Generic {
            let owner = ((address - LOCAL_WINDOW) / WINDOW_STEP) as u32;
            if owner == thread {
                return self.local_at((address - LOCAL_WINDOW) % WINDOW_STEP, bytes, space, address);
            }
        }
        if (PARAM_WINDOW..PARAM_WINDOW + WINDOW_STEP).contains(&address) {
            return self.param_at(address - PARAM_WINDOW, bytes, address);
        }
        let mut nearest: Option<(String, i64, u64)> = None;
        for (index, buffer) in self.buffers.iter().enumerate() {
            let length = buffer.data.len() as u64;
            if address >= buffer.base && address.saturating_add(bytes) <= buffer.base + length {
                return Ok(At::Memory(Region::Global(index as u32), address - buffer.base));
            }
            let offset = address.wrapping_sub(buffer.base) as i64;
            if offset.unsigned_abs() < BUFFER_STEP / 2
                && nearest.as_ref().is_none_or(|(_, other, _)| offset.unsigned_abs() < other.unsigned_abs())
            {
                nearest = Some((buffer.name.clone(), offset, length));
            }
        }
        Err(Fault { space, address, bytes, near: nearest })
    }

    fn shared_at(&self, space: Space, address: u64, bytes: u64, cta: Cta) -> Result<At, Fault> {
        let rank = (address >> RANK_SHIFT) as u32;
        let owner = if rank == 0 { cta } else { cta / self.ctas_per_cluster * self.ctas_per_cluster + rank - 1 };
        if rank > self.ctas_per_cluster {
            return Err(Fault { space, address, bytes, near: None });
        }
        self.in_shared(space, address & ((1 << RANK_SHIFT) - 1), bytes, owner, address)
    }

    fn in_shared(&self, space: Space, offset: u64, bytes: u64, cta: Cta, address: u64) -> Result<At, Fault> {
        let length = self.shared.get(cta as usize).map_or(0, |buffer| buffer.data.len()) as u64;
        if offset < u64::from(SHARED_START) || offset.saturating_add(bytes) > length {
            let start = u64::from(SHARED_START);
            let near = Some(("shared memory".to_owned(), offset as i64 - start as i64, length.saturating_sub(start)));
            return Err(Fault { space, address, bytes, near });
        }
        Ok(At::Memory(Region::Shared(cta), offset))
    }

    fn local_at(&self, offset: u64, bytes: u64, space: Space, address: u64) -> Result<At, Fault> {
        if offset.saturating_add(bytes) > u64::from(self.local_bytes) {
            let near = Some(("local memory".to_owned(), offset as i64, u64::from(self.local_bytes)));
            return Err(Fault { space, address, bytes, near });
        }
        Ok(At::Local(offset))
    }

    fn param_at(&self, offset: u64, bytes: u64, address: u64) -> Result<At, Fault> {
        if offset.saturating_add(bytes) > self.param.len() as u64 {
            let near = Some(("the parameters".to_owned(), offset as i64, self.param.len() as u64));
            return Err(Fault { space: Space::Param, address, bytes, near });
        }
        Ok(At::Param(offset))
    }

    pub fn to_generic(&self, space: Space, address: u64, cta: Cta, thread: u32) -> u64 {
        match space {
            Space::Shared | Space::SharedCluster => {
                let (owner, offset) = self.shared_owner(address & 0xffff_ffff, cta);
                SHARED_WINDOW + u64::from(owner) * WINDOW_STEP + offset
            }
            Space::Local => LOCAL_WINDOW + u64::from(thread) * WINDOW_STEP + address,
            Space::Param => PARAM_WINDOW + address,
            Space::Global | Space::Const | Space::Generic => address,
        }
    }

    fn shared_owner(&self, address: u64, cta: Cta) -> (Cta, u64) {
        let rank = (address >> RANK_SHIFT) as u32;
        let owner = if rank == 0 { cta } else { cta / self.ctas_per_cluster * self.ctas_per_cluster + rank - 1 };
        (owner, address & ((1 << RANK_SHIFT) - 1))
    }

    /// An address of the window, for a thread of this CTA.
    pub fn from_generic(&self, space: Space, address: u64, cta: Cta) -> u64 {
        match space {
            Space::Shared | Space::SharedCluster => {
                if !(SHARED_WINDOW..LOCAL_WINDOW).contains(&address) {
                    return address;
                }
                let owner = ((address - SHARED_WINDOW) / WINDOW_STEP) as Cta;
                let offset = (address - SHARED_WINDOW) % WINDOW_STEP;
                if owner == cta { offset } else { self.mapped(offset, owner % self.ctas_per_cluster) }
            }
            Space::Local => address.wrapping_sub(LOCAL_WINDOW) % WINDOW_STEP,
            Space::Param => address.wrapping_sub(PARAM_WINDOW),
            Space::Global | Space::Const | Space::Generic => address,
        }
    }

    /// `mapa`: the same place in the shared memory of the CTA with this rank.
    pub fn mapped(&self, address: u64, rank: u32) -> u64 {
        (u64::from(rank + 1) << RANK_SHIFT) | (address & ((1 << RANK_SHIFT) - 1))
    }

    pub fn rank_of(&self, space: Space, address: u64, cta: Cta) -> u32 {
        let owner = if space == Space::Generic {
            (address.wrapping_sub(SHARED_WINDOW) / WINDOW_STEP) as Cta
        } else {
            self.shared_owner(address & 0xffff_ffff, cta).0
        };
        owner % self.ctas_per_cluster
    }

    pub fn is_in(&self, space: Space, address: u64) -> bool {
        match space {
            Space::Shared | Space::SharedCluster => (SHARED_WINDOW..LOCAL_WINDOW).contains(&address),
            Space::Local => (LOCAL_WINDOW..PARAM_WINDOW).contains(&address),
            Space::Param => (PARAM_WINDOW..PARAM_WINDOW + WINDOW_STEP).contains(&address),
            Space::Const => false,
            Space::Global | Space::Generic => address >= PARAM_WINDOW + WINDOW_STEP,
        }
    }

    pub fn buffer(&self, region: Region) -> Option<&Buffer> {
        match region {
            Region::Global(index) => self.buffers.get(index as usize),
            Region::Shared(cta) => self.shared.get(cta as usize),
            Region::Tensor(_) => None,
        }
    }

    fn buffer_mut(&mut self, region: Region) -> Option<&mut Buffer> {
        match region {
            Region::Global(index) => self.buffers.get_mut(index as usize),
            Region::Shared(cta) => self.shared.get_mut(cta as usize),
            Region::Tensor(_) => None,
        }
    }

    /// Up to eight bytes and what they depend on.
    pub fn read(&self, at: At, bytes: u32, thread: u32) -> (u64, Taint) {
        let slice = |data: &[u8], offset: u64| {
            let mut value = [0; 8];
            let start = offset as usize;
            if let Some(found) = data.get(start..start + bytes as usize) {
                value[..bytes as usize].copy_from_slice(found);
            }
            u64::from_le_bytes(value)
        };
        match at {
            At::Memory(region, offset) => match self.buffer(region) {
                Some(buffer) => (slice(&buffer.data, offset), buffer.taint_of(offset)),
                None => (0, 0),
            },
            At::Local(offset) => (self.local.get(&thread).map_or(0, |data| slice(data, offset)), 0),
            At::Param(offset) => (slice(&self.param, offset), 0),
        }
    }

    pub fn write(&mut self, at: At, bytes: u32, value: u64, taint: Taint, thread: u32) {
        let value = &value.to_le_bytes()[..bytes as usize];
        match at {
            At::Memory(region, offset) => {
                self.version += 1;
                if let Some(buffer) = self.buffer_mut(region) {
                    buffer.write(offset, value, taint);
                }
            }
            At::Local(offset) => {
                let size = self.local_bytes as usize;
                let data = self.local.entry(thread).or_insert_with(|| vec![0; size]);
                data[offset as usize..offset as usize + value.len()].copy_from_slice(value);
            }
            At::Param(_) => {}
        }
    }

    pub fn bytes(&self, region: Region, offset: u64, length: u64) -> Vec<u8> {
        let found = self.buffer(region).and_then(|buffer| buffer.data.get(offset as usize..(offset + length) as usize));
        found.map_or_else(|| vec![0; length as usize], <[u8]>::to_vec)
    }

    pub fn put(&mut self, region: Region, offset: u64, data: &[u8], taint: Taint) {
        self.version += 1;
        if let Some(buffer) = self.buffer_mut(region) {
            buffer.write(offset, data, taint);
        }
    }

    pub fn taint_of(&self, region: Region, offset: u64) -> Taint {
        self.buffer(region).map_or(0, |buffer| buffer.taint_of(offset))
    }

    pub fn parameter_bytes(&self, offset: u64, length: u64) -> Option<&[u8]> {
        self.param.get(offset as usize..(offset + length) as usize)
    }
}

impl Buffer {
    /// What a later launch finds: what is not determined is unknown to it.
    pub fn into_contents(self) -> Contents {
        let unknown = self.taint.iter().map(|taint| *taint != 0).collect();
        Contents::Left { data: self.data, unknown }
    }

    fn taint_of(&self, offset: u64) -> Taint {
        self.taint.get((offset / 4) as usize).copied().unwrap_or(0)
    }

    fn write(&mut self, offset: u64, value: &[u8], taint: Taint) {
        let start = offset as usize;
        if let Some(data) = self.data.get_mut(start..start + value.len()) {
            data.copy_from_slice(value);
        }
        if self.taint.is_empty() && taint == 0 {
            return;
        }
        if self.taint.is_empty() {
            self.taint = vec![0; self.data.len().div_ceil(4)];
        }
        let last = (start + value.len().max(1) - 1) / 4;
        for cell in start / 4..=last {
            if let Some(own) = self.taint.get_mut(cell) {
                *own = taint;
            }
        }
    }
}

fn contents(contents: &Contents, bytes: usize) -> Vec<u8> {
    let mut data = vec![0; bytes];
    match contents {
        Contents::Zero | Contents::Unknown => {}
        Contents::Iota => {
            for (index, chunk) in data.chunks_mut(4).enumerate() {
                let value = (index as u32).to_le_bytes();
                chunk.copy_from_slice(&value[..chunk.len()]);
            }
        }
        Contents::Seed(seed) => {
            let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
            for chunk in data.chunks_mut(8) {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                chunk.copy_from_slice(&state.to_le_bytes()[..chunk.len()]);
            }
        }
        Contents::File(file) | Contents::Left { data: file, .. } => {
            let length = bytes.min(file.len());
            data[..length].copy_from_slice(&file[..length]);
        }
    }
    data
}

//! The memory of a launch: buffers, shared memory of each CTA, local memory, parameters; addresses and their windows.

use std::collections::{BTreeMap, HashMap};

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
/// An address of shared memory has the rank of its CTA from this bit on, as the hardware has it: kernels that pair CTAs
/// clear the lowest of these bits to name the first of the pair.
const RANK_SHIFT: u32 = 24;

pub use crate::buffer::{Buffer, Content, Taint};

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

/// The number of a symbol that was stored, and its size.
type Symbol = (u32, u8);

pub struct Memory {
    pub buffers: Vec<Buffer>,
    pub shared: Vec<Buffer>,
    pub ctas_per_cluster: u32,
    param: Vec<u8>,
    local: HashMap<u32, Buffer>,
    local_bytes: u32,
    unknown: Taint,
    /// How often something was written: who waits for a change looks here.
    pub version: u64,
    /// The same of what each thread has to itself.
    pub local_version: u64,
    /// Symbols that were stored.
    symbols: BTreeMap<(Region, u64), Symbol>,
    /// What to put back, and the version before.
    journal: Option<(u64, Vec<Change>)>,
    /// The same for local memory: thread, place, bytes.
    local_journal: Vec<(u32, u64, Content)>,
    symbol_journal: Vec<((Region, u64), Option<Symbol>)>,
}

/// What some bytes were before a write.
#[derive(Clone, Debug)]
pub struct Change {
    pub region: Region,
    pub offset: u64,
    pub old: Content,
}

impl Memory {
    pub fn new(module: &Module, entry: &Entry, launch: &Launch, unknown: Taint) -> Memory {
        let mut buffers = Vec::new();
        for (index, spec) in launch.buffers.iter().enumerate() {
            let data = contents(&spec.contents, spec.bytes as usize);
            let taint = if matches!(spec.contents, Contents::Unknown) { unknown } else { 0 };
            let base = BUFFERS + BUFFER_STEP * index as u64;
            let mut buffer = Buffer::new(spec.name.clone(), base, data, taint);
            if let Contents::Left { unknown: words, .. } = &spec.contents {
                buffer.mark_words(words, unknown);
            }
            buffers.push(buffer);
        }
        for variable in &module.variables {
            if variable.address != 0 {
                let mut data = variable.initial.clone();
                data.resize(variable.bytes.unwrap_or(0) as usize, 0);
                buffers.push(Buffer::new(variable.name.clone(), variable.address, data, 0));
            }
        }
        let base = BUFFERS - BUFFER_STEP;
        let name = "the workspace of a cooperative launch".to_owned();
        buffers.push(Buffer::new(name, base, vec![0; WORKSPACE], 0));
        let bytes = (entry.dynamic_shared + launch.shared) as usize;
        // Nobody knows what lies there at the start.
        let shared = (0..launch.ctas()).map(|_| Buffer::new("shared memory".to_owned(), 0, vec![0; bytes], unknown));
        let shared = shared.collect();
        let mut memory = Memory {
            buffers,
            shared,
            ctas_per_cluster: launch.ctas_per_cluster().max(1),
            param: Vec::new(),
            local: HashMap::new(),
            local_bytes: entry.local_bytes,
            unknown,
            version: 0,
            local_version: 0,
            symbols: BTreeMap::new(),
            journal: None,
            local_journal: Vec::new(),
            symbol_journal: Vec::new(),
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
        let owner = cta / self.ctas_per_cluster * self.ctas_per_cluster + rank;
        if rank >= self.ctas_per_cluster || (space == Space::Shared && owner != cta) {
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
        let owner = cta / self.ctas_per_cluster * self.ctas_per_cluster + (address >> RANK_SHIFT) as u32;
        (owner, address & ((1 << RANK_SHIFT) - 1))
    }

    /// An address of the window.
    pub fn from_generic(&self, space: Space, address: u64) -> u64 {
        match space {
            Space::Shared | Space::SharedCluster => {
                if !(SHARED_WINDOW..LOCAL_WINDOW).contains(&address) {
                    return address;
                }
                let owner = ((address - SHARED_WINDOW) / WINDOW_STEP) as Cta;
                let offset = (address - SHARED_WINDOW) % WINDOW_STEP;
                self.mapped(offset, owner % self.ctas_per_cluster)
            }
            Space::Local => address.wrapping_sub(LOCAL_WINDOW) % WINDOW_STEP,
            Space::Param => address.wrapping_sub(PARAM_WINDOW),
            Space::Global | Space::Const | Space::Generic => address,
        }
    }

    /// `mapa`: the same place in the shared memory of the CTA with this rank.
    pub fn mapped(&self, address: u64, rank: u32) -> u64 {
        (u64::from(rank) << RANK_SHIFT) | (address & ((1 << RANK_SHIFT) - 1))
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

    /// Up to eight bytes.
    pub fn read(&self, at: At, bytes: u32, thread: u32) -> u64 {
        let slice = |data: &[u8], offset: u64| {
            let mut value = [0; 8];
            let start = offset as usize;
            if let Some(found) = data.get(start..start + bytes as usize) {
                value[..bytes as usize].copy_from_slice(found);
            }
            u64::from_le_bytes(value)
        };
        match at {
            At::Memory(region, offset) => self.buffer(region).map_or(0, |buffer| slice(&buffer.data, offset)),
            At::Local(offset) => self.local.get(&thread).map_or(0, |buffer| slice(&buffer.data, offset)),
            At::Param(offset) => slice(&self.param, offset),
        }
    }

    /// Calls `each` with what the bytes there depend on.
    pub fn taints(&self, at: At, bytes: u64, thread: u32, mut each: impl FnMut(Taint)) {
        match at {
            At::Memory(region, offset) => {
                if let Some(buffer) = self.buffer(region) {
                    buffer.taints(offset, bytes, each);
                }
            }
            At::Local(offset) => match self.local.get(&thread) {
                Some(buffer) => buffer.taints(offset, bytes, each),
                None => each(self.unknown),
            },
            At::Param(_) => {}
        }
    }

    pub fn write(&mut self, at: At, bytes: u32, value: u64, taint: Taint, thread: u32) {
        let value = &value.to_le_bytes()[..bytes as usize];
        match at {
            At::Memory(region, offset) => self.put(region, offset, value, taint),
            At::Local(offset) => {
                let (size, unknown) = (self.local_bytes as usize, self.unknown);
                let fresh = || Buffer::new("local memory".to_owned(), 0, vec![0; size], unknown);
                let buffer = self.local.entry(thread).or_insert_with(fresh);
                if self.journal.is_some() {
                    self.local_journal.push((thread, offset, buffer.content(offset, u64::from(bytes))));
                }
                if buffer.content(offset, u64::from(bytes)).bytes != value {
                    self.local_version += 1;
                }
                buffer.write(offset, value, taint);
            }
            At::Param(_) => {}
        }
    }

    pub fn bytes(&self, region: Region, offset: u64, length: u64) -> Vec<u8> {
        self.content(region, offset, length).bytes
    }

    /// Bytes with what they depend on, to be put elsewhere.
    pub fn content(&self, region: Region, offset: u64, length: u64) -> Content {
        self.buffer(region).map_or_else(|| Content::zero(length), |buffer| buffer.content(offset, length))
    }

    pub fn put_content(&mut self, region: Region, offset: u64, content: &Content) {
        self.version += 1;
        self.forget_symbols(region, offset, content.bytes.len() as u64);
        self.note(region, offset, content.bytes.len() as u64);
        if let Some(buffer) = self.buffer_mut(region) {
            buffer.write_content(offset, content);
        }
    }

    pub fn put(&mut self, region: Region, offset: u64, data: &[u8], taint: Taint) {
        // Nobody who waits for a change has to look again where nothing has changed.
        if !self.buffer(region).is_some_and(|buffer| buffer.holds(offset, data)) {
            self.version += 1;
        }
        self.forget_symbols(region, offset, data.len() as u64);
        self.note(region, offset, data.len() as u64);
        if let Some(buffer) = self.buffer_mut(region) {
            buffer.write(offset, data, taint);
        }
    }

    /// Keeps what is there, to be put back.
    fn note(&mut self, region: Region, offset: u64, length: u64) {
        if self.journal.is_none() {
            return;
        }
        let old = self.content(region, offset, length);
        if let Some((_, changes)) = &mut self.journal {
            changes.push(Change { region, offset, old });
        }
    }

    fn forget_symbols(&mut self, region: Region, start: u64, len: u64) {
        if self.symbols.is_empty() {
            return;
        }
        let range = (region, start.saturating_sub(7))..(region, start + len);
        let found = self.symbols.range(range).filter(|((_, at), (_, size))| at + u64::from(*size) > start);
        let over: Vec<(Region, u64)> = found.map(|(key, _)| *key).collect();
        for key in over {
            let old = self.symbols.remove(&key);
            self.note_symbol(key, old);
        }
    }

    pub fn set_symbol(&mut self, region: Region, offset: u64, symbol: Symbol) {
        let old = self.symbols.insert((region, offset), symbol);
        self.note_symbol((region, offset), old);
    }

    fn note_symbol(&mut self, key: (Region, u64), old: Option<Symbol>) {
        if self.journal.is_some() {
            self.symbol_journal.push((key, old));
        }
    }

    pub fn symbol_at(&self, region: Region, offset: u64) -> Option<Symbol> {
        self.symbols.get(&(region, offset)).copied()
    }

    /// From now on, writes can be undone.
    pub fn begin(&mut self) {
        self.journal = Some((self.version, Vec::new()));
        self.local_journal.clear();
        self.symbol_journal.clear();
    }

    pub fn undo(&mut self) {
        let Some((version, changes)) = self.journal.take() else { return };
        for change in changes.iter().rev() {
            if let Some(buffer) = self.buffer_mut(change.region) {
                buffer.write_content(change.offset, &change.old);
            }
        }
        for (thread, offset, old) in std::mem::take(&mut self.local_journal).iter().rev() {
            if let Some(buffer) = self.local.get_mut(thread) {
                buffer.write_content(*offset, old);
            }
        }
        for (key, old) in std::mem::take(&mut self.symbol_journal).into_iter().rev() {
            match old {
                Some(old) => self.symbols.insert(key, old),
                None => self.symbols.remove(&key),
            };
        }
        self.version = version;
    }

    /// Whether local memory is what it was.
    pub fn local_is_same(&self) -> bool {
        let same = |(thread, offset, old): &(u32, u64, Content)| {
            self.local.get(thread).is_some_and(|buffer| buffer.content(*offset, old.bytes.len() as u64) == *old)
        };
        self.local_journal.iter().all(same)
    }

    pub fn changes(&self) -> &[Change] {
        self.journal.as_ref().map_or(&[], |(_, changes)| changes)
    }

    /// Whether the bytes are others now, or depend on something else.
    pub fn differs(&self, change: &Change) -> bool {
        self.content(change.region, change.offset, change.old.bytes.len() as u64) != change.old
    }

    pub fn parameter_bytes(&self, offset: u64, length: u64) -> Option<&[u8]> {
        self.param.get(offset as usize..(offset + length) as usize)
    }
}

/// What a later launch finds: what is not determined is unknown to it.
pub fn left(buffer: Buffer) -> Contents {
    let unknown = buffer.tainted_words();
    Contents::Left { data: buffer.data, unknown }
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

//! A piece of memory: bytes, and what each of them depends on beyond the launch.

use std::collections::HashMap;

/// The number of a set of things that a value depends on; 0: none.
pub type Taint = u32;

const CELL: usize = 4;

#[derive(Debug)]
pub struct Buffer {
    pub name: String,
    pub base: u64,
    pub data: Vec<u8>,
    /// Of each cell of four bytes; empty while nothing depends on anything.
    taint: Vec<Taint>,
    /// Cells whose bytes differ.
    split: HashMap<usize, [Taint; CELL]>,
}

/// Bytes on their way from one place to another, with what they depend on: one entry per byte, or none at all.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Content {
    pub bytes: Vec<u8>,
    taints: Vec<Taint>,
}

impl Content {
    pub fn zero(length: u64) -> Content {
        Content { bytes: vec![0; length as usize], taints: Vec::new() }
    }

    pub fn append(&mut self, other: &Content) {
        if !self.taints.is_empty() || !other.taints.is_empty() {
            self.taints.resize(self.bytes.len(), 0);
            self.taints.extend_from_slice(&other.taints);
            self.taints.resize(self.bytes.len() + other.bytes.len(), 0);
        }
        self.bytes.extend_from_slice(&other.bytes);
    }

    /// The bytes, each with a dependency of its own.
    pub fn with(self, taint: Taint) -> Content {
        let taints = if taint == 0 { Vec::new() } else { vec![taint; self.bytes.len()] };
        Content { bytes: self.bytes, taints }
    }
}

impl Buffer {
    pub fn new(name: String, base: u64, data: Vec<u8>, taint: Taint) -> Buffer {
        let taint = if taint == 0 { Vec::new() } else { vec![taint; data.len().div_ceil(CELL)] };
        Buffer { name, base, data, taint, split: HashMap::new() }
    }

    /// The words of four bytes that depend on something beyond the launch.
    pub fn tainted_words(&self) -> Vec<bool> {
        (0..self.taint.len()).map(|cell| self.taint[cell] != 0 || self.split.contains_key(&cell)).collect()
    }

    pub fn mark_words(&mut self, words: &[bool], taint: Taint) {
        for (cell, _) in words.iter().enumerate().filter(|(_, is_marked)| **is_marked) {
            self.mark(cell * CELL, (cell * CELL + CELL).min(self.data.len()), taint);
        }
    }

    fn taint_at(&self, byte: usize) -> Taint {
        match self.split.get(&(byte / CELL)) {
            Some(bytes) => bytes[byte % CELL],
            None => self.taint.get(byte / CELL).copied().unwrap_or(0),
        }
    }

    /// Calls `each` with what the bytes depend on, nothing twice in a row.
    pub fn taints(&self, offset: u64, length: u64, mut each: impl FnMut(Taint)) {
        if self.taint.is_empty() {
            return;
        }
        let (start, end) = (offset as usize, (offset + length) as usize);
        let mut last = 0;
        let mut at = start;
        while at < end {
            let own = self.taint_at(at);
            if own != last && own != 0 {
                each(own);
            }
            last = own;
            at = if self.split.is_empty() { (at / CELL + 1) * CELL } else { at + 1 };
        }
    }

    pub fn content(&self, offset: u64, length: u64) -> Content {
        let (start, end) = (offset as usize, (offset + length) as usize);
        let Some(bytes) = self.data.get(start..end) else { return Content::zero(length) };
        let taints = self.taints_of(start, end);
        Content { bytes: bytes.to_vec(), taints }
    }

    /// One entry per byte; none if nothing there depends on anything.
    fn taints_of(&self, start: usize, end: usize) -> Vec<Taint> {
        let cells = self.taint.get(start / CELL..end.div_ceil(CELL)).unwrap_or(&[]);
        let Some(first) = cells.first() else { return Vec::new() };
        if self.split.is_empty() && cells.iter().all(|taint| taint == first) {
            return if *first == 0 { Vec::new() } else { vec![*first; end - start] };
        }
        let taints: Vec<Taint> = (start..end).map(|byte| self.taint_at(byte)).collect();
        if taints.iter().all(|taint| *taint == 0) { Vec::new() } else { taints }
    }

    /// Whether these bytes are there.
    pub fn holds(&self, offset: u64, value: &[u8]) -> bool {
        let start = offset as usize;
        self.data.get(start..start + value.len()) == Some(value)
    }

    pub fn write(&mut self, offset: u64, value: &[u8], taint: Taint) {
        let start = offset as usize;
        let Some(data) = self.data.get_mut(start..start + value.len()) else { return };
        data.copy_from_slice(value);
        self.mark(start, start + value.len(), taint);
    }

    pub fn write_content(&mut self, offset: u64, content: &Content) {
        self.write(offset, &content.bytes, 0);
        let mut start = 0;
        while start < content.taints.len() {
            let taint = content.taints[start];
            let run = content.taints[start..].iter().take_while(|own| **own == taint).count();
            if taint != 0 {
                self.mark(offset as usize + start, offset as usize + start + run, taint);
            }
            start += run;
        }
    }

    fn mark(&mut self, start: usize, end: usize, taint: Taint) {
        if start == end || (self.taint.is_empty() && taint == 0) {
            return;
        }
        if self.taint.is_empty() {
            self.taint = vec![0; self.data.len().div_ceil(CELL)];
        }
        for cell in start / CELL..end.div_ceil(CELL) {
            let (first, last) = (start.max(cell * CELL), end.min(cell * CELL + CELL));
            let Some(own) = self.taint.get_mut(cell) else { return };
            if last - first == CELL {
                *own = taint;
                if !self.split.is_empty() {
                    self.split.remove(&cell);
                }
                continue;
            }
            if *own == taint && !self.split.contains_key(&cell) {
                continue;
            }
            let old = *own;
            let bytes = self.split.entry(cell).or_insert([old; CELL]);
            bytes[first % CELL..first % CELL + (last - first)].fill(taint);
            if bytes.iter().all(|byte| *byte == taint) {
                *own = taint;
                self.split.remove(&cell);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every write by bytes, against one dependency per byte.
    #[test]
    fn each_byte_keeps_what_it_depends_on() {
        let mut state = 7u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        for _ in 0..500 {
            let mut buffer = Buffer::new(String::new(), 0, vec![0; 24], random(2) as Taint);
            let mut plain: Vec<Taint> = vec![buffer.taint_at(0); 24];
            for _ in 0..12 {
                let (start, taint) = (random(24), random(3) as Taint);
                let length = random(24 - start) + 1;
                if random(3) == 0 {
                    let from = random(24 - length + 1);
                    buffer.write_content(start, &buffer.content(from, length));
                    let copied = plain[from as usize..(from + length) as usize].to_vec();
                    plain[start as usize..(start + length) as usize].copy_from_slice(&copied);
                } else {
                    buffer.write(start, &vec![1; length as usize], taint);
                    plain[start as usize..(start + length) as usize].fill(taint);
                }
                let (from, mut found) = (random(24), Vec::new());
                let length = random(24 - from) + 1;
                buffer.taints(from, length, |taint| found.push(taint));
                let mut expected = plain[from as usize..(from + length) as usize].to_vec();
                expected.dedup();
                expected.retain(|taint| *taint != 0);
                assert_eq!(found, expected);
            }
            for (byte, taint) in plain.iter().enumerate() {
                assert_eq!(buffer.taint_at(byte), *taint);
            }
        }
    }
}

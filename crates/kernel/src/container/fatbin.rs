//! Fat binaries: PTX and machine code for several GPUs in one piece.
//!
//! The format is not published. What is read here was found by looking at files of nvcc 13 and by trying every
//! `--compress-mode`: a header (magic, version, its length, the length of the rest), then parts, each with a header
//! (kind, its length, the length of its payload, flags) and a payload, which may be compressed.

use super::lz4;

/// `50 ed 55 ba`, little-endian, then version 1.
const MAGIC: [u8; 4] = 0xba55_ed50_u32.to_le_bytes();
const HEADER: usize = 16;
/// The shortest header of a part with all that is read of it.
const PART_HEADER: usize = 64;

const COMPRESSED_LZ4: u64 = 0x2000;
const COMPRESSED_ZSTD: u64 = 0x8000;

/// No PTX is longer; a header may say what it likes.
const LONGEST: u64 = 256 << 20;

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    Ptx,
    /// Machine code.
    Elf,
    Other(u16),
}

/// One part of a fat binary.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    pub kind: Kind,
    /// 90 for sm_90.
    pub arch: u32,
    pub payload: Payload,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Payload {
    /// The text of PTX.
    Text(Vec<u8>),
    /// Machine code is not looked at.
    Skipped,
    /// Why it cannot be read.
    Unreadable(String),
}

/// All parts of all fat binaries in a file.
pub(super) fn find(bytes: &[u8]) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut at = 0;
    while let Some(found) = next(bytes, at) {
        at = match fat(bytes, found) {
            Some((start, end)) => {
                read_parts(&bytes[start..end], &mut parts);
                end
            }
            None => found + 1,
        };
    }
    parts
}

/// The next place at which the magic number stands.
fn next(bytes: &[u8], from: usize) -> Option<usize> {
    let found = bytes.get(from..)?.windows(MAGIC.len()).position(|window| window == MAGIC)?;
    Some(from + found)
}

/// Where the parts of the fat binary at this place start and end, if its header is one.
fn fat(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let version = number16(bytes, at + 4)?;
    let header = usize::from(number16(bytes, at + 6)?);
    let length = usize::try_from(number64(bytes, at + 8)?).ok()?;
    let start = at.checked_add(header)?;
    let end = start.checked_add(length)?;
    (version == 1 && header >= HEADER && end <= bytes.len()).then_some((start, end))
}

fn read_parts(bytes: &[u8], parts: &mut Vec<Part>) {
    let mut at = 0;
    while let Some((part, next)) = part(bytes, at) {
        parts.push(part);
        at = next;
    }
}

/// The part at this place, and where the next one is.
fn part(bytes: &[u8], at: usize) -> Option<(Part, usize)> {
    let header = number32(bytes, at + 4)? as usize;
    let padded = usize::try_from(number64(bytes, at + 8)?).ok()?;
    let start = at.checked_add(header)?;
    let end = start.checked_add(padded)?;
    if header < PART_HEADER || end > bytes.len() || at + PART_HEADER > bytes.len() {
        return None;
    }
    let kind = match number16(bytes, at)? {
        1 => Kind::Ptx,
        2 => Kind::Elf,
        other => Kind::Other(other),
    };
    let arch = number32(bytes, at + 28)?;
    let (compressed, length) = (number32(bytes, at + 16)? as usize, number64(bytes, at + 56)?);
    let flags = number64(bytes, at + 40)?;
    let payload = match kind {
        Kind::Ptx => payload(&bytes[start..end], flags, compressed, length),
        _ => Payload::Skipped,
    };
    Some((Part { kind, arch, payload }, end))
}

fn payload(padded: &[u8], flags: u64, compressed: usize, length: u64) -> Payload {
    let unreadable = |why: &str| Payload::Unreadable(why.to_owned());
    if flags & (COMPRESSED_LZ4 | COMPRESSED_ZSTD) == 0 {
        return text(padded.to_vec());
    }
    let Some(input) = padded.get(..compressed) else {
        return unreadable("its header gives it more bytes than there are");
    };
    if length > LONGEST {
        return Payload::Unreadable(format!("it is longer than {} MiB", LONGEST >> 20));
    }
    let length = length as usize;
    if flags & COMPRESSED_LZ4 != 0 {
        let found = lz4::decompress(input, length);
        return found.map_or_else(|| unreadable("what is compressed as LZ4 in it is damaged"), text);
    }
    let found = zstd(input, length);
    found.map_or_else(|| unreadable("what is compressed as Zstandard in it is damaged"), text)
}

/// Exactly so many bytes of a Zstandard frame; no more is ever unpacked.
fn zstd(input: &[u8], length: usize) -> Option<Vec<u8>> {
    use std::io::Read;
    let decoder = ruzstd::decoding::StreamingDecoder::new(input).ok()?;
    let mut output = Vec::with_capacity(length.min(1 << 20));
    decoder.take(length as u64 + 1).read_to_end(&mut output).ok()?;
    (output.len() == length).then_some(output)
}

/// PTX ends with zeros, and is printable.
fn text(mut bytes: Vec<u8>) -> Payload {
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    bytes.truncate(end);
    if bytes.contains(&0) {
        return Payload::Unreadable("it is no text: compressed in a way that is not known".to_owned());
    }
    Payload::Text(bytes)
}

fn number16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

fn number32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn number64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

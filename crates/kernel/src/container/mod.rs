//! PTX inside other files: fat binaries, and the objects, libraries and programs that hold them.
//!
//! A host file is searched for the start of fat binaries instead of being taken apart: objects, shared libraries,
//! archives and programs of every system hold them in one piece, and a header that lies is not believed.

mod fatbin;
mod lz4;

pub use fatbin::{Kind, Part, Payload};

/// What a file is, by its first bytes and what lies in it.
#[derive(Debug)]
pub enum Container {
    /// Text, as far as one can tell.
    Text,
    /// Fat binaries, all parts of them in the order of the file.
    Fat(Vec<Part>),
    /// Machine code of a GPU alone.
    Cubin,
    /// Machine code or an archive, without any fat binary.
    Nothing,
}

/// How names of files end that hold modules: what a folder is searched for.
pub const ENDINGS: [&str; 2] = ["ptx", "fatbin"];

/// The machine number of CUDA in ELF files.
const EM_CUDA: u16 = 190;

pub fn of(bytes: &[u8]) -> Container {
    let is_elf = bytes.starts_with(b"\x7fELF");
    let parts = if is_binary(bytes) { fatbin::find(bytes) } else { return Container::Text };
    match () {
        () if !parts.is_empty() => Container::Fat(parts),
        () if is_elf && bytes.get(18..20) == Some(&EM_CUDA.to_le_bytes()[..]) => Container::Cubin,
        () => Container::Nothing,
    }
}

/// PTX is text: it has no zero bytes near its start. Nor has an archive there, which is known by its first line.
fn is_binary(bytes: &[u8]) -> bool {
    const LOOK: usize = 4096;
    bytes.starts_with(b"!<arch>\n") || bytes[..bytes.len().min(LOOK)].contains(&0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_machine_code_are_told_apart() {
        assert!(matches!(of(b".version 8.0\n.target sm_90\n"), Container::Text));
        assert!(matches!(of(b""), Container::Text));
        let mut elf = vec![0; 64];
        elf[..4].copy_from_slice(b"\x7fELF");
        assert!(matches!(of(&elf), Container::Nothing));
        elf[18] = 190;
        assert!(matches!(of(&elf), Container::Cubin));
    }
}

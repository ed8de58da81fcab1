//! PTX in fat binaries: every compression of nvcc, and files that lie.

use fencepost_kernel::code;
use fencepost_kernel::container::{Container, Kind, Payload, of};

use crate::random::Random;

const FILES: [(&str, &[u8]); 3] = [
    ("plain", include_bytes!("../data/fatbin/plain.fatbin")),
    ("lz4", include_bytes!("../data/fatbin/lz4.fatbin")),
    ("zstd", include_bytes!("../data/fatbin/zstd.fatbin")),
];

fn text(bytes: &[u8]) -> String {
    let Container::Fat(parts) = of(bytes) else { panic!("no fat binary") };
    let ptx: Vec<_> = parts.iter().filter(|part| part.kind == Kind::Ptx).collect();
    assert_eq!((ptx.len(), ptx[0].arch), (1, 90));
    let Payload::Text(text) = &ptx[0].payload else { panic!("{:?}", ptx[0].payload) };
    String::from_utf8(text.clone()).expect("text")
}

#[test]
fn every_compression_of_nvcc_gives_the_same_module() {
    let plain = text(FILES[0].1);
    for (name, bytes) in FILES {
        assert_eq!(text(bytes), plain, "{name}");
    }
    let (module, _) = code::decode(&fencepost_syntax::ptx::parse(&plain).0);
    let names: Vec<&str> = module.entries.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["_Z5scalePffi", "_Z9neighbourPi"]);
}

#[test]
fn fat_binaries_are_found_wherever_they_lie_in_a_file() {
    for (_, bytes) in FILES {
        let mut object = b"\x7fELF\x02\x01\x01\0 an object that holds two of them ".to_vec();
        object.extend_from_slice(bytes);
        object.extend_from_slice(&[0x50, 0xed, 0x55, 0xba, 1, 2]);
        object.extend_from_slice(bytes);
        let Container::Fat(parts) = of(&object) else { panic!("none found") };
        assert_eq!(parts.len(), 2);
    }
}

#[test]
fn a_fat_binary_of_machine_code_has_no_text() {
    let mut bytes = Vec::new();
    bytes.extend_from_slice(&0xba55_ed50_u32.to_le_bytes());
    bytes.extend_from_slice(&[1, 0, 16, 0]);
    bytes.extend_from_slice(&72_u64.to_le_bytes());
    let mut part = vec![0; 72];
    part[..8].copy_from_slice(&[2, 0, 1, 1, 64, 0, 0, 0]);
    part[8] = 8;
    part[28] = 90;
    bytes.extend_from_slice(&part);
    let Container::Fat(parts) = of(&bytes) else { panic!("no fat binary") };
    assert_eq!((parts.len(), parts[0].kind, parts[0].arch), (1, Kind::Elf, 90));
    assert_eq!(parts[0].payload, Payload::Skipped);
}

#[test]
fn damaged_files_give_errors_and_never_more_than_they_say() {
    let mut random = Random::new(23);
    let (mut unreadable, mut read) = (0, 0);
    for round in 0..6000 {
        let (_, bytes) = FILES[round % FILES.len()];
        let mut bytes = bytes.to_vec();
        for _ in 0..1 + random.below(4) {
            // Headers more often than payloads.
            let range = if random.below(2) == 0 { 96.min(bytes.len()) } else { bytes.len() };
            let at = random.below(range);
            bytes[at] = random.below(256) as u8;
        }
        bytes.truncate(bytes.len() - if random.below(4) == 0 { random.below(300) } else { 0 });
        if let Container::Fat(parts) = of(&bytes) {
            for part in parts {
                match part.payload {
                    Payload::Text(text) => {
                        read += 1;
                        assert!(text.len() <= 256 << 20);
                    }
                    Payload::Unreadable(_) => unreadable += 1,
                    Payload::Skipped => {}
                }
            }
        }
    }
    assert!(unreadable > 100 && read > 100, "{unreadable} {read}");
}

#[test]
fn random_bytes_are_no_module() {
    let mut random = Random::new(5);
    for length in 0..400 {
        let bytes: Vec<u8> = (0..length * 7).map(|_| random.below(256) as u8).collect();
        of(&bytes);
        let mut fat = vec![0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0];
        fat.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        fat.extend_from_slice(&bytes);
        of(&fat);
    }
}

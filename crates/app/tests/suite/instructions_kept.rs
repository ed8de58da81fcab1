//! Ten fixed commands take no more instructions than were recorded. Skipped, and said so, where there is no valgrind or no
//! release build of the sources as they are.

use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

use crate::instructions::{Counted, complaints, count_all, root};

/// When a file of the sources, or one below a folder of them, was last changed.
fn changed(path: &Path) -> Option<SystemTime> {
    if path.is_dir() {
        let inside = std::fs::read_dir(path).ok()?.flatten();
        return inside.filter_map(|entry| changed(&entry.path())).max();
    }
    std::fs::metadata(path).and_then(|data| data.modified()).ok()
}

/// Why nothing is counted.
fn obstacle(program: &Path) -> Option<String> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        return Some("valgrind is not installed".to_owned());
    }
    let sources = std::fs::read_dir(root().join("crates")).ok()?.flatten();
    let folders = sources.flat_map(|krate| ["src", "build.rs"].map(|name| krate.path().join(name)));
    let folders = folders.chain([root().join("models")]);
    let last = folders.filter_map(|folder| changed(&folder)).max();
    match (changed(program), last) {
        (Some(built), Some(last)) if built >= last => None,
        _ => Some("there is no release build of these sources: `cargo build --release`".to_owned()),
    }
}

#[test]
fn ten_commands_take_what_was_recorded() {
    let program = root().join("target/release/fencepost");
    if let Some(obstacle) = obstacle(&program) {
        eprintln!("SKIPPED: instructions were not counted: {obstacle}");
        return;
    }
    let complaints = complaints(&count_all(&program).unwrap());
    let record = "to record these: cargo run --release --example instructions -- --write";
    assert!(complaints.is_empty(), "{}\n{record}", complaints.join("\n"));
}

#[test]
fn more_and_much_less_are_complained_of() {
    let of = |now, before| Counted { name: "it", arguments: "", now, before };
    let complained = |counted: &[Counted]| complaints(counted).len();
    assert_eq!(complained(&[of(104, Some(100)), of(91, Some(100))]), 0);
    assert_eq!(complained(&[of(106, Some(100)), of(100, Some(100))]), 1);
    assert_eq!(complained(&[of(89, Some(100))]), 1);
    assert_eq!(complained(&[of(1, None)]), 1);
    // One that takes more, and all together.
    assert_eq!(complained(&[of(130, Some(100)), of(100, Some(100))]), 2);
}

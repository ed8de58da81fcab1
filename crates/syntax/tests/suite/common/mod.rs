//! The public corpora, where they are present.

use std::path::{Path, PathBuf};

/// The folder of the corpora: `$FENCEPOST_CORPORA`, or `../shared/corpora` beside the workspace.
pub(crate) fn corpora() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora");
    let folder = std::env::var_os("FENCEPOST_CORPORA").map_or(beside, PathBuf::from);
    folder.is_dir().then_some(folder)
}

/// Every file below `folder` of the corpora with this extension, sorted: (name, text). Empty, with a note, when absent.
pub(crate) fn files(folder: &str, extension: &str) -> Vec<(String, String)> {
    let Some(root) = corpora() else {
        eprintln!("note: no public corpora found; set FENCEPOST_CORPORA to check against them");
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut pending = vec![root.join(folder)];
    while let Some(folder) = pending.pop() {
        for entry in std::fs::read_dir(&folder).expect("a readable folder") {
            let path = entry.expect("a readable entry").path();
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                let text = std::fs::read_to_string(&path).expect("a readable file");
                found.push((path.display().to_string(), text));
            }
        }
    }
    found.sort();
    found
}

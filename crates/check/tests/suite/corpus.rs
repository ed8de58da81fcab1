//! The tests of the corpus, read once for all tests of this program.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use fencepost_check::{Test, load};
use fencepost_syntax::Source;

/// Every test of a `.litmus` or `.test` file, in the order of their paths.
pub(crate) fn tests() -> &'static [Test] {
    static TESTS: OnceLock<Vec<Test>> = OnceLock::new();
    TESTS.get_or_init(|| {
        let mut files = Vec::new();
        list(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus"), &mut files);
        files.sort();
        files.iter().flat_map(|file| read(file)).collect()
    })
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) {
    for path in std::fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            list(&path, files);
        } else if path.extension().is_some_and(|end| end == "litmus" || end == "test") {
            files.push(path);
        }
    }
}

fn read(file: &Path) -> Vec<Test> {
    let text = std::fs::read_to_string(file).expect("a readable test");
    load(&Source::new(file.display().to_string(), text)).0
}

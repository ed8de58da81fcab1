//! The house rules that a machine can check: every source file says what it is, crates know only what the architecture lets
//! them know, and the repository speaks of the product only. Limits on the lengths of files and functions were tried: they
//! led to files cut at the limit and to helpers without a meaning of their own.

use std::fs;
use std::path::{Path, PathBuf};

/// Which workspace crates a crate may depend on: the table of ARCHITECTURE.md.
const MAY_KNOW: &[(&str, &[&str])] = &[
    ("syntax", &[]),
    ("program", &["syntax"]),
    ("axiom", &["syntax", "program"]),
    ("machine", &["syntax", "program"]),
    ("report", &["syntax"]),
    ("check", &["syntax", "program", "axiom", "machine", "report"]),
    ("repair", &["syntax", "program", "axiom", "report", "check"]),
    ("tell", &["syntax", "program", "axiom", "report", "check", "repair"]),
    ("mapping", &["syntax", "program", "axiom", "report", "check", "tell"]),
];

fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.ancestors().nth(2).expect("invariant: the crate lies two levels below the root").to_path_buf()
}

/// Every file below `folder` with this extension, sorted, build outputs left out.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(folder) else { return found };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name();
        if path.is_dir() && name != "target" && name != ".git" && name != "artifacts" {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|it| it == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn relative(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

#[test]
fn every_file_says_what_it_is() {
    let silent: Vec<_> = files(&root().join("crates"), "rs")
        .into_iter()
        .filter(|path| !fs::read_to_string(path).unwrap_or_default().starts_with("//!"))
        .map(|path| relative(&path))
        .collect();
    assert!(silent.is_empty(), "files without a leading `//!` comment: {silent:#?}");
}

#[test]
fn crates_know_only_what_they_may() {
    for (name, allowed) in MAY_KNOW {
        let manifest = fs::read_to_string(root().join("crates").join(name).join("Cargo.toml")).expect("manifest");
        let section = manifest.split("[dependencies]").nth(1).unwrap_or("");
        let section = section.split("\n[").next().unwrap_or("");
        let ours = section.lines().filter_map(|line| line.split(['.', ' ', '=']).next());
        for dependency in ours.filter_map(|it| it.strip_prefix("fencepost-")) {
            assert!(allowed.contains(&dependency), "crate {name} must not depend on {dependency}");
        }
    }
}

#[test]
fn the_repository_speaks_of_the_product_only() {
    let words = [["/wo", "rk/"].concat(), ["/ro", "ot/"].concat(), ["DEVELOP", "ERS.md"].concat()];
    let mut found = Vec::new();
    for extension in ["rs", "md", "cat", "toml", "litmus", "test", "expect", "json"] {
        for path in files(&root(), extension) {
            let text = fs::read_to_string(&path).unwrap_or_default();
            for word in words.iter().filter(|word| text.contains(word.as_str())) {
                found.push(format!("{}: {word}", relative(&path)));
            }
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

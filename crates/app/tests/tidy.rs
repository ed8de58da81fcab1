//! The house rules that a machine can check: every source file says what it is, files and functions stay small, crates
//! know only what the architecture lets them know, and the repository speaks of the product only.

use std::fs;
use std::path::{Path, PathBuf};

const FILE_LINES: usize = 600;
const FUNCTION_LINES: usize = 60;

/// Files and functions over the limit, each with the reason why splitting would make it worse: `(path, function, reason)`.
/// An empty function name means the file as a whole.
const EXCEPTIONS: &[(&str, &str, &str)] = &[];

/// Which workspace crates a crate may depend on: the table of ARCHITECTURE.md.
const MAY_KNOW: &[(&str, &[&str])] = &[
    ("syntax", &[]),
    ("program", &["fencepost-syntax"]),
    ("axiom", &["fencepost-syntax", "fencepost-program"]),
    ("machine", &["fencepost-syntax", "fencepost-program"]),
    ("check", &["fencepost-syntax", "fencepost-program", "fencepost-axiom", "fencepost-machine"]),
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

fn excepted(path: &str, function: &str) -> bool {
    EXCEPTIONS.iter().any(|(file, name, _)| *file == path && *name == function)
}

/// Source lines of a file without its trailing test module.
fn without_tests(text: &str) -> Vec<&str> {
    text.lines().take_while(|line| !line.starts_with("#[cfg(test)]")).collect()
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
fn files_stay_small() {
    let mut long = Vec::new();
    for path in files(&root().join("crates"), "rs") {
        let text = fs::read_to_string(&path).unwrap_or_default();
        let lines = without_tests(&text).len();
        let name = relative(&path);
        if lines > FILE_LINES && !excepted(&name, "") {
            long.push(format!("{name}: {lines} lines"));
        }
    }
    assert!(long.is_empty(), "more than {FILE_LINES} lines without tests: {long:#?}");
}

#[test]
fn functions_fit_a_screen() {
    let mut long = Vec::new();
    for path in files(&root().join("crates"), "rs") {
        let text = fs::read_to_string(&path).unwrap_or_default();
        let name = relative(&path);
        for (function, lines) in functions(&text) {
            if lines > FUNCTION_LINES && !excepted(&name, &function) {
                long.push(format!("{name}: fn {function} has {lines} lines"));
            }
        }
    }
    assert!(long.is_empty(), "more than {FUNCTION_LINES} lines: {long:#?}");
}

/// Names and lengths of the functions of a formatted file: from the line with `fn` to the closing brace at its indent.
fn functions(text: &str) -> Vec<(String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let trimmed = line.trim_start();
        let Some(at) = trimmed.find("fn ") else { continue };
        let before = &trimmed[..at];
        let is_definition =
            before.split_whitespace().all(|word| matches!(word, "pub" | "const" | "async") || word.starts_with("pub("));
        if !is_definition {
            continue;
        }
        let indent = &line[..line.len() - trimmed.len()];
        let close = format!("{indent}}}");
        if let Some(length) = lines[start..].iter().position(|line| *line == close) {
            let name: String = trimmed[at + 3..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            found.push((name, length + 1));
        }
    }
    found
}

#[test]
fn crates_know_only_what_they_may() {
    for (name, allowed) in MAY_KNOW {
        let manifest = fs::read_to_string(root().join("crates").join(name).join("Cargo.toml")).expect("manifest");
        let section = manifest.split("[dependencies]").nth(1).unwrap_or("");
        let section = section.split("\n[").next().unwrap_or("");
        let ours = section.lines().filter_map(|line| line.split(['.', ' ', '=']).next());
        for dependency in ours.filter(|it| it.starts_with("fencepost")) {
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

#[test]
fn exceptions_are_still_needed() {
    for (path, function, _) in EXCEPTIONS {
        let text = fs::read_to_string(root().join(path)).unwrap_or_default();
        let over = if function.is_empty() {
            without_tests(&text).len() > FILE_LINES
        } else {
            functions(&text).iter().any(|(name, lines)| name == function && *lines > FUNCTION_LINES)
        };
        assert!(over, "{path} {function}: no longer over the limit, remove the exception");
    }
}

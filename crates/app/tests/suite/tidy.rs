//! The house rules that a machine can check: every source file says what it is, crates know only what the architecture lets
//! them know, the modules of a crate import each other in no cycle, citations of the PTX ISA are in one table, no code
//! reads its own sentences or knows a model, a relation or a flag by its name, and the repository speaks of the product only. Limits on the lengths of files and functions were tried: they led to files cut at
//! the limit and to helpers without a meaning of their own.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use fencepost_axiom::model::{BaseRelation, NodeKind, library};
use fencepost_check::Models;
use fencepost_program::sections;
use fencepost_syntax::cat::{BindingPattern, CatInstruction};

use super::imports::{cycle, imports, module};

/// Which workspace crates a crate may depend on: the table of ARCHITECTURE.md.
const MAY_KNOW: &[(&str, &[&str])] = &[
    ("syntax", &[]),
    ("program", &["syntax"]),
    ("axiom", &["syntax", "program"]),
    ("machine", &["syntax", "program"]),
    ("report", &["syntax"]),
    ("check", &["syntax", "program", "axiom", "machine", "report"]),
    ("repair", &["syntax", "program", "axiom", "report", "check"]),
    ("kernel", &["syntax"]),
    ("tell", &["syntax", "program", "axiom", "machine", "report", "check", "repair", "kernel"]),
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

/// Crates that must not find out what something is by reading the sentences that they made.
const WITHOUT_READING: &[&str] = &["check", "repair", "mapping", "tell", "app"];

/// Calls that read a text.
const READS: &[&str] = &[
    ".contains(",
    ".starts_with(",
    ".ends_with(",
    ".strip_prefix(",
    ".strip_suffix(",
    ".replace(",
    ".replacen(",
    ".split_once(",
    ".rsplit_once(",
    ".find(",
    ".matches(",
    "== ",
    "!= ",
];

/// What may be read: text that is not ours, or whose data is not there yet.
const MAY_READ: &[(&str, &str)] = &[
    // The operating system's words.
    ("crates/app/src/inputs.rs", " (os error "),
    // `program` gives what was probably meant as part of a text.
    ("crates/app/src/command/file.rs", "did you mean"),
];

/// The literal that a text begins with, after `&` or `format!(`.
fn literal(text: &str) -> Option<&str> {
    let text = text.trim_start().trim_start_matches('&');
    let text = text.strip_prefix("format!(").unwrap_or(text).trim_start().strip_prefix('"')?;
    let mut escaped = false;
    let end = text.find(|next| {
        let ends = next == '"' && !escaped;
        escaped = next == '\\' && !escaped;
        ends
    })?;
    text.get(..end)
}

/// Whether a literal has two words with a space between them.
fn is_sentence(literal: &str) -> bool {
    let is_word = |word: &str| word.len() > 1 && word.chars().all(|next| next.is_ascii_alphabetic());
    literal.split(' ').collect::<Vec<_>>().windows(2).any(|two| two.iter().all(|word| is_word(word)))
}

#[test]
fn nothing_is_found_out_by_reading_our_own_sentences() {
    let mut found = Vec::new();
    for path in WITHOUT_READING.iter().flat_map(|name| files(&root().join("crates").join(name).join("src"), "rs")) {
        let (text, name) = (fs::read_to_string(&path).expect("source file"), relative(&path));
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        for call in READS {
            for (at, _) in code.match_indices(call) {
                let Some(read) = code.get(at + call.len()..).and_then(literal) else { continue };
                if is_sentence(read) && !MAY_READ.contains(&(name.as_str(), read)) {
                    found.push(format!("{name}: {call}\"{read}\""));
                }
            }
        }
    }
    assert!(found.is_empty(), "match on data instead of words: {found:#?}");
    assert!(
        is_sentence("is relaxed") && !is_sentence("wait_group 0") && literal("&format!(\"a {b}\", x)") == Some("a {b}")
    );
}

/// What `fencepost kernel` says must not depend on the load of the machine: only `--time-limit` is a matter of clocks.
#[test]
fn kernels_are_not_checked_by_the_clock() {
    let folders = ["crates/kernel/src", "crates/app/src/command/kernel"];
    let sources = folders.iter().flat_map(|folder| files(&root().join(folder), "rs"));
    let mut clocks = Vec::new();
    for path in sources {
        let text = fs::read_to_string(&path).expect("a source file");
        let reads =
            |line: &&str| ["Instant::now", "SystemTime", ".elapsed(", "of_time("].iter().any(|it| line.contains(it));
        let found = text.lines().filter(reads).filter(|line| !line.contains("time_limit"));
        clocks.extend(found.map(|line| format!("{}: {}", relative(&path), line.trim())));
    }
    assert!(clocks.is_empty(), "{clocks:#?}");
}

#[test]
fn modules_import_each_other_in_no_cycle() {
    for name in MAY_KNOW.iter().map(|(name, _)| *name).chain(["app"]) {
        let folder = root().join("crates").join(name).join("src");
        let text = |path: &PathBuf| fs::read_to_string(path).expect("source file");
        let inside = |path: &PathBuf| module(path.strip_prefix(&folder).unwrap_or(path));
        let texts = files(&folder, "rs").iter().map(|path| (inside(path), text(path))).collect();
        if let Some(cycle) = cycle(&imports(&texts)) {
            panic!("modules of crate {name} import each other in a cycle:\n{}", cycle.join("\n"));
        }
    }
}

/// Engines, the independent judge and the unfolding that races need are reached through `check::session` and what lies below
/// it, so that limits, readings and what a model assumes are the same for all who ask.
#[test]
fn executions_have_one_door() {
    let entries = [
        "engine::enumerate",
        "engine::sat",
        "engine::brute",
        "reaches_cut",
        "Replay::",
        "check_execution",
        "unfold_accesses(",
    ];
    let is_door = |path: &str| path.starts_with("crates/check/src/look/") || path == "crates/check/src/session.rs";
    let is_below = |path: &str| path.starts_with("crates/axiom/") || path.starts_with("crates/program/");
    let mut found = Vec::new();
    for (name, _) in MAY_KNOW {
        for path in files(&root().join("crates").join(name).join("src"), "rs") {
            let (text, path) = (fs::read_to_string(&path).unwrap_or_default(), relative(&path));
            if is_door(&path) || is_below(&path) {
                continue;
            }
            let named = entries.iter().filter(|entry| text.contains(**entry));
            found.extend(named.map(|entry| format!("{path}: {entry}")));
        }
    }
    assert!(found.is_empty(), "these ask an engine past check::session: {found:#?}");
}

/// Files of the upper crates that name a shipped model, and why.
const NAME_MODELS: [(&str, &str); 2] = [
    ("check/src/model/compiled.rs", "the bytes of each file of `models`"),
    ("check/src/model/purpose.rs", "programs of PTX"),
];

/// Whether a file is a module of tests: a file above it declares it as one.
fn is_test_module(path: &Path) -> bool {
    let (Some(folder), Some(name)) = (path.parent(), path.file_stem()) else { return false };
    let declared = format!("#[cfg(test)]\nmod {};", name.to_string_lossy());
    let above = ["mod.rs", "lib.rs"].map(|file| folder.join(file)).into_iter().chain([folder.with_extension("rs")]);
    above.into_iter().any(|above| fs::read_to_string(above).is_ok_and(|text| text.contains(&declared)))
}

/// A model says of itself what it is for, in its header: a copy under another name gets the same service. `sc` is not looked
/// for, because it is a modifier of PTX too; the neutral form of tests has the names that its authors gave to models.
#[test]
fn no_model_is_known_by_its_name() {
    let models = fs::read_dir(root().join("models")).expect("the models");
    let names = models.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let names = names.filter_map(|name| Some(name.strip_suffix(".cat")?.to_owned())).filter(|name| name != "sc");
    let quoted: Vec<String> = names.map(|name| format!("\"{name}\"")).collect();
    assert!(quoted.len() > 4, "{quoted:?}");
    let mut found = Vec::new();
    let mut excused = BTreeSet::new();
    for name in ["report", "check", "repair", "tell", "mapping", "app"] {
        for path in files(&root().join("crates").join(name).join("src"), "rs") {
            if is_test_module(&path) {
                continue;
            }
            let (text, path) = (fs::read_to_string(&path).unwrap_or_default(), relative(&path));
            let inside = path.strip_prefix("crates/").unwrap_or(&path);
            if inside.starts_with("check/src/test/neutral/") {
                continue;
            }
            let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or("");
            let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
            let named = lines.filter(|line| quoted.iter().any(|name| line.contains(name.as_str())));
            let named: Vec<String> = named.map(|line| format!("{path}: {}", line.trim())).collect();
            match NAME_MODELS.iter().find(|(known, _)| *known == inside) {
                Some(known) if !named.is_empty() => {
                    excused.insert(*known);
                }
                _ => found.extend(named),
            }
        }
    }
    assert!(found.is_empty(), "these know a model by its name: {found:#?}");
    assert_eq!(excused, BTreeSet::from(NAME_MODELS), "files that need no excuse");
}

/// Where names of relations, axioms and flags stand in Rust, and why.
const NAME_RELATIONS: [(&str, &str); 3] = [
    ("report/src/finding.rs", "the table of findings: flags get these words by a header"),
    ("check/src/model/role.rs", "the table of roles: relations and axioms get these words by a header"),
    ("check/src/model/readings.rs", "names and values of the readings of PTX"),
];

/// Names of the models that are something else in Rust too.
const ALSO: [(&str, &str); 12] = [
    ("after", "a word of sentences"),
    ("before", "a word of sentences"),
    ("coherence", "a word of the legend"),
    ("commit", "a modifier of PTX"),
    ("happens-before", "the name of the order in C11"),
    ("host", "a word of pictures"),
    ("mfence", "an instruction of x86"),
    ("ms", "a unit of time"),
    ("race", "a word of sentences"),
    ("sc", "a modifier of PTX"),
    ("seen", "a property that published answers have"),
    ("steps", "an option"),
];

/// The relations, axioms and flags that the shipped models define, without the names that every model has.
fn names_in_models() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for name in Models::names() {
        let model = Models::shipped(name).expect("shipped");
        names.extend(model.model.checks.iter().map(|check| check.name.clone()));
        let bindings = model.tree().instructions.iter().filter_map(|instruction| match &instruction.node {
            CatInstruction::Let { bindings, .. } => Some(bindings),
            _ => None,
        });
        let defined = bindings.flatten().filter_map(|binding| match &binding.pattern {
            BindingPattern::Name(name) => Some(name.node.as_str()),
            _ => None,
        });
        let is_set = |name: &str| {
            let mut nodes = model.model.nodes.iter();
            nodes.any(|node| node.kind == NodeKind::Set && node.name.as_deref() == Some(name))
        };
        names.extend(defined.filter(|name| !is_set(name)).map(str::to_owned));
    }
    names.retain(|name| !BaseRelation::ALL.iter().any(|base| base.cat_name() == name));
    names.retain(|name| !library::DEFINITIONS.iter().any(|definition| definition.name() == name));
    names
}

/// What a relation, an axiom or a flag is to those who ask for it stands in a header, and the code asks by role.
#[test]
fn no_relation_or_flag_is_known_by_its_name() {
    let names = names_in_models();
    for name in ["causality", "wcord", "fence-sc-order", "data-race", "single-copy-atomicity"] {
        assert!(names.contains(name), "{names:?}");
    }
    let (mut found, mut excused) = (Vec::new(), BTreeSet::new());
    for name in ["report", "check", "repair", "tell", "mapping", "app"] {
        for path in files(&root().join("crates").join(name).join("src"), "rs") {
            let (text, path) = (fs::read_to_string(&path).unwrap_or_default(), relative(&path));
            let inside = path.strip_prefix("crates/").unwrap_or(&path);
            if NAME_RELATIONS.iter().any(|(known, _)| *known == inside) {
                continue;
            }
            let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or("");
            for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
                for word in line.split('"').skip(1).step_by(2).filter(|word| names.contains(*word)) {
                    match ALSO.iter().find(|(also, _)| *also == word) {
                        Some(also) => {
                            excused.insert(*also);
                        }
                        None => found.push(format!("{path}: {}", line.trim())),
                    }
                }
            }
        }
    }
    assert!(found.is_empty(), "these know a relation, an axiom or a flag by its name: {found:#?}");
    assert_eq!(excused, BTreeSet::from(ALSO), "words that need no excuse");
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

/// Whose citations a text has.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Kind {
    /// Source and pages: numbers of chapter 8 and of the instructions, and what follows `PTX ISA` or `section`.
    Text,
    /// A model: `8.5` is a section there too.
    Model,
}

/// The sections of the PTX ISA that a text cites. A number that is followed by `of PTX ISA 9.1` is one of an older version;
/// sections of other documents (C11, the SDM, papers) have other numbers or no `PTX ISA` in front of them.
fn cited(text: &str, kind: Kind) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut at, mut list_goes_on) = (0, false);
    while let Some(start) = text[at..].find(|it: char| it.is_ascii_digit()).map(|offset| at + offset) {
        let length = text[start..].find(|it: char| !it.is_ascii_digit() && it != '.').unwrap_or(text.len() - start);
        let number = text[start..start + length].trim_end_matches('.');
        let (before, after) = (&text[..start], &text[start + number.len()..]);
        let joins = before[at..].trim_matches([' ', '\n', '/', '!', '*']);
        let is_in_list = list_goes_on && matches!(joins, "," | ";" | "and" | "to" | ", and");
        let is_whole = !before.ends_with(|it: char| it.is_alphanumeric() || "-_.".contains(it))
            && !after.starts_with(|it: char| it.is_alphanumeric() || "-_".contains(it));
        let is_told = before.ends_with("PTX ISA ") || is_in_list;
        list_goes_on = is_told;
        at = start + number.len();
        let says_section = before.ends_with("section ") || before.ends_with("sections ");
        let is_older = after.starts_with(" of PTX ISA ") && !after.starts_with(" of PTX ISA 9.4");
        // `8..10` is a range of Rust.
        let is_number = number.contains('.') && !number.contains("..");
        if is_number && is_whole && !is_older && is_citation(number, kind, is_told, says_section) {
            found.push(number);
        }
    }
    found
}

fn is_citation(number: &str, kind: Kind, is_told: bool, says_section: bool) -> bool {
    let parts: Vec<&str> = number.split('.').collect();
    match (parts.as_slice(), is_told) {
        (["8", _, _, ..] | ["9", "7", _, ..], _) => true,
        (["8", _], _) if kind == Kind::Model || says_section => true,
        // `PTX ISA 7.5` is a version, and so is 9.4.
        (["6" | "7", _], _) => false,
        (["9", minor], true) => *minor == "7",
        (_, is_told) => is_told,
    }
}

#[test]
fn cited_sections_of_the_ptx_isa_are_in_the_table() {
    let folders = [("crates", "rs"), ("models", "cat"), ("models", "md"), ("docs", "md")];
    let mut paths: Vec<PathBuf> = folders.iter().flat_map(|(folder, it)| files(&root().join(folder), it)).collect();
    paths.extend(["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|page| root().join(page)));
    let (mut unknown, mut count) = (Vec::new(), 0);
    for path in paths {
        let text = fs::read_to_string(&path).unwrap_or_default();
        let kind = if path.extension().is_some_and(|it| it == "cat") { Kind::Model } else { Kind::Text };
        for number in cited(&text, kind) {
            count += 1;
            if sections::title(number).is_none() {
                unknown.push(format!("{}: {number}", relative(&path)));
            }
        }
    }
    assert!(count > 700, "only {count} citations are found");
    assert!(unknown.is_empty(), "not in crates/program/src/sections.rs: {unknown:#?}");
}

#[test]
fn citations_are_told_from_versions_and_other_documents() {
    // Written apart, because this file is searched for citations too.
    let [unknown, old] = ["8", "9.7"].map(|chapter| format!("{chapter}.99"));
    let text = format!(
        "PTX ISA 9.4, 8.5 and 5.1.7; (C11 6.5.7) v8.1 (PTX ISA 7.5) section {unknown} {old} of PTX ISA 9.1, 9.7.15.4."
    );
    assert_eq!(cited(&text, Kind::Text), ["8.5", "5.1.7", unknown.as_str(), "9.7.15.4"]);
    assert_eq!(cited("(8.5, 9.4) \"8.6\"", Kind::Model), ["8.5", "8.6"]);
}

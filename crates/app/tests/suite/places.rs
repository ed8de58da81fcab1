//! Places that the documentation names are there: the table "Where is …" of ARCHITECTURE.md by file, item and line; the
//! paths of ARCHITECTURE.md and CONTRIBUTING.md; the links of every page; the tests that the README prints.

use std::fs;
use std::path::{Path, PathBuf};

use crate::docs::{pages, root};

fn read(page: &str) -> String {
    fs::read_to_string(root().join(page)).unwrap_or_else(|error| panic!("{page}: {error}"))
}

/// What is between backticks, code blocks left out.
fn quoted(text: &str) -> Vec<&str> {
    let mut outside = true;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.starts_with("```") {
            outside = !outside;
        } else if outside {
            found.extend(line.split('`').skip(1).step_by(2));
        }
    }
    found
}

/// Rows `| question | `file:line` | `item` |` of the table: file, line and item.
fn answers() -> Vec<(String, usize, String)> {
    let page = read("ARCHITECTURE.md");
    let (_, section) = page.split_once("\n## Where is …\n").expect("the section");
    let section = section.split("\n## ").next().expect("its text");
    let mut rows = Vec::new();
    for row in section.lines().filter(|line| line.starts_with("| ") && line.contains('`')) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [_, place, item] = cells.as_slice() else { panic!("a question, a place and an item: {row}") };
        let (file, line) = place.trim_matches('`').rsplit_once(':').unwrap_or_else(|| panic!("FILE:LINE: {row}"));
        let line = line.parse().unwrap_or_else(|_| panic!("a number of a line: {row}"));
        rows.push((file.to_owned(), line, item.trim_matches('`').to_owned()));
    }
    rows
}

/// `UPDATE=1` has the numbers of lines written anew; an item that has gone elsewhere is for somebody to look for.
#[test]
fn the_answers_of_the_architecture_are_where_it_says() {
    let rows = answers();
    assert!(rows.len() >= 5, "{rows:?}");
    let mut wrong = Vec::new();
    let mut page = read("ARCHITECTURE.md");
    for (file, line, item) in rows {
        let Ok(text) = fs::read_to_string(root().join(&file)) else {
            wrong.push(format!("`{file}:{line}`: there is no such file; where is `{item}` now?"));
            continue;
        };
        let lines: Vec<usize> =
            (1..).zip(text.lines()).filter(|(_, it)| it.contains(&item)).map(|(at, _)| at).collect();
        if lines.contains(&line) {
            continue;
        }
        match lines.as_slice() {
            [] => wrong.push(format!("`{file}:{line}`: the file has no `{item}`; where is it now?")),
            [only] => {
                page = page.replace(&format!("`{file}:{line}`"), &format!("`{file}:{only}`"));
                wrong.push(format!("`{file}:{line}`: put in `{file}:{only}`, which has `{item}`"));
            }
            several => {
                wrong.push(format!("`{file}:{line}`: `{item}` is in the lines {several:?}; put in the right one"))
            }
        }
    }
    if std::env::var_os("UPDATE").is_some() {
        fs::write(root().join("ARCHITECTURE.md"), page).expect("writable page");
    }
    assert!(wrong.is_empty(), "ARCHITECTURE.md, \"Where is …\" (UPDATE=1 puts in lines):\n{}", wrong.join("\n"));
}

#[test]
fn paths_in_the_pages_for_developers_exist() {
    let folders = ["crates/", "models/", "docs/", "corpus/", "fuzz/", "examples/"];
    let mut missing = Vec::new();
    for page in ["ARCHITECTURE.md", "CONTRIBUTING.md"] {
        for word in quoted(&read(page)) {
            let path = word.split(':').next().unwrap_or(word);
            let is_pattern = path.contains(['*', ' ']) || path.contains("NAME") || path.contains("FOLDER");
            if folders.iter().any(|it| path.starts_with(it)) && !is_pattern && !root().join(path).exists() {
                missing.push(format!("{page}: `{path}`"));
            }
        }
    }
    assert!(missing.is_empty(), "no such files: {missing:#?}");
}

/// The anchor that a heading gets: lower case, blanks as hyphens, no other signs.
fn anchor(heading: &str) -> String {
    let kept = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = kept.chars().filter(|it| it.is_alphanumeric() || matches!(it, ' ' | '-' | '_'));
    kept.map(|it| if it == ' ' { '-' } else { it }).collect()
}

fn is_there(page: &Path, link: &str) -> bool {
    let (file, part) = link.split_once('#').unwrap_or((link, ""));
    let path = if file.is_empty() { page.to_path_buf() } else { page.parent().unwrap_or(page).join(file) };
    let has_part =
        || fs::read_to_string(&path).is_ok_and(|text| text.lines().any(|it| it.starts_with('#') && anchor(it) == part));
    path.exists() && (part.is_empty() || has_part())
}

#[test]
fn links_of_the_documentation_lead_somewhere() {
    let more = ["ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "models/README.md", "corpus/README.md"];
    let all: Vec<PathBuf> = pages().into_iter().chain(more.map(|page| root().join(page))).collect();
    let mut broken = Vec::new();
    for page in all {
        let text = fs::read_to_string(&page).expect("readable page");
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if !link.contains("://") && !is_there(&page, link) {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "links that lead nowhere: {broken:#?}");
}

#[test]
fn tests_that_the_readme_prints_are_the_examples() {
    let page = read("README.md");
    let mut count = 0;
    for block in page.split("```text\n").skip(1).filter_map(|rest| rest.split("```").next()) {
        let Some(name) = block.lines().next().and_then(|line| line.strip_prefix("PTX ")) else { continue };
        assert_eq!(block, read(&format!("examples/{name}.litmus")), "README.md and examples/{name}.litmus differ");
        count += 1;
    }
    assert!(count >= 2, "a mailbox and a ring");
}

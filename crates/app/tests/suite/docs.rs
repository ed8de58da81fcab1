//! Commands in the documentation are executed. A fenced block marked `console` holds `$ fencepost …` lines, each followed
//! by what it prints; the test runs them in the repository's root and compares. `UPDATE=1` rewrites the blocks.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use fencepost_program::{SupportedForm, sections, supported_forms};

pub(crate) fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.ancestors().nth(2).expect("invariant: the crate lies two levels below the root").to_path_buf()
}

pub(crate) fn pages() -> Vec<PathBuf> {
    let mut found = vec![root().join("README.md")];
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("docs").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// What a command prints, and its exit code in a last line if it is not zero.
fn run(command: &str) -> String {
    let words: Vec<&str> = command.split_whitespace().collect();
    let arguments = match words.as_slice() {
        ["fencepost", arguments @ ..] => arguments,
        ["cat", file] => return fs::read_to_string(root().join(file)).expect(file),
        _ => panic!("neither `fencepost` nor `cat`: {command}"),
    };
    let output =
        Command::new(env!("CARGO_BIN_EXE_fencepost")).args(arguments).current_dir(root()).output().expect("runs");
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text += &String::from_utf8_lossy(&output.stderr);
    if let Some(code) = output.status.code().filter(|code| *code != 0) {
        text += &format!("[exit code {code}]\n");
    }
    text
}

/// The page with every command's output replaced by what it prints now, and the number of commands.
fn executed(page: &str) -> (String, usize) {
    let mut text = String::new();
    let mut commands = 0;
    let mut inside = false;
    for line in page.lines() {
        if line == "```console" {
            inside = true;
        } else if line == "```" {
            inside = false;
        } else if inside {
            let Some(command) = line.strip_prefix("$ ") else { continue };
            commands += 1;
            text += line;
            text.push('\n');
            text += &run(command);
            continue;
        }
        text += line;
        text.push('\n');
    }
    (text, commands)
}

/// The forms with a model, section by section, from the tables themselves.
fn instructions() -> String {
    let mut sections: BTreeMap<Vec<u32>, Vec<SupportedForm>> = BTreeMap::new();
    for form in supported_forms() {
        let key = form.section.split('.').map(|number| number.parse().unwrap_or(0)).collect();
        sections.entry(key).or_default().push(form);
    }
    let mut text = String::from(
        "# Supported instructions\n\n\
         Every form of PTX that has a model, by section of the PTX ISA, with the version that brought it. Written by a test from\n\
         the tables that read the instructions (`UPDATE=1 cargo test -p fencepost docs`): a form that is not here is `Unknown`, with\n\
         its name and place, and never ignored. `(.a|.b)` is one of them, `{.a|.b}` one or none. `dfence`, `ofence`, `pacq` and `prel`\n\
         are no PTX: [persistency](models/persistency.md#the-language) has them.\n",
    );
    for forms in sections.values() {
        let Some(first) = forms.first() else { continue };
        let title = sections::title(first.section).expect("a section of the table");
        text += &format!("\n## {} {title}\n\n", first.section);
        for form in forms {
            let pattern = form.pattern.replace('|', " | ");
            text += &format!("* `{pattern}` ({}.{})\n", form.since.major, form.since.minor);
        }
    }
    text
}

#[test]
fn the_supported_instructions_are_listed() {
    let path = root().join("docs/instructions.md");
    let now = instructions();
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &now).expect("writable page");
    }
    let page = fs::read_to_string(&path).unwrap_or_default();
    assert!(page == now, "docs/instructions.md: run `UPDATE=1 cargo test -p fencepost docs` and read the diff");
}

#[test]
fn the_names_that_models_may_use_are_listed() {
    let path = root().join("docs/cat.md");
    let now = crate::cat_page::text();
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &now).expect("writable page");
    }
    let page = fs::read_to_string(&path).unwrap_or_default();
    assert!(page == now, "docs/cat.md: run `UPDATE=1 cargo test -p fencepost docs` and read the diff");
    for name in crate::cat_page::names() {
        assert!(page.contains(&format!("\n* `{name}`")), "docs/cat.md has no entry for `{name}`");
    }
}

#[test]
fn commands_in_the_documentation_print_what_it_says() {
    let mut commands = 0;
    for path in pages() {
        let page = fs::read_to_string(&path).expect("readable page");
        let (now, count) = executed(&page);
        commands += count;
        if now != page && std::env::var_os("UPDATE").is_some() {
            fs::write(&path, &now).expect("writable page");
        } else {
            let differs = now.lines().zip(page.lines()).find(|(now, page)| now != page);
            let path = path.display();
            assert!(now == page, "{path}: run `UPDATE=1 cargo test -p fencepost docs`; now and before: {differs:?}");
        }
    }
    assert!(commands >= 5, "the README has a tour");
}

#[test]
fn the_help_of_every_command_has_an_example() {
    let overview = run("fencepost --help");
    let (_, list) = overview.split_once("Commands:\n").expect("a list of commands");
    let commands = list.lines().take_while(|line| !line.is_empty()).filter_map(|line| line.split_whitespace().next());
    let mut count = 0;
    for command in commands.filter(|command| *command != "help") {
        let help = run(&format!("fencepost {command} --help"));
        assert!(help.contains(&format!("\n  fencepost {command} ")), "{help}");
        count += 1;
    }
    assert!(count >= 9, "{overview}");
}

//! Every file of the public corpora lowers without diagnostics, with nothing unsupported, and unfolds.

use crate::common;

use fencepost_program::lower::lower;
use fencepost_program::unfold::{UnfoldOptions, unfold};
use fencepost_syntax::litmus::{Litmus, parse_named};

fn check(name: &str, tree: &Litmus) -> Vec<String> {
    let (program, diagnostics) = lower(tree);
    let mut faults: Vec<String> = diagnostics.iter().map(|fault| format!("{name}: {}", fault.message)).collect();
    if let Some(program) = program {
        faults.extend(program.unsupported.iter().map(|fault| format!("{name}: unsupported {}", fault.what)));
        if let Err(error) = unfold(&program, &UnfoldOptions { bound: 2, max_events: 5000, ..UnfoldOptions::default() })
        {
            faults.push(format!("{name}: {error}"));
        }
    }
    faults
}

fn check_folder(folder: &str, extension: &str) {
    let Some(root) = common::corpora(folder) else { return };
    let mut faults = Vec::new();
    let mut count = 0;
    for file in common::files(&root, extension) {
        let text = std::fs::read_to_string(&file).expect("readable");
        let name = file.display().to_string();
        let (trees, diagnostics) = parse_named(&name, &text);
        faults.extend(diagnostics.iter().map(|fault| format!("{name}: parser: {}", fault.message)));
        count += trees.len();
        faults.extend(trees.iter().flat_map(|tree| check(&name, tree)));
    }
    assert!(count > 0, "no test below {}", root.display());
    assert!(faults.is_empty(), "{} faults in {count} tests:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn dartagnans_ptx_tests_lower_and_unfold() {
    check_folder("dat3m-ptx", "litmus");
}

#[test]
fn dartagnans_x86_tests_lower_and_unfold() {
    check_folder("dat3m-x86", "litmus");
}

#[test]
fn nvlitmus_instances_lower_and_unfold() {
    check_folder("nvlitmus", "test");
}

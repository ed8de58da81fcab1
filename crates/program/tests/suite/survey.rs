//! Which instruction forms of compiler output have no model yet, counted. The snapshot keeps coverage from shrinking
//! unseen; `UPDATE=1 cargo test` writes it anew.

use crate::common;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use fencepost_program::lower::{Support, ptx_support};
use fencepost_program::{Target, lacks};
use fencepost_syntax::Spanned;
use fencepost_syntax::ptx::{Item, parse};

fn count(items: &[Spanned<Item>], found: &mut BTreeMap<String, u32>, modelled: &mut u32, mistakes: &mut Vec<String>) {
    for item in items {
        match &item.node {
            Item::Function { body, .. } | Item::Block(body) => count(body, found, modelled, mistakes),
            Item::Instruction(instruction) => {
                let words: Vec<&str> = instruction.modifiers.iter().map(|modifier| modifier.node.as_str()).collect();
                let form = [vec![instruction.opcode.node.as_str()], words].concat().join(".");
                match ptx_support(instruction) {
                    Support::Modelled => *modelled += 1,
                    Support::Unsupported(what) if what.contains("did you mean") => mistakes.push(what),
                    Support::Unsupported(_) => *found.entry(form).or_default() += 1,
                    Support::Wrong(fault) => mistakes.push(format!("{form}: {}", fault.message)),
                }
            }
            Item::Directive { .. } | Item::Label(_) => {}
        }
    }
}

#[test]
fn unsupported_forms_of_real_kernels_are_known() {
    let Some(root) = common::corpora("real-ptx") else { return };
    let (mut found, mut modelled, mut mistakes) = (BTreeMap::new(), 0, Vec::new());
    for file in common::files(&root, "ptx") {
        let (module, diagnostics) = parse(&std::fs::read_to_string(&file).expect("readable"));
        assert!(diagnostics.is_empty(), "{}: {diagnostics:?}", file.display());
        count(&module.items, &mut found, &mut modelled, &mut mistakes);
    }
    assert!(mistakes.is_empty(), "a compiler wrote these, so they are no mistakes: {mistakes:#?}");
    let mut text = format!("modelled {modelled}\nunsupported {}\n", found.values().sum::<u32>());
    for (form, count) in &found {
        writeln!(text, "{count:6} {form}").expect("a string takes everything");
    }
    let snapshot = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/unsupported.snap");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&snapshot, &text).expect("writable");
    }
    let known = std::fs::read_to_string(&snapshot).expect("a snapshot");
    assert!(known == text, "the forms differ from {}; UPDATE=1 writes it anew:\n{text}", snapshot.display());
}

fn lacking(items: &[Spanned<Item>], target: Target, found: &mut Vec<String>) {
    for item in items {
        match &item.node {
            Item::Function { body, .. } | Item::Block(body) => lacking(body, target, found),
            Item::Instruction(instruction) => {
                let words: Vec<&str> = instruction.modifiers.iter().map(|modifier| modifier.node.as_str()).collect();
                let form = [vec![instruction.opcode.node.as_str()], words].concat().join(".");
                found.extend(lacks(instruction, target).map(|(needed, _)| format!("{form} needs {needed}")));
            }
            Item::Directive { .. } | Item::Label(_) => {}
        }
    }
}

/// A compiler wrote each file for its target: no instruction of it can lack there.
#[test]
fn compilers_use_what_their_target_has() {
    let Some(root) = common::corpora("real-ptx") else { return };
    let mut looked_at = 0;
    for file in common::files(&root, "ptx") {
        let (module, _) = parse(&std::fs::read_to_string(&file).expect("readable"));
        let target = module.items.iter().find_map(|item| match &item.node {
            Item::Directive { name, text } if name == "target" => {
                text.split([' ', ',', ';']).find_map(|word| Target::parse(word.trim()))
            }
            _ => None,
        });
        let mut found = Vec::new();
        lacking(&module.items, target.expect("a target"), &mut found);
        assert!(found.is_empty(), "{}: {found:#?}", file.display());
        looked_at += 1;
    }
    assert!(looked_at > 0, "the folder has modules");
}

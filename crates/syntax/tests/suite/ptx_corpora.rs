//! Every line of the compiler-made PTX parses without a diagnostic, and prints to a text that parses to the same tree.
#![allow(clippy::print_stderr)]

use crate::common;

use fencepost_syntax::Spanned;
use fencepost_syntax::ptx::{Item, parse, print};

/// (functions, instructions) below `items`.
fn count(items: &[Spanned<Item>]) -> (usize, usize) {
    items.iter().fold((0, 0), |(functions, instructions), item| {
        let (own, inner) = match &item.node {
            Item::Function { body, .. } => ((1, 0), count(body)),
            Item::Block(body) => ((0, 0), count(body)),
            Item::Instruction(_) => ((0, 1), (0, 0)),
            Item::Directive { .. } | Item::Label(_) => ((0, 0), (0, 0)),
        };
        (functions + own.0 + inner.0, instructions + own.1 + inner.1)
    })
}

#[test]
fn modules() {
    let files = common::files("real-ptx", "ptx");
    for (name, text) in &files {
        let (module, diagnostics) = parse(text);
        assert!(diagnostics.is_empty(), "{name}: {diagnostics:#?}");
        let entries = text.lines().filter(|line| line.contains(".entry ")).count();
        let code = text.lines().filter(|line| {
            let line = line.trim();
            line.ends_with(';') && !line.starts_with(['.', '/', '{', '}', '$'])
        });
        let (functions, instructions) = count(&module.items);
        assert_eq!(functions, entries, "{name}");
        assert!(instructions >= code.count(), "{name}");
        let printed = print(&module);
        let (again, diagnostics) = parse(&printed);
        assert!(diagnostics.is_empty(), "{name}, printed: {diagnostics:#?}");
        assert!(module == again, "{name} changed by printing");
    }
    assert!(files.is_empty() || files.len() >= 17);
}

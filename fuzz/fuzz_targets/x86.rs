//! x86 litmus tests, both notations: no panic, and what parses survives printing.

#![no_main]

use fencepost_syntax::litmus::{parse, print};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let whole = if text.starts_with("X86") { text.to_owned() } else { format!("X86_64 t\n{{ {text}") };
    let (tree, diagnostics) = parse(&whole);
    assert!(tree.is_some() || !diagnostics.is_empty());
    let Some(tree) = tree else { return };
    let printed = print(&tree);
    let (again, diagnostics) = parse(&printed);
    assert_eq!(again, Some(tree), "{printed}\n{diagnostics:?}");
});

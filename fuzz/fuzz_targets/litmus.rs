//! PTX litmus tests in columns and blocks: no panic, and what parses survives printing. The header is given, so that the
//! fuzzer spends its time behind it; a text that brings its own is taken as it is.

#![no_main]

use fencepost_syntax::litmus::{parse, print};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let whole = if text.starts_with("PTX") { text.to_owned() } else { format!("PTX t\n{{ {text}") };
    let (tree, diagnostics) = parse(&whole);
    assert!(tree.is_some() || !diagnostics.is_empty());
    let Some(tree) = tree else { return };
    let printed = print(&tree);
    let (again, diagnostics) = parse(&printed);
    assert_eq!(again, Some(tree), "{printed}\n{diagnostics:?}");
});

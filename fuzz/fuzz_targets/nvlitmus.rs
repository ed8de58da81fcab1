//! NVLitmus files and templates: no panic, and each instance survives printing.

#![no_main]

use fencepost_syntax::litmus::{parse_named, print};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let (tests, diagnostics) = parse_named("t.test", text);
    assert!(!tests.is_empty() || !diagnostics.is_empty());
    for tree in tests {
        let printed = print(&tree);
        let (again, diagnostics) = parse_named(&format!("{}.test", tree.name.node), &printed);
        assert_eq!(again, [tree], "{printed}\n{diagnostics:?}");
    }
});

//! PTX modules: no panic, and what parses survives printing.

#![no_main]

use fencepost_syntax::ptx::{parse, print};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let (module, diagnostics) = parse(text);
    if diagnostics.is_empty() {
        let printed = print(&module);
        let (again, diagnostics) = parse(&printed);
        assert_eq!(again, module, "{printed}\n{diagnostics:?}");
    }
});

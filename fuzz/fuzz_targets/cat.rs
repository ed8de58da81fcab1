//! cat models: no panic, and what parses without an error survives printing.

#![no_main]

use fencepost_syntax::Diagnostic;
use fencepost_syntax::cat::{parse, print};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let (model, diagnostics) = parse(text);
    if !diagnostics.iter().any(Diagnostic::is_error) {
        let printed = print(&model);
        let (again, diagnostics) = parse(&printed);
        assert_eq!(again, model, "{printed}\n{diagnostics:?}");
    }
});

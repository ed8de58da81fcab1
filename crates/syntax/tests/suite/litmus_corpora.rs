//! Every public litmus test parses without a diagnostic, and prints to a text that parses to the same tree.
#![allow(clippy::print_stderr)]

use crate::common;

use fencepost_syntax::litmus::{Dialect, Layout, Litmus, parse, parse_named, print, template_of};

fn round_trip(name: &str, text: &str) -> Litmus {
    let (tree, diagnostics) = parse(text);
    assert!(diagnostics.is_empty(), "{name}: {diagnostics:#?}");
    let tree = tree.expect("a tree where nothing is wrong");
    let printed = print(&tree);
    let (again, diagnostics) = parse(&printed);
    assert!(diagnostics.is_empty(), "{name}, printed:\n{printed}\n{diagnostics:#?}");
    assert_eq!(Some(&tree), again.as_ref(), "{name}, printed:\n{printed}");
    tree
}

#[test]
fn ptx_columns() {
    let files = common::files("dat3m-ptx", "litmus");
    for (name, text) in &files {
        let tree = round_trip(name, text);
        assert_eq!((tree.layout, tree.dialect), (Layout::Columns, Dialect::Dartagnan), "{name}");
        assert_eq!(tree.questions.len(), 1, "{name}");
        assert!(tree.threads.iter().all(|thread| thread.placement.cta.is_some() && !thread.body.is_empty()), "{name}");
    }
    assert!(files.is_empty() || files.len() == 190);
}

#[test]
fn x86_columns() {
    let files = common::files("dat3m-x86", "litmus");
    for (name, text) in &files {
        let tree = round_trip(name, text);
        assert_eq!(tree.dialect, Dialect::X86, "{name}");
        assert_eq!(tree.questions.len(), 1, "{name}");
        assert!(tree.threads.iter().all(|thread| !thread.body.is_empty()), "{name}");
    }
    assert!(files.is_empty() || files.len() > 200);
}

#[test]
fn nvlitmus_templates() {
    let mut instances = 0;
    let files = common::files("nvlitmus", "test");
    for (name, text) in &files {
        let (tests, diagnostics) = parse_named(name, text);
        assert!(diagnostics.is_empty(), "{name}: {diagnostics:#?}");
        instances += tests.len();
        if let Some(template) = template_of(name, text) {
            let printed = template.print();
            assert_eq!(parse_named(name, &printed).0, tests, "{name}, printed:\n{printed}");
            assert_eq!(template_of(name, &printed), Some(template), "{name}");
        }
        for test in tests {
            assert_eq!(test.questions.len(), 1, "{name}");
            let printed = print(&test);
            let (again, diagnostics) = parse_named(&format!("{}.test", test.name.node), &printed);
            assert!(diagnostics.is_empty(), "{name}, printed:\n{printed}\n{diagnostics:#?}");
            assert_eq!(again, [test], "{name}, printed:\n{printed}");
        }
    }
    // MP_cta_synonym 46, MP_cta 18, CoWR 10, three single ones.
    assert!(files.is_empty() || instances == 46 + 18 + 10 + 3, "{instances}");
}

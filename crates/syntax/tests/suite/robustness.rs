//! Large and hostile texts: an answer in linear time, bounded in number of reports, without a deep stack.

use crate::random;

use fencepost_syntax::{litmus, ptx};
use random::Random;

fn all(text: &str) {
    for name in ["a.litmus", "a.test"] {
        let (tests, diagnostics) = litmus::parse_named(name, text);
        assert!(diagnostics.len() <= 50);
        assert!(!tests.is_empty() || !diagnostics.is_empty());
    }
    let (_, diagnostics) = ptx::parse(text);
    assert!(diagnostics.len() <= 50);
}

#[test]
fn ten_megabytes_of_noise() {
    let mut random = Random(3);
    let bytes: Vec<u8> = (0..10 << 20).map(|_| random.next() as u8).collect();
    let noise = String::from_utf8_lossy(&bytes);
    all(&noise);
    all(&format!("PTX t\n{{}}\nP0 ;\n{noise}"));
    let ascii: String = bytes.iter().map(|byte| char::from(byte % 95 + 32)).collect();
    all(&format!("PTX t\n{{}}\nP0 ;\n{ascii}"));
    all(&ascii);
}

#[test]
fn one_thing_many_times() {
    for piece in [
        ";", "|", "{", "}", "(", "[", "x", "$", "$1", "$$\n", "\"", "(*", "<<", "/*", "\n", "1", "~", "not ", ".",
        "P0 ", "!", "-", "\0", "é",
    ] {
        let text = piece.repeat(30_000);
        all(&text);
        all(&format!("PTX t\n{{}}\nP0 ;\nld r1, {text}"));
        all(&format!("X86 t\n{{{text}"));
        all(&format!("PTX t\n{{}}\nP0 ;\n;exists {text}"));
    }
}

#[test]
fn deep_nesting_is_refused_at_a_place() {
    let depth = 100_000;
    let condition =
        format!("PTX t\n{{}}\nP0 ;\nld.weak r0, x ;\nexists {}x = 1{}", "(".repeat(depth), ")".repeat(depth));
    let (tree, diagnostics) = litmus::parse(&condition);
    assert!(tree.is_none());
    assert_eq!(diagnostics[0].message, "the condition nests deeper than 200 levels");
    let operand = format!(".entry f() {{ mov {}", "{".repeat(depth));
    assert_eq!(ptx::parse(&operand).1[0].message, "operands nest deeper than 200 levels");
    let blocks = format!(".entry f() {}", "{".repeat(depth));
    assert_eq!(ptx::parse(&blocks).1[0].message, "blocks nest deeper than 200 levels");
}

#[test]
fn the_deepest_condition_survives_printing() {
    for depth in 150..=200 {
        let mut condition = "x = 1".to_owned();
        for level in 0..depth {
            condition = format!("({condition} {} x = 2)", if level % 2 == 0 { "/\\" } else { "\\/" });
        }
        let text = format!("PTX t\n{{}}\nP0 ;\nld.weak r0, x ;\nexists {condition}");
        let (Some(tree), _) = litmus::parse(&text) else { continue };
        let printed = litmus::print(&tree);
        assert_eq!(litmus::parse(&printed).0, Some(tree), "depth {depth}");
    }
}

#[test]
fn a_long_test_is_no_trouble() {
    let rows = "ld.relaxed.gpu r0, x | st.weak x, 1 ;\n".repeat(100_000);
    let text = format!("PTX t\n{{}}\nP0 | P1 ;\n{rows}exists (x = 1)");
    let (tree, diagnostics) = litmus::parse(&text);
    assert!(diagnostics.is_empty());
    assert_eq!(tree.map(|tree| tree.threads[1].body.len()), Some(100_000));
}

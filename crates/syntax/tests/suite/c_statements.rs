//! C in litmus tests: what is read, what is printed back, and what is refused where.

#![allow(clippy::panic)]

use fencepost_syntax::litmus::{self, Arch, Statement};
use fencepost_syntax::{Diagnostic, c};

const TEST: &str = r#"C all
{ x = 0; y = 0; }
P0@cta 0, gpu 0 (atomic_int* x, int* y) {
    *y = 1;
    atomic_store_explicit(x, 1, memory_order_release, memory_scope_device);
}
P1@cta 1, gpu 0 (atomic_int* x, int* y) {
    int r0 = 0;
    while (!(r0 == 1)) r0 = atomic_load_explicit(x, memory_order_acquire, memory_scope_device);
    int r1 = (*y + 2) * -3 - -(4);
    if (r1 < 2 && r0 >= 1 || ~r0) { r1 = r1 | 1 & 3; } else if (r1) r1 = 7;
    int e = 0;
    do { e = 0; } while (!atomic_compare_exchange_strong(x, &e, 2));
    for (int i = 0; i < 3; i++) { x[i + 1] = (i << 1) * 2; }
    for (;;) { e -= 1; e >>= 2; --e; }
    for (e = 1; ; ) atomic_store(&x[1], e >> 2 + 1 < 3);
}
exists (1:r0 = 1 /\ 1:r1 != 0)
"#;

fn parsed(text: &str) -> litmus::Litmus {
    let (tree, diagnostics) = litmus::parse(text);
    tree.unwrap_or_else(|| panic!("{diagnostics:#?}\n{text}"))
}

fn errors(body: &str) -> Vec<Diagnostic> {
    let text = format!("C bad\n{{ x = 0; }}\nP0 (atomic_int* x) {{\n{body}\n}}\nexists (x = 0)\n");
    let (tree, diagnostics) = litmus::parse(&text);
    assert!(tree.is_none() || diagnostics.is_empty(), "{body}");
    diagnostics
}

#[test]
fn what_is_printed_reads_the_same() {
    let tree = parsed(TEST);
    assert_eq!(tree.arch, Arch::C);
    let printed = litmus::print(&tree);
    assert_eq!(parsed(&printed), tree, "{printed}");
    assert_eq!(litmus::print(&parsed(&printed)), printed);
}

#[test]
fn operators_bind_as_in_c() {
    let tree = parsed(TEST);
    let Statement::C(statement) = &tree.threads[1].body[2] else { panic!("{:?}", tree.threads[1].body) };
    let mut text = String::new();
    c::print(&statement.node, 0, &mut text);
    assert_eq!(text, "int r1 = (*y + 2) * (-3) - -(4);\n");
    let Statement::C(statement) = &tree.threads[1].body[3] else { panic!("{:?}", tree.threads[1].body) };
    let mut text = String::new();
    c::print(&statement.node, 0, &mut text);
    assert!(text.starts_with("if (r1 < 2 && r0 >= 1 || ~r0) {\n    r1 = r1 | 1 & 3;\n} else {"), "{text}");
}

#[test]
fn mistakes_are_named_at_their_place() {
    for (body, message) in [
        ("float f = 1;", "`float` is not a type"),
        ("3 + 4;", "no effect"),
        ("r0 = ;", "expected an expression"),
        ("if r0 { }", "expected `(`"),
        ("int r0 = 1", "expected `;`"),
        ("atomic_store(x, 1;", "expected"),
        ("f() = 1;", "cannot be assigned"),
    ] {
        let found = errors(body);
        assert!(found.iter().any(|found| found.message.contains(message)), "{body}: {found:#?}");
    }
}

/// C11 6.5.16.2: `*x += 1` of an atomic object is one read-modify-write, so that the way out must be one.
#[test]
fn shorthand_of_an_atomic_object_has_its_function_in_the_help() {
    for (body, help) in [
        ("*x += 1;", "`atomic_fetch_add(x, …)` if `x` is atomic, else `*x = *x + …`"),
        ("(*x)++;", "`atomic_fetch_add(x, 1)`"),
        ("(*x)--;", "`atomic_fetch_sub(x, 1)`"),
        ("*x |= 1;", "`atomic_fetch_or(x, …)`"),
        ("*x &= 1;", "`atomic_fetch_and(x, …)`"),
        ("*x *= 2;", "a loop with atomic_compare_exchange_strong"),
        ("x[1] += 1;", "`atomic_fetch_add(&x[…], …)` if `x` is atomic, else `x[…] = x[…] + …`"),
        ("*x <<= 1;", "a loop with atomic_compare_exchange_strong if `x` is atomic, else `*x = *x << …`"),
    ] {
        let found = errors(body);
        let helps: Vec<&str> = found.iter().filter_map(|found| found.help.as_deref()).collect();
        assert!(helps.iter().any(|found| found.contains(help)), "{body}: {helps:?}");
    }
}

#[test]
fn nesting_has_a_limit() {
    let deep = format!("int r = {}1{};", "(".repeat(5_000), ")".repeat(5_000));
    assert!(errors(&deep).iter().any(|found| found.message.contains("nested deeper")));
    let blocks = format!("{}{}", "if (1) {".repeat(5_000), "}".repeat(5_000));
    assert!(!errors(&blocks).is_empty());
}

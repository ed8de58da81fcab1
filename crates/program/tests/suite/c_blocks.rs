//! C: the scope of variables, the order within an expression, and variables that nothing has written.

use crate::common;

use common::{alone, attempt, program};
use fencepost_program::program::{Condition, Term};
use fencepost_syntax::Diagnostic;

fn test(body: &str, condition: &str) -> String {
    let head = "C t\n{ x = 0; y = 0; d = 0; e = 0; }\nP0 (atomic_int* x, atomic_int* y, int* d, int* e) {";
    format!("{head} {body} }}\nexists ({condition})\n")
}

/// The one thing that is said of the text: where, what, and the help.
fn said(body: &str, condition: &str) -> (String, Diagnostic) {
    let text = test(body, condition);
    let (_, mut diagnostics) = attempt(&text);
    assert_eq!(diagnostics.len(), 1, "{body}: {diagnostics:#?}");
    let found = diagnostics.remove(0);
    (text[found.span.start as usize..found.span.end as usize].to_owned(), found)
}

#[test]
fn an_inner_variable_hides_the_outer_one_and_ends_with_its_block() {
    let body = "int a = 1; if (a == 1) { int a = 5; *d = a; } else { int a = 6; *d = a; } int r0 = a;";
    assert_eq!(alone(&test(body, "0:r0 = 1"))["d"], 5);
    let program = program(&test(body, "0:a = 1"));
    let Condition::Compare { left: Term::Register(_, register), .. } = program.questions[0].condition else {
        unreachable!("{:?}", program.questions[0].condition)
    };
    assert_eq!(program.threads[0].registers[register.index()].name, "a", "the outermost");
}

#[test]
fn a_condition_may_name_the_only_variable_of_that_name() {
    program(&test("if (*d == 1) { int a = 5; *e = a; }", "0:a = 5"));
    let (at, found) = said("if (*d == 1) { int a = 5; *e = a; } else { int a = 6; *e = a; }", "0:a = 5");
    assert!(at == "0:a" && found.message.contains("several blocks of P0 declare `a`"), "{at}: {found:?}");
}

#[test]
fn what_blocks_do_not_allow() {
    let (at, found) = said("int a = 1; int a = 2; *d = a;", "x = 0");
    assert!(at == "a" && found.is_error() && found.message.contains("in this block already"), "{found:?}");
    let (at, found) = said("int c = 1; if (c == 1) { int a = 5; *d = a; } int r0 = a;", "x = 0");
    assert!(at == "a" && found.is_error() && found.message.contains("its block has ended"), "{found:?}");
    // One error, and none about a label of ours.
    let (at, found) = said("int c = 1; if (c == 1) { int x = 3; c = x; }", "x = 0");
    assert!(at == "x" && found.message.contains("is a location already"), "{found:?}");
}

#[test]
fn accesses_without_an_order_are_refused() {
    for (body, second) in [
        ("int r0 = atomic_load(y) * 2 + atomic_load(x);", "atomic_load(x)"),
        ("int r0 = *x - *y;", "*y"),
        ("int r0 = *d + atomic_load(x);", "atomic_load(x)"),
        ("int r0 = (*x && *y) + *d;", "*d"),
        ("atomic_store(x, atomic_load(y) - atomic_load(x));", "atomic_load(x)"),
        ("*d = atomic_fetch_add(x, 1) - atomic_fetch_add(x, 1);", "atomic_fetch_add(x, 1)"),
        ("while (atomic_load(x) == atomic_load(y)) { }", "atomic_load(y)"),
        ("int r0 = 0; r0 = atomic_compare_exchange_strong(x, &r0, 1) + r0;", "r0"),
    ] {
        let (at, found) = said(body, "x = 0");
        assert!(at == second && found.is_error(), "{body}: {at}: {found:?}");
        assert!(found.help.as_deref().is_some_and(|help| help.contains("use two statements")), "{found:?}");
    }
}

#[test]
fn accesses_with_an_order_are_read() {
    for body in [
        "int r0 = *d + *e;",
        "atomic_store(x, atomic_load(y) + 1);",
        "*x = *x + 1;",
        "while (atomic_load(x) == 0 && atomic_load(y) == 0 || *d == 1) { }",
        "int r0 = 0; r0 = atomic_compare_exchange_strong(x, &r0, r0 + 1);",
        "int r0 = 2; int r1 = r0 * atomic_load(x) + r0;",
    ] {
        program(&test(body, "x = 0"));
    }
}

#[test]
fn a_variable_that_nothing_has_written() {
    let (at, found) = said("int a; int r0 = a;", "x = 0");
    assert!(
        at == "int r0 = a;" && !found.is_error() && found.message.contains("`a` is read before"),
        "{at}: {found:?}"
    );
    let (_, found) = said("int a = 1; if (a == 1) { int a; *d = a; }", "x = 0");
    assert!(found.message.starts_with("`a` is read before"), "{found:?}");
    program(&test("int a; if (*d == 1) { a = 1; } int r0 = a;", "x = 0"));
}

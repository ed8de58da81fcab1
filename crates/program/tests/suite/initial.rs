//! Unknown initial values: which cases stand for all of them.

use crate::common;

use common::{attempt, program, unfolded};
use fencepost_program::initial::{Cases, Exactness, cases, unknowns};

/// One thread with these instructions, `x` unknown.
fn test(code: &str, question: &str) -> Cases {
    let text =
        format!("PTX t\n{{ .global .u32 x = ?; .global .u32 y = 0; }}\nP0@cta 0, gpu 0 {{\n{code}\n}}\n{question}\n");
    cases(&program(&text), &unfolded(&text, 2))
}

/// The values that are tried, the unknown one left out.
fn tried(cases: &Cases) -> Vec<i128> {
    let values = cases.cases.iter().map(|case| case.values[0].1);
    values.filter(|value| cases.names.iter().all(|(own, _)| own != value)).map(|value| value.0).collect()
}

const LOAD: &str = "ld.relaxed.gpu.u32 %r1, [x];";

#[test]
fn a_value_that_meets_nothing_is_one_case() {
    let found = test(LOAD, "");
    assert_eq!((found.cases.len(), tried(&found)), (1, vec![]));
    assert_eq!(found.names[0].1, "?x");
    assert_eq!(found.exactness, Exactness::Exact);
}

#[test]
fn constants_it_is_compared_with_are_cases() {
    assert_eq!(tried(&test(LOAD, "exists (P0:%r1 = 5)")), [5]);
    let branch = format!("{LOAD}\nsetp.eq.u32 %p, %r1, 3;\n@%p st.relaxed.gpu.u32 [y], 1;");
    assert_eq!(tried(&test(&branch, "exists (P0:%r1 = 5)")), [3, 5]);
    let copied = format!("{LOAD}\nst.relaxed.gpu.u32 [y], %r1;");
    assert_eq!(tried(&test(&copied, "exists (y = 7)")), [7]);
    let swap = "atom.relaxed.gpu.cas.b32 %r1, [x], 4, 9;";
    assert_eq!(tried(&test(swap, "")), [4]);
}

#[test]
fn values_compared_with_each_other_may_be_any_of_the_program() {
    let code = format!("{LOAD}\nst.relaxed.gpu.u32 [y], 8;\nld.relaxed.gpu.u32 %r2, [y];");
    let found = test(&code, "exists (P0:%r1 = P0:%r2)");
    assert!(tried(&found).contains(&8) && tried(&found).contains(&0));
    assert_eq!(found.exactness, Exactness::Exact);
}

#[test]
fn an_order_has_values_on_both_sides() {
    let found = tried(&test(LOAD, "exists (P0:%r1 < 5)"));
    assert!([4, 5, 6, 0, i128::from(u32::MAX)].iter().all(|value| found.contains(value)), "{found:?}");
}

#[test]
fn what_is_computed_from_it_makes_them_examples() {
    for code in ["atom.relaxed.gpu.add.u32 %r1, [x], 1;", "ld.relaxed.gpu.u16 %rs1, [x];\nld.relaxed.gpu.u32 %r1, [x];"]
    {
        let found = test(code, "exists (P0:%r1 = 5)");
        assert!(matches!(found.exactness, Exactness::Examples { .. }), "{code}");
    }
    let unasked = test(&format!("{LOAD}\nadd.u32 %r2, %r1, 1;"), "exists (P0:%r1 = 5)");
    assert_eq!(unasked.exactness, Exactness::Exact, "nothing looks at the sum");
}

#[test]
fn what_has_no_unknown_value() {
    let text = |declaration: &str, code: &str| format!("PTX t\n{{ {declaration} }}\nP0@cta 0, gpu 0 {{\n{code}\n}}\n");
    let arrive = "mbarrier.arrive.shared::cta.b64 _, [b];";
    assert!(attempt(&text(".shared .mbarrier b = ?;", arrive)).0.is_none());
    let read = format!("ld.shared.u64 %rd1, [b];\n{arrive}");
    let bytes = attempt(&text(".shared .b64 b = ?;", &read)).0.expect("a program");
    assert!(bytes.unsupported.iter().any(|found| found.what.contains("unknown initial value of the mbarrier")));
    let unread = program(&text(".shared .b64 b = ?;", arrive));
    assert!(unread.unsupported.is_empty() && unknowns(&unread).is_empty(), "nobody looks at it");
    let register = attempt(&text("x = 0; P0:%r1 = ?;", "st.u32 [x], %r1;")).0.expect("a program");
    assert!(register.unsupported.iter().any(|found| found.what.contains("a register with an unknown")));
    assert_eq!(unknowns(&program(&text(".shared .b32 s[2] = ?;", "ld.shared.u32 %r1, [s+4];"))).len(), 2);
}

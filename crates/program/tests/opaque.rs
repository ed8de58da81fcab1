//! Values without a model: nothing that is asked may rest on one, and everything else is as if it were any value.

mod common;

use common::{program, ptx};
use fencepost_program::unfold::{UnfoldOptions, unfold};

fn answer(code: &[&str], question: &str) -> String {
    let text = format!("{}{question}\n", ptx(".global .f32 x; .global .u32 y;", code));
    let program = program(&text);
    assert!(program.unsupported.is_empty(), "{text}");
    unfold(&program, &UnfoldOptions::default()).err().map(|error| error.to_string()).unwrap_or_default()
}

const ONE: &str = "0f3F800000";

#[test]
fn what_rests_on_one_has_no_answer() {
    let sum = format!("add.f32 %f1, {ONE}, {ONE};");
    let product = format!("mul.f32 %f2, {ONE}, {ONE};");
    let less = format!("setp.lt.f32 %p1, {ONE}, {ONE};");
    let whole = format!("cvt.rzi.u32.f32 %r1, {ONE};");
    let cases: &[(&[&str], &str)] = &[
        (&[&sum, "st.f32 [x], %f1;"], "exists (x = 1)"),
        (&[&sum], "exists (P0:%f1 = 1)"),
        (&[&less, "@%p1 st.u32 [y], 1;"], "exists (y = 1)"),
        // Two operations are not the same because their operands are.
        (&[&sum, &product, "xor.b32 %r1, %f1, %f2;", "st.u32 [y], %r1;"], "forall (y = 0)"),
        (&[&whole, "bar.sync %r1;", "st.u32 [y], 1;"], "forall (y = 1)"),
        (&["red.relaxed.gpu.global.add.noftz.f16x2 [x], 1;"], "forall (x = 1)"),
        (&["prmt.b32 %r1, 1, 2, 30292;"], "forall (P0:%r1 = 0)"),
    ];
    for (code, question) in cases {
        assert!(answer(code, question).contains("without a model"), "{code:?}");
    }
}

#[test]
fn what_does_not_rest_on_one_is_answered() {
    let sum = format!("add.f32 %f1, {ONE}, {ONE};");
    assert_eq!(answer(&[&sum, "st.f32 [x], %f1;", "st.u32 [y], 1;"], "exists (y = 1)"), "");
    assert_eq!(answer(&[&sum, "xor.b32 %r1, %f1, %f1;", "st.u32 [y], %r1;"], "forall (y = 0)"), "");
}

//! Values without a model: nothing that is asked may rest on one, and everything else is as if it were any value.

use crate::common;

use common::{program, ptx};
use fencepost_program::tag::Tag;
use fencepost_program::unfold::{UnfoldOptions, Unmodelled, unfold};

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

/// What races, hangs or breaks a rule does not rest on the value, so there is something to look at.
#[test]
fn a_question_that_rests_on_one_can_be_noted() {
    let noting = UnfoldOptions { unmodelled: Unmodelled::Noted, ..UnfoldOptions::default() };
    let unfolded = |code: &[&str], question: &str| {
        let program = program(&format!("{}{question}\n", ptx(".global .f32 x; .global .u32 y;", code)));
        let unfolding = unfold(&program, &noting).map_err(|error| error.to_string())?;
        Ok::<bool, String>(unfolding.is_unmodelled(&program.questions[0].condition))
    };
    let sum = format!("add.f32 %f1, {ONE}, {ONE};");
    assert_eq!(unfolded(&[&sum, "st.f32 [x], %f1;"], "exists (x = 1)"), Ok(true));
    assert_eq!(unfolded(&[&sum, "st.f32 [x], %f1;", "st.u32 [y], 1;"], "exists (y = 1)"), Ok(false));
    // What a branch does is what happens.
    let less = format!("setp.lt.f32 %p1, {ONE}, {ONE};");
    assert!(unfolded(&[&less, "@%p1 st.u32 [y], 1;"], "exists (y = 1)").is_err());
    assert!(unfolded(&[&sum, "st.f32 [x], %f1;"], "filter (x = 1)\nexists (y = 1)").is_err());
}

/// PTX ISA 9.7.18.10.10.1: lanes whose bit of `disable-output-lane` is set keep what they held.
#[test]
fn masks_that_are_known_to_be_empty_leave_no_lane_out() {
    let is_opaque = |first: &str| {
        let text = format!(
            "PTX t\n{{ .shared .b64 a[2] = 1; .shared .b64 b[2] = 1; .tmem .b32 d[4] = 0; .global .u32 m = 0; }}\n\
             P0@cta 0, gpu 0 {{\n{first}\n\
             tcgen05.mma.cta_group::1.kind::f16 [d], a, b, 0, {{%z, %z, %z, %z}}, 1;\n}}\nforall (true)\n"
        );
        let unfolding = unfold(&program(&text), &UnfoldOptions::default()).expect("an unfolding");
        unfolding.events.iter().any(|event| event.has(Tag::Opaque))
    };
    assert!(!is_opaque("mov.u32 %z, 0;") && !is_opaque("mov.u32 %y, 3;\nsub.u32 %z, %y, 3;"));
    assert!(is_opaque("mov.u32 %z, 1;") && is_opaque("ld.global.u32 %z, [m];\nst.global.u32 [m], 1;"));
}

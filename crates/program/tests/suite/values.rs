//! Arithmetic: typed wrap-around, atomics' operations, conversions, predicates, and pointers.

use crate::common;

use common::{attempt, program, ptx, unfolded, x86};
use fencepost_program::expression::Expression;
use fencepost_program::unfold::{UnfoldOptions, unfold};
use fencepost_program::unfolding::{EventKind, TraceEnd, Unfolding};
use fencepost_program::value::{Type, Value};

/// The final value of a register of a thread that reads no memory.
fn constant(text: &str, register: &str) -> i128 {
    let program = program(text);
    let index = program.threads[0].registers.iter().position(|known| known.name == register).expect("the register");
    let unfolding = unfolded(text, 1);
    assert_eq!(unfolding.traces.len(), 1, "straight-line code has one trace");
    let value = &unfolding.traces[0].registers[index];
    assert!(matches!(value, Expression::Constant(_)), "{register} is {value:?}");
    value.evaluate(&mut |_| None).expect("a constant").0
}

#[test]
fn registers_compute_in_the_instruction_type() {
    for (code, expected) in [
        ("add.u32 %r1, 4294967295, 2;", 1),
        ("add.s32 %r1, 2147483647, 1;", -2147483648),
        ("sub.u32 %r1, 0, 1;", 4294967295),
        ("mul.lo.u32 %r1, 65536, 65537;", 65536),
        ("mul.wide.u32 %r1, 65536, 65537;", 4295032832),
        ("mul.wide.s32 %r1, 4294967295, 5;", -5),
        ("mad.lo.s32 %r1, 3, 4, 5;", 17),
        ("and.b32 %r1, 12, 10;", 8),
        ("or.b32 %r1, 12, 10;", 14),
        ("xor.b32 %r1, 12, 10;", 6),
        ("not.b32 %r1, 0;", 4294967295),
        ("neg.s32 %r1, 7;", -7),
        ("shl.b32 %r1, 1, 33;", 0),
        ("shr.u32 %r1, -1, 31;", 1),
        ("shr.s32 %r1, -1, 31;", -1),
        ("min.s32 %r1, -1, 1;", -1),
        ("min.u32 %r1, -1, 1;", 1),
        ("max.u32 %r1, -1, 1;", 4294967295),
        ("cvt.s64.s8 %r1, 255;", -1),
        ("cvt.u16.u32 %r1, 65537;", 1),
        ("setp.lt.s32 %r1, -1, 1;", 1),
        ("setp.lt.u32 %r1, -1, 1;", 0),
    ] {
        assert_eq!(constant(&ptx("x = 0;", &[code]), "%r1"), expected, "{code}");
    }
}

#[test]
fn selp_chooses() {
    let code =
        ["setp.eq.u32 %p1, 1, 1;", "selp.u32 %r1, 7, 8, %p1;", "@!%p1 mov.u32 %r1, 9;", "@%p1 add.u32 %r1, %r1, 1;"];
    assert_eq!(constant(&ptx("x = 0;", &code), "%r1"), 8);
}

/// What an atomic on x writes if it reads `old`.
fn written(unfolding: &Unfolding, old: i128) -> i128 {
    let write = unfolding.events.iter().rev().find(|event| event.is_write()).expect("a write");
    let EventKind::Write { value, .. } = &write.kind else { unreachable!("found by is_write") };
    value.evaluate(&mut |_| Some(Value(old))).expect("known").0
}

#[test]
fn atomics_compute_as_the_isa_says() {
    for (operation, operand, old, expected) in [
        ("add.u32", -1, 0, 4294967295),
        ("and.b32", 12, 10, 8),
        ("or.b32", 12, 10, 14),
        ("xor.b32", 12, 10, 6),
        ("exch.b32", 5, 9, 5),
        ("min.s32", -1, 3, -1),
        ("max.u32", -1, 3, 4294967295),
        ("inc.u32", 3, 2, 3),
        ("inc.u32", 3, 3, 0),
        ("dec.u32", 3, 0, 3),
        ("dec.u32", 3, 4, 3),
        ("dec.u32", 3, 2, 1),
    ] {
        let text = ptx("x = 0;", &[&format!("atom.{operation} %r1, [x], {operand};")]);
        assert_eq!(written(&unfolded(&text, 1), old), expected, "{operation} {operand} on {old}");
    }
}

#[test]
fn memory_keeps_the_low_bits() {
    let text = ptx("x = 0;", &["mov.u64 %rd1, 4294967297;", "st.u32 [x], %rd1;"]);
    assert_eq!(written(&unfolded(&text, 1), 0), 1);
}

#[test]
fn conditions_compare_in_the_type_of_what_they_look_at() {
    let program = program(&format!("{}exists (x = -1)\n", ptx("x = 0;", &["st.u32 [x], -1;"])));
    let condition = &program.questions[0].condition;
    assert_eq!(condition.evaluate(&mut |_| Some(Value(4294967295))), Some(true));
}

#[test]
fn arrays_are_elements_with_addresses() {
    let code = ["ld.u32 %r1, [x+4];", "add.u64 %rd2, %rd1, 8;", "st.u32 [%rd2], 1;", "st.u32 [%rd1+12], 1;"];
    let text = ptx(".global .u32 x[4]; P0:%rd1 = x;", &code);
    let unfolding = unfolded(&text, 1);
    let named = |location: Option<fencepost_program::LocationId>| {
        unfolding.locations[location.expect("one").index()].name.to_string()
    };
    let places: Vec<String> =
        unfolding.traces[0].events.iter().map(|event| named(unfolding.event(*event).location())).collect();
    assert_eq!(places, ["x[1]", "x[2]", "x[3]"]);
}

#[test]
fn x86_arithmetic() {
    assert_eq!(constant(&x86(&["MOV EAX,$5", "MOV EBX,EAX", "ADD EBX,$2", "DEC EBX", "XOR EAX,EAX"]), "EBX"), 6);
    assert_eq!(constant(&x86(&["MOV EAX,$2147483647", "INC EAX"]), "EAX"), -2147483648);
}

/// Two types of one size name the same bits: memory has one value for them, in the location's type.
#[test]
fn events_have_the_type_of_their_location() {
    let text = common::ptx(".global .u32 x = 0;", &["st.weak.s32 [x], -1;", "ld.weak.s32 %r1, [x];"]);
    let unfolding = common::unfolded(&text, 2);
    for event in &unfolding.events {
        let (EventKind::Read { ty, .. } | EventKind::Write { ty, .. }) = &event.kind else { continue };
        assert_eq!(*ty, Type::U32);
    }
    let EventKind::Write { value, .. } = &unfolding.events[1].kind else { unreachable!("a write") };
    assert_eq!(value.evaluate(&mut |_| None), Some(Value(0xffff_ffff)));
    let register = unfolding.traces[0].registers.last().expect("a register");
    assert_eq!(register.evaluate(&mut |_| Some(Value(0xffff_ffff))), Some(Value(-1)));
}

/// `selp` between two names: the address is one of them, and no run is cut for being elsewhere.
#[test]
fn a_pointer_chosen_between_names_is_one_of_them() {
    let code =
        ["ld.weak.u32 %r1, [x];", "setp.eq.u32 %p1, %r1, 1;", "selp.u64 %rd1, x, y, %p1;", "ld.weak.u32 %r2, [%rd1];"];
    let unfolding = common::unfolded(&common::ptx("x = 0; y = 0;", &code), 2);
    assert_eq!(unfolding.traces.len(), 2);
    assert!(unfolding.traces.iter().all(|trace| trace.end == TraceEnd::Exit), "{:?}", unfolding.traces);
}

/// What is asked of a register is the bits it holds, in its own type (PTX ISA 9.4.1).
#[test]
fn a_register_has_the_signedness_of_its_declaration() {
    for (declared, wanted) in [(".b32", 4_294_967_293i128), (".u32", 4_294_967_293), (".s32", -3)] {
        for code in ["sub.s32 %d, 2, 5;", "sub.u32 %d, 2, 5;", "mov.b32 %d, -3;", "cvt.s32.s16 %d, -3;"] {
            let unfolding = unfolded(&ptx(&format!(".reg {declared} %d;"), &[code]), 1);
            let value = unfolding.traces[0].registers.first().cloned();
            assert_eq!(value, Some(Expression::constant(wanted)), "{declared}: {code}");
        }
    }
}

#[test]
fn the_size_of_a_warp_has_a_name() {
    let unfolding = unfolded(&ptx(".reg .u32 %d;", &["mov.u32 %d, WARP_SZ;"]), 1);
    assert_eq!(unfolding.traces[0].registers[0], Expression::constant(32));
}

#[test]
fn a_cache_policy_is_no_operand_of_an_atomic() {
    let declared = ".global .u32 g; .reg .b64 %pol; P0:%pol = 0; .reg .u32 %r1;";
    for code in [
        "atom.global.add.L2::cache_hint.u32 %r1, [g], 1, %pol;",
        "atom.global.cas.L2::cache_hint.b32 %r1, [g], 1, 2, %pol;",
        "red.global.add.L2::cache_hint.u32 [g], 1, %pol;",
    ] {
        assert!(program(&ptx(declared, &[code])).unsupported.is_empty(), "{code}");
    }
    let (refused, _) = attempt(&ptx(declared, &["atom.global.add.u32 %r1, [g], 1, %pol;"]));
    assert!(refused.is_none(), "a policy without its word");
}

#[test]
fn no_more_than_the_copy_is_read() {
    let declared = ".global .u32 g[4]; .shared .u32 s[4]; P0:%n = 8;";
    let (refused, diagnostics) = attempt(&ptx(declared, &["cp.async.ca.shared.global [s], [g], 4, 8;"]));
    assert!(refused.is_none() && diagnostics[0].message.contains("cannot read 8"), "{diagnostics:?}");
    let text = ptx(declared, &["cp.async.ca.shared.global [s], [g], 4, %n;"]);
    assert!(unfold(&program(&text), &UnfoldOptions::default()).is_err(), "undefined when it is executed");
}

/// Of the same bits a signed and an unsigned number may be two: a comparison of terms of both kinds has no answer.
#[test]
fn terms_of_two_signs_are_not_compared() {
    let compared = |other: &str| {
        let declared = format!(".reg .b32 %r1; .reg {other} %r2;");
        let text =
            format!("{}exists (P0:%r1 = P0:%r2)\n", ptx(&declared, &["sub.s32 %r1, 2, 5;", "mov.b32 %r2, %r1;"]));
        program(&text).unsupported.len()
    };
    assert_eq!((compared(".u32"), compared(".b32"), compared(".s32")), (0, 0, 1));
}

//! Accesses of several sizes: how memory is cut, what goes where, and that nothing is cut without need.

use crate::common;

use common::{alone, attempt, program, ptx, unfolded};
use fencepost_program::program::{Feature, Program};
use fencepost_program::unfolding::{TraceEnd, Unfolding};

fn locations(program: &Program) -> Vec<&str> {
    program.locations.iter().map(|location| location.name.as_str()).collect()
}

fn spans(program: &Program) -> bool {
    program.features.iter().any(|feature| feature.node == Feature::Span)
}

#[test]
fn a_variable_of_one_size_is_one_location() {
    for (declarations, code, expected) in [
        ("x = 0;", "st.u64 [x], 1;", vec!["x"]),
        (".global .u32 x[3];", "st.u32 [x+4], 1;", vec!["x[0]", "x[1]", "x[2]"]),
        (".global .u32 x[3]; P0:%rd1 = x;", "st.u32 [%rd1+4], 1;", vec!["x[0]", "x[1]", "x[2]"]),
        (".global .u64 p; .global .u32 x; P0:%rd1 = x;", "st.u32 [%rd1], 1;\nst.u64 [p], 1;", vec!["p", "x"]),
    ] {
        let program = program(&ptx(declarations, &[code]));
        assert_eq!(locations(&program), expected, "{code}");
        assert!(!spans(&program), "{code}");
    }
}

#[test]
fn memory_is_cut_where_accesses_begin_and_end() {
    let program = program(&ptx(".global .u64 x;", &["st.u64 [x], 1;", "ld.u16 %r1, [x+2];"]));
    assert_eq!(locations(&program), ["x+0", "x+2", "x+4"]);
    assert!(spans(&program));
    let bytes: Vec<u32> = program.locations.iter().map(|location| location.bytes).collect();
    assert_eq!(bytes, [2, 2, 4]);
    let values: Vec<i128> = program.addresses.iter().rev().take(3).rev().map(|address| address.value.0).collect();
    assert_eq!([values[1] - values[0], values[2] - values[0]], [2, 4]);
}

#[test]
fn a_register_is_followed_to_the_bytes_it_points_to() {
    let declarations = ".shared .align 128 .b8 smem[64];";
    let code = ["mov.u32 %r1, smem;", "st.shared.b64 [%r1], 1;", "ld.shared.u32 %r2, [%r1+16];"];
    assert_eq!(locations(&program(&ptx(declarations, &code))), ["smem+0", "smem+8", "smem+16", "smem+20"]);
    let unknown = ["ld.global.u32 %r3, [y];", "mov.u32 %r1, x;", "add.u32 %r1, %r1, %r3;", "st.u16 [%r1], 1;"];
    let found = program(&ptx(".global .u64 x; .global .u32 y;", &unknown));
    assert_eq!(locations(&found), ["x+0", "x+2", "x+4", "x+6", "y"], "any multiple of the size");
}

#[test]
fn values_are_split_and_joined_little_endian() {
    let code = ["st.u64 [x], 0x1122334455667788;", "ld.u16 %r1, [x+2];", "st.u8 [x+7], 255;", "ld.u64 %rd1, [x];"];
    let found = alone(&ptx(".global .u64 x;", &code));
    assert_eq!(found["%r1"], 0x5566);
    assert_eq!(found["%rd1"], 0xff22_3344_5566_7788_u64.into());
    assert_eq!(found["x+7"], 255);
    let signed = ["ld.u8 %r2, [x];", "ld.s32 %r1, [x];", "ld.s8 %r3, [x];"];
    let found = alone(&ptx(".global .s32 x = -2;", &signed));
    assert_eq!((found["%r1"], found["%r2"], found["%r3"]), (-2, 254, -2));
}

#[test]
fn initial_values_are_split_too() {
    let found = alone(&ptx(".global .u32 x[2] = 258;", &["ld.u8 %r1, [x+1];", "ld.u64 %rd1, [x];"]));
    assert_eq!((found["%r1"], found["%rd1"]), (1, 258 << 32 | 258));
    let found = alone(&ptx("x = -1;", &["ld.u32 %r1, [x];", "ld.u64 %rd1, [x];"]));
    assert_eq!((found["%r1"], found["%rd1"]), (0xffff_ffff, u64::MAX.into()));
}

#[test]
fn a_read_modify_write_is_a_pair_per_location() {
    let code = ["atom.add.u64 %rd1, [x], 0xffffffff;", "ld.u32 %r1, [x+4];", "atom.exch.b128 %rq1, [y], %rd1;"];
    let text = ptx(".global .u64 x = 1; .global .b128 y;", &code);
    let found = alone(&text);
    assert_eq!((found["%rd1"], found["%r1"], found["y"]), (1, 1, 1));
    let unfolding = unfolded(&text, 1);
    let pairs: Vec<_> = unfolding.events.iter().filter_map(|event| event.rmw_partner).collect();
    assert_eq!(pairs.len(), 6, "two of x's parts and one of y");
    let failing = ["atom.cas.b64 %rd1, [x], 5, 6;", "ld.u32 %r1, [x];"];
    let unfolding = unfolded(&ptx(".global .u64 x = 5;", &failing), 1);
    assert_eq!(unfolding.traces.len(), 2);
}

fn ordered(unfolding: &Unfolding) -> Vec<(usize, usize)> {
    let events = &unfolding.traces[0].events;
    let pairs = (0..events.len()).flat_map(|a| (0..events.len()).map(move |b| (a, b)));
    pairs.filter(|(a, b)| unfolding.is_po(events[*a], events[*b])).collect()
}

#[test]
fn the_parts_of_one_operation_are_in_no_order() {
    let unfolding = unfolded(&ptx(".global .u64 x;", &["ld.u32 %r1, [x];", "ld.u64 %rd1, [x];"]), 1);
    assert_eq!(ordered(&unfolding), [(0, 1), (0, 2)]);
    let whole = unfolding.event(unfolding.traces[0].events[1]);
    let extent = whole.extent.expect("it spans two");
    assert_eq!((extent.operation, extent.count), (unfolding.traces[0].events[1], 2));
    let atom = unfolded(&ptx(".global .u64 x;", &["ld.u32 %r1, [x];", "atom.inc.u64 %rd1, [x], 9;"]), 1);
    assert_eq!(ordered(&atom).len(), 4 + 4, "the load before all; both reads before both writes");
}

#[test]
fn conditions_look_at_the_whole() {
    let text = |condition: &str| {
        ptx(".global .u64 x = 4294967297;", &["ld.u32 %r1, [x];"]) + &format!("exists ({condition})\n")
    };
    let holds = |condition: &str| {
        let program = program(&text(condition));
        let state: Vec<_> = program.locations.iter().map(|location| location.initial).collect();
        let mut value = |term: &fencepost_program::program::Term| match term {
            fencepost_program::program::Term::Memory(location) => Some(state[location.index()]),
            _ => None,
        };
        program.questions[0].condition.evaluate(&mut value)
    };
    for (condition, expected) in [
        ("x = 4294967297", true),
        ("x = 1", false),
        ("x != 4294967297", false),
        ("x > 4294967296", true),
        ("x > 4294967297", false),
        ("x >= 4294967297", true),
        ("x < 8589934592", true),
        ("x <= 1", false),
        ("4294967297 = x", true),
        ("2 < x", true),
    ] {
        assert_eq!(holds(condition), Some(expected), "{condition}");
    }
    let wide = attempt(&text("x = 36893488147419103232")).1;
    assert!(wide[0].message.contains("does not fit"), "{}", wide[0].message);
}

#[test]
fn an_element_of_a_cut_array_has_its_name() {
    let program = program(&ptx(".shared .u16 s[4];", &["st.shared.u32 [s], 1;", "ld.shared.u16 %r1, [s];"]));
    assert_eq!(locations(&program), ["s[0]", "s[1]", "s+4"]);
    let asked = ptx(".shared .u16 s[4];", &["st.shared.u32 [s], 1;"]) + "exists (s[3] = 0)\n";
    assert_eq!(locations(&common::program(&asked)), ["s+0", "s[2]", "s[3]"]);
}

#[test]
fn a_pointer_that_may_not_fit_is_not_taken_for_one_that_does() {
    let declarations = ".global .u32 y; .global .u32 x; .global .u32 z;";
    let code = [
        "ld.u32 %r1, [z];",
        "setp.eq.u32 %p1, %r1, 1;",
        "mov.u64 %rd1, x;",
        "mov.u64 %rd2, y;",
        "add.u64 %rd2, %rd2, 2;",
        "selp.u64 %rd3, %rd1, %rd2, %p1;",
        "ld.u32 %r2, [%rd3];",
    ];
    let unfolding = unfolded(&ptx(declarations, &code), 1);
    let ends: Vec<_> = unfolding.traces.iter().map(|trace| (&trace.end, trace.constraints.len())).collect();
    let wild = ends.iter().filter(|(end, _)| matches!(end, TraceEnd::Wild { .. })).count();
    let exits: Vec<_> = ends.iter().filter(|(end, _)| **end == TraceEnd::Exit).collect();
    assert_eq!((wild, exits.len()), (1, 1));
    assert!(exits[0].1 > 0, "only where the predicate holds");
}

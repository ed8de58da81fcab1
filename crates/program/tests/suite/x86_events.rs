//! x86 instructions as events: what is atomic, what is a fence, and how flags reach jumps.

use crate::common;

use common::{tags_of, unfolded, x86};
use fencepost_program::unfolding::TraceEnd;

/// All of them are events of x86.
fn check(code: &[&str], expected: &[&str]) {
    let of_x86 = |tags: &&str| match tags.strip_prefix("F ") {
        Some(kind) => format!("F X86 {kind}"),
        None => format!("{tags} X86"),
    };
    let expected: Vec<String> = expected.iter().map(of_x86).collect();
    assert_eq!(tags_of(&unfolded(&x86(code), 1)), expected, "{code:?}");
}

#[test]
fn moves_and_fences() {
    check(&["MOV EAX,[x]"], &["R"]);
    check(&["MOV [x],$1"], &["W"]);
    check(&["MOV EAX,$1", "MOV EBX,EAX"], &[]);
    check(&["MFENCE", "SFENCE", "LFENCE"], &["F MFENCE", "F SFENCE", "F LFENCE"]);
}

#[test]
fn xchg_is_always_locked() {
    check(&["XCHG [x],EAX"], &["R A", "W A"]);
    check(&["XCHG EAX,[x]"], &["R A", "W A"]);
    check(&["XCHG EAX,EBX"], &[]);
}

#[test]
fn only_lock_makes_other_read_modify_writes_atomic() {
    for code in [
        "add [x],$1",
        "sub [x],$1",
        "and [x],$1",
        "or [x],$1",
        "xor [x],$1",
        "inc [x]",
        "dec [x]",
        "not [x]",
        "neg [x]",
        "xadd [x],EBX",
    ] {
        check(&[&format!("lock {code}")], &["R A", "W A"]);
        check(&[code], &["R", "W"]);
    }
    check(&["cmpxchg [x],EBX"], &["R", "W"]);
}

#[test]
fn a_locked_cmpxchg_writes_either_way() {
    check(&["lock cmpxchg [x],EBX"], &["R A", "W A", "R A", "W A"]);
}

#[test]
fn compare_and_jump() {
    let code = ["MOV EAX,[x]", "CMP EAX,$1", "JE L0", "MOV [y],$1", "L0:"];
    let unfolding = unfolded(&x86(&code), 1);
    assert_eq!(unfolding.traces.len(), 2);
    let constant = ["MOV EAX,$1", "CMP EAX,$1", "JNE L0", "MOV [y],$1", "L0:"];
    assert_eq!(unfolded(&x86(&constant), 1).traces.len(), 1);
}

#[test]
fn a_cmpxchg_lock_spins() {
    let code = ["MOV EBX,$1", "L0:", "MOV EAX,$0", "lock cmpxchg [x],EBX", "JNE L0"];
    let text = format!("{}exists (x = 1)\n", x86(&code));
    let unfolding = unfolded(&text, 3);
    let mut ends: Vec<&str> = (unfolding.traces.iter())
        .map(|trace| match trace.end {
            TraceEnd::Exit => "exit",
            TraceEnd::Spin { .. } => "spin",
            _ => "other",
        })
        .collect();
    ends.sort_unstable();
    assert_eq!(ends, ["exit", "spin"]);
}

#[test]
fn widths_come_from_registers_suffixes_and_declarations() {
    for code in [&["MOV RAX,[x]", "movq [x],$1"][..], &["MOV EAX,[x]", "MOV [x],$1"]] {
        assert!(common::program(&x86(code)).unsupported.is_empty(), "{code:?}");
    }
    let mixed = common::program(&x86(&["MOV RAX,[x]", "MOV [x],$1"]));
    assert_eq!(mixed.unsupported.len(), 1, "a width is not guessed from other instructions");
}

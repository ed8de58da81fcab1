//! What is usable but hardly meant: a warning at the place, and the program stands.

use crate::common;

use common::{attempt, dartagnan, ptx, x86};
use fencepost_syntax::Diagnostic;

/// The text at each warning, with its message and help.
fn warnings(text: &str) -> Vec<(String, String, String)> {
    let (program, diagnostics) = attempt(text);
    assert!(program.is_some(), "{diagnostics:?}");
    let show = |warning: &Diagnostic| {
        assert!(!warning.is_error(), "{warning:?}");
        let at = &text[warning.span.start as usize..warning.span.end as usize];
        (at.to_string(), warning.message.clone(), warning.help.clone().unwrap_or_default())
    };
    diagnostics.iter().map(show).collect()
}

fn one(text: &str) -> (String, String, String) {
    let mut found = warnings(text);
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

#[test]
fn a_location_that_nothing_declares() {
    let (at, message, help) = one(&ptx("data = 0; flag = 0;", &["st.u32 [data], 1;", "st.u32 [falg], 1;"]));
    assert_eq!((at.as_str(), help.as_str()), ("[falg]", "did you mean `flag`?"));
    assert!(message.contains("`falg` is not declared"), "{message}");
    let (_, _, help) = one(&ptx("x = 0;", &["st.u32 [y], 1;", "ld.u32 %r1, [y];"]));
    assert!(help.contains("declare it: `y = 0;`"), "{help}");
}

#[test]
fn other_notations_and_empty_declarations_leave_locations_out() {
    assert_eq!(warnings(&ptx("", &["st.u32 [y], 1;"])), []);
    assert_eq!(warnings(&dartagnan(&["st.weak z, 1"])), []);
    assert_eq!(warnings(&x86(&["MOV [z],$1"])), []);
}

#[test]
fn a_thread_without_a_cta_beside_others() {
    let test =
        |second: &str| format!("PTX t\n{{ x = 0; }}\n P0@cta 1,gpu 0 | {second} ;\n st.weak x, 1 | st.weak x, 1 ;\n");
    let (at, message, _) = one(&test("P1"));
    assert!(at == "P1" && message.contains("taken as CTA 0"), "{at}: {message}");
    assert_eq!(warnings(&test("P1@cta 0,gpu 0")), []);
    assert_eq!(warnings("PTX t\n{ x = 0; }\n P0 | P1 ;\n st.weak x, 1 | st.weak x, 1 ;\n"), []);
}

#[test]
fn a_register_that_nothing_has_written() {
    let (at, message, help) = one(&ptx("x = 0;", &["st.u32 [x], %r1;", "st.u32 [x], %r1;"]));
    assert!(at.starts_with("st.u32 [x]") && message.contains("`%r1` is read before"), "{at}: {message}");
    assert!(help.contains("P0:%r1 = 0;"), "{help}");
    let guard = one(&ptx("x = 0;", &["@%p1 st.u32 [x], 1;", "setp.eq.u32 %p1, 1, 1;"]));
    assert!(guard.1.contains("`%p1`"), "{guard:?}");
}

#[test]
fn a_register_that_some_way_writes_is_none() {
    for code in [
        &["@%p1 mov.u32 %r1, 1;", "st.u32 [x], %r1;"][..],
        &["bra L2;", "L1:", "st.u32 [x], %r1;", "ret;", "L2:", "mov.u32 %r1, 1;", "bra L1;"],
        &["mov.u32 %r1, %tid.x;", "st.u32 [x], %r1;"],
        &["ret;", "st.u32 [x], %r1;"],
    ] {
        assert_eq!(warnings(&ptx("x = 0; P0:%p1 = 1;", code)), [], "{code:?}");
    }
    assert_eq!(warnings(&ptx("x = 0; P0:%r1 = 7;", &["st.u32 [x], %r1;"])), []);
    assert_eq!(warnings(&dartagnan(&["st.weak x, r1"])), []);
}

/// PTX ISA 4.5.1: an immediate is brought to the size of the instruction's type.
#[test]
fn an_immediate_that_is_cut_off() {
    for code in ["st.u32 [x], 4294967301;", "atom.add.u32 %r1, [x], 4294967301;", "mov.u32 %r1, 4294967301;"] {
        let (at, message, help) = one(&ptx("x = 0;", &[code]));
        assert_eq!(at, "4294967301", "{code}");
        assert!(message.contains("its low bits are 5") && help.contains("write 5"), "{message} {help}");
    }
    for code in ["st.u32 [x], -1;", "st.u32 [x], 4294967295;", "mad.wide.u32 %rd1, 2, 3, 4294967301;"] {
        assert_eq!(warnings(&ptx("x = 0;", &[code])), [], "{code}");
    }
}

/// Every thread has every register, and herd says 0.
#[test]
fn a_register_of_x86_that_only_the_condition_names() {
    let text = "X86_64 t\n{ }\n P0 ;\n movl $1,(x) ;\nforall (0:rbx=0)\n";
    let (_, message, _) = one(text);
    assert!(message.contains("P0 does not use the register `RBX`: it is 0"), "{message}");
    let (program, _) = attempt(&text.replace("rbx", "rbq"));
    assert!(program.is_none());
}

/// As diy writes them: the type says no more than the name.
#[test]
fn registers_of_x86_with_a_type() {
    let text = "X86_64 t\n{ uint64_t x; uint64_t 0:rax; int64_t 0:rcx = 2; }\n P0 ;\n movq (x),%rax ;\n movq %rcx,(x) ;\n\
                exists (0:rax=0)\n";
    assert_eq!(warnings(text), []);
    let (program, _) = attempt(text);
    assert!(program.is_some_and(|program| program.unsupported.is_empty()));
    let (program, _) = attempt(&text.replace("uint64_t 0:rax", "foo_t 0:rax"));
    assert!(program.is_some_and(|program| program.unsupported.len() == 1));
}

/// The other dialects write names; PTX has brackets.
#[test]
fn an_address_without_brackets() {
    let found = |text: &str| -> Vec<String> { attempt(text).1.into_iter().map(|fault| fault.message).collect() };
    let declared = ".global .u32 x = 0;";
    assert_eq!(
        found(&ptx(declared, &["ld.relaxed.gpu.u32 %r1, x;"])),
        ["PTX writes the address of an access in brackets"]
    );
    assert_eq!(found(&ptx(declared, &["ld.relaxed.gpu.u32 %r1, [x];"])), [""; 0]);
    assert_eq!(found("PTX t\n{ x = 0; }\nP0@cta 0,gpu 0 ;\nld.weak r0, x ;\nexists (P0:r0 = 0)\n"), [""; 0]);
}

#[test]
fn an_undeclared_mbarrier_is_declared_as_one() {
    let wait = ["mov.u32 %a, empty;", "add.u32 %a, %a, 8;", "mbarrier.try_wait.parity.shared.b64 %p, [%a], 0;"];
    for code in [&wait[..], &["mbarrier.arrive.shared.b64 _, [empty];"]] {
        let (_, message, help) = one(&ptx("x = 0;", code));
        assert!(message.contains("`empty` is not declared"), "{message}");
        assert_eq!(help, "if it is meant, declare it: `.shared .mbarrier empty = 1;`");
    }
}

#[test]
fn a_register_without_its_percent_sign() {
    let guard = ["ld.u32 %r1, [x];", "setp.eq.u32 %p, %r1, 0;", "@!p st.u32 [x], 1;"];
    let (_, message, help) = one(&ptx("x = 0;", &guard));
    assert!(message.contains("`p` is read before"), "{message}");
    assert_eq!(help, "did you mean `%p`?");
    let (_, message, help) = one(&ptx("x = 0;", &["mov.u32 d, 1;", "st.u32 [x], %d;"]));
    assert!(message.contains("`%d` is read before"), "{message}");
    assert_eq!(help, "`d`, without `%`, is another register of P0: did you mean `%d` there?");
}

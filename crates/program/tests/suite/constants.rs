//! Numbers of the text and the widths of what they are compared with or put into: none is cut off in silence.

use crate::common;

use common::{attempt, dartagnan, program, ptx, x86};
use fencepost_program::program::Initial;
use fencepost_program::value::Value;

fn error(text: &str) -> (String, String, String) {
    let (program, diagnostics) = attempt(text);
    assert!(program.is_none(), "{text}");
    let fault = diagnostics.iter().find(|found| found.is_error()).expect("an error");
    let at = &text[fault.span.start as usize..fault.span.end as usize];
    (at.to_string(), fault.message.clone(), fault.help.clone().unwrap_or_default())
}

/// Whether the question's condition holds if every term has this value.
fn holds(text: &str, value: i128) -> Option<bool> {
    program(text).questions[0].condition.evaluate(&mut |_| Some(Value(value)))
}

fn asks(condition: &str) -> String {
    format!("{}exists ({condition})\n", ptx("x = 0; .global .s32 z = 0;", &["st.weak.u32 [x], 5;", "ld.u32 %r1, [x];"]))
}

#[test]
fn a_condition_cannot_name_what_does_not_fit() {
    for (condition, whose) in [
        ("x = 4294967301", "`x`"),
        ("4294967301 = x", "`x`"),
        ("~(x != 4294967301)", "`x`"),
        ("x < 4294967301", "`x`"),
        ("P0:%r1 = 4294967301", "`P0:%r1`"),
    ] {
        let (at, message, help) = error(&asks(condition));
        assert_eq!(at, "4294967301", "{condition}");
        assert_eq!(message, format!("4294967301 does not fit the 32 bits of {whose}"));
        assert_eq!(help, "integers from -2147483648 to 4294967295 do");
    }
    assert_eq!(error(&asks("x = -2147483649")).0, "-2147483649");
    let filter = asks("x = 5").replace("exists", "filter (x = 4294967301)\nexists");
    assert_eq!(error(&filter).0, "4294967301");
    let wide = format!("{}exists (0:EAX = 4294967301)\n", x86(&["MOV EAX,[x]"]));
    assert_eq!(error(&wide).1, "4294967301 does not fit the 32 bits of `P0:EAX`");
}

#[test]
fn both_readings_of_the_bits_are_equal() {
    for condition in ["x = -1", "x = 4294967295", "x != 5"] {
        assert_eq!(holds(&asks(condition), 4294967295), Some(true), "{condition}");
    }
    assert_eq!(holds(&asks("z = 4294967295"), -1), Some(true));
    assert_eq!(holds(&asks("5 = x"), 5), Some(true), "a number beside a location is no address");
}

/// The value is that of its type, the constant is the integer it is: 5 is above -1 and below 2^32-1 in any type.
#[test]
fn an_order_compares_integers() {
    assert_eq!(holds(&asks("x > -1"), 5), Some(true));
    assert_eq!(holds(&asks("x < -1"), 5), Some(false));
    assert_eq!(holds(&asks("z < 4294967295"), 5), Some(true));
    assert_eq!(holds(&asks("z >= 4294967295"), -1), Some(false));
}

#[test]
fn untyped_integers_are_unbounded() {
    let text = format!("{}exists (x = 99999999999999999999)\n", dartagnan(&["st.weak x, 99999999999999999999"]));
    assert_eq!(holds(&text, 99999999999999999999), Some(true));
}

#[test]
fn an_initial_value_must_fit() {
    let (at, message, _) = error(&ptx("x = 99999999999999999999;", &["st.u32 [x], 1;"]));
    assert_eq!(
        (at.as_str(), message.as_str()),
        ("99999999999999999999", "99999999999999999999 does not fit the 32 bits of `x`")
    );
    assert_eq!(error(&ptx(".global .u8 x = 256;", &["st.u8 [x], 1;"])).0, "256");
    assert_eq!(error(&ptx("x = 0; P0:%r1 = 4294967296;", &["add.u32 %r1, %r1, 1;"])).0, "4294967296");
    let negative = program(&ptx("x = -1; P0:%r1 = -1;", &["st.u32 [x], 1;", "add.u32 %r1, %r1, 1;"]));
    assert_eq!(negative.locations[0].initial, Value(4294967295));
    assert_eq!(negative.threads[0].registers[0].initial, Initial::Value(Value(4294967295)));
}

#[test]
fn an_x86_immediate_must_fit() {
    for code in ["MOV [x],$4294967301", "MOV EAX,$4294967301", "CMP EAX,$4294967301", "lock add [x],$4294967301"] {
        assert_eq!(error(&x86(&[code])).0.trim_start_matches('$'), "4294967301", "{code}");
    }
    program(&x86(&["MOV EAX,$4294967295"]));
    program(&x86(&["MOV RAX,$4294967301"]));
}

#[test]
fn nvlitmus_cannot_assume_what_does_not_fit() {
    let text =
        |value: &str| format!(".global x;\nd0.b0.t0 {{\n  ld.u32 r1, [x] == {value};\n}}\npermit (r1 == 1) as a;\n");
    let (_, message, _) = error(&text("4294967301"));
    assert!(message.contains("does not fit the 32 bits"), "{message}");
    program(&text("1"));
}

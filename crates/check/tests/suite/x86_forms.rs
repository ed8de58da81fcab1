//! Forms of x86 that herd's grammar reads: parts of registers, conditions, addresses into arrays, symbolic registers. The
//! values are those that the instructions leave on hardware.

use fencepost_check::{Models, Options, check, load};
use fencepost_syntax::{Source, litmus};

fn verdict(text: &str) -> String {
    let (tests, diagnostics) = load(&Source::new("t.litmus", text));
    assert!(tests.len() == 1, "{text}\n{diagnostics:?}");
    let report = check(&tests[0], &Models::shipped("x86-tso").expect("a model"), &Options::default()).report;
    // What is printed is the same test.
    let tree = litmus::parse(text).0.expect("a test");
    let printed = litmus::print(&tree);
    assert_eq!(litmus::parse(&printed).0, Some(tree), "{printed}");
    match report.unsupported.first() {
        Some(first) => format!("{}: {}", report.verdict.word(), first.what),
        None => report.verdict.word().to_owned(),
    }
}

/// One thread, in AT&T's order.
fn one(braces: &str, code: &[&str], question: &str) -> String {
    verdict(&format!("X86_64 t\n{{ {braces} }}\n P0 ;\n {} ;\n{question}\n", code.join(" ;\n ")))
}

#[test]
fn parts_of_registers() {
    let start = "0:rax = 0x1122334455667788; int64_t x;";
    let cases: &[(&[&str], &str)] = &[
        (&["movb $0, %al", "movq %rax, (x)"], "0x1122334455667700"),
        (&["movb $0, %ah", "movq %rax, (x)"], "0x1122334455660088"),
        (&["movw $-1, %ax", "movq %rax, (x)"], "0x112233445566ffff"),
        (&["movl $-1, %eax", "movq %rax, (x)"], "0xffffffff"),
        (&["xchgb %al, %ah", "movq %rax, (x)"], "0x1122334455668877"),
        (&["movsbl %al, %ecx", "movslq %ecx, %rcx", "movq %rcx, (x)"], "-120"),
        (&["movzbl %ah, %ecx", "movq %rcx, (x)"], "0x77"),
        (&["shll $4, %eax", "movq %rax, (x)"], "0x56677880"),
        (&["sarb $1, %al", "movq %rax, (x)"], "0x11223344556677c4"),
        (&["movb $33, %cl", "shrl %cl, %eax", "movq %rax, (x)"], "0x2ab33bc4"),
    ];
    for (code, left) in cases {
        assert_eq!(one(start, code, &format!("forall (x = {left})")), "Holds", "{code:?}");
    }
    let asked =
        "forall (0:al = 0 /\\ 0:ah = 0x77 /\\ 0:ax = 0x7700 /\\ 0:eax = 0x55667700 /\\ 0:rax = 0x1122334455667700)";
    assert_eq!(one(start, &["movb $0, %al", "movq %rax, (x)"], asked), "Holds");
}

/// A name in a condition says how many bits are meant: a write of 32 bits clears the upper half, one of fewer leaves the
/// other bits (SDM vol. 1, 3.4.1.1), and a part of a longer register is its low bits.
#[test]
fn conditions_name_widths() {
    let holds: &[(&str, &[&str], &str)] = &[
        ("", &["movl $-1, %eax"], "0:rax = 4294967295 /\\ 0:eax = -1 /\\ 0:ax = -1 /\\ 0:al = -1 /\\ 0:ah = -1"),
        ("", &["movl $-1, %eax"], "0:rax > 0 /\\ 0:eax < 0 /\\ not (0:rax = -1)"),
        ("", &["movl $-1, %r8d"], "0:r8 = 4294967295"),
        ("", &["movq $-1, %rax"], "0:rax = -1"),
        ("", &["movq $-1, %rax"], "0:eax = -1 /\\ 0:rax < 0"),
        ("", &["movq $0x100000001, %rax"], "0:eax = 1"),
        ("", &["movb $-1, %al"], "0:eax = 255 /\\ 0:rax = 255 /\\ 0:al = -1"),
        ("0:rax = 0x1122334455667788;", &["movb $-1, %al"], "0:eax = 0x556677ff"),
        ("0:eax = -1;", &["movl %eax, %ebx"], "0:rax = 4294967295 /\\ 0:ebx = -1 /\\ 0:rbx = 4294967295"),
        ("0:rax = -1;", &["movl %eax, %ebx"], "0:rax = -1 /\\ 0:rbx = 4294967295"),
        ("0:ah = 2;", &["movb $1, %al"], "0:ax = 0x201"),
        ("0:rbx = -1;", &["movl $-1, %ecx"], "not (0:rbx = 0:rcx)"),
        ("0:rbx = -1;", &["movl $-1, %ecx", "movl %ebx, %edx"], "0:rdx = 0:rcx /\\ 0:edx = 0:ecx"),
        ("x = -1;", &["movl (x), %eax", "ret", "movl $0, %eax"], "0:rax = 4294967295 /\\ 0:ax = -1"),
        ("x = -1;", &["movl $1, %ebx", "lock cmpxchgl %ebx, (x)"], "0:rax = 4294967295 /\\ x = -1"),
        ("x = -1;", &["movl $-1, %eax", "xchgl %eax, (x)"], "0:rax = 4294967295"),
        ("x = 1;", &["L:", "movl (x), %eax", "cmpl $1, %eax", "jne L"], "0:rax = 1 /\\ 0:al = 1"),
    ];
    for (start, code, question) in holds {
        assert_eq!(one(start, code, &format!("forall ({question})")), "Holds", "{code:?} {question}");
    }
    assert_eq!(one("", &["movl $-1, %eax"], "exists (0:rax = -1)"), "Violated");
    // Whether a comparison that holds clears the upper half is not documented.
    let beside = ["movq $-1, %rax", "movl $1, %ebx", "lock cmpxchgl %ebx, (x)"];
    assert_eq!(one("x = 0;", &beside, "forall (0:eax = 0)"), "Unknown: `cmpxchg` beside several widths of `EAX`");
}

/// The parts of a location that all accesses are to are locations; the others keep what they hold.
#[test]
fn fixed_parts_of_a_location() {
    let bytes = ["movb $1, (x)", "movb (x), %al"];
    assert_eq!(one("int x = 0x11223344;", &bytes, "forall (x = 0x11223301 /\\ 0:al = 1)"), "Holds");
    let word = ["movb $-1, (x)", "movw (y), %ax"];
    assert_eq!(one("int64_t x = 0; int y = 0x10002;", &word, "forall (x = 255 /\\ 0:ax = 2)"), "Holds");
    let text = "X86_64 t\n{ int x; int y; }\n P0 | P1 ;\n movb $1,(x) | movb $1,(y) ;\n \
                movb (y),%al | movb (x),%al ;\nexists (0:al=0 /\\ 1:al=0 /\\ x=1 /\\ y=1)\n";
    assert_eq!(verdict(text), "Holds");
    let whole = ["movb $1, (x)", "movl (x), %eax"];
    assert_eq!(one("int x = 0;", &whole, "forall (x = 1)"), "Unknown: mixed-size accesses to `x`");
}

/// What is shown goes by the name that was asked for.
#[test]
fn outcomes_name_the_width_that_was_asked_for() {
    let text = "X86_64 t\n{ }\n P0 ;\n movl $-1,%eax ;\nlocations [0:rax;]\nexists (0:al=-1)\n";
    let (tests, _) = load(&Source::new("t.litmus", text));
    let checked = check(&tests[0], &Models::shipped("x86-tso").expect("a model"), &Options::default());
    let names: Vec<&str> =
        tests[0].program.threads[0].registers.iter().map(|register| register.name.as_str()).collect();
    assert!(names.contains(&"RAX") && names.contains(&"AL") && !names.contains(&"EAX"), "{names:?}");
    assert_eq!(checked.report.verdict.word(), "Holds");
}

#[test]
fn condition_codes() {
    let holds = |code: &str, left: &str, right: &str| {
        let compare = format!("cmpl ${right}, %eax");
        let set = format!("set{code} (x)");
        let jump = format!("j{code} L");
        let by_set = one(&format!("0:rax = {left}; int8_t x;"), &[&compare, &set], "forall (x = 1)") == "Holds";
        let code_of_jump = [compare.as_str(), &jump, "movl $1, (x)", "L:"];
        let by_jump = one(&format!("0:rax = {left}; x = 0;"), &code_of_jump, "forall (x = 0)") == "Holds";
        let moved = format!("cmov{code}l %ecx, %ebx");
        let by_move = one(&format!("0:rax = {left}; 0:rbx = 5; 0:rcx = 6;"), &[&compare, &moved], "forall (0:ebx = 6)");
        assert_eq!((by_set, by_set), (by_jump, by_move == "Holds"), "{code}");
        by_set
    };
    for code in ["e", "z", "le", "ge", "be", "ae", "ng", "nl", "na", "nb", "nc", "ns"] {
        assert!(holds(code, "7", "7"), "{code}");
    }
    for code in ["l", "lt", "nge", "ne", "nz", "s", "a", "nbe"] {
        assert!(holds(code, "-1", "7"), "{code}");
        assert!(!holds(code, "7", "7"), "{code}");
    }
    // The difference overflows: its sign is not the order.
    assert!(!holds("s", "-2147483648", "1") && holds("l", "-2147483648", "1"));
}

#[test]
fn comparisons_of_several_widths_in_a_thread() {
    let code = ["cmpl $1, %ecx", "je L", "cmpq %rbx, %rax", "jg L", "movl $1, (x)", "L:"];
    let start = "x = 0; 0:rax = 0x100000000; 0:rbx = 1; 0:rcx = 0;";
    assert_eq!(one(start, &code, "forall (x = 0)"), "Holds");
}

#[test]
fn addresses_into_arrays() {
    let start = "int64_t t[2] = {1, -1}; int u[3] = {1, 2, 3}; 0:rax = t; 0:rbx = u; 0:rsi = 1;";
    let cases: &[(&[&str], &str)] = &[
        (&["movq 0(%rax,%rsi,8), %rcx"], "0:rcx = -1"),
        (&["movq (%rax,%rsi,8), %rcx"], "0:rcx = -1"),
        (&["movq -8(%rax,%rsi,8), %rcx"], "0:rcx = 1"),
        (&["movl 8(%rbx), %ecx", "movl $9, 4(%rbx)"], "0:ecx = 3 /\\ u = {1, 9, 3}"),
        (&["leaq 8(%rax), %rdx", "movq (%rdx), %rcx"], "0:rcx = -1"),
        (&["movl u(,%rsi,4), %ecx"], "0:ecx = 2"),
        (&["nopl 0(%rax,%eax,0)", "nopw %cs:0(%rax,%rax,1)"], "u[0] = 1 => t[1] = -1"),
    ];
    for (code, question) in cases {
        assert_eq!(one(start, code, &format!("forall ({question})")), "Holds", "{code:?}");
    }
    let twice = one(start, &["movq (%rax,%rsi,8), %rcx"], "forall (t[1] = -1 => 0:rcx = 1)");
    assert_eq!(twice, "Violated");
}

#[test]
fn pointers_and_symbolic_registers() {
    let code = ["movq (p), %rbx", "movq (%rbx), %rcx"];
    assert_eq!(one("uint64_t* p = x; uint64_t x = 7;", &code, "forall (0:rcx = 7 /\\ 0:rbx = x)"), "Holds");
    let code = ["movl $1, (%a)", "movl (%b), %eax"];
    assert_eq!(one("0:%a = x; 0:%b = x;", &code, "forall (0:rax = 1)"), "Holds");
    assert_eq!(one("0:%a = x;", &["movl $1, %a"], "forall (x = 0)"), "Unknown: a symbolic register of 32 bits");
}

/// Under the header `X86`, memory in parentheses is in Intel's order, but for a test that shows AT&T's.
#[test]
fn memory_in_parentheses_of_intel_order() {
    let code = "X86 t\n{ 0:ESI = x; }\n P0 ;\n MOV (ESI),$1 ;\n MOV EAX,(ESI) ;\nforall (0:EAX=1 /\\ x=1)\n";
    assert_eq!(verdict(code), "Holds");
    assert_eq!(verdict("X86 t\n{ }\n P0 ;\n movl $1,(x) ;\nforall (x=1)\n"), "Holds");
}

/// Bytes are locations like others: store buffering.
#[test]
fn bytes_in_store_buffers() {
    let text = "X86_64 t\n{ uint8_t x; uint8_t y; }\n P0 | P1 ;\n movb $1,(x) | movb $1,(y) ;\n \
                movb (y),%al | movb (x),%al ;\nexists (0:al=0 /\\ 1:al=0)\n";
    assert_eq!(verdict(text), "Holds");
    let mixed = "X86_64 t\n{ uint32_t x; }\n P0 | P1 ;\n movb $1,(x) | movl (x),%eax ;\nexists (1:eax=0)\n";
    assert_eq!(verdict(mixed), "Unknown: mixed-size accesses to `x`");
}

#[test]
fn what_has_no_model_is_named() {
    assert_eq!(one("x = 0;", &["clflush (x)"], "forall (x = 0)"), "Unknown: `clflush`");
    assert_eq!(one("x = 0;", &["movnti %eax, (x)"], "forall (x = 0)"), "Unknown: `movnti`");
}

/// A test that asks nothing shows its registers.
#[test]
fn registers_are_shown_where_nothing_is_asked() {
    let text = "X86 t\n{ x=0; y=0; }\n P0 | P1 ;\n MOV [x],$1 | MOV [y],$1 ;\n MOV EAX,[y] | MOV EAX,[x] ;\n";
    let (tests, diagnostics) = load(&Source::new("t.litmus", text));
    assert!(tests.len() == 1, "{diagnostics:?}");
    let report = check(&tests[0], &Models::shipped("x86-tso").expect("a model"), &Options::default()).report;
    assert_eq!((report.verdict.word(), report.outcomes.len()), ("Holds", 4));
}

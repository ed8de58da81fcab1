//! Wrong texts, and exactly what a person is told: message, place, next step.

use fencepost_syntax::{Diagnostic, litmus, ptx};

/// Each diagnostic as `message @ text under the span [? help]`.
fn told(text: &str, diagnostics: &[Diagnostic]) -> Vec<String> {
    let shown = |diagnostic: &Diagnostic| {
        let under =
            text.get(diagnostic.span.start as usize..diagnostic.span.end as usize).expect("a span inside the text");
        let help = diagnostic.help.as_ref().map_or(String::new(), |help| format!(" ? {help}"));
        format!("{} @ {}{help}", diagnostic.message, under.escape_debug())
    };
    diagnostics.iter().map(shown).collect()
}

fn check(text: &str, expected: &[&str]) {
    let (tree, diagnostics) = litmus::parse(text);
    assert_eq!(told(text, &diagnostics), expected, "{text}");
    assert!(tree.is_none(), "a tree in spite of errors: {text}");
}

const ROW_HELP: &str = "write one cell per thread, empty where a thread does nothing, with `|` between them";

#[test]
fn headers() {
    let supported = "supported are PTX, X86, X86_64 and C, and NVLitmus files without a header";
    check("", &[&format!("the litmus test is empty @  ? {supported}")]);
    check("AArch64 MP\n{}\n", &[&format!("litmus tests for AArch64 are not supported @ AArch64 ? {supported}")]);
    check("PTY MP\n{}\n", &["`PTY` is not an architecture @ PTY ? did you mean `PTX`?"]);
    check("PTX\n{}", &["the test has no name @  ? write it after the architecture: `PTX my-test`"]);
    check("PTX t \"open\n{}", &["this string is never closed @ \\\" ? close it with `\"`"]);
    check(
        "(* (* *) PTX t",
        &[
            "this comment is never closed @ (* ? comments nest: each `(*` needs its own `*)`",
            &format!("the litmus test is empty @  ? {supported}"),
        ],
    );
    check(
        "PTX t\nP0 ;\nld.weak r0, x ;\n",
        &[
            "expected the declarations `{ … }`, found `P0` @ P0 ? write `{ }` after the header if there is nothing to declare",
        ],
    );
}

#[test]
fn declarations() {
    check("PTX t\n{ x = ; y = 1 }\nP0;\n", &["expected an integer, the name of a location, or `?`, found `;` @ ;"]);
    check(
        "PTX t\n{ x = 1 y = 2; t @ textur aliases x; .globl z; }\nP0;\n",
        &[
            "expected `;` after the declaration, found `y` @ y",
            "`textur` is not a proxy @ textur ? did you mean `texture`?",
            "`.globl` declares nothing @ .globl ? did you mean `.global`?",
        ],
    );
    check(
        "PTX t\n{ x = 99999999999999999999999999999999999999999; }\nP0;\n",
        &["`9999999999999999999999999999999999999999` is not a number @ 99999999999999999999999999999999999999999 \
         ? integers are decimal, hexadecimal (0x1f), binary (0b101) or octal, and below 2^127"],
    );
    check(
        "PTX t\n{ x[2] = 1; int y[2] = {1, {2}}; int z[2] = {}; }\nP0;\n",
        &[
            "an array needs the type of its elements @ [2] ? write `.global .u32 x[4]` or `int x[4]`",
            "expected an integer, found `{` @ {",
            "expected an integer, found `}` @ }",
        ],
    );
    check(
        "PTX t\n{ x = 1;\n",
        &[
            "expected `}` to close the declarations, found the end of the file @ ",
            "expected the threads, found the end of the file @  ? write `P0 | P1 ;` and one row per line below it, or `P0 { … }` blocks",
        ],
    );
}

#[test]
fn threads() {
    check(
        "PTX t\n{}\nP0 | P0 ;\n",
        &["thread `P0` stands here a second time @ P0 ? threads are called P0, P1, … in this order: this one is `P1`"],
    );
    check(
        "PTX t\n{}\nP0@cta 0, gpuu 1 | P2@cta 0, cta 1 ;\n",
        &[
            "`gpuu` places no thread @ gpuu ? did you mean `gpu`?",
            "thread `P2` is out of order @ P2 ? threads are called P0, P1, … in this order: this one is `P0`",
            "`cta` is given twice @ cta",
        ],
    );
    let outside = "`x86` and `host` say all: such a thread has no cta, cluster, gpu or kernel, and its scope is `.sys`";
    check(
        "PTX t\n{ x = 0; }\nP0@x86, gpu 0 | P1@host, cta 0 ;\nMOV [x], $1 | ;\nexists (x=1)",
        &[
            &format!("a host thread lies outside every GPU @ , ? {outside}"),
            &format!("a host thread lies outside every GPU @ , ? {outside}"),
        ],
    );
    check("PTX t\n{}\nP0@gpu 0, x86 ;\n", &[&format!("a host thread lies outside every GPU @ x86 ? {outside}")]);
    check(
        "PTX t\n{}\nP0 | P1 ;\nld.weak r0, x ;\n| | ;\nexists (x=1)",
        &[
            &format!("this row has 1 cell, but the test has 2 threads @ ld.weak r0, x ; ? {ROW_HELP}"),
            &format!("this row has 3 cells, but the test has 2 threads @ | | ; ? {ROW_HELP}"),
        ],
    );
    check("PTX t\n{}\nP0 ;\nld.weak r0, x\nst.weak x, 1 ;\n", &["the row is not closed @ x ? close each row with `;`"]);
    check("PTX t\n{}\nP0 ;\nld.weak r0, x\nexists (x=1)", &["the row is not closed @ x ? close each row with `;`"]);
    check("PTX t\n{}\nP0 {\n ld.weak r0, x\n", &["expected `}` to close thread `P0`, found the end of the file @ "]);
}

#[test]
fn instructions() {
    check(
        "PTX t\n{}\nP0 | P1 ;\nld.weak r0 x | st. x, 1 ;\n@ bra | ld %r1, [x ;\nld r1, [x+%r2] | ld r1,, x ;\n",
        &[
            "expected `,`, `|` or `;` after the operand, found `x` @ x",
            "expected a modifier directly after `.`, found `x` @ x",
            "expected an instruction, found `|` @ |",
            "expected `]` to close the address, found `;` @ ;",
            "expected an integer offset, found `%r2` @ %r2 ? add registers with their own instruction first",
            "expected an operand, found `,` @ ,",
        ],
    );
    check(
        "X86 t\n{}\nP0 ;\nmov byte x, 1 ;\nmov [x+eax+ecx], 1 ;\n",
        &[
            "the size `byte` in front of an operand is not supported @ byte \
         ? the size follows from the register (EAX, AX, AL) or from the mnemonic (movl, movw, movb)",
            "expected an integer, found `ecx` @ ecx",
        ],
    );
    check(
        "X86 t\n{}\nP0 ;\nmov %foo, 1 ;\n",
        &["x86 has no register `%foo` @ %foo ? a symbolic register needs a first value: `0:%foo = x;`"],
    );
    check(
        "X86_64 t\n{}\nP0 ;\nmovl $1, (x) ;\nmov [x], 1 ;\n",
        &[
            "this test mixes AT&T's and Intel's notation @ ( ? write memory as `[x]` and registers without `%` (Intel), or `(x)` and `%eax` (AT&T) throughout",
        ],
    );
}

#[test]
fn conditions() {
    let test = |condition: &str| format!("PTX t\n{{}}\nP0 ;\nld.weak r0, x ;\n{condition}");
    check(&test("exist (x = 1)"), &["unknown keyword `exist` @ exist ? did you mean `exists`?"]);
    check(
        &test("exists (r0 = 1)"),
        &[
            "the register `r0` needs its thread @ r0 ? write `P0:r0` for thread 0, or `[r0]` for a location of that name",
        ],
    );
    check(&test("exists (x = 1"), &["expected `)` to close the parenthesis, found the end of the file @ "]);
    check(&test("exists (x 1)"), &["expected a comparison (`=`, `!=`, `<`, `<=`, `>` or `>=`), found `1` @ 1"]);
    check(&test("exists x = 1\nforall x = 1"), &["a second condition @ forall ? join them with `/\\` or `\\/`"]);
    check(
        &test("~forall x = 1"),
        &["`forall` cannot be negated @ ~forall ? only `~exists` and `not exists` have a meaning"],
    );
    check(
        "PTX t\n{}\nP0 ;\nld.weak r0, x ; exists (x = 1) ;\nst.weak x, 1 | exists (x=1) ;\n",
        &["expected a condition or the end of the file, found `st` @ st \
         ? `exists`, `~exists`, `forall`, `filter` and `locations` can stand here"],
    );
    check(
        "PTX t\n{}\nP0 | P1 ;\nst.weak x, 1 | exists (x=1) ;\n",
        &["a condition cannot stand among instructions @ exists ? it follows the last thread, on its own line"],
    );
    check(
        &test("exists x = 1 }"),
        &["expected a condition or the end of the file, found `}` @ } \
         ? `exists`, `~exists`, `forall`, `filter` and `locations` can stand here"],
    );
    check(
        &test("exists x = 1 /\\ é"),
        &["the character 'é' has no meaning here @ é ? remove it, or put it into a comment"],
    );
    check(&test("exists (99999999999:r0 = 1)"), &["`99999999999` is not a thread @ 99999999999"]);
}

#[test]
fn nvlitmus() {
    check(
        ".global x;\nd0.b0.t0 { st [x], 1 }\npermt (x == 1);",
        &[
            "expected `;` after the instruction, found `}` @ }",
            "unknown command `permt` @ permt ? did you mean `permit`?",
        ],
    );
    check(
        ".global x;\nd0.b0.t0 { $0; }\n$$\n",
        &["the template has no rows @ $$ ? write one line per test below `$$`, its fields between `|`"],
    );
    let text = ".global x;\nd0.b0.t0 { $0 [x], 1; $1 }\n$$\nst | fence.sc.gpu;\nst\nst, | \n";
    let (tests, diagnostics) = litmus::parse_named("folder/file.test", text);
    assert_eq!(
        told(text, &diagnostics),
        [
            "this row has 1 fields, but the template uses 2 @ st ? fields stand between `|`, in the order $0, $1, …",
            "expected an operand, found `,` @ ,",
        ]
    );
    let names: Vec<&str> = tests.iter().map(|test| test.name.node.as_str()).collect();
    assert_eq!(names, ["file#1"]);
}

#[test]
fn modules() {
    let text = ".version 8.0\n.visibl .entry f() { ret }\n}\n.entry g() { mov.u32 %r1, ; ret; \n.reg .b32 %r1\n";
    let (_, diagnostics) = ptx::parse(text);
    assert_eq!(
        told(text, &diagnostics),
        [
            "unknown directive `.visibl` @ .visibl ? did you mean `.visible`?",
            "expected `;` after the instruction, found `}` @ }",
            "this `}` closes nothing @ }",
            "this `{` is never closed @ { ? close it with `}`",
            "expected an operand, found `;` @ ;",
            "expected `;` after `.reg` @ 1",
        ]
    );
}

/// What follows on the next line is read all the same.
#[test]
fn a_missing_semicolon_is_told_where_it_belongs() {
    let text = ".entry k() {
.reg .b32 %r<2>;
mov.u32 %r1, %tid.x
L: bar.sync 0
{ ret; }
}
";
    let (module, diagnostics) = ptx::parse(text);
    assert_eq!(
        told(text, &diagnostics),
        ["expected `;` after the instruction @ x", "expected `;` after the instruction @ 0"]
    );
    assert!(format!("{module:?}").contains("\"ret\""), "{module:?}");
}

/// What is missing is named, and not what stands where it should.
#[test]
fn missing_pieces_are_named() {
    check(
        "{ x = 0; }\nP0 { st.u32 [x], 1; }\nexists (x = 1)\n",
        &["the first line, with the architecture and the name, is missing @  \
         ? write `PTX name`, `X86 name` or `C name` there"],
    );
    check(
        "PTX t\n{ x = 0; }\nP0@cta 0, gpu 0 { st.u32 [x], 1;\nP1@cta 1, gpu 0 { st.u32 [x], 2; }\nexists (x=1)\n",
        &["thread `P0` is not closed before `P1` @ P1 ? write `}` in front of `P1`"],
    );
    check(
        "PTX t\n{ x = 0; }\nP0@cta 0 gpu 0 { st.u32 [x], 1; }\nP1@cta 1, gpu 0 { st.u32 [x], 2; }\nexists (x=1)\n",
        &["expected `{` to open the thread, found `gpu` @ gpu"],
    );
    let test = |condition: &str| format!("PTX t\n{{}}\nP0 ;\nld.weak r0, x ;\n{condition}");
    check(&test("exists (x = 1 and x = 2)"), &["`and` does not join conditions @ and ? write `/\\`"]);
    check(&test("exists (x = 1 or x = 2)"), &["`or` does not join conditions @ or ? write `\\/`"]);
}

#[test]
fn a_lost_semicolon_in_a_block() {
    let block = |code: &str| format!("PTX t\n{{ x = 0; }}\nP0@cta 0, gpu 0 {{\n{code}\n}}\nexists (x = 1)\n");
    let help = "end every instruction of the thread with `;`";
    let lost = format!("`;` is missing between two instructions @ ] ? {help}");
    check(&block("ld.weak.u32 %r1, [x]\nst.weak.u32 [x], 1;"), &[&lost]);
    check(&block("fence.sc.gpu;\nld.weak.u32 %r1, [x]\n// why\nld.weak.u32 %r2, [x]\nexit;"), &[&lost, &lost]);
    // One instruction per line without any `;`, and none behind the last, are other ways to write a block.
    for code in ["ld.weak.u32 %r1, [x]\nst.weak.u32 [x], 1", "ld.weak.u32 %r1,\n [x];\nL:\nst.weak.u32 [x], 1"] {
        let (tree, diagnostics) = litmus::parse(&block(code));
        assert!(tree.is_some() && diagnostics.is_empty(), "{code}: {diagnostics:?}");
    }
}

#[test]
fn cuda_where_ptx_belongs() {
    let block = |code: &str| format!("PTX t\n{{ x = 0; }}\nP0@cta 0, gpu 0 {{\n{code}\n}}\nexists (x = 1)\n");
    for (code, word, ptx) in [
        ("__syncthreads();", "__syncthreads", "`bar.sync 0;`"),
        ("__threadfence();", "__threadfence", "`fence.acq_rel.gpu;` or `fence.sc.gpu;`"),
        ("__threadfence_system();", "__threadfence_system", "`fence.acq_rel.sys;` or `fence.sc.sys;`"),
        ("atomicCAS(&x, 0, 1);", "atomicCAS", "`atom.relaxed.gpu.cas.b32 %r, [x], 0, 1;`"),
    ] {
        let told = format!("`{word}` is CUDA C++, and threads are written in PTX @ {word} ? write {ptx}");
        check(&block(code), &[&told]);
    }
    let (_, diagnostics) = litmus::parse(&block("cuda::atomic_ref<int> a(x);\natomicAdd(&x, 1);"));
    let help: Vec<bool> =
        diagnostics.iter().map(|it| it.help.as_ref().is_some_and(|it| it.starts_with("write `"))).collect();
    assert_eq!(help, [true, true], "{diagnostics:?}");
}

#[test]
fn a_placement_without_its_sign() {
    let told = "`@` is missing between `P1` and `cta` @ cta ? write `P1@cta`";
    check("PTX t\n{}\nP0@cta 0 { st.weak x, 1; }\nP1 cta 1 { st.weak x, 1; }\n", &[told]);
    check("PTX t\n{}\nP0@cta 0 | P1 cta 1 ;\nst.weak x, 1 | st.weak x, 1 ;\n", &[told]);
}

#[test]
fn words_of_people_in_conditions() {
    let test = |condition: &str| format!("PTX t\n{{ x = 0; y = 0; }}\nP0@cta 0 {{ st.weak x, 1; }}\n{condition}\n");
    check(&test("forall x=2 and y=0"), &["`and` does not join conditions @ and ? write `/\\`"]);
    check(&test("exists x=2 or y=0"), &["`or` does not join conditions @ or ? write `\\/`"]);
    check(&test("for all (x=2)"), &["unknown keyword `for all` @ for all ? did you mean `forall`?"]);
}

#[test]
fn what_ends_an_instruction_is_what_ends_the_others() {
    let test = |code: &str| format!("PTX t\n{{ x = 0; }}\nP0@cta 0 {{\n{code}\n}}\nexists (x=1)\n");
    let missing = "`;` is missing between two instructions @ 1 ? end every instruction of the thread with `;`";
    check(&test("mov.u32 %r2, 1  st.u32 [x], %r2;"), &[missing]);
    check(&test("ld.u32 %r1, [x];\nmov.u32 %r2, 1 st.u32 [x], %r2\n"), &[missing]);
    check(&test("ld.u32 %r1, [x] ];"), &["expected `,` or `;` after the operand, found `]` @ ]"]);
    let lines = "expected `,`, `;` or a new line after the operand, found `st` @ st";
    check(&test("ld.u32 %r1, [x]\nmov.u32 %r2, 1 st.u32 [x], %r2"), &[lines]);
}

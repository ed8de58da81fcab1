//! State spaces: a location has one, and `.shared` memory is a CTA's own.

use crate::common;

use common::{attempt, program};
use fencepost_program::program::Program;
use fencepost_program::unfold::{UnfoldOptions, unfold};
use fencepost_program::unfolding::TraceEnd;

/// Two threads in real PTX, in these CTAs.
fn two(declarations: &str, ctas: [u32; 2], code: [&str; 2]) -> String {
    let block = |index: usize| format!("P{index}@cta {}, gpu 0 {{\n{}\n}}\n", ctas[index], code[index]);
    format!("PTX t\n{{ {declarations} }}\n{}{}", block(0), block(1))
}

/// What is wrong: the text at the first error and its message, or what is unsupported.
fn refused(text: &str) -> Vec<String> {
    let (program, diagnostics) = attempt(text);
    let at = |span: fencepost_syntax::Span| text[span.start as usize..span.end as usize].to_string();
    match program {
        None => diagnostics.iter().map(|error| format!("{}: {}", at(error.span), error.message)).collect(),
        Some(program) => {
            program.unsupported.into_iter().map(|found| format!("{}: {}", at(found.span), found.what)).collect()
        }
    }
}

#[test]
fn a_qualifier_says_the_space_of_what_has_none() {
    let store = "st.shared.u32 [x], 1;";
    let load = "ld.shared::cta.u32 %r1, [x];";
    for declarations in ["", "x = 0;", ".shared .u32 x;"] {
        assert_eq!(refused(&two(declarations, [0, 0], [store, load])), Vec::<String>::new(), "{declarations}");
        let spread = program(&two(declarations, [0, 1], [store, load]));
        assert_eq!(locations(&spread), ["x@0", "x@1"], "{declarations}");
    }
    let generic = program(&two("x = 0;", [0, 1], ["st.u32 [x], 1;", store]));
    assert_eq!(locations(&generic), ["x@0", "x@1"], "the first access may be generic");
}

fn locations(program: &Program) -> Vec<&str> {
    program.locations.iter().map(|location| location.name.as_str()).collect()
}

#[test]
fn a_qualifier_that_contradicts_the_declaration() {
    let found = refused(&two(".global .u32 x;", [0, 0], ["st.shared.u32 [x], 1;", "ld.global.u32 %r1, [x];"]));
    assert_eq!(
        found,
        ["shared: P0's `st.shared.u32` reaches `x` as `.shared`, but it is `.global` by its declaration"]
    );
}

#[test]
fn a_qualifier_that_contradicts_another() {
    let found = refused(&two("x = 0;", [0, 0], ["st.global.u32 [x], 1;", "atom.shared.add.u32 %r1, [x], 1;"]));
    let by = "P1's `atom.shared.add.u32` reaches `x` as `.shared`, but it is `.global` by P0's `st.global.u32`";
    assert_eq!(found, [format!("shared: {by}")]);
}

#[test]
fn pointers_are_followed() {
    let declarations = ".shared .u32 x[4]; P0:%rd1 = x;";
    for code in
        ["ld.global.u32 %r1, [%rd1];", "ld.global.u32 %r1, [%rd1+4];", "mov.u64 %rd2, %rd1; st.global.u32 [%rd2], 1;"]
    {
        let found = refused(&two(declarations, [0, 0], [code, "ret;"]));
        assert!(found.len() == 1 && found[0].starts_with("global: P0's"), "{code}: {found:?}");
    }
    let taken = program(&two(".shared .u32 x;", [0, 1], ["st.u32 [x], 1;", "mov.u64 %rd1, x; ld.u32 %r1, [%rd1];"]));
    let unfolding = unfold(&taken, &UnfoldOptions::default()).expect("an unfolding");
    let reached: Vec<&str> = (unfolding.events.iter().filter(|event| !event.is_init()))
        .filter_map(|event| Some(unfolding.locations[event.location()?.index()].name.as_str()))
        .collect();
    assert_eq!(reached, ["x@0", "x@1"], "each CTA has its own");
}

#[test]
fn memory_that_a_computed_address_may_not_reach() {
    let refused = |declarations: &str, first: &str, second: &str| {
        let text = format!(
            "PTX t\n{{ .global .u64 p = 0; {declarations} }}\nP0@cta 0, gpu 0 {{\n{first}\n}}\n\
             P1@cta 1, gpu 0 {{\nld.relaxed.gpu.u64 %rd1, [p];\nsetp.eq.u64 %q, %rd1, 0;\n@%q exit;\n{second}\n}}\n"
        );
        let program = common::program(&text);
        assert!(program.unsupported.is_empty(), "{:?}", program.unsupported);
        unfold(&program, &UnfoldOptions::default()).err().map(|error| error.to_string()).unwrap_or_default()
    };
    let give = |name: &str| format!("mov.u64 %rd2, {name};\nst.relaxed.gpu.u64 [p], %rd2;");
    let shared = refused(".shared .u32 s = 0;", &give("s"), "ld.u32 %r1, [%rd1];");
    assert!(shared.contains("`s@0`, in memory of another cluster"), "{shared}");
    let local = refused(".local .u32 l = 0;", &give("l"), "ld.u32 %r1, [%rd1];");
    assert!(local.contains("`P0:l`, in memory of another cluster or thread"), "{local}");
    let constant = refused(".const .u32 a = 3;", &give("a"), "st.u32 [%rd1], 1;");
    assert!(constant.contains("a write to `a`, which is read-only"), "{constant}");
    assert_eq!(refused(".global .u32 g = 3;", &give("g"), "st.u32 [%rd1], 1;"), "");
}

#[test]
fn accesses_are_aligned_to_their_size() {
    let refused = |code: &str| {
        let text = format!("PTX t\n{{ .global .u32 x[8] = 0; }}\nP0@cta 0, gpu 0 {{\n{code}\n}}\n");
        unfold(&common::program(&text), &UnfoldOptions::default()).err().map(|error| error.to_string())
    };
    for code in
        ["ld.u32 %r1, [x+2];", "ld.u64 %rd1, [x+4];", "st.v2.u32 [x+4], {1, 2};", "st.v4.u32 [x+8], {1, 2, 3, 4};"]
    {
        assert!(refused(code).is_some_and(|error| error.contains("no multiple of its size, ")), "{code}");
    }
    for code in ["ld.u16 %rs1, [x+2];", "ld.u64 %rd1, [x+8];", "st.v2.u32 [x+8], {1, 2};"] {
        assert_eq!(refused(code), None, "{code}");
    }
}

#[test]
fn another_clusters_shared_memory_has_no_name_here() {
    let text = |place: &str| {
        format!(
            "PTX t\n{{ .shared .u32 s = 0; }}\nP0@cta 0, cluster 0, gpu 0 {{\nst.shared.u32 [s], 1;\n}}\n\
             P1@{place} {{\nld.u32 %r1, [s@0];\n}}\n"
        )
    };
    assert!(common::attempt(&text("cta 1, cluster 0, gpu 0")).0.is_some());
    for place in ["cta 1, cluster 1, gpu 0", "cta 1, gpu 0", "host"] {
        let (program, diagnostics) = common::attempt(&text(place));
        assert!(program.is_none(), "{place}");
        assert!(diagnostics[0].message.contains("`s@0` cannot be reached from here"), "{place}");
    }
}

/// Mixed-proxy model (Lustig, Cooksey, Giroux, ISCA 2022): a name of another proxy is for accesses through that proxy.
#[test]
fn a_name_of_another_proxy_is_for_accesses_through_it() {
    let one = |code: &str| {
        let names = "c @ constant aliases s; t @ texture aliases s; u @ surface aliases s; P0:%rd1 = c; P0:%rd2 = t;";
        refused(&format!("PTX t\n{{ .global .u32 s = 0; {names} }}\nP0@cta 0, gpu 0 {{\n{code}\n}}\n"))
    };
    for (code, proxy, own) in [
        ("ld.u32 %r1, [c]", "`c` is a name of the constant", "the generic"),
        ("ld.global.u32 %r1, [c]", "`c` is a name of the constant", "the generic"),
        ("ld.weak.u32 %r1, [%rd1]", "`c` is a name of the constant", "the generic"),
        ("st.u32 [t], 1", "`t` is a name of the texture", "the generic"),
        ("atom.add.u32 %r1, [u], 1", "`u` is a name of the surface", "the generic"),
        ("tld.u32 %r1, [u]", "`u` is a name of the surface", "the texture"),
        ("cold.u32 %r1, [%rd2]", "`t` is a name of the texture", "the constant"),
    ] {
        let told = format!("{code}: {proxy} proxy, and this access goes through {own} proxy");
        assert_eq!(one(&format!("{code};")), [told]);
    }
    for code in ["ld.const.u32 %r1, [c];", "ld.const.u32 %r1, [%rd1];", "cold.u32 %r1, [c];", "tld.u32 %r1, [%rd2];"] {
        assert_eq!(one(code), Vec::<String>::new(), "{code}");
    }
}

#[test]
fn a_pointer_to_a_name_of_another_proxy_is_no_generic_address() {
    let text = "PTX t\n{ .global .u32 s = 0; c @ constant aliases s; .param .u64 p = &c; }\nP0@cta 0, gpu 0 {\n\
                ld.param.u64 %rd1, [p];\nld.u32 %r1, [%rd1];\n}\n";
    let refused = |text: &str| unfold(&program(text), &UnfoldOptions::default()).err().map(|error| error.to_string());
    let told = "an access through `c`, which is a name of another proxy";
    assert_eq!(refused(text).as_deref(), Some(told));
    assert_eq!(refused(&text.replace("ld.u32", "ld.const.u32")), None);
}

#[test]
fn a_load_of_constant_memory_that_has_no_other_name_is_generic() {
    use fencepost_program::tag::Tag;
    let constant = |names: &str| {
        let text =
            format!("PTX t\n{{ .const .u32 k = 3; s = 0; {names} }}\nP0@cta 0, gpu 0 {{\nld.const.u32 %r1, [k];\n}}\n");
        let unfolding = unfold(&program(&text), &UnfoldOptions::default()).expect("a program");
        unfolding.events.iter().any(|event| event.has(Tag::Constant))
    };
    // Nobody writes `.const` memory while a kernel runs, so that models without proxies may have it.
    assert!(!constant("") && constant("c @ constant aliases s;"));
}

/// A thread in real PTX, with `x` in global and `s` in shared memory.
fn spaced(code: &str) -> String {
    let declarations = ".global .u32 x[4] = 1; .shared .u32 s[4] = 2; .global .u32 k = 0; .shared .mbarrier b = 1;";
    format!("PTX t\n{{ {declarations} }}\nP0@cta 0, gpu 0 {{\n{code}\n}}\n")
}

#[test]
fn arithmetic_does_not_change_the_space_of_an_address() {
    let shared = "reaches `x` as `.shared`, but it is `.global` by its declaration";
    let crossed = "reaches `x` as `.shared` and `s` as `.global`, but `x` is `.global` and `s` is `.shared`";
    let global = "reaches `s` as `.global`, but it is `.shared` by its declaration";
    let copy = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes";
    let swapped =
        format!("mov.u64 %g, x; mov.u32 %s, s; add.u64 %g, %g, 0; add.u32 %s, %s, 0;\n{copy} [%g], [%s], 16, [b];");
    for (code, wanted) in [
        ("mov.u64 %a, x; add.u64 %a, %a, 4; ld.shared.u32 %r1, [%a];", &[shared][..]),
        ("mov.u64 %a, s; add.u64 %a, %a, 4; atom.global.add.u32 %r1, [%a], 1;", &[global]),
        ("mov.u64 %a, x; W: st.shared::cta.u32 [%a], 1; add.u64 %a, %a, 4; bra W;", &[shared]),
        ("ld.global.u32 %i, [k]; mad.wide.u32 %a, %i, 4, s; ld.global.u32 %r1, [%a];", &[global]),
        (&swapped, &[crossed]),
    ] {
        let found = refused(&spaced(code));
        let is_found = |(found, wanted): (&String, &&str)| found.ends_with(wanted);
        assert!(found.len() == wanted.len() && found.iter().zip(wanted).all(is_found), "{code}: {found:?}");
    }
}

#[test]
fn an_access_in_another_space_ends_the_run() {
    let ends = |code: &str| {
        let program = common::program(&spaced(code));
        assert!(program.unsupported.is_empty(), "{code}: {:?}", program.unsupported);
        let unfolding = unfold(&program, &UnfoldOptions::default()).expect("an unfolding");
        let ends = unfolding.traces.iter().map(|trace| match &trace.end {
            TraceEnd::Wild { what, .. } => what.clone(),
            TraceEnd::Exit => "exit".to_owned(),
            end => format!("{end:?}"),
        });
        ends.collect::<Vec<_>>()
    };
    let chosen = "ld.global.u32 %i, [k]; setp.eq.u32 %p, %i, 0; mov.u64 %g, x; mov.u64 %s, s; selp.u64 %a, %g, %s, %p;";
    let mut found = ends(&format!("{chosen} ld.shared.u32 %r1, [%a];"));
    found.sort();
    assert_eq!(found, ["`ld.shared.u32` at `x[0]`, which lies in global memory", "exit"]);
    assert_eq!(ends(&format!("{chosen} ld.u32 %r1, [%a];")), ["exit", "exit"], "a generic access is to either");
    let walks = "mov.u64 %a, x; add.u64 %a, %a, 4; isspacep.shared %p, %a; @%p ld.shared.u32 %r1, [%a];";
    assert_eq!(ends(walks), ["exit"], "an access that is not made");
    let mbarrier = "mov.u64 %a, x; add.u64 %a, %a, 8; mbarrier.init.b64 [%a], 1;";
    assert_eq!(ends(mbarrier), ["`mbarrier.init.b64` at `x+8`, which lies in global memory"]);
}

#[test]
fn an_access_outside_every_location_says_where_it_is() {
    for (code, wanted) in [
        (
            "add.u64 %a, %a, 16; ld.global.u32 %r1, [%a];",
            "`ld.global.u32` at `x`+16 reaches byte 20 of `x`, which has 16",
        ),
        ("sub.u64 %a, %a, 4; ld.u32 %r1, [%a];", "`ld.u32` at an address 4 bytes before `x`"),
        ("sub.u64 %a, %a, %a; ld.u32 %r1, [%a];", "`ld.u32` at the address 0, outside every declared location"),
        (
            "mov.u64 %a, b; add.u64 %a, %a, 4; mbarrier.arrive.shared.b64 _, [%a];",
            "`mbarrier.arrive.shared.b64` at `b`+4, where no mbarrier begins: an mbarrier has 8 bytes and lies at a \
             multiple of 8",
        ),
        // Both count to the end of the access.
        (
            "mov.u64 %a, b; add.u64 %a, %a, 8; mbarrier.arrive.shared.b64 _, [%a];",
            "`mbarrier.arrive.shared.b64` at `b`+8 reaches byte 16 of `b`, which has 8",
        ),
        (
            "mov.u64 %a, b; add.u64 %a, %a, 8; mbarrier.try_wait.parity.shared.b64 %p, [%a], 0;",
            "`mbarrier.try_wait.parity.shared.b64` at `b`+8 reaches byte 16 of `b`, which has 8",
        ),
    ] {
        let program = common::program(&spaced(&format!("mov.u64 %a, x; {code}")));
        let unfolding = unfold(&program, &UnfoldOptions::default()).expect("an unfolding");
        let TraceEnd::Wild { what, .. } = &unfolding.traces[0].end else { panic!("{code} goes nowhere") };
        assert_eq!(what, wanted);
    }
    let vector = "mov.u64 %a, x; add.u64 %a, %a, 8; ld.v4.u32 {%r1, %r2, %r3, %r4}, [%a];";
    let error = unfold(&common::program(&spaced(vector)), &UnfoldOptions::default()).map(|_| ()).expect_err("too long");
    assert_eq!(error.to_string(), "`ld.v4.u32` at `x`+8 reaches byte 24 of `x`, which has 16");
}

#[test]
fn help_about_a_state_space_is_possible_in_the_instruction() {
    let copy = "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes";
    let operands = "its operands are `[destination], [source], size, [mbarrier]`, in this order";
    for (code, help) in [
        (format!("{copy} [x], [s], 16, [b];"), operands),
        (format!("mov.u64 %g, x; mov.u32 %s, s;\n{copy} [%g], [%s], 16, [b];"), operands),
        ("ld.shared.u32 %r1, [x];".to_owned(), "write `.global`, or leave the state space out"),
        (
            "mbarrier.arrive.shared.b64 _, [x];".to_owned(),
            "an mbarrier lies in shared memory: declare it, `.shared .mbarrier x = 1;`",
        ),
    ] {
        let (program, diagnostics) = common::attempt(&spaced(&code));
        assert!(program.is_none() && diagnostics.len() == 1, "{code}: {diagnostics:?}");
        assert_eq!(diagnostics[0].help.as_deref(), Some(help), "{code}");
    }
}

//! Mistakes are diagnosed at the word with a next step; legal forms without a model are unsupported; nothing is ignored.

use crate::common;

use common::{attempt, dartagnan, ptx, x86};
use fencepost_program::program::Feature;

/// The text an error's span covers, its message and help.
fn error(text: &str) -> (String, String, String) {
    let (program, diagnostics) = attempt(text);
    assert!(program.is_none(), "{text}");
    let fault = diagnostics.first().expect("a diagnostic");
    let at = &text[fault.span.start as usize..fault.span.end as usize];
    (at.to_string(), fault.message.clone(), fault.help.clone().unwrap_or_default())
}

fn unsupported(text: &str) -> Vec<String> {
    let (program, diagnostics) = attempt(text);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    program.expect("a program").unsupported.into_iter().map(|fault| fault.what).collect()
}

#[test]
fn wrong_semantics_are_errors_at_the_modifier() {
    for (code, at) in [
        ("ld.release.gpu.u32 %r1, [x];", "release"),
        ("st.acquire.gpu.u32 [x], 1;", "acquire"),
        ("red.acquire.gpu.add.u32 [x], 1;", "acquire"),
        ("atom.weak.add.u32 %r1, [x], 1;", "weak"),
        ("fence.relaxed.gpu;", "relaxed"),
        ("ld.acquire.u32 %r1, [x];", "acquire"),
        ("ld.weak.gpu.u32 %r1, [x];", "gpu"),
        ("ld.volatile.sys.u32 %r1, [x];", "sys"),
        ("ld.acquire.gpu.sys.u32 %r1, [x];", "sys"),
    ] {
        let (found, _, help) = error(&ptx("x = 0;", &[code]));
        assert_eq!(found, at, "{code}");
        assert!(!help.is_empty(), "{code}");
    }
}

#[test]
fn a_fence_needs_a_scope() {
    assert_eq!(error(&dartagnan(&["fence.sc"])).0, "fence");
}

#[test]
fn real_ptx_has_no_subtracting_atomic() {
    assert!(error(&ptx("x = 0;", &["atom.sub.u32 %r1, [x], 1;"])).1.contains("no `atom.sub"));
}

#[test]
fn forms_without_a_model_are_unsupported() {
    for (code, what) in [
        ("atom.min.f32 %f1, [x], %f2;", "`atom.min.f32`"),
        ("vset.u32.u32.eq %r1, %r2, %r3;", "`vset.u32.u32.eq`"),
        ("red.max.f32 [x], %r1;", "`red.max.f32`"),
        ("mov.f32 %f1, 1.5;", "the floating-point number `1.5`"),
        ("fence.proxy.async;", "`fence.proxy.async`"),
        ("cp.async.wait_all;", "`cp.async.wait_all`"),
        ("mov.u32 %r1, %smid;", "the special register `%smid`"),
        ("ld.u32 %r1, [x+4];", "an access at `x+4`, which is no declared element"),
    ] {
        assert_eq!(unsupported(&ptx("x = 0;", &[code])), [what], "{code}");
    }
    // These alone show that the text is real PTX.
    for code in ["bar.warp.sync 1;", "barrier.cluster.arrive;"] {
        assert_eq!(unsupported(&ptx("x = 0;", &[code])), [""; 0], "{code}");
    }
}

#[test]
fn an_access_past_the_end_is_unsupported() {
    let text = ptx(".u32 x;", &["st.u64 [x], 1;"]).replace(".u32 x", ".global .u32 x");
    assert_eq!(unsupported(&text), ["`st.u64` reaches byte 8 of `x`, which has 4"]);
    for (code, what) in [
        ("ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [x+4];", "`ld.global.v4.u32` reaches byte 20 of `x`, which has 16"),
        ("st.v2.u64 [x+16], {1, 2};", "an access at `x+16`, and `x` has 16 bytes"),
        ("ld.v2.u64 {%rd1, %rd2}, [x+8];", "`ld.v2.u64` reaches byte 24 of `x`, which has 16"),
    ] {
        assert_eq!(unsupported(&ptx(".global .u32 x[4];", &[code])), [what], "{code}");
    }
}

#[test]
fn names_are_resolved_or_named() {
    let (_, message, help) = error(&format!("{}exists (P0:r7 = 1)\n", dartagnan(&["ld.weak r1, x"])));
    assert!(message.contains("r7") && help.contains("r1"), "{message} {help}");
    let (_, message, _) = error(&format!("{}exists (P3:r1 = 1)\n", dartagnan(&["ld.weak r1, x"])));
    assert!(message.contains("P3"), "{message}");
    let (_, message, help) = error(&dartagnan(&["goto LC01", "LC02:"]));
    assert!(message.contains("LC01") && help.contains("LC02"), "{message} {help}");
    for text in [dartagnan(&["bra LC01", "LC02:"]), ptx("x = 0;", &["bra LC01;", "LC02:", "ld.u32 %r1, [x];"])] {
        let (at, message, help) = error(&text);
        assert_eq!((at.as_str(), help.as_str()), ("LC01", "labels of P0: LC02"), "{message}");
    }
    assert_eq!(error(&dartagnan(&["bra NOWHERE"])).2, "P0 has no labels");
    let (_, message, _) = error(&dartagnan(&["LC01:", "LC01:"]));
    assert!(message.contains("twice"), "{message}");
    let (_, message, _) = error("PTX t\n{ t @ texture aliases q; }\n P0@cta 0,gpu 0 ;\n ld.weak r1, t ;\n");
    assert!(message.contains("not declared"), "{message}");
}

#[test]
fn a_name_is_declared_once() {
    for declarations in ["y = 3; y = 4;", "int y = 3; y = 4;", "y = 3; int y;", "P0:%r1 = 1; P0:%r1 = 2;"] {
        let (_, message, help) = error(&ptx(declarations, &["mov.u32 %r1, 1;"]));
        assert!(message.contains("declared twice") && !help.is_empty(), "{declarations}: {message}");
    }
    let (program, diagnostics) = attempt(&ptx("int y; y = 4;", &["st.s32 [y], 1;"]));
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    assert_eq!(program.expect("a program").locations[0].initial.0, 4, "the value may come later");
}

#[test]
fn the_help_names_every_semantics() {
    let (_, _, help) = error(&ptx("x = 0;", &["ld.release.gpu.u32 %r1, [x];"]));
    assert_eq!(help, "it can be `.weak`, `.relaxed`, `.acquire`, `.volatile`, `.mmio`");
}

#[test]
fn barriers_that_ptx_has_not() {
    for (code, at, help) in [
        ("bar.sync 16;", "16", "0 to 15"),
        ("bar.sync -1;", "-1", "0 to 15"),
        ("bar.red.popc.u32 %r1, 16, %p1;", "16", "0 to 15"),
        ("bar.arrive 1, 0;", "0", "positive"),
    ] {
        let (found, _, told) = error(&ptx("x = 0; P0:%p1 = 1;", &["mov.u32 %r1, 1;", code]));
        assert!(found == at && told.contains(help), "{code}: {found} {told}");
    }
}

/// PTX ISA 9.7.15.1.
#[test]
fn barriers_that_must_not_meet_are_unsupported() {
    let both = |declarations: &str, second: &str, code: [&str; 2]| {
        let [one, other] = code;
        let blocks = format!("P0@cta 0, gpu 0 {{\n{one}\n}}\nP1@cta {second}, gpu 0 {{\n{other}\n}}\n");
        unsupported(&format!("PTX t\n{{ {declarations} P0:%p1 = 1; P1:%p1 = 1; P0:%r7 = 0; }}\n{blocks}"))
    };
    let red = "bar.red.popc.u32 %r1, 0, %p1;";
    assert_eq!(both("", "0", [red, "bar.sync 0;"]), ["`.red` beside `.sync` or `.arrive` on barrier 0 of one CTA"]);
    assert_eq!(both("", "0", ["bar.sync %r7;", red]).len(), 1, "the register may hold 0");
    assert_eq!(both("", "0", [red, red]), Vec::<String>::new());
    assert_eq!(both("", "0", [red, "bar.sync 1;"]), Vec::<String>::new());
    assert_eq!(both("", "1", [red, "bar.sync 0;"]), Vec::<String>::new());
    let counts = "barrier 0 of one CTA with counts of 2 and 3 threads";
    assert_eq!(both("", "0", ["mov.u32 %r1, 1; bar.sync 0, 2;", "bar.sync 0, 3;"]), [counts]);
    assert_eq!(both("", "0", ["mov.u32 %r1, 1; bar.sync 0;", "bar.sync 0, 96;"]), [counts]);
    assert_eq!(both("", "0", ["mov.u32 %r1, 1; bar.sync 0;", "bar.sync 0, 64;"]), Vec::<String>::new());
}

#[test]
fn a_pointer_that_never_gets_an_address_is_an_error() {
    let (_, message, help) = error(&ptx("x = 0;", &["ld.u32 %r1, [%rd1];"]));
    assert!(message.contains("never gets one") && help.contains("%rd1 = x"), "{message} {help}");
}

#[test]
fn lock_needs_a_read_modify_write_of_memory() {
    assert!(error(&x86(&["lock mov [x],$1"])).1.contains("exception"));
    assert!(error(&x86(&["lock add EAX,$1"])).1.contains("exception"));
}

#[test]
fn features_say_what_a_model_must_know() {
    let features = |text: &str| -> Vec<Feature> {
        attempt(text).0.expect("a program").features.into_iter().map(|feature| feature.node).collect()
    };
    assert_eq!(features(&ptx("x = 0;", &["ld.acquire.cluster.u32 %r1, [x];"])), [Feature::Cluster]);
    assert_eq!(features(&dartagnan(&["fence.proxy.alias"])), [Feature::Proxy]);
    assert_eq!(features(&dartagnan(&["ld.weak r1, x"])), []);
}

#[test]
fn a_misspelt_modifier_is_an_error_with_a_suggestion_and_nothing_follows_from_it() {
    let text = ptx("x = 0;", &["ld.aquire.gpu.u32 %r1, [x];"]) + "exists (P0:%r1 = 1)\n";
    let (at, message, help) = error(&text);
    assert_eq!((at.as_str(), help.as_str()), ("aquire", "did you mean `.acquire`?"), "{message}");
    assert_eq!(attempt(&text).1.len(), 1, "the condition about its register is no second mistake");
}

#[test]
fn a_declaration_that_repeats_itself_is_no_contradiction() {
    assert!(unsupported(&ptx("x = 1; x = 1; P0:%r1 = 2; P0:%r1 = 2;", &["ld.weak.u32 %r1, [x];"])).is_empty());
}

/// Behind an instruction that only real PTX has: a test of fences alone does not show its dialect.
fn real(code: &str) -> String {
    format!("mov.u32 %r9, 0; {code}")
}

#[test]
fn a_misspelt_form_is_an_error_with_a_suggestion_and_a_legal_one_without_a_model_is_none() {
    for (code, word, meant) in [
        ("fnce.sc.gpu;", "fnce", "`fence`"),
        ("atmo.add.relaxed.gpu.u32 %r1, [x], 1;", "atmo", "`atom`"),
        ("ld.relaxed.gpuu.u32 %r1, [x];", "gpuu", "`.gpu`"),
        ("ld.wek.u32 %r1, [x];", "wek", "`.weak`"),
        ("atom.relaxed.gpu.exhc.b32 %r1, [x], 1;", "exhc", "`.exch`"),
        ("ld.acquire.gup.u32 %r1, [x];", "gup", "`.gpu`"),
        ("stt.u32 [x], 1;", "stt", "`st`"),
    ] {
        let (at, message, help) = error(&ptx("x = 0;", &[&real(code)]));
        assert_eq!((at.as_str(), help.as_str()), (word, format!("did you mean {meant}?").as_str()), "{message}");
    }
    for (code, said) in
        [("szext.clamp.s32 %r1, %r2, %r3;", "`szext.clamp.s32`"), ("add.rn.f33 %r1, %r2, %r3;", "`add.rn.f33`")]
    {
        assert_eq!(unsupported(&ptx("x = 0;", &[code])), [said], "{code}");
    }
    let column = dartagnan(&["fnce.sc.gpu"]);
    assert_eq!(unsupported(&column), ["`fnce.sc.gpu` (did you mean `fence`?)"]);
}

#[test]
fn a_misspelt_second_word_is_suggested() {
    for (code, word, meant) in [
        ("mbarrier.arive.shared.b64 _, [b];", "arive", ".arrive"),
        ("mbarrier.try_wait.party.shared.b64 %p1, [b], 0;", "party", ".parity"),
        ("cp.async.bulk.comit_group;", "comit_group", ".commit_group"),
        ("tcgen05.fence::after_thread_snc;", "fence::after_thread_snc", ".fence::after_thread_sync"),
        ("fence.proxy.asnyc.shared::cta;", "asnyc", ".async"),
    ] {
        let (at, message, help) = error(&ptx(".shared .b64 b;", &[code]));
        assert_eq!((at.as_str(), help.as_str()), (word, format!("did you mean `{meant}`?").as_str()), "{message}");
    }
}

/// Words that PTX has elsewhere, or in a longer form, and words that it has nowhere (PTX ISA 9.7).
#[test]
fn a_form_that_is_no_ptx_is_an_error() {
    for (code, word, help) in [
        ("fence.proxy.async.shared;", "shared", "did you mean `.shared::cluster` or `.shared::cta`?"),
        (
            "cp.async.bulk.shared.global.mbarrier::complete_tx::bytes [b], [b], 16, [b];",
            "shared",
            "did you mean `.shared::cluster` or `.shared::cta`?",
        ),
        ("fence.sc.device;", "device", "did you mean `.gpu`?"),
        ("membar.system;", "system", "did you mean `.sys`?"),
        ("membar.gpu;", "gpu", "write `membar.gl`, or `fence.sc.gpu`, which means the same"),
        ("fence.acq_rel.gl;", "gl", "did you mean `.gpu`?"),
        ("ld.relaxed.gl.u32 %r1, [b];", "gl", "did you mean `.gpu`?"),
        ("ld.relaxed.gpu.int %r1, [b];", "int", "docs/instructions.md lists the forms that have a model"),
        ("frobnicate %r1;", "frobnicate", "docs/instructions.md lists the instructions that have a model"),
    ] {
        let (at, message, said) = error(&ptx(".shared .b64 b;", &[&real(code)]));
        assert_eq!((at.as_str(), said.as_str()), (word, help), "{message}");
    }
    for legal in ["membar.gl;", "membar.cta;", "membar.sys;", "fence.proxy.async.shared::cta;", "fence.sc.cluster;"] {
        assert!(unsupported(&ptx("x = 0;", &[&real(legal)])).is_empty(), "{legal}");
    }
}

#[test]
fn memory_that_cannot_be_reached_is_an_error() {
    let (at, message, _) = error(&ptx(".global .b64 b;", &["mbarrier.init.b64 [b], 1;"]));
    assert!(at.starts_with("mbarrier.init") && message.contains("`b` is not in shared memory"), "{message}");
    let apart = |cluster: u32| {
        format!(
            "PTX t\n{{ .shared .u32 s = 0; }}\nP0@cta 0, cluster 0 {{\nst.shared.u32 [s], 1;\n}}\n\
             P1@cta 1, cluster {cluster} {{\nld.shared::cluster.u32 %r1, [s@0];\n}}\n"
        )
    };
    assert!(error(&apart(1)).1.contains("another cluster"));
    assert!(attempt(&apart(0)).0.is_some());
}

#[test]
fn a_map_may_stand_before_its_tensor() {
    let (program, diagnostics) =
        attempt(&ptx(".global .tensormap m = g; .global .b64 g[2] = 1;", &["mov.u32 %r1, 0;"]));
    assert!(program.is_some(), "{diagnostics:?}");
}

#[test]
fn operands_in_another_order_are_a_mistake() {
    let memory = ".global .b32 g[8]; .shared .b32 s[8]; .shared .mbarrier b = 1; .global .tensormap m = g;";
    let copy = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes";
    let tensor = "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes";
    for (code, at, wanted) in [
        (&*format!("{copy} [s], [g], [b], 16;"), "[b]", "`[destination], [source], size, [mbarrier]`"),
        (&format!("{tensor} [m, {{0}}], [s], [b];"), "[m, {0}]", "`[destination], [map, coordinates], [mbarrier]`"),
        ("mbarrier.try_wait.parity.shared::cta.b64 %p, 0, [b];", "0", "`p, [mbarrier], phase{, time limit}`"),
        ("mbarrier.try_wait.parity.shared::cta.b64 %p, %r1, [b];", "[b]", "`p, [mbarrier], phase{, time limit}`"),
        ("mbarrier.init.shared::cta.b64 1, [b];", "1", "`[mbarrier], count`"),
        ("mbarrier.arrive.expect_tx.shared::cta.b64 %tok, 16, [b];", "16", "`state, [mbarrier], bytes`"),
        ("st.global.u32 1, [g];", "1", "`[a], b`"),
        ("st.global.u32 %r1, [g];", "[g]", "`[a], b`"),
        ("ld.global.u32 [g], %r1;", "[g]", "`d, [a]`"),
        ("atom.global.add.u32 %r1, 1, [g];", "1", "`d, [a], b`"),
        ("add.u32 %r1, %r1, [g];", "[g]", "load it into a register first"),
    ] {
        let (found, message, help) = error(&ptx(memory, &[code]));
        assert_eq!(found, at, "{code}: {message}");
        assert!(help.contains(wanted), "{code}: {message}: {help}");
    }
    // An absolute address is in brackets, and no mistake.
    assert_eq!(unsupported(&ptx(memory, &["ld.global.u32 %r1, [4096];"])), ["an absolute address"]);
}

#[test]
fn a_rank_outside_the_cluster() {
    let test = |cluster: &str| {
        format!(
            "PTX t\n{{ .shared .u32 s; }}\nP0@cta 0{cluster}, gpu 0 {{\nmapa.shared::cluster.u32 %r1, s, 1;\n\
             st.shared::cluster.u32 [%r1], 42;\n}}\nP1@cta 1{cluster}, gpu 0 {{\nld.shared.u32 %r2, [s];\n}}\n\
             exists (P1:%r2=42)\n"
        )
    };
    let (at, message, help) = error(&test(""));
    assert_eq!((at.as_str(), message.contains("no CTA of rank 1 in the cluster of P0")), ("1", true), "{message}");
    assert!(help.contains("cluster 0"), "{help}");
    assert_eq!(attempt(&test("")).1.len(), 1, "what follows from it is no second mistake");
    assert!(attempt(&test(", cluster 0")).0.is_some());
    // Whether the test has so many CTAs makes no difference.
    for (cluster, rank, wanted) in [("", "2", "the only rank is 0"), (", cluster 0", "2", "ranks are 0 to 1")] {
        let text = test(cluster).replace("s, 1;", &format!("s, {rank};"));
        let (at, message, help) = error(&text);
        assert_eq!((at.as_str(), help.as_str()), (rank, wanted), "{message}");
    }
}

/// Forms that the ISA does not have, and that meant something else than they said.
#[test]
fn forms_that_are_none() {
    let refused = |declared: &str, code: &str| {
        let (program, diagnostics) = attempt(&ptx(declared, &[code]));
        assert!(program.is_none(), "{code}");
        diagnostics[0].message.clone()
    };
    let map = ".global .u32 g[4][4]; .global .tensormap m = g; .shared .u32 s[4]; .shared .b64 b;";
    let copy = "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [s], [m, {0}], [b];";
    assert!(refused(map, copy).contains("2 coordinates"));
    let state = refused(map, "mbarrier.try_wait.shared::cta.b64 %p1, [b], 0;");
    assert!(state.contains("a number is no state of an mbarrier"));
    assert!(refused("", "setp.lo.s32 %p1, -1, 3;").contains("compares unsigned numbers"));
    assert!(refused(".const .u32 c;", "ld.relaxed.gpu.const.u32 %r1, [c];").contains("global or shared memory"));
    assert!(
        refused(".shared .u32 s[4];", "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1}, [s];")
            .contains("2 elements")
    );
}

#[test]
fn a_wrong_number_of_operands_comes_with_the_operands_that_the_form_takes() {
    let declarations = ".shared .mbarrier b = 1; .global .u32 x = 0;";
    for (code, help) in [
        ("mbarrier.arrive.shared::cta.b64 %r1;", "state, [mbarrier]{, count}"),
        ("mbarrier.arrive.expect_tx.shared::cta.b64 [b];", "state, [mbarrier], bytes"),
        ("mbarrier.arrive.multicast::cluster::32b.b64 _, [b];", "state, [mbarrier]{, count}, mask"),
        ("mbarrier.try_wait.parity.shared::cta.b64 %p, [b];", "p, [mbarrier], phase{, time limit}"),
        ("setp.lt.u32 %p, %r1;", "p, a, b"),
        ("setp.lt.and.u32 %p, %r1, 2;", "p, a, b, c"),
        ("mad.lo.u32 %r1, 4, %r2;", "d, a, b, c"),
        ("add.u32 %r1, 4;", "d, a, b"),
        ("bfe.u32 %r1, 4;", "d, a, position, length"),
        ("atom.cas.b32 %r1, [x], 0;", "d, [a], b, c"),
        ("st.u32 [x];", "[a], b"),
    ] {
        let (_, message, found) = error(&ptx(declarations, &[code]));
        assert!(message.contains("number of operands") || message.contains(" operands, not "), "{code}: {message}");
        assert_eq!(found, format!("its operands are `{help}`, in this order"), "{code}");
    }
    // As many as the form takes are in another order.
    let (at, message, help) = error(&ptx(declarations, &["mbarrier.arrive.expect_tx.shared::cta.b64 [b], _, 16;"]));
    assert_eq!((at.as_str(), help.contains("`state, [mbarrier], bytes`")), ("[b]", true), "{help}");
    assert!(message.ends_with("has an address where a value belongs"), "{message}");
}

#[test]
fn a_slip_in_a_word_is_told_with_the_word_that_was_meant() {
    for (code, at, help) in [
        ("setp.NE.u32 %p, %r1, 0;", "NE", "did you mean `.ne`?"),
        ("ad.u32 %r1, %r1, 1;", "ad", "did you mean `add`?"),
        ("sh.u32 %r1, %r1, 1;", "sh", "docs/instructions.md lists the instructions that have a model"),
        ("fence;", "fence", "write `fence.acq_rel.gpu` or `fence.sc.gpu`"),
        ("fence.acq_rel;", "fence", "add `.cta`, `.cluster`, `.gpu` or `.sys`"),
        (
            "cp.async.bulk.global.shared::cta.mbarrier::complete_tx::bytes [x], [s], 16, [b];",
            "mbarrier::complete_tx::bytes",
            "a copy in this direction completes in a bulk group and takes no mbarrier: write `.bulk_group`",
        ),
        (
            "cp.async.bulk.shared::cta.global.bulk_group [s], [x], 16;",
            "bulk_group",
            "a copy in this direction completes on an mbarrier: write `.mbarrier::complete_tx::bytes`",
        ),
    ] {
        let text = ptx(".global .b64 x[2]; .shared .b64 s[2]; .shared .mbarrier b = 1;", &[code]);
        let (found, message, found_help) = error(&text);
        assert_eq!((found.as_str(), found_help.as_str()), (at, help), "{code}: {message}");
    }
    assert!(error(&ptx("x = 0;", &["fence;"])).1.contains("neither its semantics nor its scope"));
}

#[test]
fn a_semicolon_behind_a_label_is_told_once() {
    let code = ["Loop;", "ld.u32 %r1, [x];", "setp.ne.u32 %p, %r1, 0;", "@%p bra Loop;"];
    let text = ptx("x = 0;", &code);
    assert_eq!(attempt(&text).1.len(), 1);
    let (at, message, help) = error(&text);
    assert_eq!((at.as_str(), help.as_str()), ("Loop", "did you mean `Loop:`?"));
    assert_eq!(message, "`Loop` is not a PTX instruction");
    // Nothing branches to it.
    assert_eq!(
        error(&ptx("x = 0;", &["Loop;", "ld.u32 %r1, [x];"])).2,
        "docs/instructions.md lists the instructions that have a model"
    );
}

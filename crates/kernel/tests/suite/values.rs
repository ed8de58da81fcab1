//! Values on their way: through local memory, halves, bytes, asynchronous copies and calls. What a value depends on goes
//! with it, or a branch on it would be taken for determined.

use fencepost_kernel::check::{Limits, check};
use fencepost_kernel::code::decode;
use fencepost_kernel::launch::read::read;
use fencepost_kernel::report::{Doubt, Finding, Protocol, Report, Rule};
use fencepost_syntax::ptx;

pub(crate) const LAUNCH: &str =
    "entry = \"e\"\nblock = [64]\n[[buffer]]\nname = \"a\"\nbytes = 4096\n[[parameter]]\nbuffer = \"a\"\n";

/// A kernel of 64 threads: `%rd1` is a buffer, `%rd2` the thread's own eight bytes there, `%r1` the thread, `s` shared.
pub(crate) fn answer(functions: &str, body: &str) -> Report {
    answer_to(LAUNCH, functions, body)
}

pub(crate) fn answer_to(launch: &str, functions: &str, body: &str) -> Report {
    let text = format!(
        ".version 9.0\n.target sm_90a\n.address_size 64\n{functions}\n.visible .entry e(.param .u64 a)\n{{\n\
         .reg .pred %p<9>;\n.reg .b16 %h<9>;\n.reg .b32 %r<20>;\n.reg .b64 %rd<20>;\n.reg .b128 %q<4>;\n\
         .shared .align 128 .b8 s[2048];\n.shared .align 8 .b64 m;\n.local .align 16 .b8 own[32];\n\
         ld.param.u64 %rd1, [a];\nmov.u32 %r1, %tid.x;\nmad.wide.u32 %rd2, %r1, 8, %rd1;\n{body}\nret;\n}}\n"
    );
    let (tree, errors) = ptx::parse(&text);
    assert!(errors.is_empty(), "{errors:?}\n{text}");
    let (module, errors) = decode(&tree);
    assert!(errors.is_empty(), "{errors:?}\n{text}");
    let launch = read(launch, &module, &module.entries[0], &|_| Err("no file".to_owned()));
    let launch = launch.unwrap_or_else(|wrong| panic!("{}", wrong.message));
    check(&module, &module.entries[0], &launch, &Limits::default())
}

pub(crate) fn proved(report: &Report) -> bool {
    report.findings.is_empty() && report.doubts.is_empty()
}

pub(crate) fn decided(report: &Report) -> bool {
    report.doubts.iter().any(|doubt| matches!(doubt, Doubt::Decided { .. }))
}

/// A branch on what `%r9` holds, around a store.
pub(crate) const BRANCH: &str = "setp.eq.u32 %p1, %r9, 0;\n@%p1 bra END;\nst.global.u32 [%rd2], %r1;\nEND:";

#[test]
fn a_clock_is_remembered_wherever_it_goes() {
    let ways = [
        "st.local.u32 [own+4], %r8;\nld.local.u32 %r9, [own+4];",
        "mov.u32 %r7, 1;\nst.local.v2.u32 [own], {%r7, %r8};\nld.local.u64 %rd3, [own];\nshr.u64 %rd3, %rd3, 32;\ncvt.u32.u64 %r9, %rd3;",
        "cvt.u16.u32 %h1, %r8;\nst.global.u8 [%rd2], %h1;\nmov.u16 %h2, 0;\nst.global.u8 [%rd2+1], %h2;\nld.global.u8 %h3, [%rd2];\ncvt.u32.u16 %r9, %h3;",
        "cvt.u16.u32 %h1, %r8;\nst.global.u8 [%rd2+3], %h1;\nld.global.u32 %r9, [%rd2];",
        "st.global.u32 [%rd2+4], %r8;\nld.global.u64 %rd3, [%rd2];\ncvt.u32.u64 %r9, %rd3;",
        "mov.u64 %rd4, {%r1, %r8};\nmov.b128 %q1, {%rd4, %rd4};\nmov.b128 {%rd5, %rd6}, %q1;\ncvt.u32.u64 %r9, %rd6;",
    ];
    for way in ways {
        let report = answer("", &format!("mov.u32 %r8, %clock;\n{way}\n{BRANCH}"));
        assert!(decided(&report) && report.findings.is_empty(), "{way}\n{report:?}");
        let report = answer("", &format!("mov.u32 %r8, 5;\n{way}\n{BRANCH}"));
        assert!(proved(&report), "{way}\n{report:?}");
    }
}

#[test]
fn local_memory_holds_nothing_known_before_it_is_written() {
    assert!(decided(&answer("", &format!("ld.local.u32 %r9, [own];\n{BRANCH}"))));
}

#[test]
fn an_asynchronous_copy_carries_what_each_byte_depends_on() {
    let copy = "mov.u32 %r3, s;\nshl.b32 %r4, %r1, 3;\nadd.s32 %r5, %r3, %r4;\n\
        cp.async.ca.shared.global [%r5], [%rd2], 8;\ncp.async.wait_all;\nld.shared.u32 %r9, [%r5+4];";
    let report = |value: &str| answer("", &format!("{value}\nst.global.u32 [%rd2+4], %r8;\n{copy}\n{BRANCH}"));
    assert!(decided(&report("mov.u32 %r8, %clock;")));
    assert!(proved(&report("mov.u32 %r8, 5;")));
}

const DOUBLE: &str = ".func (.param .b32 result) twice(.param .b32 number)\n{\n.reg .pred %p<3>;\n.reg .b32 %r<4>;\n\
    ld.param.b32 %r1, [number];\nsetp.gt.u32 %p1, %r1, 40;\n@%p1 bra LARGE;\nadd.u32 %r2, %r1, %r1;\n\
    st.param.b32 [result], %r2;\nret;\nLARGE:\nmov.u32 %r2, 0;\nst.param.b32 [result], %r2;\nret;\n}\n";

fn call(name: &str, from: &str, to: &str) -> String {
    format!(
        "{{\n.param .b32 param0;\nst.param.b32 [param0], {from};\n.param .b32 retval0;\ncall.uni (retval0), {name}, (param0);\n\
         ld.param.b32 {to}, [retval0];\n}}\n"
    )
}

/// `%r9` becomes the number that the host would have, or the kernel traps.
fn expecting(number: &str) -> String {
    format!("{number}\nsetp.ne.u32 %p2, %r9, %r10;\n@%p2 trap;\nst.global.u32 [%rd2], %r9;")
}

#[test]
fn a_function_runs_where_it_is_called() {
    let body = format!(
        "{}{}{}",
        call("twice", "%r1", "%r8"),
        call("twice", "%r8", "%r9"),
        expecting("setp.gt.u32 %p3, %r1, 20;\nshl.b32 %r10, %r1, 2;\n@%p3 mov.u32 %r10, 0;",)
    );
    let report = answer(DOUBLE, &body);
    assert!(proved(&report), "{report:?}");
    let wrong = body.replace("shl.b32 %r10, %r1, 2", "shl.b32 %r10, %r1, 1");
    assert!(answer(DOUBLE, &wrong).findings.iter().any(|finding| matches!(finding, Finding::Trap { .. })));
}

#[test]
fn functions_that_call_functions_and_themselves() {
    let outer = format!(
        "{DOUBLE}.func (.param .b32 result) four(.param .b32 number)\n{{\n.reg .b32 %r<4>;\nld.param.b32 %r1, [number];\n{}\
         st.param.b32 [result], %r2;\nret;\n}}\n",
        call("twice", "%r1", "%r2")
    );
    let body = format!(
        "{}{}",
        call("four", "%r1", "%r9"),
        expecting("shl.b32 %r10, %r1, 1;\nsetp.gt.u32 %p3, %r1, 40;\n@%p3 mov.u32 %r10, 0;")
    );
    let report = answer(&outer, &body);
    assert!(proved(&report), "{report:?}");
    let endless = outer.replace("(retval0), twice,", "(retval0), four,");
    let report = answer(&endless, &body);
    assert!(report.doubts.iter().any(|doubt| matches!(doubt, Doubt::Stub { .. })), "{report:?}");
}

#[test]
fn printing_changes_nothing_but_its_result() {
    let print = "{\n.param .b64 param0;\nst.param.b64 [param0], %rd1;\n.param .b64 param1;\nst.param.b64 [param1], %rd1;\n.param .b32 retval0;\n\
        call.uni (retval0), vprintf, (param0, param1);\nld.param.b32 %r9, [retval0];\n}";
    let declared = ".extern .func (.param .b32 result) vprintf(.param .b64 a, .param .b64 b);";
    assert!(proved(&answer(declared, print)));
    assert!(decided(&answer(declared, &format!("{print}\n{BRANCH}"))));
}

#[test]
fn modifiers_that_an_opcode_does_not_take_have_no_model() {
    for line in [
        "ld.sync.u32 %r2, [%rd2];",
        "ld.relaxed.u32 %r2, [%rd2];",
        "ld.gpu.u32 %r2, [%rd2];",
        "ld.relaxed.acquire.gpu.u32 %r2, [%rd2];",
        "ld.acquire.gpu.cta.u32 %r2, [%rd2];",
        "st.acquire.gpu.u32 [%rd2], %r1;",
        "bar.relu 0;",
        "fence.acq_rel.gpu.parity;",
        "add.sync.u32 %r2, %r1, %r1;",
        "st.const.u32 [%rd2], %r1;",
        "st.param.u64 [a], %rd1;",
        "atom.const.add.u32 %r2, [%rd2], %r1;",
        "st.bulk.weak.shared::cta [%r2], 256, 1;",
    ] {
        let report = answer("", line);
        assert!(report.doubts.iter().any(|doubt| matches!(doubt, Doubt::Unmodelled { .. })), "{line}: {report:?}");
    }
}

#[test]
fn a_variable_is_declared_once() {
    let wrong = |module: &str, parameters: &str, body: &str| {
        let text = format!(
            ".version 9.0\n.target sm_90a\n.address_size 64\n{module}\n.entry e({parameters})\n{{\n{body}\nret;\n}}\n"
        );
        let (tree, errors) = ptx::parse(&text);
        assert!(errors.is_empty(), "{errors:?}\n{text}");
        let told: Vec<String> = decode(&tree).1.into_iter().map(|wrong| wrong.message).collect();
        told.join(", ")
    };
    assert_eq!(wrong(".global .u32 x;\n.global .u64 x;", "", ""), "a second variable `x`");
    assert_eq!(wrong("", ".param .u64 a, .param .u32 a", ""), "entry `e`: a second parameter `a`");
    assert_eq!(wrong("", "", ".shared .u32 s;\n.shared .u32 s;"), "cannot be read: a second variable `s`");
    // Declared and defined, and a block of its own.
    assert_eq!(wrong(".extern .global .u32 x;\n.global .u32 x;", "", ".shared .u32 s;\n{\n.shared .u32 s;\n}"), "");
}

#[test]
fn addresses_and_masks_of_copies_are_checked() {
    let copy = |at: &str, what: &str| {
        answer("", &format!("{{ .reg .b32 %a;\nmov.u32 %a, s;\ncp.async.{what};\n}}").replace("AT", at))
    };
    let lone = |what: &str| copy("[%rd1]", &format!("commit_group;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 cp.async.{what}"));
    assert!(proved(&lone("ca.shared.global [%a], AT, 8")), "{:?}", lone("ca.shared.global [%a], AT, 8"));
    for source in ["[%rd1+2]", "[%rd1+4]"] {
        let what = "commit_group;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 cp.async.ca.shared.global [%a], AT, 8";
        let report = copy(source, what);
        assert!(matches!(report.findings[..], [Finding::Misaligned { bytes: 8, .. }]), "{report:?}");
    }
    for what in ["cg.shared.global [%a], AT, 8", "ca.shared.global [%a], AT, 5"] {
        assert!(!proved(&lone(what)), "{what}");
    }
    let multicast = |mask: u32| {
        answer(
            "",
            &format!(
                "mov.u32 %r3, s;\nmov.u32 %r4, m;\nsetp.ne.u32 %p4, %r1, 0;\n@%p4 bra END;\n\
                 mbarrier.init.shared::cta.b64 [%r4], 1;\nfence.proxy.async.shared::cta;\n\
                 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 16;\nmov.u16 %h1, {mask};\n\
                 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r3], [%rd1], 16, \
                 [%r4], %h1;\nW:\nmbarrier.try_wait.parity.shared::cta.b64 %p2, [%r4], 0;\n@!%p2 bra W;\nEND:"
            ),
        )
    };
    assert!(proved(&multicast(1)) && matches!(multicast(3).findings[..], [Finding::BadOperand { .. }]));
}

/// 6.4.1: an address is a multiple of the size of what is accessed, of all elements of a vector.
#[test]
fn addresses_and_sizes_of_other_copies_are_checked() {
    let first = "setp.ne.u32 %p4, %r1, 0;\n@%p4 bra OVER;\nmov.u32 %r3, s;\nmov.u64 %rd5, 12;\nmov.u64 %rd6, 16;\n";
    let said = |line: &str| answer("", &format!("{first}{line}\nOVER:")).findings;
    let zero = |at: &str, size: &str| said(&format!("st.bulk.weak.shared::cta [{at}], {size}, 0;"));
    assert!(zero("%r3+8", "%rd6").is_empty());
    assert!(matches!(zero("%r3+4", "%rd6")[..], [Finding::Misaligned { bytes: 8, .. }]));
    assert!(matches!(zero("%r3", "%rd5")[..], [Finding::BadOperand { .. }]));
    let add = |at: &str| said(&format!("red.global.v2.f32.add [{at}], {{%r4, %r5}};"));
    assert!(add("%rd1+8").is_empty() && matches!(add("%rd1+4")[..], [Finding::Misaligned { bytes: 8, .. }]));
    let copied = said("cp.async.ca.shared.global [%r3], [%rd1], 4, 16;");
    assert!(matches!(copied[..], [Finding::BadOperand { .. }]), "{copied:?}");
    let is_beside = |line: &str| {
        let found = said(&format!("mov.u32 %r4, m;\nmbarrier.init.shared::cta.b64 [%r4], 1;\n{line}"));
        found.iter().any(|own| matches!(own, Finding::Misaligned { bytes: 4, .. }))
    };
    for what in ["st.async.weak", "red.async.relaxed.cluster"] {
        let add = if what.starts_with("red") { ".add" } else { "" };
        let line =
            |at: &str| format!("{what}.shared::cluster.mbarrier::complete_tx::bytes{add}.u32 [{at}], %r1, [%r4];");
        assert!(!is_beside(&line("%r3+4")) && is_beside(&line("%r3+2")), "{what}");
    }
}

/// What ptxas refuses is no kernel to say anything of.
#[test]
fn what_is_there_twice_or_too_large_is_refused() {
    let errors = |text: &str| {
        let (tree, mut errors) = ptx::parse(&format!(".version 9.0\n.target sm_90\n.address_size 64\n{text}"));
        errors.extend(decode(&tree).1);
        errors.len()
    };
    let entry = |body: &str| format!(".visible .entry e() {{\n.reg .b32 %r<3>;\n{body}\nret;\n}}\n");
    assert_eq!(errors(&entry("L: mov.u32 %r1, 1;\n{ L: mov.u32 %r1, 1; }")), 0);
    assert_eq!(errors(&entry("L: mov.u32 %r1, 1;\nL: mov.u32 %r1, 1;")), 1);
    assert_eq!(errors(&entry(".reg .b32 %a;\n{ .reg .b64 %a; }")), 0);
    assert_eq!(errors(&entry(".reg .b32 %a;\n.reg .b64 %a;")), 1);
    assert_eq!(errors(&entry(".shared .b8 x[99999999999];")), 1);
    assert_eq!(errors(&[entry(""), entry("bar.sync 0;")].concat()), 1);
}

/// The first layout is what every version had; a mask has 16 bits where it does not say otherwise.
#[test]
fn layouts_of_mbarriers_and_widths_of_masks_are_read() {
    let copied = |layout: &str, width: &str| {
        format!(
            "mov.u32 %r3, s;\nmov.u32 %r4, m;\nsetp.ne.u32 %p4, %r1, 0;\n@%p4 bra END;\n\
             mbarrier.init{layout}.shared::cta.b64 [%r4], 1;\nfence.proxy.async.shared::cta;\n\
             mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 16;\nmov.u16 %h1, 1;\n\
             cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster{width} [%r3], [%rd1], 16, \
             [%r4], %h1;\nW:\nmbarrier.try_wait.parity.shared::cta.b64 %p2, [%r4], 0;\n@!%p2 bra W;\n\
             ld.shared.u32 %r5, [%r3];\nEND:"
        )
    };
    for (layout, width) in [("", ""), (".layout::v0", "::16b"), ("", "::32b")] {
        let report = answer("", &copied(layout, width));
        assert!(proved(&report), "{layout}{width}: {report:?}");
    }
}

#[test]
fn zeros_and_vectors_of_atomics_touch_what_they_name() {
    let zero = "mov.u32 %r3, s;\nsetp.ne.u32 %p4, %r1, 0;\n@%p4 bra OVER;\nst.bulk.weak.shared::cta [%r3], 256, 0;\nOVER:\n{sync}\n\
        shl.b32 %r4, %r1, 2;\nadd.s32 %r5, %r3, %r4;\nld.shared.u32 %r9, [%r5];\nst.global.u32 [%rd2], %r9;";
    assert!(proved(&answer("", &zero.replace("{sync}", "bar.sync 0;"))));
    assert!(!answer("", &zero.replace("{sync}", "")).findings.is_empty());
    let sum = "red.global.gpu.add.v2.u32 [%rd1], {%r1, %r1};\n{sync}";
    let refused = answer("", &sum.replace("{sync}", "")).doubts;
    assert!(refused.is_empty(), "{refused:?}");
    let weak = "bar.sync 0;\nld.global.u32 %r9, [%rd1+4];\nadd.u32 %r9, %r9, 1;\nst.shared.u32 [s], %r9;";
    assert!(!answer("", &sum.replace("{sync}", &weak.replace("bar.sync 0;", ""))).findings.is_empty());
}

/// A cluster that asks for the work of another, as the ISA's example does it; `again`: once more after a refusal.
fn asking(again: &str) -> String {
    format!(
        "setp.ne.u32 %p1, %r1, 0;\nmov.u32 %r3, s;\nmov.u32 %r4, m;\n@%p1 bra OVER;\nmbarrier.init.shared::cta.b64 [%r4], 1;\nOVER:\n\
         bar.sync 0;\nmov.u32 %r5, 0;\nLOOP:\n@%p1 bra WAIT;\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 16;\n\
         clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r3], [%r4];\nWAIT:\n\
         mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r4], %r5;\n@!%p2 bra WAIT;\nxor.b32 %r5, %r5, 1;\n\
         ld.shared.b128 %q1, [%r3];\nclusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p3, %q1;\n\
         clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r6, %q1;\nfence.proxy.async.shared::cta;\nbar.sync 0;\n\
         @!%p3 bra {again};\nbra LOOP;\nEND:"
    )
}

#[test]
fn work_of_clusters_that_have_not_started_is_taken_over() {
    let report = answer("", &asking("END"));
    assert!(report.findings.is_empty() && decided(&report), "{report:?}");
    let again = answer("", &asking("LOOP"));
    let refused = |finding: &Finding| {
        matches!(finding, Finding::Protocol { what: fencepost_kernel::report::Protocol::CancelAfterRefusal, .. })
    };
    assert!(again.findings.iter().any(refused), "{again:?}");
}

#[test]
fn a_branch_on_a_small_float_of_the_launch_is_determined() {
    let branch = |from: &str, ty: &str| {
        format!(
            "mov.b16 %h1, {from};\ncvt.f32.{ty} %f1, %h1;\nsetp.eq.f32 %p1, %f1, 0f00000000;\n@%p1 bra END;\nst.global.u32 [%rd2], %r1;\nEND:"
        )
    };
    for ty in ["f16", "bf16"] {
        let text = format!(".reg .f32 %f<3>;\n{}", branch("0x3c00", ty));
        assert!(proved(&answer("", &text)));
    }
    let text = ".reg .f32 %f<3>;\nmov.b16 %h2, 0x3c00;\nadd.f16 %h1, %h2, %h2;\nsetp.eq.f16 %p1, %h1, %h2;\n@%p1 bra END;\nst.global.u32 [%rd2], %r1;\nEND:";
    assert!(decided(&answer("", text)));
}

const PAIR: &str = "entry = \"e\"\ngrid = [2]\ncluster = [2]\nblock = [32]\n[[buffer]]\nname = \"a\"\nbytes = 4096\n[[parameter]]\nbuffer = \"a\"\n";

#[test]
fn an_address_in_shared_memory_has_the_rank_of_its_cta() {
    // Both CTAs of a pair arrive at the mbarrier of the first, whose address they find by clearing a bit.
    let body = |address: &str| {
        format!(
            "mov.u32 %r4, m;\nsetp.ne.u32 %p1, %r1, 0;\nmov.u32 %r5, %cluster_ctarank;\nsetp.ne.u32 %p3, %r5, 0;\n@%p1 bra READY;\n\
             mbarrier.init.shared::cta.b64 [%r4], 2;\nfence.mbarrier_init.release.cluster;\nREADY:\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n\
             and.b32 %r6, %r4, -16777217;\n@%p1 bra OVER;\nmbarrier.arrive.release.cluster.shared::cluster.b64 _, [{address}];\nOVER:\n\
             @%p3 bra END;\nWAIT:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r4], 0;\n@!%p2 bra WAIT;\nEND:\n\
             barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;"
        )
    };
    let report = answer_to(PAIR, "", &body("%r6"));
    assert!(proved(&report), "{report:?}");
    let hang = |report: &Report| report.findings.iter().any(|finding| matches!(finding, Finding::Hang { .. }));
    assert!(hang(&answer_to(PAIR, "", &body("%r4"))));
    let remote = "mov.u32 %r4, m;\nxor.b32 %r6, %r4, 16777216;\nst.shared::cta.u32 [%r6], %r1;";
    let report = answer_to(PAIR, "", remote);
    assert!(report.findings.iter().any(|finding| matches!(finding, Finding::OutOfBounds { .. })), "{report:?}");
}

/// A warpgroup multiplies what lies in shared memory, and one of its threads frees it for a copy that warp 4 starts.
fn freed(wait: &str) -> String {
    format!(
        "mov.u32 %r4, m;\nmov.u32 %r3, s;\nshr.u32 %r12, %r1, 5;\nsetp.ne.u32 %p1, %r1, 0;\nsetp.ge.u32 %p2, %r12, 4;\n@%p1 bra READY;\n\
         mbarrier.init.shared::cta.b64 [%r4], 1;\nmbarrier.init.shared::cta.b64 [%r4+8], 1;\nREADY:\nbar.sync 0;\n@%p2 bra COPY;\n\
         shr.u32 %r5, %r3, 4;\nand.b32 %r5, %r5, 16383;\ncvt.u64.u32 %rd3, %r5;\nor.b64 %rd3, %rd3, 68719476736;\nor.b64 %rd3, %rd3, 524288;\n\
         mov.f32 %f0, 0f00000000;\nmov.f32 %f1, %f0;\nmov.f32 %f2, %f0;\nmov.f32 %f3, %f0;\nwgmma.fence.sync.aligned;\n\
         wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%f0, %f1, %f2, %f3}}, %rd3, %rd3, 1, 1, 1, 0, 0;\n\
         wgmma.commit_group.sync.aligned;\n{wait}\n@%p1 bra END;\nmbarrier.arrive.shared::cta.b64 _, [%r4];\nbra END;\nCOPY:\n\
         setp.ne.u32 %p3, %r1, 128;\n@%p3 bra END;\nFREE:\nmbarrier.try_wait.parity.shared::cta.b64 %p4, [%r4], 0;\n@!%p4 bra FREE;\n\
         mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4+8], 2048;\n\
         cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r3], [%rd1], 2048, [%r4+8];\nFULL:\n\
         mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r4+8], 0;\n@!%p4 bra FULL;\nEND:\n{over}",
        over = if wait.is_empty() { "wgmma.wait_group.sync.aligned 0;" } else { "" }
    )
}

#[test]
fn whoever_waits_for_a_product_knows_the_parts_of_its_warpgroup() {
    let launch = LAUNCH.replace("[64]", "[160]");
    let declare = |body: String| format!(".reg .f32 %f<4>;\n{body}").replace("mov.u32 %r4, m;", "mov.u32 %r4, m2;");
    let memory = |body: String| format!(".shared .align 8 .b64 m2[2];\n{}", declare(body));
    let report = answer_to(&launch, "", &memory(freed("wgmma.wait_group.sync.aligned 0;")));
    assert!(proved(&report), "{report:?}");
    let early = answer_to(&launch, "", &memory(freed("")));
    assert!(early.findings.iter().any(|finding| matches!(finding, Finding::Race { .. })), "{early:?}");
}

/// Thread 32 asks an mbarrier on which thread 0 arrives, `rounds` says how; what it does then is decided by `after`.
pub(crate) fn asked(rounds: &str, after: &str) -> Report {
    let body = format!(
        "mov.u32 %r4, m;\nmov.u32 %r5, s;\nmov.u32 %r6, 0;\nsetp.ne.u32 %p1, %r1, 0;\nsetp.ne.u32 %p2, %r1, 32;\n@%p1 bra READY;\n\
         mbarrier.init.shared::cta.b64 [%r4], 1;\nREADY:\nbar.sync 0;\n@%p1 bra ASK;\nmbarrier.arrive.shared::cta.b64 _, [%r4];\nbra END;\n\
         ASK:\n@%p2 bra END;\n{rounds}\n{after}\nEND:"
    );
    answer("", &body)
}

#[test]
fn answers_of_waits_and_the_number_of_questions_decide_nothing() {
    let wait = "AGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [%r4], 0;\n@!%p3 bra AGAIN;";
    let counted = "bra FIRST;\nAGAIN:\nadd.u32 %r6, %r6, 1;\nFIRST:\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [%r4], 0;\n@!%p3 bra AGAIN;";
    let peeked = format!("mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r4], 0;\n@%p4 bra OVER;\n{wait}\nOVER:");
    let bounded = "AGAIN:\nadd.u32 %r6, %r6, 1;\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [%r4], 0;\nsetp.gt.u32 %p5, %r6, 1000;\n@%p5 bra OVER;\n@!%p3 bra AGAIN;\nOVER:";
    let store = "st.shared.u32 [%r5], %r1;";
    assert!(proved(&asked(wait, store)));
    assert!(proved(&asked(counted, store)));
    assert!(proved(&asked(&peeked, store)));
    assert!(decided(&asked(counted, "setp.eq.u32 %p5, %r6, 7;\n@%p5 st.shared.u32 [%r5], %r1;")));
    assert!(decided(&asked(&peeked, "@%p4 st.shared.u32 [%r5], %r1;")));
    assert!(decided(&asked(bounded, store)));
}

#[test]
fn a_wait_that_sleeps_now_and_then_is_a_wait() {
    let wait = |late: &str| {
        format!(
            "mov.u32 %r6, 0;\nmov.u32 %r7, 0;\nbra FIRST;\nMORE:\nadd.u32 %r6, %r6, 1;\nFIRST:\n\
             mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r4], 0;\n@%p3 bra OVER;\nsetp.lt.u32 %p5, %r6, 16;\n\
             @%p5 bra MORE;\nmov.u32 %r7, %clock;\nsetp.lt.u32 %p5, %r7, 400;\n@%p5 bra FIRST;\n{late}\nOVER:"
        )
    };
    let store = "st.shared.u32 [%r5], %r1;";
    assert!(proved(&asked(&wait("nanosleep.u32 %r7;\nbra FIRST;"), store)));
    // The clock is read on a way that the run does not take.
    let clock = "setp.eq.u32 %p5, %r7, 7;\n@%p5 st.shared.u32 [%r5], %r1;";
    assert!(decided(&asked(&wait("nanosleep.u32 %r7;\nbra FIRST;"), clock)));
    // It gives up; it does something; it asks for something else; it asks no more.
    assert!(decided(&asked(&wait(""), store)));
    assert!(decided(&asked(&wait("st.shared.u32 [%r5], %r1;\nbra FIRST;"), store)));
    assert!(decided(&asked(&wait("add.u32 %r4, %r4, 8;\nbra FIRST;"), store)));
    assert!(decided(&asked(&wait("EVER:\nbra EVER;"), store)));
}

/// Thread 0, and threads 32 and 33, with mbarriers of this count and of one: what they do with them.
fn two(count: u32, first: &str, second: &str) -> Report {
    answer(
        "",
        &format!(
            "mov.u32 %r4, m;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 mbarrier.init.shared::cta.b64 [%r4], {count};\n\
             mov.u32 %r5, s;\n@%p1 mbarrier.init.shared::cta.b64 [%r5], 1;\nbar.sync 0;\nshr.u32 %r6, %r1, 1;\n\
             setp.eq.u32 %p2, %r6, 16;\n@%p1 bra FIRST;\n@%p2 bra SECOND;\nbra END;\nFIRST:\n{first}\nbra END;\n\
             SECOND:\n{second}\nEND:"
        ),
    )
}

#[test]
fn phases_of_an_mbarrier_are_known_to_be_over() {
    let doubted = |report: &Report, rule: Rule| {
        report.doubts.iter().any(|doubt| matches!(doubt, Doubt::Matching { rule: own, .. } if *own == rule))
    };
    let arrive = "mbarrier.arrive.shared::cta.b64 _, [%r4];\n";
    let wait = |name: &str, parity: u32| {
        format!("{name}:\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [%r4], {parity};\n@!%p3 bra {name};\n")
    };
    // D1: two arrivals of one thread may be a phase, or one of each.
    let twice = arrive.repeat(2);
    assert!(doubted(&two(3, &twice, &twice), Rule::PhaseUnknown));
    let between = |name: &str| format!("{arrive}{}{arrive}", wait(name, 0));
    assert!(proved(&two(3, &between("W"), &between("V"))));
    assert!(proved(&two(1, arrive, &wait("W", 0))));
    // D2: the second phase may be over when thread 0 waits for the first, though in the run it is not: its arrival waits for
    // thread 64, which has waited for the first too, and does not know where thread 0 is.
    let other = |text: &str| text.replace("[%r4]", "[%r5]");
    let body = format!(
        "mov.u32 %r4, m;\nmov.u32 %r5, s;\nsetp.ne.u32 %p1, %r1, 0;\nsetp.ne.u32 %p2, %r1, 32;\nsetp.ne.u32 %p4, %r1, 64;\n\
         @%p1 bra READY;\nmbarrier.init.shared::cta.b64 [%r4], 1;\nmbarrier.init.shared::cta.b64 [%r5], 1;\nREADY:\n\
         bar.sync 0;\n@!%p1 bra W;\n@!%p2 bra SLOW;\n@%p4 bra END;\n{}{}bra END;\nSLOW:\n{arrive}{}{arrive}bra END;\n{}END:",
        wait("U", 0),
        other(arrive),
        other(&wait("V", 0)),
        wait("W", 0)
    );
    let late = answer_to(&LAUNCH.replace("[64]", "[96]"), "", &body);
    assert!(late.findings.iter().any(|finding| matches!(finding, Finding::Hang { .. })), "{late:?}");
}

#[test]
fn relaxed_synchronisation_tells_which_phase_an_arrival_is_of_from_a_wait_only() {
    let arrive = "mbarrier.arrive.shared::cta.b64 _, [%r4];\n";
    let tell = |waits: bool, order: &str| {
        let waits =
            if waits { "W:\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [%r4], 0;\n@!%p3 bra W;\n" } else { "" };
        let first = format!("{}{waits}mbarrier.arrive.{order}.cta.shared::cta.b64 _, [%r5];", arrive.repeat(2));
        let order = order.replace("release", "acquire");
        let wait = format!("V:\nmbarrier.try_wait.parity.{order}.cta.shared::cta.b64 %p3, [%r5], 0;\n@!%p3 bra V;\n");
        two(2, &first, &(wait + arrive))
    };
    assert!(proved(&tell(true, "release")) && proved(&tell(true, "relaxed")));
    // Without a wait the phase is known to be over, or not even that.
    let errs = |report: &Report| matches!(report.findings[..], [Finding::Protocol { what: Protocol::MissingWait, .. }]);
    assert!(errs(&tell(false, "release")));
    let relaxed = tell(false, "relaxed");
    assert!(relaxed.findings.is_empty() && !proved(&relaxed));
}

#[test]
fn bytes_of_an_mbarrier_are_handed_to_the_async_proxy_by_a_fence() {
    let copy = |fence: &str| {
        let body = format!(
            "mov.u32 %r4, m;\nmov.u32 %r5, s;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra END;\n\
             mbarrier.init.shared::cta.b64 [%r4], 1;\nmbarrier.init.shared::cta.b64 [%r5], 1;\n\
             mbarrier.inval.shared::cta.b64 [%r5];\n{fence}\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 16;\n\
             cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r5], [%rd1], 16, [%r4];\n\
             W:\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [%r4], 0;\n@!%p3 bra W;\nEND:"
        );
        answer("", &body)
    };
    let races = copy("").findings.iter().any(|finding| matches!(finding, Finding::Race { .. }));
    assert!(races && proved(&copy("fence.proxy.async.shared::cta;")));
}

#[test]
fn memory_of_an_mbarrier_in_use_is_nobody_elses() {
    let body = |between: &str| {
        format!(
            "mov.u32 %r4, m;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra END;\nmbarrier.init.shared::cta.b64 [%r4], 1;\n{between}\n\
             st.shared.u32 [%r4+4], %r1;\nEND:"
        )
    };
    let overwritten = |report: &Report| {
        let what = |finding: &Finding| {
            matches!(finding, Finding::Protocol { what: fencepost_kernel::report::Protocol::AccessedAsData, .. })
        };
        report.findings.iter().any(what)
    };
    assert!(overwritten(&answer("", &body(""))));
    assert!(overwritten(&answer("", &body("").replace("st.shared.u32 [%r4+4], %r1;", "ld.shared.u32 %r6, [%r4];"))));
    assert!(proved(&answer("", &body("mbarrier.inval.shared::cta.b64 [%r4];"))));
    let askew = "mov.u32 %r4, m;\nsetp.ne.u32 %p1, %r1, 0;\n@!%p1 mbarrier.init.shared::cta.b64 [%r4+-4], 1;";
    let askew = answer("", askew);
    assert!(askew.findings.iter().any(|finding| matches!(finding, Finding::Misaligned { .. })), "{askew:?}");
}

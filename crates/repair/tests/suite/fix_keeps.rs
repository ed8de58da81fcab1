//! What `fix` leaves as it is: what the program computes, names that are taken, lines that somebody keeps.

use fencepost_check::{Models, Options, load};
use fencepost_repair::fix;
use fencepost_repair::fix::costs::Costs;
use fencepost_repair::fix::{FixAnswer, FixReport, Fixed, Fixing};
use fencepost_report::fix::What;
use fencepost_syntax::{Source, Span};

fn fixed_but(text: &str, lines: std::ops::RangeInclusive<u32>) -> Fixed {
    let (tests, diagnostics) = load(&Source::new("test.litmus", text));
    let test = tests.first().unwrap_or_else(|| panic!("{diagnostics:?}"));
    let (model, costs, options) = (Models::shipped("ptx").expect("a model"), Costs::default(), Options::default());
    let is_kept = |span: Span| lines.contains(&test.source.line(span.start));
    fix(test, &model, &Fixing { options: &options, costs: &costs, said: &|_| None, is_kept: &is_kept })
}

fn fixed(text: &str) -> Fixed {
    fixed_but(text, 0..=0)
}

fn changes(report: &FixReport) -> Vec<&What> {
    report.repair.iter().flat_map(|repair| &repair.changes).map(|change| &change.what).collect()
}

/// The texts of what comes.
fn inserted(report: &FixReport) -> Vec<&str> {
    let text = |what: &'_ What| matches!(what, What::Inserted { .. });
    assert!(changes(report).into_iter().all(text), "{:?}", report.repair);
    let texts = changes(report).into_iter().filter_map(|what| match what {
        What::Inserted { text, .. } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// One execution does not race: it leaves before the copy.
#[test]
fn no_store_is_moved_over_the_copy_that_reads_it() {
    let report = fixed(
        "PTX early\n{ .shared .b32 s[4] = 0; .global .b32 g[4] = 0; .global .u32 f = 0; }\nP0@cta 0 {\n\
         ld.relaxed.gpu.global.u32 %f, [f];\nsetp.ne.u32 %p, %f, 1;\n@%p bra END;\nst.shared.u32 [s], 1;\n\
         fence.proxy.async.shared::cta;\ncp.async.bulk.global.shared::cta.bulk_group [g], [s], 16;\n\
         cp.async.bulk.commit_group;\nst.shared.u32 [s], 2;\nEND:\n}\nP1@cta 1 {\n\
         st.relaxed.gpu.global.u32 [f], 1;\n}\nexists (g[0] = 1)\n",
    )
    .report;
    assert_eq!(inserted(&report), ["cp.async.bulk.wait_group.read 0"]);
}

#[test]
fn a_tensor_map_is_not_changed_after_the_copy_that_reads_it() {
    let report = fixed(
        "PTX map\n{ .global .b64 g[2] = 1; .global .b64 h[2] = 2; .global .tensormap map = g; .shared .b64 s[2] = 3; }\n\
         P0@cta 0 {\ntensormap.replace.tile.global_address.global.b1024.b64 [map], h;\n\
         cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [map, {0}], [s];\n\
         cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n}\nexists (h[0] = 3)\n",
    )
    .report;
    let texts = inserted(&report);
    assert!(texts.iter().all(|text| text.starts_with("fence.proxy.tensormap")) && texts.len() == 2, "{texts:?}");
}

/// A mask without the other CTA would end the race, and the copy to it.
#[test]
fn a_copy_still_goes_to_every_cta() {
    let found = fixed_but(
        "PTX mask\n{ .global .b64 g[2] = 7; .shared .b64 s[2] = 0; .shared .mbarrier b = 1; }\nP0@cta 0, cluster 0 {\n\
         mbarrier.arrive.expect_tx.shared::cta.b64 _, [b], 16;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n\
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [s], [g], 16, [b], 3;\n\
         W:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p, [b], 0;\n@!%p bra W;\n\
         ld.shared.u64 %r, [s];\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n}\nP1@cta 1, cluster 0 {\n\
         barrier.cluster.arrive;\nbarrier.cluster.wait;\nld.shared.u64 %r, [s];\nbarrier.cluster.arrive;\n\
         barrier.cluster.wait;\n}\nexists (P1:%r = 7)\n",
        8..=22,
    );
    let all = "multicast::cluster [s], [g], 16, [b], 3;";
    assert!(found.text.as_deref().is_none_or(|text| text.contains(all)), "{:?}", found.text);
}

/// A final state that a question forbids is not one to keep: an interleaving has it, without a race.
#[test]
fn what_a_question_forbids_may_go() {
    let flag = "PTX flag\n{ .global .u32 x = 0; .global .u32 f = 0; }\nP0@cta 0 {\nst.release.gpu.global.u32 [f], 1;\n\
                st.relaxed.gpu.global.u32 [x], 1;\n}\nP1@cta 1 {\nL:\nld.acquire.gpu.global.u32 %f, [f];\n\
                setp.ne.u32 %p, %f, 1;\n@%p bra L;\nld.relaxed.gpu.global.u32 %r, [x];\n}\nforall (P1:%r = 1)\n";
    let report = fixed(flag).report;
    assert!(matches!(changes(&report).as_slice(), [What::Moved { .. }]), "{:?}", report.repair);
    let counter = "PTX counter\n{ .global .u32 n = 0; }\nP0@cta 0 {\nld.relaxed.gpu.global.u32 %r, [n];\n\
                   add.u32 %r, %r, 1;\nst.relaxed.gpu.global.u32 [n], %r;\n}\nP1@cta 1 {\n\
                   ld.relaxed.gpu.global.u32 %r, [n];\nadd.u32 %s, %r, 1;\nst.relaxed.gpu.global.u32 [n], %s;\n}\n\
                   forall (n = 2)\n";
    let text = fixed(counter).text.expect("a repaired text");
    assert_eq!(text.matches("atom.relaxed.gpu.global.add.u32").count(), 2, "{text}");
}

/// A number that is corrected, and a stronger word of the same instruction.
#[test]
fn one_instruction_may_get_a_number_and_a_word() {
    let found = fixed(
        "PTX both\n{ .shared .b32 d = 0; .shared .mbarrier m = 1; }\nP0@cta 0 {\nst.shared.u32 [d], 1;\n\
         mbarrier.arrive.shared::cta.b64 _, [m];\n}\nP1@cta 0 {\nW:\n\
         mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 %p, [m], 1;\n@!%p bra W;\nld.shared.u32 %r, [d];\n}\n\
         forall (P1:%r = 1)\n",
    );
    let is = "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p, [m], 0";
    let told = |what: &&What| matches!(what, What::Replaced { is: its, .. } if its == is);
    assert!(matches!(changes(&found.report).as_slice(), [what] if told(what)), "{:?}", found.report.repair);
    assert_eq!(found.report.repair.as_ref().map(|repair| (repair.cost, repair.cheapest)), Some((3, true)));
    let text = found.text.expect("a repaired text");
    assert!(text.contains("mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p, [m], 0;"), "{text}");
}

/// The register and the labels that a wait would have are the program's.
#[test]
fn a_wait_has_names_of_its_own() {
    let labels: String = (0..40).map(|at| format!("WAIT{at}:\n")).collect();
    let found = fixed(&format!(
        "PTX names\n{{ .shared .u32 s = 0; .global .u32 out = 0; .shared .mbarrier m = 1; }}\nP0@cta 0 {{\n\
         st.shared.u32 [s], 1;\nmbarrier.arrive.shared::cta.b64 _, [m];\n}}\nP1@cta 0 {{\nmov.pred %waited, 0;\n\
         ld.shared.u32 %r, [s];\nWAITED:\n{labels}selp.u32 %q, 1, 2, %waited;\nst.global.u32 [out], %q;\n}}\n\
         forall (P1:%r = 1 /\\ out = 2)\n"
    ));
    assert_eq!(found.report.answer, FixAnswer::Repaired, "{:?}", found.report.why);
    let text = found.text.expect("a repaired text");
    let (tests, diagnostics) = load(&Source::new("written.litmus", text.as_str()));
    assert!(tests.len() == 1 && text.contains("\n@!%waited1 bra WAIT"), "{diagnostics:?}\n{text}");
}

/// Numbers of declarations, and the mirrored line of a thread with the same text.
#[test]
fn lines_that_are_kept_stay() {
    let count = "PTX count\n{ .shared .b32 d = 0;\n.shared .mbarrier m = 2; }\nP0@cta 0 {\nst.shared.u32 [d], 1;\n\
                 mbarrier.arrive.shared::cta.b64 _, [m];\n}\nP1@cta 0 {\nW:\n\
                 mbarrier.try_wait.parity.shared::cta.b64 %p, [m], 0;\n@!%p bra W;\nld.shared.u32 %r, [d];\n}\n\
                 forall (P1:%r = 1)\n";
    let declared = fixed(count).report;
    assert!(matches!(changes(&declared).as_slice(), [What::Counted { .. }]), "{:?}", declared.repair);
    let report = fixed_but(count, 3..=3).report;
    assert_eq!(inserted(&report), ["mbarrier.arrive.shared::cta.b64 _, [m]"]);
    let waits = |at: u32| {
        format!(
            "P{at}@cta 0 {{\nW:\nmbarrier.try_wait.parity.shared::cta.b64 %p, [m], 1;\n@!%p bra W;\nld.shared.u32 %r, [d{at}];\n}}\n"
        )
    };
    let stores = |at: u32| {
        format!("P{at}@cta 0 {{\nst.shared.u32 [d{}], 1;\nmbarrier.arrive.shared::cta.b64 _, [m];\n}}\n", at + 2)
    };
    let mirrored = format!(
        "PTX alike\n{{ .shared .b32 d2 = 0; .shared .b32 d3 = 0; .shared .mbarrier m = 2; }}\n{}{}{}{}forall (P2:%r = 1 /\\ P3:%r = 1)\n",
        stores(0),
        stores(1),
        waits(2),
        waits(3),
    );
    assert_eq!(fixed(&mirrored).report.repair.map(|repair| repair.cost), Some(2));
    assert_eq!(fixed_but(&mirrored, 17..=22).report.answer, FixAnswer::NoRepair);
}

/// An arrival without its wait is no fence.
#[test]
fn the_half_of_a_barrier_stays_one() {
    let text = fixed(
        "PTX half\n{ .shared .u32 s = 0; }\nP0@cta 0, cluster 0 {\nbarrier.cluster.arrive.relaxed;\n\
         barrier.cluster.wait;\n}\nP1@cta 1, cluster 0 {\nst.relaxed.cluster.shared::cluster.u32 [s@0], 1;\n\
         barrier.cluster.wait;\nbarrier.cluster.arrive.relaxed;\n}\nforall (true)\n",
    )
    .text;
    let waits = text.as_deref().map(|text| text.matches("barrier.cluster.wait").count());
    assert_eq!(waits, Some(2), "{text:?}");
}

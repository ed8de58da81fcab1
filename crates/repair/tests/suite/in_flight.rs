//! What is said of a register of a `wgmma.mma_async` that is used before a wait covers it (PTX ISA 9.7.17.5.2), of one that no
//! `wgmma.fence` separates from another access (9.7.17.7.1), and of a race that is one only if `bar.warp.sync` does not order asynchronous operations.

use super::check;
use fencepost_check::{Models, Options, load};
use fencepost_report::Report;
use fencepost_syntax::Source;

fn checked(declarations: &str, threads: &[&[&str]], question: &str) -> Report {
    let mut text = format!("PTX t\n{{ {declarations} }}\n");
    for (at, thread) in threads.iter().enumerate() {
        text += &format!("P{at}@cta 0 {{\n{}\n}}\n", thread.join("\n"));
    }
    let (tests, diagnostics) = load(&Source::new("t.litmus", format!("{text}{question}\n")));
    assert!(tests.len() == 1, "{diagnostics:?}");
    check(&tests[0], &Models::shipped("ptx").expect("a model"), &Options::default()).report
}

const FENCE: &str = "wgmma.fence.sync.aligned;";
const PRODUCT: &str = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%d}, s, one, 0, 1, 1, 0, 0;";
const COMMIT: &str = "wgmma.commit_group.sync.aligned;";
const STORE: &str = "st.global.u32 [out], %d;";

fn product(code: &[&str], question: &str) -> Report {
    let declarations = ".shared .b64 s[2] = 7; .shared .b64 one[1] = 1; .global .u32 out = 0; P0:%d = 0;";
    checked(declarations, &[code], question)
}

fn missing(report: &Report) -> Vec<String> {
    let diagnoses = report.races.pairs.iter().filter_map(|race| race.diagnosis.as_ref());
    diagnoses.flat_map(|found| &found.missing).map(|missing| missing.sentence()).collect()
}

#[test]
fn a_use_before_the_wait_is_a_pair_that_leaves_no_promise() {
    let wait = "wgmma.wait_group.sync.aligned 0;";
    let late = product(&[FENCE, PRODUCT, COMMIT, STORE, wait], "forall (out = 14)");
    assert_eq!(late.verdict.word(), "Violated");
    assert_eq!(late.kinds(), ["wgmma-register-in-flight"]);
    assert_eq!(late.undefined.as_ref().map(|undefined| undefined.flags.as_slice()), Some(&late.kinds()[..]));
    let [pair] = late.races.pairs.as_slice() else { panic!("{:?}", late.races.pairs) };
    assert_eq!((pair.first.line, pair.second.line), (5, 7));
    assert!(pair.diagnosis.as_ref().is_some_and(|found| found.confirmed));
    let told = "P0's `wgmma.wait_group.sync.aligned 0` (line 8) belongs before line 7 (PTX ISA 9.7.17.7)";
    assert_eq!(missing(&late), [told]);
    assert!(late.warnings.is_empty(), "{:?}", late.warnings);
    let right = product(&[FENCE, PRODUCT, COMMIT, wait, STORE], "forall (out = 14)");
    assert_eq!((right.verdict.word(), right.kinds(), right.undefined), ("Holds", Vec::new(), None));
}

#[test]
fn a_wait_that_covers_too_little_is_to_cover_more_and_a_product_without_a_group_needs_one() {
    let little = product(&[FENCE, PRODUCT, COMMIT, "wgmma.wait_group.sync.aligned 1;", STORE], "forall (out = 14)");
    assert_eq!(missing(&little), ["`wgmma.wait_group.sync.aligned 0` in P0 instead of line 7 (PTX ISA 9.7.17.5.2)"]);
    let alone = product(&[FENCE, PRODUCT, STORE], "forall (out = 14)");
    assert!(missing(&alone)[0].contains("wgmma.commit_group.sync.aligned"), "{:?}", missing(&alone));
    // A question reads the register when the thread has ended.
    let asked = product(&[FENCE, PRODUCT, COMMIT], "forall (P0:%d = 14)");
    assert_eq!((asked.verdict.word(), asked.kinds().len()), ("Violated", 1));
    assert!(missing(&asked)[0].contains("at the end of P0"), "{:?}", missing(&asked));
}

#[test]
fn a_use_that_no_execution_reaches_is_none() {
    let code = [FENCE, PRODUCT, COMMIT, "ld.global.u32 %r, [out];", "setp.eq.u32 %p, %r, 5;", "@%p bra USE;"];
    let rest = ["wgmma.wait_group.sync.aligned 0;", STORE, "ret;", "USE:", STORE];
    let report = product(&[&code[..], &rest[..]].concat(), "forall (out = 14)");
    assert_eq!((report.verdict.word(), report.kinds(), report.warnings.len()), ("Holds", Vec::new(), 0));
}

const WAIT: &str = "wgmma.wait_group.sync.aligned 0;";

#[test]
fn an_access_that_no_fence_separates_from_a_product_leaves_no_promise() {
    let late = product(&["mov.u32 %d, 3;", PRODUCT, COMMIT, WAIT, STORE], "forall (out = 14)");
    assert_eq!((late.verdict.word(), late.kinds()), ("Violated", vec!["wgmma-no-fence".to_owned()]));
    assert_eq!(late.undefined.as_ref().map(|undefined| undefined.flags.as_slice()), Some(&late.kinds()[..]));
    let [pair] = late.races.pairs.as_slice() else { panic!("{:?}", late.races.pairs) };
    assert_eq!((pair.first.line, pair.second.line), (4, 5));
    assert!(pair.diagnosis.as_ref().is_some_and(|found| found.confirmed));
    assert_eq!(missing(&late), ["`wgmma.fence.sync.aligned` in P0 between lines 4 and 5 (PTX ISA 9.7.17.7.1)"]);
    assert!(late.warnings.is_empty(), "{:?}", late.warnings);
    // A fence before the access orders nothing behind it.
    let before = product(&[FENCE, "mov.u32 %d, 3;", PRODUCT, COMMIT, WAIT, STORE], "forall (out = 14)");
    assert_eq!((before.verdict.word(), before.kinds()), ("Violated", late.kinds()));
    let right = product(&["mov.u32 %d, 3;", FENCE, PRODUCT, COMMIT, WAIT, STORE], "forall (out = 14)");
    assert_eq!((right.verdict.word(), right.kinds(), right.undefined), ("Holds", Vec::new(), None));
}

#[test]
fn the_first_product_needs_a_fence_whatever_was_done_to_its_registers_and_only_the_first() {
    let first = product(&[PRODUCT, COMMIT, PRODUCT, COMMIT, WAIT, STORE], "forall (out = 14)");
    let lines: Vec<(u32, u32)> = first.races.pairs.iter().map(|pair| (pair.first.line, pair.second.line)).collect();
    assert_eq!((first.verdict.word(), lines), ("Violated", vec![(4, 4)]));
    assert_eq!(missing(&first), ["`wgmma.fence.sync.aligned` in P0 before line 4 (PTX ISA 9.7.17.7.1)"]);
    // `forall (true)` asks nothing: as of a program that races in C, it is true of whatever happens.
    let nothing = product(&[PRODUCT, COMMIT, WAIT], "forall (true)");
    assert_eq!((nothing.verdict.word(), nothing.kinds(), nothing.undefined.is_some()), ("Holds", first.kinds(), true));
}

/// A product of another shape while the first is in flight lacks both: each pair is told with a cure.
#[test]
fn two_products_that_may_not_share_registers_lack_a_wait_and_a_fence() {
    let other = PRODUCT.replace("m64n8k16", "m64n16k16");
    let report = product(&[FENCE, PRODUCT, COMMIT, &other, COMMIT, WAIT], "forall (true)");
    assert_eq!(report.kinds(), ["wgmma-no-fence", "wgmma-register-in-flight"]);
    for race in &report.races.pairs {
        let found = race.diagnosis.as_ref().expect("a diagnosis");
        let missing: Vec<&str> = found.missing.iter().map(|missing| missing.text.as_str()).collect();
        assert!(found.confirmed, "{missing:?}");
        assert!(missing.iter().any(|text| text.contains("wgmma.fence")), "{missing:?}");
        assert!(missing.iter().any(|text| text.contains("wgmma.wait_group")), "{missing:?}");
    }
}

#[test]
fn a_product_without_a_fence_that_no_execution_reaches_is_none() {
    let code = [FENCE, "ld.global.u32 %r, [out];", "setp.eq.u32 %p, %r, 5;", "@!%p bra FENCED;", "mov.u32 %d, 1;"];
    let rest = ["bra USE;", "FENCED:", "mov.u32 %d, 1;", FENCE, "USE:", PRODUCT, COMMIT, WAIT, STORE];
    let report = product(&[&code[..], &rest[..]].concat(), "forall (out = 14)");
    assert_eq!((report.verdict.word(), report.kinds(), report.warnings.len()), ("Holds", Vec::new(), 0));
}

#[test]
fn a_race_by_the_reading_of_warps_names_the_barrier_and_no_fence_that_is_there() {
    let store = ["cp.async.bulk.global.shared::cta.bulk_group [o], [s], 16;", "cp.async.bulk.commit_group;"];
    let write = |at: &'static str| [at, "fence.proxy.async.shared::cta;", "bar.warp.sync 3;"];
    let (first, second) = (write("st.shared.b64 [s], 1;"), write("st.shared.b64 [s+8], 1;"));
    let wait = ["cp.async.bulk.wait_group 0;"];
    let issuer = [&first[..], &store[..], &wait[..]].concat();
    let declarations = ".global .b64 o[2] = 0; .shared .b64 s[2] = 0;";
    let report = checked(declarations, &[&issuer, &second], "forall (o[1] = 1)");
    assert_eq!(report.verdict.word(), "Depends");
    let why: Vec<&str> =
        report.races.pairs.iter().filter_map(|race| race.diagnosis.as_ref()).map(|found| found.why.as_str()).collect();
    assert!(!why.is_empty() && why.iter().all(|why| why.contains("bar.warp.sync (lines 6 and 14)")), "{why:?}");
    assert!(missing(&report).iter().all(|missing| !missing.contains("fence.proxy.async")), "{:?}", missing(&report));
}

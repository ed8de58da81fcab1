//! What is said of tensor memory that is used outside its life.

use super::check;
use fencepost_check::{Models, Options, load};
use fencepost_report::Report;
use fencepost_syntax::Source;

const ALLOC: &str = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;";
const LOAD: &str = "ld.shared.b32 %t, [slot];";
const FREE: &str = "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %t, 32;";
const RELINQUISH: &str = "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;";

fn report(first: &[&str], second: &[&str]) -> Report {
    let (first, second) = (first.join("\n"), second.join("\n"));
    let declarations = ".tmem .b32 tm[1]; .shared .b32 slot = 0;";
    let text = format!("PTX t\n{{ {declarations} }}\nP0@cta 0 {{\n{first}\n}}\nP1@cta 0 {{\n{second}\n}}\n");
    let (tests, diagnostics) = load(&Source::new("t.litmus", text));
    assert!(tests.len() == 1, "{diagnostics:?}");
    check(&tests[0], &Models::shipped("ptx").expect("a model"), &Options::default()).report
}

fn reasons(report: &Report) -> Vec<String> {
    report.races.pairs.iter().filter_map(|race| race.diagnosis.as_ref()).map(|found| found.why.clone()).collect()
}

#[test]
fn an_allocation_after_the_permit_was_given_up_by_another_thread_is_a_warning() {
    let late = report(&["bar.sync 0;", ALLOC, LOAD, FREE], &[RELINQUISH, "bar.sync 0;"]);
    let told: Vec<&str> = late.warnings.iter().map(|warning| warning.message.as_str()).collect();
    assert_eq!(told, ["tcgen05.alloc comes after another thread's tcgen05.relinquish_alloc_permit"]);
    let early = report(&[ALLOC, LOAD, FREE, "bar.sync 0;"], &["bar.sync 0;", RELINQUISH]);
    assert!(early.warnings.is_empty() && early.races.pairs.is_empty(), "{:?}", early.warnings);
}

#[test]
fn uses_outside_the_life_of_the_columns_say_so() {
    let twice = report(&[ALLOC, LOAD, FREE, FREE], &[]);
    assert!(reasons(&twice).iter().any(|why| why.contains("deallocated twice")), "{:?}", reasons(&twice));
    let read = "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r}, [%t];";
    let after = report(&[ALLOC, LOAD, FREE, read], &[]);
    assert!(reasons(&after).iter().any(|why| why.contains("after the columns are deallocated")));
    let stray = report(&[LOAD, ALLOC, read, "tcgen05.wait::ld.sync.aligned;", LOAD, FREE], &[]);
    assert!(reasons(&stray).iter().any(|why| why.contains("no tcgen05.alloc gave")), "{:?}", reasons(&stray));
}

//! What is printed where a limit has ended a run, or the comparison of readings.

use fencepost_kernel::check::{Limits, check};
use fencepost_kernel::code::decode;
use fencepost_kernel::launch::read::read;
use fencepost_kernel::report::{Doubt, Report};
use fencepost_syntax::{Source, limits, ptx};
use fencepost_tell::output::kernel::{About, tell, text};

const MODULE: &str = include_str!("../../../../examples/kernel/double.ptx");
const LAUNCH: &str = include_str!("../../../../examples/kernel/double-unfenced.toml");

#[test]
fn a_reading_that_was_not_compared_is_not_said_to_rule_a_race_out() {
    let source = Source::new("double.ptx", MODULE);
    let (tree, _) = ptx::parse(MODULE);
    let (module, _) = decode(&tree);
    let entry = module.entries.iter().find(|entry| entry.name == "double_unfenced").expect("an entry");
    let launch = read(LAUNCH, &module, entry, &|_| Err("no file".to_owned())).expect("a launch");
    let about = About { source: &source, module: &module, entry, launch: &launch };
    let told = |report: &Report| text(&tell(report, &about, &mut |_| None));
    let limit = limits::enter_work(0);
    let ended = told(&check(&module, entry, &launch, &Limits::default()));
    assert!(ended.contains("    CTA 0, warp 1 and 14 more warps go on here\n"), "{ended}");
    assert!(ended.contains("; the warps stood there\n"), "{ended}");
    drop(limit);
    // So much work that the first run ends, and the next one does not.
    let before = limits::work();
    let whole = told(&check(&module, entry, &launch, &Limits::default()));
    let (mut work, mut cut) = (limits::work() - before, None);
    while cut.is_none() && work > 0 {
        work = work * 9 / 10;
        let _limit = limits::enter_work(work);
        let report = check(&module, entry, &launch, &Limits::default());
        cut = report.doubts.contains(&Doubt::Readings).then_some(report);
    }
    let cut = told(&cut.expect("a limit that ends the comparison"));
    assert!(!whole.contains("other reading"), "{whole}");
    assert!(cut.contains("  not compared with the other reading of async-fence\n"), "{cut}");
    assert!(cut.contains("which was not compared") && !cut.contains("none under"), "{cut}");
}

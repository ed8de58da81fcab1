//! What would remove a race (`mend.rs`), in modules with many.

use std::time::{Duration, Instant};

use fencepost_kernel::check::{Limits, check};
use fencepost_kernel::launch::Launch;
use fencepost_kernel::mend::Mender;
use fencepost_kernel::order::Race;
use fencepost_kernel::report::Finding;

use crate::sides::module;

/// Two warps that store to the same places, one line each.
fn stores(count: usize) -> String {
    let mut text = format!(
        ".version 9.4\n.target sm_100a\n.address_size 64\n.global .align 16 .b64 ga[{count}];\n.visible .entry k() {{\n\
         .reg .u32 %t;\nmov.u32 %t, %tid.x;\n"
    );
    (0..count).for_each(|at| text.push_str(&format!("st.global.u32 [ga+{}], %t;\n", at * 8)));
    text.push_str("exit;\n}\n");
    text
}

/// How long it takes to look for what removes each race.
fn searched(count: usize) -> Duration {
    let text = stores(count);
    let module = module(&text);
    let launch = Launch {
        entry: "k".to_owned(),
        grid: [1, 1, 1],
        block: [64, 1, 1],
        cluster: [1, 1, 1],
        shared: 0,
        arguments: Vec::new(),
        buffers: Vec::new(),
        cooperative: false,
    };
    let limits = Limits { steps: 1_000_000, schedules: 1 };
    let report = check(&module, &module.entries[0], &launch, &limits);
    let races: Vec<&Race> = (report.findings.iter())
        .filter_map(|finding| match finding {
            Finding::Race { race, .. } => Some(race),
            _ => None,
        })
        .collect();
    assert!(races.len() >= count, "{} races of {count} stores", races.len());
    let begun = Instant::now();
    let mut mender = Mender::new(&text, &module.entries[0], &launch, limits.steps, &report);
    races.iter().for_each(|race| drop(mender.mend(&[race])));
    begun.elapsed()
}

/// A module of 46 MB with a race in each line took an hour.
#[test]
fn the_search_for_what_is_missing_is_linear_in_the_races() {
    let least = |count: usize| (0..2).map(|_| searched(count)).min().unwrap_or_default();
    let (few, many) = (least(100), least(800));
    assert!(many < few * 24, "{few:?} for 100 races, {many:?} for 800");
}

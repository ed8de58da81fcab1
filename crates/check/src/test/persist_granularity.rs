//! Torn persists: where fewer bytes become durable together than an access writes, a crash may leave some of them. Persistent memory
//! is then cut into parts of that size, each of which is a location with persists of its own.

use std::num::NonZeroU32;

use fencepost_program::lower::lower_cut;
use fencepost_program::value::Value;
use fencepost_syntax::sorted::SortedSet;

use crate::test::Test;

/// The test with persistent memory cut; None if nothing in it is larger.
pub fn cut(test: &Test, granularity: Option<NonZeroU32>) -> Option<Test> {
    let bytes = i128::from(granularity?.get());
    let mut cuts = SortedSet::new();
    for address in &test.program.addresses {
        let location = &test.program.locations[address.location.index()];
        let start = address.value.0 - address.within;
        let size = i128::from(location.bytes);
        if location.is_persistent && size > bytes {
            let first = start - start.rem_euclid(bytes) + bytes;
            let edges = (0..).map(|part| first + part * bytes).take_while(|edge| *edge < start + size);
            cuts.extend(edges.map(Value));
        }
    }
    if cuts.is_empty() {
        return None;
    }
    lower_cut(&test.litmus, &cuts).0.map(|program| test.with_program(program))
}

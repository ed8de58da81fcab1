//! Dartagnan's barriers: instances, ids, quorums, arrive, and the two places where the peer is not followed.

use crate::common;

use common::{choices, matchings, unfolded};
use fencepost_program::unfolding::{TraceEnd, Unfolding};

fn test(columns: &[&[&str]]) -> Unfolding {
    placed(&columns.iter().map(|rows| ("cta 0,gpu 0", *rows)).collect::<Vec<_>>())
}

fn placed(columns: &[(&str, &[&str])]) -> Unfolding {
    let head: Vec<String> = columns.iter().enumerate().map(|(index, (place, _))| format!("P{index}@{place}")).collect();
    let height = columns.iter().map(|(_, rows)| rows.len()).max().unwrap_or(0);
    let row = |at: usize| {
        let cells: Vec<&str> = columns.iter().map(|(_, rows)| rows.get(at).copied().unwrap_or("")).collect();
        format!(" {} ;\n", cells.join(" | "))
    };
    let rows: String = (0..height).map(row).collect();
    unfolded(&format!("PTX t\n{{ x = 0; }}\n {} ;\n{rows}", head.join(" | ")), 1)
}

/// For each choice of traces that has a matching: how many threads end blocked, and the sizes of the groups per matching.
fn outcomes(unfolding: &Unfolding) -> Vec<(usize, Vec<Vec<usize>>)> {
    let mut found = Vec::new();
    for traces in choices(unfolding) {
        let is_blocked = |trace: &&fencepost_program::TraceId| {
            matches!(unfolding.traces[trace.index()].end, TraceEnd::Blocked { .. })
        };
        let blocked = traces.iter().filter(is_blocked).count();
        let sizes: Vec<Vec<usize>> =
            (matchings(unfolding, &traces).iter()).map(|found| found.groups.iter().map(Vec::len).collect()).collect();
        if !sizes.is_empty() {
            found.push((blocked, sizes));
        }
    }
    found.sort();
    found
}

#[test]
fn two_threads_meet() {
    let unfolding = test(&[&["bar.cta.sync 1, 1"], &["bar.cta.sync 1, 1"]]);
    assert_eq!(outcomes(&unfolding), [(0, vec![vec![2]])]);
    let traces = choices(&unfolding).into_iter().find(|traces| !matchings(&unfolding, traces).is_empty()).expect("one");
    assert_eq!(matchings(&unfolding, &traces)[0].synchronises.len(), 2);
}

#[test]
fn threads_without_a_barrier_are_not_waited_for() {
    assert_eq!(outcomes(&test(&[&["bar.cta.sync 1"], &["st.weak x, 1"]])), [(0, vec![vec![1]])]);
}

#[test]
fn instances_and_ids_and_ctas_keep_apart() {
    assert_eq!(outcomes(&test(&[&["bar.cta.sync 1, 1"], &["bar.cta.sync 2, 1"]])), [(0, vec![vec![1, 1]])]);
    assert_eq!(outcomes(&test(&[&["bar.cta.sync 1, 1"], &["bar.cta.sync 1, 2"]])), [(0, vec![vec![1, 1]])]);
    let rows: &[&str] = &["bar.cta.sync 1, 1"];
    assert_eq!(outcomes(&placed(&[("cta 0,gpu 0", rows), ("cta 1,gpu 0", rows)])), [(0, vec![vec![1, 1]])]);
    assert_eq!(outcomes(&placed(&[("cta 0,gpu 0", rows), ("cta 0,gpu 1", rows)])), [(0, vec![vec![1, 1]])]);
}

#[test]
fn a_barrier_on_a_way_not_taken_blocks() {
    let branching: &[&str] = &["ld.weak r0, x", "beq r0, 0, LC00", "bar.cta.sync 1, 1", "LC00:"];
    let unfolding = test(&[branching, &["bar.cta.sync 1, 1"]]);
    assert_eq!(outcomes(&unfolding), [(0, vec![vec![2]]), (1, vec![vec![]])]);
}

/// One instruction met on both ways of a branch is one barrier of the program.
#[test]
fn a_barrier_after_a_join_is_one_barrier() {
    let branching: &[&str] = &["ld.weak r0, x", "beq r0, 0, LC00", "st.weak x, 1", "LC00:", "bar.cta.sync 1, 1"];
    let unfolding = test(&[branching, &["bar.cta.sync 1, 1"]]);
    assert_eq!(outcomes(&unfolding), [(0, vec![vec![2]]), (0, vec![vec![2]])]);
}

#[test]
fn crossed_barriers_block() {
    let unfolding = test(&[&["bar.cta.sync 1, 1", "bar.cta.sync 2, 2"], &["bar.cta.sync 2, 2", "bar.cta.sync 1, 1"]]);
    assert_eq!(outcomes(&unfolding), [(2, vec![vec![]])]);
}

#[test]
fn an_arrive_does_not_wait_and_is_not_synchronised_with() {
    let unfolding = test(&[&["bar.cta.arrive 1, 1"], &["bar.cta.sync 1, 1"]]);
    assert_eq!(outcomes(&unfolding), [(0, vec![vec![2]])]);
    let traces = choices(&unfolding).into_iter().find(|traces| !matchings(&unfolding, traces).is_empty()).expect("one");
    let synchronises = &matchings(&unfolding, &traces)[0].synchronises;
    assert_eq!(synchronises.len(), 1, "arrive to sync only");
}

#[test]
fn a_quorum_needs_that_many() {
    let rows: &[&str] = &["bar.cta.sync 1, 1, 3"];
    assert_eq!(outcomes(&test(&[rows, rows])), [(2, vec![vec![]])]);
    assert_eq!(outcomes(&test(&[rows, rows, rows])), [(0, vec![vec![3]])]);
}

#[test]
fn a_surplus_thread_is_released_but_releases_no_one() {
    let rows: &[&str] = &["bar.cta.sync 1, 1, 2"];
    // In the order of their events: {0,1}, {0,1,2}, {0,2}, {1,2}.
    let unfolding = test(&[rows, rows, rows]);
    assert_eq!(outcomes(&unfolding), [(0, vec![vec![2], vec![3], vec![2], vec![2]])]);
    let traces = choices(&unfolding).into_iter().find(|traces| !matchings(&unfolding, traces).is_empty()).expect("one");
    let edges: Vec<usize> = matchings(&unfolding, &traces).iter().map(|matching| matching.synchronises.len()).collect();
    assert_eq!(edges, [4, 6, 4, 4], "two members release each other and the surplus thread");
}

/// Its id is a value of the way not taken: it is no barrier 1, and no unnamed one either.
#[test]
fn an_unknown_barrier_on_a_way_not_taken_is_not_waited_for() {
    let branching: &[&str] = &["ld.weak r0, x", "beq r0, 0, LC00", "ld.weak r1, x", "bar.cta.sync 1, r1", "LC00:"];
    let unfolding = test(&[branching, &["bar.cta.sync 1"]]);
    let passes = outcomes(&unfolding).iter().any(|(blocked, sizes)| *blocked == 0 && sizes.contains(&vec![1]));
    assert!(passes, "{:?}", outcomes(&unfolding));
}

//! `multimem`: one access per replica, in no order.

use crate::common;

use common::{attempt, program, tag_names, unfolded};
use fencepost_program::EventId;
use fencepost_program::program::Feature;

fn test(code: &str) -> String {
    format!(
        "PTX t\n{{ .global .u32 x = 0; .global .u32 y = 0; m @ multimem aliases x, y; }}\n\
         P0@cta 0, gpu 0 {{\n{code}\n}}\n"
    )
}

#[test]
fn one_access_per_replica_in_no_order() {
    let unfolding = unfolded(&test("multimem.st.release.gpu.global.u32 [m], 1;"), 1);
    let own: Vec<EventId> =
        (0..unfolding.events.len()).map(EventId::new).filter(|id| !unfolding.event(*id).is_init()).collect();
    assert_eq!(own.len(), 2);
    assert!(own.iter().all(|id| tag_names(unfolding.event(*id).tags) == "W REL GPU GEN ALIAS"));
    assert!(!unfolding.is_po(own[0], own[1]) && !unfolding.is_po(own[1], own[0]));
    assert_ne!(unfolding.event(own[0]).location(), unfolding.event(own[1]).location());
}

#[test]
fn reductions_are_atomic_at_each_and_return_nothing() {
    let unfolding = unfolded(&test("multimem.red.global.add.u32 [m], 1;"), 1);
    let events: Vec<_> = unfolding.events.iter().filter(|event| !event.is_init()).collect();
    let tags: Vec<String> = events.iter().map(|event| tag_names(event.tags)).collect();
    assert_eq!(
        tags,
        [
            "R A NORET RLX SYS GEN ALIAS",
            "R A NORET RLX SYS GEN ALIAS",
            "W A NORET RLX SYS GEN ALIAS",
            "W A NORET RLX SYS GEN ALIAS"
        ]
    );
    for event in events {
        let partner = event.rmw_partner.expect("a pair");
        assert_eq!(unfolding.event(partner).location(), event.location());
    }
    let own = &unfolding.traces[0].events;
    let is_po = |from: usize, to: usize| unfolding.is_po(own[from], own[to]);
    assert!(is_po(0, 2) && is_po(1, 3) && !is_po(0, 3) && !is_po(1, 2), "each replica by itself");
}

#[test]
fn faults() {
    let fault = |code: &str| {
        let (program, diagnostics) = attempt(&test(code));
        assert!(program.is_none(), "{code}");
        diagnostics[0].message.clone()
    };
    assert!(fault("ld.u32 %r1, [m];").contains("`m` is a multimem address"));
    assert!(fault("multimem.st.u32 [x], 1;").contains("`x` is no multimem address"));
    assert!(fault("multimem.st.weak.gpu.u32 [m], 1;").contains("has no scope"));
    let unsupported =
        |code: &str| program(&test(code)).unsupported.into_iter().map(|found| found.what).collect::<Vec<_>>();
    assert_eq!(unsupported("multimem.red.global.inc.u32 [m], 1;"), ["`multimem.red.global.inc.u32`"]);
    assert!(unsupported("multimem.red.global.add.f32 [m], 0f3F800000;").is_empty());
    assert_eq!(unsupported("multimem.red.global.add.u32 [%rd1], 1;"), ["a multimem address in a register"]);
    let (twice, _) = attempt("PTX t\n{ .global .u32 x; m @ multimem aliases x, x; }\nP0@cta 0 {\nst.u32 [x], 1;\n}\n");
    assert!(twice.is_none());
    let features = program(&test("multimem.st.u32 [m], 1;")).features;
    assert!(features.iter().any(|feature| feature.node == Feature::Multimem));
}

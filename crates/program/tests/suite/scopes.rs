//! Who a scope includes: placements, clusters, hosts.

use crate::common;

use common::{same_cta, same_scope, unfolded};
use fencepost_program::access::includes;
use fencepost_program::program::{Place, Scope};

fn gpu(gpu: u32, cluster: u32, cta: u32) -> Place {
    Place::Gpu { gpu, cluster, cta }
}

#[test]
fn scopes_nest() {
    let here = gpu(0, 0, 0);
    for (other, expected) in [
        (here, [true, true, true, true]),
        (gpu(0, 0, 1), [false, true, true, true]),
        (gpu(0, 1, 2), [false, false, true, true]),
        (gpu(1, 0, 0), [false, false, false, true]),
        (Place::Host, [false, false, false, true]),
    ] {
        let found = [Scope::Cta, Scope::Cluster, Scope::Gpu, Scope::Sys].map(|scope| includes(scope, here, other));
        assert_eq!(found, expected, "{other:?}");
    }
}

#[test]
fn both_scopes_must_include_the_other() {
    let text = "PTX t\n{ x = 0; }\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 | P2@cta 0,gpu 1 ;\n \
        st.relaxed.gpu x, 1 | st.relaxed.cta x, 1 | st.relaxed.sys x, 1 ;\n st.relaxed.sys x, 1 | st.relaxed.gpu x, 1 | st.weak x, 1 ;\n";
    let unfolding = unfolded(text, 1);
    let event = |thread: usize, at: usize| unfolding.traces[unfolding.threads[thread].traces[0].index()].events[at];
    assert!(!same_scope(&unfolding, event(0, 0), event(1, 0)), "gpu does not make up for cta");
    assert!(same_scope(&unfolding, event(0, 0), event(1, 1)));
    assert!(!same_scope(&unfolding, event(0, 0), event(2, 0)), "another GPU");
    assert!(same_scope(&unfolding, event(0, 1), event(2, 0)));
    assert!(!same_scope(&unfolding, event(0, 1), event(2, 1)), "weak has no scope");
    assert!(same_cta(&unfolding, event(0, 0), event(0, 1)));
    assert!(!same_cta(&unfolding, event(0, 0), event(2, 0)), "CTA 0 of another GPU is another CTA");
}

#[test]
fn a_cta_without_a_cluster_is_its_own() {
    let text = "PTX t\n{ x = 0; }\n P0@cta 3,gpu 0 | P1 ;\n st.weak x, 1 | st.weak x, 1 ;\n";
    let program = common::attempt(text).0.expect("a program, with a warning");
    assert_eq!(program.threads[0].place, gpu(0, 3, 3));
    assert_eq!(program.threads[1].place, gpu(0, 0, 0), "no placement: the first CTA");
    assert_eq!(common::program(&common::x86(&["MOV EAX,[x]"])).threads[0].place, Place::Host);
}

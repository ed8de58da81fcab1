//! One instance of a `.shared` name per CTA, of a `.local` name per thread; addresses of other CTAs; special registers.

use crate::common;

use common::{alone, attempt, program, ptx};
use fencepost_program::program::{LocationRole, Place, Program, Space};
use fencepost_program::tag::Tag;
use fencepost_program::unfold::{UnfoldOptions, unfold};
use fencepost_program::unfolding::{TraceEnd, Unfolding};

/// Threads in the CTAs of one cluster.
fn cluster(declarations: &str, code: &[(u32, &str)], condition: &str) -> String {
    let thread =
        |(index, (cta, code)): (usize, &(u32, &str))| format!("P{index}@cta {cta}, cluster 0, gpu 0 {{\n{code}\n}}\n");
    let threads: String = code.iter().enumerate().map(thread).collect();
    format!("PTX t\n{{ {declarations} }}\n{threads}{condition}\n")
}

fn unfolding(program: &Program) -> Unfolding {
    assert!(program.unsupported.is_empty(), "{:?}", program.unsupported);
    unfold(program, &UnfoldOptions::default()).expect("an unfolding")
}

/// The accesses of the threads: the location, and whether it is shared, and another CTA's.
fn accesses(unfolding: &Unfolding) -> Vec<String> {
    let events = unfolding.events.iter().filter(|event| !event.is_init());
    let text = |event: &fencepost_program::unfolding::Event| {
        let name = &unfolding.locations[event.location()?.index()].name;
        let shared = if event.has(Tag::Shared) { " shared" } else { "" };
        let remote = if event.has(Tag::Remote) { " remote" } else { "" };
        Some(format!("{name}{shared}{remote}"))
    };
    events.filter_map(text).collect()
}

#[test]
fn each_cta_of_a_cluster_has_its_own() {
    let text = cluster(".shared .u32 s = 3;", &[(0, "st.shared.u32 [s], 1;"), (7, "ld.shared.u32 %r1, [s@0];")], "");
    let program = program(&text);
    let names: Vec<&str> = program.locations.iter().map(|location| location.name.as_str()).collect();
    assert_eq!(names, ["s@0", "s@7"]);
    assert_eq!(program.locations[1].initial.0, 3);
    assert_eq!(program.locations[1].space, Some(Space::Shared));
    assert_eq!(program.locations[1].owner, Some(Place::Gpu { gpu: 0, cluster: 0, cta: 7 }));
    assert_eq!(accesses(&unfolding(&program)), ["s@0 shared", "s@0 shared remote"]);
}

#[test]
fn one_cta_needs_no_number() {
    let text = ptx(".shared .u32 s;", &["st.shared.u32 [s], 1;"]) + "exists (s = 1 /\\ s@0 = 1)\n";
    assert_eq!(program(&text).locations[0].name, "s");
}

#[test]
fn mapa_finds_the_instance_of_a_rank() {
    for map in [
        "mov.u32 %r2, s; mapa.shared::cluster.u32 %r1, %r2, 1; st.shared::cluster.u32 [%r1+4], 1;",
        "mapa.shared::cluster.u32 %r1, s, 1; st.shared::cluster.u32 [%r1+4], 1;",
        "cvta.shared.u64 %rd1, s; mapa.u64 %rd2, %rd1, 1; st.u32 [%rd2+4], 1;",
        "mov.u32 %r2, s; mapa.shared::cluster.u32 %r1, %r2, %r3; st.shared::cluster.u32 [%r1+4], 1;",
    ] {
        let text = cluster(".shared .u32 s[2]; P0:%r3 = 1;", &[(3, map), (5, "ret;")], "");
        assert_eq!(accesses(&unfolding(&program(&text))), ["s@5[1] shared remote"], "{map}");
    }
    let beyond = "mapa.shared::cluster.u32 %r1, s, %r3; st.shared::cluster.u32 [%r1], 1;";
    let wild = unfolding(&program(&cluster(".shared .u32 s; P0:%r3 = 2;", &[(0, beyond), (1, "ret;")], "")));
    let TraceEnd::Wild { what, .. } = &wild.traces[0].end else { panic!("no CTA has rank 2") };
    assert_eq!(what, "`st.shared::cluster.u32` in shared memory of the CTA of rank 2, and the cluster has 2 CTAs");
}

#[test]
fn addresses_tell_their_rank_and_their_space() {
    let code = "mov.u32 %r1, s; mov.u64 %rd1, x; getctarank.shared::cluster.u32 %r2, %r1; \
                mapa.shared::cluster.u32 %r3, %r1, 0; getctarank.shared::cluster.u32 %r4, %r3; \
                isspacep.shared::cta %p1, %r1; isspacep.shared::cta %p2, %r3; isspacep.shared::cluster %p3, %r3; \
                isspacep.global %p4, %rd1; isspacep.shared %p5, %rd1;";
    let text = cluster(".shared .u32 s; .global .u32 x;", &[(1, code), (0, "ret;")], "");
    let found = alone(&text);
    assert_eq!((found["%r2"], found["%r4"]), (1, 0));
    assert_eq!(["%p1", "%p2", "%p3", "%p4", "%p5"].map(|name| found[name]), [1, 0, 1, 1, 0]);
}

#[test]
fn conditions_and_registers_name_an_instance() {
    let code = [(0, "st.shared.u32 [%r1], 1;"), (1, "ret;")];
    let text = cluster(".shared .u32 s[2]; P0:%r1 = s@1;", &code, "exists (s@1[1] = 0 /\\ s@1 = 1)");
    assert_eq!(accesses(&unfolding(&program(&text))), ["s@1[0] shared remote"]);
    let bare = attempt(&cluster(".shared .u32 s;", &[(0, "st.u32 [s], 1;"), (1, "ret;")], "exists (s = 1)")).1;
    assert_eq!(bare[0].message, "each CTA has its own `s`");
    assert_eq!(bare[0].help.as_deref(), Some("write `s@0` for one of them"));
    let missing = attempt(&cluster(".shared .u32 s;", &[(0, "ret;"), (1, "ret;")], "exists (s@4 = 1)")).1;
    assert_eq!(missing[0].message, "no thread runs in CTA 4");
    let global = attempt(&cluster("x = 0;", &[(0, "ret;"), (1, "ret;")], "exists (x@1 = 1)")).1;
    assert!(global[0].message.contains("no `.shared` memory"), "{}", global[0].message);
}

#[test]
fn local_memory_is_a_threads_own() {
    let code = "st.local.u32 [l], 1;";
    let text = cluster(".local .u32 l;", &[(0, code), (0, code)], "exists (P0:l = 1 /\\ P1:l = 0)");
    let program = program(&text);
    assert_eq!(accesses(&unfolding(&program)), ["P0:l", "P1:l"]);
    assert!(attempt(&text.replace("P0:l = 1", "l = 1")).1[0].message.contains("each thread has its own `l`"));
}

#[test]
fn read_only_memory_is_only_read() {
    for space in ["const", "param"] {
        let declarations = format!(".{space} .u32 c = 5; P0:%rd1 = c;");
        assert_eq!(alone(&ptx(&declarations, &[&format!("ld.{space}.u32 %r1, [c];")]))["%r1"], 5);
        for code in ["st.u32 [c], 1;", "st.u32 [%rd1], 1;", "atom.add.u32 %r1, [c], 1;"] {
            let (_, found) = attempt(&ptx(&declarations, &[code]));
            assert!(found[0].message.contains("which no kernel writes"), "{code}: {}", found[0].message);
        }
    }
}

#[test]
fn objects_have_their_roles() {
    let text = ptx(
        ".shared .mbarrier b = 2; .global .u32 g[4]; .global .tensormap tm = g; .tmem .b32 d[2];",
        &["mbarrier.arrive.shared.b64 _, [b];"],
    );
    let program = program(&text);
    let named = |name: &str| program.locations.iter().find(|location| location.name == name).expect("a location");
    let role = |name: &str| (named(name).role, named(name).bytes);
    assert_eq!(role("b"), (LocationRole::Mbarrier, 8));
    assert_eq!(role("tm"), (LocationRole::TensorMap, 128));
    assert_eq!(role("d[0]"), (LocationRole::Data, 4));
    let state = fencepost_program::mbarrier::State::unpack(named("b").initial);
    assert_eq!((state.pending, state.is_live()), (2, true));
    let tensor = program.addresses.iter().find(|address| address.name == "g[0]").expect("the tensor");
    assert_eq!(named("tm").initial, tensor.value);
    let outside = attempt(&ptx(".global .mbarrier b;", &["ret;"])).1;
    assert!(outside[0].message.contains("outside shared memory"), "{}", outside[0].message);
}

#[test]
fn special_registers_follow_from_the_placement() {
    let code = "mov.u32 %r1, %tid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %nctaid.x; \
                mov.u32 %r5, %cluster_ctarank; mov.u32 %r6, %cluster_nctarank; mov.u32 %r7, %tid.y; \
                mov.u32 %r8, %ntid.z; mov.u32 %r9, %laneid;";
    // The thread asked is the second of CTA 2, the second CTA of the cluster.
    let text = cluster("", &[(1, "ret;"), (2, "ret;"), (2, code)], "");
    let unfolding = unfolding(&program(&text));
    let registers = &unfolding.traces[2].registers;
    let names = &program(&text).threads[2].registers;
    let value = |name: &str| {
        let index = names.iter().position(|register| register.name == name).expect("the register");
        registers[index].evaluate(&mut |_| None).expect("a constant").0
    };
    assert_eq!((1..10).map(|index| value(&format!("%r{index}"))).collect::<Vec<_>>(), [1, 2, 2, 2, 1, 2, 0, 1, 0]);
    assert_eq!(alone(&ptx("P0:%tid.x = 5;", &["mov.u32 %r1, %tid.x;"]))["%r1"], 5, "the test may say another");
}

#[test]
fn the_version_is_the_texts() {
    let program = program(&ptx(".version 8.6; .target sm_90a;", &["ret;"]));
    assert_eq!((program.version.major, program.version.minor), (8, 6));
    let (_, newer) = attempt(&ptx(".version 99.0;", &["ret;"]));
    assert!(newer[0].message.contains("newer than the rules"), "{}", newer[0].message);
}

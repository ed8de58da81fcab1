//! Fences of real PTX: tags, scopes and covers of each form, and what is refused.

use crate::common;

use common::{attempt, program, ptx, tag_names, unfolded};
use fencepost_program::program::lint::LintKind;
use fencepost_program::program::{Cover, Feature, Scope};
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::Event;

fn fence(code: &str) -> Event {
    let unfolding = unfolded(&ptx(".global .b64 tm; x = 0;", &["ld.u32 %r1, [x];", code]), 1);
    unfolding.events.iter().rfind(|event| !event.has(Tag::Exit)).expect("an event").clone()
}

fn check(code: &str, tags: &str, scope: Option<Scope>, cover: Cover) {
    let event = fence(code);
    assert_eq!((tag_names(event.tags).as_str(), event.scope, &event.cover), (tags, scope, &cover), "{code}");
}

#[test]
fn memory_fences() {
    check("fence.sc.gpu;", "F SC GPU GEN", Some(Scope::Gpu), Cover::Everything);
    check("fence.acquire.cluster;", "F ACQ CLUSTER GEN", Some(Scope::Cluster), Cover::Everything);
    check("fence.release.sys;", "F REL SYS GEN", Some(Scope::Sys), Cover::Everything);
    let cluster = Some(Scope::Cluster);
    let (acquire, release) = ("F ACQ CLUSTER GEN SHARED RESTRICTED", "F REL CLUSTER GEN SHARED RESTRICTED");
    check("fence.acquire.sync_restrict::shared::cluster.cluster;", acquire, cluster, Cover::SharedCluster);
    check("fence.release.sync_restrict::shared::cta.cluster;", release, cluster, Cover::SharedCta);
    check("fence.mbarrier_init.release.cluster;", "F REL CLUSTER MBAR_INIT_FENCE", cluster, Cover::Everything);
}

#[test]
fn proxy_fences() {
    check("fence.proxy.alias;", "F ALIAS PROXY", None, Cover::Everything);
    check("membar.proxy.alias;", "F ALIAS PROXY", None, Cover::Everything);
    check("fence.proxy.alias.acquire.sys;", "F ACQ SYS ALIAS PROXY", Some(Scope::Sys), Cover::Everything);
    check("fence.proxy.alias.release.sys;", "F REL SYS ALIAS PROXY", Some(Scope::Sys), Cover::Everything);
    for opcode in ["fence", "membar"] {
        check(&format!("{opcode}.proxy.async;"), "F PROXY ASYNC", None, Cover::Everything);
        check(&format!("{opcode}.proxy.async.global;"), "F PROXY ASYNC", None, Cover::Global);
        check(&format!("{opcode}.proxy.async.shared::cta;"), "F PROXY ASYNC SHARED", None, Cover::SharedCta);
        check(&format!("{opcode}.proxy.async.shared::cluster;"), "F PROXY ASYNC SHARED", None, Cover::SharedCluster);
    }
    let generic = "fence.proxy.async::generic";
    let cluster = Some(Scope::Cluster);
    let half = |code: &str, tags: &str, cover| check(&format!("{generic}.{code}.cluster;"), tags, cluster, cover);
    half("release.sync_restrict::shared::cta", "F REL CLUSTER PROXY ASYNC SHARED", Cover::SharedCta);
    half("acquire.sync_restrict::shared::cluster", "F ACQ CLUSTER PROXY ASYNC SHARED", Cover::SharedCluster);
    let reads = "F REL CLUSTER PROXY ASYNC SHARED READS_ONLY";
    half("release.sync_restrict::shared::cluster::read", reads, Cover::SharedCluster);
}

#[test]
fn tensor_map_fences() {
    let release = "fence.proxy.tensormap::generic.release.gpu;";
    check(release, "F REL GPU PROXY TMAP", Some(Scope::Gpu), Cover::Everything);
    let event = fence("fence.proxy.tensormap::generic.acquire.sys [tm], 128;");
    assert_eq!(tag_names(event.tags), "F ACQ SYS PROXY TMAP");
    let Cover::Locations(locations) = &event.cover else { panic!("{:?}", event.cover) };
    assert_eq!(locations.len(), 1, "the map and nothing else");
    let text = ptx(".global .b64 tm; P0:%rd1 = tm;", &["fence.proxy.tensormap::generic.acquire.cta [%rd1], 128;"]);
    let register = unfolded(&text, 1);
    let last = register.events.iter().rfind(|event| !event.has(Tag::Exit));
    assert_eq!(last.map(|event| &event.cover), Some(&event.cover));
}

#[test]
fn the_wrong_size_of_a_map_is_a_lint() {
    let text = ptx(".global .b64 tm;", &["fence.proxy.tensormap::generic.acquire.gpu [tm], 64;"]);
    let lints = program(&text).lints;
    assert_eq!(lints.len(), 1);
    assert_eq!(lints[0].what, LintKind::TensorMapSize { bytes: 64 });
    assert_eq!(&text[lints[0].span.start as usize..lints[0].span.end as usize], "64");
}

#[test]
fn features() {
    let features = |code: &str| -> Vec<Feature> {
        program(&ptx("x = 0;", &["ld.u32 %r1, [x];", code])).features.into_iter().map(|feature| feature.node).collect()
    };
    assert_eq!(features("fence.proxy.alias;"), [Feature::Proxy]);
    assert_eq!(features("fence.proxy.async;"), [Feature::Async]);
    assert_eq!(features("fence.mbarrier_init.release.cluster;"), [Feature::Cluster, Feature::Async]);
}

/// No access of the fabric proxy has a model: its fences are gates of no proxy, and a program with one is decided.
#[test]
fn fences_of_the_fabric_proxy() {
    for direction in ["generic::fabric", "fabric::generic", "fabric::fabric"] {
        for half in ["acquire", "release"] {
            let code = format!("fence.proxy.{direction}.alias.{half}.sys;");
            let found = program(&ptx(".version 9.3; x = 0;", &["ld.u32 %r1, [x];", &code]));
            assert!(found.unsupported.is_empty(), "{code}: {:?}", found.unsupported);
        }
    }
    let (found, diagnostics) = attempt(&ptx("x = 0;", &["ld.u32 %r1, [x];", "fence.proxy.fabric::fabric.alias.sys;"]));
    assert!(found.is_none() && diagnostics[0].message.contains("needs one of"), "{diagnostics:?}");
}

#[test]
fn no_such_fences() {
    let wrong = |code: &str| {
        let (program, diagnostics) = attempt(&ptx("x = 0;", &["ld.u32 %r1, [x];", code]));
        assert!(program.is_none() && diagnostics.len() == 1, "{code}: {diagnostics:?}");
        diagnostics[0].message.clone()
    };
    assert!(wrong("fence.proxy.alias.acquire;").contains("both a half and a scope"));
    assert!(wrong("fence.proxy.alias.sys;").contains("both a half and a scope"));
    assert!(wrong("fence.acquire.sync_restrict::shared::cta.cluster;").contains("there is no"));
    assert!(wrong("fence.release.sync_restrict::shared::cta;").contains("needs one of `.cluster`"));
    assert!(
        wrong("fence.proxy.async::generic.release.sync_restrict::shared::cluster.cluster;").contains("there is no")
    );
    assert!(wrong("fence.proxy.tensormap::generic.acquire.gpu [x], %r1;").contains("constant 128"));
    assert!(wrong("fence.proxy.tensormap::generic.release.gpu [x], 128;").contains("operands"));
    for code in ["fence.proxy.async.param;", "fence.acquire.sync_restrict::global.cluster;"] {
        let found = program(&ptx("x = 0;", &["ld.u32 %r1, [x];", code])).unsupported;
        assert_eq!(found.len(), 1, "{code}");
        assert!(found[0].what.contains(code.trim_end_matches(';')), "{}", found[0].what);
    }
}

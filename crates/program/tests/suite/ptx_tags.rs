//! Each PTX memory instruction form, in all three spellings, and the tags of its events.

use crate::common;

use common::{dartagnan, ptx, tags_of, unfolded};

fn check_dartagnan(code: &str, expected: &[&str]) {
    assert_eq!(tags_of(&unfolded(&dartagnan(&[code]), 1)), expected, "{code}");
}

fn check_ptx(code: &str, expected: &[&str]) {
    assert_eq!(tags_of(&unfolded(&ptx("x = 0;", &[code]), 1)), expected, "{code}");
}

#[test]
fn loads_and_stores() {
    check_dartagnan("ld.weak r1, x", &["R WEAK GEN"]);
    check_dartagnan("ld.relaxed.cta r1, x", &["R RLX CTA GEN"]);
    check_dartagnan("ld.acquire.gpu r1, x", &["R ACQ GPU GEN"]);
    check_dartagnan("ld.acquire.sys r1, x", &["R ACQ SYS GEN"]);
    check_dartagnan("st.weak x, 1", &["W WEAK GEN"]);
    check_dartagnan("st.relaxed.gpu x, 1", &["W RLX GPU GEN"]);
    check_dartagnan("st.release.cta x, 1", &["W REL CTA GEN"]);
    check_ptx("ld.u32 %r1, [x];", &["R WEAK GEN"]);
    check_ptx("ld.global.u32 %r1, [x];", &["R WEAK GEN"]);
    check_ptx("ld.acquire.gpu.global.u32 %r1, [x];", &["R ACQ GPU GEN"]);
    check_ptx("ld.global.acquire.gpu.L1::evict_last.u32 %r1, [x];", &["R ACQ GPU GEN"]);
    check_ptx("st.release.cluster.shared::cta.b64 [x], 1;", &["W REL CLUSTER GEN SHARED OWN_WINDOW"]);
}

#[test]
fn volatile_and_mmio_are_relaxed_at_system_scope() {
    check_ptx("ld.volatile.global.u32 %r1, [x];", &["R RLX VOLATILE SYS GEN"]);
    check_ptx("st.volatile.u32 [x], 1;", &["W RLX VOLATILE SYS GEN"]);
    check_ptx("ld.mmio.relaxed.sys.global.u32 %r1, [x];", &["R RLX MMIO SYS GEN"]);
}

#[test]
fn atomics_split_their_semantics_over_the_halves() {
    check_dartagnan("atom.relaxed.gpu.add r1, x, 1", &["R A RLX GPU GEN", "W A RLX GPU GEN"]);
    check_dartagnan("atom.acquire.gpu.add r1, x, 1", &["R A ACQ GPU GEN", "W A RLX GPU GEN"]);
    check_dartagnan("atom.release.gpu.exch r1, x, 1", &["R A RLX GPU GEN", "W A REL GPU GEN"]);
    check_dartagnan("atom.acq_rel.sys.add r1, x, 1", &["R A ACQ SYS GEN", "W A REL SYS GEN"]);
    check_ptx("atom.global.add.u32 %r1, [x], 1;", &["R A RLX GPU GEN", "W A RLX GPU GEN"]);
    check_ptx("atom.add.acq_rel.cta.u32 _, [x], 1;", &["R A ACQ CTA GEN", "W A REL CTA GEN"]);
}

#[test]
fn red_returns_nothing() {
    // The dialect has acquiring ones, real PTX has none.
    check_dartagnan("red.acq_rel.cta.add x, 1", &["R A ACQ CTA GEN", "W A NORET REL CTA GEN"]);
    check_dartagnan("red.release.cta.add x, 1", &["R A RLX CTA GEN", "W A NORET REL CTA GEN"]);
    check_ptx("red.global.add.u32 [x], 1;", &["R A NORET RLX GPU GEN", "W A NORET RLX GPU GEN"]);
    check_ptx("red.release.gpu.global.add.u32 [x], 1;", &["R A NORET RLX GPU GEN", "W A NORET REL GPU GEN"]);
}

#[test]
fn fences() {
    check_dartagnan("fence.sc.gpu", &["F SC GPU GEN"]);
    check_dartagnan("fence.acq_rel.sys", &["F ACQ_REL SYS GEN"]);
    check_ptx("fence.cta;", &["F ACQ_REL CTA GEN"]);
    check_ptx("fence.acquire.cluster;", &["F ACQ CLUSTER GEN"]);
    check_ptx("fence.release.gpu;", &["F REL GPU GEN"]);
    check_ptx("membar.cta;", &["F SC CTA GEN"]);
    check_ptx("membar.gl;", &["F SC GPU GEN"]);
    check_ptx("membar.sys;", &["F SC SYS GEN"]);
}

#[test]
fn proxies() {
    check_dartagnan("suld.weak r1, x", &["R WEAK SUR"]);
    check_dartagnan("sust.weak x, 1", &["W WEAK SUR"]);
    check_dartagnan("tld.weak r1, x", &["R WEAK TEX"]);
    check_dartagnan("cold.weak r1, x", &["R WEAK CON"]);
    check_dartagnan("suatom.relaxed.gpu.add r1, x, 1", &["R A RLX GPU SUR", "W A RLX GPU SUR"]);
    check_dartagnan("fence.proxy.generic", &["F GEN PROXY"]);
    check_dartagnan("fence.proxy.texture", &["F TEX PROXY"]);
    check_dartagnan("fence.proxy.surface", &["F SUR PROXY"]);
    check_dartagnan("fence.proxy.constant", &["F CON PROXY"]);
    check_dartagnan("fence.proxy.alias", &["F ALIAS PROXY"]);
}

#[test]
fn nvlitmus_spells_the_same_table() {
    let text = ".global x;\n.surfref s virtually aliases x;\n\
        d0.b1.t0 {\n atom.add.acq_rel.gpu r1, [x], 1;\n suld r2, [s] == 1;\n fence.alias;\n }\n\
        permit (r1 == 0) as a;\n";
    let program = common::program(text);
    assert_eq!(program.addresses[1].generic, program.addresses[0].generic);
    let unfolding = common::unfolded(text, 1);
    let expected = ["R A ACQ GPU GEN", "W A REL GPU GEN", "R WEAK SUR", "F ALIAS PROXY"];
    assert_eq!(tags_of(&unfolding), expected);
    assert_eq!(unfolding.traces[0].assumptions.len(), 1);
}

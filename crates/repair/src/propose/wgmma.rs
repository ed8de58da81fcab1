//! The registers of a `wgmma.mma_async`. One that is used before the product is complete (PTX ISA 9.7.17.5.2) lacks a
//! `wgmma.wait_group` that covers the product, before the use. One that a product uses behind another access (9.7.17.7.1)
//! lacks a `wgmma.fence` before that product, and so does the first product of a thread.

use fencepost_program::EventId;
use fencepost_program::sections;
use fencepost_program::tag::Tag;
use fencepost_report::reason::Lifetime;
use fencepost_report::site::Act;
use fencepost_report::{Diagnosis, RacingAccess};
use fencepost_syntax::instruction::{Instruction, Operand};

use crate::edit::{Change, Edit, End, Whole};
use crate::propose::way::link::Plan;
use crate::scene::Scene;
use crate::scene::anchor::{Anchor, Side, position};
use crate::scene::statement::has;

const SECTION: &str = sections::WGMMA_MMA_ASYNC;
const COST: u32 = 1;
const FENCE_SECTION: &str = sections::WGMMA_FENCE;
const FENCE: &str = "wgmma.fence.sync.aligned";
const COMMIT: &str = "wgmma.commit_group.sync.aligned;";

pub(crate) fn diagnose(scene: &Scene<'_>, pair: (EventId, EventId), diagnosis: &mut Diagnosis) -> Vec<Plan> {
    // Of a loop the use may stand before the product.
    let (product, early) = if scene.has(pair.0, Tag::InFlight) { (pair.1, pair.0) } else { pair };
    let (of_product, of_use) = (does(Act::StartsProductInFlight), does(Act::UsesRegister));
    (diagnosis.first, diagnosis.second) = if product == pair.0 { (of_product, of_use) } else { (of_use, of_product) };
    let reason = Lifetime::ProductInFlight { product: scene.site(product), section: SECTION.to_owned() };
    diagnosis.reasons = vec![reason.into()];
    let waits = plans(scene, product, early);
    // Two products that share registers in another way than is allowed lack a fence too, and are one pair of places.
    let fence = fence(scene, early);
    let both = waits.iter().filter_map(|wait| Some(vec![wait.clone(), fence.clone()?]));
    let all = waits.iter().map(|wait| vec![wait.clone()]).chain(both);
    all.map(|edits| plan(pair, edits)).collect()
}

/// What is done to registers goes through no proxy.
fn does(act: Act) -> RacingAccess {
    RacingAccess { what: String::new(), act, proxy: None, asynchronous: false }
}

fn plan(pair: (EventId, EventId), edits: Vec<Edit>) -> Plan {
    Plan { from: pair.0, to: pair.1, edits, cost: COST }
}

/// The fence before a product.
fn fence(scene: &Scene<'_>, product: EventId) -> Option<Edit> {
    let anchor = scene.anchor(product, Side::Before)?;
    position(&scene.test.litmus, anchor.thread, anchor.span)?;
    let change = Change::Insert { at: vec![(anchor, format!("{FENCE};"))] };
    Some(Edit { change, reason: None, section: FENCE_SECTION, cost: COST })
}

/// No fence stands between an access to registers and a product that uses them.
pub(crate) fn unfenced(scene: &Scene<'_>, pair: (EventId, EventId), diagnosis: &mut Diagnosis) -> Vec<Plan> {
    let (product, earlier) = if scene.has(pair.0, Tag::Unfenced) { (pair.1, pair.0) } else { pair };
    let (of_product, of_access) = (does(Act::StartsProduct), does(Act::AccessesRegister));
    let is_first = scene.event(product).span == scene.event(earlier).span;
    (diagnosis.first, diagnosis.second) = match () {
        () if is_first => (does(Act::StartsFirstProduct), of_product),
        () if product == pair.0 => (of_product, of_access),
        () => (of_access, of_product),
    };
    let (at, section) = (scene.site(product), FENCE_SECTION.to_owned());
    let reason = match is_first {
        true => Lifetime::NoFenceBeforeFirstProduct { product: at, section },
        false => Lifetime::NoFenceBeforeProduct { earlier: scene.site(earlier), product: at, section },
    };
    diagnosis.reasons = vec![reason.into()];
    let Some(fence) = fence(scene, product) else { return Vec::new() };
    // Where the other is a product as well, one that is in flight, it must be complete too.
    let both = plans(scene, earlier, product).into_iter().map(|wait| vec![wait, fence.clone()]);
    [vec![fence.clone()]].into_iter().chain(both).map(|edits| plan(pair, edits)).collect()
}

/// A wait that stands there and covers too little, then a wait of its own; the fewest groups first.
fn plans(scene: &Scene<'_>, product: EventId, early: EventId) -> Vec<Edit> {
    let Some(thread) = scene.thread(product) else { return Vec::new() };
    let is_inside = position(&scene.test.litmus, thread, scene.event(early).span).is_some();
    let between = scene.between(product, is_inside.then_some(early));
    let commits = between.iter().filter(|found| is(found, "commit_group")).count() as i128;
    let edit = |change: Change| Edit { change, reason: None, section: SECTION, cost: COST };
    let mut plans = Vec::new();
    if let Some((at, wait)) = between.iter().enumerate().rev().find(|(_, found)| is(found, "wait_group")) {
        let committed = between.iter().take(at).filter(|found| is(found, "commit_group")).count() as i128;
        let newest = if committed > 0 { committed - 1 } else { 0 };
        let counts = wait.operands.iter().any(|operand| matches!(operand.node, Operand::Integer(_)));
        if counts {
            plans.push(edit(Change::Wait { thread, span: wait.span(), newest, whole: Whole::AsIs }));
        }
    }
    let wait = between.iter().find(|found| is(found, "wait_group")).map(|found| found.span());
    let committed = between.iter().take_while(|found| !is(found, "wait_group")).any(|found| is(found, "commit_group"));
    if let Some(span) = wait.filter(|_| !committed) {
        let anchor = Anchor { thread, span, side: Side::Before };
        plans.push(edit(Change::Insert { at: vec![(anchor, COMMIT.to_owned())] }));
    }
    let mut put = |text: String| {
        plans.push(edit(match scene.anchor(early, Side::Before).filter(|_| is_inside) {
            Some(anchor) => Change::Insert { at: vec![(anchor, text)] },
            None => Change::Append { to: vec![thread], end: End::Last, text },
        }));
    };
    let wait = |newest: i128| format!("wgmma.wait_group.sync.aligned {newest};");
    if commits > 1 {
        put(wait(commits - 1));
    }
    if commits > 0 {
        put(wait(0));
    }
    put(format!("{COMMIT}\n{}", wait(0)));
    plans
}

fn is(instruction: &Instruction, word: &str) -> bool {
    instruction.opcode.node == "wgmma" && has(instruction, word)
}

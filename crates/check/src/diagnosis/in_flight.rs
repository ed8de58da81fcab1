//! A register of a `wgmma.mma_async` that is used before the product is complete (PTX ISA 9.7.17.5.2): what is missing is a
//! `wgmma.wait_group` that covers the product, before the use.

use fencepost_program::EventId;
use fencepost_program::tag::Tag;
use fencepost_syntax::instruction::{Instruction, Operand};

use crate::report::{Diagnosis, RacingAccess};

use super::anchor::{Side, position};
use super::edit::{Change, Edit, Whole};
use super::scene::Scene;
use super::verify::{Found, Verifier};

const SECTION: &str = "9.7.17.5.2";
const COST: u32 = 1;
const COMMIT: &str = "wgmma.commit_group.sync.aligned;";

pub(super) fn diagnose(
    scene: &Scene<'_>,
    verifier: &Verifier<'_>,
    pair: (EventId, EventId),
    diagnosis: &mut Diagnosis,
) {
    // Of a loop the use may stand before the product.
    let (product, early) = if scene.has(pair.0, Tag::InFlight) { (pair.1, pair.0) } else { pair };
    let said = |what: &str| RacingAccess { what: what.to_owned(), proxy: "none".to_owned(), asynchronous: false };
    let (of_product, of_use) =
        (said("starts a product that has its registers until a wait covers it"), said("uses one of these registers"));
    (diagnosis.first, diagnosis.second) = if product == pair.0 { (of_product, of_use) } else { (of_use, of_product) };
    diagnosis.why = format!(
        "no wgmma.wait_group between them covers the wgmma.mma_async of line {}: its registers have no value yet and must \
         not get another (PTX ISA {SECTION})",
        scene.line(product)
    );
    let plans = plans(scene, product, early);
    let cured = |edit: &&Edit| matches!(verifier.check(&[edit], pair, scene.unfolding), Found::Right | Found::Gone);
    let best = plans.iter().find(cured);
    diagnosis.confirmed = best.is_some();
    diagnosis.missing = best.or(plans.first()).map(|edit| edit.missing(scene)).into_iter().collect();
}

/// A wait that stands there and covers too little, then a wait of its own; the fewest groups first.
fn plans(scene: &Scene<'_>, product: EventId, early: EventId) -> Vec<Edit> {
    let Some(thread) = scene.thread(product) else { return Vec::new() };
    let is_inside = position(&scene.test.litmus, thread, scene.event(early).span).is_some();
    let between = scene.between(product, is_inside.then_some(early));
    let commits = between.iter().filter(|found| is(found, "commit_group")).count() as i128;
    let edit = |change: Change| Edit { change, reason: String::new(), section: SECTION, cost: COST };
    let mut plans = Vec::new();
    if let Some((at, wait)) = between.iter().enumerate().rev().find(|(_, found)| is(found, "wait_group")) {
        let committed = between.iter().take(at).filter(|found| is(found, "commit_group")).count() as i128;
        let newest = if committed > 0 { committed - 1 } else { 0 };
        let counts = wait.operands.iter().any(|operand| matches!(operand.node, Operand::Integer(_)));
        if counts {
            plans.push(edit(Change::Wait { thread, span: wait.span(), newest, whole: Whole::AsIs }));
        }
    }
    let mut put = |text: String| {
        plans.push(edit(match scene.anchor(early, Side::Before).filter(|_| is_inside) {
            Some(anchor) => Change::Insert { at: vec![(anchor, text)] },
            None => Change::Append { to: vec![thread], text },
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
    instruction.opcode.node == "wgmma" && instruction.modifiers.iter().any(|found| found.node == word)
}

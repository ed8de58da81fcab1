//! What the proposers of `check` have seen to cure something: so `fix` is never worse than the advice that `check` gives. Each is
//! a guess as it stands, which bounds what is worth asking about; and what of it is more than an order is a change of paths, to
//! which the `space` adds the rest.

use fencepost_check::model::load::{LoadedModel, Models};
use fencepost_check::model::vocabulary::Repairs;
use fencepost_check::options::{Options, Wanted};
use fencepost_check::test::Test;
use fencepost_program::lower::lower;
use fencepost_program::program::LocationRole;
use fencepost_syntax::sorted::SharedSort as _;

use super::difference;
use super::paths::{Path, together};
use super::space::plain;
use super::{Cures, Fixing};
use crate::edit::{Change, Edit};
use crate::verify::rounds;

/// The share of the time that is left which looking for them may take.
const SHARE: u32 = 4;
/// Changes that are taken over, the cheapest first.
const MOST: usize = 64;

/// Guesses, and changes of paths, the cheapest first.
#[derive(Default)]
pub(super) struct Proposed {
    pub(super) guesses: Vec<Path>,
    pub(super) paths: Vec<Path>,
}

pub(super) fn proposed(
    test: &Test,
    model: &LoadedModel,
    options: &Options,
    fixing: &Fixing<'_>,
    cures: Cures,
) -> Proposed {
    let whole = match &model.vocabulary.repairs {
        Repairs::By(whole) => Models::shipped(whole),
        _ => None,
    };
    let model = whole.as_ref().unwrap_or(model);
    let budget = match options.budget.left() {
        Some(left) => options.budget.within(left / SHARE),
        None => options.budget.clone(),
    };
    let options = Options { advice: Wanted::Yes, fingerprint: Wanted::No, budget, ..options.clone() };
    let cures = |test: &Test| -> Vec<Vec<Edit>> {
        let plain = |edits: Vec<Edit>| edits.into_iter().map(|it| plain(it.change)).collect();
        cures(test, model, &options).into_iter().map(plain).collect()
    };
    let mut all = cures(test);
    // Of many rounds little can be checked, and what is missing in a few of them is missing in all.
    if let Some(short) = shorter(test) {
        all.extend(cures(&short));
    }
    let classes = together::alike(&test.litmus);
    let everywhere: Vec<Vec<Edit>> = all
        .iter()
        .flat_map(|edits| classes.iter().filter_map(|class| together::everywhere(&test.litmus, edits, class)))
        .collect();
    all.extend(everywhere);
    let mut found = Proposed::default();
    for edits in all {
        let other: Vec<Edit> = edits.iter().filter(|edit| !only_orders(edit)).cloned().collect();
        if edits.iter().any(|edit| edit.change.touches(&test.litmus, fixing.is_kept)) {
            continue;
        }
        for (edits, list) in [(edits, &mut found.guesses), (other, &mut found.paths)] {
            if !edits.is_empty() && list.iter().all(|path| path.edits != edits) {
                list.extend(path(test, fixing, edits));
            }
        }
    }
    for list in [&mut found.guesses, &mut found.paths] {
        list.shared_sort_by_key(|path| path.cost);
        list.truncate(MOST);
    }
    found
}

/// The test with fewer rounds of its loops, and without questions about what all of them compute.
fn shorter(test: &Test) -> Option<Test> {
    let names = test.program.locations.iter().filter(|it| it.role == LocationRole::Mbarrier);
    let bases: Vec<&str> = names.map(|it| it.name.split('[').next().unwrap_or(&it.name)).collect();
    let stages = bases.iter().map(|base| bases.iter().filter(|other| *other == base).count()).max()?;
    let mut litmus = rounds::shorter(&test.litmus, stages as i128)?;
    litmus.questions.clear();
    let program = lower(&litmus).0?;
    let mut short = test.with_program(program);
    short.litmus = litmus;
    Some(short)
}

/// The edits, each with what the test costs more with it.
fn path(test: &Test, fixing: &Fixing<'_>, edits: Vec<Edit>) -> Option<Path> {
    let each = |edit: &Edit| {
        let changed = Edit::apply_all(&[edit], &test.litmus)?;
        difference::cost(&test.litmus, &changed, fixing.costs)
    };
    let costs: Option<Vec<u32>> = edits.iter().map(each).collect();
    costs.map(|costs| Path::new(edits.into_iter().zip(costs).collect()))
}

/// Instructions that only order what is there, by how they begin (PTX ISA 9.7.15.4, 9.7.10.28.1, 9.7.17.7, 9.7.18.6.4).
const ORDERING: [&str; 7] =
    ["fence.", "cp.async.wait", "cp.async.bulk.wait", "wgmma.fence", "wgmma.wait", "tcgen05.wait", "tcgen05.fence"];

/// Whether a change takes executions away and does nothing else.
pub(super) fn only_orders(edit: &Edit) -> bool {
    let orders = |text: &str| ORDERING.iter().any(|word| text.starts_with(word));
    match &edit.change {
        Change::Strengthen { .. } | Change::Wait { .. } | Change::Return { .. } => true,
        Change::Insert { at } => at.iter().all(|(_, text)| text.split('\n').all(orders)),
        _ => false,
    }
}

//! Instructions that only order or wait, and may go: fences of every kind, waits for groups. Some have a weaker form too.

use fencepost_program::ThreadId;
use fencepost_syntax::instruction::{Instruction, Operand};

use super::place::{Level, Place, Weaker, gone, place, saving};
use super::words::reword;
use crate::edit::{Change, Whole};
use crate::fix::costs::Costs;
use crate::fix::space::plain;

/// How many groups more a wait may leave open.
const MORE_GROUPS: u8 = 3;

/// None for an instruction that does anything else.
pub(super) fn options(costs: &Costs, thread: ThreadId, found: &Instruction) -> Option<Place> {
    let (row, scope) = row(found)?;
    let cost = costs.of(row, scope);
    let mut options = match row {
        "dfence" => other(costs, (row, scope), ("ofence", "-"), reword(thread, found, "ofence".into(), Vec::new())),
        "fence.proxy.async" if scope == "-" => {
            let words = ["proxy", "async", "shared::cta"].map(str::to_owned).to_vec();
            other(costs, (row, scope), (row, "cta"), reword(thread, found, "fence".into(), words))
        }
        row if row.contains("wait_group") => fewer_groups(costs, thread, found, row),
        _ => Vec::new(),
    };
    options.push(gone(thread, found.span(), cost));
    Some(place(thread, found.span(), cost, options))
}

/// The row of the cost table that an instruction is in.
fn row(found: &Instruction) -> Option<(&'static str, &'static str)> {
    let has = |word: &str| found.modifiers.iter().any(|own| own.node == word);
    let starts = |head: &str| found.modifiers.iter().any(|own| own.node.starts_with(head));
    let row = match found.opcode.node.as_str() {
        "mfence" => "mfence",
        "ofence" => "ofence",
        "dfence" => "dfence",
        "membar" if has("proxy") => "fence.proxy.alias",
        "fence" if has("mbarrier_init") => "fence.mbarrier_init",
        "fence" if starts("tensormap::") => "fence.proxy.tensormap",
        "fence" if starts("async::") => "fence.proxy.async::generic",
        "fence" if has("async") => {
            return Some(("fence.proxy.async", if starts("shared::") { "cta" } else { "-" }));
        }
        "fence" if has("proxy") => "fence.proxy.alias",
        "fence" if has("acquire") || has("release") => "fence.half",
        "cp" if has("bulk") && has("wait_group") && has("read") => "cp.async.bulk.wait_group.read",
        "cp" if has("bulk") && has("wait_group") => "cp.async.bulk.wait_group",
        "cp" if has("wait_group") => "cp.async.wait_group",
        "cp" if has("wait_all") => "cp.async.wait_all",
        "wgmma" if has("fence") => "wgmma.fence",
        "wgmma" if has("wait_group") => "wgmma.wait_group",
        // The registers of a `tcgen05.ld` may be used only behind `wait::ld`, which no model here checks.
        "tcgen05" if starts("wait::st") => "tcgen05.wait",
        "tcgen05" if starts("fence::") => "tcgen05.fence",
        _ => return None,
    };
    Some((row, "-"))
}

/// What lies between an instruction and its removal.
fn other(costs: &Costs, (row, scope): (&str, &str), (new, reach): (&str, &str), change: Change) -> Vec<Weaker> {
    let saves = saving(costs.of(row, scope), costs.of(new, reach));
    let option = saves.map(|saves| Weaker { edits: vec![plain(change)], level: Level { kinds: 1, reach: 1 }, saves });
    option.into_iter().collect()
}

/// A wait that leaves more groups open, or that waits only until their sources are read. The table does not tell numbers of
/// groups apart: each that is left open counts one.
fn fewer_groups(costs: &Costs, thread: ThreadId, found: &Instruction, row: &str) -> Vec<Weaker> {
    let Some(Operand::Integer(number)) = found.operands.last().map(|operand| &operand.node) else { return Vec::new() };
    let mut options = Vec::new();
    let most = u32::from(MORE_GROUPS).min(costs.of(row, "-").saturating_sub(1)) as u8;
    for more in 1..=most {
        let newest = number + i128::from(more);
        let change = Change::Wait { thread, span: found.span(), newest, whole: Whole::AsIs };
        let level = Level { kinds: 3, reach: MORE_GROUPS + 1 - more };
        options.push(Weaker { edits: vec![plain(change)], level, saves: u32::from(more) });
    }
    if row == "cp.async.bulk.wait_group" {
        let modifiers = found.modifiers.iter().map(|word| word.node.to_string()).chain(["read".to_owned()]).collect();
        let change = reword(thread, found, found.opcode.node.to_string(), modifiers);
        let read = other(costs, (row, "-"), ("cp.async.bulk.wait_group.read", "-"), change);
        let level = Level { kinds: 1, reach: MORE_GROUPS + 1 };
        options.extend(read.into_iter().map(|read| Weaker { level, ..read }));
    }
    options
}

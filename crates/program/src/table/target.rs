//! Which hardware an instruction needs (the target notes of its section of the PTX ISA), as data: the words it starts with or
//! carries, and the architectures. A feature of `sm_90a` is one of that architecture alone, or of a family (`sm_100f`): a
//! target without such a suffix has none of them, and a newer one need not have them either.
//!
//! The table leaves out what it is not sure of: a floor that is too high would warn of kernels that compile.

use crate::sections;

use fencepost_syntax::instruction::Instruction;

/// A target as `.target` names it: `sm_90`, `sm_90a`, `sm_100f`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Target {
    number: u16,
    features: Features,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Features {
    Common,
    /// Those of one architecture or family too.
    Specific,
}

impl Target {
    /// None for words that are no architecture (`debug`, `texmode_unified`).
    pub fn parse(name: &str) -> Option<Target> {
        let digits = name.strip_prefix("sm_")?;
        let plain = digits.trim_end_matches(['a', 'f']);
        let features = if plain.len() < digits.len() { Features::Specific } else { Features::Common };
        Some(Target { number: plain.parse().ok()?, features })
    }
}

/// The architectures that have an instruction.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Need {
    /// Of this number or a higher one.
    Least(u16),
    /// Of these numbers (the last is the first without), as a feature of the architecture or family.
    Specific(u16, u16),
}

impl Need {
    fn is_met(self, target: Target) -> bool {
        match self {
            Need::Least(least) => target.number >= least,
            Need::Specific(least, end) => {
                (least..end).contains(&target.number) && target.features == Features::Specific
            }
        }
    }

    fn words(self) -> String {
        match self {
            Need::Least(least) => format!("`sm_{least}` or newer"),
            Need::Specific(least, end) if end == least + 1 => format!("`sm_{least}a`"),
            Need::Specific(least, u16::MAX) => format!("`sm_{least}a`, or a newer target with `a` or `f`"),
            Need::Specific(least, end) => format!("`sm_{least}a` or another target with `a` or `f` below `sm_{end}`"),
        }
    }
}

/// What an instruction starts with, a word it carries besides ("" for none), what it then needs, and the section.
type Row = (&'static [&'static str], &'static str, Need, &'static str);

const NEEDS: &[Row] = &[
    (&["fence"], "", Need::Least(70), sections::FENCE),
    (&["fence"], "acquire", Need::Least(90), sections::FENCE),
    (&["fence"], "release", Need::Least(90), sections::FENCE),
    (&["fence"], "cluster", Need::Least(90), sections::FENCE),
    (&["fence", "proxy", "async"], "", Need::Least(90), sections::FENCE),
    (&["ld"], "acquire", Need::Least(70), sections::LD),
    (&["ld"], "relaxed", Need::Least(70), sections::LD),
    (&["st"], "release", Need::Least(70), sections::ST),
    (&["st"], "relaxed", Need::Least(70), sections::ST),
    (&["atom"], "acquire", Need::Least(70), sections::ATOM),
    (&["atom"], "release", Need::Least(70), sections::ATOM),
    (&["atom"], "acq_rel", Need::Least(70), sections::ATOM),
    (&["red"], "release", Need::Least(70), sections::RED),
    (&["ld"], "cluster", Need::Least(90), sections::SCOPE),
    (&["st"], "cluster", Need::Least(90), sections::SCOPE),
    (&["atom"], "cluster", Need::Least(90), sections::SCOPE),
    (&["red"], "cluster", Need::Least(90), sections::SCOPE),
    (&["ld"], "shared::cluster", Need::Least(90), sections::SHARED_SPACE),
    (&["st"], "shared::cluster", Need::Least(90), sections::SHARED_SPACE),
    (&["atom"], "shared::cluster", Need::Least(90), sections::SHARED_SPACE),
    (&["red"], "shared::cluster", Need::Least(90), sections::SHARED_SPACE),
    (&["st", "async"], "", Need::Least(90), sections::ST_ASYNC),
    (&["st", "async"], "release", Need::Least(100), sections::ST_ASYNC),
    (&["red", "async"], "", Need::Least(90), sections::RED_ASYNC),
    (&["red", "async"], "release", Need::Least(100), sections::RED_ASYNC),
    (&["atom"], "b128", Need::Least(90), sections::ATOM),
    (&["ld"], "v8", Need::Least(100), sections::LD),
    (&["st"], "v8", Need::Least(100), sections::ST),
    (&["st", "bulk"], "", Need::Least(100), sections::ST_BULK),
    (&["multimem"], "", Need::Least(90), sections::MULTIMEM_ADDRESSES),
    (&["mapa"], "", Need::Least(90), sections::MAPA),
    (&["getctarank"], "", Need::Least(90), sections::GETCTARANK),
    (&["barrier", "cluster"], "", Need::Least(90), sections::BARRIER_CLUSTER),
    (&["griddepcontrol"], "", Need::Least(90), sections::GRIDDEPCONTROL),
    (&["elect"], "", Need::Least(90), sections::ELECT_SYNC),
    (&["match"], "", Need::Least(70), sections::MATCH_SYNC),
    (&["redux"], "", Need::Least(80), sections::REDUX_SYNC),
    (&["cp", "async"], "", Need::Least(80), sections::NON_BULK_COPY),
    (&["cp", "async", "bulk"], "", Need::Least(90), sections::TENSOR_COPY),
    (&["cp", "async", "bulk"], "tile::gather4", Need::Least(100), sections::TENSOR_COPY),
    (&["cp", "async", "bulk"], "tile::scatter4", Need::Least(100), sections::TENSOR_COPY),
    (&["cp", "async", "bulk"], "cta_group::1", Need::Least(100), sections::TENSOR_COPY),
    (&["cp", "async", "bulk"], "cta_group::2", Need::Least(100), sections::TENSOR_COPY),
    (&["cp", "async", "bulk"], "cp_mask", Need::Least(100), sections::TENSOR_COPY),
    (&["cp", "async", "bulk"], "b128", Need::Specific(90, u16::MAX), sections::CP_ASYNC_BULK),
    (&["cp", "reduce"], "", Need::Least(90), sections::TENSOR_COPY),
    (&["mbarrier"], "", Need::Least(80), sections::MBARRIER),
    (&["mbarrier", "try_wait"], "", Need::Least(90), sections::MBARRIER),
    (&["mbarrier"], "expect_tx", Need::Least(90), sections::MBARRIER),
    (&["mbarrier"], "complete_tx", Need::Least(90), sections::MBARRIER),
    (&["mbarrier"], "cluster", Need::Least(90), sections::MBARRIER),
    (&["mbarrier"], "shared::cluster", Need::Least(90), sections::MBARRIER),
    (&["tensormap", "replace"], "", Need::Specific(90, u16::MAX), sections::TENSORMAP_REPLACE),
    (&["tensormap", "cp_fenceproxy"], "", Need::Least(90), sections::TENSORMAP_CP_FENCEPROXY),
    (&["clusterlaunchcontrol"], "", Need::Least(100), sections::CLUSTERLAUNCHCONTROL_TRY_CANCEL),
    (&["setmaxnreg"], "", Need::Specific(90, u16::MAX), sections::SETMAXNREG),
    (&["stmatrix"], "", Need::Least(90), sections::STMATRIX),
    (&["wgmma"], "", Need::Specific(90, 91), sections::WGMMA),
    (&["tcgen05"], "", Need::Specific(100, 120), sections::TCGEN05),
];

/// What an instruction needs that the target has not, in words, and the section that says so.
pub fn lacks(tree: &Instruction, target: Target) -> Option<(String, &'static str)> {
    let words = || std::iter::once(&tree.opcode).chain(&tree.modifiers).map(|word| word.node.as_str());
    let applies = |(head, word, ..): &&Row| {
        let starts = head.len() <= words().count() && words().zip(*head).all(|(found, head)| found == *head);
        starts && (word.is_empty() || tree.modifiers.iter().any(|found| found.node == **word))
    };
    let mut unmet = NEEDS.iter().filter(applies).filter(|(_, _, need, _)| !need.is_met(target));
    // The most demanding one, which is the most special.
    let (_, _, need, section) = unmet.next_back()?;
    Some((need.words(), section))
}

//! Special registers (PTX ISA chapter 10) whose value the placement of a thread fixes.
//!
//! A test names every thread of its CTAs: `%tid.x` counts them in the order of the text, `%ntid.x` is how many there are. A
//! thread is alone in its warp. Registers that only hardware could tell (`%smid`, `%clock`) have no value.

use fencepost_syntax::sorted::SortedMap;

use crate::lower::memory::layout::Layout;
use crate::program::Place;

/// What a thread knows of where it runs.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Position {
    tid: i128,
    ntid: i128,
    ctaid: i128,
    nctaid: i128,
    rank: i128,
    ranks: i128,
    cluster: i128,
    clusters: i128,
}

/// The positions of threads at these places, in this order.
pub(crate) fn positions(places: &[Place]) -> Vec<Position> {
    let layout = Layout::new(places);
    let mut total = SortedMap::<Place, i128>::new();
    places.iter().for_each(|place| *total.entry(*place).or_default() += 1);
    let mut before = SortedMap::<Place, i128>::new();
    let position = |place: &Place| {
        let Place::Gpu { gpu, cluster, cta } = *place else { return Position::default() };
        let before = before.entry(*place).or_default();
        *before += 1;
        let is_beside = |other: &Place| matches!(other, Place::Gpu { gpu: beside, .. } if *beside == gpu);
        Position {
            tid: *before - 1,
            ntid: total[place],
            ctaid: i128::from(cta),
            nctaid: layout.ctas().filter(is_beside).count() as i128,
            rank: layout.rank(*place),
            ranks: layout.cluster(*place).count() as i128,
            cluster: layout.clusters_on(gpu).position(|own| own == (gpu, cluster)).map_or(0, |index| index as i128),
            clusters: layout.clusters_on(gpu).count() as i128,
        }
    };
    places.iter().map(position).collect()
}

impl Position {
    /// The value of a special register, where the placement fixes it.
    pub(crate) fn value(&self, name: &str) -> Option<i128> {
        let (stem, part) = name.split_once('.').unwrap_or((name, ""));
        let number = match stem {
            "%tid" => self.tid,
            "%ntid" => self.ntid,
            "%ctaid" => self.ctaid,
            "%nctaid" => self.nctaid,
            "%cluster_ctaid" => self.rank,
            "%cluster_nctaid" => self.ranks,
            "%clusterid" => self.cluster,
            "%nclusterid" => self.clusters,
            "%cluster_ctarank" => return Some(self.rank),
            "%cluster_nctarank" => return Some(self.ranks),
            "%laneid" | "%lanemask_lt" => return Some(0),
            "%lanemask_eq" | "%lanemask_le" => return Some(1),
            "%lanemask_ge" => return Some(0xffff_ffff),
            "%lanemask_gt" => return Some(0xffff_fffe),
            "%warpid" => return Some(self.tid),
            "%nwarpid" => return Some(self.ntid),
            _ => return None,
        };
        match part {
            "x" => Some(number),
            // The other dimensions have extent 1.
            "y" | "z" => Some(i128::from(stem.starts_with("%n") || stem == "%cluster_nctaid")),
            _ => None,
        }
    }
}

/// Special registers of PTX ISA chapter 10.
pub(crate) fn is_special(name: &str) -> bool {
    const STEMS: &[&str] = &[
        "%tid",
        "%ntid",
        "%ctaid",
        "%nctaid",
        "%laneid",
        "%warpid",
        "%nwarpid",
        "%smid",
        "%nsmid",
        "%gridid",
        "%clusterid",
        "%nclusterid",
        "%cluster_",
        "%is_explicit",
        "%lanemask",
        "%clock",
        "%globaltimer",
        "%pm",
        "%envreg",
        "%dynamic_smem",
        "%total_smem",
        "%aggr_smem",
        "%reserved_smem",
        "%current_graph",
    ];
    STEMS.iter().any(|stem| name.starts_with(stem))
}

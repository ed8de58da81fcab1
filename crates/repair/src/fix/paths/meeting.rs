//! A barrier of all threads of a CTA or a cluster, once in each of them.

use fencepost_program::ThreadId;
use fencepost_program::program::Place as Home;
use fencepost_syntax::instruction::Operand;
use fencepost_syntax::litmus::Statement;
use fencepost_syntax::sorted::SharedSort as _;

use super::{Maker, Path, gaps_and_end};
use crate::edit::Change;
use crate::fix::space::plain;
use crate::scene::anchor::{Anchor, instruction, position};

/// Barriers that are tried, those at like places of their threads first.
const MOST_BARRIERS: usize = 256;

/// A gap outside of loops: how many barriers stand before it, which gap of its thread it is, and where.
type Outside = (usize, usize, Anchor);

impl Maker<'_> {
    /// A barrier of all threads of a CTA, or of a cluster.
    pub(super) fn barriers(&self, found: &mut Vec<Path>) {
        let threads: Vec<(ThreadId, Home)> =
            (0..).zip(&self.test.program.threads).map(|(at, it)| (ThreadId(at), it.place)).collect();
        let of = |same: &dyn Fn(Home) -> Option<(u32, u32, u32)>| {
            let mut groups: Vec<((u32, u32, u32), Vec<ThreadId>)> = Vec::new();
            for (thread, home) in threads.iter().filter_map(|(thread, home)| Some((*thread, same(*home)?))) {
                match groups.iter_mut().find(|(own, _)| *own == home) {
                    Some((_, members)) => members.push(thread),
                    None => groups.push((home, vec![thread])),
                }
            }
            groups.into_iter().map(|(_, members)| members).filter(|members| members.len() > 1).collect::<Vec<_>>()
        };
        let ctas = of(&|home| match home {
            Home::Gpu { gpu, cluster, cta } => Some((gpu, cluster, cta)),
            Home::Host => None,
        });
        for members in &ctas {
            self.meeting(members, &format!("bar.sync {};", self.free_barrier()), "bar.sync", found);
        }
        let clusters = of(&|home| match home {
            Home::Gpu { gpu, cluster, .. } => Some((gpu, cluster, 0)),
            Home::Host => None,
        });
        for members in clusters.iter().filter(|members| !ctas.contains(members)) {
            let text = "barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;";
            self.meeting(members, text, "barrier.cluster", found);
        }
    }

    /// A barrier that no thread uses: another one would meet with those that are there.
    fn free_barrier(&self) -> i128 {
        let bodies = self.test.litmus.threads.iter().flat_map(|thread| &thread.body);
        let used: Vec<i128> = bodies
            .filter_map(instruction)
            .filter(|it| matches!(it.opcode.node.as_str(), "bar" | "barrier"))
            .filter_map(|it| match it.operands.first().map(|operand| &operand.node) {
                Some(Operand::Integer(number)) => Some(*number),
                _ => None,
            })
            .collect();
        (0..16).find(|number| !used.contains(number)).unwrap_or(15)
    }

    /// The same text once in each of these threads, outside of loops, with as many barriers before it in each.
    fn meeting(&self, members: &[ThreadId], text: &str, row: &str, found: &mut Vec<Path>) {
        let places: Vec<Vec<Outside>> = members.iter().map(|thread| self.outside(*thread)).collect();
        let mut tuples: Vec<(usize, Vec<Outside>)> = vec![(0, Vec::new())];
        for own in &places {
            let grown = tuples.iter().flat_map(|(spread, tuple)| {
                own.iter().filter_map(move |place| {
                    let first = tuple.first().unwrap_or(place);
                    (first.0 == place.0).then(|| {
                        let mut grown = tuple.clone();
                        grown.push(*place);
                        (spread + first.1.abs_diff(place.1), grown)
                    })
                })
            });
            tuples = grown.collect();
            tuples.shared_sort_by_key(|(spread, _)| *spread);
            tuples.truncate(MOST_BARRIERS);
        }
        let cost = self.costs.of(row, "-").max(1) * members.len() as u32;
        for (_, tuple) in tuples {
            let at = tuple.into_iter().map(|(_, _, anchor)| (anchor, text.to_owned())).collect();
            found.push(Path::new(vec![(plain(Change::Insert { at }), cost)]));
        }
    }

    /// The gaps of a thread outside of loops and branches.
    fn outside(&self, thread: ThreadId) -> Vec<Outside> {
        let body = &self.test.litmus.threads[thread.index()].body;
        let is_wall = |at: &usize| match &body[*at] {
            Statement::Instruction { instruction, .. } => {
                instruction.opcode.node == "bra" && instruction.guard.is_none()
            }
            Statement::Label(_) | Statement::C(_) => false,
        };
        if (0..body.len()).any(|at| is_wall(&at)) {
            return Vec::new();
        }
        let mut places = Vec::new();
        for (number, anchor) in gaps_and_end(body, thread).into_iter().enumerate() {
            let Some(at) = position(&self.test.litmus, thread, anchor.span) else { continue };
            let before = body[..=at].iter().filter_map(instruction);
            let barriers = before.filter(|it| matches!(it.opcode.node.as_str(), "bar" | "barrier")).count();
            if self.is_open(&anchor) && !in_loop(body, at) {
                places.push((barriers, number, anchor));
            }
        }
        places
    }
}

/// Whether a branch behind a statement leads to a label before it.
fn in_loop(body: &[Statement], at: usize) -> bool {
    let goes_back = |statement: &Statement| {
        let Some(branch) = instruction(statement).filter(|it| it.opcode.node == "bra") else { return false };
        let to = branch.operands.iter().find_map(|operand| match &operand.node {
            Operand::Symbol(to) => Some(to.as_str()),
            _ => None,
        });
        body[..=at].iter().any(|it| matches!(it, Statement::Label(label) if Some(label.node.as_str()) == to))
    };
    body[at + 1..].iter().any(goes_back)
}

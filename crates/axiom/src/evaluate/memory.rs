//! Memory that an evaluator leaves to the next one of its thread.
//!
//! A small test is evaluated in less time than it takes to allocate and free what that works on. Of a large one most is zeros:
//! a thousand relations, of which a candidate has a few hundred. So only the values that were written are taken away, and
//! what was never looked at is no page of the process.

use std::cell::RefCell;

use super::Evaluator;
use super::plan::{LISTS, Step};
use super::update::Held;

/// The vectors of an evaluator, for the next one to fill. In `data` there are zeros beside what `slots` say was written.
#[derive(Debug, Default)]
pub(super) struct Memory {
    pub(super) data: Vec<u64>,
    pub(super) slots: Vec<Held>,
    pub(super) scratch: Vec<u64>,
    pub(super) fresh: Vec<u64>,
    pub(super) settled: Vec<u64>,
    pub(super) judged: Vec<(u64, bool)>,
    pub(super) varies: Vec<bool>,
    pub(super) live: [Vec<Step>; LISTS],
    pub(super) needed: Vec<bool>,
    pub(super) holding: Vec<u64>,
}

/// What is larger is given back: the memory of a process is limited.
const MOST_BYTES: usize = 1 << 26;
/// How many evaluators of a thread are at work at once: a search evaluates the flags of what it finds.
const MOST_SPARE: usize = 2;
/// So many words are zeroed sooner than it is found out which were written.
const FEW: usize = 1 << 12;

thread_local! {
    static SPARE: RefCell<Vec<Memory>> = const { RefCell::new(Vec::new()) };
}

impl Memory {
    /// What an evaluator of this thread left.
    pub(super) fn take() -> Memory {
        SPARE.with_borrow_mut(Vec::pop).unwrap_or_default()
    }
}

impl Drop for Evaluator<'_> {
    fn drop(&mut self) {
        if self.data.capacity() * size_of::<u64>() > MOST_BYTES {
            return;
        }
        let memory = Memory {
            data: std::mem::take(&mut self.data),
            slots: std::mem::take(&mut self.slots),
            scratch: std::mem::take(&mut self.scratch),
            fresh: std::mem::take(&mut self.fresh),
            settled: std::mem::take(&mut self.settled),
            judged: std::mem::take(&mut self.judged),
            varies: std::mem::take(&mut self.varies),
            live: std::mem::take(&mut self.live),
            needed: std::mem::take(&mut self.needed),
            holding: std::mem::take(&mut self.holding),
        };
        SPARE.with_borrow_mut(|spare| {
            if spare.len() < MOST_SPARE {
                spare.push(memory);
            }
        });
    }
}

/// Takes away the values that were written.
pub(super) fn clear(data: &mut Vec<u64>, slots: &[Held]) {
    if data.len() <= FEW {
        data.clear();
        return;
    }
    slots.iter().filter(|held| held.is_written()).for_each(|held| data[held.range()].fill(0));
}

/// At least so many words, of which those after the first few are zeros already and these are kept.
pub(super) fn zeros(mut data: Vec<u64>, length: usize, keep: usize) -> Vec<u64> {
    if data.len() >= length {
        return data;
    }
    if data.capacity() >= length {
        data.resize(length, 0);
        return data;
    }
    // Gigabytes of zeros that the system gives one page at a time, when they are first looked at.
    let mut longer = vec![0; length];
    longer[..keep].copy_from_slice(&data[..keep]);
    longer
}

#[cfg(test)]
mod tests {
    use fencepost_program::lower::lower;
    use fencepost_program::unfold::{UnfoldOptions, unfold};
    use fencepost_program::unfolding::Unfolding;
    use fencepost_syntax::litmus;

    use super::*;
    use crate::base::{Candidate, location_of};
    use crate::bits::Relation;
    use crate::evaluate::Evaluator;
    use crate::model::{self, BaseRelation, Model, compile};

    /// So many threads that write, fence and read at locations that they share.
    fn program(threads: usize) -> Unfolding {
        let thread = |number: usize| {
            format!(
                "P{number}@cta {}, gpu 0 {{\nst.relaxed.gpu.u32 [x{}], 1;\nfence.acq_rel.gpu;\n\
                 ld.relaxed.gpu.u32 %r0, [x{}];\natom.relaxed.gpu.add.u32 %r1, [x0], 1;\n}}\n",
                number % 3,
                number % 4,
                (number + 1) % 4
            )
        };
        let text = format!("PTX many\n{{ }}\n{}exists (x0=0)\n", (0..threads).map(thread).collect::<String>());
        let (tree, diagnostics) = litmus::parse(&text);
        let (program, _) = lower(&tree.unwrap_or_else(|| panic!("{diagnostics:?}")));
        unfold(&program.expect("it is a program"), &UnfoldOptions::default()).expect("it unfolds")
    }

    /// The values of all nodes where reads return initial values and init writes come first.
    fn values(evaluator: &mut Evaluator<'_>, unfolding: &Unfolding) -> Vec<Vec<u64>> {
        let mut candidate = Candidate::default();
        let traces: Vec<_> = unfolding.threads.iter().filter_map(|thread| thread.traces.first().copied()).collect();
        candidate.choose(unfolding, &traces);
        assert_eq!(evaluator.begin(unfolding, &candidate), None);
        let event = |local: usize| &unfolding.events[candidate.events[local].index()];
        let pairs = |is_second: &dyn Fn(usize) -> bool| {
            let from = (0..candidate.inits())
                .flat_map(|init| (candidate.inits()..candidate.events.len()).map(move |to| (init, to)));
            let same = from.filter(|(init, to)| is_second(*to) && location_of(event(*init)) == location_of(event(*to)));
            Relation::from_pairs(candidate.shape, same)
        };
        evaluator.set(BaseRelation::Rf, pairs(&|to| event(to).is_read()).bits());
        evaluator.set(BaseRelation::Co, pairs(&|to| event(to).is_write()).bits());
        evaluator.recompute();
        evaluator.slots.iter().map(|held| evaluator.data[held.range()].to_vec()).collect()
    }

    fn fresh(model: &Model, unfolding: &Unfolding) -> Vec<Vec<u64>> {
        let of_own_thread =
            || std::thread::scope(|scope| scope.spawn(|| values(&mut Evaluator::new(model), unfolding)).join());
        of_own_thread().expect("it ends")
    }

    #[test]
    fn what_another_candidate_left_is_not_read() {
        let text = model::shipped("ptx").expect("it is shipped");
        let model = compile::compile_text("ptx", text).model.expect("it compiles");
        let programs = [24, 14, 3, 24, 20].map(program);
        let mut evaluator = Evaluator::new(&model);
        for unfolding in &programs {
            assert!(values(&mut evaluator, unfolding) == fresh(&model, unfolding), "of one evaluator");
        }
        assert!(evaluator.data.len() > FEW, "{} words", evaluator.data.len());
        drop(evaluator);
        for unfolding in &programs {
            assert!(values(&mut Evaluator::new(&model), unfolding) == fresh(&model, unfolding), "of the one before");
        }
    }
}

//! Whether anything but accesses depends on where the variables of shared memory lie, which the ISA leaves open (5.1.7).
//!
//! Of each register it is kept how often the start of shared memory is in it: an address has it once, the distance of two
//! addresses not at all. In whatever order instructions are executed: a register that holds both is one of which nothing is known.

use super::results;
use crate::code::op::{Compare, Function, Op, Source, Space};
use crate::code::{Entry, Instruction};

/// How often the start of shared memory was added up.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Start {
    /// Nothing was written yet.
    Nothing,
    Times(i32),
    Any,
}

use Start::{Any, Nothing, Times};

impl Start {
    fn join(self, other: Start) -> Start {
        match (self, other) {
            (Nothing, own) | (own, Nothing) => own,
            (a, b) if a == b => a,
            _ => Any,
        }
    }

    fn with(self, other: Start, function: fn(i32, i32) -> i32) -> Start {
        match (self, other) {
            (Nothing, _) | (_, Nothing) => Nothing,
            (Times(a), Times(b)) if a.abs() < 64 && b.abs() < 64 => Times(function(a, b)),
            _ => Any,
        }
    }

    fn matters(self) -> bool {
        !matches!(self, Nothing | Times(0))
    }
}

/// Whether a branch, a guard or an address outside shared memory depends on it.
pub(crate) fn placement_decides(entry: &Entry) -> bool {
    let starts = starts(entry);
    let of = |source: Source| start_of(&starts, source);
    entry.code.iter().any(|own| {
        let guard = own.guard_source().is_some_and(|source| of(source).matters());
        let operand = match &own.op {
            Op::BranchIndexed { index, .. } => of(*index).matters(),
            Op::Load(access, _) | Op::Store(access, _) | Op::Atomic { access, .. } => {
                access.place.space == Space::Global && of(access.place.base).matters()
            }
            _ => false,
        };
        guard || operand
    })
}

fn start_of(starts: &[Start], source: Source) -> Start {
    match source {
        Source::Register(register) => starts[register as usize],
        Source::Constant(_) => Times(0),
        Source::Shared(_) => Times(1),
    }
}

fn starts(entry: &Entry) -> Vec<Start> {
    let mut starts = vec![Nothing; entry.registers as usize];
    starts.iter_mut().take(crate::code::SPECIALS.len()).for_each(|start| *start = Times(0));
    // What was stored where calls have their operands, and lanes their own memory.
    let mut stored = Nothing;
    loop {
        let mut changed = false;
        for own in entry.code.iter() {
            let is_own = |space: Space| matches!(space, Space::Local | Space::Param);
            if let Op::Store(access, from) = &own.op
                && is_own(access.place.space)
            {
                let joined = from.iter().fold(stored, |all, source| all.join(start_of(&starts, *source)));
                changed |= std::mem::replace(&mut stored, joined) != joined;
            }
            let mut start = computed(&starts, own);
            if let Op::Load(access, _) = &own.op {
                start = if is_own(access.place.space) { Times(0).join(stored) } else { Times(0) };
            }
            for register in results(&own.op).1 {
                let place = &mut starts[register as usize];
                let joined = place.join(start);
                changed |= std::mem::replace(place, joined) != joined;
            }
        }
        if !changed {
            return starts;
        }
    }
}

/// What an instruction's results have of it.
fn computed(starts: &[Start], own: &Instruction) -> Start {
    let of = |source: Source| start_of(starts, source);
    let unless_any_matters = |sources: &[Source]| {
        if sources.iter().any(|source| of(*source).matters()) { Any } else { Times(0) }
    };
    match &own.op {
        Op::Compute { function, from: [a, b, c], .. } => match function {
            Function::Move => of(*a),
            Function::Add => of(*a).with(of(*b), |a, b| a + b),
            Function::Subtract => of(*a).with(of(*b), |a, b| a - b),
            Function::MultiplyAddLow | Function::MultiplyAddWide if unless_any_matters(&[*a, *b]) != Any => of(*c),
            Function::Select if !of(*c).matters() => of(*a).join(of(*b)),
            _ => unless_any_matters(&[*a, *b, *c]),
        },
        Op::SetPredicate { compare, left, right, with, .. } => {
            let distance = of(*left).with(of(*right), |a, b| a - b);
            let of_numbers = !matches!(compare, Compare::Unordered(_) | Compare::Number | Compare::NotANumber);
            match distance.matters() || of(*with).matters() || (!of_numbers && of(*left).matters()) {
                true => Any,
                false => Times(0),
            }
        }
        Op::Convert { from, .. } | Op::ToGeneric { from, .. } | Op::FromGeneric { from, .. } => of(*from),
        Op::MapAddress { from, .. } | Op::Shuffle { from, .. } => of(*from),
        // Whose address is the same as another lane's does not depend on where both lie.
        Op::Match { from, .. } if of(*from) != Any => Times(0),
        Op::IsSpace { .. } | Op::CtaRank { .. } => Times(0),
        _ => {
            // What lies in memory has nothing of the address.
            let (from_memory, written) = results(&own.op);
            if from_memory {
                return Times(0);
            }
            let read = own.registers.iter().map(|register| Source::Register(*register));
            let read: Vec<Source> =
                read.filter(|source| !matches!(source, Source::Register(own) if written.contains(own))).collect();
            unless_any_matters(&read)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decides(body: &str) -> bool {
        let text = format!(
            ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry e(.param .u64 a)\n{{\n.reg .pred %p<3>;\n\
             .reg .b32 %r<8>;\n.reg .b64 %rd<4>;\n.shared .align 16 .b8 s[64];\n.shared .align 16 .b8 t[64];\n{body}\nEND:\nret;\n}}\n"
        );
        let (tree, errors) = fencepost_syntax::ptx::parse(&text);
        assert!(errors.is_empty(), "{errors:?}\n{text}");
        let (module, errors) = crate::code::decode(&tree);
        assert!(errors.is_empty(), "{errors:?}\n{text}");
        placement_decides(&module.entries[0])
    }

    #[test]
    fn a_branch_on_an_address_depends_on_the_placement() {
        for way in [
            "mov.u32 %r1, s;",
            "mov.u32 %r1, s;\nadd.u32 %r1, %r1, 4;",
            "mov.u32 %r2, s;\nand.b32 %r1, %r2, 1024;",
            "mov.u32 %r2, s;\ncvt.u64.u32 %rd1, %r2;\ncvta.shared.u64 %rd2, %rd1;\ncvt.u32.u64 %r1, %rd2;",
        ] {
            assert!(decides(&format!("{way}\nsetp.eq.u32 %p1, %r1, 1024;\n@%p1 bra END;")), "{way}");
        }
    }

    #[test]
    fn a_branch_on_a_distance_does_not() {
        for way in [
            "mov.u32 %r1, s;\nadd.u32 %r2, %r1, 64;\nL:\nadd.u32 %r1, %r1, 4;\nsetp.ne.u32 %p1, %r1, %r2;\n@%p1 bra L;",
            "mov.u32 %r1, s;\nmov.u32 %r2, t;\nsub.u32 %r3, %r2, %r1;\nst.shared.u32 [%r1], %r3;",
            "mov.u32 %r4, %tid.x;\nmov.u32 %r1, s;\nmad.lo.u32 %r2, %r4, 4, %r1;\nld.shared.u32 %r3, [%r2];\n\
             setp.eq.u32 %p1, %r3, 0;\n@%p1 bra END;",
        ] {
            assert!(!decides(way), "{way}");
        }
    }
}

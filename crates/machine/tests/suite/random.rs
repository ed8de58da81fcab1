//! Random straight-line programs from a seed, and making a failing one smaller.

use fencepost_machine::requests::{Architecture, Instruction, Semantics, Straight};
use fencepost_program::program::{Place, Scope};

/// SplitMix64: small, and the same everywhere.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}

/// What random programs are made of.
pub(crate) struct Ingredients<'a> {
    pub(crate) seats: &'a [(Architecture, Place)],
    pub(crate) threads: u64,
    pub(crate) locations: u64,
    /// At most so many instructions in all.
    pub(crate) instructions: u64,
    /// Out of ten, how many are read-modify-writes.
    pub(crate) atomics: u64,
    pub(crate) scopes: &'a [Scope],
}

pub(crate) fn program(random: &mut Random, of: &Ingredients<'_>) -> Straight {
    let locations = ["x", "y", "z"][..of.locations as usize].iter().map(|name| ((*name).to_owned(), 0)).collect();
    let count = 2 + random.below(of.threads - 1);
    let mut threads = Vec::new();
    let mut left = of.instructions;
    let mut value = 0;
    for thread in 0..count {
        let (architecture, place) = random.pick(of.seats);
        let most = (left - (count - thread - 1)).clamp(1, 4);
        let length = 1 + random.below(most);
        left -= length;
        let mut code = Vec::new();
        for at in 0..length {
            value += 1;
            code.push(instruction(random, of, architecture, (at, value)));
        }
        threads.push((architecture, place, code));
    }
    Straight { locations, threads }
}

fn instruction(random: &mut Random, of: &Ingredients<'_>, arch: Architecture, (at, value): (u64, i128)) -> Instruction {
    let location = random.below(of.locations) as u32;
    let is_gpu = matches!(arch, Architecture::Ptx | Architecture::Xc);
    let scope = if is_gpu { random.pick(of.scopes) } else { Scope::Sys };
    let relaxed = Semantics::Relaxed;
    let (read, write, fence) = match arch {
        Architecture::Ptx => (
            random.pick(&[relaxed, Semantics::Acquire, Semantics::Weak]),
            random.pick(&[relaxed, Semantics::Release, Semantics::Weak]),
            random.pick(&[Semantics::Acquire, Semantics::Release, Semantics::AcqRel, Semantics::Sc]),
        ),
        _ => (relaxed, relaxed, Semantics::Sc),
    };
    if random.below(10) < of.atomics {
        return match random.below(2) {
            0 => Instruction::FetchAdd { location, add: 100 * value, semantics: relaxed, scope },
            _ => Instruction::Exchange { location, value, semantics: relaxed, scope },
        };
    }
    match random.below(10) {
        0..=3 => Instruction::Read { location, semantics: read, scope },
        4 if at > 0 => {
            let from = random.below(at) as u32;
            Instruction::WriteRead { location, from, add: 10 * value, semantics: write, scope }
        }
        4..=8 => Instruction::Write { location, value, semantics: write, scope },
        _ => Instruction::Fence { semantics: fence, scope },
    }
}

/// The smallest program that still fails, by removing instructions and threads.
pub(crate) fn shrink(mut program: Straight, fails: impl Fn(&Straight) -> bool) -> Straight {
    loop {
        let mut candidates = Vec::new();
        for thread in 0..program.threads.len() {
            if program.threads.len() > 1 {
                let mut smaller = program.clone();
                smaller.threads.remove(thread);
                candidates.push(smaller);
            }
            for at in 0..program.threads[thread].2.len() {
                let mut smaller = program.clone();
                smaller.threads[thread].2.remove(at);
                candidates.push(smaller);
            }
        }
        match candidates.into_iter().find(|candidate| fails(candidate)) {
            Some(smaller) => program = smaller,
            None => return program,
        }
    }
}

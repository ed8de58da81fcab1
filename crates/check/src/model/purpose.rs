//! Which programs a model is for where nobody chose one: the words of its `// default-for:` line. Of the shipped models each
//! word is in the header of one.

use fencepost_machine::requests::Architecture;
use fencepost_program::program::Feature;
use fencepost_syntax::litmus::{Arch, Declaration, Dialect};

use crate::test::Test;

#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Purpose {
    /// Programs of PTX that need nothing newer than proxies.
    Ptx,
    /// Those that do, and those that say they are written for a version with clusters (7.8) or a newer one.
    PtxSinceClusters,
    /// Those with memory that survives a crash.
    Persistent,
    X86,
    C,
    /// Threads of several architectures.
    Mixed,
    /// Programs that are written for a machine which runs one instruction after the other.
    Interleaving,
}

impl Purpose {
    pub const WORDS: [(&'static str, Purpose); 7] = [
        ("ptx", Purpose::Ptx),
        ("ptx-since-clusters", Purpose::PtxSinceClusters),
        ("ptx-with-persistent-memory", Purpose::Persistent),
        ("x86", Purpose::X86),
        ("c", Purpose::C),
        ("mixed", Purpose::Mixed),
        ("interleaving", Purpose::Interleaving),
    ];

    pub fn from_word(word: &str) -> Option<Purpose> {
        Purpose::WORDS.into_iter().find(|(known, _)| *known == word).map(|(_, purpose)| purpose)
    }

    /// What a test needs.
    pub fn of(test: &Test) -> Purpose {
        let program = &test.program;
        if test.architecture == Some(Architecture::Sc) {
            return Purpose::Interleaving;
        }
        if program.features.iter().any(|feature| feature.node == Feature::Mixed) {
            return Purpose::Mixed;
        }
        if program.features.iter().any(|feature| feature.node == Feature::Persistence) {
            return Purpose::Persistent;
        }
        match program.arch {
            Arch::Ptx if is_newer(test) => Purpose::PtxSinceClusters,
            Arch::Ptx => Purpose::Ptx,
            Arch::X86 | Arch::X86_64 => Purpose::X86,
            Arch::C => Purpose::C,
        }
    }
}

fn is_newer(test: &Test) -> bool {
    let needs_newer = test.program.features.iter().any(|feature| feature.node != Feature::Proxy);
    // A version, or memory declared as kernels do: who writes so asks about today's PTX.
    let says_newer = test.litmus.declarations.iter().any(|declaration| match &declaration.node {
        Declaration::Version { major, minor } => (*major, *minor) >= (7, 8),
        Declaration::Location { space, .. } => space.is_some() && test.litmus.dialect == Dialect::Ptx,
        _ => false,
    });
    needs_newer || says_newer
}

//! Which programs a model is about: those of an architecture or a language, or those with threads of several.

use fencepost_syntax::litmus::Arch;

/// What a model is about; a model without one is about any program.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Family {
    Ptx,
    X86,
    C,
    /// Programs that have threads of several architectures, and those of each.
    Compound,
    /// An architecture or language whose programs are not read here.
    Other,
}

/// Of the `// features:` line of a model about threads of several architectures.
pub(crate) const MIXED: &str = "mixed";

impl Family {
    pub(crate) fn of(arch: Arch) -> Family {
        match arch {
            Arch::Ptx => Family::Ptx,
            Arch::X86 | Arch::X86_64 => Family::X86,
            Arch::C => Family::C,
        }
    }

    /// Of a model with these words in its `// features:` lines, this first word and this name. What the text says comes before
    /// what the file is called; the folder says nothing.
    pub(crate) fn of_model<'f>(
        mut features: impl Iterator<Item = &'f str>,
        first: Option<&str>,
        name: &str,
    ) -> Option<Family> {
        if features.any(|feature| feature == MIXED) {
            return Some(Family::Compound);
        }
        let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
        first.and_then(Family::from_word).or_else(|| Family::from_word(file))
    }

    /// From the name of an architecture or a language, as the first word of a cat file or of its name has it.
    fn from_word(text: &str) -> Option<Family> {
        const OTHERS: &[&str] = &[
            "AARCH64", "ARM", "ARMV8", "BPF", "JAVA", "LISA", "MIPS", "OPENCL", "POWER", "PPC", "RISCV", "SPIRV",
            "VULKAN",
        ];
        let text = text.to_ascii_uppercase();
        match text.split_whitespace().next()? {
            word if word.starts_with("PTX") => Some(Family::Ptx),
            word if word.starts_with("X86") => Some(Family::X86),
            "C" | "C11" => Some(Family::C),
            word if word.starts_with("RC11") => Some(Family::C),
            word if OTHERS.contains(&word) => Some(Family::Other),
            _ => None,
        }
    }
}

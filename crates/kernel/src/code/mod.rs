//! A PTX module, decoded: entries with their parameters and shared memory, and one list of instructions each.
//!
//! The tree of `syntax` keeps directives as text; here their meaning is read. An instruction that has no model here is
//! decoded to [`Op::Unmodelled`] with its text, so that an answer can say what was not understood.

mod decode;
mod directives;
mod flatten;
pub mod op;
mod operands;
pub mod ty;

use std::collections::HashSet;
use std::rc::Rc;

use fencepost_syntax::ptx::{FunctionKind, Item};
use fencepost_syntax::sorted::SortedMap;
use fencepost_syntax::{Diagnostic, Span};

use flatten::{Function, Functions};
use op::{Aligned, Op, Pc, Register, Source};
use ty::Ty;

pub use directives::Variable;

/// A module and its entries.
#[derive(Clone, Debug)]
pub struct Module {
    /// `.version` times ten: 94 for 9.4.
    pub version: u32,
    pub target: String,
    pub files: SortedMap<u32, String>,
    pub variables: Vec<Variable>,
    pub entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
pub struct Entry {
    pub name: String,
    pub span: Span,
    pub parameters: Vec<Parameter>,
    pub required_threads: Option<[u32; 3]>,
    pub most_threads: Option<[u32; 3]>,
    pub cluster: Option<[u32; 3]>,
    /// `.shared` and `.local` variables that the entry names, laid out.
    pub shared: Vec<(String, u32, u32)>,
    /// Where dynamic shared memory starts.
    pub dynamic_shared: u32,
    pub uses_dynamic_shared: bool,
    pub local_bytes: u32,
    pub registers: u32,
    pub code: Rc<[Instruction]>,
    /// Places in `code` where two ways meet: targets of branches.
    pub targets: Rc<[bool]>,
    /// For a branch over nothing but computation: where its two ways meet, and the registers that are written before.
    pub skips: Rc<[Option<Skip>]>,
    /// Names of registers, for messages.
    pub register_names: Vec<(String, Ty)>,
}

#[derive(Clone, Debug)]
pub struct Parameter {
    pub name: String,
    pub offset: u32,
    pub bytes: u32,
    pub align: u32,
    pub ty: Ty,
    pub is_pointer: bool,
    pub is_array: bool,
}

/// Where two ways meet that only compute, and what they write.
#[derive(Clone, Debug)]
pub struct Skip {
    pub meet: Pc,
    pub written: Rc<[Register]>,
}

#[derive(Clone, Debug)]
pub struct Instruction {
    pub op: Op,
    pub guard: Option<Guard>,
    pub span: Span,
    pub location: Option<Location>,
    /// Every register that it names.
    pub registers: Rc<[Register]>,
    /// All lanes of a warp execute it together.
    pub aligned: Option<Aligned>,
}

#[derive(Copy, Clone, Debug)]
pub struct Guard {
    pub register: Register,
    pub negated: bool,
}

/// `.loc`: a line of the source that the compiler was given.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Location {
    pub file: u32,
    pub line: u32,
    /// Of an inlined function, the line that calls it, and is not inlined itself.
    pub called: Option<u32>,
}

/// The first bytes of shared memory belong to the system from sm_90 on; no variable is at address 0.
pub const SHARED_START: u32 = 1024;
/// Where module variables in global and constant memory lie, as generic addresses.
pub const VARIABLES: u64 = 0x0000_7e00_0000_0000;

/// The instructions from here on, while they only compute: each with how many registers were written before it; and those
/// registers.
pub fn places_of_computation(code: &[Instruction], start: Pc) -> (Vec<(Pc, usize)>, Vec<Register>) {
    const LONGEST: usize = 64;
    let (mut places, mut written, mut at) = (Vec::new(), Vec::new(), start);
    while places.len() < LONGEST {
        places.push((at, written.len()));
        let Some(instruction) = code.get(at as usize) else { break };
        match (&instruction.op, instruction.op.computed()) {
            (Op::Branch { to }, _) if instruction.guard.is_none() => at = *to,
            (_, Some(registers)) => {
                written.extend(registers);
                at += 1;
            }
            _ => break,
        }
    }
    (places, written)
}

/// Registers that are set at the start of a thread and never change.
pub const SPECIALS: &[&str] = &[
    "%tid.x",
    "%tid.y",
    "%tid.z",
    "%ntid.x",
    "%ntid.y",
    "%ntid.z",
    "%ctaid.x",
    "%ctaid.y",
    "%ctaid.z",
    "%nctaid.x",
    "%nctaid.y",
    "%nctaid.z",
    "%laneid",
    "%warpid",
    "%nwarpid",
    "%clusterid.x",
    "%clusterid.y",
    "%clusterid.z",
    "%nclusterid.x",
    "%nclusterid.y",
    "%nclusterid.z",
    "%cluster_ctaid.x",
    "%cluster_ctaid.y",
    "%cluster_ctaid.z",
    "%cluster_nctaid.x",
    "%cluster_nctaid.y",
    "%cluster_nctaid.z",
    "%cluster_ctarank",
    "%cluster_nctarank",
    "%lanemask_eq",
    "%lanemask_lt",
    "%lanemask_le",
    "%lanemask_gt",
    "%lanemask_ge",
    "%dynamic_smem_size",
    "%total_smem_size",
    "%is_explicit_cluster",
    "%gridid",
    "%smid",
    "%nsmid",
    "%envreg1",
    "%envreg2",
    "WARP_SZ",
    "%reserved_smem_offset_begin",
    "%reserved_smem_offset_end",
];

/// Decodes the tree of a module. The diagnostics are about directives that cannot be read.
pub fn decode(tree: &fencepost_syntax::ptx::Module) -> (Module, Vec<Diagnostic>) {
    let mut diagnostics = Vec::new();
    let mut module = Module {
        version: 0,
        target: String::new(),
        files: SortedMap::new(),
        variables: Vec::new(),
        entries: Vec::new(),
    };
    let mut defined = HashSet::new();
    for item in &tree.items {
        if let Item::Directive { name, text } = &item.node {
            directives::of_module(&mut module, (name, text, item.span), &mut defined, &mut diagnostics);
        }
    }
    twice(tree, &mut diagnostics);
    directives::lay_out(&mut module.variables);
    let mut functions = Functions::new();
    for item in &tree.items {
        if let Item::Function { kind: FunctionKind::Function, name, header, body } = &item.node {
            functions.insert(&name.node, Function { header, body });
        }
    }
    for item in &tree.items {
        if let Item::Function { kind: FunctionKind::Entry, name, header, body } = &item.node {
            match decode::entry(&module, &functions, name, header, body) {
                Ok(entry) => module.entries.push(entry),
                Err(diagnostic) => diagnostics.push(*diagnostic),
            }
        }
    }
    (module, diagnostics)
}

/// Entries of one name: a launch could mean either.
fn twice(tree: &fencepost_syntax::ptx::Module, diagnostics: &mut Vec<Diagnostic>) {
    let mut names = HashSet::new();
    for item in &tree.items {
        if let Item::Function { kind: FunctionKind::Entry, name, body, .. } = &item.node
            && !body.is_empty()
            && !names.insert(name.node.as_str())
        {
            diagnostics.push(Diagnostic::error(name.span, format!("a second entry `{}`", name.node)));
        }
    }
}

impl Entry {
    /// Where its instructions without a model stand.
    pub fn unmodelled(&self) -> impl Iterator<Item = Span> {
        self.code.iter().filter(|it| matches!(it.op, Op::Unmodelled { .. })).map(|it| it.span)
    }
}

impl Instruction {
    /// Every register that the guard reads.
    pub fn guard_source(&self) -> Option<Source> {
        self.guard.map(|guard| Source::Register(guard.register))
    }
}

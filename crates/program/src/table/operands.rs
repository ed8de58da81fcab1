//! Which operands instructions take, for messages: an operand in brackets where a value belongs, or a value where an
//! address does, is a mistake in the text, mostly operands in another order.
//!
//! Only the operands that every use of a form has are listed. What follows them is looked at by the form's own code.

use fencepost_syntax::instruction::{Instruction, Operand};
use fencepost_syntax::{Diagnostic, Spanned};

use crate::table::modifier::spelled;

/// An instruction with its first operands, as the ISA writes them: `[addr]` is in brackets, `[map, coordinates]` too and has
/// coordinates, `d` is neither.
struct Signature {
    /// The opcode and modifiers that it has, in any order.
    words: &'static [&'static str],
    operands: &'static [&'static str],
}

const COPY: &[&str] = &["[destination]", "[source]", "size", "[mbarrier]"];
const COPY_IN_GROUP: &[&str] = &["[destination]", "[source]", "size"];
const FROM_TENSOR: &[&str] = &["[destination]", "[map, coordinates]", "[mbarrier]"];
const TO_TENSOR: &[&str] = &["[map, coordinates]", "[source]"];
const WAIT: &[&str] = &["p", "[mbarrier]", "phase"];
const TX: &str = "mbarrier::complete_tx::bytes";

/// Those with more words come first: the first that fits is the one.
const SIGNATURES: &[Signature] = &[
    Signature { words: &["cp", "async", "bulk", "prefetch", "tensor"], operands: &["[map, coordinates]"] },
    Signature { words: &["cp", "async", "bulk", "prefetch"], operands: &["[source]", "size"] },
    Signature { words: &["cp", "reduce", "async", "bulk", "tensor"], operands: TO_TENSOR },
    Signature { words: &["cp", "async", "bulk", "tensor", TX], operands: FROM_TENSOR },
    Signature { words: &["cp", "async", "bulk", "tensor"], operands: TO_TENSOR },
    Signature { words: &["cp", "async", "bulk", TX], operands: COPY },
    Signature { words: &["cp", "reduce", "async", "bulk", TX], operands: COPY },
    Signature { words: &["cp", "async", "bulk", "bulk_group"], operands: COPY_IN_GROUP },
    Signature { words: &["cp", "reduce", "async", "bulk", "bulk_group"], operands: COPY_IN_GROUP },
    Signature { words: &["cp", "async", "mbarrier", "arrive"], operands: &["[mbarrier]"] },
    Signature { words: &["cp", "async", "ca"], operands: COPY_IN_GROUP },
    Signature { words: &["cp", "async", "cg"], operands: COPY_IN_GROUP },
    Signature { words: &["mbarrier", "init"], operands: &["[mbarrier]", "count"] },
    Signature { words: &["mbarrier", "inval"], operands: &["[mbarrier]"] },
    Signature { words: &["mbarrier", "arrive", "expect_tx"], operands: &["state", "[mbarrier]", "bytes"] },
    Signature { words: &["mbarrier", "arrive"], operands: &["state", "[mbarrier]"] },
    Signature { words: &["mbarrier", "arrive_drop"], operands: &["state", "[mbarrier]"] },
    Signature { words: &["mbarrier", "expect_tx"], operands: &["[mbarrier]", "bytes"] },
    Signature { words: &["mbarrier", "complete_tx"], operands: &["[mbarrier]", "bytes"] },
    Signature { words: &["mbarrier", "test_wait"], operands: WAIT },
    Signature { words: &["mbarrier", "try_wait"], operands: WAIT },
    Signature { words: &["mbarrier", "pending_count"], operands: &["count", "state"] },
    Signature { words: &["st", "async"], operands: &["[destination]", "value"] },
    Signature { words: &["red", "async"], operands: &["[destination]", "value"] },
    Signature { words: &["st", "bulk"], operands: &["[destination]", "size"] },
    Signature { words: &["multimem", "ld_reduce"], operands: &["d", "[a]"] },
    Signature { words: &["multimem", "st"], operands: &["[a]", "value"] },
    Signature { words: &["multimem", "red"], operands: &["[a]", "value"] },
    Signature { words: &["clusterlaunchcontrol", "try_cancel"], operands: &["[response]", "[mbarrier]"] },
    Signature { words: &["tcgen05", "alloc"], operands: &["[destination]", "columns"] },
    Signature { words: &["tcgen05", "dealloc"], operands: &["address", "columns"] },
    Signature { words: &["tcgen05", "commit"], operands: &["[mbarrier]"] },
    Signature { words: &["tcgen05", "ld"], operands: &["registers", "[address]"] },
    Signature { words: &["tcgen05", "st"], operands: &["[address]", "registers"] },
    Signature { words: &["ldmatrix"], operands: &["registers", "[address]"] },
    Signature { words: &["stmatrix"], operands: &["[address]", "registers"] },
    Signature { words: &["mapa"], operands: &["d", "address", "rank"] },
    Signature { words: &["getctarank"], operands: &["d", "address"] },
    Signature { words: &["isspacep"], operands: &["p", "address"] },
    Signature { words: &["mov"], operands: &["d", "a"] },
    Signature { words: &["cvta"], operands: &["d", "a"] },
    Signature { words: &["ld"], operands: &["d", "[a]"] },
    Signature { words: &["ldu"], operands: &["d", "[a]"] },
    Signature { words: &["st"], operands: &["[a]", "b"] },
    Signature { words: &["atom", "cas"], operands: &["d", "[a]", "b", "c"] },
    Signature { words: &["atom"], operands: &["d", "[a]", "b"] },
    Signature { words: &["red"], operands: &["[a]", "b"] },
];

/// What is wrong with the first operand that stands where another kind belongs.
pub(crate) fn misplaced(tree: &Instruction) -> Option<Diagnostic> {
    let signature = SIGNATURES.iter().find(|signature| {
        let words = |word: &&str| *word == tree.opcode.node || tree.modifiers.iter().any(|own| own.node == **word);
        signature.words.first() == Some(&tree.opcode.node.as_str()) && signature.words.iter().all(words)
    })?;
    let wanted = match (signature.operands, tree.operands.first()) {
        // The state of an arrive may be left out.
        (["state", rest @ ..], Some(first)) if matches!(first.node, Operand::Address(_)) => rest,
        (wanted, _) => wanted,
    };
    let (operand, wanted) = tree.operands.iter().zip(wanted).find(|(operand, wanted)| !fits(operand, wanted))?;
    let belongs = match *wanted {
        wanted if has_coordinates(wanted) => "the address of a tensor map with coordinates belongs",
        wanted if wanted.starts_with('[') => "an address belongs",
        _ => "a value belongs",
    };
    let found = match &operand.node {
        Operand::Address(address) if address.rest.is_empty() => "an address",
        Operand::Address(_) => "an address with coordinates",
        Operand::Register(_) | Operand::Symbol(_) | Operand::Offset(..) => "an operand without brackets",
        Operand::Vector(_) => "a vector",
        _ => "a value",
    };
    let message = format!("{} has {found} where {belongs}", spelled(tree));
    let help = format!("its operands are `{}`, in this order", signature.operands.join(", "));
    Some(Diagnostic::error(operand.span, message).label("operands in another order?").help(help))
}

fn has_coordinates(wanted: &str) -> bool {
    wanted.contains(',')
}

/// A name or register without brackets may be an address: the other dialects write it so.
fn fits(operand: &Spanned<Operand>, wanted: &str) -> bool {
    match &operand.node {
        Operand::Address(address) => wanted.starts_with('[') && (address.rest.is_empty() || has_coordinates(wanted)),
        Operand::Integer(_) | Operand::Float(_) | Operand::Vector(_) => !wanted.starts_with('['),
        _ => true,
    }
}

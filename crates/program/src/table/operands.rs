//! Which operands instructions take, for messages: an operand in brackets where a value belongs, or a value where an
//! address does, is a mistake in the text, mostly operands in another order.
//!
//! `{count}` may be left out. What else a form takes is looked at by its own code.

use fencepost_syntax::instruction::{Instruction, Operand};
use fencepost_syntax::{Diagnostic, Spanned};

use crate::lower::findings::Refusal;
use crate::table::modifier::spelled;

/// An instruction with its operands, as the ISA writes them: `[addr]` is in brackets, `[map, coordinates]` too and has
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
const ARRIVE: &[&str] = &["state", "[mbarrier]", "{count}"];
const QUIET: &[&str] = &["state", "[mbarrier]", "count"];
const ARRIVE_BYTES: &[&str] = &["state", "[mbarrier]", "bytes"];
const TEST: &[&str] = &["p", "[mbarrier]", "phase"];
const TRY: &[&str] = &["p", "[mbarrier]", "phase", "{time limit}"];
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
    Signature { words: &["mbarrier", "arrive", "expect_tx"], operands: ARRIVE_BYTES },
    Signature { words: &["mbarrier", "arrive", "noComplete"], operands: QUIET },
    Signature { words: &["mbarrier", "arrive"], operands: ARRIVE },
    Signature { words: &["mbarrier", "arrive_drop", "expect_tx"], operands: ARRIVE_BYTES },
    Signature { words: &["mbarrier", "arrive_drop", "noComplete"], operands: QUIET },
    Signature { words: &["mbarrier", "arrive_drop"], operands: ARRIVE },
    Signature { words: &["mbarrier", "expect_tx"], operands: &["[mbarrier]", "bytes"] },
    Signature { words: &["mbarrier", "complete_tx"], operands: &["[mbarrier]", "bytes"] },
    Signature { words: &["mbarrier", "test_wait"], operands: TEST },
    Signature { words: &["mbarrier", "try_wait"], operands: TRY },
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

/// Instructions on registers, and on nothing else: an address among their operands is no matter of order.
const VALUES: &[(&[&str], &[&str])] = &[
    (&["setp"], &["p", "a", "b"]),
    (&["selp"], &["d", "a", "b", "p"]),
    (&["add", "sub", "mul", "mul24", "div", "rem", "and", "or", "xor", "shl", "shr", "min", "max"], &["d", "a", "b"]),
    (&["mad", "mad24", "fma", "sad", "prmt", "shf"], &["d", "a", "b", "c"]),
    (&["not", "neg", "abs", "cnot", "cvt", "popc", "clz", "brev", "bfind"], &["d", "a"]),
    (&["bfe"], &["d", "a", "position", "length"]),
    (&["bfi"], &["d", "a", "b", "position", "length"]),
    (&["lop3"], &["d", "a", "b", "c", "table"]),
    (&["bra"], &["label"]),
];

/// What [`miscounted`] looks at.
pub(crate) const WRONG_NUMBER: &str = "wrong number of operands";

pub(crate) fn wrong_number(tree: &Instruction, message: String) -> Refusal {
    Refusal::Error(Diagnostic::error(tree.span(), message).label(WRONG_NUMBER))
}

fn signature(words: &[&str]) -> Option<&'static Signature> {
    let fits = |signature: &&Signature| {
        signature.words.first() == words.first() && signature.words.iter().all(|word| words.contains(word))
    };
    SIGNATURES.iter().find(fits)
}

fn words(tree: &Instruction) -> Vec<&str> {
    std::iter::once(tree.opcode.node.as_str()).chain(tree.modifiers.iter().map(|word| word.node.as_str())).collect()
}

/// What an instruction with these words takes: `state, [mbarrier]{, count}`.
fn list(words: &[&str]) -> Option<String> {
    let of_values = || {
        let (_, operands) =
            VALUES.iter().find(|(opcodes, _)| words.first().is_some_and(|own| opcodes.contains(own)))?;
        Some(*operands)
    };
    let operands = signature(words).map(|signature| signature.operands).or_else(of_values)?;
    let has = |known: fn(&str) -> bool| words.iter().any(|word| known(word));
    let more = [
        (words[0] == "setp" && has(|word| matches!(word, "and" | "or" | "xor")), "c"),
        (has(|word| word.starts_with("multicast::cluster")), "mask"),
        (has(|word| word == "L2::cache_hint"), "cache policy"),
    ];
    let mut text = String::new();
    for operand in operands.iter().copied().chain(more.into_iter().filter(|(is_there, _)| *is_there).map(|(_, it)| it))
    {
        text += &match operand.strip_prefix('{') {
            Some(optional) => format!("{{, {optional}"),
            None if text.is_empty() => operand.to_owned(),
            None => format!(", {operand}"),
        };
    }
    Some(text)
}

/// The operands that an instruction takes, for help: of `cp.async.bulk.global.shared::cta.bulk_group` and its like.
pub(crate) fn usage(spelling: &str) -> Option<String> {
    let list = list(&spelling.split('.').collect::<Vec<_>>())?;
    Some(format!("its operands are `{list}`, in this order"))
}

/// An instruction with a wrong number of operands, which may be as many as it takes in another order.
pub(crate) fn miscounted(tree: &Instruction, error: Diagnostic) -> Diagnostic {
    let words = words(tree);
    let in_order = signature(&words).and_then(|signature| {
        let least = signature.operands.iter().filter(|operand| !is_optional(operand)).count();
        let is_enough = (least..=signature.operands.len()).contains(&tree.operands.len());
        if is_enough { in_another_order(tree, &words, signature.operands) } else { None }
    });
    in_order.unwrap_or_else(|| match list(&words) {
        Some(list) => error.help(format!("its operands are `{list}`, in this order")),
        None => error,
    })
}

/// What is wrong with the first operand that stands where another kind belongs.
pub(crate) fn misplaced(tree: &Instruction) -> Option<Diagnostic> {
    let words = words(tree);
    let wanted = match (signature(&words)?.operands, tree.operands.first()) {
        // The state of an arrive may be left out.
        (["state", rest @ ..], Some(first)) if matches!(first.node, Operand::Address(_)) => rest,
        (wanted, _) => wanted,
    };
    in_another_order(tree, &words, wanted)
}

fn in_another_order(tree: &Instruction, words: &[&str], wanted: &[&str]) -> Option<Diagnostic> {
    let wanted = wanted.iter().take_while(|wanted| !is_optional(wanted));
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
    let help = format!("its operands are `{}`, in this order", list(words)?);
    Some(Diagnostic::error(operand.span, message).label("operands in another order?").help(help))
}

fn is_optional(operand: &str) -> bool {
    operand.starts_with('{')
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

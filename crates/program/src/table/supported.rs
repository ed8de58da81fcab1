//! The list of instruction forms that have a model, from the tables themselves: documentation cannot promise more.

use fencepost_syntax::sorted::SharedSort as _;

use crate::program::Version;
use crate::sections;
use crate::table::form::{self, Form};
use crate::table::modifier::{self, Class};
use crate::table::ptx::arithmetic::{bits, float, integer};
use crate::table::ptx::asynchronous::{copy, store, tensor_copy, tensormap};
use crate::table::ptx::memory::{cache, multimem, surface, vector};
use crate::table::ptx::tensor::{tcgen05, tcgen05_mma, wgmma};
use crate::table::ptx::{self, Row};
use crate::table::ptx::{address, barrier, fence, launch, mbarrier, warp};

/// A form of real PTX that has a model.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SupportedForm {
    /// As documentation writes it: `(.a|.b)` is one of them, `{.a|.b}` one or none.
    pub pattern: String,
    /// Of the PTX ISA.
    pub section: &'static str,
    /// The version that brought the instruction.
    pub since: Version,
}

/// Of the persistency models, and no PTX.
const PERSISTENCY: [&str; 4] = ["dfence", "ofence", "pacq", "prel"];

/// Every form of real PTX with a model, by pattern.
pub fn supported_forms() -> Vec<SupportedForm> {
    let mut found = Vec::new();
    add(&mut found, copy::FORMS);
    add(&mut found, tensor_copy::FORMS);
    add(&mut found, store::FORMS);
    add(&mut found, tensormap::FORMS);
    add(&mut found, wgmma::FORMS);
    add(&mut found, tcgen05_mma::FORMS);
    add(&mut found, tcgen05::FORMS);
    add(&mut found, mbarrier::FORMS);
    add(&mut found, fence::FORMS);
    add(&mut found, barrier::FORMS);
    add(&mut found, cache::FORMS);
    add(&mut found, launch::FORMS);
    add(&mut found, multimem::FORMS);
    add(&mut found, address::FORMS);
    add(&mut found, bits::FORMS);
    add(&mut found, integer::FORMS);
    add(&mut found, surface::FORMS);
    add(&mut found, warp::FORMS);
    add(&mut found, vector::FORMS);
    add(&mut found, float::FORMS);
    for row in ptx::rows().filter(|row| !PERSISTENCY.contains(&row.opcode)) {
        let (section, since) = provenance(row.opcode);
        found.push(SupportedForm { pattern: pattern(row), section, since });
    }
    found.shared_sort();
    found.dedup();
    found
}

fn add<K>(found: &mut Vec<SupportedForm>, forms: &[Form<K>]) {
    for form in forms {
        found.push(SupportedForm { pattern: form::pattern(form), section: form.section, since: form.since });
    }
}

/// The words a row of classes takes.
fn pattern(row: &Row) -> String {
    let mut text = row.opcode.to_string();
    for class in row.classes {
        let words: Vec<String> = match class {
            Class::Type | Class::Bits => vec![".type".to_string()],
            Class::Hint => continue,
            class => words(row, *class).iter().map(|word| format!(".{word}")).collect(),
        };
        text += &format!("{{{}}}", words.join("|"));
    }
    text
}

/// The words of a class that this instruction can have: not every one has all semantics, and `.gl` is a level of `membar`.
fn words(row: &Row, class: Class) -> Vec<&'static str> {
    let mut words = modifier::candidates(&[class]);
    match class {
        Class::Sem => {
            words.retain(|word| modifier::SEMS.iter().any(|(name, sem)| name == word && row.semantics().contains(sem)))
        }
        Class::Scope if row.opcode == "membar" => words.retain(|word| matches!(*word, "cta" | "gl" | "sys")),
        Class::Scope => words.retain(|word| *word != "gl"),
        _ => {}
    }
    words
}

/// The section and the first version of the opcodes of the class table.
fn provenance(opcode: &str) -> (&'static str, Version) {
    let version = form::version;
    match opcode {
        "ld" => (sections::LD, version(1, 0)),
        "st" => (sections::ST, version(1, 0)),
        "atom" => (sections::ATOM, version(1, 1)),
        "red" => (sections::RED, version(1, 2)),
        "fence" => (sections::FENCE, version(6, 0)),
        "membar" => (sections::FENCE, version(1, 4)),
        "bar" => (sections::BAR, version(1, 0)),
        "barrier" => (sections::BAR, version(6, 0)),
        "griddepcontrol" => (sections::GRIDDEPCONTROL, version(7, 8)),
        "bra" | "ret" | "exit" | "trap" | "call" | "brx" => (sections::CONTROL_FLOW, version(1, 0)),
        "pmevent" => (sections::MISCELLANEOUS, version(1, 4)),
        "nanosleep" => (sections::MISCELLANEOUS, version(6, 3)),
        "mapa" => (sections::MAPA, version(7, 8)),
        "cvta" => (sections::CVTA, version(2, 0)),
        "mov" | "cvt" => (sections::DATA_MOVEMENT, version(1, 0)),
        "setp" | "selp" => (sections::COMPARISON_AND_SELECTION, version(1, 0)),
        "and" | "or" | "xor" | "not" | "shl" | "shr" => (sections::LOGIC_AND_SHIFT, version(1, 0)),
        "tld" | "suld" | "cold" | "ldc" | "sust" | "suatom" | "sured" => (sections::PROXIES, version(7, 5)),
        _ => (sections::INTEGER, version(1, 0)),
    }
}

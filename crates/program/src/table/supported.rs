//! The list of instruction forms that have a model, from the tables themselves: documentation cannot promise more.

use crate::program::Version;
use crate::sections;
use crate::table::form::{self, Form};
use crate::table::modifier::{self, Class};
use crate::table::{
    ptx, ptx_address, ptx_async, ptx_async_store, ptx_async_tensor, ptx_barrier, ptx_bits, ptx_fence, ptx_float,
    ptx_hint, ptx_integer, ptx_launch, ptx_mbarrier, ptx_multimem, ptx_surface, ptx_tensor, ptx_tensor_memory,
    ptx_tensor_product, ptx_tensormap, ptx_vector, ptx_warp,
};

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

/// Every form of real PTX with a model, by pattern.
pub fn supported_forms() -> Vec<SupportedForm> {
    let mut found = Vec::new();
    add(&mut found, ptx_async::FORMS);
    add(&mut found, ptx_async_tensor::FORMS);
    add(&mut found, ptx_async_store::FORMS);
    add(&mut found, ptx_tensormap::FORMS);
    add(&mut found, ptx_tensor::FORMS);
    add(&mut found, ptx_tensor_product::FORMS);
    add(&mut found, ptx_tensor_memory::FORMS);
    add(&mut found, ptx_mbarrier::FORMS);
    add(&mut found, ptx_fence::FORMS);
    add(&mut found, ptx_barrier::FORMS);
    add(&mut found, ptx_hint::FORMS);
    add(&mut found, ptx_launch::FORMS);
    add(&mut found, ptx_multimem::FORMS);
    add(&mut found, ptx_address::FORMS);
    add(&mut found, ptx_bits::FORMS);
    add(&mut found, ptx_integer::FORMS);
    add(&mut found, ptx_surface::FORMS);
    add(&mut found, ptx_warp::FORMS);
    add(&mut found, ptx_vector::FORMS);
    add(&mut found, ptx_float::FORMS);
    for row in ptx::rows() {
        let (section, since) = provenance(row.opcode);
        found.push(SupportedForm { pattern: pattern(row.opcode, row.classes), section, since });
    }
    found.sort();
    found.dedup();
    found
}

fn add<K>(found: &mut Vec<SupportedForm>, forms: &[Form<K>]) {
    found.extend(forms.iter().map(|form| SupportedForm {
        pattern: form::pattern(form),
        section: form.section,
        since: form.since,
    }));
}

/// The words a row of classes takes.
fn pattern(opcode: &str, classes: &[Class]) -> String {
    let mut text = opcode.to_string();
    for class in classes {
        let words: Vec<String> = match class {
            Class::Type | Class::Bits => vec![".type".to_string()],
            Class::Hint => continue,
            class => modifier::candidates(&[*class]).iter().map(|word| format!(".{word}")).collect(),
        };
        text += &format!("{{{}}}", words.join("|"));
    }
    text
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

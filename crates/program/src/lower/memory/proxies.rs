//! Names of other proxies (`c @ constant aliases s`): only accesses through that proxy use them. A generic access through
//! such a name is refused, and not taken for one to the target: in the mixed-proxy model (Lustig, Cooksey, Giroux, ISCA
//! 2022) the name says how an access goes to memory, and a reader of the test would take it for an access that needs the
//! proxy's fence. Where an address is computed, the unfolding looks (`unfold::objects`).

use fencepost_syntax::{Diagnostic, Span};

use crate::ids::AddressId;
use crate::lower::builder::ThreadBuilder;
use crate::lower::cut::touch::touches;
use crate::lower::findings::Findings;
use crate::lower::names::Names;
use crate::program::AddressOperand;
use crate::tag::{Tag, Tags};

/// The proxy as it is declared, and the instructions that go through it.
const PROXIES: &[(Tag, &str, &str)] = &[
    (Tag::Texture, "texture", "`tex` or `tld`"),
    (Tag::Surface, "surface", "`suld`, `sust` or `sured`"),
    (Tag::Constant, "constant", "`ld.const`"),
];

pub(crate) fn settle(names: &Names, threads: &[Box<ThreadBuilder>], findings: &mut Findings) {
    if !PROXIES.iter().any(|(proxy, ..)| names.has_proxy(*proxy)) {
        return;
    }
    for thread in threads {
        for code in &thread.code {
            for touch in touches(&code.operation).all.iter() {
                let address = match touch.address {
                    AddressOperand::Static(address) => Some(*address),
                    AddressOperand::Register(register) => thread.fixed_address(*register),
                };
                let error = address.and_then(|address| misnamed(names, address, touch.tags, code.span));
                findings.diagnostics.extend(error);
            }
        }
    }
}

fn misnamed(names: &Names, address: AddressId, tags: Tags, span: Span) -> Option<Diagnostic> {
    let (variable, _) = names.taken[address.index()];
    let (proxy, word, through) = PROXIES.iter().find(|(proxy, ..)| names.name_of(variable).proxy == Some(*proxy))?;
    if tags.has(*proxy) {
        return None;
    }
    let shown = &names.variables[variable.0].shown;
    let own = PROXIES.iter().find(|(proxy, ..)| tags.has(*proxy)).map(|(_, word, _)| format!("the {word}"));
    let own = own.unwrap_or_else(|| if tags.has(Tag::Generic) { "the generic" } else { "another" }.to_owned());
    let message = format!("`{shown}` is a name of the {word} proxy, and this access goes through {own} proxy");
    let target = names.variables[variable.0].target.map(|(target, _)| &names.variables[target.0].shown);
    let instead = target.map_or(String::new(), |target| format!(", or access `{target}` itself"));
    Some(Diagnostic::error(span, message).label("another proxy").help(format!("write {through}{instead}")))
}

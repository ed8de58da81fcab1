//! PTX modules back to text: one item per line, indented by depth. Parsing it gives the same tree.

use super::parse::ends_with_line;
use super::tree::{Item, Module};
use crate::assembly::print::{Notation, instruction};
use crate::span::Spanned;

pub fn print(module: &Module) -> String {
    let mut text = String::new();
    items(&module.items, 0, &mut text);
    text
}

fn items(items: &[Spanned<Item>], depth: usize, text: &mut String) {
    for entry in items {
        item(&entry.node, depth, text);
        text.push('\n');
    }
}

fn item(item: &Item, depth: usize, text: &mut String) {
    let indent = "\t".repeat(depth);
    match item {
        Item::Directive { name, text: rest } => {
            text.push_str(&format!("{indent}.{name}"));
            if !rest.is_empty() {
                text.push(' ');
                text.push_str(rest);
            }
            if !ends_with_line(name) {
                text.push(';');
            }
        }
        Item::Function { header, body, .. } => {
            text.push_str(&format!("{indent}{header}\n{indent}{{\n"));
            items(body, depth + 1, text);
            text.push_str(&format!("{indent}}}"));
        }
        Item::Block(body) => {
            text.push_str(&format!("{indent}{{\n"));
            items(body, depth + 1, text);
            text.push_str(&format!("{indent}}}"));
        }
        Item::Label(name) => text.push_str(&format!("{name}:")),
        Item::Instruction(entry) => text.push_str(&format!("{indent}{};", instruction(entry, Notation::Ptx))),
    }
}

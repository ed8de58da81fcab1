//! Instructions back to text. x86 is written in Intel's order with `[x]` and `$1`, whatever the source used.

use crate::instruction::{Instruction, Operand};

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Notation {
    Ptx,
    X86,
}

pub(crate) fn instruction(instruction: &Instruction, notation: Notation) -> String {
    let mut text = String::new();
    if let Some(guard) = &instruction.guard {
        text.push_str(if guard.negated { "@!" } else { "@" });
        text.push_str(&guard.register.node);
        text.push(' ');
    }
    if let Some(prefix) = &instruction.prefix {
        text.push_str(&prefix.node);
        text.push(' ');
    }
    text.push_str(&instruction.opcode.node);
    for modifier in &instruction.modifiers {
        text.push('.');
        text.push_str(&modifier.node);
    }
    for (index, item) in instruction.operands.iter().enumerate() {
        text.push_str(if index == 0 { " " } else { ", " });
        operand(&item.node, notation, &mut text);
    }
    text
}

fn operand(operand: &Operand, notation: Notation, text: &mut String) {
    match operand {
        Operand::Register(name) | Operand::Symbol(name) => text.push_str(name),
        Operand::Float(number) => text.push_str(number),
        Operand::Integer(value) => {
            if notation == Notation::X86 {
                text.push('$');
            }
            text.push_str(&value.to_string());
        }
        Operand::Address(address) => {
            text.push('[');
            self::operand(&address.base.node, notation, text);
            if let (Notation::X86, [index, scale]) = (notation, address.rest.as_slice()) {
                text.push('+');
                self::operand(&index.node, notation, text);
                if let Operand::Integer(scale) = scale.node {
                    text.push_str(&format!("*{scale}"));
                }
            }
            if address.offset != 0 {
                text.push_str(&format!("{:+}", address.offset));
            }
            for item in address.rest.iter().filter(|_| notation == Notation::Ptx) {
                text.push_str(", ");
                self::operand(&item.node, notation, text);
            }
            text.push(']');
        }
        Operand::Offset(base, offset) => {
            self::operand(&base.node, notation, text);
            text.push_str(&format!("{offset:+}"));
        }
        Operand::Vector(items) => list(items.iter().map(|item| &item.node), ['{', '}'], notation, text),
        Operand::List(items) => list(items.iter().map(|item| &item.node), ['(', ')'], notation, text),
        Operand::Pair(first, second) => {
            self::operand(&first.node, notation, text);
            text.push('|');
            self::operand(&second.node, notation, text);
        }
        Operand::Negated(inner) => {
            text.push('!');
            self::operand(&inner.node, notation, text);
        }
        Operand::Sink => text.push('_'),
        Operand::Text(inner) => {
            text.push('"');
            text.push_str(inner);
            text.push('"');
        }
    }
}

fn list<'o>(items: impl Iterator<Item = &'o Operand>, ends: [char; 2], notation: Notation, text: &mut String) {
    text.push(ends[0]);
    for (index, item) in items.enumerate() {
        if index > 0 {
            text.push_str(", ");
        }
        operand(item, notation, text);
    }
    text.push(ends[1]);
}

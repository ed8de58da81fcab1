//! Directives whose text matters: versions, files, variables, parameters, registers.

use std::collections::HashSet;

use fencepost_syntax::{Diagnostic, Span};

use super::op::Space;
use super::ty::{Kind, Ty};
use super::{Module, Parameter, VARIABLES};

/// A variable of the module or of a function.
#[derive(Clone, Debug)]
pub struct Variable {
    pub name: String,
    pub space: Space,
    pub align: u32,
    /// None: `[]`, as large as the launch says.
    pub bytes: Option<u32>,
    pub initial: Vec<u8>,
    /// Global and constant variables: a generic address.
    pub address: u64,
}

/// `defined` has the names of the variables that come with memory: `.extern` declares one that may be defined besides.
pub(super) fn of_module(
    module: &mut Module,
    (name, text, span): (&str, &str, Span),
    defined: &mut HashSet<String>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    match name {
        "version" => {
            let mut parts = text.trim().split('.').map(|part| part.trim().parse::<u32>().unwrap_or(0));
            module.version = parts.next().unwrap_or(0) * 10 + parts.next().unwrap_or(0);
        }
        "target" => module.target = text.split(',').next().unwrap_or("").trim().to_owned(),
        "file" => {
            let mut words = text.splitn(2, char::is_whitespace);
            let number = words.next().and_then(|word| word.parse().ok());
            let path = words.next().and_then(|rest| rest.split('"').nth(1));
            if let (Some(number), Some(path)) = (number, path) {
                module.files.insert(number, path.to_owned());
            }
        }
        "visible" | "extern" | "weak" | "common" | "global" | "const" | "shared" | "local" => {
            match variables(&format!(".{name} {text}")) {
                Ok(found) => {
                    let is_extern = name == "extern" || text.contains(".extern");
                    for variable in found.iter().filter(|_| !is_extern) {
                        if !defined.insert(variable.name.clone()) {
                            diagnostics.push(Diagnostic::error(span, format!("a second variable `{}`", variable.name)));
                        }
                    }
                    module.variables.extend(found);
                }
                Err(why) => diagnostics.push(Diagnostic::warning(span, format!("this directive is not read: {why}"))),
            }
        }
        _ => {}
    }
}

/// Addresses for variables in global and constant memory.
pub(super) fn lay_out(variables: &mut [Variable]) {
    let mut next = VARIABLES;
    for variable in variables.iter_mut().filter(|variable| matches!(variable.space, Space::Global | Space::Const)) {
        next = next.next_multiple_of(u64::from(variable.align.max(256)));
        variable.address = next;
        next += u64::from(variable.bytes.unwrap_or(0)) + 256;
    }
}

/// `.extern .shared .align 16 .b8 smem[];`, `.global .u32 x[2] = {1, 2};`. A prototype of a function gives none.
pub(super) fn variables(text: &str) -> Result<Vec<Variable>, String> {
    let mut space = None;
    let mut align = None;
    let mut ty = None;
    let mut vector = 1;
    let mut rest = text.trim();
    while let Some(after) = rest.strip_prefix('.') {
        let end = after.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).unwrap_or(after.len());
        let (word, tail) = after.split_at(end);
        rest = tail.trim_start();
        match word {
            "visible" | "extern" | "weak" | "common" => {}
            "func" | "entry" | "alias" => return Ok(Vec::new()),
            "global" => space = Some(Space::Global),
            "const" => space = Some(Space::Const),
            "shared" => space = Some(Space::Shared),
            "local" => space = Some(Space::Local),
            "param" => space = Some(Space::Param),
            "align" => {
                let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
                align = rest[..digits].parse().ok();
                rest = rest[digits..].trim_start();
            }
            "v2" => vector = 2,
            "v4" => vector = 4,
            "attribute" => rest = rest.find(')').map_or("", |at| rest[at + 1..].trim_start()),
            "texref" | "surfref" | "samplerref" => return Ok(Vec::new()),
            _ => ty = Some(Ty::of(word).ok_or_else(|| format!("`.{word}` is not known here"))?),
        }
    }
    let ty = ty.ok_or("it has no type")?;
    let space = space.ok_or("it has no state space")?;
    let mut found = Vec::new();
    for declaration in split_top(rest) {
        found.push(variable(declaration, space, ty, vector, align)?);
    }
    Ok(found)
}

fn variable(text: &str, space: Space, ty: Ty, vector: u32, align: Option<u32>) -> Result<Variable, String> {
    let (declared, initial) = match text.split_once('=') {
        Some((declared, initial)) => (declared.trim(), Some(initial.trim())),
        None => (text.trim(), None),
    };
    let name = declared.split('[').next().unwrap_or("").trim().to_owned();
    let mut bytes = Some(ty.bytes() * vector);
    for size in declared.split('[').skip(1) {
        let size = size.split(']').next().unwrap_or("").trim();
        bytes = match (bytes, size.parse::<u32>()) {
            (Some(bytes), Ok(size)) => Some(bytes.checked_mul(size).ok_or("its size is too large")?),
            (_, Err(_)) if size.starts_with(|first: char| first.is_ascii_digit()) && size.parse::<u64>().is_ok() => {
                return Err("its size is too large".to_owned());
            }
            _ => None,
        };
    }
    let align = align.unwrap_or(ty.bytes() * vector);
    let initial = initial.map(|text| initial_bytes(text, ty)).unwrap_or_default();
    Ok(Variable { name, space, align, bytes, initial, address: 0 })
}

/// The numbers of an initialiser; addresses of other names are left zero.
fn initial_bytes(text: &str, ty: Ty) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in text.split(|c: char| c == '{' || c == '}' || c == ',' || c.is_whitespace()) {
        if word.is_empty() {
            continue;
        }
        let value = number(word, ty).unwrap_or(0);
        bytes.extend_from_slice(&value.to_le_bytes()[..ty.bytes().min(8) as usize]);
    }
    bytes
}

fn number(word: &str, ty: Ty) -> Option<u64> {
    if let Some(hex) = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        return u64::from_str_radix(hex.trim_end_matches(['U', 'u']), 16).ok();
    }
    if ty.kind == Kind::Float {
        return float(word, ty.bits);
    }
    word.parse::<u64>().ok().or_else(|| word.parse::<i64>().ok().map(|value| value as u64))
}

/// `0f3F800000`, `0d3FF0000000000000`, `1.5` as the bits of a float of this size.
pub(super) fn float(word: &str, bits: u8) -> Option<u64> {
    let (negative, word) = match word.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, word),
    };
    let lower = word.to_ascii_lowercase();
    let value = if let Some(hex) = lower.strip_prefix("0f") {
        f64::from(f32::from_bits(u32::from_str_radix(hex, 16).ok()?))
    } else if let Some(hex) = lower.strip_prefix("0d") {
        f64::from_bits(u64::from_str_radix(hex, 16).ok()?)
    } else {
        lower.parse::<f64>().ok()?
    };
    let value = if negative { -value } else { value };
    Some(if bits == 64 { value.to_bits() } else { u64::from((value as f32).to_bits()) })
}

/// The parts between commas that no bracket encloses.
pub(super) fn split_top(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0usize, 0usize);
    for (at, character) in text.char_indices() {
        match character {
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    let last = text[start..].trim();
    if !last.is_empty() {
        parts.push(last);
    }
    parts
}

/// The parameters in the parentheses of a header.
pub(super) fn parameters(header: &str, name: &str) -> Result<Vec<Parameter>, String> {
    let (_, list) = lists(header, name)?;
    let mut found = Vec::new();
    let mut offset = 0u32;
    for text in split_top(list) {
        let is_pointer = text.contains(".ptr");
        let cleaned = without_pointer(text);
        let variable = variables(&cleaned)?.into_iter().next().ok_or("a parameter has no name")?;
        let bytes = variable.bytes.unwrap_or(8);
        offset = offset.next_multiple_of(variable.align.max(1));
        let ty = cleaned.split('.').filter_map(|word| Ty::of(word.split_whitespace().next()?)).next_back();
        found.push(Parameter {
            name: variable.name,
            offset,
            bytes,
            align: variable.align,
            ty: ty.unwrap_or(Ty::U64),
            is_pointer,
            is_array: cleaned.contains('['),
        });
        offset += bytes;
    }
    Ok(found)
}

/// The texts in the parentheses before and behind the name of a function: its results and its parameters.
fn lists<'t>(header: &'t str, name: &str) -> Result<(&'t str, &'t str), String> {
    let keyword = [".entry", ".func"].iter().find_map(|word| Some(header.find(word)? + word.len()));
    let mut rest = header[keyword.unwrap_or(0)..].trim_start();
    let mut results = "";
    if let Some(list) = rest.strip_prefix('(') {
        let end = matching(list).ok_or("its list of results is not closed")?;
        (results, rest) = (&list[..end], list[end + 1..].trim_start());
    }
    let rest = rest.strip_prefix(name).unwrap_or("").trim_start();
    let Some(list) = rest.strip_prefix('(') else { return Ok((results, "")) };
    let end = matching(list).ok_or("its list of parameters is not closed")?;
    Ok((results, &list[..end]))
}

/// The names of the results and of the parameters of a function.
pub(super) fn formal(header: &str, name: &str) -> Result<(Vec<String>, Vec<String>), String> {
    let names = |list: &str| -> Result<Vec<String>, String> {
        let mut found = Vec::new();
        for text in split_top(list) {
            let variables = variables(&without_pointer(text))?;
            let variable = variables.into_iter().next().ok_or("a parameter has no name")?;
            found.push(variable.name);
        }
        Ok(found)
    };
    let (results, parameters) = lists(header, name)?;
    Ok((names(results)?, names(parameters)?))
}

/// `.param .u64 .ptr .global .align 1 p`: without what it says about the pointer's target.
fn without_pointer(text: &str) -> String {
    let Some(at) = text.find(".ptr") else { return text.to_owned() };
    let name = text.split_whitespace().last().unwrap_or("");
    format!("{} {name}", &text[..at])
}

fn matching(text: &str) -> Option<usize> {
    let mut depth = 1usize;
    for (at, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// `.reqntid 128, 1, 1`.
pub(super) fn triple(header: &str, name: &str) -> Option<[u32; 3]> {
    let at = header.find(&format!(".{name}"))?;
    let rest = header[at + name.len() + 1..].trim_start();
    let mut numbers = [1u32; 3];
    let mut found = 0;
    let mut tail = rest;
    while found < 3 {
        let digits = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
        numbers[found] = tail[..digits].parse().ok()?;
        found += 1;
        tail = tail[digits..].trim_start();
        match tail.strip_prefix(',') {
            Some(next) => tail = next.trim_start(),
            None => break,
        }
    }
    Some(numbers)
}

/// `.b32 %r<290>` or `.pred p, q`: each name with its type; `%r<5>` stands for `%r0` to `%r4`.
pub(super) fn registers(text: &str) -> Result<Vec<(String, u32, Ty)>, String> {
    let text = text.trim();
    let word = text.split_whitespace().next().unwrap_or("");
    let ty = Ty::of(word.trim_start_matches('.')).ok_or_else(|| format!("`{word}` is no type of registers"))?;
    let mut found = Vec::new();
    for name in split_top(text[word.len()..].trim()) {
        match name.split_once('<') {
            Some((prefix, count)) => {
                let count = count.trim_end_matches('>').trim().parse().map_err(|_| format!("`{name}` has no count"))?;
                found.push((prefix.trim().to_owned(), count, ty));
            }
            None => found.push((name.to_owned(), 0, ty)),
        }
    }
    Ok(found)
}

//! The blocks of a function as one list: each instruction with the scope of its names, its labels and its `.loc`.

use std::collections::{HashMap, HashSet};

use fencepost_syntax::instruction::{Instruction, Operand};
use fencepost_syntax::ptx::Item;
use fencepost_syntax::{Span, Spanned};

use super::Location;
use super::directives::{self, Variable};
use super::op::{Pc, Register};
use super::ty::Ty;

/// The number of a block. A name is looked up in its block, then in those around it.
pub(super) type Block = u32;

pub(super) struct Line<'t> {
    pub(super) tree: &'t Instruction,
    pub(super) span: Span,
    pub(super) block: Block,
    pub(super) location: Option<Location>,
    /// The call that the line is part of: `ret` goes behind it. None in the entry itself.
    pub(super) call: Option<u32>,
}

/// A function that a module defines: its header and its body.
#[derive(Copy, Clone)]
pub(super) struct Function<'t> {
    pub(super) header: &'t str,
    pub(super) body: &'t [Spanned<Item>],
}

pub(super) type Functions<'t> = HashMap<&'t str, Function<'t>>;

#[derive(Default)]
pub(super) struct Flat<'t> {
    pub(super) lines: Vec<Line<'t>>,
    pub(super) parents: Vec<Option<Block>>,
    pub(super) labels: HashMap<(Block, &'t str), Pc>,
    pub(super) jump_tables: HashMap<(Block, &'t str), Vec<&'t str>>,
    registers: HashMap<(Block, String), (Register, Ty)>,
    families: HashMap<(Block, String), (Register, u32, Ty)>,
    pub(super) names: Vec<(String, Ty)>,
    pub(super) variables: Vec<(Block, Variable)>,
    /// Their names.
    declared: HashSet<(Block, String)>,
    location: Option<Location>,
    /// Places of inlined functions, with the place of the call.
    callers: HashMap<Place, Place>,
    pending_label: Option<&'t str>,
    functions: Functions<'t>,
    /// Calls around the line under way: the name and the number of each.
    calls: Vec<(&'t str, u32)>,
    /// Where each call is over.
    pub(super) returns: Vec<Pc>,
    /// A parameter of a function that is called, as the caller names it.
    aliases: HashMap<(Block, String), (Block, &'t str)>,
}

/// File, line and column of a `.loc`.
type Place = (u32, u32, u32);

/// How many calls lie around an inlined line at most.
const DEEPEST: usize = 64;
/// Limits on one entry with everything that it calls.
const MOST_LINES: usize = 4_000_000;
const MOST_REGISTERS: usize = 1_000_000;

pub(super) type Failure = (Span, String);

impl<'t> Flat<'t> {
    pub(super) fn of(
        body: &'t [Spanned<Item>],
        functions: &Functions<'t>,
        specials: &[&str],
    ) -> Result<Flat<'t>, Failure> {
        let mut flat = Flat { functions: functions.clone(), ..Flat::default() };
        for name in specials {
            flat.names.push(((*name).to_owned(), Ty::U32));
        }
        flat.block(body, None)?;
        Ok(flat)
    }

    fn block(&mut self, items: &'t [Spanned<Item>], parent: Option<Block>) -> Result<(), Failure> {
        let block = self.parents.len() as Block;
        self.parents.push(parent);
        for item in items {
            match &item.node {
                Item::Directive { name, text } => self.directive(block, name, text, item.span)?,
                Item::Function { .. } => return Err((item.span, "a function inside a function".to_owned())),
                Item::Block(inner) => self.block(inner, Some(block))?,
                Item::Label(label) => {
                    self.pending_label = Some(label);
                    if self.labels.insert((block, label), self.lines.len() as Pc).is_some() {
                        return Err((item.span, format!("a second label `{label}`")));
                    }
                }
                Item::Instruction(tree) if self.calls_function(tree) => self.inline(block, tree, item.span)?,
                Item::Instruction(tree) => {
                    let call = self.calls.last().map(|(_, call)| *call);
                    self.lines.push(Line { tree, span: item.span, block, location: self.location, call });
                    if self.lines.len() > MOST_LINES {
                        return Err((item.span, format!("more than {MOST_LINES} instructions with what is called")));
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether this is a call whose target is known and is not under way already.
    fn calls_function(&self, tree: &Instruction) -> bool {
        let target = called(tree);
        target.is_some_and(|name| self.functions.contains_key(name) && self.calls.iter().all(|(own, _)| *own != name))
            && tree.guard.is_none()
    }

    /// Puts the body of a function in the place of a call: its parameters are those that the caller names.
    fn inline(&mut self, block: Block, tree: &'t Instruction, span: Span) -> Result<(), Failure> {
        let Some(name) = called(tree) else { return Ok(()) };
        let function = self.functions[name];
        let (results, parameters) = directives::formal(function.header, name).map_err(|why| (span, why))?;
        let (actual_results, actual_parameters) = arguments(tree);
        if results.len() != actual_results.len() || parameters.len() != actual_parameters.len() {
            return Err((span, format!("`{name}` has another number of parameters or results")));
        }
        let inner = self.parents.len() as Block;
        let formal = results.into_iter().chain(parameters);
        for (formal, actual) in formal.zip(actual_results.into_iter().chain(actual_parameters)) {
            self.aliases.insert((inner, formal), (block, actual));
        }
        let call = self.returns.len() as u32;
        self.returns.push(0);
        self.calls.push((name, call));
        let location = self.location;
        self.block(function.body, None)?;
        self.location = location;
        self.calls.pop();
        self.returns[call as usize] = self.lines.len() as Pc;
        Ok(())
    }

    fn directive(&mut self, block: Block, name: &str, text: &'t str, span: Span) -> Result<(), Failure> {
        match name {
            "reg" => {
                for (name, count, ty) in directives::registers(text).map_err(|why| (span, why))? {
                    if self.names.len() + 2 * count as usize > MOST_REGISTERS {
                        return Err((span, format!("more than {MOST_REGISTERS} registers")));
                    }
                    if self.registers.contains_key(&(block, name.clone())) && count == 0 {
                        return Err((span, format!("a second register `{name}`")));
                    }
                    self.declare(block, name, count, ty);
                }
            }
            "loc" => {
                self.location = self.user_line(text).or(self.location);
            }
            "shared" | "local" | "param" | "global" | "const" => {
                for variable in directives::variables(&format!(".{name} {text}")).map_err(|why| (span, why))? {
                    if !self.declared.insert((block, variable.name.clone())) {
                        return Err((span, format!("a second variable `{}`", variable.name)));
                    }
                    self.variables.push((block, variable));
                }
            }
            "branchtargets" => {
                if let Some(label) = self.pending_label {
                    let targets = text.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
                    self.jump_tables.insert((block, label), targets);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The line of the source that an instruction comes from: of what is inlined, the innermost line of the kernel's own
    /// file. What stands in headers and libraries is told as the line that calls it.
    fn user_line(&mut self, text: &str) -> Option<Location> {
        let numbers = |text: &str| -> Option<Place> {
            let mut words = text.split_whitespace().map(|word| word.trim_end_matches(',').parse::<u32>().ok());
            Some((words.next()??, words.next()??, words.next()??))
        };
        let place = numbers(text)?;
        if let Some(caller) = text.split_once("inlined_at ").and_then(|(_, caller)| numbers(caller)) {
            self.callers.insert(place, caller);
        }
        // Functions that call each other in a circle are not inlined.
        let caller = |place: &Place| self.callers.get(place).filter(|caller| *caller != place).copied();
        let chain: Vec<Place> = std::iter::successors(Some(place), caller).take(DEEPEST).collect();
        let (own, outermost, _) = *chain.last()?;
        let (file, line, _) = chain.into_iter().find(|(file, ..)| *file == own)?;
        Some(Location { file, line, called: Some(outermost).filter(|outermost| *outermost != line) })
    }

    /// A register of 128 bits is two of 64, one behind the other.
    fn declare(&mut self, block: Block, name: String, count: u32, ty: Ty) {
        let first = self.names.len() as Register;
        let halves = Ty::halves(ty);
        if count == 0 {
            (0..halves).for_each(|_| self.names.push((name.clone(), ty)));
            self.registers.insert((block, name), (first, ty));
            return;
        }
        for index in 0..count {
            (0..halves).for_each(|_| self.names.push((format!("{name}{index}"), ty)));
        }
        self.families.insert((block, name), (first, count, ty));
    }

    pub(super) fn register(&self, block: Block, name: &str) -> Option<(Register, Ty)> {
        let mut at = Some(block);
        let digits = name.len() - name.bytes().rev().take_while(u8::is_ascii_digit).count();
        let (prefix, index) = name.split_at(digits);
        let index: Option<u32> = index.parse().ok();
        while let Some(block) = at {
            if let Some(found) = self.registers.get(&(block, name.to_owned())) {
                return Some(*found);
            }
            if let (Some(index), Some((first, count, ty))) = (index, self.families.get(&(block, prefix.to_owned())))
                && index < *count
            {
                return Some((first + index * Ty::halves(*ty), *ty));
            }
            at = self.parents[block as usize];
        }
        None
    }

    pub(super) fn label(&self, block: Block, name: &str) -> Option<Pc> {
        self.outwards(block, |block| self.labels.get(&(block, name)).copied())
    }

    pub(super) fn jump_table(&self, block: Block, name: &str) -> Option<Vec<Pc>> {
        let names = self.outwards(block, |block| self.jump_tables.get(&(block, name)))?;
        names.iter().map(|target| self.label(block, target)).collect()
    }

    pub(super) fn variable(&self, block: Block, name: &str) -> Option<&Variable> {
        let (mut block, mut name) = (block, name);
        while let Some((caller, own)) = self.outwards(block, |at| self.aliases.get(&(at, name.to_owned()))) {
            (block, name) = (*caller, own);
        }
        self.outwards(block, |at| {
            self.variables
                .iter()
                .find(|(block, variable)| *block == at && variable.name == name)
                .map(|(_, found)| found)
        })
    }

    fn outwards<T>(&self, block: Block, find: impl Fn(Block) -> Option<T>) -> Option<T> {
        let mut at = Some(block);
        while let Some(block) = at {
            if let Some(found) = find(block) {
                return Some(found);
            }
            at = self.parents[block as usize];
        }
        None
    }
}

/// The function that an instruction calls by its name.
pub(super) fn called(tree: &Instruction) -> Option<&str> {
    if tree.opcode.node != "call" {
        return None;
    }
    tree.operands.iter().find_map(|operand| match &operand.node {
        Operand::Symbol(name) => Some(name.as_str()),
        _ => None,
    })
}

/// The names in the lists of a call: of results, before the function, and of parameters, behind it.
pub(super) fn arguments(tree: &Instruction) -> (Vec<&str>, Vec<&str>) {
    let (mut results, mut parameters, mut named) = (Vec::new(), Vec::new(), false);
    for operand in &tree.operands {
        match &operand.node {
            Operand::Symbol(_) => named = true,
            Operand::List(items) => {
                let names = items.iter().filter_map(|item| match &item.node {
                    Operand::Symbol(name) => Some(name.as_str()),
                    _ => None,
                });
                if named { parameters.extend(names) } else { results.extend(names) }
            }
            _ => {}
        }
    }
    (results, parameters)
}

//! The blocks of a function as one list: each instruction with the scope of its names, its labels and its `.loc`.

use std::collections::HashMap;

use fencepost_syntax::instruction::Instruction;
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
}

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
    location: Option<Location>,
    /// Places of inlined functions, with the place of the call.
    callers: HashMap<Place, Place>,
    pending_label: Option<&'t str>,
}

/// File, line and column of a `.loc`.
type Place = (u32, u32, u32);

/// How many calls lie around an inlined line at most.
const DEEPEST: u32 = 64;

pub(super) type Failure = (Span, String);

impl<'t> Flat<'t> {
    pub(super) fn of(body: &'t [Spanned<Item>], specials: &[&str]) -> Result<Flat<'t>, Failure> {
        let mut flat = Flat::default();
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
                    self.labels.insert((block, label), self.lines.len() as Pc);
                }
                Item::Instruction(tree) => {
                    self.lines.push(Line { tree, span: item.span, block, location: self.location });
                }
            }
        }
        Ok(())
    }

    fn directive(&mut self, block: Block, name: &str, text: &'t str, span: Span) -> Result<(), Failure> {
        match name {
            "reg" => {
                for (name, count, ty) in directives::registers(text).map_err(|why| (span, why))? {
                    self.declare(block, name, count, ty);
                }
            }
            "loc" => {
                self.location = self.user_line(text).or(self.location);
            }
            "shared" | "local" | "param" | "global" | "const" => {
                let found = directives::variables(&format!(".{name} {text}")).map_err(|why| (span, why))?;
                self.variables.extend(found.into_iter().map(|variable| (block, variable)));
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

    /// The line of the source that an instruction comes from: of an inlined function, the line that calls it.
    fn user_line(&mut self, text: &str) -> Option<Location> {
        let numbers = |text: &str| -> Option<Place> {
            let mut words = text.split_whitespace().map(|word| word.trim_end_matches(',').parse::<u32>().ok());
            Some((words.next()??, words.next()??, words.next()??))
        };
        let mut place = numbers(text)?;
        if let Some(caller) = text.split_once("inlined_at ").and_then(|(_, caller)| numbers(caller)) {
            self.callers.insert(place, caller);
        }
        // Functions that call each other in a circle are not inlined.
        for _ in 0..DEEPEST {
            match self.callers.get(&place) {
                Some(caller) if *caller != place => place = *caller,
                _ => break,
            }
        }
        Some(Location { file: place.0, line: place.1 })
    }

    fn declare(&mut self, block: Block, name: String, count: u32, ty: Ty) {
        let first = self.names.len() as Register;
        if count == 0 {
            self.names.push((name.clone(), ty));
            self.registers.insert((block, name), (first, ty));
            return;
        }
        for index in 0..count {
            self.names.push((format!("{name}{index}"), ty));
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
                return Some((first + index, *ty));
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

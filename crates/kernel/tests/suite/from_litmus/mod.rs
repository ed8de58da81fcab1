//! A litmus test as a kernel: each thread is the live lane of a warp, or a lane of one warp where lanes meet.
//!
//! What a kernel has no word for (a second GPU, a host, names of other proxies) is refused with the reason.

mod body;
mod start;
mod tensor;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use fencepost_kernel::code::Module;
use fencepost_kernel::launch::{Argument, Launch};
use fencepost_syntax::Spanned;
use fencepost_syntax::instruction::{Instruction, Operand};
use fencepost_syntax::litmus::tree::{
    Declaration, Dialect, InitialAddress, InitialValue, Litmus, LocationType, Side, Statement, Thread,
};

use crate::program::{Layout, Lines, Text, of_lanes};
use crate::sides::decoded;

use body::Body;
use tensor::{Map, TENSOR_COLUMNS, in_constant};

/// Why a test is no kernel.
pub(crate) type Refused = String;

pub(crate) struct Translated {
    pub(crate) text: Text,
    pub(crate) layout: Layout,
    parameters: Vec<Parameter>,
    /// Variables that hold a map at the start, and the map.
    maps: Vec<(String, Map)>,
    clusters: u32,
    ctas: u32,
    warps: u32,
    /// Threads of the kernel per thread of the test.
    spacing: u32,
}

/// What the launch gives a parameter.
struct Parameter {
    at: Vec<(u32, Value)>,
    bytes: u32,
    map: Option<Map>,
}

fn address_of(module: &Module, name: &str) -> u64 {
    module.variables.iter().find(|variable| variable.name == *name).map_or(0, |variable| variable.address)
}

enum Value {
    Number(i128),
    /// Of a variable of the module.
    Address(String, i128),
}

impl Translated {
    /// The module, with what lies in memory at the start.
    pub(crate) fn module(&self) -> Result<Module, Refused> {
        let mut module = decoded(&self.text.text).map_err(|why| format!("the kernel is refused: {why}"))?;
        for (name, map) in &self.maps {
            let bytes = map.bytes(&module);
            if let Some(variable) = module.variables.iter_mut().find(|variable| variable.name == *name) {
                variable.initial = bytes;
            }
        }
        Ok(module)
    }

    pub(crate) fn launch(&self, module: &Module) -> Launch {
        let threads = if self.layout == Layout::Warps { self.spacing * self.warps } else { 32 };
        Launch {
            entry: "k".to_owned(),
            grid: [self.clusters * self.ctas, 1, 1],
            block: [threads, 1, 1],
            cluster: [self.ctas, 1, 1],
            shared: 0,
            arguments: self.parameters.iter().map(|parameter| parameter.argument(module)).collect(),
            buffers: Vec::new(),
            cooperative: false,
        }
    }
}

impl Parameter {
    fn argument(&self, module: &Module) -> Argument {
        if let Some(map) = &self.map {
            return Argument::Bytes(map.bytes(module));
        }
        let mut bytes = vec![0; self.bytes as usize];
        for (at, value) in &self.at {
            let number = match value {
                Value::Number(number) => *number,
                Value::Address(name, offset) => i128::from(address_of(module, name)) + offset,
            };
            let slot = bytes[*at as usize..].iter_mut().zip(number.to_le_bytes());
            slot.for_each(|(byte, own)| *byte = own);
        }
        Argument::Bytes(bytes)
    }
}

/// A variable of the test.
struct Variable {
    space: &'static str,
    /// Of an element.
    ty: String,
    bytes: u32,
    elements: u32,
    values: Vec<Value>,
    /// A count that `mbarrier.init` sets.
    count: Option<i128>,
    /// What a tensor map is over.
    map: Option<String>,
}

/// Where a thread stands in the grid.
#[derive(Copy, Clone)]
struct Seat {
    /// In the grid.
    cta: u32,
    rank: u32,
    cluster: u32,
    /// In the CTA.
    number: u32,
    beside: u32,
}

pub(crate) fn translate(litmus: &Litmus) -> Result<Translated, Refused> {
    Translator::of(litmus)?.translated()
}

struct Translator<'a> {
    litmus: &'a Litmus,
    variables: BTreeMap<String, Variable>,
    /// Of a thread, as declared: a value, or an address.
    registers: Vec<(u32, String, InitialValue)>,
    types: Vec<(Option<u32>, String, String)>,
    seats: Vec<Seat>,
    clusters: u32,
    ctas: u32,
    layout: Layout,
    version: (u8, u8),
    /// Only each fourth warp is a thread: it has a warpgroup of its own.
    warpgroups: bool,
}

fn refuse<T>(why: impl Into<String>) -> Result<T, Refused> {
    Err(why.into())
}

pub(crate) fn instructions(litmus: &Litmus) -> impl Iterator<Item = &Instruction> {
    litmus.threads.iter().flat_map(of_thread)
}

pub(crate) fn of_thread(thread: &Thread) -> impl Iterator<Item = &Instruction> {
    thread.body.iter().filter_map(|statement| match statement {
        Statement::Instruction { instruction, .. } => Some(instruction),
        _ => None,
    })
}

fn is_of_warpgroup(instruction: &Instruction) -> bool {
    matches!(instruction.opcode.node.as_str(), "wgmma" | "tcgen05" | "setmaxnreg")
}

/// Who comes to `bar.warp.sync` without being in its mask does something undefined (9.7.15.3).
fn lanes_are_in_their_masks(litmus: &Litmus) -> bool {
    let mut seen: BTreeMap<u32, u32> = BTreeMap::new();
    litmus.threads.iter().all(|thread| {
        let lane = seen.entry(thread.placement.cta.unwrap_or(0)).or_default();
        *lane += 1;
        let bit = 1 << (*lane - 1);
        of_thread(thread).all(|instruction| {
            let mask = instruction.operands.first().map(|operand| &operand.node);
            let Some(Operand::Integer(mask)) = mask else { return true };
            !(instruction.opcode.node == "bar" && has(instruction, "warp")) || mask & bit != 0
        })
    })
}

pub(crate) fn has(instruction: &Instruction, word: &str) -> bool {
    instruction.modifiers.iter().any(|modifier| modifier.node == word)
}

impl<'a> Translator<'a> {
    fn of(litmus: &'a Litmus) -> Result<Translator<'a>, Refused> {
        if litmus.dialect != Dialect::Ptx || litmus.threads.iter().any(|own| litmus.dialect_of(own) != Dialect::Ptx) {
            return refuse("not PTX as kernels have it");
        }
        if litmus.recovery.is_some() || litmus.filter.is_some() {
            return refuse("a crash or a filter");
        }
        if litmus.threads.iter().any(|thread| thread.placement.side == Side::Host) {
            return refuse("a thread of the host");
        }
        let set = |of: fn(&Thread) -> u32| litmus.threads.iter().map(of).collect::<BTreeSet<u32>>();
        if set(|thread| thread.placement.kernel.unwrap_or(0)).len() > 1 {
            return refuse("several kernels");
        }
        if set(|thread| thread.placement.gpu.unwrap_or(0)).len() > 1 {
            return refuse("several GPUs");
        }
        let meets = |instruction: &Instruction| instruction.opcode.node == "bar" && has(instruction, "warp");
        let layout = if instructions(litmus).any(meets) { Layout::Lanes } else { Layout::Warps };
        let mut translator = Translator {
            litmus,
            variables: BTreeMap::new(),
            registers: Vec::new(),
            types: Vec::new(),
            seats: Vec::new(),
            clusters: 0,
            ctas: 0,
            layout,
            version: (9, 4),
            warpgroups: instructions(litmus).any(is_of_warpgroup),
        };
        if layout == Layout::Lanes && (translator.warpgroups || !lanes_are_in_their_masks(litmus)) {
            return refuse("lanes that kernels have not");
        }
        translator.sit();
        for declaration in &litmus.declarations {
            translator.declare(&declaration.node)?;
        }
        translator.find_undeclared()?;
        translator.refuse_tensor_memory()?;
        Ok(translator)
    }

    /// Clusters are as large as the largest.
    fn sit(&mut self) {
        let of = |thread: &Thread| {
            let cta = thread.placement.cta.unwrap_or(0);
            (thread.placement.cluster.map_or((1, cta), |cluster| (0, cluster)), cta)
        };
        let mut clusters: BTreeMap<(u32, u32), BTreeSet<u32>> = BTreeMap::new();
        for thread in &self.litmus.threads {
            let (cluster, cta) = of(thread);
            clusters.entry(cluster).or_default().insert(cta);
        }
        self.clusters = clusters.len() as u32;
        self.ctas = clusters.values().map(|ctas| ctas.len() as u32).max().unwrap_or(1);
        let mut seen: BTreeMap<u32, u32> = BTreeMap::new();
        for thread in &self.litmus.threads {
            let (own, cta) = of(thread);
            let cluster = clusters.keys().position(|other| *other == own).unwrap_or(0) as u32;
            let rank = clusters[&own].iter().position(|other| *other == cta).unwrap_or(0) as u32;
            let count = seen.entry(cta).or_default();
            let cta = cluster * self.ctas + rank;
            self.seats.push(Seat { cta, rank, cluster, number: *count, beside: 0 });
            *count += 1;
        }
        for at in 0..self.seats.len() {
            self.seats[at].beside = self.seats.iter().filter(|seat| seat.cta == self.seats[at].cta).count() as u32;
        }
    }

    fn declare(&mut self, declaration: &Declaration) -> Result<(), Refused> {
        match declaration {
            Declaration::Location { is_persistent: true, .. } => refuse("persistent memory"),
            Declaration::Location { name, space, ty, value, .. } => self.variable(
                &name.node,
                space.as_deref(),
                ty.as_ref().map(|ty| &ty.node),
                value.as_ref().map(|value| &value.node),
            ),
            Declaration::Register { thread, register, value } => {
                self.registers.push((*thread, register.node.clone(), value.node.clone()));
                Ok(())
            }
            Declaration::TypedRegister { thread, register, ty } => {
                self.types.push((*thread, register.node.clone(), ty.node.clone()));
                Ok(())
            }
            Declaration::Version { major, minor } => {
                self.version = (*major, *minor);
                Ok(())
            }
            Declaration::Target { .. } => Ok(()),
            Declaration::Alias { .. } => refuse("another name of a location"),
            Declaration::Multimem { .. } => refuse("a multimem address"),
            Declaration::Launch { .. } | Declaration::Stream { .. } | Declaration::Event { .. } => {
                refuse("several kernels")
            }
        }
    }

    fn variable(
        &mut self,
        name: &str,
        space: Option<&str>,
        ty: Option<&LocationType>,
        value: Option<&InitialValue>,
    ) -> Result<(), Refused> {
        if name.contains('@') {
            return refuse("an initial value of one CTA's shared memory");
        }
        if self.variables.contains_key(name) {
            return refuse("a location declared in two parts");
        }
        let space = match space {
            None => self.space_of(name),
            Some("global") => "global",
            Some("shared") => "shared",
            Some("const") => "const",
            Some("param") => "param",
            Some("tmem") => "tmem",
            Some("local") => "local",
            Some(_) => return refuse("a state space that kernels lack"),
        };
        let (word, bytes) = match ty.map(|ty| ty.name.as_str()) {
            None => ("b128", 16),
            Some("mbarrier") => ("b64", 8),
            Some("tensormap") => ("b8", 1),
            Some(word) => (word, element(word)?),
        };
        let inner: u32 = ty.map_or(1, |ty| ty.inner.iter().product());
        let is_map = ty.is_some_and(|ty| ty.name == "tensormap");
        let elements = if is_map { 128 } else { ty.map_or(1, |ty| ty.length.unwrap_or(1)) * inner };
        let (map, value) = match (is_map, value) {
            (false, _) => (None, value),
            (true, Some(InitialValue::Name(name))) if ty.is_none_or(|ty| ty.length.is_none()) => {
                (Some(name.clone()), None)
            }
            (true, _) => return refuse("tensor maps that are not there at the start, or several of them"),
        };
        if elements > 4096 {
            return refuse("dynamic shared memory, or a large array");
        }
        let count = ty.is_some_and(|ty| ty.name == "mbarrier");
        let (values, count) = match (value, count) {
            (None, _) => (Vec::new(), None),
            (Some(InitialValue::Integer(count)), true) => (Vec::new(), Some(*count)),
            (Some(value), _) => (self.values(value, elements)?, None),
        };
        let plain = |value: &Value| matches!(value, Value::Number(_));
        if space == "tmem" && elements > TENSOR_COLUMNS {
            return refuse("more columns than a place has here");
        }
        if space != "param" && !values.iter().all(plain) {
            return refuse("an address in memory at the start");
        }
        if ty.is_some_and(|ty| !ty.inner.is_empty()) && self.is_matrix(name) {
            return refuse("several matrices in one variable");
        }
        let ty = if ty.is_none() { "b8" } else { word };
        let (bytes, elements) = if ty == "b8" && bytes == 16 { (16, 1) } else { (bytes, elements) };
        self.variables
            .insert(name.to_owned(), Variable { space, ty: ty.to_owned(), bytes, elements, values, count, map });
        Ok(())
    }

    fn values(&self, value: &InitialValue, elements: u32) -> Result<Vec<Value>, Refused> {
        let one = |value: &InitialValue| match value {
            InitialValue::Integer(value) => Ok(Value::Number(*value)),
            InitialValue::Address(InitialAddress { name, element: None, offset }) => {
                Ok(Value::Address(name.clone(), *offset))
            }
            InitialValue::Address(_) => refuse("the address of an element at the start"),
            InitialValue::Unknown => refuse("an unknown initial value"),
            InitialValue::Name(_) => refuse("a copy of another initial value"),
            InitialValue::List(_) => refuse("a list of lists"),
        };
        match value {
            InitialValue::List(values) => values.iter().map(|value| one(&value.node)).collect(),
            value => (0..elements).map(|_| one(value)).collect(),
        }
    }

    /// The space that the first access to it names.
    fn space_of(&self, name: &str) -> &'static str {
        let names = |operand: &Spanned<Operand>| match &operand.node {
            Operand::Symbol(own) => own == name,
            Operand::Address(address) => matches!(&address.base.node, Operand::Symbol(own) if own == name),
            _ => false,
        };
        let first = instructions(self.litmus).find(|instruction| {
            instruction.operands.iter().any(names)
                && instruction.modifiers.iter().any(|word| word.node == "global" || word.node.starts_with("shared"))
        });
        match first {
            Some(instruction) if !has(instruction, "global") => "shared",
            _ => "global",
        }
    }

    fn find_undeclared(&mut self) -> Result<(), Refused> {
        let mut names = BTreeSet::new();
        for thread in &self.litmus.threads {
            let labels: BTreeSet<&str> = thread
                .body
                .iter()
                .filter_map(|statement| match statement {
                    Statement::Label(name) => Some(name.node.as_str()),
                    _ => None,
                })
                .collect();
            for instruction in of_thread(thread) {
                for operand in &instruction.operands {
                    symbols(&operand.node, &mut |name| {
                        let name = name.split('@').next().unwrap_or(name);
                        if !labels.contains(name) {
                            names.insert(name.to_owned());
                        }
                    });
                }
            }
        }
        for name in names {
            if !self.variables.contains_key(&name) {
                self.variable(&name, None, None, None)?;
            }
        }
        Ok(())
    }

    fn spacing(&self) -> u32 {
        if self.warpgroups { 128 } else { 32 }
    }

    fn translated(&self) -> Result<Translated, Refused> {
        let mut out = Lines::default();
        let (major, minor) = self.version;
        for line in [&format!(".version {major}.{minor}"), ".target sm_100a", ".address_size 64"] {
            out.line(line, None);
        }
        let is_for_maps = self.variables.values().any(|own| own.map.is_some());
        for (name, variable) in self.variables.iter().filter(|(_, own)| matches!(own.space, "global" | "const")) {
            out.line(&variable.declaration(name, is_for_maps), None);
        }
        for (name, _) in self.variables.iter().filter(|(_, own)| own.space == "shared" && own.map.is_some()) {
            out.line(&format!(".const .align 128 .b8 {}[128];", in_constant(name)), None);
        }
        let parameters: Vec<(&String, &Variable)> =
            self.variables.iter().filter(|(_, own)| own.space == "param").collect();
        let words: Vec<String> = parameters.iter().map(|(name, own)| own.parameter(name)).collect();
        out.line(&format!(".visible .entry k({}) {{", words.join(", ")), None);
        for (name, variable) in self.variables.iter().filter(|(_, own)| matches!(own.space, "shared" | "local")) {
            if self.is_matrix(name) {
                // As large as a product takes it.
                out.line(&format!(".shared .align 128 .b64 {name}[1024];"), None);
                continue;
            }
            if variable.space == "local" && !variable.values.is_empty() {
                return refuse("an initial value of local memory");
            }
            out.line(&variable.declaration(name, is_for_maps), None);
        }
        out.line(".reg .pred %zp<4>;", None);
        out.line(".reg .u32 %za<16>;", None);
        out.line(".reg .u64 %zb0;", None);
        let mut bodies = Vec::new();
        for (index, thread) in self.litmus.threads.iter().enumerate() {
            let body = Body::of(self, index, thread)?;
            for (name, ty) in &body.registers {
                out.line(&format!(".reg .{ty} {name};"), None);
            }
            bodies.push(body);
        }
        self.start(&mut out)?;
        for (index, seat) in self.seats.iter().enumerate() {
            out.line(&format!("setp.eq.u32 %zp0, %za5, {};", seat.cta * 64 + seat.number), None);
            out.line(&format!("@%zp0 bra THREAD{index};"), None);
        }
        out.line("exit;", None);
        for (index, body) in bodies.iter().enumerate() {
            out.line(&format!("THREAD{index}:"), None);
            for (text, item) in &body.lines {
                let text = if self.layout == Layout::Warps { text.clone() } else { of_lanes(text) };
                out.line(&text, *item);
            }
            out.line("exit;", None);
        }
        out.line("}", None);
        let maps = self.maps()?;
        let argument = |(name, own): &(&String, &Variable)| Parameter {
            map: maps.iter().find(|(own, _)| own == *name).map(|(_, map)| map.clone()),
            at: own.values.iter().enumerate().map(|(at, value)| (at as u32 * own.bytes, value.copied())).collect(),
            bytes: own.bytes * own.elements,
        };
        Ok(Translated {
            text: out.done(),
            layout: self.layout,
            parameters: parameters.iter().map(argument).collect(),
            maps,
            clusters: self.clusters,
            ctas: self.ctas,
            warps: self.seats.iter().map(|seat| seat.beside).max().unwrap_or(1),
            spacing: self.spacing(),
        })
    }
}

impl Value {
    fn copied(&self) -> Value {
        match self {
            Value::Number(number) => Value::Number(*number),
            Value::Address(name, offset) => Value::Address(name.clone(), *offset),
        }
    }
}

impl Variable {
    /// Tensor copies want tiles at multiples of 128.
    fn declaration(&self, name: &str, is_for_maps: bool) -> String {
        let numbers = |value: &Value| match value {
            Value::Number(value) => value.to_string(),
            Value::Address(..) => String::new(),
        };
        let align = if is_for_maps { 128 } else { self.bytes.clamp(16, 128) };
        if self.ty == "b8" && self.bytes == 16 {
            let mut text = format!(".{} .align 16 .b8 {name}[16]", self.space);
            if let ("global" | "const", Some(Value::Number(value))) = (self.space, self.values.first()) {
                let bytes: Vec<String> = value.to_le_bytes().iter().map(u8::to_string).collect();
                let _ = write!(text, " = {{{}}}", bytes.join(", "));
            }
            return format!("{text};");
        }
        let mut text = format!(".{} .align {align} .{} {name}[{}]", self.space, self.ty, self.elements);
        if matches!(self.space, "global" | "const") && !self.values.is_empty() {
            let values: Vec<String> = self.values.iter().map(numbers).collect();
            let _ = write!(text, " = {{{}}}", values.join(", "));
        }
        format!("{text};")
    }

    fn parameter(&self, name: &str) -> String {
        if self.elements == 1 && self.ty != "b8" {
            format!(".param .{} {name}", self.ty)
        } else {
            format!(".param .align 64 .b8 {name}[{}]", self.bytes * self.elements)
        }
    }
}

/// Bytes of an element of a type.
fn element(word: &str) -> Result<u32, Refused> {
    let bits = word.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
    match bits.parse::<u32>() {
        Ok(bits @ (8 | 16 | 32 | 64 | 128)) if word.len() <= 4 => Ok(bits / 8),
        _ => refuse(format!("locations of type {word}")),
    }
}

fn symbols(operand: &Operand, tell: &mut dyn FnMut(&str)) {
    match operand {
        Operand::Symbol(name) => tell(name),
        Operand::Address(address) => {
            symbols(&address.base.node, tell);
            address.rest.iter().for_each(|operand| symbols(&operand.node, tell));
        }
        Operand::Offset(inner, _) | Operand::Negated(inner) => symbols(&inner.node, tell),
        Operand::Vector(items) | Operand::List(items) => items.iter().for_each(|item| symbols(&item.node, tell)),
        Operand::Pair(first, second) => {
            symbols(&first.node, tell);
            symbols(&second.node, tell);
        }
        _ => {}
    }
}

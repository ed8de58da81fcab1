//! A litmus test as a kernel: each thread is the live lane of a warp, or a lane of one warp where lanes meet.
//!
//! What a kernel has no word for (a second GPU, a host, names of other proxies) is refused with the reason.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use fencepost_kernel::code::Module;
use fencepost_kernel::footprint::tensor_map::{Element, TensorMap};
use fencepost_kernel::launch::{Argument, Launch};
use fencepost_syntax::Spanned;
use fencepost_syntax::instruction::{Instruction, Operand};
use fencepost_syntax::litmus::tree::{
    Declaration, Dialect, InitialAddress, InitialValue, Litmus, LocationType, Side, Statement, Thread,
};
use fencepost_syntax::ptx::{self, tree::Item};

use crate::program::{Layout, Lines, Text, of_lanes};
use crate::sides::decoded;

/// How many columns of tensor memory a variable has: a product writes so many.
const TENSOR_COLUMNS: u32 = 32;

/// Of a matrix without a swizzle.
const DESCRIPTOR: &str = "0x0000401000080000";
/// 128 rows and 16 columns; of a pair of CTAs 256.
const SHAPE: i128 = 0x0804_0010;
const SHAPE_OF_PAIR: i128 = 0x1004_0010;

/// The first lane, in an address of tensor memory.
const LANE: i128 = 1 << 16;

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

/// A tensor map of one dimension, over a variable.
#[derive(Clone)]
struct Map {
    of: String,
    element: Element,
    elements: u32,
    /// How many of them a copy takes.
    box_elements: u32,
}

impl Map {
    fn bytes(&self, module: &Module) -> Vec<u8> {
        let map = TensorMap {
            address: address_of(module, &self.of),
            element: self.element,
            rank: 1,
            dims: [u64::from(self.elements), 1, 1, 1, 1],
            box_dims: [self.box_elements, 1, 1, 1, 1],
            element_strides: [1; 5],
            ..TensorMap::default()
        };
        map.to_bytes().to_vec()
    }
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

/// Where the start finds what shared memory is to hold.
fn in_constant(name: &str) -> String {
    format!("{name}_at_the_start")
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

    fn refuse_tensor_memory(&self) -> Result<(), Refused> {
        if instructions(self.litmus).any(|own| own.opcode.node == "setmaxnreg") {
            return refuse("registers of a warpgroup");
        }
        let is_far = |operand: &Spanned<Operand>| match &operand.node {
            Operand::Integer(number) => *number >= LANE,
            Operand::Address(address) => address.offset >= LANE,
            _ => false,
        };
        let of_tensors = instructions(self.litmus).any(|own| own.opcode.node == "tcgen05");
        if of_tensors && instructions(self.litmus).any(|own| own.operands.iter().any(is_far)) {
            return refuse("lanes of tensor memory in an address");
        }
        let names = |name: &str| {
            let mut found = false;
            let operands = instructions(self.litmus).flat_map(|own| &own.operands);
            operands.for_each(|operand| symbols(&operand.node, &mut |own| found |= own == name));
            found || self.registers.iter().any(|(_, _, value)| matches!(value, InitialValue::Name(own) if own == name))
        };
        let of_columns = |operand: &Spanned<Operand>| match &operand.node {
            Operand::Symbol(name) => self.column(name).is_some(),
            Operand::Register(name) => self.registers.iter().any(|(_, own, value)| {
                own == name && matches!(value, InitialValue::Name(name) if self.column(name).is_some())
            }),
            _ => false,
        };
        let computes = |own: &&Instruction| !matches!(own.opcode.node.as_str(), "tcgen05" | "st");
        if instructions(self.litmus).filter(computes).any(|own| own.operands.iter().any(of_columns)) {
            return refuse("columns of tensor memory that are computed");
        }
        if self.allocates() && self.columns().into_iter().any(|name| names(name)) {
            return refuse("columns that the test has and others that it allocates");
        }
        Ok(())
    }

    /// Whether the test itself asks for tensor memory.
    fn allocates(&self) -> bool {
        instructions(self.litmus).any(|own| own.opcode.node == "tcgen05" && has(own, "alloc"))
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

    /// Maps of one dimension, whose copies move whole shared variables.
    fn maps(&self) -> Result<Vec<(String, Map)>, Refused> {
        let mut maps = Vec::new();
        let copies = || instructions(self.litmus).filter(|own| own.opcode.node == "cp" && has(own, "tensor"));
        for (name, variable) in &self.variables {
            let Some(of) = &variable.map else { continue };
            let Some(target) = self.variables.get(of).filter(|own| own.space == "global" && own.map.is_none()) else {
                return refuse("a tensor map over something else than a global variable");
            };
            let element = match target.bytes {
                4 => Element::U32,
                8 => Element::U64,
                2 => Element::U16,
                1 => Element::U8,
                _ => return refuse("a tensor map over something else than a global variable"),
            };
            if copies().any(|own| !has(own, "1d")) {
                return refuse("a tensor map of several dimensions");
            }
            let mut tiles = BTreeSet::new();
            for copy in copies() {
                for operand in &copy.operands {
                    if let Operand::Address(address) = &operand.node
                        && let Operand::Symbol(name) = &address.base.node
                        && let Some(tile) = self.variables.get(name)
                        && tile.space == "shared"
                        && tile.count.is_none()
                        && tile.map.is_none()
                    {
                        tiles.insert(tile.bytes * tile.elements);
                    }
                }
            }
            let Some(tile) = tiles.first().filter(|_| tiles.len() == 1) else {
                return refuse("tiles of several sizes");
            };
            let box_elements = (tile / target.bytes).min(target.elements);
            let map = Map { of: of.clone(), element, elements: target.elements, box_elements };
            let holder = if variable.space == "shared" { in_constant(name) } else { name.clone() };
            maps.push((holder, map));
        }
        Ok(maps)
    }

    fn is_map_parameter(&self, name: &str) -> bool {
        self.variables.get(name).is_some_and(|own| own.space == "param" && own.map.is_some())
    }

    fn is_matrix(&self, name: &str) -> bool {
        let multiplies = |instruction: &Instruction| {
            matches!(instruction.opcode.node.as_str(), "wgmma" | "tcgen05")
                && ["mma_async", "mma", "cp"].into_iter().any(|word| has(instruction, word))
        };
        let names = |operand: &Spanned<Operand>| {
            matches!(&operand.node, Operand::Symbol(own) if own == name)
                || matches!(&operand.node, Operand::Register(register) if self.registers.iter().any(|(_, own, value)| {
                    own == register && matches!(value, InitialValue::Name(own) if own == name)
                }))
        };
        instructions(self.litmus).any(|own| multiplies(own) && own.operands.iter().skip(1).any(names))
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

    /// Only live lanes go on; one of each CTA writes the initial values of its shared memory before anybody begins.
    fn start(&self, out: &mut Lines) -> Result<(), Refused> {
        out.line("mov.u32 %za0, %tid.x;", None);
        if self.layout == Layout::Warps {
            let spacing = self.spacing();
            for line in [
                &format!("and.b32 %za1, %za0, {};", spacing - 1),
                "setp.ne.u32 %zp0, %za1, 0;",
                "@%zp0 exit;",
                &format!("shr.u32 %za2, %za0, {};", spacing.trailing_zeros()),
            ] {
                out.line(line, None);
            }
        } else {
            let lanes = self.seats.iter().map(|seat| seat.beside).max().unwrap_or(1);
            out.line(&format!("setp.ge.u32 %zp0, %za0, {lanes};"), None);
            out.line("@%zp0 exit;", None);
            out.line("mov.u32 %za2, %za0;", None);
        }
        for line in ["mov.u32 %za3, %ctaid.x;", "shl.b32 %za4, %za3, 6;", "add.u32 %za5, %za4, %za2;"] {
            out.line(line, None);
        }
        let mut inits = Vec::new();
        for (name, variable) in self.variables.iter().filter(|(_, own)| own.space == "shared") {
            if let Some(count) = variable.count {
                for element in 0..variable.elements {
                    inits.push(format!("mbarrier.init.shared::cta.b64 [{name}+{}], {count};", element * 8));
                }
            }
            for at in (0..128).step_by(8).filter(|_| variable.map.is_some()) {
                inits.push(format!("ld.const.u64 %zb0, [{}+{at}];", in_constant(name)));
                inits.push(format!("st.shared.u64 [{name}+{at}], %zb0;"));
            }
            for (at, value) in variable.values.iter().enumerate() {
                let Value::Number(value) = value else { continue };
                let bits = variable.bytes * 8;
                let at = at as u32 * variable.bytes;
                inits.push(format!("st.shared.u{} [{name}+{at}], {value};", bits.min(64)));
            }
        }
        let columns = if self.allocates() { Vec::new() } else { self.columns() };
        if !columns.is_empty() {
            if self.ctas > 1 {
                out.line("barrier.cluster.arrive;", None);
                out.line("barrier.cluster.wait;", None);
            }
            self.allocate(columns.len() as u32, out);
        }
        if inits.is_empty() && columns.is_empty() {
            return Ok(());
        }
        let is_last = |instruction: &Instruction| {
            matches!(instruction.opcode.node.as_str(), "bar" | "barrier")
                && instruction.operands.iter().any(|operand| operand.node == Operand::Integer(15))
        };
        if instructions(self.litmus).any(is_last) {
            return refuse("no barrier is left for the start");
        }
        out.line("setp.ne.u32 %zp1, %za2, 0;", None);
        out.line("@%zp1 bra STARTED;", None);
        inits.iter().for_each(|line| out.line(line, None));
        out.line("fence.mbarrier_init.release.cluster;", None);
        out.line("fence.proxy.async;", None);
        for (at, name) in columns.iter().enumerate() {
            for (element, value) in self.variables[*name].values.iter().enumerate() {
                let Value::Number(value) = value else { continue };
                let column = at as u32 * TENSOR_COLUMNS + element as u32;
                out.line(&format!("mov.u32 %za10, {column};"), None);
                out.line(&format!("mov.u32 %za11, {value};"), None);
                out.line("tcgen05.st.sync.aligned.32x32b.x1.b32 [%za10], {%za11};", None);
            }
        }
        if !columns.is_empty() {
            out.line("tcgen05.wait::st.sync.aligned;", None);
            out.line("tcgen05.fence::before_thread_sync;", None);
        }
        out.line("STARTED:", None);
        out.line("barrier.sync 15;", None);
        if self.ctas > 1 {
            out.line("barrier.cluster.arrive;", None);
            out.line("barrier.cluster.wait;", None);
        }
        out.line("fence.proxy.async;", None);
        if !columns.is_empty() {
            out.line("tcgen05.fence::after_thread_sync;", None);
        }
        Ok(())
    }

    /// Variables in tensor memory, each in columns of its own.
    fn columns(&self) -> Vec<&String> {
        self.variables.iter().filter(|(_, own)| own.space == "tmem").map(|(name, _)| name).collect()
    }

    fn column(&self, name: &str) -> Option<u32> {
        self.columns().iter().position(|own| *own == name).map(|at| at as u32 * TENSOR_COLUMNS)
    }

    /// All that the variables need, by the first warp.
    fn allocate(&self, variables: u32, out: &mut Lines) {
        let group = 1 + u32::from(instructions(self.litmus).any(|instruction| has(instruction, "cta_group::2")));
        let columns = (variables * TENSOR_COLUMNS).next_power_of_two();
        out.line(".shared .align 4 .u32 zslot;", None);
        out.line("setp.eq.u32 %zp0, %za2, 0;", None);
        out.line(
            &format!("@%zp0 tcgen05.alloc.cta_group::{group}.sync.aligned.shared::cta.b32 [zslot], {columns};"),
            None,
        );
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

/// A thread's lines with registers and labels of its own.
struct Body<'a> {
    translator: &'a Translator<'a>,
    index: usize,
    registers: BTreeMap<String, &'static str>,
    labels: BTreeSet<String>,
    /// Registers that an instruction writes.
    written: BTreeSet<String>,
    /// Names of instances of other CTAs, and of special registers, whose value stands in a register.
    head: Vec<String>,
    lines: Vec<(String, Option<u32>)>,
}

impl<'a> Body<'a> {
    fn of(translator: &'a Translator<'a>, index: usize, thread: &Thread) -> Result<Body<'a>, Refused> {
        let label = |statement: &Statement| match statement {
            Statement::Label(name) => Some(name.node.clone()),
            _ => None,
        };
        let labels = thread.body.iter().filter_map(label).collect();
        let mut body = Body {
            translator,
            index,
            registers: BTreeMap::new(),
            labels,
            written: BTreeSet::new(),
            head: Vec::new(),
            lines: Vec::new(),
        };
        for instruction in of_thread(thread) {
            body.find_predicates(instruction);
            if let Some(first) = instruction.operands.first() {
                registers(&first.node, &mut |name| {
                    body.written.insert(name.to_owned());
                });
            }
        }
        let given: Vec<(String, InitialValue)> = (translator.registers.iter())
            .filter(|(thread, ..)| *thread == index as u32)
            .map(|(_, name, value)| (name.clone(), value.clone()))
            .collect();
        for (name, value) in given {
            body.give(&name, &value)?;
        }
        for statement in &thread.body {
            match statement {
                Statement::Label(name) => body.lines.push((format!("T{index}_{}:", name.node), None)),
                Statement::Instruction { assume: Some(_), .. } => return refuse("an assumption"),
                Statement::Instruction { instruction, .. } => body.instruction(instruction)?,
                Statement::C(_) => return refuse("not PTX as kernels have it"),
            }
        }
        let head = std::mem::take(&mut body.head);
        body.lines.splice(0..0, head.into_iter().map(|line| (line, None)));
        Ok(body)
    }

    fn own(&self, name: &str) -> String {
        format!("%T{}_{}", self.index, name.trim_start_matches('%'))
    }

    fn find_predicates(&mut self, instruction: &Instruction) {
        let mut found = Vec::new();
        let mut add = |operand: Option<&Spanned<Operand>>| {
            if let Some(operand) = operand {
                registers(&operand.node, &mut |name| found.push(name.to_owned()));
            }
        };
        let operands = &instruction.operands;
        match instruction.opcode.node.as_str() {
            "setp" | "isspacep" => add(operands.first()),
            "mbarrier" if has(instruction, "test_wait") || has(instruction, "try_wait") => add(operands.first()),
            "selp" => add(operands.get(3)),
            "elect" => {
                if let Some(Operand::Pair(_, second)) = operands.first().map(|operand| &operand.node) {
                    add(Some(second));
                }
            }
            "tcgen05" if has(instruction, "mma") => add(operands.last()),
            _ if has(instruction, "pred") => operands.iter().for_each(|operand| add(Some(operand))),
            _ => {}
        }
        if let Some(guard) = &instruction.guard {
            found.push(guard.register.node.clone());
        }
        for name in found {
            let name = self.own(&name);
            self.registers.insert(name, "pred");
        }
    }

    /// The register, declared.
    fn register(&mut self, name: &str) -> String {
        let own = self.own(name);
        let wide = has_128(self.translator.litmus, name);
        self.registers.entry(own.clone()).or_insert(if wide { "b128" } else { "b64" });
        own
    }

    fn give(&mut self, name: &str, value: &InitialValue) -> Result<(), Refused> {
        if name.contains('.') {
            // A special register: read where it stands.
            return Ok(());
        }
        let own = self.register(name);
        match value {
            InitialValue::Integer(value) => self.head.push(format!("mov.b64 {own}, {value};")),
            InitialValue::Name(name) => self.address(&own, name, 0)?,
            InitialValue::Address(InitialAddress { name, element, offset }) => {
                let base = name.split('@').next().unwrap_or(name);
                let bytes = self.translator.variables.get(base).map_or(4, |variable| variable.bytes);
                self.address(&own, name, *offset + i128::from(element.unwrap_or(0) * bytes))?;
            }
            InitialValue::List(_) | InitialValue::Unknown => return refuse("an unknown initial value"),
        }
        Ok(())
    }

    /// Puts the address of a name into a register, before anything else.
    fn address(&mut self, own: &str, name: &str, offset: i128) -> Result<(), Refused> {
        let (base, cta) = match name.split_once('@') {
            Some((base, cta)) => (base, cta.parse::<u32>().ok()),
            None => (name, None),
        };
        let Some(variable) = self.translator.variables.get(base) else { return refuse("an address of nothing") };
        match (variable.space, cta) {
            ("param", None) if variable.map.is_some() => {
                self.head.push(format!("mov.b64 {own}, {base};"));
                self.head.push(format!("cvta.param.u64 {own}, {own};"));
            }
            ("tmem", None) => {
                let column = i128::from(self.translator.column(base).unwrap_or(0)) + offset;
                self.head.push(format!("mov.u32 {own}, {column};"));
            }
            ("tmem", Some(_)) => return refuse("tensor memory of another CTA"),
            ("shared", Some(cta)) => {
                let own_cluster = self.translator.seats[self.index].cluster;
                let at =
                    self.translator.litmus.threads.iter().position(|thread| thread.placement.cta.unwrap_or(0) == cta);
                let Some(seat) = at.map(|at| self.translator.seats[at]) else { return refuse("a CTA without threads") };
                if seat.cluster != own_cluster {
                    return refuse("shared memory of another cluster");
                }
                self.head.push(format!("mov.u32 %za8, {base};"));
                self.head.push(format!("add.u32 %za8, %za8, {offset};"));
                self.head.push(format!("mapa.shared::cluster.u32 %za9, %za8, {};", seat.rank));
                self.head.push(format!("cvt.u64.u32 {own}, %za9;"));
                if self.is_generic(own) {
                    self.head.push(format!("cvta.shared::cluster.u64 {own}, {own};"));
                }
            }
            _ => {
                self.head.push(format!("mov.u64 {own}, {base};"));
                if offset != 0 {
                    self.head.push(format!("add.s64 {own}, {own}, {offset};"));
                }
            }
        }
        Ok(())
    }

    /// Whether an access through it names no state space.
    fn is_generic(&self, register: &str) -> bool {
        let through = |operand: &Spanned<Operand>| match &operand.node {
            Operand::Address(address) => {
                matches!(&address.base.node, Operand::Register(name) if self.own(name) == register)
            }
            _ => false,
        };
        let space = |word: &Spanned<String>| word.node.starts_with("shared");
        of_thread(&self.translator.litmus.threads[self.index])
            .any(|own| own.operands.iter().any(through) && !own.modifiers.iter().any(space))
    }

    fn instruction(&mut self, instruction: &Instruction) -> Result<(), Refused> {
        let mut own = instruction.clone();
        let at = instruction.span().start;
        if let Some(guard) = &mut own.guard {
            guard.register.node = self.register(&guard.register.node);
        }
        let matrices = self.matrices(&mut own)?;
        for operand in &mut own.operands {
            self.operand(&mut operand.node)?;
        }
        for (at, register) in matrices {
            own.operands[at].node = Operand::Register(register);
        }
        let opcode = own.opcode.node.clone();
        let is_type = |word: &Spanned<String>| {
            element(&word.node).is_ok() || matches!(word.node.as_str(), "pred" | "f16" | "f32" | "f64")
        };
        if matches!(opcode.as_str(), "ld" | "st" | "atom" | "red" | "mov" | "add" | "setp" | "ldu")
            && !own.modifiers.iter().any(is_type)
            && !has(&own, "async")
            && !has(&own, "bulk")
        {
            let span = own.opcode.span;
            own.modifiers.push(Spanned { node: "u32".to_owned(), span });
        }
        if matches!(opcode.as_str(), "bar" | "barrier") && !has(&own, "cluster") && !has(&own, "warp") {
            // Other numbers than multiples of 32 count threads of the test.
            if let Some(Operand::Integer(count)) = own.operands.get_mut(1).map(|operand| &mut operand.node)
                && (*count % 32 != 0 || self.translator.layout != Layout::Warps)
            {
                if self.translator.layout != Layout::Warps {
                    return refuse("warps that meet, and lanes");
                }
                *count *= 32;
            }
        }
        let span = own.opcode.span;
        let module = ptx::Module { items: vec![Spanned { node: Item::Instruction(own), span }] };
        self.lines.push((ptx::print(&module).trim().to_owned(), Some(at)));
        Ok(())
    }

    /// Matrices in shared memory get descriptors, and products the shape that goes with 0.
    fn matrices(&mut self, instruction: &mut Instruction) -> Result<Vec<(usize, String)>, Refused> {
        let is_wgmma = instruction.opcode.node == "wgmma" && has(instruction, "mma_async");
        let is_mma = instruction.opcode.node == "tcgen05" && has(instruction, "mma");
        let is_copy = instruction.opcode.node == "tcgen05" && has(instruction, "cp");
        let at: &[usize] = if is_wgmma || is_mma { &[1, 2] } else { &[1] };
        if !is_wgmma && !is_mma && !is_copy {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        let is_pair = has(instruction, "cta_group::2");
        for at in at {
            let Some(operand) = instruction.operands.get(*at) else { continue };
            let name = match &operand.node {
                Operand::Symbol(name) => name.clone(),
                Operand::Register(name) => {
                    let is_own =
                        |(thread, own, _): &(u32, String, InitialValue)| *thread == self.index as u32 && own == name;
                    match self.translator.registers.iter().find(|own| is_own(own)) {
                        Some((_, _, InitialValue::Name(name)))
                            if !self.written.contains(operand_name(&operand.node)) =>
                        {
                            name.clone()
                        }
                        _ => return refuse("a matrix descriptor that is computed"),
                    }
                }
                Operand::Vector(_) | Operand::Address(_) => continue,
                _ => return refuse("a matrix descriptor that is computed"),
            };
            let register = self.own(&format!("matrix_{}", name.replace('@', "_")));
            if !self.registers.contains_key(&register) {
                if name.contains('@') || self.translator.variables.get(&name).is_none_or(|own| own.space != "shared") {
                    return refuse("a matrix that is not in the CTA's shared memory");
                }
                self.registers.insert(register.clone(), "b64");
                self.address(&register, &name, 0)?;
                self.head.push(format!("shr.u64 {register}, {register}, 4;"));
                self.head.push(format!("or.b64 {register}, {register}, {DESCRIPTOR};"));
            }
            found.push((*at, register));
        }
        if is_mma && let Some(operand) = instruction.operands.get_mut(3) {
            if operand.node != Operand::Integer(0) {
                return refuse("the shape of a product");
            }
            operand.node = Operand::Integer(if is_pair { SHAPE_OF_PAIR } else { SHAPE });
        }
        Ok(found)
    }

    fn operand(&mut self, operand: &mut Operand) -> Result<(), Refused> {
        match operand {
            Operand::Register(name) => {
                let replaced = self.special(name)?;
                *operand = replaced;
            }
            Operand::Symbol(name) if self.labels.contains(name) => *name = format!("T{}_{name}", self.index),
            Operand::Symbol(name)
                if name.contains('@')
                    || self.translator.column(name).is_some()
                    || self.translator.is_map_parameter(name) =>
            {
                let register = self.own(&format!("at_{}", name.replace('@', "_")));
                if !self.registers.contains_key(&register) {
                    self.registers.insert(register.clone(), "b64");
                    let name = name.clone();
                    self.address(&register, &name, 0)?;
                }
                *operand = Operand::Register(register);
            }
            Operand::Address(address) => {
                self.operand(&mut address.base.node)?;
                for item in &mut address.rest {
                    self.operand(&mut item.node)?;
                }
            }
            Operand::Offset(inner, _) | Operand::Negated(inner) => self.operand(&mut inner.node)?,
            Operand::Vector(items) | Operand::List(items) => {
                for item in items {
                    self.operand(&mut item.node)?;
                }
            }
            Operand::Pair(first, second) => {
                self.operand(&mut first.node)?;
                self.operand(&mut second.node)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// What a register is called; numbers of threads and CTAs are those of the test.
    fn special(&mut self, name: &str) -> Result<Operand, Refused> {
        let seat = self.translator.seats[self.index];
        let given = self
            .translator
            .registers
            .iter()
            .find(|(thread, register, _)| *thread == self.index as u32 && register == name && name.contains('.'));
        if let Some((_, _, InitialValue::Integer(value))) = given {
            return Ok(Operand::Integer(*value));
        }
        Ok(match name {
            "%tid.x" => Operand::Integer(i128::from(seat.number)),
            "%ntid.x" => Operand::Integer(i128::from(seat.beside)),
            "%tid.y" | "%tid.z" | "%laneid" | "%warpid" => Operand::Integer(0),
            "%ctaid.x" => {
                let thread = &self.translator.litmus.threads[self.index];
                Operand::Integer(i128::from(thread.placement.cta.unwrap_or(0)))
            }
            "%cluster_ctarank" | "%cluster_ctaid.x" => Operand::Integer(i128::from(seat.rank)),
            _ if name.contains('.') || name.starts_with("%cluster") || name.contains("clock") => {
                Operand::Register(name.to_owned())
            }
            _ => Operand::Register(self.register(name)),
        })
    }
}

fn operand_name(operand: &Operand) -> &str {
    match operand {
        Operand::Register(name) => name,
        _ => "",
    }
}

fn registers(operand: &Operand, tell: &mut dyn FnMut(&str)) {
    match operand {
        Operand::Register(name) => tell(name),
        Operand::Negated(inner) => registers(&inner.node, tell),
        Operand::Pair(first, second) => {
            registers(&first.node, tell);
            registers(&second.node, tell);
        }
        _ => {}
    }
}

/// Whether some instruction of 128 bits has it.
fn has_128(litmus: &Litmus, name: &str) -> bool {
    instructions(litmus).any(|instruction| {
        has(instruction, "b128") && {
            let mut found = false;
            instruction.operands.iter().for_each(|operand| registers(&operand.node, &mut |own| found |= own == name));
            found
        }
    })
}

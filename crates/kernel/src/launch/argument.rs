//! The value of a parameter: a number that fits it, a pointer, a tensor map, bytes, or a struct of these.

use super::table::{Wrong, number, wrong};
use super::tensor_map::tensor_map;
use super::toml::{Table, Value};
use super::{Argument, BufferSpec, Field};
use crate::code::ty::{Kind, Ty};
use crate::code::{Module, Parameter, Variable};

const KEYS: [&str; 8] = ["name", "buffer", "variable", "offset", "map", "value", "fields", "type"];
const POINTER: u32 = 8;
const MAP: u32 = 128;

/// What a pointer may lead to.
#[derive(Copy, Clone)]
pub(super) struct Places<'a> {
    pub module: &'a Module,
    pub buffers: &'a [BufferSpec],
}

/// What a value is for: a parameter, or a field of one.
struct Slot {
    name: String,
    bytes: u32,
    ty: Ty,
    is_array: bool,
}

pub(super) fn argument(table: &Table, parameter: &Parameter, places: Places) -> Result<Argument, Wrong> {
    let name = format!("parameter `{}`", parameter.name);
    let slot = Slot { name, bytes: parameter.bytes, ty: parameter.ty, is_array: parameter.is_array };
    match table.get("fields") {
        None => slot.value(table, places),
        Some(Value::List(items)) => slot.fields(items, places),
        Some(_) => wrong(format!("{}: `fields` is a list of tables", slot.name)),
    }
}

/// A number of the command line for a parameter.
pub fn of_text(text: &str, parameter: &Parameter) -> Result<Argument, Wrong> {
    let name = format!("parameter `{}`", parameter.name);
    let slot = Slot { name, bytes: parameter.bytes, ty: parameter.ty, is_array: parameter.is_array };
    match (text.parse::<i128>(), text.parse::<f64>()) {
        (Ok(value), _) => slot.integer(value),
        (_, Ok(value)) => slot.float(value),
        _ => wrong(format!("`{text}` is no number")),
    }
}

impl Slot {
    fn wrong<T>(&self, why: impl std::fmt::Display) -> Result<T, Wrong> {
        wrong(format!("{}: {why}", self.name))
    }

    fn value(&self, table: &Table, places: Places) -> Result<Argument, Wrong> {
        if let Some(key) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
            return self.wrong(format!("`{key}` is not known; there are {}", KEYS.join(", ")));
        }
        let buffer = self.buffer(table, places.buffers)?;
        if let Some(variable) = table.get("variable") {
            if let Some(key) = ["buffer", "map", "value"].into_iter().find(|key| table.contains_key(*key)) {
                return self.wrong(format!("it has a `variable` and a `{key}`; it may have one of them"));
            }
            return self.variable(table, variable, places.module);
        }
        match (table.get("map"), buffer, table.get("value")) {
            (Some(Value::Table(map)), Some(buffer), None) => self.map(map, buffer),
            (Some(_), None, _) => self.wrong("a map is over a `buffer`"),
            (Some(_), ..) => self.wrong("`map` is a table"),
            (None, Some(_), Some(_)) => self.wrong("it has a `buffer` and a `value`; it may have one of them"),
            (None, Some(buffer), None) => self.pointer(table, buffer, places.buffers),
            (None, None, Some(Value::Integer(value))) => self.integer(*value),
            (None, None, Some(Value::Float(value))) => self.float(*value),
            (None, None, Some(Value::Boolean(value))) => self.integer(i128::from(*value)),
            (None, None, Some(Value::List(items))) => self.bytes(items),
            (None, None, _) => self.wrong("it has a `value`, a `buffer`, a `variable`, a `map` or `fields`"),
        }
    }

    fn buffer(&self, table: &Table, buffers: &[BufferSpec]) -> Result<Option<usize>, Wrong> {
        match table.get("buffer") {
            None => Ok(None),
            Some(Value::Text(name)) => match buffers.iter().position(|buffer| buffer.name == *name) {
                Some(index) => Ok(Some(index)),
                None => self.wrong(format!("there is no buffer `{name}`")),
            },
            Some(_) => self.wrong("`buffer` is a name"),
        }
    }

    fn pointer(&self, table: &Table, buffer: usize, buffers: &[BufferSpec]) -> Result<Argument, Wrong> {
        let offset = self.offset(table, "buffer", buffers[buffer].bytes)?;
        Ok(Argument::Pointer { buffer, offset })
    }

    /// The address of a global or constant variable of the module, as `cudaGetSymbolAddress` gives it to the host.
    fn variable(&self, table: &Table, name: &Value, module: &Module) -> Result<Argument, Wrong> {
        let Value::Text(name) = name else { return self.wrong("`variable` is a name") };
        let has_address = |own: &&Variable| own.name == *name && own.address != 0;
        let Some(own) = module.variables.iter().find(has_address) else {
            return self.wrong(format!("the module has no global or constant variable `{name}`"));
        };
        let offset = self.offset(table, "variable", u64::from(own.bytes.unwrap_or(0)))?;
        Ok(Argument::Integer(own.address + offset))
    }

    /// Where a pointer leads in what it points to.
    fn offset(&self, table: &Table, place: &str, most: u64) -> Result<u64, Wrong> {
        if self.bytes < POINTER {
            return self.wrong(format!("a pointer has {POINTER} bytes, and there are {}", self.bytes));
        }
        let offset = number(table, "offset")?.unwrap_or(0);
        match u64::try_from(offset) {
            Ok(offset) if offset <= most => Ok(offset),
            _ => self.wrong(format!("the offset is {offset}; the {place} has {most} bytes")),
        }
    }

    fn map(&self, table: &Table, buffer: usize) -> Result<Argument, Wrong> {
        if self.bytes < MAP {
            return self.wrong(format!("a tensor map has {MAP} bytes, and there are {}", self.bytes));
        }
        let map =
            tensor_map(table).map_err(|bad| Wrong { message: format!("{}: {}", self.name, bad.message), ..bad })?;
        match map.validate() {
            Ok(()) => Ok(Argument::Map { map, buffer }),
            Err(why) => self.wrong(why),
        }
    }

    fn integer(&self, value: i128) -> Result<Argument, Wrong> {
        if self.ty.kind == Kind::Float && !self.is_array {
            return Ok(Argument::Float(value as f64));
        }
        let bits = self.bytes * 8;
        if self.is_array && bits > 64 {
            return self.wrong(format!("it has {} bytes: give them as `value = [...]` or as `fields`", self.bytes));
        }
        let bits = bits.min(64);
        if !(-(1i128 << (bits - 1))..1i128 << bits).contains(&value) {
            return self.wrong(format!("{value} does not fit {bits} bits"));
        }
        Ok(Argument::Integer(value as u64))
    }

    /// A float goes where one is: into `.f32` and `.f64`, or into bits of these sizes.
    fn float(&self, value: f64) -> Result<Argument, Wrong> {
        match self.ty.kind {
            Kind::Float => Ok(Argument::Float(value)),
            Kind::Bits | Kind::Opaque if !self.is_array && matches!(self.ty.bits, 32 | 64) => {
                Ok(Argument::Float(value))
            }
            Kind::Bits | Kind::Opaque => {
                self.wrong(format!("{value:?} is a float, which has 4 or 8 bytes; give its bits as a number"))
            }
            _ => self.wrong(format!("{value:?} is a float, and an integer is expected")),
        }
    }

    fn bytes(&self, items: &[Value]) -> Result<Argument, Wrong> {
        if items.len() != self.bytes as usize {
            return self.wrong(format!("{} bytes are given, and it has {}", items.len(), self.bytes));
        }
        let mut bytes = Vec::with_capacity(items.len());
        for item in items {
            match item {
                Value::Integer(value) if (0..256).contains(value) => bytes.push(*value as u8),
                _ => return self.wrong("a list holds bytes, each 0 to 255"),
            }
        }
        Ok(Argument::Bytes(bytes))
    }

    /// `fields = [{ offset = 0, buffer = "a" }, { offset = 8, value = 3 }]`.
    fn fields(&self, items: &[Value], places: Places) -> Result<Argument, Wrong> {
        let mut fields: Vec<Field> = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let Value::Table(table) = item else { return self.wrong("`fields` is a list of tables") };
            let offset = match number(table, "offset")? {
                Some(offset) if (0..i128::from(self.bytes)).contains(&offset) => offset as u32,
                Some(offset) => {
                    return self.wrong(format!("field {index} is at {offset}; it has {} bytes", self.bytes));
                }
                None => return self.wrong(format!("field {index} has no `offset`")),
            };
            let field = self.field(index, offset, table, places)?;
            let overlaps = |other: &&Field| offset < other.offset + other.bytes && other.offset < offset + field.bytes;
            if let Some(other) = fields.iter().find(overlaps) {
                return self.wrong(format!("the fields at {} and {offset} overlap", other.offset));
            }
            fields.push(field);
        }
        Ok(Argument::Fields(fields))
    }

    fn field(&self, index: usize, offset: u32, table: &Table, places: Places) -> Result<Field, Wrong> {
        let mut own = table.clone();
        // Of a pointer, `offset` would be one into its buffer: `at` says that there.
        own.remove("offset");
        if let Some(at) = own.remove("at") {
            own.insert("offset".to_owned(), at);
        }
        let name = format!("{}, field {index}", self.name);
        let ty = self.field_type(&name, &own)?;
        let bytes = match () {
            () if own.contains_key("map") => MAP,
            () if own.contains_key("buffer") || own.contains_key("variable") => POINTER,
            () => match own.get("value") {
                Some(Value::List(items)) => items.len() as u32,
                _ => ty.bytes(),
            },
        };
        if bytes == 0 || offset + bytes > self.bytes {
            let whole = self.bytes;
            return wrong(format!("{name}: {bytes} bytes at {offset} do not fit; the parameter has {whole}"));
        }
        let is_array = matches!(own.get("value"), Some(Value::List(_))) || own.contains_key("map");
        let value = Slot { name, bytes, ty, is_array }.value(&own, places)?;
        Ok(Field { offset, bytes, value })
    }

    /// `type = "u64"`; else four bytes, a float if the value is one.
    fn field_type(&self, name: &str, table: &Table) -> Result<Ty, Wrong> {
        match (table.get("type"), table.get("value")) {
            (Some(Value::Text(word)), _) => match Ty::of(word) {
                Some(ty) if ty.bits >= 8 => Ok(ty),
                _ => wrong(format!("{name}: the type `{word}` is not known")),
            },
            (Some(_), _) => wrong(format!("{name}: `type` is a text such as \"u32\"")),
            (None, Some(Value::Float(_))) => Ok(Ty { kind: Kind::Float, bits: 32 }),
            (None, _) => Ok(Ty::U32),
        }
    }
}

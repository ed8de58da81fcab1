//! What a cat expression denotes while the model is compiled, and the environment that holds it.
//!
//! Sets and relations are nodes of the graph. Functions, procedures and tuples exist only here: they are expanded.
//! [`Value::Class`], [`Value::Orders`] and [`Value::Collection`] exist only while a `with … from` is being understood
//! (see [`crate::model::compile::orders`]).

use std::cell::Cell;
use std::rc::Rc;

use fencepost_syntax::Spanned;
use fencepost_syntax::cat::{CatInstruction, Expression, Pattern};
use fencepost_syntax::sorted::SortedSet;

use crate::model::compile::graph::Place;
use crate::model::ir::{FileId, NodeId};
use crate::model::vocabulary::names::Primitive;

#[derive(Clone, Debug)]
pub(crate) enum Value {
    Set(NodeId),
    Relation(NodeId),
    /// `0` or `{}`: the empty set or the empty relation, as the context needs.
    Empty,
    /// `~0`.
    Full,
    Tuple(Vec<Value>),
    Function(Rc<Closure>),
    Primitive(Primitive),
    Procedure(Rc<Procedure>),
    /// The writes of one location of the sample.
    Class(u32),
    /// A union of total orders of the sample: `(class, which of its orders)`.
    Orders(SortedSet<(u32, u32)>),
    /// A set of such values.
    Collection(Vec<Value>),
    /// A definition that has a value only while a `with … from` is being understood.
    Suspended(Rc<Suspended>),
}

#[derive(Debug)]
pub(crate) struct Closure {
    pub(crate) name: String,
    pub(crate) parameters: Vec<Pattern>,
    pub(crate) body: Spanned<Expression>,
    pub(crate) environment: Environment,
    pub(crate) file: FileId,
}

#[derive(Debug)]
pub(crate) struct Procedure {
    pub(crate) parameters: Vec<Pattern>,
    pub(crate) body: Vec<Spanned<CatInstruction>>,
    pub(crate) environment: Environment,
    pub(crate) file: FileId,
}

#[derive(Debug)]
pub(crate) struct Suspended {
    pub(crate) expression: Spanned<Expression>,
    pub(crate) environment: Environment,
    pub(crate) file: FileId,
}

impl Value {
    /// The type, for messages.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Value::Set(_) => "a set of events",
            Value::Relation(_) => "a relation",
            Value::Empty => "an empty set or relation",
            Value::Full => "a full set or relation",
            Value::Tuple(_) => "a tuple",
            Value::Function(_) | Value::Primitive(_) => "a function",
            Value::Procedure(_) => "a procedure",
            Value::Class(_) => "a set of writes",
            Value::Orders(_) => "an order",
            Value::Collection(_) | Value::Suspended(_) => "a set of sets or orders",
        }
    }
}

/// Why an expression has no value. It travels with the definition it spoils until that is used.
#[derive(Debug)]
pub(crate) struct Trouble {
    pub(crate) place: Place,
    pub(crate) message: String,
    pub(crate) label: String,
    pub(crate) help: Option<String>,
    pub(crate) kind: TroubleKind,
    pub(crate) reported: Cell<bool>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum TroubleKind {
    Ordinary,
    /// Sets of sets and of orders are understood in `with … from` only.
    NeedsSample,
    /// Expansion is too deep or too large: no `try` may hide it.
    Limit,
}

impl Trouble {
    pub(crate) fn new(place: Place, message: impl Into<String>, label: impl Into<String>) -> Trouble {
        Trouble {
            place,
            message: message.into(),
            label: label.into(),
            help: None,
            kind: TroubleKind::Ordinary,
            reported: Cell::new(false),
        }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Trouble {
        self.help = Some(help.into());
        self
    }

    pub(crate) fn kind(mut self, kind: TroubleKind) -> Trouble {
        self.kind = kind;
        self
    }
}

pub(crate) type Evaluated<T> = Result<T, Rc<Trouble>>;

/// A place in the chain of bindings; later bindings shadow earlier ones.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Environment(Option<u32>);

/// All bindings ever made, each with the one it was made on top of.
#[derive(Debug, Default)]
pub(crate) struct Bindings {
    entries: Vec<(String, Evaluated<Value>, Environment)>,
    /// By binding, a number that equal names share: the chain is walked for every name of a model, and comparing
    /// the texts was a tenth of the time of loading one.
    digests: Vec<(u32, Environment)>,
}

/// FNV-1a.
fn digest(name: &str) -> u32 {
    name.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

impl Bindings {
    pub(crate) fn bind(&mut self, on: Environment, name: &str, value: Evaluated<Value>) -> Environment {
        self.entries.push((name.to_owned(), value, on));
        self.digests.push((digest(name), on));
        Environment(Some(self.entries.len() as u32 - 1))
    }

    /// Gives the newest binding of a recursive definition its value, once the definition can refer to itself.
    pub(crate) fn set(&mut self, at: Environment, value: Evaluated<Value>) {
        if let Some(entry) = at.0.and_then(|index| self.entries.get_mut(index as usize)) {
            entry.1 = value;
        }
    }

    pub(crate) fn get(&self, from: Environment, name: &str) -> Option<&Evaluated<Value>> {
        let wanted = digest(name);
        let mut at = from.0;
        while let Some(index) = at {
            let (found, below) = *self.digests.get(index as usize)?;
            if found == wanted {
                let (bound, value, _) = self.entries.get(index as usize)?;
                if bound == name {
                    return Some(value);
                }
            }
            at = below.0;
        }
        None
    }

    /// The names visible from here, newest first.
    pub(crate) fn names(&self, from: Environment) -> impl Iterator<Item = &str> {
        let mut at = from.0;
        std::iter::from_fn(move || {
            let (name, _, below) = self.entries.get(at? as usize)?;
            at = below.0;
            Some(name.as_str())
        })
    }
}

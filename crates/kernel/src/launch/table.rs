//! Values of the tables of a launch file, and what is wrong with one.

use super::toml::{Table, Value};

/// What is wrong with a launch: a line of its file if one is to blame, and a sentence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wrong {
    pub line: Option<usize>,
    pub message: String,
}

pub(super) fn wrong<T>(message: impl Into<String>) -> Result<T, Wrong> {
    Err(Wrong { line: None, message: message.into() })
}

pub(super) fn tables<'t>(table: &'t Table, name: &str) -> Result<Vec<&'t Table>, Wrong> {
    match table.get(name) {
        None => Ok(Vec::new()),
        Some(Value::List(items)) => {
            let found: Option<Vec<&Table>> = items
                .iter()
                .map(|item| match item {
                    Value::Table(table) => Some(table),
                    _ => None,
                })
                .collect();
            found.ok_or_else(|| Wrong { line: None, message: format!("`{name}` is a list of tables: [[{name}]]") })
        }
        Some(_) => wrong(format!("`{name}` is a list of tables: [[{name}]]")),
    }
}

pub(super) fn number(table: &Table, key: &str) -> Result<Option<i128>, Wrong> {
    match table.get(key) {
        None => Ok(None),
        Some(Value::Integer(value)) => Ok(Some(*value)),
        Some(_) => wrong(format!("`{key}` is a number")),
    }
}

pub(super) fn numbers(table: &Table, key: &str) -> Result<Option<Vec<i128>>, Wrong> {
    match table.get(key) {
        None => Ok(None),
        Some(Value::Integer(value)) => Ok(Some(vec![*value])),
        Some(Value::List(items)) => {
            let found: Option<Vec<i128>> = items
                .iter()
                .map(|item| match item {
                    Value::Integer(value) => Some(*value),
                    _ => None,
                })
                .collect();
            found.map(Some).ok_or_else(|| Wrong { line: None, message: format!("`{key}` is a list of numbers") })
        }
        Some(_) => wrong(format!("`{key}` is a list of numbers")),
    }
}

//! The neutral form as JSON has it: a list of tests, each with its threads, its question and the answers that others
//! published. A field that is not here is refused by its name.

use std::fmt::Formatter;
use std::marker::PhantomData;

use fencepost_syntax::sorted::SortedMap;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// What JSON has by name. Of a name that is there twice, the last value stands.
#[derive(Default)]
pub(super) struct Table<V>(pub(super) SortedMap<String, V>);

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Table<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Table<V>, D::Error> {
        deserializer.deserialize_map(Entries(PhantomData))
    }
}

struct Entries<V>(PhantomData<V>);

impl<'de, V: Deserialize<'de>> Visitor<'de> for Entries<V> {
    type Value = Table<V>;

    fn expecting(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Table<V>, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Table(entries.into_iter().collect()))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Form {
    pub(super) id: String,
    /// Which collection it is from; says nothing that the threads do not.
    #[serde(default)]
    #[expect(dead_code, reason = "part of the form")]
    pub(super) suite: Value,
    /// Sets of threads, the CTAs; `ctas` says the same, and so does the number of each thread.
    #[serde(default)]
    pub(super) scope_tree: Option<Vec<Vec<usize>>>,
    #[serde(default)]
    pub(super) ctas: Option<Vec<Vec<usize>>>,
    #[serde(default)]
    pub(super) init: Table<i64>,
    pub(super) threads: Vec<Thread>,
    /// Without it: every read returns its `asked_value`.
    #[serde(default)]
    pub(super) condition: Option<String>,
    #[serde(default)]
    pub(super) expected: Expected,
    /// For people.
    #[serde(default)]
    #[expect(dead_code, reason = "part of the form")]
    pub(super) notes: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Thread {
    /// Threads are known by their number; the name is for people.
    #[serde(default)]
    #[expect(dead_code, reason = "part of the form")]
    pub(super) name: Value,
    pub(super) arch: String,
    pub(super) device: String,
    #[serde(default)]
    pub(super) cta: usize,
    pub(super) instrs: Vec<Instruction>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Instruction {
    pub(super) op: String,
    #[serde(default)]
    pub(super) addr: Option<String>,
    #[serde(default)]
    pub(super) value: Option<i64>,
    /// What the question wants a read to return; it is in the condition too.
    #[serde(default)]
    pub(super) asked_value: Option<i64>,
    pub(super) sem: String,
    pub(super) scope: String,
    /// The read of the same thread that this instruction depends on, by its place.
    #[serde(default)]
    pub(super) dep_from: Option<usize>,
    #[serde(default)]
    #[expect(dead_code, reason = "part of the form")]
    pub(super) note: Value,
}

/// Verdicts are `allowed` and `forbidden`; `unknown` is none.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct Expected {
    /// What the authors of the test wrote beside it, of whichever model they had in mind.
    #[serde(default)]
    #[expect(dead_code, reason = "part of the form")]
    pub(super) annotation: Value,
    /// By model.
    #[serde(default)]
    pub(super) axiomatic: Option<Table<Option<String>>>,
    /// Under LOST-POP.
    #[serde(default)]
    pub(super) operational: Option<String>,
}

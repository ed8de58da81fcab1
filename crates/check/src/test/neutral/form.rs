//! The neutral form as JSON has it: a list of tests, each with its threads, its question and the answers that others
//! published. A field that is not here is refused by its name.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

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
    pub(super) init: BTreeMap<String, i64>,
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
    pub(super) axiomatic: Option<BTreeMap<String, Option<String>>>,
    /// Under LOST-POP.
    #[serde(default)]
    pub(super) operational: Option<String>,
}

//! A counterexample as text: in one line, and as a C litmus test that `check` and `map` can be asked about.

use std::fmt::Write;

use crate::bounded::shape::Operation;
use crate::bounded::{Counterexample, Lost};
use crate::label::{Kind, Label, Level, Order};

const LOCATIONS: [&str; 6] = ["x", "y", "z", "u", "v", "w"];

fn location(operation: &Operation) -> &'static str {
    operation.location.and_then(|location| LOCATIONS.get(location)).copied().unwrap_or("x")
}

/// Sums of two of these are none of these, so that a fetch-and-add that reads another value writes one that nobody expects.
fn written(operation: usize) -> i64 {
    1 << operation
}

fn order(order: Order) -> &'static str {
    match order {
        Order::Relaxed | Order::NonAtomic => "memory_order_relaxed",
        Order::Acquire => "memory_order_acquire",
        Order::Release => "memory_order_release",
        Order::AcqRel => "memory_order_acq_rel",
        Order::SeqCst => "memory_order_seq_cst",
    }
}

fn scope(level: Level) -> &'static str {
    match level {
        Level::Cta => "memory_scope_work_group",
        Level::System => "memory_scope_all_svm_devices",
    }
}

impl Counterexample {
    /// The value a read returns.
    fn value(&self, read: usize) -> i64 {
        self.behaviour.source[read].map_or(0, written)
    }

    pub fn events(&self) -> usize {
        self.shape.operations().map(|operation| operation.kind.events()).sum()
    }

    /// `P0@cta 0: W.sc x=1 | P1: R.sc x=1; R.sc y=0 | x=1`.
    pub fn line(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        for (thread, operations) in self.shape.threads.iter().enumerate() {
            let first = self.shape.first(thread);
            let place = match self.placement.0[thread] {
                Some(cta) => format!("@cta {cta}"),
                None => String::new(),
            };
            let all: Vec<String> =
                (operations.iter().enumerate()).map(|(at, operation)| self.short(first + at, operation)).collect();
            parts.push(format!("P{thread}{place}: {}", all.join("; ")));
        }
        let last = self.last().into_iter().map(|(name, value)| format!("{name}={value}"));
        let last: Vec<String> = last.collect();
        if !last.is_empty() {
            parts.push(format!("at the end {}", last.join(" ")));
        }
        parts.join(" | ")
    }

    fn short(&self, number: usize, operation: &Operation) -> String {
        let label = self.labels[number];
        let scope = if label.is_nothing() || label.level() == Level::System { "" } else { ".cta" };
        let order = format!(".{}{scope}", label.order().short().to_lowercase());
        match operation.kind {
            Kind::Read => format!("R{order} {}={}", location(operation), self.value(number)),
            Kind::Write => format!("W{order} {}={}", location(operation), written(number)),
            Kind::ReadModifyWrite => {
                format!("RMW{order} {}={}→{}", location(operation), self.value(number), written(number))
            }
            Kind::Fence => format!("F{order}"),
        }
    }

    /// What locations with several writes end with.
    fn last(&self) -> Vec<(&'static str, i64)> {
        let writes = |location: usize| {
            self.shape.operations().filter(|op| op.kind.writes() && op.location == Some(location)).count()
        };
        (self.behaviour.last.iter().enumerate())
            .filter(|(location, _)| writes(*location) > 1)
            .filter_map(|(location, last)| Some((LOCATIONS.get(location).copied()?, written((*last)?))))
            .collect()
    }

    /// As a litmus test whose condition is the behaviour.
    pub fn c_text(&self, name: &str) -> String {
        let mut text = format!("C {name}\n");
        let why = match self.lost {
            Lost::Promised => "The compiled test does this, the test does not.",
            Lost::ThinAir => "The compiled test does this; only the axiom against thin air keeps the test from it.",
        };
        let _ = writeln!(text, "\"{why}\"");
        let names = LOCATIONS.iter().take(self.shape.locations);
        let declared: Vec<String> = names.clone().map(|name| format!("{name} = 0;")).collect();
        let _ = writeln!(text, "{{ {} }}", declared.join(" "));
        let parameters: Vec<String> = names.map(|name| format!("int* {name}")).collect();
        for thread in 0..self.shape.threads.len() {
            let place = match self.placement.0[thread] {
                Some(cta) => format!("@cta {cta}, gpu 0"),
                None => String::new(),
            };
            let _ = writeln!(text, "P{thread}{place} ({}) {{", parameters.join(", "));
            self.body(thread, &mut text);
            text.push_str("}\n");
        }
        let _ = writeln!(text, "~exists ({})", self.condition());
        text
    }

    fn condition(&self) -> String {
        let mut parts = Vec::new();
        for (number, operation) in self.shape.operations().enumerate() {
            if operation.kind.reads() {
                parts.push(format!("P{}:r{number} = {}", self.shape.thread_of(number), self.value(number)));
            }
        }
        parts.extend(self.last().into_iter().map(|(name, value)| format!("{name} = {value}")));
        if parts.is_empty() { "true".to_owned() } else { parts.join(" /\\ ") }
    }

    fn body(&self, thread: usize, text: &mut String) {
        let first = self.shape.first(thread);
        let operations = &self.shape.threads[thread];
        for at in (0..operations.len()).filter(|at| operations[*at].kind.reads()) {
            let start = if self.guards.compares[first + at] { self.value(first + at) } else { -1 };
            let _ = writeln!(text, "    int r{} = {start};", first + at);
        }
        let mut depth = 1;
        for (at, operation) in operations.iter().enumerate() {
            let number = first + at;
            let _ = writeln!(text, "{}{}", "    ".repeat(depth), self.statement(number, operation));
            if self.guards.guarded[number] && at + 1 < operations.len() {
                let _ = writeln!(text, "{}if (r{number} == {}) {{", "    ".repeat(depth), self.value(number));
                depth += 1;
            }
        }
        for depth in (1..depth).rev() {
            let _ = writeln!(text, "{}}}", "    ".repeat(depth));
        }
    }

    fn statement(&self, number: usize, operation: &Operation) -> String {
        let label: Label = self.labels[number];
        let (order_word, scope_word) = (order(label.order()), scope(label.level()));
        let place = location(operation);
        let value = written(number);
        match (operation.kind, label.is_nothing()) {
            (Kind::Read, true) => format!("r{number} = *{place};"),
            (Kind::Write, true) => format!("*{place} = {value};"),
            (Kind::Read, false) => format!("r{number} = atomic_load_explicit({place}, {order_word}, {scope_word});"),
            (Kind::Write, false) => {
                format!("atomic_store_explicit({place}, {value}, {order_word}, {scope_word});")
            }
            (Kind::ReadModifyWrite, _) if self.guards.compares[number] => {
                let failing = match label.order() {
                    Order::SeqCst => Order::SeqCst,
                    _ if label.acquires() => Order::Acquire,
                    _ => Order::Relaxed,
                };
                let failing = order(failing);
                format!(
                    "atomic_compare_exchange_strong_explicit({place}, &r{number}, {value}, {order_word}, {failing}, {scope_word});"
                )
            }
            (Kind::ReadModifyWrite, _) => {
                let more = value - self.value(number);
                format!("r{number} = atomic_fetch_add_explicit({place}, {more}, {order_word}, {scope_word});")
            }
            (Kind::Fence, _) => format!("atomic_thread_fence({order_word}, {scope_word});"),
        }
    }
}

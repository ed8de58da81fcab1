//! Small programs as data that can be shrunk, and their litmus text: what the random generators make and a failing run
//! prints. Going through text puts the parser, the lowering and the unfolding under test too.
//!
//! A step is its lines. A structure with one case per instruction would say more, but every form not foreseen in it could
//! not be generated, and shrinking needs no more than lines that can be dropped and words that can be replaced.

/// The notation, which decides the meaning of barriers and of a failing compare-and-swap.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Style {
    /// Dartagnan's PTX.
    Dartagnan,
    /// Real PTX.
    Ptx,
    X86,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Test {
    pub(crate) style: Style,
    pub(crate) declarations: Vec<Entry>,
    pub(crate) threads: Vec<Thread>,
    /// Joined by `connective`.
    pub(crate) condition: Vec<Entry>,
    pub(crate) connective: &'static str,
    /// A conjunction.
    pub(crate) filter: Vec<Entry>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Thread {
    pub(crate) cta: u8,
    pub(crate) gpu: u8,
    pub(crate) code: Vec<Step>,
}

/// Instructions that stay together; labels do not leave a step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Step {
    pub(crate) lines: Vec<String>,
    /// Memory events, counted as the oracle suffers from them.
    pub(crate) weight: usize,
    /// Registers it sets that a condition may ask for.
    pub(crate) sets: Vec<String>,
}

/// A declaration or claim, of one thread (`P0:r1 = 1`) or of none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    pub(crate) thread: Option<usize>,
    pub(crate) text: String,
}

impl Step {
    pub(crate) fn new(weight: usize, lines: &[String]) -> Step {
        Step { lines: lines.to_vec(), weight, sets: Vec::new() }
    }

    pub(crate) fn sets(mut self, register: &str) -> Step {
        self.sets.push(register.to_string());
        self
    }
}

impl Entry {
    fn print(&self, style: Style) -> String {
        match (self.thread, style) {
            (None, _) => self.text.clone(),
            (Some(thread), Style::X86) => format!("{thread}:{}", self.text),
            (Some(thread), _) => format!("P{thread}:{}", self.text),
        }
    }
}

impl Test {
    pub(crate) fn text(&self) -> String {
        let arch = if self.style == Style::X86 { "X86" } else { "PTX" };
        let mut text = format!("{arch} random\n{{\n");
        for entry in &self.declarations {
            text.push_str(&format!("{};\n", entry.print(self.style)));
        }
        text.push_str("}\n");
        match self.style {
            Style::Ptx => self.blocks(&mut text),
            Style::Dartagnan | Style::X86 => self.columns(&mut text),
        }
        if !self.filter.is_empty() {
            text.push_str(&format!("filter ({})\n", self.joined(&self.filter, "/\\")));
        }
        if !self.condition.is_empty() {
            text.push_str(&format!("exists ({})\n", self.joined(&self.condition, self.connective)));
        }
        text
    }

    fn joined(&self, claims: &[Entry], connective: &str) -> String {
        let claims: Vec<String> = claims.iter().map(|claim| claim.print(self.style)).collect();
        claims.join(&format!(" {connective} "))
    }

    fn blocks(&self, text: &mut String) {
        for (index, thread) in self.threads.iter().enumerate() {
            text.push_str(&format!("P{index}@cta {}, gpu {} {{\n", thread.cta, thread.gpu));
            // The `%` of a register is what shows that the notation is real PTX, also after shrinking.
            text.push_str("  mov.u32 %r0, 0;\n");
            for line in thread.code.iter().flat_map(|step| &step.lines) {
                text.push_str(&format!("  {line}\n"));
            }
            text.push_str("}\n");
        }
    }

    fn columns(&self, text: &mut String) {
        let column = |(index, thread): (usize, &Thread)| -> Vec<String> {
            let head = match self.style {
                Style::X86 => format!("P{index}"),
                _ => format!("P{index}@cta {}, gpu {}", thread.cta, thread.gpu),
            };
            [head].into_iter().chain(thread.code.iter().flat_map(|step| step.lines.clone())).collect()
        };
        let columns: Vec<Vec<String>> = self.threads.iter().enumerate().map(column).collect();
        let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
        for row in 0..rows {
            let cells = columns.iter().map(|column| column.get(row).map_or("", String::as_str));
            let cells: Vec<String> = cells.map(|cell| format!("{cell:<28}")).collect();
            text.push_str(&format!(" {} ;\n", cells.join(" | ")));
        }
    }
}

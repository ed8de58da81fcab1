//! A test of the neutral form as a litmus test: PTX threads as PTX, x86 and SC threads as x86, XC and ARM threads as PTX
//! that only a machine of theirs runs. A read gets the register of its place in the thread.
//!
//! A dependency onto an access is one of its address, so that only that access has it. Onto a fence, and in x86, it is a
//! branch: a machine then holds everything behind it back, as it does anyway, accepting in order; and no x86 axiom looks
//! at dependencies.

use std::fmt::Write;

use fencepost_syntax::sorted::{SortedMap, SortedSet};

use super::form::{Form, Instruction, Thread};
use super::{Family, Refused, refuse};

const X86_REGISTERS: [&str; 14] =
    ["EAX", "EBX", "ECX", "EDX", "ESI", "EDI", "R8D", "R9D", "R10D", "R11D", "R12D", "R13D", "R14D", "R15D"];

pub(super) fn text(form: &Form) -> Result<String, Refused> {
    let families = form.threads.iter().map(|thread| Family::of(&thread.arch)).collect::<Result<Vec<_>, _>>()?;
    // A line break would make the rest of the name a part of the test.
    if form.id.chars().any(char::is_control) {
        return refuse(format!("the name {:?}: a name has no control characters", form.id));
    }
    let is_x86 = !families.is_empty() && families.iter().all(|family| family.is_x86());
    let mut text = format!("{} {}\n", if is_x86 { "X86" } else { "PTX" }, form.id);
    if let Some(family) = families.iter().find(|family| family.option().is_some()) {
        let (name, option) = (family.name(), family.option().unwrap_or_default());
        let _ = writeln!(text, "\"{name} threads: for `fencepost machine lost-pop --arch {option}`.\"");
    }
    text.push_str("{\n");
    // What is not initialised is 0.
    let addresses = form.threads.iter().flat_map(|thread| &thread.instrs).filter_map(|it| it.addr.as_ref());
    let given = form.init.0.iter().map(|(name, value)| (name, *value));
    let init: SortedMap<&String, i64> = addresses.map(|name| (name, 0)).chain(given).collect();
    for (name, value) in init {
        let _ = writeln!(text, "{} = {value};", identifier(name)?);
    }
    text.push_str("}\n");
    let places = Places::new(form)?;
    for (number, (thread, family)) in form.threads.iter().zip(&families).enumerate() {
        let place = match (is_x86, family.is_x86()) {
            (true, _) => String::new(),
            (false, true) => "@x86".to_owned(),
            (false, false) => format!("@cta {}, gpu 0", thread.cta),
        };
        let _ = writeln!(text, "P{number}{place} {{");
        let writer = Writer { form, family: *family, number, thread, places: &places };
        for (at, instruction) in thread.instrs.iter().enumerate() {
            writer.instruction(&mut text, at, instruction)?;
        }
        text.push_str("}\n");
    }
    text.push_str(&condition(form, &families)?);
    text.push('\n');
    Ok(text)
}

/// A location's name in every architecture.
fn identifier(name: &str) -> Result<&str, Refused> {
    let is_word = name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_');
    if is_word && name.starts_with(|it: char| it.is_ascii_alphabetic()) {
        Ok(name)
    } else {
        refuse(format!("the location `{name}`: a name is a letter, then letters, digits and `_`"))
    }
}

/// The CTAs.
struct Places {
    sets: SortedSet<SortedSet<usize>>,
}

impl Places {
    fn new(form: &Form) -> Result<Places, Refused> {
        let of_threads = form.threads.iter().map(|thread| thread.cta);
        let numbers: SortedSet<usize> = of_threads.clone().collect();
        let set = |cta: usize| of_threads.clone().enumerate().filter(|it| it.1 == cta).map(|it| it.0).collect();
        let sets: SortedSet<SortedSet<usize>> = numbers.into_iter().map(set).collect();
        for (field, said) in [("scope_tree", &form.scope_tree), ("ctas", &form.ctas)] {
            let said = said.as_ref().map(|sets| sets.iter().map(|set| set.iter().copied().collect()).collect());
            if said.is_some_and(|said: SortedSet<SortedSet<usize>>| said != sets) {
                return refuse(format!("`{field}` and the `cta` of the threads are not the same sets"));
            }
        }
        Ok(Places { sets })
    }

    fn around(&self, thread: usize) -> impl Iterator<Item = usize> {
        self.sets.iter().find(|set| set.contains(&thread)).into_iter().flatten().copied()
    }
}

struct Writer<'a> {
    form: &'a Form,
    family: Family,
    number: usize,
    thread: &'a Thread,
    places: &'a Places,
}

impl Writer<'_> {
    fn instruction(&self, text: &mut String, at: usize, instruction: &Instruction) -> Result<(), Refused> {
        let (semantics, scope) = (instruction.sem.as_str(), self.scope(instruction)?);
        self.well_formed(instruction)?;
        let address = self.depend(text, at, instruction)?;
        let value = instruction.value.unwrap_or(0);
        if self.family.is_x86() {
            match (instruction.op.as_str(), semantics) {
                ("R", "plain") => {
                    let register = register(self.family, self.thread, at);
                    let Some(register) = register else { return refuse("more than 14 reads of an x86 thread") };
                    let _ = writeln!(text, "  mov {register}, [{address}]");
                }
                ("W", "plain") => drop(writeln!(text, "  mov [{address}], ${value}")),
                ("F", "mfence") => text.push_str("  mfence\n"),
                // Where all is ordered, a fence of any name orders nothing more.
                ("F", "sc" | "fence" | "plain") if self.family == Family::Sc => text.push_str("  mfence\n"),
                (op, _) => return self.unknown(op, semantics),
            }
            return Ok(());
        }
        let is_arm = self.family == Family::Arm;
        let mark = match (instruction.op.as_str(), semantics) {
            // PTX gives weak accesses no scope.
            ("R" | "W", "weak") if !is_arm && scope == "sys" => ".weak".to_owned(),
            ("R" | "W", "weak") if !is_arm => {
                return refuse(format!(
                    "a weak access with the scope `{scope}`: weak accesses have none, which is `sys`"
                ));
            }
            ("R" | "W", "rlx") if !is_arm => format!(".relaxed.{scope}"),
            ("R" | "W", "plain") if is_arm => format!(".relaxed.{scope}"),
            ("R", "acq") => format!(".acquire.{scope}"),
            ("W", "rel") => format!(".release.{scope}"),
            ("F", "acq") if !is_arm => format!(".acquire.{scope}"),
            ("F", "rel") if !is_arm => format!(".release.{scope}"),
            ("F", "acqrel") if !is_arm => format!(".acq_rel.{scope}"),
            ("F", "sc") if !is_arm => format!(".sc.{scope}"),
            ("F", "dmb" | "dmb_sy") if is_arm => format!(".sc.{scope}"),
            (op, _) => return self.unknown(op, semantics),
        };
        let _ = match instruction.op.as_str() {
            "R" => writeln!(text, "  ld{mark}.u32 %r{at}, [{address}];"),
            "W" => writeln!(text, "  st{mark}.u32 [{address}], {value};"),
            _ => writeln!(text, "  fence{mark};"),
        };
        Ok(())
    }

    /// Which fields an operation has.
    fn well_formed(&self, instruction: &Instruction) -> Result<(), Refused> {
        match instruction.op.as_str() {
            "R" | "W" if instruction.addr.is_none() => {
                refuse(format!("P{}: {} without `addr`", self.number, instruction.op))
            }
            "R" if instruction.value.is_some() => refuse(format!("P{}: a read with `value`", self.number)),
            "W" if instruction.value.is_none() => refuse(format!("P{}: a write without `value`", self.number)),
            "F" if instruction.addr.is_some() || instruction.value.is_some() => {
                refuse(format!("P{}: a fence with `addr` or `value`", self.number))
            }
            "W" | "F" if instruction.asked_value.is_some() => {
                refuse(format!("P{}: {} with `asked_value`", self.number, instruction.op))
            }
            "R" | "W" | "F" => Ok(()),
            other => refuse(format!("the operation `{other}`")),
        }
    }

    fn unknown<T>(&self, op: &str, semantics: &str) -> Result<T, Refused> {
        refuse(format!("`{op}` with the semantics `{semantics}` in a thread of {}", self.family.name()))
    }

    /// What the scope is in the text. A CTA that is the whole system, host threads and all, is the system.
    fn scope(&self, instruction: &Instruction) -> Result<&'static str, Refused> {
        let scope = match instruction.scope.as_str() {
            "cta" => "cta",
            "gpu" => "gpu",
            "sys" => "sys",
            other => return refuse(format!("the scope `{other}`")),
        };
        if scope != "sys" && !matches!(self.family, Family::Ptx | Family::Xc) {
            return refuse(format!("the scope `{scope}` in a thread of {}", self.family.name()));
        }
        if scope == "cta" {
            let around: Vec<usize> = self.places.around(self.number).collect();
            let is_host = |at: &usize| self.form.threads.get(*at).is_some_and(|thread| thread.device == "cpu");
            if around.len() == self.form.threads.len() && around.iter().any(is_host) {
                return Ok("sys");
            }
            if around.iter().any(is_host) {
                return refuse("the scope `cta` of a CTA that has threads of the host, and not all threads");
            }
        }
        Ok(scope)
    }

    /// Makes the instruction depend on a read, and gives the address to use.
    fn depend(&self, text: &mut String, at: usize, instruction: &Instruction) -> Result<String, Refused> {
        let address = match &instruction.addr {
            Some(name) => identifier(name)?.to_owned(),
            None => String::new(),
        };
        let Some(from) = instruction.dep_from else { return Ok(address) };
        let source = self.thread.instrs.get(from).filter(|it| from < at && it.op == "R");
        let register = source.and_then(|_| register(self.family, self.thread, from));
        let Some(register) = register else {
            return refuse(format!("P{}: `dep_from` {from} is no earlier read", self.number));
        };
        if self.family.is_x86() {
            let _ = writeln!(text, "  cmp {register}, {register}\n  jne D{at}\nD{at}:");
        } else if instruction.op == "F" {
            let _ = writeln!(text, "  setp.ne.u32 %p{at}, {register}, {register};\n  @%p{at} bra D{at};\nD{at}:");
        } else {
            let _ = writeln!(text, "  xor.b32 %d{at}, {register}, {register};\n  cvt.u64.u32 %o{at}, %d{at};");
            let _ = writeln!(text, "  mov.u64 %a{at}, {address};\n  add.u64 %a{at}, %a{at}, %o{at};");
            return Ok(format!("%a{at}"));
        }
        Ok(address)
    }
}

/// Of a read. x86 has few registers: they are counted by reads.
fn register(family: Family, thread: &Thread, at: usize) -> Option<String> {
    let is_read = |instruction: &&Instruction| instruction.op == "R";
    thread.instrs.get(at).filter(is_read)?;
    if !family.is_x86() {
        return Some(format!("%r{at}"));
    }
    let before = thread.instrs.iter().take(at).filter(is_read).count();
    X86_REGISTERS.get(before).map(|&name| name.to_owned())
}

/// The condition with the registers of the text: `1:r0` is what instruction 0 of thread 1 reads.
fn condition(form: &Form, families: &[Family]) -> Result<String, Refused> {
    let mut text = String::new();
    let asked = all_asked(form);
    let mut rest = form.condition.as_deref().unwrap_or(&asked);
    let mut named = SortedSet::new();
    while let Some(colon) = rest.find(':') {
        let digits = rest[..colon].chars().rev().take_while(char::is_ascii_digit).count();
        let (before, thread) = rest[..colon].split_at(colon - digits);
        let after = &rest[colon + 1..];
        let length = after.chars().take_while(|it| it.is_ascii_alphanumeric() || *it == '_').count();
        let (name, after) = after.split_at(length);
        let number = thread.parse::<usize>().ok().filter(|number| *number < form.threads.len());
        let at = name.strip_prefix('r').and_then(|at| at.parse::<usize>().ok());
        let found = number.zip(at).and_then(|(number, at)| {
            Some((number, at, register(*families.get(number)?, form.threads.get(number)?, at)?))
        });
        let Some((number, at, register)) = found else {
            return refuse(format!("`{thread}:{name}` in the condition, which names no read"));
        };
        named.insert((number, at, wanted(after)));
        let _ = write!(text, "{before}P{number}:{register}");
        rest = after;
    }
    text.push_str(rest);
    for (number, thread) in form.threads.iter().enumerate() {
        for (at, instruction) in thread.instrs.iter().enumerate() {
            let Some(asked) = instruction.asked_value else { continue };
            if !named.contains(&(number, at, Some(asked))) {
                return refuse(format!(
                    "`asked_value` {asked} of `{number}:r{at}`, which the condition does not ask for"
                ));
            }
        }
    }
    Ok(text)
}

/// The condition of a test that has none: every read returns what is asked of it.
fn all_asked(form: &Form) -> String {
    let mut asked = Vec::new();
    for (number, thread) in form.threads.iter().enumerate() {
        for (at, instruction) in thread.instrs.iter().enumerate() {
            asked.extend(instruction.asked_value.map(|value| format!("{number}:r{at}={value}")));
        }
    }
    format!("exists ({})", asked.join(" /\\ "))
}

/// The number behind `=`.
fn wanted(after: &str) -> Option<i64> {
    let after = after.trim_start().strip_prefix('=')?.trim_start_matches('=').trim_start();
    let length = after.chars().take_while(|it| it.is_ascii_digit() || *it == '-').count();
    after[..length].parse().ok()
}

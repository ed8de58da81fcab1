//! Litmus tests back to text, each in its own layout and dialect. Parsing the text gives the same tree; comments outside
//! the header are lost, and x86 comes out in Intel's notation.

use super::tree::{
    AliasKind, Arch, Comparison, Condition, Declaration, Dialect, InitialAddress, InitialValue, LaunchOrder, Layout,
    Litmus, LocationType, Moment, Placement, QuestionKind, Side, Statement, Term, Thread,
};
use crate::assembly::{is_numbered_register, print as assembly, x86};
use crate::c;
use crate::span::Spanned;
use crate::text::DEPTH_LIMIT;

/// The text of a litmus test. NVLitmus has no place for the name: it is the file's.
pub fn print(litmus: &Litmus) -> String {
    print_as(litmus, &litmus.name.node, &litmus.comments)
}

/// The same test under another name and with other comments.
pub fn print_as(litmus: &Litmus, name: &str, comments: &str) -> String {
    match litmus.layout {
        Layout::NvLitmus => nvlitmus(litmus),
        Layout::Columns | Layout::Blocks => {
            let mut text = header(litmus, name, comments);
            match litmus.layout {
                Layout::Columns => columns(litmus, &mut text),
                _ => blocks(litmus, &mut text),
            }
            sections(litmus, &mut text);
            text
        }
    }
}

fn header(litmus: &Litmus, name: &str, comments: &str) -> String {
    let arch = match litmus.arch {
        Arch::Ptx => "PTX",
        Arch::X86 => "X86",
        Arch::X86_64 => "X86_64",
        Arch::C => "C",
    };
    let mut text = format!("{arch} {name}\n");
    text.push_str(comments);
    text.push_str("{\n");
    for item in &litmus.declarations {
        text.push_str(&declaration(&item.node, litmus.dialect));
        text.push_str(";\n");
    }
    text.push_str("}\n");
    text
}

fn declaration(declaration: &Declaration, dialect: Dialect) -> String {
    let x86 = dialect == Dialect::X86;
    match declaration {
        Declaration::Location { name, is_persistent, space, ty, value } => {
            let word = if *is_persistent { "nvm " } else { "" };
            format!("{word}{}", location(&name.node, space.as_deref(), ty.as_ref(), value.as_ref()))
        }
        Declaration::Register { thread, register, value } => {
            let prefix = if x86 { "" } else { "P" };
            format!("{prefix}{thread}:{} = {}", register.node, initial(&value.node))
        }
        Declaration::TypedRegister { thread: Some(thread), register, ty } if x86 => {
            format!("{} {thread}:{}", ty.node, register.node)
        }
        Declaration::TypedRegister { thread, register, ty } => {
            let owner = thread.map_or(String::new(), |thread| format!("P{thread}:"));
            format!("{owner}.reg .{} {}", ty.node, register.node)
        }
        Declaration::Version { major, minor } => format!(".version {major}.{minor}"),
        Declaration::Target { targets } => {
            let targets: Vec<&str> = targets.iter().map(|target| target.node.as_str()).collect();
            format!(".target {}", targets.join(", "))
        }
        Declaration::Alias { name, kind, target } => alias(&name.node, *kind, &target.node, dialect),
        Declaration::Multimem { name, replicas } => {
            let replicas: Vec<&str> = replicas.iter().map(|replica| replica.node.as_str()).collect();
            format!("{} @ multimem aliases {}", name.node, replicas.join(", "))
        }
        Declaration::Launch { first, order, second } => {
            format!(".launch {} {} {}", first.node, arrow(*order), second.node)
        }
        Declaration::Stream { name, first, then } => {
            let then = then.iter().map(|(order, kernel)| format!(" {} {}", arrow(*order), kernel.node));
            format!(".stream {}: {}{}", name.node, first.node, then.collect::<String>())
        }
        Declaration::Event { name, after, before } => {
            let before: Vec<String> = before.iter().map(|kernel| kernel.node.to_string()).collect();
            let arrow = if before.is_empty() { "" } else { " -> " };
            format!(".event {}: {}{arrow}{}", name.node, after.node, before.join(", "))
        }
    }
}

fn location(
    name: &str,
    space: Option<&str>,
    ty: Option<&Spanned<LocationType>>,
    value: Option<&Spanned<InitialValue>>,
) -> String {
    let mut text = String::new();
    if let Some(space) = space {
        text.push_str(&format!(".{space} "));
    }
    let mut length = String::new();
    if let Some(ty) = ty {
        let dot = if space.is_some() { "." } else { "" };
        if let Some(bytes) = ty.node.align {
            text.push_str(&format!(".align {bytes} "));
        }
        text.push_str(&format!("{dot}{} ", ty.node.name));
        let lengths = ty.node.length.iter().chain(&ty.node.inner);
        length = lengths.map(|length| format!("[{length}]")).collect();
    }
    text.push_str(name);
    text.push_str(&length);
    if let Some(value) = value {
        text.push_str(&format!(" = {}", initial(&value.node)));
    }
    text
}

fn alias(name: &str, kind: AliasKind, target: &str, dialect: Dialect) -> String {
    if dialect == Dialect::NvLitmus {
        let (space, how) = match kind {
            AliasKind::Generic => ("global", "physically"),
            AliasKind::Texture => ("texref", "virtually"),
            AliasKind::Surface => ("surfref", "virtually"),
            AliasKind::Constant => ("conref", "virtually"),
        };
        return format!(".{space} {name} {how} aliases {target}");
    }
    let proxy = match kind {
        AliasKind::Generic => "generic",
        AliasKind::Texture => "texture",
        AliasKind::Surface => "surface",
        AliasKind::Constant => "constant",
    };
    format!("{name} @ {proxy} aliases {target}")
}

fn arrow(order: LaunchOrder) -> &'static str {
    match order {
        LaunchOrder::Stream => "->",
        LaunchOrder::Dependent => "=>",
    }
}

fn initial(value: &InitialValue) -> String {
    match value {
        InitialValue::Integer(value) => value.to_string(),
        InitialValue::Name(name) => name.clone(),
        InitialValue::List(values) => {
            let values: Vec<String> = values.iter().map(|value| initial(&value.node)).collect();
            format!("{{{}}}", values.join(", "))
        }
        InitialValue::Address(InitialAddress { name, element, offset }) => {
            let element = element.map_or(String::new(), |element| format!("[{element}]"));
            let offset = if *offset == 0 { String::new() } else { format!("{offset:+}") };
            format!("&{name}{element}{offset}")
        }
        InitialValue::Unknown => "?".to_owned(),
    }
}

fn thread_header(thread: &Thread, arch: Arch) -> String {
    let Placement { cta, cluster, gpu, kernel, side } = thread.placement;
    let parts = [("cta", cta), ("cluster", cluster), ("gpu", gpu), ("kernel", kernel)];
    let mut parts: Vec<String> =
        parts.iter().filter_map(|(level, number)| number.map(|number| format!("{level} {number}"))).collect();
    if side == Side::Host {
        parts = vec![if thread.arch == Arch::Ptx { "host" } else { "x86" }.to_owned()];
    }
    let is_guest = thread.arch == Arch::C && arch != Arch::C;
    let at = match (parts.is_empty(), is_guest) {
        (true, false) => "",
        (false, false) => "@",
        (true, true) => "@c11",
        (false, true) => "@c11 ",
    };
    let taken = thread.parameters.iter().map(|taken| format!("{}* {}", taken.ty.node, taken.name.node));
    let taken: Vec<String> = taken.collect();
    let taken = if taken.is_empty() { String::new() } else { format!(" ({})", taken.join(", ")) };
    format!("{}{at}{}{taken}", thread.name.node, parts.join(", "))
}

fn statement(statement: &Statement, dialect: Dialect) -> String {
    let notation = if dialect == Dialect::X86 { assembly::Notation::X86 } else { assembly::Notation::Ptx };
    match statement {
        Statement::Label(name) => format!("{}:", name.node),
        Statement::Instruction { instruction, assume } => {
            let mut text = assembly::instruction(instruction, notation);
            if let Some(value) = assume {
                text.push_str(&format!(" == {}", value.node));
            }
            if matches!(dialect, Dialect::Ptx | Dialect::NvLitmus) {
                text.push(';');
            }
            text
        }
        Statement::C(item) => {
            let mut text = String::new();
            c::print(&item.node, 0, &mut text);
            text.trim_end().to_owned()
        }
    }
}

fn columns(litmus: &Litmus, text: &mut String) {
    let cells: Vec<Vec<String>> = litmus
        .threads
        .iter()
        .map(|thread| {
            let body = thread.body.iter().map(|item| statement(item, litmus.dialect_of(thread)));
            std::iter::once(thread_header(thread, litmus.arch)).chain(body).collect()
        })
        .collect();
    let widths: Vec<usize> = cells.iter().map(|column| column.iter().map(String::len).max().unwrap_or(0)).collect();
    let rows = cells.iter().map(Vec::len).max().unwrap_or(0);
    for row in 0..rows {
        for (index, (column, width)) in cells.iter().zip(&widths).enumerate() {
            let cell = column.get(row).map_or("", String::as_str);
            text.push_str(if index == 0 { " " } else { " | " });
            text.push_str(&format!("{cell:<width$}"));
        }
        text.push_str(" ;\n");
    }
}

fn blocks(litmus: &Litmus, text: &mut String) {
    block_threads(&litmus.threads, litmus, text);
}

fn block_threads(threads: &[Thread], litmus: &Litmus, text: &mut String) {
    for thread in threads {
        text.push_str(&thread_header(thread, litmus.arch));
        text.push_str(" {\n");
        body(thread, litmus.dialect_of(thread), text);
        text.push_str("}\n");
    }
}

fn body(thread: &Thread, dialect: Dialect, text: &mut String) {
    for item in &thread.body {
        if let Statement::C(item) = item {
            c::print(&item.node, 1, text);
            continue;
        }
        let indent = if matches!(item, Statement::Label(_)) { "" } else { "  " };
        text.push_str(indent);
        text.push_str(&statement(item, dialect));
        text.push('\n');
    }
}

fn sections(litmus: &Litmus, text: &mut String) {
    let dialect = litmus.dialect;
    if !litmus.locations.is_empty() {
        let terms: Vec<String> = litmus.locations.iter().map(|item| term(&item.node, dialect)).collect();
        text.push_str(&format!("locations [{};]\n", terms.join("; ")));
    }
    if let Some(filter) = &litmus.filter {
        text.push_str(&format!("filter {}\n", outer(&filter.node, dialect)));
    }
    if let Some(recovery) = &litmus.recovery {
        text.push_str("recover {\n");
        recovery
            .declarations
            .iter()
            .for_each(|item| text.push_str(&format!("{};\n", declaration(&item.node, dialect))));
        block_threads(&recovery.threads, litmus, text);
        text.push_str("}\n");
    }
    for question in &litmus.questions {
        text.push_str(match question.moment {
            Moment::End => "",
            Moment::Crash => "crash ",
            Moment::Recovered => "recover ",
        });
        let keyword = match question.kind {
            QuestionKind::Exists | QuestionKind::Permit | QuestionKind::Check => "exists",
            QuestionKind::NotExists => "~exists",
            QuestionKind::Forall | QuestionKind::Assert => "forall",
        };
        text.push_str(&format!("{keyword} {}\n", outer(&question.condition.node, dialect)));
    }
}

fn nvlitmus(litmus: &Litmus) -> String {
    let mut text = String::new();
    for item in &litmus.declarations {
        text.push_str(&declaration(&item.node, litmus.dialect));
        text.push_str(";\n");
    }
    for thread in &litmus.threads {
        text.push_str(&format!("\n{} {{\n", thread.name.node));
        body(thread, litmus.dialect_of(thread), &mut text);
        text.push_str("}\n");
    }
    for question in &litmus.questions {
        let keyword = match question.kind {
            QuestionKind::Permit | QuestionKind::Exists => "permit",
            QuestionKind::Assert | QuestionKind::Forall | QuestionKind::NotExists => "assert",
            QuestionKind::Check => "check",
        };
        let name = question.name.as_ref().map_or(String::new(), |name| format!(" as {}", name.node));
        text.push_str(&format!("\n{keyword} ({}){name};\n", condition(&question.condition.node, litmus.dialect)));
    }
    text
}

/// A condition in parentheses, as is the custom; not where they could be one level too many for the parser.
fn outer(item: &Condition, dialect: Dialect) -> String {
    let text = condition(item, dialect);
    if depth(item) < DEPTH_LIMIT / 2 { format!("({text})") } else { text }
}

fn depth(item: &Condition) -> u32 {
    match item {
        Condition::True | Condition::False | Condition::Compare { .. } => 0,
        Condition::Not(inner) => 1 + depth(&inner.node),
        Condition::And(items) | Condition::Or(items) => {
            1 + items.iter().map(|item| depth(&item.node)).max().unwrap_or(0)
        }
    }
}

/// A condition without outer parentheses.
fn condition(item: &Condition, dialect: Dialect) -> String {
    let nv = dialect == Dialect::NvLitmus;
    match item {
        Condition::True => "true".to_owned(),
        Condition::False => "false".to_owned(),
        Condition::Compare { op, left, right } => {
            let op = match op {
                Comparison::Equal if dialect == Dialect::X86 => "=",
                Comparison::Equal => "==",
                Comparison::NotEqual => "!=",
                Comparison::Less => "<",
                Comparison::LessEqual => "<=",
                Comparison::Greater => ">",
                Comparison::GreaterEqual => ">=",
            };
            format!("{} {op} {}", term(&left.node, dialect), term(&right.node, dialect))
        }
        Condition::Not(inner) => format!("{}{}", if nv { "!" } else { "~" }, grouped(&inner.node, dialect)),
        Condition::And(items) => joined(items, if nv { " && " } else { " /\\ " }, dialect),
        Condition::Or(items) => joined(items, if nv { " || " } else { " \\/ " }, dialect),
    }
}

fn joined(items: &[Spanned<Condition>], separator: &str, dialect: Dialect) -> String {
    items.iter().map(|item| grouped(&item.node, dialect)).collect::<Vec<_>>().join(separator)
}

/// In parentheses where the grouping needs them.
fn grouped(item: &Condition, dialect: Dialect) -> String {
    let text = condition(item, dialect);
    if matches!(item, Condition::And(_) | Condition::Or(_)) { format!("({text})") } else { text }
}

fn term(term: &Term, dialect: Dialect) -> String {
    match term {
        Term::Integer(value) => value.to_string(),
        Term::Register { thread: None, name } => name.to_string(),
        Term::Register { thread: Some(thread), name } if dialect == Dialect::X86 => format!("{thread}:{name}"),
        Term::Register { thread: Some(thread), name } => format!("P{thread}:{name}"),
        Term::Location { name, index: Some(index) } => format!("{name}[{index}]"),
        Term::Location { name, index: None } if needs_brackets(name, dialect) => format!("[{name}]"),
        Term::Location { name, index: None } => name.to_string(),
    }
}

/// Whether a bare name would read as something else than a location.
fn needs_brackets(name: &str, dialect: Dialect) -> bool {
    let register = match dialect {
        Dialect::C => false,
        Dialect::X86 => x86::is_register(name),
        Dialect::Dartagnan | Dialect::Ptx | Dialect::NvLitmus => is_numbered_register(name),
    };
    register || matches!(name, "true" | "false" | "not" | "exists" | "forall")
}

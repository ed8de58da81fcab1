//! An edit as changes of the source text, for editors and for people who copy. The changed tree is compared with the tree of
//! the source: statements that came get a line of their own beside their neighbour (or a place in its line, or a row of the
//! columns), words that changed are replaced where they stand.
//!
//! What is said was checked: the changed text parses to the changed tree, or nothing is said (templates with rows, tests in
//! JSON).

use fencepost_report::TextEdit;
use fencepost_syntax::instruction::{Instruction, Operand};
use fencepost_syntax::litmus::{Declaration, InitialValue, Layout, Litmus, Statement, parse_named, print};
use fencepost_syntax::sorted::SharedSort as _;
use fencepost_syntax::{Source, Span};

use crate::edit::Edit;

/// The changes of the text that each group of edits is; None where there is no place for one of them. Of groups that change
/// one statement the first has what all of them change, and the others nothing.
pub(crate) fn of_groups(groups: &[Vec<&Edit>], litmus: &Litmus, source: &Source) -> Option<Vec<Vec<TextEdit>>> {
    let parsed = |text: &str| match parse_named(&source.name, text).0.as_slice() {
        [tree] => Some(tree.clone()),
        _ => None,
    };
    parsed(&source.text).filter(|tree| tree == litmus)?;
    let text = |group: &[&Edit]| {
        let changed = Edit::apply_all(group, litmus)?;
        Comparison { source, old: litmus, new: &changed }.edits()
    };
    let alone = groups.iter().map(|group| text(group)).collect::<Option<Vec<_>>>()?;
    let mut found: Vec<(Vec<&Edit>, Vec<TextEdit>)> = groups.iter().cloned().zip(alone).collect();
    while let Some((one, other)) = overlapping(&found) {
        let (others, _) = std::mem::take(found.get_mut(other)?);
        let (own, texts) = found.get_mut(one)?;
        own.extend(others);
        *texts = text(own)?;
    }
    let found: Vec<Vec<TextEdit>> = found.into_iter().map(|(_, texts)| texts).collect();
    let all: Vec<&Edit> = groups.iter().flatten().copied().collect();
    let changed = applied(&source.text, found.iter().flatten())?;
    (parsed(&changed)? == Edit::apply_all(&all, litmus)?).then_some(found)
}

/// Two groups of which one changes what the other takes away.
fn overlapping(found: &[(Vec<&Edit>, Vec<TextEdit>)]) -> Option<(usize, usize)> {
    let overlap = |one: &TextEdit, other: &TextEdit| one.start < other.end && other.start < one.end;
    let mut pairs = (1..found.len()).flat_map(|other| (0..other).map(move |one| (one, other)));
    pairs.find(|(one, other)| {
        let (Some((_, ones)), Some((_, others))) = (found.get(*one), found.get(*other)) else { return false };
        ones.iter().any(|one| others.iter().any(|other| overlap(one, other)))
    })
}

/// The text with these changes; None if two of them overlap.
pub(crate) fn applied<'e>(text: &str, edits: impl Iterator<Item = &'e TextEdit>) -> Option<String> {
    let mut edits: Vec<&TextEdit> = edits.collect();
    edits.shared_sort_by_key(|edit| (edit.start, edit.end));
    let (mut changed, mut at) = (String::new(), 0);
    for edit in edits {
        changed.push_str(text.get(at..edit.start as usize)?);
        changed.push_str(&edit.replacement);
        at = edit.end as usize;
    }
    changed.push_str(text.get(at..)?);
    Some(changed)
}

struct Comparison<'c> {
    source: &'c Source,
    old: &'c Litmus,
    new: &'c Litmus,
}

impl Comparison<'_> {
    fn edits(&self) -> Option<Vec<TextEdit>> {
        let mut found = self.declarations()?;
        for thread in 0..self.old.threads.len() {
            self.thread(thread, &mut found)?;
        }
        Some(found)
    }

    fn edit(&self, span: Span, replacement: String) -> TextEdit {
        let (start, end) = (self.source.position(span.start), self.source.position(span.end));
        TextEdit {
            start: span.start,
            end: span.end,
            line: start.line,
            column: start.column,
            end_line: end.line,
            end_column: end.column,
            replacement,
        }
    }

    /// Other numbers of declarations that are there, and declarations that came.
    fn declarations(&self) -> Option<Vec<TextEdit>> {
        let mut found = Vec::new();
        for (old, new) in self.old.declarations.iter().zip(&self.new.declarations) {
            if old.node != new.node {
                let span = value(&old.node)?.1;
                found.push(self.edit(span, value(&new.node)?.0.to_string()));
            }
        }
        let came: Vec<&Declaration> =
            self.new.declarations.iter().skip(self.old.declarations.len()).map(|it| &it.node).collect();
        if !came.is_empty() {
            let last = self.old.declarations.last()?.span;
            let rest = self.source.text.get(last.end as usize..)?;
            let gap = rest.len() - rest.trim_start().len();
            let closed = rest.trim_start().starts_with(';');
            let at = last.end + if closed { gap as u32 + 1 } else { 0 };
            let text = declared(self.new, &came)?;
            let text = if closed { format!(" {text};") } else { format!("; {text}") };
            found.push(self.edit(Span::new(at, at), text));
        }
        Some(found)
    }

    /// Walks both bodies: an old statement that is not kept has gone, a new one that is not has come.
    fn thread(&self, thread: usize, found: &mut Vec<TextEdit>) -> Option<()> {
        let (old, new) = (&self.old.threads.get(thread)?.body, &self.new.threads.get(thread)?.body);
        let kept = kept(old, new);
        let mut came: Vec<&Statement> = Vec::new();
        let mut at = 0;
        for (place, statement) in new.iter().enumerate() {
            let Some((own, _)) = kept.iter().find(|(_, its)| *its == place) else {
                came.push(statement);
                continue;
            };
            self.all_gone(thread, old.get(at..*own)?, &mut came, found)?;
            self.before(thread, (*own, old), &mut came, found)?;
            self.words(old.get(*own)?, statement, found)?;
            at = own + 1;
        }
        self.all_gone(thread, old.get(at..)?, &mut came, found)?;
        if came.is_empty() { Some(()) } else { self.behind(thread, old.last()?, &came, found) }
    }

    /// Neighbours that go. What stands in one line goes together, so that no empty line is left.
    fn all_gone(
        &self,
        thread: usize,
        gone: &[Statement],
        came: &mut Vec<&Statement>,
        found: &mut Vec<TextEdit>,
    ) -> Option<()> {
        let mut rest = gone;
        while let Some((first, others)) = rest.split_first() {
            rest = others;
            if !came.is_empty() {
                self.gone(thread, first, came, found)?;
                continue;
            }
            let mut extent = self.extent(first);
            while let Some((next, others)) = rest.split_first() {
                let own = self.extent(next);
                let between = self.source.text.get(extent.end as usize..own.start as usize);
                if self.old.layout == Layout::Columns
                    || !between.is_some_and(|it| it.trim_matches([' ', '\t']).is_empty())
                {
                    break;
                }
                extent = extent.to(own);
                rest = others;
            }
            found.push(self.edit(self.whole_line(extent), String::new()));
        }
        Some(())
    }

    /// A statement that goes, whose place is taken by what came before it.
    fn gone(
        &self,
        thread: usize,
        own: &Statement,
        came: &mut Vec<&Statement>,
        found: &mut Vec<TextEdit>,
    ) -> Option<()> {
        let extent = self.extent(own);
        let lines = self.lines(thread, came)?;
        let between = if self.is_alone(extent) { format!("\n{}", self.indent(extent)) } else { " ".to_owned() };
        found.push(self.edit(extent, lines.join(&between)));
        came.clear();
        Some(())
    }

    /// Statements that come before one that stays: behind the one before, if that stands in a line of its own and this does not.
    fn before(
        &self,
        thread: usize,
        (at, old): (usize, &[Statement]),
        came: &mut Vec<&Statement>,
        found: &mut Vec<TextEdit>,
    ) -> Option<()> {
        if came.is_empty() {
            return Some(());
        }
        let extent = self.extent(old.get(at)?);
        let lines = self.lines(thread, came)?;
        came.clear();
        let (place, text) = match self.old.layout {
            Layout::Columns => (self.line_start(extent.start), self.rows(thread, &lines)),
            _ if self.starts_line(extent) => {
                let indent = self.indent(extent);
                (extent.start, lines.iter().map(|line| format!("{line}\n{indent}")).collect())
            }
            _ => (extent.start, lines.iter().map(|line| format!("{line} ")).collect()),
        };
        found.push(self.edit(Span::new(place, place), text));
        Some(())
    }

    fn behind(&self, thread: usize, last: &Statement, came: &[&Statement], found: &mut Vec<TextEdit>) -> Option<()> {
        let extent = self.extent(last);
        let lines = self.lines(thread, came)?;
        let (place, text) = match self.old.layout {
            Layout::Columns => {
                let next = self.source.text.get(extent.end as usize..)?.find('\n')? as u32 + 1;
                (extent.end + next, self.rows(thread, &lines))
            }
            _ if self.starts_line(extent) => {
                let indent = self.indent(extent);
                (extent.end, lines.iter().map(|line| format!("\n{indent}{line}")).collect())
            }
            _ => (extent.end, lines.iter().map(|line| format!(" {line}")).collect()),
        };
        found.push(self.edit(Span::new(place, place), text));
        Some(())
    }

    /// New statements as the source would write them.
    fn lines(&self, thread: usize, statements: &[&Statement]) -> Option<Vec<String>> {
        let mut printed = printed(self.old, thread, statements)?.into_iter();
        let semicolon = if self.old.layout == Layout::Columns { "" } else { ";" };
        let line = |statement: &&Statement| match statement {
            Statement::Label(label) => Some(format!("{}:", label.node)),
            Statement::Instruction { .. } => Some(format!("{}{semicolon}", printed.next()?)),
            Statement::C(_) => None,
        };
        statements.iter().map(line).collect()
    }

    /// Rows of columns in which only this thread does something.
    fn rows(&self, thread: usize, lines: &[String]) -> String {
        let row = |line: &String| {
            let cells: Vec<&str> =
                (0..self.old.threads.len()).map(|at| if at == thread { line.as_str() } else { "" }).collect();
            format!(" {} ;\n", cells.join(" | "))
        };
        lines.iter().map(row).collect()
    }

    /// The words and operands of an instruction that stays.
    fn words(&self, old: &Statement, new: &Statement, found: &mut Vec<TextEdit>) -> Option<()> {
        let (Statement::Instruction { instruction: old, .. }, Statement::Instruction { instruction: new, .. }) =
            (old, new)
        else {
            return (old == new).then_some(());
        };
        let (was, is) = (spelled(old), spelled(new));
        if was != is {
            let same = |(one, other): &(&&str, &&str)| one == other;
            let head = was.iter().zip(&is).take_while(same).count();
            let tail = was.iter().rev().zip(is.iter().rev()).take_while(same).count();
            let tail = tail.min(was.len().min(is.len()) - head);
            let spans: Vec<Span> =
                [old.opcode.span].into_iter().chain(old.modifiers.iter().map(|word| word.span)).collect();
            let start = if head == 0 { old.opcode.span.start } else { spans.get(head - 1)?.end };
            let end = spans.get(was.len() - tail - 1).map_or(start, |span| span.end.max(start));
            let dots = if head == 0 { "" } else { "." };
            let put = is.get(head..is.len() - tail)?;
            let text = if put.is_empty() { String::new() } else { format!("{dots}{}", put.join(".")) };
            found.push(self.edit(Span::new(start, end), text));
        }
        self.operands(old, new, found)
    }

    fn operands(&self, old: &Instruction, new: &Instruction, found: &mut Vec<TextEdit>) -> Option<()> {
        let came = new.operands.len().checked_sub(old.operands.len())?;
        for operand in new.operands.iter().take(came) {
            let Operand::Register(name) = &operand.node else { return None };
            let at = old.operands.first()?.span.start;
            found.push(self.edit(Span::new(at, at), format!("{name}, ")));
        }
        for (was, is) in old.operands.iter().zip(new.operands.iter().skip(came)) {
            if was.node != is.node {
                let Operand::Integer(number) = is.node else { return None };
                found.push(self.edit(was.span, number.to_string()));
            }
        }
        Some(())
    }

    /// A statement with its guard and its semicolon.
    fn extent(&self, statement: &Statement) -> Span {
        let span = match statement {
            Statement::Label(label) => label.span,
            Statement::Instruction { instruction, assume } => {
                let span = instruction.span();
                assume.as_ref().map_or(span, |assume| span.to(assume.span))
            }
            Statement::C(statement) => statement.span,
        };
        let text = &self.source.text;
        let before = text.get(..span.start as usize).unwrap_or_default();
        let guarded = before.trim_end().trim_end_matches('!').trim_end();
        let start = guarded.strip_suffix('@').map_or(span.start, |outside| outside.len() as u32);
        let rest = text.get(span.end as usize..).unwrap_or_default();
        let gap = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let closes = match statement {
            Statement::Label(_) => ':',
            _ => ';',
        };
        let closed = self.old.layout != Layout::Columns && rest.trim_start_matches([' ', '\t']).starts_with(closes);
        Span::new(start, if closed { span.end + gap as u32 + 1 } else { span.end })
    }

    fn line_start(&self, at: u32) -> u32 {
        let before = self.source.text.get(..at as usize).unwrap_or_default();
        before.rfind('\n').map_or(0, |newline| newline as u32 + 1)
    }

    /// Whether nothing stands before it in its line.
    fn starts_line(&self, extent: Span) -> bool {
        let before = self.source.text.get(self.line_start(extent.start) as usize..extent.start as usize);
        before.is_some_and(|before| before.trim().is_empty())
    }

    fn is_alone(&self, extent: Span) -> bool {
        let rest = self.source.text.get(extent.end as usize..).unwrap_or_default();
        self.starts_line(extent) && rest.lines().next().is_none_or(|rest| rest.trim().is_empty())
    }

    fn indent(&self, extent: Span) -> String {
        let before = self.source.text.get(self.line_start(extent.start) as usize..extent.start as usize);
        before.unwrap_or_default().to_owned()
    }

    /// With its line, where it stands alone; else with the blanks behind it.
    fn whole_line(&self, extent: Span) -> Span {
        let rest = self.source.text.get(extent.end as usize..).unwrap_or_default();
        if self.old.layout == Layout::Columns {
            return extent;
        }
        if self.is_alone(extent) {
            let end = rest.find('\n').map_or(rest.len(), |newline| newline + 1);
            return Span::new(self.line_start(extent.start), extent.end + end as u32);
        }
        let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        Span::new(extent.start, extent.end + blanks as u32)
    }
}

/// The longest common subsequence: which old statement is which new one. What was moved is not kept.
fn kept(old: &[Statement], new: &[Statement]) -> Vec<(usize, usize)> {
    let is = |one: usize, other: usize| {
        let (one, other) = (old.get(one).and_then(identity), new.get(other).and_then(identity));
        one.is_some() && one == other
    };
    let width = new.len() + 1;
    let mut longest = vec![0usize; (old.len() + 1) * width];
    for one in (0..old.len()).rev() {
        for other in (0..new.len()).rev() {
            let below = |one: usize, other: usize| longest.get(one * width + other).copied().unwrap_or(0);
            let best = match is(one, other) {
                true => below(one + 1, other + 1) + 1,
                false => below(one + 1, other).max(below(one, other + 1)),
            };
            if let Some(slot) = longest.get_mut(one * width + other) {
                *slot = best;
            }
        }
    }
    let (mut found, mut one, mut other) = (Vec::new(), 0, 0);
    let length = |one: usize, other: usize| longest.get(one * width + other).copied().unwrap_or(0);
    while one < old.len() && other < new.len() {
        if is(one, other) {
            found.push((one, other));
            (one, other) = (one + 1, other + 1);
        } else if length(one + 1, other) >= length(one, other + 1) {
            one += 1;
        } else {
            other += 1;
        }
    }
    found
}

/// Which statement of the source it is; what came has no place there.
fn identity(statement: &Statement) -> Option<(u32, &str)> {
    match statement {
        Statement::Label(label) => Some((label.span.start, label.node.as_str())),
        Statement::Instruction { instruction, .. } => {
            let span = instruction.opcode.span;
            (span != Span::default()).then_some((span.start, ""))
        }
        Statement::C(statement) => Some((statement.span.start, "")),
    }
}

/// Opcode and modifiers.
fn spelled(instruction: &Instruction) -> Vec<&str> {
    let modifiers = instruction.modifiers.iter().map(|word| word.node.as_str());
    [instruction.opcode.node.as_str()].into_iter().chain(modifiers).collect()
}

/// The number that a declaration gives, and where it stands.
fn value(declaration: &Declaration) -> Option<(i128, Span)> {
    let value = match declaration {
        Declaration::Location { value, .. } => value.as_ref()?,
        Declaration::Register { value, .. } => value,
        _ => return None,
    };
    match value.node {
        InitialValue::Integer(number) => Some((number, value.span)),
        _ => None,
    }
}

/// The instructions among statements as text.
fn printed(litmus: &Litmus, thread: usize, statements: &[&Statement]) -> Option<Vec<String>> {
    let instructions = statements.iter().filter(|statement| matches!(statement, Statement::Instruction { .. }));
    let mut thread = litmus.threads.get(thread)?.clone();
    thread.body = instructions.map(|statement| (*statement).clone()).collect();
    let number = thread.body.len();
    let layout = if litmus.layout == Layout::Columns { Layout::Blocks } else { litmus.layout };
    let alone = Litmus { layout, threads: vec![thread], recovery: None, questions: Vec::new(), ..litmus.clone() };
    let text = print(&alone);
    let inside = |line: &&str| line.starts_with([' ', '\t']) && !line.trim().is_empty();
    let lines: Vec<String> =
        text.lines().filter(inside).map(|line| line.trim().trim_end_matches(';').to_owned()).collect();
    (lines.len() == number).then_some(lines)
}

/// Declarations as text.
fn declared(litmus: &Litmus, declarations: &[&Declaration]) -> Option<String> {
    let text = print(&Litmus { layout: Layout::Blocks, ..litmus.clone() });
    let (_, rest) = text.split_once("{\n")?;
    let (inside, _) = rest.split_once("}\n")?;
    let lines: Vec<&str> = inside.lines().collect();
    let own = lines.len().checked_sub(declarations.len())?;
    Some(lines.get(own..)?.iter().map(|line| line.trim_end_matches(';')).collect::<Vec<_>>().join("; "))
}

#[cfg(test)]
mod tests {
    use fencepost_check::{Models, Options, load};
    use fencepost_syntax::Source;

    use crate::fix;
    use crate::fix::Fixing;
    use crate::fix::costs::Costs;

    /// What is moved gets new words where it comes to stand.
    #[test]
    fn a_line_may_go_elsewhere_with_other_words() {
        let text = "PTX early\n{ .global .u32 data = 0; .global .u32 flag = 0; }\nP0@cta 0 {\n\
                    st.weak.global.u32 [flag], 1;\nst.weak.global.u32 [data], 42;\n}\nP1@cta 1 {\n\
                    ld.acquire.gpu.global.u32 %r1, [flag];\nsetp.ne.u32 %p, %r1, 1;\n@%p bra DONE;\n\
                    ld.weak.global.u32 %r2, [data];\nDONE:\n}\n~exists (P1:%r1 = 1 /\\ P1:%r2 = 0)\n";
        let (tests, _) = load(&Source::new("early.litmus", text));
        let (model, costs, options) = (Models::shipped("ptx").expect("a model"), Costs::default(), Options::default());
        let fixing = Fixing { options: &options, costs: &costs, said: &|_| None, is_kept: &|_| false };
        let fixed = fix(&tests[0], &model, &fixing);
        let written = fixed.text.expect("a repaired text");
        assert!(written.contains("[data], 42;\nst.release.gpu.global.u32 [flag], 1;\n}"), "{written}");
        let edits = fixed.report.repair.expect("a repair").changes.into_iter().map(|change| change.edits.len());
        assert!(edits.filter(|number| *number > 0).count() == 1, "one change has the text of both");
    }
}

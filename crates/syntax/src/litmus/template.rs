//! NVLitmus templates: the text before `$$` holds `$0`, `$1`, …; each line after it is one test, its fields between `|`.
//!
//! Fields are trimmed; blank lines and lines that start with `#` are skipped. A `$n` without an n-th field is an error
//! of its row: silently empty, it would make a different test.

use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::text::{DIAGNOSTIC_LIMIT, Piece, SpanMap};

/// One test of a file.
#[derive(Clone, Debug)]
pub struct Instance {
    /// Counts from 1; None for a file that is no template.
    pub row: Option<u32>,
    /// The row (or the whole file) in the file.
    pub span: Span,
    /// The text with its fields put in.
    pub text: String,
    pub(crate) map: SpanMap,
}

/// A template times its rows is quadratic in the file; this keeps it linear in practice.
const SIZE_LIMIT: usize = 64 << 20;

struct Field {
    start: usize,
    end: usize,
}

/// A template as written: what `print` gives back, since its tests one after another are no NVLitmus file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Template {
    /// The text before `$$`, with its comments; no line ends in a space.
    pub text: String,
    pub rows: Vec<Vec<String>>,
}

impl Template {
    /// The template of a file; None where it has no `$$`.
    pub fn read(text: &str) -> Option<Template> {
        let cut = find_cut(text)?;
        let lines: Vec<&str> = text[..cut].trim_end().split('\n').map(str::trim_end).collect();
        let rows = text[cut + 2..].split('\n').filter(|line| is_row(line));
        let rows = rows.map(|line| line.split('|').map(|field| field.trim().to_owned()).collect()).collect();
        Some(Template { text: lines.join("\n"), rows })
    }

    /// Its text, the rows in columns.
    pub fn print(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            self.rows.iter().filter_map(|row| row.get(column)).map(|field| field.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = format!("{}\n\n$$\n", self.text);
        for row in &self.rows {
            let fields = row.iter().zip(&widths).map(|(field, &width)| format!("{field:<width$}"));
            let line = fields.collect::<Vec<_>>().join(" | ");
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// Blank lines and comments below `$$` are no rows.
fn is_row(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with('#')
}

/// The instances of a template; a file without `$$` is its own only instance.
pub fn expand(text: &str) -> (Vec<Instance>, Vec<Diagnostic>) {
    if u32::try_from(text.len()).is_err() {
        return (Vec::new(), vec![Diagnostic::error(Span::default(), "the text is longer than 4 GiB")]);
    }
    let Some(cut) = find_cut(text) else {
        let span = Span::new(0, text.len() as u32);
        let map = SpanMap { pieces: vec![Piece { start: 0, source: 0, placeholder: None }] };
        return (vec![Instance { row: None, span, text: text.to_owned(), map }], Vec::new());
    };
    let placeholders = placeholders(&text[..cut]);
    let mut diagnostics = Vec::new();
    let mut instances = Vec::new();
    let mut start = cut + 2;
    let mut size = 0;
    for line in text[cut + 2..].split_inclusive('\n') {
        let trimmed = line.trim();
        if is_row(line) && diagnostics.len() < DIAGNOSTIC_LIMIT {
            let row = Row { text, cut, placeholders: &placeholders, fields: fields(line, start) };
            let from = start + (line.len() - line.trim_start().len());
            let span = Span::new(from as u32, (from + trimmed.len()) as u32);
            match row.instance(span, instances.len() as u32 + 1) {
                Ok(instance) => {
                    size += instance.text.len();
                    instances.push(instance);
                }
                Err(diagnostic) => diagnostics.push(diagnostic),
            }
        }
        start += line.len();
        if size > SIZE_LIMIT {
            let span = Span::new(cut as u32, cut as u32 + 2);
            diagnostics
                .push(Diagnostic::error(span, "the template expands to more than 64 MiB").help("split the file"));
            break;
        }
    }
    if instances.is_empty() && diagnostics.is_empty() {
        let span = Span::new(cut as u32, cut as u32 + 2);
        let diagnostic = Diagnostic::error(span, "the template has no rows").label("nothing follows");
        diagnostics.push(diagnostic.help("write one line per test below `$$`, its fields between `|`"));
    }
    (instances, diagnostics)
}

/// `$$` alone on its line.
fn find_cut(text: &str) -> Option<usize> {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if line.trim() == "$$" {
            return Some(start + (line.len() - line.trim_start().len()));
        }
        start += line.len();
    }
    None
}

struct Placeholder {
    index: usize,
    start: usize,
    end: usize,
}

fn placeholders(template: &str) -> Vec<Placeholder> {
    let bytes = template.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let digits = match bytes[at] {
            b'$' => bytes[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count(),
            _ => 0,
        };
        if digits > 0 {
            let end = at + 1 + digits;
            // An index that does not fit is larger than any row.
            let index = template[at + 1..end].parse().unwrap_or(usize::MAX);
            found.push(Placeholder { index, start: at, end });
            at = end;
        } else {
            at += 1;
        }
    }
    found
}

fn fields(line: &str, start: usize) -> Vec<Field> {
    let mut at = start;
    let mut fields = Vec::new();
    for part in line.split('|') {
        let lead = part.len() - part.trim_start().len();
        fields.push(Field { start: at + lead, end: at + lead + part.trim().len() });
        at += part.len() + 1;
    }
    fields
}

struct Row<'a> {
    text: &'a str,
    cut: usize,
    placeholders: &'a [Placeholder],
    fields: Vec<Field>,
}

impl Row<'_> {
    fn instance(&self, span: Span, row: u32) -> Result<Instance, Diagnostic> {
        let used = self.placeholders.iter().map(|placeholder| placeholder.index.saturating_add(1)).max().unwrap_or(0);
        if used != self.fields.len() {
            let message = format!("this row has {} fields, but the template uses {used}", self.fields.len());
            return Err(Diagnostic::error(span, message)
                .label("this row")
                .help("fields stand between `|`, in the order $0, $1, …"));
        }
        let mut text = String::new();
        let mut pieces = Vec::new();
        let mut at = 0;
        for placeholder in self.placeholders {
            pieces.push(Piece { start: text.len() as u32, source: at as u32, placeholder: None });
            text.push_str(&self.text[at..placeholder.start]);
            let field = &self.fields[placeholder.index];
            let origin = Span::new(placeholder.start as u32, placeholder.end as u32);
            pieces.push(Piece { start: text.len() as u32, source: field.start as u32, placeholder: Some(origin) });
            text.push_str(&self.text[field.start..field.end]);
            at = placeholder.end;
        }
        pieces.push(Piece { start: text.len() as u32, source: at as u32, placeholder: None });
        text.push_str(&self.text[at..self.cut]);
        // Empty pieces would hide the one that follows them from the search.
        pieces.dedup_by(|next, before| {
            let same = next.start == before.start;
            if same {
                *before = *next;
            }
            same
        });
        Ok(Instance { row: Some(row), span, text, map: SpanMap { pieces } })
    }
}

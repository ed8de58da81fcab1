//! A picture of a pipeline: shared memory and mbarriers of one CTA over the time of a run.
//!
//! A row is a piece of shared memory whose bytes are always filled and read together: a stage. A column is the time
//! between two synchronisations. Within a column nothing is said about order, so what writes stands above what reads.

use std::fmt::Write;

use fencepost_kernel::code::op::Pc;
use fencepost_kernel::order::{Race, Region};
use fencepost_kernel::report::Finding;
use fencepost_kernel::run::watch::{Act, End, GRAIN, Mark, Timeline};
use fencepost_kernel::sequence::timeline;
use fencepost_syntax::sorted::{SortedMap, SortedSet};

use super::{About, SourceLine};

const LABELS: u32 = 210;
/// Columns are narrower where there are many.
const WIDE: u32 = 76;
const NARROW: u32 = 52;
const FEW: usize = 24;
const ROW: u32 = 32;
const THIN: u32 = 22;
const TOP: u32 = 84;
/// A wider picture is no longer one that somebody looks at.
const MOST_COLUMNS: usize = 80;
const MOST_ROWS: usize = 32;
const MOST_RACES: usize = 12;

/// Runs the launch once more and draws it.
pub fn draw(about: &About, steps: u64) -> String {
    let outcome = timeline(about.module, about.entry, about.launch, steps);
    let races: Vec<Race> = outcome
        .findings
        .iter()
        .filter_map(|finding| match finding {
            Finding::Race { race, .. } => Some(race.clone()),
            _ => None,
        })
        .collect();
    match outcome.timeline {
        Some(timeline) => Picture::new(about, &timeline, &races).svg(),
        None => String::new(),
    }
}

/// A piece of shared memory.
struct Row {
    from: u64,
    /// One behind the last byte.
    to: u64,
}

/// What happens to a row in a column.
#[derive(Default)]
struct Cell {
    pcs: SortedSet<Pc>,
    warps: u64,
}

struct Picture<'a> {
    about: &'a About<'a>,
    timeline: &'a Timeline,
    races: &'a [Race],
    rows: Vec<Row>,
    /// The stretches of time that are drawn, and how many are not.
    columns: Vec<u32>,
    left_out: usize,
    column: u32,
    cells: SortedMap<(usize, usize, Act), Cell>,
    mbarriers: Vec<u64>,
    svg: String,
}

impl<'a> Picture<'a> {
    fn new(about: &'a About<'a>, timeline: &'a Timeline, races: &'a [Race]) -> Picture<'a> {
        let rows = rows(timeline);
        let mut picture = Picture {
            about,
            timeline,
            races,
            rows,
            columns: Vec::new(),
            left_out: 0,
            column: WIDE,
            cells: SortedMap::new(),
            mbarriers: timeline.marks.keys().map(|(_, at, _, _)| *at).collect::<SortedSet<_>>().into_iter().collect(),
            svg: String::new(),
        };
        picture.mbarriers.truncate(MOST_ROWS);
        picture.choose_columns();
        picture.fill_cells();
        picture
    }

    /// The stretches in which something happens; around the first race if there are too many.
    fn choose_columns(&mut self) {
        let timeline = self.timeline;
        let mut used: SortedSet<u32> = timeline.acts.keys().map(|(now, _, _)| *now).collect();
        used.extend(timeline.marks.keys().map(|(now, ..)| *now));
        used.extend(timeline.waits.keys().map(|(now, _)| *now));
        let used: Vec<u32> = used.into_iter().collect();
        let racing = self.races.iter().filter(|race| race.region == Region::Shared(timeline.cta));
        let second = racing.filter_map(|race| {
            timeline.acts.iter().find(|((_, _, pc), deed)| *pc == race.second.pc && deed.has(race.at / GRAIN))
        });
        let first = second.map(|((now, _, _), _)| *now).min().unwrap_or(0);
        let at = used.iter().position(|now| *now >= first).unwrap_or(0);
        let from = at.saturating_sub(MOST_COLUMNS / 2).min(used.len().saturating_sub(MOST_COLUMNS));
        self.left_out = used.len().saturating_sub(MOST_COLUMNS);
        self.columns = used.into_iter().skip(from).take(MOST_COLUMNS).collect();
        self.column = if self.columns.len() > FEW { NARROW } else { WIDE };
    }

    fn fill_cells(&mut self) {
        for ((now, act, pc), deed) in &self.timeline.acts {
            let Ok(column) = self.columns.binary_search(now) else { continue };
            for (index, row) in self.rows.iter().enumerate() {
                if (row.from / GRAIN..row.to / GRAIN).any(|grain| deed.has(grain)) {
                    let cell = self.cells.entry((index, column, *act)).or_default();
                    cell.pcs.insert(*pc);
                    cell.warps |= deed.warps;
                }
            }
        }
    }

    fn svg(mut self) -> String {
        let height = self.height();
        let width = (LABELS + self.columns.len() as u32 * self.column + 20).max(900);
        let _ = write!(
            self.svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} \
             {height}\" font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"{width}\" height=\"{height}\" \
             fill=\"#ffffff\"/>\n"
        );
        self.head();
        self.grid();
        self.stages();
        self.below();
        self.race_marks();
        self.svg.push_str("</svg>\n");
        self.svg
    }

    fn height(&self) -> u32 {
        let races = self.races.len().min(MOST_RACES + 1) as u32;
        self.bottom() + 16 + races * 16 + if self.is_cut() { 18 } else { 0 } + 12
    }

    fn is_cut(&self) -> bool {
        self.left_out > 0 || self.timeline.cut
    }

    fn mbarrier_top(&self) -> u32 {
        TOP + self.rows.len() as u32 * ROW + 8
    }

    fn waits_top(&self) -> u32 {
        self.mbarrier_top() + self.mbarriers.len() as u32 * THIN
    }

    fn bottom(&self) -> u32 {
        self.waits_top() + if self.timeline.waits.is_empty() { 0 } else { THIN }
    }

    fn text(&mut self, x: u32, y: u32, attributes: &str, text: &str) {
        let _ = writeln!(self.svg, "<text x=\"{x}\" y=\"{y}\" {attributes}>{}</text>", escaped(text));
    }

    fn head(&mut self) {
        let title = format!("{}: shared memory of CTA {} over time", self.about.entry.name, self.timeline.cta);
        self.text(10, 18, "font-size=\"14\" font-weight=\"bold\"", &title);
        let mut x = 10;
        for (act, words) in [
            (Act::Fill, "filled asynchronously"),
            (Act::Write, "written by threads"),
            (Act::ReadAsync, "read asynchronously (mma, copy)"),
            (Act::Read, "read by threads"),
        ] {
            let _ =
                writeln!(self.svg, "<rect x=\"{x}\" y=\"27\" width=\"14\" height=\"10\" fill=\"{}\"/>", colour(act));
            self.text(x + 18, 36, "fill=\"#444\"", words);
            x += 40 + words.len() as u32 * 6;
        }
        let words = "◆ initialisation, ▲ arrival and ● end of a wait at an mbarrier; | n: phase n ends; ┊ barrier; grey: the stage \
                     holds data; red: race";
        self.text(10, 54, "fill=\"#444\"", words);
    }

    /// Columns, with what ends each.
    fn grid(&mut self) {
        let bottom = self.bottom();
        for column in 0..self.columns.len() {
            let now = self.columns[column];
            let x = LABELS + column as u32 * self.column;
            self.text(x + 3, TOP - 6, "fill=\"#888\" font-size=\"9\"", &(now + 1).to_string());
            let right = x + self.column;
            let end = self.timeline.ends.get(now as usize).copied();
            let (stroke, dash) = match end {
                Some(End::Barrier { .. }) => ("#333", " stroke-dasharray=\"3 2\""),
                _ => ("#e4e4e4", ""),
            };
            let _ = writeln!(
                self.svg,
                "<line x1=\"{right}\" y1=\"{TOP}\" x2=\"{right}\" y2=\"{bottom}\" stroke=\"{stroke}\"{dash}/>"
            );
            if let Some(End::Barrier { id }) = end {
                let attributes = "text-anchor=\"end\" fill=\"#333\" font-size=\"9\"";
                let label = if self.column == WIDE { format!("bar {id}") } else { format!("b{id}") };
                self.text(right - 1, TOP - 6, attributes, &label);
            }
        }
    }

    fn stages(&mut self) {
        let width = LABELS + self.columns.len() as u32 * self.column;
        for index in 0..self.rows.len() {
            let y = TOP + index as u32 * ROW;
            let (from, to) = (self.rows[index].from, self.rows[index].to);
            let name = self.name(from, to);
            self.text(10, y + 14, "", &name);
            self.text(10, y + 26, "fill=\"#888\" font-size=\"9\"", &size(to - from));
            let _ = writeln!(self.svg, "<line x1=\"10\" y1=\"{y}\" x2=\"{width}\" y2=\"{y}\" stroke=\"#e4e4e4\"/>");
            self.held(index, y);
            for column in 0..self.columns.len() {
                for act in [Act::Fill, Act::Write, Act::ReadAsync, Act::Read] {
                    self.cell(index, column, act, y);
                }
            }
        }
    }

    /// A band from what fills a stage to the last that reads it.
    fn held(&mut self, row: usize, y: u32) {
        let writes = |column: usize| {
            self.cells.contains_key(&(row, column, Act::Fill)) || self.cells.contains_key(&(row, column, Act::Write))
        };
        let reads = |column: usize| {
            self.cells.contains_key(&(row, column, Act::Read))
                || self.cells.contains_key(&(row, column, Act::ReadAsync))
        };
        let mut bands = Vec::new();
        let mut start: Option<usize> = None;
        let mut last: Option<usize> = None;
        for column in 0..self.columns.len() {
            if reads(column) && start.is_some() {
                last = Some(column);
            }
            if writes(column) {
                bands.extend(start.zip(last));
                (start, last) = (Some(column), None);
            }
        }
        bands.extend(start.zip(last));
        for (from, to) in bands.into_iter().filter(|(from, to)| from < to) {
            let (x, width) = (LABELS + from as u32 * self.column + self.column / 2, (to - from) as u32 * self.column);
            let _ = writeln!(
                self.svg,
                "<rect x=\"{x}\" y=\"{}\" width=\"{width}\" height=\"6\" fill=\"#d9d9d9\"/>",
                y + ROW / 2 - 3
            );
        }
    }

    fn cell(&mut self, row: usize, column: usize, act: Act, y: u32) {
        let Some(cell) = self.cells.get(&(row, column, act)) else { return };
        let first = cell.pcs.first().copied().unwrap_or(0);
        let label = format!("{} {}", operation(&self.instruction(first)), warps(cell.warps));
        let lines: Vec<String> = cell.pcs.iter().take(8).map(|pc| self.place(*pc)).collect();
        let title =
            format!("{}, column {}: {}\n{}", warps(cell.warps), self.columns[column] + 1, words(act), lines.join("\n"));
        // Both ways to write share the upper half, both ways to read the lower one.
        let other = match act {
            Act::Fill => Act::Write,
            Act::Write => Act::Fill,
            Act::ReadAsync => Act::Read,
            Act::Read => Act::ReadAsync,
        };
        let is_shared = self.cells.contains_key(&(row, column, other));
        let is_upper = matches!(act, Act::Fill | Act::Write);
        let width = if is_shared { self.column / 2 - 2 } else { self.column - 4 };
        let shift = if is_shared && matches!(act, Act::Write | Act::Read) { self.column / 2 } else { 2 };
        let x = LABELS + column as u32 * self.column + shift;
        let top = if is_upper { y + 2 } else { y + ROW / 2 + 1 };
        let height = ROW / 2 - 3;
        let _ = writeln!(
            self.svg,
            "<g><title>{}</title><rect x=\"{x}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" rx=\"2\" fill=\"{}\"/>",
            escaped(&title),
            colour(act)
        );
        let label = if is_shared { warps(cell.warps) } else { label };
        let room = (width / 5) as usize;
        let label: String = label.chars().take(room).collect();
        self.text(x + 3, top + 10, "fill=\"#fff\" font-size=\"9\"", &label);
        self.svg.push_str("</g>\n");
    }

    /// Mbarriers and waits for groups.
    fn below(&mut self) {
        let top = self.mbarrier_top();
        for index in 0..self.mbarriers.len() {
            let at = self.mbarriers[index];
            let y = top + index as u32 * THIN;
            let name = format!("mbarrier {}", self.name(at, at + 8));
            self.text(10, y + 14, "", &name);
            for column in 0..self.columns.len() {
                self.marks(at, column, y);
            }
        }
        let y = self.waits_top();
        if !self.timeline.waits.is_empty() {
            self.text(10, y + 14, "", "waits until ≤ n groups are left");
        }
        for column in 0..self.columns.len() {
            self.group_waits(column, y);
        }
    }

    /// One label to a column; all waits are in its title.
    fn group_waits(&mut self, column: usize, y: u32) {
        let now = self.columns[column];
        let found: Vec<(Pc, u64)> =
            self.timeline.waits.range((now, 0)..=(now, Pc::MAX)).map(|((_, pc), by)| (*pc, *by)).collect();
        let Some((first, _)) = found.first().copied() else { return };
        let instruction = self.instruction(first);
        let count = instruction.trim_end_matches(';').rsplit(' ').next().unwrap_or("");
        let is_number = !count.is_empty() && count.chars().all(|each| each.is_ascii_digit());
        let more = if found.len() > 1 { " +" } else { "" };
        let count = if is_number { count } else { "0" };
        let label = match self.column {
            WIDE => format!("● {} ≤{count}{more}", operation(&instruction)),
            _ => format!("●≤{count}{more}"),
        };
        let lines: Vec<String> =
            found.iter().take(8).map(|(pc, by)| format!("{}: {}", warps(*by), self.place(*pc))).collect();
        let _ = write!(self.svg, "<g><title>{}</title>", escaped(&lines.join("\n")));
        let label: String = label.chars().take((self.column / 5) as usize).collect();
        let x = LABELS + column as u32 * self.column;
        self.text(x + 2, y + 14, "fill=\"#333\" font-size=\"8\"", &label);
        self.svg.push_str("</g>\n");
    }

    fn marks(&mut self, at: u64, column: usize, y: u32) {
        let now = self.columns[column];
        let x = LABELS + column as u32 * self.column;
        for (mark, sign, shift, fill) in [
            (Mark::Initialise, "◆", 2, "#888"),
            (Mark::Wait, "●", 2, "#0b6b3a"),
            (Mark::Arrive, "▲", self.column / 2 - 6, "#1f5fa8"),
        ] {
            let found: Vec<(Pc, u64)> = self
                .timeline
                .marks
                .range((now, at, mark, 0)..=(now, at, mark, Pc::MAX))
                .map(|(key, by)| (key.3, *by))
                .collect();
            if found.is_empty() {
                continue;
            }
            let by = found.iter().fold(0, |all, (_, by)| all | by);
            let lines: Vec<String> = found.iter().take(8).map(|(pc, _)| self.place(*pc)).collect();
            let title = format!("{}\n{}", warps(by), lines.join("\n"));
            let _ = write!(self.svg, "<g><title>{}</title>", escaped(&title));
            let label: String = format!("{sign}{}", warps(by)).chars().take(8).collect();
            self.text(x + shift, y + 14, &format!("fill=\"{fill}\" font-size=\"9\""), &label);
            self.svg.push_str("</g>\n");
        }
        if let Some(End::Phase { at: ended, phase }) = self.timeline.ends.get(now as usize)
            && *ended == at
        {
            let (right, phase) = (x + self.column, *phase);
            let _ = writeln!(
                self.svg,
                "<line x1=\"{right}\" y1=\"{}\" x2=\"{right}\" y2=\"{}\" stroke=\"#1f5fa8\" stroke-width=\"2\"/>",
                y + 2,
                y + THIN - 2
            );
            self.text(right - 3, y + 14, "text-anchor=\"end\" fill=\"#1f5fa8\" font-size=\"9\"", &phase.to_string());
        }
    }

    /// Races in red, and a line below for each.
    fn race_marks(&mut self) {
        let mut y = self.bottom() + 22;
        let races = self.races;
        for (number, race) in races.iter().take(MOST_RACES).enumerate() {
            if race.region == Region::Shared(self.timeline.cta) {
                self.race_mark(race);
            }
            let (first, second) = (self.short_place(race.first.pc), self.short_place(race.second.pc));
            let text = format!("race {}: {first}  ×  {second}", number + 1);
            self.text(10, y, "fill=\"#c00\"", &text);
            y += 16;
        }
        if races.len() > MOST_RACES {
            self.text(10, y, "fill=\"#c00\"", &format!("and {} more races", races.len() - MOST_RACES));
            y += 16;
        }
        if self.is_cut() {
            let text = format!("{} columns of this run are not drawn", self.left_out.max(1));
            self.text(10, y, "fill=\"#888\"", &text);
        }
    }

    fn race_mark(&mut self, race: &Race) {
        let Some(row) = self.rows.iter().position(|row| (row.from..row.to).contains(&race.at)) else { return };
        let has = |column: usize, pc: Pc| {
            let acts = [Act::Fill, Act::Write, Act::ReadAsync, Act::Read];
            acts.into_iter().find(|act| self.cells.get(&(row, column, *act)).is_some_and(|cell| cell.pcs.contains(&pc)))
        };
        let Some((second, by)) =
            (0..self.columns.len()).find_map(|column| Some((column, has(column, race.second.pc)?)))
        else {
            return;
        };
        let first = (0..=second).rev().find_map(|column| Some((column, has(column, race.first.pc)?)));
        let mut points = Vec::new();
        for (column, act) in first.into_iter().chain([(second, by)]) {
            let top = TOP + row as u32 * ROW + if matches!(act, Act::Fill | Act::Write) { 1 } else { ROW / 2 };
            let x = LABELS + column as u32 * self.column + 1;
            let _ = writeln!(
                self.svg,
                "<rect x=\"{x}\" y=\"{top}\" width=\"{}\" height=\"{}\" rx=\"3\" fill=\"none\" stroke=\"#d00\" \
                 stroke-width=\"2\"/>",
                self.column - 2,
                ROW / 2 - 1
            );
            points.push((x + self.column / 2, top + ROW / 4));
        }
        if let [(x1, y1), (x2, y2)] = points[..] {
            let _ = writeln!(
                self.svg,
                "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" stroke=\"#d00\" stroke-width=\"1.5\"/>"
            );
        }
    }

    fn instruction(&self, pc: Pc) -> String {
        self.about.place(pc, String::new()).text
    }

    /// `line 92: st.shared …`.
    fn place(&self, pc: Pc) -> String {
        let place = self.about.place(pc, String::new());
        let source = place.source.as_ref().map_or_else(String::new, SourceLine::shown);
        format!("line {}{source}: {}", place.line, super::shortened(&place.text))
    }

    /// The same in a few words.
    fn short_place(&self, pc: Pc) -> String {
        const MOST: usize = 70;
        let place = self.place(pc);
        if place.chars().count() <= MOST {
            return place;
        }
        place.chars().take(MOST).chain(['…']).collect()
    }

    /// `tile + 0 to 1023`.
    fn name(&self, from: u64, to: u64) -> String {
        let entry = self.about.entry;
        let named = entry.shared.iter().find(|(_, start, bytes)| (*start..start + bytes).contains(&(from as u32)));
        let (name, start) = named.map_or(("dynamic", entry.dynamic_shared), |(name, start, _)| (name.as_str(), *start));
        let name: String = plain_name(name).chars().take(14).collect();
        let from = from as i64 - i64::from(start);
        if to - GRAIN.min(to) > 8 && from + 8 < to as i64 - i64::from(start) {
            return format!("{name} + {from} to {}", to as i64 - i64::from(start) - 1);
        }
        format!("{name} + {from}")
    }
}

/// Pieces of memory whose bytes have the same history; pieces of one size if there are too many.
fn rows(timeline: &Timeline) -> Vec<Row> {
    let end = timeline.acts.values().map(|deed| deed.end()).max().unwrap_or(0);
    let rows = pieces(timeline, end);
    if rows.len() <= MOST_ROWS {
        return rows;
    }
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return rows };
    let (first, last) = (first.from / GRAIN, last.to / GRAIN);
    let step = (last - first).div_ceil(MOST_ROWS as u64).max(1);
    let starts = (first..last).step_by(step as usize);
    starts.map(|from| Row { from: from * GRAIN, to: (from + step).min(last) * GRAIN }).collect()
}

fn pieces(timeline: &Timeline, end: u64) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut before = Vec::new();
    for grain in 0..end {
        let history = history(timeline, grain);
        let at = grain * GRAIN;
        match rows.last_mut() {
            _ if history.is_empty() => {}
            Some(row) if row.to == at && history == before => row.to += GRAIN,
            _ => rows.push(Row { from: at, to: at + GRAIN }),
        }
        before = history;
    }
    rows
}

/// When a grain is filled: that makes it a part of a stage, whoever reads how much of it. Of what is never filled
/// asynchronously, when it is written; of what is only read, when it is read.
fn history(timeline: &Timeline, grain: u64) -> Vec<(u32, Act)> {
    let all: Vec<(u32, Act)> =
        timeline.acts.iter().filter(|(_, deed)| deed.has(grain)).map(|((now, act, _), _)| (*now, *act)).collect();
    let mut history = Vec::new();
    for act in [Act::Fill, Act::Write, Act::ReadAsync, Act::Read] {
        history.extend(all.iter().filter(|(_, own)| *own == act));
        if !history.is_empty() {
            break;
        }
    }
    history.dedup();
    history
}

/// The name of a variable of a function, as the programmer wrote it: `_ZZ4ringPfE5stage`.
fn plain_name(name: &str) -> &str {
    let plain = || {
        let (_, behind) = name.strip_prefix("_ZZ")?.rsplit_once('E')?;
        let digits = behind.find(|each: char| !each.is_ascii_digit())?;
        let length: usize = behind.get(..digits)?.parse().ok()?;
        behind.get(digits..digits.checked_add(length)?)
    };
    plain().unwrap_or(name)
}

fn colour(act: Act) -> &'static str {
    match act {
        Act::Fill => "#2f6fb7",
        Act::Write => "#c9711a",
        Act::ReadAsync => "#7b4aa8",
        Act::Read => "#2e8b57",
    }
}

fn words(act: Act) -> &'static str {
    match act {
        Act::Fill => "filled asynchronously",
        Act::Write => "written by threads",
        Act::ReadAsync => "read asynchronously",
        Act::Read => "read by threads",
    }
}

/// `w0-3`, `w0,2`.
fn warps(mask: u64) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut warp = 0;
    while warp < 64 {
        if mask & (1 << warp) == 0 {
            warp += 1;
            continue;
        }
        let start = warp;
        while warp < 64 && mask & (1 << warp) != 0 {
            warp += 1;
        }
        parts.push(if warp - start == 1 { start.to_string() } else { format!("{start}-{}", warp - 1) });
    }
    format!("w{}", parts.join(","))
}

/// What people call an instruction.
fn operation(text: &str) -> String {
    let opcode = text.split_whitespace().find(|word| !word.starts_with('@')).unwrap_or("");
    for (start, name) in [
        ("cp.async.bulk.tensor", "TMA"),
        ("cp.reduce.async.bulk.tensor", "TMA"),
        ("cp.async.bulk", "bulk"),
        ("cp.async", "cp.async"),
        ("tcgen05.mma", "mma"),
        ("tcgen05.cp", "tcgen05.cp"),
    ] {
        if opcode.starts_with(start) {
            return name.to_owned();
        }
    }
    opcode.split('.').next().unwrap_or("").to_owned()
}

fn size(bytes: u64) -> String {
    if bytes.is_multiple_of(1024) { format!("{} KiB", bytes / 1024) } else { format!("{bytes} bytes") }
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            // XML knows no other control characters.
            other if other.is_control() && other != '\n' => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warps_are_written_in_ranges() {
        assert_eq!([warps(1), warps(0b1111), warps(0b10_0101)], ["w0", "w0-3", "w0,2,5"]);
    }

    #[test]
    fn instructions_have_short_names() {
        let short = |text: &str| operation(text);
        assert_eq!(short("@%p1 cp.async.bulk.tensor.2d.shared::cluster [%r1], x;"), "TMA");
        assert_eq!(
            (plain_name("_ZZ4ringPfE5stage"), plain_name("_ZZE9x"), plain_name("tile")),
            ("stage", "_ZZE9x", "tile")
        );
        assert_eq!(short("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1}, [%r2];"), "ldmatrix");
    }
}

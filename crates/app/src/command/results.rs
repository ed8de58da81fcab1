//! What `fencepost check` writes. Each file's results are written when it is its turn, so that a run that is stopped or
//! killed leaves what it found. A format that is one document (JUnit), pictures, and the count at the end come last, also
//! after Ctrl-C.

use std::path::{Path, PathBuf};

use fencepost_check::expect::expectation::Comparison;
use fencepost_check::model::purpose::Purpose;
use fencepost_check::model::readings::Settings;
use fencepost_tell::output::{Row, Status, herd, json, junit, table};
use fencepost_tell::{explain, render};

use super::file::{self, Choice, File};
use super::{readings, refresh};
use crate::cli;
use crate::exit::Exit;
use crate::inputs::{Input, reason, shown};
use crate::terminal;

pub(crate) struct Results<'a> {
    options: &'a cli::Check,
    inputs: &'a [Input],
    files: Vec<File>,
    table: table::Table,
    folders: Folders,
    /// Lines of expectations that were kept because there was no answer.
    kept: u64,
    exit: Exit,
}

impl<'a> Results<'a> {
    pub(crate) fn new(options: &'a cli::Check, inputs: &'a [Input], choice: &Choice, exit: Exit) -> Results<'a> {
        let mut table = table::Table::new(terminal::stdout_width(), terminal::stdout_colour());
        // A file alone is written at once, and the columns fit.
        if inputs.len() > 1 {
            let title = inputs.iter().map(|input| input.name().chars().count()).max().unwrap_or(0);
            let model = match choice {
                Choice::These(models) => models.iter().map(|model| model.name.chars().count()).max().unwrap_or(0),
                Choice::Expected | Choice::ExpectedOrAll | Choice::All => {
                    fencepost_check::Models::default_for(Purpose::Ptx).len()
                }
            };
            table = table.reserving(title, model);
        }
        let folders = Folders::new(options, inputs);
        Results { options, inputs, files: Vec::with_capacity(inputs.len()), table, folders, kept: 0, exit }
    }

    /// The next file.
    pub(crate) fn add(&mut self, at: usize, file: File) {
        if file.broken.is_some() {
            self.exit.bad_input();
        }
        if file.skipped {
            self.exit.status(Status::Unknown);
        }
        file.results.iter().for_each(|result| self.exit.status(result.row().status()));
        self.print(at, &file);
        // Whether a reading that was chosen is one of any model is known at the end only.
        if self.options.refresh && self.options.reading.is_empty() {
            self.refresh(at, &file);
        }
        self.files.push(file);
    }

    /// What comes after all files.
    pub(crate) fn finish(&mut self, settings: &Settings) -> Exit {
        let unused = readings::unused(settings, &self.files);
        if self.is_for_people() {
            terminal::out(&self.closing());
        }
        if let Some(path) = &self.options.junit {
            self.write_junit(path);
        }
        if let Some(exit) = unused {
            return exit;
        }
        if let Some(picture) = &self.options.graph {
            self.write_graphs(picture);
        }
        if self.options.refresh && !self.options.reading.is_empty() {
            let files = std::mem::take(&mut self.files);
            files.iter().enumerate().for_each(|(at, file)| self.refresh(at, file));
            self.files = files;
        }
        if self.kept > 0 {
            terminal::note(&refresh::kept(self.kept));
        }
        self.exit
    }

    fn refresh(&mut self, at: usize, file: &File) {
        let Some(input) = self.inputs.get(at) else { return };
        let unknown = refresh::new_unknown(&self.options.model);
        self.kept += refresh::refresh(input, file, unknown, &mut self.exit).kept;
    }

    /// Whether the output is neither for a program nor for herd's tools.
    fn is_for_people(&self) -> bool {
        let is_junit = self.options.junit.as_deref() == Some(Path::new("-"));
        !self.options.json && !self.options.herd && !is_junit
    }

    fn print(&mut self, at: usize, file: &File) {
        if self.options.json {
            file.results.iter().for_each(|result| terminal::out_json(&json_line(self.options, file, result)));
        } else if self.options.herd {
            for result in &file.results {
                if let Some(test) = file.tests.get(result.test) {
                    terminal::out(&herd::log(test, &result.checked.report));
                }
            }
        } else if self.is_for_people() {
            let text = self.human(at, file);
            terminal::out(&text);
        }
    }

    /// Paragraphs where they were asked for or there is one answer, else lines of a table.
    fn human(&mut self, at: usize, file: &File) -> String {
        let options = self.options;
        let is_alone = self.inputs.len() == 1 && file.results.len() == 1;
        if !options.all && !options.explain && !is_alone {
            let rows: Vec<Row<'_>> = file.results.iter().map(file::Result::row).collect();
            let shown: Vec<Row<'_>> = rows.iter().filter(|row| self.folders.shows(at, row)).cloned().collect();
            let text = self.table.rows(&shown);
            return text + &self.folders.count(at, &rows);
        }
        let colour = terminal::stdout_colour();
        let histogram = if options.all { table::Histogram::Show } else { table::Histogram::Hide };
        let mut text = String::new();
        for result in &file.results {
            text.push_str(&table::paragraph(&result.row(), histogram, colour));
            if let (true, Some(test)) = (options.explain, file.tests.get(result.test)) {
                text.push_str(&explain::explain(test, &result.model, &result.checked));
            }
        }
        text
    }

    fn closing(&self) -> String {
        let rows: Vec<Row<'_>> = self.files.iter().flat_map(|file| &file.results).map(file::Result::row).collect();
        let broken = self.files.iter().filter(|file| file.broken.is_some()).count();
        let skipped = self.files.iter().filter(|file| file.skipped).count();
        let mut text = String::new();
        if rows.len() > 1 || broken > 0 {
            text.push_str(&table::summary(&rows, broken));
        }
        if skipped > 0 {
            text.push_str(&format!("stopped: {skipped} of {} files were not checked\n", self.files.len()));
        }
        text
    }

    fn write_junit(&mut self, path: &Path) {
        let mut cases = Vec::new();
        for file in &self.files {
            cases.extend(file.results.iter().map(|result| junit::case(&result.row())));
            if let Some(message) = &file.broken {
                cases.push(junit::broken(&file.name, message));
            }
            if file.skipped {
                cases.push(junit::broken(&file.name, "stopped before it was checked"));
            }
        }
        let document = junit::document(&cases);
        if path == Path::new("-") {
            terminal::out(&document);
        } else {
            write(path, &document, &mut self.exit);
        }
    }

    /// A picture per check: in the file that was named if there is one check, else in files named after the tests.
    fn write_graphs(&mut self, picture: &cli::Picture) {
        let cli::Picture { path, format } = picture;
        let results = self.files.iter().flat_map(|file| file.results.iter().map(move |result| (file, result)));
        let results: Vec<(&File, &file::Result)> = results.collect();
        let mut missing = 0;
        for (at, (file, result)) in results.iter().enumerate() {
            let test = file.tests.get(result.test);
            let drawn = test.and_then(|test| render::picture(test, &result.model, &result.checked, *format));
            let Some(picture) = drawn else {
                missing += 1;
                continue;
            };
            // A folder for pictures is often a new one.
            if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty())
                && let Err(error) = std::fs::create_dir_all(folder)
            {
                terminal::complain(&format!("cannot create the folder `{}`: {}", shown(folder), reason(&error)));
                self.exit.bad_input();
                return;
            }
            if results.len() == 1 {
                write(path, &picture, &mut self.exit);
                continue;
            }
            let report = &result.checked.report;
            let path = numbered(path, &report.test, at + 1);
            write(&path, &picture, &mut self.exit);
            terminal::note(&format!("{}: {} under {}", shown(&path), table::title(report), report.model));
        }
        match missing {
            0 => {}
            _ if results.len() == 1 => terminal::note("no execution to draw was found"),
            _ => terminal::note(&format!("{missing} of {} checks have no execution to draw", results.len())),
        }
    }
}

/// Files that came from folders of the command line: what is as expected there is counted, a line per folder.
struct Folders {
    /// By input, the folder that it is counted in; none for a file that was named itself.
    of: Vec<Option<PathBuf>>,
    /// The checks of the folder that is being counted.
    checks: usize,
    as_expected: usize,
    width: usize,
    /// One folder is what the last line says.
    is_one: bool,
}

impl Folders {
    fn new(options: &cli::Check, inputs: &[Input]) -> Folders {
        let is_counted = !options.list;
        let of: Vec<Option<PathBuf>> =
            inputs.iter().map(|input| folder(&options.paths, input).filter(|_| is_counted)).collect();
        let width = of.iter().flatten().map(|folder| shown(folder).chars().count()).max().unwrap_or(0);
        let mut folders: Vec<&PathBuf> = of.iter().flatten().collect();
        folders.dedup();
        Folders { is_one: folders.len() < 2, of, checks: 0, as_expected: 0, width }
    }

    fn at(&self, at: usize) -> Option<&PathBuf> {
        self.of.get(at)?.as_ref()
    }

    /// Whether a row is printed: what nobody expected anything of is, and what is not as expected.
    fn shows(&self, at: usize, row: &Row<'_>) -> bool {
        self.at(at).is_none() || !is_as_expected(row)
    }

    /// Counts the rows of a file; the line of its folder, if it is the last one there.
    fn count(&mut self, at: usize, rows: &[Row<'_>]) -> String {
        let Some(folder) = self.at(at).cloned() else { return String::new() };
        self.checks += rows.len();
        self.as_expected += rows.iter().filter(|row| is_as_expected(row)).count();
        if self.at(at + 1) == Some(&folder) {
            return String::new();
        }
        let (checks, as_expected) = (std::mem::take(&mut self.checks), std::mem::take(&mut self.as_expected));
        if self.is_one || as_expected == 0 {
            return String::new();
        }
        let (name, width) = (shown(&folder), self.width);
        let checks = if checks == 1 { "1 check".to_owned() } else { format!("{checks} checks") };
        format!("{name:width$}  {checks:>12}: {as_expected} as expected\n")
    }
}

fn is_as_expected(row: &Row<'_>) -> bool {
    matches!(row.comparison, Comparison::AsExpected) && row.status() == Status::Good
}

/// The folder of the command line that an input lies in, with the next folder below if there is one.
fn folder(paths: &[PathBuf], input: &Input) -> Option<PathBuf> {
    let Input::File(file) = input else { return None };
    let root = paths.iter().find(|path| *path != file && file.starts_with(path))?;
    let below = file.strip_prefix(root).ok()?.components().collect::<Vec<_>>();
    match below.as_slice() {
        [first, _, ..] => Some(root.join(first)),
        _ => Some(root.clone()),
    }
}

fn json_line(options: &cli::Check, file: &File, result: &file::Result) -> String {
    match file.tests.get(result.test).filter(|_| options.explain) {
        Some(test) => {
            json::explained_line(&result.row(), &explain::explain_parts(test, &result.model, &result.checked))
        }
        None => json::line(&result.row()),
    }
}

/// `out.svg` and the second check, of `MP`: `out-MP-2.svg`. A test's name may hold anything, a file's should not.
fn numbered(path: &Path, test: &str, number: usize) -> PathBuf {
    const LONGEST: usize = 60;
    let plain = |character: char| character.is_ascii_alphanumeric() || "._+-".contains(character);
    let name: String = test.chars().take(LONGEST).map(|each| if plain(each) { each } else { '_' }).collect();
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let ending = path.extension().unwrap_or_default().to_string_lossy().into_owned();
    path.with_file_name(format!("{stem}-{name}-{number}.{ending}"))
}

fn write(path: &Path, text: &str, exit: &mut Exit) {
    if let Err(error) = std::fs::write(path, text) {
        terminal::complain(&format!("cannot write `{}`: {}", shown(path), reason(&error)));
        exit.bad_input();
    }
}

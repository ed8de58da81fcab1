//! `fencepost readings`, and the readings that other commands are given.

use std::fmt::Write;

use fencepost_check::LoadedModel;
use fencepost_check::readings::{self, Point, Settings, table};

use super::file::Choice;
use crate::cli;
use crate::exit::Exit;
use crate::terminal;

pub(crate) fn run(options: &cli::Readings) -> Exit {
    terminal::out(&if options.json { readings::json() } else { text(&table()) });
    Exit::default()
}

fn text(points: &[Point]) -> String {
    let mut text = String::new();
    for point in points {
        let _ = writeln!(text, "{}", line(point));
        let _ = writeln!(text, "    {}", point.question);
        let _ =
            writeln!(text, "    {}PTX ISA {}", point.id.map_or(String::new(), |id| format!("{id}, ")), point.sections);
    }
    text
}

/// `async-fence = per-thread | on-path  (default per-thread, contested)`.
fn line(point: &Point) -> String {
    let standing = if point.is_contested() { "contested" } else { "settled" };
    format!("{} = {}  (default {}, {standing})", point.name, point.values.join(" | "), point.default)
}

/// The readings of a model as comments, so that what is printed with its text stays a model.
pub(crate) fn of_model(model: &LoadedModel) -> String {
    if model.points.is_empty() {
        return String::new();
    }
    let mut text = String::from("\n// The readings of this model (`fencepost readings` says more):\n");
    for point in &model.points {
        let _ = writeln!(text, "//   {}", line(point));
    }
    text
}

/// What `--reading` says, if every model that was asked for can be read so.
pub(crate) fn chosen(given: &[String], choice: &Choice) -> Result<Settings, Exit> {
    let mut settings = Settings::default();
    let models: &[_] = if let Choice::These(models) = choice { models } else { &[] };
    let mut points = table();
    points.extend(models.iter().flat_map(|model| model.points.iter().filter(|point| point.id.is_none()).cloned()));
    for text in given {
        if let Err(bad) = settings.add(text) {
            return Err(refuse(&bad.to_string()));
        }
    }
    if let Err(bad) = settings.check(&points) {
        return Err(refuse(&bad.to_string()));
    }
    let unread = |name: &&String| !models.is_empty() && !models.iter().any(|model| model.has_reading(name));
    match settings.0.keys().find(unread) {
        Some(name) => {
            let models: Vec<&str> = models.iter().map(|model| model.name.as_str()).collect();
            Err(refuse(&format!("the model {} has no reading `{name}`", models.join(" or "))))
        }
        None => Ok(settings),
    }
}

fn refuse(message: &str) -> Exit {
    terminal::complain(message);
    Exit::BAD_INPUT
}

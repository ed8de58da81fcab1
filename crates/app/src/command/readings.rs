//! `fencepost readings`, and the readings that other commands are given.

use fencepost_check::model::readings::{Settings, table};
use fencepost_check::model::shipped::{self, OfModel};
use fencepost_check::{LoadedModel, Models};
use fencepost_syntax::sorted::SharedSort as _;
use fencepost_tell::output;

use super::file::{Choice, File};
use super::library::{Library, Refused};
use crate::cli;
use crate::exit::Exit;
use crate::terminal;

pub(crate) fn run(options: &cli::Readings) -> Exit {
    let models = if options.models.is_empty() {
        shipped::readings()
    } else {
        match named(&options.models) {
            Ok(models) => models,
            Err(refused) => {
                terminal::err(&refused.0);
                return Exit::BAD_INPUT;
            }
        }
    };
    if options.json {
        terminal::out_json(&shipped::readings_json(models));
    } else {
        terminal::out(&output::readings::list(&models));
    }
    Exit::default()
}

fn named(names: &[String]) -> Result<Vec<OfModel>, Refused> {
    let library = Library::default();
    let models: Result<Vec<_>, Refused> = names.iter().map(|name| library.get(name)).collect();
    Ok(models?.iter().flat_map(|model| shipped::readings_of(model)).collect())
}

/// What `--reading` says, if every model that was asked for can be read so.
pub(crate) fn chosen(given: &[String], choice: &Choice) -> Result<Settings, Exit> {
    let mut settings = Settings::default();
    let models: &[_] = if let Choice::These(models) = choice { models } else { &[] };
    if given.is_empty() {
        return Ok(settings);
    }
    let mut points = table();
    // Where no model is named, the default of some test may be any that is shipped.
    let shipped = if models.is_empty() { shipped::readings() } else { Vec::new() };
    points.extend(shipped.into_iter().flat_map(|of| of.points).filter(|point| point.id.is_none()));
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
    let refused = settings.0.keys().find(unread).map(|name| {
        let models: Vec<&str> = models.iter().map(|model| model.name.as_str()).collect();
        refuse(&format!("the model {} has no reading `{name}`", models.join(" or ")))
    });
    refused.map_or(Ok(settings), Err)
}

/// A reading that no model of these checks has: it would be ignored in silence.
pub(crate) fn unused(settings: &Settings, files: &[File]) -> Option<Exit> {
    let models: Vec<&LoadedModel> =
        files.iter().flat_map(|file| &file.results).map(|result| result.model.as_ref()).collect();
    let is_unused = |name: &&String| !models.is_empty() && !models.iter().any(|model| model.has_reading(name));
    let name = settings.0.keys().find(is_unused)?;
    let owners =
        Models::names().into_iter().filter(|model| Models::shipped(model).is_some_and(|it| it.has_reading(name)));
    let owners: Vec<String> = owners.map(|model| format!("it is one of {model} (`--model {model}`)")).collect();
    let mut used: Vec<&str> = models.iter().map(|model| model.name.as_str()).collect();
    used.shared_sort();
    used.dedup();
    let way_out = if owners.is_empty() { "no shipped model has a rule for it".to_owned() } else { owners.join(", ") };
    Some(refuse(&format!("the model {} has no reading `{name}`: {way_out}", used.join(" or "))))
}

fn refuse(message: &str) -> Exit {
    terminal::complain(message);
    Exit::BAD_INPUT
}

//! Models by name or by path. Each is read and compiled once; a bad one is reported once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use fencepost_check::{LoadedModel, Models, Why};
use fencepost_syntax::Source;
use fencepost_syntax::suggest::nearest;
use fencepost_tell::words;

use crate::diagnostics;
use crate::inputs::{read_regular, reason, shown};
use crate::pool;
use crate::terminal;
use crate::visible;

/// By name, what became of it.
type Loaded = BTreeMap<String, Result<Arc<LoadedModel>, Refused>>;

/// Clones share what was loaded.
#[derive(Clone, Default)]
pub(crate) struct Library {
    loaded: Arc<Mutex<Loaded>>,
    time_limit: Option<Duration>,
    spent: Arc<Mutex<Duration>>,
}

/// A model that cannot be used; the text for standard error, diagnostics included.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Refused(pub(crate) String, pub(crate) Cause);

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Cause {
    Mistake,
    /// It was not read to its end.
    Limit,
}

impl Refused {
    /// A model that is none for what was asked, and why.
    pub(crate) fn mistake(message: &str) -> Refused {
        Refused(complaint(message), Cause::Mistake)
    }
}

impl Library {
    /// With so much time for each model that is read from a file.
    pub(crate) fn within(time_limit: Option<Duration>) -> Library {
        Library { time_limit, ..Library::default() }
    }

    /// The time that reading models has taken since this was asked last.
    pub(crate) fn take_spent(&self) -> Duration {
        std::mem::take(&mut *self.spent.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A shipped model, or a file if the name looks like one.
    pub(crate) fn get(&self, name: &str) -> Result<Arc<LoadedModel>, Refused> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        loaded.entry(name.to_owned()).or_insert_with(|| self.load(name).map(Arc::new)).clone()
    }
}

impl Library {
    /// A text of any size may be a model: reading it has a stack and a limit of its own.
    fn load(&self, name: &str) -> Result<LoadedModel, Refused> {
        if let Some(model) = Models::shipped(name) {
            return Ok(model);
        }
        let (start, own) = (Instant::now(), name.to_owned());
        let loaded = pool::alone(self.time_limit, move || load(&own));
        *self.spent.lock().unwrap_or_else(PoisonError::into_inner) += start.elapsed();
        loaded.unwrap_or_else(|ended| {
            let why = Why::from(ended);
            Err(Refused(
                complaint(&format!("the model `{name}` was not read to its end: {}", words::why(&why))),
                Cause::Limit,
            ))
        })
    }
}

fn load(name: &str) -> Result<LoadedModel, Refused> {
    let path = Path::new(name);
    if path.extension().is_none_or(|extension| extension != "cat") && !path.is_file() {
        return Err(Refused(unknown(name), Cause::Mistake));
    }
    let text = std::fs::read(path).map_err(|error| {
        Refused(complaint(&format!("cannot read the model `{name}`: {}", reason(&error))), Cause::Mistake)
    })?;
    let source = Source::new(shown(path), visible::text(text));
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    let mut resolve = |file: &str| read_include(&folder, file);
    match Models::from_source(name, source, &mut resolve) {
        Ok(model) => Ok(model),
        Err(problems) => {
            let colour = terminal::stderr_colour();
            let render = |(source, diagnostic)| diagnostics::render(&source, &[diagnostic], colour);
            Err(Refused(problems.into_iter().map(render).collect(), Cause::Mistake))
        }
    }
}

/// An include is looked for beside the model. A path that leaves the folder upwards is as good as any other: the model
/// is the user's own.
fn read_include(folder: &Path, file: &str) -> Option<String> {
    let path: PathBuf = folder.join(file);
    read_regular(&path).ok().map(visible::text)
}

fn unknown(name: &str) -> String {
    let names = Models::names();
    let hint = match nearest(name, &names) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => format!("there are {}; a file needs the ending .cat", names.join(", ")),
    };
    complaint(&format!("there is no model `{name}`: {hint}"))
}

fn complaint(message: &str) -> String {
    format!("{}: {message}\n", terminal::stderr_colour().paint("1;31", "error"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_model_is_suggested() {
        assert!(unknown("ptx7.5").contains("`ptx-7.5`"), "{}", unknown("ptx7.5"));
        assert!(unknown("powerpc").contains("ending .cat"), "{}", unknown("powerpc"));
    }
}

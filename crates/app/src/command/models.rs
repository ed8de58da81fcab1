//! `fencepost models`, and `fencepost models NAME` or `fencepost models show NAME`.

use fencepost_check::Models;
use fencepost_tell::output;

use super::library::Library;
use crate::cli;
use crate::exit::Exit;
use crate::terminal;

pub(crate) fn run(options: &cli::Models) -> Exit {
    let named = options.action.as_ref().map(|cli::ModelsAction::Show { name }| name).or(options.name.as_ref());
    match named {
        None => {
            let names = Models::names();
            let width = names.iter().map(|name| name.len()).max().unwrap_or(0);
            let line = |name: &&str| format!("{name:width$}  {}\n", Models::summary(name));
            terminal::out(&names.iter().map(line).collect::<String>());
            Exit::default()
        }
        Some(name) => match Library::default().get(name) {
            Ok(model) => {
                terminal::out(&model.source.text);
                terminal::out(&output::readings::of_model(&model));
                Exit::default()
            }
            Err(refused) => {
                terminal::err(&refused.0);
                Exit::BAD_INPUT
            }
        },
    }
}

//! `fencepost print`: tests in their canonical form.

use fencepost_syntax::litmus;

use crate::cli;
use crate::diagnostics;
use crate::exit::Exit;
use crate::inputs;
use crate::terminal;

pub(crate) fn run(options: &cli::Print) -> Exit {
    let mut exit = Exit::default();
    let (inputs, problems) = inputs::collect(&options.paths);
    for problem in &problems {
        terminal::complain(&problem.0);
        exit.bad_input();
    }
    for input in &inputs {
        let source = match input.read() {
            Ok(source) => source,
            Err(problem) => {
                terminal::complain(&problem.0);
                exit.bad_input();
                continue;
            }
        };
        let (trees, diagnostics) = litmus::parse_named(&source.name, &source.text);
        terminal::err(&diagnostics::render(&source, &diagnostics, terminal::stderr_colour()));
        if diagnostics.iter().any(|diagnostic| diagnostic.is_error()) {
            exit.bad_input();
        }
        trees.iter().for_each(|tree| terminal::out(&litmus::print(tree)));
    }
    exit
}

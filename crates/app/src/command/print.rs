//! `fencepost print`: tests in their canonical form, so that what is printed of a file reads as the same tests.
//!
//! NVLitmus has no place for the name of a test, and so none for several of them: a template is printed as a template.

use fencepost_check::test::neutral;
use fencepost_syntax::litmus;

use super::check::collect;
use crate::cli;
use crate::diagnostics;
use crate::exit::Exit;
use crate::terminal;

pub(crate) fn run(options: &cli::Print) -> Exit {
    let mut exit = Exit::default();
    let mut printed = 0;
    for input in &collect(&options.paths, &mut exit) {
        let source = match input.read() {
            Ok(source) => source,
            Err(problem) => {
                terminal::complain(&problem.0);
                exit.bad_input();
                continue;
            }
        };
        let (trees, diagnostics) = if neutral::holds_neutral(&source) {
            let (tests, diagnostics) = neutral::load(&source);
            (tests.into_iter().map(|neutral| neutral.test.litmus).collect(), diagnostics)
        } else {
            litmus::parse_named(&source.name, &source.text)
        };
        terminal::err(&diagnostics::render(&source, &diagnostics, terminal::stderr_colour()));
        if diagnostics.iter().any(|diagnostic| diagnostic.is_error()) {
            exit.bad_input();
        }
        let template = litmus::template_of(&source.name, &source.text).filter(|_| options.test.is_none());
        if let Some(template) = template {
            if !diagnostics.iter().any(|diagnostic| diagnostic.is_error()) {
                printed += trees.len();
                terminal::out(&template.print());
            }
            continue;
        }
        let wanted = trees.iter().filter(|tree| options.test.as_ref().is_none_or(|name| *name == tree.name.node));
        for tree in wanted {
            printed += 1;
            terminal::out(&litmus::print(tree));
        }
    }
    if let (Some(name), 0) = (&options.test, printed) {
        terminal::complain(&format!("there is no test `{name}`"));
        exit.bad_input();
    }
    exit
}

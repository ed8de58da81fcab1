//! Comments that nest or do not: no instruction is lost to a comment without an error.

use fencepost_syntax::cat::parse;
use fencepost_syntax::{Diagnostic, Severity};

fn errors(text: &str) -> Vec<Diagnostic> {
    parse(text).1.into_iter().filter(Diagnostic::is_error).collect()
}

#[test]
fn a_bracket_and_a_star_in_the_prose_of_a_comment_only_warn() {
    let text = "(* the load *(p) and the store *)\n(* address (*(p) = 1) dependencies, or\n   if (x) y = 1; call it\n   with care *)\n\
                acyclic po as kept\n(* end *)\nempty rf as also-kept\n";
    let (model, diagnostics) = parse(text);
    assert_eq!(model.instructions.len(), 2);
    assert_eq!(diagnostics.len(), 1, "{diagnostics:#?}");
    assert_eq!(diagnostics[0].severity, Severity::Warning);
}

#[test]
fn a_comment_that_could_have_swallowed_an_instruction_is_an_error() {
    for swallowed in [
        "acyclic hb as lost",
        "  empty rmw & (fre; coe)",
        "let hb = po | rf",
        "irreflexive hb",
        "flag ~empty race as racy",
        "include \"base.cat\"",
        "procedure p(r) = empty r end",
        "call total(co, W)",
        "with co from generate_cos(co0)",
        "if \"variant\" acyclic po end",
        "undefined_unless empty race as race",
    ] {
        let text = format!("PTX\nacyclic po as first\n(* not closed\n{swallowed}\n(* closed *)\nacyclic co as last\n");
        let all = errors(&text);
        assert_eq!(all.len(), 1, "{swallowed}: {all:#?}");
        assert_eq!(all[0].span.start as usize, text.find("(*").expect("a comment"), "{swallowed}");
        assert!(all[0].help.as_ref().is_some_and(|help| help.contains("close every")), "{all:#?}");
    }
    // On the line of the opening, too.
    assert_eq!(errors("(* atomicity empty rmw & (fre; coe)\n(* sc *) acyclic po | co").len(), 1);
}

#[test]
fn balanced_nesting_is_read_as_herd_reads_it() {
    let text = "(* switched off:\n  acyclic po (* too strong *)\n*)\nacyclic co as kept\n";
    let (model, diagnostics) = parse(text);
    assert_eq!((model.instructions.len(), diagnostics.len()), (1, 0));
}

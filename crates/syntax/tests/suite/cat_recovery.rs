//! What the cat parser says of broken texts, and that nothing makes it panic, overflow or hang.

use fencepost_syntax::Diagnostic;
use fencepost_syntax::cat::{CatInstruction, MAX_HEIGHT, parse, print};

fn errors(text: &str) -> Vec<Diagnostic> {
    parse(text).1.into_iter().filter(Diagnostic::is_error).collect()
}

fn only_error(text: &str) -> Diagnostic {
    let mut all = errors(text);
    assert_eq!(all.len(), 1, "{text}\n{all:#?}");
    all.remove(0)
}

fn help(diagnostic: &Diagnostic) -> &str {
    diagnostic.help.as_deref().unwrap_or("")
}

#[test]
fn each_broken_instruction_gets_one_message_and_its_neighbours_are_read() {
    let text = "PTX\nlet a = (b | c\nlet d = e\nlet = f\nacyclic d as ok\nlet g = h &\nempty g\nlet i = [W] po\nlet last = d\n";
    let (model, _) = parse(text);
    let all = errors(text);
    assert_eq!(all.len(), 4, "{all:#?}");
    let defined: Vec<&CatInstruction> = model.instructions.iter().map(|instruction| &instruction.node).collect();
    assert!(matches!(defined.last(), Some(CatInstruction::Let { .. })));
    assert!(
        defined.iter().any(|instruction| matches!(instruction, CatInstruction::Check(check) if check.name.is_some()))
    );
    assert!(all.iter().all(|diagnostic| diagnostic.help.is_some()));
    assert!(all[3].message.contains("found the name `po`"), "{}", all[3].message);
    assert!(help(&all[3]).contains("operator"));
}

#[test]
fn errors_inside_a_procedure_do_not_lose_its_end() {
    let text = "procedure p(a) =\n  let b = )\n  acyclic a\nend\nlet c = d\n";
    only_error(text);
    let (model, _) = parse(text);
    assert_eq!(model.instructions.len(), 2);
    let CatInstruction::Procedure { body, .. } = &model.instructions[0].node else { panic!() };
    assert_eq!(body.len(), 1);
}

#[test]
fn a_definition_without_a_value_is_blamed_and_not_the_next_one() {
    let text = "let a =\nlet b = c\nlet d = e\n";
    let error = only_error(text);
    assert_eq!(error.span.start, 8);
    assert_eq!(parse(text).0.instructions.len(), 2);
}

#[test]
fn misspelt_words_are_suggested() {
    for (text, meant) in [
        ("enmu L = 'a || 'b", "`enum`"),
        ("let a = b\n\nacyclc | a", "`acyclic`"),
        ("lett a = b", "`let`"),
        ("Acyclic po", "`acyclic`"),
        ("PTX\nincldue \"a.cat\"", "`include`"),
        ("flag ~emtpy a", "`empty`"),
    ] {
        let all = parse(text).1;
        assert!(all.iter().any(|diagnostic| help(diagnostic).contains(meant)), "{text}: {all:#?}");
    }
    assert!(help(&only_error("a = b")).contains("`let`"));
}

#[test]
fn a_misspelt_check_is_blamed_and_not_its_label() {
    let error = only_error("let a = po | rf\nacyclc a | co as sc\n");
    assert_eq!(
        (error.span.start, error.message.as_str()),
        (16, "`acyclc` stands where an instruction begins, and is none")
    );
    assert_eq!(only_error("let a = po | rf\nacyclc a\n").span.start, 16, "no axiom is lost without a word");
    assert!(errors("let a = po | rf\n  acyclc\n").is_empty(), "an argument may stand on a line of its own");
    assert!(help(&error).contains("`acyclic`"));
    assert_eq!(only_error("let a = b as c\n").span.start, 10, "without a suspect the `as` is the mistake");
}

#[test]
fn causes_are_named() {
    for (text, part) in [
        ("let a = b || c", "single"),
        ("let a = b^2", "r^-1"),
        ("let end = b", "choose another name"),
        ("include file.cat", "include \"file.cat\""),
        ("let f x = if x then a else b", "condition"),
        ("procedure p(x) = let a = b", "`end`"),
        ("let a = b ∪ c", "`|`"),
        ("let a = 7", "`0`"),
        ("enum L = a", "'a || 'b"),
        ("procedure p() =\n enum L = 'a\nend", "top level"),
        ("let a = match b with || {} -> c || {} -> d end", "two clauses"),
        ("call p", "`()`"),
        ("let a = b and", "letters"),
        ("end", "remove it"),
    ] {
        let all = errors(text);
        assert!(all.first().is_some_and(|first| help(first).contains(part)), "{text}: {all:#?}");
    }
}

#[test]
fn unclosed_comments_and_strings_are_one_error_at_their_opening() {
    for (text, start) in
        [("let a = b (* c\nlet d = (", 10), ("let a = b /* c\n)", 10), ("let a = b\ninclude \"x\n)", 18)]
    {
        let all = errors(text);
        assert_eq!(all[0].span.start, start, "{all:#?}");
        assert!(all[0].message.contains("not closed"));
        assert_eq!(parse(text).0.instructions.len(), 1);
    }
    assert_eq!(errors("(* (* ").len(), 1);
}

#[test]
fn deep_texts_are_refused_and_not_overflowed() {
    for (open, inner, close) in [
        ("(", "a", ")"),
        ("[", "a", "]"),
        ("~", "a", ""),
        ("f(", "a", ")"),
        ("{", "a", "}"),
        ("let a = ", "b", " in c"),
        ("fun x -> ", "a", ""),
        ("A * ~", "B", ""),
        ("begin ", "a", " end"),
        ("try ", "a", " with b"),
        ("if a = ", "a", " then b else c"),
        ("match a with 'a -> ", "b", " end"),
        ("a | ", "b", ""),
        ("a \\ ", "b", ""),
        ("f ", "b", ""),
        ("", "b", "?"),
        ("", "b", " * c"),
    ] {
        let text = format!("let x = {}{inner}{}\nlet y = z", open.repeat(100_000), close.repeat(100_000));
        let (model, diagnostics) = parse(&text);
        assert!(diagnostics.iter().any(Diagnostic::is_error), "{open}");
        assert!(model.instructions.len() <= 2);
    }
    for text in [
        "procedure p() =\n",
        "if \"v\"\n",
        "if not ",
        "if (",
        "forall x in y do\n",
        "match a with 'a ->\n",
        "if \"a\" || ",
    ] {
        assert!(!errors(&text.repeat(100_000)).is_empty());
    }
    assert!(!errors(&format!("if {}\"v\" end", "(".repeat(100_000))).is_empty());
}

#[test]
fn a_text_just_below_the_limits_is_read_and_printed() {
    let chain = format!("let x = {}a", "a | ".repeat(MAX_HEIGHT as usize - 2));
    let nest = format!("let x = {}a{}", "(b & ".repeat(45), ")".repeat(45));
    let complements = format!("let x = {}a", "~".repeat(300));
    let postfix = format!("let x = a{}", "+?*".repeat(100));
    let products = format!("let x = a{}", " * a".repeat(300));
    for text in [chain, nest, complements, postfix, products] {
        let (model, diagnostics) = parse(&text);
        assert!(!diagnostics.iter().any(Diagnostic::is_error), "{diagnostics:#?}");
        assert_eq!(parse(&print(&model)).0, model);
    }
}

#[test]
fn messages_are_counted_and_not_endless() {
    let text = "let = )\n".repeat(5_000);
    let all = parse(&text).1;
    assert_eq!(all.len(), 101);
    assert!(all[100].message.contains("4900 more"), "{}", all[100].message);
}

/// A small generator: the noise is the same on every run.
fn next(state: &mut u64) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as usize
}

/// What noise is made of: every token of the language, and some that are none.
#[rustfmt::skip]
const PIECES: &[&str] = &[
    "let ", "rec ", "and ", "in ", "acyclic ", "empty ", "~", "flag ", "as ", "a ", "b ", "f ", "'t ", "(", ")",
    "[", "]", "{", "}", "|", "||", "&", "&&", ";", "\\", "*", "+", "++", "?", "^-1 ", "^", "-1 ", "=", "-> ", ",",
    "_ ", "0 ", "\n", "match ", "with ", "end\n", "if ", "then ", "else ", "\"v\" ", "not ", "try ", "fun ",
    "show ", "call ", "procedure ", "forall ", "do ", "from ", "enum ", "include ", "(*", "*)", "/*", "*/", "//",
    "#", "\"", "'", "é", "instructions R[", "cut x\n", "when ", "begin ", "\u{0}", "7 ",
];

#[test]
fn noise_is_survived_and_what_parses_cleanly_prints_back() {
    let mut state = 2;
    let mut clean = 0;
    for round in 0..6_000 {
        let length = 1 + next(&mut state) % 24;
        let prefix = if round % 2 == 0 { "let x = " } else { "" };
        let text: String =
            std::iter::once(prefix).chain((0..length).map(|_| PIECES[next(&mut state) % PIECES.len()])).collect();
        let (model, diagnostics) = parse(&text);
        for diagnostic in &diagnostics {
            assert!(
                diagnostic.span.start <= diagnostic.span.end && diagnostic.span.end as usize <= text.len(),
                "{text}"
            );
        }
        let printed = print(&model);
        let (again, complaints) = parse(&printed);
        assert!(!complaints.iter().any(Diagnostic::is_error), "{text:?}\n{printed:?}\n{complaints:#?}");
        assert_eq!(again, model, "{text:?}\n{printed:?}");
        clean += usize::from(!diagnostics.iter().any(Diagnostic::is_error));
    }
    assert!(clean > 100, "only {clean} texts were clean");
}

#[test]
fn every_cut_of_a_model_is_survived() {
    let text = "PTX \"m\"\n(* c *) let rec a(x) = x+ | [R & W]; a x \\ (po * rf)^-1 and b = { 'c, d }\n\
                if \"v\" && not \"w\" flag ~empty a as é else show a & b as c end\n\
                let s = match b with || {} -> 0 || x ++ xs -> let y = x in fun z -> try z with 0 end\n";
    for (end, _) in text.char_indices() {
        let (model, _) = parse(&text[..end]);
        assert_eq!(parse(&print(&model)).0, model);
        let _ = parse(&text[end..]);
    }
}

//! The cat language: names, types, functions, recursion, includes, and what is refused by its name.

#![allow(clippy::panic)] // a shape that is not the expected one fails the test

use fencepost_axiom::model::compile::{Compilation, Options, Replacement, compile, compile_text};
use fencepost_axiom::model::{BaseRelation, Coherence, Direction, Model, NodeKind, Operator};
use fencepost_syntax::Source;

fn errors(compilation: &Compilation) -> Vec<String> {
    compilation.errors().map(|found| found.diagnostic.message.clone()).collect()
}

fn model(text: &str) -> Model {
    let compilation = compile_text("test", text);
    assert_eq!(errors(&compilation), Vec::<String>::new(), "{text}");
    compilation.model.expect("a model without errors")
}

/// The only error of a text, and the words it points at.
fn error(text: &str) -> (String, String) {
    let compilation = compile_text("test", text);
    assert!(compilation.model.is_none(), "{text}");
    let found: Vec<_> = compilation.errors().collect();
    assert_eq!(found.len(), 1, "{text}: {found:?}");
    let source = compilation.source(found[0].file).expect("a file");
    (found[0].diagnostic.message.clone(), source.slice(found[0].diagnostic.span).to_owned())
}

fn check_operator(model: &Model, index: usize) -> &Operator {
    &model.nodes[model.checks[index].node.index()].operator
}

#[test]
fn names_of_both_dialects_are_predefined() {
    for name in [
        "po",
        "loc",
        "vloc",
        "int",
        "ext",
        "id",
        "rf",
        "co",
        "fr",
        "rmw",
        "amo",
        "addr",
        "data",
        "ctrl",
        "sr",
        "scta",
        "scluster",
        "sgpu",
        "issue",
        "so",
        "done",
        "pipelined",
        "covers",
        "complete",
        "sameop",
        "launch",
        "gridwait",
        "gridstart",
        "syncbar",
        "exitbar",
        "generations",
        "sync_fence",
        "sync_barrier",
        "po-loc",
        "rfe",
        "rfi",
        "coe",
        "coi",
        "fre",
        "fri",
        "lxsx",
        "sm",
        "si",
        "co0",
    ] {
        model(&format!("X86\nacyclic {name} as a"));
    }
    for name in [
        "R", "W", "M", "F", "B", "IW", "FW", "_", "A", "X", "RLX", "ACQ", "REL", "ACQ_REL", "SC", "GEN", "SUR", "TEX",
        "CON", "ALIAS", "CTA", "GPU", "SYS", "MFENCE", "mfence", "PROXY", "NORET", "emptyset",
    ] {
        model(&format!("X86\nempty [{name}] as a"));
    }
}

#[test]
fn a_let_shadows_and_the_right_side_sees_the_old_meaning() {
    let model = model("let co = co+\nlet fr = rf^-1; co\nacyclic co as a\nacyclic fr as b");
    let Operator::Plus(inner) = *check_operator(&model, 0) else { panic!("co+") };
    assert_eq!(model.nodes[inner.index()].operator, Operator::BaseRelation(BaseRelation::Co));
    let Operator::Sequence(_, right) = *check_operator(&model, 1) else { panic!("rf^-1; co+") };
    assert_eq!(right, model.checks[0].node);
    assert_eq!(model.nodes[right.index()].name.as_deref(), Some("co"));
}

#[test]
fn an_unknown_name_is_an_error_where_it_is_used_and_else_a_warning() {
    assert_eq!(error("acyclic po | xyz as a"), ("unknown name `xyz`".into(), "xyz".into()));
    assert_eq!(error("let a = xyz\nacyclic a | po as c\nacyclic a as d").1, "xyz");
    let unused = compile_text("test", "let a = xyz\nacyclic po as c");
    assert!(unused.model.is_some());
    assert_eq!(unused.diagnostics.len(), 1);
    assert!(unused.diagnostics[0].diagnostic.message.contains("unknown name `xyz`"));
    let near = compile_text("test", "let base-causality = po\nacyclic base_causality as c");
    assert_eq!(near.diagnostics[0].diagnostic.help.as_deref(), Some("did you mean `base-causality`?"));
}

#[test]
fn types_are_checked_at_the_operator() {
    for (text, left, right) in [
        ("empty W | po as a", "a set of events", "a relation"),
        ("empty po & W as a", "a relation", "a set of events"),
        ("empty po \\ W as a", "a relation", "a set of events"),
    ] {
        let (message, _) = error(text);
        assert!(message.contains(left) && message.contains(right), "{message}");
    }
    for text in [
        "acyclic W; po as a",
        "acyclic po; W as a",
        "acyclic W as a",
        "irreflexive W as a",
        "acyclic W+ as a",
        "acyclic [po] as a",
        "acyclic po * W as a",
        "empty domain W as a",
        "let f x = x\nacyclic f as a",
        "acyclic (po, rf) as a",
        "acyclic po rf as a",
        "let f (x, y) = x\nacyclic f (po, rf, co) as a",
    ] {
        error(text);
    }
}

#[test]
fn zero_is_a_set_or_a_relation() {
    let model = model(
        "empty (W | 0) as a\nempty (po | 0) as b\nempty 0 as c\nempty [0] as d\nacyclic 0* as e\nempty domain 0 as f\nempty (po \\ {}) as g\nempty (W & ~0) as h",
    );
    let kind = |index: usize| model.nodes[model.checks[index].node.index()].kind;
    assert_eq!((kind(0), kind(1), kind(5)), (NodeKind::Set, NodeKind::Relation, NodeKind::Set));
    assert_eq!(*check_operator(&model, 3), Operator::EmptyRelation);
    assert_eq!(*check_operator(&model, 4), Operator::BaseRelation(BaseRelation::Id));
    assert_eq!(*check_operator(&model, 6), Operator::BaseRelation(BaseRelation::Po));
    assert_eq!(kind(7), NodeKind::Set);
}

#[test]
fn functions_are_expanded_and_equal_expressions_shared() {
    let model = model(
        "let between (a, r, b) = [a]; r; [b]\nlet twice f = fun x -> f (f x)\nlet inverse r = r^-1\n\
         acyclic between (W, po, R) as a\nacyclic [W]; po; [R] as b\nlet twice-inverse = twice inverse\nacyclic twice-inverse rf as c\n\
         acyclic (let r = po | rf in r & loc) as d",
    );
    assert_eq!(model.checks[0].node, model.checks[1].node);
    assert_eq!(*check_operator(&model, 2), Operator::BaseRelation(BaseRelation::Rf));
}

#[test]
fn expansion_without_end_is_an_error_not_a_crash() {
    for text in [
        "let rec f x = f x\nacyclic f po as a",
        "let rec f x = f (f x)\nacyclic f po as a",
        "let rec f x = try f x with po\nacyclic f po as a",
        "let f0 r = r; r\nlet f1 r = f0 (f0 r)\nlet f2 r = f1 (f1 r)\nlet f3 r = f2 (f2 r)\nlet f4 r = f3 (f3 r)\n\
         let f5 r = f4 (f4 r)\nlet f6 r = f5 (f5 r)\nlet rec g r = let x = g (f6 r) in let y = g (f6 r) in x | y\nacyclic g po as a",
    ] {
        assert!(error(text).0.contains("does not end"), "{text}");
    }
    let (message, _) = error("procedure rec p (r) = call p (r) end\ncall p (po)");
    assert!(message.contains("without end"), "{message}");
}

#[test]
fn deep_chains_of_definitions_compile() {
    let mut text = String::from("let a0 = po\n");
    for index in 1..5_000 {
        text.push_str(&format!("let a{index} = a{} ; rf\n", index - 1));
    }
    text.push_str("acyclic a4999 as a");
    assert!(model(&text).nodes.len() >= 5_000);
}

#[test]
fn a_recursive_definition_is_a_contiguous_group() {
    let model = model(
        "let static = (po & loc) | addr\nlet rec a = static | (a; b) and b = rf | (b; a; [W])\nlet c = a; po\nacyclic c as x\nshow b as b",
    );
    assert_eq!(model.groups.len(), 1);
    let group = &model.groups[0];
    assert_eq!(group.variables.len(), 2);
    for (index, node) in model.nodes.iter().enumerate() {
        let inside = (group.first.index()..=group.last.index()).contains(&index);
        assert_eq!(node.operator == Operator::Variable, inside && index < group.first.index() + 2);
        for operand in operands(&node.operator) {
            assert!(operand < index, "operands come first");
            let operand_inside = (group.first.index()..=group.last.index()).contains(&operand);
            assert!(inside || !operand_inside || group.variables.iter().any(|(_, body)| body.index() == operand));
        }
    }
    for (variable, body) in &group.variables {
        assert!(group.first <= *variable && *body <= group.last);
    }
    assert!(model.nodes[group.variables[0].1.index()].depends.rf);
}

fn operands(operator: &Operator) -> Vec<usize> {
    use Operator::*;
    match *operator {
        Base(_) | EmptySet | BaseRelation(_) | EmptyRelation | Variable => vec![],
        SetComplement(a) | Domain(a) | Range(a) | Complement(a) | Inverse(a) | Plus(a) | Star(a) | Optional(a)
        | Identity(a) => vec![a.index()],
        SetUnion(a, b)
        | SetIntersection(a, b)
        | SetDifference(a, b)
        | Union(a, b)
        | Intersection(a, b)
        | Difference(a, b)
        | Sequence(a, b)
        | Product(a, b) => vec![a.index(), b.index()],
    }
}

#[test]
fn recursion_over_sets_and_ill_formed_recursion() {
    let model = model("let rec s = W | range ([s]; po) \nempty [s] as a");
    assert_eq!(model.nodes[model.groups[0].variables[0].0.index()].kind, NodeKind::Set);
    assert!(error("let rec a = po \\ a\nacyclic a as x").0.contains("subtract itself"));
    assert!(error("let rec a = po | (let rec b = a | (b; b) in b)\nacyclic a as x").0.contains("inside another"));
    assert!(error("let rec a = W | po\nempty a as x").0.contains("both must be of one type"));
    assert!(error("let rec f x = x and a = f a\nacyclic a as x").0.contains("not supported"));
    // A recursion that does not use the outer one may stand inside it.
    let nested = "let rec a = po | (a; (let rec b = rf | (b; b) in b))\nacyclic a as x";
    assert_eq!(compile_text("test", nested).model.map(|model| model.groups.len()), Some(2));
}

#[test]
fn try_and_variants() {
    let plain = "let r = try xyz with po\nlet s = if \"strong\" then rf else addr\nacyclic r as a\nacyclic s as b\n\
                 if \"strong\" acyclic co as c else acyclic data as d end";
    let weak = model(plain);
    assert_eq!(weak.checks.iter().map(|check| check.name.as_str()).collect::<Vec<_>>(), ["a", "b", "d"]);
    assert_eq!(*check_operator(&weak, 1), Operator::BaseRelation(BaseRelation::Addr));
    let options = Options { variants: ["strong".to_owned()].into(), ..Options::default() };
    let strong = compile(Source::new("test", plain), &options, &mut |_| None).model.expect("a model");
    assert_eq!(strong.checks[2].name, "c");
    assert_eq!(*check_operator(&strong, 1), Operator::BaseRelation(BaseRelation::Rf));
}

#[test]
fn procedures_are_expanded_where_they_are_called() {
    let model = model(
        "procedure ordered (r, s) =\n  let both = r | s\n  acyclic both\n  empty r & s as apart\nend\n\
         call ordered (po, rf) as one\ncall subseteq (addr, po)",
    );
    let names: Vec<_> = model.checks.iter().map(|check| check.name.as_str()).collect();
    assert_eq!(names, ["one", "apart", "axiom 3"]);
    assert!(error("call nothing (po)").0.contains("unknown procedure"));
    assert!(error("let both = po\ncall both (po)").0.contains("not a procedure"));
}

#[test]
fn what_is_not_supported_is_refused_by_its_name() {
    for (text, name) in [
        ("forall x in W do acyclic po as a end", "`forall … in … do`"),
        ("enum Scopes = 'cta || 'gpu", "enum Scopes"),
        ("instructions R[{'once}]", "instructions"),
        ("let rec a = po | (a; a) when acyclic a\nacyclic a as b", "`let rec … when`"),
        ("empty tag2events('x) as a", "'x"),
        ("let x = 'tag\nempty x as a", "'tag"),
        ("acyclic fromto W as a", "fromto"),
        ("acyclic (match W with || {} -> 0 || x ++ xs -> po end) as a", "elements of a set of events"),
        ("acyclic (if po = rf then po else rf) as a", "comparison"),
        ("empty (po ++ rf) as a", "`++`"),
        ("with co from linearisations (W, po)", "linearisations"),
        ("with co from classes-loc W", "total orders"),
        ("with co from po", "total orders"),
        ("include \"cross.cat\"\nwith s from generate_orders (F, po)", "other than `W`"),
        ("include \"cos.cat\"\nwith more from generate_cos(co0)", "second `with"),
        ("include \"cross.cat\"\nwith co from cross (classes-loc W)", "not supported"),
        ("include \"cross.cat\"\nwith co from co_locs (po, classes-loc W)", "total orders"),
    ] {
        let (message, _) = error(text);
        assert!(message.contains(name), "{text}: {message}");
        assert!(message.contains("not supported"), "{text}: {message}");
    }
}

#[test]
fn coherence_is_recognised_however_it_is_generated() {
    let mine = "let rec pick classes = match classes with\n\
                || {} -> { 0 }\n\
                || ws ++ rest ->\n\
                  let others = pick rest in\n\
                  let rec each orders = match orders with\n\
                  || {} -> {}\n\
                  || o ++ os -> (map (fun other -> o | other) others) | each os\n\
                  end in each (linearisations (ws, co0))\n\
                end\n\
                let all = pick (classes-loc W)\n\
                with mo from all\n\
                acyclic po | rf | mo as sc";
    let own = model(mine);
    assert_eq!((own.coherence.clone(), own.checks.len()), (Coherence::Total, 1));
    // One that forgets a location's order is not a coherence order.
    let (message, _) = error(&mine.replace("|| {} -> {}\n|| o", "|| {} -> others\n|| o"));
    assert!(message.contains("total orders"), "{message}");
    // What the orders must extend, beyond initial and final writes, is an axiom.
    let extended =
        model("include \"cross.cat\"\nwith co from generate_cos ((po-loc & (W * W)) | co0)\nacyclic co as a");
    assert_eq!(extended.coherence, Coherence::Total);
    assert_eq!(extended.checks[0].name, "with co");
    assert_eq!(extended.demands.len(), 1);
}

#[test]
fn includes_are_read_once_and_cycles_end() {
    let mut asked = Vec::new();
    let files = |name: &str| match name {
        "a.cat" => Some("include \"b.cat\"\nlet a = po | b"),
        "b.cat" => Some("include \"a.cat\"\nlet b = rf"),
        "bad.cat" => Some("let c = po\nacyclic c | nothing as d"),
        _ => None,
    };
    let mut includes = |name: &str| {
        asked.push(name.to_owned());
        files(name).map(|text| Source::new(format!("library/{name}"), text))
    };
    let source = Source::new("models/root.cat", "include \"a.cat\"\ninclude \"b.cat\"\nacyclic a & b as c");
    let compilation = compile(source, &Options::default(), &mut includes);
    assert_eq!(compilation.model.expect("a model").name, "root");
    let bad = compile(Source::new("root.cat", "include \"bad.cat\""), &Options::default(), &mut includes);
    let found = bad.errors().next().expect("an error");
    assert_eq!(bad.source(found.file).map(|source| source.name.as_str()), Some("library/bad.cat"));
    assert_eq!(bad.source(found.file).map(|source| source.slice(found.diagnostic.span)), Some("nothing"));
    assert_eq!(asked, ["a.cat", "b.cat", "bad.cat"]);
    assert!(error("include \"missing.cat\"").0.contains("missing.cat"));
    let itself =
        compile(Source::new("x.cat", "include \"x.cat\"\nacyclic po as a"), &Options::default(), &mut |_| None);
    assert!(itself.model.is_some());
}

#[test]
fn shows_flags_and_other_roles_are_kept() {
    let text = "show po & loc as poloc\nshow rf, co\nunshow co\nshow nothing as n\nflag ~empty rf as racy\n\
                undefined_unless empty rf as undef\ndebug po\nacyclic po";
    let compilation = compile_text("test", text);
    let model = compilation.model.expect("a model");
    assert_eq!(model.shown.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["poloc", "rf"]);
    assert_eq!(model.checks.iter().map(|check| check.name.as_str()).collect::<Vec<_>>(), ["racy", "undef", "axiom 1"]);
    assert!(model.checks[0].negated);
    let warnings: Vec<_> = compilation.diagnostics.iter().map(|found| found.diagnostic.message.as_str()).collect();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].contains("nothing") && warnings[1].contains("debug"));
}

/// A mark names pairs of events, so each is the emptiness of a relation.
#[test]
fn marks_of_every_kind_become_the_emptiness_of_a_relation() {
    for (text, operator) in [
        ("flag ~empty W as a", "Identity"),
        ("flag ~irreflexive rf as a", "Intersection"),
        ("flag ~acyclic rf as a", "Intersection"),
        ("undefined_unless empty W as a", "Identity"),
        ("undefined_unless acyclic rf as a", "Intersection"),
        ("flag ~empty 0 as a", "EmptyRelation"),
    ] {
        let model = model(text);
        assert_eq!(model.checks[0].kind, fencepost_syntax::cat::CheckKind::Empty);
        assert_eq!(model.nodes[model.checks[0].node.index()].kind, NodeKind::Relation, "{text}");
        assert!(format!("{:?}", check_operator(&model, 0)).starts_with(operator), "{text}");
    }
    for text in ["flag empty rf as a", "undefined_unless ~empty rf as a", "assert acyclic po as a"] {
        let (message, place) = error(text);
        assert!(message.contains("not supported") && place == text, "{message}");
    }
}

#[test]
fn a_definition_can_be_replaced() {
    let text = "let hb = po | rf\nlet f x = x; po\nacyclic f hb as a";
    let options = |name: &str, expression: &str| Options {
        replace: vec![Replacement { name: name.into(), expression: expression.into() }],
        ..Options::default()
    };
    let changed = compile(Source::new("m", text), &options("hb", "po"), &mut |_| None).model.expect("a model");
    let Operator::Sequence(a, b) = *check_operator(&changed, 0) else { panic!("po; po") };
    assert_eq!(a, b);
    let changed = compile(Source::new("m", text), &options("f", "x"), &mut |_| None).model.expect("a model");
    assert!(matches!(check_operator(&changed, 0), Operator::Union(..)));
    let missing = compile(Source::new("m", text), &options("nothing", "po"), &mut |_| None);
    assert!(errors(&missing)[0].contains("no definition of `nothing`"));
    let broken = compile(Source::new("m", text), &options("hb", "po |"), &mut |_| None);
    assert!(broken.model.is_none());
}

#[test]
fn a_model_names_its_readings() {
    let text = "PTX\n// readings: gate order, unused\n\
        let a = if \"gate=wide\" then po else 0\n\
        let b = if \"gate=none\" || \"gate=wide\" then 0 else rf\n\
        if \"order=total\"\nacyclic co as total\nelse\nacyclic a | b as partial\nend";
    let model = model(text);
    let readings: Vec<(&str, Vec<&str>)> = (model.readings.iter())
        .map(|reading| (reading.name.as_str(), reading.values.iter().map(String::as_str).collect()))
        .collect();
    assert_eq!(readings, [("gate", vec!["none", "wide"]), ("order", vec!["total"]), ("unused", vec![])]);
    assert_eq!(model.checks[0].name, "partial");
    let with = |variant: &str| {
        let options = Options { variants: [variant.to_owned()].into(), ..Options::default() };
        compile(Source::new("m", text), &options, &mut |_| None).model.expect("compiles")
    };
    assert_eq!(with("order=total").checks[0].name, "total");
    assert_eq!(check_operator(&model, 0), &Operator::BaseRelation(BaseRelation::Rf));
    assert_eq!(check_operator(&with("gate=wide"), 0), &Operator::BaseRelation(BaseRelation::Po));
}

/// Partial coherence that is total for some locations, and pairs that other choices want ordered.
#[test]
fn demands_are_recognised_in_unions() {
    for wanted in [
        "([W]; (po | rf); [W]) & loc",
        "loc & (([W]; po; [W]) | ([W & MBAR]; ((_ * _) \\ id); [W & MBAR]))",
        "([W & MBAR]; loc; [W & MBAR]) \\ id",
        "((W * W) & loc & (po | (rf; po))) \\ id",
    ] {
        let model = model(&format!("let co = co+\nempty ({wanted}) \\ (co | co^-1) as either"));
        assert!(model.unrecognised.is_empty() && !model.demands.is_empty(), "{wanted}");
        assert_eq!(model.coherence, Coherence::Partial, "{wanted}");
        assert!(model.demands.iter().all(|demand| demand.direction == Direction::EitherWay), "{wanted}");
    }
}

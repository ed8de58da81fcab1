//! How cat texts group: the precedence table, the places where the dialects differ, and every instruction.

// The lint's exception for tests does not reach their helpers.
#![allow(clippy::panic)]

use fencepost_syntax::Severity;
use fencepost_syntax::cat::{
    BindingPattern, CatInstruction, CheckKind, CheckRole, ConditionExpression, Expression, Pattern, VariantCondition,
    parse,
};

/// The expression with a bracket around every operator, so that a test shows how it groups.
fn shape(expression: &Expression) -> String {
    use fencepost_syntax::cat::{BinaryOperator as B, UnaryOperator as U};
    match expression {
        Expression::Empty => "0".into(),
        Expression::Universe => "_".into(),
        Expression::Name(name) => name.to_string(),
        Expression::Tag(tag) => format!("'{tag}"),
        Expression::Identity(set) => format!("[{}]", shape(&set.node)),
        Expression::Tuple(items) => {
            format!("<{}>", items.iter().map(|item| shape(&item.node)).collect::<Vec<_>>().join(","))
        }
        Expression::Set(items) => {
            format!("{{{}}}", items.iter().map(|item| shape(&item.node)).collect::<Vec<_>>().join(","))
        }
        Expression::Unary(operator, inner) => {
            let inner = shape(&inner.node);
            match operator {
                U::Complement => format!("(~{inner})"),
                U::Inverse => format!("({inner}^-1)"),
                U::Plus => format!("({inner}+)"),
                U::Star => format!("({inner}*)"),
                U::Optional => format!("({inner}?)"),
            }
        }
        Expression::Binary(operator, operands) => {
            let [left, right] = &**operands;
            let sign = match operator {
                B::Union => "|",
                B::Intersection => "&",
                B::Difference => "\\",
                B::Sequence => ";",
                B::Product => "×",
                B::Insert => "++",
            };
            format!("({}{sign}{})", shape(&left.node), shape(&right.node))
        }
        Expression::Apply { function, argument } => format!("{}@{}", shape(&function.node), shape(&argument.node)),
        other => panic!("no shape for {other:?}"),
    }
}

fn instructions(text: &str) -> Vec<CatInstruction> {
    let (model, diagnostics) = parse(text);
    let errors: Vec<_> = diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).collect();
    assert!(errors.is_empty(), "{text}\n{errors:#?}");
    model.instructions.into_iter().map(|instruction| instruction.node).collect()
}

fn instruction(text: &str) -> CatInstruction {
    let mut all = instructions(text);
    assert_eq!(all.len(), 1, "{text}: {all:?}");
    all.remove(0)
}

fn value(text: &str) -> Expression {
    match instruction(&format!("let x = {text}")) {
        CatInstruction::Let { mut bindings, .. } => bindings.remove(0).value.into_inner().node,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_precedence_table() {
    for (text, wanted) in [
        ("a | b ++ c", "(a|(b++c))"),
        ("a ++ b | c", "((a++b)|c)"),
        ("a ++ b ; c", "(a++(b;c))"),
        ("a ; b \\ c", "(a;(b\\c))"),
        ("a \\ b ; c", "((a\\b);c)"),
        ("a \\ b & c", "(a\\(b&c))"),
        ("a & b \\ c", "((a&b)\\c)"),
        ("a \\ b \\ c", "((a\\b)\\c)"),
        ("a | b | c", "(a|(b|c))"),
        ("a ; b ; c", "(a;(b;c))"),
        ("a & b & c", "(a&(b&c))"),
        ("a ++ b ++ c", "(a++(b++c))"),
        ("~a & b", "((~a)&b)"),
        ("a & b+", "(a&(b+))"),
        ("~a^-1", "(~(a^-1))"),
        ("a+^-1", "((a+)^-1)"),
        ("a^-1?", "((a^-1)?)"),
        ("~~a", "(~(~a))"),
        ("a ; b | c & d \\ e ; f", "((a;b)|(((c&d)\\e);f))"),
        ("(a | b) & c", "((a|b)&c)"),
        ("begin a | b end & c", "((a|b)&c)"),
    ] {
        assert_eq!(shape(&value(text)), wanted, "{text}");
    }
}

#[test]
fn a_star_is_a_product_before_an_operand_and_a_closure_elsewhere() {
    for (text, wanted) in [
        ("W * R", "(W×R)"),
        ("SC*SC", "(SC×SC)"),
        ("a*; b", "((a*);b)"),
        ("(a*)", "(a*)"),
        ("a* | b*", "((a*)|(b*))"),
        ("_ * _", "(_×_)"),
        ("W * (R | F)", "(W×(R|F))"),
        ("R * ~W", "(R×(~W))"),
        ("t; IW * ~IW; t", "(t;((IW×(~IW));t))"),
        ("GEN * GEN | SUR * SUR", "((GEN×GEN)|(SUR×SUR))"),
        ("a & W * R \\ b", "((a&(W×R))\\b)"),
        ("W * R+", "((W×R)+)"),
        ("W * R^-1", "((W×R)^-1)"),
        ("a* * b", "((a*)×b)"),
        ("A * B * C", "((A×B)×C)"),
        ("~A * B", "(~(A×B))"),
        ("(~A) * B", "((~A)×B)"),
    ] {
        assert_eq!(shape(&value(text)), wanted, "{text}");
    }
}

#[test]
fn a_closure_at_the_end_of_a_line_is_not_multiplied_by_the_next_check() {
    let all = instructions("let a = r*\n~empty a as nonempty\nflag ~empty a as f\n");
    let [CatInstruction::Let { bindings, .. }, CatInstruction::Check(check), CatInstruction::Check(flag)] = &all[..]
    else {
        panic!("{all:?}")
    };
    assert_eq!(shape(&bindings[0].value.node), "(r*)");
    assert!(check.negated && check.role == CheckRole::Axiom && check.kind == CheckKind::Empty);
    assert!(flag.negated && flag.role == CheckRole::Flag);
    assert_eq!(flag.name.as_ref().map(|name| name.node.as_str()), Some("f"));
}

#[test]
fn application_binds_tightest() {
    for (text, wanted) in [
        ("f po+", "(f@po+)"),
        ("f po; g x y", "(f@po;g@x@y)"),
        ("f(a, b)", "f@<a,b>"),
        ("f (a | b)", "f@(a|b)"),
        ("f()", "f@<>"),
        ("[range([A];amo;[L])]; po", "([range@([A];(amo;[L]))];po)"),
        ("~f x", "(~f@x)"),
        ("f 0 _ 'tag {a, b} {}", "f@0@_@'tag@{a,b}@0"),
        ("W * f x", "(W×f@x)"),
        ("domain(r)^-1", "(domain@r^-1)"),
    ] {
        assert_eq!(shape(&value(text)), wanted, "{text}");
    }
}

#[test]
fn published_lines_group_as_their_authors_read_them() {
    assert_eq!(shape(&value("(([W]; cause; [W]) & loc) \\ co")), "((([W];(cause;[W]))&loc)\\co)");
    assert_eq!(shape(&value("(rf^-1)?; mo; rf?; hb")), "(((rf^-1)?);(mo;((rf?);hb)))");
    assert_eq!(shape(&value("[EF] & ((~wi & swg); unv) \\ (bsw ; unv)")), "(([EF]&(((~wi)&swg);unv))\\(bsw;unv))");
    assert_eq!(shape(&value("cnf & ~(g | l) & ~(g | l)^-1 & ~wi")), "(cnf&((~(g|l))&((~((g|l)^-1))&(~wi))))");
    assert_eq!(shape(&value("a^+ | b^*")), "((a+)|(b*))");
    assert_eq!(shape(&value("rf^-1;co \\ id")), "((rf^-1);(co\\id))");
}

#[test]
fn names_hold_dashes_dots_and_a_final_quote() {
    assert_eq!(shape(&value("po-loc; DMB.ISH | co' | _x")), "((po-loc;DMB.ISH)|(co'|_x))");
    let CatInstruction::Let { bindings, .. } = instruction("let f = fun x->x-y") else { panic!() };
    assert!(matches!(&bindings[0].value.node, Expression::Function { body, .. } if shape(&body.node) == "x-y"));
}

#[test]
fn every_kind_of_comment_is_skipped() {
    let text = "(* a (* nested *) it's *) // line (*\nlet x = a # herd's\n/* Dartagnan's (* */ | b";
    let CatInstruction::Let { bindings, .. } = instruction(text) else { panic!() };
    assert_eq!(shape(&bindings[0].value.node), "(a|b)");
}

#[test]
fn comments_that_do_not_nest_are_read_as_dartagnan_reads_them_with_a_warning() {
    let (model, diagnostics) = parse("(* address (*(y) = 1) *)\nlet a = b\n(* more *)\nlet c = d\n");
    assert_eq!(model.instructions.len(), 2);
    assert_eq!(diagnostics.len(), 1);
    assert_eq!((diagnostics[0].severity, diagnostics[0].span.start), (Severity::Warning, 0));
}

#[test]
fn headers() {
    let header = |text: &str| {
        let (model, diagnostics) = parse(text);
        assert!(diagnostics.is_empty(), "{diagnostics:#?}");
        model.header.into_iter().map(|word| word.node).collect::<Vec<_>>()
    };
    assert_eq!(header("PTX\nlet a = b"), ["PTX"]);
    assert_eq!(header("X86 TSO\nacyclic po"), ["X86", "TSO"]);
    assert_eq!(header("\"Generate co's\"\ninclude \"cross.cat\""), ["Generate co's"]);
    assert_eq!(header("AArch64 \"Arm v8\" catdep let a = b"), ["AArch64", "Arm v8", "catdep"]);
    assert_eq!(header("let a = b"), Vec::<String>::new());
    assert_eq!(header(""), Vec::<String>::new());
}

#[test]
fn definitions_in_all_their_forms() {
    let pattern = |text: &str| match instruction(text) {
        CatInstruction::Let { mut bindings, .. } => bindings.remove(0).pattern,
        other => panic!("{other:?}"),
    };
    assert!(matches!(pattern("let a = b in"), BindingPattern::Name(name) if name.node == "a"));
    assert!(matches!(pattern("let (a) = b"), BindingPattern::Name(_)));
    assert!(matches!(pattern("let (a, _) = b"), BindingPattern::Tuple(items) if items.len() == 2));
    assert!(matches!(pattern("let a, b = c"), BindingPattern::Tuple(items) if items.len() == 2));
    assert!(matches!(pattern("let _ = c"), BindingPattern::Tuple(items) if items == [Pattern::Ignore]));
    assert!(matches!(pattern("let f x = x"), BindingPattern::Function { parameters, .. } if parameters.len() == 1));
    assert!(matches!(pattern("let f(x, y) = x"), BindingPattern::Function { parameters, .. } if parameters.len() == 2));
    assert!(matches!(pattern("let f () = x"), BindingPattern::Function { parameters, .. } if parameters.is_empty()));
    let text = "let rec a = b | c; a and c = a; c and d(x) = x when irreflexive a | c as ok in let z = a";
    let all = instructions(text);
    let [CatInstruction::Let { recursive: true, bindings, when: Some(when) }, CatInstruction::Let { .. }] = &all[..]
    else {
        panic!("{all:?}")
    };
    assert_eq!(bindings.len(), 3);
    assert_eq!(when.kind, CheckKind::Irreflexive);
}

#[test]
fn checks_in_all_their_roles() {
    let check = |text: &str| match instruction(text) {
        CatInstruction::Check(check) => (check.role, check.negated, check.kind, check.name.map(|name| name.node)),
        other => panic!("{other:?}"),
    };
    let named = |name: &str| Some(name.to_string());
    assert_eq!(check("acyclic po | rf as sc"), (CheckRole::Axiom, false, CheckKind::Acyclic, named("sc")));
    assert_eq!(check("~acyclic po"), (CheckRole::Axiom, true, CheckKind::Acyclic, None));
    assert_eq!(check("flag ~empty dr as race"), (CheckRole::Flag, true, CheckKind::Empty, named("race")));
    assert_eq!(
        check("undefined_unless irreflexive r as u"),
        (CheckRole::UndefinedUnless, false, CheckKind::Irreflexive, named("u"))
    );
    assert_eq!(check("assert empty a \\ (b | c) as A"), (CheckRole::Assert, false, CheckKind::Empty, named("A")));
}

#[test]
fn what_to_show() {
    let CatInstruction::Show { items } = instruction("show po & loc as po-loc, rf, a; b") else { panic!() };
    let names: Vec<&str> = items.iter().map(|item| item.name.node.as_str()).collect();
    assert_eq!(names, ["po-loc", "rf", "a; b"]);
    assert_eq!(shape(&items[0].expression.node), "(po&loc)");
    assert!(matches!(instruction("unshow po, rf"), CatInstruction::Unshow { names } if names.len() == 2));
}

#[test]
fn blocks() {
    let text = "procedure rec walk(a, _) =\n  call walk(a, 0) as again\n  call other a\nend\n\
                forall x in xs do\n  acyclic x\nend\n\
                if \"one\" && not (\"two\" || \"three\")\n  include \"a.cat\"\nelse\n  include \"b.cat\"\nend\n\
                match level with\n|| 'cta -> let a = b\n|| _ -> let a = c\nend\n\
                with co from generate_cos(co0)\n";
    let all = instructions(text);
    assert_eq!(all.len(), 5, "{all:#?}");
    let CatInstruction::Procedure { recursive: true, parameters, body, .. } = &all[0] else { panic!() };
    assert_eq!((parameters.len(), body.len()), (2, 2));
    let CatInstruction::Call { arguments, label: Some(_), .. } = &body[0].node else { panic!() };
    assert_eq!(arguments.len(), 2);
    assert!(matches!(&all[1], CatInstruction::Forall { body, .. } if body.len() == 1));
    let CatInstruction::If { condition, then, otherwise } = &all[2] else { panic!() };
    assert_eq!((then.len(), otherwise.len()), (1, 1));
    let VariantCondition::And(_, right) = &condition.node else { panic!() };
    assert!(matches!(&**right, VariantCondition::Not(inner) if matches!(**inner, VariantCondition::Or(..))));
    assert!(matches!(&all[3], CatInstruction::Match { clauses, .. } if clauses.len() == 2 && clauses[1].tag.is_none()));
    assert!(matches!(&all[4], CatInstruction::WithFrom { name, .. } if name.node == "co"));
}

#[test]
fn enums_and_bell_declarations() {
    let all = instructions(
        "enum Level = || 'cta || 'gpu || 'sys\ninstructions R[{'a, 'b}, [c]]\ndefault W[{'a}]\nlet i = default instructions",
    );
    let CatInstruction::Enum { tags, .. } = &all[0] else { panic!() };
    assert_eq!(tags.len(), 3);
    assert_eq!(all[1], CatInstruction::Bell { text: "instructions R[{'a, 'b}, [c]]".into() });
    assert_eq!(all[2], CatInstruction::Bell { text: "default W[{'a}]".into() });
    assert!(matches!(&all[3], CatInstruction::Let { .. }));
    let all = instructions("let a = b*\ninstructions R[{'a}]\n");
    assert_eq!(all.len(), 2);
}

#[test]
fn forms_of_expressions() {
    assert!(matches!(value("let rec a = b and c = d in a, c"), Expression::Let { recursive: true, body, .. }
        if matches!(body.node, Expression::Tuple(_))));
    assert!(matches!(value("fun (a, b) -> a; b"), Expression::Function { parameters, .. } if parameters.len() == 2));
    assert!(matches!(value("try amo with 0"), Expression::Try { .. }));
    let condition = |text: &str| match value(text) {
        Expression::If { condition, .. } => condition.node,
        other => panic!("{other:?}"),
    };
    assert!(matches!(condition("if a = {} then b else c"), ConditionExpression::Equal(..)));
    assert!(matches!(condition("if (a | b) subset c then b else c"), ConditionExpression::Subset(..)));
    assert!(matches!(condition("if a in b then b else c"), ConditionExpression::In(..)));
    assert!(matches!(
        condition("if not \"ExS\" || \"EOS\" then b else {}"),
        ConditionExpression::Variant(VariantCondition::Or(..))
    ));
    assert!(
        matches!(value("match t with 'a -> b || 'c -> d || _ -> e end"), Expression::MatchTags { clauses, .. } if clauses.len() == 3)
    );
    assert!(matches!(
        value("match S with || {} -> 0 || x ++ xs -> f xs end"),
        Expression::MatchSet { clauses, .. } if clauses.before.is_none()
    ));
    assert!(matches!(
        value("match S with x ++ _ -> x || {} -> 0 end"),
        Expression::MatchSet { clauses, .. } if clauses.rest == Pattern::Ignore
    ));
    assert!(matches!(
        value("match S with || {} -> 0 || p | x ++ q -> p end"),
        Expression::MatchSet { clauses, .. } if clauses.before.is_some()
    ));
}

#[test]
fn dartagnans_solver_hint_is_left_out_with_a_warning() {
    let (model, diagnostics) = parse("let a = b*\ncut a\nlet c = d\ncut c\n");
    assert_eq!(model.instructions.len(), 2);
    assert_eq!(diagnostics.len(), 2);
    assert!(diagnostics.iter().all(|diagnostic| diagnostic.severity == Severity::Warning));
}

#[test]
fn a_complement_of_a_bare_product_is_warned_of() {
    let (_, diagnostics) = parse("let a = ~A * B\nlet b = ~(A * B)\nlet c = ~(A) * (B)");
    let starts: Vec<u32> = diagnostics.iter().map(|diagnostic| diagnostic.span.start).collect();
    assert_eq!(starts, [8, 40]);
}

#[test]
fn spans_cover_what_they_name() {
    let text = "let a = (b | c) & [W]\nacyclic  a+ as ok";
    let (model, _) = parse(text);
    let at = |start: u32, end: u32| &text[start as usize..end as usize];
    let CatInstruction::Let { bindings, .. } = &model.instructions[0].node else { panic!() };
    let span = bindings[0].value.span;
    assert_eq!(at(span.start, span.end), "(b | c) & [W]");
    let CatInstruction::Check(check) = &model.instructions[1].node else { panic!() };
    assert_eq!(at(check.expression.span.start, check.expression.span.end), "a+");
    assert_eq!(at(model.instructions[1].span.start, model.instructions[1].span.end), "acyclic  a+ as ok");
}

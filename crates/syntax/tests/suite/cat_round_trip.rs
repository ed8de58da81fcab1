//! Printing a model and reading it again gives the same tree, with the brackets a reader expects.

use fencepost_syntax::Diagnostic;
use fencepost_syntax::cat::{parse, print};

fn round_trip(text: &str) -> String {
    let (model, diagnostics) = parse(text);
    assert!(!diagnostics.iter().any(Diagnostic::is_error), "{text}\n{diagnostics:#?}");
    let printed = print(&model);
    let (again, diagnostics) = parse(&printed);
    assert!(diagnostics.is_empty(), "{printed}\n{diagnostics:#?}");
    assert_eq!(again, model, "{printed}");
    assert_eq!(print(&again), printed);
    printed
}

#[test]
fn expressions_keep_their_grouping() {
    for (text, wanted) in [
        ("a | (b | c)", "a | b | c"),
        ("(a | b) | c", "(a | b) | c"),
        ("a \\ (b \\ c)", "a \\ (b \\ c)"),
        ("(a \\ b) \\ c", "a \\ b \\ c"),
        ("(a;b)&c", "(a; b) & c"),
        ("a;(b&c)", "a; b & c"),
        ("f po+", "(f(po))+"),
        ("f(po+, b)", "f(po+, b)"),
        ("R * ~W", "R * (~W)"),
        ("~A * B", "~(A * B)"),
        ("(W * R)+", "(W * R)+"),
        ("W*R|R*W", "W * R | R * W"),
        ("(a+)+", "a+ +"),
        ("a+ ++ b", "a+ ++ b"),
        ("~~a^-1?", "~~a^-1?"),
        ("(~a)+", "(~a)+"),
        ("(a, (b, c))", "(a, (b, c))"),
        ("a, b", "(a, b)"),
        ("{}", "0"),
        ("{a | b, 'c}", "{a | b, 'c}"),
        ("(fun x -> x) | a", "(fun (x) -> x) | a"),
        ("(let a = b in a), c", "((let a = b in a), c)"),
        ("try (try a with b) with c", "try (try a with b) with c"),
        ("if (if a = b then c else d) in e then f else g", "if (if a = b then c else d) in e then f else g"),
    ] {
        assert_eq!(round_trip(&format!("let x = {text}")), format!("let x = {wanted}\n"));
    }
}

#[test]
fn instructions_print_in_one_form() {
    let text = "X86 \"a name\" catdep\n\
        let rec a = b and f x = x and (c, _) = d when ~empty a as w in\n\
        let p, q = r\nlet _ = r\nlet g() = newSet()\n\
        undefined_unless empty a as u assert ~acyclic b flag irreflexive c as d\n\
        show a, b & c as bc, d;e unshow a, b include \"x.cat\"\n\
        procedure rec p(a, b) = call p(a, b | c) as z procedure q x = end call q() call q x call q(let a = b in a) end\n\
        forall x in S do with y from f x debug y end\n\
        if \"a\" || \"b\" && not (\"c\" || \"d\") || \"e\" let a = b end\n\
        if (\"a\" || \"b\") && \"c\" else let a = b end\n\
        match l with 'a -> let x = y || 'b -> || _ -> acyclic x end\n\
        enum E = 'a || 'b\ninstructions R[{'a, (* kept *) 'b}]\n\
        let m = match a with || p | x ++ _ -> x || {} -> match t with 'a -> b || _ -> c end end\n";
    let printed = round_trip(text);
    assert!(printed.starts_with("\"X86\" \"a name\" \"catdep\"\n"));
    assert!(printed.contains("if \"a\" || \"b\" && not (\"c\" || \"d\") || \"e\"\n"));
    assert!(printed.contains("\n    call") || printed.contains("\n  procedure q(x) =\n  end\n"), "{printed}");
}

/// A model in Dartagnan's dialect and one in herd's, in the shapes that published ones have.
#[test]
fn whole_models_round_trip() {
    round_trip(
        "PTX\n(* scopes *)\nlet scoped(s) = (s * s) & (scta | sgpu)\n\
         let rb = rf^-1; co | ([R] \\ [range(rf)]); loc; [W]\n\
         let strong = (po | po^-1) | (GPU * GPU) & sgpu \\ ~(A * M)\n\
         let rec obs = (ms & rf) | (obs; rmw; obs)\n\
         let pattern = ([REL]; (po & loc)?; [W & STRONG]) | [F]; po; [W]\n\
         let proxy = GEN * GEN | SUR * SUR | TEX * TEX\n\
         empty ((([W]; cause; [W]) & loc) \\ co) as coherence\n\
         irreflexive rb; cause as causality\nacyclic (SC*SC) & po as order\nflag ~empty (dr \\ id) as race\n",
    );
    round_trip(
        "AArch64 \"v8\"\ninclude \"cos.cat\"\nlet fence = try dmb.full with 0\n\
         let rec walk(s, r) = match s with || {} -> r || e ++ es -> let next = fun y -> walk(es, y) in map (next, {r}) end\n\
         let co-all = if \"mixed\" then classes-loc (W * W) else {}\nwith co from walk(co-all, {0})\n\
         procedure uniproc() = acyclic po-loc | rf | co as uniproc end\ncall uniproc()\n\
         let ctrlisync = ctrl & (_ * ISB); po\nshow ctrlisync, po-loc as poloc\n",
    );
}

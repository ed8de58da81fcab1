//! The independent evaluator, on executions made by hand: every operator, recursion, functions, procedures, includes,
//! checks and flags of cat.

use crate::support::handmade;

use fencepost_axiom::execution::Execution;
use fencepost_axiom::model::FenceOrder;
use fencepost_axiom::replay::{Includes, Judgement, ReplayError, ReplayErrorKind, judge};
use fencepost_program::EventId;
use fencepost_program::expression::Expression;
use fencepost_program::program::{Place, Scope};
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::Unfolding;
use fencepost_syntax::cat;

use handmade::{Build, gpu};

/// Message passing that goes wrong: 0, 1 are the inits of x and y; 2: W x, 3: W y; 4: R y, 5: R x.
fn message_passing() -> (Unfolding, Execution) {
    let mut build = Build::new(&["x", "y"]);
    let one = || Expression::constant(1);
    build.thread(gpu(0, 0));
    build.write(0, one(), &[Tag::Weak], None);
    build.write(1, one(), &[Tag::Release], Some(Scope::Gpu));
    build.thread(gpu(0, 1));
    build.read(1, &[Tag::Acquire], Some(Scope::Sys));
    build.read(0, &[Tag::Weak], None);
    build.event(EventId(5)).address_deps = vec![EventId(4)];
    let e = EventId;
    let execution = build.execution(&[(e(3), e(4)), (e(0), e(5))], &[(e(0), e(2)), (e(1), e(3))], &[0, 0, 1, 1, 1, 0]);
    (build.unfolding, execution)
}

fn model(text: &str) -> cat::Model {
    let (model, diagnostics) = cat::parse(text);
    assert!(diagnostics.iter().all(|diagnostic| !diagnostic.is_error()), "{text}: {diagnostics:?}");
    model
}

fn verdict(text: &str) -> Result<Judgement, ReplayError> {
    let (unfolding, execution) = message_passing();
    judge(&model(text), &Includes::new(), &unfolding, &execution)
}

/// The pairs of a relation of `message_passing`, by way of a flag.
#[track_caller]
fn relation(text: &str, expected: &[(u32, u32)]) {
    relation_in(&format!("let it = {text}"), expected);
}

#[track_caller]
fn relation_in(definitions: &str, expected: &[(u32, u32)]) {
    let judgement = verdict(&format!("{definitions}\nflag ~empty it as it")).expect("evaluates");
    let found = judgement.flags.first().map(|(_, pairs)| pairs.clone()).unwrap_or_default();
    assert_eq!(found, expected, "{definitions}");
}

/// A set of `message_passing`, by way of its identity.
#[track_caller]
fn set(text: &str, expected: &[u32]) {
    let pairs: Vec<(u32, u32)> = expected.iter().map(|&event| (event, event)).collect();
    relation(&format!("[{text}]"), &pairs);
}

#[test]
fn base_sets() {
    set("_", &[0, 1, 2, 3, 4, 5]);
    set("M", &[0, 1, 2, 3, 4, 5]);
    set("R", &[4, 5]);
    set("W", &[0, 1, 2, 3]);
    set("IW", &[0, 1]);
    set("FW", &[2, 3]);
    set("WEAK", &[2, 5]);
    set("REL", &[3]);
    set("F", &[]);
}

#[test]
fn base_relations() {
    relation("id", &[(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (5, 5)]);
    relation("po", &[(2, 3), (4, 5)]);
    relation("rf", &[(0, 5), (3, 4)]);
    relation("co", &[(0, 2), (1, 3)]);
    relation("addr", &[(4, 5)]);
    relation("data | ctrl | rmw | amo | syncbar | sync_fence", &[]);
    relation("loc & (IW * _)", &[(0, 0), (0, 2), (0, 5), (1, 1), (1, 3), (1, 4)]);
    relation("vloc \\ loc", &[]);
    relation("int", &[(2, 2), (2, 3), (3, 2), (3, 3), (4, 4), (4, 5), (5, 4), (5, 5)]);
    relation("ext & (_ * R)", &[(0, 4), (0, 5), (1, 4), (1, 5), (2, 4), (2, 5), (3, 4), (3, 5)]);
    // Events 3 and 4 are strong, with scopes that include each other across CTAs.
    relation("sr", &[(3, 3), (3, 4), (4, 3), (4, 4)]);
    relation("scta & (W * _)", &[(2, 2), (2, 3), (3, 2), (3, 3)]);
}

#[test]
fn predefined_derived_relations() {
    relation("fr", &[(5, 2)]);
    relation("rfe", &[(0, 5), (3, 4)]);
    relation("rfi", &[]);
    relation("fre", &[(5, 2)]);
    relation("coe", &[(0, 2), (1, 3)]);
    relation("po-loc", &[]);
    relation("fencerel(W)", &[]);
}

#[test]
fn operators_on_relations() {
    relation("rf | co", &[(0, 2), (0, 5), (1, 3), (3, 4)]);
    relation("(rf | co) & rf", &[(0, 5), (3, 4)]);
    relation("(rf | co) \\ rf", &[(0, 2), (1, 3)]);
    relation("po ; rf ; po", &[(2, 5)]);
    relation("rf^-1", &[(4, 3), (5, 0)]);
    relation("(po | rfe)+ & (W * R)", &[(0, 5), (2, 4), (2, 5), (3, 4), (3, 5)]);
    relation("po* & (R * _)", &[(4, 4), (4, 5), (5, 5)]);
    relation("rf? & (R * _)", &[(4, 4), (5, 5)]);
    relation("~(~rf)", &[(0, 5), (3, 4)]);
    relation("REL * ACQ", &[(3, 4)]);
    relation("[W] ; po ; [W]", &[(2, 3)]);
    relation("0 | rf", &[(0, 5), (3, 4)]);
    relation("rf & {}", &[]);
}

#[test]
fn operators_on_sets() {
    set("R | IW", &[0, 1, 4, 5]);
    set("W & WEAK", &[2]);
    set("W \\ IW", &[2, 3]);
    set("~W", &[4, 5]);
    set("domain(rf)", &[0, 3]);
    set("range(rf)", &[4, 5]);
    set("emptyset", &[]);
}

#[test]
fn functions_tuples_and_local_lets() {
    relation_in("let f(a, b) = a ; b let it = f(po, rf)", &[(2, 4)]);
    relation_in("let f a = a | a^-1 let it = f rfe & (R * W)", &[(4, 3), (5, 0)]);
    relation_in("let f = fun r -> [W] ; r let it = f po", &[(2, 3)]);
    relation_in("let (a, b) = (po, rf) let it = a ; b", &[(2, 4)]);
    relation_in("let it = let r = po in let f x = x ; r in f rf", &[(3, 5)]);
    // Static scope: `f` keeps the `r` it was defined with.
    relation_in("let r = rf let f x = x ; r let r = 0 let it = f po", &[(2, 4)]);
    relation_in("let co = rf let it = co", &[(0, 5), (3, 4)]);
}

#[test]
fn recursion_is_the_least_fixpoint() {
    let closure = [(0, 4), (0, 5), (2, 3), (2, 4), (2, 5), (3, 4), (3, 5), (4, 5)];
    let edges = "let e = po | rfe | ([IW] ; co ; [W]) ; po ; rf";
    relation_in(&format!("{edges} let rec it = e | (it ; it)"), &closure);
    relation_in(&format!("{edges} let rec it = e | (e ; other) and other = e | (it ; e) | (e ; it)"), &closure);
    relation_in("let rec it = it", &[]);
    relation_in("let it = let rec p = po | (p ; rf) in p", &[(2, 3), (2, 4), (4, 5)]);
    let swings = verdict("let rec r = po \\ r empty r").expect_err("no fixpoint");
    assert_eq!(swings.kind, ReplayErrorKind::NoFixpoint);
}

#[test]
fn checks_and_their_negations() {
    let violated = |text: &str| verdict(text).expect("evaluates").violated;
    assert_eq!(violated("acyclic po | rf | fr as sc"), ["sc"]);
    assert_eq!(violated("acyclic po | rf"), [] as [&str; 0]);
    assert_eq!(violated("irreflexive po ; rf ; po ; fr as mp irreflexive po"), ["mp"]);
    assert_eq!(violated("empty rf empty rmw"), ["axiom 1"]);
    assert_eq!(violated("~empty rf ~empty rmw as none ~acyclic po as cyclic"), ["none", "cyclic"]);
    assert_eq!(violated("~irreflexive id ~irreflexive po as i"), ["i"]);
    assert_eq!(violated("empty F empty R as r"), ["r"]);
}

#[test]
fn flags_mark_and_do_not_rule_out() {
    let judgement = verdict("flag ~empty fr as race flag empty rf as none undefined_unless empty rf as u").expect("ok");
    assert_eq!(judgement.violated, [] as [&str; 0]);
    assert_eq!(judgement.flags, [("race".into(), vec![(5, 2)]), ("u".into(), vec![(0, 5), (3, 4)])]);
    let broken = verdict("assert empty rf as a").expect_err("assertion");
    assert_eq!(broken.kind, ReplayErrorKind::Assertion("a".into()));
}

#[test]
fn procedures_conditions_and_generated_coherence() {
    let violated = |text: &str| verdict(text).expect("evaluates").violated;
    assert_eq!(violated("procedure p(r) = acyclic r | po as inner end call p(rf) call p(rf | fr)"), ["inner"]);
    assert_eq!(violated("procedure p(r, s) = empty r \\ s as inner end call p(rf, po) as outer"), ["inner"]);
    assert_eq!(
        violated("procedure p(r, s) = empty r \\ s end call p(rf, po) as outer call p(rf, po)"),
        ["outer", "axiom 2"]
    );
    assert_eq!(violated("include \"cos.cat\" with co from generate_cos(co0) acyclic po | rf | fr as sc"), ["sc"]);
    assert_eq!(violated("if \"variant\" empty rf as yes else empty co as no end"), ["no"]);
    let flags = verdict("empty 0 flag ~empty rf undefined_unless empty W").expect("evaluates").flags;
    assert_eq!(flags.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["flag 1", "undefined 1"]);
    relation("try unknown with po", &[(2, 3), (4, 5)]);
    relation("if rf = po then po else rf", &[(0, 5), (3, 4)]);
    relation("if rf subset (rf | po) then co else 0", &[(0, 2), (1, 3)]);
}

#[test]
fn bindings_are_lazy_and_errors_have_names() {
    assert!(verdict("let a = unknown empty 0").is_ok());
    let kind = |text: &str| verdict(text).expect_err("an error").kind;
    assert_eq!(kind("empty unknown"), ReplayErrorKind::Unbound("unknown".into()));
    assert_eq!(kind("empty po | W"), ReplayErrorKind::Type("a set of events"));
    assert_eq!(kind("acyclic W"), ReplayErrorKind::Type("a relation"));
    assert_eq!(kind("empty po rf"), ReplayErrorKind::Type("a function"));
    assert_eq!(kind("include \"none.cat\""), ReplayErrorKind::MissingFile("none.cat".into()));
    assert_eq!(kind("let rec f x = f x empty f po"), ReplayErrorKind::Depth);
    assert_eq!(kind("empty 'tag"), ReplayErrorKind::Unsupported("an enumeration".into()));
}

#[test]
fn an_include_is_read_once() {
    let (unfolding, execution) = message_passing();
    let includes = Includes::from([("lib.cat".to_string(), model("let com = rf | co | fr empty com as once"))]);
    let text = model("include \"lib.cat\" include \"lib.cat\" acyclic po | com as sc");
    let judgement = judge(&text, &includes, &unfolding, &execution).expect("evaluates");
    assert_eq!(judgement.violated, ["once", "sc"]);
}

#[test]
fn scopes_and_hosts() {
    let mut build = Build::new(&["x"]);
    build.thread(gpu(0, 0));
    build.fence(&[Tag::Sc], Some(Scope::Cta));
    build.thread(gpu(0, 1));
    build.fence(&[Tag::Sc], Some(Scope::Gpu));
    build.thread(gpu(1, 1));
    build.fence(&[Tag::Sc], Some(Scope::Sys));
    build.thread(Place::Host);
    build.fence(&[Tag::Sc], Some(Scope::Sys));
    let execution = build.execution(&[], &[], &[0]);
    let text = model("flag ~empty sr \\ id as sr flag ~empty scta as scta");
    let judgement = judge(&text, &Includes::new(), &build.unfolding, &execution).expect("evaluates");
    assert_eq!(judgement.flags[0].1, [(3, 4), (4, 3)], "only the two sys fences include each other");
    assert_eq!(judgement.flags[1].1, [(1, 1), (2, 2), (3, 3)], "no two threads share a CTA, the host has none");
}

/// The first operand of each is empty, and decides all but the union.
const BEHIND_AN_EMPTY_OPERAND: [&str; 6] = [
    "empty rf; sync_fence as it",
    "empty rf & sync_fence as it",
    "empty rf \\ sync_fence as it",
    "empty R * domain(sync_fence) as it",
    "let order = sync_fence+ let empty-first = [R]; order acyclic empty-first as it",
    "acyclic rf | sync_fence as it",
];

/// Two threads with a `fence.sc` each.
fn two_fences(scope: Scope) -> (Unfolding, Execution) {
    let mut build = Build::new(&["x"]);
    for cta in [0, 1] {
        build.thread(gpu(0, cta));
        build.fence(&[Tag::Sc], Some(scope));
    }
    let mut execution = build.execution(&[], &[], &[0]);
    if scope == Scope::Gpu {
        execution.sync_fence = vec![(EventId(1), EventId(2))];
    }
    (build.unfolding, execution)
}

/// Whether Fence-SC order is part of an execution is what the checks look at: an operand that decides nothing is left out only
/// where that order is empty for every model.
#[test]
fn an_operand_behind_an_empty_one_is_looked_at_where_fences_are_ordered() {
    let (unfolding, execution) = two_fences(Scope::Gpu);
    for text in BEHIND_AN_EMPTY_OPERAND {
        let judgement = judge(&model(text), &Includes::new(), &unfolding, &execution).expect("evaluates");
        assert_eq!(judgement, Judgement { fences: FenceOrder::Ordered, ..Judgement::default() }, "{text}");
    }
    let (unfolding, execution) = two_fences(Scope::Cta);
    for text in BEHIND_AN_EMPTY_OPERAND {
        let judgement = judge(&model(text), &Includes::new(), &unfolding, &execution).expect("evaluates");
        assert!(judgement.violated.is_empty(), "{text}");
    }
}

/// `message_passing` has no fences, so that operands are left out.
#[test]
fn an_operand_that_an_empty_one_does_not_decide_is_evaluated() {
    relation("([F]; po) | rf", &[(0, 5), (3, 4)]);
    relation("rf \\ ([F]; po)", &[(0, 5), (3, 4)]);
    relation("([F]; po)?; [IW]", &[(0, 0), (1, 1)]);
    set("F | IW", &[0, 1]);
    set("IW \\ F", &[0, 1]);
    relation("([F]; po); rf", &[]);
    relation("([F]; po) & rf", &[]);
    relation("F * IW", &[]);
}

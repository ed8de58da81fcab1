//! The shipped models compile, and what the compiler derives about them is what their authors mean.

use fencepost_axiom::model::compile::{Options, Replacement, compile, compile_text};
use fencepost_axiom::model::{
    BaseRelation, CheckId, Coherence, DemandedRelation, Direction, Model, Operator, Polarity, shipped,
};
use fencepost_syntax::Source;
use fencepost_syntax::cat::CheckRole;

fn load(name: &str) -> Model {
    let compilation = compile_text(name, shipped(name).expect("a shipped model"));
    assert!(compilation.diagnostics.is_empty(), "{name}: {:?}", compilation.diagnostics);
    compilation.model.expect("a model")
}

fn polarity(model: &Model, name: &str) -> Polarity {
    model.polarity(model.checks_named(name).next().expect("a check of this name"))
}

#[test]
fn every_shipped_model_compiles_without_a_word() {
    let mut names: Vec<_> = shipped::names().collect();
    for name in &names {
        let model = load(name);
        assert_eq!(model.name, *name);
        assert!(model.unrecognised.is_empty());
        assert!(!model.checks.is_empty());
    }
    names.sort_unstable();
    let known = "cmm epoch epoch-buffered gpm ptx ptx-6.0 ptx-7.5 rc11-scoped sbrp sc strict x86-tso";
    assert_eq!(names, known.split(' ').collect::<Vec<_>>());
    assert!(shipped("ptx-6.0.cat").is_some() && shipped("nothing").is_none());
}

/// Whoever copies the `models` folder gets the model that the program has in one piece.
#[test]
fn a_model_in_parts_is_the_model_in_one_piece() {
    let text = shipped::file("ptx.cat").expect("the file");
    let mut parts = 0;
    let mut include = |name: &str| {
        parts += 1;
        shipped::file(name).map(|text| Source::new(name, text))
    };
    let compilation = compile(Source::new("models/ptx.cat", text), &Options::default(), &mut include);
    assert!(compilation.diagnostics.is_empty(), "{:?}", compilation.diagnostics);
    let (in_parts, whole) = (compilation.model.expect("a model"), load("ptx"));
    assert!(parts > 5 && text.lines().filter(|line| line.starts_with("include ")).count() == parts);
    let nodes =
        |model: &Model| format!("{:?}", model.nodes.iter().map(|it| (&it.operator, &it.name)).collect::<Vec<_>>());
    assert_eq!(nodes(&in_parts), nodes(&whole));
    let checks =
        |model: &Model| format!("{:?}", model.checks.iter().map(|it| (it.role, it.node, &it.name)).collect::<Vec<_>>());
    assert_eq!(checks(&in_parts), checks(&whole));
    assert_eq!(in_parts.groups, whole.groups);
    assert_eq!((in_parts.name, in_parts.features, in_parts.readings), (whole.name, whole.features, whole.readings));
}

#[test]
fn a_shipped_text_includes_no_part() {
    for name in shipped::names() {
        let text = shipped(name).expect("a shipped model");
        let parts = text.lines().filter_map(|line| line.strip_prefix("include \""));
        assert_eq!(parts.filter(|rest| shipped::file(rest.trim_end_matches('"')).is_some()).count(), 0, "{name}");
    }
}

#[test]
fn coherence_and_features_are_derived() {
    let names = ["ptx", "ptx-6.0", "ptx-7.5", "sc", "x86-tso"];
    let derived: Vec<_> = names.iter().map(|name| (load(name).coherence, load(name).features)).collect();
    let none = Vec::<String>::new();
    let all =
        ["proxy", "cluster", "async", "launch", "span", "multimem", "real-dependencies"].map(str::to_owned).to_vec();
    assert_eq!(
        derived,
        [
            (Coherence::Partial, all),
            (Coherence::Partial, none.clone()),
            (Coherence::Partial, vec!["proxy".to_owned()]),
            (Coherence::Total, none.clone()),
            (Coherence::Total, none),
        ]
    );
}

#[test]
fn the_ptx_models_have_the_axioms_of_the_isa() {
    for name in ["ptx-6.0", "ptx-7.5"] {
        let model = load(name);
        let axioms = model.checks.iter().filter(|check| check.role == CheckRole::Axiom);
        let mut names: Vec<_> = axioms.map(|check| check.name.as_str()).collect();
        names.dedup();
        assert_eq!(names, ["coherence", "fence-sc", "atomicity", "no-thin-air", "sc-per-location", "causality"]);
        let flags: Vec<_> = model.checks.iter().filter(|check| check.role == CheckRole::Flag).collect();
        assert_eq!(flags.len(), 1);
        assert_eq!((flags[0].name.as_str(), flags[0].negated), ("data-race", true));
    }
}

#[test]
fn the_ptx_models_demand_coherence_and_are_monotone_in_all_else() {
    for name in ["ptx-6.0", "ptx-7.5"] {
        let model = load(name);
        let shape: Vec<_> =
            model.demands.iter().map(|demand| (demand.check, demand.direction, demand.relation)).collect();
        assert_eq!(
            shape,
            [
                (CheckId(0), Direction::Forward, DemandedRelation::Co),
                (CheckId(1), Direction::EitherWay, DemandedRelation::Co),
            ]
        );
        for demand in &model.demands {
            assert!(!model.nodes[demand.wanted.index()].depends.co);
        }
        // Orienting morally strong writes does not depend on what is read.
        assert!(!model.nodes[model.demands[1].wanted.index()].depends.rf);
        for (index, check) in model.checks.iter().enumerate() {
            let used = model.polarity(CheckId(index as u32));
            let is_demand = model.demands.iter().any(|demand| demand.check.index() == index);
            assert_eq!(used.co.negative, is_demand, "{}", check.name);
            if check.role == CheckRole::Axiom {
                assert!(used.rf.is_monotone() && used.sync_fence.is_monotone() && used.syncbar.is_monotone());
            }
        }
        assert!(polarity(&model, "causality").sync_fence.positive);
        assert!(polarity(&model, "causality").syncbar.positive);
        assert!(!polarity(&model, "no-thin-air").co.occurs());
    }
}

#[test]
fn intermediate_relations_keep_the_names_of_the_isa() {
    for name in ["ptx-6.0", "ptx-7.5"] {
        let model = load(name);
        for wanted in [
            "morally-strong",
            "observation",
            "release-pattern",
            "acquire-pattern",
            "synchronizes-with",
            "base-causality",
            "causality",
        ] {
            assert!(model.nodes.iter().any(|node| node.name.as_deref() == Some(wanted)), "{name}: {wanted}");
        }
    }
    let proxies = load("ptx-7.5");
    assert!(proxies.nodes.iter().any(|node| node.name.as_deref() == Some("proxy-preserved-base-causality")));
}

#[test]
fn an_axiom_can_be_dropped() {
    let model = load("ptx-6.0");
    let without = model.without_check("coherence");
    assert_eq!(without.coherence, Coherence::Partial);
    assert_eq!((without.checks.len(), without.demands.len()), (model.checks.len() - 2, 0));
    let without = model.without_check("fence-sc");
    assert_eq!((without.checks.len(), without.demands.len()), (model.checks.len() - 1, 2));
    assert!(without.checks_named("fence-sc").next().is_none());
}

#[test]
fn a_clause_of_a_definition_can_be_dropped() {
    let replace = |name: &str, expression: &str| {
        let options = Options {
            replace: vec![Replacement { name: name.into(), expression: expression.into() }],
            ..Options::default()
        };
        let source = Source::new("ptx-6.0", shipped("ptx-6.0").expect("a shipped model"));
        compile(source, &options, &mut |_| None).model.expect("a model")
    };
    let scopeless = replace("related-by-scope", "[strong-operation]; ((_ * _) \\ int); [strong-operation]");
    let uses_scope =
        |model: &Model| model.nodes.iter().any(|node| node.operator == Operator::BaseRelation(BaseRelation::Sr));
    assert!(uses_scope(&load("ptx-6.0")) && !uses_scope(&scopeless));
    let unfenced = replace("synchronizes-with", "pattern-synchronizes | barrier-synchronizes");
    assert!(!polarity(&unfenced, "causality").sync_fence.occurs());
}

/// How an axiom uses coherence, and the demands it gives: (coherence is partial, demands, shapes not recognised).
fn analysis(text: &str) -> (Coherence, Vec<(Direction, DemandedRelation)>, usize) {
    let compilation = compile_text("test", text);
    assert!(compilation.model.is_some(), "{text}: {:?}", compilation.diagnostics);
    let model = compilation.model.expect("a model");
    let demands = model.demands.iter().map(|demand| (demand.direction, demand.relation)).collect();
    (model.coherence, demands, model.unrecognised.len())
}

#[test]
fn demands_are_recognised_in_every_usual_shape() {
    use DemandedRelation::{Co, SyncFence};
    use Direction::{EitherWay, Forward};
    let forward = vec![(Forward, Co)];
    let either = vec![(EitherWay, Co)];
    for (text, demands) in [
        ("empty po \\ co as a", &forward),
        ("empty po \\ co+ as a", &forward),
        ("empty po \\ co^-1 as a", &forward),
        ("let co = co+\nlet want = ([W]; po; [W]) & loc\nempty want \\ co as a", &forward),
        ("empty (po \\ co) & loc as a", &forward),
        ("empty [W]; (po \\ co); [W] as a", &forward),
        ("empty po \\ (co | id | rmw) as a", &forward),
        ("empty po \\ co? as a", &forward),
        ("empty po \\ (co & loc) as a", &forward),
        ("empty po \\ (co | co^-1) as a", &either),
        ("empty po \\ (co+ | (co+)^-1) as a", &either),
        ("empty po \\ co \\ co^-1 as a", &either),
        ("procedure ordered (r) = empty r \\ (co | co^-1) end\ncall ordered (po)", &either),
        ("empty (po \\ co) | (rf \\ (co | co^-1)) as a", &vec![(Forward, Co), (EitherWay, Co)]),
    ] {
        assert_eq!(analysis(text), (Coherence::Partial, demands.clone(), 0), "{text}");
    }
    let fences = "empty ([F & SC]; (po | sync_fence)+; [F & SC]) \\ sync_fence as a";
    assert_eq!(analysis(fences), (Coherence::Total, vec![(Forward, SyncFence)], 0));
}

/// The place and the help of the only error.
fn refusal(text: &str) -> (String, String) {
    let compilation = compile_text("test", text);
    assert!(compilation.model.is_none(), "{text}");
    let found: Vec<_> = compilation.errors().collect();
    assert_eq!(found.len(), 1, "{text}: {found:?}");
    let source = compilation.source(found[0].file).expect("a file");
    let help = found[0].diagnostic.help.clone().unwrap_or_default();
    (source.slice(found[0].diagnostic.span).to_owned(), help)
}

#[test]
fn other_negative_coherence_is_refused_at_its_place() {
    for text in [
        "acyclic po \\ co as a",
        "irreflexive po; ~co as a",
        "empty (co; po) \\ co as a",
        "empty po \\ (co; rf) as a",
        "empty po \\ (co & rf) as a",
        "empty po \\ (co | co^-1)+ as a",
        "~empty co as a",
        "empty W \\ range co as a",
        "empty [FW]; po as a",
    ] {
        for title in ["", "PTX\n", "\"a model\"\n"] {
            let (place, help) = refusal(&format!("{title}acyclic rf as b\n{text}"));
            assert_eq!(place, text);
            assert!(help.contains("include \"cos.cat\""), "{help}");
        }
        // Where coherence is total, a negative use is nothing special.
        for title in ["X86 TSO\n", "\"x86 my own\"\n", "C \"C++11\"\n", "SC\n"] {
            assert_eq!(analysis(&format!("{title}{text}")), (Coherence::Total, Vec::new(), 0), "{title}{text}");
        }
    }
    assert_eq!(analysis("X86\nempty po \\ co as a").0, Coherence::Total);
}

#[test]
fn over_partial_coherence_a_mark_must_not_need_edges() {
    let demand = "empty ([W]; po; [W]) & loc \\ co as order\n";
    for mark in [
        "flag ~empty (co; rf) as a",
        "flag ~acyclic rf | co as a",
        "undefined_unless empty (co; rf) as a",
        "undefined_unless acyclic co as a",
    ] {
        assert_eq!(refusal(&format!("{demand}{mark}")).0, mark);
        assert_eq!(analysis(mark), (Coherence::Total, Vec::new(), 0), "{mark}");
    }
    for mark in ["flag ~empty po \\ co as a", "undefined_unless empty po \\ co as a", "flag ~empty rf as a"] {
        assert_eq!(analysis(&format!("{demand}{mark}")).0, Coherence::Partial, "{mark}");
    }
}

#[test]
fn marks_do_not_say_what_coherence_is() {
    // A flag does not make coherence partial, and over total coherence nothing needs recognising.
    assert_eq!(analysis("flag ~empty po \\ co as a"), (Coherence::Total, Vec::new(), 0));
    // Difference from a part of itself is no negative use: this is how herd's library writes `coe`.
    assert_eq!(analysis("let coi = co & int\nacyclic po | (co \\ coi) as a"), (Coherence::Total, Vec::new(), 0));
    assert_eq!(analysis("include \"cos.cat\"\nempty po \\ (co; rf) as a"), (Coherence::Total, Vec::new(), 0));
}

#[test]
fn polarity_follows_differences_complements_and_recursion() {
    for (text, rf, co) in [
        ("acyclic rf as a", (true, false), (false, false)),
        ("acyclic rf^-1; co as a", (true, false), (true, false)),
        ("acyclic po \\ rf as a", (false, true), (false, false)),
        ("acyclic po \\ (co \\ rf) as a", (true, false), (false, true)),
        ("acyclic ~(po \\ rf) as a", (true, false), (false, false)),
        ("empty W \\ domain rf as a", (false, true), (false, false)),
        ("acyclic (rf \\ co) | (co \\ rf) as a", (true, true), (true, true)),
        ("~empty rf as a", (false, true), (false, false)),
        ("let rec r = (po \\ rf) | (r; co; r)\nacyclic r as a", (false, true), (true, false)),
    ] {
        // Named, so that coherence is total and every use of it has a meaning.
        let model = compile_text("test", &format!("X86\n{text}")).model.expect("a model");
        let used = model.polarity(CheckId(0));
        assert_eq!((used.rf.positive, used.rf.negative), rf, "{text}");
        assert_eq!((used.co.positive, used.co.negative), co, "{text}");
        let depends = model.nodes[model.checks[0].node.index()].depends;
        assert_eq!((depends.rf, depends.co), (rf.0 || rf.1, co.0 || co.1), "{text}");
    }
}

/// Models in the manner of the field: herd's x86 (library functions, tags, generated coherence) and a GPU model that
/// closes a partial coherence order itself.
#[test]
fn models_in_both_dialects_load() {
    let herd = "X86 \"my tso\"\ninclude \"x86fences.cat\"\ninclude \"filters.cat\"\ninclude \"cos.cat\"\n\
                acyclic po-loc | rf | fr | co\nempty rmw & (fre;coe)\n\
                let ppo = WW(po) | RM(po)\nlet locked = MA(WR(po)) | AM(WR(po))\n\
                acyclic mfence | locked | ppo | rfe | fr | co as tso";
    let model = compile_text("herd", herd).model.expect("a model");
    assert_eq!(model.coherence, Coherence::Total);
    assert_eq!(model.checks.iter().map(|check| check.name.as_str()).collect::<Vec<_>>(), ["axiom 1", "axiom 2", "tso"]);
    let gpu = "PTX\n/* closed by hand */\nlet co = co+\nlet fr = rf^-1; co\nlet strong = (W & (RLX | REL)) | (R & (RLX | ACQ))\n\
               let ms = ([strong]; (sr & vloc); [strong]) \\ id\nlet cause = (po | ms & rf | sync_fence | sync_barrier)+\n\
               empty ((([W]; cause; [W]) & loc) \\ co) as ordered\n\
               empty (([W]; ms; [W]) & loc) \\ (co | co^-1) as related\nirreflexive ((rf | fr); cause) as causality";
    let model = compile_text("gpu", gpu).model.expect("a model");
    assert_eq!((model.coherence, model.demands.len()), (Coherence::Partial, 2));
}

//! Models of several files, in the manner in which herd's and Dartagnan's are written: the compiler and the independent
//! evaluator read the same of them.

use crate::support::handmade;

use std::collections::BTreeMap;

use fencepost_axiom::execution::Execution;
use fencepost_axiom::model::compile::{Compilation, Options, compile};
use fencepost_axiom::model::{Coherence, Model};
use fencepost_axiom::replay::{Includes, judge};
use fencepost_program::EventId;
use fencepost_program::expression::Expression;
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::Unfolding;
use fencepost_syntax::{Source, cat};

use handmade::{Build, gpu};

type Files = BTreeMap<&'static str, &'static str>;

fn compiled(text: &str, files: &Files) -> Compilation {
    let mut find = |name: &str| files.get(name).map(|text| Source::new(name, *text));
    compile(Source::new("folder/model.cat", text), &Options::default(), &mut find)
}

/// The model, and the names of the axioms that the evaluator finds violated by store buffering without a fence.
#[track_caller]
fn load(text: &str, files: &Files) -> (Model, Vec<String>) {
    let compilation = compiled(text, files);
    let errors: Vec<_> = compilation.errors().collect();
    assert!(errors.is_empty(), "{text}: {errors:?}");
    let (unfolding, execution) = store_buffering();
    let includes: Includes = files.iter().map(|(name, text)| ((*name).to_owned(), cat::parse(text).0)).collect();
    let judgement = judge(&cat::parse(text).0, &includes, &unfolding, &execution);
    (compilation.model.expect("a model"), judgement.expect("evaluates").violated)
}

/// 0, 1 are the inits of x and y; 2: W x, 3: R y; 4: W y, 5: R x; both reads miss the write.
fn store_buffering() -> (Unfolding, Execution) {
    let mut build = Build::new(&["x", "y"]);
    for (thread, (write, read)) in [(0, 1), (1, 0)].into_iter().enumerate() {
        build.thread(gpu(0, thread as u32));
        build.write(write, Expression::constant(1), &[Tag::Weak], None);
        build.read(read, &[Tag::Weak], None);
    }
    let e = EventId;
    let execution = build.execution(&[(e(1), e(3)), (e(0), e(5))], &[(e(0), e(2)), (e(1), e(4))], &[0, 0, 1, 0, 1, 0]);
    (build.unfolding, execution)
}

#[test]
fn an_include_under_a_variant_and_generated_coherence() {
    let files = Files::from([
        (
            "orders.cat",
            "\"orders\"\nif \"fast\"\n  include \"fast.cat\"\nelse\n  include \"plain.cat\"\nend\nlet after = fr | co",
        ),
        (
            "plain.cat",
            "include \"product.cat\"\nlet back = rf^-1\nlet base = co0\nwith co from all(base)\nlet inside = co & int\n\
             let coe = co \\ inside\nlet fr = (back ; co) \\ id\nlet fre = fr \\ (fr & int)\nshow co,fr",
        ),
        (
            "product.cat",
            "let product =\n  let rec outer (found,sum,rest) = match rest with\n  || {} -> sum ++ found\n\
             \x20 || some ++ rest ->\n    let rec inner (found,some) = match some with\n    || {} -> found\n\
             \x20   || one ++ some -> inner (outer (found,one | sum,rest),some)\n    end in inner (found,some)\n  end in\n\
             \x20 fun rest -> outer ({},0,rest)\n\
             let each (before,all) = let rec go all = match all with || {} -> {} || ws ++ all -> \
             linearisations(ws,before) ++ go(all) end in go(all)\n\
             let all(before) = product (each (before,partition W))",
        ),
    ]);
    let text = "X86 TSO\ninclude \"orders.cat\"\ninclude \"x86fences.cat\"\ninclude \"filters.cat\"\n\
                acyclic po-loc | amo | rf | after\nacyclic WW(po) | RM(po) | mfence | rfe | after as tso\n\
                include \"x86fences.cat\"\nacyclic po | rf | after as sc\nempty rmw & (fre;coe)";
    let (model, violated) = load(text, &files);
    assert_eq!(model.coherence, Coherence::Total);
    assert_eq!(violated, ["sc"]);
}

#[test]
fn a_file_beside_the_including_one_comes_before_one_beside_the_model() {
    let files = Files::from([
        ("lib/part.cat", "include \"base.cat\"\nlet part = base"),
        ("lib/base.cat", "include \"shared.cat\"\nlet base = rf | shared"),
        ("base.cat", "let base = 0"),
        ("shared.cat", "let shared = po | fr"),
    ]);
    let (_, violated) = load("include \"lib/part.cat\"\nacyclic part as found\n", &files);
    assert_eq!(violated, ["found"]);
    let (_, violated) = load("include \"base.cat\"\nacyclic base | po as other\n", &files);
    assert!(violated.is_empty());
    assert!(compiled("include \"lib/none.cat\"", &files).model.is_none());
}

/// A standard library of the model's own, with definitions of what is predefined anyway.
#[test]
fn a_library_of_ones_own_may_define_what_is_predefined() {
    let herd = Files::from([(
        "stdlib.cat",
        "stdlib\nlet emptyset = domain 0\nlet partition = classes-loc\nlet tag2instrs = tag2events\nlet po-loc = po & loc\n\
         let co0 = loc & ((IW * (W\\IW)) | ((W\\FW) * FW))\nlet fencerel(B) = (po & (_ * B)) ; po\n\
         let lxsx = rmw \\ amo\nlet no-field = try no-such-name with 0\nlet both r = domain r | range r\n\
         procedure inside(r1, r2) = empty r1 \\ r2 end\nprocedure total(r,E) = let rt = (r | r^-1) call inside((E*E),rt) end\n\
         let LKW = try LKW with emptyset\nshow (si \\ id) \\ (I * I) as si",
    )]);
    let text = "X86\ninclude \"stdlib.cat\"\ninclude \"cos.cat\"\ncall inside(po-loc, po)\nacyclic po | fr | co as sc";
    assert_eq!(load(text, &herd).1, ["sc"]);
    let dartagnan = Files::from([
        (
            "basic.cat",
            "let fr = rf^-1;co | ([R] \\ [range(rf)]);loc;[W]\nlet rmw = amo | lxsx\nlet fre = fr & ext\n\
             let fencerel(F) = po;[F];po\nempty ([R \\ range(rf)]);loc;[IW] as reads-something\ncut reads-something\n\
             flag ~empty [UB] as undefined",
        ),
        ("fences.cat", "let mfence = fencerel(mfence)"),
    ]);
    let text = "\"X86 TSO\"\ninclude \"basic.cat\"\ninclude \"fences.cat\"\n\
                let tso = ((po & ((R*M) | (W*W))) | mfence) | co | fr | rfe | (po & W*R & ((M * A) | (A * M)))\n\
                acyclic tso as tso\nacyclic po | fr as sc";
    assert_eq!(load(text, &dartagnan).1, ["sc"]);
}

/// What no file gives comes from the built-in library, in the evaluator as in the compiler.
#[test]
fn the_evaluator_has_the_library_that_the_compiler_has() {
    for file in ["stdlib", "cross", "cos", "cos-opt", "cos-no-opt", "filters", "x86fences", "fences"] {
        let text = format!("X86\ninclude \"{file}.cat\"\nacyclic po | fr | co as sc");
        assert_eq!(load(&text, &Files::new()).1, ["sc"], "{file}");
    }
    for filter in ["WW", "WR", "RW", "RR", "RM", "MR", "WM", "MW", "MM", "AA", "AP", "PA", "PP", "AM", "MA"] {
        let (from, to) = filter.split_at(1);
        let text = format!(
            "X86\ninclude \"filters.cat\"\nlet same = [{from}]; po; [{to}]\n\
             empty ({filter}(po) \\ same) | (same \\ {filter}(po)) as same"
        );
        assert!(load(&text, &Files::new()).1.is_empty(), "{filter}");
    }
}

#[test]
fn names_that_another_tool_predefines_are_refused_by_name() {
    for (name, tool) in [("instr", "herd"), ("RMW", "herd"), ("async_seq", "Dartagnan"), ("allocptr", "Dartagnan")] {
        let compilation = compiled(&format!("acyclic po | ({name})"), &Files::new());
        let messages: Vec<_> = compilation.errors().map(|found| found.diagnostic.message.clone()).collect();
        assert_eq!(messages, [format!("`{name}`, which {tool} predefines, is not supported")]);
        assert!(compiled(&format!("X86\nacyclic try {name} with 0"), &Files::new()).model.is_some());
    }
}

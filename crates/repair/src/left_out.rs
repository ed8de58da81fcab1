//! What keeps a candidate from being looked at: threads that hear nothing from each other in the race's execution, and a report
//! that says already what changed tests are compared with.

use fencepost_check::judge::found::Checked;
use fencepost_check::judge::readings;
use fencepost_check::model::facts::Watched;
use fencepost_check::{LoadedModel, Models, Options, Test, load};
use fencepost_syntax::Source;

use crate::scene::Scene;
use crate::verify::Verifier;

/// A message that one thread waits for, and whose data it reads.
const HEARD: &str = "PTX heard\n{ x = 0; y = 0; }\nP0@cta 0, gpu 0 {\n  st.weak.u32 [x], 1;\n  st.relaxed.gpu.u32 [y], 1;\n}\n\
                     P1@cta 1, gpu 0 {\nL: ld.relaxed.gpu.u32 %r0, [y];\n  setp.eq.u32 %p, %r0, 1;\n  @!%p bra L;\n  ld.weak.u32 \
                     %r1, [x];\n}\n";
const UNHEARD: &str = "PTX unheard\n{ x = 0; }\nP0@cta 0, gpu 0 {\n  st.weak.u32 [x], 1;\n}\nP1@cta 1, gpu 0 {\n  ld.weak.u32 %r1, \
                       [x];\n}\n";

struct Answered {
    test: Test,
    model: LoadedModel,
    options: Options,
    checked: Checked,
}

fn answered(text: &str, question: &str) -> Answered {
    let (mut tests, diagnostics) = load(&Source::new("t.litmus", format!("{text}{question}\n")));
    assert!(diagnostics.is_empty(), "{text}{diagnostics:?}");
    let (test, model, options) = (tests.remove(0), Models::shipped("ptx").expect("shipped"), Options::default());
    let options = options.begun();
    let (checked, _) = readings::answer(&test, &model, &options);
    Answered { test, model, options, checked }
}

#[test]
fn words_are_tried_only_between_threads_that_hear_from_each_other() {
    for (text, is_connected) in [(HEARD, true), (UNHEARD, false)] {
        let Answered { test, model, checked, .. } = answered(text, "exists (P1:%r1 = 0)");
        let evidence = &checked.evidence;
        let unfolding = evidence.accesses.as_ref().or(evidence.unfolding.as_ref()).expect("it was unfolded");
        let (pair, execution) = evidence.races.first().expect("it races");
        let watched = Watched::new(&model.model, &model.vocabulary);
        assert_eq!(Scene::new(&test, unfolding, execution, &watched).is_connected(*pair), is_connected, "{text}");
    }
}

#[test]
fn a_test_without_promises_is_compared_by_its_report() {
    for (question, is_known) in [("exists (P1:%r1 = 0)", true), ("forall (P1:%r1 = 1)", false)] {
        let Answered { test, model, options, checked } = answered(UNHEARD, question);
        let unfolding = checked.evidence.unfolding.as_ref().expect("it was unfolded");
        let of_report = (&**unfolding, checked.report.executions);
        let verifier = Verifier::new(&test, &model, &options, Vec::new(), of_report).knowing(&checked.report);
        assert_eq!(verifier.is_compared_by_report(), is_known, "{question}");
    }
}

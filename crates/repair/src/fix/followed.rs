//! Bad executions that are followed in changed tests: one that an option leaves is found there, one that it rules out is not, and
//! what is found so is found by a search too.

use fencepost_check::{LoadedModel, Models, Options, Test, load};
use fencepost_program::ThreadId;
use fencepost_syntax::{Source, Span};

use super::compare::program;
use super::oracle::{Judged, Oracle};
use super::space::Space;
use super::want::{Want, wants};
use super::{Because, Costs};
use crate::edit::{Change, Edit, Moved};
use crate::random::Random;
use crate::scene::anchor::{Anchor, Side};

const MESSAGE: &str = "PTX message\n{ x = 0; y = 0; }\nP0@cta 0, gpu 0 {\n  st.weak.u32 [x], 1;\n  st.relaxed.gpu.u32 [y], \
                       1;\n}\nP1@cta 1, gpu 0 {\n  ld.relaxed.gpu.u32 %r0, [y];\n  ld.weak.u32 %r1, [x];\n}\n~exists \
                       (P1:%r0 = 1 /\\ P1:%r1 = 0)\n";

/// A wait for a flag, whose loop is unrolled.
const LOOP: &str = "PTX loop\n{ x = 0; y = 0; }\nP0@cta 0, gpu 0 {\n  st.weak.u32 [x], 1;\n  st.relaxed.gpu.u32 [y], 1;\n}\n\
                    P1@cta 1, gpu 0 {\nL: ld.relaxed.gpu.u32 %r0, [y];\n  setp.eq.u32 %p, %r0, 1;\n  @!%p bra L;\n  ld.weak.u32 \
                    %r1, [x];\n}\nforall (P1:%r1 = 1)\n";

struct Followed {
    test: Test,
    model: LoadedModel,
    options: Options,
    wants: Vec<Want>,
    space: Space,
}

impl Followed {
    fn new(text: &str) -> Followed {
        let (mut tests, diagnostics) = load(&Source::new("t.litmus", text.to_owned()));
        assert!(diagnostics.is_empty(), "{text}{diagnostics:?}");
        let (test, model, options) = (tests.remove(0), Models::shipped("ptx").expect("shipped"), Options::default());
        let wants = wants(&test, &options, &|_| Some((false, Because::Expected)));
        let space = Space::new(&test, &model, &Costs::default(), &|_| false);
        Followed { test, model, options, wants, space }
    }

    fn oracle(&self) -> Oracle<'_> {
        Oracle::new(&self.test, &self.model, (&self.options, &self.options), &self.wants)
    }

    /// One that knows the bad executions of the test.
    fn knowing(&self) -> Oracle<'_> {
        let oracle = self.oracle();
        assert_eq!(oracle.judge(&[], &[]), Judged::Wrong);
        oracle
    }
}

#[test]
fn an_execution_that_one_option_leaves_is_found_with_it() {
    for text in [MESSAGE, LOOP] {
        let followed = Followed::new(text);
        let oracle = followed.knowing();
        for at in 0..followed.space.options.len() {
            let edits = followed.space.edits(&[at]);
            assert!(oracle.is_shown_wrong(&[at], &edits), "{:?} of {text}", edits[0].change);
        }
    }
}

#[test]
fn an_execution_is_followed_where_something_moved_or_went() {
    let text = MESSAGE.replace("y = 0;", "y = 0; z = 0;").replace("  ld.weak", "  ld.weak.u32 %r2, [z];\n  ld.weak");
    let followed = Followed::new(&text);
    let oracle = followed.knowing();
    let span = |code: &str| {
        let start = text.find(code).expect("an instruction of the test");
        Span::new(start as u32, (start + code.len()) as u32)
    };
    let (data, flag) = (span("st.weak.u32 [x], 1"), span("st.relaxed.gpu.u32 [y], 1"));
    let to = Anchor { thread: ThreadId(0), span: flag, side: Side::After };
    let moved = Change::Move { span: data, to, what: Moved::Synchronisation };
    let gone = Change::Remove { thread: ThreadId(1), span: span("ld.weak.u32 %r2, [z]") };
    // The flag is what the first read reads from: without it nothing is known.
    let needed = Change::Remove { thread: ThreadId(0), span: flag };
    for (number, (change, is_found)) in [(moved, true), (gone, true), (needed, false)].into_iter().enumerate() {
        let edit = Edit { change, reason: None, section: "", cost: 0 };
        assert_eq!(oracle.is_shown_wrong(&[number], &[&edit]), is_found, "{:?}", edit.change);
    }
}

#[test]
fn an_execution_that_a_repair_rules_out_is_not_found() {
    for text in [MESSAGE, LOOP] {
        let followed = Followed::new(text);
        let oracle = followed.knowing();
        let all = followed.space.edits(&followed.space.strongest);
        assert!(!oracle.is_shown_wrong(&followed.space.strongest, &all), "{text}");
    }
}

#[test]
fn what_is_found_is_found_by_a_search_too() {
    let mut random = Random(5);
    let mut shown = 0;
    for _ in 0..60 {
        let text = program(&mut random);
        let followed = Followed::new(&text);
        let oracle = followed.oracle();
        if oracle.judge(&[], &[]) != Judged::Wrong {
            continue;
        }
        for _ in 0..6 {
            let places = 0..followed.space.strongest.len();
            let set: Vec<usize> =
                places.filter(|_| random.below(3) == 0).map(|place| followed.space.strongest[place]).collect();
            let edits = followed.space.edits(&set);
            if oracle.is_shown_wrong(&set, &edits) {
                shown += 1;
                assert_eq!(followed.oracle().judge(&set, &edits), Judged::Wrong, "{edits:?} of {text}");
            }
        }
    }
    assert!(shown > 20, "{shown}");
}

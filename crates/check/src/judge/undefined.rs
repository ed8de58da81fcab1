//! Models under which some programs have no defined behaviour: C, where a race is enough (C11 5.1.2.4, paragraph 25).
//!
//! A model says so with `undefined_unless`. If one execution of a program raises such a flag, every outcome is possible,
//! also those that no execution of the model has: what is asked for with `exists` may happen, what `~exists` and `forall`
//! promise may fail. herd prints `Undef` and leaves the conclusion to the reader; here the verdict draws it, because
//! "not reachable" of a program that may do anything is wrong. What was not found is believed only of a program that is
//! known to have a defined behaviour: where races were not decided, an absence is unknown.
//!
//! In PTX a register of a `wgmma` that is used too early or not fenced does it ([`FindingKind::is_of_registers`]), and a
//! thread that does not arrive and wait in turn at the barrier of its cluster ([`FindingKind::is_of_cluster_barrier`]), and tensor memory
//! that is accessed without being allocated ([`FindingKind::is_of_tensor_memory`]); races do not.

use fencepost_program::program::Condition;
use fencepost_program::unfolding::Unfolding;
use fencepost_report::Undefined;
use fencepost_report::answer::Answer;
use fencepost_report::finding::FindingKind;
use fencepost_report::why::Why;
use fencepost_syntax::sorted::SharedSort as _;

use crate::judge::contradiction;
use crate::judge::found::{Answers, Reached};
use crate::model::load::LoadedModel;
use crate::options::{Options, Outcomes};
use crate::test::Test;

/// Whether races are looked for: also where nobody asks for them, if the answer to what is asked rests on them.
pub(crate) fn asks_races(model: &LoadedModel, unfolding: &Unfolding, options: &Options) -> bool {
    options.races.is_yes() || options.questions.is_yes() && model.flags().may_undefine(unfolding)
}

/// The filter of the executions that are searched for races. Of a program without a defined behaviour no final state is
/// known, so none is filtered out.
pub(crate) fn race_filter<'t>(test: &'t Test, model: &LoadedModel) -> Option<&'t Condition> {
    test.program.filter.as_ref().map(|filter| &filter.node).filter(|_| !model.flags().undefine())
}

/// How many executions are looked at for races.
pub(crate) fn race_outcomes(model: &LoadedModel, unfolding: &Unfolding, options: &Options) -> Outcomes {
    match options.outcomes {
        Outcomes::Skip if model.flags().may_undefine(unfolding) => Outcomes::Capped,
        outcomes => outcomes,
    }
}

/// Draws the conclusion.
pub(crate) fn apply(test: &Test, model: &LoadedModel, unfolding: &Unfolding, answers: &mut Answers) {
    if !model.flags().may_undefine(unfolding) {
        return;
    }
    answers.undefined = answers.races.iter().flat_map(|raced| raced.set.undefined()).collect();
    let instead = match &answers.race {
        _ if !answers.undefined.is_empty() => Answer::Yes(Reached::Undefined),
        Answer::Unknown(why) => Answer::Unknown(why.clone()),
        _ => return,
    };
    for (question, finding) in test.program.questions.iter().zip(&mut answers.findings) {
        let is_open = match finding {
            Answer::No => true,
            // A limit ended the search, and nothing is left to find: every outcome is possible.
            Answer::Unknown(Why::Time | Why::Memory | Why::Size(_) | Why::Cancelled | Why::Bound(_)) => {
                instead.is_yes()
            }
            _ => false,
        };
        // `forall (true)` is true of every state, whatever the program does; none has `x = 1 /\ x = 2`.
        if is_open && !contradiction::is_unanswerable(question) {
            *finding = instead.clone();
        }
    }
    // What the model's executions do says nothing of a program that may do anything: not that it ends, nor that it hangs.
    let why = instead.why().cloned().unwrap_or(Why::Undefined);
    if answers.hang.is_yes() && instead.is_yes() {
        answers.hang = Answer::Unknown(why.clone());
    }
    answers.hang.leave_open(&why);
    answers.protocol.leave_open(&why);
}

/// What these flags of the model make of a program, if there are any.
pub(crate) fn of(mut flags: Vec<(String, FindingKind)>) -> Option<Undefined> {
    flags.shared_sort();
    flags.dedup();
    let (flags, kinds): (Vec<String>, Vec<FindingKind>) = flags.into_iter().unzip();
    (!flags.is_empty()).then_some(Undefined { flags, kinds, message: String::new() })
}

#[cfg(test)]
mod tests {
    use fencepost_report::answer::Answer;
    use fencepost_report::why::{Undecided, Why};
    use fencepost_syntax::Source;

    use crate::judge::found::Raced;
    use crate::{Models, Options, check, load};

    fn test_of(threads: &str) -> crate::Test {
        let (mut tests, diagnostics) = load(&Source::new("t.litmus", format!("C t\n{{ x = 0; }}\n{threads}\n")));
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        tests.remove(0)
    }

    const RACE: &str = "P0 (int* x) { *x = 1; }\nP1 (int* x) { int r0 = *x; }";
    const NONE: &str = "P0 (atomic_int* x) { *x = 1; }\nP1 (atomic_int* x) { int r0 = *x; }";

    /// Nothing is called unreachable before it is known that there is no race.
    #[test]
    fn an_absence_is_unknown_where_races_were_not_decided() {
        let test = test_of(&format!("{NONE}\n~exists (1:r0 = 5)"));
        let mut answers = super::Answers::new(vec![Answer::No]);
        answers.race = Answer::Unknown(Why::Size(Undecided::Races));
        super::apply(&test, &Models::shipped("rc11-scoped").unwrap(), &super::Unfolding::default(), &mut answers);
        let finding = answers.findings.remove(0);
        assert!(matches!(finding, Answer::Unknown(Why::Size(Undecided::Races))), "{finding:?}");
    }

    /// A limit may end the search for an outcome; that every one is possible is known all the same.
    #[test]
    fn of_an_undefined_program_nothing_is_unknown_for_want_of_time() {
        let test = test_of(&format!("{RACE}\n~exists (1:r0 = 5)"));
        let model = Models::shipped("rc11-scoped").unwrap();
        let flag = crate::look::race::RaceKey {
            flag: "data-race".to_owned(),
            first: fencepost_syntax::Span::default(),
            second: fencepost_syntax::Span::default(),
            meaning: crate::look::race::Meaning::Undefined,
            kind: super::FindingKind::DataRace,
        };
        let execution = check(&test_of(&format!("{RACE}\nexists (1:r0 = 1)")), &model, &Options::default());
        let execution = std::sync::Arc::new(execution.evidence.witnesses[0].clone().expect("a witness"));
        let pair = (fencepost_program::EventId(0), fencepost_program::EventId(0));
        let mut answers = super::Answers::new(vec![Answer::Unknown(Why::Time)]);
        let mut set = crate::look::race::RaceSet::default();
        set.note(flag, || crate::look::race::Example { pair, execution });
        answers.races = vec![Raced { set, of: Default::default() }];
        answers.race = Answer::Yes(());
        super::apply(&test, &model, &super::Unfolding::default(), &mut answers);
        assert!(matches!(answers.findings[0], Answer::Yes(super::Reached::Undefined)), "{:?}", answers.findings);
    }

    #[test]
    fn races_are_looked_for_even_if_nobody_asks() {
        let options = Options {
            races: crate::options::Wanted::No,
            outcomes: crate::options::Outcomes::Skip,
            ..Options::default()
        };
        let test = test_of(&format!("{RACE}\n~exists (1:r0 = 5)"));
        let report = check(&test, &Models::shipped("rc11-scoped").unwrap(), &options).report;
        assert_eq!(report.verdict.word(), "Violated", "{report:?}");
    }
}

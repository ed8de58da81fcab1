//! All outcomes, one by one, or class by class where they are too many for that.

use std::ops::ControlFlow;

use fencepost_axiom::engine::exchange::{Exchange, Looked};
use fencepost_axiom::engine::{Exploration, Goal, Multiplicity, Stop};
use fencepost_axiom::execution::Execution;
use fencepost_program::program::Condition;

use super::Job;
use crate::look::classes::{Classes, Reading};
use crate::look::collect::Totals;
use crate::look::histogram::Histogram;
use crate::look::search::Found;
use crate::options::{EngineChoice, LISTING_WORK, MOST_FROM_CLASSES, MOST_LISTED};

/// What is known of all outcomes where not every execution was listed.
pub(super) enum Alike {
    Classes(Classes),
    /// There are not too many to tell each, with the number of all executions.
    Each(Histogram, u64),
}

impl Job<'_> {
    /// Every execution; or some, and what is known of all outcomes. Where nothing can be exchanged all is as it would be
    /// without classes, and so it is where the listing ends early.
    pub(super) fn listed(
        &self,
        goal: &Goal<'_>,
        visit: &mut impl FnMut(&mut Totals, &Execution) -> ControlFlow<()>,
    ) -> (Found<Totals>, Option<Alike>) {
        let Some(exchange) = self.exchange() else { return (self.searcher.run(goal, Totals::default, visit), None) };
        let found = self.searcher.run_bounded(goal, LISTING_WORK, Totals::default, &mut *visit);
        match found.exploration {
            Exploration::Incomplete(Stop::Work) => {}
            // The other engine may know what to do.
            Exploration::Incomplete(Stop::Unsupported { .. }) => {
                return (self.searcher.run(goal, Totals::default, visit), None);
            }
            _ => return (found, None),
        }
        let filter = self.test.program.filter.as_ref().map(|filter| &filter.node);
        let reading = Reading { unfolding: self.unfolding, terms: self.terms(), filter };
        let classes = reading.classes(&self.searcher, &self.goal(None, Multiplicity::All), &exchange);
        match classes {
            Some(classes) if classes.all_outcomes > MOST_LISTED => (found, Some(Alike::Classes(classes))),
            Some(classes) if classes.all_outcomes <= MOST_FROM_CLASSES => match classes.listed(&exchange, self.terms())
            {
                // Which accesses race was seen of some executions only.
                Some(outcomes) => (found, Some(Alike::Each(outcomes, classes.all_executions))),
                None => (self.searcher.run(goal, Totals::default, visit), None),
            },
            _ => (self.searcher.run(goal, Totals::default, visit), None),
        }
    }

    /// Which threads can be exchanged, where that is asked for.
    fn exchange(&self) -> Option<Exchange> {
        let is_asked = self.options.classes.is_yes()
            && self.options.engine == EngineChoice::Auto
            && !self.searcher.has_strands
            && self.unfolding.unmodelled.is_none();
        if !is_asked {
            return None;
        }
        let asked = self.test.program.questions.iter().map(|question| &question.condition);
        let conditions: Vec<&Condition> =
            asked.chain(self.test.program.filter.iter().map(|filter| &filter.node)).collect();
        Exchange::find(self.unfolding, Looked { terms: self.terms(), conditions: &conditions })
    }
}

#[cfg(test)]
mod tests {
    use fencepost_syntax::Source;

    use crate::options::{Options, Outcomes, Wanted};
    use crate::{Models, check, load};

    #[test]
    fn outcomes_that_are_too_many_are_counted_by_class() {
        let row = |cell: &dyn Fn(u32) -> String| (0..12).map(cell).collect::<Vec<_>>().join(" | ");
        let rows =
            [row(&|at| format!("P{at}")), row(&|at| format!("MOV EAX,${}", at + 1)), row(&|_| "XCHG [x],EAX".into())];
        let claims: Vec<String> = (0..12).map(|at| format!("{at}:EAX=0")).collect();
        let text = format!("X86 t\n{{ x=0; }}\n {} ;\nexists ({})\n", rows.join(" ;\n "), claims.join(" \\/ "));
        let (tests, _) = load(&Source::new("t", text));
        let model = Models::shipped("x86-tso").expect("shipped");
        let options = Options { outcomes: Outcomes::All, classes: Wanted::Yes, ..Options::default() };
        let report = check(&tests[0], &model, &options).report;
        let all = (1..=12).product::<u64>();
        assert_eq!(report.executions.map(|count| (count.count, count.complete)), Some((all, true)));
        assert_eq!((report.outcomes.len(), report.outcome_count()), (0, all));
        let alike = report.alike.expect("classes");
        assert_eq!(alike.threads.iter().map(Vec::len).collect::<Vec<_>>(), [12]);
        let sizes: Vec<_> = alike.classes.iter().map(|class| (class.outcomes, class.executions)).collect();
        assert_eq!(sizes, [(all, 1)]);
        assert_eq!((report.questions[0].positive, report.questions[0].negative), (Some(all), Some(0)));
    }

    /// Twelve writers of one location and a thread that reads it twice.
    fn writers(kind: &str) -> String {
        let row = |cell: &dyn Fn(u32) -> String, last: &str| {
            (0..12).map(cell).chain([last.to_owned()]).collect::<Vec<_>>().join(" | ")
        };
        let load = |register: u32| format!("ld.{kind}.u32 %r{register}, [x]");
        let rows = [
            row(&|at| format!("P{at}@cta {at}, gpu 0"), "P12@cta 12, gpu 0"),
            row(&|at| format!("st.{kind}.u32 [x], {}", at + 1), &load(0)),
            row(&|_| String::new(), &load(1)),
        ];
        format!("PTX t\n{{ x=0; }}\n {} ;\nexists (P12:%r0=1 /\\ P12:%r1=2)\n", rows.join(" ;\n "))
    }

    /// Which accesses race is asked apart where executions are counted by class.
    #[test]
    fn executions_are_counted_by_class_where_races_are_asked_for() {
        let model = Models::shipped("ptx").expect("shipped");
        let options = Options { outcomes: Outcomes::All, classes: Wanted::Yes, ..Options::default() };
        for (kind, races) in [("relaxed.gpu", false), ("weak", true)] {
            let (tests, _) = load(&Source::new("t", writers(kind)));
            let report = check(&tests[0], &model, &options).report;
            if kind == "relaxed.gpu" {
                // Every order of the writes, and two reads that do not go back.
                let all = (1..=14).product::<u64>() / 2;
                assert_eq!(report.executions.map(|count| (count.count, count.complete)), Some((all, true)));
                assert_eq!((report.outcomes.len(), report.outcome_count()), (12 * 12 + 12 + 1, 157));
                assert_eq!(report.outcomes.iter().map(|outcome| outcome.executions).sum::<u64>(), all);
            }
            assert_eq!(report.races.pairs.is_empty(), !races, "{kind}");
            assert!(report.alike.is_none(), "{kind}");
        }
    }

    /// Where the listing was cut before it met an execution that passes the filter, there are some all the same.
    #[test]
    fn races_of_executions_that_no_listing_met_are_decided() {
        let adder = |at: u32| format!("P{at}@cta {at}, gpu 0 {{\natom.relaxed.gpu.add.u32 %r0, [x], 1;\n");
        let others: String = (0..8).map(|at| format!("{}}}\n", adder(at))).collect();
        let last = format!("{}ld.relaxed.gpu.u32 %r1, [x];\n}}\n", adder(8));
        let text = format!("PTX t\n{{ x=0; }}\n{others}{last}filter (P8:%r1 < 2)\nexists (P8:%r1=9)\n");
        let (tests, _) = load(&Source::new("t", text));
        let model = Models::shipped("ptx-7.5").expect("shipped");
        let options = Options { outcomes: Outcomes::All, classes: Wanted::Yes, ..Options::default() };
        let report = check(&tests[0], &model, &options).report;
        assert_eq!(report.executions.map(|count| (count.count, count.complete)), Some(((1..=8).product(), true)));
        assert_eq!(report.races.answer, fencepost_report::RaceAnswer::None);
    }
}

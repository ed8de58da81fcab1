//! All that may be weakened in a test. A *place* is an instruction, a loop that waits, or a barrier of several threads; its
//! *options* are what may stand there instead, and of those at most one is taken. Choice 0 leaves a place as it is, choice n
//! takes its option n - 1.

use fencepost_check::judge::refusal::refusal_of;
use fencepost_check::model::load::LoadedModel;
use fencepost_check::test::Test;
use fencepost_program::ThreadId;
use fencepost_syntax::Span;
use fencepost_syntax::litmus::Arch;
use fencepost_syntax::sorted::SharedSort as _;
use fencepost_syntax::sorted::SortedMap;

use super::place::{Effect, Place};
use super::{removals, waits, words};
use crate::edit::{Change, Edit};
use crate::fix::costs::Costs;
use crate::fix::space::changed_program;
use crate::scene::anchor::{instruction, position};

/// Per place: what is taken there.
pub(super) type Choices = Vec<usize>;

pub(super) struct Space {
    pub(super) places: Vec<Place>,
}

impl Space {
    pub(super) fn new(test: &Test, model: &LoadedModel, costs: &Costs, is_kept: &dyn Fn(Span) -> bool) -> Space {
        let mut maker = Maker { test, model, places: Vec::new(), sound: SortedMap::new() };
        for (at, thread) in test.litmus.threads.iter().enumerate() {
            let id = ThreadId(at as u32);
            for (at, found) in thread.body.iter().enumerate().filter_map(|(at, it)| Some((at, instruction(it)?))) {
                let is_last_wait = waits::is_wait(found) && !waits::touches(&thread.body[at + 1..]);
                if position(&test.litmus, id, found.span()).is_none() || thread.arch == Arch::C || is_last_wait {
                    continue;
                }
                let words = if thread.arch == Arch::Ptx { words::options(test, costs, id, found) } else { None };
                let place = words.or_else(|| removals::options(costs, id, found));
                place.into_iter().for_each(|place| maker.add(place));
            }
        }
        for place in waits::loops(test, costs).into_iter().chain(waits::barriers(test, costs)) {
            maker.add(place);
        }
        let mut places = maker.places;
        places.retain(|place| !place.at.iter().any(|(_, span)| is_kept(*span)));
        places.shared_sort_by_key(|place| place.at.first().map(|(_, span)| span.start));
        Space { places }
    }

    pub(super) fn edits(&self, choices: &[usize]) -> Vec<&Edit> {
        self.places.iter().zip(choices).flat_map(|(place, choice)| place.edits(*choice)).collect()
    }

    pub(super) fn saves(&self, choices: &[usize]) -> u32 {
        self.places.iter().zip(choices).map(|(place, choice)| place.saves(*choice)).sum()
    }

    /// Only this place with this choice.
    pub(super) fn alone(&self, place: usize, choice: usize) -> Choices {
        let mut choices = vec![0; self.places.len()];
        choices[place] = choice;
        choices
    }

    pub(super) fn changes_paths(&self, place: usize) -> bool {
        self.places[place].effect == Effect::ChangesPaths
    }

    /// Pairs of places that share an instruction: it is weakened or it goes, not both.
    pub(super) fn overlaps(&self) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        for (one, place) in self.places.iter().enumerate() {
            for (other, next) in self.places.iter().enumerate().skip(one + 1) {
                if place.at.iter().any(|at| next.at.contains(at)) {
                    found.push((one, other));
                }
            }
        }
        found
    }
}

struct Maker<'m> {
    test: &'m Test,
    model: &'m LoadedModel,
    places: Vec<Place>,
    /// Which changed texts have a meaning.
    sound: SortedMap<String, bool>,
}

impl Maker<'_> {
    /// A place with the options that the tables know; nothing where there are none.
    fn add(&mut self, mut place: Place) {
        let mut sound = std::mem::take(&mut self.sound);
        place.options.retain(|option| {
            let name: Vec<String> = option.edits.iter().map(|edit| spelled(self.test, edit)).collect();
            *sound.entry(name.join(";")).or_insert_with(|| self.is_sound(&option.edits))
        });
        self.sound = sound;
        if !place.options.is_empty() {
            self.places.push(place);
        }
    }

    fn is_sound(&self, edits: &[Edit]) -> bool {
        let changed = changed_program(&self.test.litmus, &edits.iter().collect::<Vec<_>>());
        changed.is_some_and(|(_, program)| refusal_of(self.test, &program, self.model).is_none())
    }
}

/// What an edit writes: two that write the same have a meaning or have none together. A removal stands for itself.
fn spelled(test: &Test, edit: &Edit) -> String {
    match &edit.change {
        Change::Reword { opcode, modifiers, .. } => format!("{opcode}.{}", modifiers.join(".")),
        Change::Remove { span, .. } => format!("{} {}", span.start, test.instruction_text(*span)),
        other => format!("{other:?}"),
    }
}

//! `docs/cat.md`: everything that a model may use without defining it, from the tables of the code.

use fencepost_axiom::model::language::{Construct, EXPRESSIONS, INSTRUCTIONS, Support};
use fencepost_axiom::model::library::{DEFINITIONS, FILES};
use fencepost_axiom::model::names::{self, FUNCTIONS, SETS};
use fencepost_axiom::model::{BaseRelation, RelationGroup};
use fencepost_program::tag::{Tag, TagGroup};

use crate::cat_uses::{Uses, shipped_models};

/// Pages that say more, by the name of a set or relation.
const PAGES: &[(&str, &str)] = &[
    ("OMITTED", "models/omission.md"),
    ("decides", "models/omission.md"),
    ("misses", "models/omission.md"),
    ("told", "models/omission.md"),
];

const HEAD: &str = "\
# What a model may use

A model is a text in the cat language: definitions of sets and relations of events, and axioms about
them. This page lists all that a model finds defined, each with its meaning and the shipped models
whose text uses it. A test writes it from the tables of the code
(`UPDATE=1 cargo test -p fencepost docs`), so it is complete.

The language is that of herd7, with the base relations that Dartagnan adds for GPUs. An event is one
access, fence, barrier operation or start of an asynchronous operation in one execution. `fencepost
models show NAME` prints a shipped model, [models/README.md](../models/README.md) says what the
lines at the head of a model mean, and [docs/models](models/ptx.md) what each model is about.

A thread's *main* events are those in program order. An asynchronous instruction is a main event,
its issue, and a *strand* of events beside program order.
";

/// The names that must be on the page.
pub(crate) fn names() -> Vec<&'static str> {
    let sets = SETS.iter().map(|set| set.name).chain(Tag::ALL.iter().map(|tag| tag.cat_name()));
    let relations = BaseRelation::ALL.iter().map(|relation| relation.cat_name());
    let functions = FUNCTIONS.iter().flat_map(|function| function.names.iter().copied().take(1));
    let library = DEFINITIONS.iter().map(|definition| definition.name());
    sets.chain(relations).chain(functions).chain(library).collect()
}

pub(crate) fn text() -> String {
    let page = Page { text: HEAD.to_owned(), uses: shipped_models() };
    let text = page.sets().relations().definitions().language().refused().text;
    format!("{}\n", text.trim_end())
}

struct Page {
    text: String,
    uses: Vec<Uses>,
}

impl Page {
    fn sets(mut self) -> Page {
        self.heading("##", "Sets");
        self.paragraph("Sets of events that are no tags, and other names for the same sets.");
        for set in SETS {
            self.entry(&[set.name], set.meaning);
        }
        self.paragraph(
            "Every other set has the events with one tag. A tag says what the instruction says and nothing that \
             follows from it: that a `fence.sc` is also an acq_rel fence is a line of our models.",
        );
        for group in TagGroup::ALL {
            self.heading("###", group.title());
            for tag in Tag::ALL.iter().filter(|tag| tag.group() == *group) {
                self.entry(&[tag.cat_name()], tag.meaning());
            }
        }
        self
    }

    fn relations(mut self) -> Page {
        self.heading("##", "Base relations");
        for group in RelationGroup::ALL {
            self.heading("###", group.title());
            for relation in BaseRelation::ALL.iter().filter(|relation| relation.group() == *group) {
                self.entry(&[relation.cat_name()], relation.meaning());
            }
        }
        self
    }

    fn definitions(mut self) -> Page {
        self.heading("##", "Functions");
        for function in FUNCTIONS {
            self.entry(function.names, function.meaning);
        }
        self.heading("##", "Definitions that every model has");
        self.paragraph("A model may define these names again.");
        for definition in DEFINITIONS {
            let start = self.text.len();
            self.entry(&[definition.name()], definition.meaning);
            if !definition.text.contains('\n') {
                self.text.truncate(start);
                let meaning = format!("{} `{}`", definition.meaning, definition.text);
                self.entry(&[definition.name()], &meaning);
            }
        }
        self.heading("##", "Files to include");
        self.paragraph(
            "An `include` finds a file beside the file that has it, then beside the model, then one of these.",
        );
        for file in FILES {
            self.entry(file.names, file.meaning);
        }
        self
    }

    fn language(mut self) -> Page {
        self.heading("##", "Instructions");
        self.constructs(INSTRUCTIONS);
        self.heading("##", "Expressions");
        self.constructs(EXPRESSIONS);
        self
    }

    fn constructs(&mut self, constructs: &[Construct]) {
        for construct in constructs {
            let support = match construct.support {
                Support::Supported => "",
                Support::Ignored => "Ignored. ",
                Support::Refused => "Refused. ",
            };
            let users = self.users(|uses| uses.instructions.contains(construct.example));
            self.item(&format!("`{}`: {support}{}{users}", construct.example, construct.meaning));
        }
    }

    fn refused(mut self) -> Page {
        self.heading("##", "Names that are refused");
        self.paragraph(
            "herd7 or Dartagnan predefines these for events that no program here has, or for functions that \
             are not supported. A model that uses one is refused, with the place.",
        );
        let mut refused: Vec<String> = names::refused().map(|name| format!("`{name}`")).collect();
        refused.sort();
        refused.dedup();
        self.paragraph(&format!("{}.", refused.join(", ")));
        self
    }

    fn heading(&mut self, level: &str, title: &str) {
        if !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
        self.text += &format!("{level} {title}\n\n");
    }

    /// Between two lists, or behind a heading.
    fn paragraph(&mut self, words: &str) {
        if !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
        self.text += &wrapped(words, "", "");
        self.text.push('\n');
    }

    fn entry(&mut self, names: &[&str], meaning: &str) {
        let spelt: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        let page = PAGES.iter().find(|(name, _)| names.contains(name));
        let more = page.map(|(_, page)| format!(" See [{page}]({page}).")).unwrap_or_default();
        let users = self.users(|uses| names.iter().any(|name| uses.names.contains(*name)));
        self.item(&format!("{}: {meaning}{more}{users}", spelt.join(", ")));
    }

    fn item(&mut self, words: &str) {
        self.text += &wrapped(words, "* ", "  ");
    }

    /// The models with a use, in parentheses.
    fn users(&self, is_use: impl Fn(&Uses) -> bool) -> String {
        let models: Vec<String> =
            self.uses.iter().filter(|uses| is_use(uses)).map(|uses| format!("`{}`", uses.model)).collect();
        match models.len() {
            0 => String::new(),
            all if all == self.uses.len() => " (all models)".to_owned(),
            _ => format!(" ({})", models.join(", ")),
        }
    }
}

/// Wrapped at 100 characters, but never inside a code span.
fn wrapped(words: &str, first: &str, next: &str) -> String {
    let (mut text, mut line) = (String::new(), first.to_owned());
    for word in unbroken(words) {
        let is_start = line == first || line == next;
        if !is_start && line.chars().count() + 1 + word.chars().count() > 100 {
            text += &line;
            text.push('\n');
            line = next.to_owned();
        } else if !is_start {
            line.push(' ');
        }
        line += &word;
    }
    text + &line + "\n"
}

/// The words, with code spans kept whole.
fn unbroken(words: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut is_open = false;
    for word in words.split(' ') {
        match found.last_mut() {
            Some(last) if is_open => {
                last.push(' ');
                last.push_str(word);
            }
            _ => found.push(word.to_owned()),
        }
        is_open ^= word.matches('`').count() % 2 == 1;
    }
    found
}

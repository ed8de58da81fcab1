//! Where the PTX ISA is silent or contested: each such point has a name, possible readings, and a default.
//!
//! A model lists the points it has (`// readings:` in its header) and asks for a reading with `if "name=value"`. Only
//! *contested* points make an answer depend on the reading (see [`crate::judge::readings`]): the others are settled by practice,
//! keep their default, and change when somebody says so (`--reading`). The weakest reading promises least and finds most
//! bugs; of a contested point it is the default, what a strict reader of the ISA would hold a program to.

use std::borrow::Cow;
use std::fmt;

use fencepost_program::access;
use fencepost_program::program::{Cover, Place};
use fencepost_program::sections;
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::{Event, EventKind, Unfolding};
use fencepost_syntax::sorted::SortedMap;
use fencepost_syntax::suggest::nearest;

use crate::phrase::either;

/// A point that can be read in several ways.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Point {
    /// `S1`, its number among the points of PTX; None for a point of another model.
    pub id: Option<&'static str>,
    pub name: String,
    /// Weakest first.
    pub values: Vec<String>,
    pub default: String,
    pub standing: Standing,
    /// In one sentence; of a point of the model's own as its header asks it.
    pub question: String,
    /// Where the ISA speaks of it; of a point of the model's own, whose texts leave it open.
    pub sections: Cow<'static, str>,
    #[serde(skip)]
    touched: fn(&Unfolding) -> bool,
    /// Of a point of the model's own: the tags of events that it is about. Empty: it may be about any.
    #[serde(skip)]
    tags: Vec<Tag>,
}

/// Whether people disagree.
#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// An answer that changes with the reading is `Depends`.
    Contested,
    /// Practice has settled it on the default.
    Settled,
}

impl Point {
    /// Whether the reading can matter to this program.
    pub fn is_touched(&self, unfolding: &Unfolding) -> bool {
        let is_about = |event: &Event| self.tags.iter().any(|tag| event.has(*tag));
        (self.touched)(unfolding) && (self.tags.is_empty() || unfolding.events.iter().any(is_about))
    }

    pub fn weakest(&self) -> &str {
        self.values.first().map_or("", String::as_str)
    }

    pub fn strongest(&self) -> &str {
        self.values.last().map_or("", String::as_str)
    }

    pub fn is_contested(&self) -> bool {
        self.standing == Standing::Contested
    }

    /// The points of a model, from the lines of its text that name them.
    pub(crate) fn of_model(text: &str) -> Vec<Point> {
        Point::words(text).map(|(standing, word)| Point::of_word(standing, word)).collect()
    }

    /// The words of the `// readings:` lines of a text, whose points are contested, and of its `// settled:` lines.
    pub(crate) fn words(text: &str) -> impl Iterator<Item = (Standing, &str)> {
        let lines = text.lines().map(str::trim).filter_map(|line| {
            let contested = line.strip_prefix("// readings:").map(|words| (Standing::Contested, words));
            contested.or_else(|| line.strip_prefix("// settled:").map(|words| (Standing::Settled, words)))
        });
        lines.flat_map(|(standing, words)| {
            words.split([',', ' ']).filter(|word| !word.is_empty()).map(move |word| (standing, word))
        })
    }

    /// A name, or `name=default|other` for a point of the model's own, which stands as its line says. `@TAG|TAG` behind the values
    /// says that it is about events of these sets only.
    pub(crate) fn of_word(standing: Standing, word: &str) -> Point {
        let (name, values) = word.split_once('=').unwrap_or((word, ""));
        if let Some(known) = TABLE.iter().find(|known| known.name == name) {
            return Point::from(known);
        }
        let (values, tags) = values.split_once('@').unwrap_or((values, ""));
        let tag = |name: &str| Tag::ALL.iter().copied().find(|tag| tag.cat_name() == name);
        let tags = tags.split('|').filter_map(tag).collect();
        let values: Vec<String> = values.split('|').filter(|value| !value.is_empty()).map(str::to_owned).collect();
        Point {
            id: None,
            name: name.to_owned(),
            default: values.first().cloned().unwrap_or_default(),
            values,
            standing,
            question: String::new(),
            sections: Cow::Borrowed(""),
            touched: |_| true,
            tags,
        }
    }
}

/// Readings somebody chose, by the name of the point.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Settings(pub SortedMap<String, String>);

impl Settings {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    #[must_use]
    pub fn with(&self, name: &str, value: &str) -> Settings {
        let mut settings = self.clone();
        settings.0.insert(name.to_owned(), value.to_owned());
        settings
    }

    /// Adds `name=value`. The same point twice must say the same.
    pub fn add(&mut self, text: &str) -> Result<(), BadReading> {
        let Some((name, value)) = text.split_once('=').map(|(name, value)| (name.trim(), value.trim())) else {
            return Err(BadReading::NoPair(text.to_owned()));
        };
        match self.0.insert(name.to_owned(), value.to_owned()) {
            Some(before) if before != value => {
                Err(BadReading::Twice { name: name.to_owned(), values: [before, value.to_owned()] })
            }
            _ => Ok(()),
        }
    }

    /// Whether each is a reading of one of these points.
    pub fn check(&self, points: &[Point]) -> Result<(), BadReading> {
        for (name, value) in &self.0 {
            let Some(point) = points.iter().find(|point| point.name == *name) else {
                let names: Vec<&str> = points.iter().map(|point| point.name.as_str()).collect();
                let near = nearest(name, &names).map(str::to_owned);
                return Err(BadReading::Name { name: name.clone(), near });
            };
            if !point.values.contains(value) {
                let values: Vec<&str> = point.values.iter().map(String::as_str).collect();
                let near = nearest(value, &values).map(str::to_owned);
                let values = point.values.clone();
                return Err(BadReading::Value { name: name.clone(), value: value.clone(), values, near });
            }
        }
        Ok(())
    }
}

/// `a=b c=d`.
impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut between = "";
        for (name, value) in &self.0 {
            write!(f, "{between}{name}={value}")?;
            between = " ";
        }
        Ok(())
    }
}

/// Why a reading cannot be chosen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BadReading {
    NoPair(String),
    Twice { name: String, values: [String; 2] },
    Name { name: String, near: Option<String> },
    Value { name: String, value: String, values: Vec<String>, near: Option<String> },
}

impl fmt::Display for BadReading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadReading::NoPair(text) => {
                write!(f, "`{text}` is not a reading: write NAME=VALUE (see `fencepost readings`)")
            }
            BadReading::Twice { name, values: [first, second] } => {
                write!(f, "`{name}` cannot be both `{first}` and `{second}`")
            }
            BadReading::Name { name, near: Some(near) } => {
                write!(f, "there is no reading `{name}`: did you mean `{near}`?")
            }
            BadReading::Name { name, near: None } => {
                write!(f, "there is no reading `{name}`: `fencepost readings` lists them")
            }
            BadReading::Value { name, value, near: Some(near), .. } => {
                write!(f, "`{name}` cannot be `{value}`: did you mean `{near}`?")
            }
            BadReading::Value { name, value, values, near: None } => {
                write!(f, "`{name}` cannot be `{value}`: it is {}", either(values))
            }
        }
    }
}

impl std::error::Error for BadReading {}

/// Every point of the PTX ISA that has a name here, in the order of their ids.
pub fn table() -> Vec<Point> {
    TABLE.iter().map(Point::from).collect()
}

struct Row {
    id: &'static str,
    name: &'static str,
    /// Weakest first; between the two ends there may be values that promise neither more nor less than each other.
    values: &'static [&'static str],
    default: Default,
    standing: Standing,
    question: &'static str,
    sections: &'static str,
    touched: fn(&Unfolding) -> bool,
}

enum Default {
    Weakest,
    Strongest,
}

impl From<&Row> for Point {
    fn from(row: &Row) -> Point {
        let values: Vec<String> = row.values.iter().map(|value| (*value).to_owned()).collect();
        let default = match row.default {
            Default::Weakest => values.first(),
            Default::Strongest => values.last(),
        };
        Point {
            id: Some(row.id),
            name: row.name.to_owned(),
            default: default.cloned().unwrap_or_default(),
            values,
            standing: row.standing,
            question: row.question.to_owned(),
            sections: Cow::Borrowed(row.sections),
            touched: row.touched,
            tags: Vec::new(),
        }
    }
}

const TABLE: &[Row] = &[
    Row {
        id: "S1",
        name: "async-fence",
        values: &["both", "per-thread", "non-generic-cta", "on-path"],
        default: Default::Weakest,
        standing: Standing::Contested,
        question: "Where must a fence.proxy.async between a generic and an async access be: in the thread of the generic \
                   one, in the CTA of the async one, in both, or in either?",
        sections: "8.6, 9.7.15.4",
        touched: |program| has(program, is_async_fence) && has(program, is_async_access),
    },
    Row {
        id: "S2",
        name: "cross-proxy-war",
        values: &["ordered-needed", "raw-only"],
        default: Default::Weakest,
        standing: Standing::Settled,
        question: "Does a write that follows a read or a write made through another proxy need the proxy fence too?",
        sections: "8.6, 8.9.5",
        touched: |program| has(program, is_other_proxy),
    },
    Row {
        id: "S3",
        name: "async-cta",
        values: &["issuing", "any-in-cluster"],
        default: Default::Weakest,
        standing: Standing::Contested,
        question: "Which CTA performs the accesses of an asynchronous operation: the one that issued it, or any of its \
                   cluster?",
        sections: sections::PROXIES,
        touched: |program| has(program, is_async_access) && has_wide_cluster(program),
    },
    Row {
        id: "S4",
        name: "complete-tx-scope",
        values: &["mutual-scope", "own-bytes"],
        default: Default::Strongest,
        standing: Standing::Settled,
        question: "Does a wait with .cta scope see the bytes of an operation that completes at .cluster scope?",
        sections: "9.7.15.16, 9.7.10.28.2",
        touched: |program| has(program, |event| event.has(Tag::Completion)),
    },
    Row {
        id: "S5",
        name: "sc-is-acq-rel",
        values: &["no", "yes"],
        default: Default::Strongest,
        standing: Standing::Settled,
        question: "Is fence.sc also an acquire and a release fence?",
        sections: "8.8, 9.7.15.4",
        touched: |program| has(program, |event| event.has(Tag::Sc)),
    },
    Row {
        id: "S6",
        name: "warp-rmw-order",
        values: &["none", "lane-order"],
        default: Default::Weakest,
        standing: Standing::Settled,
        question: "Do the lanes of a warp perform one read-modify-write on one address in the order of their numbers?",
        sections: sections::ATOMICITY_AXIOM,
        touched: |_| false,
    },
    Row {
        id: "S7",
        name: "tcgen05-completion-fence",
        values: &["no", "yes"],
        default: Default::Weakest,
        standing: Standing::Contested,
        question: "Does the completion of tcgen05.mma and tcgen05.cp carry a proxy fence for what they read of shared \
                   memory?",
        sections: sections::TCGEN05_MEMORY_MODEL,
        touched: |program| has(program, |event| event.has(Tag::Tcgen05) && is_async_access(event)),
    },
    Row {
        id: "S8",
        name: "tcgen05-acq-rel-sync",
        values: &["needs-fences", "acq-rel-suffices"],
        default: Default::Weakest,
        standing: Standing::Contested,
        question: "Do barriers, release and acquire order tcgen05 operations of two threads without tcgen05.fence?",
        sections: sections::TCGEN05_SYNCHRONIZATION,
        touched: |program| has(program, |event| event.has(Tag::Tcgen05) && !event.is_main()),
    },
    Row {
        id: "S9",
        name: "async-fence-remote",
        values: &["not-covered", "covered"],
        default: Default::Weakest,
        standing: Standing::Contested,
        question: "Is fence.proxy.async.shared::cta about an object in another CTA's shared memory that the thread reaches \
                   through a mapped address?",
        sections: sections::FENCE,
        touched: |program| {
            has(program, |event| is_async_fence(event) && event.cover == Cover::SharedCta)
                && has(program, |event| event.has(Tag::Remote))
        },
    },
    Row {
        id: "S10",
        name: "exit-with-bulk-stores",
        values: &["race", "clean"],
        default: Default::Strongest,
        standing: Standing::Settled,
        question: "May a CTA exit while bulk copies still read its shared memory?",
        sections: sections::ASYNC_COPY,
        touched: |_| false,
    },
    Row {
        id: "S11",
        name: "warp-sync-async",
        values: &["none", "orders"],
        default: Default::Weakest,
        standing: Standing::Contested,
        question: "Does bar.warp.sync order the asynchronous operations of its lanes, and not only their accesses?",
        sections: sections::BAR_WARP_SYNC,
        touched: |program| has(program, |event| event.has(Tag::BarrierWarp)) && has(program, |event| !event.is_main()),
    },
    Row {
        id: "S12",
        name: "host-sys-atomicity",
        values: &["none", "atomic"],
        default: Default::Strongest,
        standing: Standing::Settled,
        question: "Are .sys atomics of the device atomic with those of the host?",
        sections: sections::SYSTEM_SCOPE_ATOMICITY,
        touched: |program| {
            let hosted = |event: &Event| {
                event.thread.and_then(|thread| program.threads.get(thread.index())).map(|thread| thread.place)
                    == Some(Place::Host)
            };
            has(program, |event| event.has(Tag::Atomic) && hosted(event))
                && has(program, |event| event.has(Tag::Atomic) && !hosted(event))
        },
    },
    Row {
        id: "S13",
        name: "multimem-alias",
        values: &["apart", "morally-strong"],
        default: Default::Weakest,
        standing: Standing::Contested,
        question: "Are strong .sys operations through a multimem address and through a replica's own address morally \
                   strong, so that a release through one is acquired through the other?",
        sections: "8.2.3, 8.6.1, 8.7",
        touched: |program| has(program, |event| is_access(event) && event.has(Tag::Alias) && event.has(Tag::ScopeSys)),
    },
    Row {
        id: "S14",
        name: "tcgen05-fence-in-thread",
        values: &["issue-order", "orders"],
        default: Default::Weakest,
        standing: Standing::Settled,
        question: "Does a tcgen05.fence between two operations of one thread order them though nothing waits for the first?",
        sections: "9.7.18.6.3, 9.7.18.6.4",
        touched: |program| has(program, |event| event.has(Tag::Tcgen05) && !event.is_main()),
    },
    Row {
        id: "S15",
        name: "cluster-barrier-fence",
        values: &["cluster-scope", "mutual-scope"],
        default: Default::Weakest,
        standing: Standing::Settled,
        question: "Does a release fence of .cta scope before a relaxed barrier.cluster.arrive release to the threads of its \
                   CTA?",
        sections: "9.7.15.3, 8.9.4",
        touched: |program| has(program, |event| event.has(Tag::BarrierCluster)),
    },
];

fn has(program: &Unfolding, wanted: impl Fn(&Event) -> bool) -> bool {
    program.events.iter().any(wanted)
}

/// `fence.proxy.async`, and none of its halves: those name both sides.
fn is_async_fence(event: &Event) -> bool {
    let is_half = event.has(Tag::Release) || event.has(Tag::Acquire);
    matches!(event.kind, EventKind::Fence) && event.has(Tag::ProxyFence) && event.has(Tag::Async) && !is_half
}

fn is_access(event: &Event) -> bool {
    matches!(event.kind, EventKind::Read { .. } | EventKind::Write { .. })
}

fn is_async_access(event: &Event) -> bool {
    is_access(event) && event.has(Tag::Async)
}

fn is_other_proxy(event: &Event) -> bool {
    is_access(event) && !event.is_init() && !event.has(Tag::Generic)
}

/// Whether two CTAs of one cluster take part.
fn has_wide_cluster(program: &Unfolding) -> bool {
    let places = || program.threads.iter().map(|thread| thread.place);
    let close = |a: Place, b: Place| a != b && access::includes(fencepost_program::program::Scope::Cluster, a, b);
    places().any(|a| places().any(|b| close(a, b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_contested_point_the_default_is_the_weakest_reading() {
        for point in table() {
            assert!(point.values.contains(&point.default), "{}", point.name);
            assert!(!point.is_contested() || point.default == point.weakest(), "{}", point.name);
            assert!(point.question.ends_with('?') && !point.sections.is_empty(), "{}", point.name);
        }
    }

    #[test]
    fn a_misspelt_reading_is_an_error_with_a_suggestion() {
        let check = |text: &str| {
            let mut settings = Settings::default();
            settings.add(text).and_then(|()| settings.check(&table())).map_err(|error| error.to_string())
        };
        assert_eq!(check("async-fence=on-path"), Ok(()));
        assert!(check("async-fense=on-path").unwrap_err().contains("`async-fence`"));
        assert!(check("async-fence=onpath").unwrap_err().contains("`on-path`"));
        assert!(check("async-fence=whenever").unwrap_err().contains("both, per-thread, non-generic-cta or on-path"));
        assert!(check("async-fence").unwrap_err().contains("NAME=VALUE"));
        let mut twice = Settings::default();
        assert!(twice.add("async-fence=on-path").is_ok() && twice.add("async-fence=on-path").is_ok());
        assert!(twice.add("async-fence=per-thread").unwrap_err().to_string().contains("both"));
    }
}

//! A machine with its options, as people type them: `lost-pop`, `lost-pop:arch=xc:between=appendix`,
//! `coherence:swmr=off`.

use std::fmt;

use fencepost_syntax::sorted::SharedSort as _;

use crate::coherence::Swmr;
use crate::lostpop::rules::{Difference, Rules, Satisfaction, Text};
use crate::model::Model;
use crate::persist_buffer::multiprocessors::{Eviction, Hardware, Visible};
use crate::persist_buffer::{Merge, Rule};
use crate::requests::{Architecture, Placement};

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Setup {
    pub model: Model,
    /// Whose threads these are, if not the architecture's they are written in.
    pub architecture: Option<Architecture>,
    /// The options that somebody has set, by their place in [`options`].
    given: u32,
}

/// Why there is no such machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BadSetup {
    Machine(String),
    /// Not `name=value`.
    Shape(String),
    Option {
        machine: &'static str,
        name: String,
    },
    Value {
        name: String,
        value: String,
        known: Vec<&'static str>,
    },
    /// Set twice, to different values.
    Contradiction {
        name: String,
        value: String,
    },
}

impl fmt::Display for BadSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadSetup::Machine(name) => {
                write!(f, "there is no machine `{name}`: there are {}", Model::NAMES.join(", "))
            }
            BadSetup::Shape(text) => write!(f, "`{text}` is no option: an option is `name=value`"),
            BadSetup::Option { machine, name } => {
                let model = Model::named(machine);
                let known: Vec<&str> = model.iter().flat_map(|model| options(*model)).map(|it| it.name).collect();
                write!(f, "{machine} has no option `{name}`: it has ")?;
                if known.is_empty() { write!(f, "none") } else { write!(f, "{}", known.join(", ")) }
            }
            BadSetup::Value { name, value, known } => {
                write!(f, "`{name}` is {}, not `{value}`", known.join(" or "))
            }
            BadSetup::Contradiction { name, value } => {
                write!(f, "`{name}` is set twice, and `{name}={value}` contradicts what was said before")
            }
        }
    }
}

impl std::error::Error for BadSetup {}

/// An option of a machine, for people.
pub struct Described {
    pub name: &'static str,
    /// The default first, each with what it means.
    pub values: Vec<(&'static str, &'static str)>,
}

const ARCH: &str = "arch";
const SWMR: &str = "swmr";
const SATISFACTION: &str = "satisfaction";
const MERGE: &str = "merge";
const VISIBLE: &str = "visible";
const EVICTION: &str = "eviction";
const CAPACITY: &str = "capacity";
const WINDOW: &str = "window";
const UNLIMITED: &str = "unlimited";

/// The options of a machine.
pub fn options(model: Model) -> Vec<Described> {
    let arch = |values: &[Architecture]| Described {
        name: ARCH,
        values: values.iter().map(|it| (it.name(), architecture_words(*it))).collect(),
    };
    match model {
        Model::StoreBuffers => Vec::new(),
        Model::Coherence(_) => {
            let kept = "ownership of a line is granted when every other holder has given it up";
            let early = "a GPU gets a line that others only share at once, and their invalidations arrive later";
            let swmr = Described { name: SWMR, values: vec![("on", kept), ("off", early)] };
            vec![swmr, arch(&[Architecture::Xc])]
        }
        Model::LostPop(_) => {
            let difference = |it: Difference| {
                let default = Rules::default().text(it);
                let mut values = Text::ALL.map(|text| (text.name(), it.says(text)));
                values.shared_sort_by_key(|(name, _)| *name != default.name());
                Described { name: it.name(), values: values.to_vec() }
            };
            let mut all: Vec<Described> = Difference::ALL.into_iter().map(difference).collect();
            let early = "as published: a read may be satisfied before an earlier read that it is ordered after";
            let in_order = "it waits for those reads; x86 is x86-TSO then, and SC is SC";
            all.push(Described { name: SATISFACTION, values: vec![("early", early), ("in-order", in_order)] });
            all.push(arch(&[Architecture::Sc, Architecture::Xc, Architecture::Arm]));
            all
        }
        Model::PersistBuffer(_) => hardware_options(),
    }
}

fn hardware_options() -> Vec<Described> {
    let merge = Merge::ALL.map(|merge| (merge.name(), merge.says()));
    let visible = [
        ("acknowledgement", "other SMs see a flushed line when it is durable"),
        ("flush", "they see it when it leaves the buffer, as through an L2 cache in front of the memory"),
    ];
    let eviction = [
        ("on", "a line may leave the buffer out of its turn, where the rules let it"),
        ("off", "lines leave the buffer in their turn"),
    ];
    let mut all = vec![
        Described { name: MERGE, values: merge.to_vec() },
        Described { name: VISIBLE, values: visible.to_vec() },
        Described { name: EVICTION, values: eviction.to_vec() },
        Described {
            name: CAPACITY,
            values: numbers("a buffer takes any number of entries", "the most entries of a buffer"),
        },
        Described {
            name: WINDOW,
            values: numbers("any number of lines is in flight at a time", "the most lines in flight from an SM"),
        },
    ];
    let rule = |rule: Rule| Described {
        name: rule.name(),
        values: vec![("on", rule.says()), ("off", "the rule is left out")],
    };
    all.extend(Rule::ALL.map(rule));
    all
}

/// No limit, or one of some.
fn numbers(unlimited: &'static str, limited: &'static str) -> Vec<(&'static str, &'static str)> {
    let some = ["1", "2", "4", "8", "16", "32"].map(|number| (number, limited));
    [(UNLIMITED, unlimited)].into_iter().chain(some).collect()
}

fn with_option(hardware: Hardware, name: &str, value: &str) -> Hardware {
    let (mut changed, number) = (hardware, value.parse().ok());
    match (name, value) {
        (MERGE, _) => changed.rules.merge = Merge::named(value).unwrap_or(hardware.rules.merge),
        (VISIBLE, "flush") => changed.visible = Visible::AtFlush,
        (VISIBLE, _) => changed.visible = Visible::AtAcknowledgement,
        (EVICTION, "off") => changed.eviction = Eviction::Never,
        (EVICTION, _) => changed.eviction = Eviction::AtAnyTime,
        (CAPACITY, _) => changed.rules.capacity = number,
        (WINDOW, _) => changed.rules.window = number,
        (name, value) => {
            if let Some(rule) = Rule::named(name) {
                changed.rules = if value == "off" { hardware.rules.without(rule) } else { hardware.rules.with(rule) };
            }
        }
    }
    changed
}

/// Those that are not at their default.
fn chosen(hardware: Hardware) -> Vec<String> {
    let (default, rules) = (Hardware::default(), hardware.rules);
    let mut set = Vec::new();
    if rules.merge != default.rules.merge {
        set.push(format!("{MERGE}={}", rules.merge.name()));
    }
    if hardware.visible == Visible::AtFlush {
        set.push(format!("{VISIBLE}=flush"));
    }
    if hardware.eviction == Eviction::Never {
        set.push(format!("{EVICTION}=off"));
    }
    set.extend(rules.capacity.map(|most| format!("{CAPACITY}={most}")));
    set.extend(rules.window.map(|most| format!("{WINDOW}={most}")));
    let off = Rule::ALL.into_iter().filter(|rule| !rules.has(*rule));
    set.extend(off.map(|rule| format!("{}=off", rule.name())));
    set
}

fn architecture_words(architecture: Architecture) -> &'static str {
    match architecture {
        Architecture::Sc => "all threads as of a sequentially consistent machine",
        Architecture::X86 => "x86",
        Architecture::Ptx => "PTX",
        Architecture::Xc => "GPU threads as of scoped XC, the GPU of the gem5 study",
        Architecture::Arm => "all threads as of ARM",
    }
}

impl Setup {
    pub fn new(model: Model) -> Setup {
        Setup { model, architecture: None, given: 0 }
    }

    /// `NAME` or `NAME:option=value:…`.
    pub fn parse(text: &str) -> Result<Setup, BadSetup> {
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default();
        let model = Model::named(name).ok_or_else(|| BadSetup::Machine(name.to_owned()))?;
        let mut setup = Setup::new(model);
        parts.try_for_each(|option| setup.set(option))?;
        Ok(setup)
    }

    /// Sets an option: `name=value`.
    pub fn set(&mut self, option: &str) -> Result<(), BadSetup> {
        let Some((name, value)) = option.split_once('=') else { return Err(BadSetup::Shape(option.to_owned())) };
        let (name, value) = (name.trim(), value.trim());
        let Some((at, described)) = options(self.model).into_iter().enumerate().find(|(_, it)| it.name == name) else {
            return Err(BadSetup::Option { machine: self.model.name(), name: name.to_owned() });
        };
        let known: Vec<&'static str> = described.values.iter().map(|(value, _)| *value).collect();
        if !known.contains(&value) {
            return Err(BadSetup::Value { name: name.to_owned(), value: value.to_owned(), known });
        }
        let mut changed = *self;
        changed.apply(name, value);
        if self.given >> at & 1 == 1 && changed != *self {
            return Err(BadSetup::Contradiction { name: name.to_owned(), value: value.to_owned() });
        }
        *self = Setup { given: self.given | 1 << at, ..changed };
        Ok(())
    }

    fn apply(&mut self, name: &str, value: &str) {
        if name == ARCH {
            self.architecture = Architecture::ALL.into_iter().find(|it| it.name() == value);
            return;
        }
        self.model = match self.model {
            Model::Coherence(_) => Model::Coherence(if value == "on" { Swmr::Kept } else { Swmr::EarlyAcknowledge }),
            Model::LostPop(rules) if name == SATISFACTION => {
                let satisfaction = if value == "early" { Satisfaction::Early } else { Satisfaction::InOrder };
                Model::LostPop(rules.satisfying(satisfaction))
            }
            Model::LostPop(rules) => Model::LostPop(rules.named(name, value).unwrap_or(rules)),
            Model::StoreBuffers => Model::StoreBuffers,
            Model::PersistBuffer(hardware) => Model::PersistBuffer(with_option(hardware, name, value)),
        };
    }

    /// The threads as this machine takes them. `written` is whose threads the test says they are, if not the text.
    pub fn place(&self, placement: Placement, written: Option<Architecture>) -> Placement {
        match self.architecture.or(written) {
            None => placement,
            Some(Architecture::Xc) => placement.gpus(Architecture::Xc),
            Some(all) => placement.all(all),
        }
    }
}

/// The name, and the options that are not at their default.
impl fmt::Display for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut set: Vec<String> = Vec::new();
        set.extend(self.architecture.map(|it| format!("{ARCH}={}", it.name())));
        match self.model {
            Model::LostPop(rules) => {
                let default = Rules::default();
                let changed = Difference::ALL.into_iter().filter(|it| rules.text(*it) != default.text(*it));
                set.extend(changed.map(|it| format!("{}={}", it.name(), rules.text(it).name())));
                if rules.satisfaction == Satisfaction::InOrder {
                    set.push(format!("{SATISFACTION}=in-order"));
                }
            }
            Model::Coherence(Swmr::EarlyAcknowledge) => set.push(format!("{SWMR}=off")),
            Model::Coherence(Swmr::Kept) | Model::StoreBuffers => {}
            Model::PersistBuffer(hardware) => set.extend(chosen(hardware)),
        }
        write!(f, "{}", self.model.name())?;
        set.iter().try_for_each(|option| write!(f, ":{option}"))
    }
}

#[cfg(test)]
mod tests {
    use super::{BadSetup, Setup};

    #[test]
    fn what_is_typed_is_printed_again() {
        for text in [
            "lost-pop",
            "store-buffer",
            "coherence:swmr=off",
            "coherence:arch=xc:swmr=off",
            "persist-buffer",
            "persist-buffer:merge=artifact:visible=flush:eviction=off:capacity=4:window=2:acquire-delay=off",
            "lost-pop:arch=sc:accept-observes=appendix:gpu-scope=lean:satisfaction=in-order",
        ] {
            assert_eq!(Setup::parse(text).map(|setup| setup.to_string()), Ok(text.to_owned()));
        }
        assert_eq!(Setup::parse("coherence:swmr=on").map(|it| it.to_string()), Ok("coherence".to_owned()));
    }

    #[test]
    fn what_is_not_known_is_named() {
        let said = |text: &str| Setup::parse(text).err().map(|it: BadSetup| it.to_string()).unwrap_or_default();
        assert_eq!(
            said("tso"),
            "there is no machine `tso`: there are lost-pop, store-buffer, coherence, persist-buffer"
        );
        assert_eq!(said("store-buffer:x=1"), "store-buffer has no option `x`: it has none");
        assert!(said("coherence:swmr=maybe").contains("`swmr` is on or off, not `maybe`"));
        assert!(said("lost-pop:between").contains("name=value"));
        assert!(said("coherence:swmr=on:swmr=off").contains("`swmr` is set twice, and `swmr=off` contradicts"));
        assert!(said("lost-pop:arch=sc:arch=xc").contains("`arch` is set twice"));
        assert_eq!(said("coherence:swmr=off:swmr=off:arch=xc"), "");
        assert!(said("persist-buffer:acquire-delay=on:acquire-delay=off").contains("`acquire-delay` is set twice"));
        assert!(said("persist-buffer:acquire-delay=off:acquire-delay=on").contains("`acquire-delay` is set twice"));
        assert!(said("persist-buffer:window=3").contains("`window` is unlimited or 1 or 2"));
        assert!(said("lost-pop:tween=lean").contains("cross-thread-edges"));
    }
}

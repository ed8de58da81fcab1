//! Random programs that wait: on mbarriers, for flags and for locks, between barriers. Written twice: with loops, and with
//! each loop unrolled in the text, which no rule about loops has a part in.

use std::collections::BTreeMap;

/// splitmix64, the same on every machine.
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }

    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

/// What a thread does in one place.
#[derive(Clone, Debug)]
pub(super) enum Item {
    Line(String),
    /// Asks, by these lines, until the predicate `?` is true.
    Poll(Vec<String>),
}

#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) threads: Vec<Vec<Item>>,
}

/// An instruction, wherever it was written: thread, place in it, line of a poll.
pub(super) type Site = (usize, usize, usize);

/// A text, and which instruction each of its lines is.
pub(super) struct Written {
    pub(super) text: String,
    pub(super) sites: BTreeMap<usize, Site>,
}

/// How loops are written.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum Loops {
    Loops,
    /// As so many attempts one after the other, of which one must succeed.
    Attempts(usize),
}

fn poll(random: &mut Random) -> Item {
    let at = random.pick(&["a", "a", "b"]);
    let wait = || {
        let form = ["try_wait", "test_wait"];
        move |random: &mut Random| {
            format!("mbarrier.{}.parity.shared::cta.b64 ?, [{at}], {};", random.pick(&form), random.pick(&[0, 0, 0, 1]))
        }
    };
    let mut lines = match random.below(10) {
        0..6 => vec![wait()(random)],
        6..8 => {
            let order = random.pick(&["weak", "relaxed.cta", "acquire.cta"]);
            vec![format!("ld.{order}.shared.u32 %v, [f];"), "setp.ne.u32 ?, %v, 0;".to_owned()]
        }
        8 => {
            let order = random.pick(&["relaxed", "acquire"]);
            vec![format!("atom.{order}.cta.shared.exch.b32 %v, [l], 1;"), "setp.eq.u32 ?, %v, 0;".to_owned()]
        }
        _ => {
            let order = random.pick(&["relaxed", "acquire"]);
            vec![format!("atom.{order}.cta.shared.cas.b32 %v, [l], 0, 1;"), "setp.eq.u32 ?, %v, 0;".to_owned()]
        }
    };
    if random.below(6) == 0 {
        let line = random.pick(&["ld.weak.shared.u32 %w, [x];", "ld.weak.shared.u32 %w, [l];", "fence.acq_rel.cta;"]);
        lines.insert(0, line.to_owned());
    }
    Item::Poll(lines)
}

fn line(random: &mut Random) -> Item {
    let at = random.pick(&["a", "a", "b"]);
    Item::Line(match random.below(16) {
        0..4 => {
            let order = random.pick(&["release", "release", "relaxed"]);
            format!("mbarrier.arrive.{order}.cta.shared::cta.b64 _, [{at}];")
        }
        4..6 => "bar.sync 0;".to_owned(),
        6 => format!("mbarrier.init.shared::cta.b64 [{at}], 1;"),
        7 => format!("mbarrier.inval.shared::cta.b64 [{at}];"),
        8..10 => "st.weak.shared.u32 [x], 1;".to_owned(),
        10..12 => "ld.weak.shared.u32 %u, [x];".to_owned(),
        12 => "fence.acq_rel.cta;".to_owned(),
        13 => "st.relaxed.cta.shared.u32 [l], 0;".to_owned(),
        _ => format!("st.{}.shared.u32 [f], 1;", random.pick(&["weak", "relaxed.cta", "release.cta"])),
    })
}

impl Draft {
    pub(super) fn new(random: &mut Random) -> Draft {
        let mut threads = Vec::new();
        let mut polls = 3 + random.below(2);
        for thread in 0..2 + random.below(2) {
            let mut items = Vec::new();
            if thread == 0 {
                let init = |at: &str, count: usize| format!("mbarrier.init.shared::cta.b64 [{at}], {count};");
                items.push(Item::Line(init("a", random.pick(&[1, 1, 1, 2]))));
                if random.below(2) == 0 {
                    items.push(Item::Line(init("b", 1)));
                }
            }
            if random.below(4) > 0 {
                items.push(Item::Line("bar.sync 0;".to_owned()));
            }
            for _ in 0..1 + random.below(3) {
                if polls > 0 && random.below(2) == 0 {
                    polls -= 1;
                    items.push(poll(random));
                } else {
                    items.push(line(random));
                }
            }
            threads.push(items);
        }
        let mut draft = Draft { threads };
        draft.answer(random);
        draft
    }

    /// Mostly somebody does what is waited for: a program that hangs shows little.
    fn answer(&mut self, random: &mut Random) {
        let polls = self.threads.iter().enumerate().flat_map(|(thread, items)| {
            items.iter().filter_map(move |item| match item {
                Item::Poll(asks) => Some((thread, asks.join(" "))),
                Item::Line(_) => None,
            })
        });
        let polls: Vec<(usize, String)> = polls.collect();
        for (thread, asks) in polls {
            let arrive = |at: &str| format!("mbarrier.arrive.release.cta.shared::cta.b64 _, [{at}];");
            let line = match asks.as_str() {
                asks if asks.contains("[a], 0") => arrive("a"),
                asks if asks.contains("[b], 0") => arrive("b"),
                asks if asks.contains("[f]") => "st.release.cta.shared.u32 [f], 1;".to_owned(),
                _ => continue,
            };
            let other = random.below(self.threads.len());
            if other == thread || random.below(5) == 0 {
                continue;
            }
            let items = &mut self.threads[other];
            let is_poll = |item: &Item| matches!(item, Item::Poll(_));
            let at = items.iter().position(is_poll).unwrap_or(items.len());
            items.insert(at, Item::Line(line));
        }
    }

    pub(super) fn written(&self, loops: Loops) -> Written {
        let mut text =
            "PTX t\n{ .shared .b64 a; .shared .b64 b; .shared .u32 f = 0; .shared .u32 l = 0; .shared .u32 x = 0; }\n"
                .to_owned();
        let (mut sites, mut filter) = (BTreeMap::new(), Vec::new());
        for (thread, items) in self.threads.iter().enumerate() {
            text += &format!("P{thread}@cta 0, gpu 0 {{\nmov.u32 %t, 0;\n");
            for (at, item) in items.iter().enumerate() {
                let mut add = |text: &mut String, line: &str, ask: usize| {
                    sites.insert(text.matches('\n').count(), (thread, at, ask));
                    *text += &format!("{line}\n");
                };
                let asks = match item {
                    Item::Line(line) => {
                        add(&mut text, line, 0);
                        continue;
                    }
                    Item::Poll(asks) => asks,
                };
                let predicate = format!("%p{at}");
                let ask = |text: &mut String, add: &mut dyn FnMut(&mut String, &str, usize)| {
                    for (number, line) in asks.iter().enumerate() {
                        add(text, &line.replace('?', &predicate), number);
                    }
                };
                match loops {
                    Loops::Loops => {
                        text += &format!("L{thread}{at}:\n");
                        ask(&mut text, &mut add);
                        text += &format!("@!{predicate} bra L{thread}{at};\n");
                    }
                    Loops::Attempts(attempts) => {
                        for attempt in 0..attempts {
                            if attempt > 0 {
                                text += &format!("@{predicate} bra D{thread}{at};\n");
                            }
                            ask(&mut text, &mut add);
                        }
                        // As behind the loop, what follows rests on the answer: ways that meet would decide nothing.
                        text += &format!("N{thread}{at}: @!{predicate} bra N{thread}{at};\nD{thread}{at}:\n");
                        filter.push(format!("P{thread}:{predicate} = 1"));
                    }
                }
            }
            text += &format!("END{thread}:\n}}\n");
        }
        if loops != Loops::Loops {
            // A question with a time limit may be answered no at any time, which a loop has no use for.
            text = text.replace("try_wait", "test_wait");
            if !filter.is_empty() {
                text += &format!("filter ({})\n", filter.join(" /\\ "));
            }
        }
        text += "forall (true)\n";
        Written { text, sites }
    }

    /// The mbarrier that an instruction is about.
    pub(super) fn object(&self, (thread, at, ask): Site) -> Option<&str> {
        let line = match self.threads.get(thread).and_then(|items| items.get(at)) {
            Some(Item::Line(line)) => Some(line),
            Some(Item::Poll(asks)) => asks.get(ask),
            None => None,
        };
        let (_, rest) = line.filter(|line| line.starts_with("mbarrier"))?.split_once('[')?;
        rest.split_once(']').map(|(object, _)| object)
    }

    /// Every program one step smaller.
    pub(super) fn smaller(&self) -> Vec<Draft> {
        let mut found = Vec::new();
        for thread in 0..self.threads.len() {
            let mut without = self.clone();
            without.threads.remove(thread);
            found.push(without);
        }
        for (thread, items) in self.threads.iter().enumerate() {
            for (at, item) in items.iter().enumerate() {
                let mut without = self.clone();
                without.threads[thread].remove(at);
                found.push(without);
                if let Item::Poll(asks) = item
                    && !asks[0].contains('?')
                    && asks.len() > 1
                    && asks[1..].iter().any(|line| line.contains('?') && !line.starts_with("setp"))
                {
                    let mut without = self.clone();
                    without.threads[thread][at] = Item::Poll(asks[1..].to_vec());
                    found.push(without);
                }
            }
        }
        found.retain(|draft| !draft.threads.is_empty());
        found
    }
}

//! Barriers as a machine: threads arrive, generations complete, one literal step at a time, all interleavings. Shares
//! nothing with `program::barrier`, which looks at one choice of traces at a time and skips orders it holds to be alike.

use std::collections::BTreeSet;

use super::random::Random;

/// `(thread, index)` of a barrier operation.
pub(crate) type Site = (usize, usize);

#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Operation {
    pub(crate) waits: bool,
    /// Dartagnan only.
    pub(crate) instance: usize,
    pub(crate) id: usize,
    pub(crate) count: Option<usize>,
}

#[derive(Clone, Debug)]
pub(crate) struct Threads {
    pub(crate) rule: Rule,
    /// CTA and operations of each thread.
    pub(crate) threads: Vec<(usize, Vec<Operation>)>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Rule {
    Ptx,
    Dartagnan,
}

/// How a run may end: where each thread waits for good (None: it ended), and who completed which barrier, with whom that
/// synchronises.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Outcome {
    pub(crate) waits_at: Vec<Option<usize>>,
    pub(crate) groups: Vec<Vec<Site>>,
    pub(crate) synchronises: Vec<(Site, Site)>,
}

/// One barrier resource: CTA, instance, id.
type Resource = (usize, usize, usize);

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
struct Moment {
    next: Vec<usize>,
    waiting: Vec<bool>,
    exited: Vec<bool>,
    /// Who stands at a barrier that is not complete.
    arrived: BTreeSet<(Resource, Site)>,
    groups: BTreeSet<(Resource, Vec<Site>)>,
    synchronises: BTreeSet<(Site, Site)>,
}

/// The program of one seed: at most 4 threads of at most 3 operations; one count per barrier, as the ISA demands.
pub(crate) fn threads(random: &mut Random, rule: Rule) -> Threads {
    let ctas = random.pick(&[1, 1, 1, 2]);
    let ids = random.pick(&[1, 1, 2]);
    let count = |random: &mut Random| random.percent(50).then(|| 1 + random.below(3));
    let counts: Vec<Option<usize>> = (0..ids).map(|_| count(random)).collect();
    let mut threads = Vec::new();
    for _ in 0..1 + random.below(4) {
        let operation = |index: usize, random: &mut Random| {
            let id = random.below(ids);
            // PTX's `bar.arrive` needs a count.
            let arrives = random.percent(30) && (rule == Rule::Dartagnan || counts[id].is_some());
            let instance = match rule {
                Rule::Ptx => 0,
                Rule::Dartagnan => random.pick(&[index, index, 0, 1]),
            };
            Operation { waits: !arrives, instance, id, count: counts[id] }
        };
        let length = random.below(4);
        let operations = (0..length).map(|index| operation(index, random)).collect();
        threads.push((random.below(ctas), operations));
    }
    Threads { rule, threads }
}

impl Threads {
    pub(crate) fn text(&self) -> String {
        match self.rule {
            Rule::Ptx => self.ptx(),
            Rule::Dartagnan => self.dartagnan(),
        }
    }

    fn ptx(&self) -> String {
        let mut text = "PTX barriers\n{ x = 0; }\n".to_string();
        for (index, (cta, operations)) in self.threads.iter().enumerate() {
            text.push_str(&format!("P{index}@cta {cta}, gpu 0 {{\nmov.u32 %r0, 0;\n"));
            for operation in operations {
                let kind = if operation.waits { "sync" } else { "arrive" };
                let count = operation.count.map(|count| format!(", {count}")).unwrap_or_default();
                text.push_str(&format!("bar.{kind} {}{count};\n", operation.id));
            }
            text.push_str("}\n");
        }
        text
    }

    fn dartagnan(&self) -> String {
        let heads: Vec<String> =
            self.threads.iter().enumerate().map(|(index, (cta, _))| format!("P{index}@cta {cta}, gpu 0")).collect();
        let mut text = format!("PTX barriers\n{{ x = 0; }}\n {} ;\n", heads.join(" | "));
        for row in 0..self.threads.iter().map(|(_, operations)| operations.len()).max().unwrap_or(0).max(1) {
            let cell = |(_, operations): &(usize, Vec<Operation>)| match operations.get(row) {
                None => String::new(),
                Some(Operation { waits, instance, id, count }) => {
                    let kind = if *waits { "sync" } else { "arrive" };
                    let count = count.map(|count| format!(", {count}")).unwrap_or_default();
                    format!("bar.cta.{kind} {instance}, {id}{count}")
                }
            };
            let cells: Vec<String> = self.threads.iter().map(cell).collect();
            text.push_str(&format!(" {} ;\n", cells.join(" | ")));
        }
        text
    }

    /// Every way a run can end.
    pub(crate) fn outcomes(&self) -> BTreeSet<Outcome> {
        let count = self.threads.len();
        let start = Moment {
            next: vec![0; count],
            waiting: vec![false; count],
            exited: vec![false; count],
            ..Moment::default()
        };
        let mut seen = BTreeSet::from([start.clone()]);
        let mut work = vec![start];
        let mut found = BTreeSet::new();
        while let Some(moment) = work.pop() {
            let next = self.successors(&moment);
            if next.is_empty() {
                found.insert(outcome(moment));
                continue;
            }
            work.extend(next.into_iter().filter(|next| seen.insert(next.clone())));
        }
        found
    }

    fn resource(&self, (thread, index): Site) -> Resource {
        let (cta, operations) = &self.threads[thread];
        (*cta, operations[index].instance, operations[index].id)
    }

    fn successors(&self, moment: &Moment) -> Vec<Moment> {
        let mut found = Vec::new();
        for (thread, (_, operations)) in self.threads.iter().enumerate() {
            if moment.waiting[thread] || moment.exited[thread] {
                continue;
            }
            let mut after = moment.clone();
            let site = (thread, moment.next[thread]);
            if site.1 == operations.len() {
                after.exited[thread] = true;
            } else {
                self.arrive(&mut after, site);
            }
            found.push(after);
        }
        let open: BTreeSet<Resource> = moment.arrived.iter().map(|(resource, _)| *resource).collect();
        for resource in open.into_iter().filter(|resource| self.may_complete(moment, *resource)) {
            let here = at(moment, resource);
            // PTX: at the very arrival that makes the number full. Dartagnan: at any time from then on, by any quorum of
            // those who came; the others are surplus, released but releasing no one.
            if self.rule == Rule::Ptx {
                let mut after = moment.clone();
                self.complete(&mut after, resource, here);
                return vec![after];
            }
            let least = self.threads[here[0].0].1[here[0].1].count.unwrap_or(here.len());
            for chosen in 0..1u32 << here.len() {
                let group: Vec<Site> =
                    (0..here.len()).filter(|bit| chosen >> bit & 1 == 1).map(|bit| here[bit]).collect();
                if group.len() >= least {
                    let mut after = moment.clone();
                    self.complete(&mut after, resource, group);
                    found.push(after);
                }
            }
        }
        found
    }

    fn arrive(&self, moment: &mut Moment, site: Site) {
        let (thread, index) = site;
        let resource = self.resource(site);
        let waits = self.threads[thread].1[index].waits;
        let done = moment.groups.iter().find(|(other, _)| *other == resource).map(|(_, group)| group.clone());
        match done {
            // Dartagnan's instances complete once; who comes later passes, and follows those who completed it.
            Some(group) if self.rule == Rule::Dartagnan => {
                moment.next[thread] += 1;
                if waits {
                    moment.synchronises.extend(group.into_iter().map(|member| (member, site)));
                }
            }
            _ => {
                moment.arrived.insert((resource, site));
                moment.waiting[thread] = waits;
                moment.next[thread] += usize::from(!waits);
            }
        }
    }

    fn may_complete(&self, moment: &Moment, resource: Resource) -> bool {
        let here = at(moment, resource);
        let (thread, index) = here[0];
        if let Some(count) = self.threads[thread].1[index].count {
            return here.len() >= count;
        }
        match self.rule {
            // All threads of the CTA that have not exited (PTX ISA 9.7.15.1, 9.7.14.7).
            Rule::Ptx => (0..self.threads.len())
                .filter(|&thread| self.threads[thread].0 == resource.0 && !moment.exited[thread])
                .all(|thread| here.iter().any(|(other, _)| *other == thread)),
            // All operations of the program on this barrier.
            Rule::Dartagnan => {
                let sites = self.threads.iter().enumerate();
                let sites = sites.flat_map(|(thread, (_, of))| (0..of.len()).map(move |index| (thread, index)));
                sites.filter(|site| self.resource(*site) == resource).all(|site| here.contains(&site))
            }
        }
    }

    fn complete(&self, moment: &mut Moment, resource: Resource, group: Vec<Site>) {
        let here = at(moment, resource);
        moment.arrived.retain(|(other, _)| *other != resource);
        for (thread, index) in here {
            if self.threads[thread].1[index].waits {
                moment.waiting[thread] = false;
                moment.next[thread] += 1;
                let others = group.iter().filter(|member| **member != (thread, index));
                moment.synchronises.extend(others.map(|member| (*member, (thread, index))));
            }
        }
        moment.groups.insert((resource, group));
    }
}

/// Who stands at the barrier.
fn at(moment: &Moment, resource: Resource) -> Vec<Site> {
    moment.arrived.iter().filter(|(other, _)| *other == resource).map(|(_, site)| *site).collect()
}

fn outcome(moment: Moment) -> Outcome {
    let waits_at = |(waits, next): (&bool, &usize)| waits.then_some(*next);
    let mut groups: Vec<Vec<Site>> = moment.groups.into_iter().map(|(_, group)| group).collect();
    groups.sort();
    Outcome {
        waits_at: moment.waiting.iter().zip(&moment.next).map(waits_at).collect(),
        groups,
        synchronises: moment.synchronises.into_iter().collect(),
    }
}

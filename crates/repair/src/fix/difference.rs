//! What two tests differ in, instruction by instruction, and what the second costs more: the price of a repair that somebody
//! wrote, and of every change that is more than a stronger word.

use fencepost_syntax::instruction::Instruction;
use fencepost_syntax::litmus::{Arch, Layout, Litmus, Statement, print};

use super::costs::Costs;
use super::strength::Strength;
use crate::edit::SCOPES;
use crate::scene::anchor::instruction;

/// An instruction and its text, without the place where it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spelled<'l> {
    pub own: &'l Instruction,
    pub text: String,
}

/// One difference.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Difference<'l> {
    Came(Spelled<'l>),
    Gone(Spelled<'l>),
    Became(Spelled<'l>, Spelled<'l>),
    Moved(Spelled<'l>),
    /// A declaration that is new, or that the first has otherwise; None where the first has one more.
    Declared(Option<String>),
}

/// What the second test has otherwise than the first; None where they are of different threads, or too far apart to be compared.
pub fn differences<'l>(old: &'l Litmus, new: &'l Litmus) -> Option<Vec<Difference<'l>>> {
    let heads = |litmus: &Litmus| -> Vec<_> {
        litmus.threads.iter().map(|it| (it.name.node.clone(), it.arch, it.placement)).collect()
    };
    if heads(old) != heads(new) || old.threads.iter().any(|thread| thread.arch == Arch::C) {
        return None;
    }
    let mut found = declared(old, new);
    for (one, other) in old.threads.iter().zip(&new.threads) {
        of_thread(&lines(old, &one.body)?, &lines(new, &other.body)?, &mut found);
    }
    Some(found)
}

/// What the second test costs more than the first, at least 1 where they differ.
pub fn cost(old: &Litmus, new: &Litmus, costs: &Costs) -> Option<u32> {
    let found = differences(old, new)?;
    let sum = found.iter().map(|one| one.cost(costs)).sum::<u32>();
    Some(if found.is_empty() { 0 } else { sum.max(1) })
}

impl Difference<'_> {
    pub fn cost(&self, costs: &Costs) -> u32 {
        match self {
            Difference::Came(it) => price(it.own, costs),
            Difference::Gone(_) | Difference::Declared(_) => costs.of("word", "-"),
            Difference::Moved(_) => costs.of("move", "-"),
            Difference::Became(was, is) => {
                let (before, after) = match (Strength::of(was.own), Strength::of(is.own)) {
                    (Some(was), Some(is)) if was.is_like(is) => (was.cost(costs), is.cost(costs)),
                    _ => (price(was.own, costs), price(is.own, costs)),
                };
                after.saturating_sub(before).max(1)
            }
        }
    }
}

/// What an instruction costs that comes. Arithmetic and plain accesses are work too.
pub(super) fn price(own: &Instruction, costs: &Costs) -> u32 {
    let has = |word: &str| own.modifiers.iter().any(|it| it.node == word);
    let starts = |word: &str| own.modifiers.iter().any(|it| it.node.starts_with(word));
    let scope = SCOPES.iter().copied().find(|scope| has(scope)).unwrap_or("-");
    let plain = |word: &str| costs.of(word, "-");
    let of_word = match own.opcode.node.as_str() {
        // The branch is part of the wait, the arrival part of the barrier.
        "bra" => return 0,
        "barrier" if has("cluster") && has("arrive") => return 0,
        "barrier" if has("cluster") => plain("barrier.cluster"),
        "bar" | "barrier" => plain("bar.sync"),
        "fence" if has("proxy") && starts("async") => {
            let space = [("shared::cta", "cta"), ("shared::cluster", "cluster"), ("global", "gpu")];
            let space = space.iter().find(|(word, _)| has(word) || has(&format!("async::{word}")));
            costs.of("fence.proxy.async", space.map_or("-", |(_, scope)| scope))
        }
        "fence" if starts("tensormap") => plain("fence.proxy.tensormap"),
        "fence" if has("proxy") => plain("fence.proxy.alias"),
        "fence" if has("mbarrier_init") => plain("fence.mbarrier_init"),
        "fence" if has("sc") => costs.of("fence.sc", scope),
        "fence" => costs.of("fence.acq_rel", scope),
        "membar" => costs.of("fence.sc", if has("gl") { "gpu" } else { scope }),
        "mbarrier" if starts("try_wait") || starts("test_wait") => plain("mbarrier.wait"),
        "mbarrier" if has("init") || has("inval") => plain("mbarrier.inval"),
        "mbarrier" => plain("mbarrier.arrive"),
        "cp" if has("mbarrier") => plain("mbarrier.arrive"),
        "cp" if has("bulk") && has("wait_group") && has("read") => plain("cp.async.bulk.wait_group.read"),
        "cp" if has("bulk") && has("wait_group") => plain("cp.async.bulk.wait_group"),
        "cp" if has("wait_group") => plain("cp.async.wait_group"),
        "cp" if has("wait_all") => plain("cp.async.wait_all"),
        "wgmma" if has("fence") => plain("wgmma.fence"),
        "wgmma" if has("wait_group") => plain("wgmma.wait_group"),
        "tcgen05" if starts("wait::") => plain("tcgen05.wait"),
        "tcgen05" if starts("fence::") => plain("tcgen05.fence"),
        "tcgen05" if has("commit") => plain("mbarrier.arrive"),
        "tcgen05" if has("alloc") || has("dealloc") => plain("tcgen05.alloc"),
        "griddepcontrol" if has("wait") => plain("griddepcontrol.wait"),
        "mfence" => plain("mfence"),
        "ofence" | "dfence" => plain(&own.opcode.node),
        _ => Strength::of(own).map_or(1, |strength| strength.cost(costs)),
    };
    of_word.max(1)
}

/// The instructions of a body of this test, one by one.
pub(super) fn lines<'l>(litmus: &Litmus, body: &'l [Statement]) -> Option<Vec<Spelled<'l>>> {
    let own: Vec<&Statement> = body.iter().filter(|statement| instruction(statement).is_some()).collect();
    let mut alone = Litmus { layout: Layout::Blocks, declarations: Vec::new(), ..litmus.clone() };
    alone.threads.truncate(1);
    alone.threads.first_mut()?.body = own.iter().map(|statement| (*statement).clone()).collect();
    let text = print(&alone);
    let inside = text.lines().filter(|line| line.starts_with([' ', '\t']) && !line.trim().is_empty());
    let texts: Vec<String> = inside.map(|line| line.trim().trim_end_matches(';').to_owned()).collect();
    let own: Vec<&Instruction> = own.into_iter().filter_map(instruction).collect();
    (own.len() == texts.len()).then(|| own.into_iter().zip(texts).map(|(own, text)| Spelled { own, text }).collect())
}

/// What is in one stretch and not in the other: a text that is in both was moved, the same opcode became another form, and so
/// did whatever stands at the same place.
fn of_thread<'l>(old: &[Spelled<'l>], new: &[Spelled<'l>], found: &mut Vec<Difference<'l>>) {
    let mut stretches = stretches(old, new);
    let (gone, came): (Vec<_>, Vec<_>) = (
        stretches.iter().flat_map(|it| it.0.clone()).collect(),
        stretches.iter().flat_map(|it| it.1.clone()).collect(),
    );
    let mut left: Vec<usize> = came;
    let mut moved = (Vec::new(), Vec::new());
    for one in gone {
        if let Some(at) = left.iter().position(|other| old[one].text == new[*other].text) {
            moved.0.push(one);
            moved.1.push(left.remove(at));
            // A wait is moved with its branch.
            if old[one].own.opcode.node != "bra" {
                found.push(Difference::Moved(old[one].clone()));
            }
        }
    }
    for (gone, came) in &mut stretches {
        gone.retain(|at| !moved.0.contains(at));
        came.retain(|at| !moved.1.contains(at));
        let opcode = |one: &usize, other: &usize| old[*one].own.opcode.node == new[*other].own.opcode.node;
        for is_like in [&opcode as &dyn Fn(&usize, &usize) -> bool, &|_, _| true] {
            gone.retain(|one| {
                let Some(at) = came.iter().position(|other| is_like(one, other)) else { return true };
                found.push(Difference::Became(old[*one].clone(), new[came.remove(at)].clone()));
                false
            });
        }
        found.extend(gone.iter().map(|at| Difference::Gone(old[*at].clone())));
        found.extend(came.iter().map(|at| Difference::Came(new[*at].clone())));
    }
}

/// Between what both have in common, in order: what the first has there, and what the second has.
fn stretches(old: &[Spelled<'_>], new: &[Spelled<'_>]) -> Vec<(Vec<usize>, Vec<usize>)> {
    let width = new.len() + 1;
    let mut longest = vec![0usize; (old.len() + 1) * width];
    for one in (0..old.len()).rev() {
        for other in (0..new.len()).rev() {
            longest[one * width + other] = match old[one].text == new[other].text {
                true => longest[(one + 1) * width + other + 1] + 1,
                false => longest[(one + 1) * width + other].max(longest[one * width + other + 1]),
            };
        }
    }
    let mut found = vec![(Vec::new(), Vec::new())];
    let (mut one, mut other) = (0, 0);
    while one < old.len() || other < new.len() {
        let own = found.last_mut().expect("invariant: there is a first stretch");
        if one < old.len() && other < new.len() && old[one].text == new[other].text {
            (one, other) = (one + 1, other + 1);
            found.push((Vec::new(), Vec::new()));
        } else if other == new.len()
            || one < old.len() && longest[(one + 1) * width + other] >= longest[one * width + other + 1]
        {
            own.0.push(one);
            one += 1;
        } else {
            own.1.push(other);
            other += 1;
        }
    }
    found
}

/// Declarations that are not the same, each once.
fn declared<'l>(old: &Litmus, new: &Litmus) -> Vec<Difference<'l>> {
    let texts = |litmus: &Litmus| -> Vec<String> {
        let text = print(&Litmus { layout: Layout::Blocks, ..litmus.clone() });
        let inside =
            text.split_once("{\n").and_then(|(_, rest)| rest.split_once("}\n")).map_or("", |(inside, _)| inside);
        inside.lines().map(|line| line.trim().to_owned()).collect()
    };
    let (old, new) = (texts(old), texts(new));
    let more = |one: &[String], other: &[String]| -> Vec<String> {
        one.iter().filter(|text| !other.contains(text)).cloned().collect()
    };
    let (gone, came) = (more(&old, &new), more(&new, &old));
    let left = gone.len().saturating_sub(came.len());
    came.into_iter().map(Some).chain(std::iter::repeat_n(None, left)).map(Difference::Declared).collect()
}

#[cfg(test)]
mod tests {
    use fencepost_syntax::litmus::parse_named;

    use super::*;

    fn test(body: &str) -> Litmus {
        let text = format!("PTX t\n{{ x = 0; .shared .mbarrier b = 1; }}\nP0@cta 0 {{\n{body}\n}}\nexists (x = 1)\n");
        parse_named("t.litmus", &text).0.remove(0)
    }

    fn costs(old: &str, new: &str) -> Option<u32> {
        cost(&test(old), &test(new), &Costs::default())
    }

    const WAIT: &str = "W: mbarrier.try_wait.parity.shared::cta.b64 %p, [b], 0;\n@!%p bra W;";

    #[test]
    fn what_comes_costs_its_row_and_what_is_corrected_a_word() {
        assert_eq!(costs("st.u32 [x], 1;", "st.u32 [x], 1;"), Some(0));
        assert_eq!(costs("st.u32 [x], 1;", "st.u32 [x], 1;\nfence.sc.gpu;"), Some(40));
        assert_eq!(costs("st.u32 [x], 1;", "st.u32 [x], 2;"), Some(1));
        assert_eq!(costs("st.u32 [x], 1;\nfence.sc.gpu;", "st.u32 [x], 1;"), Some(1));
        assert_eq!(costs("st.relaxed.gpu.u32 [x], 1;", "st.release.gpu.u32 [x], 1;"), Some(5));
        assert_eq!(costs("fence.acq_rel.cta;", "fence.sc.gpu;"), Some(32));
    }

    #[test]
    fn a_wait_loop_is_one_wait_wherever_it_goes() {
        let store = "st.u32 [x], 1;";
        assert_eq!(costs(store, &format!("{WAIT}\n{store}")), Some(12));
        assert_eq!(costs(&format!("{store}\n{WAIT}"), &format!("{WAIT}\n{store}")), Some(1));
    }

    #[test]
    fn other_threads_are_no_twins_and_other_counts_are_words() {
        let one = test("st.u32 [x], 1;");
        let text = "PTX t\n{ x = 0; .shared .mbarrier b = 2; }\nP0@cta 0 {\nst.u32 [x], 1;\n}\nexists (x = 1)\n";
        let other = parse_named("t.litmus", text).0.remove(0);
        assert_eq!(cost(&one, &other, &Costs::default()), Some(1));
        let mut moved = one.clone();
        moved.threads[0].placement.cta = Some(7);
        assert_eq!(cost(&one, &moved, &Costs::default()), None);
    }
}

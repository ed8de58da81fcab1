//! Random programs to strengthen: two to four threads, in one CTA, one cluster, one GPU or several, that load, store and
//! update two or three locations at any strength and scope, with fences, barriers, guards and chains of read-modify-writes.

use std::fmt::Write;

use super::Random;

const PLACES: [&str; 4] = ["cta 0, gpu 0", "cta 1, gpu 0", "cta 2, gpu 0", "cta 3, gpu 1"];
const CLUSTERED: [&str; 4] = ["cta 0, cluster 0", "cta 1, cluster 0", "cta 1, cluster 0", "cta 2, cluster 1"];
const SCOPES: [&str; 4] = ["cta", "cluster", "gpu", "sys"];
const NAMES: [&str; 3] = ["x", "y", "z"];

pub fn text(random: &mut Random) -> String {
    let places = if random.chance(3) { &CLUSTERED } else { &PLACES };
    let spread = 1 + random.below(4);
    let threads = 2 + random.below(3);
    let locations = 2 + random.below(2);
    let mut text = "PTX random\n{ .global .u32 x = 0; .global .u32 y = 0; .global .u32 z = 0; }\n".to_owned();
    for thread in 0..threads {
        let _ = writeln!(text, "P{thread}@{} {{", places[(thread * spread / 2) % spread]);
        let statements = 1 + random.below(if threads == 2 { 4 } else { 3 });
        for number in 0..statements {
            let _ = writeln!(text, "    {}", statement(random, (thread, number), &NAMES[..locations]));
        }
        text.push_str("}\n");
    }
    text.push_str("forall (true)\n");
    text
}

fn statement(random: &mut Random, (thread, number): (usize, usize), names: &[&str]) -> String {
    let name = names[random.below(names.len())];
    let scope = SCOPES[random.below(SCOPES.len())];
    let value = 1 + thread * 4 + number;
    let register = format!("%r{number}");
    // A store of what was read, or behind it, where something was.
    let read = format!("%r{}", random.below(number.max(1)));
    let given = if number > 0 && random.chance(3) { read.clone() } else { value.to_string() };
    let guard = if number > 0 && random.chance(5) {
        format!("setp.ne.u32 %p{number}, {read}, 0;\n    @%p{number} ")
    } else {
        String::new()
    };
    match random.below(12) {
        0 => format!("{guard}st.weak.global.u32 [{name}], {given};"),
        1 | 2 => format!("{guard}st.relaxed.{scope}.global.u32 [{name}], {given};"),
        3 => format!("{guard}st.release.{scope}.global.u32 [{name}], {given};"),
        4 => format!("ld.weak.global.u32 {register}, [{name}];"),
        5 | 6 => format!("ld.relaxed.{scope}.global.u32 {register}, [{name}];"),
        7 => format!("ld.acquire.{scope}.global.u32 {register}, [{name}];"),
        8 => {
            let sem = ["relaxed", "acquire", "release", "acq_rel"][random.below(4)];
            format!("{guard}atom.{sem}.{scope}.global.add.u32 {register}, [{name}], {value};")
        }
        9 => format!("{guard}atom.relaxed.{scope}.global.exch.b32 {register}, [{name}], {given};"),
        10 => format!("{guard}red.relaxed.{scope}.global.add.u32 [{name}], {value};"),
        _ => {
            let sem = ["acq_rel", "sc", "acquire", "release"][random.below(4)];
            format!("fence.{sem}.{scope};")
        }
    }
}

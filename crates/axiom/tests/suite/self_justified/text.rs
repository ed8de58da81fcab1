//! The programs as text.

use std::fmt::Write;

use super::{Case, Pointer, Reader, Step};

fn lines(steps: &[Step], labels: &mut usize, out: &mut Vec<String>) {
    for step in steps {
        match step {
            Step::Store(..)
            | Step::Exchange(..)
            | Step::Copy(_)
            | Step::Wait
            | Step::Arrive
            | Step::Flag
            | Step::Relaxed
            | Step::Fence => out.push(simple(step)),
            Step::Bulk(place) => out.extend(bulk(*place)),
            Step::WaitBulk => {
                *labels += 1;
                out.push(format!("W{labels}: mbarrier.try_wait.parity.shared::cta.b64 %w{labels}, [m], 0;"));
                out.push(format!("@!%w{labels} bra W{labels};"));
            }
            Step::Pointer(yes, no, value, Pointer::Selected) => {
                out.push(format!("selp.u64 %c, {}, {}, %p;", 16 * yes, 16 * no));
                out.push("add.u64 %d, %s, %c;".into());
                out.push(format!("st.shared.u32 [%d], {value};"));
            }
            Step::Pointer(yes, no, value, Pointer::Moved) => {
                out.push(format!("add.u64 %d, %s, {};", 16 * no));
                out.push(format!("@%p add.u64 %d, %s, {};", 16 * yes));
                out.push(format!("st.shared.u32 [%d], {value};"));
            }
            Step::Swap(place, when) => {
                let (yes, no) = if *when { (1, 7) } else { (7, 1) };
                out.push(format!("selp.u32 %k, {yes}, {no}, %p;"));
                out.push(format!("atom.relaxed.cta.shared.cas.b32 %z, [s+{}], %k, 0;", 16 * place));
            }
            Step::Guarded(when, step) => {
                out.push(format!("@{}%p {}", if *when { "" } else { "!" }, simple(step)));
            }
            Step::Branch(yes, no) => {
                *labels += 1;
                let label = *labels;
                out.push(format!("@!%p bra E{label};"));
                lines(yes, labels, out);
                out.extend([format!("bra F{label};"), format!("E{label}:")]);
                lines(no, labels, out);
                out.push(format!("F{label}:"));
            }
            Step::Twice(steps) => {
                *labels += 1;
                let label = *labels;
                out.extend([format!("mov.u32 %i{label}, 0;"), format!("L{label}:")]);
                lines(steps, labels, out);
                out.push(format!("add.u32 %i{label}, %i{label}, 1;"));
                out.push(format!("setp.lt.u32 %q{label}, %i{label}, 2;"));
                out.push(format!("@%q{label} bra L{label};"));
            }
        }
    }
}

fn bulk(place: usize) -> [String; 3] {
    let how = "shared::cluster.global.mbarrier::complete_tx::bytes";
    [
        "fence.proxy.async;".into(),
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 16;".into(),
        format!("cp.async.bulk.{how} [s+{}], [g], 16, [m];", 16 * place),
    ]
}

fn simple(step: &Step) -> String {
    match step {
        Step::Store(place, value) => format!("st.shared.u32 [s+{}], {value};", 16 * place),
        Step::Exchange(place, value) => {
            format!("atom.relaxed.cta.shared.exch.b32 %z, [s+{}], {value};", 16 * place)
        }
        Step::Copy(place) => format!("cp.async.ca.shared.global [s+{}], [g], 4;", 16 * place),
        Step::Wait => "cp.async.wait_all;".into(),
        Step::Arrive => "mbarrier.arrive.shared::cta.b64 _, [m];".into(),
        Step::Flag => "st.release.cta.shared.u32 [f], 1;".into(),
        Step::Relaxed => "st.relaxed.cta.shared.u32 [f], 1;".into(),
        _ => "fence.acq_rel.cta;".into(),
    }
}

pub(crate) fn text(case: &Case) -> String {
    let mut code = vec!["ld.relaxed.gpu.u32 %a, [x];".to_string(), "setp.eq.u32 %p, %a, 1;".to_string()];
    lines(&case.steps, &mut 0, &mut code);
    let read = format!("ld.shared.u32 %b, [s+{}];", 16 * case.read);
    let hand_on = ["st.relaxed.gpu.u32 [y], %b;".to_string()];
    let mut other = Vec::new();
    match case.reader {
        Reader::Own => code.extend([read].into_iter().chain(hand_on)),
        Reader::Barrier => {
            code.push("bar.sync 0;".into());
            other.extend(["bar.sync 0;".to_string(), read].into_iter().chain(hand_on));
        }
        Reader::Acquires | Reader::Relaxed => {
            let how = if case.reader == Reader::Acquires { "acquire" } else { "relaxed" };
            other.push(format!("ld.{how}.cta.shared.u32 %f, [f];"));
            other.extend([read].into_iter().chain(hand_on));
        }
    }
    code.push("mov.u32 %e, 0;".into());
    let mut made = String::from(
        "PTX self-justified\n{ x = 0; y = 0; .global .align 16 .u32 g[4] = 0; .shared .align 16 .u32 s[8] = 1; .shared .mbarrier m = 1; .shared .u32 f = 0; P0:%s = s; }\n",
    );
    let threads = [(0, code), (0, other)];
    for (index, (cta, code)) in threads.iter().filter(|(_, code)| !code.is_empty()).enumerate() {
        let _ = writeln!(made, "P{index}@cta {cta}, gpu 0 {{\n  {}\n}}", code.join("\n  "));
    }
    let last = 1 + usize::from(!threads[1].1.is_empty());
    let _ = writeln!(made, "P{last}@cta 9, gpu 0 {{\n  ld.relaxed.gpu.u32 %a, [y];\n  st.relaxed.gpu.u32 [x], %a;\n}}");
    let has_flag = matches!(case.reader, Reader::Acquires | Reader::Relaxed);
    let flag = if has_flag { " /\\ P1:%f=1" } else { "" };
    made + &format!("exists (P0:%a=1{flag})\n")
}

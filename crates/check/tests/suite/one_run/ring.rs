//! Rings of stages that a producer fills by bulk copies and consumers read: each stage has an mbarrier that says that it is
//! full and one that says that it is empty.

use std::fmt::Write as _;

/// How large a ring is. The copies bring `tile + 10` to each of the `tiles`.
#[derive(Copy, Clone, Debug)]
pub(super) struct Ring {
    pub(super) stages: usize,
    pub(super) tiles: usize,
    pub(super) consumers: usize,
}

/// A line that is left out.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Without {
    Nothing,
    ProxyFence,
    EmptyWait,
    FullWait,
    Arrive,
    Expect,
}

impl Ring {
    /// The test, with every round written out. Each consumer stores each tile to a place of its own.
    pub(super) fn text(self, without: Without) -> String {
        let Ring { stages, tiles, consumers } = self;
        // A bulk copy brings 16 bytes at least: four words of which the first is looked at.
        let values: Vec<String> = (0..4 * tiles).map(|word| (word / 4 + 10).to_string()).collect();
        let mut text = format!("PTX ring\n{{ .global .align 16 .b32 g[{}] = {{{}}};\n", 4 * tiles, values.join(", "));
        let _ = writeln!(
            text,
            "  .shared .align 16 .b32 s[{}] = 0; .global .u32 out[{}] = 0;",
            4 * stages,
            tiles * consumers
        );
        for stage in 0..stages {
            let _ =
                writeln!(text, "  .shared .mbarrier full{stage} = 1; .shared .mbarrier empty{stage} = {consumers};");
        }
        text.push_str("}\n");
        let line = |text: &mut String, is_kept: bool, line: String| {
            if is_kept {
                let _ = writeln!(text, "    {line}");
            }
        };
        text.push_str("P0@cta 0, gpu 0 {\n");
        for tile in 0..tiles {
            let (stage, parity) = (tile % stages, (tile / stages + 1) % 2);
            line(&mut text, without != Without::EmptyWait, wait("E", tile, "empty", stage, parity));
            let arrive = match without == Without::Expect {
                true => format!("mbarrier.arrive.shared::cta.b64 _, [full{stage}];"),
                false => format!("mbarrier.arrive.expect_tx.shared::cta.b64 _, [full{stage}], 16;"),
            };
            line(&mut text, true, arrive);
            let copy = "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes";
            line(&mut text, true, format!("{copy} [s+{}], [g+{}], 16, [full{stage}];", 16 * stage, 16 * tile));
        }
        text.push_str("}\n");
        for consumer in 0..consumers {
            let _ = writeln!(text, "P{}@cta 0, gpu 0 {{", consumer + 1);
            for tile in 0..tiles {
                let (stage, parity) = (tile % stages, (tile / stages) % 2);
                line(&mut text, without != Without::FullWait, wait("F", tile, "full", stage, parity));
                line(&mut text, true, format!("ld.shared.u32 %r{tile}, [s+{}];", 16 * stage));
                line(&mut text, true, format!("st.global.u32 [out+{}], %r{tile};", 4 * (consumer * tiles + tile)));
                line(&mut text, without != Without::ProxyFence, "fence.proxy.async.shared::cta;".to_owned());
                let arrive = format!("mbarrier.arrive.shared::cta.b64 _, [empty{stage}];");
                line(&mut text, without != Without::Arrive, arrive);
            }
            text.push_str("}\n");
        }
        let places =
            (0..consumers).flat_map(|consumer| (0..tiles).map(move |tile| (consumer * tiles + tile, tile + 10)));
        let promised: Vec<String> = places.map(|(place, value)| format!("out[{place}] = {value}")).collect();
        let _ = writeln!(text, "forall ({})", promised.join(" /\\ "));
        text
    }
}

fn wait(label: &str, tile: usize, mbarrier: &str, stage: usize, parity: usize) -> String {
    let (label, register) = (format!("{label}{tile}"), format!("%p{tile}"));
    format!(
        "{label}: mbarrier.try_wait.parity.shared::cta.b64 {register}, [{mbarrier}{stage}], {parity}; @!{register} bra {label};"
    )
}

//! Before a thread of the test begins: lanes that are none of its threads end, and memory gets its initial values.

use fencepost_syntax::instruction::{Instruction, Operand};

use crate::program::{Layout, Lines};

use super::tensor::{TENSOR_COLUMNS, in_constant};
use super::{Refused, Translator, Value, instructions, refuse};

impl Translator<'_> {
    /// Only live lanes go on; one of each CTA writes the initial values of its shared memory before anybody begins.
    pub(super) fn start(&self, out: &mut Lines) -> Result<(), Refused> {
        out.line("mov.u32 %za0, %tid.x;", None);
        if self.layout == Layout::Warps {
            let spacing = self.spacing();
            for line in [
                &format!("and.b32 %za1, %za0, {};", spacing - 1),
                "setp.ne.u32 %zp0, %za1, 0;",
                "@%zp0 exit;",
                &format!("shr.u32 %za2, %za0, {};", spacing.trailing_zeros()),
            ] {
                out.line(line, None);
            }
        } else {
            let lanes = self.seats.iter().map(|seat| seat.beside).max().unwrap_or(1);
            out.line(&format!("setp.ge.u32 %zp0, %za0, {lanes};"), None);
            out.line("@%zp0 exit;", None);
            out.line("mov.u32 %za2, %za0;", None);
        }
        for line in ["mov.u32 %za3, %ctaid.x;", "shl.b32 %za4, %za3, 6;", "add.u32 %za5, %za4, %za2;"] {
            out.line(line, None);
        }
        let mut inits = Vec::new();
        for (name, variable) in self.variables.iter().filter(|(_, own)| own.space == "shared") {
            if let Some(count) = variable.count {
                for element in 0..variable.elements {
                    inits.push(format!("mbarrier.init.shared::cta.b64 [{name}+{}], {count};", element * 8));
                }
            }
            for at in (0..128).step_by(8).filter(|_| variable.map.is_some()) {
                inits.push(format!("ld.const.u64 %zb0, [{}+{at}];", in_constant(name)));
                inits.push(format!("st.shared.u64 [{name}+{at}], %zb0;"));
            }
            for (at, value) in variable.values.iter().enumerate() {
                let Value::Number(value) = value else { continue };
                let bits = variable.bytes * 8;
                let at = at as u32 * variable.bytes;
                inits.push(format!("st.shared.u{} [{name}+{at}], {value};", bits.min(64)));
            }
        }
        let columns = if self.allocates() { Vec::new() } else { self.columns() };
        if !columns.is_empty() {
            if self.ctas > 1 {
                out.line("barrier.cluster.arrive;", None);
                out.line("barrier.cluster.wait;", None);
            }
            self.allocate(columns.len() as u32, out);
        }
        if inits.is_empty() && columns.is_empty() {
            return Ok(());
        }
        let is_last = |instruction: &Instruction| {
            matches!(instruction.opcode.node.as_str(), "bar" | "barrier")
                && instruction.operands.iter().any(|operand| operand.node == Operand::Integer(15))
        };
        if instructions(self.litmus).any(is_last) {
            return refuse("no barrier is left for the start");
        }
        out.line("setp.ne.u32 %zp1, %za2, 0;", None);
        out.line("@%zp1 bra STARTED;", None);
        inits.iter().for_each(|line| out.line(line, None));
        out.line("fence.mbarrier_init.release.cluster;", None);
        out.line("fence.proxy.async;", None);
        for (at, name) in columns.iter().enumerate() {
            for (element, value) in self.variables[*name].values.iter().enumerate() {
                let Value::Number(value) = value else { continue };
                let column = at as u32 * TENSOR_COLUMNS + element as u32;
                out.line(&format!("mov.u32 %za10, {column};"), None);
                out.line(&format!("mov.u32 %za11, {value};"), None);
                out.line("tcgen05.st.sync.aligned.32x32b.x1.b32 [%za10], {%za11};", None);
            }
        }
        if !columns.is_empty() {
            out.line("tcgen05.wait::st.sync.aligned;", None);
            out.line("tcgen05.fence::before_thread_sync;", None);
        }
        out.line("STARTED:", None);
        out.line("barrier.sync 15;", None);
        if self.ctas > 1 {
            out.line("barrier.cluster.arrive;", None);
            out.line("barrier.cluster.wait;", None);
        }
        out.line("fence.proxy.async;", None);
        if !columns.is_empty() {
            out.line("tcgen05.fence::after_thread_sync;", None);
        }
        Ok(())
    }
}

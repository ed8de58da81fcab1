//! Operands that lie where they must not: addresses that are not aligned (PTX ISA 9.7.10.28, 9.7.15.16.1), shared memory of
//! another cluster (5.1.7), mbarriers outside shared memory. What the text shows to be undefined is an error where no
//! execution could make sense of it, else a warning.

use fencepost_syntax::{Diagnostic, Span};

use super::Text;
use crate::asynchronous::{Action, Base, Completion, Family, Region};
use crate::ids::AddressId;
use crate::lower::{Findings, ThreadBuilder};
use crate::program::{AddressOperand, Instruction, Operation, Place, Space};
use crate::tag::Tag;

impl Text<'_> {
    /// Every address operand of an instruction whose name the text shows.
    fn named(&self, thread: &ThreadBuilder, code: &Instruction) -> Vec<AddressId> {
        let operands: Vec<&AddressOperand> = match &code.operation {
            Operation::Load { address, .. }
            | Operation::Store { address, .. }
            | Operation::VectorLoad { address, .. }
            | Operation::VectorStore { address, .. }
            | Operation::ReadModifyWrite { address, .. } => vec![address],
            Operation::MbarrierWait(wait) => vec![&wait.address],
            Operation::Async(operation) => match &operation.action {
                Action::Start(start) => {
                    let told = match &start.completion {
                        Completion::Transaction { mbarrier, .. } => Some(mbarrier),
                        _ => None,
                    };
                    start.regions.iter().filter_map(place).chain(told).collect()
                }
                Action::Arrive(arrive) => vec![&arrive.mbarrier],
                _ => Vec::new(),
            },
            _ => Vec::new(),
        };
        operands.into_iter().filter_map(|operand| self.address(thread, operand)).collect()
    }

    fn address(&self, thread: &ThreadBuilder, operand: &AddressOperand) -> Option<AddressId> {
        match operand {
            AddressOperand::Static(address) => Some(*address),
            AddressOperand::Register(register) => thread.fixed_address(*register),
        }
    }

    pub(super) fn places(&self, thread: &ThreadBuilder, code: &Instruction, findings: &mut Findings) {
        self.other_cluster(thread, code, findings);
        self.mbarrier_space(thread, code, findings);
        self.alignment(code, findings);
    }

    /// Shared memory is shared within a cluster, and no further.
    fn other_cluster(&self, thread: &ThreadBuilder, code: &Instruction, findings: &mut Findings) {
        let Place::Gpu { gpu, cluster, .. } = thread.place else { return };
        for address in self.named(thread, code) {
            let location = &self.names.locations[self.names.addresses[address.index()].location.index()];
            let Some(Place::Gpu { gpu: its, cluster: theirs, cta }) = location.owner else { continue };
            if location.space == Some(Space::Shared) && (its, theirs) != (gpu, cluster) {
                let message = format!("`{}` is shared memory of CTA {cta}, which is in another cluster", location.name);
                let error = Diagnostic::error(code.span, message).label("cannot be reached");
                findings.diagnostics.push(error.help("put both CTAs into one cluster: `@cta 1, cluster 0`"));
            }
        }
    }

    /// An mbarrier lies in shared memory; a generic address that does not is undefined.
    fn mbarrier_space(&self, thread: &ThreadBuilder, code: &Instruction, findings: &mut Findings) {
        let operand = match &code.operation {
            Operation::Store { address, tags, .. } | Operation::ReadModifyWrite { address, write_tags: tags, .. }
                if tags.has(Tag::Mbarrier) =>
            {
                address
            }
            Operation::MbarrierWait(wait) => &wait.address,
            _ => return,
        };
        let Some(location) = self.location(thread, operand) else { return };
        let location = &self.names.locations[location.index()];
        if location.space.is_some_and(|space| space != Space::Shared) {
            let message = format!("`{}` is not in shared memory, where mbarriers are", location.name);
            let error = Diagnostic::error(code.span, message).label("undefined");
            findings.diagnostics.push(error.help("declare it with `.shared`"));
        }
    }

    /// Bulk copies want addresses that are multiples of 16, tensor copies 128 for what lies in shared memory. Variables are
    /// taken as aligned; the text shows how far into one an address is.
    fn alignment(&self, code: &Instruction, findings: &mut Findings) {
        let Operation::Async(operation) = &code.operation else { return };
        let Action::Start(start) = &operation.action else { return };
        if operation.family != Family::Bulk || start.regions.iter().all(|region| !region.tags.has(Tag::Async)) {
            return;
        }
        let is_tensor = start.regions.iter().any(|region| matches!(region.base, Base::Tensor { .. }));
        for region in start.regions.iter().filter(|region| region.tags.has(Tag::Async)) {
            let Some(AddressOperand::Static(address)) = place(region) else { continue };
            let wanted = if is_tensor && region.space == Some(Space::Shared) { 128 } else { 16 };
            let value = self.names.addresses[address.index()].value.0;
            if value % wanted != 0 {
                misaligned(code.span, &self.names.addresses[address.index()].name, wanted, findings);
            }
        }
    }
}

fn misaligned(span: Span, name: &str, wanted: i128, findings: &mut Findings) {
    let message = format!("`{name}` is not aligned: this copy wants addresses that are multiples of {wanted} bytes");
    findings.lint("misaligned", span, message, "9.7.10.28");
}

fn place(region: &Region) -> Option<&AddressOperand> {
    match &region.base {
        Base::Address(address) => Some(address),
        Base::Tensor { .. } => None,
    }
}

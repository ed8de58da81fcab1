//! Operands that lie where they must not: addresses of copies that are not aligned (PTX ISA 9.7.10.28), mbarriers that are not
//! (9.7.15.16.1), and mbarriers outside shared memory, which no execution could make sense of.

use fencepost_syntax::{Diagnostic, Span};

use super::Text;
use crate::asynchronous::{Action, Base, Family, Region, Size, Start};
use crate::lower::{Findings, ThreadBuilder};
use crate::program::{AddressOperand, Instruction, Operand, Operation, Space};
use crate::tag::Tag;
use crate::value::Value;

impl Text<'_> {
    pub(super) fn places(&self, thread: &ThreadBuilder, code: &Instruction, findings: &mut Findings) {
        if let Some(operand) = mbarrier(&code.operation) {
            self.mbarrier_space(thread, (operand, code.span), findings);
            self.mbarrier_alignment((operand, code.span), findings);
        }
        self.alignment(code, findings);
    }

    /// An mbarrier lies in shared memory; a generic address that does not is undefined.
    fn mbarrier_space(
        &self,
        thread: &ThreadBuilder,
        (operand, span): (&AddressOperand, Span),
        findings: &mut Findings,
    ) {
        let Some(location) = self.location(thread, operand) else { return };
        let location = &self.names.locations[location.index()];
        if location.space.is_some_and(|space| space != Space::Shared) {
            let message = format!("`{}` is not in shared memory, where mbarriers are", location.name);
            let error = Diagnostic::error(span, message).label("undefined");
            findings.diagnostics.push(error.help("declare it with `.shared`"));
        }
    }

    /// An mbarrier is 8 bytes, at an address that is a multiple of that.
    fn mbarrier_alignment(&self, (operand, span): (&AddressOperand, Span), findings: &mut Findings) {
        let AddressOperand::Static(address) = operand else { return };
        let address = &self.names.addresses[address.index()];
        if address.value.0 % 8 != 0 {
            let message =
                format!("`{}` is not aligned: the address of an mbarrier is a multiple of 8 bytes", address.name);
            findings.lint("misaligned", span, message, "9.7.15.16.1");
        }
    }

    /// Bulk copies want addresses that are multiples of 16, tensor copies 128 for what lies in shared memory. Variables are
    /// taken as aligned; the text shows how far into one an address is.
    fn alignment(&self, code: &Instruction, findings: &mut Findings) {
        let Operation::Async(operation) = &code.operation else { return };
        let Action::Start(start) = &operation.action else { return };
        if operation.family == Family::CpAsync {
            return self.small_alignment(code, start, findings);
        }
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

    /// `cp.async` wants both addresses to be multiples of its size (PTX ISA 9.7.10.28.3.1).
    fn small_alignment(&self, code: &Instruction, start: &Start, findings: &mut Findings) {
        for region in &start.regions {
            let (Some(AddressOperand::Static(address)), Size::Bytes(Operand::Constant(Value(wanted)))) =
                (place(region), region.size)
            else {
                continue;
            };
            let address = &self.names.addresses[address.index()];
            if wanted > 0 && address.value.0 % wanted != 0 {
                misaligned(code.span, &address.name, wanted, findings);
            }
        }
    }
}

/// The mbarrier that an instruction of its own operates on.
fn mbarrier(operation: &Operation) -> Option<&AddressOperand> {
    match operation {
        Operation::Store { address, tags, .. } | Operation::ReadModifyWrite { address, write_tags: tags, .. } => {
            tags.has(Tag::Mbarrier).then_some(address)
        }
        Operation::MbarrierWait(wait) => Some(&wait.address),
        _ => None,
    }
}

fn misaligned(span: Span, name: &str, wanted: i128, findings: &mut Findings) {
    let message = format!("`{name}` is not aligned: this copy wants addresses that are multiples of {wanted} bytes");
    findings.lint("misaligned", span, message, "9.7.10.28");
}

fn place(region: &Region) -> Option<&AddressOperand> {
    match &region.base {
        Base::Address(address) => Some(address),
        Base::Descriptor(_) | Base::Tensor { .. } => None,
    }
}

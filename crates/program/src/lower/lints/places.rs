//! Operands that lie where they must not: addresses of copies that are not aligned (PTX ISA 9.7.10.28), mbarriers that are not
//! (9.7.15.16.1), and mbarriers outside shared memory, which no execution could make sense of.

use fencepost_syntax::{Diagnostic, Span};

use crate::lower::builder::ThreadBuilder;
use crate::lower::findings::Findings;
use crate::lower::lints::Text;
use crate::program::asynchronous::{Action, Base};
use crate::program::lint::LintKind;
use crate::program::{AddressOperand, Instruction, Operation, Space};
use crate::sections;
use crate::tag::Tag;

impl Text<'_> {
    pub(crate) fn places(&self, thread: &ThreadBuilder, code: &Instruction, findings: &mut Findings) {
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
            let what = LintKind::MisalignedMbarrier { address: address.name.to_string() };
            findings.lint(span, what, sections::MBARRIER_OBJECT);
        }
    }

    /// Variables are taken as aligned; the text shows how far into one an address is. Of one that is computed, the unfolding
    /// does.
    fn alignment(&self, code: &Instruction, findings: &mut Findings) {
        let Operation::Async(operation) = &code.operation else { return };
        let Action::Start(start) = &operation.action else { return };
        for region in &start.regions {
            let (Base::Address(AddressOperand::Static(address)), Some(wanted)) =
                (&region.base, start.alignment(operation.family, region))
            else {
                continue;
            };
            let address = &self.names.addresses[address.index()];
            if address.value.0 % wanted != 0 {
                let what = LintKind::MisalignedCopy { address: address.name.to_string(), wanted };
                findings.lint(code.span, what, sections::ASYNC_COPY);
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

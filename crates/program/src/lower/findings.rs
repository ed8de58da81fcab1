//! What lowering finds besides the code: mistakes, what has no model, the parts of the ISA that are used, warnings.

use fencepost_syntax::{Diagnostic, Span, Spanned};

use crate::program::lint::{Lint, LintKind};
use crate::program::{Feature, Unsupported, Version};
use crate::value::Type;

/// Why an instruction has no operation.
#[derive(Clone, Debug)]
pub(crate) enum Refusal {
    Error(Diagnostic),
    Unsupported(Span, String),
}

impl Refusal {
    pub(crate) fn error(span: Span, message: impl Into<String>) -> Refusal {
        Refusal::Error(Diagnostic::error(span, message))
    }
}

/// What lowering gathers besides the code.
#[derive(Default)]
pub(crate) struct Findings {
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) unsupported: Vec<Unsupported>,
    pub(crate) features: Vec<Spanned<Feature>>,
    /// Forms with the version that brought them: what, and where it says so.
    pub(crate) floors: Vec<Floor>,
    pub(crate) lints: Vec<Lint>,
}

/// An instruction form of a version of the ISA.
pub(crate) struct Floor {
    pub(crate) span: Span,
    pub(crate) what: String,
    pub(crate) since: Version,
    pub(crate) section: &'static str,
}

impl Findings {
    pub(crate) fn refuse(&mut self, refusal: Refusal) {
        match refusal {
            Refusal::Error(diagnostic) => self.diagnostics.push(diagnostic),
            Refusal::Unsupported(span, what) => self.unsupported.push(Unsupported { span, what }),
        }
    }

    pub(crate) fn floor(&mut self, span: Span, what: String, since: Version, section: &'static str) {
        self.floors.push(Floor { span, what, since, section });
    }

    pub(crate) fn lint(&mut self, span: Span, what: LintKind, section: &'static str) {
        self.lints.push(Lint { span, what, section });
    }

    pub(crate) fn feature(&mut self, feature: Feature, span: Span) {
        self.features.push(Spanned::new(feature, span));
    }
}

/// A number of the text that its place cannot hold: which integers can.
pub(crate) fn misfit(what: &str, ty: Type, whose: &str, span: Span) -> Diagnostic {
    let error = Diagnostic::error(span, format!("{what} does not fit the {} bits of `{whose}`", ty.bits));
    let (least, greatest) = ty.range().unwrap_or((i128::MIN, i128::MAX));
    error.label("does not fit").help(format!("integers from {least} to {greatest} do"))
}

//! What every writer of SVG uses: fonts, numbers and lines.

use std::fmt::Write as _;

pub(crate) const MONO: &str = "DejaVu Sans Mono, Menlo, Consolas, monospace";

pub(crate) const SANS: &str = "DejaVu Sans, Helvetica, Arial, sans-serif";

/// One decimal is a tenth of a pixel; trailing zeros would only make files longer.
pub(crate) fn number(value: f64) -> String {
    let rounded = (value * 10.0).round() / 10.0;
    if rounded.fract() == 0.0 { format!("{}", rounded as i64) } else { format!("{rounded:.1}") }
}

pub(crate) fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = writeln!(out, "{text}");
}

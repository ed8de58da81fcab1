//! What two accesses lack: why nothing orders them, and the missing pieces, each on its line.

use std::fmt::Write;

use fencepost_report::{Diagnosis, RacingAccess};

/// " (asynchronously reads s, async proxy)".
pub(super) fn through(access: &RacingAccess) -> String {
    let how = if access.asynchronous { "asynchronously " } else { "" };
    let proxy = access.proxy.map_or(String::new(), |proxy| format!(", {}", proxy.name()));
    format!(" ({how}{}{proxy})", access.what)
}

/// Why nothing orders the two accesses, and what would.
pub(super) fn diagnosed(text: &mut String, diagnosis: &Diagnosis, cured: &str) {
    let _ = writeln!(text, "    {}", diagnosis.why);
    missing(text, diagnosis, cured);
}

/// What would order them, and what that brings where it was checked.
pub(super) fn missing(text: &mut String, diagnosis: &Diagnosis, cured: &str) {
    if let Some(under) = &diagnosis.under {
        let _ =
            writeln!(text, "    under the weakest readings no small change that was tried orders them; with {under}:");
    }
    let last = diagnosis.missing.len().saturating_sub(1);
    for (at, missing) in diagnosis.missing.iter().enumerate() {
        let word = if diagnosis.confirmed { "missing" } else { "probably missing" };
        let claim = match (at == last, diagnosis.confirmed) {
            (true, true) if last == 0 => format!("; with it {cured}"),
            (true, true) => format!("; with these {cured}"),
            _ => String::new(),
        };
        let _ = writeln!(text, "    {word}: {}{claim}", missing.sentence());
    }
}

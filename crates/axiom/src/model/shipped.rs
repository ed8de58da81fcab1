//! The models of the `models` folder, as text in the program.

/// Every shipped model: its name, and its text.
pub const SHIPPED: &[(&str, &str)] = &[
    ("cmm", include_str!("../../../../models/cmm.cat")),
    ("ptx", include_str!("../../../../models/ptx.cat")),
    ("ptx-6.0", include_str!("../../../../models/ptx-6.0.cat")),
    ("ptx-7.5", include_str!("../../../../models/ptx-7.5.cat")),
    ("rc11-scoped", include_str!("../../../../models/rc11-scoped.cat")),
    ("sc", include_str!("../../../../models/sc.cat")),
    ("x86-tso", include_str!("../../../../models/x86-tso.cat")),
];

/// The text of a shipped model, by its name with or without `.cat`.
pub fn shipped(name: &str) -> Option<&'static str> {
    let name = name.strip_suffix(".cat").unwrap_or(name);
    SHIPPED.iter().find(|(shipped, _)| *shipped == name).map(|(_, text)| *text)
}

/// The names of the shipped models, sorted.
pub fn names() -> impl Iterator<Item = &'static str> {
    SHIPPED.iter().map(|(name, _)| *name)
}

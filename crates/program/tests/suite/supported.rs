//! The generated list of supported forms.

use fencepost_program::supported_forms;

#[test]
fn every_table_is_in_the_list_and_no_pattern_twice() {
    let forms = supported_forms();
    let mut patterns: Vec<&str> = forms.iter().map(|form| form.pattern.as_str()).collect();
    for head in ["ld{", "cp.async.bulk.tensor", "wgmma.mma_async", "tcgen05.commit", "mbarrier.try_wait", "st.async"] {
        assert!(patterns.iter().any(|pattern| pattern.starts_with(head)), "{head}");
    }
    let count = patterns.len();
    patterns.dedup();
    assert_eq!(patterns.len(), count);
    assert!(forms.iter().all(|form| !form.section.is_empty()));
}

/// The words of `{.a|.b}` groups of a pattern.
fn words(pattern: &str) -> Vec<&str> {
    let groups = pattern.split('{').skip(1).filter_map(|rest| rest.split('}').next());
    groups.flat_map(|group| group.split('|')).map(|word| word.trim_start_matches('.')).collect()
}

/// Whether the instruction is one of real PTX here, whatever its test.
fn is_accepted(instruction: &str) -> bool {
    let text = format!("PTX T\n{{ x = 0; }}\nP0@cta 0, gpu 0 {{\n  {instruction};\n}}\nexists (x = 0)\n");
    let (litmus, diagnostics) = fencepost_syntax::litmus::parse(&text);
    let lowered = litmus.map(|litmus| fencepost_program::lower::lower(&litmus));
    diagnostics.is_empty()
        && lowered.is_some_and(|(program, found)| {
            program.is_some_and(|program| program.unsupported.is_empty()) && found.iter().all(|it| !it.is_error())
        })
}

/// `ld.release` and `st.acquire` were once listed. Some words need others beside them: a scope, or `.relaxed.sys`.
#[test]
fn every_order_and_scope_that_is_listed_is_accepted() {
    let known = ["weak", "relaxed", "acquire", "release", "acq_rel", "sc", "volatile", "mmio"];
    let scopes = ["cta", "cluster", "gpu", "gl", "sys"];
    let instances: [(&str, &str, &str); 6] = [
        ("ld{", "ld", ".u32 %r1, [x]"),
        ("st{", "st", ".u32 [x], 1"),
        ("atom{", "atom", ".add.u32 %r1, [x], 1"),
        ("red{", "red", ".add.u32 [x], 1"),
        ("fence{", "fence", ""),
        ("membar{", "membar", ""),
    ];
    let mut tried = 0;
    for form in supported_forms() {
        let Some((_, opcode, rest)) = instances.iter().find(|(start, ..)| form.pattern.starts_with(start)) else {
            continue;
        };
        if form.pattern.contains(".nc") {
            continue;
        }
        for word in words(&form.pattern).into_iter().filter(|word| known.contains(word) || scopes.contains(word)) {
            let beside = ["", ".gpu", ".sys", ".relaxed", ".relaxed.sys"];
            let accepted = beside.iter().any(|beside| {
                let words =
                    if scopes.contains(&word) { format!("{beside}.{word}") } else { format!(".{word}{beside}") };
                is_accepted(&format!("{opcode}{words}{rest}"))
            });
            assert!(accepted, "{}: no instance with `.{word}`", form.pattern);
            tried += 1;
        }
    }
    assert!(tried > 30, "only {tried} words");
}

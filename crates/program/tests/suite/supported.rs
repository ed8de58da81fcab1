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

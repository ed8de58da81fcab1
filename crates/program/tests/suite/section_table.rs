//! The table of the ISA's sections.

use fencepost_program::sections::{ALL, FENCE, INFERRED, Section, title};

#[test]
fn the_table_is_sorted_and_has_each_section_once() {
    let parts = |section: &Section| section.number.split('.').map(|part| part.parse().unwrap_or(0)).collect();
    let numbers: Vec<Vec<u32>> = ALL.iter().map(parts).collect();
    assert!(numbers.is_sorted_by(|first, second| first < second));
    assert_eq!(title(FENCE), Some("membar, fence"));
    assert!(INFERRED.iter().all(|number| title(number).is_some()));
}

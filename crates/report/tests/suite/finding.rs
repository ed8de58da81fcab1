//! The words of findings.

use fencepost_report::finding::FindingKind;

#[test]
fn every_word_is_that_of_one_kind() {
    for kind in FindingKind::ALL {
        assert_eq!(FindingKind::from_word(kind.word()), Some(kind));
    }
    assert_eq!(FindingKind::from_word("datarace"), None);
}

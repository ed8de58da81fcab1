//! "Did you mean": the nearest word of a short list.

/// The candidate within a third of the word's length in edits, if there is one. The first of equals wins.
pub fn nearest<'c>(word: &str, candidates: &[&'c str]) -> Option<&'c str> {
    if word.len() > 32 {
        return None;
    }
    let word = word.to_ascii_lowercase();
    let limit = (word.len() / 3).max(1);
    let scored = candidates
        .iter()
        .map(|&candidate| (distance(word.as_bytes(), candidate.to_ascii_lowercase().as_bytes()), candidate));
    scored.filter(|&(edits, _)| edits <= limit).min_by_key(|&(edits, _)| edits).map(|(_, candidate)| candidate)
}

/// Levenshtein's, one row at a time.
fn distance(left: &[u8], right: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, &a) in left.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &b) in right.iter().enumerate() {
            let substituted = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}

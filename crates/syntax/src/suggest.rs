//! "Did you mean": the nearest word of a short list. The one place where words are compared for likeness.

/// The longest word that is compared: what is longer is noise, and the comparison is quadratic.
const LONGEST: usize = 48;

/// The candidate within a third of the word's length in edits, if there is one. The first of equals wins.
pub fn nearest<'c>(word: &str, candidates: &[&'c str]) -> Option<&'c str> {
    if word.len() > LONGEST {
        return None;
    }
    let word = word.to_ascii_lowercase();
    let limit = (word.len() / 3).max(1);
    let scored = candidates.iter().map(|&candidate| (distance(&word, &candidate.to_ascii_lowercase()), candidate));
    scored.filter(|&(edits, _)| edits <= limit).min_by_key(|&(edits, _)| edits).map(|(_, candidate)| candidate)
}

/// Edits (insert, delete, replace, swap neighbours) from one word to the other. Quadratic: for short words.
pub fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    let mut last = None;
    for (i, letter) in from.chars().enumerate() {
        let mut next = vec![i + 1];
        for (j, &other) in to.iter().enumerate() {
            let replace = row[j] + usize::from(letter != other);
            let mut best = replace.min(row[j + 1] + 1).min(next[j] + 1);
            if j > 0 && last == Some(other) && to[j - 1] == letter && before.len() > j - 1 {
                best = best.min(before[j - 1] + 1);
            }
            next.push(best);
        }
        before = std::mem::replace(&mut row, next);
        last = Some(letter);
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_found_and_another_word_is_not() {
        assert_eq!(nearest("aquire", &["acquire", "release"]), Some("acquire"));
        assert_eq!(nearest("FLGA", &["data", "flag"]), Some("flag"), "a swap is one edit, case is none");
        assert_eq!(nearest("mailbox", &["data", "flag"]), None);
        assert_eq!(nearest(&"a".repeat(1000), &["a"]), None);
    }

    #[test]
    fn edits_are_counted() {
        assert_eq!([distance("", "ab"), distance("ab", "ba"), distance("kitten", "sitting")], [2, 1, 3]);
    }
}

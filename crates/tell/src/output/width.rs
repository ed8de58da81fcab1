//! How much fits on a line of a terminal. Text that goes anywhere else is never cut or wrapped.

/// The room for one line.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Width {
    /// A pipe or a file.
    Unlimited,
    /// A terminal with so many columns.
    Columns(u32),
}

/// What a shortened text starts with.
const CUT: char = '…';

impl Width {
    /// The room left after `used` columns, but no less than `least`.
    pub(crate) fn left(self, used: usize, least: usize) -> usize {
        match self {
            Width::Unlimited => usize::MAX,
            Width::Columns(columns) => (columns as usize).saturating_sub(used).max(least),
        }
    }

    pub(crate) fn fits(self, columns: usize) -> bool {
        columns <= self.left(0, 0)
    }
}

/// The end of a text that is too long: of a path it says most. The name of a test behind its file goes before the name of
/// the file does, which tells rows apart.
pub(crate) fn shortened(text: &str, room: usize) -> String {
    let length = text.chars().count();
    if length <= room {
        return text.to_owned();
    }
    if let Some((file, _)) = text.strip_suffix(')').and_then(|text| text.rsplit_once(" ("))
        && text.rsplit_once('/').map_or(text, |(_, last)| last).chars().count() >= room
    {
        return shortened(file, room);
    }
    let kept = text.chars().skip(length - room.saturating_sub(1));
    std::iter::once(CUT).chain(kept).collect()
}

/// The text in lines of at most `room` columns, broken between words; a longer word has a line of its own.
pub(crate) fn wrapped(text: &str, room: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_at_the_front_and_wrapped_between_words() {
        assert_eq!(shortened("corpus/scopes/mp.litmus", 10), "…mp.litmus");
        assert_eq!(shortened("mp.litmus", 9), "mp.litmus");
        assert_eq!(shortened("some/tma-bytes.litmus (tma-init)", 18), "…/tma-bytes.litmus");
        assert_eq!(shortened("a/b/c/mp.litmus (mp)", 16), "…/mp.litmus (mp)");
        assert_eq!(wrapped("expected race-free; expected Holds", 20), ["expected race-free;", "expected Holds"]);
        assert_eq!(wrapped("extraordinarily", 4), ["extraordinarily"]);
        assert_eq!(Width::Unlimited.left(1000, 3), usize::MAX);
        assert_eq!(Width::Columns(80).left(70, 20), 20);
    }
}

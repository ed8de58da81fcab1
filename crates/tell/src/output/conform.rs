//! How answers compare with published ones, as lines of text.

use fencepost_check::expect::conform::Agreement;

use crate::words::expected;

/// What there is to say of one published answer; nothing if it is the answer found. The steps lead to what was not seen.
pub fn line(title: &str, agreement: &Agreement, steps: &[String]) -> String {
    match agreement {
        Agreement::Agrees => String::new(),
        Agreement::Unseen => {
            let step = |(at, step): (usize, &String)| format!("    {:>3}  {step}\n", at + 1);
            let steps: String = steps.iter().enumerate().map(step).collect();
            format!("{title}: allowed, not seen\n{steps}")
        }
        Agreement::Differs(difference) | Agreement::Undecided(difference) => {
            format!("{title}: {}\n", expected::published(difference))
        }
    }
}

/// The last line.
pub fn total(agree: u64, total: u64) -> String {
    format!("{agree} of {total} agree\n")
}

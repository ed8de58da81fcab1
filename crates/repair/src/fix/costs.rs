//! What a change costs: data, one row per word and scope with the reason for it (`costs.tsv`), that a file may override.

use fencepost_syntax::sorted::SortedMap;

const SHIPPED: &str = include_str!("costs.tsv");

/// Costs by word and scope.
#[derive(Clone, Debug)]
pub struct Costs(SortedMap<(String, String), u32>);

/// A row that says nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadRow {
    /// Counted from 1.
    pub line: u32,
    pub what: &'static str,
}

impl Default for Costs {
    fn default() -> Costs {
        let mut costs = Costs(SortedMap::new());
        costs.read(SHIPPED).expect("invariant: the shipped table has a cost in every row");
        costs
    }
}

impl Costs {
    /// The shipped table with the rows of a text in place of its own.
    pub fn with(text: &str) -> Result<Costs, BadRow> {
        let mut costs = Costs::default();
        let shipped = costs.0.len();
        costs.read(text)?;
        let row = |line: &str| line.split('\t').map(str::trim).take(2).map(str::to_owned).collect::<Vec<_>>();
        let known: Vec<Vec<String>> = SHIPPED.lines().map(row).collect();
        let is_none = |line: &str| !line.trim().is_empty() && !line.starts_with('#') && !known.contains(&row(line));
        match (1..).zip(text.lines()).find(|(_, line)| costs.0.len() > shipped && is_none(line)) {
            Some((line, _)) => Err(BadRow { line, what: "the shipped table has no row of this word and scope" }),
            None => Ok(costs),
        }
    }

    fn read(&mut self, text: &str) -> Result<(), BadRow> {
        for (line, row) in (1..).zip(text.lines()) {
            if row.trim().is_empty() || row.starts_with('#') {
                continue;
            }
            let bad = |what| BadRow { line, what };
            let mut fields = row.split('\t');
            let (Some(word), Some(scope), Some(cost)) = (fields.next(), fields.next(), fields.next()) else {
                return Err(bad("a row is a word, a scope or `-`, and a cost, with tabs between them"));
            };
            let cost = cost.trim().parse().map_err(|_| bad("the cost is no whole number"))?;
            self.0.insert((word.trim().to_owned(), scope.trim().to_owned()), cost);
        }
        Ok(())
    }

    /// Of a word with a scope. What the table does not have costs as much as the dearest thing that it has.
    pub fn of(&self, word: &str, scope: &str) -> u32 {
        let row = |scope: &str| self.0.get(&(word.to_owned(), scope.to_owned())).copied();
        row(scope).or_else(|| row("-")).unwrap_or_else(|| self.0.values().copied().max().unwrap_or(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wider_and_stronger_costs_more() {
        let costs = Costs::default();
        let scopes = ["cta", "cluster", "gpu", "sys"];
        for word in ["relaxed", "acquire", "release", "acq_rel", "fence.acq_rel", "fence.sc"] {
            assert!(scopes.is_sorted_by(|one, other| costs.of(word, one) < costs.of(word, other)), "{word}");
        }
        for scope in scopes {
            let words = ["weak", "relaxed", "release", "acq_rel", "fence.acq_rel", "fence.sc"];
            assert!(words.is_sorted_by(|one, other| costs.of(one, scope) < costs.of(other, scope)), "{scope}");
        }
    }

    #[test]
    fn every_row_has_a_reason() {
        let rows = SHIPPED.lines().filter(|row| !row.starts_with('#'));
        assert!(rows.clone().count() > 30);
        for row in rows {
            assert!(row.split('\t').nth(3).is_some_and(|reason| reason.len() > 10), "{row}");
        }
    }

    #[test]
    fn a_file_overrides_rows_and_says_which_is_wrong() {
        let costs = Costs::with("fence.sc\tgpu\t7\tcheap here\n").expect("sound");
        assert_eq!((costs.of("fence.sc", "gpu"), costs.of("fence.sc", "cta")), (7, 16));
        assert_eq!(Costs::with("# ours\nfence.sc\tgpu\tmuch\n").expect_err("no number").line, 2);
        let unknown = "fence.sc\tgpu\t7\tours\nfence.full\tgpu\t9\tno such row\n";
        assert_eq!(Costs::with(unknown).expect_err("no such row").line, 2);
    }
}

//! Known findings: a file of them, and what is left of a report without them.
//!
//! A finding is known by its entry, its kind and the texts of its instructions, not by line numbers: code that moves keeps
//! its findings. Of findings that look alike, as many are known as the file says.

use serde::{Deserialize, Serialize};

use fencepost_syntax::sorted::{SharedSort as _, SortedMap};

use super::{Told, ToldFinding};

#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Identity {
    entry: String,
    kind: String,
    lines: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct Row {
    #[serde(flatten)]
    identity: Identity,
    count: u64,
}

#[derive(Serialize, Deserialize)]
struct File {
    version: u32,
    findings: Vec<Row>,
}

/// How many findings of each identity are known.
#[derive(Clone, Debug, Default)]
pub struct Baseline {
    known: SortedMap<Identity, u64>,
}

const VERSION: u32 = 1;

fn identity(told: &Told, finding: &ToldFinding) -> Identity {
    let mut lines: Vec<String> = finding.places.iter().map(|place| place.text.clone()).collect();
    // How many warps hang at one place is no part of what is wrong.
    if finding.kind == "hang" {
        lines.shared_sort();
        lines.dedup();
    }
    Identity { entry: told.entry.clone(), kind: finding.kind.to_owned(), lines }
}

/// A text that stays the same while the finding does, for tools that follow findings from run to run.
pub(super) fn fingerprint(told: &Told, finding: &ToldFinding) -> String {
    let own = identity(told, finding);
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    // FNV-1a: short, and the same everywhere.
    for part in [&own.entry, &own.kind].into_iter().chain(&own.lines) {
        for byte in part.bytes().chain([0]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    format!("{hash:016x}")
}

impl Baseline {
    /// Reads a file that [`Baseline::text`] wrote.
    pub fn read(text: &str) -> Result<Baseline, String> {
        let file: File = serde_json::from_str(text).map_err(|error| format!("it is no baseline: {error}"))?;
        if file.version != VERSION {
            return Err(format!("it is a baseline of version {}; this is version {VERSION}", file.version));
        }
        let mut known = SortedMap::new();
        for row in file.findings {
            *known.entry(row.identity).or_insert(0) += row.count;
        }
        Ok(Baseline { known })
    }

    /// All findings of these launches.
    pub fn of(told: &[Told]) -> Baseline {
        let mut known = SortedMap::new();
        for own in told {
            for finding in own.findings.iter().chain(&own.known) {
                *known.entry(identity(own, finding)).or_insert(0) += 1;
            }
        }
        Baseline { known }
    }

    pub fn text(&self) -> String {
        let findings =
            self.known.iter().map(|(identity, count)| Row { identity: identity.clone(), count: *count }).collect();
        let file = File { version: VERSION, findings };
        serde_json::to_string_pretty(&file)
            .map_or_else(|error| format!("{{\"error\":\"{error}\"}}\n"), |text| text + "\n")
    }

    /// Takes known findings out of a report, each as often as it is known.
    pub fn apply(&mut self, told: &mut Told) {
        let (mut left, mut known) = (Vec::new(), std::mem::take(&mut told.known));
        for finding in std::mem::take(&mut told.findings) {
            match self.known.get_mut(&identity(told, &finding)) {
                Some(count) if *count > 0 => {
                    *count -= 1;
                    known.push(finding);
                }
                _ => left.push(finding),
            }
        }
        told.findings = left;
        told.suppressed = known.len() as u64;
        told.known = known;
        told.judge();
    }
}

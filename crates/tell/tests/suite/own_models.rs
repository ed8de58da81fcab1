//! A model of somebody's own with the header of a shipped one gets the same service: races, undefined behaviour, repairs
//! and stories.

use std::path::{Path, PathBuf};

use super::check as advise;
use fencepost_check::{LoadedModel, Models, Options, load};
use fencepost_syntax::Source;
use fencepost_tell::explain::explain;

fn tests() -> Vec<PathBuf> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let folders = ["races", "proxies", "termination", "tcgen05", "async/wgmma", "async/cluster", "launch", "mp"];
    let mut found = Vec::new();
    for folder in folders {
        let files = std::fs::read_dir(corpus.join(folder)).expect("a folder of the corpus").flatten();
        let mut files: Vec<PathBuf> = files.map(|entry| entry.path()).collect();
        files.retain(|path| path.extension().is_some_and(|end| end == "litmus"));
        files.sort();
        found.extend(files.into_iter().step_by(9));
    }
    found
}

/// What the names begin with that a copy gives to relations, axioms and variants.
const OWN: &str = "my-";

/// The lines of a header that say what names stand for.
const LISTS: [&str; 3] = ["// relations:", "// axioms:", "// variants:"];

/// The text with other names for all that its header lists.
fn with_own_names(text: &str) -> String {
    let lists = text.lines().filter_map(|line| LISTS.iter().find_map(|list| line.strip_prefix(list)));
    let words: Vec<&str> = lists.flat_map(str::split_whitespace).collect();
    let names: Vec<&str> = words.iter().map(|word| word.split_once('=').map_or(*word, |(name, _)| name)).collect();
    let is_of_name = |next: char| next.is_ascii_alphanumeric() || "-_=".contains(next);
    let mut own = String::new();
    for line in text.lines() {
        if let Some(list) = LISTS.iter().find(|list| line.starts_with(**list)) {
            let words = line[list.len()..].split_whitespace().map(|word| match word.split_once('=') {
                Some(_) => format!("{OWN}{word}"),
                None => format!("{OWN}{word}={word}"),
            });
            own.push_str(&format!("{list} {}\n", words.collect::<Vec<_>>().join(" ")));
            continue;
        }
        // Readings are strings with a `=`, and no names of the list.
        for part in line.split_inclusive(|next: char| !is_of_name(next)) {
            let name = part.trim_end_matches(|next: char| !is_of_name(next));
            own.push_str(if !line.starts_with("//") && names.contains(&name) { OWN } else { "" });
            own.push_str(part);
        }
        own.push('\n');
    }
    own
}

/// The text of a shipped model in a file with another name, and with other names in it.
fn renamed(shipped: &LoadedModel) -> LoadedModel {
    let text = with_own_names(&shipped.source.text);
    for name in ["let my-causality =", "let my-base-causality =", "as my-single-copy-atomicity", "\"my-mixed-size\""] {
        assert!(text.contains(name), "{name}");
    }
    let source = Source::new("mine.cat", text);
    Models::from_source("mine", source, &mut |_| None).expect("the text of a model")
}

#[test]
fn a_shipped_model_under_another_name_gives_the_same_reports() {
    let ptx = Models::shipped("ptx").unwrap();
    let mine = renamed(&ptx);
    assert_eq!((&mine.vocabulary.purposes, mine.vocabulary.purposes.len()), (&ptx.vocabulary.purposes, 1));
    let (mut told, mut undefined, mut repaired) = (0, 0, 0);
    for path in tests() {
        let text = std::fs::read_to_string(&path).expect("a test");
        for test in load(&Source::new(path.display().to_string(), text)).0 {
            let (theirs, ours) = (advise(&test, &ptx, &Options::default()), advise(&test, &mine, &Options::default()));
            let stories = [(&ptx, &theirs), (&mine, &ours)].map(|(model, checked)| {
                let read = checked.model.as_deref().unwrap_or(model);
                explain(&test, read, checked).replace("under mine", "under ptx").replace(OWN, "")
            });
            let mut renamed = ours.report.clone();
            renamed.model.clone_from(&theirs.report.model);
            assert_eq!(theirs.report, renamed, "{}", path.display());
            assert_eq!(stories[0], stories[1], "{}", path.display());
            told += theirs.report.races.pairs.len();
            undefined += usize::from(theirs.report.undefined.is_some());
            let missing = theirs.report.races.pairs.iter().filter_map(|race| race.diagnosis.as_ref());
            repaired += missing.filter(|diagnosis| diagnosis.confirmed).count();
        }
    }
    assert!(told > 20 && undefined > 0 && repaired > 10, "{told} races, {undefined} undefined, {repaired} repaired");
}

/// Without its header the same text is a model that only flags things.
#[test]
fn without_a_header_nothing_is_assumed_and_nothing_repaired() {
    let text = Models::shipped("ptx").unwrap().source.text;
    let bare: Vec<&str> = text.lines().filter(|line| !line.starts_with("// assumes:")).collect();
    let bare: Vec<&str> = bare.into_iter().filter(|line| !line.starts_with("// repairs:")).collect();
    let source = Source::new("bare.cat", bare.join("\n"));
    let bare = Models::from_source("bare", source, &mut |_| None).unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/races/Race-weak-weak.litmus");
    let text = std::fs::read_to_string(path).expect("a test");
    let test = load(&Source::new("race.litmus", text)).0.remove(0);
    let report = advise(&test, &bare, &Options::default()).report;
    assert!(!report.races.pairs.is_empty() && report.races.pairs.iter().all(|race| race.diagnosis.is_none()));
}

#[test]
fn a_header_that_is_not_so_is_an_error() {
    let cases = [
        ("// findings: data-race\nacyclic po as a", "this model has no flag `data-race`"),
        ("// findings: r=dat-race\nflag ~empty po as r", "`dat-race` is no finding"),
        ("// relations: causality\nacyclic po as a", "this model has no relation `causality`"),
        (
            "// relations: hb=casuality\nlet hb = po; rf\nacyclic hb as a",
            "`casuality` is nothing that a name can stand for",
        ),
        ("// axioms: causality\nacyclic po as a", "this model has no axiom `causality`"),
        ("// variants: mixed-size\nacyclic po as a", "this model has no variant `mixed-size`"),
        ("// assumes: nothing\nacyclic po as a", "`nothing` is nothing that can be assumed"),
        ("// repairs: own\nacyclic po as a", "repairs are looked for with the relation `base-causality`"),
    ];
    for (text, message) in cases {
        let found = Models::from_source("m", Source::new("m.cat", text), &mut |_| None);
        let errors = found.err().unwrap_or_default();
        assert!(errors.iter().any(|(_, error)| error.message.contains(message)), "{text}: {errors:?}");
    }
}

/// A flag may have any name, if the header says what it means.
#[test]
fn flags_mean_what_the_header_says() {
    let text = "// findings: unordered=data-race\nlet conflict = ((W * M) | (M * W)) & loc & ext\nflag ~empty conflict \\ (IW * M) \\ (M * IW) as unordered";
    let model = Models::from_source("m", Source::new("m.cat", text), &mut |_| None).expect("a model");
    let test =
        "PTX t\n{ x = 0; }\nP0@cta 0 { st.weak.u32 [x], 1; }\nP1@cta 0 { ld.weak.u32 %r0, [x]; }\nexists (P1:%r0=1)\n";
    let test = load(&Source::new("t.litmus", test)).0.remove(0);
    let report = advise(&test, &model, &Options::default()).report;
    assert_eq!(report.races.pairs.len(), 1, "{:?}", report.races);
    assert_eq!(report.races.pairs[0].flag, "unordered");
    assert_eq!(report.races.pairs[0].kind, fencepost_report::finding::FindingKind::DataRace);
}

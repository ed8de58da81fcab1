//! Outcomes that must not be and that no race explains: each names two accesses, their proxies, what is missing and the section.

use std::path::{Path, PathBuf};

use super::check;
use fencepost_check::{Models, Options, load};
use fencepost_report::verdict::Verdict;
use fencepost_report::{Cause, Report};
use fencepost_syntax::Source;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus")
}

fn told(text: &str, model: &str) -> Report {
    let (mut tests, _) = load(&Source::new("test", text));
    check(&tests.remove(0), &Models::shipped(model).expect("a model"), &Options::default()).report
}

fn cause(report: &Report) -> &Cause {
    let cause = report.questions.first().and_then(|answer| answer.cause.as_deref());
    cause.expect("a cause")
}

fn pieces(cause: &Cause) -> String {
    cause.diagnosis.missing.iter().map(|missing| missing.sentence()).collect::<Vec<_>>().join("\n")
}

/// The test, what kind of mistake it is, the lines of the two accesses, and what is missing.
type Mistake = (&'static str, &'static str, (u32, u32), &'static [&'static str]);

const MISTAKES: &[Mistake] = &[
    (
        "wild/g6-vector-halves",
        "torn-vector",
        (9, 6),
        &["st.relaxed.sys.global.b128 [line]", "ld.relaxed.sys.global.b128"],
    ),
    ("algorithms/12-look-back/look-back-word-halves", "torn-vector", (9, 5), &["st.relaxed.gpu.global.b128 [w]"]),
    (
        "algorithms/13-locks/chase-lev-no-cas",
        "not-atomic",
        (7, 19),
        &["`atom.cas.relaxed.gpu.global.b32 %r1, [top], 0, 1`"],
    ),
    (
        "algorithms/13-locks/chase-lev-two-acq-rel",
        "missed-write",
        (7, 14),
        &["`fence.sc.gpu` in P0", "`fence.sc.gpu` in P1"],
    ),
    (
        "algorithms/13-locks/seqlock-no-reader-fence",
        "missed-write",
        (15, 5),
        &[
            "`.acquire` on P1's `ld.relaxed.gpu.global.u32 %r2, [a]`",
            "`.acquire` on P1's `ld.relaxed.gpu.global.u32 %r3, [b]`",
        ],
    ),
    (
        "algorithms/13-locks/seqlock-no-writer-fence",
        "missed-write",
        (15, 5),
        &[
            "`.release` on P0's `st.relaxed.gpu.global.u32 [a], 1`",
            "`.release` on P0's `st.relaxed.gpu.global.u32 [b], 1`",
        ],
    ),
    ("algorithms/13-locks/hazard-strong-acq-rel", "missed-write", (8, 20), &["`fence.sc.gpu` in P1 instead"]),
    ("algorithms/13-locks/hazard-strong-narrow-fence", "missed-write", (8, 20), &["`.gpu` on P0's `fence.sc.cta`"]),
    (
        "algorithms/13-locks/epoch-reclaim-no-fence",
        "missed-write",
        (6, 13),
        &["`fence.sc.gpu` in P0 between lines 5 and 6"],
    ),
    ("algorithms/13-locks/epoch-reclaim-relaxed-exit", "early-read", (20, 8), &["`.release` on P0's"]),
    (
        "algorithms/13-locks/counter-load-store",
        "not-atomic",
        (5, 12),
        &["`atom.relaxed.gpu.global.add.u32 %r1, [count], 1` in P0"],
    ),
    (
        "algorithms/15-multi-gpu/ll-words-two-stores",
        "missed-write",
        (14, 6),
        &["`.release.sys` on P0's", "`.acquire.sys` on P1's"],
    ),
    ("barriers/Bar-count-generations", "missed-write", (7, 20), &["`fence.sc.cta` in P0", "`fence.sc.cta` in P2"]),
];

#[test]
fn every_mistake_names_its_missing_piece() {
    for (name, kind, lines, wanted) in MISTAKES {
        let text = std::fs::read_to_string(corpus().join(format!("{name}.litmus"))).expect("the file");
        let report = told(&text, "ptx");
        let cause = cause(&report);
        let told = pieces(cause);
        assert_eq!(cause.kind.word(), *kind, "{name}: {told}");
        assert_eq!((cause.first.line, cause.second.line), *lines, "{name}: {told}");
        assert!(cause.diagnosis.confirmed, "{name}: {told}");
        let proxies = [cause.diagnosis.first.proxy, cause.diagnosis.second.proxy];
        assert_eq!(proxies, [Some(fencepost_report::site::Proxy::Generic); 2], "{name}");
        wanted.iter().for_each(|piece| assert!(told.contains(piece), "{name}: {piece} in\n{told}"));
    }
}

/// Every file of these folders, under the whole model.
#[test]
fn no_broken_promise_of_the_corpus_goes_without_a_word() {
    let mut met = 0;
    for folder in
        ["wild", "algorithms/11-split-k", "algorithms/12-look-back", "algorithms/13-locks", "algorithms/15-multi-gpu"]
    {
        for entry in std::fs::read_dir(corpus().join(folder)).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.extension().is_none_or(|found| found != "litmus") {
                continue;
            }
            let report = told(&std::fs::read_to_string(&path).expect("the file"), "ptx");
            let forbids = |kind: &str| matches!(kind, "forall" | "~exists");
            let broken = report.questions.iter().filter(|it| it.verdict == Verdict::Violated && forbids(&it.kind));
            for answer in broken.filter(|_| report.races.pairs.is_empty()) {
                let missing = answer.cause.as_ref().map_or(&[][..], |cause| &cause.diagnosis.missing);
                assert!(!missing.is_empty(), "{}", path.display());
                assert!(missing.iter().all(|missing| !missing.section.is_empty()), "{}", path.display());
                met += 1;
            }
        }
    }
    assert!(met >= 12, "{met}");
}

/// Under a model that knows nothing of diagnoses, as the whole one finds it.
#[test]
fn older_models_borrow_it() {
    let text = "PTX sb\n{ .global .u32 x = 0; .global .u32 y = 0; }\n\
        P0@cta 0 {\n st.relaxed.gpu.global.u32 [x], 1;\n ld.relaxed.gpu.global.u32 %r, [y];\n}\n\
        P1@cta 1 {\n st.relaxed.gpu.global.u32 [y], 1;\n ld.relaxed.gpu.global.u32 %r, [x];\n}\n\
        ~exists (P0:%r = 0 /\\ P1:%r = 0)\n";
    for model in ["ptx", "ptx-7.5", "ptx-6.0"] {
        let report = told(text, model);
        let told = pieces(cause(&report));
        assert_eq!(told.matches("`fence.sc.gpu`").count(), 2, "{model}: {told}");
    }
}

/// The shapes of the literature with relaxed accesses: what is missing is what a textbook says.
#[test]
fn the_shapes_of_the_literature() {
    let shape = |threads: &[&[&str]], question: &str| {
        let mut text = "PTX shape\n{ .global .u32 x = 0; .global .u32 y = 0; }\n".to_owned();
        for (at, thread) in threads.iter().enumerate() {
            text.push_str(&format!("P{at}@cta {at} {{\n{};\n}}\n", thread.join(";\n")));
        }
        told(&format!("{text}~exists ({question})\n"), "ptx")
    };
    let st = |name: &str, value: u32| format!("st.relaxed.gpu.global.u32 [{name}], {value}");
    let ld = |register: &str, name: &str| format!("ld.relaxed.gpu.global.u32 %{register}, [{name}]");
    let (x1, x2, y1, y2) = (st("x", 1), st("x", 2), st("y", 1), st("y", 2));
    let (ax, ay, bx, by) = (ld("a", "x"), ld("a", "y"), ld("b", "x"), ld("b", "y"));
    let cases: [(&str, Report, &[&str]); 6] = [
        (
            "MP",
            shape(&[&[&x1, &y1], &[&ay, &bx]], "P1:%a=1 /\\ P1:%b=0"),
            &["`.release` on P0's", "`.acquire` on P1's"],
        ),
        (
            "SB",
            shape(&[&[&x1, &ay], &[&y1, &ax]], "P0:%a=0 /\\ P1:%a=0"),
            &["`fence.sc.gpu` in P0", "`fence.sc.gpu` in P1"],
        ),
        (
            "LB",
            shape(&[&[&ax, &y1], &[&ay, &x1]], "P0:%a=1 /\\ P1:%a=1"),
            &["`.release` on P0's", "`.acquire` on P1's"],
        ),
        ("S", shape(&[&[&x2, &y1], &[&ay, &x1]], "P1:%a=1 /\\ x=2"), &["`.release` on P0's", "`.acquire` on P1's"]),
        ("2+2W", shape(&[&[&x1, &y2], &[&y1, &x2]], "x=1 /\\ y=1"), &["`fence.sc.gpu` in P0", "`fence.sc.gpu` in P1"]),
        (
            "IRIW",
            shape(&[&[&x1], &[&y1], &[&ax, &by], &[&ay, &bx]], "P2:%a=1 /\\ P2:%b=0 /\\ P3:%a=1 /\\ P3:%b=0"),
            &["`fence.sc.gpu` in P2", "`fence.sc.gpu` in P3"],
        ),
    ];
    for (name, report, wanted) in &cases {
        let cause = cause(report);
        let told = pieces(cause);
        assert!(cause.diagnosis.confirmed, "{name}: {told}");
        assert_eq!(cause.diagnosis.missing.len(), wanted.len(), "{name}: {told}");
        wanted.iter().for_each(|piece| assert!(told.contains(piece), "{name}: {piece} in\n{told}"));
    }
}

/// What nothing is missing of has no cause: a promise that is kept, and one about what may be.
#[test]
fn what_is_kept_has_no_cause() {
    for name in ["seqlock", "chase-lev", "hazard-strong", "epoch-reclaim", "counter-atomic"] {
        let path = corpus().join(format!("algorithms/13-locks/{name}.litmus"));
        let report = told(&std::fs::read_to_string(path).expect("the file"), "ptx");
        assert_eq!(report.verdict, Verdict::Holds, "{name}");
        assert!(report.questions.iter().all(|answer| answer.cause.is_none()), "{name}");
    }
}

/// What it is about, threads, the question, and what is missing; all of it was checked.
type Piece = (&'static str, &'static [&'static str], &'static str, &'static [&'static str]);

const PIECES: &[Piece] = &[
    (
        "two readers of one flag: one release and two acquires, and no fence",
        &[
            "st.relaxed.gpu.global.u32 [x], 1;\nst.relaxed.gpu.global.u32 [y], 1;",
            "A: ld.relaxed.gpu.global.u32 %f, [y];\nsetp.eq.u32 %p, %f, 0;\n@%p bra A;\nld.relaxed.gpu.global.u32 %v, [x];",
            "B: ld.relaxed.gpu.global.u32 %f, [y];\nsetp.eq.u32 %p, %f, 0;\n@%p bra B;\nld.relaxed.gpu.global.u32 %v, [x];",
        ],
        "forall (P1:%v = 1 /\\ P2:%v = 1)",
        &["`.release` on P0's `st.relaxed.gpu.global.u32 [y]", "`.acquire` on P1's", "`.acquire` on P2's"],
    ),
    (
        "the words stand on what is asked for, not on the data",
        &[
            "A: ld.relaxed.gpu.global.u32 %f, [y];\nsetp.eq.u32 %p, %f, 0;\n@%p bra A;\nst.relaxed.gpu.global.u32 [x], 2;",
            "ld.relaxed.gpu.global.u32 %v, [x];\nst.relaxed.gpu.global.u32 [y], 1;",
        ],
        "forall (P1:%v = 0)",
        &["`.acquire` on P0's `ld.relaxed.gpu.global.u32 %f, [y]", "`.release` on P1's `st.relaxed.gpu.global.u32 [y]"],
    ),
    (
        "what a red reads is no acquire",
        &[
            "st.relaxed.gpu.global.u32 [x], 1;\nst.release.gpu.global.u32 [y], 1;",
            "red.add.relaxed.gpu.global.u32 [y], 10;\nfence.acq_rel.gpu;\nld.relaxed.gpu.global.u32 %v, [x];",
        ],
        "~exists (y = 11 /\\ P1:%v = 0)",
        &["`atom` instead of P1's `red"],
    ),
    (
        "two bits of one word",
        &[
            "ld.relaxed.gpu.global.u32 %a, [x];\nor.b32 %b, %a, 1;\nst.relaxed.gpu.global.u32 [x], %b;",
            "ld.relaxed.gpu.global.u32 %a, [x];\nor.b32 %b, %a, 2;\nst.relaxed.gpu.global.u32 [x], %b;",
        ],
        "forall (x = 3)",
        &[
            "`atom.relaxed.gpu.global.or.b32 %a, [x], 1` in P0",
            "(line 6) has to go",
            "`atom.relaxed.gpu.global.or.b32 %a, [x], 2` in P1",
            "(line 11) has to go",
        ],
    ),
    (
        "a release is cheaper than the old fence in a wider scope",
        &[
            "st.relaxed.gpu.global.u32 [x], 1;\nmembar.cta;\nst.relaxed.gpu.global.u32 [y], 1;",
            "ld.relaxed.gpu.global.u32 %f, [y];\nmembar.gl;\nld.relaxed.gpu.global.u32 %v, [x];",
        ],
        "~exists (P1:%f = 1 /\\ P1:%v = 0)",
        &["`.release` on P0's `st.relaxed.gpu.global.u32 [y], 1`"],
    ),
    (
        "one half is there",
        &[
            "st.relaxed.gpu.global.u32 [x], 1;\nst.release.gpu.global.u32 [y], 1;",
            "atom.cas.release.gpu.global.b32 %f, [y], 1, 2;\nld.relaxed.gpu.global.u32 %v, [x];",
        ],
        "~exists (P1:%f = 1 /\\ P1:%v = 0)",
        &["`.acq_rel` on P1's `atom.cas.release"],
    ),
];

#[test]
fn an_author_would_write_the_same() {
    for (name, threads, question, wanted) in PIECES {
        let mut text = "PTX pieces\n{ .global .u32 x = 0; .global .u32 y = 0; }\n".to_owned();
        for (at, thread) in threads.iter().enumerate() {
            text.push_str(&format!("P{at}@cta {at} {{\n{thread}\n}}\n"));
        }
        let report = told(&format!("{text}{question}\n"), "ptx");
        let cause = cause(&report);
        let told = pieces(cause);
        assert!(cause.diagnosis.confirmed, "{name}: {told}");
        assert_eq!(cause.diagnosis.missing.len(), wanted.len(), "{name}: {told}");
        wanted.iter().for_each(|piece| assert!(told.contains(piece), "{name}: {piece} in\n{told}"));
    }
}

/// Strong data beside mbarriers, barriers of clusters and dependent launches: what the search for races would say.
#[test]
fn barriers_and_launches_lack_what_races_lack() {
    let cases = [
        (
            "PTX t\n{ .shared .u32 s = 1; .shared .mbarrier b = 1; }\nP0@cta 0 {\n\
             W: mbarrier.try_wait.parity.shared::cta.b64 %p, [b], 0;\n@!%p bra W;\nst.relaxed.cta.shared.u32 [s], 2;\n}\n\
             P1@cta 0 {\nld.relaxed.cta.shared.u32 %v, [s];\nmbarrier.arrive.relaxed.cta.shared::cta.b64 _, [b];\n}\n\
             forall (P1:%v = 1)\n",
            "`.release` on P1's `mbarrier.arrive.relaxed",
        ),
        (
            "PTX t\n{ .shared .u32 s = 0; }\nP0@cta 0, cluster 0 {\nst.relaxed.cluster.shared.u32 [s], 5;\n\
             barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;\nbarrier.cluster.arrive.aligned;\n\
             barrier.cluster.wait.aligned;\n}\nP1@cta 1, cluster 0 {\nbarrier.cluster.arrive.aligned;\n\
             barrier.cluster.wait.aligned;\nld.relaxed.cluster.shared::cluster.u32 %v, [s@0];\n\
             barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n}\nforall (P1:%v = 5)\n",
            "`.release` on P0's `barrier.cluster.arrive.relaxed",
        ),
        (
            "PTX t\n{ .global .u32 x = 0; .global .u32 f = 0; }\nP0@cta 0 {\nst.release.gpu.global.u32 [f], 1;\n\
             st.relaxed.gpu.global.u32 [x], 1;\n}\nP1@cta 1 {\nW: ld.acquire.gpu.global.u32 %f, [f];\n\
             setp.eq.u32 %p, %f, 0;\n@%p bra W;\nld.relaxed.gpu.global.u32 %v, [x];\n}\nforall (P1:%v = 1)\n",
            "P0's `st.release.gpu.global.u32 [f], 1` (line 4) belongs after line 5",
        ),
    ];
    for (text, wanted) in cases {
        let report = told(text, "ptx");
        let cause = cause(&report);
        assert!(cause.diagnosis.confirmed && pieces(cause).contains(wanted), "{wanted}: {}", pieces(cause));
        assert!(!cause.diagnosis.why.contains("no fence helps"), "{}", cause.diagnosis.why);
    }
}

/// Nothing that one execution does and another does not.
#[test]
fn what_every_execution_does_has_no_cause() {
    let text = "PTX t\n{ .shared .u32 x = 0; }\nP0@cta 0 {\nst.shared.u32 [x], 1;\nbar.sync 0;\n}\n\
        P1@cta 0 {\nbar.sync 0;\nld.shared.u32 %r, [x];\n}\nforall (P1:%r = 2)\n";
    let report = told(text, "ptx");
    assert_eq!(report.verdict, Verdict::Violated);
    assert!(report.questions[0].cause.is_none());
}

/// Three threads around: releases and acquires are enough, and are told.
#[test]
fn three_threads_need_no_sequentially_consistent_fence() {
    let thread =
        |from: &str, to: &str| format!("ld.relaxed.gpu.global.u32 %r, [{from}];\nst.relaxed.gpu.global.u32 [{to}], 1;");
    let mut text = "PTX t\n{ .global .u32 x = 0; .global .u32 y = 0; .global .u32 z = 0; }\n".to_owned();
    for (at, (from, to)) in [("x", "y"), ("y", "z"), ("z", "x")].into_iter().enumerate() {
        text.push_str(&format!("P{at}@cta {at} {{\n{}\n}}\n", thread(from, to)));
    }
    let report = told(&format!("{text}~exists (P0:%r = 1 /\\ P1:%r = 1 /\\ P2:%r = 1)\n"), "ptx");
    let cause = cause(&report);
    assert!(cause.diagnosis.confirmed && !pieces(cause).contains("fence.sc"), "{}", pieces(cause));
}

/// Two accesses of one line are told apart by their text.
#[test]
fn accesses_of_one_line_have_their_own_names() {
    let text = "PTX t\n{ .global .u32 x = 0; .global .u32 y = 0; }\n\
        P0@cta 0 { st.relaxed.gpu.global.u32 [x], 1; st.relaxed.gpu.global.u32 [y], 1; }\n\
        P1@cta 1 { ld.relaxed.gpu.global.u32 %a, [y]; ld.relaxed.gpu.global.u32 %b, [x]; }\n\
        ~exists (P1:%a = 1 /\\ P1:%b = 0)\n";
    let report = told(text, "ptx");
    let why = &cause(&report).diagnosis.why;
    assert!(why.starts_with("P1's `ld.relaxed.gpu.global.u32 %b, [x]` (line 4) misses P0's `st"), "{why}");
}

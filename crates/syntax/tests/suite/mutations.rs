//! Texts broken at random: no parser panics, every span lies in its text, and what still parses survives printing.

use crate::random;

use fencepost_syntax::{Diagnostic, litmus, ptx};
use random::Random;

const LITMUS: [&str; 7] = [
    "PTX mp\n\"text\"\nKey=Value\n{ x = 0; int y = 1; P0:r1 = x; t @ texture aliases x; .global .u32 z[4] = 1; }\n\
     P0@cta 0,gpu 0 | P1@cta 1, cluster 2 ;\n LC00: | ld.acquire.gpu r0, x ;\n st.weak x, 1 | bne r0, 0, LC00 ;\n\
     locations [x; 0:r1;]\nfilter (x = 1)\nexists (1:r0 = 1 /\\ (x != 0 \\/ ~y[2] >= -3))",
    "PTX real\n{ .reg .pred %p<4>; P0:.reg .u32 a, b; }\nP0 | P1 ;\n @!%p bra L1; | ld.b32 {%r1, %r2}, [x+8]; ;\n\
     L1: | setp.eq.s32 %p|%q, %r1, 0; ;\n | cp.async [%rd1, {%r1}], (a, _), !%p, 0f3F800000, \"s\"; ;\nforall true",
    "PTX blocks\n{ }\nP0@gpu 1 {\n .reg .pred p;\n again: @p bra again;\n fence.sc.gpu\n st.weak [x], 1; }\nP1 { }\nnot exists x = 1",
    "X86 sb\n{ x=0; 0:EAX=1; uint64_t 1:rbx; }\n P0 | P1 ;\n MOV [x],$1 | lock xadd [y+4], EAX ;\n mfence | L0: jmp L0 ;\n\
     final (0:EAX=0 /\\ [y]=1);\nwith tso: ~exists;\n<< show >> (* end *)",
    "X86_64 att\n{}\nP0 ;\n movl $1,(x) ;\n movq 8(%rax), %rbx ;\n xchgl %eax, y(%rip) ;\nexists (x = 1)",
    "X86 block\n{}\nP0 {\n mov [x], 1\n mfence\n mov EAX, [y]; jne L0\n}\nforall (0:EAX = 1)",
    ".global x;\n.texref t virtually aliases x;\n.shared .u32 s = 1;\nd0.b0.t0 { st.weak [x], 1; tld r0, [t] == 1; }\n\
     d0.b1.t0 { $0 $1, [x]; }\npermit (r0 == 1 && !(r1 != 2 || true)) as name;\n$$\nld | r1\n# no\nsuld | r2\n",
];

const MODULES: [&str; 1] = [
    ".version 8.7\n.target sm_90a // why\n.address_size 64\n.extern .shared .align 16 .b8 smem[];\n.global .u32 t[2] = {1, 2};\n\
     .extern .func (.param .b32 r) g (.param .b32 a);\n\
     .visible .entry k(\n .param .u64 p\n)\n.reqntid 128\n{\n .reg .b32 %r<5>;\n .loc 1 2 3\n {\n  @!%p1 ld.b32 %r1, [p+-8];\n }\n\
     $L1:\n wgmma.m64n8k16.f32 {%f1, %f2}, 0x10, 1, -1;\n mov.u32 %r1, %tid.x;\n call.uni (r), g, (%r1);\n bra $L1;\n}\n\
     .section .debug_info\n{\n.b8 1\n.b32 .debug_abbrev\n}\n.file 1 \"a.py\"\n",
];

const PIECES: [&str; 44] = [
    ";", "|", "||", ",", "{", "}", "[", "]", "(", ")", "\n", " ", ":", "@", "!", "~", "=", "==", "$", "$$", "%", "%r1",
    "r1", "-", "+", "0", "0x", "1.5", ".", "::", "exists", "not", "forall", "lock", "x", "P0", "/\\", "(*", "*)", "//",
    "<<", ">>", "\"", "\0é",
];

/// A text with a few random edits at character boundaries.
fn mutate(text: &str, random: &mut Random) -> String {
    let mut text = text.to_owned();
    for _ in 0..=random.below(3) {
        let boundary =
            |text: &str, at: usize| (at..=text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len());
        let start = boundary(&text, random.below(text.len() + 1));
        let end = boundary(&text, (start + random.below(12)).min(text.len()));
        let replacement = match random.below(4) {
            0 => String::new(),
            1 => text[start..end].repeat(2),
            2 => {
                let from = boundary(&text, random.below(text.len() + 1));
                let to = boundary(&text, (from + random.below(30)).min(text.len()));
                text[from..to].to_owned()
            }
            _ => random.pick(&PIECES).to_owned(),
        };
        text.replace_range(start..end, &replacement);
    }
    text
}

fn in_text(text: &str, diagnostics: &[Diagnostic]) {
    assert!(diagnostics.len() <= 50);
    for diagnostic in diagnostics {
        let span = diagnostic.span;
        assert!(text.get(span.start as usize..span.end as usize).is_some(), "{diagnostic:?} in {text:?}");
    }
}

#[test]
fn litmus_tests() {
    let mut random = Random(1);
    let mut survivors = 0;
    for round in 0..14_000 {
        let text = mutate(LITMUS[round % LITMUS.len()], &mut random);
        let (tests, diagnostics) = litmus::parse_named("name.litmus", &text);
        in_text(&text, &diagnostics);
        assert!(!tests.is_empty() || !diagnostics.is_empty(), "neither a tree nor a reason: {text:?}");
        for test in tests {
            survivors += 1;
            let printed = litmus::print(&test);
            let (again, diagnostics) = litmus::parse_named(&format!("{}.litmus", test.name.node), &printed);
            assert_eq!(again, [test], "from {text:?}\nprinted {printed}\n{diagnostics:#?}");
        }
    }
    assert!(survivors > 1_000, "{survivors}");
}

#[test]
fn modules() {
    let mut random = Random(2);
    let mut survivors = 0;
    for round in 0..7_000 {
        let text = mutate(MODULES[round % MODULES.len()], &mut random);
        let (module, diagnostics) = ptx::parse(&text);
        in_text(&text, &diagnostics);
        if diagnostics.is_empty() {
            survivors += 1;
            let printed = ptx::print(&module);
            let (again, diagnostics) = ptx::parse(&printed);
            assert!(diagnostics.is_empty(), "from {text:?}\nprinted {printed}\n{diagnostics:#?}");
            assert_eq!(again, module, "from {text:?}\nprinted {printed}");
        }
    }
    assert!(survivors > 700, "{survivors}");
}

//! What each notation turns into, one small test per rule.

use fencepost_syntax::instruction::{Instruction, Operand};
use fencepost_syntax::litmus::{
    AliasKind, Condition, Declaration, Dialect, InitialAddress, InitialValue, LaunchOrder, Layout, Litmus, Placement,
    QuestionKind, Side, Statement, Term, parse, print,
};

fn good(text: &str) -> Litmus {
    let (tree, diagnostics) = parse(text);
    assert!(diagnostics.is_empty(), "{text}\n{diagnostics:#?}");
    let tree = tree.expect("a tree where nothing is wrong");
    let printed = print(&tree);
    let (again, diagnostics) = parse(&printed);
    assert!(diagnostics.is_empty(), "printed:\n{printed}\n{diagnostics:#?}");
    assert_eq!(Some(&tree), again.as_ref(), "printed:\n{printed}");
    tree
}

fn instructions(litmus: &Litmus, thread: usize) -> Vec<&Instruction> {
    let body = litmus.threads[thread].body.iter();
    body.filter_map(|statement| match statement {
        Statement::Instruction { instruction, .. } => Some(instruction),
        Statement::Label(_) | Statement::C(_) => None,
    })
    .collect()
}

fn operands(instruction: &Instruction) -> Vec<&Operand> {
    instruction.operands.iter().map(|operand| &operand.node).collect()
}

#[test]
fn real_ptx_in_columns() {
    let test = good(
        "PTX mp\n{ .global .u32 x = 1; .shared .b64 s[4]; .reg .u32 %r<4>; P0:.reg .pred %p; P1:%rd1 = x; t @ texture aliases x }\n\
         P0@cta 0, cluster 2, gpu 1 | P1@gpu 0,cta 1 ;\n\
         st.relaxed.gpu.global.u32 [x], 1; | $L__BB0_2: ;\n\
         @!%p bra L1; | ld.acquire.gpu.u32 %r1, [%rd1+-8]; ;\n\
         mov.b64 {%r1, %r2}, %rd1; | setp.eq.s32 %p|%q, %r1, 0; ;\n\
         L1: | @%p bra $L__BB0_2; ;\n\
         exists (1:%r1 = 0x1f /\\ P1:%p != -1 \\/ not (x < 3))",
    );
    assert_eq!((test.layout, test.dialect), (Layout::Columns, Dialect::Ptx));
    assert_eq!(
        test.threads[0].placement,
        Placement { cta: Some(0), cluster: Some(2), gpu: Some(1), ..Placement::default() }
    );
    assert_eq!(test.threads[1].placement, Placement { cta: Some(1), gpu: Some(0), ..Placement::default() });
    let first = instructions(&test, 0);
    let modifiers: Vec<&str> = first[0].modifiers.iter().map(|modifier| modifier.node.as_str()).collect();
    assert_eq!(modifiers, ["relaxed", "gpu", "global", "u32"]);
    assert!(first[1].guard.as_ref().is_some_and(|guard| guard.negated && guard.register.node == "%p"));
    let second = instructions(&test, 1);
    let Operand::Address(address) = operands(second[0])[1] else { panic!("an address") };
    assert_eq!((address.base.node.clone(), address.offset), (Operand::Register("%rd1".into()), -8));
    assert!(matches!(operands(second[1])[0], Operand::Pair(..)));
    assert!(matches!(&test.declarations[5].node, Declaration::Alias { kind: AliasKind::Texture, .. }));
    let Declaration::Register { value, .. } = &test.declarations[4].node else { panic!("a register") };
    assert_eq!(value.node, InitialValue::Name("x".to_owned()));
}

#[test]
fn an_instance_is_part_of_a_name() {
    let test = good(
        "PTX t\n{ .version 8.6; .target sm_90a; .shared .mbarrier b = 2; .tmem .b32 d[4]; P0:%rd1 = s@1; }\n\
         P0@cta 0, gpu 0 {\n  ld.shared.u32 %r1, [s@1+4]\n  @%p1 st.shared.u32 [s@0], 1\n}\n\
         exists (s@1[2] = 2 /\\ [s@0] = 1 /\\ s@1=3)",
    );
    assert_eq!(test.declarations[0].node, Declaration::Version { major: 8, minor: 6 });
    let Declaration::Register { value, .. } = &test.declarations[4].node else { panic!("a register") };
    assert_eq!(value.node, InitialValue::Name("s@1".to_owned()));
    let code = instructions(&test, 0);
    let Operand::Address(address) = operands(code[0])[1] else { panic!("an address") };
    assert_eq!((address.base.node.clone(), address.offset), (Operand::Symbol("s@1".into()), 4));
    assert!(code[1].guard.is_some(), "a guard on the next line is none of the name before it");
    let Condition::And(parts) = &test.questions[0].condition.node else { panic!("a conjunction") };
    let Condition::Compare { left, .. } = &parts[0].node else { panic!("a comparison") };
    assert_eq!(left.node, Term::Location { name: "s@1".into(), index: Some(2) });
    for wrong in [".version x;", ".version 8;", ".target;"] {
        assert!(!parse(&format!("PTX t\n{{ {wrong} }}\nP0 ;\n")).1.is_empty(), "{wrong}");
    }
}

#[test]
fn an_empty_first_cell_is_no_end_of_the_cell_before() {
    let test = good("PTX t\n{}\nP0 | P1 ;\n ld.weak r0, x | st.weak x, 1 ;\n | st.weak x, 2 ;\n");
    assert_eq!((test.threads[0].body.len(), test.threads[1].body.len()), (1, 2));
    assert!(test.questions.is_empty());
}

#[test]
fn adjacent_bars_leave_a_cell_empty() {
    let test = good("PTX t\n{}\nP0|P1|P2;\nld.weak r0,x||ld.weak r2,x;\nexists (0:r0 = 1 || 2:r2 = 1 && x = 0)");
    let lengths: Vec<usize> = test.threads.iter().map(|thread| thread.body.len()).collect();
    assert_eq!(lengths, [1, 0, 1]);
    assert!(matches!(test.questions[0].condition.node, Condition::Or(_)));
}

#[test]
fn blocks_of_real_ptx() {
    let test = good(
        "PTX long\n\"a comment\"\nKey=Value\n{ x = 0; }\nP0@cta 0, gpu 0 {\n  .reg .pred p;\n  ld.relaxed.gpu.u32 %r1,\n    [x];\n\
         again: setp.eq.s32 p, %r1, 0;\n @p bra again;\n fence.sc.gpu;\n st.weak.u32 [x], 1; bar.sync 0 }\n\
         P1 { }\nfilter x = 1\nlocations [x; 0:%r1;]\n~exists (x = 1)",
    );
    assert_eq!((test.layout, test.dialect), (Layout::Blocks, Dialect::Ptx));
    assert_eq!(test.comments, "\"a comment\"\nKey=Value\n");
    assert_eq!(instructions(&test, 0).len(), 6);
    assert_eq!(operands(instructions(&test, 0)[1])[0], &Operand::Register("p".into()), "declared by `.reg`");
    assert_eq!(test.questions[0].kind, QuestionKind::NotExists);
    assert_eq!(test.locations.len(), 2);
    assert!(test.filter.is_some());
}

#[test]
fn blocks_of_the_bracket_free_dialect() {
    let test = good("PTX long\n{}\nP0@cta 0,gpu 0 {\n LC00:\n ld.relaxed.gpu r0, x\n bne r0, 0, LC00\n}\nexists 0==0");
    assert_eq!((test.layout, test.dialect), (Layout::Blocks, Dialect::Dartagnan));
    assert_eq!(test.threads[0].body.len(), 3);
}

/// Without a register or a location the instructions themselves say which dialect it is.
#[test]
fn a_test_of_barriers_alone() {
    let dialect = |code: &str| good(&format!("PTX t\n{{ x = 0; }}\nP0@cta 0 {{\n {code}\n}}\nforall (true)")).dialect;
    for code in ["barrier.cluster.arrive;\n barrier.cluster.wait;", "bar.sync 0;", "bar.warp.sync 1;", "ret;"] {
        assert_eq!(dialect(code), Dialect::Ptx, "{code}");
    }
    for code in ["bar.cta.sync 1", "bar.sync 0\n ld.weak r0, x"] {
        assert_eq!(dialect(code), Dialect::Dartagnan, "{code}");
    }
}

#[test]
fn x86_as_herd_writes_it() {
    let test = good(
        "X86_64 t\n{ uint64_t x = 2; uint64_t 0:rax; 0:EBX=1; [y]=1 }\nP0 | P1 ;\n MOV [x],$1 | lock xadd [x+4], eax ;\n\
         mfence | lock inc [y] ;\n cmp EAX, -1 | L0: ;\n JNE L0 | movq al, [rax-8] ;\nforall (0:rax=1 /\\ [y]=2);\nwith\ntso: ~exists;\n<<\nshow\n>>",
    );
    assert_eq!(test.dialect, Dialect::X86);
    let second = instructions(&test, 1);
    assert_eq!(second[0].prefix.as_ref().map(|prefix| prefix.node.as_str()), Some("lock"));
    assert_eq!(operands(second[0])[1], &Operand::Register("EAX".into()));
    assert_eq!(operands(second[2])[0], &Operand::Register("AL".into()));
    assert_eq!(instructions(&test, 0)[0].opcode.node, "mov");
    let Condition::And(parts) = &test.questions[0].condition.node else { panic!("a conjunction") };
    let Condition::Compare { left, .. } = &parts[0].node else { panic!("a comparison") };
    assert_eq!(left.node, Term::Register { thread: Some(0), name: "RAX".into() });
}

#[test]
fn att_operands_are_turned_round() {
    let att = good(
        "X86_64 t\n{}\nP0 ;\n movl $1,(x) ;\n movl 8(%rax),%ebx ;\n movq y(%rip), %rcx ;\n incl (x) ;\nexists (x=1)",
    );
    let intel =
        good("X86_64 t\n{}\nP0 ;\n movl [x],$1 ;\n movl EBX,[RAX+8] ;\n movq RCX,[y] ;\n incl [x] ;\nexists (x=1)");
    assert_eq!(att, intel);
}

#[test]
fn x86_blocks() {
    let test = good(
        "X86 t\n{}\nP0 {\n mov [x], $1\n mfence\n L0: mov EAX, [y]; jmp L0\n}\nP1 {\n mov [y], 1 }\nfinal (0:EAX=0)",
    );
    assert_eq!((test.layout, instructions(&test, 0).len()), (Layout::Blocks, 4));
    assert_eq!(test.questions[0].kind, QuestionKind::Exists);
}

#[test]
fn nvlitmus_without_a_template() {
    let text = ".global x;\n.global y physically aliases x;\n.surfref s virtually aliases x;\n// a comment\n\
                d0.b1.t0 { sust [s], 1; ld.acquire.cta r0, [y] == 1; }\nd1.b0.t0 { }\n\
                permit (r0 == 1 && !(r0 != 2 || not r0 == 3)) as first; check(r0 == 1);";
    let test = good(text);
    assert_eq!((test.layout, test.dialect), (Layout::NvLitmus, Dialect::NvLitmus));
    assert_eq!(test.threads[0].placement, Placement { cta: Some(1), gpu: Some(0), ..Placement::default() });
    assert!(matches!(&test.threads[0].body[1], Statement::Instruction { assume: Some(value), .. } if value.node == 1));
    let kinds: Vec<QuestionKind> = test.questions.iter().map(|question| question.kind).collect();
    assert_eq!(kinds, [QuestionKind::Permit, QuestionKind::Check]);
    assert_eq!(test.questions[0].name.as_ref().map(|name| name.node.as_str()), Some("first"));
}

/// Forms of herd's that are rarely met: types in `locations`, `<>`, a condition without a quantifier, `observed`.
#[test]
fn rare_forms_of_herd() {
    let condition = |rest: &str| {
        let test =
            good(&format!("X86 t\n{{ int t[2] = {{1, 2}}; x=0; }}\n P0 | P1 ;\n MOV [x],$1 | MOV EAX,[x] ;\n{rest}\n"));
        let question = &test.questions[0];
        assert_eq!(question.kind, QuestionKind::Exists, "{rest}");
        (test.locations.len(), question.condition.node.clone())
    };
    let plain = |text: &str| condition(&format!("exists ({text})")).1;
    assert_eq!(condition("locations [x int; 1:EAX uint32_t*; t]\nexists (x=1)"), (3, plain("x=1")));
    assert_eq!(condition("(x=1)").1, plain("x=1"));
    assert_eq!(condition("exists (1:EAX <> 0)").1, plain("1:EAX != 0"));
    assert_eq!(condition("exists (t <> {2,3})").1, plain("~(t[0]=2 /\\ t[1]=3)"));
    let observed = "observed 1:EAX=0; x=1; and 1:EAX=1; x=1;";
    assert_eq!(condition(observed).1, plain("(1:EAX=0 /\\ x=1) \\/ (1:EAX=1 /\\ x=1)"));
}

/// In AT&T's notation a name alone would be memory to an assembler; herd does not read it.
#[test]
fn a_bare_name_in_att_is_refused() {
    let (test, diagnostics) = parse("X86_64 t\n{ x=7; }\n P0 ;\n movl x,%eax ;\nforall (0:rax=7)\n");
    assert!(test.is_none() && diagnostics.iter().any(|it| it.message.contains("a name alone")), "{diagnostics:?}");
    let test = good(
        "X86_64 t\n{ x=7; uint64_t t[2]={3,4}; 0:rdi=t; }\n P0 ;\n movq $x,%rax ;\n movq 8[%rdi],%rbx ;\nforall (0:rbx=4)\n",
    );
    assert_eq!(instructions(&test, 0).len(), 2);
}

/// The exact forms of floating-point constants are bits.
#[test]
fn initial_values_may_be_floats() {
    let test = good(
        "PTX t\n{ .global .f32 y = 0f3F800000; }\nP0@cta 0 {\nld.global.f32 %f1, [y];\n}\nforall (y = 0x3F800000)",
    );
    let value = |declaration: &Declaration| match declaration {
        Declaration::Location { value: Some(value), .. } => Some(value.node.clone()),
        _ => None,
    };
    let found: Vec<InitialValue> = test.declarations.iter().filter_map(|it| value(&it.node)).collect();
    assert!(matches!(found.as_slice(), [InitialValue::Integer(0x3f80_0000)]), "{found:?}");
}

/// NVLitmus continues a thread that stands a second time, and calls the constant proxy's references `.conref`.
#[test]
fn nvlitmus_continues_threads() {
    let text = ".global x;\n.conref c virtually aliases x;\nd0.b0.t0 { st [x], 1; }\nd0.b1.t0 { ld r1, [x]; }\n\
                d0.b0.t0 { ldc r0, [c]; }\npermit (r0 == 1) as p;";
    let test = good(text);
    let names: Vec<&str> = test.threads.iter().map(|thread| thread.name.node.as_str()).collect();
    assert_eq!(names, ["d0.b0.t0", "d0.b1.t0"]);
    assert_eq!((instructions(&test, 0).len(), instructions(&test, 1).len()), (2, 1));
    let is_constant =
        |declaration: &&Declaration| matches!(declaration, Declaration::Alias { kind: AliasKind::Constant, .. });
    assert_eq!(test.declarations.iter().map(|it| &it.node).filter(is_constant).count(), 1);
}

/// herd's grammar: `=>` binds tighter than `/\` and `\/`, and to the right.
#[test]
fn implications_bind_tighter_than_conjunctions() {
    let condition = |condition: &str| {
        let (test, diagnostics) = parse(&format!("X86 t\n{{}}\nP0 ;\nmov [x],1 ;\nforall ({condition})"));
        let test = test.expect("a test");
        (test.questions[0].condition.node.clone(), diagnostics.len())
    };
    let same = |ours: &str, meant: &str, warnings: usize| {
        assert_eq!(condition(ours).0, condition(meant).0, "{ours}");
        assert_eq!(condition(ours).1, warnings, "{ours}");
    };
    same("x=1 /\\ y=1 => z=1", "x=1 /\\ (~y=1 \\/ z=1)", 1);
    same("x=1 => y=1 \\/ z=1", "(~x=1 \\/ y=1) \\/ z=1", 1);
    same("(x=1 /\\ y=1) => z=1", "~(x=1 /\\ y=1) \\/ z=1", 0);
    same("~x=1 => y=1 => z=1", "~(~x=1) \\/ ~y=1 \\/ z=1", 0);
    same("(x=1 => y=1) /\\ z=1", "(~x=1 \\/ y=1) /\\ z=1", 0);
}

#[test]
fn kernels_hosts_and_launches() {
    let text = "PTX t\n{ .launch 0 -> 1; .launch 1 => 2; x = 0; }\n P0@cta 0, gpu 0, kernel 2 | P1@host ;\n st.u32 [x], 1 | launch 2 ;\n";
    let (test, diagnostics) = parse(text);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let test = test.expect("a tree");
    let launches: Vec<_> = (test.declarations.iter())
        .filter_map(|declaration| match &declaration.node {
            Declaration::Launch { first, order, second } => Some((first.node, *order, second.node)),
            _ => None,
        })
        .collect();
    assert_eq!(launches, [(0, LaunchOrder::Stream, 1), (1, LaunchOrder::Dependent, 2)]);
    assert_eq!(test.threads[0].placement.kernel, Some(2));
    assert_eq!(test.threads[1].placement, Placement { side: Side::Host, ..Placement::default() });
    let (again, _) = parse(&print(&test));
    assert_eq!(again.as_ref(), Some(&test));
    for wrong in ["{ .launch 0 1; }", "{ .launch 0 - 1; }", "{ .launch x -> 1; }", "{ .launch 0 ->; }"] {
        let (_, diagnostics) = parse(&format!("PTX t\n{wrong}\n P0 ;\n ld.u32 %r1, [x] ;\n"));
        assert!(!diagnostics.is_empty(), "{wrong}");
    }
}

#[test]
fn blocks_in_braces_have_names_of_their_own() {
    let text = "PTX t\n{ }\nP0 {\n  mov.u32 %x, 1;\n  {\n    .reg .pred p; .reg .b32 %x; .reg .b32 t<3>;\nW:\n    mov.u32 %x, t2;\n    @!p bra W;\n  }\n  {\n    .reg .pred p; { .reg .pred p;\nW:\n    @p bra W; }\n    setp.eq.u32 p, %x, 1;\n  }\n}\n";
    let (test, diagnostics) = parse(text);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let printed = print(&test.expect("a test"));
    for line in ["mov.u32 %x$1, t2;", "W$1:", "@!p$1 bra W$1;", "@p$2 bra W;", "setp.eq.u32 p, %x, 1;"] {
        assert!(printed.contains(line), "{line} in\n{printed}");
    }
    let again = parse(&printed).0.map(|test| print(&test));
    assert_eq!(again.as_deref(), Some(printed.as_str()));
    let open = parse("PTX t\n{ }\nP0 {\n  {\n  mov.u32 %x, 1;\n}\n").1;
    assert_eq!(open.len(), 1, "{open:?}");
}

/// The value of a location is not its address: neither is taken for the other.
#[test]
fn the_address_of_a_location_is_not_its_value() {
    let test = good(
        "PTX t\n{ .global .u32 y[4] = 3; .global .u32 q = z; .param .u64 p = &y[2]+4; \
         .param .u64 l[2] = {&y, -1}; P0:%rd1 = &y+8; P0:%rd2 = y; }\nP0 {\n ld.param.u64 %rd1, [p];\n}\n",
    );
    let value = |at: usize| match &test.declarations[at].node {
        Declaration::Location { value, .. } => value.clone().expect("a value").node,
        Declaration::Register { value, .. } => value.node.clone(),
        other => panic!("{other:?}"),
    };
    let address = |element: Option<u32>, offset: i128| {
        InitialValue::Address(InitialAddress { name: "y".to_owned(), element, offset })
    };
    assert_eq!(value(1), InitialValue::Name("z".to_owned()));
    assert_eq!(value(2), address(Some(2), 4));
    let InitialValue::List(elements) = value(3) else { panic!("a list") };
    let elements: Vec<InitialValue> = elements.into_iter().map(|element| element.node).collect();
    assert_eq!(elements, [address(None, 0), InitialValue::Integer(-1)]);
    assert_eq!(value(4), address(None, 8));
    assert_eq!(value(5), InitialValue::Name("y".to_owned()));
    for wrong in ["p = &;", "p = &3;", "p = &y[;", "p = &y+;", "p = {&y;"] {
        let (_, diagnostics) = parse(&format!("PTX t\n{{ .global .u64 {wrong} }}\nP0 {{\n ld.u64 %rd1, [p];\n}}\n"));
        assert!(!diagnostics.is_empty(), "{wrong}");
    }
}

#[test]
fn what_compilers_write_for_debuggers_is_read_over() {
    let plain = good("PTX t\n{ }\nP0 {\n mov.u32 %x, 1;\n st.u32 [y], %x;\n}\n");
    let pasted = good(
        "PTX t\n{ }\nP0 {\n .loc 1 25 0 // a.py:25:0\n mov.u32 %x, 1;\n .pragma \"nounroll\";\n\
         .loc 1 26 33, function_name $L__info0, inlined_at 1 7 2\n st.u32 [y], %x;\n .loc 1 27 1\n}\n",
    );
    assert_eq!(print(&pasted), print(&plain));
}

#[test]
fn streams_events_replicas_and_unknown_values() {
    let test = good(
        "PTX t\n{ .stream a: 0 -> 1 => 2; .event e: 1 -> 3, 4; .event f: 2; .launch 5 -> 6, 5 => 7; x = ?; .shared .b32 s[2] = ?;\n\
         m @ multimem aliases x, y; }\nP0@cta 0, gpu 0 {\n st.u32 [x], 1;\n}\n",
    );
    let Declaration::Stream { name, first, then } = &test.declarations[0].node else { panic!("a stream") };
    let then: Vec<_> = then.iter().map(|(order, kernel)| (*order, kernel.node)).collect();
    assert_eq!((name.node.as_str(), first.node), ("a", 0));
    assert_eq!(then, [(LaunchOrder::Stream, 1), (LaunchOrder::Dependent, 2)]);
    let Declaration::Event { after, before, .. } = &test.declarations[1].node else { panic!("an event") };
    assert_eq!((after.node, before.iter().map(|kernel| kernel.node).collect::<Vec<_>>()), (1, vec![3, 4]));
    assert!(matches!(&test.declarations[4].node, Declaration::Launch { order: LaunchOrder::Dependent, .. }));
    let Declaration::Location { value: Some(value), .. } = &test.declarations[5].node else { panic!("a location") };
    assert_eq!(value.node, InitialValue::Unknown);
    let Declaration::Multimem { replicas, .. } = &test.declarations[7].node else { panic!("replicas") };
    assert_eq!(replicas.len(), 2);
}

#[test]
fn an_alignment_is_printed() {
    let test = good(
        "PTX t\n{ .shared .align 16 .b8 s[32]; .global .u32 x; }\nP0@cta 0 {\nld.weak.u32 %r1, [x];\n}\nexists (x = 0)",
    );
    let printed = fencepost_syntax::litmus::print(&test);
    assert!(printed.contains(".shared .align 16 .b8 s[32]") && printed.contains(".global .u32 x"), "{printed}");
}

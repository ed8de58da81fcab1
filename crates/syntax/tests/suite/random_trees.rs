//! Trees made at random, as a repair or a generator of tests makes them: each prints to a text that parses to the same tree.

use crate::random;

use fencepost_syntax::instruction::{Address, Guard, Instruction, Operand};
use fencepost_syntax::litmus::{
    AliasKind, Arch, Comparison, Condition, Declaration, Dialect, InitialAddress, InitialValue, LaunchOrder, Layout,
    Litmus, LocationType, Moment, Placement, Question, QuestionKind, Recovery, Side, Statement, Term, Thread, parse,
    parse_named, print, template_of,
};
use fencepost_syntax::{Span, Spanned};
use random::Random;

fn at<T>(node: T) -> Spanned<T> {
    Spanned::new(node, Span::default())
}

struct Maker {
    random: Random,
    dialect: Dialect,
}

impl Maker {
    fn word(&mut self, pool: &[&str]) -> String {
        self.random.pick(pool).to_owned()
    }

    fn integer(&mut self) -> i128 {
        i128::from(self.random.next() as i64) >> self.random.below(64)
    }

    fn register(&mut self) -> String {
        match self.dialect {
            Dialect::Dartagnan | Dialect::NvLitmus => self.word(&["r0", "r1", "r23"]),
            Dialect::Ptx => self.word(&["%r1", "%p", "%tid.x", "r7"]),
            Dialect::X86 => self.word(&["EAX", "RBX", "CL", "R9D"]),
            Dialect::C => self.word(&["r0", "a"]),
        }
    }

    fn location(&mut self) -> String {
        self.word(&["x", "y", "flag", "Mem0", "_z"])
    }

    fn operand(&mut self, depth: u32) -> Operand {
        let brackets = self.dialect != Dialect::Dartagnan;
        let ptx = self.dialect == Dialect::Ptx;
        match self.random.below(if ptx && depth < 3 { 11 } else { 4 }) {
            0 => Operand::Register(self.register().into()),
            1 if brackets => self.address(depth),
            1 | 2 => Operand::Symbol(self.word(&["x", "LC00", "y_2"]).into()),
            3 => Operand::Integer(self.integer()),
            4 => Operand::Float(self.word(&["0f3F800000", "1.5", "-2.0e-3"])),
            5 => Operand::Vector((0..=self.random.below(3)).map(|_| at(self.operand(depth + 1))).collect()),
            6 => Operand::List((0..self.random.below(3)).map(|_| at(self.operand(depth + 1))).collect()),
            7 => Operand::Pair(Box::new(at(Operand::Sink)), Box::new(at(Operand::Register("%q".into())))),
            8 => Operand::Negated(Box::new(at(Operand::Register("%p".into())))),
            9 if depth == 0 => {
                Operand::Offset(Box::new(at(Operand::Symbol(self.instance().into()))), self.integer() % 64)
            }
            _ => Operand::Text(self.word(&["", "text; | }", "a\\\"b"])),
        }
    }

    /// `s`, or `s@1` where there are CTAs.
    fn instance(&mut self) -> String {
        let name = self.location();
        if self.dialect == Dialect::Ptx && self.random.below(3) == 0 {
            format!("{name}@{}", self.random.below(3))
        } else {
            name
        }
    }

    fn address(&mut self, depth: u32) -> Operand {
        let base = if self.random.below(2) == 0 {
            Operand::Symbol(self.instance().into())
        } else {
            Operand::Register(self.register().into())
        };
        let rest = if self.dialect == Dialect::Ptx && self.random.below(4) == 0 {
            vec![at(self.operand(depth + 1))]
        } else {
            Vec::new()
        };
        Operand::Address(Address { base: Box::new(at(base)), offset: self.integer() % 64, rest })
    }

    fn instruction(&mut self) -> Instruction {
        let x86 = self.dialect == Dialect::X86;
        let guarded = self.dialect == Dialect::Ptx && self.random.below(4) == 0;
        let guard = guarded.then(|| Guard { negated: self.random.below(2) == 0, register: at("%p".into()) });
        let prefix = (x86 && self.random.below(4) == 0).then(|| at("lock".into()));
        let opcode = self.word(if x86 {
            &["mov", "mfence", "xadd", "not", "jne"]
        } else {
            &["ld", "st", "not", "fence", "tcgen05"]
        });
        let count = if x86 { 0 } else { self.random.below(4) };
        let modifiers =
            (0..count).map(|_| at(self.word(&["weak", "gpu", "shared::cta", "2d", "32x32b", "u32"]).into())).collect();
        let operands = (0..self.random.below(4)).map(|_| at(self.operand(0))).collect();
        Instruction { guard, prefix, opcode: at(opcode.into()), modifiers, operands }
    }

    fn statement(&mut self) -> Statement {
        if self.random.below(5) == 0 {
            return Statement::Label(at(self.word(&["L0", "$L__BB0_2", "exists"])));
        }
        let instruction = self.instruction();
        let loads = self.dialect == Dialect::NvLitmus && !instruction.operands.is_empty();
        let assume = (loads && self.random.below(3) == 0).then(|| at(self.integer()));
        Statement::Instruction { instruction, assume }
    }

    fn thread(&mut self, index: u32) -> Thread {
        let body = (0..self.random.below(6)).map(|_| self.statement()).collect();
        if self.dialect == Dialect::NvLitmus {
            let placement = Placement { cta: Some(index), gpu: Some(1), ..Placement::default() };
            return Thread {
                name: at(format!("d1.b{index}.t0")),
                arch: Arch::Ptx,
                placement,
                parameters: Vec::new(),
                body,
            };
        }
        let level = |random: &mut Random| (random.below(2) == 0).then(|| random.below(9) as u32);
        let random = &mut self.random;
        let mut placement =
            Placement { cta: level(random), cluster: level(random), gpu: level(random), ..Placement::default() };
        placement.kernel = level(random);
        if self.dialect != Dialect::X86 && random.below(8) == 0 {
            placement = Placement { side: Side::Host, ..Placement::default() };
        }
        let arch = if self.dialect == Dialect::X86 { Arch::X86 } else { Arch::Ptx };
        Thread { name: at(format!("P{index}")), arch, placement, parameters: Vec::new(), body }
    }

    /// A thread of the host's architecture among those of the device.
    fn x86_thread(&mut self, index: u32) -> Thread {
        let dialect = std::mem::replace(&mut self.dialect, Dialect::X86);
        let body = (0..self.random.below(6)).map(|_| self.statement()).collect();
        self.dialect = dialect;
        let placement = Placement { side: Side::Host, ..Placement::default() };
        Thread { name: at(format!("P{index}")), arch: Arch::X86, placement, parameters: Vec::new(), body }
    }

    fn declaration(&mut self) -> Declaration {
        let name = at(self.location());
        let value = at(match self.random.below(4) {
            0 | 1 => InitialValue::Integer(self.integer()),
            2 => InitialValue::Name(self.instance()),
            _ => InitialValue::Address(InitialAddress {
                name: self.instance(),
                element: (self.random.below(2) == 0).then_some(3),
                offset: [0, 8, -4][self.random.below(3)],
            }),
        });
        let nv = self.dialect == Dialect::NvLitmus;
        match self.random.below(7) {
            5 if self.dialect == Dialect::Ptx => Declaration::Version { major: 8, minor: self.random.below(10) as u8 },
            6 if self.dialect == Dialect::Ptx => {
                let targets = vec![at(self.word(&["sm_90a", "sm_100f"])), at("debug".to_owned())];
                Declaration::Target { targets }
            }
            4 if self.dialect == Dialect::Ptx => {
                let order = [LaunchOrder::Stream, LaunchOrder::Dependent][self.random.below(2)];
                Declaration::Launch { first: at(self.random.below(3) as u32), order, second: at(7) }
            }
            0 if !nv => Declaration::Register { thread: 1, register: at(self.register()), value },
            1 => Declaration::Alias {
                name,
                kind: [AliasKind::Generic, AliasKind::Texture, AliasKind::Surface, AliasKind::Constant]
                    [self.random.below(4)],
                target: at(self.location()),
            },
            2 if !nv => {
                Declaration::TypedRegister { thread: Some(1), register: at("R1".to_owned()), ty: at("b64".to_owned()) }
            }
            _ => {
                // Memory declared as in a kernel makes a test real PTX.
                let may = self.dialect != Dialect::Dartagnan;
                let space = (nv || may && self.random.below(2) == 0).then(|| self.word(&["global", "shared", "tmem"]));
                let length = (self.random.below(2) == 0).then_some(4);
                let inner = if length.is_some() && self.random.below(3) == 0 { vec![2, 3] } else { Vec::new() };
                let align = (space.is_some() && self.random.below(3) == 0).then_some(16);
                let ty = (self.random.below(2) == 0)
                    .then(|| at(LocationType { name: "u32".to_owned(), length, inner, align }));
                let value = (self.random.below(2) == 0).then_some(value);
                let is_persistent =
                    !matches!(self.dialect, Dialect::NvLitmus | Dialect::X86) && self.random.below(4) == 0;
                Declaration::Location { name, is_persistent, space, ty, value }
            }
        }
    }

    fn term(&mut self) -> Term {
        match self.random.below(3) {
            0 => Term::Integer(self.integer()),
            1 => {
                let thread = (self.dialect != Dialect::NvLitmus).then_some(1);
                Term::Register { thread, name: self.register().into() }
            }
            _ => match (self.random.below(2) == 0).then_some(2) {
                index @ Some(_) => Term::Location { name: self.location().into(), index },
                None => Term::Location { name: self.word(&["x", "true", "not", "r1", "EAX"]).into(), index: None },
            },
        }
    }

    fn condition(&mut self, depth: u32) -> Spanned<Condition> {
        use Comparison::{Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
        at(match self.random.below(if depth < 4 { 6 } else { 3 }) {
            0 => [Condition::True, Condition::False][self.random.below(2)].clone(),
            1 | 2 => {
                let op = [Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual][self.random.below(6)];
                Condition::Compare { op, left: at(self.term()), right: at(self.term()) }
            }
            3 => Condition::Not(Box::new(self.condition(depth + 1))),
            4 => Condition::And((0..2 + self.random.below(2)).map(|_| self.condition(depth + 1)).collect()),
            _ => Condition::Or((0..2 + self.random.below(2)).map(|_| self.condition(depth + 1)).collect()),
        })
    }

    fn litmus(&mut self, layout: Layout) -> Litmus {
        let (arch, nv) = (if self.dialect == Dialect::X86 { Arch::X86 } else { Arch::Ptx }, layout == Layout::NvLitmus);
        let kinds: &[QuestionKind] = match nv {
            true => &[QuestionKind::Permit, QuestionKind::Assert, QuestionKind::Check],
            false => &[QuestionKind::Exists, QuestionKind::NotExists, QuestionKind::Forall],
        };
        let count = self.random.below(if nv { 3 } else { 2 });
        let questions = (0..count).map(|_| {
            let kind = kinds[self.random.below(kinds.len())];
            let (name, moment) = (nv.then(|| at("name".to_owned())), Moment::End);
            Question { kind, name, condition: self.condition(0), moment, span: at(()) }
        });
        let mut questions: Vec<Question> = questions.collect();
        let crashes = if nv { 0 } else { self.random.below(3) };
        questions.extend((0..crashes).map(|_| {
            let kind = kinds[self.random.below(kinds.len())];
            let moment = [Moment::Crash, Moment::Recovered][self.random.below(2)];
            Question { kind, name: None, condition: self.condition(0), moment, span: at(()) }
        }));
        let recovery =
            (matches!(self.dialect, Dialect::Ptx | Dialect::Dartagnan) && self.random.below(4) == 0).then(|| {
                let register = Declaration::Register {
                    thread: 0,
                    register: at("r1".to_owned()),
                    value: at(InitialValue::Integer(self.integer())),
                };
                let declarations = (0..self.random.below(2)).map(|_| at(register.clone())).collect();
                let threads = (0..=self.random.below(2) as u32).map(|index| self.thread(index)).collect();
                Recovery { declarations, threads, span: at(()) }
            });
        let mut threads: Vec<Thread> = (0..=self.random.below(3) as u32).map(|index| self.thread(index)).collect();
        let is_mixed = matches!(self.dialect, Dialect::Ptx | Dialect::Dartagnan) && self.random.below(4) == 0;
        if is_mixed {
            threads.push(self.x86_thread(threads.len() as u32));
        }
        if self.dialect == Dialect::Ptx {
            // What makes it this dialect.
            let operands = vec![at(Operand::Register("%r1".into()))];
            let opcode = at("mov".into());
            let instruction = Instruction { guard: None, prefix: None, opcode, modifiers: Vec::new(), operands };
            threads[0].body.push(Statement::Instruction { instruction, assume: None });
        }
        Litmus {
            arch,
            layout,
            dialect: self.dialect,
            name: at("name+1/a".to_owned()),
            comments: if nv { String::new() } else { "\"text\n{\"\nKey=[a,b]\n".to_owned() },
            declarations: (0..self.random.below(4)).map(|_| at(self.declaration())).collect(),
            threads,
            locations: if nv { Vec::new() } else { (0..self.random.below(2)).map(|_| at(self.term())).collect() },
            filter: (!nv && self.random.below(3) == 0).then(|| self.condition(0)),
            recovery,
            questions,
        }
    }
}

#[test]
fn printing_and_parsing_is_the_identity() {
    let shapes = [
        (Dialect::Dartagnan, Layout::Columns),
        (Dialect::Dartagnan, Layout::Blocks),
        (Dialect::Ptx, Layout::Columns),
        (Dialect::Ptx, Layout::Blocks),
        (Dialect::X86, Layout::Columns),
        (Dialect::X86, Layout::Blocks),
        (Dialect::NvLitmus, Layout::NvLitmus),
    ];
    for seed in 0..7_000 {
        let (dialect, layout) = shapes[seed as usize % shapes.len()];
        let mut tree = Maker { random: Random(seed), dialect }.litmus(layout);
        let printed = print(&tree);
        let (again, diagnostics) = if layout == Layout::NvLitmus {
            tree.name.node = "name".to_owned();
            let (mut tests, diagnostics) = parse_named("name.test", &printed);
            (tests.pop(), diagnostics)
        } else {
            parse(&printed)
        };
        assert!(diagnostics.is_empty(), "seed {seed}\n{printed}\n{diagnostics:#?}");
        assert_eq!(again, Some(tree), "seed {seed}\n{printed}");
    }
}

/// A random test as a template: some of its lines go into fields, with one row for the test and one for each line that a
/// row empties.
#[test]
fn printed_templates_stand_for_the_same_tests() {
    let mut rows = 0;
    for seed in 0..1_000 {
        let mut maker = Maker { random: Random(seed), dialect: Dialect::NvLitmus };
        let printed = print(&maker.litmus(Layout::NvLitmus));
        let mut fields = Vec::new();
        let mut text = String::new();
        for line in printed.lines() {
            // `|` would end a field, and braces must stay in pairs.
            let movable = line.starts_with("  ") && !line.contains('|');
            if movable && fields.len() < 4 && maker.random.below(2) == 0 {
                text.push_str(&format!("  ${}  \n", fields.len()));
                fields.push(line.trim());
            } else {
                text.push_str(&format!("{line}\n"));
            }
        }
        if fields.len() < 2 {
            continue;
        }
        text.push_str("\n $$ \n\n# each line a test\n");
        text.push_str(&format!("{}\n", fields.join("|")));
        for left_out in 0..fields.len() {
            let row: Vec<&str> = fields.iter().enumerate().map(|(n, f)| if n == left_out { "" } else { *f }).collect();
            text.push_str(&format!("  {}\r\n", row.join(" |\t")));
        }
        let (tests, _) = parse_named("t.test", &text);
        let template = template_of("t.test", &text).expect("a template");
        let printed = template.print();
        let again = parse_named("t.test", &printed);
        assert_eq!(again.0, tests, "seed {seed}\n{text}\n{printed}\n{:#?}", again.1);
        assert_eq!(template_of("t.test", &printed), Some(template), "seed {seed}\n{printed}");
        rows += tests.len();
    }
    assert!(rows > 1_000, "{rows}");
}

//! Runs a launch: kernel FILE.ptx LAUNCH.toml, or --template.
use fencepost_kernel::{check, code, launch};
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let text = std::fs::read_to_string(&args[0]).unwrap();
    let (tree, _) = fencepost_syntax::ptx::parse(&text);
    let (module, _) = code::decode(&tree);
    if args[1] == "--template" {
        for entry in &module.entries { println!("{}", launch::template::template(entry)); }
        return;
    }
    let source = fencepost_syntax::Source::new(args[0].clone(), text);
    for file in &args[1..] {
        let l = std::fs::read_to_string(file).unwrap();
        let name = launch::read::entry_name(&l);
        let entry = module.entries.iter().find(|e| Some(&e.name) == name.as_ref()).unwrap_or(&module.entries[0]);
        let launch = match launch::read::read(&l, &module, entry, &|p| std::fs::read(p).map_err(|e| e.to_string())) { Ok(l) => l, Err(e) => { println!("{file}: {e:?}"); continue } };
        let start = std::time::Instant::now();
        let report = check::check(&module, entry, &launch, &check::Limits::default());
        println!("== {} {:?}  {:?}", entry.name, start.elapsed(), report.covered);
        let line = |pc: u32| format!("{}: {}", source.line(entry.code[pc as usize].span.start), source.slice(entry.code[pc as usize].span));
        for f in &report.findings {
            use fencepost_kernel::report::Finding::*;
            match f {
                Race { race, only } => println!("RACE only {only:?} x{}\n    {:?} {:?} cta{} w{} l{} t{} {}\n    {:?} {:?} cta{} w{} l{} t{} {}\n    {:?} {:#x}", race.times, race.first.kind, race.first.path, race.first.cta, race.first.warp, race.first_lane, race.first.time, line(race.first.pc), race.second.kind, race.second.path, race.second.cta, race.second.warp, race.second_lane, race.second.time, line(race.second.pc), race.region, race.at),
                Hang { stuck } => { println!("HANG"); for s in stuck { println!("    cta{} w{} {:#x} {} {:?}", s.cta, s.warp, s.lanes, line(s.pc), s.why); } }
                OutOfBounds { pc, thread, fault } => println!("OOB thread {thread} {} {fault:?}", line(*pc)),
                Misaligned { pc, .. } | Protocol { pc, .. } | Trap { pc, .. } | Assertion { pc, .. } | BadOperand { pc, .. } => println!("{f:?} {}", line(*pc)),
            }
        }
        for d in &report.doubts {
            use fencepost_kernel::report::Doubt::*;
            match d {
                Unmodelled { pc, .. } | Stub { pc, .. } | Decided { pc, .. } | Matching { pc, .. } | Flags { pc } | Footprint { pc, .. } => println!("doubt {d:?} {}", line(*pc)),
                _ => println!("doubt {d:?}"),
            }
        }
    }
}

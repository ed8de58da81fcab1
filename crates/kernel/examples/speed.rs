//! How many instructions of lanes the engine runs per second, clocks and shadow memory on: of a loop over integers, or of
//! a module and a launch.
//!
//! `cargo run --release -p fencepost-kernel --example speed [-- FILE.ptx LAUNCH.toml]`

#![allow(clippy::print_stdout)]

use std::process::ExitCode;
use std::time::Instant;

use fencepost_kernel::code::decode;
use fencepost_kernel::launch::program;
use fencepost_kernel::launch::read::read;
use fencepost_kernel::order::policy::Policy;
use fencepost_kernel::run::{Credit, Options, Run};
use fencepost_syntax::ptx;

const LOOP: &str = ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry count(.param .u64 out)\n{\n.reg .pred %p<2>;\n\
    .reg .b32 %r<8>;\n.reg .b64 %rd<4>;\nld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, 0;\nmov.u32 %r3, 1;\n\
    AGAIN:\nmad.lo.u32 %r3, %r3, 1664525, %r1;\nxor.b32 %r4, %r3, %r2;\nshr.u32 %r5, %r4, 3;\nadd.u32 %r3, %r3, %r5;\n\
    add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, 100000;\n@%p1 bra AGAIN;\nmul.wide.u32 %rd2, %r1, 4;\nadd.u64 %rd3, %rd1, %rd2;\n\
    st.global.u32 [%rd3], %r3;\nret;\n}\n";
const LAUNCH: &str =
    "entry = \"count\"\nblock = [128]\n[[buffer]]\nname = \"out\"\nbytes = 512\n[[parameter]]\nbuffer = \"out\"\n";

fn measure(text: &str, launch: &str) -> Result<(), String> {
    let (tree, errors) = ptx::parse(text);
    if let Some(error) = errors.first() {
        return Err(format!("{error:?}"));
    }
    let (module, _) = decode(&tree);
    let name = program::parse(launch).map_err(|wrong| wrong.message)?.steps.first().and_then(|step| step.entry.clone());
    let entry = module.entries.iter().find(|entry| name.as_ref().is_none_or(|name| *name == entry.name));
    let entry = entry.ok_or("the module has no such entry")?;
    let file = |path: &std::path::Path| std::fs::read(path).map_err(|error| error.to_string());
    let launch = read(launch, &module, entry, &file).map_err(|wrong| wrong.message)?;
    let options = Options::plain(Policy::WEAKEST, Credit::Determined, 0, u64::MAX);
    let start = Instant::now();
    let outcome = Run::new(&module, entry, &launch, options).run();
    let (seconds, lanes) = (start.elapsed().as_secs_f64(), outcome.covered.lane_instructions);
    println!("{}: {lanes} lane instructions, {:.1} million per second", entry.name, lanes as f64 / seconds / 1e6);
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let answer = match &arguments[..] {
        [] => measure(LOOP, LAUNCH),
        [module, launch] => {
            let read = |path: &String| std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"));
            read(module).and_then(|module| measure(&module, &read(launch)?))
        }
        _ => Err("speed [FILE.ptx LAUNCH.toml]".to_owned()),
    };
    match answer {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            println!("{why}");
            ExitCode::FAILURE
        }
    }
}

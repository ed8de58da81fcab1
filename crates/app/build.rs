//! How the program is linked on Linux, for the sake of its start, which takes longer than the check of one small test.
//!
//! * At a fixed address. The loader mends thousands of pointers of a position-independent program each time it starts,
//!   and copies the pages they lie on. What random addresses make harder, the use of overwritten memory, needs unsafe
//!   code to begin with.
//! * With the C library and the stack unwinder in the program: looking up, mapping and binding shared libraries takes as
//!   long as reading the command line. Nothing is asked of the C library that wants its dynamic parts (names of hosts or
//!   users, character sets). rustc asks for the shared ones by name, so the linker is shown files of these names that
//!   stand for the archives. They are shown to this program only: tests and examples are linked as usual. Where the
//!   compiler lacks one of the archives, as on systems that package them apart, all stay shared.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What rustc asks the linker for after the program's own code, and the archives that stand for each.
const LIBRARIES: [(&str, &[&str]); 7] = [
    ("gcc_s", &["gcc_eh"]),
    ("util", &["util"]),
    ("rt", &["rt"]),
    ("pthread", &["pthread"]),
    ("m", &["m"]),
    ("dl", &["dl"]),
    ("c", &["c", "gcc_eh", "gcc"]),
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = |what: &str| env::var(format!("CARGO_CFG_TARGET_{what}")).unwrap_or_default();
    // A program asked to be static is linked by rules of its own.
    let dynamic = !target("FEATURE").split(',').any(|feature| feature == "crt-static");
    if target("OS") != "linux" || target("ENV") != "gnu" || !dynamic {
        return;
    }
    println!("cargo::rustc-link-arg-bins=-no-pie");
    let Some(out) = env::var_os("OUT_DIR").map(PathBuf::from) else { return };
    if env::var_os("HOST") == env::var_os("TARGET")
        && let Some(scripts) = scripts()
        && write(&out, &scripts).is_ok()
    {
        println!("cargo::rustc-link-arg-bins=-static");
        println!("cargo::rustc-link-arg-bins=-L{}", out.display());
    }
}

/// One linker script per library, if the system's compiler has every archive.
fn scripts() -> Option<Vec<(&'static str, String)>> {
    let script = |names: &[&str]| {
        let archives: Option<Vec<String>> = names.iter().map(|name| archive(name)).collect();
        Some(format!("GROUP({})\n", archives?.join(" ")))
    };
    LIBRARIES.iter().map(|(library, names)| Some((*library, script(names)?))).collect()
}

fn write(folder: &Path, scripts: &[(&str, String)]) -> io::Result<()> {
    scripts.iter().try_for_each(|(library, script)| fs::write(folder.join(format!("lib{library}.so")), script))
}

/// The archive that the system's compiler would link, quoted.
fn archive(name: &str) -> Option<String> {
    let asked = Command::new("cc").arg(format!("-print-file-name=lib{name}.a")).output().ok()?;
    let path = String::from_utf8(asked.stdout).ok()?;
    let path = Path::new(path.trim());
    // A compiler that has no such file repeats the name.
    (path.is_absolute() && path.is_file()).then(|| format!("\"{}\"", path.display()))
}

//! How the program is linked on Linux, for the sake of its start, which takes longer than the check of one small test.
//!
//! * At a fixed address. The loader mends thousands of pointers of a position-independent program each time it starts,
//!   and copies the pages they lie on. What random addresses make harder, the use of overwritten memory, needs unsafe
//!   code to begin with.
//! * With the stack unwinder (for the backtrace of a panic) in the program: it is the only thing asked of a shared
//!   library that is otherwise looked up, mapped and initialised for nothing. The linker is given a `libgcc_s.so` that
//!   names the archive instead; where the compiler has none, nothing changes.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = |what: &str| env::var(format!("CARGO_CFG_TARGET_{what}")).unwrap_or_default();
    // A static program is linked by rules of its own.
    let dynamic = !target("FEATURE").split(',').any(|feature| feature == "crt-static");
    if target("OS") != "linux" || target("ENV") != "gnu" || !dynamic {
        return;
    }
    println!("cargo::rustc-link-arg-bins=-no-pie");
    let Some(out) = env::var_os("OUT_DIR").map(PathBuf::from) else { return };
    if env::var_os("HOST") == env::var_os("TARGET")
        && let Some(archive) = unwinder()
        && fs::write(out.join("libgcc_s.so"), format!("INPUT(\"{}\")\n", archive.display())).is_ok()
    {
        println!("cargo::rustc-link-search=native={}", out.display());
    }
}

/// The archive of the unwinder that the system's compiler would link.
fn unwinder() -> Option<PathBuf> {
    let asked = Command::new("cc").arg("-print-file-name=libgcc_eh.a").output().ok()?;
    let path = String::from_utf8(asked.stdout).ok()?;
    let path = Path::new(path.trim());
    // A compiler that has no such file repeats the name.
    (path.is_absolute() && path.is_file()).then(|| path.to_path_buf())
}

//! Writes the compiled form of the shipped models; see `crates/check/src/model/compiled.rs`.

use std::path::Path;
use std::process::ExitCode;

#[expect(clippy::print_stderr, reason = "a tool for developers")]
fn main() -> ExitCode {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/model/compiled");
    let Some(files) = fencepost_check::model::shipped::fresh() else {
        eprintln!("a shipped model does not compile, or has a part that the format has no place for");
        return ExitCode::FAILURE;
    };
    for (file, bytes) in files {
        if let Err(error) = std::fs::write(folder.join(&file), bytes) {
            eprintln!("{file}: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

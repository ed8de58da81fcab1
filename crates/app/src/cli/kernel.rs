//! The options of `fencepost kernel`.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  fencepost kernel gemm.ptx --inventory              entries, what they use, and what has no model
  fencepost kernel gemm.ptx --template > launch.toml a launch file to begin with
  fencepost kernel gemm.ptx --launch launch.toml     check that launch
  fencepost kernel a.ptx b.ptx                       every entry, under a launch that is guessed and printed
  fencepost kernel ~/.triton/cache                   what Triton has compiled, with its warps and shared memory
  fencepost kernel app.o                             the PTX in an object, a library, a program or a fat binary
  fencepost kernel gemm.ptx --launch a.toml --launch b.toml --sarif races.sarif
  fencepost kernel gemm.ptx --launch launch.toml --write-baseline known.json
  fencepost kernel gemm.ptx --launch launch.toml --baseline known.json
                                                     only what is not known yet
  fencepost kernel gemm.ptx --launch launch.toml --picture pipeline.svg
                                                     who fills, reads and frees which stage
  fencepost kernel gemm.ptx --launch launch.toml --mutate
                                                     what each fence, wait and barrier is needed for
  fencepost kernel lock.ptx --launch launch.toml --slices slices
                                                     the litmus tests of its locks
  fencepost kernel gemm.ptx --entry scale --grid 2 --param 1=256
                                                     the guessed launch, changed by flags

Exit codes:
  0  proved for this launch: no race, no hang, no protocol error in any execution; or nothing but known findings
  1  a race, hang, protocol error or access out of bounds
  2  bad input
  3  nothing found and nothing proved, or the answer depends on a contested reading of the ISA
With several launches the exit code is the first of 2, 1, 3 that occurs.")]
pub(crate) struct Kernel {
    /// PTX modules, fat binaries, objects or programs with them, folders (searched for .ptx and .fatbin), or `-`
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// A launch file (docs/kernels.md); may be repeated [default: a guess for every entry, changed by the flags below]
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) launch: Vec<PathBuf>,
    /// The entry to launch or to write a template for, or a part of its name [default: the launch file's, or all]
    #[arg(long, value_name = "NAME")]
    pub(crate) entry: Option<String>,
    /// Print a launch file to begin with
    #[arg(long, conflicts_with_all = ["launch", "inventory", "json", "sarif", "picture", "baseline", "write_baseline"])]
    pub(crate) template: bool,
    /// List entries with their parameters, what they use, and instructions without a model
    #[arg(long, conflicts_with_all = ["launch", "sarif", "picture", "baseline", "write_baseline"])]
    pub(crate) inventory: bool,
    /// Leave out or weaken each synchronisation in turn, and say what this launch needs it for
    #[arg(long, conflicts_with_all = ["template", "inventory", "sarif", "baseline", "write_baseline", "picture"])]
    pub(crate) mutate: bool,
    /// CTAs: X, X,Y or X,Y,Z
    #[arg(long, value_name = "X,Y,Z", value_delimiter = ',', value_parser = threads)]
    pub(crate) grid: Vec<u32>,
    /// Threads of a CTA
    #[arg(long, value_name = "X,Y,Z", value_delimiter = ',', value_parser = threads)]
    pub(crate) block: Vec<u32>,
    /// CTAs of a cluster
    #[arg(long, value_name = "X,Y,Z", value_delimiter = ',', value_parser = threads)]
    pub(crate) cluster: Vec<u32>,
    /// Bytes of dynamic shared memory
    #[arg(long, value_name = "BYTES")]
    pub(crate) shared: Option<u32>,
    /// A number for a parameter, by its index or its name; may be repeated
    #[arg(long = "param", value_name = "N=VALUE")]
    pub(crate) parameters: Vec<String>,
    /// Print one JSON object per launch (docs/schema/kernel.schema.json, kernel-mutants.schema.json with --mutate), or per module
    /// with --inventory
    #[arg(long)]
    pub(crate) json: bool,
    /// Also write a SARIF 2.1.0 file
    #[arg(long, value_name = "FILE")]
    pub(crate) sarif: Option<PathBuf>,
    /// Leave out the findings of this file, which --write-baseline wrote; they are counted, and nothing is called proved
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
    /// Write all findings to this file, as known ones
    #[arg(long, value_name = "FILE")]
    pub(crate) write_baseline: Option<PathBuf>,
    /// Draw shared memory and mbarriers over the time of the run: who fills, reads and frees which stage. Several launches
    /// get a file each, named after the entry and the number of the launch: out-gemm-1.svg, out-scale-2.svg
    #[arg(long, value_name = "FILE.svg", value_parser = svg)]
    pub(crate) picture: Option<PathBuf>,
    /// Write the litmus tests of the kernel's locks, which the answer rests on, into this folder
    #[arg(long, value_name = "DIR", conflicts_with_all = ["template", "inventory", "mutate"])]
    pub(crate) slices: Option<PathBuf>,
    /// Schedules to try where one does not decide
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub(crate) schedules: u32,
    /// The most instructions of warps in one run
    #[arg(long, value_name = "N", default_value_t = 200_000_000)]
    pub(crate) steps: u64,
    /// Time for each launch, in seconds (or 500ms, 2m); after it nothing is proved
    #[arg(long, value_name = "TIME", value_parser = super::duration)]
    pub(crate) time_limit: Option<Duration>,
    /// Memory that the process may hold (500M, 2G) [default: half of the machine's]
    #[arg(long, value_name = "SIZE", value_parser = super::bytes)]
    pub(crate) memory_limit: Option<u64>,
    /// Modules and launch files that are checked at the same time [default: one per core]
    #[arg(short, long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
}

/// One number of `--grid 2,1,1`.
fn threads(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| "numbers with commas between them, such as 2,1,1".to_owned())
}

/// Pictures are SVG: another ending would be a surprise to whoever opens the file.
fn svg(path: &str) -> Result<PathBuf, String> {
    match path.ends_with(".svg") {
        true => Ok(PathBuf::from(path)),
        false => Err("pictures are SVG: name the file something.svg".to_owned()),
    }
}

//! The options of `fencepost kernel`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  fencepost kernel gemm.ptx --inventory              entries, what they use, and what has no model
  fencepost kernel gemm.ptx --template > launch.toml a launch file to begin with
  fencepost kernel gemm.ptx --launch launch.toml     check that launch
  fencepost kernel gemm.ptx --launch a.toml --launch b.toml --sarif races.sarif
  fencepost kernel gemm.ptx --launch launch.toml --mutate
                                                     what each fence, wait and barrier is needed for
  fencepost kernel gemm.ptx --entry scale --grid 2 --param 1=256
                                                     the template's launch, changed by flags

Exit codes:
  0  proved for this launch: no race, no hang, no protocol error in any execution
  1  a race, hang, protocol error or access out of bounds
  2  bad input
  3  nothing found and nothing proved, or the answer depends on a contested reading of the ISA")]
pub(crate) struct Kernel {
    /// A PTX module
    #[arg(value_name = "FILE.ptx")]
    pub(crate) file: PathBuf,
    /// A launch file (docs/kernels.md); may be repeated [default: the template's, changed by the flags below]
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) launch: Vec<PathBuf>,
    /// The entry to launch or to write a template for [default: the launch file's, or the only one]
    #[arg(long, value_name = "NAME")]
    pub(crate) entry: Option<String>,
    /// Print a launch file to begin with
    #[arg(long, conflicts_with_all = ["launch", "inventory"])]
    pub(crate) template: bool,
    /// List entries with their parameters, what they use, and instructions without a model
    #[arg(long, conflicts_with = "launch")]
    pub(crate) inventory: bool,
    /// Leave out or weaken each synchronisation in turn, and say what this launch needs it for
    #[arg(long, conflicts_with_all = ["template", "inventory", "json", "sarif"])]
    pub(crate) mutate: bool,
    /// CTAs: X, X,Y or X,Y,Z
    #[arg(long, value_name = "X,Y,Z", value_delimiter = ',')]
    pub(crate) grid: Vec<u32>,
    /// Threads of a CTA
    #[arg(long, value_name = "X,Y,Z", value_delimiter = ',')]
    pub(crate) block: Vec<u32>,
    /// CTAs of a cluster
    #[arg(long, value_name = "X,Y,Z", value_delimiter = ',')]
    pub(crate) cluster: Vec<u32>,
    /// Bytes of dynamic shared memory
    #[arg(long, value_name = "BYTES")]
    pub(crate) shared: Option<u32>,
    /// A number for a parameter, by its index or its name; may be repeated
    #[arg(long = "param", value_name = "N=VALUE")]
    pub(crate) parameters: Vec<String>,
    /// Print one JSON object per launch (docs/schema/kernel.schema.json)
    #[arg(long)]
    pub(crate) json: bool,
    /// Also write a SARIF 2.1.0 file
    #[arg(long, value_name = "FILE")]
    pub(crate) sarif: Option<PathBuf>,
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
}

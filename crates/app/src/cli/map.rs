//! The grammar of `fencepost map`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use fencepost_check::Models;
use fencepost_check::model::purpose::Purpose;

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  fencepost map --to ptx --scheme leading --show            the mapping, as a table
  fencepost map --to ptx --scheme leading corpus/c11        C tests: does the source allow every outcome of the compiled test?
  fencepost map --to cmm --scheme trailing mp.litmus --emit out   the compiled tests too, one for each assignment of threads
  fencepost map --to cmm --scheme trailing --bound 4        every race-free program of up to 4 events
  fencepost map --to cmm --scheme trailing --bound 6 --state six.json
                                                            the same, resumable: Ctrl-C, and again
  fencepost map --to ptx --scheme leading,trailing --bound 4   threads compiled by different schemes
  fencepost map --to ptx --scheme leading --bound 4 --json  one JSON object for the whole check
  fencepost map --to my.cat --scheme leading --bound 4      a memory model of your own

For cmm, threads with a placement (`P0@cta 0, gpu 0`) are compiled for the device, the others for the host.
A test without placements is compiled for every assignment of its threads to host and device.

An event is an access or a fence; a read-modify-write is two events. Exit code 1: the compiled code has a behaviour
that the source does not have.")]
pub(crate) struct Map {
    /// C tests: files, folders, or `-`
    #[arg(value_name = "PATH", required_unless_present_any = ["bound", "show"], conflicts_with_all = ["bound", "show"])]
    pub(crate) paths: Vec<PathBuf>,
    /// The memory model of the source: one of C, shipped or a .cat file
    #[arg(long, value_name = "MODEL", default_value = Models::default_for(Purpose::C))]
    pub(crate) from: String,
    /// The memory model of the target: one of PTX, of x86 or of both, shipped or a .cat file; or what a shipped one is the
    /// default for, such as `x86`. For cmm see below
    #[arg(long, value_name = "MODEL")]
    pub(crate) to: String,
    /// Where the mapping puts fences; with several schemes each thread may use any of them
    #[arg(long, value_enum, required = true, value_delimiter = ',')]
    pub(crate) scheme: Vec<Scheme>,
    /// The scheme of host threads, if it is another one; with `--to cmm` only
    #[arg(long, value_enum, value_delimiter = ',', value_name = "SCHEME")]
    pub(crate) host: Vec<Scheme>,
    /// Print the mapping
    #[arg(long, conflicts_with_all = ["bound", "emit", "json", "time_limit", "unroll", "jobs"])]
    pub(crate) show: bool,
    /// Check all race-free programs of up to this many events
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=6))]
    pub(crate) bound: Option<u8>,
    /// Write the compiled tests into this folder; of a bounded check, the smallest counterexamples and what they become.
    /// Names have the test, the target and the scheme; a file that is there and differs is not overwritten
    #[arg(long, value_name = "DIR")]
    pub(crate) emit: Option<PathBuf>,
    /// Print one JSON object per test and way to compile it, or one for a bounded check (docs/schema/map.schema.json)
    #[arg(long)]
    pub(crate) json: bool,
    /// Time for each check of a test, or for the search of a bounded check, in seconds (or 500ms, 2m)
    #[arg(long, value_name = "TIME", value_parser = super::duration)]
    pub(crate) time_limit: Option<std::time::Duration>,
    /// How often a loop of a test is unrolled
    #[arg(long, value_name = "N", conflicts_with = "bound")]
    pub(crate) unroll: Option<u32>,
    /// Where to write how far the bounded check has come, and to go on from
    #[arg(long, value_name = "FILE", requires = "bound", conflicts_with_all = ["paths", "show"])]
    pub(crate) state: Option<PathBuf>,
    /// Only programs whose SC operations have system scope
    #[arg(long, requires = "bound", conflicts_with_all = ["paths", "show"])]
    pub(crate) sc_system_only: bool,
    /// Every program, labelling and placement by itself: slow, to check the reductions
    #[arg(long, requires = "bound", conflicts_with_all = ["state", "paths", "show"])]
    pub(crate) no_reductions: bool,
    /// How many parts are checked at once [default: the number of cores]
    #[arg(short, long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
}

#[derive(ValueEnum, Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Scheme {
    /// Fences before SC operations (NVIDIA's for PTX; on x86 before SC loads)
    Leading,
    /// Fences behind SC operations (Fig. 13 of the compound models; on x86 behind SC stores)
    Trailing,
    /// Trailing, with the slip of Fig. 13: SC stores that do not release
    Printed,
}

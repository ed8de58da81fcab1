//! The line that would remove a race, in the terms of the module and of its source.

use fencepost_kernel::mend::Insertion;
use serde::Serialize;

use super::{About, SourceLine};

#[derive(Serialize, Clone, PartialEq, Eq, Debug)]
pub struct Missing {
    /// Before this line of the module.
    pub line: u32,
    pub text: String,
    /// In how many schedules the changed kernel was run, where one does not stand for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedules: Option<u32>,
    /// The same in the source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_source: Option<InSource>,
}

#[derive(Serialize, Clone, PartialEq, Eq, Debug)]
pub struct InSource {
    /// At this line, or where its statement ends: one line of the source may have become many instructions.
    pub at: SourceLine,
    pub text: &'static str,
}

/// What people write for an instruction: how it begins, in CUDA C++ (libcu++, CUTLASS), and in Triton or Gluon.
const CALLS: [(&str, &str, &str); 9] = [
    ("bar.sync", "__syncthreads();", "tl.debug_barrier()"),
    ("bar.warp.sync", "__syncwarp();", ""),
    ("fence.proxy.async.shared::cta", "cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);", "fence_async_shared()"),
    ("fence.proxy.async.shared::cluster", "cuda::ptx::fence_proxy_async(cuda::ptx::space_cluster);", ""),
    ("fence.proxy.async.global", "cuda::ptx::fence_proxy_async(cuda::ptx::space_global);", ""),
    ("cp.async.wait_all", "__pipeline_wait_prior(0);", "async_copy.wait_group(0)"),
    ("cp.async.bulk.wait_group", "cuda::ptx::cp_async_bulk_wait_group(cuda::ptx::n32_t<0>{});", "tma.store_wait(0)"),
    ("tcgen05.wait::ld", "cuda::ptx::tcgen05_wait_ld();", ""),
    ("tcgen05.wait::st", "cuda::ptx::tcgen05_wait_st();", ""),
];

impl Missing {
    pub(super) fn of(insertion: &Insertion, about: &About) -> Missing {
        let text = insertion.text.trim().to_owned();
        let in_source = about.source_line(insertion.pc).and_then(|at| {
            let call = CALLS.iter().find(|(begins, ..)| text.starts_with(begins))?;
            let text = if at.file.ends_with(".py") { call.2 } else { call.1 };
            (!text.is_empty()).then_some(InSource { at, text })
        });
        let schedules = Some(insertion.schedules).filter(|schedules| *schedules > 1);
        Missing { line: about.source.line(insertion.at as u32), text, schedules, in_source }
    }

    /// As lines of a report.
    pub(super) fn shown(&self) -> String {
        let among = self.schedules.map_or_else(String::new, |schedules| format!(" in {schedules} schedules"));
        let module = format!("  missing: `{}` before line {} (checked{among})\n", self.text, self.line);
        let source = |own: &InSource| format!("    in the source: `{}` at {}:{}\n", own.text, own.at.file, own.at.line);
        module + &self.in_source.as_ref().map(source).unwrap_or_default()
    }
}

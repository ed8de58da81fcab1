//! Contested points of the ISA, as this engine takes them: the readings of `ptx.cat` that matter to whole kernels.

/// Where a `fence.proxy.async` must be between a generic and an async access (S1).
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum AsyncFence {
    Both,
    PerThread,
    NonGenericCta,
    OnPath,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Policy {
    pub async_fence: AsyncFence,
    /// S3: the accesses of an asynchronous operation belong to any CTA of the cluster.
    pub async_any_in_cluster: bool,
    /// S7: the completion of `tcgen05.mma` and `.cp` carries a proxy fence for shared memory.
    pub tcgen05_completion_fence: bool,
    /// S8: release and acquire order tcgen05 operations without `tcgen05.fence`.
    pub tcgen05_acq_rel: bool,
    /// S9: `fence.proxy.async.shared::cta` is about other CTAs' shared memory too.
    pub remote_covered: bool,
    /// S11: `bar.warp.sync` orders asynchronous operations.
    pub warp_sync_async: bool,
}

impl Policy {
    pub const WEAKEST: Policy = Policy {
        async_fence: AsyncFence::Both,
        async_any_in_cluster: false,
        tcgen05_completion_fence: false,
        tcgen05_acq_rel: false,
        remote_covered: false,
        warp_sync_async: false,
    };
    pub const STRONGEST: Policy = Policy {
        async_fence: AsyncFence::OnPath,
        async_any_in_cluster: true,
        tcgen05_completion_fence: true,
        tcgen05_acq_rel: true,
        remote_covered: true,
        warp_sync_async: true,
    };

    /// The points at which two policies differ, by the names of the readings.
    pub fn points() -> &'static [&'static str] {
        &[
            "async-fence",
            "async-cta",
            "tcgen05-completion-fence",
            "tcgen05-acq-rel-sync",
            "async-fence-remote",
            "warp-sync-async",
        ]
    }

    /// The policy with one point taken from another.
    #[must_use]
    pub fn with(mut self, point: &str, from: &Policy) -> Policy {
        match point {
            "async-fence" => self.async_fence = from.async_fence,
            "async-cta" => self.async_any_in_cluster = from.async_any_in_cluster,
            "tcgen05-completion-fence" => self.tcgen05_completion_fence = from.tcgen05_completion_fence,
            "tcgen05-acq-rel-sync" => self.tcgen05_acq_rel = from.tcgen05_acq_rel,
            "async-fence-remote" => self.remote_covered = from.remote_covered,
            "warp-sync-async" => self.warp_sync_async = from.warp_sync_async,
            _ => {}
        }
        self
    }
}

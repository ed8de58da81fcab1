//! Words of CUDA C++ where an instruction of PTX belongs, and what to write there.

/// How the word begins, and the PTX for it. The first that fits counts.
const WORDS: &[(&str, &str)] = &[
    ("__syncthreads", "`bar.sync 0;`"),
    ("__syncwarp", "`bar.warp.sync 0xffffffff;`"),
    ("__threadfence_block", "`fence.acq_rel.cta;` or `fence.sc.cta;`"),
    ("__threadfence_system", "`fence.acq_rel.sys;` or `fence.sc.sys;`"),
    ("__threadfence", "`fence.acq_rel.gpu;` or `fence.sc.gpu;`"),
    ("__nanosleep", "`nanosleep.u32 100;`"),
    ("__ld", "`ld` with a cache operator, such as `ld.cg.u32 %r, [x];`"),
    ("atomicAdd", "`atom.relaxed.gpu.add.u32 %r, [x], 1;`, or `red.relaxed.gpu.add.u32 [x], 1;` without the old value"),
    ("atomicExch", "`atom.relaxed.gpu.exch.b32 %r, [x], 1;`"),
    ("atomicCAS", "`atom.relaxed.gpu.cas.b32 %r, [x], 0, 1;`"),
    ("atomic", "`atom` with its order, scope and operation, such as `atom.relaxed.gpu.max.u32 %r, [x], 1;`"),
    ("cuda::", "`ld`, `st`, `atom` or `fence` with its order and scope, such as `ld.acquire.gpu.u32 %r, [x];`"),
    (
        "cooperative_groups::",
        "`bar.sync 0;` for a block, `barrier.cluster.arrive;` and `barrier.cluster.wait;` for a cluster",
    ),
];

/// The PTX for a word of CUDA C++; None for any other word.
pub(crate) fn in_ptx(word: &str) -> Option<&'static str> {
    WORDS.iter().find(|(start, _)| word.starts_with(start)).map(|(_, ptx)| *ptx)
}

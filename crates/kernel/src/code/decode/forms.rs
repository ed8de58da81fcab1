//! The modifiers that each opcode takes. An instruction with any other has no model: it is never taken for one that it
//! resembles.

use crate::code::operands::{Context, Decoded};
use crate::code::ty::Ty;

const SCOPES: &[&str] = &["cta", "cluster", "gpu", "sys"];
const SPACES: &[&str] =
    &["const", "global", "local", "param", "param::entry", "param::func", "shared", "shared::cta", "shared::cluster"];
const ORDERS: &[&str] = &["weak", "relaxed", "acquire", "release", "acq_rel", "sc", "volatile"];
const OPERATIONS: &[&str] = &["add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas"];
const COMPARISONS: &[&str] = &[
    "eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan",
];
const ROUNDING: &[&str] = &["rn", "rz", "rm", "rp", "ftz", "sat"];
const COLLECTIVE: &[&str] = &["sync", "aligned"];

/// What may stand behind an opcode, besides types; None for an opcode that is not known.
fn modifiers(opcode: &str) -> Option<&'static [&'static [&'static str]]> {
    Some(match opcode {
        "ld" => {
            &[&["weak", "relaxed", "acquire", "volatile", "mmio", "nc"], SCOPES, SPACES, CACHE_LOAD, HINTS, VECTORS]
        }
        "ldu" => &[&["global"], VECTORS],
        "st" => &[
            &["weak", "relaxed", "release", "volatile", "mmio", "async", "bulk", "mbarrier::complete_tx::bytes"],
            SCOPES,
            SPACES,
            CACHE_STORE,
            HINTS,
            VECTORS,
        ],
        "atom" => &[&["relaxed", "acquire", "release", "acq_rel", "noftz"], SCOPES, SPACES, OPERATIONS, HINTS, VECTORS],
        "red" => &[
            &["relaxed", "release", "noftz", "async", "mbarrier::complete_tx::bytes"],
            SCOPES,
            SPACES,
            OPERATIONS,
            HINTS,
            VECTORS,
        ],
        "prefetch" => &[&["L1", "L2", "tensormap"], SPACES, HINTS],
        "prefetchu" => &[&["L1"]],
        "applypriority" | "discard" => &[&["L2"], SPACES, HINTS],
        "createpolicy" => &[&["fractional", "range", "cvt", "L2"], SPACES, HINTS],
        "cvta" => &[&["to"], SPACES],
        "isspacep" | "mapa" | "getctarank" => &[SPACES],
        "ldmatrix" | "stmatrix" => &[COLLECTIVE, SHAPES, &["trans"], SPACES],
        "movmatrix" => &[COLLECTIVE, SHAPES, &["trans"]],
        "wmma" => &[
            COLLECTIVE,
            SHAPES,
            SPACES,
            &["load", "store", "mma", "a", "b", "c", "d", "row", "col", "satfinite", "and", "xor", "popc"],
            ROUNDING,
        ],
        "mma" => &[
            COLLECTIVE,
            SHAPES,
            &["row", "col", "satfinite", "and", "xor", "popc", "sp", "sp::ordered_metadata", "block_scale"],
            KINDS,
        ],
        "wgmma" => &[
            COLLECTIVE,
            SHAPES,
            &["fence", "commit_group", "wait_group", "mma_async", "sp", "satfinite", "and", "popc"],
        ],
        "tcgen05" => &[COLLECTIVE, SHAPES, TCGEN05, KINDS, SPACES],
        "tensormap" => &[COLLECTIVE, TENSORMAP, SPACES, SCOPES],
        "bar" | "barrier" => &[
            &["cta", "cluster", "warp", "sync", "arrive", "red", "wait", "aligned", "popc", "and", "or"],
            &["release", "acquire", "relaxed"],
        ],
        "mbarrier" => &[MBARRIER, &["release", "acquire", "relaxed"], SCOPES, SPACES],
        "fence" => &[
            &["sc", "acq_rel", "acquire", "release", "proxy", "alias", "async", "async::generic", "tensormap::generic"],
            &["mbarrier_init", "sync_restrict::shared::cta", "sync_restrict::shared::cluster"],
            SCOPES,
            &["global", "shared::cta", "shared::cluster"],
        ],
        "membar" => &[&["cta", "gl", "sys", "proxy", "alias", "async"]],
        "griddepcontrol" => &[&["wait", "launch_dependents"]],
        "clusterlaunchcontrol" => &[CANCEL, SPACES, VECTORS],
        "cp" => &[COPY, SPACES, HINTS, OPERATIONS],
        _ => return control(opcode).or_else(|| computation(opcode)),
    })
}

fn control(opcode: &str) -> Option<&'static [&'static [&'static str]]> {
    Some(match opcode {
        "bra" | "ret" | "call" => &[&["uni"]],
        "brx" => &[&["idx", "uni"]],
        "exit" | "trap" | "brkpt" | "nanosleep" | "activemask" => &[],
        "pmevent" => &[&["mask"]],
        "setmaxnreg" => &[&["inc", "dec"], COLLECTIVE],
        "shfl" => &[&["sync", "up", "down", "bfly", "idx"]],
        "vote" => &[&["sync", "all", "any", "uni", "ballot"]],
        "match" => &[&["sync", "all", "any"]],
        "redux" => &[&["sync", "abs", "NaN"], OPERATIONS],
        "elect" => &[&["sync"]],
        _ => return None,
    })
}

fn computation(opcode: &str) -> Option<&'static [&'static [&'static str]]> {
    Some(match opcode {
        "mov" | "and" | "or" | "xor" | "not" | "cnot" | "shl" | "shr" | "selp" | "slct" | "popc" | "clz" | "brev"
        | "bfe" | "bfi" | "sad" | "rem" | "fns" | "dp4a" | "copysign" => &[&["ftz"]],
        "cvt" => {
            &[ROUNDING, &["rna", "rs", "rni", "rzi", "rmi", "rpi", "satfinite", "relu", "pack"], &["scaled::n2::ue8m0"]]
        }
        "setp" | "set" => &[COMPARISONS, &["and", "or", "xor", "ftz"]],
        "lop3" => &[&["and", "or", "xor"]],
        "add" | "sub" | "addc" | "subc" => &[ROUNDING, &["cc"]],
        "mul" | "mad" | "madc" | "mul24" | "mad24" | "dp2a" => &[ROUNDING, &["hi", "lo", "wide", "cc"]],
        "fma" => &[ROUNDING, &["relu", "oob"]],
        "div" | "rcp" | "sqrt" => &[ROUNDING, &["approx", "full"]],
        "rsqrt" | "sin" | "cos" | "lg2" | "ex2" | "tanh" => &[&["approx", "ftz"]],
        "min" | "max" => &[&["ftz", "NaN", "xorsign", "abs", "relu"]],
        "abs" | "neg" => &[&["ftz"]],
        "shf" => &[&["l", "r", "clamp", "wrap"]],
        "prmt" => &[&["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"]],
        "bfind" => &[&["shiftamt"]],
        "bmsk" | "szext" => &[&["clamp", "wrap"]],
        "testp" => &[&["finite", "infinite", "number", "notanumber", "normal", "subnormal"]],
        _ => return None,
    })
}

const CACHE_LOAD: &[&str] = &["ca", "cg", "cs", "lu", "cv"];
const CACHE_STORE: &[&str] = &["wb", "cg", "cs", "wt"];
const VECTORS: &[&str] = &["v2", "v4", "v8"];
const HINTS: &[&str] = &[
    "L1::evict_normal",
    "L1::evict_unchanged",
    "L1::evict_first",
    "L1::evict_last",
    "L1::no_allocate",
    "L2::evict_normal",
    "L2::evict_unchanged",
    "L2::evict_first",
    "L2::evict_last",
    "L2::cache_hint",
    "L2::64B",
    "L2::128B",
    "L2::256B",
];
const KINDS: &[&str] = &[
    "kind::f16",
    "kind::tf32",
    "kind::f8f6f4",
    "kind::i8",
    "kind::mxf8f6f4",
    "kind::mxf4",
    "kind::mxf4nvf4",
    "block_scale",
    "scale_vec::1X",
    "scale_vec::2X",
    "scale_vec::4X",
    "block16",
    "block32",
];
const TCGEN05: &[&str] = &[
    "alloc",
    "dealloc",
    "relinquish_alloc_permit",
    "ld",
    "st",
    "cp",
    "shift",
    "down",
    "mma",
    "commit",
    "wait::ld",
    "wait::st",
    "fence::before_thread_sync",
    "fence::after_thread_sync",
    "cta_group::1",
    "cta_group::2",
    "pack::16b",
    "unpack::16b",
    "red",
    "min",
    "max",
    "abs",
    "NaN",
    "warpx2::02_13",
    "warpx2::01_23",
    "warpx4",
    "b8x16",
    "b6x16_p32",
    "b4x16_p64",
    "ashift",
    "ws",
    "sp",
    "mbarrier::arrive::one",
    "multicast::cluster",
    "multicast::cluster::16b",
    "multicast::cluster::32b",
];
const TENSORMAP: &[&str] = &[
    "replace",
    "tile",
    "global_address",
    "rank",
    "box_dim",
    "global_dim",
    "global_stride",
    "element_stride",
    "elemtype",
    "interleave_layout",
    "swizzle_mode",
    "swizzle_atomicity",
    "fill_mode",
    "cp_fenceproxy",
    "tensormap::generic",
    "release",
    "b1024",
];
const MBARRIER: &[&str] = &[
    "init",
    "inval",
    "arrive",
    "arrive_drop",
    "expect_tx",
    "complete_tx",
    "test_wait",
    "try_wait",
    "pending_count",
    "parity",
    "noComplete",
    "layout::v0",
];
const COPY: &[&str] = &[
    "async",
    "bulk",
    "tensor",
    "reduce",
    "prefetch",
    "mbarrier",
    "arrive",
    "noinc",
    "commit_group",
    "wait_group",
    "wait_all",
    "read",
    "ca",
    "cg",
    "bulk_group",
    "mbarrier::complete_tx::bytes",
    "multicast::cluster",
    "multicast::cluster::16b",
    "multicast::cluster::32b",
    "cta_group::1",
    "cta_group::2",
    "tile",
    "tile::gather4",
    "tile::scatter4",
    "im2col",
    "im2col::w",
    "im2col::w::128",
    "im2col_no_offs",
    "1d",
    "2d",
    "3d",
    "4d",
    "5d",
    "L2",
    "noftz",
    "ignore_oob",
    "cp_mask",
];
const CANCEL: &[&str] = &[
    "try_cancel",
    "query_cancel",
    "async",
    "mbarrier::complete_tx::bytes",
    "multicast::cluster::all",
    "is_canceled",
    "get_first_ctaid",
    "get_first_ctaid::x",
    "get_first_ctaid::y",
    "get_first_ctaid::z",
];
/// Stands for `m8n8`, `m64n128k16`, `32x32b`, `x4`.
const SHAPES: &[&str] = &["a shape"];

fn is_shape(word: &str) -> bool {
    word.bytes().any(|byte| byte.is_ascii_digit())
        && word.bytes().all(|byte| byte.is_ascii_digit() || b"mnkxb".contains(&byte))
}

/// Types of elements of matrices that no register has by itself.
fn is_type(word: &str) -> bool {
    const SMALL: &[&str] = &[
        "b1",
        "s4",
        "u4",
        "b4",
        "e4m3",
        "e5m2",
        "e3m2",
        "e2m3",
        "e2m1",
        "ue8m0",
        "ue4m3",
        "b8x16",
        "b6x16_p32",
        "b4x16_p64",
        "ue8m0x2",
        "e3m2x2",
        "e2m3x2",
        "e3m2x4",
        "e2m3x4",
        "e2m1x4",
    ];
    Ty::of(word).is_some() || SMALL.contains(&word)
}

fn takes(groups: &[&[&str]], word: &str) -> bool {
    let is_collector = || word.starts_with("collector::") && groups.contains(&TCGEN05);
    groups.iter().any(|group| group.contains(&word))
        || is_type(word)
        || (groups.contains(&SHAPES) && is_shape(word))
        || is_collector()
}

/// Refuses a modifier that the opcode does not take, two that exclude each other, and a strong access without a scope.
pub(super) fn check(context: &Context) -> Decoded<()> {
    let opcode = context.tree().opcode.node.as_str();
    let Some(groups) = modifiers(opcode) else { return Err(String::new()) };
    if let Some(word) = context.words().find(|word| !takes(groups, word)) {
        return Err(format!("`.{word}` is no modifier of `{opcode}`"));
    }
    if matches!(opcode, "ld" | "st" | "atom" | "red" | "fence" | "mbarrier") {
        alone(context, SCOPES)?;
        alone(context, ORDERS)?;
        alone(context, SPACES)?;
    }
    if matches!(opcode, "ld" | "st") {
        let strong = context.has("relaxed") || context.has("acquire") || context.has("release");
        let scope = context.scope().is_some();
        if strong && !scope && !context.has("async") {
            return Err("a strong access needs a scope (8.5)".to_owned());
        }
        if scope && !strong {
            return Err("a scope needs `.relaxed`, `.acquire` or `.release` (8.5)".to_owned());
        }
    }
    Ok(())
}

fn alone(context: &Context, group: &[&str]) -> Decoded<()> {
    let mut named = context.words().filter(|word| group.contains(word));
    match (named.next(), named.next()) {
        (Some(first), Some(second)) => Err(format!("`.{first}` and `.{second}` exclude each other")),
        _ => Ok(()),
    }
}

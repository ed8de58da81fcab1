//! The sections of the PTX ISA (version 9.4) that this project cites, with their titles.
//!
//! Code that prints a section takes it from here; a test looks for citations everywhere else (comments, models, pages) and
//! fails on one that is not in the table. Sections were renumbered between versions (tcgen05 was 9.7.16 of PTX ISA 9.1,
//! and memory instructions were 9.7.9 of PTX ISA 9.1), so a number that looks right may be that of another version. Where an
//! older version is meant, the citation says so in this way. Sections on one instruction are titled by its name alone.
//!
//! Numbers of up to three parts, and those in 9.7.10, 9.7.15 and 9.7.18.10, were compared with the table of contents of
//! version 9.4, those of chapter 8 with its text. Deeper numbers are not in that table; [`INFERRED`] has those for which
//! nothing else was found than the order of the instructions in older versions.

/// A section of the PTX ISA.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Section {
    /// `9.7.15.4`.
    pub number: &'static str,
    pub title: &'static str,
}

/// The title of a section, by its number; None if it is not in the table.
pub fn title(number: &str) -> Option<&'static str> {
    ALL.iter().find(|section| section.number == number).map(|section| section.title)
}

/// Numbers that were inferred from the order of the instructions in versions before 9.4, and seen nowhere.
pub const INFERRED: &[&str] = &[
    SETP,
    TEX,
    SULD,
    SUST,
    SURED,
    TCGEN05_CP,
    TCGEN05_SHIFT,
    TCGEN05_MMA_SP,
    TCGEN05_MMA_WS,
    TCGEN05_MMA_WS_SP,
    TCGEN05_FENCE,
    SETMAXNREG,
];

macro_rules! sections {
    ($($name:ident = $number:literal, $title:literal;)*) => {
        $(
            #[doc = $title]
            pub const $name: &str = $number;
        )*

        /// Every section that is cited, in the order of the ISA.
        pub const ALL: &[Section] = &[$(Section { number: $name, title: $title },)*];
    };
}

sections! {
    IDENTIFIERS = "4.4", "Identifiers";
    CONSTANTS_INTEGER = "4.5.1", "Integer Constants";
    CONSTANTS_FLOATING_POINT = "4.5.2", "Floating-Point Constants";
    CONSTANTS_PREDEFINED = "4.5.4", "Constant Expressions";
    STATE_SPACES = "5.1", "State Spaces";
    CONSTANT_SPACE = "5.1.3", "Constant State Space";
    PARAMETER_SPACE = "5.1.6", "Parameter State Space";
    SHARED_SPACE = "5.1.7", "Shared State Space";
    TYPES = "5.2", "Types";
    VARIABLES = "5.4", "Variables";
    VECTORS = "5.4.2", "Vectors";
    INITIALIZERS = "5.4.4", "Initializers";
    TENSORS = "5.5", "Tensors";
    ADDRESS_OPERANDS = "6.4.1", "Addresses as Operands";
    APPLICABILITY = "8.1", "Scope and applicability of the model";
    SYSTEM_SCOPE_ATOMICITY = "8.1.1", "Limitations on atomicity at system scope";
    MEMORY_OPERATIONS = "8.2", "Memory operations";
    OVERLAP = "8.2.1", "Overlap";
    ALIASES = "8.2.2", "Aliases";
    MULTIMEM_ADDRESSES = "8.2.3", "Multimem Addresses";
    VECTOR_ACCESSES = "8.2.4", "Memory Operations on Vector Data Types";
    PACKED_ACCESSES = "8.2.5", "Memory Operations on Packed Data Types";
    INITIALIZATION = "8.2.6", "Initialization";
    MODEL_STATE_SPACES = "8.3", "State spaces";
    OPERATION_TYPES = "8.4", "Operation types";
    MMIO_OPERATION = "8.4.1", "mmio Operation";
    VOLATILE_OPERATION = "8.4.2", "volatile Operation";
    SCOPE = "8.5", "Scope";
    PROXIES = "8.6", "Proxies";
    STRONG_PROXY_ACCESSES = "8.6.1", "Strong proxy accesses";
    MORALLY_STRONG = "8.7", "Morally strong operations";
    DATA_RACES = "8.7.1", "Conflict and Data-races";
    MIXED_SIZE_RACES = "8.7.2", "Limitations on Mixed-size Data-races";
    PATTERNS = "8.8", "Release and Acquire Patterns";
    ORDERING = "8.9", "Ordering of memory operations";
    PROGRAM_ORDER = "8.9.1", "Program Order";
    ASYNCHRONOUS_OPERATIONS = "8.9.1.1", "Asynchronous Operations";
    OBSERVATION_ORDER = "8.9.2", "Observation Order";
    FENCE_SC_ORDER = "8.9.3", "Fence-SC Order";
    MEMORY_SYNCHRONIZATION = "8.9.4", "Memory synchronization";
    CAUSALITY_ORDER = "8.9.5", "Causality Order";
    COHERENCE_ORDER = "8.9.6", "Coherence Order";
    COMMUNICATION_ORDER = "8.9.7", "Communication Order";
    AXIOMS = "8.10", "Axioms";
    COHERENCE_AXIOM = "8.10.1", "Coherence";
    FENCE_SC_AXIOM = "8.10.2", "Fence-SC";
    ATOMICITY_AXIOM = "8.10.3", "Atomicity";
    NO_THIN_AIR_AXIOM = "8.10.4", "No Thin Air";
    SC_PER_LOCATION_AXIOM = "8.10.5", "Sequential Consistency Per Location";
    CAUSALITY_AXIOM = "8.10.6", "Causality";
    SPECIAL_CASES = "8.11", "Special Cases";
    REDUCTIONS_DO_NOT_ACQUIRE = "8.11.1", "Reductions do not form Acquire Patterns";
    COMPARISONS = "9.3.1.1", "Integer and Bit-Size Comparisons";
    OPERAND_SIZES = "9.4.1", "Operand Size Exceeding Instruction-Type Size";
    INSTRUCTIONS = "9.7", "Instructions";
    INTEGER = "9.7.1", "Integer Arithmetic Instructions";
    EXTENDED_INTEGER = "9.7.2", "Extended-Precision Integer Arithmetic Instructions";
    FLOATING_POINT = "9.7.3", "Floating-Point Instructions";
    HALF_FLOATING_POINT = "9.7.4", "Half Precision Floating-Point Instructions";
    MIXED_FLOATING_POINT = "9.7.5", "Mixed Precision Floating-Point Instructions";
    COMPARISON_AND_SELECTION = "9.7.7", "Comparison and Selection Instructions";
    SETP = "9.7.7.2", "setp";
    HALF_COMPARISON = "9.7.8", "Half Precision Comparison Instructions";
    LOGIC_AND_SHIFT = "9.7.9", "Logic and Shift Instructions";
    FUNNEL_SHIFT = "9.7.9.7", "shf";
    DATA_MOVEMENT = "9.7.10", "Data Movement and Conversion Instructions";
    CACHE_OPERATORS = "9.7.10.1", "Cache Operators";
    CACHE_EVICTION_HINTS = "9.7.10.2", "Cache Eviction Priority Hints";
    MOV_PACKED = "9.7.10.4", "mov between a register and its parts";
    SHFL_SYNC = "9.7.10.6", "shfl.sync";
    PRMT = "9.7.10.7", "prmt";
    LD = "9.7.10.8", "ld";
    LD_GLOBAL_NC = "9.7.10.9", "ld.global.nc";
    ST = "9.7.10.11", "st";
    ST_ASYNC = "9.7.10.12", "st.async";
    ST_BULK = "9.7.10.14", "st.bulk";
    PREFETCH = "9.7.10.16", "prefetch, prefetchu";
    APPLYPRIORITY = "9.7.10.17", "applypriority";
    DISCARD = "9.7.10.20", "discard";
    CREATEPOLICY = "9.7.10.21", "createpolicy";
    ISSPACEP = "9.7.10.22", "isspacep";
    CVTA = "9.7.10.23", "cvta";
    MAPA = "9.7.10.26", "mapa";
    GETCTARANK = "9.7.10.27", "getctarank";
    ASYNC_COPY = "9.7.10.28", "Asynchronous copy";
    COMPLETION_MECHANISMS = "9.7.10.28.1", "Completion Mechanisms for Asynchronous Copy Operations";
    ASYNC_PROXY = "9.7.10.28.2", "Async proxy";
    NON_BULK_COPY = "9.7.10.28.3", "Non-bulk copy";
    CP_ASYNC = "9.7.10.28.3.1", "cp.async";
    CP_ASYNC_COMMIT_GROUP = "9.7.10.28.3.2", "cp.async.commit_group";
    CP_ASYNC_WAIT_GROUP = "9.7.10.28.3.3", "cp.async.wait_group, cp.async.wait_all";
    BULK_COPY = "9.7.10.28.4", "Bulk copy";
    CP_ASYNC_BULK = "9.7.10.28.4.1", "cp.async.bulk";
    CP_REDUCE_ASYNC_BULK = "9.7.10.28.4.2", "cp.reduce.async.bulk";
    CP_ASYNC_BULK_PREFETCH = "9.7.10.28.4.3", "cp.async.bulk.prefetch";
    MULTIMEM_CP_ASYNC_BULK = "9.7.10.28.4.4", "multimem.cp.async.bulk";
    MULTIMEM_CP_REDUCE_ASYNC_BULK = "9.7.10.28.4.5", "multimem.cp.reduce.async.bulk";
    TENSOR_COPY = "9.7.10.28.5", "Tensor copy";
    CP_ASYNC_BULK_TENSOR = "9.7.10.28.5.3", "cp.async.bulk.tensor";
    CP_REDUCE_ASYNC_BULK_TENSOR = "9.7.10.28.5.4", "cp.reduce.async.bulk.tensor";
    CP_ASYNC_BULK_PREFETCH_TENSOR = "9.7.10.28.5.5", "cp.async.bulk.prefetch.tensor";
    BULK_COMPLETION = "9.7.10.28.6", "Bulk and Tensor copy completion instructions";
    CP_ASYNC_BULK_COMMIT_GROUP = "9.7.10.28.6.1", "cp.async.bulk.commit_group";
    CP_ASYNC_BULK_WAIT_GROUP = "9.7.10.28.6.2", "cp.async.bulk.wait_group";
    TENSORMAP_REPLACE = "9.7.10.29", "tensormap.replace";
    TEX = "9.7.12.3", "tex";
    SULD = "9.7.13.1", "suld";
    SUST = "9.7.13.2", "sust";
    SURED = "9.7.13.3", "sured";
    CONTROL_FLOW = "9.7.14", "Control Flow Instructions";
    EXIT = "9.7.14.7", "exit";
    SYNCHRONIZATION = "9.7.15", "Parallel Synchronization and Communication Instructions";
    BAR = "9.7.15.1", "bar, barrier";
    BAR_WARP_SYNC = "9.7.15.2", "bar.warp.sync";
    BARRIER_CLUSTER = "9.7.15.3", "barrier.cluster";
    FENCE = "9.7.15.4", "membar, fence";
    ATOM = "9.7.15.5", "atom";
    RED = "9.7.15.6", "red";
    RED_ASYNC = "9.7.15.7", "red.async";
    VOTE_SYNC = "9.7.15.10", "vote.sync";
    MATCH_SYNC = "9.7.15.11", "match.sync";
    ACTIVEMASK = "9.7.15.12", "activemask";
    REDUX_SYNC = "9.7.15.13", "redux.sync";
    GRIDDEPCONTROL = "9.7.15.14", "griddepcontrol";
    ELECT_SYNC = "9.7.15.15", "elect.sync";
    MBARRIER = "9.7.15.16", "mbarrier";
    MBARRIER_OBJECT = "9.7.15.16.1", "Size and alignment of the mbarrier object";
    MBARRIER_ARRIVE_ON = "9.7.15.16.5.1", "Phases of the mbarrier object: what a thread does in each";
    MBARRIER_PHASE = "9.7.15.16.8", "Phase Completion of the mbarrier object";
    MBARRIER_EXPECT_TX = "9.7.15.16.14", "mbarrier.expect_tx";
    CP_ASYNC_MBARRIER_ARRIVE = "9.7.15.16.18", "cp.async.mbarrier.arrive";
    MBARRIER_WAIT = "9.7.15.16.19", "mbarrier.test_wait, mbarrier.try_wait";
    TENSORMAP_CP_FENCEPROXY = "9.7.15.17", "tensormap.cp_fenceproxy";
    CLUSTERLAUNCHCONTROL_TRY_CANCEL = "9.7.15.18", "clusterlaunchcontrol.try_cancel";
    CLUSTERLAUNCHCONTROL_QUERY_CANCEL = "9.7.15.19", "clusterlaunchcontrol.query_cancel";
    WARP_MATRIX = "9.7.16", "Warp Level Matrix Multiply-Accumulate Instructions";
    MMA = "9.7.16.5.14", "mma";
    LDMATRIX = "9.7.16.5.15", "ldmatrix";
    STMATRIX = "9.7.16.5.16", "stmatrix";
    MOVMATRIX = "9.7.16.5.17", "movmatrix";
    MMA_SP = "9.7.16.6.3", "mma.sp";
    WGMMA = "9.7.17", "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions";
    WGMMA_OPERATIONS = "9.7.17.5", "Asynchronous wgmma.mma_async operation";
    WGMMA_SHARED_LAYOUT = "9.7.17.5.1.2", "Shared Memory Matrix Layout";
    WGMMA_MMA_ASYNC = "9.7.17.5.2", "wgmma.mma_async";
    WGMMA_SPARSE = "9.7.17.6", "Asynchronous wgmma.mma_async.sp operation";
    WGMMA_MMA_ASYNC_SP = "9.7.17.6.2", "wgmma.mma_async.sp";
    WGMMA_SYNCHRONIZATION = "9.7.17.7", "Asynchronous wgmma proxy operations";
    WGMMA_FENCE = "9.7.17.7.1", "wgmma.fence";
    WGMMA_COMMIT_GROUP = "9.7.17.7.2", "wgmma.commit_group";
    WGMMA_WAIT_GROUP = "9.7.17.7.3", "wgmma.wait_group";
    TCGEN05 = "9.7.18", "TensorCore 5th Generation Family Instructions";
    TENSOR_MEMORY = "9.7.18.1", "Tensor Memory";
    TCGEN05_SHAPES = "9.7.18.2", "Matrix and Data Movement Shape";
    TCGEN05_DATA_MOVEMENT_SHAPE = "9.7.18.2.3", "Data Movement Shape";
    TCGEN05_DESCRIPTOR = "9.7.18.4.1", "Shared memory descriptor";
    TCGEN05_ISSUE_GRANULARITY = "9.7.18.5", "Issue Granularity";
    TCGEN05_MEMORY_MODEL = "9.7.18.6", "Memory Consistency Model for 5th generation of TensorCore operations";
    TCGEN05_ASYNCHRONOUS = "9.7.18.6.1", "Asynchronous Operations";
    TCGEN05_PIPELINED = "9.7.18.6.2", "Pipelined tcgen05 Instructions";
    TCGEN05_IMPLICITLY_PIPELINED = "9.7.18.6.2.1", "Implicitly pipelined tcgen05 Instructions";
    TCGEN05_SYNCHRONIZATION = "9.7.18.6.3", "Specialized Inter-thread Synchronization for tcgen05 instructions";
    TCGEN05_PATTERNS = "9.7.18.6.4", "Canonical synchronization patterns";
    TCGEN05_PATTERN_THREADS = "9.7.18.6.4.4", "Non-pipelined instructions, different thread";
    TENSOR_ALLOCATION = "9.7.18.7", "Tensor Memory Allocation and Management Instructions";
    TCGEN05_ALLOC = "9.7.18.7.1", "tcgen05.alloc, tcgen05.dealloc, tcgen05.relinquish_alloc_permit";
    TENSOR_LOAD_STORE = "9.7.18.8", "Tensor Memory and Register Load/Store Instructions";
    TCGEN05_LD = "9.7.18.8.1", "tcgen05.ld";
    TCGEN05_ST = "9.7.18.8.2", "tcgen05.st";
    TCGEN05_WAIT = "9.7.18.8.3", "tcgen05.wait";
    TCGEN05_CP = "9.7.18.9.1", "tcgen05.cp";
    TCGEN05_SHIFT = "9.7.18.9.2", "tcgen05.shift";
    TCGEN05_PRODUCTS = "9.7.18.10", "TensorCore 5th Generation Matrix Multiply and accumulate Operations";
    TCGEN05_MMA = "9.7.18.10.10.1", "tcgen05.mma";
    TCGEN05_MMA_SP = "9.7.18.10.10.2", "tcgen05.mma.sp";
    TCGEN05_MMA_WS = "9.7.18.10.10.3", "tcgen05.mma.ws";
    TCGEN05_MMA_WS_SP = "9.7.18.10.10.4", "tcgen05.mma.ws.sp";
    TCGEN05_FENCE = "9.7.18.11.1", "tcgen05.fence";
    TCGEN05_COMMIT = "9.7.18.12.1", "tcgen05.commit";
    MISCELLANEOUS = "9.7.21", "Miscellaneous Instructions";
    SETMAXNREG = "9.7.21.5", "setmaxnreg";
    MODULE_DIRECTIVES = "11.1", "PTX Module Directives";
}

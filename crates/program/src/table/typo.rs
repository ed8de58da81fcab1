//! Slips of the pen in PTX instructions: what a form without a model was probably meant to be. Compiler output is full of
//! legal words that have no model here, so a word of PTX ISA 9.7 is never taken for a slip of another one.

use fencepost_syntax::suggest::nearest;

/// Opcodes of PTX ISA 9.7 that the table of `super::ptx` may lack.
const OPCODES: &str = "\
    abs activemask add addc alloca and applypriority atom bar barrier bfe bfi bfind bmsk bra brev brkpt brx \
    call clmad clusterlaunchcontrol clz cnot copysign cos cp createpolicy cvt cvta discard div dp2a dp4a elect ex2 \
    exit fabric fence fma fns getctarank griddepcontrol isspacep istypep ld ldmatrix ldu lg2 lop3 mad mad24 madc \
    mapa match max mbarrier membar min mma mov movmatrix mul mul24 multimem nanosleep neg not or pmevent popc \
    prefetch prefetchu prmt rcp red redux rem ret rsqrt sad selp set setmaxnreg setp shf shfl shl shr sin \
    slct spcompress spdecompress sqrt st stackrestore stacksave stmatrix sub subc suld suq sured sust szext tanh tcgen05 tensormap \
    testp tex tld4 trap txq vabsdiff vabsdiff2 vabsdiff4 vadd vadd2 vadd4 vavrg2 vavrg4 vmad vmax \
    vmax2 vmax4 vmin vmin2 vmin4 vote vset vset2 vset4 vshl vshr vsub vsub2 vsub4 wgmma wmma xor";

/// Modifiers of PTX ISA 9.7 that have no model and are one slip from one that has.
const MODIFIERS: &str = "\
    aligned all any async b128 bf16 bulk cc check_layout const e4m3 e5m2 f16 f32 f64 finite ftz full geu gtu leu local ltu \
    mbarrier nan neu num pack rna rni rpi row rzi s128 s16x2 sat tf32 trans u128 u16x2 unified v2 v4 v8 wait \
    warp x2";

/// Words this short are one slip from too many others.
const SHORTEST: usize = 3;

/// `` `fnce.sc.gpu` (did you mean `fence`?) ``; without the remark where the opcode is PTX's or is like none of `known`.
pub(crate) fn unknown_opcode(spelled: String, opcode: &str, known: &[&'static str]) -> String {
    let meant = (!has(OPCODES, opcode) && opcode.len() >= SHORTEST).then(|| nearest(opcode, known)).flatten();
    named(spelled, meant.map(str::to_owned))
}

/// `` `ld.acquire.gpuu` (did you mean `.gpu`?) `` for the first modifier that the form does not take, of those that it knows.
pub(crate) fn unknown_modifier(spelled: String, word: &str, known: &[&'static str]) -> String {
    let plain = word.len() >= SHORTEST && !word.contains("::") && !has(MODIFIERS, word);
    let meant = plain.then(|| nearest(word, known)).flatten();
    named(spelled, meant.map(|meant| format!(".{meant}")))
}

/// Whether PTX has the instruction, though nothing here may have a model for it.
pub(crate) fn is_opcode(word: &str) -> bool {
    has(OPCODES, word)
}

/// The instruction of PTX that a word is a slip of.
pub(crate) fn nearest_opcode(word: &str) -> Option<&'static str> {
    let opcodes: Vec<&'static str> = OPCODES.split_whitespace().collect();
    (word.len() >= SHORTEST).then(|| nearest(word, &opcodes)).flatten()
}

/// Whether PTX has the modifier, though nothing here has a model for it.
pub(crate) fn is_word(word: &str) -> bool {
    has(MODIFIERS, word)
}

fn named(spelled: String, meant: Option<String>) -> String {
    match meant {
        Some(meant) => format!("{spelled} (did you mean `{meant}`?)"),
        None => spelled,
    }
}

fn has(words: &str, word: &str) -> bool {
    words.split_whitespace().any(|known| known == word)
}

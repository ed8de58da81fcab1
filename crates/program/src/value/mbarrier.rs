//! The mbarrier object (PTX ISA 9.7.15.16): its state as one value, and what each operation does to it.
//!
//! An mbarrier is a location whose value is the whole state, so that the engines need no rule for it: arrive, expect_tx
//! and complete_tx are read-modify-writes, a wait is a read, and phases follow from the order of the writes. What the ISA
//! leaves undefined sets a sticky error in the state instead of stopping: the execution stays one that can be shown.

use std::fmt;

use crate::value::Value;

/// Counts are 1 to 2^20 - 1, the tx-count lies within ±(2^20 - 1) (layout 0, PTX ISA 9.7.15.16.1).
pub const GREATEST_COUNT: u32 = (1 << 20) - 1;

/// The state of an mbarrier. The default is that of memory that holds none; its packed value is 0. The packed value of
/// memory that holds data is the data.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct State {
    /// Phases completed so far: the number of the current one.
    pub phase: u32,
    /// Arrivals the current phase still waits for.
    pub pending: u32,
    /// Arrivals each later phase waits for.
    pub expected: u32,
    /// Bytes the current phase still waits for; negative while more were completed than expected so far.
    pub tx: i32,
    pub liveness: Liveness,
    pub errors: Errors,
    /// What the eight bytes hold where they hold no mbarrier: ordinary data.
    pub data: u64,
}

/// Whether the memory holds an mbarrier: after `init` and before `inval`.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Liveness {
    #[default]
    Uninitialised,
    Live,
}

/// What was done to an mbarrier that the ISA does not define.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ProtocolError {
    /// An operation other than `init` on memory that holds no mbarrier.
    Uninitialised,
    /// `init` of a live mbarrier: `inval` must come first.
    InitOfLive,
    /// A count outside 1 to 2^20 - 1 (layout 0) or 511 (layout 1).
    CountRange,
    /// More arrivals than the phase waits for.
    TooManyArrivals,
    /// Bytes outside 0 to 2^20 - 1, or a tx-count outside ±(2^20 - 1).
    TxRange,
    /// `arrive_drop` left no expected arrival.
    DropToZero,
    /// An arrive with `.noComplete` completed its phase.
    NoCompleteCompleted,
}

/// A set of errors.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Errors(u8);

/// A read-modify-write on the packed state (the left operand), or a question about it.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Operator {
    /// The state after `init` with a count, whatever was there.
    Init(Layout),
    /// Operand: the count.
    Arrive(Completing),
    /// Operand: bytes. Expects them, then arrives once.
    ArriveExpectTx,
    /// Operand: the count. Lowers the expected count of later phases too.
    ArriveDrop(Completing),
    /// Operand: bytes.
    ArriveDropExpectTx,
    /// Operand: bytes.
    ExpectTx,
    /// Operand: bytes.
    CompleteTx,
    /// Operand: how many. What `cp.async.mbarrier.arrive` without `.noinc` does when issued; its arrival follows.
    IncrementPending,
    /// Operand: a parity. 1 if the phase of that parity is over.
    IsComplete,
    /// Operand: a token. 1 if the phase the token was taken in is over.
    IsCompleteToken,
}

/// How the object lies in memory. Its second phase in layout 1 follows the first unless an operation reports something,
/// which none does that has a model.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Layout {
    V0,
    V1,
}

impl Layout {
    fn greatest_count(self) -> u32 {
        match self {
            Layout::V0 => GREATEST_COUNT,
            Layout::V1 => 511,
        }
    }
}

/// Whether an arrive may complete its phase.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Completing {
    Allowed,
    /// `.noComplete`.
    Undefined,
}

const COUNT_BITS: u32 = 20;
/// One more for the sign.
const TX_BITS: u32 = COUNT_BITS + 1;
const PHASE_BITS: u32 = 32;
const ERROR_BITS: u32 = 8;
/// Where a packed value says that it is a live mbarrier.
const LIVE_AT: u32 = 2 * COUNT_BITS + TX_BITS + PHASE_BITS + ERROR_BITS;

/// Takes fields off the low end of a packed value.
struct Fields(u128);

impl Fields {
    fn take(&mut self, bits: u32) -> u32 {
        let field = self.0 & ((1 << bits) - 1);
        self.0 >>= bits;
        u32::try_from(field).expect("invariant: fields have at most 32 bits")
    }
}

impl State {
    /// A fresh mbarrier. A count out of range is noted.
    pub fn init(count: i128) -> State {
        State::default().reinit(count)
    }

    /// `init` on what was there before: an error on a live object.
    pub fn reinit(self, count: i128) -> State {
        let mut state = State { liveness: Liveness::Live, ..State::default() };
        match in_range(count, 1) {
            Some(count) => (state.pending, state.expected) = (count, count),
            None => state.fail(ProtocolError::CountRange),
        }
        if self.is_live() {
            state.fail(ProtocolError::InitOfLive);
        }
        state
    }

    /// The state a value of memory stands for.
    pub fn unpack(value: Value) -> State {
        let mut fields = Fields(value.0.cast_unsigned());
        if fields.0 >> LIVE_AT & 1 == 0 {
            let data = [fields.take(32), fields.take(32)].map(u64::from);
            fields.take(LIVE_AT - ERROR_BITS - 64);
            let errors = Errors(fields.take(ERROR_BITS).to_le_bytes()[0]);
            return State { data: data[0] | data[1] << 32, errors, ..State::default() };
        }
        let (pending, expected) = (fields.take(COUNT_BITS), fields.take(COUNT_BITS));
        let tx = fields.take(TX_BITS).cast_signed();
        let sign = 1 << (TX_BITS - 1);
        State {
            pending,
            expected,
            tx: (tx ^ sign) - sign,
            phase: fields.take(PHASE_BITS),
            errors: Errors(fields.take(ERROR_BITS).to_le_bytes()[0]),
            liveness: Liveness::Live,
            data: 0,
        }
    }

    pub fn pack(self) -> Value {
        let mut packed = 0u128;
        let mut shift = 0;
        let mut put = |field: u32, bits: u32| {
            packed |= (u128::from(field) & ((1 << bits) - 1)) << shift;
            shift += bits;
        };
        if self.is_live() {
            put(self.pending, COUNT_BITS);
            put(self.expected, COUNT_BITS);
            put(self.tx.cast_unsigned(), TX_BITS);
            put(self.phase, PHASE_BITS);
        } else {
            put((self.data & u64::from(u32::MAX)) as u32, 32);
            put((self.data >> 32) as u32, 32);
            put(0, LIVE_AT - ERROR_BITS - 64);
        }
        put(u32::from(self.errors.0), ERROR_BITS);
        put(u32::from(self.is_live()), 1);
        Value(packed.cast_signed())
    }

    pub fn is_live(self) -> bool {
        self.liveness == Liveness::Live
    }

    /// The parity of the current phase.
    pub fn parity(self) -> u32 {
        self.phase & 1
    }

    /// Whether the phase of this parity is over, as `test_wait.parity` answers: the current phase has the other one. On a
    /// fresh mbarrier the phase of parity 1 counts as over (PTX ISA 9.7.15.16.19). Memory without an mbarrier answers no.
    pub fn is_complete(self, parity: i128) -> bool {
        self.is_live() && i128::from(self.parity()) != parity & 1
    }

    /// Whether the phase the token was taken in is over.
    pub fn is_complete_token(self, token: Value) -> bool {
        self.is_live() && self.phase != token_phase(token)
    }

    /// The token an arrive returns, of the state before it: the phase and the pending count. It fits a 64-bit register.
    pub fn token(self) -> Value {
        Value(i128::from(self.phase) << COUNT_BITS | i128::from(self.pending))
    }

    fn fail(&mut self, error: ProtocolError) {
        self.errors = self.errors.with(error);
    }

    /// Adds to the tx-count.
    fn expect(&mut self, bytes: i128, sign: i128) {
        let sum = in_range(bytes, 0).map(|bytes| i128::from(self.tx) + sign * i128::from(bytes));
        match sum.filter(|sum| sum.unsigned_abs() <= u128::from(GREATEST_COUNT)) {
            Some(sum) => self.tx = i32::try_from(sum).expect("invariant: within 21 bits"),
            None => self.fail(ProtocolError::TxRange),
        }
    }

    fn arrive(&mut self, count: i128) {
        match in_range(count, 1) {
            None => self.fail(ProtocolError::CountRange),
            Some(count) if count > self.pending => self.fail(ProtocolError::TooManyArrivals),
            Some(count) => self.pending -= count,
        }
    }

    /// Lowers the expected count; the arrival comes after.
    fn drop_expected(&mut self, count: i128) {
        let Some(count) = in_range(count, 1) else { return };
        self.expected = self.expected.saturating_sub(count);
        if self.expected == 0 {
            self.fail(ProtocolError::DropToZero);
        }
    }

    fn increment(&mut self, count: i128) {
        let sum = in_range(count, 1).map(|count| self.pending + count);
        match sum.filter(|sum| *sum <= GREATEST_COUNT) {
            Some(sum) => self.pending = sum,
            None => self.fail(ProtocolError::CountRange),
        }
    }

    /// The phase is over when no arrival and no byte is missing; the next one begins at once (PTX ISA 9.7.15.16.8).
    fn settle(&mut self, completing: Completing) {
        if self.pending != 0 || self.tx != 0 {
            return;
        }
        self.phase = self.phase.wrapping_add(1);
        self.pending = self.expected;
        if completing == Completing::Undefined {
            self.fail(ProtocolError::NoCompleteCompleted);
        }
    }

    /// The state after an operation with this operand. Questions leave it.
    pub fn after(mut self, operator: Operator, operand: Value) -> State {
        let Value(operand) = operand;
        match operator {
            Operator::Init(layout) => {
                let mut state = State::init(operand);
                if state.expected > layout.greatest_count() {
                    state.fail(ProtocolError::CountRange);
                }
                return state;
            }
            Operator::IsComplete | Operator::IsCompleteToken => return self,
            _ if !self.is_live() => {
                self.fail(ProtocolError::Uninitialised);
                return self;
            }
            Operator::Arrive(_) => self.arrive(operand),
            Operator::ArriveExpectTx => {
                self.expect(operand, 1);
                self.arrive(1);
            }
            Operator::ArriveDrop(_) => {
                self.drop_expected(operand);
                self.arrive(operand);
            }
            Operator::ArriveDropExpectTx => {
                self.expect(operand, 1);
                self.drop_expected(1);
                self.arrive(1);
            }
            Operator::ExpectTx => self.expect(operand, 1),
            Operator::CompleteTx => self.expect(operand, -1),
            Operator::IncrementPending => self.increment(operand),
        }
        let completing = match operator {
            Operator::Arrive(completing) | Operator::ArriveDrop(completing) => completing,
            _ => Completing::Allowed,
        };
        self.settle(completing);
        self
    }
}

fn in_range(number: i128, least: u32) -> Option<u32> {
    u32::try_from(number).ok().filter(|number| (least..=GREATEST_COUNT).contains(number))
}

/// What `mbarrier.pending_count` reads from a token.
pub fn pending_count(token: Value) -> Value {
    Value(token.0 & i128::from(GREATEST_COUNT))
}

/// The phase a token was taken in.
pub fn token_phase(token: Value) -> u32 {
    Fields((token.0 >> COUNT_BITS).cast_unsigned()).take(PHASE_BITS)
}

impl Operator {
    /// On packed states: a state for operations, 0 or 1 for questions.
    pub fn apply(self, state: Value, operand: Value) -> Value {
        let state = State::unpack(state);
        match self {
            Operator::IsComplete => Value(i128::from(state.is_complete(operand.0))),
            Operator::IsCompleteToken => Value(i128::from(state.is_complete_token(operand))),
            _ => state.after(self, operand).pack(),
        }
    }

    /// Whether the result is 0 or 1, and not a state.
    pub fn is_question(self) -> bool {
        matches!(self, Operator::IsComplete | Operator::IsCompleteToken)
    }
}

impl ProtocolError {
    pub const ALL: &'static [ProtocolError] = &[
        ProtocolError::Uninitialised,
        ProtocolError::InitOfLive,
        ProtocolError::CountRange,
        ProtocolError::TooManyArrivals,
        ProtocolError::TxRange,
        ProtocolError::DropToZero,
        ProtocolError::NoCompleteCompleted,
    ];
}

impl Errors {
    pub const NONE: Errors = Errors(0);

    pub fn is_empty(self) -> bool {
        self == Errors::NONE
    }

    pub fn has(self, error: ProtocolError) -> bool {
        self.0 & 1 << error as u32 != 0
    }

    pub fn with(self, error: ProtocolError) -> Errors {
        Errors(self.0 | 1 << error as u32)
    }

    /// The errors of this set that the other has not: what one operation added.
    pub fn beyond(self, earlier: Errors) -> Errors {
        Errors(self.0 & !earlier.0)
    }

    pub fn iter(self) -> impl Iterator<Item = ProtocolError> {
        ProtocolError::ALL.iter().copied().filter(move |error| self.has(*error))
    }
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ProtocolError::Uninitialised => "used before `mbarrier.init`",
            ProtocolError::InitOfLive => "initialised while live, without `mbarrier.inval`",
            ProtocolError::CountRange => "a count outside 1 to 1048575 (511 in layout 1)",
            ProtocolError::TooManyArrivals => "more arrivals than the phase waits for",
            ProtocolError::TxRange => "a tx-count outside ±1048575",
            ProtocolError::DropToZero => "dropped the last expected arrival",
            ProtocolError::NoCompleteCompleted => "a `.noComplete` arrive completed the phase",
        })
    }
}

/// `phase 0: pending 1 of 2, tx 16`.
impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.liveness {
            Liveness::Uninitialised if self.data != 0 => write!(f, "no mbarrier, the data {}", self.data)?,
            Liveness::Uninitialised => f.write_str("no mbarrier")?,
            Liveness::Live => {
                write!(f, "phase {}: pending {} of {}, tx {}", self.phase, self.pending, self.expected, self.tx)?;
            }
        }
        let mut before = " (";
        for error in self.errors.iter() {
            write!(f, "{before}{error}")?;
            before = "; ";
        }
        f.write_str(if self.errors.is_empty() { "" } else { ")" })
    }
}

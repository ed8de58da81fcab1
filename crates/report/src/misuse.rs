//! How a program misuses an mbarrier (PTX ISA 9.7.15.16): one variant per thing that happens to it. `tell::words` makes the
//! sentences.

/// What happens to an mbarrier that must not.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, serde::Serialize, serde::Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Misuse {
    UsedBeforeInit,
    UsedAfterInval,
    InitialisedLive,
    CountOutOfRange,
    /// More arrivals than the phase waits for.
    TooManyArrivals,
    TxOutOfRange,
    LastArrivalDropped,
    NoCompleteCompleted,
    WrittenAsData,
    ReadAsData,
    /// A wait whose operand is neither 0 nor 1.
    NotAParity {
        operand: i64,
    },
    /// A wait for a phase that is more than one back: its answer is about a newer one. None: the phase before the first.
    WaitTooLate {
        meant: Option<u32>,
        returned: bool,
        about: u32,
    },
    /// No wait for the phase before returned true before the arrival.
    ArrivesUnawaited {
        phase: u32,
    },
    /// A wait never ends.
    ArrivalsNeverCome {
        phase: u32,
        pending: u32,
        expected: u32,
    },
    BytesNeverCome {
        phase: u32,
        bytes: u32,
    },
    BytesTooMany {
        phase: u32,
        bytes: u32,
    },
    /// The phase still waits for bytes when nothing more can come.
    BytesPending {
        expected: u32,
        brought: u32,
        end: LifeEnd,
        phase: u32,
        bytes: u32,
    },
    /// Bytes are left over; the phase before may be over without them.
    BytesLeftOver {
        expected: u32,
        brought: u32,
        phase: u32,
        bytes: u32,
        meant_before: bool,
    },
    /// In a phase that nobody uses.
    BytesUnexpected {
        phase: u32,
        bytes: u32,
    },
}

/// What ends the life of an mbarrier.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LifeEnd {
    Inval,
    Exit,
}

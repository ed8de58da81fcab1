//! Tests of the mbarrier object: every small state and operation against a plainly written model, and the edges.

use fencepost_program::mbarrier::Completing::{Allowed, Undefined};
use fencepost_program::mbarrier::*;
use fencepost_program::value::{Type, Value};

/// Every set of errors.
fn error_sets() -> impl Iterator<Item = Errors> {
    let has = |set: u32, at: usize| set & 1 << at != 0;
    let errors = move |set| ProtocolError::ALL.iter().enumerate().filter(move |(at, _)| has(set, *at));
    (0..1 << ProtocolError::ALL.len())
        .map(move |set| errors(set).fold(Errors::NONE, |all, (_, error)| all.with(*error)))
}

fn live(phase: u32, pending: u32, expected: u32, tx: i32) -> State {
    State { phase, pending, expected, tx, liveness: Liveness::Live, errors: Errors::NONE, data: 0 }
}

fn step(state: State, operator: Operator, operand: i128) -> State {
    let packed = operator.apply(state.pack(), Value(operand));
    let next = State::unpack(packed);
    assert_eq!(next, state.after(operator, Value(operand)), "the packed operation is the operation");
    next
}

#[test]
fn memory_without_an_mbarrier_is_zero() {
    assert_eq!(State::default().pack(), Value(0));
    assert_eq!(State::unpack(Value(0)), State::default());
}

#[test]
fn packing_loses_nothing() {
    let counts = [0, 1, 2, 255, GREATEST_COUNT];
    let most = i32::try_from(GREATEST_COUNT).expect("20 bits");
    for phase in [0, 1, 7, u32::MAX] {
        for (pending, expected) in counts.iter().flat_map(|a| counts.iter().map(move |b| (*a, *b))) {
            for tx in [0, 1, -1, 16, -16, most, -most] {
                for errors in error_sets() {
                    let state = State { errors, ..live(phase, pending, expected, tx) };
                    let packed = state.pack();
                    assert_eq!(State::unpack(packed), state);
                    assert!(packed.0 >= 0);
                }
            }
        }
    }
}

#[test]
fn memory_without_an_mbarrier_is_its_data() {
    for data in [0, 1, 7, u64::MAX] {
        let value = Value(i128::from(data));
        assert_eq!(State::unpack(value), State { data, ..State::default() });
        assert_eq!(State::unpack(value).pack(), value);
        let used = step(State::unpack(value), Operator::Arrive(Allowed), 1);
        assert!(!used.is_live() && used.errors.has(ProtocolError::Uninitialised) && used.data == data);
        assert_eq!(step(State::unpack(value), Operator::Init(Layout::V0), 2), State::init(2));
    }
}

/// The completion rule, said once more without the code under test: (phase, pending, expected, tx).
fn completed(phase: u32, pending: i128, expected: i128, tx: i128) -> (u32, i128, i128, i128) {
    if pending == 0 && tx == 0 { (phase + 1, expected, expected, 0) } else { (phase, pending, expected, tx) }
}

fn fields(state: State) -> (u32, i128, i128, i128) {
    (state.phase, state.pending.into(), state.expected.into(), state.tx.into())
}

#[test]
fn every_small_operation_follows_the_counts() {
    for (pending, expected) in (0..4i128).flat_map(|pending| (1..4i128).map(move |expected| (pending, expected))) {
        for tx in -3..4i128 {
            let start = live(5, pending as u32, expected as u32, tx as i32);
            for n in 0..4i128 {
                let expect = completed(5, pending, expected, tx + n);
                assert_eq!(fields(step(start, Operator::ExpectTx, n)), expect);
                let complete = completed(5, pending, expected, tx - n);
                assert_eq!(fields(step(start, Operator::CompleteTx, n)), complete);
                if n == 0 {
                    continue;
                }
                let more = completed(5, pending + n, expected, tx);
                assert_eq!(fields(step(start, Operator::IncrementPending, n)), more);
                if n > pending {
                    assert!(step(start, Operator::Arrive(Allowed), n).errors.has(ProtocolError::TooManyArrivals));
                    continue;
                }
                let arrive = completed(5, pending - n, expected, tx);
                assert_eq!(fields(step(start, Operator::Arrive(Allowed), n)), arrive);
                let drop = step(start, Operator::ArriveDrop(Allowed), n);
                assert_eq!(fields(drop), completed(5, pending - n, (expected - n).max(0), tx));
                assert_eq!(drop.errors.has(ProtocolError::DropToZero), expected <= n);
                for operator in [Operator::Arrive(Undefined), Operator::ArriveDrop(Undefined)] {
                    let quiet = step(start, operator, n);
                    assert_eq!(quiet.errors.has(ProtocolError::NoCompleteCompleted), quiet.phase == 6);
                }
            }
            if pending > 0 {
                for n in 0..4i128 {
                    let both = completed(5, pending - 1, expected, tx + n);
                    assert_eq!(fields(step(start, Operator::ArriveExpectTx, n)), both);
                    let drop = completed(5, pending - 1, expected - 1, tx + n);
                    assert_eq!(fields(step(start, Operator::ArriveDropExpectTx, n)), drop);
                }
            }
        }
    }
}

#[test]
fn a_tma_phase() {
    let start = State::init(1);
    assert_eq!(start.to_string(), "phase 0: pending 1 of 1, tx 0");
    let issued = step(start, Operator::ArriveExpectTx, 16);
    assert_eq!(issued.to_string(), "phase 0: pending 0 of 1, tx 16");
    assert!(!issued.is_complete(0) && issued.is_complete(1));
    let half = step(issued, Operator::CompleteTx, 8);
    assert_eq!(half, live(0, 0, 1, 8));
    let done = step(half, Operator::CompleteTx, 8);
    assert_eq!(done, live(1, 1, 1, 0));
    assert!(done.is_complete(0) && !done.is_complete(1));
    // The bytes may come before they are expected.
    let early = step(start, Operator::CompleteTx, 16);
    assert_eq!(early, live(0, 1, 1, -16));
    assert_eq!(step(early, Operator::ArriveExpectTx, 16), live(1, 1, 1, 0));
}

#[test]
fn expecting_comes_before_arriving() {
    // Arriving first would complete the phase with nothing expected.
    assert_eq!(step(live(0, 1, 1, 0), Operator::ArriveExpectTx, 4), live(0, 0, 1, 4));
    assert_eq!(step(live(0, 2, 2, 0), Operator::ArriveDropExpectTx, 4), live(0, 1, 1, 4));
}

#[test]
fn parities_alternate() {
    for phase in 0..5 {
        let state = live(phase, 1, 1, 0);
        assert_eq!(state.is_complete(0), phase % 2 == 1);
        assert_eq!(state.is_complete(1), phase % 2 == 0);
        let asked = Operator::IsComplete.apply(state.pack(), Value(1));
        assert_eq!(asked, Value(i128::from(phase % 2 == 0)));
    }
    assert!(!State::default().is_complete(1), "no mbarrier, no answer");
}

#[test]
fn tokens_name_a_phase_and_a_pending_count() {
    let state = live(3, 7, 9, 32);
    let token = state.token();
    assert_eq!(pending_count(token), Value(7));
    assert_eq!(token_phase(token), 3);
    assert!(Type::U64.wrap(live(u32::MAX, GREATEST_COUNT, 1, 0).token()).0 > 0);
    assert!(!state.is_complete_token(token));
    assert_eq!(Operator::IsCompleteToken.apply(live(4, 9, 9, 0).pack(), token), Value(1));
    assert!(!State::default().is_complete_token(token));
}

#[test]
fn operations_on_no_mbarrier_are_errors() {
    for operator in [Operator::Arrive(Allowed), Operator::ExpectTx, Operator::CompleteTx, Operator::ArriveExpectTx] {
        let next = step(State::default(), operator, 1);
        assert!(next.errors.has(ProtocolError::Uninitialised) && !next.is_live());
        assert_eq!(next.to_string(), "no mbarrier (used before `mbarrier.init`)");
    }
}

#[test]
fn counts_out_of_range() {
    for count in [0, -1, i128::from(GREATEST_COUNT) + 1, i128::MAX] {
        assert!(State::init(count).errors.has(ProtocolError::CountRange));
        assert!(step(live(0, 1, 1, 0), Operator::Arrive(Allowed), count).errors.has(ProtocolError::CountRange));
    }
    assert!(State::init(i128::from(GREATEST_COUNT)).errors.is_empty());
    let full = step(live(0, GREATEST_COUNT, 1, 0), Operator::IncrementPending, 1);
    assert!(full.errors.has(ProtocolError::CountRange));
}

#[test]
fn bytes_out_of_range() {
    let most = i128::from(GREATEST_COUNT);
    assert!(step(live(0, 1, 1, 0), Operator::ExpectTx, most).errors.is_empty());
    assert!(step(live(0, 1, 1, 1), Operator::ExpectTx, most).errors.has(ProtocolError::TxRange));
    assert!(step(live(0, 1, 1, -1), Operator::CompleteTx, most).errors.has(ProtocolError::TxRange));
    assert!(step(live(0, 1, 1, 0), Operator::ExpectTx, -1).errors.has(ProtocolError::TxRange));
}

#[test]
fn errors_stay() {
    let failed = step(live(0, 1, 2, 0), Operator::Arrive(Allowed), 2);
    let later = step(failed, Operator::Arrive(Allowed), 1);
    assert!(later.errors.has(ProtocolError::TooManyArrivals));
    assert_eq!(later.errors.beyond(failed.errors), Errors::NONE);
    assert_eq!((later.phase, later.pending), (1, 2));
    assert_eq!(failed.errors.iter().collect::<Vec<_>>(), [ProtocolError::TooManyArrivals]);
}

#[test]
fn initialising_twice_needs_inval() {
    assert!(State::init(2).reinit(2).errors.has(ProtocolError::InitOfLive));
    assert!(State::default().reinit(2).errors.is_empty());
    assert_eq!(Operator::Init(Layout::V0).apply(Value(0), Value(2)), State::init(2).pack());
}

//! Reasons about mbarriers as sentences: arrivals, bytes, parities (PTX ISA 9.7.15.16).

use fencepost_report::reason::{Announcing, Arriving, MbarrierUse, Parity};
use fencepost_report::site::Site;

use super::place::{called, operation};

pub(super) fn arriving(reason: &Arriving) -> String {
    match reason {
        Arriving::NoWaitForArrival { waiter, arrival, mbarrier } => format!(
            "{} does not wait for {}'s arrival on {mbarrier} in line {}",
            waiter.0, arrival.thread.0, arrival.line
        ),
        Arriving::NoWaitForCompletion { waiter, operation: of, mbarrier } => {
            format!("{} does not wait until {} is complete at {mbarrier}", waiter.0, operation(of))
        }
        Arriving::NoWaitForCommit { commit, mbarrier } => {
            format!("{} does not wait at {mbarrier} for what it has committed in line {}", commit.thread.0, commit.line)
        }
        Arriving::NoWaitInLoop { thread, mbarrier } => {
            format!("{} waits for no phase of {mbarrier} in its loop", thread.0)
        }
        Arriving::NobodyWaits { arrival, mbarrier } => format!(
            "nobody waits for the arrivals on {mbarrier}, such as {}'s in line {}",
            arrival.thread.0, arrival.line
        ),
        Arriving::NeverArrives { waiter, user, mbarrier } => {
            format!("{} waits at {mbarrier}, and {} never arrives there when it is done", waiter.0, user.0)
        }
        Arriving::TooFewArrive { waiter, mbarrier } => {
            format!("{} waits for a phase of {mbarrier}, and too few arrive there", waiter.0)
        }
        Arriving::CountTooLarge { mbarrier } => format!("a phase of {mbarrier} waits for more arrivals than come"),
        Arriving::PhaseOverWithoutArrival { threads, mbarrier } => {
            let all = threads.iter().map(|thread| thread.0.as_str()).collect::<Vec<_>>().join(" and ");
            format!("{all} arrive on {mbarrier}, and a phase of {mbarrier} is over without one of these arrivals")
        }
        Arriving::ArrivesBeforeCopies { arrival } => {
            format!("{}'s arrive in line {} does not wait for its cp.async", arrival.thread.0, arrival.line)
        }
        Arriving::NothingTells { operation, waiter, mbarrier } => {
            format!("nothing tells {mbarrier} when {} is done, and {} waits for that", called(operation), waiter.0)
        }
        Arriving::TokenWithoutArrival { wait, token } => format!(
            "{0} waits in line {1} with {token}, which no arrival of {0} has returned",
            wait.thread.0, wait.line
        ),
        Arriving::NeverInitialised { waiter, mbarrier } => {
            format!("{} waits on {mbarrier}, which nobody initialises", waiter.0)
        }
        Arriving::WrongMbarrier { at, uses, mbarrier, meant } => {
            format!("{}; it should be {meant}", used(at, *uses, mbarrier))
        }
        Arriving::AskedOnce { at, uses, mbarrier } => {
            format!("{}, and goes on whatever the answer is", used(at, *uses, mbarrier))
        }
    }
}

/// "P0 waits on full in line 8".
fn used(at: &Site, uses: MbarrierUse, mbarrier: &str) -> String {
    let what = match uses {
        MbarrierUse::Wait => "waits on",
        MbarrierUse::Arrive => "arrives on",
        MbarrierUse::Complete => "tells",
    };
    format!("{} {what} {mbarrier} in line {}", at.thread.0, at.line)
}

pub(super) fn announcing(reason: &Announcing) -> String {
    match reason {
        Announcing::AnnouncesOther { at, announced, copied } => {
            format!("{}'s line {} announces {announced} bytes, and {copied} are copied", at.thread.0, at.line)
        }
        Announcing::AnnouncesNone { at, copied } => {
            format!("{}'s line {} announces none of the {copied} bytes that are copied", at.thread.0, at.line)
        }
        Announcing::AnnouncesMore { at, announced, come } => {
            format!("{}'s line {} announces {announced} bytes, and {come} come", at.thread.0, at.line)
        }
        Announcing::OverBeforeAnnounced { at, mbarrier } => {
            format!("a phase of {mbarrier} may be over before {} announces its bytes", called(at))
        }
        Announcing::Unannounced { copy, bytes, mbarrier } => format!(
            "nobody announces the {bytes} bytes of the copy in line {} to {mbarrier}, or arrives for it",
            copy.line
        ),
        Announcing::MulticastLeavesOut { copy, cta, waiter } => format!(
            "the mask of {}'s multicast in line {} leaves CTA {cta} out, where {} waits for it",
            copy.thread.0, copy.line, waiter.0
        ),
    }
}

pub(super) fn parity(reason: &Parity) -> String {
    match reason {
        Parity::OneParity { wait, mbarrier } => format!(
            "{} uses one parity in every iteration, but phases alternate between 0 and 1",
            waits(wait, mbarrier)
        ),
        Parity::ParityNeverChanges { wait, mbarrier, register } => format!(
            "{} uses {register} in every iteration, which never changes, but phases alternate",
            waits(wait, mbarrier)
        ),
        Parity::WrongFirstParity { wait, mbarrier, register } => format!(
            "{} starts with the other phase: {register} is wrong in the first round (a fresh mbarrier lets parity 1 pass, and \
             parity 0 waits for its first phase)",
            waits(wait, mbarrier)
        ),
        Parity::ParityOfRound { wait, mbarrier, stages } => format!(
            "{} changes its parity in every iteration, but a stage is used every {stages} iterations",
            waits(wait, mbarrier)
        ),
        Parity::ParityOfOtherRounds { wait, mbarrier, changes, used } => format!(
            "{} uses a parity that changes {}, but a stage is used {}",
            waits(wait, mbarrier),
            every(*changes),
            every(*used)
        ),
        Parity::AsksForRoundBefore { wait, mbarrier } => {
            format!("{} waits with the wrong parity: it tests the phase of another iteration", waits(wait, mbarrier))
        }
        Parity::AsksForPhaseBefore { wait } => {
            format!("{} waits with the wrong parity: it tests the phase of another iteration", called(wait))
        }
        Parity::FreshPhase { wait } => format!(
            "{0}'s wait in line {1} waits for the first phase of a fresh mbarrier, which is not over before {0} goes on \
             itself: parity 1 passes it",
            wait.thread.0, wait.line
        ),
        Parity::PhaseNeverComes { wait } => {
            format!("{}'s wait in line {} waits with the parity of a phase that never comes", wait.thread.0, wait.line)
        }
        Parity::LoopsCountApart { counts, number, other, its } => {
            format!("{}'s loop counts to {number} (line {}), and {}'s to {its}", counts.thread.0, counts.line, other.0)
        }
    }
}

/// "P0's wait on full in line 8".
fn waits(wait: &Site, mbarrier: &str) -> String {
    format!("{}'s wait on {mbarrier} in line {}", wait.thread.0, wait.line)
}

fn every(rounds: i64) -> String {
    if rounds == 1 { "every iteration".to_owned() } else { format!("every {rounds} iterations") }
}

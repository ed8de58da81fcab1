//! Why a machine's run has no outcome.

use fencepost_machine::machine::Stuck;

pub(crate) fn stuck(why: Stuck) -> &'static str {
    match why {
        Stuck::Deadlock => "nothing can happen any more, and a thread or a read is unfinished",
        Stuck::Spin => "a loop is cut where a thread waits in it for another value: it reads again, or waits for ever",
        Stuck::NoLastWrite => "the writes to a location have no last one",
        Stuck::AssumedAway => "an assumption of the test does not hold",
    }
}

//! Tensor memory that is used outside its life (PTX ISA 9.7.18.7), and other mistakes that no synchronisation makes right.

use fencepost_check::model::role::Relation;
use fencepost_program::EventId;
use fencepost_program::placement::{self, Misplaced};
use fencepost_program::sections;
use fencepost_program::tag::Tag;
use fencepost_report::Missing;
use fencepost_report::finding::FindingKind;
use fencepost_report::piece::Piece;
use fencepost_report::reason::{AddressOrigin, Lifetime, OperandRule};

use crate::scene::Scene;

/// Why, where the two are about columns that are not the program's at the time.
pub(crate) fn why(scene: &Scene<'_>, kind: FindingKind, (first, second): (EventId, EventId)) -> Option<Lifetime> {
    Some(match kind {
        FindingKind::UnallocatedAccessRace => {
            Lifetime::NoAllocation { access: scene.site(first), origin: origin(scene, first) }
        }
        FindingKind::ClusterArriveTwice => Lifetime::ArrivesTwice { at: scene.site(second) },
        FindingKind::ClusterWaitAlone => Lifetime::WaitsAlone { at: scene.site(second) },
        FindingKind::MisplacedOperand => {
            let (rule, section) = misplaced(scene, second)?;
            Lifetime::OperandMisplaced { at: scene.site(second), rule, section: section.to_owned() }
        }
        FindingKind::OutsideWindow => {
            Lifetime::OutsideOwnWindow { at: scene.site(second), location: scene.variable(second) }
        }
        FindingKind::CancelAfterRefusal => {
            let (asks, saw) = if scene.has(first, Tag::Cancel) { (first, second) } else { (second, first) };
            Lifetime::AsksAfterRefusal { asks: scene.site(asks), saw: scene.site(saw) }
        }
        FindingKind::DeallocatedTwiceRace => Lifetime::DeallocatedTwice,
        _ => return deallocated(scene, (first, second)),
    })
}

/// A use of columns and their deallocation, or two of these.
fn deallocated(scene: &Scene<'_>, (first, second): (EventId, EventId)) -> Option<Lifetime> {
    let freed = |id: EventId| scene.has(id, Tag::Deallocation);
    let (dealloc, other) = match (freed(first), freed(second)) {
        (true, false) => (first, second),
        (false, true) => (second, first),
        (true, true) => {
            return Some(Lifetime::BothDeallocate { first: scene.site(first), second: scene.site(second) });
        }
        (false, false) => return None,
    };
    let is_after = scene.holds(Relation::BaseOfThreads, dealloc, scene.at(other));
    is_after.then(|| Lifetime::UsedAfterDeallocation { at: scene.site(other) })
}

fn misplaced(scene: &Scene<'_>, id: EventId) -> Option<(OperandRule, &'static str)> {
    let (rule, section) = placement::misplaced(&scene.test.program, scene.unfolding, id)?;
    let rule = match rule {
        Misplaced::Alone => OperandRule::Alone,
        Misplaced::NotOwn => OperandRule::NotOwn,
        Misplaced::Own => OperandRule::Own,
        Misplaced::Apart => OperandRule::Apart,
        Misplaced::NoPair => OperandRule::NoPair,
        Misplaced::NotOfPair => OperandRule::NotOfPair,
        Misplaced::Unsaid => OperandRule::Unsaid,
    };
    Some((rule, section))
}

/// Where the address came from: what a load behind it has read.
fn origin(scene: &Scene<'_>, access: EventId) -> Option<AddressOrigin> {
    let behind = |id: EventId| scene.event(id).address_deps.clone();
    let reads = behind(access).into_iter().chain(behind(scene.at(access)));
    let mut sources = reads.filter_map(|read| scene.source(read));
    let source = sources.next()?;
    let opcode = scene.statement(source).map(|statement| statement.opcode.node.as_str());
    Some(match scene.thread(source) {
        None => AddressOrigin::BeforeAllocation,
        Some(_) if opcode == Some("tcgen05") => AddressOrigin::BeyondColumns { allocation: scene.site(source) },
        Some(_) => AddressOrigin::Written { write: scene.site(source) },
    })
}

/// What is missing, where it can be said without a change that was checked.
pub(crate) fn lacks(scene: &Scene<'_>, kind: FindingKind, (first, second): (EventId, EventId)) -> Option<Missing> {
    let asks = if scene.has(first, Tag::Cancel) { first } else { second };
    let one = |id: EventId, piece: fn(fencepost_report::site::Site) -> Piece| (id, piece(scene.site(id)));
    let ((id, what), section) = match kind {
        FindingKind::UnallocatedAccessRace => {
            (one(first, |at| Piece::AllocatedAddress { at }), sections::TCGEN05_ALLOC)
        }
        FindingKind::DeallocatedTwiceRace => (one(second, |at| Piece::OneDeallocation { at }), sections::TCGEN05_ALLOC),
        FindingKind::ClusterArriveTwice => (one(second, |at| Piece::ClusterWait { at }), sections::BARRIER_CLUSTER),
        FindingKind::ClusterWaitAlone => (one(second, |at| Piece::ClusterArrive { at }), sections::BARRIER_CLUSTER),
        FindingKind::MisplacedOperand => {
            let (rule, section) = misplaced(scene, second)?;
            ((second, Piece::OtherOperand { at: scene.site(second), rule }), section)
        }
        FindingKind::OutsideWindow => (one(second, |at| Piece::ClusterWindow { at }), sections::SHARED_SPACE),
        FindingKind::CancelAfterRefusal => {
            (one(asks, |at| Piece::BranchAroundRequest { at }), sections::CLUSTERLAUNCHCONTROL_TRY_CANCEL)
        }
        _ => {
            let dealloc = [first, second].into_iter().find(|id| scene.has(*id, Tag::Deallocation))?;
            let other = if dealloc == first { second } else { first };
            let (at, other_at) = (scene.site(dealloc), scene.site(other));
            let what = match scene.has(other, Tag::Deallocation) {
                true => Piece::OneDeallocation { at },
                false => Piece::DeallocationBehind { at, other: other_at },
            };
            ((dealloc, what), sections::TCGEN05_ALLOC)
        }
    };
    Some(scene.missing(id, what, section))
}

//! Fences: what each is about is known once its address is.

use fencepost_syntax::sorted::SharedSort as _;

use crate::ids::{AddressId, LocationId};
use crate::program::{Cover, FenceCover, Scope};
use crate::tag::{Tag, Tags};
use crate::unfold::UnfoldError;
use crate::unfold::run::dependency::{Deps, Reads};
use crate::unfold::run::runner::Runner;
use crate::unfold::run::state::State;
use crate::unfolding::EventKind;

/// What `fence.proxy.tensormap` acquires: the bytes of one tensor map.
const MAP_BYTES: i128 = 128;

impl Runner<'_> {
    pub(crate) fn fence(
        &mut self,
        state: Box<State>,
        tags: Tags,
        scope: Option<Scope>,
        cover: &FenceCover,
        guard: Reads,
    ) -> Result<(), UnfoldError> {
        let (alternatives, address) = match cover {
            FenceCover::Fixed(cover) => (vec![(state, cover.clone())], Reads::new()),
            FenceCover::TensorMap(map) => {
                let (targets, reads) = self.targets(state, map)?;
                let covered = |(state, target)| (state, Cover::Locations(self.map_at(target)));
                (targets.into_iter().map(covered).collect(), reads)
            }
        };
        for (mut state, cover) in alternatives {
            // A fence about shared memory says so, as an access to it does.
            let is_shared = matches!(cover, Cover::SharedCta | Cover::SharedCluster);
            let tags = if is_shared { tags.with(Tag::Shared) } else { tags };
            let deps = Deps { address: address.clone(), data: Reads::new(), guard: guard.clone() };
            let event = self.event(&mut state, EventKind::Fence, tags, scope, deps)?;
            self.unfolding.events[event.index()].cover = cover;
            self.proceed(state);
        }
        Ok(())
    }

    /// The locations of the tensor map that starts at this address.
    fn map_at(&self, target: AddressId) -> Vec<LocationId> {
        let addresses = &self.program.addresses;
        let start = addresses[target.index()].value.0;
        let inside = addresses.iter().filter(|address| (start..start + MAP_BYTES).contains(&address.value.0));
        let mut locations: Vec<LocationId> = inside.map(|address| address.location).collect();
        locations.shared_sort();
        locations.dedup();
        locations
    }
}

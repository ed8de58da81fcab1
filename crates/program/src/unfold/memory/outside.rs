//! Accesses that have no meaning where their address falls: outside every location, or in another state space than the
//! instruction says (PTX ISA 5.1: an address of one space is none of another). The run ends there, and its end says which
//! access it was and where it would have gone.

use fencepost_syntax::Span;

use crate::ids::{AddressId, RegisterId};
use crate::lower::memory::layout::{FIRST_SHARED, RANK_MASK, RANK_SHIFT};
use crate::program::{LocationRole, Operation, Place, Space};
use crate::tag::Tag;
use crate::unfold::UnfoldError;
use crate::unfold::memory::access::accessed;
use crate::unfold::run::dependency::Reads;
use crate::unfold::run::fold;
use crate::unfold::run::runner::Runner;
use crate::unfold::run::state::State;
use crate::unfolding::TraceEnd;
use crate::value::Value;
use crate::value::expression::Expression;

/// A variable: a run of locations with one name.
struct Variable<'p> {
    name: &'p str,
    start: i128,
    end: i128,
}

impl Runner<'_> {
    /// The instruction as the text spells it: "`ld.shared.u32`".
    pub(crate) fn spelling(&self, at: usize) -> String {
        let wording = self.thread.wordings.get(&self.span_at(at));
        let spelling = wording.map(|wording| wording.spelling.as_str()).filter(|text| !text.is_empty());
        spelling.map_or_else(|| "an access".to_owned(), |text| format!("`{text}`"))
    }

    /// The state spaces in which the instruction says that the address in this register lies.
    pub(crate) fn said(&self, at: usize, register: RegisterId) -> Vec<Space> {
        let spaces = self.thread.wordings.get(&self.span_at(at)).map_or(&[][..], |wording| &wording.spaces);
        spaces.iter().filter(|(own, _)| *own == register).map(|(_, space)| *space).collect()
    }

    /// Whether an address lies in all of these spaces.
    pub(crate) fn lies_in(&self, target: AddressId, spaces: &[Space]) -> bool {
        let address = &self.program.addresses[target.index()];
        let location = &self.program.locations[address.location.index()];
        // Where nothing says the space of data it is global.
        let own = location.space.or((location.role == LocationRole::Data).then_some(Space::Global));
        // A name of the constant proxy lies in the constant bank, wherever the location is declared.
        let is_bank = || {
            let same = self.program.addresses.iter().filter(|other| other.value == address.value);
            same.into_iter().any(|other| other.proxy == Some(Tag::Constant))
        };
        spaces.iter().all(|said| own.is_none_or(|own| own == *said) || *said == Space::Const && is_bank())
    }

    /// Ends the run at an access in another state space than it says.
    pub(crate) fn end_in_another_space(
        &mut self,
        state: Box<State>,
        target: AddressId,
        reads: &Reads,
    ) -> Result<(), UnfoldError> {
        let address = &self.program.addresses[target.index()];
        let space = self.program.locations[address.location.index()].space.unwrap_or(Space::Global);
        let what = format!("{} at `{}`, which lies in {}", self.spelling(state.at), address.name, space.memory());
        self.end_outside(state, what, reads)
    }

    /// Ends the run at an access whose address, of this value, no location has.
    pub(crate) fn end_nowhere(
        &mut self,
        state: Box<State>,
        value: &Expression,
        reads: &Reads,
    ) -> Result<(), UnfoldError> {
        let what = match fold::substitute(value, &state.known) {
            Expression::Constant(Value(value)) => self.nowhere(state.at, value),
            _ => format!("{} at an address outside every declared location", self.spelling(state.at)),
        };
        self.end_outside(state, what, reads)
    }

    fn end_outside(&mut self, state: Box<State>, what: String, reads: &Reads) -> Result<(), UnfoldError> {
        let span: Span = self.span_at(state.at);
        let rests_on = state.control.all().union(reads).copied().collect();
        self.finish(state, TraceEnd::Wild { span, what, rests_on })
    }

    /// Where an address is that no location has: beside the nearest variable.
    fn nowhere(&self, at: usize, value: i128) -> String {
        let spelling = self.spelling(at);
        let rank = (value >> RANK_SHIFT) & RANK_MASK;
        let count = self.cluster_size();
        if value >= FIRST_SHARED && rank >= count {
            let ctas = if count == 1 { "one CTA".to_owned() } else { format!("{count} CTAs") };
            return format!("{spelling} in shared memory of the CTA of rank {rank}, and the cluster has {ctas}");
        }
        let distance = |variable: &Variable<'_>| (variable.start - value).max(value - variable.end);
        match self.variables().into_iter().min_by_key(distance).filter(|variable| distance(variable) < NEAR) {
            Some(Variable { name, start, .. }) if value < start => {
                let bytes = if start - value == 1 { "byte" } else { "bytes" };
                format!("{spelling} at an address {} {bytes} before `{name}`", start - value)
            }
            Some(variable) => self.beyond(at, &variable, value),
            None => format!("{spelling} at the address {value}, outside every declared location"),
        }
    }

    /// An access that begins in a variable or behind it: what is wrong is its end, or where it begins.
    fn beyond(&self, at: usize, Variable { name, start, end }: &Variable<'_>, value: i128) -> String {
        let (bytes, is_mbarrier) = self.access_size(at);
        let (spelling, offset, size) = (self.spelling(at), value - start, end - start);
        let place = if offset == 0 { String::new() } else { format!("+{offset}") };
        let place = format!("{spelling} at `{name}`{place}");
        match () {
            () if is_mbarrier && offset < size => {
                format!(
                    "{place}, where no mbarrier begins: an mbarrier has {bytes} bytes and lies at a multiple of {bytes}"
                )
            }
            () if offset + bytes > size => {
                format!("{place} reaches byte {} of `{name}`, which has {size}", offset + bytes)
            }
            // How long it is, an operand of an asynchronous operation says.
            () if offset >= size => format!("{place}, and `{name}` has {size} bytes"),
            () => format!("{place}, where no declared element begins"),
        }
    }

    /// How many bytes the access has, and whether it is one to an mbarrier (PTX ISA 9.7.15.16).
    fn access_size(&self, at: usize) -> (i128, bool) {
        let Some(code) = self.thread.code.get(at) else { return (0, false) };
        let is_mbarrier = match &code.operation {
            Operation::MbarrierWait(_) => true,
            Operation::Store { tags, .. } => tags.has(Tag::Mbarrier),
            Operation::ReadModifyWrite { read_tags, .. } => read_tags.has(Tag::Mbarrier),
            _ => false,
        };
        let bytes = accessed(&code.operation).map_or(0, |(_, bytes)| bytes);
        if is_mbarrier { (MBARRIER, true) } else { (bytes, false) }
    }

    /// An access of so many bytes that begins in a variable and ends beyond it.
    pub(crate) fn overrun(&self, at: usize, target: AddressId, bytes: i128) -> Option<UnfoldError> {
        let value = self.program.addresses[target.index()].value.0;
        let holds = |variable: &Variable<'_>| (variable.start..variable.end).contains(&value);
        let variable = self.variables().into_iter().find(holds).filter(|variable| value + bytes > variable.end)?;
        Some(UnfoldError::Beyond { span: self.span_at(at), what: self.beyond(at, &variable, value) })
    }

    fn variables(&self) -> Vec<Variable<'_>> {
        let mut found: Vec<Variable<'_>> = Vec::new();
        for (index, address) in self.program.addresses.iter().enumerate() {
            if address.canonical.index() != index {
                continue;
            }
            let name = address.name.split(['[', '+']).next().unwrap_or(&address.name);
            let (start, end) = (address.value.0, address.value.0 + self.width(AddressId::new(index)));
            match found.iter_mut().find(|variable| variable.name == name) {
                Some(variable) => {
                    variable.start = variable.start.min(start);
                    variable.end = variable.end.max(end);
                }
                None => found.push(Variable { name, start, end }),
            }
        }
        found
    }

    /// How many CTAs the thread's cluster has.
    fn cluster_size(&self) -> i128 {
        let Place::Gpu { .. } = self.thread.place else { return 0 };
        crate::unfolding::placement::cluster(self.program, self.thread.place).len() as i128
    }
}

/// An address farther than this from every variable is told as a number.
const NEAR: i128 = 4096;

/// Bytes of an mbarrier, which is aligned to them (PTX ISA 9.7.15.16).
const MBARRIER: i128 = 8;

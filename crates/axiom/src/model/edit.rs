//! Models made of a compiled one: without an axiom, for tests that ask whether it matters, or without any.

use crate::model::ir::{CheckId, Model};

impl Model {
    /// The model without the checks of this name. What kind of order coherence is stays as the whole model has it.
    pub fn without_check(&self, name: &str) -> Model {
        let mut model = self.clone();
        let mut new_ids = Vec::new();
        let mut kept = 0;
        for check in &self.checks {
            let stays = check.name != name;
            new_ids.push(stays.then_some(CheckId(kept)));
            kept += u32::from(stays);
        }
        model.checks.retain(|check| check.name != name);
        let demands = self.demands.iter().filter_map(|demand| {
            let check = new_ids.get(demand.check.index()).copied().flatten()?;
            Some(crate::model::ir::Demand { check, ..demand.clone() })
        });
        model.demands = demands.collect();
        let gone: Vec<_> = self.checks.iter().filter(|check| check.name == name).collect();
        model.unrecognised.retain(|one| !gone.iter().any(|check| check.file == one.file && check.span == one.span));
        model
    }

    /// The model without its checks and demands: the same relations, of which a part can be evaluated.
    pub fn unchecked(&self) -> Model {
        Model {
            name: self.name.clone(),
            nodes: self.nodes.clone(),
            groups: self.groups.clone(),
            checks: Vec::new(),
            shown: Vec::new(),
            coherence: self.coherence.clone(),
            demands: Vec::new(),
            unrecognised: Vec::new(),
            features: Vec::new(),
            readings: Vec::new(),
            files: Vec::new(),
            plans: self.plans.of_same_nodes(),
        }
    }

    /// The checks of this name.
    pub fn checks_named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = CheckId> + 'a {
        let ids = self.checks.iter().enumerate().filter(move |(_, check)| check.name == name);
        ids.map(|(index, _)| CheckId(index as u32))
    }
}

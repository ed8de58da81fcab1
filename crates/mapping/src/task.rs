//! Which models and which profiles a mapping is about.

use std::sync::Arc;

use fencepost_axiom::model::CheckId;
use fencepost_check::model::family::Family;
use fencepost_check::model::load::LoadedModel;
use fencepost_program::program::Version;
use fencepost_syntax::cat::CheckRole;

use crate::bounded::{Question, ScScopes};
use crate::scheme::{Device, Profile, Scheme};

/// Where the threads of compiled code run.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Target {
    Ptx,
    X86,
    /// Host and device together; every thread may run on either.
    Both,
}

impl Target {
    /// Of code that this model judges; None if nothing is compiled for what it is about.
    pub fn of(model: &LoadedModel) -> Option<Target> {
        match model.family? {
            Family::Ptx => Some(Target::Ptx),
            Family::X86 => Some(Target::X86),
            Family::Compound => Some(Target::Both),
            Family::C | Family::Other => None,
        }
    }

    pub fn devices(self) -> &'static [Device] {
        match self {
            Target::Ptx => &[Device::Ptx],
            Target::X86 => &[Device::X86],
            Target::Both => &[Device::X86, Device::Ptx],
        }
    }
}

/// Where fences stand. With several schemes of a device, each of its threads may be compiled by either.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Schemes {
    pub device: Vec<Scheme>,
    /// Of threads on x86.
    pub host: Vec<Scheme>,
}

impl Schemes {
    pub fn of(&self, device: Device) -> &[Scheme] {
        match device {
            Device::X86 => &self.host,
            Device::Ptx => &self.device,
        }
    }

    /// As the command line has it.
    pub fn name(&self, target: Target) -> String {
        let names = |schemes: &[Scheme]| schemes.iter().map(|scheme| scheme.name()).collect::<Vec<_>>().join(" and ");
        match target {
            Target::X86 => names(&self.host),
            Target::Both if self.host != self.device => {
                format!("{} on the device, {} on the host", names(&self.device), names(&self.host))
            }
            _ => names(&self.device),
        }
    }
}

/// A mapping, with the models that judge it.
#[derive(Clone, Debug)]
pub struct Task {
    pub target: Target,
    /// What the target is called.
    pub to: String,
    pub source_model: LoadedModel,
    /// Without the axiom against thin air, which no mapping to PTX keeps.
    pub claim: Arc<LoadedModel>,
    pub target_model: LoadedModel,
    pub profiles: Vec<Profile>,
    pub schemes: Schemes,
    pub sc_scopes: ScScopes,
}

/// Why there is no mapping between two models.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum NoTask {
    /// The model of the source is not about C.
    Source,
    /// Its text has an error without the axiom against thin air.
    Claim,
    /// Nothing is compiled for what the model of the target is about.
    Target,
}

impl Task {
    pub fn new(
        source_model: LoadedModel,
        (to, target_model): (&str, LoadedModel),
        schemes: &Schemes,
        sc_scopes: ScScopes,
    ) -> Result<Task, NoTask> {
        if source_model.family.is_some_and(|family| family != Family::C) {
            return Err(NoTask::Source);
        }
        let target = Target::of(&target_model).ok_or(NoTask::Target)?;
        let without = source_model.under(&source_model.vocabulary.without_thin_air, Version::NEWEST);
        let claim = without.map_err(|_| NoTask::Claim)?.unwrap_or_else(|| Arc::new(source_model.clone()));
        let mut profiles: Vec<Profile> = Vec::new();
        for device in target.devices() {
            for scheme in schemes.of(*device) {
                let profile = scheme.profile(*device);
                if !profiles.contains(&profile) {
                    profiles.push(profile);
                }
            }
        }
        let (to, schemes) = (to.to_owned(), schemes.clone());
        Ok(Task { target, to, claim, target_model, source_model, profiles, schemes, sc_scopes })
    }

    /// The target in names of tests and files: of a model in a file without folder and ending.
    pub fn title(&self) -> String {
        let file = self.to.rsplit(['/', '\\']).next().unwrap_or(&self.to);
        let is_plain = |character: char| character.is_ascii_alphanumeric() || "_+-.".contains(character);
        let plain = |character: char| if is_plain(character) { character } else { '_' };
        file.strip_suffix(".cat").unwrap_or(file).chars().map(plain).collect()
    }

    /// Whether somebody claims that this mapping keeps the promises of its source, and who.
    pub fn claimed_by(&self) -> Option<&str> {
        let claim = self.target_model.vocabulary.mapping_claim.as_ref()?;
        let is_claimed = |schemes: &[Scheme]| matches!(schemes, [scheme] if scheme.name() == claim.scheme);
        let is_own = is_claimed(&self.schemes.device) && is_claimed(&self.schemes.host);
        (is_own && self.sc_scopes == ScScopes::Any).then_some(claim.name.as_str())
    }

    pub fn question(&self) -> Question<'_> {
        let is_flag = |role: &CheckRole| matches!(role, CheckRole::Flag | CheckRole::UndefinedUnless);
        let checks = self.source_model.model.checks.iter().enumerate();
        let flags = checks.filter(|(_, check)| is_flag(&check.role)).map(|(at, _)| CheckId(at as u32));
        Question {
            source: &self.claim.model,
            races: &self.source_model.model,
            race_flags: flags.collect(),
            target: &self.target_model.model,
            profiles: &self.profiles,
            sc_scopes: self.sc_scopes,
        }
    }
}

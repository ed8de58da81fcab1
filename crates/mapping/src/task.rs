//! Which models and which profiles a mapping is about.

use std::sync::Arc;

use fencepost_axiom::model::CheckId;
use fencepost_check::model::load::{LoadedModel, Models};
use fencepost_check::model::readings::Settings;
use fencepost_program::program::Version;
use fencepost_syntax::cat::CheckRole;

use crate::bounded::{Question, ScScopes};
use crate::scheme::{Device, Profile, Scheme};

/// What code is made for.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Target {
    /// Of the shipped models for PTX.
    Ptx(PtxModel),
    X86,
    /// Host and device together; every thread may run on either.
    Cmm,
}

#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PtxModel {
    V60,
    V75,
    Newest,
}

impl Target {
    pub const ALL: [Target; 5] = [
        Target::Ptx(PtxModel::Newest),
        Target::Ptx(PtxModel::V60),
        Target::Ptx(PtxModel::V75),
        Target::X86,
        Target::Cmm,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Target::Ptx(PtxModel::V60) => "ptx-6.0",
            Target::Ptx(PtxModel::V75) => "ptx-7.5",
            Target::Ptx(PtxModel::Newest) => "ptx",
            Target::X86 => "x86",
            Target::Cmm => "cmm",
        }
    }

    /// The shipped model.
    pub fn model(self) -> &'static str {
        if self == Target::X86 { "x86-tso" } else { self.name() }
    }

    pub fn devices(self) -> &'static [Device] {
        match self {
            Target::Ptx(_) => &[Device::Ptx],
            Target::X86 => &[Device::X86],
            Target::Cmm => &[Device::X86, Device::Ptx],
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
            Target::Cmm if self.host != self.device => {
                format!("{} on the device, {} on the host", names(&self.device), names(&self.host))
            }
            _ => names(&self.device),
        }
    }
}

/// A mapping from `rc11-scoped`, with the models that judge it.
#[derive(Clone, Debug)]
pub struct Task {
    pub target: Target,
    pub source_model: LoadedModel,
    /// Without the axiom against thin air, which no mapping to PTX keeps.
    pub claim: Arc<LoadedModel>,
    pub target_model: LoadedModel,
    pub profiles: Vec<Profile>,
    pub schemes: Schemes,
    pub sc_scopes: ScScopes,
}

impl Task {
    /// None only if a shipped model is not there or has lost a reading.
    pub fn new(target: Target, schemes: &Schemes, sc_scopes: ScScopes) -> Option<Task> {
        let source_model = Models::shipped("rc11-scoped")?;
        let claim = source_model.under(&Task::claim_readings(), Version::NEWEST).ok()??;
        let mut profiles: Vec<Profile> = Vec::new();
        for device in target.devices() {
            for scheme in schemes.of(*device) {
                let profile = scheme.profile(*device);
                if !profiles.contains(&profile) {
                    profiles.push(profile);
                }
            }
        }
        let target_model = Models::shipped(target.model())?;
        let schemes = schemes.clone();
        Some(Task { target, claim, target_model, source_model, profiles, schemes, sc_scopes })
    }

    /// The readings of the source without its axiom against thin air.
    pub fn claim_readings() -> Settings {
        Settings::default().with("thin-air", "allowed")
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

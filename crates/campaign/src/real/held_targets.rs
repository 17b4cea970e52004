//! Targets held by a campaign, which it can release for a while.

use diagnostic::Problem;
use driver::CreatedDevice;
use load_engine::OpenTarget;
use serde_json::Value;
use std::path::PathBuf;
use storage_target::{
    Address, Guard, GuardRefusal, Inspected, PermitError, ReadPermit, Roots, StorageSpec, TargetError,
    WritePermit,
};

/// The leave that a campaign has for a target, as long as it is held.
#[derive(Debug)]
enum Permit {
    Write(WritePermit),
    Read(ReadPermit),
}

impl Permit {
    fn inspected(&self) -> &Inspected {
        match self {
            Permit::Write(permit) => permit.inspected(),
            Permit::Read(permit) => permit.inspected(),
        }
    }

    /// Engines open the address by themselves, so it is looked at again before each case.
    fn recheck(&self) -> Result<(), PermitError> {
        match self {
            Permit::Write(permit) => permit.recheck(),
            Permit::Read(_) => Ok(()),
        }
    }
}

/// One target of a campaign.
#[derive(Debug)]
pub(crate) struct Held {
    /// Target as on the command line.
    pub text: String,
    spec: StorageSpec,
    is_written: bool,
    consents: Vec<String>,
    permit: Option<Permit>,
}

impl Held {
    /// A target that has not been opened yet.
    pub fn new(text: String, spec: StorageSpec, is_written: bool, consents: Vec<String>) -> Held {
        Held { text, spec, is_written, consents, permit: None }
    }

    /// A file that the campaign itself has made, in a file system of its own.
    pub fn of_own_file(text: String, file: PathBuf) -> Result<Held, PermitError> {
        let mut held = Held::new(text, StorageSpec::Path(file), true, Vec::new());
        let inspected = storage_target::inspect(&Roots::system(), &held.spec)?;
        held.consents.extend(inspected.consent_id);
        held.hold()?;
        Ok(held)
    }

    /// Opens it for our own engine, as far as the campaign's leave goes. It must be held for as long as that is used.
    pub fn open(&self, direct: bool) -> Result<OpenTarget, Problem> {
        let opened = match &self.permit {
            Some(Permit::Write(permit)) => OpenTarget::writing(permit, direct),
            Some(Permit::Read(permit)) => OpenTarget::reading(permit, direct),
            None => return Err(format!("{} is not held", self.text).into()),
        };
        opened.map_err(|error| Problem::of(&error))
    }

    /// Looks at it, and says whether it may be used as it will be. Touches nothing.
    pub fn check(&self) -> Result<Inspected, PermitError> {
        let inspected = storage_target::inspect(&Roots::system(), &self.spec)?;
        if self.is_written {
            Guard::default().check_write(&inspected, &self.consents)?;
        }
        Ok(inspected)
    }

    /// Opens it, unless it is held already, and makes sure that it is still the same thing.
    pub fn hold(&mut self) -> Result<&Inspected, PermitError> {
        let permit = match self.permit.take() {
            Some(permit) => {
                permit.recheck()?;
                permit
            }
            None => {
                let inspected = storage_target::inspect(&Roots::system(), &self.spec)?;
                let guard = Guard::default();
                if self.is_written {
                    Permit::Write(guard.permit_write(&inspected, &self.consents)?)
                } else {
                    Permit::Read(guard.permit_read(&inspected)?)
                }
            }
        };
        Ok(self.permit.insert(permit).inspected())
    }

    /// Lets it go: a driver, `mkfs` and `mount` want it for themselves.
    pub fn let_go(&mut self) {
        self.permit = None;
    }

    /// Goes on with a device that a driver has made. The consent to the driver covers this one device; the guard's
    /// other rules hold for it as for any.
    pub fn replace(&mut self, device: &CreatedDevice) -> Result<(), PermitError> {
        self.permit = None;
        self.spec = StorageSpec::Path(device.path.clone());
        let inspected = storage_target::inspect(&Roots::system(), &self.spec)?;
        self.consents.extend(inspected.consent_id.clone());
        self.hold().map(|_| ())
    }

    /// Returns the inspection of the target while it is held.
    pub fn inspected(&self) -> Option<&Inspected> {
        self.permit.as_ref().map(Permit::inspected)
    }
}

/// All targets of a campaign.
#[derive(Debug)]
pub(crate) struct HeldTargets(pub Vec<Held>);

impl HeldTargets {
    /// Opens all of them; every one is checked before the first is opened.
    pub fn hold(&mut self) -> Result<(), PermitError> {
        for held in self.0.iter().filter(|held| held.permit.is_none()) {
            held.check()?;
        }
        self.0.iter_mut().try_for_each(|held| held.hold().map(|_| ()))
    }

    /// Lets all of them go.
    pub fn let_go(&mut self) {
        self.0.iter_mut().for_each(Held::let_go);
    }

    /// Kernel names of the block devices among them.
    pub fn kernel_names(&self) -> Vec<String> {
        let inspected = self.0.iter().filter_map(Held::inspected);
        inspected.filter_map(Inspected::kernel_name).map(str::to_owned).collect()
    }

    /// Paths of the block devices among them, for commands of the inventory.
    pub fn device_paths(&self) -> Vec<String> {
        let block = self.0.iter().filter_map(Held::inspected).filter(|it| it.kernel_name().is_some());
        block
            .filter_map(|inspected| match inspected.address() {
                Address::Path(path) => Some(path.display().to_string()),
                Address::NbdUri(_) | Address::Null => None,
            })
            .collect()
    }

    /// Everything known about one of them, for the manifest.
    pub fn describe(&self, number: usize) -> Value {
        self.0.get(number).and_then(Held::inspected).map_or(Value::Null, Inspected::describe)
    }
}

/// True where nothing but the user's consent is missing, or the device does not exist yet: a driver that makes the
/// device brings both.
pub(crate) fn may_come_from_driver(error: &PermitError) -> bool {
    match error {
        PermitError::Refused(GuardRefusal::ConsentNeeded { .. }) => true,
        PermitError::Failed(error) => matches!(error, TargetError::Missing { .. }),
        PermitError::Refused(_) => false,
    }
}

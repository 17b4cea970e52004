//! The drivers that ship: each runs the vendor's own command-line tool through the same cycle ([`cycle`]).

mod cycle;
mod lvm;
mod mdadm;
mod openmanage;
mod request;
mod storcli;
mod volume;

use crate::{ArrayDriver, CommandLimits, DriverError, Options, Protection};
use cycle::Cycle;

/// A shipped driver, by its name after `exec:`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shipped {
    /// Dell OpenManage Server Administrator: `omconfig`, `omreport`.
    OpenManage,
    /// Broadcom MegaRAID: `storcli64`.
    Storcli,
    /// The same tool under Dell's name: `perccli64`.
    Perccli,
    /// Linux software RAID: `mdadm`.
    Mdadm,
    /// Striped logical volumes: `lvcreate`, `lvremove`, `lvs`.
    Lvm,
}

impl Shipped {
    /// All of them.
    pub const ALL: [Shipped; 5] =
        [Shipped::OpenManage, Shipped::Storcli, Shipped::Perccli, Shipped::Mdadm, Shipped::Lvm];

    /// The name after `exec:`.
    pub fn name(self) -> &'static str {
        match self {
            Shipped::OpenManage => "openmanage",
            Shipped::Storcli => "storcli",
            Shipped::Perccli => "perccli",
            Shipped::Mdadm => "mdadm",
            Shipped::Lvm => "lvm",
        }
    }

    /// The driver of this name. A program of the same name is run as `exec:./NAME`.
    pub fn from_name(name: &str) -> Option<Shipped> {
        Shipped::ALL.into_iter().find(|driver| driver.name() == name)
    }

    pub(crate) fn open(
        self,
        mut options: Options,
        limits: CommandLimits,
        consents: Vec<String>,
        protection: Box<dyn Protection>,
    ) -> Result<Box<dyn ArrayDriver>, DriverError> {
        let tools = options.take("tools");
        let tools = tools.as_deref();
        let name = self.name();
        Ok(match self {
            Shipped::OpenManage => {
                let (tool, place) = openmanage::OpenManage::new(&mut options, tools, limits)?;
                Box::new(Cycle::new(name, &place, tool, options, consents, protection)?)
            }
            Shipped::Storcli | Shipped::Perccli => {
                let (tool, place) = storcli::Storcli::new(self, &mut options, tools, limits)?;
                Box::new(Cycle::new(name, &place, tool, options, consents, protection)?)
            }
            Shipped::Mdadm => {
                let (tool, place) = mdadm::Mdadm::new(&mut options, tools, limits)?;
                Box::new(Cycle::new(name, &place, tool, options, consents, protection)?)
            }
            Shipped::Lvm => {
                let (tool, place) = lvm::Lvm::new(&mut options, tools, limits)?;
                Box::new(Cycle::new(name, &place, tool, options, consents, protection)?)
            }
        })
    }
}

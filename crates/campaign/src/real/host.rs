//! Host settings, applied before a case and restored at the end.

use crate::message::Message;
use crate::real::reporter::{CaseStop, Reporter};
use diagnostic::{Diagnostic, full_text};
use driver::Change;
use driver::host::{
    Applied, HostError, HostRoots, HostSetting, HostSettings, PutBack, Recovered, default_state_directory,
};
use plan::{Case, HostSettingPlace};
use std::path::Path;
use std::sync::mpsc::SyncSender;
use store::{Run, SettingChange, StoreError};

/// The settings that cases ask for, and those that were made.
#[derive(Debug, Default)]
pub(crate) struct HostSettingsGuard {
    opened: Option<HostSettings>,
    made: Vec<HostSetting>,
    made_on: Vec<String>,
}

impl HostSettingsGuard {
    /// Makes the settings of a case on these devices; puts back those of an earlier case first.
    pub fn apply(
        &mut self,
        case: &Case,
        devices: &[String],
        reporter: &Reporter<'_>,
    ) -> Result<(), CaseStop> {
        let not_settable = |error: &dyn Diagnostic| CaseStop::NotSettable(full_text(error));
        let wanted = settings_of(case).map_err(|error| not_settable(&error))?;
        if wanted == self.made && (wanted.is_empty() || self.made_on == devices) {
            return Ok(());
        }
        self.put_back(reporter.sender());
        if wanted.is_empty() {
            return Ok(());
        }
        if devices.is_empty() && wanted.iter().any(|it| matches!(it, HostSetting::Queue { .. })) {
            let reason = "the target is no block device of this host: it has no block queue to set";
            return Err(CaseStop::NotSettable(reason.to_owned()));
        }
        let opened = self.opened(reporter.sender()).map_err(|error| not_settable(&error))?;
        let applied = opened.apply(&wanted, devices).map_err(|error| not_settable(&error))?;
        let Applied { changes, skipped, mismatches, recovered } = applied;
        for change in changes {
            reporter.send(Message::Changed { case_index: Some(reporter.case_index), change });
        }
        for text in mismatches.into_iter().chain(skipped) {
            reporter.send(Message::Warning { text: format!("{} {}: {text}", case.stage, case.name) });
        }
        report_put_back(recovered.put_back, reporter.sender());
        self.made = wanted;
        self.made_on = devices.to_vec();
        Ok(())
    }

    /// Records a mount before it is made, so that the next run unmounts it if this one is killed.
    pub fn note_mount(
        &mut self,
        device: &Path,
        mount_point: &Path,
        tx: &SyncSender<Message>,
    ) -> Result<(), HostError> {
        self.opened(tx)?.note_mount(device, mount_point)
    }

    fn opened(&mut self, tx: &SyncSender<Message>) -> Result<&mut HostSettings, HostError> {
        match &mut self.opened {
            Some(opened) => Ok(opened),
            none => {
                let (opened, recovered) =
                    HostSettings::open(HostRoots::system(), &default_state_directory())?;
                report_put_back(recovered.put_back, tx);
                Ok(none.insert(opened))
            }
        }
    }

    /// Puts everything back.
    pub fn put_back(&mut self, tx: &SyncSender<Message>) {
        self.made.clear();
        let Some(opened) = &mut self.opened else { return };
        match opened.put_back() {
            Ok(put_back) => report_put_back(put_back, tx),
            Err(error) => {
                let text = format!("settings of the host could not be put back: {}", full_text(&error));
                let _ = tx.send(Message::Warning { text });
            }
        }
    }
}

fn report_put_back(put_back: PutBack, tx: &SyncSender<Message>) {
    for change in put_back.changes {
        let _ = tx.send(Message::Changed { case_index: None, change });
    }
    for text in put_back.problems {
        let _ = tx.send(Message::Warning { text });
    }
}

/// The host settings of a case, as the driver takes them. In a plan dots separate the directories of a queue.
fn settings_of(case: &Case) -> Result<Vec<HostSetting>, HostError> {
    let settings = case.host_settings();
    settings
        .iter()
        .map(|setting| {
            let name = match setting.place {
                HostSettingPlace::Queue => format!("queue.{}", setting.name.replace('.', "/")),
                HostSettingPlace::Sysctl => format!("sysctl.{}", setting.name),
                HostSettingPlace::Module => format!("module.{}", setting.name),
            };
            HostSetting::parse(&name, &setting.value)
        })
        .collect()
}

/// Puts back what runs that were killed have left on this host.
pub(crate) fn recovered() -> Result<Recovered, HostError> {
    driver::host::recover(&HostRoots::system(), &default_state_directory())
}

/// Keeps in a run what was put back before it, and returns what to say about it.
pub(crate) fn note_recovered(run: &mut Run, recovered: Recovered) -> Result<Vec<String>, StoreError> {
    let mut notes = Vec::new();
    for change in recovered.put_back.changes {
        notes.push(format!(
            "{} was put back to {}: a run that was killed had left it at {}",
            change.name,
            change.after.as_deref().unwrap_or("nothing"),
            change.before.as_deref().unwrap_or("nothing")
        ));
        append_change(run, None, change)?;
    }
    notes.extend(recovered.put_back.problems);
    Ok(notes)
}

/// Keeps a change in the run.
pub(crate) fn append_change(
    run: &mut Run,
    case_index: Option<u32>,
    change: Change,
) -> Result<(), StoreError> {
    let at_ns = run.clock().now_ns();
    run.append_setting_change(&SettingChange {
        at_ns,
        case_index,
        scope: change.scope.to_owned(),
        name: change.name,
        before: change.before,
        after: change.after,
    })
}

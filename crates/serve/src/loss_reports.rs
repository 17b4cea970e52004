//! Drive losses of the bytes, passed on to the model: those that a client asked for and those that the array found by itself.

use crate::controlled::Controlled;
use crate::event_names::DRIVE_FAILURE;
use crate::reported_losses::{losses, model_drive};
use diagnostic::text_with_causes;
use driver::Settings;

impl Controlled {
    /// Reports the losses since the last call to the model.
    pub(crate) fn report_losses(&self) {
        let Some(volume) = self.live.volume().filter(|_| self.pacer.is_some()) else { return };
        let mut reported = self.reported_losses.by_drive();
        for (drive, reported) in volume.status().drives.iter().zip(reported.iter_mut()) {
            if losses(drive) > *reported {
                *reported = losses(drive);
                self.pass_to_model(DRIVE_FAILURE, drive.drive);
            }
        }
    }

    /// Passes an event of a drive to the model. Where the model cannot have it, its time goes on unchanged.
    pub(crate) fn pass_to_model(&self, action: &'static str, drive: u16) {
        let Some(pacer) = &self.pacer else { return };
        let drive = model_drive(&self.live, drive);
        let arguments = Settings::from_iter([("drive".to_owned(), drive.clone())]);
        let requested = pacer.ask(move |paced| paced.model.act(paced.now_ns, action, &arguments));
        if let Ok(Err(problem)) | Err(problem) = requested {
            self.live.note(&format!(
                "the time of `{action}` of drive {drive} is not modelled: {}",
                text_with_causes(&problem)
            ));
        }
    }
}

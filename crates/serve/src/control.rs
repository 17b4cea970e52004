//! Commands to a served array, from the control socket, the page or a plan.

use crate::chains::chains_of;
use crate::controlled::{Controlled, VOLUME, failed, refuse};
use crate::event_names::{DRIVE_REPLACEMENT, LIMIT, TEMPLATE};
use crate::events::Event;
use crate::live::Scrub;
use diagnostic::{Problem, full_text};
use driver::Settings;
use driver::protocol::{ErrorKind, ResponseError, Verb};
use serde_json::{Value, json};
use twin::Limit;
use volume::VolumeError;

impl Controlled {
    /// Answers whoever may ask.
    pub(crate) fn answer(&self, verb: &Verb) -> Result<Value, ResponseError> {
        match verb {
            Verb::Status => self.status(),
            Verb::Ready => Ok(json!(self.ready())),
            Verb::Set { settings } => self.set(settings),
            Verb::Event { name, arguments } => {
                let chains = chains_of(&self.live.array);
                let find_drive = |name: &str| Some(chains?.node_drive_named(name)? as u16);
                self.happen(&Event::parse(name, arguments, &find_drive)?)
            }
        }
    }

    /// Lets something happen to the model.
    pub(crate) fn act(&self, action: &str, arguments: &Settings) -> Result<Value, ResponseError> {
        if action == TEMPLATE && self.pacer.is_none() {
            return self.move_bytes(arguments);
        }
        let Some(pacer) = &self.pacer else {
            let message = format!("the array is served untimed, so `{action}` has no effect");
            return Err(refuse(ErrorKind::Refused, message));
        };
        let (action, mut arguments) = (action.to_owned(), arguments.clone());
        if self.exports.has_named_volumes() && [LIMIT, TEMPLATE].contains(&action.as_str()) {
            // As plans mean it: the volume under load.
            arguments.entry(VOLUME).or_insert_with(|| self.exports.chosen().into());
        }
        let (action, reported) = (action.clone(), arguments);
        let lasts = (action.clone(), reported.clone());
        let acted = pacer.ask(move |paced| {
            paced.model.act(paced.now_ns, &action, &reported)?;
            let name = reported.get(VOLUME).and_then(Value::as_str).unwrap_or_default();
            Ok(paced.model.limit_set(name))
        });
        let limit = acted
            .map_err(|problem| refuse(ErrorKind::Failed, full_text(&problem)))?
            .map_err(|problem: Problem| refuse(ErrorKind::Refused, full_text(&problem)))?;
        self.keep_with_volume(&lasts.0, &lasts.1, limit)?;
        Ok(json!({}))
    }

    /// A volume gets another pool where there is no model to say whether it can.
    fn move_bytes(&self, arguments: &Settings) -> Result<Value, ResponseError> {
        let chosen = Value::from(self.exports.chosen());
        let volume = arguments.get(VOLUME).unwrap_or(&chosen).as_str().unwrap_or_default();
        let template = arguments.get(TEMPLATE).and_then(Value::as_str).unwrap_or_default();
        self.check_template(template)?;
        self.keep(volume, TEMPLATE, template.into())?;
        Ok(json!({}))
    }

    /// Keeps what a volume was told beyond the next start.
    fn keep_with_volume(
        &self,
        action: &str,
        arguments: &Settings,
        limit: Option<Limit>,
    ) -> Result<(), ResponseError> {
        let Some(name) = arguments.get(VOLUME).and_then(Value::as_str) else { return Ok(()) };
        match (action, arguments.get(TEMPLATE)) {
            (LIMIT, _) => self.keep(name, LIMIT, limit.map_or(Value::Null, |limit| json!(limit))),
            (TEMPLATE, Some(template)) => self.keep(name, TEMPLATE, template.clone()),
            _ => Ok(()),
        }
    }

    fn happen(&self, event: &Event) -> Result<Value, ResponseError> {
        let live = &self.live;
        match event {
            Event::Model { action, arguments } => return self.act(action, arguments),
            Event::Volume(order) => return self.order(order),
            Event::Slow { drive, factor } => return self.slow(*drive, *factor),
            Event::Service { service, runs } => return self.run_service(service, *runs),
            _ => {}
        }
        if let Event::PowerCut { seed } = event {
            live.cut_power(*seed, &|| self.server.drop_connections()).map_err(|error| failed(&error))?;
            self.read_volumes_again();
            return Ok(json!({}));
        }
        let volume = live.volume().ok_or_else(|| refuse(ErrorKind::Failed, "the power is off"))?;
        match *event {
            Event::Fail { drive } => volume.fail_drive(drive),
            Event::Pull { drive } => volume.pull_drive(drive),
            Event::Replace { drive } => volume.replace_drive(drive),
            Event::Corrupt { drive, offset_bytes, sectors } => {
                volume.corrupt_sectors(drive, offset_bytes, sectors)
            }
            Event::Checkpoint => volume.checkpoint(),
            Event::Break { drive } => {
                if live.break_drive(drive) {
                    Ok(())
                } else {
                    Err(VolumeError::Drive { drive, problem: "there is no such drive" })
                }
            }
            Event::Scrub => {
                live.background().scrub = Some(Scrub { is_running: true, ..Scrub::default() });
                Ok(())
            }
            Event::PowerCut { .. }
            | Event::Model { .. }
            | Event::Volume(_)
            | Event::Slow { .. }
            | Event::Service { .. } => Ok(()),
        }
        .map_err(|error| failed(&error))?;
        match *event {
            Event::Fail { .. } | Event::Pull { .. } => self.report_losses(),
            Event::Replace { drive } => {
                // It may have been lost just now, by itself.
                self.report_losses();
                // Whatever it was like, the new one is as described.
                if self.pacer.is_some() {
                    let _ = self.slow(drive, 1.0);
                }
                self.pass_to_model(DRIVE_REPLACEMENT, drive);
            }
            _ => {}
        }
        live.wake();
        Ok(json!({}))
    }
}

//! Settings that are made while an array is served: of its model, of the volume under load, and of the bytes what they are.

use crate::array::SHAPING;
use crate::array_settings::{is_of_model, text_of};
use crate::controlled::{Controlled, VOLUME, refuse};
use crate::reported_losses::lost_drives;
use diagnostic::{full_text, text_with_causes};
use driver::Settings;
use driver::protocol::{ErrorKind, ResponseError};
use serde_json::{Value, json};

impl Controlled {
    /// Makes settings: of the model at once, with a new twin; of the bytes only what they are already.
    pub(crate) fn set(&self, settings: &Settings) -> Result<Value, ResponseError> {
        let refused = |message: String| Err(refuse(ErrorKind::Refused, message));
        let array = &self.live.array;
        let description = array.twin.as_ref().map(|twin| &twin.description);
        let (mut of_model, mut shaping) = (Settings::new(), Settings::new());
        let mut volume = None;
        for (key, value) in settings {
            let is_of_model = description.is_some_and(|description| is_of_model(description, key));
            let is_as_served = || array.settings.get(key).is_some_and(|own| text_of(own) == text_of(value));
            // A setting of the model may have been made otherwise since.
            if (!is_of_model || SHAPING.contains(&key.as_str())) && is_as_served() {
                continue;
            }
            if key == VOLUME && self.exports.has_named_volumes() {
                let name = text_of(value);
                if self.exports.volume(&name).is_none() {
                    return refused(format!("there is no volume {value}"));
                }
                volume = Some(name);
            } else if SHAPING.contains(&key.as_str()) {
                shaping.insert(key.clone(), value.clone());
            } else if is_of_model {
                of_model.insert(key.clone(), value.clone());
            } else {
                return refused(format!("this array has no setting `{key}`"));
            }
        }
        self.check_shape(&shaping)?;
        if !of_model.is_empty() {
            let Some(pacer) = &self.pacer else {
                let names: Vec<&str> = of_model.keys().map(String::as_str).collect();
                return refused(format!(
                    "the array is served untimed, so {} has no effect",
                    names.join(", ")
                ));
            };
            let lost = lost_drives(&self.live);
            let changes = of_model.clone();
            let made = pacer.ask(move |paced| paced.rebuild(changes, &lost));
            made.map_err(|problem| refuse(ErrorKind::Failed, full_text(&problem)))?
                .map_err(|error| refuse(ErrorKind::Refused, text_with_causes(&error)))?;
            self.write_settings(&of_model)?;
        }
        if let Some(name) = volume {
            self.exports.choose(&name);
        }
        Ok(json!({}))
    }

    /// Refuses settings that would lay the bytes out anew, with the command that serves such an array.
    fn check_shape(&self, shaping: &Settings) -> Result<(), ResponseError> {
        if shaping.is_empty() {
            return Ok(());
        }
        let array = &self.live.array;
        let wanted =
            array.reshaped(shaping).map_err(|error| refuse(ErrorKind::Refused, error.to_string()))?;
        if wanted.is_laid_out_as(array) {
            return Ok(());
        }
        let words = |quote: &str, between: &str| {
            let pairs =
                shaping.iter().map(|(key, value)| format!("{quote}{key}{quote}{between}{}", text_of(value)));
            pairs.collect::<Vec<_>>()
        };
        Err(refuse(
            ErrorKind::Refused,
            format!(
                "{} would lay the array out anew, and what it holds is kept; stop this server and serve it anew in another directory: {}",
                words("`", "=").join(", "),
                self.options.command_for(&wanted, &words("", "").join("-"))
            ),
        ))
    }
}

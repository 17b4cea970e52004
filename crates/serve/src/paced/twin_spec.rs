//! Twin specification: description, settings, and the current volumes.

use crate::ServeError;
use array::{Origin, Parameter, SetBy, Volume, VolumeKeys};
use serde_json::{Map, Value};
use twin::{ArrayDescription, Limit, Twin};

/// Specification of a twin.
#[derive(Debug, Clone)]
pub struct TwinSpec {
    /// The array.
    pub description: ArrayDescription,
    /// Its settings and switches, as `Twin::build` takes them.
    pub settings: Map<String, Value>,
    /// Of the parts that chance acts on.
    pub seed: u64,
}

impl TwinSpec {
    pub(crate) fn build(&self) -> Result<Twin, ServeError> {
        Twin::build(&self.description, &self.settings, self.seed).map_err(|error| ServeError::Array {
            problem: error.to_string(),
            hint: "settings of the model are listed by `arraylab show array NAME`",
        })
    }

    /// Returns whether the twin itself has volumes, each with addresses and a limit of its own.
    pub(super) fn has_volumes(&self) -> bool {
        self.description.parts.has_chains()
    }
}

/// A volume as the model is told of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KnownVolume {
    /// By which requests name it.
    pub number: u32,
    pub name: String,
    /// Size that clients see.
    pub size_bytes: u64,
    /// Size that the model has, where that is more: as described, whatever was served of it.
    pub modelled_bytes: u64,
    /// Pool of a chain of replicas.
    pub template: Option<String>,
    /// Limit, where it is another than the description's.
    pub limit: Option<Limit>,
}

/// The same array with volumes as they are now, where its model has volumes.
pub(super) fn described(spec: &TwinSpec, known: &[KnownVolume]) -> TwinSpec {
    let mut spec = spec.clone();
    if !spec.has_volumes() {
        return spec;
    }
    let array = &mut spec.description.parts;
    let first = array.pools.first().map_or_else(String::new, |pool| pool.keys.name.text.clone());
    let volumes = known.iter().map(|known| {
        let own = array.volumes.iter().find(|volume| volume.keys.name.text == known.name);
        let described = own.map_or_else(|| first.clone(), |volume| volume.keys.on.text.clone());
        let on = known.template.clone().unwrap_or(described);
        Volume {
            keys: VolumeKeys {
                name: derived(0, known.name.clone()),
                on: derived(0, on),
                count: derived(1, "1".to_owned()),
                size: derived(known.modelled_bytes, format!("{}B", known.modelled_bytes)),
                stripe_unit: derived(0, "0B".to_owned()),
            },
            limit: own.and_then(|volume| volume.limit.clone()),
        }
    });
    array.volumes = volumes.collect();
    spec
}

fn derived(value: u64, text: String) -> Parameter {
    let from = "the served array's volume".to_owned();
    Parameter { value, text, origin: Origin::Derived, from, set_by: SetBy::Array }
}

/// Returns what sets a volume's limit, where it is another than the description's.
pub(super) fn limit_arguments(known: &KnownVolume) -> Option<Map<String, Value>> {
    let limit = known.limit?;
    let parts = [
        ("iops", limit.iops),
        ("iops_per_gib", limit.iops_per_gib),
        ("bw_bytes_per_s", limit.bw_bytes_per_s),
        ("bw_bytes_per_s_per_gib", limit.bw_bytes_per_s_per_gib),
    ];
    let mut arguments = Map::from_iter([("volume".to_owned(), Value::from(known.name.as_str()))]);
    arguments.extend(parts.map(|(name, value)| (name.to_owned(), value.map_or(Value::Null, Value::from))));
    Some(arguments)
}

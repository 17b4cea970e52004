//! Twin specification: description, settings, and the current volumes.

use crate::ServeError;
use serde_json::{Map, Value};
use twin::replicated::VolumeDescription;
use twin::{ArrayDescription, Limit, Origin, Parameter, Twin};

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
        self.description.replicated.is_some()
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
    /// Of a replicated system.
    pub template: Option<String>,
    /// Limit, where it is another than the description's.
    pub limit: Option<Limit>,
}

/// The same array with volumes as they are now, where its description has volumes.
pub(super) fn described(spec: &TwinSpec, known: &[KnownVolume]) -> TwinSpec {
    let mut spec = spec.clone();
    let Some(system) = &mut spec.description.replicated else { return spec };
    let first = system.templates.first().map_or_else(String::new, |template| template.name.clone());
    let volumes = known.iter().map(|known| {
        let own = system.volumes.iter().find(|volume| volume.name == known.name);
        let described = own.map_or_else(|| first.clone(), |volume| volume.template.clone());
        VolumeDescription {
            name: known.name.clone(),
            template: known.template.clone().unwrap_or(described),
            bytes: Parameter {
                value: known.modelled_bytes,
                origin: Origin::Derived,
                from: "the served array's volume".to_owned(),
            },
            limit: own.map_or_else(Limit::default, |volume| volume.limit),
        }
    });
    system.volumes = volumes.collect();
    spec
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

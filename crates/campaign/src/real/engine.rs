//! Load engines for real targets: io_uring or fio.

use diagnostic::Problem;
use load::LoadSpec;
use load_engine::{ErrorPolicy, RingOptions, TrimKind};
use plan::{SettingScope, SettingValues};
use serde_json::Value;
use std::sync::Arc;
use storage_target::Inspected;

use crate::CampaignError;

/// The setting that says what a trim does.
const TRIM_BY: &str = "trim_by";
/// The only engine of fio that reaches an NBD address.
pub(crate) const NBD_ENGINE: &str = "nbd";

/// Engine choices of `--engine`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineChoice {
    /// Our own engine.
    Ring,
    /// fio, as installed.
    Fio,
}

impl EngineChoice {
    /// Its name in results, manifests and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            EngineChoice::Ring => "ring",
            EngineChoice::Fio => "fio",
        }
    }

    /// The engine of this name.
    pub fn of_name(name: &str) -> Option<EngineChoice> {
        [EngineChoice::Ring, EngineChoice::Fio].into_iter().find(|choice| choice.name() == name)
    }
}

/// Load engine of a campaign on real targets.
#[derive(Debug)]
pub(crate) enum RealEngine {
    Ring,
    Fio(Arc<fio::Engine>),
}

impl RealEngine {
    pub fn choice(&self) -> EngineChoice {
        match self {
            RealEngine::Ring => EngineChoice::Ring,
            RealEngine::Fio(_) => EngineChoice::Fio,
        }
    }

    /// Chooses the requested engine, or else our own wherever it supports the targets; with remarks on the choice.
    pub fn choose(
        requested: Option<EngineChoice>,
        has_nbd: bool,
        notices: &mut Vec<String>,
    ) -> Result<RealEngine, CampaignError> {
        if requested == Some(EngineChoice::Ring) && has_nbd {
            return Err(Problem::new("the ring engine drives files and block devices, not NBD addresses")
                .with_hint("use --engine fio, or attach it as a block device (nbdfuse and losetup)")
                .into());
        }
        if requested == Some(EngineChoice::Fio) || has_nbd {
            return Ok(RealEngine::Fio(Arc::new(fio::Engine::find()?)));
        }
        if let Some(why) = &load_engine::Engine::probe().why_not {
            notices.push(format!("warning: {why}: threads with pread and pwrite issue the load instead"));
        }
        Ok(RealEngine::Ring)
    }
}

/// Returns true if I/O bypasses the page cache, as it does unless `direct` is 0.
pub(crate) fn is_direct(settings: &SettingValues) -> bool {
    settings.get("direct").and_then(Value::as_u64) != Some(0)
}

/// Settings of the engine as our own engine takes them. `ioengine`, `thread` and `randrepeat` are fio's alone.
pub(crate) fn ring_options(settings: &SettingValues, stripe_chunk_bytes: u64) -> RingOptions {
    let word = |name: &str| settings.get(name).and_then(Value::as_str);
    let number = |name: &str| settings.get(name).and_then(Value::as_u64);
    let small = |name: &str| number(name).and_then(|number| u32::try_from(number).ok());
    RingOptions {
        on_error: match word("continue_on_error") {
            Some("all") => ErrorPolicy::Continue,
            _ => ErrorPolicy::Stop,
        },
        fsync_every: small("fsync").unwrap_or(0),
        fua: word("sync") == Some("dsync"),
        batch_complete_min: small("iodepth_batch_complete_min").unwrap_or(1),
        fixed_buffers: number("fixedbufs") != Some(0),
        registered_files: number("registerfiles") != Some(0),
        poll: number("hipri") == Some(1),
        sqpoll: number("sqthread_poll") == Some(1),
        force_async: number("force_async").map(|flag| flag == 1),
        deferred_completion: number("defer_taskrun").map(|flag| flag == 1),
        cpus: word("cpus_allowed").and_then(plan::parse_processors).unwrap_or_default(),
        trim: match word(TRIM_BY) {
            Some("zeroes") => TrimKind::WriteZeroes,
            _ => TrimKind::Discard,
        },
        stripe_chunk_bytes,
        ..RingOptions::default()
    }
}

/// Settings of the engine as fio takes them. A plan that names an engine for devices also runs on an NBD address, which
/// only one of fio's engines reaches.
pub(crate) fn fio_options(settings: &SettingValues, is_nbd: bool) -> Vec<(String, String)> {
    let is_of_engine = |name: &str| {
        plan::setting(name).is_some_and(|setting| setting.scope == SettingScope::Engine && setting.is_fio)
    };
    let mut options: Vec<(String, String)> = settings
        .iter()
        .filter(|(name, _)| is_of_engine(name))
        .map(|(name, value)| match name.as_str() {
            "ioengine" if is_nbd => (name.clone(), NBD_ENGINE.to_owned()),
            "cpus_allowed" => (name.clone(), shown(value).replace(':', ",")),
            _ => (name.clone(), shown(value)),
        })
        .collect();
    if settings.contains_key("cpus_allowed") {
        // One after the other, as our own engine does, and not all jobs on all of them.
        options.push(("cpus_allowed_policy".to_owned(), "split".to_owned()));
    }
    options
}

/// Returns the reason why fio cannot carry these settings out.
pub(crate) fn not_of_fio(settings: &SettingValues) -> Option<&'static str> {
    let zeroes = settings.get(TRIM_BY).and_then(Value::as_str) == Some("zeroes");
    zeroes.then_some("`trim_by` is `zeroes`: a trim of fio is a discard; use `--engine ring`")
}

/// Returns why a load does not fit the blocks of a target: fio would end it with "Invalid argument" and not say which. The ring engine
/// refuses it by itself.
pub(crate) fn misfit_of_fio(load: &LoadSpec, target: &str, inspected: &Inspected) -> Option<Problem> {
    let block_bytes = u64::from(inspected.logical_block_size_bytes()?);
    let sizes = load.shape.sizes.iter().map(|size| size.bs_bytes).chain([load.bs_bytes]).map(u64::from);
    let increment_bytes = load.shape.offset_increment_bytes.unwrap_or(0);
    let bytes =
        sizes.chain([load.offset_bytes, increment_bytes]).find(|bytes| !bytes.is_multiple_of(block_bytes))?;
    let text = format!("`{target}` has blocks of {block_bytes} bytes, and {bytes} is no multiple of that");
    Some(Problem::new(text).with_hint("choose `bs`, `offset` and `offset_increment` that fit"))
}

/// Formats a setting's value as it is written in plans.
pub(crate) fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

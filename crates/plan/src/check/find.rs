//! Checks of `find:`.

use super::Checker;
use crate::document::{FindDocument, MaxUnderLatencyDocument};
use crate::part::{LoadSearch, SearchOver};
use crate::setting::RATE_IOPS_LIMIT;
use crate::yaml::Located;
use crate::{PlanError, PlanErrorKind as Kind};
use load::{Bound, BoundMeasure, BoundSearch, IODEPTH_LIMIT};

/// The first rate that is measured where the plan names none.
const FIRST_RATE_IOPS: f64 = 1000.0;
/// The most points of a search.
const POINTS_LIMIT: u32 = 100;
/// Fewer points than these cannot bracket anything.
const POINTS_LEAST: u32 = 3;

impl Checker<'_> {
    pub(super) fn find(&self, document: &FindDocument) -> Result<LoadSearch, PlanError> {
        let MaxUnderLatencyDocument { of, below, over, start, limit, points } = &document.max_under_latency;
        let measure = match of.value.as_str() {
            "mean" => BoundMeasure::Mean,
            "p50" => BoundMeasure::Percentile(500_000),
            "p95" => BoundMeasure::Percentile(950_000),
            "p99" => BoundMeasure::Percentile(990_000),
            "p99.9" => BoundMeasure::Percentile(999_000),
            _ => return Err(self.error(Kind::OutOfRange, of.place, "`of` is mean, p50, p95, p99 or p99.9")),
        };
        let latency_ns = self.latency_bound(below)?;
        let (over, mut search) = match over.value.as_str() {
            "rate" => (SearchOver::Rate, BoundSearch::over_rate(FIRST_RATE_IOPS)),
            "iodepth" => (SearchOver::Iodepth, BoundSearch::over_depth(IODEPTH_LIMIT)),
            _ => return Err(self.error(Kind::OutOfRange, over.place, "`over` is rate or iodepth")),
        };
        let most = match over {
            SearchOver::Rate => RATE_IOPS_LIMIT as f64,
            SearchOver::Iodepth => f64::from(IODEPTH_LIMIT),
        };
        let within = |given: &Located<f64>, name: &str| {
            let is_whole = over == SearchOver::Rate || given.value.fract() == 0.0;
            if given.value >= 1.0 && given.value <= most && is_whole {
                return Ok(given.value);
            }
            Err(self.error(Kind::OutOfRange, given.place, format!("`{name}` must be 1 to {most}")))
        };
        search.limit = most;
        if let Some(limit) = limit {
            search.limit = within(limit, "limit")?;
        }
        if let Some(start) = start {
            search.start = within(start, "start")?;
        }
        if search.start > search.limit {
            let place = start.as_ref().or(limit.as_ref()).map_or(of.place, |given| given.place);
            return Err(self.error(Kind::Contradiction, place, "`start` is above `limit`"));
        }
        if let Some(points) = points {
            if !(POINTS_LEAST..=POINTS_LIMIT).contains(&points.value) {
                let message = format!("`points` must be {POINTS_LEAST} to {POINTS_LIMIT}");
                return Err(self.error(Kind::OutOfRange, points.place, message));
            }
            search.points_limit = points.value;
        }
        Ok(LoadSearch { bound: Bound { measure, latency_ns }, over, search })
    }
}

//! Sum of samples that lie on one grid of intervals.

use load::Sample;

/// Adds what another load, target or host counted in the same interval. Histograms are merged; percentiles never are.
pub(crate) fn add_to(sum: &mut Sample, sample: &Sample) {
    sum.read.merge(&sample.read);
    sum.write.merge(&sample.write);
    sum.trim.merge(&sample.trim);
    sum.end_ns = sum.end_ns.max(sample.end_ns);
}

/// Adds a sample to the interval that begins with it, or puts it in its place among the others.
pub(crate) fn add_to_interval(sums: &mut Vec<Sample>, sample: Sample) {
    match sums.iter_mut().find(|known| known.start_ns == sample.start_ns) {
        Some(known) => add_to(known, &sample),
        None => {
            let place = sums.partition_point(|known| known.start_ns < sample.start_ns);
            sums.insert(place, sample);
        }
    }
}

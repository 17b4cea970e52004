//! Change-point detection: PELT, which is exact, and binary segmentation, its cross-check.
//!
//! Both minimise the same thing: the sum of squared distances from the mean of each segment (ruptures' `l2`) plus a
//! penalty for each change, with segments of at least `shortest` values. Change points are the indices at which a
//! new segment begins, as in ruptures, without the series' end.

/// Prefix sums, from which any segment's cost is read in constant time.
struct Costs {
    sums: Vec<f64>,
    squares: Vec<f64>,
}

impl Costs {
    fn new(series: &[f64]) -> Costs {
        // Sums are taken about the mean of all, so that squares of a high level do not drown its changes.
        let middle = crate::statistics::mean(series);
        let (mut sums, mut squares) = (vec![0.0], vec![0.0]);
        let (mut sum, mut square) = (0.0, 0.0);
        for value in series {
            sum += value - middle;
            square += (value - middle) * (value - middle);
            sums.push(sum);
            squares.push(square);
        }
        Costs { sums, squares }
    }

    /// Squared distances of `from..to` from its mean.
    fn of(&self, from: usize, to: usize) -> f64 {
        let sum = self.sums[to] - self.sums[from];
        (self.squares[to] - self.squares[from] - sum * sum / (to - from) as f64).max(0.0)
    }
}

/// The change points of least total cost (Killick, Fearnhead, Eckley 2012: Optimal detection of changepoints with a
/// linear computational cost).
pub fn pelt(series: &[f64], penalty: f64, shortest: usize) -> Vec<usize> {
    let (length, shortest) = (series.len(), shortest.max(1));
    if length < 2 * shortest {
        return Vec::new();
    }
    let costs = Costs::new(series);
    // best[t] is the least cost of the first t values; last[t] is where their last segment begins. The penalty of
    // the first segment is given back at the start.
    let mut best = vec![f64::INFINITY; length + 1];
    let mut last = vec![0usize; length + 1];
    best[0] = -penalty;
    let mut candidates: Vec<usize> = Vec::new();
    for end in shortest..=length {
        // The newest start that leaves a segment of `shortest` values, where values up to it can be segmented.
        if best[end - shortest].is_finite() {
            candidates.push(end - shortest);
        }
        for &start in &candidates {
            let cost = best[start] + costs.of(start, end) + penalty;
            if cost < best[end] {
                (best[end], last[end]) = (cost, start);
            }
        }
        // With a shortest segment, a start may only be dropped once a change at `end` can be used in its place,
        // which is `shortest` values later; dropping it by the cost now, and not before, keeps the result exact.
        prune(&mut candidates, &best, &costs, end, shortest);
    }
    let mut points = Vec::new();
    let mut at = length;
    while last[at] > 0 {
        at = last[at];
        points.push(at);
    }
    points.reverse();
    points
}

/// Drops every start that can be no part of the optimum from here on: where even without a penalty it costs more up
/// to `settled`, itself a start that every later end can use, than the best up to there.
fn prune(candidates: &mut Vec<usize>, best: &[f64], costs: &Costs, end: usize, shortest: usize) {
    let Some(settled) = (end + 1).checked_sub(shortest) else { return };
    candidates.retain(|&start| {
        start >= settled
            || settled - start < shortest
            || best[start] + costs.of(start, settled) <= best[settled]
    });
}

/// The change points that repeated halving finds: the best single split of each segment, as long as it saves more
/// than the penalty, the most saving first.
pub fn binary_segmentation(series: &[f64], penalty: f64, shortest: usize) -> Vec<usize> {
    let costs = Costs::new(series);
    let shortest = shortest.max(1);
    let mut points = Vec::new();
    let mut open = vec![(0, series.len())];
    while let Some((from, to)) = open.pop() {
        if let Some((at, gain)) = best_split(&costs, from, to, shortest)
            && gain > penalty
        {
            points.push(at);
            open.push((from, at));
            open.push((at, to));
        }
    }
    points.sort_unstable();
    points
}

fn best_split(costs: &Costs, from: usize, to: usize, shortest: usize) -> Option<(usize, f64)> {
    if to - from < 2 * shortest {
        return None;
    }
    let whole = costs.of(from, to);
    (from + shortest..=to - shortest)
        .map(|at| (at, whole - costs.of(from, at) - costs.of(at, to)))
        .max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn total(series: &[f64], points: &[usize], penalty: f64) -> f64 {
        let costs = Costs::new(series);
        let mut edges = vec![0];
        edges.extend_from_slice(points);
        edges.push(series.len());
        edges.windows(2).map(|edge| costs.of(edge[0], edge[1])).sum::<f64>() + penalty * points.len() as f64
    }

    /// The optimum by dynamic programming without pruning.
    fn optimum(series: &[f64], penalty: f64, shortest: usize) -> f64 {
        let costs = Costs::new(series);
        let mut best = vec![f64::INFINITY; series.len() + 1];
        best[0] = -penalty;
        for end in shortest..=series.len() {
            best[end] = (0..=end - shortest)
                .map(|start| best[start] + costs.of(start, end) + penalty)
                .fold(f64::INFINITY, f64::min);
        }
        best[series.len()]
    }

    /// Proves that clean steps are found where they are.
    #[test]
    fn clean_steps_are_found() {
        let series: Vec<f64> = (0..90)
            .map(|n| {
                if n < 30 {
                    10.0
                } else if n < 61 {
                    4.0
                } else {
                    7.0
                }
            })
            .collect();
        assert_eq!(pelt(&series, 1.0, 3), [30, 61]);
        assert_eq!(binary_segmentation(&series, 1.0, 3), [30, 61]);
        assert_eq!(pelt(&[1.0; 50], 1.0, 3), [0usize; 0]);
        assert_eq!(pelt(&[1.0, 9.0], 1.0, 3), [0usize; 0]);
    }

    proptest! {
        /// Proves that pruning loses nothing: PELT's cost is that of the full search, for every penalty and shortest
        /// segment, and binary segmentation's is never less.
        #[test]
        fn pruning_is_exact(
            series in proptest::collection::vec(-50.0f64..50.0, 12..60),
            penalty in 1.0f64..4000.0,
            shortest in 1usize..6,
        ) {
            let points = pelt(&series, penalty, shortest);
            let exact = optimum(&series, penalty, shortest);
            prop_assert!((total(&series, &points, penalty) - exact).abs() < 1e-6 * (1.0 + exact.abs()));
            let halving = binary_segmentation(&series, penalty, shortest);
            prop_assert!(total(&series, &halving, penalty) >= exact - 1e-6);
            for points in [&points, &halving] {
                let mut edges = vec![0];
                edges.extend_from_slice(points);
                edges.push(series.len());
                prop_assert!(edges.windows(2).all(|edge| edge[1] - edge[0] >= shortest));
            }
        }
    }
}

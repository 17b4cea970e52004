//! Analytic write amplification: closed forms and the stationary distribution of valid counts.
//!
//! Throughout, `over_provisioning` = (physical − user) ÷ user, alpha = 1 + `over_provisioning`, b = units per block.

use super::policy::Collection;
use load::Random;

/// Halvings of an interval until a root has all the digits of a double.
const HALVINGS: u32 = 64;

/// Write amplification of oldest-first collection under uniform random writes, exact for large b:
/// alpha ÷ (alpha + W0(−alpha·e^−alpha)) (Xiang and Kurkoski 2011, Desnoyers 2012). Solved for the valid share u of the
/// collected block, 1 ÷ alpha = (u − 1) ÷ ln u, which is the same and needs no Lambert W; then 1 ÷ (1 − u).
pub fn oldest_first(over_provisioning: f64) -> f64 {
    let rho = 1.0 / (1.0 + over_provisioning);
    let u = root(0.0, 1.0 - 1e-12, |u| (u - 1.0) / libm::log(u) < rho);
    1.0 / (1.0 - u)
}

/// Write amplification where the block to collect is drawn at random: (1 + op) ÷ op.
pub fn random_block(over_provisioning: f64) -> f64 {
    (1.0 + over_provisioning) / over_provisioning
}

/// Write amplification of two kinds of units in blocks of their own: the share `hot_units` of the units gets the
/// share `hot_writes` of the writes and the share `hot_spare` of the spare. Each kind is a drive of its own (Desnoyers
/// 2012): the mean of both, weighted by writes.
pub fn separated(over_provisioning: f64, hot_units: f64, hot_writes: f64, hot_spare: f64) -> f64 {
    let hot = oldest_first(over_provisioning * hot_spare / hot_units);
    let cold = oldest_first(over_provisioning * (1.0 - hot_spare) / (1.0 - hot_units));
    hot_writes * hot + (1.0 - hot_writes) * cold
}

/// The share of the spare for hot units at which [`separated`] is least, and that least amplification.
pub fn best_separated(over_provisioning: f64, hot_units: f64, hot_writes: f64) -> (f64, f64) {
    (1..1000)
        .map(|permille| f64::from(permille) / 1000.0)
        .map(|spare| (spare, separated(over_provisioning, hot_units, hot_writes, spare)))
        .fold((0.5, f64::INFINITY), |best, next| if next.1 < best.1 { next } else { best })
}

/// Stationary distribution of valid units over closed blocks under uniform random rewriting.
#[derive(Debug, Clone, PartialEq)]
pub struct Stationary {
    /// Units programmed for each unit the host writes.
    pub write_amplification: f64,
    /// Share of the closed blocks with 0, 1, …, b valid units.
    pub share_of_blocks: Vec<f64>,
}

/// The stationary distribution for `blocks` blocks of `units_per_block`.
///
/// Mean field: let n_j be the blocks with j valid units, each host write invalidates a unit of such a block with
/// probability j·n_j ÷ U, blocks with b valid units enter at rate r = A ÷ b and the collected block has at least j
/// valid units with probability S_j^d, S_j being the share of blocks with j or more (Van Houdt 2013; Li, Lee, Lui
/// 2013). In balance, j·n_j ÷ U + r·S_j^d = r for every j: found from b downward, and r from Σ j·n_j = U.
/// Greedy is d → ∞: n_j = r·U ÷ j above the collected level. Oldest first: a block's valid share is u^x at age x.
pub fn stationary(
    collection: Collection,
    units_per_block: u32,
    blocks: u32,
    over_provisioning: f64,
) -> Stationary {
    let b = units_per_block as usize;
    match collection {
        Collection::Oldest => oldest_first_distribution(b, over_provisioning),
        Collection::Greedy => greedy_distribution(b, over_provisioning),
        Collection::Choices(choices) => {
            let choices = f64::from(choices.clamp(1, blocks.max(1)));
            let alpha = 1.0 + over_provisioning;
            let least = 1.0 / b as f64;
            let most = 2.0 * random_block(over_provisioning) / b as f64;
            let valid_units = |r| {
                let shares = mean_field(b, alpha, choices, r);
                shares.iter().enumerate().map(|(j, share)| j as f64 * share).sum::<f64>() * alpha / b as f64
            };
            let r = root(least, most, |r| valid_units(r) < 1.0);
            let share_of_blocks = mean_field(b, alpha, choices, r);
            Stationary { write_amplification: r * b as f64, share_of_blocks }
        }
    }
}

/// Shares of blocks s_j = n_j ÷ blocks for a given rate of closures a host write. With U = b·blocks ÷ alpha the balance is
/// (alpha ÷ b)·j·s_j + r·S_j^d = r.
fn mean_field(b: usize, alpha: f64, choices: f64, r: f64) -> Vec<f64> {
    let mut shares = vec![0.0; b + 1];
    let mut above = 0.0;
    for j in (1..=b).rev() {
        let flow = alpha / b as f64 * j as f64;
        let share = root(0.0, r / flow, |share| {
            let tail: f64 = above + share;
            flow * share + r * libm::pow(tail, choices) < r
        });
        shares[j] = share;
        above += share;
    }
    shares[0] = (1.0 - above).max(0.0);
    shares
}

fn greedy_distribution(b: usize, over_provisioning: f64) -> Stationary {
    let alpha = 1.0 + over_provisioning;
    // The collected block has `level` valid units on average: A = b ÷ (b − level), r = 1 ÷ (b − level), and
    // s_j = r·b ÷ (alpha·j) above it. A fractional level is a mixture of its two neighbours.
    let shares_for = |level: f64| {
        let r = 1.0 / (b as f64 - level);
        let mut shares = vec![0.0; b + 1];
        for (j, share) in shares.iter_mut().enumerate().skip(1) {
            let part = (j as f64 - level).clamp(0.0, 1.0);
            *share = part * r * b as f64 / (alpha * j as f64);
        }
        shares
    };
    let level = root(0.0, b as f64 - 1e-9, |level| shares_for(level).iter().sum::<f64>() > 1.0);
    let mut share_of_blocks = shares_for(level);
    normalise(&mut share_of_blocks);
    Stationary { write_amplification: b as f64 / (b as f64 - level), share_of_blocks }
}

/// Ages are uniform in (0, 1); at age x a unit is still valid with probability u^x: a mixture of binomials.
fn oldest_first_distribution(b: usize, over_provisioning: f64) -> Stationary {
    const AGES: usize = 512;
    let write_amplification = oldest_first(over_provisioning);
    let log_u = libm::log(1.0 - 1.0 / write_amplification);
    let mut share_of_blocks = vec![0.0; b + 1];
    for age in 0..AGES {
        let log_p = log_u * (age as f64 + 0.5) / AGES as f64;
        let p = libm::exp(log_p);
        let log_q = libm::log1p(-p);
        let log_factorial = |n: usize| libm::lgamma(n as f64 + 1.0);
        for (count, share) in share_of_blocks.iter_mut().enumerate() {
            let log_choose = log_factorial(b) - log_factorial(count) - log_factorial(b - count);
            *share += libm::exp(log_choose + count as f64 * log_p + (b - count) as f64 * log_q) / AGES as f64;
        }
    }
    normalise(&mut share_of_blocks);
    Stationary { write_amplification, share_of_blocks }
}

fn normalise(shares: &mut [f64]) {
    let sum: f64 = shares.iter().sum();
    if sum > 0.0 {
        shares.iter_mut().for_each(|share| *share /= sum);
    }
}

/// Valid counts for `blocks` closed blocks that add up to `units`, the block closed longest ago first, as long
/// uniform random rewriting leaves them.
pub fn stationary_valid_counts(
    collection: Collection,
    units_per_block: u32,
    blocks: u32,
    units: u32,
    random: &mut Random,
) -> Vec<u32> {
    let over_provisioning = f64::from(blocks) * f64::from(units_per_block) / f64::from(units.max(1)) - 1.0;
    let mut counts = if collection == Collection::Oldest {
        counts_by_age(units_per_block, blocks, over_provisioning, random)
    } else {
        counts_by_rank(&stationary(collection, units_per_block, blocks, over_provisioning), blocks)
    };
    // Rounding leaves a few units over or under: give and take one by one, anywhere.
    let mut sum: i64 = counts.iter().map(|&count| i64::from(count)).sum();
    let target = i64::from(units).min(i64::from(blocks) * i64::from(units_per_block));
    while sum != target {
        let count = &mut counts[random.below(u64::from(blocks)) as usize];
        if sum < target && *count < units_per_block {
            *count += 1;
            sum += 1;
        } else if sum > target && *count > 0 {
            *count -= 1;
            sum -= 1;
        }
    }
    counts
}

/// The inverse of the distribution at evenly spaced ranks: collection that goes by counts heeds no order.
fn counts_by_rank(stationary: &Stationary, blocks: u32) -> Vec<u32> {
    let most = stationary.share_of_blocks.len() as u32 - 1;
    let mut counts = Vec::with_capacity(blocks as usize);
    let mut cumulative = 0.0;
    for (count, share) in stationary.share_of_blocks.iter().enumerate() {
        cumulative += share;
        let until = ((cumulative * f64::from(blocks)).round() as usize).min(blocks as usize);
        counts.resize(until.max(counts.len()), count as u32);
    }
    counts.resize(blocks as usize, most);
    counts
}

/// For each block a drawn binomial count at its age: sorted counts would put the emptiest at the head of the queue
/// and make the first tenth of a drive write 4 % too cheap.
fn counts_by_age(units_per_block: u32, blocks: u32, over_provisioning: f64, random: &mut Random) -> Vec<u32> {
    let log_u = libm::log(1.0 - 1.0 / oldest_first(over_provisioning));
    (0..blocks)
        .map(|index| {
            let age = 1.0 - (f64::from(index) + 0.5) / f64::from(blocks);
            let still_valid = libm::exp(log_u * age);
            (0..units_per_block).filter(|_| random.unit_open() <= still_valid).count() as u32
        })
        .collect()
}

/// The point of [low, high] where `below` turns false.
fn root(mut low: f64, mut high: f64, below: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

//! P and Q over GF(2^8), as Linux md and H. P. Anvin ("The mathematics of RAID-6", 2004) define them: the field's
//! polynomial is x^8 + x^4 + x^3 + x^2 + 1 (0x11d), its generator g = 2, P = Σ Dᵢ and Q = Σ gⁱ·Dᵢ.
//!
//! Eight bytes are multiplied by g at once in a 64-bit word, which the compiler widens to the vectors it has.

const POLYNOMIAL: u8 = 0x1d;

/// gⁱ for i from 0 to 254; index 255 is g⁰ again.
const POWERS: [u8; 256] = powers();
/// The exponent of each element but 0.
const LOGARITHMS: [u8; 256] = logarithms();

const fn powers() -> [u8; 256] {
    let mut table = [0; 256];
    let mut value = 1u8;
    let mut exponent = 0;
    while exponent < 256 {
        table[exponent] = value;
        value = (value << 1) ^ if value & 0x80 != 0 { POLYNOMIAL } else { 0 };
        exponent += 1;
    }
    table
}

const fn logarithms() -> [u8; 256] {
    let mut table = [0; 256];
    let mut exponent = 0;
    while exponent < 255 {
        table[POWERS[exponent] as usize] = exponent as u8;
        exponent += 1;
    }
    table
}

/// gⁱ: the coefficient of data member i in Q.
pub fn coefficient(data_member: u32) -> u8 {
    POWERS[(data_member % 255) as usize]
}

/// The product of two elements.
pub fn product(a: u8, b: u8) -> u8 {
    if a == 0 || b == 0 {
        return 0;
    }
    let exponent = u32::from(LOGARITHMS[usize::from(a)]) + u32::from(LOGARITHMS[usize::from(b)]);
    POWERS[(exponent % 255) as usize]
}

/// The inverse of an element that is not 0.
pub fn inverse(a: u8) -> u8 {
    debug_assert!(a != 0);
    POWERS[(255 - u32::from(LOGARITHMS[usize::from(a)])) as usize]
}

#[inline(always)]
fn times_g(word: u64) -> u64 {
    let high = word & 0x8080_8080_8080_8080;
    let carries = (high << 1).wrapping_sub(high >> 7);
    ((word << 1) & 0xfefe_fefe_fefe_fefe) ^ (carries & 0x1d1d_1d1d_1d1d_1d1d)
}

#[inline(always)]
fn word(bytes: &[u8]) -> u64 {
    u64::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7]])
}

/// Adds `source` to `target`: in this field the exclusive or. Lengths are equal multiples of 8, here and below.
pub fn add(target: &mut [u8], source: &[u8]) {
    debug_assert!(target.len() == source.len() && target.len().is_multiple_of(8));
    for (to, from) in target.chunks_exact_mut(8).zip(source.chunks_exact(8)) {
        let sum = word(to) ^ word(from);
        to.copy_from_slice(&sum.to_ne_bytes());
    }
}

/// Adds `factor` × `source` to `target`.
pub fn add_product(target: &mut [u8], source: &[u8], factor: u8) {
    debug_assert!(target.len() == source.len() && target.len().is_multiple_of(8));
    let bits: [u64; 8] = std::array::from_fn(|bit| 0u64.wrapping_sub(u64::from(factor >> bit & 1)));
    for (to, from) in target.chunks_exact_mut(8).zip(source.chunks_exact(8)) {
        let mut power = word(from);
        let mut sum = word(to);
        for bit in bits {
            sum ^= power & bit;
            power = times_g(power);
        }
        to.copy_from_slice(&sum.to_ne_bytes());
    }
}

/// Multiplies `target` by `factor`.
pub fn scale(target: &mut [u8], factor: u8) {
    let mut scaled = vec![0; target.len()];
    add_product(&mut scaled, target, factor);
    target.copy_from_slice(&scaled);
}

/// Bytes of P and Q that are worked on at once: they stay in the first-level cache while all data passes.
const BLOCK_BYTES: usize = 4096;

/// Makes P and Q of `data` anew; `q` is `None` for single parity.
pub fn make_parity(data: &[&[u8]], p: &mut [u8], mut q: Option<&mut [u8]>) {
    let length = p.len();
    let mut start = 0;
    while start < length {
        let end = (start + BLOCK_BYTES).min(length);
        let p_block = &mut p[start..end];
        p_block.fill(0);
        match q.as_deref_mut() {
            None => data.iter().for_each(|column| add(p_block, &column[start..end])),
            Some(q) => {
                let q_block = &mut q[start..end];
                q_block.fill(0);
                // Horner's rule, highest member first: Q = (…(D₂·g + D₁)·g + D₀).
                for column in data.iter().rev() {
                    add_both(p_block, q_block, &column[start..end]);
                }
            }
        }
        start = end;
    }
}

fn add_both(p: &mut [u8], q: &mut [u8], column: &[u8]) {
    for ((p, q), data) in p.chunks_exact_mut(8).zip(q.chunks_exact_mut(8)).zip(column.chunks_exact(8)) {
        let data = word(data);
        let p_sum = word(p) ^ data;
        let q_sum = times_g(word(q)) ^ data;
        p.copy_from_slice(&p_sum.to_ne_bytes());
        q.copy_from_slice(&q_sum.to_ne_bytes());
    }
}

/// Fills the members of a stripe named in `lost` (rising, one or two, no more than there is parity) from the
/// others. `members` are the data, then P, then Q where there is one. A parity member of which the others do not
/// need to be read may hold anything if it is named in `lost` or `unread`.
pub fn recover(members: &mut [Vec<u8>], data: usize, lost: &[usize]) {
    let lost_data: Vec<usize> = lost.iter().copied().filter(|&member| member < data).collect();
    let is_lost = |member: usize| lost.contains(&member);
    match lost_data[..] {
        [] => {}
        [one] if !is_lost(data) => recover_by_p(members, data, one),
        [one] => recover_by_q(members, data, one),
        [one, other, ..] => recover_two(members, data, one, other),
    }
    let (columns, parity) = members.split_at_mut(data);
    let columns: Vec<&[u8]> = columns.iter().map(Vec::as_slice).collect();
    match parity {
        [p] if is_lost(data) => make_parity(&columns, p, None),
        [p, q] if is_lost(data) || is_lost(data + 1) => make_parity(&columns, p, Some(q)),
        _ => {}
    }
}

/// D_x = P + Σ of the others.
fn recover_by_p(members: &mut [Vec<u8>], data: usize, one: usize) {
    let mut sum = std::mem::take(&mut members[one]);
    sum.copy_from_slice(&members[data]);
    for (member, column) in members[..data].iter().enumerate() {
        if member != one {
            add(&mut sum, column);
        }
    }
    members[one] = sum;
}

/// D_x = (Q + Q') ÷ gˣ, Q' being Q without D_x.
fn recover_by_q(members: &mut [Vec<u8>], data: usize, one: usize) {
    members[one].fill(0);
    let (_, mut sum) = made_anew(&members[..data]);
    add(&mut sum, &members[data + 1]);
    scale(&mut sum, inverse(coefficient(one as u32)));
    members[one] = sum;
}

/// P and Q of columns of which some may be zero for being lost.
fn made_anew(columns: &[Vec<u8>]) -> (Vec<u8>, Vec<u8>) {
    let slices: Vec<&[u8]> = columns.iter().map(Vec::as_slice).collect();
    let length = slices[0].len();
    let (mut p, mut q) = (vec![0; length], vec![0; length]);
    make_parity(&slices, &mut p, Some(&mut q));
    (p, q)
}

/// With P' and Q' made without D_x and D_y: D_x + D_y = P + P' and gˣD_x + gʸD_y = Q + Q', hence
/// D_x = (Q + Q' + gʸ(P + P')) ÷ (gˣ + gʸ).
fn recover_two(members: &mut [Vec<u8>], data: usize, x: usize, y: usize) {
    members[x].fill(0);
    members[y].fill(0);
    let (mut p_sum, mut q_sum) = made_anew(&members[..data]);
    add(&mut p_sum, &members[data]);
    add(&mut q_sum, &members[data + 1]);
    let (g_x, g_y) = (coefficient(x as u32), coefficient(y as u32));
    add_product(&mut q_sum, &p_sum, g_y);
    scale(&mut q_sum, inverse(g_x ^ g_y));
    add(&mut p_sum, &q_sum);
    members[x] = q_sum;
    members[y] = p_sum;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Instant;

    /// Proves the field against facts of md's tables (lib/raid6/mktables.c prints them): powers of g = 2 by 0x11d,
    /// the order of g, an inverse.
    #[test]
    fn field_is_the_one_of_md() {
        assert_eq!(POWERS[..12], [1, 2, 4, 8, 16, 32, 64, 128, 0x1d, 0x3a, 0x74, 0xe8]);
        assert_eq!((POWERS[255], inverse(1), inverse(2), product(2, 0x8e)), (1, 1, 0x8e, 1));
        let mut seen = [false; 256];
        POWERS[..255].iter().for_each(|&power| seen[usize::from(power)] = true);
        assert!(!seen[0] && seen[1..].iter().all(|&is_seen| is_seen), "g generates the field");
        for a in 1..=255u8 {
            assert_eq!(product(a, inverse(a)), 1);
        }
    }

    /// Proves P and Q of data that can be worked out by hand: a single 1 in member i gives Q = gⁱ, and 0x80 in
    /// member 1 wraps round the polynomial to 0x1d.
    #[test]
    fn simple_data_has_known_syndromes() {
        for (member, value, q_expected) in
            [(0, 1, 1), (1, 1, 2), (7, 1, 0x80), (8, 1, 0x1d), (1, 0x80, 0x1d), (9, 1, 0x3a)]
        {
            let mut columns = vec![vec![0u8; 16]; 10];
            columns[member][3] = value;
            let slices: Vec<&[u8]> = columns.iter().map(Vec::as_slice).collect();
            let (mut p, mut q) = (vec![0xff; 16], vec![0xff; 16]);
            make_parity(&slices, &mut p, Some(&mut q));
            assert_eq!((p[3], q[3]), (value, q_expected), "member {member}");
            assert!(p.iter().chain(&q).enumerate().all(|(at, &byte)| at % 16 == 3 || byte == 0));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

        /// Proves that any two of n + 2 members, data or parity, come back from the others, and that what lies
        /// in the lost places before does not matter.
        #[test]
        fn any_two_of_n_plus_two_come_back(data in 1usize..24, seed in any::<u64>()) {
            let mut state = seed | 1;
            let mut byte = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 56) as u8
            };
            let mut whole: Vec<Vec<u8>> = (0..data).map(|_| (0..64).map(|_| byte()).collect()).collect();
            let slices: Vec<&[u8]> = whole.iter().map(Vec::as_slice).collect();
            let (mut p, mut q) = (vec![0; 64], vec![0; 64]);
            make_parity(&slices, &mut p, Some(&mut q));
            // The definition, byte by byte with the scalar product.
            for at in 0..64 {
                let sum = (0..data).fold(0, |sum, member| sum ^ product(coefficient(member as u32), whole[member][at]));
                prop_assert_eq!(q[at], sum);
            }
            whole.extend([p, q]);
            for one in 0..data + 2 {
                for other in one..data + 2 {
                    let mut damaged = whole.clone();
                    damaged[one].fill(0xa5);
                    damaged[other].fill(0x5a);
                    let lost = if one == other { vec![one] } else { vec![one, other] };
                    recover(&mut damaged, data, &lost);
                    prop_assert_eq!(&damaged, &whole, "lost {:?}", lost);
                }
            }
        }

        /// Proves that changing a member by read-modify-write gives the parity that making it anew would.
        #[test]
        fn deltas_update_both_parities(columns in proptest::collection::vec(any::<[u8; 32]>(), 2..20), changed in any::<[u8; 32]>(), at in any::<prop::sample::Index>()) {
            let at = at.index(columns.len());
            let slices: Vec<&[u8]> = columns.iter().map(|column| &column[..]).collect();
            let (mut p, mut q) = (vec![0; 32], vec![0; 32]);
            make_parity(&slices, &mut p, Some(&mut q));
            let mut delta = changed.to_vec();
            add(&mut delta, &columns[at]);
            add(&mut p, &delta);
            add_product(&mut q, &delta, coefficient(at as u32));
            let mut fresh = columns.clone();
            fresh[at] = changed;
            let slices: Vec<&[u8]> = fresh.iter().map(|column| &column[..]).collect();
            let (mut p_new, mut q_new) = (vec![0; 32], vec![0; 32]);
            make_parity(&slices, &mut p_new, Some(&mut q_new));
            prop_assert_eq!((p, q), (p_new, q_new));
        }
    }

    /// Proves that making P and Q of 8 data members, and bringing two back, run at over 1 GB/s of data a core in a
    /// release build; prints the rates.
    #[test]
    fn arithmetic_is_faster_than_a_gigabyte_a_second() {
        let segment = 64 << 10;
        let columns: Vec<Vec<u8>> = (0..10).map(|member| vec![member as u8 * 17 + 3; segment]).collect();
        let mut members = columns.clone();
        let rounds = 100;
        let data_bytes = (rounds * 8 * segment) as f64;
        let start = Instant::now();
        for _ in 0..rounds {
            let (data, parity) = members.split_at_mut(8);
            let slices: Vec<&[u8]> = data.iter().map(Vec::as_slice).collect();
            let [p, q] = parity else { unreachable!() };
            make_parity(&slices, p, Some(q));
            std::hint::black_box(&members);
        }
        let made = data_bytes / start.elapsed().as_secs_f64() / 1e9;
        let start = Instant::now();
        for _ in 0..rounds {
            recover(&mut members, 8, &[2, 5]);
            std::hint::black_box(&members);
        }
        let recovered = data_bytes / start.elapsed().as_secs_f64() / 1e9;
        println!("P+Q of 8+2: {made:.1} GB/s of data; two members recovered: {recovered:.1} GB/s of data");
        if !cfg!(debug_assertions) {
            assert!(made > 1.0 && recovered > 1.0, "{made} and {recovered} GB/s");
        }
    }
}

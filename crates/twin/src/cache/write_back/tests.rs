//! The write cache alone.

use super::*;
use proptest::prelude::*;

/// Proves that a stripe written piece by piece is taken whole, in order of address, and that its blocks come free.
#[test]
fn pieces_become_stripes() {
    let mut cache = WriteCache::new(1 << 20, 4096, 0.0, DestageOrder::Address, 2);
    for piece in [3u64, 1, 0, 2, 9, 8] {
        assert!(cache.take_in(0, piece * 8192, 8192));
    }
    let stripe_of = |byte: u64| (byte / 32768 * 32768, byte / 32768 * 32768 + 32768);
    let mut taken = Vec::new();
    assert_eq!(cache.take_stripe(stripe_of, &mut taken), Some(8));
    assert_eq!(taken, [(0, 32768)]);
    taken.clear();
    assert_eq!(cache.take_stripe(stripe_of, &mut taken), Some(4));
    assert_eq!(taken, [(65536, 16384)]);
    assert_eq!(cache.take_stripe(stripe_of, &mut taken), None);
    cache.stripe_is_written(8);
    cache.stripe_is_written(4);
    assert_eq!(cache.fill(), [0, 0, 0]);
}

/// Proves that a full cache makes writes wait in order, and lets them in when room comes.
#[test]
fn a_full_cache_makes_writes_wait() {
    let mut cache = WriteCache::new(8 * 4096, 4096, 50.0, DestageOrder::Age, 1);
    let extent_of = |tag: u32| (u64::from(tag) << 20, 4096);
    for tag in 0..8 {
        assert!(cache.take_in(tag, extent_of(tag).0, 4096));
    }
    assert!(!cache.take_in(8, extent_of(8).0, 4096));
    assert_eq!(cache.admit_next(extent_of), None);
    let mut taken = Vec::new();
    let blocks = cache.take_stripe(|byte| (byte, byte + (1 << 20)), &mut taken).unwrap();
    cache.stripe_is_written(blocks);
    assert_eq!(cache.admit_next(extent_of), Some(8));
    assert_eq!(cache.fill(), [8, 8, 0]);
}

/// Proves that writes of time that is not simulated leave the fill as it is, move the sweep as far as they bring blocks, and
/// are counted by nobody here.
#[test]
fn carried_writes_move_the_sweep() {
    let mut cache = WriteCache::new(64 << 20, 4096, 50.0, DestageOrder::Address, 4);
    let stripe_of = |byte: u64| (byte >> 16 << 16, (byte >> 16 << 16) + 65536);
    for block in 0..8192 {
        assert!(cache.take_in(0, block * 8192, 4096));
    }
    let counted = (cache.merged_writes, cache.destages);
    for block in 0..1000 {
        cache.apply_skipped_write((block * 7 + 1) * 8192 + 4096 * 8192 * 2, 4096, stripe_of);
    }
    assert!(cache.fill()[0].abs_diff(8192) <= 8, "{:?}", cache.fill());
    assert!(
        (1000 * 8192 - 65536..1000 * 8192 + 65536 * 2).contains(&cache.sweep_byte),
        "{}",
        cache.sweep_byte
    );
    assert_eq!(cache.stripes_under_way, 0);
    assert_eq!((cache.merged_writes, cache.destages), counted);
}

/// Proves that a cache is taken for steady where destaging keeps up or writes wait, in this window and in the one before, and
/// not while it fills, however full it is.
#[test]
fn a_cache_that_fills_is_not_steady() {
    let mut cache = WriteCache::new(1000 * 4096, 4096, 50.0, DestageOrder::Address, 1);
    let stripe_of = |byte: u64| (byte, byte + 4096);
    let mut next = 0;
    let mut write = |cache: &mut WriteCache, count: u64| {
        for _ in 0..count {
            next += 1;
            cache.take_in(0, next * 8192, 4096);
        }
    };
    let mut taken = Vec::new();
    write(&mut cache, 499);
    cache.begin_window();
    write(&mut cache, 1);
    assert!(!cache.is_due() && !cache.is_steady(), "it has never destaged");
    // Destaging keeps up: what comes, goes.
    for count in [1, 2] {
        cache.begin_window();
        write(&mut cache, count);
        while let Some(blocks) = cache.take_stripe(stripe_of, &mut taken) {
            cache.stripe_is_written(blocks);
        }
        write(&mut cache, count);
    }
    assert!(cache.is_steady());
    // It does not: two come, one goes, up to the last block.
    let mut blocks = cache.take_stripe(stripe_of, &mut taken).unwrap();
    while cache.fill()[0] < 998 {
        cache.begin_window();
        write(&mut cache, 2);
        cache.stripe_is_written(blocks);
        blocks = cache.take_stripe(stripe_of, &mut taken).unwrap();
        assert!(!cache.is_steady(), "{:?}", cache.fill());
    }
    for is_steady in [false, true] {
        cache.begin_window();
        write(&mut cache, 5);
        cache.stripe_is_written(blocks);
        blocks = cache.take_stripe(stripe_of, &mut taken).unwrap();
        assert_eq!(cache.is_steady(), is_steady, "{:?}", cache.fill());
    }
}

proptest! {
    /// Proves that whatever is written is destaged once, and that no block is lost or freed twice.
    #[test]
    fn nothing_is_lost(
        writes in proptest::collection::vec((0u64..200, 1u64..40), 1..60),
        aligned: bool,
        by_age: bool,
    ) {
        let order = if by_age { DestageOrder::Age } else { DestageOrder::Address };
        let unit = if aligned { 4096 } else { 512 };
        let mut cache = WriteCache::new(1 << 40, 4096, 0.0, order, u32::MAX);
        let mut dirty = vec![false; 240];
        let (mut taken, mut blocks) = (Vec::new(), 0);
        for (index, &(offset, length)) in writes.iter().enumerate() {
            prop_assert!(cache.take_in(0, offset * unit, length * unit));
            prop_assert!(cache.holds(offset * unit, length * unit));
            (offset..offset + length).for_each(|unit| dirty[unit as usize] = true);
            if index % 7 == 6 || index + 1 == writes.len() {
                let stripe_of = |byte: u64| (byte / 12288 * 12288, byte / 12288 * 12288 + 12288);
                while let Some(freed) = cache.take_stripe(stripe_of, &mut taken) {
                    blocks += freed;
                    cache.stripe_is_written(freed);
                }
                for (first, length) in taken.drain(..) {
                    for byte in (first..first + length).step_by(unit as usize) {
                        prop_assert!(std::mem::take(&mut dirty[(byte / unit) as usize]));
                    }
                }
                prop_assert!(dirty.iter().all(|&unit| !unit));
                prop_assert_eq!(cache.fill(), [0, 0, 0]);
            }
        }
        prop_assert!(blocks > 0);
    }
}

/// Proves that a level ends where the stripes behind a slow drive would use up all that may be under way within the time left, and
/// goes on where they are too few, do not grow, or are all under way for the whole level; and that a cache which is emptied from a
/// fill on says nothing of it.
#[test]
fn a_level_ends_before_places_for_stripes_are_used_up() {
    const SECOND_NS: u64 = 1_000_000_000;
    const LIMIT: u32 = 512;
    let stripe_of = |byte: u64| (byte / 65_536 * 65_536, (byte / 65_536 + 1) * 65_536);
    let stays = |from_percent: f64, first: u32, later: u32, left_s: u64| {
        let mut cache = WriteCache::new(1 << 30, 4096, from_percent, DestageOrder::Age, LIMIT);
        let destage = |cache: &mut WriteCache, stripes: std::ops::Range<u32>| {
            for stripe in stripes {
                assert!(cache.take_in(stripe, u64::from(stripe) * 65_536, 4096));
                if from_percent == 0.0 {
                    assert!(cache.take_stripe(stripe_of, &mut Vec::new()).is_some());
                }
            }
        };
        destage(&mut cache, 0..first);
        cache.begin_level(0);
        destage(&mut cache, first..later);
        cache.keeps_destages(SECOND_NS, left_s * SECOND_NS)
    };
    // Ten more a second: 50 s until the last of 512 is under way.
    assert!(stays(0.0, 2, 12, 49) && !stays(0.0, 2, 12, 51));
    assert!(stays(0.0, 100, 100, 1_000_000) && stays(0.0, LIMIT, LIMIT, 1_000_000));
    assert!(!stays(0.0, LIMIT - 1, LIMIT, 1) && stays(50.0, LIMIT - 1, LIMIT, 1));
}

/// Proves that a cache is warmed to where it is emptied and no further, that its writes then lie as after a long time before the sweep, dense
/// where it comes next and sparse where it was, and that only a cache that has risen from there is filled.
#[test]
fn a_warmed_cache_is_swept() {
    const SPAN: u64 = 1 << 32;
    let stripe_of = |byte: u64| (byte >> 17 << 17, (byte >> 17 << 17) + (1 << 17));
    let mut random = load::Random::from_seed(3);
    let mut write = || (random.below(SPAN / 4096) * 4096, 4096);
    let mut cache = WriteCache::new(64 << 20, 4096, 50.0, DestageOrder::Address, 4);
    let (from, full) = (WriteCacheLevel::DestageFrom, WriteCacheLevel::Full);
    (0..1000).for_each(|_| cache.warm(write(), full, stripe_of));
    assert_eq!(cache.fill()[0], 0, "it has not risen");
    (0..40_000).for_each(|_| cache.warm(write(), from, stripe_of));
    assert!((32 << 20) - cache.level().held_bytes < 1 << 17, "{:?}", cache.level());
    assert_eq!((cache.destages, cache.merged_writes, cache.level().goes_to(full)), (0, 0, false));
    let sweep = cache.sweep_byte;
    let blocks_ahead = |cache: &WriteCache, tenths: u64| {
        let begin = (sweep + tenths * (SPAN / 10)) % SPAN;
        let in_range = |first: u64| (first + SPAN - begin) % SPAN < SPAN / 10;
        let (mut count, mut next) = (0, cache.extents.first());
        while let Some((first, end)) = next {
            count += u64::from(in_range(first)) * (end - first) / 4096;
            next = cache.extents.first_from(end);
        }
        count as f64
    };
    // Of a density that falls evenly over the round, the tenths have 19, 17, ..., 1 hundredths of all.
    for tenths in [0, 4, 9] {
        let share = blocks_ahead(&cache, tenths) / 8192.0;
        let expected = (19.0 - 2.0 * tenths as f64) / 100.0;
        assert!((share - expected).abs() < 0.025, "tenth {tenths} has {share}");
    }
    (0..600).for_each(|_| assert!(cache.take_in(0, write().0, 4096)));
    assert!(cache.level().goes_to(full) && !cache.level().is_full());
    (0..20_000).for_each(|_| cache.warm(write(), full, stripe_of));
    assert!(cache.level().is_full(), "{:?}", cache.level());
}

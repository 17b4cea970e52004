//! Moments in order.
//!
//! A calendar queue (Brown, CACM 1988): a ring of buckets, each a short span of time, each with its few events in order in a linked
//! list; the next event is in the first bucket that is not empty, which two words of bits name. What lies beyond the ring
//! waits in spans, each as long as a quarter of the ring and in no order, until the ring has come so far; what lies beyond these, in
//! a heap. The width of a bucket follows the load, so that putting in and taking out cost the same from one event to many
//! thousands (`docs/models/engine.md` has measurements).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Buckets of the ring: one word of bits says which of 64 words of bits are not 0.
const BUCKETS: usize = 64 * 64;

/// Buckets of a span.
const SPAN: u64 = BUCKETS as u64 / 4;

/// Spans beyond the ring: one word of bits says which are not empty.
const SPANS: u64 = 128;

/// A node or a bucket's event that is not there.
const NONE: u32 = u32::MAX;

/// 2^10 ns, the width of a bucket before the first adjustment.
const FIRST_SHIFT: u32 = 10;

/// Wider buckets (2^40 ns are 18 minutes) would put the end of time into the ring.
const SHIFT_LIMIT: u32 = 40;

/// The width is looked at again after so many events, at the least.
const LEAST_PERIOD: u32 = 4096;

/// After so many steps an event on average, the width is looked at at once.
const STEPS_LIMIT: u64 = 16;

/// Cost of an event that waits in a span or in the heap, in steps along a list.
const SPAN_STEPS: u64 = 2;
const HEAP_STEPS: u64 = 16;

/// Fewer steps an event than one in so many are not worth another width.
const FEW_STEPS: u64 = 16;

/// Number of events whose subjects are in the nearest cache.
const CLOSE_BY: u32 = 512;

/// One event.
#[derive(Debug, Clone, Copy)]
struct Node {
    at_ns: u64,
    payload: u32,
    next: u32,
}

/// The events of a span of time, earliest first, those of one moment in the order in which they were put in.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    first: u32,
    last: u32,
}

const EMPTY: Bucket = Bucket { first: NONE, last: NONE };

/// An event beyond the spans: its moment, its place among those of one moment, and what is to happen.
type Later = Reverse<(u64, u64, u32)>;

/// Coming events, earliest first; those of one moment come in the order in which they were put in, so that a run
/// does not depend on how they happen to be kept.
#[derive(Debug, Clone)]
pub(crate) struct EventQueue {
    nodes: Vec<Node>,
    /// The first node that holds nothing; the others follow by `next`.
    unused: u32,
    buckets: Box<[Bucket; BUCKETS]>,
    /// Buckets that are not empty, one bit each, and words of these that are not 0.
    filled: [u64; 64],
    filled_words: u64,
    /// A bucket spans 2^shift ns. Buckets are numbered from time 0; the ring holds [`BUCKETS`] of them from `base` on.
    shift: u32,
    base: u64,
    /// The bucket at which the spans begin, a multiple of [`SPAN`], and the events of each in the order in which they were put in.
    spans_from: u64,
    spans: Box<[Vec<(u64, u32)>; SPANS as usize]>,
    filled_spans: u128,
    later: BinaryHeap<Later>,
    /// The earliest moment in `later`.
    later_ns: u64,
    sequence: u64,
    waiting: u32,
    /// Since the width was looked at: events put in before it is looked at again; steps along lists, what spans and heap have cost
    /// in such steps that they would not with buckets twice as wide, and what they would have cost more with buckets half as wide.
    until_adjustment: u32,
    steps: u64,
    beyond_steps: u64,
    far_steps: u64,
}

impl EventQueue {
    /// An empty queue.
    pub fn new() -> Self {
        EventQueue {
            nodes: Vec::with_capacity(256),
            unused: NONE,
            buckets: Box::new([EMPTY; BUCKETS]),
            filled: [0; 64],
            filled_words: 0,
            shift: FIRST_SHIFT,
            base: 0,
            spans_from: BUCKETS as u64,
            spans: Box::new(std::array::from_fn(|_| Vec::new())),
            filled_spans: 0,
            later: BinaryHeap::new(),
            later_ns: u64::MAX,
            sequence: 0,
            waiting: 0,
            until_adjustment: LEAST_PERIOD,
            steps: 0,
            beyond_steps: 0,
            far_steps: 0,
        }
    }

    /// Puts in an event.
    #[inline]
    pub fn push(&mut self, at_ns: u64, payload: u32) {
        self.waiting += 1;
        if self.until_adjustment == 0 {
            self.adjust();
        }
        self.until_adjustment -= 1;
        self.insert(at_ns, payload);
    }

    #[inline]
    fn insert(&mut self, at_ns: u64, payload: u32) {
        // What is earlier than the ring comes first in its first bucket.
        let number = (at_ns >> self.shift).max(self.base);
        if number >= self.spans_from {
            self.put_off(number, at_ns, payload);
            return;
        }
        self.far_steps += SPAN_STEPS * u64::from(number - self.base >= BUCKETS as u64 / 2);
        let node = self.take_node(Node { at_ns, payload, next: NONE });
        let place = number as usize % BUCKETS;
        let bucket = &mut self.buckets[place];
        // The bit says so long before the bucket, which may be far from the nearest cache.
        let (word, bit) = (place / 64, 1 << (place % 64));
        if self.filled[word] & bit == 0 {
            *bucket = Bucket { first: node, last: node };
            self.filled[word] |= bit;
            self.filled_words |= 1 << word;
            return;
        }
        // A bucket of its own is what costs least.
        self.steps += 1;
        if self.nodes[bucket.last as usize].at_ns <= at_ns {
            self.nodes[bucket.last as usize].next = node;
            bucket.last = node;
        } else if self.nodes[bucket.first as usize].at_ns > at_ns {
            self.nodes[node as usize].next = bucket.first;
            bucket.first = node;
        } else {
            // Neither first nor last: behind the last that is not later.
            let mut before = bucket.first;
            loop {
                self.steps += 1;
                let next = self.nodes[before as usize].next;
                if self.nodes[next as usize].at_ns > at_ns {
                    self.nodes[node as usize].next = next;
                    self.nodes[before as usize].next = node;
                    break;
                }
                before = next;
            }
            if self.steps > STEPS_LIMIT * u64::from(LEAST_PERIOD.max(self.waiting)) {
                self.until_adjustment = 0;
            }
        }
    }

    #[inline]
    fn take_node(&mut self, node: Node) -> u32 {
        let index = self.unused;
        if index == NONE {
            self.nodes.push(node);
            return self.nodes.len() as u32 - 1;
        }
        self.unused = self.nodes[index as usize].next;
        self.nodes[index as usize] = node;
        index
    }

    /// Returns when the earliest event is; `u64::MAX` where nothing is waiting.
    pub fn first_at_ns(&self) -> u64 {
        if self.filled_words != 0 {
            return self.nodes[self.buckets[self.first_filled()].first as usize].at_ns;
        }
        let span = self.first_span().map_or(&[][..], |span| &self.spans[(span % SPANS) as usize]);
        span.iter().map(|&(at_ns, _)| at_ns).min().unwrap_or(self.later_ns)
    }

    /// Returns what is to happen next, as far as it is near and nothing earlier is put in: what it is about can be
    /// brought closer meanwhile. Nothing where few events wait, since what they are about is close by anyway.
    #[inline]
    pub fn coming(&self) -> Option<u32> {
        let is_worth = self.waiting > CLOSE_BY && self.filled_words != 0;
        is_worth.then(|| self.nodes[self.buckets[self.first_filled()].first as usize].payload)
    }

    /// Takes out the earliest event if it is at or before `until_ns`: its moment and what is to happen.
    #[inline(always)]
    pub fn pop_until(&mut self, until_ns: u64) -> Option<(u64, u32)> {
        if self.filled_words == 0 {
            self.go_on_to_later(until_ns)?;
        }
        let place = self.first_filled();
        let bucket = &mut self.buckets[place];
        let index = bucket.first;
        let Node { at_ns, payload, next } = self.nodes[index as usize];
        if at_ns > until_ns {
            return None;
        }
        self.nodes[index as usize].next = self.unused;
        self.unused = index;
        bucket.first = next;
        // Nothing foresees whether it was the last of its bucket, so there is no branch.
        let word = place / 64;
        self.filled[word] &= !(u64::from(next == NONE) << (place % 64));
        self.filled_words &= !(u64::from(self.filled[word] == 0) << word);
        self.waiting -= 1;
        self.base = self.base.max(at_ns >> self.shift);
        if self.base + BUCKETS as u64 >= self.spans_from + SPAN {
            self.move_spans();
        }
        Some((at_ns, payload))
    }

    /// Puts everything off by what `by_ns` says of it. Takes as long as there are events.
    pub fn put_all_off(&mut self, by_ns: impl Fn(u32) -> u64) {
        let mut later = EventQueue::new();
        while let Some((at_ns, payload)) = self.pop_until(u64::MAX) {
            later.push(at_ns + by_ns(payload), payload);
        }
        *self = later;
    }

    /// The first bucket from `base` on, round the ring, that is not empty. There is one.
    #[inline]
    fn first_filled(&self) -> usize {
        let start = self.base as usize % BUCKETS;
        let word = start / 64;
        let rest = self.filled[word] >> (start % 64);
        if rest != 0 {
            return start + rest.trailing_zeros() as usize;
        }
        // The same word is the last to be looked at again: what is set there then lies before `start`.
        let after = self.filled_words.rotate_right(word as u32 + 1);
        let next = (word + 1 + after.trailing_zeros() as usize) % 64;
        next * 64 + self.filled[next].trailing_zeros() as usize
    }

    #[inline(never)]
    fn put_off(&mut self, number: u64, at_ns: u64, payload: u32) {
        let distance = number - self.spans_from;
        if distance < SPANS * SPAN {
            // What a ring of twice the span would not reach either does not ask for one.
            self.beyond_steps += SPAN_STEPS * u64::from(number - self.base < 2 * BUCKETS as u64);
            self.far_steps += HEAP_STEPS * u64::from(distance >= SPANS * SPAN / 2);
            let place = number / SPAN % SPANS;
            self.spans[place as usize].push((at_ns, payload));
            self.filled_spans |= 1 << place;
            return;
        }
        self.beyond_steps += HEAP_STEPS;
        self.later.push(Reverse((at_ns, self.sequence, payload)));
        self.sequence += 1;
        self.later_ns = self.later_ns.min(at_ns);
    }

    /// The first span that is not empty, by its number from time 0.
    fn first_span(&self) -> Option<u64> {
        let first = self.spans_from / SPAN;
        let turned = self.filled_spans.rotate_right((first % SPANS) as u32);
        (turned != 0).then(|| first + u64::from(turned.trailing_zeros()))
    }

    /// Moves the ring, which is empty, to the first event beyond it, if that may be at or before `until_ns`.
    #[cold]
    fn go_on_to_later(&mut self, until_ns: u64) -> Option<()> {
        let number = match self.first_span() {
            Some(span) => span * SPAN,
            None if self.later.is_empty() => return None,
            None => self.later_ns >> self.shift,
        };
        if number << self.shift > until_ns {
            return None;
        }
        self.base = self.base.max(number);
        self.move_spans();
        Some(())
    }

    /// Lets the spans begin where the ring ends now. Events that come into the ring or a span by this come before whatever is put into
    /// it from now on.
    #[cold]
    fn move_spans(&mut self) {
        let end = (self.base + BUCKETS as u64) / SPAN * SPAN;
        while self.spans_from < end {
            // Nothing more lies in spans: what the ring has come to is in the heap.
            let from = match self.first_span() {
                Some(span) => (span * SPAN).max(self.spans_from).min(end),
                None => end,
            };
            if from > self.spans_from {
                self.spans_from = from;
                self.fetch_later();
                continue;
            }
            let place = self.spans_from / SPAN % SPANS;
            let mut events = std::mem::take(&mut self.spans[place as usize]);
            self.filled_spans &= !(1 << place);
            self.spans_from += SPAN;
            // They have been in a span, and would be with narrower buckets.
            let far_steps = self.far_steps;
            for (at_ns, payload) in events.drain(..) {
                self.insert(at_ns, payload);
            }
            self.far_steps = far_steps;
            self.spans[place as usize] = events;
            self.fetch_later();
        }
    }

    /// Takes from the heap what the spans have come to.
    fn fetch_later(&mut self) {
        while (self.later_ns >> self.shift).saturating_sub(self.spans_from) < SPANS * SPAN
            && let Some(Reverse((at_ns, _, payload))) = self.later.pop()
        {
            self.insert(at_ns, payload);
            self.later_ns = self.later.peek().map_or(u64::MAX, |&Reverse((at_ns, ..))| at_ns);
        }
    }

    /// Makes buckets wider where too much lies beyond the ring, narrower where lists are long and little would lie beyond it.
    #[cold]
    fn adjust(&mut self) {
        // Often enough to follow the load, seldom enough that moving all events costs little.
        let period = LEAST_PERIOD.max(self.waiting);
        self.until_adjustment = period;
        let (steps, beyond_steps) = (self.steps, self.beyond_steps);
        let narrower_steps = self.far_steps;
        (self.steps, self.beyond_steps, self.far_steps) = (0, 0, 0);
        let worth = u64::from(period) / FEW_STEPS;
        if beyond_steps > steps.max(worth) {
            self.set_shift((self.shift + 1).min(SHIFT_LIMIT));
        } else if steps > worth && steps / 2 > narrower_steps {
            // Half the width, half the steps; several halvings at once where lists are very long.
            let halvings = (steps / u64::from(period)).max(2).ilog2();
            self.set_shift(self.shift.saturating_sub(halvings));
        }
    }

    fn set_shift(&mut self, shift: u32) {
        let mut events = Vec::with_capacity(self.waiting as usize);
        while self.filled_words != 0 {
            let place = self.first_filled();
            let mut index = self.buckets[place].first;
            while index != NONE {
                let Node { at_ns, payload, next } = self.nodes[index as usize];
                events.push((at_ns, payload));
                index = next;
            }
            self.buckets[place] = EMPTY;
            self.filled[place / 64] &= !(1 << (place % 64));
            self.filled_words &= !(u64::from(self.filled[place / 64] == 0) << (place / 64));
        }
        while let Some(span) = self.first_span() {
            events.append(&mut self.spans[(span % SPANS) as usize]);
            self.filled_spans &= !(1 << (span % SPANS));
        }
        self.nodes.clear();
        self.unused = NONE;
        let first_ns = events.first().map_or(self.base << self.shift, |&(at_ns, _)| at_ns);
        self.base = first_ns.min(self.base << self.shift) >> shift;
        self.shift = shift;
        self.spans_from = (self.base + BUCKETS as u64) / SPAN * SPAN;
        // In their order: those of one moment keep it, and all of the ring and of the spans are before all of the heap.
        for (at_ns, payload) in events {
            self.insert(at_ns, payload);
        }
        self.fetch_later();
        (self.steps, self.beyond_steps, self.far_steps) = (0, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Proves that events of one moment come out in the order in which they were put in, also hundreds of thousands of them, and also
    /// where they waited in the heap.
    #[test]
    fn ties_keep_their_order() {
        for scale_ns in [1, 1000, 1_000_000_000] {
            let mut queue = EventQueue::new();
            for payload in 0..300_000 {
                queue.push(u64::from(payload % 3) * scale_ns, payload);
            }
            for moment in 0..3 {
                for payload in (0..300_000).filter(|payload| payload % 3 == moment) {
                    assert_eq!(queue.pop_until(u64::MAX), Some((u64::from(moment) * scale_ns, payload)));
                }
            }
            assert_eq!(queue.pop_until(u64::MAX), None);
        }
    }

    /// Proves that order holds while the width of buckets changes both ways: for as long as events are far apart it
    /// grows, and shrinks when they are close.
    #[test]
    fn order_holds_while_the_width_changes() {
        let mut queue = EventQueue::new();
        let mut expected = std::collections::BTreeMap::new();
        let mut random = load::Random::from_seed(1);
        let (mut now_ns, mut widths) = (0, Vec::new());
        for step in 0..400_000u32 {
            let spread_ns = if (step / 100_000) % 2 == 0 { 4_000_000_000 } else { 4_000 };
            let at_ns = now_ns + random.below(spread_ns);
            queue.push(at_ns, step);
            expected.insert((at_ns, step), ());
            if expected.len() > 300 {
                let ((first_ns, first), ()) = expected.pop_first().unwrap();
                assert_eq!(queue.pop_until(u64::MAX), Some((first_ns, first)));
                now_ns = first_ns;
            }
            widths.push(queue.shift);
        }
        let (least, most) = (widths.iter().min().unwrap(), widths.iter().max().unwrap());
        assert!(*most > FIRST_SHIFT && least < most && widths[399_999] < *most, "{least} to {most}");
    }

    /// Proves that buckets become as narrow as they can be while what is coming fits into the ring: 256 events over 100 µs share
    /// few buckets, and none of them waits in the heap.
    #[test]
    fn buckets_are_as_narrow_as_fits() {
        let mut queue = EventQueue::new();
        let mut random = load::Random::from_seed(2);
        for payload in 0..256 {
            queue.push(random.below(100_000), payload);
        }
        for _ in 0..200_000 {
            let (now_ns, payload) = queue.pop_until(u64::MAX).unwrap();
            queue.push(now_ns + random.below(100_000), payload);
        }
        assert!(100_000 >> queue.shift < BUCKETS as u64, "{}", queue.shift);
        assert!(queue.shift <= 7 && queue.later.is_empty(), "{}", queue.shift);
    }

    /// Proves that what waits far beyond the ring does not make its buckets wide: of ten thousand events, each is put in 5 ms ahead and then
    /// once more within 100 µs, and most still have a bucket to themselves.
    #[test]
    fn far_events_leave_buckets_narrow() {
        let mut queue = EventQueue::new();
        let mut random = load::Random::from_seed(3);
        for payload in 0..10_000 {
            queue.push(random.below(5_000_000), payload << 1);
        }
        for _ in 0..400_000 {
            let (now_ns, payload) = queue.pop_until(u64::MAX).unwrap();
            let ahead_ns = if payload & 1 == 0 { random.below(100_000) } else { 5_000_000 };
            queue.push(now_ns + ahead_ns, payload ^ 1);
        }
        // 4 events a µs: 128 ns are half a one.
        assert!(queue.shift <= 7 && queue.later.is_empty(), "{}", queue.shift);
    }

    proptest! {
        /// Proves that the queue is a stable sort, whatever is put in and taken out between, near and far.
        #[test]
        fn order_is_that_of_a_stable_sort(
            events in proptest::collection::vec((0u64..50, 0u32..40, any::<bool>()), 1..300),
        ) {
            let mut queue = EventQueue::new();
            let mut expected: Vec<(u64, u32)> = Vec::new();
            for (payload, &(near, far, take)) in events.iter().enumerate() {
                let at_ns = near << far;
                queue.push(at_ns, payload as u32);
                expected.push((at_ns, payload as u32));
                if take {
                    expected.sort();
                    prop_assert_eq!(queue.pop_until(u64::MAX), Some(expected.remove(0)));
                }
            }
            expected.sort();
            for event in expected {
                if let Some(before) = event.0.checked_sub(1) {
                    prop_assert_eq!(queue.pop_until(before), None);
                }
                prop_assert_eq!(queue.pop_until(event.0), Some(event));
            }
            prop_assert_eq!(queue.pop_until(u64::MAX), None);
        }
    }

    /// Proves that the moment of the earliest event is told without taking it out, whether it waits in a bucket, behind others
    /// of its bucket, or in the heap, and that an empty queue never wakes anybody.
    #[test]
    fn the_earliest_moment_is_known() {
        let mut queue = EventQueue::new();
        let mut expected = std::collections::BTreeMap::new();
        let mut random = load::Random::from_seed(7);
        let mut now_ns = 0;
        assert_eq!(queue.first_at_ns(), u64::MAX);
        for payload in 0..20_000u32 {
            let far_ns = [10, 10_000, 1_000_000_000][payload as usize % 3];
            let at_ns = now_ns + random.below(far_ns);
            queue.push(at_ns, payload);
            expected.insert((at_ns, payload), ());
            assert_eq!(queue.first_at_ns(), expected.first_key_value().unwrap().0.0);
            if random.below(3) > 0 {
                let ((at_ns, payload), ()) = expected.pop_first().unwrap();
                assert_eq!(queue.pop_until(u64::MAX), Some((at_ns, payload)));
                now_ns = at_ns;
                let next_ns = expected.first_key_value().map_or(u64::MAX, |((at_ns, _), ())| *at_ns);
                assert_eq!(queue.first_at_ns(), next_ns);
            }
        }
        while queue.pop_until(u64::MAX).is_some() {}
        assert_eq!(queue.first_at_ns(), u64::MAX);
    }
}

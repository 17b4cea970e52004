//! Thin provisioning.

use load::{LoadShape, LoadSpec, Pattern};

use super::{count, load, of_drives, run, twin};

/// Proves that a first write to a unit allocates it once, that it takes longer than an overwrite, that a read of what was never
/// written asks no drive, and that a full array allocates nothing.
#[test]
fn a_unit_is_allocated_once() {
    let thin = "thin: { unit: 64KiB }";
    let mut fresh = twin(thin, &[("condition", "fresh")]);
    let reads = run(&mut fresh, &load(Pattern::Randread, 4096, 4, 20));
    assert!(reads.ios > 1000 && count(&fresh, "thin", "unallocated_reads") >= reads.ios);
    assert_eq!(of_drives(&fresh, 0..6, "reads"), 0);
    let units = 1000;
    let pass = LoadSpec { size_bytes: Some(units * 65_536), ..load(Pattern::Write, 65_536, 1, 2000) };
    let first = run(&mut fresh, &pass);
    assert!(first.ios > 2 * units, "all is written more than once: {}", first.ios);
    assert_eq!(count(&fresh, "thin", "allocations"), units);
    let again = run(&mut fresh, &pass);
    assert_eq!(count(&fresh, "thin", "allocations"), units);
    let mut full = twin(thin, &[]);
    let over = run(&mut full, &load(Pattern::Randwrite, 4096, 1, 100));
    assert_eq!(count(&full, "thin", "allocations"), 0);
    let mut once = twin(thin, &[("condition", "fresh")]);
    let under = run(&mut once, &load(Pattern::Randwrite, 4096, 1, 20));
    assert!(under.mean_ns() > over.mean_ns() + 20_000.0, "{} {}", under.mean_ns(), over.mean_ns());
    assert!(again.errors + over.errors + under.errors == 0);
}

/// Proves that units come free by a trim and are allocated anew.
#[test]
fn trimmed_units_are_free() {
    let mut twin = twin("thin: { unit: 64KiB }", &[]);
    let before = count(&twin, "thin", "fill_allocated_bytes");
    let shape = LoadShape { trim_percent: 100, ..LoadShape::default() };
    let trims = LoadSpec { rwmixread: 0, shape, ..load(Pattern::Randrw, 65_536, 1, 5) };
    run(&mut twin, &trims);
    let freed = count(&twin, "thin", "freed_units");
    assert!(freed > 10);
    assert_eq!(count(&twin, "thin", "fill_allocated_bytes"), before - freed * 65_536);
}

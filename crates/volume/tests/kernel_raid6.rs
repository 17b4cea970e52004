//! P and Q against the Linux kernel's own: `kernel-raid6.txt` was read from devices that the kernel wrote.

use volume::parity::{make_parity, recover};

fn bytes_of(hexadecimal: &str) -> Vec<u8> {
    (0..hexadecimal.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hexadecimal[at..at + 2], 16).unwrap())
        .collect()
}

/// Proves that P and Q are those that lib/raid6 of Linux makes of the same data (the library of md, here under btrfs
/// RAID 6 of 2, 8 and 12 data strips; `scripts/kernel-raid6-vectors.py` makes such vectors on any machine with the
/// kernel's btrfs), and that from the kernel's strips any two members come back.
#[test]
fn parity_is_the_kernels() {
    let rows = include_str!("kernel-raid6.txt").lines().filter(|line| !line.starts_with('#'));
    let mut widths = std::collections::BTreeSet::new();
    for row in rows {
        let members: Vec<Vec<u8>> = row.split(' ').map(bytes_of).collect();
        let data = members.len() - 2;
        widths.insert(data);
        let slices: Vec<&[u8]> = members[..data].iter().map(Vec::as_slice).collect();
        let (mut p, mut q) = (vec![0; members[0].len()], vec![0; members[0].len()]);
        make_parity(&slices, &mut p, Some(&mut q));
        assert!(p == members[data], "P of {data} strips");
        assert!(q == members[data + 1], "Q of {data} strips");
        for one in 0..data + 2 {
            for other in one + 1..data + 2 {
                let mut damaged = members.clone();
                damaged[one].fill(0xa5);
                damaged[other].fill(0x5a);
                recover(&mut damaged, data, &[one, other]);
                assert!(damaged == members, "{one} and {other} of {data} strips");
            }
        }
    }
    assert_eq!(widths.into_iter().collect::<Vec<_>>(), [2, 8, 12]);
}

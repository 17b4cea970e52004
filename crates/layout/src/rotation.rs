//! Rotation of parity and data over stripes in md's RAID 5 and RAID 6.

/// Rotation of parity over the drives, by md's names (`mdadm --layout`). With N drives and stripe s, parity P is on
/// drive N−1−(s mod N) in the left layouts and on s mod N in the right ones; Q follows P. In the symmetric ones the
/// data begins behind the parity and wraps around, so that sequential reads use all drives; in the asymmetric ones
/// it fills the other drives in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum Rotation {
    /// md's default.
    #[default]
    LeftSymmetric,
    /// `left-asymmetric`.
    LeftAsymmetric,
    /// `right-symmetric`.
    RightSymmetric,
    /// `right-asymmetric`.
    RightAsymmetric,
}

impl Rotation {
    /// The drive of P, `phase` being the stripe modulo the number of drives.
    #[inline]
    pub(crate) fn parity_drive(self, phase: u32, drives: u32) -> u32 {
        match self {
            Rotation::LeftSymmetric | Rotation::LeftAsymmetric => drives - 1 - phase,
            Rotation::RightSymmetric | Rotation::RightAsymmetric => phase,
        }
    }

    /// The drive of a member: data members first, then P, then Q.
    #[inline]
    pub(crate) fn member_drive(self, parity_drive: u32, member: u32, data: u32, parity: u32) -> u32 {
        let drives = data + parity;
        if member >= data {
            return wrapped(parity_drive + member - data, drives);
        }
        match self {
            Rotation::LeftSymmetric | Rotation::RightSymmetric => {
                wrapped(parity_drive + parity + member, drives)
            }
            Rotation::LeftAsymmetric | Rotation::RightAsymmetric => {
                // Parity that wraps around (P last, Q first) pushes all data up by what wrapped.
                let wrapped_parity = (parity_drive + parity).saturating_sub(drives);
                let column = member + wrapped_parity;
                if column >= parity_drive { column + parity - wrapped_parity } else { column }
            }
        }
    }
}

#[inline]
fn wrapped(drive: u32, drives: u32) -> u32 {
    if drive >= drives { drive - drives } else { drive }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rotation: Rotation, data: u32, parity: u32) -> Vec<String> {
        let drives = data + parity;
        (0..drives)
            .map(|phase| {
                let parity_drive = rotation.parity_drive(phase, drives);
                let mut row = vec!['?'; drives as usize];
                for member in 0..drives {
                    let drive = rotation.member_drive(parity_drive, member, data, parity);
                    row[drive as usize] = match member {
                        m if m < data => char::from_digit(m, 10).unwrap_or('+'),
                        m if m == data => 'P',
                        _ => 'Q',
                    };
                }
                row.into_iter().collect()
            })
            .collect()
    }

    /// Proves the four RAID 5 layouts of md, drawn for four drives as in md's documentation.
    #[test]
    fn raid5_rotates_as_md_draws_it() {
        assert_eq!(rows(Rotation::LeftSymmetric, 3, 1), ["012P", "12P0", "2P01", "P012"]);
        assert_eq!(rows(Rotation::LeftAsymmetric, 3, 1), ["012P", "01P2", "0P12", "P012"]);
        assert_eq!(rows(Rotation::RightSymmetric, 3, 1), ["P012", "2P01", "12P0", "012P"]);
        assert_eq!(rows(Rotation::RightAsymmetric, 3, 1), ["P012", "0P12", "01P2", "012P"]);
    }

    /// Proves the four RAID 6 layouts of md for five drives: Q behind P, wrapping to the first drive.
    #[test]
    fn raid6_rotates_as_md_draws_it() {
        assert_eq!(rows(Rotation::LeftSymmetric, 3, 2), ["Q012P", "012PQ", "12PQ0", "2PQ01", "PQ012"]);
        assert_eq!(rows(Rotation::LeftAsymmetric, 3, 2), ["Q012P", "012PQ", "01PQ2", "0PQ12", "PQ012"]);
        assert_eq!(rows(Rotation::RightSymmetric, 3, 2), ["PQ012", "2PQ01", "12PQ0", "012PQ", "Q012P"]);
        assert_eq!(rows(Rotation::RightAsymmetric, 3, 2), ["PQ012", "0PQ12", "01PQ2", "012PQ", "Q012P"]);
    }
}

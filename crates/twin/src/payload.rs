//! Kinds of things with a number each, in the 32 bits that the event queue, or a disk, hands back.

/// Bits of a payload for the number; those above say which kind it is.
pub(crate) const NUMBER_BITS: u32 = 27;

/// Tags are such numbers.
const _: () = assert!(load::OUTSTANDING_LIMIT < 1 << NUMBER_BITS);

/// Returns what a payload is about, whatever its kind: its number.
#[inline]
pub(crate) fn number_in(payload: u32) -> u32 {
    payload & ((1 << NUMBER_BITS) - 1)
}

/// Number that a payload carries.
pub(crate) trait Numbered: Copy {
    /// As a number of [`NUMBER_BITS`].
    fn number(self) -> u32;

    /// Back from such a number.
    fn of_number(number: u32) -> Self;
}

/// A tag, a command, a drive: the array knows which.
impl Numbered for u32 {
    #[inline]
    fn number(self) -> u32 {
        self
    }

    #[inline]
    fn of_number(number: u32) -> Self {
        number
    }
}

/// Nothing that would have to be numbered.
impl Numbered for () {
    #[inline]
    fn number(self) -> u32 {
        0
    }

    #[inline]
    fn of_number(_number: u32) -> Self {}
}

/// Declares kinds of things as variants of an enum and how they are packed: `0 => Arrive(u32)` for the kind, numbered up to 31,
/// and what it is about.
macro_rules! payloads {
    ($(#[$says:meta])* $name:ident { $($(#[$says_kind:meta])* $kind:literal => $variant:ident($of:ty),)* }) => {
        $(#[$says])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum $name {
            $($(#[$says_kind])* $variant($of),)*
        }

        impl $name {
            /// As a payload.
            #[inline]
            pub fn pack(self) -> u32 {
                use $crate::payload::{NUMBER_BITS, Numbered};
                let (kind, number): (u32, u32) = match self {
                    $($name::$variant(of) => ($kind, of.number()),)*
                };
                kind << NUMBER_BITS | number
            }

            /// Back from a payload.
            #[inline]
            pub fn unpack(payload: u32) -> Self {
                use $crate::payload::{NUMBER_BITS, Numbered, number_in};
                let number = number_in(payload);
                match payload >> NUMBER_BITS {
                    $($kind => $name::$variant(<$of>::of_number(number)),)*
                    _ => unreachable!("only what is packed is unpacked"),
                }
            }
        }
    };
}
pub(crate) use payloads;

#[cfg(test)]
mod tests {
    use super::*;

    payloads! {
        /// First and last of all kinds, and one about nothing.
        Kind {
            0 => First(u32),
            7 => Alone(()),
            31 => Last(u32),
        }
    }

    /// Proves that every kind survives its packing, whatever it is about.
    #[test]
    fn kinds_survive_packing() {
        let last = (1 << NUMBER_BITS) - 1;
        for kind in [Kind::First(0), Kind::First(last), Kind::Alone(()), Kind::Last(0), Kind::Last(last)] {
            assert_eq!(Kind::unpack(kind.pack()), kind);
        }
    }
}

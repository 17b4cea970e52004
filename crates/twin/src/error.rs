//! Twin errors.

use crate::DescriptionError;

/// Errors of building or controlling a twin.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TwinError {
    /// The description makes no array.
    #[error("the array description makes no array: {0}")]
    Description(#[from] DescriptionError),
    /// A setting that this array does not have.
    #[error("this array has no setting `{name}`; it has {known}")]
    UnknownSetting {
        /// The setting as given.
        name: String,
        /// All it has, for the message.
        known: String,
    },
    /// A setting with a value that it cannot take.
    #[error("`{name}` cannot be {value}; it takes {allowed}")]
    BadSetting {
        /// The setting.
        name: String,
        /// The value as given.
        value: String,
        /// The values that it takes.
        allowed: String,
    },
    /// An event that the description does not model.
    #[error("this array cannot do `{event}`; {remedy}")]
    NoSuchEvent {
        /// The event.
        event: &'static str,
        /// Description that can do it.
        remedy: &'static str,
    },
    /// An event that takes away a part of which this array has none, by what it is: it does not have to survive that.
    #[error("this array cannot do `{event}`: it has no {part}; {remedy}")]
    NoSuchPart {
        /// The event.
        event: &'static str,
        /// The part, several of it.
        part: &'static str,
        /// Event that it has in place of it, or description that has the part.
        remedy: &'static str,
    },
    /// An event that no array has.
    #[error("there is no event `{event}`; there are {known}")]
    UnknownEvent {
        /// The event as given.
        event: String,
        /// All there are, for the message.
        known: String,
    },
    /// An event that is told something it has no use for.
    #[error("`{event}` has no use for `{argument}`; leave it out")]
    UnknownArgument {
        /// The event.
        event: String,
        /// Argument that it was told.
        argument: String,
    },
    /// An event while another is under way.
    #[error("`{event}` has to wait until what is under way has ended")]
    Busy {
        /// The event.
        event: &'static str,
    },
    /// An event in the past of the twin's clock.
    #[error("`{event}` was asked for {at_ns} ns, but the clock stands at {now_ns} ns already")]
    Late {
        /// The event.
        event: String,
        /// Moment at which it was to begin.
        at_ns: u64,
        /// Moment at which the clock stands.
        now_ns: u64,
    },
    /// A load that cannot be issued on this array.
    #[error("the load cannot be issued: {0}")]
    Load(#[from] load::SpecError),
}

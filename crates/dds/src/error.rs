//! The error type of the crate.

use std::fmt;

use tickwire_distribution::TransportError;
use tickwire_distribution::cdr::SampleEncodeError;

/// The operation that the middleware refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DdsOperation {
    /// Attaching a reader to a wait set.
    Attach,
    /// Creating a reader.
    CreateReader,
    /// Creating a topic.
    CreateTopic,
    /// Creating a wait set.
    CreateWaitSet,
    /// Creating a writer.
    CreateWriter,
    /// Disposing of an instance.
    Dispose,
    /// Joining a domain with a participant.
    JoinDomain,
    /// Opening a domain with its configuration.
    OpenDomain,
    /// Reading a status of a reader or writer.
    ReadStatus,
    /// Taking samples from a reader.
    Take,
    /// Waiting for samples, matches or acknowledgements.
    Wait,
    /// Writing a sample.
    Write,
}

impl DdsOperation {
    fn text(self) -> &'static str {
        match self {
            DdsOperation::Attach => "attach a reader to a wait set",
            DdsOperation::CreateReader => "create a reader",
            DdsOperation::CreateTopic => "create a topic",
            DdsOperation::CreateWaitSet => "create a wait set",
            DdsOperation::CreateWriter => "create a writer",
            DdsOperation::Dispose => "dispose of an instance",
            DdsOperation::JoinDomain => "join the domain",
            DdsOperation::OpenDomain => "open the domain",
            DdsOperation::ReadStatus => "read a status",
            DdsOperation::Take => "take samples",
            DdsOperation::Wait => "wait",
            DdsOperation::Write => "write a sample",
        }
    }
}

/// Reason why a DDS call failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DdsError {
    /// The domain number is above [`DOMAIN_ID_MAX`](crate::DOMAIN_ID_MAX), so it has no ports.
    DomainId {
        /// The requested number.
        id: u32,
    },
    /// The middleware reported an error.
    Middleware {
        /// The operation that failed.
        attempt: DdsOperation,
        /// The return code of the DDS standard, negated by Cyclone.
        code: i32,
    },
    /// A type has a sequence of sequences, which types described at run time cannot have.
    NestedSequence,
    /// This process has already opened the domain; share that [`Domain`](crate::Domain) instead.
    OpenAlready {
        /// The domain's number.
        id: u32,
    },
    /// A depth, count or size in the options is zero, or does not fit the middleware's 31 bits.
    OptionRange {
        /// Name of the option.
        option: &'static str,
    },
    /// A topic name, a partition or a string of a sample contains a NUL character.
    TextWithNul,
    /// A sequence or string of a sample is longer than the wire format allows.
    TooLong,
    /// The time limit passed while the writer's history was full or acknowledgements were missing.
    TimedOut {
        /// The operation that timed out.
        attempt: DdsOperation,
    },
}

const _: () = assert!(size_of::<DdsError>() <= 24);

impl fmt::Display for DdsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            DdsError::DomainId { id } => {
                write!(f, "domain {id} has no ports: use 0 to {}", crate::DOMAIN_ID_MAX)
            }
            DdsError::Middleware { attempt, code } => {
                write!(f, "cannot {}: {} (Cyclone code {code})", attempt.text(), code_text(code))
            }
            DdsError::NestedSequence => f.write_str("a type has a sequence of sequences"),
            DdsError::OpenAlready { id } => {
                write!(f, "domain {id} is open already in this process: share its Domain")
            }
            DdsError::OptionRange { option } => {
                write!(f, "option {option} must be from 1 to {}", i32::MAX)
            }
            DdsError::TextWithNul => {
                f.write_str("text with a NUL character inside cannot be a DDS string: remove it")
            }
            DdsError::TooLong => f.write_str("sequence or string longer than 2^32 - 1: split it"),
            DdsError::TimedOut { attempt } => {
                write!(f, "cannot {} in the time allowed: is a subscriber stuck?", attempt.text())
            }
        }
    }
}

impl std::error::Error for DdsError {}

impl From<SampleEncodeError> for DdsError {
    fn from(error: SampleEncodeError) -> Self {
        match error {
            SampleEncodeError::TextWithNul => Self::TextWithNul,
            _ => Self::TooLong,
        }
    }
}

impl TransportError for DdsError {
    fn is_timed_out(&self) -> bool {
        matches!(self, Self::TimedOut { .. })
    }
}

fn code_text(code: i32) -> &'static str {
    match code {
        -2 => "not supported",
        -3 => "a parameter is wrong",
        -4 => "a precondition is not met",
        -5 => "out of resources, or no usable network interface or free participant index",
        -6 => "not enabled",
        -7 => "the policy cannot change any more",
        -8 => "the QoS policies contradict each other",
        -9 => "deleted already",
        -10 => "timed out",
        -11 => "no data",
        -12 => "not possible on this entity",
        _ => "unspecified failure: see the log of Cyclone DDS",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_says_what_failed_and_what_to_do() {
        let refused = DdsError::Middleware { attempt: DdsOperation::CreateWriter, code: -8 };
        assert_eq!(
            refused.to_string(),
            "cannot create a writer: the QoS policies contradict each other (Cyclone code -8)"
        );
        assert!(DdsError::DomainId { id: 999 }.to_string().contains("use 0 to 232"));
    }
}

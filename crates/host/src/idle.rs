//! The idle setting of a machine's CPUs, which decides how long a blocked thread takes to wake up.

use std::fmt;
use std::fs;

const COMMAND_LINE: &str = "proc/cmdline";
const DRIVER: &str = "sys/devices/system/cpu/cpuidle/current_driver";
const GOVERNOR: &str = "sys/devices/system/cpu/cpuidle/current_governor";
/// File with the governor's name on kernels before 5.9, which do not allow changing it.
const GOVERNOR_READ_ONLY: &str = "sys/devices/system/cpu/cpuidle/current_governor_ro";
const HALT_POLL: &str = "sys/module/haltpoll/parameters/guest_halt_poll_ns";

/// Behaviour of a machine's CPUs when they are idle. Report its text, such as "haltpoll,
/// guest_halt_poll_ns 0", with every latency of a blocking thread: on a virtual machine, UDP took
/// 38 or 3.5 microseconds depending on this setting alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdleSetting {
    /// CPUs never sleep: the kernel's parameter `idle=poll`.
    Poll,
    /// The governor `haltpoll`: CPUs poll for work before they halt.
    HaltPoll {
        /// The idle driver.
        driver: String,
        /// Time for which CPUs poll for work, in nanoseconds; with 0 they halt at once.
        poll_ns: u64,
    },
    /// Another governor, or `haltpoll` with a parameter that cannot be read.
    Driver {
        /// The idle driver.
        driver: String,
        /// The governor; `None` if it cannot be read.
        governor: Option<String>,
    },
    /// There is no idle driver.
    NoDriver,
    /// The setting cannot be read.
    Unknown,
}

impl IdleSetting {
    /// Returns the setting of this machine.
    #[must_use]
    pub fn of_this_machine() -> Self {
        Self::read(|path| Some(fs::read_to_string(format!("/{path}")).ok()?.trim().to_owned()))
    }

    /// Returns the setting of a machine whose files `text_of` reads, without surrounding white space. Paths have no
    /// leading slash.
    pub fn read(text_of: impl Fn(&str) -> Option<String>) -> Self {
        let command_line = text_of(COMMAND_LINE).unwrap_or_default();
        if command_line.split_whitespace().any(|word| word == "idle=poll") {
            return Self::Poll;
        }
        let Some(driver) = text_of(DRIVER) else { return Self::Unknown };
        let governor = text_of(GOVERNOR).or_else(|| text_of(GOVERNOR_READ_ONLY));
        let poll_ns = text_of(HALT_POLL).and_then(|text| text.parse().ok());
        // Only the governor polls before it halts; the driver of the same name does not.
        match (driver.as_str(), governor.as_deref(), poll_ns) {
            ("none", ..) => Self::NoDriver,
            (_, Some("haltpoll"), Some(poll_ns)) => Self::HaltPoll { driver, poll_ns },
            _ => Self::Driver { driver, governor },
        }
    }
}

impl fmt::Display for IdleSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Poll => f.write_str("idle=poll"),
            Self::HaltPoll { driver, poll_ns } if driver == "haltpoll" => {
                write!(f, "haltpoll, guest_halt_poll_ns {poll_ns}")
            }
            Self::HaltPoll { driver, poll_ns } => {
                write!(f, "{driver}, governor haltpoll, guest_halt_poll_ns {poll_ns}")
            }
            Self::Driver { driver, governor } => {
                write!(f, "{driver}, governor {}", governor.as_deref().unwrap_or("unknown"))
            }
            Self::NoDriver => f.write_str("no idle driver"),
            Self::Unknown => f.write_str("unknown"),
        }
    }
}

/// Returns the text of [`IdleSetting::of_this_machine`].
#[must_use]
pub fn idle_setting() -> String {
    IdleSetting::of_this_machine().to_string()
}

#[cfg(test)]
mod tests {
    use super::{COMMAND_LINE, DRIVER, GOVERNOR, GOVERNOR_READ_ONLY, HALT_POLL, IdleSetting};

    /// Returns the setting of a machine with these files.
    fn of(files: &[(&str, &str)]) -> String {
        let text_of = |path: &str| {
            let file = files.iter().find(|(name, _)| *name == path);
            file.map(|(_, text)| (*text).to_owned())
        };
        IdleSetting::read(text_of).to_string()
    }

    #[test]
    fn halt_polling_is_stated_only_for_its_governor() {
        let guest =
            |driver, governor| of(&[(DRIVER, driver), (GOVERNOR, governor), (HALT_POLL, "200000")]);
        assert_eq!(guest("haltpoll", "haltpoll"), "haltpoll, guest_halt_poll_ns 200000");
        assert_eq!(guest("haltpoll", "menu"), "haltpoll, governor menu");
        assert_eq!(
            guest("intel_idle", "haltpoll"),
            "intel_idle, governor haltpoll, guest_halt_poll_ns 200000"
        );
        assert_eq!(guest("none", "menu"), "no idle driver");
        assert_eq!(
            of(&[(DRIVER, "intel_idle"), (HALT_POLL, "200000")]),
            "intel_idle, governor unknown"
        );
        let old = [(DRIVER, "haltpoll"), (GOVERNOR_READ_ONLY, "haltpoll"), (HALT_POLL, "200000")];
        assert_eq!(of(&old), "haltpoll, guest_halt_poll_ns 200000");
        assert_eq!(of(&[(GOVERNOR, "menu")]), "unknown", "the driver cannot be read");
        assert_eq!(of(&[(DRIVER, "haltpoll"), (COMMAND_LINE, "quiet idle=poll")]), "idle=poll");
    }
}

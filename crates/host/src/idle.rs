//! The idle setting of this machine's CPUs, which decides how long a blocked thread takes to wake up.

use std::fs;

const CPUIDLE: &str = "/sys/devices/system/cpu/cpuidle";
const HALT_POLL: &str = "/sys/module/haltpoll/parameters/guest_halt_poll_ns";

/// Returns the idle setting as text, such as "haltpoll, guest_halt_poll_ns 0". State it beside every latency of a
/// blocking thread: on a virtual machine, UDP took 38 or 3.5 microseconds by this setting alone.
#[must_use]
pub fn idle_setting() -> String {
    let command_line = fs::read_to_string("/proc/cmdline").unwrap_or_default();
    if command_line.split_whitespace().any(|word| word == "idle=poll") {
        return "idle=poll".to_owned();
    }
    let read = |path: &str| fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
    let driver = read(&format!("{CPUIDLE}/current_driver"));
    let governor = read(&format!("{CPUIDLE}/current_governor"));
    describe(driver.as_deref(), governor.as_deref(), read(HALT_POLL).as_deref())
}

/// Describes driver and governor. Halt polling is the governor's; the driver of the same name only halts.
fn describe(driver: Option<&str>, governor: Option<&str>, halt_poll_ns: Option<&str>) -> String {
    match (driver, governor, halt_poll_ns) {
        (None, ..) => "unknown".to_owned(),
        (Some("none"), ..) => "no idle driver".to_owned(),
        (Some("haltpoll"), Some("haltpoll"), Some(ns)) => {
            format!("haltpoll, guest_halt_poll_ns {ns}")
        }
        (Some(driver), Some("haltpoll"), Some(ns)) => {
            format!("{driver}, governor haltpoll, guest_halt_poll_ns {ns}")
        }
        (Some(driver), Some(governor), _) => format!("{driver}, governor {governor}"),
        (Some(driver), None, _) => format!("{driver}, governor unknown"),
    }
}

#[cfg(test)]
mod tests {
    use super::describe;

    #[test]
    fn halt_polling_is_stated_only_for_its_governor() {
        let of = |driver, governor| describe(Some(driver), Some(governor), Some("200000"));
        assert_eq!(of("haltpoll", "haltpoll"), "haltpoll, guest_halt_poll_ns 200000");
        assert_eq!(of("haltpoll", "menu"), "haltpoll, governor menu");
        assert_eq!(
            of("intel_idle", "haltpoll"),
            "intel_idle, governor haltpoll, guest_halt_poll_ns 200000"
        );
        assert_eq!(of("none", "menu"), "no idle driver");
        assert_eq!(
            describe(Some("intel_idle"), None, Some("200000")),
            "intel_idle, governor unknown"
        );
        assert_eq!(describe(None, Some("menu"), None), "unknown", "/sys cannot be read");
    }
}

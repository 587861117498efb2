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

fn describe(driver: Option<&str>, governor: Option<&str>, halt_poll_ns: Option<&str>) -> String {
    match (driver, governor, halt_poll_ns) {
        (Some("none") | None, ..) => "no idle driver".to_owned(),
        (Some("haltpoll"), _, Some(ns)) => format!("haltpoll, guest_halt_poll_ns {ns}"),
        (Some(driver), Some(governor), _) => format!("{driver}, governor {governor}"),
        (Some(driver), None, _) => driver.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::describe;

    #[test]
    fn halt_polling_is_stated_only_for_its_driver() {
        let of = |driver| describe(driver, Some("menu"), Some("200000"));
        assert_eq!(of(Some("haltpoll")), "haltpoll, guest_halt_poll_ns 200000");
        assert_eq!(of(Some("intel_idle")), "intel_idle, governor menu");
        assert_eq!(of(Some("none")), "no idle driver");
        assert_eq!(of(None), "no idle driver");
    }
}

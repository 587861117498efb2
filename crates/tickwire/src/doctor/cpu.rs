//! Sleep states, frequencies, isolation, clocks and memory of the CPUs.

use super::finding::DoctorFinding;
use super::machine::MachineFiles;
use tickwire_host::IdleSetting;

const CPU: &str = "sys/devices/system/cpu";
const HALT_POLL: &str = "sys/module/haltpoll/parameters/guest_halt_poll_ns";
/// Longest wake-up latency of a sleep state that counts as harmless, in microseconds.
const SLEEP_US_MAX: u64 = 2;

/// Examines the CPUs.
pub fn examine(machine: &MachineFiles) -> Vec<DoctorFinding> {
    let one = [idle, governors, isolation, clock_source, transparent_huge_pages, huge_pages];
    let mut found: Vec<DoctorFinding> = one.iter().map(|examine| examine(machine)).collect();
    found.extend(shared_cores(machine));
    found.extend(numa_balancing(machine));
    found
}

/// Examines how deeply an idle CPU sleeps: a blocked thread waits until the CPU is awake.
fn idle(machine: &MachineFiles) -> DoctorFinding {
    let name = "idle CPUs";
    let setting = IdleSetting::read(|path| machine.text(path));
    let driver = match &setting {
        IdleSetting::Poll => {
            return DoctorFinding::good(name, setting.to_string(), "idle CPUs never sleep");
        }
        IdleSetting::HaltPoll { poll_ns: 0, .. } => {
            let change = format!("--spin, or: echo 200000 > /{HALT_POLL}");
            return halting(setting.to_string(), change);
        }
        IdleSetting::HaltPoll { .. } => {
            return DoctorFinding::good(
                name,
                setting.to_string(),
                "idle virtual CPUs look for work for that long before they halt",
            );
        }
        IdleSetting::Driver { driver, governor } if driver == "haltpoll" => {
            if governor.as_deref().is_none_or(|governor| governor == "haltpoll") {
                let reason = "whether idle virtual CPUs look for work before they halt";
                return DoctorFinding::unknown(name, reason, format!("cat /{HALT_POLL}, as root"));
            }
            // The driver only halts; its governor does the polling.
            let governor = format!("/{CPU}/cpuidle/current_governor");
            let change =
                format!("--spin, or: echo haltpoll > {governor}; echo 200000 > /{HALT_POLL}");
            return halting(setting.to_string(), change);
        }
        IdleSetting::Driver { driver, .. } => Some(driver),
        IdleSetting::NoDriver | IdleSetting::Unknown => None,
    };
    let states = machine.names(&format!("{CPU}/cpu0/cpuidle"), "state");
    let deepest =
        states.iter().filter_map(|state| sleep_state(machine, state)).max_by_key(|(us, _)| *us);
    match (driver, deepest) {
        (Some(driver), Some((us, state))) if us > SLEEP_US_MAX => DoctorFinding::costs(
            name,
            format!("{driver}, down to {state}"),
            format!("a blocked thread waits up to {us} us longer"),
            format!(
                "--spin, or keep the states out: cpupower idle-set -D {SLEEP_US_MAX}, or the kernel's \
                 parameter idle=poll"
            ),
        ),
        (Some(driver), Some((us, state))) => DoctorFinding::good(
            name,
            format!("{driver}, down to {state} ({us} us)"),
            "the CPU leaves its sleep states quickly",
        ),
        _ => DoctorFinding::unknown(
            name,
            "no idle driver is reported; a virtual CPU without one halts at once, and a wake-up then takes 20 to 40 us",
            "--spin; in a virtual machine also the kernel's parameter cpuidle_haltpoll.force=1",
        ),
    }
}

/// Returns wake-up latency (us) and name of a sleep state; `None` if it is disabled or not readable.
fn sleep_state(machine: &MachineFiles, state: &str) -> Option<(u64, String)> {
    let of = |file: &str| format!("{CPU}/cpu0/cpuidle/{state}/{file}");
    if machine.number(&of("disable")) == Some(1) {
        return None;
    }
    Some((machine.number(&of("latency"))?, machine.text(&of("name"))?))
}

/// Finding for virtual CPUs that halt at once: the host must re-enter a CPU that halted.
fn halting(found: String, change: String) -> DoctorFinding {
    DoctorFinding::costs(
        "idle CPUs",
        found,
        "a blocked thread wakes 35 us later: UDP from one CPU to another took 37.9 us instead of 3.5 (p50)",
        change,
    )
}

/// Examines how quickly a CPU reaches its full frequency.
fn governors(machine: &MachineFiles) -> DoctorFinding {
    let name = "frequency governor";
    let mut governors: Vec<String> = machine
        .names(CPU, "cpu")
        .iter()
        .filter_map(|cpu| machine.text(&format!("{CPU}/{cpu}/cpufreq/scaling_governor")))
        .collect();
    governors.sort();
    governors.dedup();
    let found = governors.join(", ");
    match governors.as_slice() {
        [] => DoctorFinding::unknown(
            name,
            "the firmware or the hypervisor sets the frequencies",
            "in a virtual machine, ask who runs the host",
        ),
        [governor] if governor == "performance" => {
            DoctorFinding::good(name, found, "CPUs stay at their full frequency")
        }
        _ => DoctorFinding::costs(
            name,
            found,
            "a CPU that was idle runs slowly until the governor notices, tens of microseconds to milliseconds",
            "cpupower frequency-set -g performance",
        ),
    }
}

/// Examines whether a busy-polling thread has its CPU to itself.
fn isolation(machine: &MachineFiles) -> DoctorFinding {
    let name = "isolated CPUs";
    match machine.text(&format!("{CPU}/isolated")) {
        Some(cpus) if !cpus.is_empty() => DoctorFinding::good(
            name,
            cpus,
            "pin threads there with --cpu: nothing else is scheduled on them",
        ),
        Some(_) => DoctorFinding::costs(
            name,
            "none",
            "other tasks take turns with a pinned thread, milliseconds at a time; the timer interrupts it",
            "the kernel's parameters isolcpus=N nohz_full=N rcu_nocbs=N, and --cpu N",
        ),
        None => DoctorFinding::unknown(name, "the kernel does not report it", ""),
    }
}

/// Examines whether reading the clock needs a system call: every packet and every decision gets a time stamp.
fn clock_source(machine: &MachineFiles) -> DoctorFinding {
    let name = "clock source";
    let path = "sys/devices/system/clocksource/clocksource0/current_clocksource";
    match machine.text(path).as_deref() {
        Some(
            source @ ("tsc" | "kvm-clock" | "hyperv_clocksource_tsc_page" | "arch_sys_counter"),
        ) => DoctorFinding::good(name, source, "read without a system call, 20 to 30 ns"),
        Some(source) => DoctorFinding::costs(
            name,
            source,
            "each reading is a system call, 0.2 to 1 us, several per packet",
            format!("echo tsc > /{path}, if available_clocksource lists tsc"),
        ),
        None => DoctorFinding::unknown(name, "the kernel does not report it", ""),
    }
}

/// Examines whether the kernel compacts memory in the background.
fn transparent_huge_pages(machine: &MachineFiles) -> DoctorFinding {
    let name = "transparent huge pages";
    let path = "sys/kernel/mm/transparent_hugepage/enabled";
    let Some(text) = machine.text(path) else {
        return DoctorFinding::unknown(name, "the kernel does not report it", "");
    };
    // The active choice is in brackets.
    let chosen = text.split(['[', ']']).nth(1).unwrap_or_default().to_owned();
    match chosen.as_str() {
        "always" => DoctorFinding::costs(
            name,
            chosen,
            "the kernel compacts memory while it is in use: rare stalls of up to milliseconds",
            format!("echo madvise > /{path}"),
        ),
        _ => DoctorFinding::good(name, chosen, "memory is compacted only on request"),
    }
}

/// Examines huge pages, which need fewer page-table entries in the caches.
fn huge_pages(machine: &MachineFiles) -> DoctorFinding {
    let name = "huge pages";
    let path = "proc/sys/vm/nr_hugepages";
    match machine.number(path) {
        Some(0) => DoctorFinding::good(
            name,
            "none reserved",
            "not used here; normal pages suffice for books and rings",
        ),
        Some(pages) => DoctorFinding::good(name, format!("{pages} reserved"), "not used here"),
        None => DoctorFinding::unknown(name, "the kernel does not report it", ""),
    }
}

/// Examines whether two threads share a core.
fn shared_cores(machine: &MachineFiles) -> Option<DoctorFinding> {
    let name = "threads per core (SMT)";
    match machine.number(&format!("{CPU}/smt/active"))? {
        0 => Some(DoctorFinding::good(name, "one", "no two threads share a core")),
        _ => Some(DoctorFinding::costs(
            name,
            "two or more",
            "a busy neighbour on the same core takes a third to a half of its speed",
            format!(
                "leave the siblings of pinned CPUs idle ({CPU}/cpu*/topology/thread_siblings_list)"
            ),
        )),
    }
}

/// Examines whether the kernel moves memory between nodes by forced page faults.
fn numa_balancing(machine: &MachineFiles) -> Option<DoctorFinding> {
    let path = "proc/sys/kernel/numa_balancing";
    let is_on = machine.number(path)? != 0;
    let nodes = machine.names("sys/devices/system/node", "node").len();
    (is_on && nodes > 1).then(|| {
        DoctorFinding::costs(
            "NUMA balancing",
            format!("on, {nodes} nodes"),
            "deliberate page faults, some microseconds each, find out which node uses a page",
            "sysctl -w kernel.numa_balancing=0, and memory and threads of one node: numactl -N 0 -m 0",
        )
    })
}

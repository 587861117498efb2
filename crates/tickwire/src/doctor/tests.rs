//! Tests with directories of files that stand for machines.

use super::*;
use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};

/// A directory with these files, removed when dropped.
struct Tree(PathBuf);

impl Tree {
    fn new(files: &[(&str, &str)]) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let root =
            std::env::temp_dir().join(format!("tickwire-doctor-{}-{number}", std::process::id()));
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{text}\n")).unwrap();
        }
        Self(root)
    }

    fn finding(&self, name: &str) -> DoctorFinding {
        let found = examine(&MachineFiles::new(&self.0));
        let of_name: Vec<DoctorFinding> =
            found.into_iter().filter(|finding| finding.name == name).collect();
        assert_eq!(of_name.len(), 1, "{name}: {of_name:?}");
        of_name[0].clone()
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const IDLE: &str = "sys/devices/system/cpu/cpuidle/current_driver";
const GOVERNOR: &str = "sys/devices/system/cpu/cpuidle/current_governor";
const STATES: &str = "sys/devices/system/cpu/cpu0/cpuidle";

#[test]
fn a_guest_that_halts_at_once_is_told_what_it_costs() {
    let halt_poll = "sys/module/haltpoll/parameters/guest_halt_poll_ns";
    let guest = |governor, poll_ns, command_line| {
        let files = [
            (IDLE, "haltpoll"),
            (GOVERNOR, governor),
            (halt_poll, poll_ns),
            ("proc/cmdline", command_line),
        ];
        Tree::new(&files).finding("idle CPUs")
    };
    let DoctorFinding { verdict, cost, change, .. } = guest("haltpoll", "0", "quiet");
    assert_eq!(verdict, Verdict::Costs);
    assert!(cost.contains("37.9 us instead of 3.5"), "{cost}");
    assert!(change.contains("echo 200000 > /sys/module/haltpoll/"), "{change}");
    assert_eq!(guest("haltpoll", "200000", "quiet").verdict, Verdict::Good);
    assert_eq!(guest("haltpoll", "0", "quiet idle=poll").verdict, Verdict::Good);
    // Another governor does not poll, whatever the parameter is.
    let DoctorFinding { verdict, found, change, .. } = guest("menu", "200000", "quiet");
    assert_eq!((verdict, found.as_str()), (Verdict::Costs, "haltpoll, governor menu"));
    assert!(change.contains("echo haltpoll > /sys/devices/system/cpu/cpuidle/"), "{change}");
    // Whether it polls is unknown without the governor or the parameter.
    for files in [vec![(IDLE, "haltpoll")], vec![(IDLE, "haltpoll"), (GOVERNOR, "haltpoll")]] {
        assert_eq!(Tree::new(&files).finding("idle CPUs").verdict, Verdict::Unknown);
    }
}

#[test]
fn the_deepest_sleep_state_in_use_counts() {
    let state = |number: u32, file: &str| format!("{STATES}/state{number}/{file}");
    let files = |is_disabled: &'static str| {
        [
            (IDLE.to_owned(), "intel_idle"),
            (state(0, "name"), "POLL"),
            (state(0, "latency"), "0"),
            (state(1, "name"), "C1"),
            (state(1, "latency"), "2"),
            (state(2, "name"), "C6"),
            (state(2, "latency"), "133"),
            (state(2, "disable"), is_disabled),
        ]
    };
    let machine = |is_disabled| {
        let files = files(is_disabled);
        let files: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        Tree::new(&files).finding("idle CPUs")
    };
    let deep = machine("0");
    assert_eq!(deep.verdict, Verdict::Costs);
    assert!(deep.found.contains("C6") && deep.cost.contains("133 us"), "{deep:?}");
    assert_eq!(machine("1").verdict, Verdict::Good);
}

#[test]
fn governors_of_all_cpus_are_compared() {
    let of = |cpu: u32| format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor");
    let (first, second) = (of(0), of(1));
    let machine =
        |one, other| Tree::new(&[(&first, one), (&second, other)]).finding("frequency governor");
    assert_eq!(machine("performance", "performance").verdict, Verdict::Good);
    let mixed = machine("performance", "powersave");
    assert_eq!((mixed.verdict, mixed.found.as_str()), (Verdict::Costs, "performance, powersave"));
    assert_eq!(Tree::new(&[]).finding("frequency governor").verdict, Verdict::Unknown);
}

#[test]
fn clocks_that_take_a_system_call_cost() {
    let path = "sys/devices/system/clocksource/clocksource0/current_clocksource";
    let machine = |source| Tree::new(&[(path, source)]).finding("clock source").verdict;
    assert_eq!(["tsc", "kvm-clock"].map(machine), [Verdict::Good; 2]);
    assert_eq!(["hpet", "acpi_pm"].map(machine), [Verdict::Costs; 2]);
}

#[test]
fn memory_and_isolation_are_read() {
    let huge = "sys/kernel/mm/transparent_hugepage/enabled";
    let machine = |text| Tree::new(&[(huge, text)]).finding("transparent huge pages").verdict;
    assert_eq!(machine("[always] madvise never"), Verdict::Costs);
    assert_eq!(machine("always [madvise] never"), Verdict::Good);
    let isolated = "sys/devices/system/cpu/isolated";
    let machine = |text| Tree::new(&[(isolated, text)]).finding("isolated CPUs");
    assert_eq!(machine("").verdict, Verdict::Costs);
    assert_eq!((machine("2-3").verdict, machine("2-3").found.as_str()), (Verdict::Good, "2-3"));
}

#[test]
fn receive_buffers_are_told_in_packets() {
    let path = "proc/sys/net/core/rmem_max";
    let small = Tree::new(&[(path, "212992")]).finding("receive buffer, most");
    assert_eq!(small.verdict, Verdict::Costs);
    assert!(small.cost.ends_with("554 small packets"), "{}", small.cost);
    assert!(small.change.contains("net.core.rmem_max=4194304"), "{}", small.change);
    assert_eq!(
        Tree::new(&[(path, "4194304")]).finding("receive buffer, most").verdict,
        Verdict::Good
    );
    let path = "proc/sys/net/core/skb_defer_max";
    let machine =
        |count| Tree::new(&[(path, count)]).finding("packets freed by another CPU").verdict;
    assert_eq!((machine("64"), machine("0")), (Verdict::Costs, Verdict::Good));
}

#[test]
fn cards_are_told_one_by_one_and_interfaces_without_a_device_are_not() {
    let machine = Tree::new(&[
        ("sys/class/net/lo/mtu", "65536"),
        ("sys/class/net/eth0/device/uevent", ""),
        ("sys/class/net/eth0/queues/rx-0/rps_cpus", "00"),
        ("sys/class/net/eth0/queues/rx-1/rps_cpus", "0000,00000003"),
        ("sys/class/net/eth0/gro_flush_timeout", "20000"),
        (
            "proc/interrupts",
            "  CPU0 CPU1\n  9: 1 0 IO-APIC acpi\n 27: 5 8 PCI-MSI eth0-rx-0\n 28: 1 1 PCI-MSI eth01",
        ),
        ("proc/irq/27/effective_affinity_list", "1"),
        ("proc/irq/28/effective_affinity_list", "0"),
    ]);
    assert_eq!(machine.finding("eth0: interrupts").found, "CPU 1");
    let steering = machine.finding("eth0: packet steering (RPS)");
    assert_eq!(
        (steering.verdict, steering.found.as_str()),
        (Verdict::Costs, "CPUs 0000,00000003 (mask)")
    );
    assert!(machine.finding("eth0: coalescing").cost.contains("20 us"));
    let all = examine(&MachineFiles::new(&machine.0));
    assert!(!all.iter().any(|finding| finding.name.starts_with("lo:")));
}

#[test]
fn interrupts_of_a_virtual_card_are_those_of_its_device() {
    let machine = Tree::new(&[
        ("sys/devices/virtio2/uevent", ""),
        ("sys/class/net/eth0/queues/rx-0/rps_cpus", "0"),
        (
            "proc/interrupts",
            " 34: 5 8 PCI-MSIX-0000:00:03.0 1-edge virtio2-input.0\n 35: 1 1 PCI-MSIX virtio0-input.0",
        ),
        ("proc/irq/34/effective_affinity_list", "1"),
        ("proc/irq/35/effective_affinity_list", "0"),
    ]);
    let device = machine.0.join("sys/class/net/eth0/device");
    std::os::unix::fs::symlink("../../../devices/virtio2", device).unwrap();
    assert_eq!(machine.finding("eth0: interrupts").found, "CPU 1");
}

/// A lock file that no process holds belongs to a killed writer.
#[test]
fn channels_of_killed_processes_are_told_with_their_memory() {
    let channel =
        |number: u32| format!("dev/shm/tickwire-1000/tQuote--{}-{number}", "ab".repeat(16));
    let [lock, ring, other] = [
        format!("{}.lock", channel(1)),
        format!("{}.ring", channel(1)),
        format!("{}.lock", channel(2)),
    ];
    let large = "x".repeat(3 << 20);
    let machine = Tree::new(&[(&lock, ""), (&ring, &large), (&other, "")]);
    let holder = fs::File::open(machine.0.join(&other)).unwrap();
    holder.lock().unwrap();
    let left = machine.finding("/dev/shm/tickwire-1000");
    assert_eq!(left.verdict, Verdict::Wasted);
    let text = text(&examine(&MachineFiles::new(&machine.0)));
    let (latency, memory) = text.split_once("\nMemory that nobody uses:\n").unwrap();
    assert!(!latency.contains("of memory that nobody uses."), "{text}");
    assert!(memory.starts_with("\n  /dev/shm/tickwire-1000: 4 MiB"), "{text}");
    assert_eq!(left.found, "1 channel of killed processes");
    assert!(left.cost.starts_with("4 MiB"), "{left:?}");
    drop(holder);
    let left = machine.finding("/dev/shm/tickwire-1000");
    assert_eq!(left.found, "2 channels of killed processes");
    let used = Tree::new(&[("dev/shm/tickwire-1000/prices.lock", "")]);
    assert!(
        !examine(&MachineFiles::new(&used.0)).iter().any(|finding| finding.name.contains("shm"))
    );
}

#[test]
fn text_and_json_have_every_finding() {
    let machine = Tree::new(&[(IDLE, "haltpoll"), ("proc/sys/net/core/skb_defer_max", "64")]);
    let findings = examine(&MachineFiles::new(&machine.0));
    let text = text(&findings);
    for finding in &findings {
        assert!(text.contains(&finding.name), "{text}");
        assert_eq!(finding.json()["verdict"], finding.verdict.name());
    }
    assert!(text.contains("Change: sysctl -w net.core.skb_defer_max=0"), "{text}");
}

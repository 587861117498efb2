//! Receive buffers, packet steering, interrupts and network cards.

use super::finding::DoctorFinding;
use super::machine::MachineFiles;

const CORE: &str = "proc/sys/net/core";
/// Default receive buffer of receivers, in bytes.
const WANTED_BYTES: u64 = tickwire_net::multicast::RECEIVE_BUFFER_BYTES_DEFAULT as u64;
/// Memory that the kernel accounts for a packet of up to about 250 bytes: its header and a small
/// page fragment.
const SMALL_PACKET_BYTES: u64 = 768;

/// Examines the network.
pub fn examine(machine: &MachineFiles) -> Vec<DoctorFinding> {
    let mut found =
        vec![receive_buffer_max(machine), receive_buffer_default(machine), deferred_free(machine)];
    // Real cards, without loopback and other interfaces that have no device.
    let cards = machine.names("sys/class/net", "").into_iter();
    for card in cards.filter(|card| machine.has(&format!("sys/class/net/{card}/device"))) {
        found.push(interrupts(machine, &card));
        found.push(steering(machine, &card));
        found.push(coalescing(machine, &card));
    }
    found
}

/// Examines how long a burst the receive buffer can hold while no thread reads.
fn receive_buffer_max(machine: &MachineFiles) -> DoctorFinding {
    let name = "receive buffer, most";
    let Some(bytes) = machine.number(&format!("{CORE}/rmem_max")) else {
        return DoctorFinding::unknown(name, "the kernel does not report it", "");
    };
    // The kernel doubles the requested size to account for its own structures.
    let packets = 2 * bytes.min(WANTED_BYTES) / SMALL_PACKET_BYTES;
    let found = format!("rmem_max {bytes}");
    if bytes >= WANTED_BYTES {
        let reason = format!("{packets} small packets wait for a slow reader before one is lost");
        return DoctorFinding::good(name, found, &reason);
    }
    DoctorFinding::costs(
        name,
        found,
        format!(
            "sockets get less than the {WANTED_BYTES} bytes that they ask for: {packets} small packets"
        ),
        format!("sysctl -w net.core.rmem_max={WANTED_BYTES}"),
    )
}

fn receive_buffer_default(machine: &MachineFiles) -> DoctorFinding {
    let name = "receive buffer, default";
    match machine.number(&format!("{CORE}/rmem_default")) {
        Some(bytes) => DoctorFinding::good(
            name,
            format!("rmem_default {bytes}"),
            "not used here: receivers request their own size; other programs get this one",
        ),
        None => DoctorFinding::unknown(name, "the kernel does not report it", ""),
    }
}

/// Examines whether packets are freed on the CPU that allocated them, which interrupts that CPU.
fn deferred_free(machine: &MachineFiles) -> DoctorFinding {
    let name = "packets freed by another CPU";
    match machine.number(&format!("{CORE}/skb_defer_max")) {
        Some(0) => {
            DoctorFinding::good(name, "skb_defer_max 0", "packets are freed where they are read")
        }
        Some(count) => DoctorFinding::costs(
            name,
            format!("skb_defer_max {count}"),
            "7 to 20 % more CPU a packet (673 instead of 629 ns, 785 instead of 613) where stack and reader are on \
             different CPUs: interrupts between them",
            "sysctl -w net.core.skb_defer_max=0",
        ),
        None => DoctorFinding::unknown(name, "kernels before 5.19 do not defer", ""),
    }
}

/// Examines which CPUs handle the interrupts of a card.
fn interrupts(machine: &MachineFiles, card: &str) -> DoctorFinding {
    let name = format!("{card}: interrupts");
    let numbers = machine.names(&format!("sys/class/net/{card}/device/msi_irqs"), "");
    let of_device: Vec<String> = if numbers.is_empty() { named(machine, card) } else { numbers };
    let mut cpus: Vec<String> = of_device
        .iter()
        .filter_map(|number| machine.text(&format!("proc/irq/{number}/effective_affinity_list")))
        .filter(|cpus| !cpus.is_empty())
        .collect();
    cpus.sort();
    cpus.dedup();
    if cpus.is_empty() {
        return DoctorFinding::unknown(name, "/proc/irq lists no interrupt of this card", "");
    }
    let found = format!("CPU {}", cpus.join(", "));
    DoctorFinding::good(
        name,
        found,
        "keep the reader on another CPU of the same node (--cpu), and irqbalance away from both",
    )
}

/// Returns the interrupts whose line in `/proc/interrupts` names the card or, as those of virtio, its device.
fn named(machine: &MachineFiles, card: &str) -> Vec<String> {
    let text = machine.text("proc/interrupts").unwrap_or_default();
    let device = machine.link_name(&format!("sys/class/net/{card}/device"));
    let is_name = |word: &str| word == card || Some(word) == device.as_deref();
    let is_named = |line: &&str| line.split([' ', ',', '-']).any(is_name);
    let number = |line: &str| Some(line.trim_start().split_once(':')?.0.to_owned());
    text.lines().filter(is_named).filter_map(number).collect()
}

/// Examines whether received packets are passed to other CPUs (RPS).
fn steering(machine: &MachineFiles, card: &str) -> DoctorFinding {
    let name = format!("{card}: packet steering (RPS)");
    let directory = format!("sys/class/net/{card}/queues");
    let queues = machine.names(&directory, "rx-");
    let masks =
        queues.iter().filter_map(|queue| machine.text(&format!("{directory}/{queue}/rps_cpus")));
    let is_on = |mask: &String| mask.chars().any(|digit| digit != '0' && digit != ',');
    let on: Vec<String> = masks.filter(is_on).collect();
    let queues = queues.len();
    match on.as_slice() {
        [] => DoctorFinding::good(
            name,
            format!("off, {queues} queues"),
            "packets stay on the CPU of their interrupt",
        ),
        masks => DoctorFinding::costs(
            name,
            format!("CPUs {} (mask)", masks.join(", ")),
            "each packet interrupts another CPU, some microseconds; it pays only where one CPU cannot keep up",
            format!("for f in /{directory}/rx-*/rps_cpus; do echo 0 > $f; done"),
        ),
    }
}

/// Examines whether the card or the kernel coalesces packets before an interrupt.
fn coalescing(machine: &MachineFiles, card: &str) -> DoctorFinding {
    let name = format!("{card}: coalescing");
    let change = format!("ask ethtool -c {card} (rx-usecs) and ethtool -g {card} (rings)");
    match machine.number(&format!("sys/class/net/{card}/gro_flush_timeout")) {
        Some(0) => DoctorFinding::unknown(
            name,
            "the kernel adds no delay (gro_flush_timeout 0); the card's own is not in /sys",
            change,
        ),
        Some(ns) => DoctorFinding::costs(
            name,
            format!("gro_flush_timeout {ns} ns"),
            format!("packets wait up to {} us to be coalesced", ns.div_ceil(1000)),
            format!("echo 0 > /sys/class/net/{card}/gro_flush_timeout"),
        ),
        None => DoctorFinding::unknown(name, "not in /sys", change),
    }
}

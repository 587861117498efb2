//! The filter of the ring in classic BPF: it keeps only the selected datagrams.

use super::super::datagram::DatagramFilter;

/// Operations of classic BPF (`linux/bpf_common.h`), named by their effect.
mod op {
    use libc::{
        BPF_ABS, BPF_B, BPF_H, BPF_IND, BPF_JEQ, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_LDX,
        BPF_MSH, BPF_RET, BPF_W,
    };

    /// A = the byte at k.
    pub(super) const LOAD_BYTE: u32 = BPF_LD | BPF_B | BPF_ABS;
    /// A = the 16 bits at k.
    pub(super) const LOAD_HALF: u32 = BPF_LD | BPF_H | BPF_ABS;
    /// A = the 32 bits at k.
    pub(super) const LOAD_WORD: u32 = BPF_LD | BPF_W | BPF_ABS;
    /// A = the 16 bits at X + k.
    pub(super) const LOAD_HALF_BEHIND_X: u32 = BPF_LD | BPF_H | BPF_IND;
    /// X = 4 times the low half of the byte at k: the length of an IP header.
    pub(super) const LOAD_IP_HEADER_LENGTH: u32 = BPF_LDX | BPF_B | BPF_MSH;
    /// Continues if A = k.
    pub(super) const IF_EQUAL: u32 = BPF_JMP | BPF_JEQ | BPF_K;
    /// Jumps if A and k have a bit in common.
    pub(super) const IF_ANY_BIT: u32 = BPF_JMP | BPF_JSET | BPF_K;
    /// Keeps k bytes of the packet; 0 drops it.
    pub(super) const KEEP: u32 = BPF_RET | BPF_K;
}

/// Larger than any packet.
const WHOLE: u32 = 1 << 18;

/// Returns a filter that keeps UDP datagrams to the selected group and port, from the selected
/// source. Fragments to the group are kept, so that they can be counted: except for the first they
/// have no port.
///
/// The packet begins with its IP header. A load beyond its end drops the packet.
pub(super) fn datagrams(wanted: &DatagramFilter) -> Vec<libc::sock_filter> {
    // Placeholder for the jump to the drop, which is filled in once the length is known.
    const DROP: u8 = u8::MAX;
    let mut program = vec![
        step(op::LOAD_BYTE, 9, 0, 0),    // the protocol
        step(op::IF_EQUAL, 17, 0, DROP), // UDP
        step(op::LOAD_WORD, 16, 0, 0),   // the destination
        step(op::IF_EQUAL, u32::from(wanted.group), 0, DROP),
    ];
    if let Some(source) = wanted.source {
        program.push(step(op::LOAD_WORD, 12, 0, 0)); // the sender
        program.push(step(op::IF_EQUAL, u32::from(source), 0, DROP));
    }
    program.extend([
        step(op::LOAD_HALF, 6, 0, 0),       // flags and fragment offset
        step(op::IF_ANY_BIT, 0x3FFF, 3, 0), // a fragment: keep it
        step(op::LOAD_IP_HEADER_LENGTH, 0, 0, 0),
        step(op::LOAD_HALF_BEHIND_X, 2, 0, 0), // the destination's port
        step(op::IF_EQUAL, u32::from(wanted.port), 0, DROP),
        step(op::KEEP, WHOLE, 0, 0),
        step(op::KEEP, 0, 0, 0), // the drop
    ]);
    let drop = program.len() - 1;
    for (index, step) in program.iter_mut().enumerate() {
        if step.jf == DROP {
            // A jump counts from the next instruction. Programs have fewer than 20.
            step.jf = (drop - index - 1) as u8;
        }
    }
    program
}

/// Returns an instruction: operation, operand, and how many instructions to skip if a comparison
/// holds and if not.
const fn step(code: u32, k: u32, jt: u8, jf: u8) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt, jf, k }
}

//! The program at the interface: it redirects the datagrams of each endpoint to the endpoint's
//! sockets and passes all other packets.
//!
//! Assembled here, instruction by instruction, because compiling it would need a BPF toolchain.
//! Only Ethernet frames with an IPv4 header without options, without a VLAN tag and not fragmented
//! are redirected. The kernel handles all others, and they reach the endpoint's ordinary socket.

use super::super::datagram::DatagramFilter;

/// One instruction in the kernel's layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(super) struct BpfInstruction {
    code: u8,
    /// The destination register in the low half, the source register in the high half.
    registers: u8,
    offset: i16,
    operand: i32,
}

/// Operation codes (`linux/bpf.h`): class, size or source, operation.
mod op {
    /// dst = the byte at src + offset.
    pub(super) const LOAD_8: u8 = 0x71;
    /// dst = the 16 bits at src + offset, in the byte order of this machine.
    pub(super) const LOAD_16: u8 = 0x69;
    /// dst = the 32 bits at src + offset.
    pub(super) const LOAD_32: u8 = 0x61;
    /// dst = a map; takes the place of two instructions.
    pub(super) const LOAD_MAP: u8 = 0x18;
    /// dst = src.
    pub(super) const MOVE: u8 = 0xBF;
    /// dst = operand.
    pub(super) const MOVE_OPERAND: u8 = 0xB7;
    /// dst += operand.
    pub(super) const ADD_OPERAND: u8 = 0x07;
    /// dst &= operand.
    pub(super) const AND_OPERAND: u8 = 0x57;
    /// dst += src.
    pub(super) const ADD: u8 = 0x0F;
    /// Jumps.
    pub(super) const JUMP: u8 = 0x05;
    /// Jumps if dst >= operand.
    pub(super) const JUMP_IF_NOT_BELOW: u8 = 0x35;
    /// Jumps if dst > src.
    pub(super) const JUMP_IF_ABOVE: u8 = 0x2D;
    /// Jumps if the lower 32 bits of dst differ from the operand.
    pub(super) const JUMP_IF_NOT: u8 = 0x56;
    /// Calls a helper of the kernel.
    pub(super) const CALL: u8 = 0x85;
    /// Returns r0.
    pub(super) const EXIT: u8 = 0x95;
}

/// Marks the operand of [`op::LOAD_MAP`] as a descriptor.
const PSEUDO_MAP_DESCRIPTOR: u8 = 1;
/// `bpf_redirect_map(map, key, flags)`.
const REDIRECT_MAP: i32 = 51;
/// Return value for packets that continue through the kernel.
const XDP_PASS: i32 = 2;

/// Bytes of the headers of Ethernet, IPv4 without options, and UDP.
const HEADERS_BYTES: i32 = 14 + 20 + 8;

/// Returns the program for these endpoints, each with the key of its socket for the first queue;
/// the key for queue n is larger by n. `sockets` is the descriptor of the map of sockets by key,
/// `queues` the number of keys of an endpoint.
pub(super) fn redirect(
    endpoints: &[(u32, DatagramFilter)],
    sockets: i32,
    queues: u32,
) -> Vec<BpfInstruction> {
    if endpoints.is_empty() {
        return vec![with(op::MOVE_OPERAND, 0, XDP_PASS), with(op::EXIT, 0, 0)];
    }
    // r1 context, r2 the packet, r3 its end, r4 and r5 compared values.
    let mut program = vec![
        load(op::LOAD_32, 2, 1, 0), // r2 = context.data
        load(op::LOAD_32, 3, 1, 4), // r3 = context.data_end
        BpfInstruction { code: op::MOVE, registers: 4 | 2 << 4, offset: 0, operand: 0 }, // r4 = r2
        with(op::ADD_OPERAND, 4, HEADERS_BYTES), // r4 += the headers
        BpfInstruction {
            code: op::JUMP_IF_ABOVE,
            registers: 4 | 3 << 4,
            offset: TO_PASS,
            operand: 0,
        }, // if r4 > r3: pass
        load(op::LOAD_16, 5, 2, 12), // r5 = the type of the frame
        unless(5, network_order_16(0x0800), TO_PASS), // if r5 is not IPv4: pass (VLAN tags too)
        load(op::LOAD_8, 5, 2, 14), // r5 = version and length of the header
        unless(5, 0x45, TO_PASS),   // if r5 is not 4 and 5 words: pass (options)
        load(op::LOAD_8, 5, 2, 23), // r5 = the protocol
        unless(5, 17, TO_PASS),     // if r5 is not UDP: pass
        load(op::LOAD_16, 5, 2, 20), // r5 = flags and fragment offset
        with(op::AND_OPERAND, 5, network_order_16(0x3FFF)), // r5 &= more fragments, offset
        unless(5, 0, TO_PASS),      // if r5 is not 0: pass (fragments)
        load(op::LOAD_32, 5, 2, 30), // r5 = the destination
        load(op::LOAD_16, 4, 2, 36), // r4 = the destination's port
    ];
    for (index, (key, wanted)) in endpoints.iter().enumerate() {
        let is_last = index + 1 == endpoints.len();
        let mut block = vec![
            unless(5, address(wanted.group), TO_NEXT), // if r5 is not the group: next
            unless(4, network_order_16(wanted.port), TO_NEXT), // if r4 is not the port: next
        ];
        if let Some(source) = wanted.source {
            block.push(load(op::LOAD_32, 0, 2, 26)); // r0 = the sender
            block.push(unless(0, address(source), TO_NEXT)); // if r0 is another: next
        }
        block.push(with(op::MOVE_OPERAND, 3, *key as i32)); // r3 = the endpoint's first key
        if !is_last {
            block.push(BpfInstruction {
                code: op::JUMP,
                registers: 0,
                offset: TO_SOCKET,
                operand: 0,
            });
        }
        // After the last endpoint, the packet passes to the network stack.
        let len = block.len();
        patch(&mut block, TO_NEXT, |at| if is_last { TO_PASS } else { distance(at, len) });
        program.append(&mut block);
    }
    let socket = program.len();
    program.extend([
        load(op::LOAD_32, 2, 1, 16), // r2 = context.rx_queue_index
        BpfInstruction {
            code: op::JUMP_IF_NOT_BELOW,
            registers: 2,
            offset: TO_PASS,
            operand: queues as i32,
        }, // if r2 >= queues: pass
        BpfInstruction { code: op::ADD, registers: 2 | 3 << 4, offset: 0, operand: 0 }, // r2 += r3
        BpfInstruction {
            code: op::LOAD_MAP,
            registers: 1 | PSEUDO_MAP_DESCRIPTOR << 4,
            offset: 0,
            operand: sockets,
        }, // r1 = the map of sockets,
        BpfInstruction { code: 0, registers: 0, offset: 0, operand: 0 }, // second half of this load
        with(op::MOVE_OPERAND, 3, XDP_PASS), // r3 = pass if the map has no such key
        with(op::CALL, 0, REDIRECT_MAP), // r0 = bpf_redirect_map(r1, r2, r3)
        with(op::EXIT, 0, 0),        // return r0
        with(op::MOVE_OPERAND, 0, XDP_PASS), // pass: r0 = pass
        with(op::EXIT, 0, 0),        // return r0
    ]);
    let pass = program.len() - 2;
    patch(&mut program, TO_SOCKET, |at| distance(at, socket));
    patch(&mut program, TO_PASS, |at| distance(at, pass));
    program
}

/// Placeholders for the distance of a jump, until the length of the program is known: to the pass, to
/// the redirection, and to the next endpoint.
const TO_PASS: i16 = i16::MAX;
const TO_SOCKET: i16 = i16::MAX - 1;
const TO_NEXT: i16 = i16::MAX - 2;

/// Replaces a placeholder by the distance that `of` returns for the index of its instruction.
fn patch(program: &mut [BpfInstruction], placeholder: i16, of: impl Fn(usize) -> i16) {
    for (at, instruction) in program.iter_mut().enumerate() {
        if instruction.offset == placeholder {
            instruction.offset = of(at);
        }
    }
}

/// Returns the distance of a jump, which counts from the next instruction.
fn distance(at: usize, to: usize) -> i16 {
    (to - at - 1) as i16
}

const fn load(code: u8, to: u8, from: u8, offset: i16) -> BpfInstruction {
    BpfInstruction { code, registers: to | from << 4, offset, operand: 0 }
}

const fn with(code: u8, register: u8, operand: i32) -> BpfInstruction {
    BpfInstruction { code, registers: register, offset: 0, operand }
}

const fn unless(register: u8, operand: i32, offset: i16) -> BpfInstruction {
    BpfInstruction { code: op::JUMP_IF_NOT, registers: register, offset, operand }
}

/// Returns the 16 bits as a load reads them from the packet: in network byte order.
const fn network_order_16(value: u16) -> i32 {
    value.to_be() as i32
}

fn address(address: std::net::Ipv4Addr) -> i32 {
    i32::from_ne_bytes(address.octets())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn wanted(last: u8, source: Option<u8>) -> DatagramFilter {
        DatagramFilter {
            group: Ipv4Addr::new(239, 1, 2, last),
            port: 13014,
            source: source.map(|last| Ipv4Addr::new(10, 0, 0, last)),
        }
    }

    /// Returns where each jump leads.
    fn targets(program: &[BpfInstruction]) -> Vec<usize> {
        let jumps = [op::JUMP, op::JUMP_IF_NOT, op::JUMP_IF_ABOVE, op::JUMP_IF_NOT_BELOW];
        let is_jump = |step: &BpfInstruction| jumps.contains(&step.code);
        let jumps = program.iter().enumerate().filter(|(_, step)| is_jump(step));
        jumps.map(|(index, step)| index + 1 + step.offset as usize).collect()
    }

    #[test]
    fn every_comparison_jumps_to_the_pass() {
        let program = redirect(&[(0, wanted(3, Some(1)))], 7, 64);
        assert_eq!(size_of::<BpfInstruction>(), 8);
        let pass = program.len() - 2;
        assert_eq!(program[pass], with(op::MOVE_OPERAND, 0, XDP_PASS));
        assert_eq!(targets(&program), [pass; 9]);
    }

    #[test]
    fn an_endpoint_that_does_not_match_leads_to_the_next_and_one_that_does_to_its_key() {
        let program = redirect(&[(128, wanted(3, None)), (0, wanted(4, Some(1)))], 7, 64);
        let is_group = |wanted: DatagramFilter| {
            let comparison = unless(5, address(wanted.group), 0);
            program
                .iter()
                .position(|step| BpfInstruction { offset: 0, ..*step } == comparison)
                .unwrap()
        };
        let (first, second) = (is_group(wanted(3, None)), is_group(wanted(4, None)));
        let (pass, redirection) = (program.len() - 2, program.len() - 10);
        assert_eq!(program[first + 2], with(op::MOVE_OPERAND, 3, 128));
        assert_eq!(program[redirection - 1], with(op::MOVE_OPERAND, 3, 0));
        assert_eq!(
            targets(&program)[5..],
            [second, second, redirection, pass, pass, pass, pass],
            "of the first endpoint, of the second, and of the queue"
        );
    }

    #[test]
    fn without_endpoints_all_packets_pass() {
        let pass = [with(op::MOVE_OPERAND, 0, XDP_PASS), with(op::EXIT, 0, 0)];
        assert_eq!(redirect(&[], 7, 64), pass);
    }
}

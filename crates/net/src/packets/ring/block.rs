//! Layout of a block that the kernel writes: a header, then packets, each with its own header.
//!
//! Offsets are those of `tpacket_block_desc` and `tpacket3_hdr` in `linux/if_packet.h`.

use std::mem::{align_of, offset_of};

/// Nanoseconds in a second.
const SECOND_NS: u64 = 1_000_000_000;
/// Offset of the owner of a block: `block_status`, after `version` and `offset_to_priv`.
pub(super) const STATUS_OFFSET: usize = offset_of!(libc::tpacket_block_desc, hdr);
const COUNT_OFFSET: usize = STATUS_OFFSET + 4;
const FIRST_OFFSET: usize = STATUS_OFFSET + 8;
/// Offset of the link address, after the packet's header.
const ADDRESS_OFFSET: usize = size_of::<libc::tpacket3_hdr>().next_multiple_of(16);
const TYPE_OFFSET: usize = ADDRESS_OFFSET + offset_of!(libc::sockaddr_ll, sll_pkttype);
/// The packet is for another host: some program receives in promiscuous mode.
const OTHER_HOST: u8 = 3;

/// One packet of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RingEntry {
    /// Offset of the packet's IP header.
    pub(super) packet: usize,
    /// Captured bytes of the packet.
    pub(super) captured_bytes: usize,
    /// Distance from this header to the next, in bytes.
    pub(super) next_offset: usize,
    pub(super) received_unix_ns: u64,
    /// True if the checksums were verified, or the packet has not left this host.
    pub(super) is_verified: bool,
    pub(super) is_for_others: bool,
}

/// Returns the offset of the first packet of a block, and the number of packets.
pub(super) fn packets(block: &[u8]) -> (usize, u32) {
    match (word(block, FIRST_OFFSET), word(block, COUNT_OFFSET)) {
        (Some(first), Some(count)) => (first as usize, count),
        _ => (0, 0),
    }
}

/// Reads the header at `offset`; `None` if it does not fit in the block.
pub(super) fn entry(block: &[u8], offset: usize) -> Option<RingEntry> {
    let head = block.get(offset..)?;
    let at = |field| word(head, field);
    let status = at(offset_of!(libc::tpacket3_hdr, tp_status))?;
    let network = half(head, offset_of!(libc::tpacket3_hdr, tp_net))?;
    let seconds = u64::from(at(offset_of!(libc::tpacket3_hdr, tp_sec))?);
    let nanoseconds = u64::from(at(offset_of!(libc::tpacket3_hdr, tp_nsec))?);
    Some(RingEntry {
        packet: offset.checked_add(network.into())?,
        captured_bytes: at(offset_of!(libc::tpacket3_hdr, tp_snaplen))? as usize,
        next_offset: at(offset_of!(libc::tpacket3_hdr, tp_next_offset))? as usize,
        received_unix_ns: seconds * SECOND_NS + nanoseconds,
        is_verified: status & (libc::TP_STATUS_CSUM_VALID | libc::TP_STATUS_CSUMNOTREADY) != 0,
        is_for_others: *head.get(TYPE_OFFSET)? == OTHER_HOST,
    })
}

fn word(bytes: &[u8], offset: usize) -> Option<u32> {
    bytes.get(offset..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))
}

fn half(bytes: &[u8], offset: usize) -> Option<u16> {
    bytes.get(offset..)?.first_chunk().map(|bytes| u16::from_ne_bytes(*bytes))
}

const _: () = assert!(STATUS_OFFSET == 8 && align_of::<libc::tpacket_block_desc>() >= 4);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_that_do_not_fit_are_no_entries() {
        let block = [0xFF; 256];
        for len in 0..TYPE_OFFSET + 1 {
            assert_eq!(entry(&block[..len], 0), None, "{len} bytes");
        }
        assert!(entry(&block, 0).is_some_and(|entry| !entry.is_for_others));
        assert_eq!(entry(&block, usize::MAX), None);
        assert_eq!(packets(&block[..8]), (0, 0));
    }
}

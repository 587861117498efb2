//! Decoding on several threads: packets are self-contained, so each thread decodes a part of them.

use std::thread;

use crate::bottom_up::BottomUpDecoder;

/// Calls `decode` for each packet with a decoder of the thread. Returns the results in the order of
/// the packets.
///
/// `threads` is clamped to at least one and at most the number of packets. Each thread gets a
/// contiguous range of packets. A panic in `decode` propagates to the caller.
pub fn decode_parallel<P, T, F>(packets: &[P], threads: usize, decode: F) -> Vec<T>
where
    P: AsRef<[u8]> + Sync,
    T: Send,
    F: Fn(&mut BottomUpDecoder, &[u8]) -> T + Sync,
{
    let threads = threads.clamp(1, packets.len().max(1));
    let decode_part = |part: &[P]| {
        let mut decoder = BottomUpDecoder::new();
        part.iter().map(|packet| decode(&mut decoder, packet.as_ref())).collect::<Vec<T>>()
    };
    if threads == 1 {
        return decode_part(packets);
    }
    thread::scope(|scope| {
        let parts = packets.chunks(packets.len().div_ceil(threads));
        let decode_part = &decode_part;
        let running: Vec<_> = parts.map(|part| scope.spawn(move || decode_part(part))).collect();
        let mut results = Vec::with_capacity(packets.len());
        for thread in running {
            match thread.join() {
                Ok(part) => results.extend(part),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        results
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Decode;

    #[test]
    fn results_keep_the_order_of_the_packets() {
        let packets: Vec<Vec<u8>> = (0..100)
            .map(|number: u32| {
                let mut packet = b"\x01\x02".to_vec();
                packet.extend(format!("{number:010}000").bytes());
                packet.push(3);
                packet
            })
            .collect();
        for threads in [0, 1, 2, 3, 7, 100, 1000] {
            let seq_nums = decode_parallel(&packets, threads, |decoder, packet| {
                let summary = decoder.decode_packet(packet, |_| {}).unwrap();
                summary.header.unwrap().seq_num().unwrap()
            });
            assert!(seq_nums.into_iter().eq(0..100), "{threads}");
        }
        assert!(decode_parallel(&[] as &[Vec<u8>], 2, |_, _| ()).is_empty());
    }
}

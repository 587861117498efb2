//! The sum of a message.

use super::WINDOW;

/// Returns the lowest byte of the sum of all bytes.
///
/// Carries out of a byte do not matter, so bytes are added lane by lane, which the compiler
/// vectorizes.
#[inline(always)]
pub(crate) fn sum_of_windows(windows: &[[u8; WINDOW]]) -> u8 {
    const LANES: usize = 16;
    let mut sums = [[0_u8; LANES]; 2];
    for window in windows {
        for (sums, half) in sums.iter_mut().zip(window.as_chunks::<LANES>().0) {
            for (sum, byte) in sums.iter_mut().zip(half) {
                *sum = sum.wrapping_add(*byte);
            }
        }
    }
    sums.as_flattened().iter().fold(0, |sum, byte| sum.wrapping_add(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_counts_once() {
        assert_eq!(sum_of_windows(&[]), 0);
        assert_eq!(sum_of_windows(&[[255; WINDOW]; 9]), (255_usize * 32 * 9) as u8);
        for at in 0..2 * WINDOW {
            let mut windows = [[0; WINDOW]; 2];
            windows[at / WINDOW][at % WINDOW] = 129;
            assert_eq!(sum_of_windows(&windows), 129);
        }
    }
}

//! Processes items on several threads and returns the results in the order of the input.
//!
//! If every packet resets the dictionaries, packets are independent and any thread may process any
//! of them. Otherwise the packets of a channel belong to one thread, which keeps the channel's
//! decoder. [`Lane`] makes this choice for each item.
//!
//! Items are distributed in rounds, one part of a round per thread. Only a few rounds are in
//! progress at a time, so memory is bounded for any length of input.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Most rounds in progress: one whose results are being taken, one being processed, one ready to
/// begin.
const ROUNDS_MAX: usize = 3;

/// Threads that may process an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Any thread.
    Any,
    /// The thread that processes all items of this key, in their order.
    Key(u64),
}

/// How work is distributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parallel {
    /// Threads; 0 counts as 1.
    pub threads: usize,
    /// Most items in a round.
    pub items_max: usize,
    /// A round ends when the weight of its items reaches this limit.
    pub weight_max: usize,
}

impl Parallel {
    /// Returns rounds of up to 4096 items and 4 MiB on `threads` threads.
    pub const fn new(threads: usize) -> Self {
        Self { threads, items_max: 4096, weight_max: 4 << 20 }
    }

    /// Calls `work` for each item and `take` with each result, in the order of the items. At the
    /// end, `end` converts the state of each thread to an output; the outputs are returned.
    ///
    /// `place` returns the lane of an item, and its weight in bytes. `state` creates, on each
    /// thread, the state that the thread keeps from item to item. `take` runs on the calling
    /// thread. With one thread no other is started.
    ///
    /// # Errors
    /// The first error of `take`. Items distributed by then are still processed, and their results
    /// are dropped.
    ///
    /// # Panics
    /// A panic in `work` or `state` continues in the caller.
    pub fn run<I, S, T, R, E>(
        &self,
        items: impl IntoIterator<Item = I>,
        place: impl Fn(&I) -> (Lane, usize),
        state: impl Fn() -> S + Sync,
        work: impl Fn(&mut S, I) -> T + Sync,
        end: impl Fn(S) -> R + Sync,
        mut take: impl FnMut(T) -> Result<(), E>,
    ) -> Result<Vec<R>, E>
    where
        I: Send,
        T: Send,
        R: Send,
    {
        if self.threads <= 1 {
            let mut state = state();
            for item in items {
                take(work(&mut state, item))?;
            }
            return Ok(vec![end(state)]);
        }
        let (state, work, end) = (&state, &work, &end);
        thread::scope(|scope| {
            let mut links = Vec::with_capacity(self.threads);
            let mut running = Vec::with_capacity(self.threads);
            for _ in 0..self.threads {
                let (parts, parts_in) = sync_channel::<Vec<I>>(ROUNDS_MAX);
                let (results_out, results) = sync_channel::<Vec<T>>(ROUNDS_MAX);
                running
                    .push(scope.spawn(move || end(serve(state(), work, &parts_in, &results_out))));
                links.push(Link { parts, results });
            }
            let outcome = self.hand_out(items.into_iter(), place, &links, &mut take);
            drop(links);
            let mut ends = Vec::with_capacity(self.threads);
            for thread in running {
                match thread.join() {
                    Ok(of_thread) => ends.push(of_thread),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            outcome.map(|()| ends)
        })
    }

    /// Calls `work` for each of `items`, which are independent, and returns the results in order.
    /// Each thread gets one contiguous part of the items.
    ///
    /// # Panics
    /// A panic in `work` or `state` continues in the caller.
    pub fn map<I, S, T>(
        &self,
        items: &[I],
        state: impl Fn() -> S + Sync,
        work: impl Fn(&mut S, &I) -> T + Sync,
    ) -> Vec<T>
    where
        I: Sync,
        T: Send,
    {
        let map_part = |part: &[I]| {
            let mut state = state();
            part.iter().map(|item| work(&mut state, item)).collect::<Vec<T>>()
        };
        if self.threads <= 1 || items.len() <= 1 {
            return map_part(items);
        }
        thread::scope(|scope| {
            let parts = items.chunks(items.len().div_ceil(self.threads));
            let map_part = &map_part;
            let running: Vec<_> = parts.map(|part| scope.spawn(move || map_part(part))).collect();
            let mut results = Vec::with_capacity(items.len());
            for thread in running {
                match thread.join() {
                    Ok(part) => results.extend(part),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            results
        })
    }

    fn hand_out<I, T, E>(
        &self,
        mut items: impl Iterator<Item = I>,
        place: impl Fn(&I) -> (Lane, usize),
        links: &[Link<I, T>],
        take: &mut impl FnMut(T) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut under_way = VecDeque::with_capacity(ROUNDS_MAX);
        loop {
            let Some(owners) = self.hand_out_round(&mut items, &place, links) else {
                return Ok(());
            };
            let is_last = owners.is_empty();
            under_way.push_back(owners);
            while under_way.len() >= ROUNDS_MAX || is_last {
                let Some(owners) = under_way.pop_front() else { return Ok(()) };
                if !take_round(&owners, links, take)? {
                    return Ok(());
                }
            }
        }
    }

    /// Distributes one round. Returns the thread of each of its items; the list is empty at the end
    /// of the input. `None` if a thread is gone because its work panicked.
    fn hand_out_round<I, T>(
        &self,
        items: &mut impl Iterator<Item = I>,
        place: &impl Fn(&I) -> (Lane, usize),
        links: &[Link<I, T>],
    ) -> Option<Vec<usize>> {
        let mut parts: Vec<Vec<I>> = links.iter().map(|_| Vec::new()).collect();
        let mut owners = Vec::new();
        let (mut weight, mut any) = (0, 0);
        while owners.len() < self.items_max.max(1) && weight < self.weight_max.max(1) {
            let Some(item) = items.next() else { break };
            let (lane, item_weight) = place(&item);
            let owner = match lane {
                Lane::Key(key) => (key % links.len() as u64) as usize,
                Lane::Any => {
                    any += 1;
                    any % links.len()
                }
            };
            weight = weight.saturating_add(item_weight);
            parts[owner].push(item);
            owners.push(owner);
        }
        for (link, part) in links.iter().zip(parts) {
            if !part.is_empty() {
                link.parts.send(part).ok()?;
            }
        }
        Some(owners)
    }
}

/// The caller's ends of the channels to a thread.
struct Link<I, T> {
    parts: SyncSender<Vec<I>>,
    results: Receiver<Vec<T>>,
}

/// Loop of a thread, until there are no more parts or the caller no longer needs results.
fn serve<I, S, T>(
    mut state: S,
    work: &impl Fn(&mut S, I) -> T,
    parts: &Receiver<Vec<I>>,
    results: &SyncSender<Vec<T>>,
) -> S {
    for part in parts {
        let done = part.into_iter().map(|item| work(&mut state, item)).collect();
        if results.send(done).is_err() {
            break;
        }
    }
    state
}

/// Takes the results of a round in the order of its items; `false` if a thread is gone.
fn take_round<I, T, E>(
    owners: &[usize],
    links: &[Link<I, T>],
    take: &mut impl FnMut(T) -> Result<(), E>,
) -> Result<bool, E> {
    let mut parts: Vec<Option<std::vec::IntoIter<T>>> = links.iter().map(|_| None).collect();
    for &owner in owners {
        if parts[owner].is_none() {
            let Ok(part) = links[owner].results.recv() else { return Ok(false) };
            parts[owner] = Some(part.into_iter());
        }
        if let Some(result) = parts[owner].as_mut().and_then(Iterator::next) {
            take(result)?;
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    fn spread(threads: usize, items_max: usize) -> Parallel {
        Parallel { items_max, ..Parallel::new(threads) }
    }

    #[test]
    fn results_come_in_the_order_of_the_items_on_any_number_of_threads() {
        for (threads, items_max) in [(0, 1), (1, 10), (2, 1), (3, 7), (64, 100), (5, 100_000)] {
            let mut taken = Vec::new();
            let states = spread(threads, items_max)
                .run(
                    0..1000u64,
                    |item| (if item % 3 == 0 { Lane::Key(*item) } else { Lane::Any }, 8),
                    || 0u64,
                    |count, item| {
                        *count += 1;
                        item * 2
                    },
                    |count| count,
                    |result| {
                        taken.push(result);
                        Ok::<(), Infallible>(())
                    },
                )
                .expect("infallible");
            assert!(taken.into_iter().eq((0..1000).map(|item| item * 2)), "{threads}");
            assert_eq!(states.len(), threads.max(1));
            assert_eq!(states.iter().sum::<u64>(), 1000);
        }
    }

    #[test]
    fn items_in_memory_keep_their_order_too() {
        let items: Vec<u64> = (0..100).collect();
        for threads in [0, 1, 2, 3, 7, 100, 1000] {
            let work = |count: &mut u64, item: &u64| {
                *count += 1;
                (*item, *count)
            };
            let results = Parallel::new(threads).map(&items, || 0, work);
            assert!(results.iter().map(|(item, _)| *item).eq(0..100), "{threads}");
            assert_eq!(results[0].1, 1);
        }
        assert!(Parallel::new(2).map(&[] as &[u64], || (), |(), item| *item).is_empty());
    }

    #[test]
    fn items_of_one_key_see_one_state_in_order() {
        let mut previous = [0; 7];
        spread(3, 16)
            .run(
                (1..500u64).map(|item| (item % 7, item)),
                |(key, _)| (Lane::Key(*key), 16),
                || [0u64; 7],
                |last, (key, item)| {
                    let before = std::mem::replace(&mut last[key as usize], item);
                    (key as usize, before, item)
                },
                |_| (),
                |(key, before, item)| {
                    assert_eq!(before, previous[key]);
                    previous[key] = item;
                    Ok::<(), Infallible>(())
                },
            )
            .expect("infallible");
        assert_eq!(previous, [497, 498, 499, 493, 494, 495, 496]);
    }

    #[test]
    fn a_round_ends_at_its_weight_and_an_error_ends_the_work() {
        let spread = Parallel { threads: 2, items_max: 100, weight_max: 10 };
        let mut read = 0;
        let outcome = spread.run(
            std::iter::repeat_with(|| {
                read += 1;
                read
            }),
            |_| (Lane::Any, 10),
            || (),
            |(), item| item,
            |()| (),
            |item| if item == 5 { Err(item) } else { Ok(()) },
        );
        assert_eq!(outcome, Err(5));
        assert!(read <= 5 + ROUNDS_MAX, "{read}");
    }

    #[test]
    fn a_panic_in_the_work_reaches_the_caller() {
        let outcome = std::panic::catch_unwind(|| {
            spread(2, 4).run(
                0..100,
                |_| (Lane::Any, 1),
                || (),
                |(), item| assert!(item != 42),
                |()| (),
                Ok::<(), Infallible>,
            )
        });
        assert!(outcome.is_err());
    }
}

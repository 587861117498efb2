//! Outright and implied levels in one view.

use super::{Book, BookFault, LEVELS_MAX, Level, Side};

impl Book {
    /// Returns the combined book. A price in both books has the sum of both sizes, and the order
    /// count of the book that counts orders. Levels beyond the shallower known depth may lack the
    /// other book's size.
    ///
    /// # Errors
    /// [`BookFault::SizeOverflow`] if a sum of sizes does not fit a size.
    pub fn consolidated(outright: &Self, implied: &Self) -> Result<Self, BookFault> {
        let mut book = Self::new();
        for side in Side::ALL {
            let ladder = book.ladder_mut(side);
            let mut own = outright.levels(side).copied().peekable();
            let mut other = implied.levels(side).copied().peekable();
            let mut position = 0;
            while position < LEVELS_MAX {
                let next = match (own.peek(), other.peek()) {
                    (Some(a), Some(b)) if a.price == b.price => {
                        let level = sum(side, a, b)?;
                        own.next();
                        other.next();
                        Some(level)
                    }
                    (Some(a), Some(b)) if side.is_better(b.price, a.price) => other.next(),
                    (Some(_), _) => own.next(),
                    (None, _) => other.next(),
                };
                let Some(level) = next else { break };
                ladder.insert_by_price(position, level);
                position += 1;
            }
        }
        Ok(book)
    }
}

fn sum(side: Side, a: &Level, b: &Level) -> Result<Level, BookFault> {
    let price = a.price;
    let size = a.size.checked_add(b.size).ok_or(BookFault::SizeOverflow { side, price })?;
    Ok(Level { price, size, orders: a.orders.or(b.orders) })
}

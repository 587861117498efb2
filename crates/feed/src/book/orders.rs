//! The orders behind the levels of a book by order.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::ladder::{LEVELS_MAX, Ladder};
use super::{Amount, BookFault, Level, OrderAction, OrderId, Side};

/// Most orders of one book.
pub const ORDERS_MAX: usize = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BookOrder {
    side: Side,
    price: Amount,
    size: Amount,
}

/// Orders by id. The levels that are their sums lie in the book's ladders.
#[derive(Clone, Debug, Default)]
pub(super) struct BookOrders {
    by_id: HashMap<OrderId, BookOrder>,
}

/// The ladders of a book: bids, offers.
type Sides = [Ladder; 2];

impl BookOrders {
    pub(super) fn clear(&mut self) {
        self.by_id.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Applies an update; a failed one changes nothing.
    pub(super) fn apply(
        &mut self,
        sides: &mut Sides,
        id: OrderId,
        action: OrderAction,
    ) -> Result<(), BookFault> {
        let is_full = self.by_id.len() >= ORDERS_MAX;
        match (action, self.by_id.entry(id)) {
            (OrderAction::New { .. }, Entry::Occupied(_)) => Err(BookFault::OrderExists { id }),
            (OrderAction::New { .. }, Entry::Vacant(_)) if is_full => {
                Err(BookFault::TooManyOrders { orders_max: ORDERS_MAX })
            }
            (OrderAction::New { side, price, size }, Entry::Vacant(entry)) => {
                let order = BookOrder { side, price, size };
                add(sides, order)?;
                entry.insert(order);
                Ok(())
            }
            (_, Entry::Vacant(_)) => Err(BookFault::NoSuchOrder { id }),
            (OrderAction::Change { price, size }, Entry::Occupied(mut entry)) => {
                let old = *entry.get();
                let price = price.unwrap_or(old.price);
                let new = BookOrder { side: old.side, price, size: size.unwrap_or(old.size) };
                take(sides, old)?;
                if let Err(fault) = add(sides, new) {
                    add(sides, old)?;
                    return Err(fault);
                }
                entry.insert(new);
                Ok(())
            }
            (OrderAction::Remove, Entry::Occupied(entry)) => {
                take(sides, *entry.get())?;
                entry.remove();
                Ok(())
            }
        }
    }
}

fn ladder(sides: &mut Sides, side: Side) -> &mut Ladder {
    let [bids, offers] = sides;
    match side {
        Side::Bid => bids,
        Side::Offer => offers,
    }
}

/// Adds an order to the level of its price.
fn add(sides: &mut Sides, order: BookOrder) -> Result<(), BookFault> {
    let BookOrder { side, price, size } = order;
    let ladder = ladder(sides, side);
    match ladder.find(price) {
        Ok(position) => {
            let Some(level) = ladder.get(position).copied() else { return Ok(()) };
            let total = level.size.checked_add(size);
            let size = total.ok_or(BookFault::SizeOverflow { side, price })?;
            let orders = level.orders.map(|orders| orders.saturating_add(1));
            ladder.set(position, &Level { size, orders, ..level });
        }
        Err(_) if ladder.shown() >= LEVELS_MAX => {
            return Err(BookFault::TooManyLevels { side, depth_max: LEVELS_MAX });
        }
        Err(position) => {
            ladder.insert_by_price(position, Level { price, size, orders: Some(1) });
        }
    }
    Ok(())
}

/// Removes an order from the level of its price.
fn take(sides: &mut Sides, order: BookOrder) -> Result<(), BookFault> {
    let BookOrder { side, price, size } = order;
    let ladder = ladder(sides, side);
    let no_such_price = BookFault::NoSuchPrice { side, price };
    let position = ladder.find(price).map_err(|_| no_such_price)?;
    let level = *ladder.get(position).ok_or(no_such_price)?;
    match level.orders {
        Some(orders @ 2..) => {
            let left = level.size.checked_sub(size);
            let size = left.ok_or(BookFault::SizeOverflow { side, price })?;
            ladder.set(position, &Level { size, orders: Some(orders - 1), ..level });
        }
        _ => ladder.remove(position),
    }
    Ok(())
}

use super::*;
use proptest::prelude::*;

fn level(price: i64) -> Level {
    Level { price: Amount::integer(price), size: Amount::integer(1), orders: None }
}

fn by_level(side: Side, level: u32, action: LevelAction) -> BookUpdate {
    BookUpdate::ByLevel { side, level, action }
}

fn by_price(side: Side, action: PriceAction, price: i64) -> BookUpdate {
    BookUpdate::ByPrice { side, action, level: level(price) }
}

fn prices(book: &Book, side: Side) -> Vec<i64> {
    book.levels(side).map(|level| level.price.mantissa).collect()
}

/// Bids at 100, 99, 98 and offers at 101, 102, 103, of a depth of 3.
fn full_book() -> Book {
    let mut book = Book::with_depth(Some(3));
    for index in 1..=3 {
        let step = i64::from(index) - 1;
        for (side, price) in [(Side::Bid, 100 - step), (Side::Offer, 101 + step)] {
            book.apply(&by_level(side, index, LevelAction::New(level(price)))).unwrap();
        }
    }
    book
}

#[test]
fn a_new_level_pushes_the_last_beyond_the_depth() {
    let mut book = full_book();
    book.apply(&by_level(Side::Offer, 2, LevelAction::New(level(150)))).unwrap();
    assert_eq!(prices(&book, Side::Offer), [101, 150, 102]);
    assert_eq!(prices(&book, Side::Bid), [100, 99, 98]);
}

#[test]
fn a_new_level_at_the_depth_replaces_the_last() {
    let mut book = full_book();
    book.apply(&by_level(Side::Bid, 3, LevelAction::New(level(97)))).unwrap();
    assert_eq!(prices(&book, Side::Bid), [100, 99, 97]);
}

#[test]
fn deletes_move_the_levels_behind_up() {
    let mut book = full_book();
    book.apply(&by_level(Side::Bid, 1, LevelAction::Delete)).unwrap();
    assert_eq!(prices(&book, Side::Bid), [99, 98]);
    book.apply(&by_level(Side::Offer, 2, LevelAction::DeleteThru)).unwrap();
    assert_eq!(prices(&book, Side::Offer), [103]);
    let mut book = full_book();
    book.apply(&by_level(Side::Offer, 2, LevelAction::DeleteFrom)).unwrap();
    assert_eq!(prices(&book, Side::Offer), [101]);
}

#[test]
fn updates_that_do_not_fit_change_nothing() {
    let mut book = Book::with_depth(Some(3));
    book.apply(&by_level(Side::Bid, 1, LevelAction::New(level(5)))).unwrap();
    let before = book.clone();
    let faults = [
        (by_level(Side::Bid, 3, LevelAction::New(level(4))), "leave a gap"),
        (by_level(Side::Bid, 2, LevelAction::Change(level(4))), "does not exist"),
        (by_level(Side::Bid, 2, LevelAction::Delete), "does not exist"),
        (by_level(Side::Bid, 0, LevelAction::Delete), "from 1 to 3"),
        (by_level(Side::Bid, 4, LevelAction::New(level(4))), "from 1 to 3"),
        (by_price(Side::Bid, PriceAction::New, 5), "already"),
        (by_price(Side::Bid, PriceAction::Change, 6), "does not exist"),
        (by_price(Side::Offer, PriceAction::Delete, 6), "does not exist"),
    ];
    for (update, text) in faults {
        let fault = book.apply(&update).unwrap_err();
        assert!(fault.to_string().contains(text), "{fault}");
        assert_eq!(book, before);
    }
}

#[test]
fn prices_find_their_place_by_value() {
    let mut book = Book::with_depth(Some(3));
    for price in [100, 98, 99] {
        book.apply(&by_price(Side::Bid, PriceAction::New, price)).unwrap();
        book.apply(&by_price(Side::Offer, PriceAction::New, price + 10)).unwrap();
    }
    assert_eq!(prices(&book, Side::Bid), [100, 99, 98]);
    assert_eq!(prices(&book, Side::Offer), [108, 109, 110]);
    let price = Amount { mantissa: 990, exponent: -1 };
    let update = BookUpdate::ByPrice {
        side: Side::Bid,
        action: PriceAction::Delete,
        level: Level { price, ..level(0) },
    };
    book.apply(&update).unwrap();
    assert_eq!(prices(&book, Side::Bid), [100, 98]);
}

#[test]
fn a_full_book_by_price_refuses_another_level() {
    let mut book = Book::new();
    for price in 0..i64::from(LEVELS_MAX) {
        book.apply(&by_price(Side::Bid, PriceAction::New, price)).unwrap();
    }
    let fault = book.apply(&by_price(Side::Bid, PriceAction::New, -1)).unwrap_err();
    assert_eq!(fault, BookFault::TooManyLevels { side: Side::Bid, depth_max: LEVELS_MAX });
}

fn order(id: u64, action: OrderAction) -> BookUpdate {
    BookUpdate::ByOrder { id: OrderId::number(id), action }
}

fn new(side: Side, price: i64, size: i64) -> OrderAction {
    OrderAction::New { side, price: Amount::integer(price), size: Amount::integer(size) }
}

fn summed(price: i64, size: i64, orders: u32) -> Level {
    let (price, size) = (Amount::integer(price), Amount::integer(size));
    Level { price, size, orders: Some(orders) }
}

#[test]
fn orders_add_up_to_levels() {
    let mut book = Book::new();
    for (id, action) in [
        (1, new(Side::Bid, 10, 5)),
        (2, new(Side::Bid, 10, 7)),
        (3, new(Side::Bid, 11, 1)),
        (4, new(Side::Offer, 12, 2)),
    ] {
        book.apply(&order(id, action)).unwrap();
    }
    assert!(book.levels(Side::Bid).eq(&[summed(11, 1, 1), summed(10, 12, 2)]));
    let change = OrderAction::Change { price: None, size: Some(Amount::integer(3)) };
    book.apply(&order(1, change)).unwrap();
    let change = OrderAction::Change { price: Some(Amount::integer(9)), size: None };
    book.apply(&order(2, change)).unwrap();
    book.apply(&order(3, OrderAction::Remove)).unwrap();
    assert!(book.levels(Side::Bid).eq(&[summed(10, 3, 1), summed(9, 7, 1)]));
    assert_eq!(book.orders(), 3);
    let before = book.clone();
    for (id, action, text) in [
        (9, OrderAction::Remove, "order 9 does not exist"),
        (1, new(Side::Bid, 1, 1), "already exists"),
        (5, new(Side::Bid, 10, i64::MAX), "too large"),
    ] {
        let fault = book.apply(&order(id, action)).unwrap_err();
        assert!(fault.to_string().contains(text), "{fault}");
        assert_eq!((&book, book.orders()), (&before, 3));
    }
}

#[test]
fn order_ids_of_numbers_and_texts_differ() {
    let texts = [&b""[..], b"1", b"1\0", b"012345678901234"];
    let ids: Vec<_> = texts.iter().map(|text| OrderId::text(text).unwrap()).collect();
    assert!(ids.iter().enumerate().all(|(at, id)| !ids[..at].contains(id)));
    assert!(!ids.contains(&OrderId::number(1)));
    assert_eq!(OrderId::text(b"0123456789012345"), None);
    assert_eq!(OrderId::number(u64::MAX).to_string(), u64::MAX.to_string());
    assert_eq!(ids[3].to_string(), "012345678901234");
}

#[test]
fn a_consolidated_book_adds_what_stands_at_one_price() {
    let mut outright = Book::new();
    let mut implied = Book::new();
    for (book, prices) in [(&mut outright, [100, 98]), (&mut implied, [99, 98])] {
        for price in prices {
            book.apply(&by_price(Side::Bid, PriceAction::New, price)).unwrap();
        }
    }
    let book = Book::consolidated(&outright, &implied).unwrap();
    let sizes: Vec<_> = book.levels(Side::Bid).map(|level| level.size.mantissa).collect();
    assert_eq!((prices(&book, Side::Bid), sizes), (vec![100, 99, 98], vec![1, 1, 2]));
}

#[test]
fn checks_find_crossed_locked_and_disordered_books() {
    let mut book = full_book();
    assert_eq!(book.check(), None);
    book.apply(&by_level(Side::Bid, 1, LevelAction::Change(level(101)))).unwrap();
    assert_eq!(book.check(), Some(BookFault::Locked { price: Amount::integer(101) }));
    book.apply(&by_level(Side::Bid, 1, LevelAction::Change(level(102)))).unwrap();
    assert!(matches!(book.check(), Some(BookFault::Crossed { .. })));
    book.apply(&by_level(Side::Offer, 3, LevelAction::Change(level(102)))).unwrap();
    let disordered = BookFault::Disordered { side: Side::Offer, level: 3 };
    assert_eq!(book.check(), Some(disordered));
}

/// Levels by position, in and out of order, with several exponents: for a book that was right,
/// checking the changed levels finds the same as checking all of it.
#[test]
fn what_changed_tells_whether_a_book_is_wrong() {
    let mut random = fastrand::Rng::with_seed(7);
    let mut wrong = 0;
    for depth in [None, Some(3), Some(16), Some(30)] {
        let mut book = Book::with_depth(depth);
        for _ in 0..30_000 {
            for _ in 0..random.u32(1..4) {
                let (side, best) =
                    *random.choice(&[(Side::Bid, 1_000), (Side::Offer, 1_000)]).unwrap();
                let len = book.len(side) as u32;
                let position = random.u32(0..=len);
                let away = i64::from(position) * 10 + random.i64(0..12) + 1;
                let price = if side == Side::Bid { best - away } else { best + away };
                let exponent = if random.u8(0..20) == 0 { -1 } else { 0 };
                let mantissa = if exponent == 0 { price } else { price * 10 };
                let price = Amount { mantissa, exponent };
                let content = Level { price, ..level(0) };
                let action = match random.u8(0..9) {
                    0..=3 => LevelAction::New(content),
                    4..=5 => LevelAction::Change(content),
                    6..=7 => LevelAction::Delete,
                    _ if random.u8(0..9) == 0 => LevelAction::DeleteThru,
                    _ => LevelAction::Change(content),
                };
                // An update that does not fit changes nothing.
                let _ = book.apply(&by_level(side, position + 1, action));
            }
            let found = book.check();
            assert_eq!(book.check_changed().is_some(), found.is_some(), "{found:?}");
            if found.is_some() {
                wrong += 1;
                book.clear();
            }
        }
    }
    assert!(wrong > 1_000, "{wrong} books were wrong");
}

fn any_level() -> impl Strategy<Value = Level> {
    let amount = || {
        (any::<i64>(), any::<i32>()).prop_map(|(mantissa, exponent)| Amount { mantissa, exponent })
    };
    (amount(), amount(), any::<Option<u32>>()).prop_map(|(price, size, orders)| Level {
        price,
        size,
        orders,
    })
}

fn any_update() -> impl Strategy<Value = BookUpdate> {
    let side = || prop_oneof![Just(Side::Bid), Just(Side::Offer)];
    let action = any_level().prop_flat_map(|level| {
        prop_oneof![
            Just(LevelAction::New(level)),
            Just(LevelAction::Change(level)),
            Just(LevelAction::Delete),
            Just(LevelAction::DeleteThru),
            Just(LevelAction::DeleteFrom),
        ]
    });
    let price_action =
        prop_oneof![Just(PriceAction::New), Just(PriceAction::Change), Just(PriceAction::Delete)];
    prop_oneof![
        (side(), prop_oneof![0_u32..8, any::<u32>()], action)
            .prop_map(|(side, level, action)| BookUpdate::ByLevel { side, level, action }),
        (side(), price_action, any_level()).prop_map(|(side, action, level)| BookUpdate::ByPrice {
            side,
            action,
            level
        }),
        Just(BookUpdate::Clear),
        Just(BookUpdate::Other),
    ]
}

proptest! {
    #[test]
    fn no_update_panics_and_levels_stay_within_the_depth(
        depth in proptest::option::of(0_u32..6),
        updates in proptest::collection::vec(any_update(), 0..60),
    ) {
        let mut book = Book::with_depth(depth);
        let mut by_price = 0;
        for update in &updates {
            by_price += u32::from(matches!(update, BookUpdate::ByPrice { .. }));
            let before = book.clone();
            if book.apply(update).is_err() {
                prop_assert_eq!(&before, &book);
            }
            let _ = book.check();
            for side in Side::ALL {
                prop_assert_eq!(book.levels(side).count(), book.len(side));
                if by_price == 0 && let Some(depth) = depth {
                    prop_assert!(book.len(side) <= depth.max(1) as usize);
                }
            }
        }
    }
}

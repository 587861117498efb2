//! What a session asks of its store.

use std::cell::Cell;
use std::rc::Rc;

use tickwire_fix_session::{
    BeginString, Config, MemoryStore, Role, Session, SessionId, Store, StoreError,
};

/// Counts what it is asked to hand to the disk.
#[derive(Debug, Default)]
struct Noting {
    inner: MemoryStore,
    synced: Rc<Cell<u32>>,
}

impl Store for Noting {
    fn next_sender(&self) -> u64 {
        self.inner.next_sender()
    }
    fn next_target(&self) -> u64 {
        self.inner.next_target()
    }
    fn created_ns(&self) -> u64 {
        self.inner.created_ns()
    }
    fn append(&mut self, message: &[u8]) -> Result<(), StoreError> {
        self.inner.append(message)
    }
    fn set_next_sender(&mut self, seq_num: u64) -> Result<(), StoreError> {
        self.inner.set_next_sender(seq_num)
    }
    fn set_next_target(&mut self, seq_num: u64) -> Result<(), StoreError> {
        self.inner.set_next_target(seq_num)
    }
    fn read(&mut self, seq_num: u64, out: &mut Vec<u8>) -> Result<bool, StoreError> {
        self.inner.read(seq_num, out)
    }
    fn reset(&mut self, created_ns: u64) -> Result<(), StoreError> {
        self.inner.reset(created_ns)
    }
    fn commit(&mut self) -> Result<(), StoreError> {
        self.inner.commit()
    }
    fn sync(&mut self) -> Result<(), StoreError> {
        self.synced.set(self.synced.get() + 1);
        Ok(())
    }
}

#[test]
fn a_store_in_a_box_is_the_store_itself() {
    let noting = Noting::default();
    let synced = noting.synced.clone();
    let mut store: Box<dyn Store> = Box::new(noting);
    store.reset(7).expect("memory");
    assert_eq!(store.created_ns(), 7);
    store.append(b"one").expect("memory");
    store.set_next_sender(5).expect("memory");
    store.set_next_target(9).expect("memory");
    assert_eq!((store.next_sender(), store.next_target()), (5, 9));
    let mut out = Vec::new();
    assert!(store.read(1, &mut out).expect("memory") && out == b"one");
    let config = Config::new(Role::Acceptor, SessionId::new(BeginString::Fix44, "HERE", "THERE"));
    let mut session = Session::new(config, store);
    session.sync();
    assert_eq!(synced.get(), 1);
    assert_eq!(session.store().next_sender(), 5);
}

//! Compares the records of a client and a server after both have ended.

use crate::failure::Failure;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use tickwire_fix::{Reader, Tag};
use tickwire_fix_session::{
    BeginString, FileStore, FileStoreOptions, Fsync, SessionId, Store, StoreError,
};

/// Final values of OrdStatus: filled, canceled, rejected.
const FINAL: [&str; 3] = ["2", "4", "8"];

/// Files with the records of one session.
pub struct TradingLedger<'l> {
    pub server_folder: &'l Path,
    pub client_folder: &'l Path,
    /// The execution reports that the client handled.
    pub journal: PathBuf,
    /// CompIDs.
    pub server: &'l str,
    pub client: &'l str,
}

impl TradingLedger<'_> {
    /// Checks that each of `orders` orders was answered and completed exactly once, and that every report was
    /// handled once and in order. Returns the number of reports.
    ///
    /// # Errors
    /// The lost or duplicate messages.
    pub fn check(&self, orders: u64) -> Result<usize, Failure> {
        let wrong = |text: &str| Failure::Data(format!("session {}: {text}", self.client));
        let mut server = self.store(self.server_folder, self.server, self.client)?;
        let mut client = self.store(self.client_folder, self.client, self.server)?;
        let is_received = server.next_target() == client.next_sender()
            && client.next_target() == server.next_sender();
        if !is_received {
            return Err(wrong("the two sides have different sequence numbers"));
        }
        let sent = self.values(&mut client, [11])?;
        if !sent
            .iter()
            .map(|[id]| id)
            .eq((1..=orders).map(|n| format!("ord{n}")).collect::<Vec<_>>().iter())
        {
            return Err(wrong("not every order was sent exactly once, in order"));
        }
        let reports = self.values(&mut server, [17, 11, 39])?;
        let mut ends: BTreeMap<&str, u64> = BTreeMap::new();
        for [_, order, status] in &reports {
            *ends.entry(order).or_default() += u64::from(FINAL.contains(&status.as_str()));
        }
        if ends.len() as u64 != orders || ends.values().any(|count| *count != 1) {
            return Err(wrong("not every order was received and completed exactly once"));
        }
        let handled = self.handled()?;
        if handled.iter().collect::<BTreeSet<_>>().len() != handled.len() {
            return Err(wrong("a report was delivered twice"));
        }
        if !reports.iter().map(|[id, ..]| id).eq(&handled) {
            return Err(wrong("a report was lost or arrived out of order"));
        }
        Ok(handled.len())
    }

    fn store(&self, folder: &Path, own: &str, other: &str) -> Result<FileStore, Failure> {
        let name = SessionId::new(BeginString::Fix42, own, other).file_name();
        let folder = folder.to_owned();
        let options = FileStoreOptions { folder, name, fsync: Fsync::None, archives_max: 0 };
        FileStore::open(options, 0).map_err(|error| self.unreadable(&error))
    }

    fn unreadable(&self, error: &StoreError) -> Failure {
        Failure::Data(format!("session {}: {error}", self.client))
    }

    /// Returns tag values of all application messages of a store.
    fn values<const N: usize>(
        &self,
        store: &mut FileStore,
        tags: [u32; N],
    ) -> Result<Vec<[String; N]>, Failure> {
        let (mut reader, mut bytes, mut found) = (Reader::new(), Vec::new(), Vec::new());
        let mut next = 1;
        while next < store.next_sender() {
            bytes.clear();
            let read =
                store.read_next(next, &mut bytes).map_err(|error| self.unreadable(&error))?;
            let Some(seq_num) = read else { break };
            let failed = |text: String| {
                Failure::Data(format!("session {}: stored message {seq_num}: {text}", self.client))
            };
            let message = reader.decode(&bytes).map_err(|error| failed(error.to_string()))?;
            let text = |tag: u32| {
                let value = message.field(Tag(tag)).map(|field| field.value);
                String::from_utf8_lossy(value.unwrap_or_default()).into_owned()
            };
            if text(34) != seq_num.to_string() {
                return Err(failed(format!("it has MsgSeqNum {}", text(34))));
            }
            found.push(tags.map(text));
            next = seq_num + 1;
        }
        Ok(found)
    }

    /// Returns ExecIDs of the reports that the client handled.
    fn handled(&self) -> Result<Vec<String>, Failure> {
        let text = std::fs::read_to_string(&self.journal)
            .map_err(|error| Failure::file("read", self.journal.display(), &error))?;
        let id = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
        Ok(text.lines().map(id).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message with MsgSeqNum 1 and correct BodyLength and CheckSum.
    fn message(fields: &str) -> Vec<u8> {
        let body = format!("{fields}34=1|").replace('|', "\u{1}");
        let message = format!("8=FIX.4.2\u{1}9={}\u{1}{body}", body.len());
        let sum = message.bytes().fold(0, u8::wrapping_add);
        format!("{message}10={sum:03}\u{1}").into_bytes()
    }

    /// Compares two sides after one order and one report, with the client's record and the sequence number
    /// that the server expects next.
    fn compared(name: &str, status: &str, noted: &str, next: u64) -> Result<usize, String> {
        let folder =
            std::env::temp_dir().join(format!("tickwire-ledger-{name}-{}", std::process::id()));
        let (server_folder, client_folder) = (&folder.join("server"), &folder.join("client"));
        let journal = folder.join("reports");
        let ledger =
            TradingLedger { server_folder, client_folder, journal, server: "S", client: "C" };
        let report = format!("35=8|17=e1|11=ord1|39={status}|");
        let sides = [
            (server_folder, "S", "C", report.as_str(), next),
            (client_folder, "C", "S", "35=D|11=ord1|", 2),
        ];
        for (folder, own, other, fields, next) in sides {
            let Ok(mut store) = ledger.store(folder, own, other) else { panic!("opens") };
            store.append(&message(fields)).unwrap();
            store.set_next_target(next).unwrap();
            store.commit().unwrap();
        }
        std::fs::write(&ledger.journal, noted).unwrap();
        let found = ledger.check(1);
        std::fs::remove_dir_all(folder).unwrap();
        found.map_err(|failure| match failure {
            Failure::Data(text) => text,
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn what_is_lost_or_came_twice_is_found() {
        assert_eq!(compared("whole", "2", "e1 1\n", 2), Ok(1));
        for (name, status, noted, next, wanted) in [
            ("order", "2", "e1 1\n", 1, "different sequence numbers"),
            ("end", "0", "e1 1\n", 2, "completed exactly once"),
            ("lost", "2", "", 2, "a report was lost"),
            ("twice", "2", "e1 1\ne1 1\n", 2, "delivered twice"),
        ] {
            let told = compared(name, status, noted, next).unwrap_err();
            assert!(told.contains(wanted), "{name}: {told}");
        }
    }
}

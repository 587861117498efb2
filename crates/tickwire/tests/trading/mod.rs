//! Server and client of the trading benchmark as processes, and the check of their records at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tickwire_fix::{Reader, Tag};
use tickwire_fix_session::{BeginString, FileStore, FileStoreOptions, Fsync, SessionId, Store};

/// A folder and processes, which are removed and killed with the test.
pub struct Stage {
    folder: PathBuf,
    port: u16,
    children: [Option<Child>; 2],
    client_args: Vec<String>,
}

/// Index of the server.
pub const SERVER: usize = 0;
/// Index of the client.
pub const CLIENT: usize = 1;

impl Stage {
    /// Creates a stage for a client that sends this many orders.
    pub fn new(orders: u64, client_args: &[&str]) -> Self {
        let folder = std::env::temp_dir().join(format!("tickwire-trading-{}", std::process::id()));
        let orders = orders.to_string();
        let client_args = ["--orders", &orders].into_iter().chain(client_args.iter().copied());
        let client_args = client_args.map(str::to_owned).collect();
        let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = free.local_addr().expect("an address").port();
        Self { folder, port, children: [None, None], client_args }
    }

    /// Starts a side.
    pub fn start(&mut self, side: usize) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tickwire"));
        let store = |name: &str| self.folder.join(name).display().to_string();
        match side {
            SERVER => command.args(["fix", "server", "--port", &self.port.to_string()]).args([
                "--store",
                &store("server"),
                "--fsync",
                "none",
            ]),
            _ => command
                .args(["fix", "client", &format!("127.0.0.1:{}", self.port), "--reliable"])
                .args(["--reconnect", "10ms"])
                .args(&self.client_args)
                .args(["--store", &store("client"), "--fsync", "none"])
                .args(["--journal", &store("client/reports")]),
        };
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        self.children[side] = Some(child.expect("the command starts"));
    }

    /// Kills a side.
    pub fn kill(&mut self, side: usize) {
        if let Some(mut child) = self.children[side].take() {
            child.kill().expect("is mine to kill");
            child.wait().expect("ends");
        }
    }

    /// Returns whether the side ended successfully, if it has ended by itself.
    pub fn ended(&mut self, side: usize) -> Option<bool> {
        let child = self.children[side].as_mut()?;
        child.try_wait().expect("can be waited for").map(|status| status.success())
    }

    /// Opens a store that no process uses.
    fn store(&self, name: &str, id: SessionId) -> FileStore {
        let folder = self.folder.join(name);
        let options =
            FileStoreOptions { folder, name: id.file_name(), fsync: Fsync::None, archives_max: 0 };
        FileStore::open(options, 0).expect("the store opens")
    }

    /// Checks that the records of both sides agree: this many orders, each answered and completed once, and
    /// every report handled once. Returns the number of reports.
    pub fn check_stores(&self, order_count: u64) -> usize {
        let server_id = SessionId::new(BeginString::Fix42, "TEX_DLD", "DLD_TEX");
        let client_id = SessionId::new(BeginString::Fix42, "DLD_TEX", "TEX_DLD");
        let mut server = self.store("server", server_id);
        let mut client = self.store("client", client_id);
        assert_eq!(server.next_target(), client.next_sender(), "all that was sent was received");
        assert_eq!(client.next_target(), server.next_sender(), "all that was sent was received");

        let orders: Vec<String> =
            values(&mut client, [11, 55, 54]).into_iter().map(|[id, ..]| id).collect();
        let expected: Vec<String> =
            (1..=order_count).map(|number| format!("ord{number}")).collect();
        assert_eq!(orders, expected, "every order was sent once, in order");

        let reports = values(&mut server, [17, 11, 39]);
        let mut ends: BTreeMap<&str, usize> = BTreeMap::new();
        for [_, order, status] in &reports {
            *ends.entry(order).or_default() +=
                usize::from(matches!(status.as_str(), "2" | "4" | "8"));
        }
        assert_eq!(ends.len() as u64, order_count, "every order was answered");
        assert!(ends.values().all(|count| *count == 1), "every order ended once");

        let sent: Vec<String> = reports.into_iter().map(|[id, ..]| id).collect();
        let handled = journal(&self.folder.join("client/reports"));
        let distinct: BTreeSet<&String> = handled.iter().collect();
        assert_eq!(distinct.len(), handled.len(), "no report was handled twice");
        assert_eq!(handled, sent, "every report was handled, in order");
        sent.len()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        for child in self.children.iter_mut().flatten() {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Returns tag values of all application messages of a store.
fn values(store: &mut FileStore, tags: [u32; 3]) -> Vec<[String; 3]> {
    let (mut reader, mut bytes, mut found) = (Reader::new(), Vec::new(), Vec::new());
    for seq_num in 1..store.next_sender() {
        bytes.clear();
        if store.read_next(seq_num, &mut bytes).expect("reads") == Some(seq_num) {
            let message = reader.decode(&bytes).expect("a whole message");
            let text = |tag: u32| {
                let field = message.field(Tag(tag)).expect("there");
                String::from_utf8(field.value.to_vec()).expect("text")
            };
            assert_eq!(text(34), seq_num.to_string());
            found.push(tags.map(text));
        }
    }
    found
}

fn journal(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).expect("a journal");
    let ids = text.lines().map(|line| line.split(' ').next().unwrap_or_default().to_owned());
    ids.collect()
}

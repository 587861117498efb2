//! The required `bpf` commands: create a map of sockets, load the program, and link it to an
//! interface.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::program::BpfInstruction;

/// Commands (`enum bpf_cmd`).
const MAP_CREATE: libc::c_long = 0;
const MAP_UPDATE_ELEM: libc::c_long = 2;
const PROG_LOAD: libc::c_long = 5;
const LINK_CREATE: libc::c_long = 28;
const LINK_UPDATE: libc::c_long = 29;
/// `BPF_MAP_TYPE_XSKMAP`: sockets by number.
const TYPE_SOCKETS: u32 = 17;
/// `BPF_PROG_TYPE_XDP`.
const TYPE_XDP: u32 = 6;
/// `BPF_XDP`, the kind of attachment.
const ATTACH_XDP: u32 = 37;

/// Hook of the interface at which the program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// In the driver, before the kernel processes the packet.
    Driver,
    /// In the kernel after the driver, for drivers without support.
    Generic,
}

impl Mode {
    /// `XDP_FLAGS_DRV_MODE` or `XDP_FLAGS_SKB_MODE`.
    const fn flags(self) -> u32 {
        match self {
            Self::Driver => 1 << 2,
            Self::Generic => 1 << 1,
        }
    }
}

/// Arguments of `BPF_MAP_CREATE`, the head of `union bpf_attr`.
#[repr(C)]
struct MapCreate {
    map_type: u32,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
    map_flags: u32,
}

/// Arguments of `BPF_MAP_UPDATE_ELEM`.
#[repr(C)]
struct MapUpdate {
    map_fd: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

/// Arguments of `BPF_PROG_LOAD`.
#[repr(C)]
struct ProgramLoad {
    prog_type: u32,
    insn_cnt: u32,
    insns: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log_buf: u64,
    kern_version: u32,
    prog_flags: u32,
}

/// Arguments of `BPF_LINK_CREATE`.
#[repr(C)]
struct LinkCreate {
    prog_fd: u32,
    target_ifindex: u32,
    attach_type: u32,
    flags: u32,
}

/// Arguments of `BPF_LINK_UPDATE`.
#[repr(C)]
struct LinkUpdate {
    link_fd: u32,
    new_prog_fd: u32,
    flags: u32,
    old_prog_fd: u32,
}

/// Creates a map with room for this many sockets.
pub(super) fn create_socket_map(sockets: u32) -> io::Result<OwnedFd> {
    let arguments = MapCreate {
        map_type: TYPE_SOCKETS,
        key_size: 4,
        value_size: 4,
        max_entries: sockets,
        map_flags: 0,
    };
    // SAFETY: the command reads these arguments, which point nowhere.
    let map = unsafe { bpf(MAP_CREATE, &arguments)? };
    // SAFETY: the command returns a new descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(map) })
}

/// Inserts a socket into the map, in place of another with this key.
pub(super) fn add_socket(map: BorrowedFd<'_>, key: u32, socket: BorrowedFd<'_>) -> io::Result<()> {
    let socket = socket.as_raw_fd();
    let arguments = MapUpdate {
        map_fd: map.as_raw_fd() as u32,
        padding: 0,
        key: (&raw const key).addr() as u64,
        value: (&raw const socket).addr() as u64,
        flags: 0,
    };
    // SAFETY: key and value are as long as the map says, four bytes, and live during the call.
    unsafe { bpf(MAP_UPDATE_ELEM, &arguments)? };
    Ok(())
}

/// Loads a program, which the kernel verifies.
pub(super) fn load(program: &[BpfInstruction]) -> io::Result<OwnedFd> {
    let license = c"MIT OR Apache-2.0";
    let arguments = ProgramLoad {
        prog_type: TYPE_XDP,
        insn_cnt: u32::try_from(program.len()).map_err(io::Error::other)?,
        insns: program.as_ptr().addr() as u64,
        license: license.as_ptr().addr() as u64,
        log_level: 0,
        log_size: 0,
        log_buf: 0,
        kern_version: 0,
        prog_flags: 0,
    };
    // SAFETY: instructions and licence live during the call; the kernel copies and verifies them.
    let program = unsafe { bpf(PROG_LOAD, &arguments)? };
    // SAFETY: the command returns a new descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(program) })
}

/// Attaches a program to an interface for as long as the returned descriptor is open. The kernel
/// detaches it even after `kill -9`.
pub(super) fn attach(program: BorrowedFd<'_>, interface: u32, mode: Mode) -> io::Result<OwnedFd> {
    let arguments = LinkCreate {
        prog_fd: program.as_raw_fd() as u32,
        target_ifindex: interface,
        attach_type: ATTACH_XDP,
        flags: mode.flags(),
    };
    // SAFETY: the command reads these arguments, which point nowhere.
    let link = unsafe { bpf(LINK_CREATE, &arguments)? };
    // SAFETY: the command returns a new descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(link) })
}

/// Replaces the program of a link. Each packet is handled by the old program or by the new one.
pub(super) fn replace(link: BorrowedFd<'_>, program: BorrowedFd<'_>) -> io::Result<()> {
    let arguments = LinkUpdate {
        link_fd: link.as_raw_fd() as u32,
        new_prog_fd: program.as_raw_fd() as u32,
        flags: 0,
        old_prog_fd: 0,
    };
    // SAFETY: the command reads these arguments, which point nowhere.
    unsafe { bpf(LINK_UPDATE, &arguments)? };
    Ok(())
}

/// # Safety
/// `arguments` must be those of `command`, and what they point to must live during the call.
unsafe fn bpf<T>(command: libc::c_long, arguments: &T) -> io::Result<i32> {
    // SAFETY: the kernel reads as many bytes as the struct has, and takes the rest of the union for zeros.
    let result = unsafe {
        libc::syscall(libc::SYS_bpf, command, std::ptr::from_ref(arguments), size_of::<T>())
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as i32) }
}

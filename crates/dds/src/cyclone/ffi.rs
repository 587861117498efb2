//! Declarations of the C functions and structures that this crate uses, as in the headers of Cyclone DDS 11.

use std::ffi::{c_char, c_void};

pub type Entity = i32;
pub type Duration = i64;
pub type Return = i32;

pub const RETCODE_PRECONDITION_NOT_MET: Return = -4;
pub const RETCODE_TIMEOUT: Return = -10;
pub const RETCODE_NO_DATA: Return = -11;

pub const ANY_STATE: u32 = 0x7f;
pub const INSTANCE_DISPOSED: u32 = 32;
pub const INSTANCE_NO_WRITERS: u32 = 64;

pub const STATUS_SAMPLE_LOST: u32 = 1 << 5;
pub const STATUS_PUBLICATION_MATCHED: u32 = 1 << 11;
pub const STATUS_SUBSCRIPTION_MATCHED: u32 = 1 << 12;

pub const RELIABILITY_BEST_EFFORT: u32 = 0;
pub const RELIABILITY_RELIABLE: u32 = 1;
pub const HISTORY_KEEP_LAST: u32 = 0;
pub const HISTORY_KEEP_ALL: u32 = 1;
pub const DURABILITY_VOLATILE: u32 = 0;
pub const DURABILITY_TRANSIENT_LOCAL: u32 = 1;
pub const LENGTH_UNLIMITED: i32 = -1;

/// The used values of `dds_dynamic_type_kind_t`.
pub mod kind {
    pub const BOOLEAN: u32 = 1;
    pub const INT32: u32 = 4;
    pub const INT64: u32 = 5;
    pub const UINT16: u32 = 6;
    pub const UINT32: u32 = 7;
    pub const UINT64: u32 = 8;
    pub const FLOAT64: u32 = 10;
    pub const UINT8: u32 = 13;
    pub const CHAR8: u32 = 14;
    pub const STRING8: u32 = 16;
    pub const STRUCTURE: u32 = 24;
}

pub const DATA_REPRESENTATION_XCDR2: i16 = 2;

pub const LOG_FATAL: u32 = 1;
pub const LOG_ERROR: u32 = 2;
pub const LOG_WARNING: u32 = 4;

#[repr(C)]
pub struct LogData {
    pub priority: u32,
    pub domain: u32,
    pub file: *const c_char,
    pub line: u32,
    pub function: *const c_char,
    pub message: *const c_char,
    pub size: usize,
    pub header_size: usize,
}

/// The first members of `dds_builtintopic_endpoint_t`; the later ones are not used.
#[repr(C)]
pub struct BuiltinEndpoint {
    pub key: [u8; 16],
    pub participant_key: [u8; 16],
}

pub type LogSink = unsafe extern "C" fn(*mut c_void, *const LogData);

pub type OnData = extern "C" fn(Entity, *mut c_void);

#[repr(C)]
pub struct DdsQos {
    _opaque: [u8; 0],
}

#[repr(C)]
pub struct DdsListener {
    _opaque: [u8; 0],
}

#[repr(C)]
pub struct TopicDescriptor {
    _opaque: [u8; 0],
}

#[repr(C)]
pub struct Sertype {
    _opaque: [u8; 0],
}

#[repr(C)]
pub struct Serdata {
    _opaque: [u8; 0],
}

/// `tickwire_member` of `serialised.c`.
#[repr(C)]
pub struct MemberDescriptor {
    pub name: *const c_char,
    pub kind: u32,
    pub of: u32,
    pub is_sequence: bool,
    pub is_key: bool,
    pub is_optional: bool,
}

/// `tickwire_struct` of `serialised.c`.
#[repr(C)]
pub struct Struct {
    pub name: *const c_char,
    pub members: *const MemberDescriptor,
    pub member_count: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct DdsSampleInfo {
    pub sample_state: u32,
    pub view_state: u32,
    pub instance_state: u32,
    pub valid_data: bool,
    pub source_timestamp: i64,
    pub instance_handle: u64,
    pub publication_handle: u64,
    pub disposed_generation_count: u32,
    pub no_writers_generation_count: u32,
    pub sample_rank: u32,
    pub generation_rank: u32,
    pub absolute_generation_rank: u32,
    /// Added by patches/samples-know-number-and-participant.patch.
    pub writer_seq: u64,
    /// Added by the same patch.
    pub history_end: u64,
    /// Added by the same patch.
    pub participant: [u8; 16],
}

/// `dds_publication_matched_status_t` and `dds_subscription_matched_status_t`, which have the same layout.
#[repr(C)]
#[derive(Default)]
pub struct MatchedStatus {
    pub total_count: u32,
    pub total_count_change: i32,
    pub current_count: u32,
    pub current_count_change: i32,
    pub last_handle: u64,
}

#[repr(C)]
#[derive(Default)]
pub struct LostStatus {
    pub total_count: u32,
    pub total_count_change: i32,
}

unsafe extern "C" {
    pub fn dds_set_log_sink(sink: Option<LogSink>, argument: *mut c_void);

    pub fn dds_create_listener(argument: *mut c_void) -> *mut DdsListener;
    pub fn dds_delete_listener(listener: *mut DdsListener);
    pub fn dds_lset_data_available(listener: *mut DdsListener, on_data: Option<OnData>);

    pub fn dds_create_domain(id: u32, config: *const c_char) -> Entity;
    pub fn dds_create_participant(
        id: u32,
        qos: *const DdsQos,
        listener: *const DdsListener,
    ) -> Entity;
    pub fn dds_create_topic(
        participant: Entity,
        descriptor: *const TopicDescriptor,
        name: *const c_char,
        qos: *const DdsQos,
        listener: *const DdsListener,
    ) -> Entity;
    pub fn dds_create_writer(
        participant: Entity,
        topic: Entity,
        qos: *const DdsQos,
        listener: *const DdsListener,
    ) -> Entity;
    pub fn dds_create_reader(
        participant: Entity,
        topic: Entity,
        qos: *const DdsQos,
        listener: *const DdsListener,
    ) -> Entity;
    pub fn dds_create_readcondition(reader: Entity, mask: u32) -> Entity;
    pub fn dds_create_waitset(owner: Entity) -> Entity;
    pub fn dds_delete(entity: Entity) -> Return;

    pub fn dds_set_status_mask(entity: Entity, mask: u32) -> Return;
    pub fn dds_get_publication_matched_status(writer: Entity, s: *mut MatchedStatus) -> Return;
    pub fn dds_get_subscription_matched_status(reader: Entity, s: *mut MatchedStatus) -> Return;
    pub fn dds_get_sample_lost_status(reader: Entity, status: *mut LostStatus) -> Return;

    pub fn dds_waitset_attach(waitset: Entity, entity: Entity, token: isize) -> Return;
    pub fn dds_waitset_wait(
        waitset: Entity,
        tokens: *mut isize,
        count: usize,
        timeout: Duration,
    ) -> Return;

    pub fn dds_write_flush(writer: Entity) -> Return;
    pub fn dds_wait_for_acks(writer: Entity, timeout: Duration) -> Return;
    pub fn dds_takecdr(
        reader: Entity,
        samples: *mut *mut Serdata,
        count_max: u32,
        infos: *mut DdsSampleInfo,
        mask: u32,
    ) -> Return;
    pub fn dds_get_entity_sertype(entity: Entity, sertype: *mut *const Sertype) -> Return;
    pub fn dds_get_matched_publications(
        reader: Entity,
        writers: *mut u64,
        capacity: usize,
    ) -> Return;
    pub fn dds_get_matched_publication_data(reader: Entity, writer: u64) -> *mut BuiltinEndpoint;
    pub fn dds_builtintopic_free_endpoint(endpoint: *mut BuiltinEndpoint);

    pub fn dds_create_qos() -> *mut DdsQos;
    pub fn dds_delete_qos(qos: *mut DdsQos);
    pub fn dds_qset_reliability(qos: *mut DdsQos, kind: u32, max_blocking: Duration);
    pub fn dds_qset_history(qos: *mut DdsQos, kind: u32, depth: i32);
    pub fn dds_qset_durability(qos: *mut DdsQos, kind: u32);
    pub fn dds_qset_durability_service(
        qos: *mut DdsQos,
        cleanup_delay: Duration,
        history: u32,
        depth: i32,
        samples_max: i32,
        instances_max: i32,
        samples_per_instance_max: i32,
    );
    pub fn dds_qset_resource_limits(
        qos: *mut DdsQos,
        samples_max: i32,
        instances_max: i32,
        samples_per_instance_max: i32,
    );
    pub fn dds_qset_partition(qos: *mut DdsQos, count: u32, names: *mut *const c_char);
    pub fn dds_qset_writer_data_lifecycle(qos: *mut DdsQos, autodispose: bool);
    pub fn dds_qset_data_representation(qos: *mut DdsQos, count: u32, values: *const i16);
    pub fn dds_qset_writer_batching(qos: *mut DdsQos, batch_updates: bool);
}

// `serialised.c`.
unsafe extern "C" {
    pub fn tickwire_write(
        writer: Entity,
        sertype: *const Sertype,
        bytes: *const c_void,
        size: usize,
        xcdr2: bool,
        dispose: bool,
        timestamp_ns: i64,
    ) -> Return;
    pub fn tickwire_unacknowledged(writer: Entity, sertype: *const Sertype) -> i64;
    pub fn tickwire_lend(sample: *const Serdata, bytes: *mut *const c_void, size: *mut usize);
    pub fn tickwire_release(sample: *mut Serdata);
    pub fn tickwire_create_topic(
        participant: Entity,
        structs: *const Struct,
        count: u32,
        name: *const c_char,
    ) -> Return;
}

/* Plain functions for features that Cyclone DDS offers as macros, inline functions and structures passed by value:
   writing and taking samples as wire bytes, and topics with types that are described at run time. */

#include <string.h>

#include "dds/dds.h"
#include "dds/ddsi/ddsi_domaingv.h"
#include "dds/ddsi/ddsi_endpoint.h"
#include "dds/ddsi/ddsi_entity_index.h"
#include "dds/ddsi/ddsi_guid.h"
#include "dds/ddsi/ddsi_protocol.h"
#include "dds/ddsi/ddsi_serdata.h"
#include "dds/ddsi/ddsi_sertype.h"
#include "dds/ddsi/ddsi_thread.h"

/* In Cyclone's sources: the highest sequence number that all matched reliable readers have acknowledged, or the last one if
   there is no such reader. The caller holds the writer's lock. */
ddsi_seqno_t ddsi_writer_max_drop_seq (const struct ddsi_writer *writer);

/* Writes the members of a sample, or with `dispose` only those of its key. `xcdr2` selects the encoding. The bytes are
   little-endian, so this works on little-endian machines only. */
int32_t tickwire_write (dds_entity_t writer, const struct ddsi_sertype *type, const void *bytes, size_t size,
                        bool xcdr2, bool dispose, int64_t timestamp_ns)
{
  static unsigned char none[4];
  const size_t padding = (4 - size % 4) % 4;
  unsigned char header[4] = { 0, xcdr2 ? 7 : 1, 0, (unsigned char) padding };
  const ddsrt_iovec_t parts[3] = {
    { .iov_base = header, .iov_len = sizeof (header) },
    { .iov_base = (void *) bytes, .iov_len = size },
    { .iov_base = none, .iov_len = padding }
  };
  struct ddsi_serdata *sample = ddsi_serdata_from_ser_iov (type, dispose ? SDK_KEY : SDK_DATA, 3, parts,
                                                           sizeof (header) + size + padding);
  if (sample == NULL)
    return DDS_RETCODE_BAD_PARAMETER;
  sample->statusinfo = dispose ? DDSI_STATUSINFO_DISPOSE : 0;
  sample->timestamp.v = timestamp_ns;
  return dds_forwardcdr (writer, sample);
}

/* Returns how many samples of a writer the slowest matched reliable reader has still to acknowledge: dds_wait_for_acks waits
   until this is 0. Readers of this process acknowledge at once. `type` is the type of the writer. */
int64_t tickwire_unacknowledged (dds_entity_t writer, const struct ddsi_sertype *type)
{
  dds_guid_t guid;
  const dds_return_t code = dds_get_guid (writer, &guid);
  if (code < 0)
    return code;
  ddsi_guid_t of_writer;
  memcpy (&of_writer, &guid, sizeof (of_writer));
  of_writer = ddsi_ntoh_guid (of_writer);
  struct ddsi_domaingv *domain = ddsrt_atomic_ldvoidp (&type->gv);
  struct ddsi_thread_state *thread = ddsi_lookup_thread_state ();
  int64_t count = DDS_RETCODE_ALREADY_DELETED;
  /* While the thread is awake, the writer is not freed. */
  ddsi_thread_state_awake (thread, domain);
  struct ddsi_writer *found = ddsi_entidx_lookup_writer_guid (domain->entity_index, &of_writer);
  if (found != NULL)
  {
    ddsrt_mutex_lock (&found->e.lock);
    count = (int64_t) (found->seq - ddsi_writer_max_drop_seq (found));
    ddsrt_mutex_unlock (&found->e.lock);
  }
  ddsi_thread_state_asleep (thread);
  return count;
}

/* Lends the bytes of a sample, with the encapsulation header before them, until `tickwire_release`. */
void tickwire_lend (const struct ddsi_serdata *sample, const void **bytes, size_t *size)
{
  ddsrt_iovec_t part;
  const uint32_t length = ddsi_serdata_size (sample);
  /* ddsi_serdata_to_ser_ref took a reference, which is returned here: the caller already holds one. */
  ddsi_serdata_to_ser_unref (ddsi_serdata_to_ser_ref (sample, 0, length, &part), &part);
  *bytes = part.iov_base;
  *size = part.iov_len;
}

void tickwire_release (struct ddsi_serdata *sample)
{
  ddsi_serdata_unref (sample);
}

/* A member: `kind` is one of dds_dynamic_type_kind_t; for a structure, `of` is its index. */
struct tickwire_member {
  const char *name;
  uint32_t kind;
  uint32_t of;
  bool is_sequence;
  bool is_key;
  bool is_optional;
};

struct tickwire_struct {
  const char *name;
  const struct tickwire_member *members;
  uint32_t member_count;
};

static dds_dynamic_type_t create_struct (dds_entity_t participant, const struct tickwire_struct *structs, uint32_t index,
                                         bool is_nested);

/* Creates the type of a member; the structure takes ownership of it. Every member needs a new one: if Cyclone already
   knows the type, it substitutes the known one and frees the argument, which must not be used again. */
static dds_dynamic_type_spec_t spec_of (dds_entity_t participant, const struct tickwire_struct *structs,
                                        const struct tickwire_member *member)
{
  switch (member->kind)
  {
    case DDS_DYNAMIC_STRUCTURE:
      return DDS_DYNAMIC_TYPE_SPEC (create_struct (participant, structs, member->of, true));
    case DDS_DYNAMIC_STRING8:
      return DDS_DYNAMIC_TYPE_SPEC (dds_dynamic_type_create (
        participant, (dds_dynamic_type_descriptor_t) { .kind = DDS_DYNAMIC_STRING8 }));
    default:
      return DDS_DYNAMIC_TYPE_SPEC_PRIM ((dds_dynamic_type_kind_t) member->kind);
  }
}

static dds_return_t add_member (dds_entity_t participant, const struct tickwire_struct *structs, dds_dynamic_type_t *to,
                                uint32_t id, const struct tickwire_member *member)
{
  dds_return_t code;
  dds_dynamic_type_spec_t spec = spec_of (participant, structs, member);
  if (spec.kind == DDS_DYNAMIC_TYPE_KIND_DEFINITION && spec.type.type.ret != DDS_RETCODE_OK)
    return spec.type.type.ret;
  if (member->is_sequence)
  {
    dds_dynamic_type_t sequence = dds_dynamic_type_create (participant, (dds_dynamic_type_descriptor_t) {
      .kind = DDS_DYNAMIC_SEQUENCE, .name = member->name, .element_type = spec });
    if (sequence.ret != DDS_RETCODE_OK)
      return sequence.ret;
    spec = DDS_DYNAMIC_TYPE_SPEC (sequence);
  }
  code = dds_dynamic_type_add_member (to, DDS_DYNAMIC_MEMBER_ (spec, member->name, id, DDS_DYNAMIC_MEMBER_INDEX_END));
  if (code == DDS_RETCODE_OK && member->is_key)
    code = dds_dynamic_member_set_key (to, id, true);
  if (code == DDS_RETCODE_OK && member->is_optional)
    code = dds_dynamic_member_set_optional (to, id, true);
  return code;
}

/* Creates a structure; its `ret` is the return code. */
static dds_dynamic_type_t create_struct (dds_entity_t participant, const struct tickwire_struct *structs, uint32_t index,
                                         bool is_nested)
{
  dds_return_t code;
  dds_dynamic_type_t type = dds_dynamic_type_create (participant, (dds_dynamic_type_descriptor_t) {
    .kind = DDS_DYNAMIC_STRUCTURE, .name = structs[index].name });
  if (type.ret != DDS_RETCODE_OK)
    return type;
  code = dds_dynamic_type_set_extensibility (&type, DDS_DYNAMIC_TYPE_EXT_FINAL);
  if (code == DDS_RETCODE_OK && is_nested)
    code = dds_dynamic_type_set_nested (&type, true);
  for (uint32_t m = 0; code == DDS_RETCODE_OK && m < structs[index].member_count; m++)
    code = add_member (participant, structs, &type, m, &structs[index].members[m]);
  if (code != DDS_RETCODE_OK)
  {
    dds_dynamic_type_unref (&type);
    memset (&type, 0, sizeof (type));
    type.ret = code;
  }
  return type;
}

/* Creates a topic whose type is the last of `structs`; each of them uses only earlier ones. Returns the topic or an
   error. */
int32_t tickwire_create_topic (dds_entity_t participant, const struct tickwire_struct *structs, uint32_t count,
                               const char *name)
{
  dds_typeinfo_t *type_info = NULL;
  dds_topic_descriptor_t *descriptor = NULL;
  dds_dynamic_type_t type = create_struct (participant, structs, count - 1, false);
  dds_return_t code = type.ret;
  if (code != DDS_RETCODE_OK)
    return code;
  code = dds_dynamic_type_register (&type, &type_info);
  if (code == DDS_RETCODE_OK)
    code = dds_create_topic_descriptor (DDS_FIND_SCOPE_LOCAL_DOMAIN, participant, type_info, 0, &descriptor);
  if (code == DDS_RETCODE_OK)
    code = dds_create_topic (participant, descriptor, name, NULL, NULL);
  if (descriptor != NULL)
    dds_delete_topic_descriptor (descriptor);
  if (type_info != NULL)
    dds_free_typeinfo (type_info);
  dds_dynamic_type_unref (&type);
  return code;
}

#include "RoundTrip.h"

static const uint32_t ops[] = {
  DDS_OP_ADR | DDS_OP_TYPE_SEQ | DDS_OP_SUBTYPE_1BY, offsetof (RoundTripModule_DataType, payload),
  DDS_OP_RTS
};

const dds_topic_descriptor_t RoundTripModule_DataType_desc = {
  .m_size = sizeof (RoundTripModule_DataType),
  .m_align = dds_alignof (RoundTripModule_DataType),
  .m_typename = "RoundTripModule::DataType",
  .m_nops = sizeof (ops) / sizeof (ops[0]),
  .m_ops = ops,
  .m_meta = ""
};

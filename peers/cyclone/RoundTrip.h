/* The type of Cyclone's example: module RoundTripModule { struct DataType { sequence<octet> payload; }; }; written by hand, as its
   compiler of IDL is not built here. */
#ifndef ROUNDTRIP_H
#define ROUNDTRIP_H

#include "dds/ddsc/dds_public_impl.h"

typedef struct RoundTripModule_DataType {
  struct { uint32_t _maximum; uint32_t _length; uint8_t *_buffer; bool _release; } payload;
} RoundTripModule_DataType;

extern const dds_topic_descriptor_t RoundTripModule_DataType_desc;

#define RoundTripModule_DataType__alloc() \
  ((RoundTripModule_DataType *) dds_alloc (sizeof (RoundTripModule_DataType)))
#define RoundTripModule_DataType_free(data, how) \
  dds_sample_free ((data), &RoundTripModule_DataType_desc, (how))

#endif

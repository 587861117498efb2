// Echoes Quote, MarketData, Book and BookTop for a test, with Fast DDS: takes samples from the topics Quote/There,
// MarketData/There and so on, and writes each to Quote/Back, MarketData/Back and so on. The types are written by hand
// from the IDL files, so that no code generator is needed.
//
// Usage: fast_dds_peer DOMAIN. Ends when its standard input ends.

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <fastcdr/Cdr.h>
#include <fastcdr/FastBuffer.h>
#include <fastcdr/exceptions/BadParamException.h>
#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/DataReaderListener.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/Topic.hpp>
#include <fastdds/dds/topic/TopicDataType.hpp>
#include <fastdds/dds/topic/TypeSupport.hpp>
#include <fastdds/rtps/transport/UDPv4TransportDescriptor.h>
#include <fastrtps/utils/IPLocator.h>
#include <fastrtps/utils/md5.h>

using namespace eprosima::fastdds::dds;
using eprosima::fastcdr::Cdr;
using eprosima::fastcdr::FastBuffer;
using eprosima::fastrtps::rtps::InstanceHandle_t;
using eprosima::fastrtps::rtps::SerializedPayload_t;

namespace {

// Longest serialised sample that this peer supports.
constexpr uint32_t kBytesMax = 1 << 18;

struct Quote {
  uint16_t messageType = 0;
  uint32_t sequenceNumber = 0, timestamp = 0, orderId = 0, volume = 0, price = 0;
  uint16_t securityId = 0;
  char exchangeId = 0, securityType = 0, sessionId = 0;

  static const char *name() { return "MiddlewareNewsBrief::Quote"; }
  static bool hasKey() { return false; }
  static bool hasLongKey() { return false; }
  template <class Operation> void eachOfKey(Operation &&) {}

  template <class Operation> void each(Operation &&operation) {
    operation(messageType), operation(sequenceNumber), operation(timestamp);
    operation(orderId), operation(volume), operation(price), operation(securityId);
    operation(exchangeId), operation(securityType), operation(sessionId);
  }
};

struct MarketDataEntry {
  uint32_t mdUpdateAction = 0, mdPriceLevel = 0;
  std::string mdEntryType;
  uint32_t openCloseSettleFlag = 0, securityIDSource = 0, securityID = 0, rptSeq = 0;
  double mdEntryPx = 0;
  uint32_t mdEntryTime = 0;
  int32_t mdEntrySize = 0;
  uint32_t numberOfOrders = 0;
  std::string tradingSessionID;
  double netChgPrevDay = 0;
  uint32_t tradeVolume = 0;
  std::string tradeCondition, tickDirection, quoteCondition;
  uint32_t aggressorSide = 0;
  std::string matchEventIndicator;

  template <class Operation> void each(Operation &&operation) {
    operation(mdUpdateAction), operation(mdPriceLevel), operation(mdEntryType);
    operation(openCloseSettleFlag), operation(securityIDSource), operation(securityID);
    operation(rptSeq), operation(mdEntryPx), operation(mdEntryTime), operation(mdEntrySize);
    operation(numberOfOrders), operation(tradingSessionID), operation(netChgPrevDay);
    operation(tradeVolume), operation(tradeCondition), operation(tickDirection);
    operation(quoteCondition), operation(aggressorSide), operation(matchEventIndicator);
  }
};

struct MarketData {
  uint32_t securityID = 0;
  std::string applVersionID, messageType, senderCompID;
  uint32_t msgSeqNum = 0, sendingTime = 0, tradeDate = 0;
  std::vector<MarketDataEntry> mdEntries;

  static const char *name() { return "MiddlewareNewsBrief::MarketData"; }
  static bool hasKey() { return true; }
  static bool hasLongKey() { return false; }
  template <class Operation> void eachOfKey(Operation &&operation) { operation(securityID); }

  template <class Operation> void each(Operation &&operation) {
    operation(securityID), operation(applVersionID), operation(messageType);
    operation(senderCompID), operation(msgSeqNum), operation(sendingTime);
    operation(tradeDate), operation(mdEntries);
  }
};

struct Decimal {
  int64_t mantissa = 0;
  int32_t exponent = 0;

  template <class Operation> void each(Operation &&operation) {
    operation(mantissa), operation(exponent);
  }
};

struct BookLevel {
  Decimal price, size;
  uint32_t orders = 0;

  template <class Operation> void each(Operation &&operation) {
    operation(price), operation(size), operation(orders);
  }
};

// The members that Book and BookTop have in common: the key and those after it.
struct BookHead {
  std::string source, channel, instrument, kind;
  uint64_t seq_num = 0, sending_time = 0, received_ns = 0;
  std::string stale_reason;

  static bool hasKey() { return true; }
  static bool hasLongKey() { return true; }

  template <class Operation> void eachOfKey(Operation &&operation) {
    operation(source), operation(channel), operation(instrument), operation(kind);
  }

  template <class Operation> void eachOfHead(Operation &&operation) {
    eachOfKey(operation);
    operation(seq_num), operation(sending_time), operation(received_ns), operation(stale_reason);
  }
};

struct Book : BookHead {
  std::vector<BookLevel> bids, offers;

  static const char *name() { return "tickwire::Book"; }

  template <class Operation> void each(Operation &&operation) {
    eachOfHead(operation);
    operation(bids), operation(offers);
  }
};

struct BookTop : BookHead {
  bool has_bid = false, has_offer = false;
  BookLevel bid, offer;

  static const char *name() { return "tickwire::BookTop"; }

  template <class Operation> void each(Operation &&operation) {
    eachOfHead(operation);
    operation(has_bid), operation(bid), operation(has_offer), operation(offer);
  }
};

struct Writing {
  Cdr &cdr;
  template <class Value> void operator()(const Value &value) { cdr << value; }
  void operator()(Decimal &decimal) { decimal.each(*this); }
  void operator()(BookLevel &level) { level.each(*this); }
  template <class Entry> void operator()(std::vector<Entry> &entries) {
    cdr << static_cast<uint32_t>(entries.size());
    for (Entry &entry : entries) entry.each(*this);
  }
};

struct Reading {
  Cdr &cdr;
  template <class Value> void operator()(Value &value) { cdr >> value; }
  void operator()(Decimal &decimal) { decimal.each(*this); }
  void operator()(BookLevel &level) { level.each(*this); }
  template <class Entry> void operator()(std::vector<Entry> &entries) {
    uint32_t count = 0;
    cdr >> count;
    if (count > kBytesMax) throw eprosima::fastcdr::exception::BadParamException("too many");
    entries.assign(count, {});
    for (Entry &entry : entries) entry.each(*this);
  }
};

template <class Sample> class Type : public TopicDataType {
 public:
  Type() {
    setName(Sample::name());
    m_typeSize = kBytesMax;
    m_isGetKeyDefined = Sample::hasKey();
  }

  bool serialize(void *data, SerializedPayload_t *payload) override {
    FastBuffer buffer(reinterpret_cast<char *>(payload->data), payload->max_size);
    Cdr cdr(buffer, Cdr::DEFAULT_ENDIAN, Cdr::DDS_CDR);
    payload->encapsulation =
        cdr.endianness() == Cdr::BIG_ENDIANNESS ? CDR_BE : CDR_LE;
    cdr.serialize_encapsulation();
    static_cast<Sample *>(data)->each(Writing{cdr});
    payload->length = static_cast<uint32_t>(cdr.getSerializedDataLength());
    return true;
  }

  bool deserialize(SerializedPayload_t *payload, void *data) override {
    try {
      FastBuffer buffer(reinterpret_cast<char *>(payload->data), payload->length);
      Cdr cdr(buffer, Cdr::DEFAULT_ENDIAN, Cdr::DDS_CDR);
      cdr.read_encapsulation();
      static_cast<Sample *>(data)->each(Reading{cdr});
      return true;
    } catch (const eprosima::fastcdr::exception::Exception &) {
      return false;
    }
  }

  std::function<uint32_t()> getSerializedSizeProvider(void *) override {
    return [] { return kBytesMax; };
  }

  void *createData() override { return new Sample; }
  void deleteData(void *data) override { delete static_cast<Sample *>(data); }

  // The key in big-endian form, padded with zeros, or its MD5 if it can be longer than 16 bytes.
  // Spec: DDSI-RTPS 2.5 §9.6.4.8.
  bool getKey(void *data, InstanceHandle_t *handle, bool) override {
    if (!Sample::hasKey()) return false;
    char bytes[4096] = {};
    FastBuffer buffer(bytes, sizeof bytes);
    Cdr cdr(buffer, Cdr::BIG_ENDIANNESS);
    static_cast<Sample *>(data)->eachOfKey(Writing{cdr});
    const unsigned char *found = reinterpret_cast<unsigned char *>(bytes);
    MD5 digest;
    if (Sample::hasLongKey()) {
      digest.init();
      digest.update(reinterpret_cast<unsigned char *>(bytes),
                    static_cast<unsigned>(cdr.getSerializedDataLength()));
      digest.finalize();
      found = digest.digest;
    }
    for (int byte = 0; byte < 16; ++byte) handle->value[byte] = found[byte];
    return true;
  }
};

template <class Sample> class Echo : public DataReaderListener {
 public:
  Echo(DomainParticipant *participant, Publisher *publisher, Subscriber *subscriber,
       const std::string &name) {
    TypeSupport type(new Type<Sample>());
    type.register_type(participant);
    Topic *there =
        participant->create_topic(name + "/There", type.get_type_name(), TOPIC_QOS_DEFAULT);
    Topic *back =
        participant->create_topic(name + "/Back", type.get_type_name(), TOPIC_QOS_DEFAULT);
    DataWriterQos writing = DATAWRITER_QOS_DEFAULT;
    writing.reliability().kind = RELIABLE_RELIABILITY_QOS;
    writing.durability().kind = TRANSIENT_LOCAL_DURABILITY_QOS;
    writing.history().depth = 8;
    writer_ = publisher->create_datawriter(back, writing);
    DataReaderQos reading = DATAREADER_QOS_DEFAULT;
    reading.reliability().kind = RELIABLE_RELIABILITY_QOS;
    reading.durability().kind = TRANSIENT_LOCAL_DURABILITY_QOS;
    reading.history().depth = 8;
    reader_ = subscriber->create_datareader(there, reading, this);
    if (!there || !back || !writer_ || !reader_) {
      std::cerr << "cannot make the topics of " << name << std::endl;
      std::exit(1);
    }
  }

  void on_data_available(DataReader *reader) override {
    Sample sample;
    SampleInfo info;
    while (reader->take_next_sample(&sample, &info) == ReturnCode_t::RETCODE_OK) {
      if (info.valid_data) writer_->write(&sample);
    }
  }

 private:
  DataWriter *writer_ = nullptr;
  DataReader *reader_ = nullptr;
};

DomainParticipant *join(uint32_t domain) {
  DomainParticipantQos qos = PARTICIPANT_QOS_DEFAULT;
  // Loopback only, over UDP, which every vendor supports.
  auto udp = std::make_shared<eprosima::fastdds::rtps::UDPv4TransportDescriptor>();
  udp->interfaceWhiteList.push_back("127.0.0.1");
  qos.transport().use_builtin_transports = false;
  qos.transport().user_transports.push_back(udp);
  eprosima::fastrtps::rtps::Locator_t peer;
  peer.kind = LOCATOR_KIND_UDPv4;
  eprosima::fastrtps::rtps::IPLocator::setIPv4(peer, 127, 0, 0, 1);
  qos.wire_protocol().builtin.initialPeersList.push_back(peer);
  return DomainParticipantFactory::get_instance()->create_participant(domain, qos);
}

}  // namespace

int main(int count, char **arguments) {
  if (count != 2) {
    std::cerr << "usage: fast_dds_peer DOMAIN" << std::endl;
    return 2;
  }
  DomainParticipant *participant = join(static_cast<uint32_t>(std::atoi(arguments[1])));
  if (!participant) {
    std::cerr << "cannot join the domain" << std::endl;
    return 1;
  }
  Publisher *publisher = participant->create_publisher(PUBLISHER_QOS_DEFAULT);
  Subscriber *subscriber = participant->create_subscriber(SUBSCRIBER_QOS_DEFAULT);
  Echo<Quote> quotes(participant, publisher, subscriber, "Quote");
  Echo<MarketData> marketData(participant, publisher, subscriber, "MarketData");
  Echo<Book> books(participant, publisher, subscriber, "Book");
  Echo<BookTop> tops(participant, publisher, subscriber, "BookTop");
  std::string line;
  while (std::getline(std::cin, line)) {
  }
  participant->delete_contained_entities();
  DomainParticipantFactory::get_instance()->delete_participant(participant);
  return 0;
}

// Round trips between two processes with Fast DDS: reliable, keep last 1, answered from the listener, as Cyclone's own example with
// `-l` does.
//
// Usage: roundtrip pong DOMAIN            answers until it is killed
//        roundtrip ping DOMAIN SECONDS    prints percentiles of half the round trip of 32 bytes, in microseconds

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/DataReaderListener.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/Topic.hpp>
#include <fastdds/dds/topic/TypeSupport.hpp>

#include "RoundTripPubSubTypes.h"
#include "loopback.hpp"

using namespace eprosima::fastdds::dds;
using Sample = RoundTripModule::DataType;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::size_t kBytes = 32;
constexpr std::chrono::seconds kPatience{10};
constexpr std::chrono::seconds kWarming{1};

[[noreturn]] void fail(const char *why) {
  std::fprintf(stderr, "roundtrip: %s\n", why);
  std::exit(1);
}

// A writer of one topic and a reader of the other.
class Ends {
 public:
  Ends(DomainParticipant *participant, const char *written, const char *read) {
    TypeSupport type(new RoundTripModule::DataTypePubSubType());
    type.register_type(participant);
    Topic *out = participant->create_topic(written, type.get_type_name(), TOPIC_QOS_DEFAULT);
    Topic *in = participant->create_topic(read, type.get_type_name(), TOPIC_QOS_DEFAULT);
    DataWriterQos writer_qos = DATAWRITER_QOS_DEFAULT;
    writer_qos.reliability().kind = RELIABLE_RELIABILITY_QOS;
    writer_qos.history().kind = KEEP_LAST_HISTORY_QOS;
    writer_qos.history().depth = 1;
    DataReaderQos reader_qos = DATAREADER_QOS_DEFAULT;
    reader_qos.reliability().kind = RELIABLE_RELIABILITY_QOS;
    reader_qos.history().kind = KEEP_LAST_HISTORY_QOS;
    reader_qos.history().depth = 1;
    if (out) writer = participant->create_publisher(PUBLISHER_QOS_DEFAULT)->create_datawriter(out, writer_qos);
    // The writer is complete before the first sample can arrive.
    if (writer && in)
      reader = participant->create_subscriber(SUBSCRIBER_QOS_DEFAULT)->create_datareader(in, reader_qos);
    if (!reader) fail("cannot create the topics, the writer or the reader");
  }

  bool is_matched() const {
    PublicationMatchedStatus readers;
    SubscriptionMatchedStatus writers;
    writer->get_publication_matched_status(readers);
    reader->get_subscription_matched_status(writers);
    return readers.current_count > 0 && writers.current_count > 0;
  }

  DataWriter *writer = nullptr;
  DataReader *reader = nullptr;
};

// Sends each sample back.
class Pong : public DataReaderListener {
 public:
  void on_data_available(DataReader *reader) override {
    SampleInfo info;
    while (reader->take_next_sample(&sample_, &info) == ReturnCode_t::RETCODE_OK)
      if (info.valid_data) writer->write(&sample_);
  }

  DataWriter *writer = nullptr;

 private:
  Sample sample_;
};

// Records each round trip and begins the next. The first eight bytes of a sample are its number.
class Ping : public DataReaderListener {
 public:
  Ping() { sample_.payload().resize(kBytes); }

  void send() {
    ++number_;
    std::memcpy(sample_.payload().data(), &number_, sizeof number_);
    sent_ = Clock::now();
    writer->write(&sample_);
  }

  void on_data_available(DataReader *reader) override {
    SampleInfo info;
    while (reader->take_next_sample(&answer_, &info) == ReturnCode_t::RETCODE_OK) {
      if (!info.valid_data) continue;
      const auto now = Clock::now();
      if (answer_.payload() != sample_.payload()) fail("an answer has other bytes than the sample");
      if (now >= begin) halves.push_back(std::chrono::duration<double, std::micro>(now - sent_).count() / 2);
      if (now < end) {
        send();
      } else {
        std::lock_guard<std::mutex> guard(mutex);
        is_done = true;
        done.notify_one();
      }
    }
  }

  DataWriter *writer = nullptr;
  Clock::time_point begin, end;
  std::vector<double> halves;
  std::mutex mutex;
  std::condition_variable done;
  bool is_done = false;

 private:
  Sample sample_, answer_;
  std::uint64_t number_ = 0;
  Clock::time_point sent_;
};

}  // namespace

int main(int count, char **arguments) {
  const std::string role = count > 1 ? arguments[1] : "";
  if (!(role == "pong" && count == 3) && !(role == "ping" && count == 4)) {
    std::fputs("usage: roundtrip pong DOMAIN | roundtrip ping DOMAIN SECONDS\n", stderr);
    return 2;
  }
  DomainParticipant *participant = join(static_cast<std::uint32_t>(std::atoi(arguments[2])));
  if (!participant) fail("cannot join the domain");
  if (role == "pong") {
    // The listener is set after the writer that it answers with.
    Pong pong;
    Ends ends(participant, "Pong", "Ping");
    pong.writer = ends.writer;
    ends.reader->set_listener(&pong);
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
  }
  Ping ping;
  ping.halves.reserve(1 << 22);
  Ends ends(participant, "Ping", "Pong");
  ping.writer = ends.writer;
  ends.reader->set_listener(&ping);
  const auto patience = Clock::now() + kPatience;
  while (!ends.is_matched()) {
    if (Clock::now() > patience) fail("no pong in this domain");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  // The other side may match a moment later; a reliable writer repeats nothing for readers that it does not know.
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  ping.begin = Clock::now() + kWarming;
  ping.end = ping.begin + std::chrono::milliseconds(static_cast<long>(std::atof(arguments[3]) * 1000));
  ping.send();
  std::unique_lock<std::mutex> lock(ping.mutex);
  if (!ping.done.wait_until(lock, ping.end + kPatience, [&] { return ping.is_done; })) fail("an answer did not arrive");
  std::sort(ping.halves.begin(), ping.halves.end());
  const auto at = [&](double share) { return ping.halves[static_cast<std::size_t>(share * (ping.halves.size() - 1))]; };
  if (ping.halves.empty()) fail("no round trip was measured");
  std::printf("%zu round trips, half in microseconds: p50 %.2f, p99 %.2f, p99.9 %.2f\n", ping.halves.size(), at(0.5), at(0.99),
              at(0.999));
  participant->delete_contained_entities();
  DomainParticipantFactory::get_instance()->delete_participant(participant);
  return 0;
}

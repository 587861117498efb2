// Reads the normalised samples of `tickwire receive --publish` with Fast DDS, and prints each as a line of JSON: the topic, then
// the members by their names in the IDL file.
//
// Usage: subscriber DOMAIN. Ends after the sample of topic Done, or with status 1 if none arrives within a minute.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/Topic.hpp>
#include <fastdds/dds/topic/TypeSupport.hpp>

#include "DonePubSubTypes.h"
#include "MarketPubSubTypes.h"
#include "loopback.hpp"

using namespace eprosima::fastdds::dds;

namespace {

constexpr std::chrono::seconds kPatience{60};

void print(const std::string &text) {
  std::cout << '"';
  for (unsigned char byte : text) {
    if (byte < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", byte);
      std::cout << escaped;
      continue;
    }
    if (byte == '"' || byte == '\\') std::cout << '\\';
    std::cout << byte;
  }
  std::cout << '"';
}
void print(bool flag) { std::cout << (flag ? "true" : "false"); }
void print(int32_t number) { std::cout << number; }
void print(int64_t number) { std::cout << number; }
void print(uint32_t number) { std::cout << number; }
void print(uint64_t number) { std::cout << number; }

template <class Value> void member(const char *before, const char *name, const Value &value);

void print(const tickwire::Decimal &decimal) {
  member("{", "mantissa", decimal.mantissa());
  member(", ", "exponent", decimal.exponent());
  std::cout << '}';
}

void print(const tickwire::BookLevel &level) {
  member("{", "price", level.price());
  member(", ", "size", level.size());
  member(", ", "orders", level.orders());
  std::cout << '}';
}

void print(const std::vector<tickwire::BookLevel> &levels) {
  std::cout << '[';
  for (size_t index = 0; index < levels.size(); ++index) {
    if (index > 0) std::cout << ", ";
    print(levels[index]);
  }
  std::cout << ']';
}

template <class Value> void member(const char *before, const char *name, const Value &value) {
  std::cout << before << '"' << name << "\": ";
  print(value);
}

#define MEMBER(name) member(", ", #name, sample.name())

// The members at the start of all samples.
template <class Sample> void print_key(const Sample &sample) {
  MEMBER(source), MEMBER(channel), MEMBER(instrument);
}
template <class Sample> void print_origin(const Sample &sample) {
  MEMBER(seq_num), MEMBER(sending_time), MEMBER(received_ns);
}

void print_members(const tickwire::BookTop &sample) {
  print_key(sample), MEMBER(kind), print_origin(sample), MEMBER(stale_reason);
  MEMBER(has_bid), MEMBER(bid), MEMBER(has_offer), MEMBER(offer);
}

void print_members(const tickwire::Book &sample) {
  print_key(sample), MEMBER(kind), print_origin(sample), MEMBER(stale_reason);
  MEMBER(bids), MEMBER(offers);
}

void print_members(const tickwire::Trade &sample) {
  print_key(sample), print_origin(sample), MEMBER(exchange_date);
  MEMBER(has_exchange_time), MEMBER(exchange_time), MEMBER(action), MEMBER(has_price), MEMBER(price);
  MEMBER(has_size), MEMBER(size), MEMBER(id), MEMBER(aggressor), MEMBER(conditions);
}

void print_members(const tickwire::Status &sample) {
  print_key(sample), print_origin(sample), MEMBER(code), MEMBER(may_cross);
}

void print_members(const tickwire::Definition &sample) {
  print_key(sample), print_origin(sample), MEMBER(symbol), MEMBER(has_tick), MEMBER(tick), MEMBER(expiry);
}

class Readers {
 public:
  explicit Readers(DomainParticipant *participant)
      : participant_(participant), subscriber_(participant->create_subscriber(SUBSCRIBER_QOS_DEFAULT)) {
    // Matches what `receive --publish` offers. Fast DDS limits a reader to 10 instances unless told otherwise, and rejects
    // the samples of all others.
    qos_.reliability().kind = RELIABLE_RELIABILITY_QOS;
    qos_.durability().kind = TRANSIENT_LOCAL_DURABILITY_QOS;
    qos_.history().kind = KEEP_ALL_HISTORY_QOS;
    qos_.resource_limits().max_samples = LENGTH_UNLIMITED;
    qos_.resource_limits().max_instances = LENGTH_UNLIMITED;
    qos_.resource_limits().max_samples_per_instance = LENGTH_UNLIMITED;
  }

  template <class PubSubType> DataReader *create(const char *topic) {
    TypeSupport type(new PubSubType());
    type.register_type(participant_);
    Topic *made = participant_->create_topic(topic, type.get_type_name(), TOPIC_QOS_DEFAULT);
    DataReader *reader = made ? subscriber_->create_datareader(made, qos_) : nullptr;
    if (!reader) {
      std::cerr << "cannot read topic " << topic << std::endl;
      std::exit(1);
    }
    return reader;
  }

 private:
  DomainParticipant *participant_;
  Subscriber *subscriber_;
  DataReaderQos qos_ = DATAREADER_QOS_DEFAULT;
};

// Prints all available samples and returns their number.
template <class Sample> size_t take_all(const char *topic, DataReader *reader) {
  size_t count = 0;
  Sample sample;
  SampleInfo info;
  while (reader->take_next_sample(&sample, &info) == ReturnCode_t::RETCODE_OK) {
    if (!info.valid_data) continue;
    member("{", "topic", std::string(topic));
    print_members(sample);
    std::cout << "}\n";
    ++count;
  }
  return count;
}

}  // namespace

int main(int count, char **arguments) {
  if (count != 2) {
    std::cerr << "usage: subscriber DOMAIN" << std::endl;
    return 2;
  }
  DomainParticipant *participant = join(static_cast<uint32_t>(std::atoi(arguments[1])));
  if (!participant) {
    std::cerr << "cannot join the domain" << std::endl;
    return 1;
  }
  Readers readers(participant);
  DataReader *tops = readers.create<tickwire::BookTopPubSubType>("BookTop");
  DataReader *books = readers.create<tickwire::BookPubSubType>("Book");
  DataReader *trades = readers.create<tickwire::TradePubSubType>("Trade");
  DataReader *statuses = readers.create<tickwire::StatusPubSubType>("Status");
  DataReader *definitions = readers.create<tickwire::DefinitionPubSubType>("Definition");
  // Created last: publishers take a reader of this topic for a complete subscriber.
  DataReader *ends = readers.create<MiddlewareNewsBrief::DonePubSubType>("Done");
  const auto until = std::chrono::steady_clock::now() + kPatience;
  bool is_done = false;
  while (std::chrono::steady_clock::now() < until) {
    size_t taken = take_all<tickwire::BookTop>("BookTop", tops);
    taken += take_all<tickwire::Book>("Book", books);
    taken += take_all<tickwire::Trade>("Trade", trades);
    taken += take_all<tickwire::Status>("Status", statuses);
    taken += take_all<tickwire::Definition>("Definition", definitions);
    if (taken > 0) continue;
    if (is_done) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    // Checked last: earlier samples are taken in the next iteration.
    MiddlewareNewsBrief::Done done;
    SampleInfo info;
    is_done = ends->take_next_sample(&done, &info) == ReturnCode_t::RETCODE_OK && info.valid_data;
  }
  std::cout.flush();
  participant->delete_contained_entities();
  DomainParticipantFactory::get_instance()->delete_participant(participant);
  if (!is_done) std::cerr << "no sample of topic Done arrived" << std::endl;
  return is_done ? 0 : 1;
}

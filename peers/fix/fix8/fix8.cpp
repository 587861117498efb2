// Fix8's operations on the order and the report of ../orders.rs; main.rs calls them. f8c generates the classes from Fix8's
// schema of FIX 4.2.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <sstream>
#include <string>

#include <fix8/f8includes.hpp>
#include "peer_types.hpp"
#include "peer_router.hpp"
#include "peer_classes.hpp"

using namespace FIX8;

namespace {

// Prints the value if the field is a `Number`, which Fix8 stores as a floating-point number; false if it is another field.
template <class Number> bool print_number(const BaseField &field, std::ostream &out) {
  if (field.get_tag() != Number::get_field_id()) return false;
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", static_cast<const Number &>(field).get());
  out << text;
  return true;
}

void print_fields(const MessageBase &part, std::ostream &out) {
  for (auto field = part.fields_begin(); field != part.fields_end(); ++field) {
    const BaseField &value = *field->second;
    out << value.get_tag() << '=';
    if (!print_number<PEER::OrderQty>(value, out) && !print_number<PEER::Price>(value, out) &&
        !print_number<PEER::LeavesQty>(value, out) && !print_number<PEER::CumQty>(value, out) &&
        !print_number<PEER::AvgPx>(value, out))
      value.print(out);
    out << '|';
  }
}

// Keeps the compiler from removing the message, whose values nobody reads.
void keep(const void *message) { asm volatile("" : : "r"(message) : "memory"); }

std::size_t copy(const std::string &text, char *out, std::size_t len) {
  if (text.size() > len) return 0;
  std::memcpy(out, text.data(), text.size());
  return text.size();
}

// A buffer of the size that `Message::encode` needs.
struct Room {
  char bytes[FIX8_MAX_MSG_LENGTH + HEADER_CALC_OFFSET];
};

std::size_t encode(Message &message, char *out, std::size_t len) {
  Room room;
  char *begin = room.bytes;
  const std::size_t size = message.encode(&begin);
  if (size > len) return 0;
  std::memcpy(out, begin, size);
  return size;
}

// Seconds since 1970 of a time of 2024-03-07.
Tickval at(int hour, int minute, int second) {
  return Tickval(Tickval::ticks(1709769600 + hour * 3600 + minute * 60 + second) * Tickval::billion);
}

void put_header(Message &message, const char *sender, const char *target, int number, const Tickval &sent) {
  *message.Header() << new PEER::SenderCompID(sender) << new PEER::TargetCompID(target)
                    << new PEER::MsgSeqNum(number) << new PEER::SendingTime(sent);
}

Message *order() {
  auto *message = new PEER::NewOrderSingle;
  put_header(*message, "CLIENT", "MARKET", 499650, at(11, 20, 43));
  *message << new PEER::ClOrdID("ord509647-500000") << new PEER::HandlInst('1') << new PEER::Symbol("BHP")
           << new PEER::Side('1') << new PEER::TransactTime(at(11, 20, 14)) << new PEER::OrderQty(57, 0)
           << new PEER::OrdType('2') << new PEER::Price(298.075, 3) << new PEER::TimeInForce('4');
  return message;
}

Message *report() {
  auto *message = new PEER::ExecutionReport;
  put_header(*message, "MARKET", "CLIENT", 1962926, at(11, 22, 7));
  *message << new PEER::OrderID("ord499647") << new PEER::ClOrdID("ord509647-500000") << new PEER::ExecID("ord499647")
           << new PEER::ExecTransType('0') << new PEER::ExecType('0') << new PEER::OrdStatus('0')
           << new PEER::Symbol("BHP") << new PEER::Side('1') << new PEER::OrderQty(57, 0) << new PEER::OrdType('2')
           << new PEER::Price(298.07, 2) << new PEER::TimeInForce('4') << new PEER::LastCapacity('4')
           << new PEER::LeavesQty(57, 0) << new PEER::CumQty(0, 0) << new PEER::AvgPx(0, 0)
           << new PEER::TransactTime(at(11, 20, 14)) << new PEER::ReportToExch(true) << new PEER::HandlInst('1');
  return message;
}

} // namespace

// Returns the text of a message in the type that Fix8 decodes.
extern "C" void *fix8_text(const char *bytes, std::size_t len) { return new std::string(bytes, len); }

// Decodes the message: verifies CheckSum and required fields, and converts every value to its type.
extern "C" std::size_t fix8_decode(const void *text) {
  const std::unique_ptr<Message> message(Message::factory(PEER::ctx(), *static_cast<const std::string *>(text)));
  keep(message.get());
  return 1;
}

// Writes the values of the message as `tag=value|`. Returns their length, or 0 if Fix8 refuses the message.
extern "C" std::size_t fix8_fields(const void *text, char *out, std::size_t len) try {
  const std::unique_ptr<Message> message(Message::factory(PEER::ctx(), *static_cast<const std::string *>(text)));
  std::ostringstream fields;
  print_fields(*message->Header(), fields);
  print_fields(*message, fields);
  print_fields(*message->Trailer(), fields);
  return copy(fields.str(), out, len);
} catch (const std::exception &error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 0;
}

// Return messages that `fix8_encode` writes over and over.
extern "C" void *fix8_order_message() { return order(); }
extern "C" void *fix8_report_message() { return report(); }

// Encodes the message, and prepares it to be encoded again, which needs a new MsgSeqNum.
extern "C" std::size_t fix8_encode(void *message, int number, char *out, std::size_t len) {
  Message &again = *static_cast<Message *>(message);
  const std::size_t size = encode(again, out, len);
  again.setup_reuse();
  *again.Header() << new PEER::MsgSeqNum(number);
  return size;
}

// Build the message, encode it and delete it.
extern "C" std::size_t fix8_order(char *out, std::size_t len) {
  return encode(*std::unique_ptr<Message>(order()), out, len);
}
extern "C" std::size_t fix8_report(char *out, std::size_t len) {
  return encode(*std::unique_ptr<Message>(report()), out, len);
}

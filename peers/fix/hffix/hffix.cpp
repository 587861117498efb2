// hffix's operations on the order and the report of ../orders.rs; main.rs calls them.

#include <cstddef>
#include <cstdint>
#include <string>

#include "hffix.hpp"

using hffix::message_reader;
using hffix::message_writer;

namespace {

std::size_t finish(message_writer &writer, const char *out) {
  writer.push_back_trailer();
  return writer.message_end() - out;
}

} // namespace

// Checks BodyLength and CheckSum, and finds tag and value of every field.
extern "C" std::size_t hffix_parse(const char *bytes, std::size_t len) {
  message_reader reader(bytes, len);
  if (!reader.is_complete() || !reader.is_valid()) return 0;
  std::size_t sum = 0;
  for (auto field = reader.begin(); field != reader.end(); ++field) sum += field->tag() + field->value().size();
  return sum;
}

// The same, and converts every value to its type.
extern "C" std::size_t hffix_typed(const char *bytes, std::size_t len) {
  message_reader reader(bytes, len);
  if (!reader.is_complete() || !reader.is_valid()) return 0;
  std::size_t sum = 0;
  for (auto field = reader.begin(); field != reader.end(); ++field) {
    switch (field->tag()) {
    case 6: case 14: case 38: case 44: case 151: {
      std::int64_t mantissa = 0, exponent = 0;
      field->value().as_decimal(mantissa, exponent);
      sum += mantissa + exponent;
      break;
    }
    case 34: sum += field->value().as_int<std::uint64_t>(); break;
    case 52: case 60: {
      int year, month, day, hour, minute, second, millis;
      if (!field->value().as_timestamp(year, month, day, hour, minute, second, millis)) return 0;
      sum += year + month + day + hour + minute + second + millis;
      break;
    }
    case 20: case 21: case 29: case 39: case 40: case 54: case 59: case 113: case 150:
      sum += field->value().as_char();
      break;
    default: sum += field->value().size();
    }
  }
  return sum;
}

// Writes the fields as `tag=value|`, with the values that hffix_typed converts as they are after conversion: a decimal as
// mantissa and exponent, a time as numbers. Returns 0 if the message is not valid or does not fit.
extern "C" std::size_t hffix_fields(const char *bytes, std::size_t len, char *out, std::size_t room) {
  message_reader reader(bytes, len);
  if (!reader.is_complete() || !reader.is_valid()) return 0;
  std::string text;
  for (auto field = reader.begin(); field != reader.end(); ++field) {
    text += std::to_string(field->tag()) + '=';
    switch (field->tag()) {
    case 6: case 14: case 38: case 44: case 151: {
      std::int64_t mantissa = 0, exponent = 0;
      field->value().as_decimal(mantissa, exponent);
      text += std::to_string(mantissa) + 'e' + std::to_string(exponent);
      break;
    }
    case 34: text += std::to_string(field->value().as_int<std::uint64_t>()); break;
    case 52: case 60: {
      int parts[7];
      if (!field->value().as_timestamp(parts[0], parts[1], parts[2], parts[3], parts[4], parts[5], parts[6])) return 0;
      for (int part : parts) text += std::to_string(part) + ' ';
      break;
    }
    case 20: case 21: case 29: case 39: case 40: case 54: case 59: case 113: case 150:
      text += field->value().as_char();
      break;
    default: text.append(field->value().begin(), field->value().end());
    }
    text += '|';
  }
  return text.size() <= room ? text.copy(out, room) : 0;
}

extern "C" std::size_t hffix_order(char *out, std::size_t len) {
  message_writer to(out, len);
  to.push_back_header("FIX.4.2");
  to.push_back_string(35, "D");
  to.push_back_string(49, "CLIENT");
  to.push_back_string(56, "MARKET");
  to.push_back_int(34, 499650);
  to.push_back_timestamp(52, 2024, 3, 7, 11, 20, 43);
  to.push_back_string(11, "ord509647-500000");
  to.push_back_char(21, '1');
  to.push_back_string(55, "BHP");
  to.push_back_char(54, '1');
  to.push_back_timestamp(60, 2024, 3, 7, 11, 20, 14);
  to.push_back_int(38, 57);
  to.push_back_char(40, '2');
  to.push_back_decimal(44, std::int64_t{298075}, std::int64_t{-3});
  to.push_back_char(59, '4');
  return finish(to, out);
}

extern "C" std::size_t hffix_report(char *out, std::size_t len) {
  message_writer to(out, len);
  to.push_back_header("FIX.4.2");
  to.push_back_string(35, "8");
  to.push_back_string(49, "MARKET");
  to.push_back_string(56, "CLIENT");
  to.push_back_int(34, 1962926);
  to.push_back_timestamp(52, 2024, 3, 7, 11, 22, 7);
  to.push_back_string(37, "ord499647");
  to.push_back_string(11, "ord509647-500000");
  to.push_back_string(17, "ord499647");
  to.push_back_char(20, '0');
  to.push_back_char(150, '0');
  to.push_back_char(39, '0');
  to.push_back_string(55, "BHP");
  to.push_back_char(54, '1');
  to.push_back_int(38, 57);
  to.push_back_char(40, '2');
  to.push_back_decimal(44, std::int64_t{29807}, std::int64_t{-2});
  to.push_back_char(59, '4');
  to.push_back_char(29, '4');
  to.push_back_int(151, 57);
  to.push_back_int(14, 0);
  to.push_back_int(6, 0);
  to.push_back_timestamp(60, 2024, 3, 7, 11, 20, 14);
  to.push_back_char(113, 'Y');
  to.push_back_char(21, '1');
  return finish(to, out);
}

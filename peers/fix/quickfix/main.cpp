// Reads a message with QuickFIX, without a dictionary, and encodes it again from its fields as text. Prints the times, and a
// digest of the values that were read.

#include <quickfix/Message.h>
#include <quickfix/Values.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

namespace {

const int runs = 500;
volatile std::size_t sink;

template <typename Run> double least(double seconds, Run run) {
  using clock = std::chrono::steady_clock;
  const auto begin = clock::now();
  double found = 1e18;
  do {
    const auto start = clock::now();
    for (int at = 0; at < runs; ++at) run();
    const std::chrono::duration<double, std::nano> took = clock::now() - start;
    found = std::min(found, took.count() / runs);
  } while (std::chrono::duration<double>(clock::now() - begin).count() < seconds);
  return found;
}

// Tags and values, without BodyLength and CheckSum, which QuickFIX has verified.
using Fields = std::map<int, std::string>;

Fields fields(const FIX::Message &message) {
  Fields all;
  for (const auto &field : message.getHeader()) all[field.getTag()] = field.getString();
  for (const auto &field : message) all[field.getTag()] = field.getString();
  all.erase(FIX::FIELD::BodyLength);
  return all;
}

// FNV-1a over 64-bit words: of each field, in the order of tags, the tag, the length of the value and its bytes.
std::uint64_t digest(const Fields &fields) {
  std::uint64_t state = 0xcbf29ce484222325;
  const auto word = [&](std::uint64_t value) { state = (state ^ value) * 0x100000001b3; };
  for (const auto &field : fields) {
    word(field.first);
    word(field.second.size());
    for (unsigned char byte : field.second) word(byte);
  }
  return state;
}

} // namespace

int main(int count, char **arguments) {
  if (count != 2) {
    std::fputs("expected: SECONDS\n", stderr);
    return 2;
  }
  const double seconds = std::atof(arguments[1]);
  const std::string text((std::istreambuf_iterator<char>(std::cin)), std::istreambuf_iterator<char>());
  try {
    // Checks BodyLength and CheckSum.
    FIX::Message message(text, true);
    std::string out;
    const double parse = least(seconds, [&] {
      FIX::Message again(text, true);
      sink = again.totalFields();
    });
    std::vector<FIX::FieldBase> header(message.getHeader().begin(), message.getHeader().end());
    std::vector<FIX::FieldBase> body(message.begin(), message.end());
    const double encode = least(seconds, [&] {
      FIX::Message made;
      for (const auto &field : header) made.getHeader().setField(field.getTag(), field.getString());
      for (const auto &field : body) made.setField(field.getTag(), field.getString());
      made.toString(out);
      sink = out.size();
    });
    const Fields read = fields(message);
    if (fields(FIX::Message(out, true)) != read) {
      std::fputs("it does not write the values that it has read\n", stderr);
      return 1;
    }
    std::printf("{\"parse\": %.2f, \"encode\": %.2f, \"digest\": \"%016llx\"}\n", parse, encode,
                static_cast<unsigned long long>(digest(read)));
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}

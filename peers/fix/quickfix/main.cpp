// Reads a message with QuickFIX, without a dictionary, and encodes it again from its fields as text.

#include <quickfix/Message.h>
#include <quickfix/Values.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <iterator>
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
    if (out.size() != text.size()) {
      std::fputs("it does not write what it has read\n", stderr);
      return 1;
    }
    std::printf("{\"parse\": %.2f, \"encode\": %.2f}\n", parse, encode);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}

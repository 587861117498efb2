// Decodes a capture with mFAST, over and over, and prints the least time a message and a digest of all values.
// GENERATED is the name of a module of fast_type_gen for the same templates: its decoder (fast_decoder_v2) is measured;
// without it, the one that reads templates when it runs (fast_decoder).
#include <mfast.h>
#include <mfast/coder/fast_decoder.h>
#include <mfast/coder/fast_decoder_v2.h>
#include <mfast/xml_parser/dynamic_templates_description.h>
#include <boost/exception/diagnostic_information.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>
#ifdef GENERATED
#define TEXT_OF(name) #name
#define HEADER_OF(name) TEXT_OF(name.h)
#include HEADER_OF(GENERATED)
#endif

namespace {

std::string file(const char *name) {
  std::ifstream in(name, std::ios::binary);
  if (!in)
    throw std::runtime_error(std::string(name) + " cannot be read");
  return std::string(std::istreambuf_iterator<char>(in), {});
}

struct Packet {
  const char *first, *last;
};

// Packets lie behind big-endian lengths of 32 bits.
std::vector<Packet> packets(const std::string &capture, std::size_t preamble) {
  std::vector<Packet> all;
  for (std::size_t at = 0; at + 4 <= capture.size();) {
    const auto *b = reinterpret_cast<const unsigned char *>(capture.data()) + at;
    std::size_t length = std::size_t(b[0]) << 24 | b[1] << 16 | b[2] << 8 | b[3];
    if (length > capture.size() - at - 4 || length < preamble)
      throw std::runtime_error("the capture is cut short");
    all.push_back({capture.data() + at + 4 + preamble, capture.data() + at + 4 + length});
    at += 4 + length;
  }
  return all;
}

// FNV-1a over words: template id, then each value that is present, in the order of the template. A decimal is mantissa and
// exponent, a string its length and bytes, a sequence the number of its entries and they.
class Digest {
public:
  std::uint64_t state = 0xcbf29ce484222325;

  void word(std::uint64_t value) { state = (state ^ value) * 0x100000001b3; }
  template <class Message> void message(const Message &message) {
    word(message.id());
    visit(mfast::aggregate_cref(message), 0);
  }
  template <class Integer> void visit(const mfast::int_cref<Integer> &ref) {
    word(static_cast<std::uint64_t>(static_cast<std::int64_t>(ref.value())));
  }
  void visit(const mfast::enum_cref &ref) { word(ref.value()); }
  void visit(const mfast::set_cref &ref) { word(ref.value()); }
  void visit(const mfast::decimal_cref &ref) {
    word(static_cast<std::uint64_t>(ref.mantissa()));
    word(static_cast<std::uint64_t>(std::int64_t(ref.exponent())));
  }
  template <class Char> void visit(const mfast::string_cref<Char> &ref) { bytes(ref); }
  void visit(const mfast::byte_vector_cref &ref) { bytes(ref); }
  template <class Integer> void visit(const mfast::int_vector_cref<Integer> &) {
    throw std::runtime_error("a vector of integers is no type of FAST 1.1");
  }
  void visit(const mfast::aggregate_cref &ref, int) {
    for (auto &&field : ref)
      if (field.present())
        mfast::apply_accessor(*this, field);
  }
  void visit(const mfast::sequence_cref &ref, int) {
    word(ref.size());
    for (auto element : ref)
      visit(element, 0);
  }

private:
  template <class Ref> void bytes(const Ref &ref) {
    word(ref.size());
    for (auto byte : ref)
      word(static_cast<unsigned char>(byte));
  }
};

// What is decoded is read at least once, where the compiler cannot see that nobody wants it.
void keep(const void *message) { asm volatile("" : : "r"(message) : "memory"); }

template <class Decode, class Each>
std::uint64_t pass(const std::vector<Packet> &packets, bool by_packet, Decode &&decode, Each &&each) {
  std::uint64_t messages = 0;
  bool reset = true;
  for (const Packet &packet : packets) {
    reset |= by_packet;
    for (const char *at = packet.first; at < packet.last; ++messages) {
      each(decode(at, packet.last, reset));
      reset = false;
    }
  }
  return messages;
}

template <class Decode> void measure(const std::vector<Packet> &packets, bool by_packet, double seconds, Decode decode) {
  Digest digest;
  std::uint64_t messages = pass(packets, by_packet, decode, [&](const auto &message) { digest.message(message); });
  using clock = std::chrono::steady_clock;
  const auto start = clock::now();
  double least = 1e300;
  do {
    const auto begin = clock::now();
    pass(packets, by_packet, decode, [](const auto &message) { keep(&message); });
    least = std::min(least, std::chrono::duration<double, std::nano>(clock::now() - begin).count());
  } while (std::chrono::duration<double>(clock::now() - start).count() < seconds);
  std::printf("{\"messages\": %llu, \"ns_per_message\": %.2f, \"digest\": \"%016llx\"}\n", (unsigned long long)messages,
              least / double(messages), (unsigned long long)digest.state);
}

} // namespace

int main(int argc, char **argv) try {
  if (argc != 6)
    throw std::runtime_error("expected: TEMPLATES CAPTURE PREAMBLE RESET SECONDS");
  const std::string capture = file(argv[2]);
  const auto all = packets(capture, std::strtoul(argv[3], nullptr, 10));
  const bool by_packet = std::string(argv[4]) == "packet";
  const double seconds = std::strtod(argv[5], nullptr);
#ifdef GENERATED
  mfast::fast_decoder_v2<0> decoder(GENERATED::description());
#else
  const std::string xml = file(argv[1]);
  mfast::dynamic_templates_description description(xml.c_str());
  mfast::fast_decoder decoder;
  decoder.include({&description});
#endif
  measure(all, by_packet, seconds, [&](const char *&first, const char *last, bool reset) {
    return decoder.decode(first, last, reset);
  });
} catch (const boost::exception &error) {
  std::fprintf(stderr, "%s\n", boost::diagnostic_information(error).c_str());
  return 1;
} catch (const std::exception &error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}

// What is fuzzed: one Target a parser, in a file of its own, listed in targets.cpp. libFuzzer calls
// its body with bytes that it makes up (fuzz_main.cpp, scripts/fuzz); the ordinary builds call it
// with its seeds alone (fuzz_seeds_test.cpp).
//
// A body returns where the parser did what it must: gave what it read, or an Error that a user
// deserves. Whatever else it throws is a finding, and so is what a sanitizer says. Used by one
// thread.
#pragma once

#include <sluice/error.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::fuzz {

struct Target {
  std::string_view name;
  void (*body)(std::string_view bytes);
  /// Small inputs that reach far, and those of findings that were mended.
  std::vector<std::string> (*seeds)();
  /// Words of the format, for libFuzzer to put in.
  std::vector<std::string> words = {};
};

/// Thrown where a parser breaks its promise.
struct Finding : std::logic_error {
  using std::logic_error::logic_error;
};

/// Throws a Finding unless `holds`.
inline void expect(bool holds, const std::string& promise) {
  if (!holds) throw Finding(promise);
}

/// Throws a Finding unless it is an error as bad input may give: the user's fault, and said so.
void check_error(const Error& error);

/// Runs a parser; the Error that it refused with, checked.
template <class Action>
std::optional<Error> refusal_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    check_error(error);
    return error;
  }
  return std::nullopt;
}

/// Bytes from which a body takes its choices first; what is left is the file.
class Input {
 public:
  explicit Input(std::string_view bytes) : rest_(bytes) {}

  /// One of [0, count). The character '0' is 0, so that seeds are readable.
  unsigned choose(unsigned count) {
    if (rest_.empty()) return 0;
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    return static_cast<unsigned char>(byte - '0') % count;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

const std::vector<Target>& targets();

/// Throws std::out_of_range for a name that is none.
const Target& target_named(std::string_view name);

}  // namespace sluice::fuzz

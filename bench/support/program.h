// A benchmark program: named cases, --filter, and one JSON object a line on stdout, as
// scripts/bench_results keeps them.
//
// main() makes a Program, adds options and cases, and returns run(). Not thread-safe; one a
// process.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::bench {

/// One result. Optional fields are left out of the line when unset.
struct Line {
  std::string name;  ///< the case
  double work = 0;   ///< how much was done, in `unit`
  std::string unit = "bytes";
  double seconds = 0;                    ///< the time that took; rate = work / seconds
  std::optional<double> disk_rate = {};  ///< the disk's own rate for the same work, in the same run
  std::optional<double> peer_rate = {};
  std::string peer = {};
  nlohmann::ordered_json more = nlohmann::ordered_json::object();  ///< further fields, printed last
};

/// Prints `line` with rate, peak_rss, of_disk and of_peer, and flushes.
void print(const Line& line);

class Program {
 public:
  Program(std::string name, const std::string& help);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program();

  // Options beside --filter, --list, --json and --help; `value` holds the default and must outlive
  // run().
  void option(const std::string& flag, std::string& value, const std::string& help);
  void option(const std::string& flag, std::uint64_t& value, const std::string& help);

  /// A case is run when --filter names it or is not given; cases run in the order they were added.
  void add_case(std::string name, std::string help, std::function<void()> run);

  /// A case that only --filter runs: a part of another case, in a process of its own.
  void add_hidden_case(std::string name, std::function<void()> run);

  /// Parses and runs. Errors go to stderr; the return value is an ErrorCode.
  int run(int argc, char** argv);

  /// Whether `name` was asked for; for cases that are measured together.
  bool wanted(const std::string& name) const;

 private:
  struct Case;
  struct Parser;
  int run_cases();

  std::unique_ptr<Parser> parser_;
  std::vector<Case> cases_;
  std::vector<std::string> filter_;
};

/// The middle value; the lower one of the two middles. @pre not empty
double median(std::vector<double> values);

}  // namespace sluice::bench

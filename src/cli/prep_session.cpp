#include "cli/prep_commands.h"
#include "core/cgroup.h"
#include "core/peak_memory.h"

#include <fmt/format.h>
#include <sluice/units.h>

#include <nlohmann/json.hpp>

namespace sluice::cli {

struct PrepSession::State {
  State(std::uint64_t limit, int threads, Verbosity verbosity, ProgressStyle progress)
      : ledger(limit, "--memory"),
        arena(threads),
        log(make_logger(verbosity)),
        context{ledger, arena, *log, progress} {}

  PeakMemory peak;
  MemoryLedger ledger;
  ThreadArena arena;
  std::shared_ptr<Logger> log;
  PrepContext context;
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();

  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
};

void PrepSession::add_options(CLI::App& command) {
  command
      .add_option("--memory",
                  memory_,
                  "memory for buffers, such as 2GiB; auto: 3/4 of what this process may use")
      ->capture_default_str();
  command
      .add_option("--threads", threads_, "worker threads; 0: all cores. Never changes the result")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  command.add_flag(
      "--json", json_, "print one JSON object on stdout at the end, and nothing else there");
  command.add_flag("--quiet,-q", quiet_, "warnings and errors only");
  command.add_flag("--verbose,-v", verbose_, "say more");
}

PrepContext& PrepSession::start() {
  const std::uint64_t limit =
      memory_ == "auto" ? memory_granted() / 4 * 3 : parse_bytes(memory_).or_throw().bytes;
  const Verbosity verbosity = quiet_     ? Verbosity::kQuiet
                              : verbose_ ? Verbosity::kVerbose
                                         : Verbosity::kNormal;
  state_ = std::make_shared<State>(
      limit, threads_, verbosity, quiet_ ? ProgressStyle::kSilent : ProgressStyle::kAuto);
  return state_->context;
}

void PrepSession::add_figures(nlohmann::ordered_json& object) {
  object["seconds"] = state_->seconds();
  object["memory"] = {{"budget", state_->ledger.limit()},
                      {"ledger_peak", state_->ledger.peak()},
                      {"peak_rss", state_->peak.now().peak_rss},
                      {"peak_anonymous", state_->peak.peak_anonymous()}};
}

std::string PrepSession::figures_text() {
  return fmt::format("in {:.2f} s, peak memory {} (budget {})",
                     state_->seconds(),
                     format_bytes(state_->peak.now().peak_rss),
                     format_bytes(state_->ledger.limit()));
}

}  // namespace sluice::cli

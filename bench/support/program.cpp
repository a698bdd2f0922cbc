#include "bench/support/program.h"

#include "core/cgroup.h"

#include <sluice/error.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <utility>

namespace sluice::bench {

struct Program::Case {
  std::string name;
  std::string help;
  std::function<void()> run;
  bool hidden = false;
};

struct Program::Parser {
  CLI::App app;
  bool list = false;
  bool json = true;
};

void print(const Line& line) {
  nlohmann::ordered_json out;
  const double rate = line.seconds > 0 ? line.work / line.seconds : 0;
  out["case"] = line.name;
  out["work"] = line.work;
  out["unit"] = line.unit;
  out["seconds"] = line.seconds;
  out["rate"] = rate;
  out["peak_rss"] = read_process_memory().peak_rss;
  if (line.disk_rate) {
    out["disk_rate"] = *line.disk_rate;
    out["of_disk"] = rate / *line.disk_rate;
  }
  if (line.peer_rate) {
    out["peer"] = line.peer;
    out["peer_rate"] = *line.peer_rate;
    out["of_peer"] = rate / *line.peer_rate;
  }
  out.update(line.more);
  fmt::print("{}\n", out.dump());
  if (std::fflush(stdout) != 0)
    throw Error(ErrorCode::kIo, "cannot write to standard output", "is what it goes to full?");
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Program::Program(std::string name, const std::string& help) : parser_(std::make_unique<Parser>()) {
  CLI::App& app = parser_->app;
  app.name(std::move(name));
  app.description(help);
  app.add_option("--filter", filter_, "run only these cases")->delimiter(',');
  app.add_flag("--list", parser_->list, "print the cases and stop");
  app.add_flag("--json", parser_->json, "one JSON object a line (always so)");
}

Program::~Program() = default;

void Program::option(const std::string& flag, std::string& value, const std::string& help) {
  parser_->app.add_option(flag, value, help)->capture_default_str();
}

void Program::option(const std::string& flag, std::uint64_t& value, const std::string& help) {
  parser_->app.add_option(flag, value, help)->capture_default_str();
}

void Program::add_case(std::string name, std::string help, std::function<void()> run) {
  cases_.push_back({std::move(name), std::move(help), std::move(run)});
}

void Program::add_hidden_case(std::string name, std::function<void()> run) {
  cases_.push_back({std::move(name), "", std::move(run), true});
}

bool Program::wanted(const std::string& name) const {
  return filter_.empty() || std::find(filter_.begin(), filter_.end(), name) != filter_.end();
}

int Program::run_cases() {
  for (const std::string& name : filter_) {
    if (std::any_of(
            cases_.begin(), cases_.end(), [&](const Case& each) { return each.name == name; }))
      continue;
    throw Error(
        ErrorCode::kUsage, fmt::format("there is no case '{}'", name), "--list prints the cases");
  }
  for (const Case& each : cases_) {
    if (wanted(each.name) && !(each.hidden && filter_.empty())) each.run();
  }
  return 0;
}

int Program::run(int argc, char** argv) {
  try {
    parser_->app.parse(argc, argv);
    if (!parser_->list) return run_cases();
    for (const Case& each : cases_)
      if (!each.hidden) fmt::print("{:<24} {}\n", each.name, each.help);
    return 0;
  } catch (const CLI::ParseError& error) {
    return parser_->app.exit(error) == 0 ? 0 : static_cast<int>(ErrorCode::kUsage);
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n  {}\n", error.what(), error.hint());
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return static_cast<int>(ErrorCode::kInternal);
  }
}

}  // namespace sluice::bench

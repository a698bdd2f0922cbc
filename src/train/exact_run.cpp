#include "train/exact_run.h"

#include "core/hash.h"
#include "storage/io/file.h"
#include "train/epoch_line.h"
#include "train/opened_run.h"
#include "train/run_directory.h"

#include <sluice/dataset.h>
#include <sluice/units.h>

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <vector>

namespace sluice {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostReportBytes = 64 * kMiB;

[[noreturn]] void refuse_exact_run(const std::string& run,
                                   const std::string& why,
                                   const std::string& hint) {
  throw Error(ErrorCode::kUsage, "embedding.exact_run: " + why, hint, Place{run, -1, -1, -1});
}

// A directory that was moved or removed since, or never held a run.
void check_is_run(const std::string& run) {
  std::error_code problem;
  const bool there = fs::exists(run, problem);
  try {
    RunDirectory::check(run, RunDirectory::Mode::kGoOn);
  } catch (const Error& error) {
    refuse_exact_run(run,
                     there ? error.message() : "there is no such directory",
                     "name where that run is now, train it anew with --set "
                     "embedding.mode=exact --set embedding.exact_run= --set run.dir=DIR, or leave "
                     "it out: --set embedding.exact_run=");
  }
}

bool same_folder(const std::string& one, const std::string& other) {
  std::error_code problem;
  return fs::equivalent(one, other, problem) && !problem;
}

// By all that results depend on but the way through learned rows.
void check_same_config(const RunOptions& options, RunOptions exact) {
  const std::string run = options.embedding.exact_run;
  if (exact.embedding.mode != RowsMode::kExact)
    refuse_exact_run(run,
                     "that run is by partitions too",
                     "name one that was trained with --set embedding.mode=exact");
  if (!same_folder(options.dataset.path, exact.dataset.path))
    refuse_exact_run(run,
                     fmt::format("that run's dataset is {}", exact.dataset.path),
                     "name a run over the same dataset, or leave embedding.exact_run out");
  RunOptions same = options;
  same.embedding.mode = RowsMode::kExact;
  same.embedding.partitions = exact.embedding.partitions;
  same.embedding.slots = exact.embedding.slots;
  same.embedding.order = exact.embedding.order;
  std::string all;
  for (const std::string& each : differences(exact.text(), same.text(), *options.registry))
    all += (all.empty() ? "" : "; ") + each;
  if (all.empty()) return;
  refuse_exact_run(run,
                   "that run's config is another: " + all,
                   "train it by this config with --set embedding.mode=exact --set "
                   "embedding.exact_run= --set run.dir=DIR, or leave embedding.exact_run out");
}

// A dataset that was made anew in the same folder has the path of the old one.
void check_same_data(const RunOptions& options) {
  const std::string run = options.embedding.exact_run;
  const std::uint64_t own = Dataset::open(options.dataset.path).fingerprint();
  const std::uint64_t of_exact = stored_fingerprint(stored_checkpoint(run, CheckpointKind::kLast));
  if (own == of_exact) return;
  refuse_exact_run(run,
                   fmt::format("the dataset has changed since that run: {} has fingerprint {}, the "
                               "run was trained on {}",
                               options.dataset.path,
                               hex64(own),
                               hex64(of_exact)),
                   "train that run anew on the dataset as it is now, or leave "
                   "embedding.exact_run out");
}

ExactRun read_report(const std::string& run) {
  const fs::path path = fs::path(run) / "report.json";
  std::error_code problem;
  if (!fs::exists(path, problem))
    refuse_exact_run(run,
                     "that run has not ended: it has no report",
                     fmt::format("end it first: sluice-train resume {}; or leave it out: --set "
                                 "embedding.exact_run=",
                                 run));
  ExactRun exact{run, 0, {}};
  try {
    const auto report = nlohmann::json::parse(read_text_file(path, kMostReportBytes).or_throw());
    exact.epochs = report.at("epochs").get<std::uint64_t>();
    // A metric that is no figure is written as null.
    const auto& metrics = report.at("metrics").get_ref<const nlohmann::json::object_t&>();
    for (const auto& [name, value] : metrics)
      if (value.is_number()) exact.metrics[name] = value.get<double>();
    exact.ranked_among = report.value("ranked_among", std::string());
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorCode::kData,
                fmt::format("the exact run's report makes no sense: {}", error.what()),
                fmt::format("write it anew: sluice-train resume {}", run),
                Place{path.string(), -1, -1, -1});
  }
  return exact;
}

// This run's in parts of the exact one's; none where that is no figure to divide by.
std::optional<double> of_exact(double own, double exact) {
  if (!std::isfinite(own) || !std::isfinite(exact) || exact == 0) return std::nullopt;
  return own / exact;
}

}  // namespace

std::optional<ExactRun> read_exact_run(const RunOptions& options) {
  const std::string& run = options.embedding.exact_run;
  if (run.empty()) return std::nullopt;
  if (options.embedding.mode != RowsMode::kPartitions)
    refuse_exact_run(run,
                     "this run is exact itself",
                     "set embedding.mode = \"partitions\", or leave embedding.exact_run out");
  check_is_run(run);
  check_same_config(options, kept_options(run, {}, *options.registry));
  ExactRun exact = read_report(run);
  check_same_data(options);
  return exact;
}

bool leave_out_unlike(ExactRun& exact, const std::string& own) {
  if (exact.ranked_among == own) return false;
  return std::erase_if(exact.metrics,
                       [](const auto& each) { return each.first.starts_with("test."); }) != 0;
}

nlohmann::ordered_json to_json(const ExactRun& exact, const Metrics& own) {
  auto metrics = nlohmann::ordered_json::object(), parts = nlohmann::ordered_json::object();
  for (const auto& [name, value] : exact.metrics) {
    metrics[name] = value;
    const auto found = own.find(name);
    if (found == own.end()) continue;
    if (const auto part = of_exact(found->second, value)) parts[name] = *part;
  }
  nlohmann::ordered_json json = {
      {"run", exact.run}, {"epochs", exact.epochs}, {"metrics", metrics}, {"of_exact", parts}};
  if (!exact.ranked_among.empty()) json["ranked_among"] = exact.ranked_among;
  return json;
}

std::string to_text(const ExactRun& exact, const Metrics& own) {
  std::string text;
  for (const auto& [name, value] : exact.metrics) {
    const auto found = own.find(name);
    if (found == own.end()) continue;
    text += fmt::format("  {:<16}  {} {}", "exact", name, figure_text(value));
    if (const auto part = of_exact(found->second, value))
      text += fmt::format("; by partitions {:.1f} % of it", 100 * *part);
    text += '\n';
  }
  return text;
}

}  // namespace sluice

// A folder of raw files whose imports are listened to: what was logged, and what came out.
#pragma once

#include "prep/arrow_files.h"
#include "prep/check/verify.h"
#include "prep/layout_support.h"
#include "prep/npz_file.h"  // IWYU pragma: export

#include <doctest/doctest.h>
#include <spdlog/sinks/ostream_sink.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace sluice::test {

struct RolesFolder : LayoutFolder {
  /// Imports as a graph.toml says. Returns what was said: "warning: ..." lines.
  std::string listen(const std::string& toml) const {
    const TableFormats formats = table_formats();
    GraphSpec spec(formats);
    Config::parse(toml, "graph.toml").bind_to(spec);
    return listen(std::move(spec), dir / "raw");
  }
  std::string listen(GraphSpec spec, const std::filesystem::path& root) const {
    const TableFormats formats = table_formats();
    return heard([&](PrepContext& context) {
      import_dataset(std::move(spec), formats, {root, out(), Overwrite::kReplace, "test"}, context);
    });
  }
  /// What is said meanwhile.
  std::string heard(const std::function<void(PrepContext&)>& work) const {
    std::ostringstream text;
    Logger log("test", std::make_shared<spdlog::sinks::ostream_sink_mt>(text));
    log.set_pattern("%l: %v");
    MemoryLedger ledger(budget, "--memory");
    ThreadArena arena(threads);
    PrepContext context{ledger, arena, log, ProgressStyle::kSilent};
    work(context);
    CHECK(ledger.used() == 0);
    return text.str();
  }
  /// The guess over paths below raw/ (none: all), imported.
  std::string listen_to_guess(const std::vector<std::string>& paths = {}) const {
    const Described described = describe(paths);
    return listen(described.spec, resolve_root(described.spec, "", std::nullopt));
  }

  Dataset opened() const { return Dataset::open(out()); }
  std::vector<std::int32_t> classes(const std::string& type = "node") const {
    return as_vector<std::int32_t>(opened().labels(type));
  }
  std::vector<std::string> class_names(const std::string& type = "node") const {
    return opened().schema().node_type(type)->labels->names;
  }
  std::vector<float> features(std::size_t rows,
                              std::size_t dim,
                              const std::string& type = "node") const {
    const std::uint32_t entries = opened().schema().node_type(type)->features.front().entries;
    return entries == 0 ? stored_f32_rows(out(), type, rows, dim)
                        : stored_sparse_rows(out(), type, rows, dim, entries);
  }
  std::vector<std::uint64_t> train(const std::string& split = "default") const {
    const std::string bytes = read_all(out() / "splits" / split / "train.bin");
    const std::uint64_t count = opened().schema().splits.front().train;
    std::vector<std::uint64_t> ids(count);
    std::memcpy(ids.data(), bytes.data(), count * sizeof(std::uint64_t));
    return ids;
  }
  /// Edges as (source, target) under the user's own ids.
  std::set<std::pair<std::string, std::string>> edges(const std::string& relation) const {
    const Dataset dataset = opened();
    const RelationSchema& schema = *dataset.schema().relation(relation);
    const auto name = [&](const std::string& type, std::uint64_t node) {
      const ExternalIds ids = dataset.ids(type);
      const IdKind kind = dataset.schema().node_type(type)->ids;
      if (kind == IdKind::kString) return std::string(ids.text(node));
      return std::to_string(kind == IdKind::kInteger ? ids.integer(node)
                                                     : static_cast<std::int64_t>(node));
    };
    std::set<std::pair<std::string, std::string>> all;
    const auto lists = in_edges(dataset, relation);
    for (std::size_t target = 0; target < lists.size(); ++target)
      for (const std::uint64_t source : lists[target])
        all.emplace(name(schema.source, source), name(schema.target, target));
    return all;
  }
  void check_sound() const {
    MemoryLedger ledger;
    ThreadArena arena(1);
    const auto log = make_silent_logger();
    PrepContext context{ledger, arena, *log, ProgressStyle::kSilent};
    CHECK(verify_dataset(out(), context).problems.empty());
  }
  /// What an import is refused with; nothing is left behind.
  std::string refusal(const std::string& toml) const {
    const Error error = expect_error([&] { listen(toml); });
    CHECK(leftovers().empty());
    return as_text(error, *this);
  }
};

inline bool says(const std::string& text, const std::string& part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE("looked for \"", part, "\" in: ", text);
  return found;
}

inline std::string npy_bools(const std::vector<int>& bits) {
  std::string bytes;
  for (const int bit : bits) bytes += static_cast<char>(bit);
  return npy("|b1", fmt::format("({},)", bits.size()), bytes);
}

template <class T>
std::string npy_of(const std::string& descr, const std::vector<T>& values) {
  return npy(descr, fmt::format("({},)", values.size()), bytes_of_values(values));
}

}  // namespace sluice::test

// A folder of raw files, imports of it, and independent reading of what came out.
#pragma once

#include "core/log.h"
#include "prep/import/import.h"
#include "registry/core.h"
#include "support/expect_error.h"  // IWYU pragma: export
#include "support/npy_file.h"
#include "support/stored_rows.h"
#include "support/temp_dir.h"

#include <sluice/dataset.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace sluice::test {

/// One-dimensional int64.
inline std::string npy_ids(const std::vector<std::int64_t>& ids) {
  return npy("<i8", fmt::format("({},)", ids.size()), bytes_of_values(ids));
}

/// Row-major float32.
inline std::string npy_rows(std::size_t rows, std::size_t dim, const std::vector<float>& values) {
  return npy("<f4", fmt::format("({}, {})", rows, dim), bytes_of_values(values));
}

struct ImportFolder {
  TempDir dir;
  int threads = 2;
  std::uint64_t budget = MemoryLedger::kUnlimited;

  void write(const std::string& name, std::string_view text) const {
    dir.write("raw/" + name, text);
  }
  std::filesystem::path out() const { return dir / "out/graph"; }

  /// Imports raw/ as the text of a graph.toml says.
  ImportReport run(const std::string& toml, Overwrite overwrite = Overwrite::kRefuse) const {
    return run_into(toml, out(), overwrite);
  }
  ImportReport run_into(const std::string& toml,
                        const std::filesystem::path& out,
                        Overwrite overwrite = Overwrite::kRefuse) const {
    const TableFormats formats = table_formats();
    GraphSpec spec(formats);
    Config::parse(toml, "graph.toml").bind_to(spec);
    MemoryLedger ledger(budget, "--memory");
    ThreadArena arena(threads);
    const auto log = make_silent_logger();
    PrepContext context{ledger, arena, *log, ProgressStyle::kSilent};
    const ImportReport report =
        import_dataset(std::move(spec), formats, {dir / "raw", out, overwrite, "test"}, context);
    if (ledger.used() != 0) throw std::runtime_error("charges were left over:\n" + ledger.table());
    return report;
  }

  /// Everything in the folder of the output, hidden files too.
  std::vector<std::string> leftovers() const {
    std::vector<std::string> names;
    if (!std::filesystem::exists(dir / "out")) return names;
    for (const auto& entry : std::filesystem::directory_iterator(dir / "out"))
      names.push_back(entry.path().filename());
    return names;
  }
};

/// An error as a user reads it, the test's own folder named ROOT: "code|place: message|hint".
inline std::string as_text(const Error& error, const ImportFolder& folder) {
  std::string text = fmt::format("{}|{}|{}", to_string(error.code()), error.what(), error.hint());
  const std::string root = folder.dir.path().string();
  for (auto at = text.find(root); at != std::string::npos; at = text.find(root))
    text.replace(at, root.size(), "ROOT");
  return text;
}

template <class T = std::uint64_t>
std::vector<T> as_vector(const Array& array) {
  const auto values = array.as<T>();
  return {values.begin(), values.end()};
}

/// The ids of a relation's edges, by position.
inline std::vector<std::uint64_t> edge_ids(const Dataset& dataset, const std::string& relation) {
  const auto topology = dataset.topology(relation);
  std::vector<std::uint64_t> ids(topology->num_edges());
  std::vector<std::uint64_t> positions(ids.size());
  std::iota(positions.begin(), positions.end(), 0);
  topology->edge_ids(positions, ids).or_throw();
  return ids;
}

/// A new one each run; tests say it where they fail. SLUICE_SEED repeats one.
inline std::uint64_t random_seed() {
  const char* const text = std::getenv("SLUICE_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : std::random_device{}();
}

using Pairs = std::vector<std::pair<std::uint64_t, std::uint64_t>>;  // (source, target)

/// In-edges by target, in order, as brute force makes them from a list of edges.
inline std::vector<std::vector<std::uint64_t>> in_edges(std::uint64_t nodes, const Pairs& edges) {
  std::vector<std::vector<std::uint64_t>> lists(nodes);
  for (const auto& [source, target] : edges) lists[target].push_back(source);
  return lists;
}

/// The same from a dataset.
inline std::vector<std::vector<std::uint64_t>> in_edges(const Dataset& dataset,
                                                        const std::string& relation) {
  const auto topology = dataset.topology(relation);
  const CscView& view = *topology->resident();
  std::vector<std::vector<std::uint64_t>> lists(topology->num_targets());
  for (std::size_t node = 0; node < lists.size(); ++node) {
    for (std::uint64_t at = view.offsets[node]; at < view.offsets[node + 1]; ++at) {
      lists[node].push_back(view.neighbour(at));
    }
  }
  return lists;
}

/// A feature file's rows, read by the documented layout and nothing else.
inline std::vector<float> stored_f32_rows(const std::filesystem::path& dataset,
                                          const std::string& type,
                                          std::size_t rows,
                                          std::size_t dim) {
  const std::string file = read_all(dataset / "nodes" / type / "features.bin");
  const std::size_t row_bytes = dim * sizeof(float),
                    per_page = row_bytes > 4096 ? 0 : 4096 / row_bytes;
  const bool paged = per_page != 0 && (4096 - per_page * row_bytes) * 8 <= 4096;
  std::vector<float> values(rows * dim);
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t at =
        paged ? row / per_page * 4096 + row % per_page * row_bytes : row * row_bytes;
    std::memcpy(&values[row * dim], file.data() + at, row_bytes);
  }
  return values;
}

/// The same of rows that are stored sparse, with room for `entries`. @pre dim <= 65,536
inline std::vector<float> stored_sparse_rows(const std::filesystem::path& dataset,
                                             const std::string& type,
                                             std::size_t rows,
                                             std::size_t dim,
                                             std::size_t entries) {
  const std::string file = read_all(dataset / "nodes" / type / "features.bin");
  const std::size_t row_bytes = 4 + (2 * entries + 3) / 4 * 4 + 4 * entries,
                    per_page = row_bytes > 4096 ? 0 : 4096 / row_bytes;
  const bool paged = per_page != 0 && (4096 - per_page * row_bytes) * 8 <= 4096;
  std::vector<float> values;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t at =
        paged ? row / per_page * 4096 + row % per_page * row_bytes : row * row_bytes;
    const auto* const stored = reinterpret_cast<const std::byte*>(file.data()) + at;
    for (const double value : sparse_values(DType::kF32, stored, dim))
      values.push_back(static_cast<float>(value));
  }
  return values;
}

}  // namespace sluice::test

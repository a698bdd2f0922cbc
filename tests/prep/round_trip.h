// What is in a dataset, under the users' own ids and in no order: exported as CSV, and read back by
// a small parser of the test's own.
#pragma once

#include "import_support.h"
#include "prep/check/verify.h"
#include "prep/export/export.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

namespace sluice::test {

using CsvRow = std::vector<std::string>;

/// Fields in quotes may hold delimiters and line ends; a quote inside is doubled.
inline std::vector<CsvRow> parse_csv(const std::string& text) {
  std::vector<CsvRow> rows(1, CsvRow(1));
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' && quoted && i + 1 < text.size() && text[i + 1] == '"') {
      rows.back().back() += text[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      rows.back().emplace_back();
    } else if (c == '\n' && !quoted) {
      rows.emplace_back(1);
    } else {
      rows.back().back() += c;
    }
  }
  rows.pop_back();
  return rows;
}

/// Each table's columns, then its rows, sorted. Tables are named as the exported files.
using Content = std::map<std::string, std::vector<CsvRow>>;

inline std::vector<CsvRow> sorted_rows(std::vector<CsvRow> rows) {
  if (!rows.empty()) std::sort(rows.begin() + 1, rows.end());
  return rows;
}

class Datasets {
 public:
  explicit Datasets(const TempDir& dir) : dir_(dir) {}

  /// The files of an export, whole.
  std::map<std::string, std::string> export_files(const std::filesystem::path& dataset,
                                                  ExportFormat format) const {
    const std::filesystem::path out = next("export");
    run([&](PrepContext& context) {
      CHECK(verify_dataset(dataset, context).problems.empty());
      export_dataset({dataset, out, format}, context);
    });
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(out))
      files[entry.path().filename()] = read_all(entry.path());
    return files;
  }

  /// Features are joined to the rows of their nodes, and of their edges.
  /// @param only the tables to look at; empty: all
  Content content(const std::filesystem::path& dataset,
                  const std::set<std::string>& only = {}) const {
    std::map<std::string, std::vector<CsvRow>> tables;
    for (const auto& [file, text] : export_files(dataset, ExportFormat::kCsv)) {
      const std::string name = file.substr(0, file.size() - 4);
      if (only.empty() || only.count(name.substr(0, name.find(".features"))) != 0)
        tables[name] = parse_csv(text);
    }
    Content content;
    for (auto& [name, rows] : tables) {
      if (name.ends_with(".features")) continue;
      if (const auto found = tables.find(name + ".features"); found != tables.end())
        join(rows, found->second);
      content[name] = sorted_rows(rows);
    }
    return content;
  }

  /// Imports `root` as a graph.toml says; returns the dataset.
  std::filesystem::path import(const std::string& toml, const std::filesystem::path& root) const {
    const std::filesystem::path out = next("dataset");
    run([&](PrepContext& context) {
      const TableFormats formats = table_formats();
      GraphSpec spec(formats);
      Config::parse(toml, "graph.toml").bind_to(spec);
      import_dataset(spec, formats, {root, out, Overwrite::kRefuse, "test"}, context);
    });
    return out;
  }

 private:
  // A node's features are the row of its place, an edge's that of its edge_id, the last column.
  static void join(std::vector<CsvRow>& rows, const std::vector<CsvRow>& features) {
    const bool by_id = rows[0].back() == "edge_id";
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::size_t from = i == 0 ? 0 : by_id ? std::stoul(rows[i].back()) + 1 : i;
      if (by_id) rows[i].pop_back();
      rows[i].insert(rows[i].end(), features.at(from).begin(), features.at(from).end());
    }
  }

  std::filesystem::path next(const char* name) const {
    return dir_ / fmt::format("{}{}", name, ++count_);
  }

  template <class Work>
  static void run(const Work& work) {
    MemoryLedger ledger(256 * kMiB, "--memory");
    ThreadArena arena(2);
    const auto log = make_silent_logger();
    PrepContext context{ledger, arena, *log, ProgressStyle::kSilent};
    work(context);
  }

  const TempDir& dir_;
  mutable int count_ = 0;
};

}  // namespace sluice::test

// FileCheck: what can be said of single files of a dataset: sizes that follow from counts, values
// that are in range. Problems are collected, not thrown. Private to src/prep/check.
#pragma once

#include "storage/format/data_file.h"
#include "storage/format/data_file_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

class FileCheck {
 public:
  FileCheck(const std::filesystem::path& root, const Manifest& manifest, MemoryLedger& ledger)
      : root_(root), manifest_(manifest), ledger_(ledger) {}

  std::vector<std::string> take_problems() { return std::move(problems_); }

  void report(const std::string& path, const std::string& what);
  bool sound() const { return problems_.empty(); }

  // Streams the first `count` values of a file through check(index, value), which returns what is
  // wrong or "".
  template <class T, class Check>
  void stream(const std::string& path, std::uint64_t count, const Check& check) {
    auto entry = find_file(root_, manifest_, path);
    if (!entry) return report(path, entry.error().message());
    if (entry.value().bytes < round_up_to_page(count * sizeof(T))) {
      return report(path,
                    fmt::format("{} bytes cannot hold {} values", entry.value().bytes, count));
    }
    const auto take = [&](std::uint64_t offset, std::span<const std::byte> bytes) -> Result<void> {
      const std::uint64_t first = offset / sizeof(T);
      const std::uint64_t values =
          std::min<std::uint64_t>(bytes.size() / sizeof(T), count - std::min(count, first));
      for (std::uint64_t i = 0; i < values; ++i) {
        T value;
        std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
        const std::string wrong = check(first + i, value);
        if (!wrong.empty()) return Error(ErrorCode::kData, wrong);
      }
      return {};
    };
    auto scanned = scan_file(root_, entry.value(), {Verify::kOff}, &ledger_, take);
    if (!scanned) report(path, scanned.error().message());
  }

  template <class Check>
  void stream_ids(const std::string& path, DType dtype, std::uint64_t count, const Check& check) {
    if (dtype == DType::kU32) return stream<std::uint32_t>(path, count, check);
    stream<std::uint64_t>(path, count, check);
  }

  /// Feature tables of `rows` rows each, in `folder`.
  void features(const std::vector<FeatureSchema>& tables,
                std::uint64_t rows,
                const std::string& folder);
  /// Class labels of `rows` rows are -1 or a class. @param what a row is: "node"
  void labels(const std::optional<LabelSchema>& labels,
              std::uint64_t rows,
              const std::string& path,
              const std::string& what);
  /// Offsets of `count` lists; returns where the last ends.
  std::uint64_t ascending(const std::string& path, std::uint64_t count);
  /// A split's parts: ids below `count`, ascending, each in one part.
  void parts(const std::string& split,
             const std::vector<std::pair<const char*, std::uint64_t>>& sizes,
             const std::string& what,
             std::uint64_t count);

 private:
  void scales(const std::string& path, const FileEntry& entry, const FeatureLayout& layout);
  void sparse_rows(const std::string& path, const FileEntry& entry, const FeatureSchema& table);

  const std::filesystem::path& root_;
  const Manifest& manifest_;
  MemoryLedger& ledger_;
  std::vector<std::string> problems_;
};

}  // namespace sluice

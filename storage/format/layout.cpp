#include "storage/format/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace sluice {

FeatureLayout FeatureLayout::make(DType dtype, std::uint32_t dim, std::uint64_t rows) {
  FeatureSchema table;
  table.dtype = dtype;
  table.dim = dim;
  table.rows = rows;
  return make(table);
}

FeatureLayout FeatureLayout::make(const FeatureSchema& table) {
  FeatureLayout layout;
  layout.dtype = table.dtype;
  layout.dim = table.dim;
  layout.entries = table.entries;
  layout.rows = table.rows;
  layout.row_bytes = static_cast<std::uint32_t>(feature_row_bytes(table));
  if (layout.row_bytes == 0 || layout.row_bytes > kPageBytes) return layout;
  const auto fit = static_cast<std::uint32_t>(kPageBytes / layout.row_bytes);
  const std::uint64_t waste = kPageBytes - std::uint64_t{fit} * layout.row_bytes;
  if (waste * 8 <= kPageBytes) layout.rows_per_page = fit;
  return layout;
}

std::uint64_t FeatureLayout::file_bytes() const {
  if (rows == 0 || row_bytes == 0) return 0;
  return round_up_to_page(offset_of(rows - 1) + row_bytes);
}

std::string node_path(const std::string& type, const std::string& file) {
  return fmt::format("nodes/{}/{}", type, file);
}

std::string relation_path(const RelationSchema& relation, const std::string& file) {
  return fmt::format("edges/{}/{}", relation.key(), file);
}

std::string split_path(const std::string& split, const std::string& part) {
  return fmt::format("splits/{}/{}.bin", split, part);
}

std::string sum_path(const std::string& file) {
  return file + ".sum";
}

std::string name_problem(const std::string& name) {
  if (name.empty()) return "is empty";
  if (name.size() > 100) return "is longer than 100 characters";
  if (name.front() == '.') return "begins with '.'";
  if (name.find("..") != std::string::npos) return "contains '..'";
  if (name.front() == '_' || name.back() == '_')
    return "begins or ends with '_', which would blur a relation's key";
  if (name.find("__") != std::string::npos)
    return "contains '__', which separates the parts of a relation's key";
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
  });
  return plain ? "" : "has a character other than letters, digits, '_', '-' and '.'";
}

}  // namespace sluice

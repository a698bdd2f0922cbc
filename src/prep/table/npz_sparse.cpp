#include "prep/table/npz_sparse.h"

#include "prep/table/stored_numbers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>
#include <set>
#include <string_view>

namespace sluice {
namespace {

constexpr const char* kSaveMatrixAgain = "save the matrix again with scipy.sparse.save_npz";
constexpr const char* kNames[2] = {"row", "col"};
constexpr const char* kSides[2] = {"rows", "columns"};
constexpr std::string_view kPointers = "indptr";

const NpzArray* find_array(const std::vector<NpzArray>& arrays, const std::string& name) {
  const auto found = std::find_if(
      arrays.begin(), arrays.end(), [&](const NpzArray& array) { return array.name == name; });
  return found == arrays.end() ? nullptr : &*found;
}

/// Row or column numbers as they are stored, each checked against the shape.
class Indices final : public NpzColumn {
 public:
  Indices(const ZipArchive& archive,
          const NpzArray& array,
          const TableReader& table,
          std::size_t side,
          std::uint64_t limit)
      : elements_(archive, array),
        dtype_(array.is.header.dtype),
        table_(table),
        side_(side),
        limit_(limit) {}

  void read(std::span<std::byte> out) override {
    elements_.read(out);
    const std::size_t element = size_of(dtype_);
    for (; !out.empty(); out = out.subspan(std::min(out.size(), kBlock * element)))
      check({out.data(), std::min(out.size(), kBlock * element)});
  }

 private:
  static constexpr std::size_t kBlock = 512;

  void check(std::span<const std::byte> stored) {
    std::array<std::int64_t, kBlock> block;
    const std::span values = std::span(block).first(stored.size() / size_of(dtype_));
    widen_to_integers(dtype_, stored.data(), values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto index = static_cast<std::uint64_t>(values[i]);  // a negative one is too large
      if (index < limit_) continue;
      throw table_.value_error(
          at_ + i,
          kNames[side_],
          fmt::format("{} is not below the {} {} of the matrix", values[i], limit_, kSides[side_]),
          kSaveMatrixAgain);
    }
    at_ += values.size();
  }

  NpzElements elements_;
  DType dtype_;
  const TableReader& table_;
  std::size_t side_;
  std::uint64_t limit_;
  std::uint64_t at_ = 0;  // entries read
};

/// The numbers that the pointers of csr or csc stand for: i, as often as entry i of them grows.
class Expanded final : public NpzColumn {
 public:
  Expanded(const ZipArchive& archive, const NpzArray& pointers, std::uint64_t entries)
      : archive_(archive),
        array_(pointers),
        elements_(archive, pointers),
        left_(pointers.is.header.rows()),
        entries_(entries) {
    if (next_pointer() != 0) fail("does not begin at 0");
    if (left_ != 0) end_ = next_pointer();  // else there are no rows
  }

  void read(std::span<std::byte> out) override {
    while (!out.empty()) {
      while (at_ == end_) {
        end_ = next_pointer();
        ++number_;
      }
      const std::size_t count = std::min<std::uint64_t>(end_ - at_, out.size() / sizeof number_);
      for (std::size_t i = 0; i < count; ++i)
        std::memcpy(out.data() + i * sizeof number_, &number_, sizeof number_);
      at_ += count;
      out = out.subspan(count * sizeof number_);
    }
    while (at_ == entries_ && left_ != 0) end_ = next_pointer();  // those of empty rows
  }

 private:
  static constexpr std::uint64_t kBlock = 65536;  // pointers read at a time

  std::uint64_t next_pointer() {
    if (next_ == block_.size()) read_block();
    const std::int64_t pointer = block_[next_++];
    --left_;
    if (pointer < 0 || static_cast<std::uint64_t>(pointer) < end_) fail("is not ascending");
    if (static_cast<std::uint64_t>(pointer) > entries_ ||
        (left_ == 0 && static_cast<std::uint64_t>(pointer) != entries_))
      fail(fmt::format("does not end at the {} entries", entries_));
    return static_cast<std::uint64_t>(pointer);
  }

  void read_block() {
    const DType dtype = array_.is.header.dtype;
    block_.resize(std::min(left_, kBlock));
    stored_.resize(block_.size() * size_of(dtype));
    elements_.read(stored_);
    widen_to_integers(dtype, stored_.data(), block_);
    next_ = 0;
  }

  [[noreturn]] void fail(const std::string& reason) const {
    throw archive_.member_error(array_.member, reason, kSaveMatrixAgain);
  }

  const ZipArchive& archive_;
  const NpzArray& array_;
  NpzElements elements_;
  std::uint64_t left_;  // pointers not yet taken
  std::uint64_t entries_;
  std::vector<std::byte> stored_;
  std::vector<std::int64_t> block_;
  std::size_t next_ = 0;
  std::uint64_t at_ = 0;   // entries given
  std::uint64_t end_ = 0;  // of those that are number_
  std::int64_t number_ = 0;
};

}  // namespace

NpzSparseParts::NpzSparseParts(const std::vector<NpzArray>& arrays) {
  std::set<std::string> names;
  for (const NpzArray& array : arrays) names.insert(array.name);
  const auto has_all = [&](const std::string& prefix, std::initializer_list<const char*> parts) {
    return std::all_of(parts.begin(), parts.end(), [&](const char* part) {
      return names.contains(prefix + part);
    });
  };
  const auto add = [&](const std::string& name, std::string_view part, auto others) {
    if (!name.ends_with(part)) return;
    const std::string prefix = name.substr(0, name.size() - part.size());
    const bool parted = prefix.empty() || prefix.back() == '_' || prefix.back() == '.';
    if (!parted || !has_all(prefix, others)) return;
    prefixes_.push_back(prefix);
    pointers_.push_back(part == kPointers);
  };
  using Parts = std::initializer_list<const char*>;
  for (const std::string& name : names) {
    add(name, kPointers, Parts{"data", "indices", "shape"});
    add(name, "row", Parts{"data", "col", "shape"});
  }
}

bool NpzSparseParts::has(const std::string& array) const {
  return std::any_of(prefixes_.begin(), prefixes_.end(), [&](const std::string& prefix) {
    if (!array.starts_with(prefix)) return false;
    const std::string part = array.substr(prefix.size());
    return part == "data" || part == "indices" || part == kPointers || part == "row" ||
           part == "col" || part == "shape" || part == "format";
  });
}

bool NpzSparseParts::has_pointers(const std::string& array) const {
  for (std::size_t i = 0; i < prefixes_.size(); ++i) {
    if (!pointers_[i] || !array.starts_with(prefixes_[i])) continue;
    const std::string part = array.substr(prefixes_[i].size());
    if (part == "data" || part == "indices" || part == kPointers) return true;
  }
  return false;
}

std::optional<std::string> NpzSparseParts::prefix_of(const std::string& name) const {
  for (const std::string& prefix : prefixes_)
    if (prefix == name || prefix == name + "_" || prefix == name + ".") return prefix;
  return std::nullopt;
}

std::vector<std::string> NpzSparseParts::names() const {
  std::vector<std::string> names;
  for (const std::string& prefix : prefixes_)
    if (prefix.size() > 1) names.push_back(prefix.substr(0, prefix.size() - 1));
  return names;
}

std::optional<NpzSparse> NpzSparse::find(const ZipArchive& archive,
                                         const std::vector<NpzArray>& arrays,
                                         const TableSource& source) {
  NpzSparse matrix(archive, source.path.string());
  if (!source.table.empty()) {
    const NpzSparseParts parts(arrays);
    const auto prefix = parts.prefix_of(source.table);
    if (!prefix)
      throw Error(ErrorCode::kUsage,
                  fmt::format("there is no sparse matrix '{}'", source.table),
                  parts.any() ? fmt::format("its matrices: {}", fmt::join(parts.names(), ", "))
                              : fmt::format("leave '#{}' out", source.table),
                  Place{source.path.string(), -1, -1, -1});
    matrix.prefix_ = *prefix;
    matrix.tell_format(arrays);
    matrix.set_parts(arrays);
    return matrix;
  }
  std::set<std::string> names;
  for (const NpzArray& array : arrays) names.insert(array.name);
  names.erase("_is_array");  // a flag of newer versions
  const bool said = names.erase("format") != 0;
  const auto are = [&](std::set<std::string> others) {
    others.insert({"shape", "data"});
    return names == others;
  };
  const bool parts = are({"indices", "indptr"}) || are({"row", "col"});
  if (!parts && !(said && are({"offsets"}))) return std::nullopt;
  matrix.tell_format(arrays);
  matrix.set_parts(arrays);
  return matrix;
}

void NpzSparse::fail(const std::string& message, const std::string& hint) const {
  throw Error(ErrorCode::kData, message, hint, Place{file_, -1, -1, -1});
}

void NpzSparse::set_format(const std::string& name) {
  if (name == "csr") {
    format_ = Format::kCsr;
  } else if (name == "csc") {
    format_ = Format::kCsc;
  } else if (name == "coo") {
    format_ = Format::kCoo;
  } else {
    fail(fmt::format("is a sparse matrix of format '{}'", name),
         "csr, csc and coo are read: scipy.sparse.save_npz(file, matrix.tocsr())");
  }
}

// By its name where the file says it; else by the parts there are, and the number of pointers.
void NpzSparse::tell_format(const std::vector<NpzArray>& arrays) {
  if (const NpzArray* const said = find_array(arrays, prefix_ + "format"))
    return set_format(read_npz_text(*archive_, *said));
  const NpzArray* const pointers = find_array(arrays, prefix_ + std::string(kPointers));
  const NpzArray* const shape = find_array(arrays, prefix_ + "shape");
  format_ = pointers == nullptr ? Format::kCoo : Format::kCsr;
  if (pointers == nullptr || shape == nullptr || !pointers->readable()) return;
  const auto sides = read_npz_integers(*archive_, *shape, 2);
  const auto fits = [&](std::int64_t side) {
    return side >= 0 && pointers->is.header.rows() == static_cast<std::uint64_t>(side) + 1;
  };
  if (!fits(sides[0]) && fits(sides[1])) format_ = Format::kCsc;
}

ColumnInfo NpzSparse::row_column() const {
  if (!data_->readable())
    throw archive_->member_error(data_->member, data_->is.problem->message(), kSaveMatrixAgain);
  constexpr std::uint64_t kMost = 0xffffffffu;
  if (shape_[1] > kMost)
    fail(fmt::format("is a sparse matrix of {} columns, too wide for rows", shape_[1]),
         "is it transposed?");
  const NpyHeader& header = data_->is.header;
  return {"matrix", header.dtype, static_cast<std::uint32_t>(shape_[1]), header.truth()};
}

void NpzSparse::check_part(const NpzArray& part, std::uint64_t length) const {
  const NpyHeader& header = part.is.header;
  if (!part.readable() || header.shape.size() != 1 || is_fraction(header.dtype))
    throw archive_->member_error(part.member, "is no list of integers", kSaveMatrixAgain);
  if (header.rows() == length) return;
  throw archive_->member_error(
      part.member,
      fmt::format("has {} elements, the matrix asks for {}", header.rows(), length),
      kSaveMatrixAgain);
}

void NpzSparse::set_parts(const std::vector<NpzArray>& arrays) {
  const bool coo = format_ == Format::kCoo;
  const auto part = [&](const char* name) {
    const NpzArray* const found = find_array(arrays, prefix_ + name);
    if (found == nullptr)
      fail(fmt::format("is a sparse matrix without '{}{}'", prefix_, name), kSaveMatrixAgain);
    return found;
  };
  const auto shape = read_npz_integers(*archive_, *part("shape"), 2);
  if (shape[0] < 0 || shape[1] < 0)
    fail(fmt::format("is a sparse matrix of shape ({}, {})", shape[0], shape[1]), kSaveMatrixAgain);
  for (const std::size_t side : {std::size_t{0}, std::size_t{1}})
    shape_[side] = static_cast<std::uint64_t>(shape[side]);
  const std::size_t expanded = format_ == Format::kCsr ? 0 : 1;
  if (coo) {
    index_[0] = part("row");
    index_[1] = part("col");
  } else {
    index_[1 - expanded] = part("indices");
    pointers_ = part("indptr");
    check_part(*pointers_, shape_[expanded] + 1);
  }
  const NpzArray& first = index_[0] != nullptr ? *index_[0] : *index_[1];
  check_part(first, first.readable() ? first.is.header.rows() : 0);
  entries_ = first.is.header.rows();
  if (coo) check_part(*index_[1], entries_);
  for (const std::size_t side : {std::size_t{0}, std::size_t{1}})
    columns_.push_back({kNames[side], index_[side] ? index_[side]->is.header.dtype : DType::kI64});
  data_ = part("data");
  if (!data_->readable()) return;
  const NpyHeader& data = data_->is.header;
  if (data.shape.size() != 1 || data.rows() != entries_) {
    throw archive_->member_error(
        data_->member,
        fmt::format("has {} elements, the matrix has {} entries", data.rows(), entries_),
        kSaveMatrixAgain);
  }
  columns_.push_back({"data", data.dtype, 1, data.truth()});
}

std::unique_ptr<NpzColumn> NpzSparse::open(std::size_t index, const TableReader& table) const {
  if (index == 2) return std::make_unique<NpzElements>(*archive_, *data_);
  if (index_[index] == nullptr) return std::make_unique<Expanded>(*archive_, *pointers_, entries_);
  return std::make_unique<Indices>(*archive_, *index_[index], table, index, shape_[index]);
}

}  // namespace sluice

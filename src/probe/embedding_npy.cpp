#include "core/half.h"
#include "core/interrupt.h"
#include "probe/embedding_file.h"
#include "storage/io/file.h"

#include <sluice/error.h>

#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <system_error>
#include <utility>

namespace sluice::probe {
namespace {

constexpr std::uint64_t kPieceBytes = std::uint64_t{4} << 20;
constexpr std::uint64_t kMaxHeaderBytes = std::uint64_t{64} << 20;

// A column of a record, or the one of a plain array.
struct NpyField {
  std::string name;
  char kind = 'f';          // as NumPy says it: f, i, S
  std::uint64_t bytes = 4;  // of an element
  std::uint64_t count = 1;  // elements

  std::uint64_t size() const { return bytes * count; }
};

struct NpyTable {
  std::vector<NpyField> fields;
  bool records = false;
  bool fortran = false;
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0;  // of the data, in bytes of the file
};

[[noreturn]] void refuse_npy(const std::filesystem::path& path, const std::string& what) {
  throw Error(ErrorCode::kData,
              "the .npy file " + what,
              "write it as np.save(name, rows) with rows [n, d] of float32, or by `sluice-train "
              "embed`",
              Place{path.string(), -1, -1, -1});
}

// The header: a Python dictionary with three keys.
class NpyHeaderText {
 public:
  NpyHeaderText(std::string text, const std::filesystem::path& path)
      : text_(std::move(text)), path_(path) {}

  NpyTable table() {
    NpyTable table;
    go_to("'descr':");
    if (next() == '[') {
      table.records = true;
      take('[');
      while (next() != ']') {
        table.fields.push_back(record_field());
        if (next() == ',') take(',');
      }
    } else {
      table.fields.push_back(field_of("values", quoted()));
    }
    go_to("'fortran_order':");
    table.fortran = next() == 'T';
    go_to("'shape':");
    table.shape = tuple();
    return table;
  }

 private:
  void go_to(std::string_view key) {
    const auto found = text_.find(key);
    if (found == std::string::npos) refuse_npy(path_, fmt::format("has no {} in its header", key));
    at_ = found + key.size();
  }
  char next() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  void take(char wanted) {
    if (next() != wanted) refuse_npy(path_, "has a header that is cut off or damaged");
    ++at_;
  }
  std::string quoted() {
    take('\'');
    const auto end = text_.find('\'', at_);
    if (end == std::string::npos) refuse_npy(path_, "has a header that is cut off or damaged");
    std::string text = text_.substr(at_, end - at_);
    at_ = end + 1;
    return text;
  }
  std::vector<std::uint64_t> tuple() {
    std::vector<std::uint64_t> numbers;
    take('(');
    while (next() != ')') {
      std::uint64_t number = 0;
      const auto [end, fault] =
          std::from_chars(text_.data() + at_, text_.data() + text_.size(), number);
      if (fault != std::errc{}) refuse_npy(path_, "has a header that is cut off or damaged");
      at_ = static_cast<std::size_t>(end - text_.data());
      numbers.push_back(number);
      if (next() == ',') take(',');
    }
    take(')');
    return numbers;
  }
  NpyField record_field() {
    take('(');
    std::string name = quoted();
    take(',');
    NpyField field = field_of(std::move(name), quoted());
    if (next() == ',') {
      take(',');
      if (next() == '(') {
        const std::vector<std::uint64_t> shape = tuple();
        if (shape.size() != 1)
          refuse_npy(path_, fmt::format("has a field '{}' of other than one row", field.name));
        field.count = shape.front();
      }
    }
    take(')');
    return field;
  }
  NpyField field_of(std::string name, const std::string& descr) {
    static constexpr std::array<std::string_view, 5> kKnown{"<f2", "<f4", "<f8", "<i4", "<i8"};
    NpyField field{std::move(name)};
    if (std::ranges::count(kKnown, descr) != 0) {
      field.kind = descr[1];
      field.bytes = static_cast<std::uint64_t>(descr[2] - '0');
      return field;
    }
    if (descr.size() > 2 && descr.starts_with("|S")) {
      field.kind = 'S';
      const auto [end, fault] =
          std::from_chars(descr.data() + 2, descr.data() + descr.size(), field.bytes);
      if (fault == std::errc{} && end == descr.data() + descr.size()) return field;
    }
    refuse_npy(
        path_,
        fmt::format("has values of type '{}': read are f2, f4 and f8, and ids of i4, i8 or S",
                    descr));
  }

  std::string text_;
  const std::filesystem::path& path_;
  std::size_t at_ = 0;
};

NpyTable read_header(const File& file) {
  std::array<std::byte, 12> front{};
  if (file.size().or_throw() < front.size()) refuse_npy(file.path(), "is cut off");
  file.read_at(0, front).or_throw();
  if (std::memcmp(front.data(), "\x93NUMPY", 6) != 0) refuse_npy(file.path(), "is none");
  const bool first_version = front[6] == std::byte{1};
  std::uint32_t length = 0;
  std::memcpy(&length, front.data() + 8, first_version ? 2 : 4);
  const std::uint64_t begin = first_version ? 10 : 12;
  if (length > kMaxHeaderBytes || begin + length > file.size().or_throw())
    refuse_npy(file.path(), "is cut off in its header");
  std::string text(length, '\0');
  file.read_at(begin, std::as_writable_bytes(std::span(text))).or_throw();
  NpyTable table = NpyHeaderText(std::move(text), file.path()).table();
  table.begin = begin + length;
  return table;
}

// Whether the first field of records holds ids.
bool has_ids(const NpyTable& table) {
  return table.records && !table.fields.empty() && table.fields.front().kind != 'f';
}

void check_table(const NpyTable& table, const File& file) {
  const std::size_t first = has_ids(table) ? 1 : 0;
  if (table.shape.size() != (table.records ? 1u : 2u))
    refuse_npy(file.path(), fmt::format("has {} dimensions", table.shape.size()));
  std::uint64_t record = 0, values = 0;
  for (std::size_t i = 0; i < table.fields.size(); ++i) {
    const NpyField& field = table.fields[i];
    if (i >= first && field.kind != 'f')
      refuse_npy(file.path(), fmt::format("has a column '{}' that holds no floats", field.name));
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow(field.bytes, field.count, &bytes) ||
        __builtin_add_overflow(record, bytes, &record))
      refuse_npy(file.path(), fmt::format("has a column '{}' larger than any file", field.name));
    values += i >= first ? field.count : 0;
  }
  if (first == 1 && table.fields.front().count != 1)
    refuse_npy(file.path(), "has several ids a row");
  const std::uint64_t columns = table.records ? 1 : table.shape[1];
  if (values == 0 || columns == 0) refuse_npy(file.path(), "has no column of floats");
  if (table.shape[0] == 0) refuse_npy(file.path(), "has no rows");
  std::uint64_t bytes = 0;
  const bool too_many = __builtin_mul_overflow(table.shape[0], columns, &bytes) ||
                        __builtin_mul_overflow(bytes, record, &bytes) ||
                        __builtin_add_overflow(bytes, table.begin, &bytes);
  if (too_many || bytes != file.size().or_throw())
    refuse_npy(file.path(), "is not as long as its header says");
}

float float_at(const std::byte* at, std::uint64_t bytes) {
  if (bytes == 2) {
    std::uint16_t value = 0;
    std::memcpy(&value, at, sizeof value);
    return widen_f16(value);
  }
  if (bytes == 8) {
    double value = 0;
    std::memcpy(&value, at, sizeof value);
    return static_cast<float>(value);
  }
  float value = 0;
  std::memcpy(&value, at, sizeof value);
  return value;
}

std::int64_t integer_at(const std::byte* at, std::uint64_t bytes) {
  if (bytes == 4) {
    std::int32_t value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  std::int64_t value = 0;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// Ids of records, as they come.
class NpyIds {
 public:
  NpyIds(const NpyTable& table, MemoryLedger* ledger) : there_(has_ids(table)), memory_(ledger) {
    if (!there_) return;
    field_ = table.fields.front();
    const std::uint64_t rows = table.shape[0];
    if (field_.kind == 'i') {
      memory_.take(rows * sizeof(std::int64_t));
      numbers_.reserve(rows);
    } else {
      memory_.take(rows * (sizeof(std::string) + field_.bytes + 1));
      texts_.reserve(rows);
    }
  }
  void add(const std::byte* record) {
    if (!there_) return;
    if (field_.kind == 'i') return numbers_.push_back(integer_at(record, field_.bytes));
    const char* const text = reinterpret_cast<const char*>(record);
    // NumPy fills a text up with zeros.
    texts_.emplace_back(text, ::strnlen(text, field_.bytes));
  }
  void give_to(EmbeddingFile& file) {
    file.memory = std::move(memory_);
    if (!there_) return;
    if (field_.kind == 'i')
      file.ids = std::move(numbers_);
    else
      file.ids = std::move(texts_);
  }

 private:
  bool there_;
  NpyField field_;
  IdMemory memory_;
  EmbeddingFile::Numbers numbers_;
  EmbeddingFile::Texts texts_;
};

}  // namespace

EmbeddingFile read_npy_embeddings(const std::filesystem::path& path, MemoryLedger* ledger) {
  const File file = File::open_read(path).or_throw();
  NpyTable table = read_header(file);
  check_table(table, file);
  // An array in Fortran's order is its transpose in C's.
  if (table.fortran && !table.records) std::swap(table.shape[0], table.shape[1]);
  if (!table.records) table.fields.front().count = table.shape[1];
  const std::size_t first = has_ids(table) ? 1 : 0;
  std::uint64_t record = 0, width = 0;
  for (std::size_t i = 0; i < table.fields.size(); ++i) {
    record += table.fields[i].size();
    width += i >= first ? table.fields[i].count : 0;
  }
  EmbeddingFile read;
  read.rows =
      torch::empty({static_cast<std::int64_t>(table.shape[0]), static_cast<std::int64_t>(width)},
                   torch::kFloat32);
  float* out = read.rows.data_ptr<float>();
  NpyIds ids(table, ledger);
  std::vector<std::byte> piece;
  const std::uint64_t rows_at_once =
      std::max<std::uint64_t>(1, kPieceBytes / std::max<std::uint64_t>(1, record));
  for (std::uint64_t row = 0; row < table.shape[0]; row += rows_at_once) {
    throw_if_interrupted();
    const std::uint64_t rows = std::min(rows_at_once, table.shape[0] - row);
    piece.resize(rows * record);
    file.read_at(table.begin + row * record, piece).or_throw();
    const std::byte* at = piece.data();
    for (std::uint64_t i = 0; i < rows; ++i) {
      ids.add(at);
      for (std::size_t f = 0; f < table.fields.size(); ++f) {
        const NpyField& field = table.fields[f];
        for (std::uint64_t k = 0; f >= first && k < field.count; ++k)
          *out++ = float_at(at + k * field.bytes, field.bytes);
        at += field.size();
      }
    }
  }
  if (table.fortran && !table.records) read.rows = read.rows.t().contiguous();
  ids.give_to(read);
  return read;
}

}  // namespace sluice::probe

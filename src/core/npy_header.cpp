#include "core/npy_header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cctype>
#include <optional>
#include <utility>

namespace sluice {
namespace {

struct Fault {
  std::string message;
  std::string hint;
  bool sound = false;  // the file is well, but not of a kind that we read
};

// The dictionary is a Python literal, written by repr(): {'descr': '<f4', 'fortran_order': False,
// 'shape': (3, 4), }
class Literal {
 public:
  explicit Literal(std::string_view text) : rest_(text) {}

  bool take(char c) {
    skip_space();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::optional<std::string> text() {
    skip_space();
    if (rest_.empty() || (rest_.front() != '\'' && rest_.front() != '"')) return std::nullopt;
    const std::size_t end = rest_.find(rest_.front(), 1);
    if (end == std::string_view::npos) return std::nullopt;
    std::string value(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return value;
  }

  std::optional<bool> boolean() {
    skip_space();
    for (const auto& [word, value] :
         {std::pair<std::string_view, bool>{"True", true}, {"False", false}}) {
      if (!rest_.starts_with(word)) continue;
      rest_.remove_prefix(word.size());
      return value;
    }
    return std::nullopt;
  }

  std::optional<std::vector<std::uint64_t>> tuple() {
    if (!take('(')) return std::nullopt;
    std::vector<std::uint64_t> values;
    while (!take(')')) {
      const auto value = integer();
      if (!value) return std::nullopt;
      values.push_back(*value);
      if (!take(',')) return take(')') ? std::optional(values) : std::nullopt;
    }
    return values;
  }

  bool at_end() {
    skip_space();
    return rest_.empty();
  }

 private:
  std::optional<std::uint64_t> integer() {
    skip_space();
    std::uint64_t value = 0;
    std::size_t digits = 0;
    for (; digits < rest_.size() && std::isdigit(static_cast<unsigned char>(rest_[digits])) != 0;
         ++digits) {
      if (digits == 18) return std::nullopt;  // no file has 10^18 rows
      value = value * 10 + static_cast<std::uint64_t>(rest_[digits] - '0');
    }
    rest_.remove_prefix(digits);
    return digits == 0 ? std::nullopt : std::optional(value);
  }

  void skip_space() {
    while (!rest_.empty() &&
           (rest_.front() == ' ' || rest_.front() == '\n' || rest_.front() == '\t')) {
      rest_.remove_prefix(1);
    }
  }

  std::string_view rest_;
};

constexpr std::array<std::pair<std::string_view, DType>, 12> kDescrs{{{"f2", DType::kF16},
                                                                      {"f4", DType::kF32},
                                                                      {"f8", DType::kF64},
                                                                      {"u1", DType::kU8},
                                                                      {"i1", DType::kI8},
                                                                      {"b1", DType::kU8},
                                                                      {"i2", DType::kI16},
                                                                      {"u2", DType::kU16},
                                                                      {"i4", DType::kI32},
                                                                      {"i8", DType::kI64},
                                                                      {"u4", DType::kU32},
                                                                      {"u8", DType::kU64}}};

std::optional<Fault> set_dtype(NpyHeader& header) {
  const std::string& descr = header.descr;
  if (descr.size() >= 2 && descr[1] == 'O') {
    return Fault{
        "holds pickled Python objects", "save numbers: numpy.save(file, numpy.stack(list))", true};
  }
  for (const auto& [name, dtype] : kDescrs) {
    if (descr.size() != 3 || descr.substr(1) != name) continue;
    if (descr[0] == '>' && size_of(dtype) > 1) {
      return Fault{fmt::format("is big-endian ('{}')", descr),
                   fmt::format("save a.astype('<{}')", name),
                   true};
    }
    if (descr[0] != '<' && descr[0] != '|' && descr[0] != '>') break;
    header.dtype = dtype;
    return std::nullopt;
  }
  return Fault{fmt::format("dtype '{}' is not supported", descr),
               "save f16, f32, f64, whole numbers of 8 to 64 bits or bool",
               true};
}

std::optional<Fault> parse_dictionary(std::string_view text, NpyHeader& header) {
  Fault malformed{"the header is not a dictionary of descr, fortran_order and shape",
                  "write it again with numpy.save"};
  Literal literal(text);
  if (!literal.take('{')) return malformed;
  bool has_descr = false, has_order = false, has_shape = false;
  for (bool closed = literal.take('}'); !closed;) {
    const auto key = literal.text();
    if (!key || !literal.take(':')) return malformed;
    if (*key == "descr" && !has_descr) {
      const auto descr = literal.text();
      if (!descr) {
        return Fault{"has a structured dtype", "save the columns as arrays of their own", true};
      }
      header.descr = *descr;
      has_descr = true;
    } else if (*key == "fortran_order" && !has_order) {
      const auto order = literal.boolean();
      if (!order) return malformed;
      header.fortran_order = *order;
      has_order = true;
    } else if (*key == "shape" && !has_shape) {
      auto shape = literal.tuple();
      if (!shape) return malformed;
      header.shape = *std::move(shape);
      has_shape = true;
    } else {
      return malformed;
    }
    const bool comma = literal.take(',');
    closed = literal.take('}');
    if (!comma && !closed) return malformed;
  }
  if (!has_descr || !has_order || !has_shape || !literal.at_end()) return malformed;
  return set_dtype(header);
}

std::optional<Fault> check_size(const NpyHeader& header, std::uint64_t file_bytes) {
  if (header.shape.empty() || header.shape.size() > 2) {
    return Fault{fmt::format("has {} dimensions", header.shape.size()),
                 "save an array of one dimension or two: [N] or [N, D]",
                 true};
  }
  const auto elements = static_cast<unsigned __int128>(header.rows()) * header.width();
  const unsigned __int128 expected = elements * size_of(header.dtype) + header.data_offset;
  if (header.width() <= 0xffffffffu && expected == file_bytes) return std::nullopt;
  const bool absurd = expected > ~std::uint64_t{0} || header.width() > 0xffffffffu;
  return Fault{
      fmt::format("the shape ({}) of '{}' asks for {} bytes, the file has {}",
                  fmt::join(header.shape, ", "),
                  header.descr,
                  absurd ? "far too many" : std::to_string(static_cast<std::uint64_t>(expected)),
                  file_bytes),
      "the file was cut short or is damaged: save it again"};
}

std::optional<Fault> parse(std::span<const std::byte> bytes,
                           std::uint64_t file_bytes,
                           NpyHeader& header) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(kMagic))
    return Fault{"is not an .npy file",
                 "an array without a header, as numpy.memmap and tofile write it, is raw: say "
                 "format = \"raw\", and [raw] dtype and width"};
  Fault truncated{"ends within its header", "the file was cut short: save it again"};
  if (text.size() < 10) return truncated;
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(bytes[i]); };
  const std::uint32_t version = byte(6);
  if (version < 1 || version > 3) {
    return Fault{fmt::format("is of .npy version {}.{}", version, byte(7)),
                 "versions 1 to 3 are known: save it again"};
  }
  const std::size_t prefix = version == 1 ? 10 : 12;
  if (text.size() < prefix) return truncated;
  std::size_t length = byte(8) | byte(9) << 8;
  if (version > 1)
    length |= static_cast<std::size_t>(byte(10)) << 16 | static_cast<std::size_t>(byte(11)) << 24;
  if (prefix + length > kNpyMaxHeaderBytes)
    return Fault{fmt::format("its header claims {} bytes", length), "is it damaged?"};
  if (text.size() < prefix + length) return truncated;
  header.data_offset = prefix + length;
  if (auto fault = parse_dictionary(text.substr(prefix, length), header)) return fault;
  return check_size(header, file_bytes);
}

}  // namespace

NpyInspection inspect_npy_header(std::span<const std::byte> bytes,
                                 std::uint64_t file_bytes,
                                 const std::string& file) {
  NpyInspection inspection;
  if (auto fault = parse(bytes, file_bytes, inspection.header)) {
    inspection.problem =
        Error(ErrorCode::kData, fault->message, fault->hint, Place{file, -1, -1, -1});
    inspection.sound = fault->sound;
  }
  return inspection;
}

Result<NpyHeader> parse_npy_header(std::span<const std::byte> bytes,
                                   std::uint64_t file_bytes,
                                   const std::string& file) {
  NpyInspection inspection = inspect_npy_header(bytes, file_bytes, file);
  if (inspection.problem) return *std::move(inspection.problem);
  return std::move(inspection.header);
}

}  // namespace sluice

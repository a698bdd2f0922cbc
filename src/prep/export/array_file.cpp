#include "prep/export/array_file.h"

#include <sluice/error.h>

#include <fmt/format.h>

namespace sluice {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

std::string_view npy_type(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "<f4";
    case DType::kF64:
      return "<f8";
    case DType::kF16:
      return "<f2";
    case DType::kBF16:
      return "<u2";
    case DType::kI32:
      return "<i4";
    case DType::kI64:
      return "<i8";
    case DType::kU32:
      return "<u4";
    case DType::kU64:
      return "<u8";
    case DType::kU8:
      return "|u1";
    default:
      throw Error(ErrorCode::kInternal, "no .npy type for this dtype");
  }
}

}  // namespace

ByteFile::ByteFile(const std::filesystem::path& path) : file_(File::create(path).or_throw()) {
  buffer_.reserve(kBufferBytes);
}

void ByteFile::append(std::span<const std::byte> bytes) {
  if (buffer_.size() + bytes.size() > kBufferBytes) flush();
  if (bytes.size() > kBufferBytes) {
    file_.write_at(written_, bytes).or_throw();
    written_ += bytes.size();
    return;
  }
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

void ByteFile::flush() {
  file_.write_at(written_, buffer_).or_throw();
  written_ += buffer_.size();
  buffer_.clear();
}

std::uint64_t ByteFile::finish() {
  flush();
  file_.sync().or_throw();
  file_.close().or_throw();
  return written_;
}

std::string npy_head(DType dtype, std::uint64_t rows, std::uint64_t width) {
  const std::string shape =
      width == 1 ? fmt::format("({},)", rows) : fmt::format("({}, {})", rows, width);
  std::string text = fmt::format(
      "{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", npy_type(dtype), shape);
  constexpr std::size_t kFixed = 10;  // magic, version, length
  const std::size_t padded = (kFixed + text.size() + 1 + 63) / 64 * 64;
  text.resize(padded - kFixed - 1, ' ');
  text += '\n';
  std::string head("\x93NUMPY\x01\x00", 8);
  head += static_cast<char>(text.size() & 0xff);
  head += static_cast<char>(text.size() >> 8);
  return head + text;
}

}  // namespace sluice

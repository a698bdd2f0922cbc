#include "storage/checkpoint/safetensors.h"

#include "core/json_text.h"
#include "storage/io/atomic_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

namespace sluice {
namespace {

using SafeJson = nlohmann::ordered_json;

constexpr const char* kMetadata = "__metadata__";
constexpr std::uint64_t kMaxHeader = 100'000'000;  // as the format's own reader has it
static_assert(std::endian::native == std::endian::little);

constexpr std::pair<DType, const char*> kSafeNames[] = {{DType::kF64, "F64"},
                                                        {DType::kI64, "I64"},
                                                        {DType::kU64, "U64"},
                                                        {DType::kF32, "F32"},
                                                        {DType::kI32, "I32"},
                                                        {DType::kU32, "U32"},
                                                        {DType::kF16, "F16"},
                                                        {DType::kBF16, "BF16"},
                                                        {DType::kI16, "I16"},
                                                        {DType::kU16, "U16"},
                                                        {DType::kI8, "I8"},
                                                        {DType::kU8, "U8"}};

const char* safe_name(DType dtype) {
  for (const auto& [type, name] : kSafeNames) {
    if (type == dtype) return name;
  }
  throw Error(ErrorCode::kInternal, "an element type that safetensors does not have");
}

DType safe_dtype(const std::string& name) {
  for (const auto& [type, known] : kSafeNames) {
    if (name == known) return type;
  }
  throw Error(ErrorCode::kData, fmt::format("elements of type '{}' are not known here", name));
}

// A tensor to write: one of the two.
struct SafeOutput {
  const CheckpointTensor* held = nullptr;
  const StreamedRows* streamed = nullptr;

  const std::string& name() const { return held != nullptr ? held->name : streamed->name; }
  DType dtype() const { return held != nullptr ? held->value.dtype() : DType::kF32; }
  Array::Shape shape() const {
    if (held != nullptr) return held->value.shape();
    return {static_cast<std::int64_t>(streamed->rows),
            static_cast<std::int64_t>(streamed->columns)};
  }
  std::uint64_t bytes() const {
    return held != nullptr ? held->value.bytes()
                           : streamed->rows * streamed->columns * sizeof(float);
  }
};

// Larger elements first, else as they are given.
std::vector<SafeOutput> in_file_order(const std::vector<CheckpointTensor>& tensors,
                                      const std::vector<StreamedRows>& streamed) {
  std::vector<SafeOutput> order;
  order.reserve(tensors.size() + streamed.size());
  for (const CheckpointTensor& tensor : tensors) order.push_back({&tensor, nullptr});
  for (const StreamedRows& rows : streamed) order.push_back({nullptr, &rows});
  std::ranges::stable_sort(order, std::ranges::greater{}, [](const SafeOutput& output) {
    return size_of(output.dtype());
  });
  return order;
}

std::string header_of(const SafetensorsContent& content, const std::vector<SafeOutput>& order) {
  SafeJson header = SafeJson::object();
  if (!content.metadata.empty()) header[kMetadata] = content.metadata;
  std::uint64_t at = 0;
  for (const SafeOutput& output : order) {
    if (output.name() == kMetadata || header.contains(output.name())) {
      throw Error(ErrorCode::kUsage,
                  fmt::format("a tensor cannot be called '{}' in this file", output.name()));
    }
    const std::uint64_t end = at + output.bytes();
    header[output.name()] = {{"dtype", safe_name(output.dtype())},
                             {"shape", output.shape()},
                             {"data_offsets", {at, end}}};
    at = end;
  }
  std::string text = json_text(header);
  text.append((8 - text.size() % 8) % 8, ' ');  // data begin at a multiple of 8
  return text;
}

void append_streamed(AtomicFile& file, const StreamedRows& rows) {
  constexpr std::uint64_t kPiece = 4096;
  std::vector<float> piece;
  for (std::uint64_t first = 0; first < rows.rows; first += kPiece) {
    piece.resize(std::min(kPiece, rows.rows - first) * rows.columns);
    rows.read(first, piece);
    file.append(std::as_bytes(std::span(piece)));
  }
}

// What a header says of a tensor. Throws Error(kData) without a place, or a JSON exception.
struct SafeEntry {
  std::string name;
  DType dtype = DType::kF32;
  Array::Shape shape;
  std::uint64_t begin = 0, end = 0;
};

SafeEntry entry_of(const std::string& name, const SafeJson& json) {
  SafeEntry entry{name, safe_dtype(json.at("dtype")), json.at("shape"), 0, 0};
  const auto offsets = json.at("data_offsets").get<std::array<std::uint64_t, 2>>();
  entry.begin = offsets[0];
  entry.end = offsets[1];
  std::uint64_t bytes = size_of(entry.dtype);
  for (const std::int64_t side : entry.shape) {
    const auto factor = static_cast<std::uint64_t>(side);
    if (side < 0 || __builtin_mul_overflow(bytes, factor, &bytes))
      throw Error(ErrorCode::kData, fmt::format("tensor '{}' has no possible shape", name));
  }
  if (entry.begin > entry.end || entry.end - entry.begin != bytes) {
    throw Error(ErrorCode::kData,
                fmt::format("tensor '{}' takes {} bytes by its shape, not those from {} to {}",
                            name,
                            bytes,
                            entry.begin,
                            entry.end));
  }
  return entry;
}

// The data must be whole: each byte belongs to one tensor.
std::vector<SafeEntry> entries_of(const SafeJson& header, std::uint64_t data_bytes) {
  std::vector<SafeEntry> entries;
  for (const auto& [name, json] : header.items()) {
    if (name != kMetadata) entries.push_back(entry_of(name, json));
  }
  std::ranges::stable_sort(
      entries, {}, [](const SafeEntry& entry) { return std::pair(entry.begin, entry.end); });
  std::uint64_t at = 0;
  for (const SafeEntry& entry : entries) {
    if (entry.begin != at)
      throw Error(
          ErrorCode::kData,
          fmt::format("tensor '{}' begins at byte {}, not at {}", entry.name, entry.begin, at));
    at = entry.end;
  }
  if (at != data_bytes)
    throw Error(ErrorCode::kData, fmt::format("{} bytes of data, not {}", data_bytes, at));
  return entries;
}

struct SafeHeader {
  SafeJson json;
  std::vector<SafeEntry> entries;
  std::uint64_t data = 0;  // where these begin, in the file
};

SafeHeader read_header(const File& file) {
  const std::uint64_t file_bytes = file.size().or_throw();
  std::uint64_t header_bytes = 0;
  if (file_bytes < sizeof header_bytes) throw Error(ErrorCode::kData, "no header");
  file.read_at(0, std::as_writable_bytes(std::span(&header_bytes, 1))).or_throw();
  if (header_bytes > kMaxHeader || header_bytes > file_bytes - sizeof header_bytes)
    throw Error(ErrorCode::kData, fmt::format("a header of {} bytes", header_bytes));
  std::string text(header_bytes, '\0');
  file.read_at(sizeof header_bytes, std::as_writable_bytes(std::span(text))).or_throw();
  SafeHeader header{SafeJson::parse(text), {}, sizeof header_bytes + header_bytes};
  header.entries = entries_of(header.json, file_bytes - header.data);
  return header;
}

std::map<std::string, std::string> metadata_of(const SafeHeader& header) {
  if (!header.json.contains(kMetadata)) return {};
  return header.json.at(kMetadata).get<std::map<std::string, std::string>>();
}

SafetensorsContent read_whole(const File& file, MemoryLedger* ledger) {
  SafeHeader header = read_header(file);
  SafetensorsContent content;
  content.metadata = metadata_of(header);
  for (SafeEntry& entry : header.entries) {
    Array value = Array::make(entry.dtype, std::move(entry.shape), ledger, "checkpoint").or_throw();
    file.read_at(header.data + entry.begin, value.raw()).or_throw();
    content.tensors.push_back({std::move(entry.name), std::move(value)});
  }
  return content;
}

// What `read` gives; errors name the file.
template <class Read>
auto read_named(const File& file, const Read& read) -> Result<decltype(read())> {
  const auto no_file = [&](const std::string& why) {
    return Error(ErrorCode::kData,
                 "this is no safetensors file: " + why,
                 "write it anew: sluice-train export",
                 Place{file.path().string(), -1, -1, -1});
  };
  try {
    return read();
  } catch (const SafeJson::exception& error) {
    return no_file(error.what());
  } catch (const Error& error) {
    return error.code() == ErrorCode::kData ? no_file(error.message()) : error;
  }
}

}  // namespace

std::uint64_t write_safetensors(const std::filesystem::path& path,
                                const SafetensorsContent& content,
                                const std::vector<StreamedRows>& streamed) {
  const std::vector<SafeOutput> order = in_file_order(content.tensors, streamed);
  const std::string header = header_of(content, order);
  const std::uint64_t header_bytes = header.size();
  AtomicFile file(path);
  file.append(std::as_bytes(std::span(&header_bytes, 1)));
  file.append(header);
  for (const SafeOutput& output : order) {
    if (output.held != nullptr) {
      file.append(output.held->value.raw());
    } else {
      append_streamed(file, *output.streamed);
    }
  }
  const std::uint64_t bytes = file.size();
  file.commit();
  return bytes;
}

Result<std::vector<SafetensorsEntry>> list_safetensors(const File& file) {
  return read_named(file, [&] {
    SafeHeader header = read_header(file);
    std::vector<SafetensorsEntry> entries;
    entries.reserve(header.entries.size());
    for (SafeEntry& entry : header.entries)
      entries.push_back(
          {std::move(entry.name), entry.dtype, std::move(entry.shape), header.data + entry.begin});
    return entries;
  });
}

Result<std::map<std::string, std::string>> safetensors_metadata(const File& file) {
  return read_named(file, [&] { return metadata_of(read_header(file)); });
}

Result<SafetensorsContent> read_safetensors(const std::filesystem::path& path,
                                            MemoryLedger* ledger) {
  auto file = File::open_read(path);
  if (!file) return std::move(file).error();
  return read_named(file.value(), [&] { return read_whole(file.value(), ledger); });
}

}  // namespace sluice

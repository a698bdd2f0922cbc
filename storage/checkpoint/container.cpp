#include "storage/checkpoint/container.h"

#include "core/hash.h"
#include "core/json_text.h"
#include "storage/io/atomic_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<char, 8> kMagic{'S', 'L', 'U', 'I', 'C', 'K', 'P', 'T'};
constexpr std::uint64_t kAlignment = Array::kAlignment;

// The first 64 bytes; frozen over all versions, so that a newer file is known as such.
struct Prefix {
  std::array<char, 8> magic = kMagic;
  std::uint32_t version = kCheckpointVersion;
  std::uint32_t reserved = 0;
  std::uint64_t header_bytes = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t header_xxh3 = 0;
  std::uint64_t data_xxh3 = 0;
  std::uint64_t reserved_too = 0;
  std::uint64_t prefix_xxh3 = 0;
};
static_assert(sizeof(Prefix) == kAlignment && std::endian::native == std::endian::little);

std::uint64_t checksum_of(const Prefix& prefix) {
  return xxh3_64(bytes_of(prefix).first(offsetof(Prefix, prefix_xxh3)));
}

std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

Error damaged(const std::filesystem::path& path,
              const std::string& what,
              std::int64_t offset = -1) {
  return Error(ErrorCode::kData,
               "the checkpoint is damaged: " + what,
               "use another checkpoint of the run, or start the run again",
               Place{path.string(), -1, -1, offset});
}

// Offsets depend on the header's length and the header on the offsets: they are counted from the
// first tensor's place, which is where the aligned header ends.
Json directory_of(const CheckpointContent& content) {
  Json tensors = Json::array();
  std::uint64_t offset = 0;
  for (const CheckpointTensor& tensor : content.tensors) {
    tensors.push_back({{"name", tensor.name},
                       {"dtype", to_string(tensor.value.dtype())},
                       {"shape", tensor.value.shape()},
                       {"offset", offset}});
    offset += aligned(tensor.value.bytes());
  }
  return tensors;
}

// Appends to the file and to the checksum of what follows the header.
class DataWriter {
 public:
  explicit DataWriter(AtomicFile& file) : file_(file) {}
  void append(std::span<const std::byte> bytes) {
    file_.append(bytes);
    hasher_.update(bytes);
  }
  void align() {
    constexpr std::array<std::byte, kAlignment> kZeros{};
    append(std::span(kZeros).first(aligned(file_.size()) - file_.size()));
  }
  std::uint64_t digest() const { return hasher_.digest(); }

 private:
  AtomicFile& file_;
  Hasher hasher_;
};

struct DirectoryEntry {
  std::string name;
  DType dtype = DType::kF32;
  Array::Shape shape;
  std::uint64_t offset = 0;  // from the first tensor's place
  std::uint64_t bytes = 0;
};

// Nothing when an entry makes no sense.
std::optional<DirectoryEntry> parse_entry(const Json& json, std::uint64_t data_bytes) {
  DirectoryEntry entry;
  entry.name = json.at("name").get<std::string>();
  const auto dtype = parse_dtype(json.at("dtype").get<std::string>());
  if (!dtype) return std::nullopt;
  entry.dtype = *dtype;
  entry.shape = json.at("shape").get<Array::Shape>();
  entry.offset = json.at("offset").get<std::uint64_t>();
  entry.bytes = size_of(*dtype);
  for (const std::int64_t extent : entry.shape) {
    if (extent < 0) return std::nullopt;
    const auto size = static_cast<std::uint64_t>(extent);
    if (size != 0 && entry.bytes > std::numeric_limits<std::int64_t>::max() / size)
      return std::nullopt;
    entry.bytes *= size;
  }
  const bool inside = entry.offset % kAlignment == 0 && entry.offset <= data_bytes &&
                      entry.bytes <= data_bytes - entry.offset;
  if (!inside) return std::nullopt;
  return entry;
}

// Reads one checkpoint front to back, checking as it goes. Throws Error.
class Reader {
 public:
  Reader(const std::filesystem::path& path, MemoryLedger* ledger)
      : path_(path), ledger_(ledger), file_(File::open_read(path).or_throw()) {}

  CheckpointContent read() {
    read_prefix();
    const Json header = read_header();
    CheckpointContent content;
    content.state = json_text(header.at("state"));
    read_tensors(header, content);
    return content;
  }

  std::string read_state() {
    read_prefix();
    return json_text(read_header().at("state"));
  }

 private:
  void read_prefix() {
    const std::uint64_t size = file_.size().or_throw();
    const std::span<std::byte> raw = std::as_writable_bytes(std::span<Prefix, 1>(&prefix_, 1));
    const std::uint64_t there = std::min<std::uint64_t>(size, sizeof(Prefix));
    file_.read_at(0, raw.first(there)).or_throw();
    if (there < sizeof(kMagic) || prefix_.magic != kMagic) {
      throw Error(ErrorCode::kData,
                  "not a checkpoint",
                  "name a .ckpt file of a run directory",
                  Place{path_.string(), -1, -1, -1});
    }
    if (there < sizeof(Prefix))
      throw damaged(path_, "it is truncated", static_cast<std::int64_t>(size));
    if (prefix_.prefix_xxh3 != checksum_of(prefix_)) {
      throw damaged(path_, "its first 64 bytes do not match their checksum", 0);
    }
    if (prefix_.version > kCheckpointVersion) {
      throw Error(ErrorCode::kData,
                  fmt::format("the checkpoint is of version {}; this program reads up to {}",
                              prefix_.version,
                              kCheckpointVersion),
                  "use a newer sluice-train",
                  Place{path_.string(), -1, -1, -1});
    }
    if (size < prefix_.file_bytes) {
      throw damaged(
          path_,
          fmt::format("it is truncated: {} of {} bytes are there", size, prefix_.file_bytes),
          static_cast<std::int64_t>(size));
    }
    if (size > prefix_.file_bytes) throw damaged(path_, "it has bytes after its end");
    data_start_ = aligned(sizeof(Prefix) + prefix_.header_bytes);
    if (prefix_.header_bytes > size || data_start_ > size)
      throw damaged(path_, "its header is longer than the file");
  }

  Json read_header() {
    std::string text(prefix_.header_bytes, '\0');
    file_.read_at(sizeof(Prefix), std::as_writable_bytes(std::span(text))).or_throw();
    if (xxh3_64(std::as_bytes(std::span(text))) != prefix_.header_xxh3) {
      throw damaged(path_, "its header does not match its checksum", sizeof(Prefix));
    }
    Json header = Json::parse(text, nullptr, false);
    const bool sane = header.is_object() && header.contains("state") &&
                      header.contains("tensors") && header.at("tensors").is_array();
    if (!sane) throw damaged(path_, "its header makes no sense", sizeof(Prefix));
    return header;
  }

  void read_tensors(const Json& header, CheckpointContent& content) {
    skip_to(sizeof(Prefix) + prefix_.header_bytes, data_start_);
    std::uint64_t at = data_start_;
    for (const Json& json : header.at("tensors")) {
      const DirectoryEntry entry = entry_of(json);
      skip_to(at, data_start_ + entry.offset);
      Array value = Array::make(entry.dtype, entry.shape, ledger_, "checkpoint").or_throw();
      file_.read_at(data_start_ + entry.offset, value.raw()).or_throw();
      hasher_.update(std::as_const(value).raw());
      at = data_start_ + entry.offset + entry.bytes;
      content.tensors.push_back({entry.name, std::move(value)});
    }
    skip_to(at, prefix_.file_bytes);
    if (hasher_.digest() != prefix_.data_xxh3) {
      throw damaged(
          path_, "its tensors do not match their checksum", static_cast<std::int64_t>(data_start_));
    }
  }

  DirectoryEntry entry_of(const Json& json) const {
    try {
      if (auto entry = parse_entry(json, prefix_.file_bytes - data_start_))
        return *std::move(entry);
    } catch (const Json::exception&) {  // told below
    }
    throw damaged(path_, "its tensor directory makes no sense", sizeof(Prefix));
  }

  // The bytes between tensors count for the checksum too.
  void skip_to(std::uint64_t from, std::uint64_t to) {
    std::array<std::byte, kAlignment> gap{};
    if (to < from || to - from > gap.size())
      throw damaged(path_, "its tensors are not where they should be");
    const std::span<std::byte> bytes = std::span(gap).first(to - from);
    file_.read_at(from, bytes).or_throw();
    hasher_.update(bytes);
  }

  std::filesystem::path path_;
  MemoryLedger* ledger_;
  File file_;
  Prefix prefix_;
  std::uint64_t data_start_ = 0;
  Hasher hasher_;
};

}  // namespace

std::uint64_t write_checkpoint(const std::filesystem::path& path,
                               const CheckpointContent& content) {
  const Json header = {{"state", Json::parse(content.state)}, {"tensors", directory_of(content)}};
  const std::string text = json_text(header);
  Prefix prefix;
  AtomicFile file(path);
  file.append(bytes_of(prefix));
  file.append(text);
  DataWriter data(file);
  data.align();
  for (const CheckpointTensor& tensor : content.tensors) {
    data.append(tensor.value.raw());
    data.align();
  }
  prefix.header_bytes = text.size();
  prefix.file_bytes = file.size();
  prefix.header_xxh3 = xxh3_64(std::as_bytes(std::span(text)));
  prefix.data_xxh3 = data.digest();
  prefix.prefix_xxh3 = checksum_of(prefix);
  file.write_at(0, bytes_of(prefix));
  file.commit();
  return prefix.file_bytes;
}

Result<CheckpointContent> read_checkpoint(const std::filesystem::path& path, MemoryLedger* ledger) {
  try {
    return Reader(path, ledger).read();
  } catch (const Error& error) {
    return error;
  }
}

Result<std::string> read_checkpoint_state(const std::filesystem::path& path) {
  try {
    return Reader(path, nullptr).read_state();
  } catch (const Error& error) {
    return error;
  }
}

}  // namespace sluice

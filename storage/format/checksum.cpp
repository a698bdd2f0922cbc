#include "storage/format/checksum.h"

#include "core/hash.h"
#include "storage/format/layout.h"
#include "storage/io/file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace sluice {
namespace {

constexpr std::array<char, 8> kMagic{'S', 'L', 'U', 'I', 'C', 'E', 'S', 'M'};
constexpr std::uint32_t kChecksumVersion = 1;

struct Header {
  std::array<char, 8> magic = kMagic;
  std::uint32_t version = kChecksumVersion;
  std::uint32_t page_bytes = kPageBytes;
  std::uint64_t data_bytes = 0;
  std::uint64_t pages = 0;
  std::uint64_t blocks = 0;
};
static_assert(sizeof(Header) == 40);

std::uint64_t padded_page_sums_bytes(std::uint64_t pages) {
  return (pages + 1) / 2 * 8;
}

Error damaged(const std::filesystem::path& path, std::string what) {
  return Error(ErrorCode::kData,
               std::move(what),
               "the dataset is damaged: restore it from a copy or prepare it again",
               Place{path.string(), -1, -1, -1});
}

}  // namespace

std::uint64_t ChecksumFile::digest() const {
  return xxh3_64(std::as_bytes(std::span(block_sums)));
}

void ChecksumFile::append(std::span<const std::byte> bytes) {
  data_bytes += bytes.size();
  for (std::size_t at = 0; at < bytes.size(); at += kPageBytes) {
    page_sums.push_back(xxh3_32(bytes.subspan(at, kPageBytes)));
  }
  for (std::size_t at = 0; at < bytes.size(); at += kSumBlockBytes) {
    block_sums.push_back(
        xxh3_64(bytes.subspan(at, std::min<std::size_t>(kSumBlockBytes, bytes.size() - at))));
  }
}

std::vector<std::byte> ChecksumFile::serialize() const {
  Header header;
  header.data_bytes = data_bytes;
  header.pages = page_sums.size();
  header.blocks = block_sums.size();
  const std::uint64_t pages_bytes = padded_page_sums_bytes(header.pages);
  std::vector<std::byte> out(sizeof header + pages_bytes + 8 * header.blocks + 8);
  std::byte* to = out.data();
  std::memcpy(to, &header, sizeof header);
  to += sizeof header;
  if (!page_sums.empty()) std::memcpy(to, page_sums.data(), page_sums.size() * 4);
  to += pages_bytes;
  if (!block_sums.empty()) std::memcpy(to, block_sums.data(), block_sums.size() * 8);
  to += 8 * header.blocks;
  const std::uint64_t self = xxh3_64(std::span(out).first(out.size() - 8));
  std::memcpy(to, &self, sizeof self);
  return out;
}

Result<ChecksumFile> ChecksumFile::load(const std::filesystem::path& path, MemoryLedger* ledger) {
  auto file = File::open_read(path);
  if (!file) return std::move(file).error();
  auto size = file.value().size();
  if (!size) return std::move(size).error();
  if (size.value() < sizeof(Header) + 8) return damaged(path, "the checksum file is truncated");
  ChecksumFile sums;
  if (ledger != nullptr) {
    // Held once as read and once as vectors while loading, then shrunk to what stays.
    auto charge = ledger->charge("page checksums", 2 * size.value());
    if (!charge) return std::move(charge).error();
    sums.charge = std::move(charge).value();
  }
  std::vector<std::byte> bytes(size.value());
  if (auto read = file.value().read_at(0, bytes); !read) return std::move(read).error();

  Header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  std::uint64_t self = 0;
  std::memcpy(&self, bytes.data() + bytes.size() - 8, sizeof self);
  const bool intact = self == xxh3_64(std::span(bytes).first(bytes.size() - 8));
  if (header.magic == kMagic && header.version > kChecksumVersion && intact) {
    return Error(ErrorCode::kData,
                 fmt::format("the checksum file has format {}; this build reads up to {}",
                             header.version,
                             kChecksumVersion),
                 "use a newer Sluice",
                 Place{path.string(), -1, -1, -1});
  }
  if (!intact || header.magic != kMagic || header.page_bytes != kPageBytes) {
    return damaged(path, "the checksum file's own checksum does not match");
  }
  if (header.data_bytes % kPageBytes != 0 || header.pages != header.data_bytes / kPageBytes ||
      header.blocks != (header.data_bytes + kSumBlockBytes - 1) / kSumBlockBytes ||
      bytes.size() !=
          sizeof header + padded_page_sums_bytes(header.pages) + 8 * header.blocks + 8) {
    return damaged(path, "the checksum file's counts do not fit its size");
  }
  sums.data_bytes = header.data_bytes;
  sums.page_sums.resize(header.pages);
  sums.block_sums.resize(header.blocks);
  const std::byte* from = bytes.data() + sizeof header;
  if (header.pages != 0) std::memcpy(sums.page_sums.data(), from, header.pages * 4);
  from += padded_page_sums_bytes(header.pages);
  if (header.blocks != 0) std::memcpy(sums.block_sums.data(), from, header.blocks * 8);
  if (ledger != nullptr) {
    if (auto shrunk = sums.charge.resize(4 * header.pages + 8 * header.blocks); !shrunk)
      return std::move(shrunk).error();
  }
  return sums;
}

}  // namespace sluice

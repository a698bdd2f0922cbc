#include "fuzz/zip_bytes.h"

#include <zlib.h>

#include <cstddef>
#include <cstdint>

namespace sluice::fuzz {
namespace {

void put(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

// What a member's own header and its entry in the directory have in common.
void put_member(std::string& out, const ZipEntry& entry) {
  const auto* data = reinterpret_cast<const Bytef*>(entry.content.data());
  constexpr unsigned kVersion = 20, kFirstDay = 0x21;
  put(out, kVersion, 2);
  put(out, 0, 2);  // flags
  put(out, 0, 2);  // stored
  put(out, 0, 2);  // time
  put(out, kFirstDay, 2);
  put(out, crc32(0, data, static_cast<uInt>(entry.content.size())), 4);
  put(out, entry.content.size(), 4);
  put(out, entry.content.size(), 4);
  put(out, entry.name.size(), 2);
  put(out, 0, 2);  // extra fields
}

}  // namespace

std::string stored_zip(const std::vector<ZipEntry>& entries) {
  std::string out, directory;
  for (const ZipEntry& entry : entries) {
    directory += "PK\x01\x02";
    put(directory, 20, 2);  // made by
    put_member(directory, entry);
    put(directory, 0, 2);  // comment
    put(directory, 0, 2);  // disk
    put(directory, 0, 2);  // internal attributes
    put(directory, 0, 4);  // external ones
    put(directory, out.size(), 4);
    directory += entry.name;
    out += "PK\x03\x04";
    put_member(out, entry);
    out += entry.name;
    out += entry.content;
  }
  const std::size_t begin = out.size();
  out += directory;
  out += "PK\x05\x06";
  put(out, 0, 4);  // disks
  put(out, entries.size(), 2);
  put(out, entries.size(), 2);
  put(out, directory.size(), 4);
  put(out, begin, 4);
  put(out, 0, 2);  // comment
  return out;
}

}  // namespace sluice::fuzz

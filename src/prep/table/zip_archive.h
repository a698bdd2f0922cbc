// ZipArchive: the members of a zip file, and each as a stream of bytes that is checked to its end.
// Throws Error(kData) naming file and member. Used by one thread. The archive outlives its streams.
#pragma once

#include <sluice/error.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

struct zip;  // libzip's
struct zip_file;

namespace sluice {

struct ZipMember {
  std::string name;
  std::uint64_t index = 0;  ///< in the archive
  std::uint64_t bytes = 0;  ///< unpacked, as the directory says
};

class ZipArchive {
 public:
  explicit ZipArchive(const std::filesystem::path& path);
  ZipArchive(const ZipArchive&) = delete;
  ZipArchive& operator=(const ZipArchive&) = delete;
  ~ZipArchive();

  const std::vector<ZipMember>& members() const { return members_; }
  /// "file: member 'name': reason"
  Error member_error(const ZipMember& member,
                     const std::string& reason,
                     const std::string& hint) const;

 private:
  friend class ZipStream;

  std::string path_;
  zip* handle_ = nullptr;
  std::vector<ZipMember> members_;
};

class ZipStream {
 public:
  ZipStream(const ZipArchive& archive, const ZipMember& member);
  ZipStream(ZipStream&& other) noexcept;
  ZipStream& operator=(ZipStream&&) = delete;
  ZipStream(const ZipStream&) = delete;
  ZipStream& operator=(const ZipStream&) = delete;
  ~ZipStream();

  std::uint64_t left() const { return member_.bytes - at_; }
  /// The next out.size() bytes; where they are the last ones the member's CRC must be right.
  /// @pre out.size() <= left()
  void read(std::span<std::byte> out);
  void skip(std::uint64_t bytes);

 private:
  void check_end();
  [[noreturn]] void fail() const;

  const ZipArchive* archive_;
  ZipMember member_;
  zip_file* handle_ = nullptr;
  std::uint64_t at_ = 0;
};

}  // namespace sluice

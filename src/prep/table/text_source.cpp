#include "prep/table/text_source.h"

#include "prep/table/text_ahead.h"
#include "prep/table/text_decoders.h"
#include "storage/io/file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

namespace sluice {
namespace {

class PlainText final : public TextSource {
 public:
  explicit PlainText(File file) : file_(std::move(file)), bytes_(file_.size().or_throw()) {}

  std::size_t read(std::span<std::byte> out) override {
    const auto take = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), bytes_ - read_));
    file_.read_at(read_, out.first(take)).or_throw();
    read_ += take;
    return take;
  }
  bool ended() const override { return read_ == bytes_; }
  std::optional<std::uint64_t> bytes() const override { return bytes_; }

 private:
  File file_;
  std::uint64_t bytes_;
  std::uint64_t read_ = 0;
};

std::string front_of(const File& file) {
  std::string front(static_cast<std::size_t>(std::min<std::uint64_t>(file.size().or_throw(), 10)),
                    '\0');
  file.read_at(0, std::as_writable_bytes(std::span(front))).or_throw();
  return front;
}

bool is_zstd(std::string_view front) {
  const bool skippable =
      front.size() >= 4 && (front[0] & 0xf0) == 0x50 && front.substr(1).starts_with("\x2a\x4d\x18");
  return skippable || front.starts_with("\x28\xb5\x2f\xfd");
}

// The names of compressions by the first bytes of their files.
void refuse_others(std::string_view front, const std::string& file) {
  using Known = std::pair<std::string_view, std::string_view>;
  static constexpr std::array<Known, 4> kOthers{Known{"\xfd"
                                                      "7zXZ",
                                                      "xz"},
                                                Known{"PK\x03\x04", "zip"},
                                                Known{"\x04\x22\x4d\x18", "lz4"},
                                                Known{"\x31\x41\x59\x26\x53\x59", "bzip2"}};
  for (const auto& [magic, name] : kOthers) {
    // bzip2's own first letters are text: "BZh9", and the digits of pi behind.
    const bool found = name == "bzip2" ? front.starts_with("BZh") && front.ends_with(magic)
                                       : front.starts_with(magic);
    if (!found) continue;
    throw Error(ErrorCode::kData,
                fmt::format("is compressed with {}, which is not read", name),
                "decompress the file first, or compress it with gzip or zstd",
                Place{file, -1, -1, -1});
  }
}

std::string lower_extension(const std::filesystem::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  return extension;
}

}  // namespace

std::unique_ptr<TextSource> TextSource::open(const std::filesystem::path& path,
                                             MemoryLedger* ledger) {
  File file = File::open_read(path).or_throw();
  const std::string front = front_of(file);
  if (front.starts_with("\x1f\x8b"))
    return std::make_unique<TextAhead>(make_gzip_decoder(std::move(file), *ledger), *ledger);
  if (is_zstd(front))
    return std::make_unique<TextAhead>(make_zstd_decoder(std::move(file), *ledger), *ledger);
  refuse_others(front, path.string());
  return std::make_unique<PlainText>(std::move(file));
}

std::size_t check_encoding(std::string_view front, const std::string& file) {
  const Place place{file, -1, -1, -1};
  if (front.starts_with("\xff\xfe") || front.starts_with("\xfe\xff")) {
    throw Error(ErrorCode::kData, "is UTF-16 text", "save the file as UTF-8", place);
  }
  if (front.starts_with("\x1f\x8b") || is_zstd(front)) {
    throw Error(
        ErrorCode::kData, "is compressed twice over", "decompress the file once first", place);
  }
  return front.starts_with("\xef\xbb\xbf") ? 3 : 0;
}

bool is_compressed_name(const std::filesystem::path& path) {
  const std::string extension = lower_extension(path);
  return extension == ".gz" || extension == ".zst";
}

std::string text_extension(const std::filesystem::path& path) {
  return lower_extension(is_compressed_name(path) ? path.stem() : path);
}

}  // namespace sluice

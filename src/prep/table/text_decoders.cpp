#include "prep/table/text_decoders.h"

#include "storage/io/aligned_buffer.h"

#include <sluice/units.h>

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace sluice {
namespace {

constexpr std::uint64_t kInputBytes = 256 * kKiB;
constexpr std::uint64_t kInflateBytes = 48 * kKiB;  // zlib's state and its window of 32 KiB

/// The compressed bytes, a buffer at a time.
class Input {
 public:
  Input(File file, MemoryLedger& ledger)
      : file_(std::move(file)),
        bytes_(file_.size().or_throw()),
        buffer_(AlignedBuffer::make(std::min(bytes_, kInputBytes), &ledger, "compressed text")
                    .or_throw()) {}

  /// The next bytes; none at the end.
  std::span<const std::byte> next() {
    const auto take =
        static_cast<std::size_t>(std::min<std::uint64_t>(buffer_.size(), bytes_ - read_));
    file_.read_at(read_, buffer_.bytes().first(take)).or_throw();
    read_ += take;
    return buffer_.bytes().first(take);
  }
  bool ended() const { return read_ == bytes_; }

  /// @param left bytes of the last next() that were not used
  [[noreturn]] void fail(const std::string& message,
                         std::size_t left,
                         const char* hint = "fetch the file or compress it again") const {
    throw Error(ErrorCode::kData,
                message,
                hint,
                Place{file_.path().string(), -1, -1, static_cast<std::int64_t>(read_ - left)});
  }

 private:
  File file_;
  std::uint64_t bytes_;
  std::uint64_t read_ = 0;
  AlignedBuffer buffer_;
};

class GzipDecoder final : public TextDecoder {
 public:
  GzipDecoder(File file, MemoryLedger& ledger)
      : input_(std::move(file), ledger),
        charge_(ledger.charge("decompression", kInflateBytes).or_throw()) {
    constexpr int kGzipOnly = 16;  // added to the window's bits
    if (inflateInit2(&stream_, MAX_WBITS + kGzipOnly) != Z_OK)
      throw Error(ErrorCode::kResource, "the system has no memory to decompress gzip");
  }
  ~GzipDecoder() override { inflateEnd(&stream_); }

  std::size_t decode(std::span<std::byte> out) override {
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(std::min<std::size_t>(out.size(), kMiB));
    const uInt room = stream_.avail_out;
    while (stream_.avail_out == room) {
      if (stream_.avail_in == 0) refill();
      if (at_member_ && !next_member()) return 0;
      const int status = inflate(&stream_, Z_NO_FLUSH);
      at_member_ = status == Z_STREAM_END;
      if (stream_.avail_out != room) break;  // what is wrong will be wrong once more
      if (status == Z_BUF_ERROR && stream_.avail_in == 0 && input_.ended())
        input_.fail("the gzip data is cut short", 0);
      if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) damaged();
    }
    return room - stream_.avail_out;
  }

 private:
  void refill() {
    const auto bytes = input_.next();
    // zlib does not write there; its type is older than const.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
  }

  // Zeros behind the last member are padding, as on tapes.
  bool next_member() {
    if (!first_) {
      while (stream_.avail_in != 0 && *stream_.next_in == 0) {
        ++stream_.next_in;
        padded_ = true;
        if (--stream_.avail_in == 0) refill();
      }
      if (stream_.avail_in == 0) return false;
      if (padded_) damaged();
    }
    if (inflateReset(&stream_) != Z_OK) damaged();
    first_ = false;
    at_member_ = false;
    return true;
  }

  [[noreturn]] void damaged() const {
    const char* reason = stream_.msg != nullptr ? stream_.msg : "no gzip data";
    input_.fail(fmt::format("the gzip data is damaged ({})", reason), stream_.avail_in);
  }

  Input input_;
  Charge charge_;
  z_stream stream_{};
  bool first_ = true;
  bool at_member_ = true;  // the next byte begins a member
  bool padded_ = false;
};

class ZstdDecoder final : public TextDecoder {
 public:
  ZstdDecoder(File file, MemoryLedger& ledger)
      : input_(std::move(file), ledger),
        charge_(ledger.charge("decompression", 0).or_throw()),
        stream_(ZSTD_createDStream()) {
    if (stream_ == nullptr)
      throw Error(ErrorCode::kResource, "the system has no memory to decompress zstd");
  }

  std::size_t decode(std::span<std::byte> out) override {
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    while (to.pos == 0) {
      if (from_.pos == from_.size) refill();
      const bool no_more = from_.size == 0;
      if (no_more && between_frames_) return 0;
      const std::size_t status = ZSTD_decompressStream(stream_.get(), &to, &from_);
      if (ZSTD_isError(status) != 0) fail(status);
      between_frames_ = status == 0;
      // A frame's window is known, and allocated, once its header was read: up to 128 MiB.
      charge_.resize(ZSTD_sizeof_DStream(stream_.get())).or_throw();
      if (no_more && to.pos == 0 && !between_frames_) input_.fail("the zstd data is cut short", 0);
    }
    return to.pos;
  }

 private:
  struct Free {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };

  void refill() {
    const auto bytes = input_.next();
    from_ = {bytes.data(), bytes.size(), 0};
  }

  [[noreturn]] void fail(std::size_t status) const {
    if (ZSTD_getErrorCode(status) == ZSTD_error_frameParameter_windowTooLarge) {
      input_.fail("the zstd data needs more than 128 MiB to be decompressed",
                  from_.size - from_.pos,
                  "compress it again, without --long and --ultra");
    }
    input_.fail(fmt::format("the zstd data is damaged ({})", ZSTD_getErrorName(status)),
                from_.size - from_.pos);
  }

  Input input_;
  Charge charge_;
  std::unique_ptr<ZSTD_DStream, Free> stream_;
  ZSTD_inBuffer from_{nullptr, 0, 0};
  bool between_frames_ = true;
};

}  // namespace

std::unique_ptr<TextDecoder> make_gzip_decoder(File file, MemoryLedger& ledger) {
  return std::make_unique<GzipDecoder>(std::move(file), ledger);
}

std::unique_ptr<TextDecoder> make_zstd_decoder(File file, MemoryLedger& ledger) {
  return std::make_unique<ZstdDecoder>(std::move(file), ledger);
}

}  // namespace sluice

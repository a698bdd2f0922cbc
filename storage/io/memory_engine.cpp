#include "storage/io/engines.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

namespace sluice {
namespace {

struct Image {
  std::shared_ptr<const File> file;
  AlignedBuffer bytes;
  std::uint64_t size = 0;
};

/// Reads to the end of the file, whatever its size and alignment.
Result<Image> load(const File& file, MemoryLedger* ledger) {
  auto size = file.size();
  if (!size) return std::move(size).error();
  auto buffer = AlignedBuffer::make(size.value(), ledger, "files in memory");
  if (!buffer) return std::move(buffer).error();
  Image image{nullptr, std::move(buffer).value(), 0};
  constexpr std::size_t kChunkBytes = 8 * 1024 * 1024;
  while (image.size < image.bytes.size()) {
    const std::size_t wanted = std::min<std::size_t>(kChunkBytes, image.bytes.size() - image.size);
    const ssize_t got =
        ::pread(file.fd(), image.bytes.data() + image.size, wanted, static_cast<off_t>(image.size));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      return system_error(errno, "cannot read", file.path(), static_cast<std::int64_t>(image.size));
    image.size += static_cast<std::uint64_t>(got);
    // Only the end of the file is off a page's boundary, and O_DIRECT cannot ask again from there.
    if (got == 0 || image.size % kPageBytes != 0) break;
  }
  return image;
}

class MemoryEngine final : public IoEngine {
 public:
  explicit MemoryEngine(const IoEngineOptions& options)
      : depth_(options.depth), ledger_(options.ledger) {
    finished_.reserve(depth_);
  }

  std::string_view name() const override { return "memory"; }
  std::size_t depth() const override { return depth_; }
  std::size_t in_flight() const override { return finished_.size(); }

  Result<FileSlot> attach_file(std::shared_ptr<const File> file) override {
    auto image = load(*file, ledger_);
    if (!image) return std::move(image).error();
    images_.push_back(std::move(image).value());
    images_.back().file = std::move(file);
    return FileSlot(images_.size() - 1);
  }

  Result<BufferSlot> attach_buffer(std::shared_ptr<AlignedBuffer> buffer) override {
    buffers_.push_back(std::move(buffer));
    return BufferSlot(buffers_.size() - 1);
  }

  Result<std::size_t> submit(std::span<const IoRequest> requests) override {
    const std::size_t accepted = std::min(requests.size(), depth_ - finished_.size());
    for (const IoRequest& request : requests.first(accepted)) {
      finished_.push_back(
          {request.tag, request.op == IoOp::kWrite ? write(request) : copy(request)});
    }
    return accepted;
  }

  Result<std::size_t> reap(std::span<IoCompletion> out, Clock::time_point) override {
    const std::size_t taken = std::min(out.size(), finished_.size());
    const auto end = finished_.begin() + static_cast<std::ptrdiff_t>(taken);
    std::copy(finished_.begin(), end, out.begin());
    finished_.erase(finished_.begin(), end);
    return taken;
  }

 private:
  std::int64_t copy(const IoRequest& request) {
    const Image& image = images_[static_cast<std::size_t>(request.file)];
    if (request.file_offset >= image.size) return 0;
    const std::uint64_t bytes =
        std::min<std::uint64_t>(request.length, image.size - request.file_offset);
    std::memcpy(buffers_[static_cast<std::size_t>(request.buffer)]->data() + request.buffer_offset,
                image.bytes.data() + request.file_offset,
                bytes);
    return static_cast<std::int64_t>(bytes);
  }

  // To the file too, so that what was written is there for others, and after a kill.
  std::int64_t write(const IoRequest& request) {
    Image& image = images_[static_cast<std::size_t>(request.file)];
    if (request.file_offset + request.length > image.size) return -EFBIG;
    const std::byte* from =
        buffers_[static_cast<std::size_t>(request.buffer)]->data() + request.buffer_offset;
    const ssize_t put =
        ::pwrite(image.file->fd(), from, request.length, static_cast<off_t>(request.file_offset));
    if (put < 0) return -errno;
    std::memcpy(image.bytes.data() + request.file_offset, from, static_cast<std::size_t>(put));
    return put;
  }

  std::size_t depth_;
  MemoryLedger* ledger_;
  std::vector<Image> images_;
  std::vector<std::shared_ptr<AlignedBuffer>> buffers_;
  std::vector<IoCompletion> finished_;
};

}  // namespace

Result<std::unique_ptr<IoEngine>> make_memory_engine(const IoEngineOptions& options) {
  return std::unique_ptr<IoEngine>(std::make_unique<MemoryEngine>(options));
}

}  // namespace sluice

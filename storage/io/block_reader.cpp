#include "storage/io/block_reader.h"

#include "storage/io/read_pass.h"

#include <utility>

namespace sluice {
namespace {

/// All of a call's requests are checked before the first starts, so that a bug never half-runs.
Result<void> validate(const ReaderState& state, std::span<const BlockRead> reads) {
  const auto fits = [](std::uint64_t offset, std::uint64_t length, std::uint64_t size) {
    return offset <= size && length <= size - offset;
  };
  for (std::size_t i = 0; i < reads.size(); ++i) {
    const BlockRead& read = reads[i];
    const auto file = static_cast<std::size_t>(read.file);
    const auto buffer = static_cast<std::size_t>(read.buffer);
    if (file >= state.files.size() || buffer >= state.buffers.size()) {
      return read_invalid(read, i, "a file or buffer that is not attached");
    }
    if (read.length == 0 ||
        (read.length | read.file_offset | read.buffer_offset) % kPageBytes != 0) {
      return read_invalid(read, i, "something else than whole pages");
    }
    if (!fits(read.file_offset, read.length, state.files[file].size)) {
      return read_invalid(read, i, "bytes past the end of the file");
    }
    if (!fits(read.buffer_offset, read.length, state.buffers[buffer]->size())) {
      return read_invalid(read, i, "more than the buffer holds");
    }
  }
  return {};
}

}  // namespace

std::chrono::microseconds IoStats::latency_quantile(double share) const {
  std::uint64_t total = 0;
  for (const std::uint64_t count : latency_log2_us) total += count;
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < latency_log2_us.size(); ++i) {
    seen += latency_log2_us[i];
    if (seen > 0 && static_cast<double>(seen) >= share * static_cast<double>(total)) {
      return std::chrono::microseconds(std::int64_t{2} << i);
    }
  }
  return std::chrono::microseconds(0);
}

BlockReader::BlockReader(std::unique_ptr<IoEngine> engine, BlockReaderOptions options)
    : state_(std::make_unique<ReaderState>(std::move(engine), options)) {}

BlockReader::~BlockReader() = default;

const IoStats& BlockReader::stats() const noexcept {
  return state_->stats;
}
IoEngine& BlockReader::engine() noexcept {
  return *state_->engine;
}

Result<FileSlot> BlockReader::attach(std::shared_ptr<const File> file,
                                     std::span<const std::uint32_t> page_sums) {
  auto size = file->size();
  if (!size) return std::move(size).error();
  ReadableFile readable{file, size.value(), page_sums};
  if (auto checked = check_pages(readable); !checked) return std::move(checked).error();
  auto slot = state_->engine->attach_file(std::move(file));
  if (slot) state_->files.push_back(std::move(readable));
  return slot;
}

Result<BufferSlot> BlockReader::attach(std::shared_ptr<AlignedBuffer> buffer) {
  auto slot = state_->engine->attach_buffer(buffer);
  if (slot) state_->buffers.push_back(std::move(buffer));
  return slot;
}

Result<void> BlockReader::read(std::span<const BlockRead> reads, const OnDone& on_done) {
  if (state_->broken) {
    return Error(ErrorCode::kIo,
                 "this reader is broken: an earlier read never ended",
                 "look at `dmesg` and check the disk, then start again");
  }
  if (auto valid = validate(*state_, reads); !valid) return valid;
  // Broken until the pass has ended with nothing on its way, by whatever path it ends.
  state_->broken = true;
  auto result = ReadPass(*state_, reads, on_done).run();
  state_->broken = state_->free_slots.size() != state_->slots.size();
  return result;
}

}  // namespace sluice

#include "storage/io/block_reader.h"

#include "storage/io/read_pass.h"

#include <utility>

namespace sluice {
namespace {

// The reads of a list and then of another, in their order.
class ListSource final : public ReadSource {
 public:
  ListSource(std::span<const BlockRead> reads,
             std::span<const BlockRead> more,
             const BlockReader::OnDone& on_done)
      : reads_(reads), more_(more), on_done_(on_done) {}

  std::optional<BlockRead> next() override {
    if (next_ == reads_.size() + more_.size()) return std::nullopt;
    const std::size_t at = next_++;
    return at < reads_.size() ? reads_[at] : more_[at - reads_.size()];
  }
  void done(std::size_t index) override {
    if (on_done_) on_done_(index);
  }

 private:
  std::span<const BlockRead> reads_, more_;
  const BlockReader::OnDone& on_done_;
  std::size_t next_ = 0;
};

// All of a list's requests are checked before the first starts, so that a bug never half-runs.
Result<void> check_all(const ReaderState& state, std::span<const BlockRead> requests) {
  for (std::size_t i = 0; i < requests.size(); ++i)
    if (auto valid = check_read(state, requests[i], i); !valid) return valid;
  return {};
}

Result<void> run_pass(ReaderState& state, ReadPass pass) {
  if (state.broken) {
    return Error(ErrorCode::kIo,
                 "this reader is broken: an earlier read or write never ended",
                 "look at `dmesg` and check the disk, then start again");
  }
  // Broken until the pass has ended with nothing on its way, by whatever path it ends.
  state.broken = true;
  auto result = pass.run();
  state.broken = state.free_slots.size() != state.slots.size();
  return result;
}

}  // namespace

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
  if (auto valid = check_all(*state_, reads); !valid) return valid;
  ListSource source(reads, {}, on_done);
  return read(source);
}

Result<void> BlockReader::read(ReadSource& source) {
  return run_pass(*state_, ReadPass(*state_, source));
}

Result<void> BlockWriter::write(std::span<const BlockWrite> writes) {
  return exchange({}, writes);
}

Result<void> BlockWriter::exchange(std::span<const BlockRead> reads,
                                   std::span<const BlockWrite> writes) {
  ReaderState& state = *reader_.state_;
  for (const auto& list : {reads, writes})
    if (auto valid = check_all(state, list); !valid) return valid;
  const BlockReader::OnDone nothing;
  ListSource source(reads, writes, nothing);
  return run_pass(state, ReadPass(state, source, reads.size(), stats_));
}

}  // namespace sluice

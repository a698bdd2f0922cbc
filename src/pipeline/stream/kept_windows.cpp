#include "pipeline/stream/kept_windows.h"

#include <utility>

namespace sluice {

KeptWindows::KeptWindows(BatchSampler& sampler, const LoaderStart& where, std::uint64_t batch_bytes)
    : sampler_(sampler), where_(where) {
  const BatchSetting& setting = sampler.setting();
  spool_ = std::make_unique<BatchSpool>(
      setting.data.options.scratch, where.first_batch, setting.ledger, setting.data.scratch_files);
  spool_->reserve(batch_bytes);
}

// Where the disk has no room for all mini-batches, none is kept.
template <class Write>
void KeptWindows::write(const Write& to) {
  if (!spool_) return;
  try {
    to(*spool_);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kResource) throw;
    (void)free_disk();
  }
}

void KeptWindows::add_last_batch(Window& window) {
  Batch& batch = window.batches.back();
  const std::vector<Array> numbers = take_last_numbers(window);
  write([&](BatchSpool& spool) { spool.append(batch, numbers); });
  const std::uint64_t index = batch.index;
  batch = {};
  batch.epoch = where_.epoch;
  batch.index = index;
}

void KeptWindows::add(const Window& window) {
  windows_.push_back({window.batches.front().index, window.batches.size(), count_rows(window)});
}

void KeptWindows::finish() {
  write([](BatchSpool& spool) { spool.finish(); });
}

bool KeptWindows::free_disk() {
  if (!spool_) return false;
  written_ = spool_->bytes_written();
  spool_.reset();
  sampler_.setting().data.scratch_files->drop();
  return true;
}

std::shared_ptr<Window> KeptWindows::next() {
  if (next_ == windows_.size()) return nullptr;
  const Kept& kept = windows_[next_];
  auto window = std::make_shared<Window>();
  window->number = next_++;
  window->batches.resize(kept.batches);
  begin_known_rows(*window, kept.rows, kept.batches);
  for (std::uint64_t i = 0; i < kept.batches; ++i) {
    window->batches[i].epoch = where_.epoch;
    window->batches[i].index = kept.first_batch + i;
  }
  return window;
}

void KeptWindows::bring(Window& window, std::size_t index) {
  Batch& batch = window.batches[index];
  if (spool_) {
    BatchSpool::Kept kept = spool_->read(batch.index);
    batch = std::move(kept.batch);
    return put_numbers(window, index, std::move(kept.numbers));
  }
  if (!again_) again_.emplace(sampler_, where_);
  batch = again_->take();
  const BatchSetting& setting = sampler_.setting();
  number_again(window, index, setting.data.tables, setting.ledger);
}

}  // namespace sluice

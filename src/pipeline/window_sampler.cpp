#include "pipeline/window_sampler.h"

#include <fmt/format.h>
#include <sluice/units.h>

#include <algorithm>

namespace sluice {
namespace {

constexpr std::uint64_t kFirstWindow = 4;   // batches; each next window may be twice as large
constexpr std::uint64_t kMostGroup = 32;    // batches that share reads, while an epoch is planned
constexpr std::uint64_t kMaxWindow = 1024;  // batches, when the options leave it open

}  // namespace

std::uint64_t block_bytes(const Batch& batch) {
  std::uint64_t bytes = batch.seeds.bytes();
  for (const BatchNodes& nodes : batch.nodes) bytes += nodes.ids.bytes() + nodes.degrees.bytes();
  for (const auto& layer : batch.layers) {
    for (const Block& block : layer) {
      for (const Array* array : {&block.offsets,
                                 &block.neighbours,
                                 &block.edge_ids,
                                 &block.transposed_offsets,
                                 &block.transposed_targets,
                                 &block.transposed_edges}) {
        bytes += array->bytes();
      }
    }
  }
  return bytes;
}

WindowSampler::WindowSampler(GraphData::State& data,
                             const LoaderOptions& options,
                             const SeedOrder& order,
                             MemoryLedger& ledger)
    : data_(data),
      options_(options),
      order_(order),
      ledger_(ledger),
      arena_(options.data_threads),
      sampler_(data.graph,
               {options.fanout},
               BlockParts{.transpose = options.transpose, .degrees = options.degrees},
               RandomKey(options.seed),
               arena_) {}

void WindowSampler::keep_batches(const std::string& folder,
                                 std::uint64_t bytes,
                                 std::uint64_t block_bytes) {
  std::uint64_t workspace = 0;
  for (const MemoryLedger::Entry& entry : ledger_.entries()) {
    if (entry.name == "sampler workspace")
      workspace = entry.bytes / std::max<std::size_t>(sampler_.workspaces(), 1);
  }
  // Beside its workspace a batch takes its positions, its answers and itself, and a window is being
  // made of those before.
  const std::uint64_t each = std::max<std::uint64_t>(workspace + 4 * block_bytes, 1);
  keep_group_ = std::clamp<std::uint64_t>(bytes / each, GroupSampler::kGroup, kMostGroup);
  keep_folder_ = folder;
  keep_bytes_ = block_bytes;
  keep_ = Keep::kFromNextBegin;
}

void WindowSampler::begin(const LoaderStart& where, WindowLimits limits) {
  if (keep_ == Keep::kFromNextBegin) {
    sampled_.clear();
    sampler_.set_group(keep_group_);
    spool_ = std::make_unique<BatchSpool>(keep_folder_, where.epoch, where.first_batch, ledger_);
    spool_->reserve(keep_bytes_);
    spool_read_ = 0;
    spool_written_ = 0;
    keep_ = Keep::kNow;
  } else {
    sampler_.set_group(GroupSampler::kGroup);
    keep_ = Keep::kNo;
  }
  epoch_ = where.epoch;
  next_batch_ = where.first_batch;
  limits_ = std::move(limits);
  ramp_ = kFirstWindow;
  next_window_ = 0;
  sampled_.clear();
}

void WindowSampler::sample_group() {
  if (keep_ == Keep::kNo && spool_ && spool_->has(epoch_, next_batch_)) {
    sampled_.push_back(spool_->read(next_batch_++));
    spool_read_ = spool_->bytes_read();
    return;
  }
  const std::uint64_t left = order_.num_batches() - std::min(order_.num_batches(), next_batch_);
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(group_size(), left));
  std::vector<Batch> group = sample_batches(epoch_, next_batch_, count);
  next_batch_ += count;
  if (keep_ == Keep::kNow) keep(group);
  for (Batch& batch : group) sampled_.push_back(std::move(batch));
}

void WindowSampler::keep(const std::vector<Batch>& group) {
  try {
    for (const Batch& batch : group) spool_->append(batch);
    spool_written_ = spool_->bytes_written();
  } catch (const Error& error) {
    // No room on the disk: what was kept so far is of use, the rest is sampled again.
    if (error.code() != ErrorCode::kResource) throw;
    keep_ = Keep::kNo;
    sampler_.set_group(GroupSampler::kGroup);
  }
}

std::vector<Batch> WindowSampler::sample_batches(std::uint64_t epoch,
                                                 std::uint64_t first,
                                                 std::size_t count) {
  std::vector<std::vector<std::uint64_t>> seeds(count);
  std::vector<SampleRequest> requests(count);
  arena_.for_each(count, [&](std::size_t i) {
    const std::uint64_t index = first + i;
    seeds[i] = order_.batch(epoch, index);
    requests[i] = {epoch, index, index, data_.target_type, seeds[i]};
  });
  return sampler_.sample(requests, &ledger_).or_throw();
}

// Room for a window's distinct rows: as many as are wanted, or all of a first mini-batch that has
// more.
std::uint64_t WindowSampler::room_for(std::size_t type) {
  if (sampled_.empty()) sample_group();
  const std::uint64_t first =
      sampled_.empty() ? 0 : static_cast<std::uint64_t>(sampled_.front().nodes[type].ids.numel());
  return std::min(std::max(limits_.rows[type], first), limits_.most_rows[type]);
}

std::shared_ptr<Window> WindowSampler::sample() {
  auto window = std::make_shared<Window>();
  window->number = next_window_++;
  window->rows.resize(data_.features.size());
  for (std::size_t type = 0; type < window->rows.size(); ++type) {
    if (data_.on_disk(type))
      window->rows[type] = std::make_unique<WindowRows>(room_for(type), ledger_);
  }
  const auto most = options_.window > 0 ? static_cast<std::uint64_t>(options_.window) : ramp_;
  used_bytes_ = 0;
  while (window->batches.size() < most) {
    if (sampled_.empty()) sample_group();
    if (sampled_.empty()) break;
    if (!add(*window, sampled_.front())) {
      if (window->batches.empty()) refuse(*window, sampled_.front());
      break;
    }
    sampled_.pop_front();
  }
  ramp_ = std::min(2 * ramp_, kMaxWindow);
  if (!window->batches.empty()) return window;
  if (next_batch_ < order_.num_batches())
    throw Error(ErrorCode::kInternal, "an epoch would have ended before its last mini-batch");
  if (keep_ == Keep::kNow) sampler_.set_group(GroupSampler::kGroup);  // its memory is wanted now
  return nullptr;
}

// Takes the batch into the window, or leaves both as they were where there is no room.
bool WindowSampler::add(Window& window, Batch& batch) {
  const bool first = window.batches.empty();
  std::uint64_t cost = block_bytes(batch);
  for (std::size_t type = 0; type < window.rows.size(); ++type) {
    if (window.rows[type])
      cost += static_cast<std::uint64_t>(batch.nodes[type].ids.numel()) * sizeof(std::uint32_t);
  }
  if (!first && used_bytes_ + cost > limits_.block_bytes) return false;
  std::vector<std::size_t> before(window.rows.size());
  bool fits = true;
  for (std::size_t type = 0; fits && type < window.rows.size(); ++type) {
    if (!window.rows[type]) continue;
    RowIndex& index = window.rows[type]->index;
    before[type] = index.size();
    const Array& ids = batch.nodes[type].ids;
    Array numbers = Array::make(DType::kU32, {ids.numel()}, &ledger_, "batches").or_throw();
    const std::span<std::uint32_t> out = numbers.as<std::uint32_t>();
    const std::span<const std::uint64_t> wanted = ids.as<std::uint64_t>();
    for (std::size_t i = 0; fits && i < wanted.size(); ++i) {
      out[i] = index.insert(wanted[i]);
      fits = out[i] != RowIndex::kNone && (first || index.size() <= limits_.rows[type]);
    }
    window.rows[type]->numbers.push_back(std::move(numbers));
  }
  if (!fits) {
    for (std::size_t type = 0; type < window.rows.size(); ++type) {
      if (!window.rows[type] || window.rows[type]->numbers.size() == window.batches.size())
        continue;
      window.rows[type]->index.truncate(before[type]);
      window.rows[type]->numbers.pop_back();
    }
    return false;
  }
  used_bytes_ += cost;
  window.batches.push_back(std::move(batch));
  return true;
}

void WindowSampler::refuse(const Window& window, const Batch& batch) const {
  std::string needs = format_bytes(block_bytes(batch));
  std::string room = format_bytes(limits_.block_bytes);
  for (std::size_t type = 0; type < window.rows.size(); ++type) {
    if (!window.rows[type]) continue;
    needs += fmt::format(" and {} rows",
                         format_count(static_cast<std::uint64_t>(batch.nodes[type].ids.numel())));
    room += fmt::format(" and {} rows", format_count(limits_.most_rows[type]));
  }
  throw Error(ErrorCode::kResource,
              fmt::format("mini-batch {} of epoch {} needs {}; a window has room for {}",
                          batch.index,
                          epoch_,
                          needs,
                          room),
              "raise [memory] host, or lower batch_size or fanout");
}

Batch WindowSampler::sample_one(std::uint64_t index) {
  return std::move(sample_batches(0, index, 1).front());
}

}  // namespace sluice

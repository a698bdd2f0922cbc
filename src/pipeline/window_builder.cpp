#include "pipeline/window_builder.h"

#include <fmt/format.h>
#include <sluice/units.h>

#include <algorithm>

namespace sluice {
namespace {

constexpr std::uint64_t kFirstWindow = 4;   // batches; each next window may be twice as large
constexpr std::uint64_t kMaxWindow = 1024;  // batches, when the options leave it open

// Memory a distinct row costs a window beside its bytes: its id, its place, its share of the table,
// and while it is fetched its place in the lists of what is missing and what is sorted.
constexpr std::uint64_t kRowOverhead = 52;

}  // namespace

std::uint64_t block_bytes(const Batch& batch) {
  std::uint64_t bytes = batch.seeds.bytes();
  for (const BatchNodes& nodes : batch.nodes) bytes += nodes.ids.bytes();
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

WindowBuilder::WindowBuilder(GraphData::State& data,
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

void WindowBuilder::begin(const LoaderStart& where, std::uint64_t window_bytes) {
  epoch_ = where.epoch;
  next_batch_ = where.first_batch;
  limit_bytes_ = window_bytes;
  ramp_ = kFirstWindow;
  sampled_.clear();
}

bool WindowBuilder::on_disk(std::size_t type) const {
  return data_.features[type] != nullptr && data_.features[type]->placement() == "disk";
}

void WindowBuilder::sample_group() {
  const std::uint64_t left = order_.num_batches() - std::min(order_.num_batches(), next_batch_);
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(group_size(), left));
  std::vector<Batch> group = sample_batches(epoch_, next_batch_, count);
  next_batch_ += count;
  for (Batch& batch : group) sampled_.push_back(std::move(batch));
}

std::vector<Batch> WindowBuilder::sample_batches(std::uint64_t epoch,
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

std::shared_ptr<Window> WindowBuilder::sample() {
  auto window = std::make_shared<Window>();
  window->rows.resize(data_.features.size());
  for (std::size_t type = 0; type < window->rows.size(); ++type) {
    if (!on_disk(type)) continue;
    const std::size_t row_bytes = data_.features[type]->row_bytes();
    const std::uint64_t room =
        std::min(limit_bytes_ / (row_bytes + kRowOverhead), data_.graph.schema->nodes[type].count);
    window->rows[type] = std::make_unique<RowWindow>(row_bytes, room, ledger_);
  }
  const auto most = options_.window > 0 ? static_cast<std::uint64_t>(options_.window)
                                        : std::min(ramp_, kMaxWindow);
  std::uint64_t used = 0;
  while (window->batches.size() < most) {
    if (sampled_.empty()) sample_group();
    if (sampled_.empty()) break;
    Batch& batch = sampled_.front();
    std::uint64_t cost = block_bytes(batch);
    for (std::size_t type = 0; type < window->rows.size(); ++type) {
      if (!window->rows[type]) continue;
      const std::uint64_t fresh =
          window->rows[type]->count_new(batch.nodes[type].ids.as<std::uint64_t>());
      cost += fresh * (data_.features[type]->row_bytes() + kRowOverhead);
    }
    if (used + cost > limit_bytes_) {
      if (!window->batches.empty()) break;
      throw Error(ErrorCode::kResource,
                  fmt::format("mini-batch {} of epoch {} needs {}; a window may take {}",
                              batch.index,
                              epoch_,
                              format_bytes(cost),
                              format_bytes(limit_bytes_)),
                  "raise [memory] host, or lower batch_size or fanout");
    }
    used += cost;
    for (std::size_t type = 0; type < window->rows.size(); ++type) {
      if (window->rows[type]) window->rows[type]->add(batch.nodes[type].ids.as<std::uint64_t>());
    }
    window->batches.push_back(std::move(batch));
    sampled_.pop_front();
  }
  ramp_ *= 2;
  return window->batches.empty() ? nullptr : window;
}

void WindowBuilder::fetch(Window& window, const Window* before) {
  for (std::size_t type = 0; type < window.rows.size(); ++type) {
    if (!window.rows[type]) continue;
    window.rows[type]->fetch(*data_.features[type],
                             before == nullptr ? nullptr : before->rows[type].get());
  }
}

Batch WindowBuilder::sample_one(std::uint64_t index) {
  return std::move(sample_batches(0, index, 1).front());
}

std::uint64_t WindowBuilder::stored_row_bytes(const Batch& batch) const {
  std::uint64_t bytes = 0;
  for (std::size_t type = 0; type < batch.nodes.size(); ++type) {
    if (!on_disk(type)) continue;
    bytes += static_cast<std::uint64_t>(batch.nodes[type].ids.numel()) *
             (data_.features[type]->row_bytes() + kRowOverhead);
  }
  return bytes;
}

}  // namespace sluice

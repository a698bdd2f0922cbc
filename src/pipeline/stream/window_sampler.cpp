#include "pipeline/stream/window_sampler.h"

#include "samplers/exclude_edges.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sluice/units.h>

#include <algorithm>

namespace sluice {
namespace {

std::shared_ptr<const SamplerMethod> method_of(const LoaderOptions& options) {
  if (options.sampler) return options.sampler;
  return std::make_shared<SamplerKind<NeighborSampler>>(NeighborSamplerOptions{options.fanout});
}

}  // namespace

WindowSampler::WindowSampler(GraphData::State& data,
                             const LoaderOptions& options,
                             const QuerySource& queries,
                             MemoryLedger& ledger)
    : data_(data),
      options_(options),
      queries_(queries),
      ledger_(ledger),
      arena_(options.data_threads),
      sampler_(data.sampling_graph(options, queries, ledger),
               method_of(options),
               parts(),
               RandomKey(options.seed),
               arena_) {}

// Transposes follow from the rest: they are made last, so that neither windows nor scratch files
// hold them.
BlockParts WindowSampler::parts() const {
  return {.transpose = false, .degrees = options_.degrees};
}

std::unique_ptr<GroupSampler> WindowSampler::make_sampler(SamplerGraph graph) {
  return std::make_unique<GroupSampler>(
      std::move(graph), method_of(options_), parts(), RandomKey(options_.seed), arena_);
}

void WindowSampler::begin(const LoaderStart& where, WindowLimits limits) {
  forget_ahead();
  sampled_.clear();
  end_keeping();
  const bool again =
      where.epoch == epoch_ && where.first_batch == first_batch_ && limits == limits_;
  limits_ = std::move(limits);
  if (keep_ == Keep::kFromNextBegin) {
    begin_keeping(where);
    keep_ = Keep::kNow;
  } else if (keep_ == Keep::kDone && again) {
    keep_ = Keep::kUse;
  } else {
    keep_ = Keep::kNo;
    spool_.reset();
  }
  epoch_ = where.epoch;
  first_batch_ = where.first_batch;
  next_batch_ = where.first_batch;
  ramp_ = kFirstWindow;
  next_window_ = 0;
}

// Samples the batches from the next one on that make a group.
std::vector<Batch> WindowSampler::next_group() {
  const std::uint64_t left = queries_.num_batches() - std::min(queries_.num_batches(), next_batch_);
  std::size_t most = (resident_sampler_ ? *resident_sampler_ : sampler_).group_size();
  // Threads that wait for each other at the end of a group do so seldom in a large one.
  if (ahead_of_numbering()) most = std::max(most, keep_ahead_);
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(most, left));
  std::vector<Batch> group = sample_in_room(epoch_, next_batch_, count);
  next_batch_ += group.size();
  return group;
}

// As many are sampled together as there was room for by the first: where later ones are larger,
// and there is none, fewer.
std::vector<Batch> WindowSampler::sample_in_room(std::uint64_t epoch,
                                                 std::uint64_t first,
                                                 std::size_t count) {
  while (paged() && resident_sampler_ == nullptr && count > GroupSampler::kGroup) {
    try {
      return sample_batches(epoch, first, count);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kResource) throw;
    }
    count = std::max(count / 2, GroupSampler::kGroup);
    sampler_.set_group(count);
  }
  return sample_batches(epoch, first, count);
}

// While windows are kept nothing else goes on: the next group is sampled while this one's rows are
// numbered. Not where edges are on disk: their reads stay with one thread.
void WindowSampler::sample_group() {
  std::vector<Batch> group = ahead_.valid() ? ahead_.get() : next_group();
  for (Batch& batch : group) sampled_.push_back(std::move(batch));
  if (ahead_of_numbering())
    ahead_ = std::async(std::launch::async, [this] { return next_group(); });
}

void WindowSampler::forget_ahead() {
  if (!ahead_.valid()) return;
  ahead_.wait();
  ahead_ = {};
}

std::vector<Batch> WindowSampler::sample_batches(std::uint64_t epoch,
                                                 std::uint64_t first,
                                                 std::size_t count) {
  std::vector<QueryBatch> asked(count);
  std::vector<SampleRequest> requests(count);
  arena_.for_each(count, [&](std::size_t i) {
    asked[i] = queries_.batch(epoch, first + i, &ledger_).or_throw();
    requests[i] = {epoch, asked[i].round, first + i, SeedLists(asked[i]), asked[i].cut};
  });
  GroupSampler& sampler = resident_sampler_ ? *resident_sampler_ : sampler_;
  std::vector<Batch> batches = sampler.sample(requests, &ledger_).or_throw();
  arena_.for_each(count, [&](std::size_t i) {
    exclude_edges(batches[i], asked[i].excluded, &ledger_).or_throw();
    batches[i].queries = std::move(asked[i].queries);
  });
  return batches;
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
  if (brings()) return next_known();
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
    if (keep_ == Keep::kNow) keep_last(*window);
  }
  ramp_ = std::min(2 * ramp_, kMaxWindow);
  if (!window->batches.empty()) {
    if (keep_ == Keep::kNow) keep(*window);
    return window;
  }
  forget_ahead();
  if (next_batch_ < queries_.num_batches())
    throw Error(ErrorCode::kInternal, "an epoch would have ended before its last mini-batch");
  if (keep_ == Keep::kNow) finish_keeping();
  end_keeping();
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
    RowIndex& index = *window.rows[type]->index;
    before[type] = index.size();
    const Array& ids = batch.nodes[type].ids;
    Array numbers = Array::make(DType::kU32, {ids.numel()}, &ledger_, "batches").or_throw();
    const std::span<std::uint32_t> out = numbers.as<std::uint32_t>();
    const std::span<const std::uint64_t> wanted = ids.as<std::uint64_t>();
    const std::uint64_t most = first ? limits_.most_rows[type] : limits_.rows[type];
    fits = index.insert_all(wanted, most, out) == wanted.size();
    window.rows[type]->numbers.push_back(std::move(numbers));
  }
  if (!fits) {
    for (std::size_t type = 0; type < window.rows.size(); ++type) {
      if (!window.rows[type] || window.rows[type]->numbers.size() == window.batches.size())
        continue;
      window.rows[type]->index->truncate(before[type]);
      window.rows[type]->numbers.pop_back();
    }
    return false;
  }
  used_bytes_ += cost;
  window.batches.push_back(std::move(batch));
  return true;
}

void WindowSampler::refuse(const Window& window, const Batch& batch) const {
  std::vector<std::string> needs, room;
  if (limits_.block_bytes != WindowLimits::kNoBlocks) {
    needs.push_back(format_bytes(block_bytes(batch)));
    room.push_back(format_bytes(limits_.block_bytes));
  }
  for (std::size_t type = 0; type < window.rows.size(); ++type) {
    if (!window.rows[type]) continue;
    const auto rows = static_cast<std::uint64_t>(batch.nodes[type].ids.numel());
    needs.push_back(format_count(rows) + " rows");
    room.push_back(format_count(limits_.most_rows[type]) + " rows");
  }
  throw Error(ErrorCode::kResource,
              fmt::format("mini-batch {} of epoch {} needs {}; a window has room for {}",
                          batch.index,
                          epoch_,
                          fmt::join(needs, " and "),
                          fmt::join(room, " and ")),
              "raise [memory] host, or lower batch_size or fanout");
}

Batch WindowSampler::sample_one(std::uint64_t index) {
  Batch batch = std::move(sample_batches(0, index, 1).front());
  measured_workspace_ = bytes_a_workspace();
  return batch;
}

}  // namespace sluice

#include "pipeline/window_sampler.h"

#include <fmt/format.h>
#include <sluice/units.h>

#include <algorithm>
#include <limits>

namespace sluice {
namespace {

constexpr std::uint64_t kSpareBytes = 16 << 20;
constexpr std::uint64_t kMostGroup = 32;  // batches that share reads, while an epoch is planned

// What a relation's edges and offsets take in RAM.
std::uint64_t resident_bytes(const GraphSchema& schema, const RelationSchema& relation) {
  const std::uint64_t sources = schema.node_type(relation.source)->count;
  const std::uint64_t targets = schema.node_type(relation.target)->count;
  const std::uint64_t an_edge = size_of(node_id_dtype(sources)) +
                                (relation.has_edge_ids ? size_of(relation.edge_id_dtype()) : 0);
  return relation.edges * an_edge + (targets + 1) * sizeof(std::uint64_t);
}

// Of a window that is being made.
std::uint64_t window_bytes(const WindowLimits& limits) {
  std::uint64_t bytes = limits.block_bytes + kSpareBytes;
  for (const std::uint64_t rows : limits.rows)
    bytes += rows * (RowIndex::kBytesAnId + sizeof(std::uint32_t));
  return bytes;
}

std::shared_ptr<const SamplerMethod> method_of(const LoaderOptions& options) {
  if (options.sampler) return options.sampler;
  return std::make_shared<SamplerKind<NeighborSampler>>(NeighborSamplerOptions{options.fanout});
}

}  // namespace

WindowSampler::WindowSampler(GraphData::State& data,
                             const LoaderOptions& options,
                             const BatchOrder& order,
                             MemoryLedger& ledger)
    : data_(data),
      options_(options),
      order_(order),
      ledger_(ledger),
      arena_(options.data_threads),
      sampler_(data.sampling_graph(options, order, ledger),
               method_of(options),
               parts(),
               RandomKey(options.seed),
               arena_) {}

BlockParts WindowSampler::parts() const {
  return {.transpose = options_.transpose, .degrees = options_.degrees};
}

std::unique_ptr<GroupSampler> WindowSampler::make_sampler(SamplerGraph graph) {
  return std::make_unique<GroupSampler>(
      std::move(graph), method_of(options_), parts(), RandomKey(options_.seed), arena_);
}

void WindowSampler::keep_windows(const std::string& folder,
                                 std::uint64_t bytes,
                                 std::uint64_t block_bytes) {
  keep_folder_ = folder;
  keep_memory_ = bytes;
  keep_bytes_ = block_bytes;
  keep_ = Keep::kFromNextBegin;
}

bool WindowSampler::worth_keeping() const {
  if (paged()) return true;
  const DeviceRates& rates = data_.device->rates();
  if (rates.sequential_write == 0) return false;
  return 1 / rates.sequential_read + 1 / rates.sequential_write < 1 / kSampledBytesASecond;
}

void WindowSampler::begin_keeping(const LoaderStart& where) {
  spool_ = std::make_unique<BatchSpool>(keep_folder_, where.epoch, where.first_batch, ledger_);
  spool_->reserve(keep_bytes_);
  kept_.clear();
  spool_full_ = false;
  spool_read_ = 0;
  spool_written_ = 0;
  edges_read_ = 0;
  const Keeping keeping = plan_keeping(keep_memory_, keep_bytes_, limits_);
  keep_ahead_ = keeping.ahead;
  if (keeping.edge_bytes == 0 || !load_edges(keeping.edge_bytes)) sampler_.set_group(keeping.group);
}

// Of all loaders on this ledger: one samples at a time.
std::uint64_t WindowSampler::workspace_bytes() const {
  for (const MemoryLedger::Entry& entry : ledger_.entries()) {
    if (entry.name == "sampler workspace") return entry.bytes;
  }
  return 0;
}

std::uint64_t WindowSampler::release_workspaces() {
  const std::uint64_t before = workspace_bytes();
  sampler_.release();
  return before - workspace_bytes();
}

WindowSampler::Keeping WindowSampler::plan_keeping(std::uint64_t bytes,
                                                   std::uint64_t block_bytes,
                                                   const WindowLimits& limits) const {
  const std::uint64_t workspace =
      workspace_bytes() / std::max<std::size_t>(sampler_.workspaces(), 1);
  // A window is being made meanwhile. Beside its workspace a batch takes its positions, its answers
  // and itself.
  const std::uint64_t room = bytes - std::min(bytes, window_bytes(limits));
  const std::uint64_t each = std::max<std::uint64_t>(workspace + 4 * block_bytes, 1);
  Keeping keeping;
  keeping.group = static_cast<std::size_t>(
      std::clamp<std::uint64_t>(room / each, GroupSampler::kGroup, kMostGroup));
  // Two groups live at once: one is sampled while the other's rows are numbered.
  const auto threads = static_cast<std::uint64_t>(arena_.threads());
  const auto batches_in = [&](std::uint64_t bytes_left) {
    const std::uint64_t batches = bytes_left / std::max<std::uint64_t>(2 * block_bytes, 1);
    return static_cast<std::size_t>(std::clamp(batches, threads, std::max(threads, kMostGroup)));
  };
  keeping.ahead = batches_in(room / 2);
  std::uint64_t edges = 0;
  for (std::size_t r = 0; r < data_.graph.relations.size(); ++r) {
    if (data_.graph.relations[r]->resident() == nullptr)
      edges += resident_bytes(*data_.graph.schema, data_.graph.schema->relations[r]);
  }
  // Approximate snapshots stay between, whatever the budget: their batches are other ones.
  const std::uint64_t held = edges + threads * each;
  if (edges == 0 || data_.approximates(options_) || held > room) return keeping;
  keeping.edge_bytes = edges;
  keeping.ahead = batches_in((room - held) / 2);
  return keeping;
}

std::uint64_t WindowSampler::wish_for_keeping(std::uint64_t block_bytes,
                                              const WindowLimits& limits) const {
  if (paged()) return std::numeric_limits<std::uint64_t>::max();
  return window_bytes(limits) + 4 * kMostGroup * block_bytes;
}

// Edges that do not fit beside training may fit while an epoch is planned: then they are read once,
// in sequence.
bool WindowSampler::load_edges(std::uint64_t bytes) {
  SamplerGraph graph = data_.graph;
  try {
    for (std::size_t r = 0; r < graph.relations.size(); ++r) {
      if (graph.relations[r]->resident() == nullptr)
        graph.relations[r] = data_.dataset->topology(graph.schema->relations[r].key(), {});
    }
  } catch (const Error& error) {
    // Files that were open before the dataset was replaced serve on.
    if (error.code() != ErrorCode::kResource && !data_.dataset->replaced()) throw;
    return false;
  }
  resident_sampler_ = make_sampler(std::move(graph));
  edges_read_ = bytes;
  return true;
}

// What was held to keep batches is wanted for other things now.
void WindowSampler::end_keeping() {
  resident_sampler_.reset();
  sampler_.set_group(GroupSampler::kGroup);
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
  const std::uint64_t left = order_.num_batches() - std::min(order_.num_batches(), next_batch_);
  std::size_t most = (resident_sampler_ ? *resident_sampler_ : sampler_).group_size();
  // Threads that wait for each other at the end of a group do so seldom in a large one.
  if (ahead_of_numbering()) most = std::max(most, keep_ahead_);
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(most, left));
  std::vector<Batch> group = sample_batches(epoch_, next_batch_, count);
  next_batch_ += count;
  return group;
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

void WindowSampler::keep(const Window& window) {
  if (spool_full_) return;
  KeptWindow kept{window.batches.front().index, window.batches.size(), {}};
  for (const auto& rows : window.rows)
    kept.rows.push_back(rows ? std::optional(rows->size()) : std::nullopt);
  try {
    std::vector<Array> numbers(window.rows.size());
    for (std::size_t i = 0; i < window.batches.size(); ++i) {
      for (std::size_t type = 0; type < numbers.size(); ++type)
        numbers[type] = window.rows[type] ? window.rows[type]->numbers[i] : Array();
      spool_->append(window.batches[i], numbers);
    }
    kept_.push_back(std::move(kept));
    spool_written_ = spool_->bytes_written();
  } catch (const Error& error) {
    give_up_keeping(error);
  }
}

void WindowSampler::finish_keeping() {
  keep_ = Keep::kDone;
  if (spool_full_) return;
  try {
    spool_->finish();
    spool_written_ = spool_->bytes_written();
  } catch (const Error& error) {
    give_up_keeping(error);
  }
}

// No room on the disk: what was kept so far is of use, the rest is sampled again.
void WindowSampler::give_up_keeping(const Error& error) {
  if (error.code() != ErrorCode::kResource) throw error;
  spool_full_ = true;
}

// The next window as it was kept, or null where it was not.
std::shared_ptr<Window> WindowSampler::take_kept() {
  if (keep_ != Keep::kUse || next_window_ >= kept_.size()) return nullptr;
  const KeptWindow& kept = kept_[next_window_];
  // A window may have been kept in part when the disk had no room for the rest.
  if (!spool_->has(epoch_, kept.first_batch + kept.batches - 1)) return nullptr;
  auto window = std::make_shared<Window>();
  window->number = next_window_++;
  for (const auto& rows : kept.rows)
    window->rows.push_back(rows ? std::make_unique<WindowRows>(*rows) : nullptr);
  for (std::uint64_t i = 0; i < kept.batches; ++i) {
    BatchSpool::Kept each = spool_->read(kept.first_batch + i);
    for (std::size_t type = 0; type < window->rows.size(); ++type) {
      if (window->rows[type]) window->rows[type]->numbers.push_back(std::move(each.numbers[type]));
    }
    window->batches.push_back(std::move(each.batch));
  }
  spool_read_ = spool_->bytes_read();
  next_batch_ = kept.first_batch + kept.batches;
  ramp_ = std::min(2 * ramp_, kMaxWindow);
  return window;
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
  GroupSampler& sampler = resident_sampler_ ? *resident_sampler_ : sampler_;
  return sampler.sample(requests, &ledger_).or_throw();
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
  if (auto kept = take_kept()) return kept;
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
  if (!window->batches.empty()) {
    if (keep_ == Keep::kNow) keep(*window);
    return window;
  }
  forget_ahead();
  if (next_batch_ < order_.num_batches())
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

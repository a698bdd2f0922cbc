// How a WindowSampler keeps windows from one pass over an epoch to the next.
#include "pipeline/stream/window_sampler.h"
#include "pipeline/trace.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace sluice {
namespace {

constexpr std::uint64_t kSpareWindowBytes = 16 << 20;
constexpr std::uint64_t kMostGroup = 32;  // batches that share reads, while an epoch is planned

// Of the room for that, what reads in flight get, up to where more bring nothing.
constexpr std::uint64_t kStagingShare = 24;
constexpr std::uint64_t kMostStaging = 16 << 20;

// What a relation's edges and offsets take in RAM.
std::uint64_t resident_bytes(const GraphSchema& schema, const RelationSchema& relation) {
  const std::uint64_t sources = schema.node_type(relation.source)->count;
  const std::uint64_t targets = schema.node_type(relation.target)->count;
  const std::uint64_t an_edge = size_of(node_id_dtype(sources)) +
                                (relation.has_edge_ids ? size_of(relation.edge_id_dtype()) : 0);
  return relation.edges * an_edge + (targets + 1) * sizeof(std::uint64_t);
}

// Of a window that is being made while its mini-batches are kept.
std::uint64_t window_bytes(const WindowLimits& limits) {
  std::uint64_t bytes = kSpareWindowBytes;
  for (const std::uint64_t rows : limits.rows)
    bytes += rows * (RowIndex::kBytesAnId + sizeof(std::uint32_t));
  return bytes;
}

}  // namespace

void WindowSampler::keep_windows(const std::string& folder,
                                 std::uint64_t bytes,
                                 std::uint64_t block_bytes) {
  keep_folder_ = folder;
  keep_memory_ = bytes;
  keep_bytes_ = block_bytes;
  keep_ = Keep::kFromNextBegin;
}

void WindowSampler::forget_kept() {
  keep_ = Keep::kNo;
  kept_.clear();
  spool_.reset();
}

bool WindowSampler::worth_keeping() const {
  if (paged()) return true;
  const DiskRates& rates = data_.disk->rates();
  if (rates.sequential_write == 0) return false;
  return 1 / rates.sequential_read + 1 / rates.sequential_write < 1 / kSampledBytesASecond;
}

void WindowSampler::begin_keeping(const LoaderStart& where) {
  spool_.reset();  // its file is for this one
  spool_ = std::make_unique<BatchSpool>(
      keep_folder_, where.epoch, where.first_batch, ledger_, data_.scratch_files);
  spool_->reserve(keep_bytes_);
  kept_.clear();
  spool_read_ = 0;
  spool_written_ = 0;
  edges_read_ = 0;
  const Keeping keeping = plan_keeping(keep_memory_, keep_bytes_, limits_);
  keep_ahead_ = keeping.ahead;
  if (keeping.edge_bytes != 0 && load_edges(keeping.edge_bytes)) return;
  sampler_.set_group(keeping.group);
  lend_staging(keeping.staging);
}

// Reads of edges that are one after the other leave the disk waiting.
void WindowSampler::lend_staging(std::uint64_t each) {
  if (each == 0) return;
  try {
    lent_ = std::make_unique<LentStaging>(data_.graph.relations, each);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kResource) throw;
  }
}

// Of all loaders on this ledger: one samples at a time.
std::uint64_t WindowSampler::workspace_bytes() const {
  for (const MemoryLedger::Entry& entry : ledger_.entries()) {
    if (entry.name == "sampler workspace") return entry.bytes;
  }
  return 0;
}

// As those that exist take, or as measured where they were given back.
std::uint64_t WindowSampler::bytes_a_workspace() const {
  if (sampler_.workspaces() == 0 && measured_workspace_ != 0) return measured_workspace_;
  return workspace_bytes() / std::max<std::size_t>(sampler_.workspaces(), 1);
}

std::uint64_t WindowSampler::release_workspaces() {
  const std::uint64_t before = workspace_bytes();
  sampler_.release();
  return before - workspace_bytes();
}

WindowSampler::Keeping WindowSampler::plan_keeping(std::uint64_t bytes,
                                                   std::uint64_t block_bytes,
                                                   const WindowLimits& limits) const {
  const std::uint64_t workspace = bytes_a_workspace();
  // A window is being made meanwhile.
  const std::uint64_t room = bytes - std::min(bytes, window_bytes(limits));
  Keeping keeping;
  keeping.staging =
      LentStaging::bytes_each(data_.graph.relations, std::min(room / kStagingShare, kMostStaging));
  const std::uint64_t shared = room - LentStaging::bytes_of(data_.graph.relations, keeping.staging);
  // Beside its workspace, positions and answers among it, a batch takes itself; later ones may be
  // larger.
  const std::uint64_t each = std::max<std::uint64_t>((workspace + block_bytes) / 8 * 9, 1);
  keeping.group = static_cast<std::size_t>(
      std::clamp<std::uint64_t>(shared / each, GroupSampler::kGroup, kMostGroup));
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
  const std::uint64_t held = edges + threads * (workspace + 4 * block_bytes);
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
  const TraceSpan span(options_.trace, "load edges");
  SamplerGraph graph = data_.graph;
  try {
    for (std::size_t r = 0; r < graph.relations.size(); ++r) {
      if (graph.relations[r]->resident() == nullptr) graph.relations[r] = data_.load_relation(r);
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
  lent_.reset();
  resident_sampler_.reset();
  sampler_.set_group(GroupSampler::kGroup);
}

// Of the window that is being made, the batch that came last: of what was kept the window has
// nothing but how much it is.
void WindowSampler::keep_last(Window& window) {
  Batch& batch = window.batches.back();
  std::vector<Array> numbers(window.rows.size());
  for (std::size_t type = 0; type < numbers.size(); ++type) {
    if (window.rows[type]) numbers[type] = std::exchange(window.rows[type]->numbers.back(), {});
  }
  try {
    if (spool_) {
      spool_->append(batch, numbers);
      spool_written_ = spool_->bytes_written();
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kResource || !free_disk()) throw;
  }
  const std::uint64_t index = batch.index;
  batch = {};
  batch.epoch = epoch_;
  batch.index = index;
}

void WindowSampler::keep(const Window& window) {
  KeptWindow kept{window.batches.front().index, window.batches.size(), {}};
  for (const auto& rows : window.rows)
    kept.rows.push_back(rows ? std::optional(rows->size()) : std::nullopt);
  kept_.push_back(std::move(kept));
}

void WindowSampler::finish_keeping() {
  keep_ = Keep::kDone;
  if (!spool_) return;
  try {
    spool_->finish();
    spool_written_ = spool_->bytes_written();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kResource || !free_disk()) throw;
  }
}

// The plan's lists need what room there is; bring() samples again.
bool WindowSampler::free_disk() {
  if (!spool_) return false;
  spool_written_ = spool_->bytes_written();
  spool_.reset();
  data_.scratch_files->drop();
  return true;
}

// The next window, of which its mini-batches are brought later; null at the end of the epoch.
std::shared_ptr<Window> WindowSampler::next_known() {
  if (next_window_ == kept_.size()) return nullptr;
  const KeptWindow& kept = kept_[next_window_];
  auto window = std::make_shared<Window>();
  window->number = next_window_++;
  for (const auto& rows : kept.rows) {
    window->rows.push_back(rows ? std::make_unique<WindowRows>(*rows) : nullptr);
    if (rows) window->rows.back()->numbers.resize(kept.batches);
  }
  window->batches.resize(kept.batches);
  for (std::uint64_t i = 0; i < kept.batches; ++i) {
    window->batches[i].epoch = epoch_;
    window->batches[i].index = kept.first_batch + i;
  }
  return window;
}

void WindowSampler::bring(Window& window, std::size_t index) {
  if (!spool_) return sample_again(window, index);
  BatchSpool::Kept kept = spool_->read(window.batches[index].index);
  spool_read_ = spool_->bytes_read();
  window.batches[index] = std::move(kept.batch);
  for (std::size_t type = 0; type < window.rows.size(); ++type) {
    if (window.rows[type]) window.rows[type]->numbers[index] = std::move(kept.numbers[type]);
  }
}

void WindowSampler::sample_again(Window& window, std::size_t index) {
  Batch& batch = window.batches[index];
  if (sampled_.empty()) {
    next_batch_ = batch.index;
    sample_group();
  }
  batch = std::move(sampled_.front());
  sampled_.pop_front();
  for (std::size_t type = 0; type < window.rows.size(); ++type) {
    if (!window.rows[type]) continue;
    WindowRows& rows = *window.rows[type];
    if (!rows.index) rows.index.emplace(rows.known, ledger_);
    const Array& ids = batch.nodes[type].ids;
    Array numbers = Array::make(DType::kU32, {ids.numel()}, &ledger_, "batches").or_throw();
    const std::span<const std::uint64_t> wanted = ids.as<std::uint64_t>();
    if (rows.index->insert_all(wanted, rows.known, numbers.as<std::uint32_t>()) != wanted.size())
      throw Error(ErrorCode::kInternal, "a window differs from the one that was planned");
    rows.numbers[index] = std::move(numbers);
  }
}

}  // namespace sluice

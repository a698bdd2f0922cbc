#include "storage/embedding/table.h"

#include "kernels/table.h"
#include "storage/io/engine_kind.h"

#include <sluice/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <system_error>
#include <utility>

namespace sluice {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kRowsAtOnce = 1 << 16;  // in a list of moves
constexpr std::uint32_t kMostDim = 1 << 20;

EngineMaker default_engine(const EmbeddingTableOptions& options) {
  return [kind = engine_kind(options.io)] {
    IoEngineOptions engine;
    engine.kind = kind;
    return make_io_engine(engine).or_throw().engine;
  };
}

Error bad_table(std::string what, std::string hint, const fs::path& folder = {}) {
  return Error(
      ErrorCode::kUsage, std::move(what), std::move(hint), Place{folder.string(), -1, -1, -1});
}

void check_table_options(const EmbeddingTableOptions& options) {
  if (options.dim == 0 || options.dim > kMostDim) {
    throw bad_table(fmt::format("embeddings of {} values a row", options.dim),
                    fmt::format("dim is 1 to {}", kMostDim));
  }
  if (options.rows == 0) throw bad_table("an embedding table of no rows", "it has one at least");
  if (!options.optimizer)
    throw bad_table("an embedding table without an optimizer",
                    "make one: builtin_sparse_optimizers()");
  // A single partition never has to leave.
  const bool leaves_memory = options.placement == Placement::kDisk || options.partitions > 1;
  if (leaves_memory && options.folder.empty())
    throw bad_table("an embedding table on disk without a folder", "name the folder of its rows");
}

GroupStoreOptions store_options(const EmbeddingTableOptions& options,
                                EngineMaker make_engine,
                                const TableManifest* opened) {
  const std::uint32_t state = options.optimizer->state_width(options.dim);
  const std::uint64_t rows = opened != nullptr ? opened->layout.rows : options.rows;
  return {options.folder,
          RowLayout::make(rows, options.dim, state),
          std::string(options.optimizer->name()),
          std::move(make_engine),
          options.ledger,
          options.access};
}

void check_same(const EmbeddingTableOptions& options, const TableManifest& manifest) {
  const fs::path path = manifest_path(options.folder, manifest.generation);
  const auto differs = [&](const char* what, const auto& there, const auto& wanted) {
    throw bad_table(fmt::format("the table's {} is {}; {} is asked for", what, there, wanted),
                    "ask for what the table was made with, or make another in another folder",
                    path);
  };
  const std::string initial = InitialValues(options.initial).description();
  if (manifest.layout.dim != options.dim) differs("dim", manifest.layout.dim, options.dim);
  if (manifest.optimizer != options.optimizer->name())
    differs("optimizer", manifest.optimizer, options.optimizer->name());
  const std::uint32_t state = options.optimizer->state_width(options.dim);
  if (manifest.layout.state != state) differs("state width", manifest.layout.state, state);
  if (manifest.initial != initial) differs("rows at first", manifest.initial, initial);
  if (options.rows < manifest.layout.rows) differs("rows", manifest.layout.rows, options.rows);
  if (options.access == TableAccess::kRead && options.rows > manifest.layout.rows)
    throw bad_table(
        fmt::format("the table has {} rows, {} are to be read", manifest.layout.rows, options.rows),
        "nodes were appended since: go on with the run first (sluice-train resume)",
        path);
}

// One that is damaged is told with another that is not.
TableManifest read_wanted(const EmbeddingTableOptions& options, std::uint64_t generation) {
  try {
    return read_manifest(options.folder, generation, options.ledger);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kData) throw;
    const std::uint64_t other = newest_readable(options.folder, generation, options.ledger);
    if (other == 0) throw;
    throw Error(error.code(),
                error.message(),
                fmt::format("generation {} of the table is whole: open that one", other),
                error.place());
  }
}

/// 0: as many as the table has rows.
std::uint64_t cache_slots(const EmbeddingTableOptions& options, const RowLayout& layout) {
  if (options.placement == Placement::kMemory) return 0;
  const std::uint64_t slots = WindowCache::slots_in(options.cache_bytes, layout);
  if (slots > 0) return std::min(slots, layout.rows);
  throw Error(ErrorCode::kResource,
              fmt::format("a cache of {} bytes holds no embedding row of {} bytes",
                          options.cache_bytes,
                          layout.row_bytes()),
              fmt::format("give it at least {} bytes", WindowCache::bytes_of(1, layout)));
}

}  // namespace

StoredEmbeddingTable::StoredEmbeddingTable(const EmbeddingTableOptions& options,
                                           EngineMaker make_engine,
                                           const TableManifest* opened)
    : options_(options),
      store_(store_options(options, std::move(make_engine), opened),
             InitialValues(options.initial),
             opened),
      sweep_(store_) {
  if (options.rows > rows()) store_.grow(options.rows);
  const RowLayout& layout = store_.layout();
  if (options.partitions > 0) {
    buffer_ = std::make_unique<PartitionBuffer>(
        layout, options.partitions, options.partition_slots, options.ledger);
    resident_ = buffer_.get();
  } else {
    windows_ = std::make_unique<WindowCache>(layout, cache_slots(options, layout), options.ledger);
    resident_ = windows_.get();
  }
}

WindowCache& StoredEmbeddingTable::windows() const {
  if (windows_) return *windows_;
  throw Error(ErrorCode::kInternal,
              "a window of an embedding table that is used by partitions",
              "load() partitions, or set partitions = 0");
}

PartitionBuffer& StoredEmbeddingTable::buffer() const {
  if (buffer_) return *buffer_;
  throw Error(ErrorCode::kInternal,
              "a partition of an embedding table that is used by windows",
              "expect() windows, or set partitions");
}

void StoredEmbeddingTable::check_size(std::size_t rows, std::size_t floats) const {
  if (floats >= rows * dim()) return;
  throw Error(
      ErrorCode::kInternal,
      fmt::format(
          "{} numbers for {} rows of an embedding table of {} values a row", floats, rows, dim()),
      "give dim() for each row");
}

void StoredEmbeddingTable::check_row(std::uint64_t row) const {
  if (row < rows()) return;
  throw Error(ErrorCode::kInternal,
              fmt::format("row {} of an embedding table of {} rows", row, rows()),
              "rows are numbered from 0; grow() makes more");
}

/// Work with the disk on this thread, while the other has nothing to do. What it throws stays.
template <class Work>
void StoredEmbeddingTable::on_disk(const Work& work) {
  jobs_.wait_all();
  try {
    work();
  } catch (...) {
    jobs_.fail(std::current_exception());
    throw;
  }
}

void StoredEmbeddingTable::sweep(std::span<const RowMove> writes,
                                 std::span<const RowMove> reads,
                                 std::size_t lead) {
  sweep_.run(writes, reads, lead);
  rows_written_ += writes.size();
  rows_read_ += reads.size();
}

// Memory of a call.
Charge StoredEmbeddingTable::charge_now(std::uint64_t bytes) {
  if (options_.ledger == nullptr) return {};
  return options_.ledger->charge("embedding batches", bytes).or_throw();
}

// Buffers that grow to the largest window and batch: before they do.
void StoredEmbeddingTable::charge_at_least(Charge& charge, std::uint64_t bytes) {
  if (options_.ledger == nullptr || bytes <= charge.bytes()) return;
  if (charge.bytes() == 0) charge = options_.ledger->charge("embedding batches", 0).or_throw();
  charge.resize(bytes).or_throw();
}

void StoredEmbeddingTable::expect(std::span<const std::uint64_t> ids) {
  WindowCache& cache = windows();
  for (const std::uint64_t id : ids) check_row(id);
  // Windows of many mini-batches come in order.
  std::span<const std::uint64_t> distinct = ids;
  if (std::ranges::adjacent_find(ids, std::greater_equal<>()) != ids.end()) {
    charge_at_least(window_charge_, ids.size() * CoalescedIds::kBytesOfId);
    window_ids_.assign(ids);
    distinct = window_ids_.distinct();
  }
  // The next job's number is known: this thread alone gives jobs.
  auto admission =
      std::make_shared<WindowCache::Admission>(cache.admit(distinct, jobs_.next_number()));
  jobs_.push([this, admission] { sweep(admission->writes, admission->reads, admission->lead); });
}

std::uint32_t StoredEmbeddingTable::partitions() const {
  return buffer().partitions();
}
std::uint32_t StoredEmbeddingTable::partition_of(std::uint64_t row) const {
  check_row(row);
  return buffer().partition_of(row);
}

void StoredEmbeddingTable::load(std::uint32_t partition) {
  buffer().take_slot(partition, jobs_.next_number());
  jobs_.push([this, rows = buffer().rows_of(partition)] { read_partition(rows); });
}

void StoredEmbeddingTable::release(std::uint32_t partition) {
  auto leaving = std::make_shared<PartitionBuffer::Leaving>(buffer().give_slot(partition));
  jobs_.push([this, leaving] { write_partition(*leaving); });
}

PartitionRows StoredEmbeddingTable::partition(std::uint32_t partition) {
  const PartitionRows rows = buffer().rows_of(partition);
  jobs_.wait(buffer().job_of(partition));
  return rows;
}

void StoredEmbeddingTable::touch(std::uint32_t partition) {
  buffer().touch(partition);
}

void StoredEmbeddingTable::read_partition(const PartitionRows& rows) {
  std::vector<RowMove> reads;
  for (std::uint64_t begin = 0; begin < rows.count; begin += kRowsAtOnce) {
    reads.clear();
    const std::uint64_t end = std::min(begin + kRowsAtOnce, rows.count);
    for (std::uint64_t i = begin; i < end; ++i)
      reads.push_back({rows.first + i, rows.data.data() + i * rows.stride});
    sweep({}, reads, reads.size());
  }
}

void StoredEmbeddingTable::write_partition(const PartitionBuffer::Leaving& leaving) {
  std::vector<RowMove> writes;
  const std::uint64_t last = leaving.rows.first + leaving.rows.count;
  // Whole groups, so that none is written twice.
  const std::uint64_t per_group = store_.layout().rows_per_group;
  const std::uint64_t step = (kRowsAtOnce + per_group - 1) / per_group * per_group;
  for (std::uint64_t begin = leaving.rows.first; begin < last; begin += step) {
    writes.clear();
    buffer_->list_rows(leaving.rows, leaving.dirty_groups, begin, begin + step, writes);
    sweep(writes, {}, 0);
  }
}

// A row that is here, once it is.
float* StoredEmbeddingTable::here(std::uint64_t row) {
  check_row(row);
  const ResidentRow found = resident_->find(row);
  if (found.at == nullptr) throw resident_->not_here(row);
  jobs_.wait(found.job);
  return found.at;
}

void StoredEmbeddingTable::gather(std::span<const std::uint64_t> ids, std::span<float> out) {
  check_size(ids.size(), out.size());
  charge_at_least(batch_charge_, bytes_of_batch(ids.size(), 0));
  from_.clear();
  for (const std::uint64_t id : ids) from_.push_back(reinterpret_cast<const std::byte*>(here(id)));
  kernels::on(options_.executor)
      .widen_rows(options_.executor,
                  DType::kF32,
                  from_.data(),
                  {out.data(), static_cast<std::int64_t>(ids.size()), std::int64_t{dim()}});
}

void StoredEmbeddingTable::update(std::span<const std::uint64_t> ids,
                                  std::span<const float> gradients,
                                  double rate) {
  check_size(ids.size(), gradients.size());
  charge_at_least(batch_charge_, bytes_of_batch(ids.size(), dim()));
  batch_ids_.assign(ids);
  const auto distinct = batch_ids_.distinct();
  to_.clear();
  for (const std::uint64_t id : distinct) to_.push_back(here(id));
  for (const std::uint64_t id : distinct) resident_->mark_dirty(id);
  sums_.resize(distinct.size() * dim());
  const auto count = static_cast<std::int64_t>(distinct.size());
  const std::int64_t width = dim();
  kernels::on(options_.executor)
      .segment_sum(options_.executor,
                   batch_ids_.lists(),
                   {},
                   kernels::Rows<const float>{
                       gradients.data(), static_cast<std::int64_t>(ids.size()), width},
                   {sums_.data(), count, width});
  options_.optimizer->update(options_.executor, {to_.data(), sums_.data(), count, dim()}, rate);
  updates_ += distinct.size();
}

void StoredEmbeddingTable::update_range(std::uint64_t first,
                                        std::span<const float> gradients,
                                        double rate) {
  const std::uint64_t count = gradients.size() / dim();
  charge_at_least(batch_charge_, count * sizeof(float*));
  to_.clear();
  for (std::uint64_t i = 0; i < count; ++i) to_.push_back(here(first + i));
  for (std::uint64_t i = 0; i < count; ++i) resident_->mark_dirty(first + i);
  options_.optimizer->update(
      options_.executor,
      {to_.data(), gradients.data(), static_cast<std::int64_t>(count), dim()},
      rate);
  updates_ += count;
}

void StoredEmbeddingTable::read_rows(std::span<const std::uint64_t> ids, std::span<float> out) {
  check_size(ids.size(), out.size());
  for (const std::uint64_t id : ids) check_row(id);
  const Charge lists = charge_now(ids.size() * kBytesOfReadRow);
  on_disk([&] {
    std::vector<std::pair<std::uint64_t, std::size_t>> order;  // a row, and where it is asked for
    order.reserve(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) order.emplace_back(ids[i], i);
    std::ranges::sort(order);
    const auto place = [&](std::size_t at) { return out.data() + order[at].second * dim(); };
    const auto repeats = [&](std::size_t at) {
      return at != 0 && order[at - 1].first == order[at].first;
    };
    std::vector<RowMove> reads;
    reads.reserve(ids.size());
    for (std::size_t at = 0; at < order.size(); ++at) {
      if (repeats(at)) continue;
      const float* resident = resident_->find_any(order[at].first).at;
      if (resident != nullptr) {
        std::copy_n(resident, dim(), place(at));
      } else {
        reads.push_back({order[at].first, place(at)});
      }
    }
    sweep_.read(reads, dim());
    for (std::size_t at = 1; at < order.size(); ++at)
      if (repeats(at)) std::copy_n(place(at - 1), dim(), place(at));
  });
}

void StoredEmbeddingTable::read(std::uint64_t first, std::span<float> out) {
  const std::uint64_t count = out.size() / dim();
  if (count == 0) return;
  check_row(first + count - 1);
  const Charge list = charge_now(count * sizeof(RowMove));
  on_disk([&] {
    std::vector<RowMove> reads;
    reads.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      float* to = out.data() + i * dim();
      const float* resident = resident_->find_any(first + i).at;
      if (resident != nullptr) {
        std::copy_n(resident, dim(), to);
      } else {
        reads.push_back({first + i, to});
      }
    }
    sweep_.read(reads, dim());
  });
}

void StoredEmbeddingTable::write_dirty() {
  // As many rows at a time as a list may have, in whole groups; of a cache that is much smaller
  // than the table more, for each range is looked for among all slots.
  const RowLayout& layout = store_.layout();
  const std::uint64_t slots = windows_ ? windows_->slots() : layout.rows;
  const double share = std::max(
      static_cast<double>(slots) / static_cast<double>(std::max<std::uint64_t>(rows(), 1)), 1e-6);
  const auto wanted = static_cast<std::uint64_t>(static_cast<double>(4 * kRowsAtOnce) / share);
  const std::uint64_t step =
      (wanted + layout.rows_per_group - 1) / layout.rows_per_group * layout.rows_per_group;
  std::vector<RowMove> writes;
  for (std::uint64_t first = 0; first < rows(); first += step) {
    writes.clear();
    resident_->list_dirty(first, std::min(first + step, rows()), writes);
    sweep(writes, {}, 0);
  }
}

std::uint64_t StoredEmbeddingTable::commit() {
  if (options_.folder.empty())
    throw bad_table("an embedding table without a folder cannot be committed", "name its folder");
  store_.check_commit();
  std::uint64_t generation = 0;
  on_disk([&] {
    write_dirty();
    generation = store_.commit();
  });
  resident_->mark_clean();
  return generation;
}

void StoredEmbeddingTable::keep(std::span<const std::uint64_t> generations) {
  jobs_.wait_all();
  store_.keep(generations);
}

void StoredEmbeddingTable::grow(std::uint64_t more) {
  if (more < rows()) {
    throw bad_table(fmt::format("an embedding table of {} rows is to have {}", rows(), more),
                    "rows are added, never taken away");
  }
  jobs_.wait_all();
  resident_->grow(RowLayout::make(more, dim(), state_width()));
  on_disk([&] { store_.grow(more); });
}

EmbeddingStats StoredEmbeddingTable::stats() {
  jobs_.wait_all();
  EmbeddingStats stats;
  stats.rows_read = rows_read_;
  stats.rows_written = rows_written_;
  stats.bytes_read = store_.bytes_read();
  stats.bytes_written = store_.bytes_written();
  stats.waited_ns = jobs_.waited_ns();
  stats.updates = updates_;
  return stats;
}

std::unique_ptr<EmbeddingTable> create_embedding_table(const EmbeddingTableOptions& options,
                                                       EngineMaker make_engine) {
  check_table_options(options);
  if (!options.folder.empty()) {
    if (!list_generations(options.folder).empty()) {
      throw bad_table("this folder holds an embedding table",
                      "open it, or choose another folder",
                      options.folder);
    }
    std::error_code problem;
    fs::create_directories(options.folder, problem);
    if (problem) throw system_error(problem.value(), "cannot create the folder", options.folder);
  }
  return std::make_unique<StoredEmbeddingTable>(options, std::move(make_engine), nullptr);
}

std::unique_ptr<EmbeddingTable> open_embedding_table(const EmbeddingTableOptions& options,
                                                     std::uint64_t generation,
                                                     EngineMaker make_engine) {
  check_table_options(options);
  if (generation == 0) {
    const auto all = list_generations(options.folder);
    if (all.empty()) {
      throw Error(ErrorCode::kData,
                  "no generation of an embedding table is here",
                  "check the folder, or create the table",
                  Place{options.folder.string(), -1, -1, -1});
    }
    generation = all.back();
  }
  const TableManifest manifest = read_wanted(options, generation);
  check_same(options, manifest);
  return std::make_unique<StoredEmbeddingTable>(options, std::move(make_engine), &manifest);
}

std::unique_ptr<EmbeddingTable> create_embedding_table(const EmbeddingTableOptions& options) {
  return create_embedding_table(options, default_engine(options));
}

std::unique_ptr<EmbeddingTable> open_embedding_table(const EmbeddingTableOptions& options,
                                                     std::uint64_t generation) {
  return open_embedding_table(options, generation, default_engine(options));
}

std::vector<std::uint64_t> embedding_generations(const fs::path& folder) {
  return list_generations(folder);
}

}  // namespace sluice

#include "storage/embedding/table_rows.h"

#include "storage/embedding/coalesce.h"
#include "storage/embedding/group_store.h"
#include "storage/embedding/group_sweep.h"
#include "storage/embedding/initial_values.h"
#include "storage/embedding/partition_buffer.h"
#include "storage/embedding/window_cache.h"
#include "storage/io/disk_profile.h"

#include <sluice/error.h>

#include <algorithm>
#include <cmath>

namespace sluice {
namespace {

// Later mini-batches may have more nodes than those that were measured.
constexpr std::uint64_t kMoreRowsPercent = 25;
// Generations that may be there at once, each with a byte a group: the last, the best, those of the
// checkpoints before, and what is written.
constexpr std::uint64_t kGenerationsHeld = 7;

// Of groups that are moved, each as likely as another: how many more lie in gaps that are moved
// too, by each that is wanted, and the chance that one begins a request.
struct Gaps {
  double more = 0, begins = 1;
};

Gaps gaps_of(double chance, std::uint64_t most_groups) {
  Gaps gaps;
  for (std::uint64_t gap = 0; gap <= most_groups; ++gap) {
    gaps.more += static_cast<double>(gap) * chance * gaps.begins;
    gaps.begins *= 1 - chance;
  }
  return gaps;
}

// How many of `all` so many draws meet, each of them any.
double met_of(double all, double draws) {
  return all * -std::expm1(-draws / all);
}

}  // namespace

TableRows::TableRows(const TableRowsOptions& options) : options_(options) {
  if (!in_memory()) return;
  table_ = create_embedding_table(table_options());
  load();
}

EmbeddingTableOptions TableRows::table_options() const {
  EmbeddingTableOptions table;
  table.folder = folder_;
  table.rows = options_.rows;
  table.dim = options_.dim;
  table.initial = options_.initial;
  table.optimizer = options_.optimizer;
  table.placement = options_.placement;
  table.cache_bytes = cache_bytes_;
  table.partitions = in_memory() ? 1 : options_.partitions;
  table.partition_slots = in_memory() ? 1 : options_.slots;
  table.access = access_;
  table.io = options_.io;
  table.ledger = options_.ledger;
  table.executor = options_.executor;
  return table;
}

RowLayout TableRows::layout() const {
  return RowLayout::make(
      options_.rows, options_.dim, options_.optimizer->state_width(options_.dim));
}

std::uint64_t TableRows::cached_rows() const {
  return std::min(WindowCache::slots_in(cache_bytes_, layout()), options_.rows);
}

void TableRows::make_windows() {
  windows_.reset();
  if (!table_ || !by_windows()) return;
  const RowWindows::Limits limits{RowWindows::rows_of(cached_rows(), options_.rows), window_};
  windows_.emplace(*table_, limits, options_.ledger);
}

void TableRows::load() {
  if (!in_memory()) return;
  table_->load(0);
  (void)table_->partition(0);
}

EmbeddingTable& TableRows::table() {
  if (table_) return *table_;
  throw Error(ErrorCode::kInternal, "learned rows on disk are to change before they were opened");
}

// Before rows in memory are looked at: what was stepped elsewhere, all of which may have changed.
void TableRows::come_home() {
  if (borrower_ != nullptr && borrower_->give_back()) table_->touch(0);
}

// Before rows in memory are others.
void TableRows::forget_lent() {
  if (borrower_ != nullptr) borrower_->forget();
}

// Rows of a table that is not open yet.
void TableRows::begin_as(std::span<const std::uint64_t> ids, std::span<float> out) {
  const InitialValues initial(options_.initial);
  for (std::size_t i = 0; i < ids.size(); ++i)
    initial.fill(ids[i], 1, options_.dim, out.data() + i * options_.dim, options_.dim);
}

void TableRows::expect(std::span<const std::uint64_t> ids) {
  most_ids_ = std::max<std::uint64_t>(most_ids_, ids.size());
  if (windows_) windows_->expect(ids);
}

void TableRows::begin() {
  if (windows_) windows_->begin();
}

void TableRows::forget() {
  if (windows_) windows_->forget();
}

std::uint32_t TableRows::hold(std::span<const std::uint32_t> partitions) {
  if (!by_partitions()) return 0;
  const auto among = [](std::uint32_t partition, std::span<const std::uint32_t> all) {
    return std::ranges::find(all, partition) != all.end();
  };
  for (const std::uint32_t partition : held_)
    if (!among(partition, partitions)) table().release(partition);
  std::erase_if(held_, [&](std::uint32_t partition) { return !among(partition, partitions); });
  std::uint32_t loaded = 0;
  for (const std::uint32_t partition : partitions) {
    if (among(partition, held_)) continue;
    table().load(partition);
    held_.push_back(partition);
    ++loaded;
  }
  return loaded;
}

bool TableRows::all_held(std::span<const std::uint64_t> ids) {
  const std::uint64_t each = rows_each(options_.partitions);
  std::vector<bool> here(options_.partitions);
  for (const std::uint32_t partition : held_) here[partition] = true;
  return std::ranges::all_of(ids, [&](std::uint64_t id) { return here[id / each]; });
}

void TableRows::gather(std::span<const std::uint64_t> ids, std::span<float> out) {
  if (!table_) return begin_as(ids, out);
  if (by_partitions() && !all_held(ids)) return table_->read_rows(ids, out);
  come_home();
  table_->gather(ids, out);
}

void TableRows::read(std::span<const std::uint64_t> ids, std::span<float> out) {
  if (!table_) return begin_as(ids, out);
  come_home();
  if (in_memory()) return table_->gather(ids, out);
  table_->read_rows(ids, out);
}

void TableRows::read_range(std::uint64_t first, std::span<float> out) {
  come_home();
  if (table_) return table_->read(first, out);
  InitialValues(options_.initial)
      .fill(first, out.size() / options_.dim, options_.dim, out.data(), options_.dim);
}

void TableRows::update(std::span<const std::uint64_t> ids, std::span<const float> gradients) {
  come_home();
  forget_lent();
  table().update(ids, gradients, options_.rate);
}

void TableRows::update_range(std::uint64_t first, std::span<const float> gradients) {
  come_home();
  forget_lent();
  table().update_range(first, gradients, options_.rate);
}

RowsInPlace TableRows::in_place() {
  if (!in_memory()) return {};
  come_home();
  const PartitionRows all = table_->partition(0);
  return {all.data.data(), all.stride};
}

RowsInPlace TableRows::lend(RowBorrower& to) {
  if (!in_memory()) return {};
  come_home();
  if (borrower_ != &to) forget_lent();
  borrower_ = &to;
  return in_place();
}

void TableRows::take_back(RowBorrower& from) {
  if (borrower_ != &from) return;
  come_home();
  borrower_ = nullptr;
}

void TableRows::step(const kernels::Executor& executor, const RowGradients& rows) {
  options_.optimizer->update(executor, rows, options_.rate);
}

TableRowsNeeds TableRows::needs() const {
  TableRowsNeeds needs;
  const RowLayout on_disk = layout();
  needs.disk_bytes = on_disk.bytes();
  const std::uint64_t ids = most_ids_ + most_ids_ * kMoreRowsPercent / 100;
  const std::uint64_t batch =
      ids * (2 * CoalescedIds::kBytesOfId + sizeof(float) * options_.dim + 2 * sizeof(float*));
  // Beside what a table has as it is made: the sides of generations, and of one that is read the
  // checksums.
  const std::uint64_t kept =
      kGenerationsHeld * on_disk.groups() + sizeof(std::uint32_t) * on_disk.pages();
  needs.fixed_bytes = kept + batch;
  if (in_memory()) {
    needs.fixed_bytes += options_.rows * sizeof(float*);  // a step of all
    return needs;
  }
  needs.fixed_bytes += GroupStore::staging_bytes(on_disk) + ids * RowWindows::kBytesOfId +
                       RowWindows::bytes_of_marks(options_.rows) + 2 * on_disk.groups() +
                       sizeof(std::uint32_t) * on_disk.pages();
  if (by_partitions()) {
    needs.slot_bytes = PartitionBuffer::bytes_of(on_disk, options_.partitions, options_.slots);
    return needs;
  }
  const std::uint64_t two = std::clamp<std::uint64_t>(2 * ids, 1, options_.rows);
  needs.least_rows = two;
  needs.least_cache = WindowCache::bytes_of(two, on_disk);
  needs.most_cache = WindowCache::bytes_of(options_.rows, on_disk);
  return needs;
}

// A window's rows that the cache lacks come, and as many give way, all of them changed.
TableRowsTraffic TableRows::traffic() const {
  if (!by_windows() || most_ids_ == 0) return {};
  const RowLayout on_disk = layout();
  const auto rows = static_cast<double>(options_.rows);
  const auto groups = static_cast<double>(on_disk.groups());
  const auto ids = static_cast<double>(most_ids_);
  const double share = static_cast<double>(cached_rows()) / rows;
  const double most =
      std::min(static_cast<double>(RowWindows::rows_of(cached_rows(), options_.rows)) / rows,
               1 - 1 / (rows + 1));
  // As many mini-batches as draw that share of all rows.
  const double batches =
      std::clamp(-std::log1p(-most) * rows / ids, 1.0, static_cast<double>(window_));
  const double missed = met_of(rows, batches * ids) * std::max(0.0, 1 - share);
  const bool whole = on_disk.rows_per_group == 1;
  const double written = met_of(groups, missed);
  // A group of which some rows are written is read too, but where one row fills it. The next one is
  // as far as chance has it; a gap that is small is moved too.
  const double fetched = met_of(groups, whole ? missed : 2 * missed);
  const Gaps reads = gaps_of(fetched / groups, GroupSweep::kMostGap / on_disk.group_bytes);
  const Gaps writes =
      gaps_of(written / groups, whole ? 0 : GroupSweep::kMostWriteGap / on_disk.group_bytes);
  TableRowsTraffic traffic;
  traffic.group_bytes = on_disk.group_bytes;
  traffic.groups = on_disk.groups();
  traffic.read = std::min(groups, fetched * (1 + reads.more)) / batches;
  traffic.written = std::min(groups, written * (1 + writes.more)) / batches;
  traffic.reads = fetched * reads.begins / batches;
  traffic.writes = written * writes.begins / batches;
  return traffic;
}

double TableRows::miss_seconds(const DiskProfile& disk, TableAccess access) const {
  const RowLayout on_disk = layout();
  const double read = disk.seconds_for(static_cast<double>(on_disk.group_bytes));
  if (access == TableAccess::kRead) return read;
  // Of writes only those in sequence were measured: one here and there takes longer than a read as
  // these do.
  const DiskRates& rates = disk.rates();
  const double slower = rates.sequential_write > 0
                            ? std::max(1.0, rates.sequential_read / rates.sequential_write)
                            : 1.0;
  const double merged = on_disk.rows_per_group == 1 ? 0 : read;
  return read + merged + slower * read;
}

void TableRows::open(const std::filesystem::path& folder,
                     std::uint64_t generation,
                     TableAccess access) {
  forget_lent();
  windows_.reset();
  table_.reset();  // its memory is for the next, and its lock may be on the same folder
  held_.clear();
  told_ = {};
  folder_ = folder;
  access_ = access;
  table_ = generation == 0 ? create_embedding_table(table_options())
                           : open_embedding_table(table_options(), generation);
  make_windows();
  load();
}

void TableRows::close() {
  if (in_memory()) return;
  windows_.reset();
  table_.reset();
  held_.clear();
  told_ = {};
}

std::uint64_t TableRows::commit() {
  come_home();
  return table().commit();
}

void TableRows::keep(std::span<const std::uint64_t> generations) {
  table().keep(generations);
}

void TableRows::grow(std::uint64_t more) {
  come_home();
  forget_lent();
  options_.rows = more;
  if (!table_) return;
  if (in_memory()) table_->release(0);  // its slot is made anew, larger
  (void)hold({});
  table_->grow(more);
  make_windows();
  load();
}

TableRows::Moved TableRows::take_moved() {
  if (!table_) return {};
  const EmbeddingStats stats = table_->stats();
  const Moved moved{stats.bytes_read - told_.read,
                    stats.bytes_written - told_.written,
                    stats.waited_ns - told_.waited_ns};
  told_ = {stats.bytes_read, stats.bytes_written, stats.waited_ns};
  return moved;
}

}  // namespace sluice

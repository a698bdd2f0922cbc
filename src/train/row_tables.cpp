#include "train/row_tables.h"

#include "storage/embedding/row_layout.h"
#include "storage/io/file.h"
#include "train/partition_mode.h"
#include "train/written_rows.h"

#include <sluice/train.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <system_error>
#include <utility>

namespace sluice {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kPieceRows = 4096;

bool has_rows(const EmbeddingSection& wanted, const std::string& type) {
  if (wanted.dim == 0) return false;
  return wanted.types.empty() || std::ranges::count(wanted.types, type) != 0;
}

void check_types(const EmbeddingSection& wanted, const GraphSchema& schema) {
  std::vector<std::string> known;
  known.reserve(schema.nodes.size());
  for (const NodeTypeSchema& type : schema.nodes) known.push_back(type.name);
  for (const std::string& name : wanted.types)
    if (std::ranges::count(known, name) == 0)
      throw unknown_name("node type for embedding.types", name, known);
}

std::shared_ptr<const SparseOptimizer> row_optimizer(const RunOptions& options) {
  return options.registry->sparse_optimizers.create({options.embedding.optimizer, nullptr});
}

// What a run's rows are is a function of its seed, their type and their numbers, but for vectors.
InitialRows initial_rows(const RunOptions& options,
                         const std::string& type,
                         const VectorsByType& vectors) {
  InitialRows initial;
  initial.kind = InitialRows::Kind::kUniform;
  initial.scale = options.embedding.init;
  initial.seed = RandomKey(options.seed).with("rows").with(type).draw(0);
  const auto found = vectors.find(type);
  return found == vectors.end() ? initial : begin_as_vectors(found->second, initial);
}

// Rows of state of a node type, in generations and as a folder's name.
std::string state_name(const std::string& type) {
  return type + ".state";
}

// Calls `take` with the values of all rows, one piece after the other.
template <class Take>
void for_each_piece(TableRows& rows, const Take& take) {
  const auto dim = static_cast<std::uint64_t>(rows.dim());
  std::vector<float> piece;
  for (std::uint64_t first = 0; first < rows.rows(); first += kPieceRows) {
    piece.resize(std::min(kPieceRows, rows.rows() - first) * dim);
    rows.read_range(first, piece);
    take(piece);
  }
}

}  // namespace

std::uint64_t learned_bytes(const RunOptions& options, const GraphSchema& schema) {
  check_types(options.embedding, schema);
  if (options.embedding.dim == 0) return 0;
  const auto dim = static_cast<std::uint32_t>(options.embedding.dim);
  const std::uint32_t state = row_optimizer(options)->state_width(dim);
  std::uint64_t bytes = 0;
  for (const NodeTypeSchema& type : schema.nodes)
    if (has_rows(options.embedding, type.name))
      bytes += RowLayout::make(std::max<std::uint64_t>(type.count, 1), dim, state).bytes();
  return bytes;
}

RowTables::RowTables(const RunOptions& options,
                     const GraphSchema& schema,
                     Placement placement,
                     RowsMode mode,
                     MemoryLedger* ledger,
                     ThreadArena* threads,
                     const VectorsByType& vectors) {
  check_types(options.embedding, schema);
  const auto optimizer = options.embedding.dim == 0 ? nullptr : row_optimizer(options);
  for (const NodeTypeSchema& type : schema.nodes) {
    tables_.push_back({type.name, nullptr});
    if (!has_rows(options.embedding, type.name) || type.count == 0) continue;
    TableRowsOptions table;
    table.rows = type.count;
    table.dim = static_cast<std::uint32_t>(options.embedding.dim);
    table.initial = initial_rows(options, type.name, vectors);
    table.optimizer = optimizer;
    table.rate = options.embedding.lr;
    table.placement = placement;
    if (mode == RowsMode::kPartitions) {
      table.partitions = static_cast<std::uint32_t>(options.embedding.partitions);
      table.slots = partition_slots(options.embedding);
    }
    table.io = options.storage.io;
    table.ledger = ledger;
    table.executor.threads = threads;
    tables_.back().rows = std::make_shared<TableRows>(table);
  }
}

void RowTables::add_state(const RunOptions& options,
                          const GraphSchema& schema,
                          std::int64_t columns,
                          Placement placement,
                          MemoryLedger* ledger,
                          ThreadArena* threads) {
  for (const NodeTypeSchema& type : schema.nodes) {
    state_.push_back({state_name(type.name), nullptr});
    if (type.count == 0) continue;
    TableRowsOptions table;
    table.rows = type.count;
    table.dim = static_cast<std::uint32_t>(columns);
    table.optimizer = std::make_shared<WrittenRows>();
    table.placement = placement;
    table.io = options.storage.io;
    table.ledger = ledger;
    table.executor.threads = threads;
    state_.back().rows = std::make_shared<TableRows>(table);
  }
}

void RowTables::freeze_state(const RowGenerations& at) {
  for (const Table& table : state_)
    if (table.rows) frozen_[table.name] = at.at(table.name);
}

std::vector<const RowTables::Table*> RowTables::open_tables() const {
  std::vector<const Table*> all;
  for (const auto* tables : {&tables_, &state_})
    for (const Table& table : *tables)
      if (table.rows) all.push_back(&table);
  return all;
}

bool RowTables::any() const {
  return !open_tables().empty();
}

bool RowTables::any_learned() const {
  return std::ranges::any_of(tables_, [](const Table& table) { return table.rows != nullptr; });
}

LearnedNeeds RowTables::needs() const {
  LearnedNeeds all;
  for (const Table* table : open_tables()) {
    const TableRowsNeeds needs = table->rows->needs();
    all.disk += needs.disk_bytes;
    all.fixed += needs.fixed_bytes;
    all.least += needs.least_cache;
    all.most += needs.most_cache;
    all.slots += needs.slot_bytes;
  }
  return all;
}

std::vector<RowTables::Cached> RowTables::cached() const {
  std::vector<Cached> all;
  for (const auto* tables : {&tables_, &state_}) {
    for (std::size_t type = 0; type < tables->size(); ++type) {
      const Table& table = (*tables)[type];
      if (table.rows && table.rows->needs().most_cache != 0)
        all.push_back({type, &table, tables == &state_});
    }
  }
  return all;
}

void RowTables::share_cache(std::uint64_t bytes,
                            std::uint64_t window,
                            std::span<const std::uint64_t> shares) {
  check_grown();
  const LearnedNeeds all = needs();
  const std::uint64_t rest = bytes - std::min(bytes, all.least);
  const std::vector<Cached> tables = cached();
  for (std::size_t i = 0; i < tables.size(); ++i) {
    TableRows& rows = *tables[i].table->rows;
    const TableRowsNeeds own = rows.needs();
    const std::uint64_t most = own.most_cache - own.least_cache;
    std::uint64_t more = most;
    if (!shares.empty()) {
      more = std::min(shares[i], most);
    } else if (rest < all.most - all.least) {
      const double part = static_cast<double>(most) / static_cast<double>(all.most - all.least);
      more = std::min(static_cast<std::uint64_t>(part * static_cast<double>(rest)), most);
    }
    rows.set_cache(own.least_cache + more);
    rows.set_window(window);
  }
}

void RowTables::open(const fs::path& folder, const RowGenerations& at, TableAccess access) {
  check_grown();
  for (const Table* table : open_tables()) open_one(*table, folder, at, access);
  frozen_ = {};
}

void RowTables::close() {
  for (const Table* table : open_tables()) table->rows->close();
}

void RowTables::reopen(const fs::path& folder, const RowGenerations& at) {
  check_grown();
  for (const Table* table : open_tables())
    if (!table->rows->in_memory()) open_one(*table, folder, at, TableAccess::kWrite);
}

void RowTables::open_one(const Table& table,
                         const fs::path& folder,
                         const RowGenerations& at,
                         TableAccess access) {
  const fs::path own = folder / table.name;
  if (at.empty()) {
    std::error_code problem;
    fs::remove_all(own, problem);
    if (problem) throw system_error(problem.value(), "cannot remove old rows", own);
    return table.rows->open(own, 0);
  }
  const auto found = at.find(table.name);
  if (found == at.end())
    throw Error(ErrorCode::kData,
                "the checkpoint names no rows '" + table.name + "'",
                "use the config that the checkpoint was made with",
                Place{folder.string(), -1, -1, -1});
  table.rows->open(own, found->second, access);
}

RowGenerations RowTables::commit() {
  check_grown();
  RowGenerations made;
  for (const Table* table : open_tables()) {
    const auto frozen = frozen_.find(table->name);
    made[table->name] = frozen == frozen_.end() ? table->rows->commit() : frozen->second;
  }
  return made;
}

void RowTables::keep(std::span<const RowGenerations> kept) {
  for (const Table* table : open_tables()) {
    std::set<std::uint64_t> numbers;
    for (const RowGenerations& generations : kept)
      if (const auto found = generations.find(table->name); found != generations.end())
        numbers.insert(found->second);
    table->rows->keep(std::vector<std::uint64_t>(numbers.begin(), numbers.end()));
  }
}

void RowTables::set_rate(double rate) {
  check_grown();
  for (const Table& table : tables_)
    if (table.rows) table.rows->set_rate(rate);
}

void RowTables::grow(const GraphSchema& schema) {
  check_grown();
  try {
    for (const auto* tables : {&tables_, &state_}) {
      for (std::size_t type = 0; type < tables->size(); ++type) {
        const auto& rows = (*tables)[type].rows;
        if (rows && rows->rows() < schema.nodes[type].count) rows->grow(schema.nodes[type].count);
      }
    }
  } catch (const Error& error) {
    failed_ = error;
    throw;
  }
}

void RowTables::check_grown() const {
  if (failed_) throw Error(*failed_);
}

TableRows::Moved RowTables::take_moved() {
  TableRows::Moved all;
  for (const Table* table : open_tables()) {
    const TableRows::Moved moved = table->rows->take_moved();
    all.read += moved.read;
    all.written += moved.written;
    all.waited_ns += moved.waited_ns;
  }
  return all;
}

std::string RowTables::not_finite() const {
  for (const Table& table : tables_) {
    if (!table.rows) continue;
    const RowsInPlace all = table.rows->in_place();
    if (all.data == nullptr) continue;
    const auto dim = static_cast<std::size_t>(table.rows->dim());
    for (std::uint64_t row = 0; row < table.rows->rows(); ++row) {
      const float* values = all.data + row * all.stride;
      if (!std::all_of(values, values + dim, [](float value) { return std::isfinite(value); }))
        return table.name;
    }
  }
  return {};
}

void RowTables::hash(Hasher& hasher) const {
  for (const Table& table : tables_) {
    if (!table.rows) continue;
    hasher.update(std::as_bytes(std::span(table.name)));
    for_each_piece(*table.rows, [&](const std::vector<float>& piece) {
      hasher.update(std::as_bytes(std::span(piece)));
    });
  }
}

}  // namespace sluice

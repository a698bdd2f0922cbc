#include "train/partition_mode.h"

#include "samplers/in_buffer_sampler.h"
#include "train/parts.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace sluice {
namespace {

// What `auto` reckons with, the same everywhere: a run must not depend on how fast a machine is.
constexpr double kValuesASecond = 2e7;  // of links' rows: 200,000 links of 100 columns
constexpr double kDiskBytesASecond = 1e9;

constexpr const char* kExactInstead = "set embedding.mode = \"exact\"";

[[noreturn]] void refuse_partitions(const std::string& why, const std::string& hint) {
  throw Error(ErrorCode::kUsage, "embedding.mode = \"partitions\": " + why, hint);
}

std::uint32_t whole(std::int64_t value) {
  return static_cast<std::uint32_t>(value);
}

// Partitions that COMET moves together: two where that leaves two groups in memory.
std::uint32_t comet_group(const EmbeddingSection& rows) {
  return rows.partitions % 2 == 0 && rows.slots % 2 == 0 && rows.slots >= 4 ? 2 : 1;
}

// Legend trains in what is a spare slot to the others.
BucketOrderOptions order_of(const EmbeddingSection& rows, BucketOrderKind kind) {
  const bool legend = kind == BucketOrderKind::kLegend;
  return {kind,
          whole(rows.partitions),
          whole(rows.slots) + (legend ? 1 : 0),
          kind == BucketOrderKind::kComet ? comet_group(rows) : 1};
}

SpareSlot spare_of(BucketOrderKind kind) {
  return kind == BucketOrderKind::kLegend ? SpareSlot::kNone : SpareSlot::kOne;
}

// The faster of two, by simulation of an epoch of even buckets.
BucketOrderKind chosen(const EmbeddingSection& rows, std::uint64_t links, std::uint64_t row_bytes) {
  const std::uint32_t partitions = whole(rows.partitions), slots = whole(rows.slots) + 1;
  if (slots >= partitions) return BucketOrderKind::kBeta;
  const double bucket = static_cast<double>(links) / (static_cast<double>(partitions) * partitions);
  BucketCosts costs;
  costs.compute_seconds = [&](const Bucket&) {
    return bucket * static_cast<double>(rows.dim) / kValuesASecond;
  };
  costs.read_seconds = costs.write_seconds =
      static_cast<double>(row_bytes) / partitions / kDiskBytesASecond;
  return choose_bucket_order(partitions, slots, costs, RandomKey(1)).options.kind;
}

BucketOrderKind kind_of(const Parts& parts) {
  switch (parts.options.embedding.order) {
    case PartitionOrder::kBeta:
      return BucketOrderKind::kBeta;
    case PartitionOrder::kComet:
      return BucketOrderKind::kComet;
    case PartitionOrder::kSequential:
      return BucketOrderKind::kSequential;
    case PartitionOrder::kLegend:
      return BucketOrderKind::kLegend;
    case PartitionOrder::kAuto:
      break;
  }
  return chosen(parts.options.embedding, parts.count(Part::kTrain), parts.tables.needs().disk);
}

// How the nodes of a type are divided: as the rows of their table.
NodeDivision division_of(const Parts& parts, std::size_t type) {
  const auto& rows = parts.tables.tables().at(type).rows;
  return {rows->rows(), rows->rows_each(whole(parts.options.embedding.partitions))};
}

}  // namespace

std::string PartitionMode::order_name() const {
  switch (tour_->options().order.kind) {
    case BucketOrderKind::kSequential:
      return "sequential";
    case BucketOrderKind::kBeta:
      return "beta";
    case BucketOrderKind::kComet:
      return "comet";
    case BucketOrderKind::kLegend:
      return "legend";
  }
  return {};
}

std::uint32_t partition_slots(const EmbeddingSection& rows) {
  const BucketOrderKind kind = rows.order == PartitionOrder::kComet    ? BucketOrderKind::kComet
                               : rows.order == PartitionOrder::kLegend ? BucketOrderKind::kLegend
                                                                       : BucketOrderKind::kBeta;
  return BucketTour::slots_of(order_of(rows, kind), spare_of(kind));
}

std::uint64_t partition_loads(const Parts& parts) {
  const BucketOrderOptions order = order_of(parts.options.embedding, kind_of(parts));
  return make_bucket_order(order, RandomKey(1)).swaps() + std::min(order.slots, order.partitions);
}

void check_partition_mode(const Parts& parts) {
  const RunOptions& options = parts.options;
  if (options.dataset.follow)
    refuse_partitions("the links of a dataset that is followed change, and buckets are sorted once",
                      "set dataset.follow = false, or embedding.mode = \"exact\"");
  if (parts.model->num_layers() != 0 && !InBufferMethod::serves(*parts.sampler))
    refuse_partitions(fmt::format("model '{}' reads neighbours, and [sampler] '{}' as it is set "
                                  "cannot draw them among the nodes that are in memory",
                                  options.model.type,
                                  options.sampler.type),
                      "set sampler.type = \"neighbor\" or \"labor\", without weights, replacement "
                      "or a snapshot cache, or embedding.mode = \"exact\"");
  for (const std::size_t type : parts.task->target_types()) {
    if (parts.tables.tables().at(type).rows) continue;
    refuse_partitions(fmt::format("nodes of type '{}', an end of the links, have no learned rows",
                                  parts.tables.tables()[type].name),
                      "leave embedding.types out and set embedding.dim, or set embedding.mode = "
                      "\"exact\"");
  }
  try {
    (void)parts.task->partitioned_links(parts.data);
  } catch (const Error& error) {
    refuse_partitions(error.message(), error.hint().empty() ? kExactInstead : error.hint());
  }
}

std::shared_ptr<const SamplerMethod> in_buffer_sampler(const Parts& parts) {
  InBufferNodes nodes;
  nodes.types.resize(parts.tables.tables().size());
  for (std::size_t type = 0; type < nodes.types.size(); ++type)
    if (parts.tables.tables()[type].rows) nodes.types[type] = division_of(parts, type);
  if (parts.partitions) nodes.tour = parts.partitions->tour();
  return std::make_shared<InBufferMethod>(parts.sampler, std::move(nodes));
}

PartitionMode::PartitionMode(const Parts& parts, const std::filesystem::path& folder) {
  const EmbeddingSection& rows = parts.options.embedding;
  const BucketOrderKind kind = kind_of(parts);
  const PartitionedLinks asked = parts.task->partitioned_links(parts.data);
  BucketLinksOptions sorted;
  sorted.partitions = whole(rows.partitions);
  sorted.sources = division_of(parts, asked.source_type);
  sorted.destinations = division_of(parts, asked.destination_type);
  sorted.key = parts.key().with("edge buckets");
  sorted.folder = folder;
  sorted.ledger = parts.ledger.get();
  const auto links = std::make_shared<BucketLinks>(*asked.links, sorted);
  BucketTourOptions way;
  way.order = order_of(rows, kind);
  way.spare = spare_of(kind);
  way.key = parts.key().with("bucket tour");
  way.links = links->counts();
  way.sources = sorted.sources;
  way.destinations = sorted.destinations;
  way.batch_size = static_cast<std::uint64_t>(parts.options.train.batch_size);
  way.ledger = parts.ledger.get();
  tour_ = std::make_shared<BucketTour>(std::move(way));
  links_ = links;
}

std::string PartitionMode::told() const {
  const BucketTourOptions& way = tour_->options();
  return fmt::format(
      "{} partitions, {} in memory at once; order {}, {} swaps in the first epoch; {} links in "
      "edge buckets, {}",
      way.order.partitions,
      BucketTour::slots_of(way.order, way.spare),
      order_name(),
      tour_->order(0).swaps(),
      format_count(links_->size()),
      format_bytes(links_->file_bytes()));
}

// What an epoch begins with is no swap.
void PartitionMode::go_to(std::uint64_t epoch, std::uint64_t index, const Parts& parts) {
  const BucketStop stop = tour_->at(epoch, index);
  std::vector<std::uint32_t> held = stop.resident;
  held.insert(held.end(), stop.coming.begin(), stop.coming.end());
  std::uint32_t swaps = 0;
  for (const RowTables::Table& table : parts.tables.tables()) {
    if (!table.rows) continue;
    if (epoch_ != epoch) (void)table.rows->hold(stop.resident);
    swaps = std::max(swaps, table.rows->hold(held));
  }
  swaps_ += swaps;
  epoch_ = epoch;
}

std::uint64_t PartitionMode::take_swaps() {
  return std::exchange(swaps_, 0);
}

}  // namespace sluice

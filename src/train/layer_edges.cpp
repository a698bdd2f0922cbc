#include "train/layer_edges.h"

#include "core/interrupt.h"
#include "pipeline/data/graph_data_state.h"
#include "samplers/neighbor_sampler.h"
#include "train/gathered_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

namespace sluice {
namespace {

std::uint64_t bytes_of_blocks(const Batch& batch) {
  std::uint64_t bytes = 0;
  for (const BatchNodes& nodes : batch.nodes) bytes += nodes.ids.bytes() + nodes.degrees.bytes();
  for (const auto& layer : batch.layers)
    for (const Block& block : layer)
      bytes += block.offsets.bytes() + block.neighbours.bytes() + block.edge_ids.bytes();
  return bytes;
}

class EdgeLayer {
 public:
  EdgeLayer(const LayerWork& work,
            const NodeTables& rows,
            NodeTables& made,
            CarriedRows& carried,
            LayerFigures& figure)
      : work_(work),
        made_(made),
        carried_(carried),
        figure_(figure),
        keep_(keeps(work, rows)),
        sampler_(work.parts.data.graph(), whole_lists(), parts_of(work), work.parts.key()) {
    for (std::size_t type = 0; type < rows.size(); ++type) {
      gathered_.emplace_back();
      if (rows[type]) gathered_.back().emplace(*rows[type], keep_, *work.parts.ledger);
    }
    if (work.layerwise.carries(work.layer))
      left_.file = std::make_unique<CarryFile>(work.scratch, *work.parts.ledger);
  }

  void run() {
    for (std::size_t type = 0; type < made_.size(); ++type) {
      if (!made_[type]) continue;
      Progress bar(
          work_.progress,
          fmt::format(
              "layer {}, {}", work_.layer + 1, work_.parts.dataset.schema().nodes[type].name),
          work_.count(type),
          "rows");
      for (std::uint64_t first = 0; first < work_.count(type); first += work_.chunk) {
        throw_if_interrupted();
        add(type, first, std::min(work_.chunk, work_.count(type) - first));
        bar.add(std::min(work_.chunk, work_.count(type) - first));
      }
    }
    finish_window();
    for (const auto& rows : gathered_) {
      if (!rows) continue;
      figure_.rows_read += rows->rows_read();
      figure_.bytes_read += rows->bytes_read();
    }
    if (left_.file) figure_.bytes_written += left_.file->bytes();
    if (carried_.file) figure_.bytes_read += carried_.file->bytes();
    carried_ = std::move(left_);
  }

 private:
  // A mini-batch of the window.
  struct Waiting {
    std::size_t type;
    std::uint64_t first;
    Batch batch;
  };

  // Rows that all stay leave a third of the room to mini-batches, which are larger here.
  static KeptRows keeps(const LayerWork& work, const NodeTables& rows) {
    std::uint64_t bytes = 0;
    for (const auto& table : rows)
      if (table) bytes += table->bytes();
    return bytes <= work.room / 3 * 2 ? KeptRows::kAll : KeptRows::kWanted;
  }

  static NeighborSamplerOptions whole_lists() {
    NeighborSamplerOptions options;
    options.fanout = {-1};
    return options;
  }

  static BlockParts parts_of(const LayerWork& work) {
    constexpr std::uint64_t kTableShare = 16;  // of the room
    const BatchNeeds needs = work.parts.model->needs();
    BlockParts parts;
    parts.transpose = false;
    parts.edge_ids = needs.edge_ids || needs.edge_labels;
    parts.degrees = needs.degrees;
    parts.relation_degrees = needs.relation_degrees;
    parts.table_bytes = work.room / kTableShare;
    return parts;
  }

  void add(std::size_t type, std::uint64_t first, std::uint64_t count) {
    std::vector<std::uint64_t> targets(count);
    std::iota(targets.begin(), targets.end(), first);
    SampleRequest request;
    request.index = first / work_.chunk;
    request.seeds = SeedLists(targets, type);
    Batch batch = sampler_.sample(request, work_.parts.ledger.get()).or_throw();
    std::uint64_t bytes = 0;
    for (std::size_t of = 0; of < gathered_.size(); ++of) {
      if (!gathered_[of]) continue;
      gathered_[of]->want(ids_of(batch, of));
      bytes += gathered_[of]->wanted_bytes();
    }
    held_bytes_ += bytes_of_blocks(batch);
    waiting_.push_back({type, first, std::move(batch)});
    if (keep_ == KeptRows::kAll || bytes + held_bytes_ > work_.room / 2) finish_window();
  }

  static std::span<const std::uint64_t> ids_of(const Batch& batch, std::size_t type) {
    const Array& ids = std::as_const(batch.nodes.at(type).ids);
    return ids.empty() ? std::span<const std::uint64_t>() : ids.as<std::uint64_t>();
  }

  void finish_window() {
    for (auto& rows : gathered_)
      if (rows) rows->fetch();
    for (Waiting& each : waiting_) {
      throw_if_interrupted();
      write(each);
      each.batch = {};
    }
    waiting_.clear();
    held_bytes_ = 0;
    for (auto& rows : gathered_)
      if (rows) rows->clear();
  }

  void write(Waiting& each) {
    const std::vector<torch::Tensor> x = rows_of(each.batch);
    const Batch batch = as_called(each);
    const std::pair<std::size_t, std::uint64_t> key(each.type, each.first);
    LayerCarry carry;
    if (carried_.file) carry = carried_.file->read(carried_.entries.at(key));
    const torch::Tensor rows =
        work_.layerwise.layer_rows(work_.layer, x, batch, carry).at(each.type);
    RowWriter(*made_[each.type]).write(each.first, rows);
    if (left_.file) left_.entries[key] = left_.file->write(carry);
  }

  std::vector<torch::Tensor> rows_of(const Batch& batch) const {
    std::vector<torch::Tensor> x(gathered_.size());
    for (std::size_t type = 0; type < x.size(); ++type) {
      const auto ids = ids_of(batch, type);
      if (!gathered_[type] || ids.empty()) continue;
      x[type] = torch::empty(
          {static_cast<std::int64_t>(ids.size()), work_.layerwise.columns(work_.layer)});
      gathered_[type]->copy(ids,
                            {x[type].data_ptr<float>(), static_cast<std::size_t>(x[type].numel())});
    }
    return x;
  }

  // The batch as of all layers, of which this one alone has blocks.
  Batch as_called(Waiting& each) const {
    Batch batch = empty_batch(work_.layerwise.depth(), each.batch.nodes.size());
    for (std::size_t type = 0; type < batch.nodes.size(); ++type) {
      BatchNodes& nodes = each.batch.nodes[type];
      const std::int64_t targets = nodes.size_at.back();
      nodes.size_at = batch.nodes[type].size_at;
      batch.nodes[type] = std::move(nodes);
      set_sizes(batch, work_.layer, type, batch.nodes[type].ids.numel(), targets);
    }
    std::vector<Block>& blocks = batch.layers[static_cast<std::size_t>(work_.layer)];
    blocks = std::move(each.batch.layers.at(0));
    const auto& labels = work_.parts.data.state().edge_labels;
    for (Block& block : blocks) {
      if (block.relation >= labels.size() || labels[block.relation].empty() ||
          block.num_edges() == 0)
        continue;
      block.labels = labels[block.relation].gather(
          std::as_const(block.edge_ids).as<std::uint64_t>(), *work_.parts.ledger);
    }
    return batch;
  }

  const LayerWork& work_;
  NodeTables& made_;
  CarriedRows& carried_;
  LayerFigures& figure_;
  KeptRows keep_;
  NeighborSampler sampler_;
  std::vector<std::optional<GatheredRows>> gathered_;  // by node type
  std::vector<Waiting> waiting_;
  std::uint64_t held_bytes_ = 0;  // of blocks of the window
  CarriedRows left_;
};

}  // namespace

void pass_by_edges(const LayerWork& work,
                   const NodeTables& rows,
                   NodeTables& made,
                   CarriedRows& carried,
                   LayerFigures& figure) {
  try {
    EdgeLayer(work, rows, made, carried, figure).run();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kResource || !error.hint().empty()) throw;
    throw Error(error.code(),
                error.message(),
                "raise memory.host, or lower eval.batch_size: nodes whose neighbours are looked at "
                "together",
                error.place());
  }
}

}  // namespace sluice

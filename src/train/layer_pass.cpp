#include "train/layer_pass.h"

#include "models/carry_size.h"
#include "nn/one_thread.h"
#include "storage/io/disk_space.h"
#include "train/layer_edges.h"
#include "train/layer_lists.h"
#include "train/node_sweep.h"

#include <sluice/models/layerwise.h>
#include <sluice/models/state_model.h>
#include <sluice/tasks/pair_model.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace sluice {
namespace {

using PassClock = std::chrono::steady_clock;

[[noreturn]] void refuse_model(const Parts& parts, const char* why) {
  throw Error(ErrorCode::kUsage,
              fmt::format("model '{}' {}", parts.options.model.type, why),
              "leave --exact out, or write predictions: sluice-train predict",
              Place{parts.options.run.dir, -1, -1, -1});
}

std::uint64_t edge_bytes_read(const Parts& parts) {
  std::uint64_t bytes = 0;
  for (const auto& relation : parts.data.graph().relations) bytes += relation->stats().bytes_read;
  return bytes;
}

class LayersInOrder {
 public:
  LayersInOrder(Parts& parts, const std::vector<bool>& wanted, const LayerPassOptions& options)
      : parts_(parts),
        wanted_(wanted),
        options_(options),
        layerwise_(parts.model->layerwise()),
        layers_(options.layers < 0 ? layers_to_pass(parts) : options.layers),
        room_(options.room != 0 ? options.room : parts.ledger->available() / 4 * 3) {}

  NodeTables run(std::vector<LayerFigures>& figures) {
    if (layerwise_ == nullptr) {
      check_written(asked_types());
    } else if (layers_ == 0) {
      check_written(layerwise_->layer_types(0).read);
    } else {
      check_written(layerwise_->layer_types(layers_ - 1).written);
    }
    require_room();
    NodeTables rows = make_inputs(figures);
    for (std::int64_t layer = 0; layerwise_ != nullptr && layer < layers_; ++layer)
      rows = make_layer(layer, std::move(rows), figures);
    return rows;
  }

  // The rows that a layer reads, what it gets of lists, what the layer before left and what it
  // leaves, and the rows that it writes are there at once; and the last rows with their file.
  void require_room() const {
    if (layerwise_ == nullptr) {
      const std::uint64_t bytes = bytes_of(wanted_, parts_.task->output_width());
      return require_space(options_.scratch, bytes + options_.output_bytes, "rows of the model");
    }
    const GraphSchema& schema = parts_.dataset.schema();
    const std::vector<bool>& inputs = layerwise_->layer_types(0).read;
    const std::uint64_t last =
        bytes_of(layers_ == 0 ? wanted_ : written_by(layers_ - 1), layerwise_->columns(layers_));
    std::uint64_t most = std::max(bytes_of(inputs, layerwise_->columns(0)),
                                  last + carried_bytes(layers_ - 1) + options_.output_bytes);
    for (std::int64_t layer = 0; layer < layers_; ++layer) {
      const std::int64_t columns = layerwise_->columns(layer);
      const std::vector<bool> written = written_by(layer);
      std::uint64_t bytes = bytes_of(layerwise_->layer_types(layer).read, columns) +
                            bytes_of(written, layerwise_->columns(layer + 1)) +
                            carried_bytes(layer - 1) + carried_bytes(layer);
      for (const RelationSchema& relation : schema.relations) {
        std::vector<bool> target(schema.nodes.size(), false);
        const std::size_t type = type_number(schema, relation.target);
        target[type] = written[type] && layerwise_->gathering(layer) != Gathering::kEdges;
        bytes += bytes_of(target, columns);
      }
      most = std::max(most, bytes);
    }
    require_space(options_.scratch, most, "rows between layers");
  }

 private:
  const NodeTypeSchema& type_of(std::size_t type) const {
    return parts_.dataset.schema().nodes.at(type);
  }

  // Those that a model without layers gives rows of.
  std::vector<bool> asked_types() const {
    std::vector<bool> asked(wanted_.size(), false);
    for (const std::size_t type : parts_.task->target_types()) asked.at(type) = true;
    return asked;
  }

  void check_written(const std::vector<bool>& written) const {
    for (std::size_t type = 0; type < wanted_.size(); ++type) {
      if (!wanted_[type] || written.at(type)) continue;
      throw Error(
          ErrorCode::kUsage,
          fmt::format(
              "layer {} of this run's model has no rows of '{}'", layers_, type_of(type).name),
          "choose another --layer or --type",
          Place{parts_.options.run.dir, -1, -1, -1});
    }
  }

  bool is_last(std::int64_t layer) const { return layer + 1 == layers_; }

  std::vector<bool> written_by(std::int64_t layer) const {
    return is_last(layer) ? wanted_ : layerwise_->layer_types(layer).written;
  }

  // What a table is read by next: panels where lists go by, else whole rows.
  PanelShape shape_for(std::int64_t next_layer, std::size_t type, std::int64_t columns) const {
    PanelShape shape{type_of(type).count, static_cast<std::uint32_t>(columns), 1};
    shape.panel = std::max<std::uint32_t>(1, shape.columns);
    const bool by_lists = layerwise_ != nullptr && next_layer < layers_ &&
                          layerwise_->gathering(next_layer) != Gathering::kEdges;
    if (by_lists) shape.panel = panel_columns(shape, room_, type_of(type).name);
    return shape;
  }

  NodeTables make_tables(std::int64_t next_layer,
                         const std::vector<bool>& types,
                         std::int64_t columns) const {
    NodeTables tables(types.size());
    for (std::size_t type = 0; type < types.size(); ++type)
      if (types[type])
        tables[type] = std::make_unique<PanelTable>(
            options_.scratch, shape_for(next_layer, type, columns), DType::kF32);
    return tables;
  }

  std::uint64_t bytes_of(const std::vector<bool>& types, std::int64_t columns) const {
    std::uint64_t bytes = 0;
    for (std::size_t type = 0; type < types.size(); ++type)
      if (types[type]) bytes += type_of(type).count * static_cast<std::uint64_t>(columns) * 4;
    return bytes;
  }

  // What a layer leaves for the next, of all targets that it writes.
  std::uint64_t carried_bytes(std::int64_t layer) const {
    const auto* const size = dynamic_cast<const models::CarrySize*>(layerwise_);
    if (size == nullptr || layer < 0 || layer >= layers_) return 0;
    const GraphSchema& schema = parts_.dataset.schema();
    const std::vector<bool> written = written_by(layer);
    std::uint64_t targets = 0, edges = 0;
    for (std::size_t type = 0; type < written.size(); ++type)
      if (written[type]) targets += type_of(type).count;
    for (std::size_t relation = 0; relation < schema.relations.size(); ++relation)
      if (written[type_number(schema, schema.relations[relation].target)])
        edges += parts_.data.graph().relations.at(relation)->num_edges();
    return size->carried_bytes(layer, targets, edges);
  }

  static std::size_t type_number(const GraphSchema& schema, const std::string& name) {
    const auto found = std::ranges::find(schema.nodes, name, &NodeTypeSchema::name);
    return static_cast<std::size_t>(found - schema.nodes.begin());
  }

  // Of a model without layers these are what it gives.
  NodeTables make_inputs(std::vector<LayerFigures>& figures) {
    const std::vector<bool> types = layerwise_ == nullptr ? wanted_
                                    : layers_ == 0        ? wanted_
                                                          : layerwise_->layer_types(0).read;
    const std::int64_t columns =
        layerwise_ == nullptr ? parts_.task->output_width() : layerwise_->columns(0);
    NodeTables tables = make_tables(0, types, columns);
    const auto begin = PassClock::now();
    LayerFigures& figure = figures.emplace_back();
    figure.way = "rows";
    for (std::size_t type = 0; type < types.size(); ++type) {
      if (!types[type] || type_of(type).count == 0) continue;
      Progress bar(options_.progress, type_of(type).name, type_of(type).count, "rows");
      RowWriter writer(*tables[type]);
      const LoaderStats stats = sweep_nodes(
          parts_, type, options_.chunk, bar, [&](const Batch& batch, std::uint64_t first) {
            const std::vector<torch::Tensor> rows =
                layerwise_ == nullptr ? parts_.model->encode(batch) : layerwise_->input_rows(batch);
            writer.write(first, rows.at(type));
          });
      figure.rows += type_of(type).count;
      figure.rows_read += type_of(type).count;
      figure.bytes_read += stats.bytes_read;
      figure.bytes_written += tables[type]->bytes();
    }
    figure.seconds = std::chrono::duration<double>(PassClock::now() - begin).count();
    return tables;
  }

  NodeTables make_layer(std::int64_t layer, NodeTables rows, std::vector<LayerFigures>& figures) {
    const auto begin = PassClock::now();
    const std::uint64_t edges_before = edge_bytes_read(parts_);
    const std::vector<bool> written = written_by(layer);
    LayerFigures& figure = figures.emplace_back();
    figure.layer = layer + 1;
    for (const auto& table : rows)
      if (table) figure.rows += table->shape().rows;
    NodeTables made = make_tables(layer + 1, written, layerwise_->columns(layer + 1));
    const LayerWork work{
        parts_, *layerwise_, layer, options_.chunk, room_, options_.scratch, options_.progress};
    if (layerwise_->gathering(layer) == Gathering::kEdges) {
      figure.way = "edges";
      pass_by_edges(work, rows, made, carried_, figure);
    } else {
      figure.way = "lists";
      pass_by_lists(work, rows, made, figure);
    }
    for (const auto& table : made)
      if (table) figure.bytes_written += table->bytes();
    figure.bytes_read += edge_bytes_read(parts_) - edges_before;
    figure.seconds = std::chrono::duration<double>(PassClock::now() - begin).count();
    return made;
  }

  Parts& parts_;
  std::vector<bool> wanted_;
  const LayerPassOptions& options_;
  const Layerwise* layerwise_;
  std::int64_t layers_;
  std::uint64_t room_;  // bytes of rows of neighbours
  CarriedRows carried_;
};

}  // namespace

std::int64_t layers_to_pass(const Parts& parts) {
  if (parts.sampler->needs_times() || dynamic_cast<PairModel*>(parts.model.get()) != nullptr ||
      dynamic_cast<StatefulModel*>(parts.model.get()) != nullptr)
    refuse_model(parts, "gives rows of nodes at times: there is none of a node alone");
  const BatchNeeds needs = parts.model->needs();
  if (!needs.edge_feature_groups.empty())
    refuse_model(parts, "reads features of edges, which are not gone through layer by layer");
  if (parts.model->num_layers() == 0) return 0;
  const Layerwise* const layerwise = parts.model->layerwise();
  if (layerwise == nullptr) refuse_model(parts, "cannot be taken one layer at a time");
  return layerwise->depth();
}

NodeTables pass_layers(Parts& parts,
                       const std::vector<bool>& wanted,
                       const LayerPassOptions& options,
                       std::vector<LayerFigures>& figures) {
  const std::int64_t depth = layers_to_pass(parts);
  if (options.layers > depth)
    throw Error(
        ErrorCode::kUsage,
        fmt::format(
            "this run's model has {} layers, and layer {} is asked for", depth, options.layers),
        fmt::format("choose --layer from 0, the inputs, to {}", depth),
        Place{parts.options.run.dir, -1, -1, -1});
  const torch::NoGradGuard no_grad;
  // Products alone: reading and gathering are most of the work, and go on all threads.
  const nn::OneThread one_thread;
  parts.model->eval();
  parts.model->set_step_key(parts.key());
  return LayersInOrder(parts, wanted, options).run(figures);
}

void require_pass_space(Parts& parts,
                        const std::vector<bool>& wanted,
                        const LayerPassOptions& options) {
  LayersInOrder(parts, wanted, options).require_room();
}

}  // namespace sluice

#include "prep/order/reorder.h"

#include "core/interrupt.h"
#include "prep/csc_builder.h"
#include "prep/dataset_edges.h"
#include "prep/splits.h"

#include <sluice/dataset.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace sluice {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kChunkBytes = std::uint64_t{64} << 20;  // rows gathered at a time

/// A type's new order, both ways.
struct Permutation {
  IdArray old_of_new;
  IdArray new_of_old;
};

// What reorder does not carry over is refused, not dropped.
void check_schema(const GraphSchema& schema) {
  const auto refuse = [](const std::string& whose, const char* what, const char* hint) {
    throw Error(ErrorCode::kUsage,
                fmt::format("{} has {}: reorder does not carry those", whose, what),
                hint);
  };
  constexpr const char* kAgain = "prepare it again in the order you want";
  for (const RelationSchema& relation : schema.relations) {
    const std::string whose = fmt::format("relation '{}'", relation.key());
    if (relation.has_times) refuse(whose, "times", kAgain);
    if (relation.appended != 0) refuse(whose, "appended edges", "run sluice-prep compact first");
    if (relation.has_weights) refuse(whose, "weights", kAgain);
    if (!relation.features.empty()) refuse(whose, "features", kAgain);
    if (relation.labels) refuse(whose, "labels", kAgain);
  }
  for (const NodeTypeSchema& node : schema.nodes)
    if (node.has_times) refuse(fmt::format("node type '{}'", node.name), "times", kAgain);
  if (!schema.edge_splits.empty()) refuse("the dataset", "splits of edges", kAgain);
  if (schema.graphs) refuse("the dataset", "many graphs, whose nodes stand together", kAgain);
}

class Reorder {
 public:
  Reorder(const ReorderOptions& options, NodeOrder& order, PrepContext& context)
      : options_(options),
        order_(order),
        context_(context),
        manifest_(Manifest::load(options.dataset).or_throw()),
        dataset_(Dataset::open(options.dataset.string(), {.ledger = &context.ledger})),
        writer_(options.out, options.overwrite, &context.ledger) {
    check_schema(manifest_.schema);
    for (const std::string& leftover : writer_.staging().swept())
      context.log.warn("removed what an interrupted run had left: {}", leftover);
  }

  ReorderReport run() {
    for (const NodeTypeSchema& node : manifest_.schema.nodes) {
      if (options_.node_type.empty() || options_.node_type == node.name) find_order(node);
    }
    if (permutations_.empty()) {
      throw Error(ErrorCode::kUsage,
                  fmt::format("the dataset has no node type '{}'", options_.node_type),
                  "sluice-prep inspect shows its types");
    }
    for (const NodeTypeSchema& node : manifest_.schema.nodes) write_nodes(node);
    for (const RelationSchema& relation : manifest_.schema.relations) write_edges(relation);
    for (const SplitSchema& split : manifest_.schema.splits) write_ids_of_split(split);
    writer_.set_generation(manifest_.generation + 1);
    report_.schema = writer_.schema();
    report_.bytes = writer_.bytes();
    writer_.commit(options_.created_by);
    return std::move(report_);
  }

 private:
  void find_order(const NodeTypeSchema& node) {
    const OrderInput input{options_.dataset, manifest_, node, context_};
    Permutation permutation;
    permutation.old_of_new = order_.order(input);
    permutation.new_of_old = inverse(permutation.old_of_new, &context_.ledger);
    report_.types.push_back({node.name, count_page_touches(input, permutation.new_of_old)});
    permutations_.emplace(node.name, std::move(permutation));
  }

  const Permutation* permutation_of(const std::string& type) const {
    const auto found = permutations_.find(type);
    return found == permutations_.end() ? nullptr : &found->second;
  }

  void adopt_below(const std::string& folder) {
    for (const auto& [path, entry] : manifest_.files) {
      if (path.compare(0, folder.size(), folder) == 0) writer_.adopt(options_.dataset, entry);
    }
  }

  void write_nodes(const NodeTypeSchema& node) {
    const Permutation* const permutation = permutation_of(node.name);
    NodeTypeSchema after = node;
    if (permutation == nullptr) {
      adopt_below(node_path(node.name, ""));
    } else {
      for (const FeatureSchema& table : node.features) write_features(node, table, *permutation);
      if (node.labels) write_labels(node, *permutation);
      write_ids(node, *permutation);
      if (node.ids == IdKind::kDense) after.ids = IdKind::kInteger;
    }
    writer_.schema().nodes.push_back(after);
  }

  void write_features(const NodeTypeSchema& node,
                      const FeatureSchema& table,
                      const Permutation& permutation) {
    const auto store = dataset_.features(node.name, {}, table.name);
    auto file = writer_.create(node_path(node.name, table.name + ".bin"));
    FeatureWriter rows(*file, Manifest::layout_of(table));
    const std::uint64_t bytes =
        std::min(kChunkBytes, std::max<std::uint64_t>(1 << 20, context_.ledger.available() / 4));
    const std::uint64_t chunk = std::max<std::uint64_t>(1, bytes / (store->row_bytes() + 8));
    AlignedBuffer buffer =
        AlignedBuffer::make(
            std::min(chunk, node.count) * store->row_bytes(), &context_.ledger, "reordered rows")
            .or_throw();
    Progress progress(context_.progress, node.name + " " + table.name, node.count, "rows");
    std::vector<std::uint64_t> wanted;
    for (std::uint64_t first = 0; first < node.count; first += chunk) {
      throw_if_interrupted();
      wanted.resize(std::min(chunk, node.count - first));
      for (std::uint64_t i = 0; i < wanted.size(); ++i)
        wanted[i] = permutation.old_of_new[first + i];
      const auto out = buffer.bytes().first(wanted.size() * store->row_bytes());
      store->gather(wanted, out).or_throw();
      rows.append_rows(out);
      progress.add(wanted.size());
    }
    writer_.add(std::move(file));
  }

  void write_labels(const NodeTypeSchema& node, const Permutation& permutation) {
    const Array labels = dataset_.labels(node.name);
    const std::uint64_t row = node.count == 0 ? 0 : labels.bytes() / node.count;
    auto file = writer_.create(node_path(node.name, "labels.bin"));
    for (std::uint64_t i = 0; i < node.count; ++i)
      file->append(labels.raw().subspan(permutation.old_of_new[i] * row, row));
    writer_.add(std::move(file));
  }

  void write_ids(const NodeTypeSchema& node, const Permutation& permutation) {
    const ExternalIds ids = dataset_.ids(node.name);
    auto file = writer_.create(node_path(node.name, "ids.bin"));
    std::unique_ptr<DataFileWriter> offsets;
    std::uint64_t end = 0;
    if (node.ids == IdKind::kString) {
      offsets = writer_.create(node_path(node.name, "ids.offsets.bin"));
      offsets->append_values(std::span<const std::uint64_t>(&end, 1));
    }
    for (std::uint64_t i = 0; i < node.count; ++i) {
      const std::uint64_t old = permutation.old_of_new[i];
      if (!offsets) {
        const std::int64_t id = ids.integer(old);
        file->append_values(std::span<const std::int64_t>(&id, 1));
        continue;
      }
      const std::string id = ids.text(old);
      file->append(std::as_bytes(std::span(id)));
      end += id.size();
      offsets->append_values(std::span<const std::uint64_t>(&end, 1));
    }
    writer_.add(std::move(file));
    if (offsets) writer_.add(std::move(offsets));
  }

  void write_edges(const RelationSchema& relation) {
    const Permutation* const source = permutation_of(relation.source);
    const Permutation* const target = permutation_of(relation.target);
    if (source == nullptr && target == nullptr) {
      adopt_below(relation_path(relation, ""));
      writer_.schema().relations.push_back(relation);
      return;
    }
    const auto renumber = [](const Permutation* permutation) {
      return permutation == nullptr
                 ? std::function<std::uint64_t(std::uint64_t)>()
                 : [permutation](std::uint64_t id) { return permutation->new_of_old[id]; };
    };
    DatasetEdges edges(options_.dataset,
                       manifest_,
                       relation,
                       {renumber(source), renumber(target)},
                       &context_.ledger);
    RelationSchema after{
        .source = relation.source, .name = relation.name, .target = relation.target};
    after.title = relation.title;
    after.self_loops = relation.self_loops;
    after.duplicates = relation.duplicates;
    CscOptions csc;
    csc.edge_ids = relation.has_edge_ids;
    csc.out_edges = relation.has_out_edges;
    build_csc(writer_,
              after,
              manifest_.schema.node_type(relation.source)->count,
              manifest_.schema.node_type(relation.target)->count,
              edges,
              csc,
              context_.arena,
              context_.progress);
    writer_.schema().relations.push_back(after);
  }

  void write_ids_of_split(const SplitSchema& split) {
    const Permutation* const permutation = permutation_of(split.node_type);
    const Split ids = dataset_.split(split.name);
    const auto renumbered = [&](const Array& part) {
      std::vector<std::uint64_t> nodes;
      for (const std::uint64_t id : part.as<std::uint64_t>())
        nodes.push_back(permutation == nullptr ? id : permutation->new_of_old[id]);
      return nodes;
    };
    SplitSchema written =
        write_split(writer_,
                    split.name,
                    "node",
                    manifest_.schema.node_type(split.node_type)->count,
                    {renumbered(ids.train), renumbered(ids.valid), renumbered(ids.test)});
    written.node_type = split.node_type;
    writer_.schema().splits.push_back(std::move(written));
  }

  const ReorderOptions& options_;
  NodeOrder& order_;
  PrepContext& context_;
  Manifest manifest_;
  Dataset dataset_;
  DatasetWriter writer_;
  std::map<std::string, Permutation> permutations_;
  ReorderReport report_;
};

}  // namespace

ReorderReport reorder_dataset(const ReorderOptions& options,
                              NodeOrder& order,
                              PrepContext& context) {
  return Reorder(options, order, context).run();
}

}  // namespace sluice

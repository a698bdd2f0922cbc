// Task: what a model is trained for. Owns the queries, the loss and the metrics, and what stands
// behind the encoder (a decoder, a head); the trainer and the pipeline know nothing of them.
//
// A task about nodes derives from tasks::NodeTask, which has all but the loss and the metrics.
#pragma once

#include <sluice/batch.h>
#include <sluice/dataset.h>
#include <sluice/edge_rule.h>
#include <sluice/executor.h>
#include <sluice/loader.h>
#include <sluice/model.h>
#include <sluice/options.h>  // IWYU pragma: export
#include <sluice/query.h>
#include <sluice/random.h>

#include <torch/torch.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace sluice {

class LinkOrder;
class Links;

/// Collects outputs over an evaluation and sums them up. Order of `add` calls must not matter
/// beyond float rounding of sums, which are kept in f64.
class MetricAccumulator {
 public:
  virtual ~MetricAccumulator() = default;
  /// @param outputs as Task::outputs gives them @param batch its queries and labels; both on the
  /// host
  virtual void add(const torch::Tensor& outputs, const Batch& batch) = 0;
  /// Name -> value: "accuracy", "f1_macro", "loss", ... NaN where there is no figure: nothing was
  /// labelled, or outputs of something that was are not finite.
  virtual std::map<std::string, double> result() const = 0;
};

enum class Better { kHigher, kLower };

/// The dataset that a task opens.
struct TaskData {
  const Dataset& dataset;
  std::string split;  ///< the name of [dataset] split
  RandomKey key;      ///< of the run's seed
};

/// Whose queries a loader shall go through, and how.
struct QueryRequest {
  Part part = Part::kTrain;
  std::int64_t batch_size = 1024;
  bool shuffle = false;  ///< another order every epoch
  RandomKey key{1};      ///< of the run's seed
  /// That mini-batches are sampled by; null: another one.
  std::shared_ptr<const SamplerMethod> sampler = nullptr;
  MemoryLedger* ledger = nullptr;
  bool ends_alone = false;  ///< of links: without other destinations beside them
  /// Of tasks about links, for training: these links in the place of the part's, in this order;
  /// null: the part's, in one order.
  std::shared_ptr<const Links> links = nullptr;
  std::shared_ptr<const LinkOrder> order = nullptr;
};

/// What training asks about, to be sorted into edge buckets.
struct PartitionedLinks {
  std::shared_ptr<const Links> links;
  std::size_t source_type = 0, destination_type = 0;  ///< node types of their ends
};

/// Of a prediction's row: the nodes that it is about, under the user's ids.
struct IdColumn {
  std::string name;      ///< "id", "source", ...
  std::size_t type = 0;  ///< index into GraphSchema::nodes
};

/// An end of a link.
enum class LinkEnd { kSource, kDestination };

/// The nodes that would score best at an end of each query.
struct BestEnds {
  Array nodes;           ///< u64 [q, k], the best first
  torch::Tensor scores;  ///< f32 [q, k]
};

class Task {
 public:
  virtual ~Task() = default;

  // What it asks.

  /// Node types whose rows Model::encode must give, ascending.
  virtual std::vector<std::size_t> target_types() const = 0;
  /// Columns of those rows.
  virtual std::int64_t output_width() const = 0;
  /// Queries of a part, as far as the schema tells.
  virtual std::uint64_t expected(Part part,
                                 const GraphSchema& schema,
                                 const std::string& split) const = 0;
  /// Reads what it needs, its split for one; again where the dataset has grown. Throws Error:
  /// kUsage where the dataset lacks it. What follows needs it.
  virtual void open(const TaskData& data) = 0;
  /// By relation, as GraphDataOptions::edge_rules.
  virtual std::vector<std::shared_ptr<const EdgeRule>> edge_rules() const { return {}; }
  /// Says that best_ends() is going to be asked for: before attach(), which then gathers what
  /// best ends leave out, whatever the options ask for. Of tasks without, nothing.
  virtual void expect_best_ends() {}
  /// Reads what it needs of the data beside its queries; again where they were opened anew. Throws
  /// Error.
  virtual void attach(const GraphData& /*data*/) {}
  /// Where kernels that its losses call run; before any is asked for.
  virtual void run_on(const kernels::Executor& /*executor*/) {}
  /// Whether it reads SamplerGraph::temporal, the events of relations with times, which then stay
  /// in RAM wherever edges are kept.
  virtual bool reads_events() const { return true; }
  /// Whose labels its mini-batches carry.
  virtual LabelsOf labels_of() const { return {}; }
  /// Queries of a part.
  virtual std::uint64_t count(Part part, const GraphData& data) const = 0;
  /// @pre data was made with edge_rules() and labels_of()
  virtual std::unique_ptr<QuerySource> queries(const QueryRequest& request,
                                               const GraphData& data) const = 0;
  /// The links of the train part, for a run by partitions of learned rows (QueryRequest::links).
  /// Throws kUsage where a step wants rows of other nodes than its mini-batch's: of other tasks,
  /// and of a loss beside all nodes.
  virtual PartitionedLinks partitioned_links(const GraphData& /*data*/) const {
    throw Error(ErrorCode::kUsage,
                "this task is not about links, which partitions are gone through by",
                "set embedding.mode = \"exact\"");
  }
  /// Whether any query of a part has a label that counts.
  virtual bool has_labels(Part /*part*/, const GraphData& /*data*/) const { return true; }
  /// What the user would not expect of its split, a line each.
  virtual std::vector<std::string> warnings(const GraphData& /*data*/) const { return {}; }

  // What it learns.

  /// What it learns itself, beside the model; null: nothing.
  virtual std::shared_ptr<torch::nn::Module> head() const { return nullptr; }
  /// A row a query: class scores, targets, scores of a link and of its negatives; f32 [q, columns].
  virtual torch::Tensor outputs(Model& model, const Batch& batch) = 0;
  /// Scalar to minimise: the mean over what num_labelled() counts. May run the model as often as it
  /// likes. @param key of the step
  virtual torch::Tensor training_loss(Model& model, const Batch& batch, RandomKey key) = 0;
  /// How much of a batch counts, on the host.
  virtual std::int64_t num_labelled(const Batch& batch) const { return batch.num_queries(); }

  virtual std::unique_ptr<MetricAccumulator> make_metrics() const = 0;
  /// The metric that picks the best epoch when the config names none, and whether more is better.
  virtual std::string main_metric() const = 0;
  virtual Better direction(const std::string& metric) const = 0;

  // What it predicts: rows of ids and values, a row a query.

  virtual std::vector<IdColumn> prediction_ids() const = 0;
  /// The nodes of each row, a column each of prediction_ids(): u64 [q]. @param batch on the host
  virtual std::vector<Array> predicted_nodes(const Batch& batch) const = 0;
  /// f32 or i64 [q, columns], and the columns' names.
  virtual torch::Tensor predict(const torch::Tensor& outputs) const = 0;
  virtual std::vector<std::string> prediction_columns() const = 0;
  /// What the user calls the values of the only column, by value; empty where they are numbers.
  virtual std::vector<std::string> prediction_names() const { return {}; }
  /// What the user calls the classes, in the order of the outputs; empty where they are numbers, or
  /// outputs are no classes.
  virtual std::vector<std::string> class_names() const { return prediction_names(); }
  /// Of tasks about links: which nodes would be best in the place of an end, those that make a
  /// training link left out. Throws kUsage for other tasks, and for models whose nodes cannot all
  /// be asked about. The last argument is how many; at most as many as there are nodes.
  /// @pre expect_best_ends()
  virtual BestEnds best_ends(Model& /*model*/,
                             const Batch& /*batch*/,
                             LinkEnd /*end*/,
                             std::int64_t /*count*/) {
    throw Error(ErrorCode::kUsage,
                "this task is not about links: it has no ends to be found",
                "leave --top out");
  }
};

/// What a task is built for: `Task(Options, TaskContext)`; throws kUsage when the schema lacks what
/// it needs.
struct TaskContext {
  const GraphSchema& schema;
  RandomKey key{1};  ///< for initial parameters of its own
};

}  // namespace sluice

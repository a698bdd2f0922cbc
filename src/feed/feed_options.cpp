#include "feed/feed_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace sluice {
namespace {

constexpr double kMany = 1e9;

void describe_queries(FeedOptions& options, Schema& schema) {
  schema
      .choice("queries",
              options.queries,
              {{"nodes", QueryKind::kNodes, "nodes of one type"},
               {"links", QueryKind::kLinks, "links of one relation"},
               {"graphs", QueryKind::kGraphs, "whole graphs of many small ones"}})
      .help("what a mini-batch asks about");
  schema
      .choice("part",
              options.part,
              {{"train", Part::kTrain, ""},
               {"valid", Part::kValid, ""},
               {"test", Part::kTest, ""},
               {"all", Part::kAll, "whatever its part"}})
      .help("of the split");
  schema.field("split", options.split).help("which of the dataset's splits");
  schema.field("node_type", options.node_type)
      .help("of queries about nodes; empty: the split's, or the only one");
  options.links.describe(schema);
  schema.field("negatives", options.negatives)
      .help("other destinations beside each link, drawn anew each epoch")
      .range(0, 1e6);
  schema
      .choice("negative_sampler",
              options.negative_sampler,
              {{"uniform", NegativeChoice::kUniform, "any node alike"},
               {"degree", NegativeChoice::kDegree, "by in-degree^0.75"},
               {"in_batch", NegativeChoice::kInBatch, "destinations of the mini-batch's others"}})
      .help("how they are drawn");
  schema.field("filtered", options.filtered)
      .help(
          "never another destination that the edges of mini-batches link; costs their in-degrees");
  schema.field("hide_links", options.hide_links)
      .help("mini-batches of training do not see the links that they ask about, nor their reverse");
}

void describe_batches(FeedOptions& options, Schema& schema) {
  schema.field("batch_size", options.batch_size)
      .help("nodes, links or graphs asked about at once")
      .range(1, 1 << 30);
  schema.field("shuffle", options.shuffle).help("another order every epoch");
  schema.field("seed", options.seed).help("of everything random");
  schema.field("labels", options.labels).help("of what is asked about, where it has some");
  schema.field("exact", options.exact).help("never from approximate snapshots: for evaluation");
  schema.field("transpose", options.transpose).help("blocks carry their transpose");
  schema.field("degrees", options.degrees).help("in-degrees of each node in the whole graph");
  schema.field("edge_ids", options.edge_ids).help("of each sampled edge");
  schema.field("feature_groups", options.feature_groups)
      .help("of nodes, by name; \"\" is a type's first");
  schema.field("edge_feature_groups", options.edge_feature_groups)
      .help("of edges, by name; \"\" is a relation's first");
  schema.field("normalize_rows", options.normalize_rows)
      .help("divide each feature row by the sum of its absolute values");
  schema.field("hash", options.hash).help("keep batches_xxh3, the hash of all mini-batches");
}

// The keys that may be given, and those of them that are the sampler's.
struct KnownKeys {
  std::vector<std::string> own, of_sampler;
};

std::vector<std::string> keys_in(const Schema& schema) {
  std::vector<std::string> keys;
  for (const auto& field : schema.fields()) keys.push_back(field->key());
  for (const Schema::Nested& nested : schema.nested()) keys.push_back(nested.key);
  return keys;
}

KnownKeys known_keys(FeedOptions& options, const std::string& sampler) {
  Schema own;
  options.describe(own);
  KnownKeys known{keys_in(own), {}};
  if (const auto made = options.registry->samplers.make_options(sampler)) {
    Schema of_sampler;
    made->describe(of_sampler);
    known.of_sampler = keys_in(of_sampler);
  }
  return known;
}

[[noreturn]] void throw_unknown(const std::string& key,
                                const KnownKeys& known,
                                const std::string& sampler) {
  std::vector<std::string> all = known.own;
  all.insert(all.end(), known.of_sampler.begin(), known.of_sampler.end());
  const auto nearest = nearest_word(key, all);
  throw Error(ErrorCode::kUsage,
              fmt::format("unknown option '{}'", key),
              nearest ? fmt::format("did you mean '{}'?", *nearest)
                      : fmt::format("options: {}; of sampler '{}': {}",
                                    fmt::join(known.own, ", "),
                                    sampler,
                                    fmt::join(known.of_sampler, ", ")));
}

bool has(const std::vector<std::string>& keys, const std::string& key) {
  return std::ranges::find(keys, key) != keys.end();
}

}  // namespace

FeedOptions::FeedOptions(const FeedRegistry& known) : registry(&known) {
  storage.caches = &known.caches;
}

void FeedOptions::describe(Schema& schema) {
  describe_queries(*this, schema);
  describe_batches(*this, schema);
  schema.selection("sampler", sampler, registry->samplers, "how mini-batches are sampled");
  storage.describe(schema);
  schema.field("memory", memory)
      .help("budget of all buffers and mini-batches; 0: half of what this process may use");
  schema.field("held", held)
      .help("mini-batches that the consumer still has while the next one comes")
      .range(0, 1e6);
  schema.field("scratch", scratch)
      .help("a folder for epoch plans: with features on disk all next uses are known then");
  schema.field("data_threads", data_threads)
      .help("sample and read; 0: all cores. Never changes results")
      .range(0, 4096);
  schema.field("rank", rank).help("of this process among world_size").range(0, kMany);
  schema.field("world_size", world_size)
      .help("processes that share an epoch's mini-batches by number")
      .range(1, kMany);
  schema.field("even", even).help("as many mini-batches for each rank; up to world_size - 1 go");
}

void FeedOptions::set(const std::vector<std::pair<std::string, std::string>>& keys) {
  Config config = Config::parse("", "options of the loader");
  std::string method = sampler.type;
  for (const auto& [key, value] : keys) {
    if (key == "sampler" && value.size() > 1) method = value.substr(1, value.size() - 2);
  }
  // Where a sampler's own options are given too, its name is one of them.
  config.set(fmt::format("sampler.type=\"{}\"", method), "sampler");
  const KnownKeys known = known_keys(*this, method);
  for (const auto& [key, value] : keys) {
    if (key == "sampler") continue;
    const bool own = has(known.own, key);
    if (!own && !key.starts_with("sampler.") && !has(known.of_sampler, key))
      throw_unknown(key, known, method);
    const char* const table = own || key.starts_with("sampler.") ? "" : "sampler.";
    config.set(fmt::format("{}{}={}", table, key, value), fmt::format("{}={}", key, value));
  }
  config.bind_to(*this);
}

std::string FeedOptions::text() {
  Schema schema;
  describe(schema);
  return schema.dump();
}

}  // namespace sluice

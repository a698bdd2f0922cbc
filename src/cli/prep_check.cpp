#include "cli/prep_commands.h"
#include "prep/check/inspect.h"
#include "prep/check/verify.h"
#include "storage/format/schema_json.h"

#include <fmt/format.h>
#include <sluice/units.h>

#include <nlohmann/json.hpp>

#include <algorithm>

namespace sluice::cli {
namespace {

Json features_json(const std::vector<FeatureSchema>& tables) {
  Json all = Json::array();
  for (const FeatureSchema& table : tables) {
    all.push_back({{"name", table.name},
                   {"dtype", feature_dtype_name(table.dtype)},
                   {"rows", table.rows},
                   {"dim", table.dim},
                   {"row_bytes", Manifest::layout_of(table).row_bytes},
                   {"rows_per_page", Manifest::layout_of(table).rows_per_page},
                   {"bytes", Manifest::layout_of(table).file_bytes()}});
    if (table.sparse()) all.back()["entries"] = table.entries;
  }
  return all;
}

Json labels_json(const std::optional<LabelSchema>& labels) {
  if (!labels) return nullptr;
  Json json{{"kind", to_string(labels->kind)}, {"width", labels->width}};
  if (!labels->names.empty()) json["names"] = labels->names;
  return json;
}

Json inspect_json(const InspectReport& report) {
  const GraphSchema& schema = report.manifest.schema;
  Json nodes = Json::array();
  for (const NodeTypeSchema& node : schema.nodes) {
    nodes.push_back({{"type", node.name},
                     {"count", node.count},
                     {"ids", to_string(node.ids)},
                     {"features", features_json(node.features)},
                     {"labels", labels_json(node.labels)}});
  }
  Json relations = Json::array();
  for (const RelationFigures& relation : report.relations) {
    relations.push_back({{"relation", relation.key},
                         {"count", relation.edges},
                         {"appended", schema.relation(relation.key)->appended},
                         {"mean_in_degree", relation.mean_in_degree},
                         {"max_in_degree", relation.max_in_degree},
                         {"isolated_targets", relation.isolated_targets},
                         {"labels", labels_json(schema.relation(relation.key)->labels)},
                         {"degree_histogram", relation.degree_histogram}});
  }
  Json splits = Json::array();
  for (const SplitSchema& split : schema.splits) {
    splits.push_back({{"name", split.name},
                      {"node_type", split.node_type},
                      {"train", split.train},
                      {"valid", split.valid},
                      {"test", split.test}});
  }
  return {{"nodes", schema.total_nodes()},
          {"edges", schema.total_edges()},
          {"generation", report.manifest.generation},
          {"created_by", report.manifest.created_by},
          {"bytes", {{"data", report.bytes}}},
          {"node_types", std::move(nodes)},
          {"relations", std::move(relations)},
          {"splits", std::move(splits)},
          {"graph", schema_to_json(schema)}};  // all of it, as the manifest has it
}

// The feature tables of all node types, as `verify` names them.
Json tables_json(const GraphSchema& schema) {
  Json all = Json::array();
  for (const NodeTypeSchema& node : schema.nodes) {
    for (Json& table : features_json(node.features)) {
      Json entry = {{"node_type", node.name}};
      entry.update(table);
      all.push_back(std::move(entry));
    }
  }
  return all;
}

std::string tables_text(const GraphSchema& schema) {
  std::string text;
  for (const NodeTypeSchema& node : schema.nodes) {
    for (const FeatureSchema& table : node.features) {
      text += fmt::format("  {} of '{}': {} x {}, {} a row\n",
                          table.name,
                          node.name,
                          table.dim,
                          feature_dtype_name(table.dtype),
                          format_bytes(Manifest::layout_of(table).row_bytes));
    }
  }
  return text;
}

Json hotness_json(const Hotness& hotness) {
  Json hottest = Json::array();
  for (const HotNode& hot : hotness.hottest)
    hottest.push_back({{"node", hot.node}, {"out_degree", hot.out_degree}});
  Json caches = Json::array();
  for (const HotRowsCache& cache : hotness.caches)
    caches.push_back(
        {{"share", cache.share}, {"bytes", cache.bytes}, {"answered", cache.answered}});
  return {
      {"type", hotness.node_type}, {"hottest", std::move(hottest)}, {"caches", std::move(caches)}};
}

void run_inspect(const std::string& dataset, Hot hot, PrepSession& session) {
  const InspectReport report = inspect_dataset(dataset, session.start(), hot);
  if (!session.json()) return fmt::print("{}", to_text(report));
  Json object = inspect_json(report);
  for (const Hotness& hotness : report.hotness) object["hotness"].push_back(hotness_json(hotness));
  session.add_figures(object);
  print_json(object);
}

void run_verify(const std::string& dataset, PrepSession& session) {
  PrepContext& context = session.start();
  const VerifyReport report = verify_dataset(dataset, context);
  for (const std::string& stranger : report.strangers) {
    context.log.warn("{}/{} is not part of the dataset", dataset, stranger);
  }
  if (!report.problems.empty()) {
    std::string all = fmt::format("{}: {} problem{}",
                                  dataset,
                                  report.problems.size(),
                                  report.problems.size() == 1 ? "" : "s");
    constexpr std::size_t kShown = 50;
    for (std::size_t i = 0; i < std::min(kShown, report.problems.size()); ++i)
      all += "\n  " + report.problems[i];
    if (report.problems.size() > kShown)
      all += fmt::format("\n  and {} more", report.problems.size() - kShown);
    throw Error(ErrorCode::kData,
                all,
                "the dataset is damaged: restore it from a copy or prepare it again");
  }
  if (session.json()) {
    Json object = {{"dataset", dataset},
                   {"sound", true},
                   {"nodes", report.nodes},
                   {"edges", report.edges},
                   {"files", report.files},
                   {"bytes", {{"read", report.bytes}}},
                   {"features", tables_json(report.schema)},
                   {"strangers", report.strangers}};
    session.add_figures(object);
    print_json(object);
  } else {
    fmt::print("{}: sound; {} files, {} {}\n{}",
               dataset,
               report.files,
               format_bytes(report.bytes),
               session.figures_text(),
               tables_text(report.schema));
  }
}

}  // namespace

void add_inspect(CLI::App& app, PrepSession& session, PrepAction& action) {
  CLI::App* command =
      app.add_subcommand("inspect", "show what a dataset holds: counts, widths, sizes, degrees");
  auto dataset = std::make_shared<std::string>();
  auto hot = std::make_shared<bool>(false);
  command->add_option("dataset", *dataset, "the dataset directory")->required()->type_name("DIR");
  command->add_flag(
      "--hot",
      *hot,
      "also the hottest nodes, and what caches of them answer (reads all neighbours)");
  session.add_options(*command);
  command->callback([dataset, hot, &session, &action] {
    action.run = [dataset, hot, &session] {
      run_inspect(*dataset, *hot ? Hot::kMeasure : Hot::kSkip, session);
    };
  });
  command->footer("Example:\n  sluice-prep inspect data/papers --hot");
}

void add_verify(CLI::App& app, PrepSession& session, PrepAction& action) {
  CLI::App* command = app.add_subcommand("verify", "read every byte of a dataset and check it");
  auto dataset = std::make_shared<std::string>();
  command->add_option("dataset", *dataset, "the dataset directory")->required()->type_name("DIR");
  session.add_options(*command);
  command->callback([dataset, &session, &action] {
    action.run = [dataset, &session] { run_verify(*dataset, session); };
  });
  command->footer("Example:\n  sluice-prep verify data/papers");
}

}  // namespace sluice::cli

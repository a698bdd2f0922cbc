#include "cli/train_commands.h"
#include "core/cgroup.h"
#include "probe/probe_run.h"
#include "train/probe_beside.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace sluice::cli {
namespace {

// What `probe` collects before it runs.
struct ProbeCommand {
  probe::ProbeRequest request;
  std::vector<std::string> tasks{"classify"};
  bool floors = false;
  std::string memory = "auto";
  int threads = 0;

  void settle() {
    const auto has = [this](const char* task) { return std::ranges::count(tasks, task) != 0; };
    request.classify = has("classify");
    request.cluster = has("cluster");
    request.links = has("links");
    request.floors = floors ? probe::Floors::kBeside : probe::Floors::kNone;
  }
};

nlohmann::ordered_json figure_json(const probe::Figure& figure) {
  nlohmann::ordered_json json = {{"mean", figure.mean}};
  if (figure.deviation) json["deviation"] = *figure.deviation;
  return json;
}

nlohmann::ordered_json classify_json(const probe::ClassifyFigures& figures) {
  nlohmann::ordered_json json = {{"train", figure_json(figures.train)},
                                 {"valid", figure_json(figures.valid)},
                                 {"test", figure_json(figures.test)},
                                 {"f1_micro", figure_json(figures.f1_micro)},
                                 {"f1_macro", figure_json(figures.f1_macro)}};
  if (figures.groups) json["groups"] = to_json(*figures.groups);
  return json;
}

nlohmann::ordered_json links_json(const probe::LinkFigures& figures) {
  const auto areas = [](const probe::LinkFigures::Areas& of) {
    return nlohmann::ordered_json{{"auc", figure_json(of.auc)}, {"ap", figure_json(of.ap)}};
  };
  return {{"dot", areas(figures.dot)},
          {"cosine", areas(figures.cosine)},
          {"hadamard", areas(figures.hadamard)}};
}

nlohmann::ordered_json report_json(const ProbeCommand& command, const probe::ProbeReport& report) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const probe::RowsReport& of : report.rows) {
    nlohmann::ordered_json json = {{"rows", of.name}, {"columns", of.columns}};
    if (of.classify) json["classify"] = classify_json(*of.classify);
    if (of.cluster)
      json["cluster"] = {{"nmi", figure_json(of.cluster->nmi)},
                         {"ari", figure_json(of.cluster->ari)}};
    if (of.links) json["links"] = links_json(*of.links);
    rows.push_back(std::move(json));
  }
  nlohmann::ordered_json json = {{"embeddings", command.request.embeddings.string()},
                                 {"dataset", command.request.dataset},
                                 {"node_type", report.node_type},
                                 {"nodes", report.nodes},
                                 {"seeds", command.request.seeds}};
  if (command.request.classify) json["split"] = command.request.split;
  if (command.request.links) json["link_split"] = report.link_split;
  json["results"] = std::move(rows);
  return json;
}

std::string figure_text(const probe::Figure& figure) {
  if (!figure.deviation) return fmt::format("{:.4f}", figure.mean);
  return fmt::format("{:.4f} +- {:.4f}", figure.mean, *figure.deviation);
}

void print_probe(const ProbeCommand& command, const probe::ProbeReport& report) {
  const std::int64_t seeds = command.request.seeds;
  fmt::print("{} nodes of type '{}', {}\n",
             format_count(report.nodes),
             report.node_type,
             seeds == 1 ? "one seed" : fmt::format("{} seeds; mean +- deviation", seeds));
  const auto line = [](const std::string& rows, const char* what, const probe::Figure& figure) {
    fmt::print("  {:<12} {:<22} {}\n", rows, what, figure_text(figure));
  };
  for (const probe::RowsReport& of : report.rows) {
    if (of.classify) {
      line(of.name, "accuracy, valid", of.classify->valid);
      line(of.name, "accuracy, test", of.classify->test);
      line(of.name, "macro F1, test", of.classify->f1_macro);
    }
    if (of.cluster) {
      line(of.name, "NMI", of.cluster->nmi);
      line(of.name, "ARI", of.cluster->ari);
    }
    if (!of.links) continue;
    line(of.name, "links, dot: AUC", of.links->dot.auc);
    line(of.name, "links, dot: AP", of.links->dot.ap);
    line(of.name, "links, cosine: AUC", of.links->cosine.auc);
    line(of.name, "links, cosine: AP", of.links->cosine.ap);
    line(of.name, "links, Hadamard: AUC", of.links->hadamard.auc);
    line(of.name, "links, Hadamard: AP", of.links->hadamard.ap);
  }
}

void run_probe_command(ProbeCommand& command, TrainSession& session) {
  (void)session.start();
  command.settle();
  const std::uint64_t limit = command.memory == "auto"
                                  ? memory_granted() / 4 * 3
                                  : parse_bytes(command.memory).or_throw().bytes;
  const auto ledger = std::make_shared<MemoryLedger>(limit, "--memory");
  ThreadArena threads(command.threads);
  const probe::ProbeReport report = probe::run_probe(command.request, ledger, threads);
  if (session.json()) return print_json(report_json(command, report));
  print_probe(command, report);
}

void add_what(CLI::App& command, ProbeCommand& wanted) {
  probe::ProbeRequest& request = wanted.request;
  command
      .add_option("embeddings",
                  request.embeddings,
                  "the file: .npy, .csv or .safetensors, by your own ids or in the nodes' order")
      ->required()
      ->type_name("FILE");
  command.add_option("--dataset", request.dataset, "the dataset directory")
      ->required()
      ->type_name("DIR");
  command
      .add_option("--tasks",
                  wanted.tasks,
                  "what to measure, between commas: classify (a linear probe), cluster (k-means), "
                  "links (held-out pairs)")
      ->delimiter(',')
      ->check(CLI::IsMember({"classify", "cluster", "links"}))
      ->type_name("TASKS")
      ->default_str("classify");
  command.add_option("--type", request.node_type, "the node type, where several could be meant")
      ->type_name("NAME");
  command.add_option("--split", request.split, "of classify: which split of nodes")
      ->type_name("NAME")
      ->capture_default_str();
  command
      .add_option("--link-split",
                  request.link_split,
                  "of links: which split that stands apart from the edges, where there are several")
      ->type_name("NAME");
  command.add_flag(
      "--floors",
      wanted.floors,
      "measure beside them what nobody learned: raw features, SGC, and a random encoder");
}

void add_how(CLI::App& command, ProbeCommand& wanted) {
  probe::ProbeRequest& request = wanted.request;
  command
      .add_option("--seeds", request.seeds, "how often all is measured, by other random numbers")
      ->check(CLI::Range(1, 1000))
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--seed", request.seed, "the first of the seeds")->capture_default_str();
  command.add_option("--epochs", request.linear.epochs, "steps of the linear probes")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command.add_option("--learning-rate", request.linear.learning_rate, "of the linear probes")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
  command.add_option("--weight-decay", request.linear.weight_decay, "of the linear probes")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
  command.add_option("--hops", request.hops, "of the floor SGC")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command.add_option("--random-width", request.random_width, "columns of the random encoder")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  command
      .add_option("--train-pairs",
                  request.train_pairs,
                  "links that the Hadamard probe is trained on, at most, and as many that are none")
      ->check(CLI::Range(1, 100'000'000))
      ->capture_default_str();
  command
      .add_option("--memory",
                  wanted.memory,
                  "memory for buffers, such as 2GiB; auto: 3/4 of what this process may use")
      ->capture_default_str();
  command
      .add_option(
          "--threads", wanted.threads, "worker threads; 0: all cores. Never changes the result")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
}

}  // namespace

void add_probe(CLI::App& app, TrainSession& session, TrainAction& action) {
  CLI::App* command = app.add_subcommand(
      "probe", "measure embeddings of nodes: by a linear probe, clusters, or held-out links");
  auto wanted = std::make_shared<ProbeCommand>();
  add_what(*command, *wanted);
  add_how(*command, *wanted);
  session.add_options(*command);
  command->footer(
      "Examples:\n"
      "  sluice-train probe rows.npy --dataset data/cora --tasks classify,cluster --floors\n"
      "  sluice-prep hold-out data/cora --out data/cora-links   # before pre-training on that\n"
      "  sluice-train probe rows.npy --dataset data/cora-links --tasks links --floors --seeds 5");
  command->callback([wanted, &session, &action] {
    action.run = [wanted, &session] { run_probe_command(*wanted, session); };
  });
}

}  // namespace sluice::cli

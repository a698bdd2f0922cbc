#include "cli/train_commands.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

namespace sluice::cli {
namespace {

// What `evaluate` and `predict` collect before they run.
struct UseRequest {
  std::string directory;
  std::vector<std::string> sets;
  EvaluateOptions options;
  std::string out;
  BestRequest best{LinkEnd::kDestination, 0};
  bool end_given = false;
  EmbedOptions embed;
};

void add_stored(CLI::App& command, UseRequest& request) {
  static const std::map<std::string, CheckpointKind> kKinds{{"best", CheckpointKind::kBest},
                                                            {"last", CheckpointKind::kLast}};
  command.add_option("directory", request.directory, "the run directory")
      ->required()
      ->type_name("DIR");
  command.add_option("--checkpoint", request.options.checkpoint, "which weights: best or last")
      ->transform(CLI::CheckedTransformer(kKinds).description(""))
      ->type_name("WHICH")
      ->default_str("best");
}

void add_common(CLI::App& command, UseRequest& request, TrainSession& session) {
  static const std::map<std::string, Part> kParts{
      {"train", Part::kTrain}, {"valid", Part::kValid}, {"test", Part::kTest}, {"all", Part::kAll}};
  add_stored(command, request);
  command
      .add_option("--part",
                  request.options.part,
                  "which nodes or links: train, valid, test, or all nodes of the type")
      ->transform(CLI::CheckedTransformer(kParts).description(""))
      ->type_name("PART")
      ->default_str("test");
  add_set(command, request.sets);
  session.add_options(command);
}

PredictReport run_prediction(const UseRequest& request, TrainSession& session) {
  if (request.end_given && request.best.count == 0)
    throw Error(ErrorCode::kUsage,
                "--end says which end --top looks for, and there is no --top",
                "add --top 10 for one, or leave --end out");
  if (request.best.count == 0)
    return predict_run(
        request.directory, request.sets, request.options, request.out, session.start());
  return predict_best_run(
      request.directory, request.sets, request.options, request.best, request.out, session.start());
}

nlohmann::ordered_json layer_json(const LayerFigures& layer) {
  return {{"layer", layer.layer},
          {"way", layer.way},
          {"rows", layer.rows},
          {"rows_read", layer.rows_read},
          {"times_read", layer.times()},
          {"panels", layer.panels},
          {"bytes", {{"read", layer.bytes_read}, {"written", layer.bytes_written}}},
          {"seconds", layer.seconds}};
}

void print_layer(const LayerFigures& layer) {
  fmt::print("  {}: {} rows read {:.2f} times, {} panels, {} read, {} written, {:.2f} s\n",
             layer.layer == 0 ? "inputs" : fmt::format("layer {}, by {}", layer.layer, layer.way),
             format_count(layer.rows),
             layer.times(),
             layer.panels,
             format_bytes(layer.bytes_read),
             format_bytes(layer.bytes_written),
             layer.seconds);
}

void print_written(const PredictReport& report, const char* what, const TrainSession& session) {
  if (session.json()) {
    nlohmann::ordered_json json = {{"out", report.out},
                                   {"rows", report.rows},
                                   {"not_finite", report.not_finite},
                                   {"seconds", report.seconds}};
    if (!report.classes.empty()) json["classes"] = report.classes;
    for (const LayerFigures& layer : report.layers) json["layers"].push_back(layer_json(layer));
    if (report.of_device) json["of_device"] = *report.of_device;
    print_json(json);
  } else {
    for (const LayerFigures& layer : report.layers) print_layer(layer);
    fmt::print(
        "{}: {} {} in {:.2f} s\n", report.out, format_count(report.rows), what, report.seconds);
  }
}

void export_weights(const UseRequest& request, TrainSession& session) {
  (void)session.start();
  const WeightsReport report =
      export_run(request.directory, request.options.checkpoint, request.out);
  if (session.json()) {
    print_json({{"out", report.out},
                {"checkpoint", report.checkpoint},
                {"epoch", report.epoch},
                {"tensors", report.tensors},
                {"bytes", {{"written", report.bytes}}}});
  } else {
    fmt::print("{}: {} tensors, {}, of {} after epoch {}\n",
               report.out,
               report.tensors,
               format_bytes(report.bytes),
               report.checkpoint,
               report.epoch);
  }
}

}  // namespace

void add_evaluate(CLI::App& app, TrainSession& session, TrainAction& action) {
  CLI::App* command =
      app.add_subcommand("evaluate", "measure a run's best weights on a part of its split");
  auto request = std::make_shared<UseRequest>();
  add_common(*command, *request, session);
  session.add_trace(*command);
  command->add_flag_callback(
      "--exact",
      [request] { request->options.inference = Inference::kByLayer; },
      "by full neighbourhoods of all nodes, layer by layer, whatever eval.fanout says: faster than "
      "mini-batch by mini-batch where most nodes are asked about");
  command->footer(
      "Examples:\n"
      "  sluice-train evaluate runs/papers --part valid --json\n"
      "  sluice-train evaluate runs/papers --exact\n"
      "  sluice-train evaluate runs/uci-recency --set sampler.visibility=batch_lag");
  command->callback([request, &session, &action] {
    action.run = [request, &session] {
      print_report(
          evaluate_run(request->directory, request->sets, request->options, session.start()),
          session);
    };
  });
}

void add_predict(CLI::App& app, TrainSession& session, TrainAction& action) {
  CLI::App* command =
      app.add_subcommand("predict", "write a prediction for each node or link, under your own ids");
  auto request = std::make_shared<UseRequest>();
  add_common(*command, *request, session);
  command
      ->add_option(
          "--out",
          request->out,
          "the file to write: .csv, or .npy with records of id (of a link source and target) and "
          "values; where classes have names, a class_name beside each class, and types of links "
          "are "
          "their names")
      ->required()
      ->type_name("FILE");
  command
      ->add_option("--events",
                   request->options.events,
                   "of temporal links: a CSV of source,target,time to ask about in the place of "
                   "the part's, written in the order of time; with --top without target")
      ->type_name("FILE");
  static const std::map<std::string, LinkEnd> kEnds{{"source", LinkEnd::kSource},
                                                    {"destination", LinkEnd::kDestination}};
  command
      ->add_option("--top",
                   request->best.count,
                   "of links: not their probability, but so many nodes that would be best in the "
                   "place of an end, those of training links left out")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("K");
  CLI::Option* const end =
      command
          ->add_option(
              "--end", request->best.end, "which end --top is about: source or destination")
          ->transform(CLI::CheckedTransformer(kEnds).description(""))
          ->type_name("END")
          ->default_str("destination");
  command->footer(
      "Examples:\n"
      "  sluice-train predict runs/papers --part all --out predictions.csv\n"
      "  sluice-train predict runs/links --part test --out links.csv\n"
      "  sluice-train predict runs/wn18rr-complex --top 10 --out tails.csv");
  command->callback([request, end, &session, &action] {
    request->end_given = end->count() != 0;
    action.run = [request, &session] {
      print_written(run_prediction(*request, session), "predictions", session);
    };
  });
}

void add_embed(CLI::App& app, TrainSession& session, TrainAction& action) {
  CLI::App* command = app.add_subcommand(
      "embed", "write what a run makes of every node of a type, each behind its own id");
  auto request = std::make_shared<UseRequest>();
  add_stored(*command, *request);
  add_set(*command, request->sets);
  session.add_options(*command);
  command
      ->add_option("--type",
                   request->embed.type,
                   "the node type; may be left out where the run makes rows of one")
      ->type_name("NAME");
  command
      ->add_option("--layer",
                   request->embed.layer,
                   "rows after so many layers of the model, 0 for what the first one reads; left "
                   "out: what the task is given")
      ->check(CLI::Range(0, 64))
      ->type_name("N");
  command->add_flag_callback(
      "--learned",
      [request] { request->embed.rows = EmbeddedRows::kLearned; },
      "not what the model makes, but the rows that [embedding] learned, as they are");
  command
      ->add_option(
          "--out",
          request->out,
          "the file to write: .csv, .npy with records of id and e0, e1, ..., or .safetensors with "
          "the tensors rows and ids; rows between layers lie on the same disk meanwhile")
      ->required()
      ->type_name("FILE");
  command->footer(
      "Full neighbourhoods are gone through layer by layer within memory.host; the rows are the "
      "same, bit for bit, whatever the budget and the number of threads.\n\n"
      "Examples:\n"
      "  sluice-train embed runs/papers --out papers.npy\n"
      "  sluice-train embed runs/papers --layer 1 --out hidden.safetensors\n"
      "  sluice-train embed runs/wn18rr-complex --out entities.npy");
  command->callback([request, &session, &action] {
    action.run = [request, &session] {
      print_written(embed_run(request->directory,
                              request->sets,
                              request->options,
                              request->embed,
                              request->out,
                              session.start()),
                    "rows",
                    session);
    };
  });
}

void add_export(CLI::App& app, TrainSession& session, TrainAction& action) {
  CLI::App* command = app.add_subcommand(
      "export", "write a run's weights as safetensors, for PyTorch and other programs");
  auto request = std::make_shared<UseRequest>();
  add_stored(*command, *request);
  session.add_options(*command);
  command->add_option("--out", request->out, "the file to write, which ends in .safetensors")
      ->required()
      ->type_name("FILE");
  command->footer(
      "A run that ended has its best weights in DIR/weights.safetensors already.\n\n"
      "Example:\n  sluice-train export runs/papers --checkpoint last --out last.safetensors");
  command->callback([request, &session, &action] {
    action.run = [request, &session] { export_weights(*request, session); };
  });
}

}  // namespace sluice::cli

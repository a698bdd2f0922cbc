// Disk equals memory on a graph of several node types, by the command line: tables of other widths
// and dtypes, parallel relations, learned rows of a type without features, each in memory and on
// disk, with any number of data threads, and after a kill in the middle of an epoch.
//
// By default each place by itself and all together; SLUICE_FULL_MATRIX=1 runs every combination.
#include "cli/disk_equals_memory.h"
#include "cli/killed_run.h"
#include "cli/typed_sandbox.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

using namespace sluice::test;
using nlohmann::json;

namespace {

// Where a run of several types keeps what, and how it goes.
struct TypedPlaces {
  bool features_on_disk = false;
  bool edges_on_disk = false;
  bool rows_on_disk = false;
  int threads = 1;  // for data
  int window = 0;   // mini-batches; 0: as many as fit

  static const char* name(bool on_disk) { return on_disk ? "disk" : "memory"; }
  std::vector<std::string> sets() const {
    return {fmt::format("storage.features={}", name(features_on_disk)),
            fmt::format("storage.topology={}", name(edges_on_disk)),
            fmt::format("storage.embeddings={}", name(rows_on_disk)),
            fmt::format("train.data_threads={}", threads),
            fmt::format("storage.window={}", window)};
  }
  std::string text() const { return fmt::format("{}", fmt::join(sets(), ", ")); }
};

constexpr TypedPlaces kTypedOnDisk{true, true, true, 4, 0};

std::vector<TypedPlaces> typed_places_to_try() {
  if (!full_matrix())
    return {{true, false, false, 1, 1},
            {false, true, false, 2, 0},
            {false, false, true, 4, 4},
            {true, true, true, 1, 0},
            {true, true, true, 2, 2},
            kTypedOnDisk};
  std::vector<TypedPlaces> all;
  for (const int threads : {1, 2, 4}) {
    for (const int window : {0, 1, 4}) {
      for (int places = 0; places < 8; ++places)
        all.push_back({(places & 1) != 0, (places & 2) != 0, (places & 4) != 0, threads, window});
    }
  }
  return all;
}

// One model's run in memory, and what others are to be.
class TypedReference {
 public:
  TypedReference(const TypedSandbox& box, std::vector<std::string> sets)
      : box_(box), sets_(with_sets(std::move(sets), {"train.batch_size=20", "train.epochs=3"})) {
    const json report = box.report(with_sets(sets_, TypedPlaces().sets()));
    expected_ = results(report);
    lines_ = box.metrics();
    REQUIRE(expected_.at(2).at("test.accuracy").is_number());
  }

  std::vector<std::string> command(const TypedPlaces& places) const {
    return box_.command(with_sets(sets_, places.sets()));
  }

  void check(const TypedPlaces& places, const Outcome& outcome) const {
    REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
    const json report = json::parse(outcome.out);
    CHECK(results(report) == expected_);
    CHECK(box_.metrics() == lines_);
    const json& storage = report.at("storage");
    CHECK(storage.at("features") == TypedPlaces::name(places.features_on_disk));
    CHECK(storage.at("topology") == TypedPlaces::name(places.edges_on_disk));
    if (storage.contains("embeddings"))
      CHECK(storage.at("embeddings") == TypedPlaces::name(places.rows_on_disk));
    if (places.features_on_disk) CHECK(report.at("bytes").at("read") > 0);
  }

 private:
  const TypedSandbox& box_;
  std::vector<std::string> sets_;
  json expected_;
  std::string lines_;
};

}  // namespace

TEST_CASE("disk equals memory over types, tables, relations and learned rows") {
  const TypedSandbox box;
  const TypedReference reference(box, with_venue_rows({"model.type=rgcn"}));
  for (const TypedPlaces& places : typed_places_to_try()) {
    CAPTURE(places.text());
    reference.check(places, run(reference.command(places)));
  }
}

TEST_CASE("disk equals memory over types: killed in the middle of an epoch and resumed") {
  const TypedSandbox box;
  for (const char* execution : {"model.execution=plain", "model.execution=relation_first"}) {
    CAPTURE(execution);
    const TypedReference reference(box, with_venue_rows({"model.type=rgcn", execution}));
    run_killed(reference.command(kTypedOnDisk), box.dir(), [&](const Outcome& outcome) {
      reference.check(kTypedOnDisk, outcome);
    });
  }
}

TEST_CASE("disk equals memory over types: every model of them") {
  const TypedSandbox box;
  for (const std::vector<std::string>& model :
       {std::vector<std::string>{"model.type=graphsage", "model.execution=relation_first"},
        {"model.type=hgt"},
        {"model.type=simple_hgn", "model.input_width=16", "model.relation_width=8"},
        {"model.type=bg_hgnn", "model.code_width=32"},
        {"model.type=gat"}}) {
    CAPTURE(model.front());
    const TypedReference reference(box, with_venue_rows(model));
    reference.check(kTypedOnDisk, run(reference.command(kTypedOnDisk)));
  }
}

TEST_CASE("disk equals memory over types: many tables of one of them") {
  const TypedSandbox box;
  box.propagate({"metapaths", "--hops", "2"});
  box.propagate({"labels", "--hops", "2"});
  const TypedReference reference(box,
                                 {"model.type=sehgnn",
                                  "model.tables=[\"features\", \"metapaths-*\"]",
                                  "model.label_tables=[\"labels-*\"]"});
  for (const TypedPlaces& places : {TypedPlaces{true, false, false, 1, 1}, kTypedOnDisk}) {
    CAPTURE(places.text());
    reference.check(places, run(reference.command(places)));
  }
  run_killed(reference.command(kTypedOnDisk), box.dir(), [&](const Outcome& outcome) {
    reference.check(kTypedOnDisk, outcome);
  });
}

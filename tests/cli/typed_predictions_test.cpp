// The order in which a split's file names the nodes for test says nothing: predictions, class
// scores and figures of a graph of several types are the same bits in any.
#include "cli/typed_sandbox.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

using namespace sluice::test;
using nlohmann::json;

namespace {

// What stands behind each id in a file of rows.
std::map<std::string, std::string> rows_by_id(const std::filesystem::path& file) {
  std::istringstream in(read_all(file));
  std::map<std::string, std::string> rows;
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    const auto comma = line.find(',');
    REQUIRE(rows.emplace(line.substr(0, comma), line.substr(comma)).second);
  }
  return rows;
}

struct TypedAnswers {
  json results;
  std::map<std::string, std::string> classes, scores;  // of test papers, and of all, by id
};

TypedAnswers typed_answers(const TypedSandbox& box, const std::string& model) {
  TypedAnswers answers;
  answers.results = results(box.report({model}));
  const std::filesystem::path classes = box.folder() / "classes.csv",
                              scores = box.folder() / "scores.csv";
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"predict", box.dir(), "--part", "test", "--out", classes},
        {"embed", box.dir(), "--out", scores}}) {
    const Outcome outcome = train(command);
    REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  }
  answers.classes = rows_by_id(classes);
  answers.scores = rows_by_id(scores);
  return answers;
}

}  // namespace

TEST_CASE("test ids in another order: the same predictions, bit for bit") {
  const TypedSandbox ascending, drawn(TestOrder::kDrawn);
  REQUIRE(read_all(ascending.folder() / "test.csv") != read_all(drawn.folder() / "test.csv"));
  REQUIRE(read_all(ascending.folder() / "train.csv") == read_all(drawn.folder() / "train.csv"));
  for (const char* model : {"model.type=rgcn", "model.type=hgt"}) {
    CAPTURE(model);
    const TypedAnswers expected = typed_answers(ascending, model);
    const TypedAnswers got = typed_answers(drawn, model);
    CHECK(expected.classes.size() == TypedSandbox::kValid);
    CHECK(expected.scores.size() == TypedSandbox::kPapers);
    CHECK(got.results == expected.results);
    CHECK(got.classes == expected.classes);
    CHECK(got.scores == expected.scores);
  }
}

// Files that say what the numbers of entities and relations are called.
#include "prep/cases/case_folder.h"
#include "prep/check/inspect.h"
#include "prep/import_support.h"
#include "support/expect_error.h"

#include <doctest/doctest.h>
#include <sluice/dataset.h>

#include <tuple>

using namespace sluice;
using namespace sluice::test;

namespace {

const std::string kNamed =
    "[[nodes]]\ntype = 'entity'\nnames = { file = 'entities.txt' }\n"
    "[[edges]]\nfile = 'train.txt'\nformat = 'triples'\ntype_column = 'relation'\n"
    "source_column = 'head'\ntarget_column = 'tail'\n"
    "type_names = { file = 'relations.csv', column = 'title', number_column = 'number' }\n";
const std::string kSplit = "[[splits]]\nof = 'edges'\nvalid = 'valid.txt'\nformat = 'triples'\n";

struct NamedFolder : ImportFolder {
  NamedFolder() {
    write("entities.txt", "paris\nrome\nberlin\n");
    write("relations.csv", "number,title\n1,\"near, or so\"\n0,larger\n");
    write("train.txt", "0\t1\t2\n1\t0\t0\n0\t1\t1\n");
    write("valid.txt", "2\t0\t1\n");
  }
};

}  // namespace

TEST_CASE("names of numbers: nodes and classes of edges are called by them, in their order") {
  const NamedFolder folder;
  folder.run(kNamed + "types = 'labels'\n" + kSplit);
  const Dataset dataset = Dataset::open(folder.out().string());
  const ExternalIds ids = dataset.ids("entity");
  CHECK(ids.kind() == IdKind::kString);
  CHECK(ids.text(0) == "paris");
  CHECK(ids.text(2) == "berlin");
  const RelationSchema& relation = dataset.schema().relations.at(0);
  CHECK((relation.labels->names == std::vector<std::string>{"larger", "near, or so"}));
  const Array labels = dataset.edge_labels(relation.key());
  CHECK(labels.as<std::int32_t>()[0] == 1);
  CHECK(labels.as<std::int32_t>()[1] == 0);
  const Array valid = dataset.edge_split("default").valid;
  const auto row = valid.as<std::uint64_t>();
  CHECK(std::vector<std::uint64_t>(row.begin(), row.end()) ==
        std::vector<std::uint64_t>{0, 0, 2, 1, 1});

  MemoryLedger ledger(1 << 30);
  ThreadArena arena(2);
  const auto log = make_silent_logger();
  PrepContext context{ledger, arena, *log, ProgressStyle::kSilent};
  const std::string text = to_text(inspect_dataset(folder.out().string(), context));
  CHECK(text.find("one of 2 classes: 0 larger, 1 near, or so\n") != std::string::npos);
}

TEST_CASE("names of numbers: a relation for each type is called by its name, edges or none") {
  const NamedFolder folder;
  folder.write("relations.csv", "number,title\n0,larger\n2,unseen\n1,near\n");
  folder.run(kNamed + kSplit);
  const Dataset dataset = Dataset::open(folder.out().string());
  CHECK(dataset.schema().relation("entity__near__entity")->edges == 2);
  CHECK(dataset.schema().relation("entity__larger__entity")->edges == 1);
  CHECK(dataset.schema().relation("entity__unseen__entity")->edges == 0);
}

TEST_CASE("names of numbers: what does not fit is refused where it stands") {
  const std::string toml = kNamed + "types = 'labels'\n" + kSplit;
  const std::vector<std::tuple<std::string, std::string, std::string>> cases{
      {"entities.txt",
       "paris\nrome\n",
       "the id 2 is out of range: type 'entity' has 2 nodes by entities.txt"},
      {"entities.txt", "paris\nrome\nparis\n", "the name 'paris' stands here again"},
      {"entities.txt", "paris\nrome\nnew york\n", "entities.txt:3: 2 fields, but the first line"},
      {"entities.txt",
       "new york\nold rome\nbig berlin\n",
       "entities.txt:1: 2 words in a line, and nothing says which is the name"},
      {"entities.txt",
       "paris\n# sharp\n# flat\nrome\nberlin\n",
       "entities.txt:2: a comment among names, and each line's place is its number"},
      {"relations.csv", "number,title\n0,larger\n", "the type '1' has no name in relations.csv"},
      {"relations.csv", "number,title\n0,a\n0,b\n", "the number 0 stands here again"},
      {"relations.csv", "number,title\n0,a\n7,b\n", "the number 7 is beyond the 2 names"},
      {"relations.csv", "number,title\n0,a\n-1,b\n", "the number -1 is below the first, 0"},
      {"valid.txt", "2\t5\t1\n", "the type '5' has no name in relations.csv"}};
  for (const auto& [file, text, said] : cases) {
    CAPTURE(file);
    CAPTURE(text);
    const NamedFolder folder;
    folder.write(file, text);
    const Error error = expect_error([&] { folder.run(toml); });
    CHECK(error.code() == ErrorCode::kData);
    CHECK_MESSAGE(std::string(error.what()).find(said) != std::string::npos, error.what());
    CHECK(folder.leftovers().empty());
  }
}

TEST_CASE("names of numbers: comments above them are said, and none where they are names") {
  CaseFolder folder;
  folder.write("relations.csv", "number,title\n1,near\n0,larger\n");
  folder.write("train.txt", "0\t1\t2\n1\t0\t0\n");
  folder.write("valid.txt", "2\t0\t1\n");
  folder.write("entities.txt", "# cities\nparis\nrome\nberlin\n");
  const std::string toml = kNamed + "types = 'labels'\n" + kSplit;
  const auto above = folder.by_toml(toml);
  CHECK_MESSAGE(above.says("entities.txt:1: the line is passed over as a comment: the number 0 is "
                           "the name in line 2"),
                above.said);
  CHECK(above.dataset.ids("entity").text(0) == "paris");
  folder.write("entities.txt", "paris\n#sharp\nberlin\n");
  const auto sharp = folder.by_toml(toml + "[list]\ncomment = ''\n");
  CHECK_FALSE(sharp.says("passed over"));
  CHECK(sharp.dataset.ids("entity").text(1) == "#sharp");
}

TEST_CASE("names of numbers: keys that do not go together are refused") {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"[[nodes]]\nids = 'string'\nnames = { file = 'entities.txt' }\n", "names are of dense ids"},
      {"[[nodes]]\nunknown_ids = 'create'\nnames = { file = 'entities.txt' }\n", "has no name"},
      {"[[nodes]]\nnames = { column = 'x' }\n", "names has no file"}};
  const NamedFolder folder;
  for (const auto& [toml, said] : cases) {
    CAPTURE(toml);
    const Error error = expect_error([&] { folder.run(toml + "[[edges]]\nfile = 'train.txt'\n"); });
    CHECK(error.code() == ErrorCode::kUsage);
    CHECK_MESSAGE(std::string(error.what()).find(said) != std::string::npos, error.what());
  }
  const Error error = expect_error([&] {
    folder.run("[[edges]]\nfile = 'train.txt'\ntype_names = { file = 'relations.csv' }\n");
  });
  CHECK(std::string(error.what()).find("type_names without a type_column") != std::string::npos);
}

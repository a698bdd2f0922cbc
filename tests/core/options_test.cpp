#include "support/expect_error.h"
#include "support/temp_dir.h"

#include <doctest/doctest.h>
#include <sluice/catalog.h>
#include <sluice/options.h>

#include <fstream>

using namespace sluice;
using sluice::test::expect_error;
using sluice::test::TempDir;

namespace {

enum class Plan { kAuto, kSweep };

struct Animal {
  virtual ~Animal() = default;
  virtual std::string sound() const = 0;
};
struct Dog : Animal {
  struct Options {
    std::int64_t barks = 2;
    void describe(Schema& s) { s.field("barks", barks).help("how often").range(1, 10); }
  };
  explicit Dog(const Options& o) : options(o) {}
  std::string sound() const override { return "woof x" + std::to_string(options.barks); }
  Options options;
};
struct Cat : Animal {
  struct Options {
    void describe(Schema&) {}
  };
  explicit Cat(const Options&) {}
  std::string sound() const override { return "miaow"; }
};

Catalog<Animal> animals() {
  Catalog<Animal> catalog("animal");
  catalog.add<Dog>("dog", "a dog");
  catalog.add<Cat>("cat", "a cat");
  return catalog;
}

struct Node {
  std::string type = "node";
  std::int64_t count = 0;
  void describe(Schema& s) {
    s.field("type", type).required();
    s.field("count", count).at_least(0);
  }
};

struct Storage {
  ByteSize host{2 * kGiB};
  Plan plan = Plan::kAuto;
  Duration timeout = std::chrono::seconds(30);
  void describe(Schema& s) {
    s.field("host", host).help("budget for host memory").at_least(1 << 20);
    s.choice<Plan>(
        "plan", plan, {{"auto", Plan::kAuto, "decide by cost"}, {"sweep", Plan::kSweep, ""}});
    s.field("timeout", timeout);
  }
};

struct Options {
  std::int64_t epochs = 10;
  double rate = 0.5;
  bool shuffle = true;
  std::string name = "x";
  std::vector<std::int64_t> fanout{15, 10};
  Storage storage;
  std::vector<Node> nodes;
  Catalog<Animal> catalog = animals();
  Selection animal{"dog", nullptr};

  void describe(Schema& s) {
    s.field("epochs", epochs).help("passes over the data").range(1, 1000);
    s.field("rate", rate).unit("per step");
    s.field("shuffle", shuffle);
    s.field("name", name);
    s.field("fanout", fanout).at_least(-1);
    s.section("storage", storage, "where things sit");
    s.list("nodes", nodes, "node types");
    s.selection("animal", animal, catalog);
  }
};

Options bind(const std::string& text, const std::vector<std::string>& sets = {}) {
  Options options;
  Config config = Config::parse(text, "run.toml");
  for (const std::string& set : sets) config.set(set);
  config.bind_to(options);
  return options;
}

}  // namespace

TEST_CASE("values reach their members") {
  const Options options = bind(R"(
epochs = 3
rate = 1
fanout = [5, -1]
animal = { type = "dog", barks = 4 }
[storage]
host = "512MiB"
plan = "sweep"
timeout = "2min"
[[nodes]]
type = "paper"
[[nodes]]
type = "author"
count = 7
)");
  CHECK(options.epochs == 3);
  CHECK(options.rate == 1.0);
  CHECK(options.fanout == std::vector<std::int64_t>{5, -1});
  CHECK(options.storage.host.bytes == 512 * kMiB);
  CHECK(options.storage.plan == Plan::kSweep);
  CHECK(options.storage.timeout == std::chrono::minutes(2));
  REQUIRE(options.nodes.size() == 2);
  CHECK(options.nodes[1].count == 7);
  CHECK(options.catalog.create(options.animal)->sound() == "woof x4");
}

TEST_CASE("--set overrides the file, with TOML values and bare words") {
  const Options options = bind(
      "epochs = 3", {"epochs=5", "storage.plan=sweep", "name=a-b", "fanout=[1,2]", "animal=cat"});
  CHECK(options.epochs == 5);
  CHECK(options.storage.plan == Plan::kSweep);
  CHECK(options.name == "a-b");
  CHECK(options.fanout == std::vector<std::int64_t>{1, 2});
  CHECK(options.animal.type == "cat");
}

TEST_CASE("one problem is told with line, column, snippet and hint") {
  struct Row {
    const char* text;
    const char* what;
    const char* hint;
  };
  const Row rows[] = {
      {"epoch = 3",
       "run.toml:1:1: unknown key 'epoch'\n    1 | epoch = 3\n      | ^",
       "did you mean 'epochs'?"},
      {"\n[storage]\n hots = 1",
       "run.toml:3:2: unknown key 'storage.hots'\n    3 |  hots = 1\n      |  ^",
       "did you mean 'host'?"},
      {"timeout = \"2min\"",
       "run.toml:1:1: unknown key 'timeout'\n    1 | timeout = \"2min\"\n      | ^",
       "did you mean 'storage.timeout'?"},
      {"epochs = \"3\"",
       "run.toml:1:10: 'epochs': expected integer, found the text \"3\"\n    1 | epochs = \"3\"\n  "
       "    |          ^",
       ""},
      {"epochs = 0",
       "run.toml:1:10: 'epochs': 0 is outside 1 to 1000\n    1 | epochs = 0\n      |          ^",
       ""},
      {"fanout = [1, -2]",
       "run.toml:1:10: 'fanout': element 2: -2 is below the least allowed, -1\n    1 | fanout = "
       "[1, -2]\n      |          ^",
       ""},
      {"storage = 5",
       "run.toml:1:11: 'storage': expected a table, found the integer 5\n    1 | storage = 5\n     "
       " |           ^",
       ""},
      {"[storage]\nplan = \"swep\"",
       "run.toml:2:8: 'storage.plan': \"swep\" is not one of \"auto\", \"sweep\"; did you mean "
       "\"sweep\"?\n    2 | plan = "
       "\"swep\"\n      |        ^",
       ""},
      {"[[nodes]]\ncount = 1",
       "run.toml:1:1: 'nodes.type' is required: text\n    1 | [[nodes]]\n      | ^",
       ""},
      {"animal = { type = \"dgo\" }",
       "run.toml:1:19: 'animal.type': there is no \"dgo\"\n    1 | animal = { type = \"dgo\" }\n   "
       "   |                   ^",
       "did you mean 'dog'? known: dog, cat"},
      {"animal = { type = \"cat\", barks = 1 }",
       "run.toml:1:26: unknown key 'animal.barks'\n    1 | animal = { type = \"cat\", barks = 1 "
       "}\n      |                          ^",
       "it is a key of type dog, and the type here is \"cat\": leave it out; known keys: type"},
      {"animal = { type = \"cat\", purrs = 1 }",
       "run.toml:1:26: unknown key 'animal.purrs'\n    1 | animal = { type = \"cat\", purrs = 1 "
       "}\n      |                          ^",
       "known keys: type"},
      {"name = 2024",
       "run.toml:1:8: 'name': expected text, found the integer 2024\n    1 | name = 2024\n      |  "
       "  "
       "    ^",
       "put it in quotes"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const Error error = expect_error([&] { bind(row.text); });
    CHECK(error.code() == ErrorCode::kUsage);
    CHECK(std::string(error.what()) == row.what);
    CHECK(error.hint() == row.hint);
  }
}

TEST_CASE("what --set has wrong is said to be from there, also in a table of its own") {
  const Error unknown = expect_error([] { bind("epochs = 1", {"storge.plan=auto"}); });
  CHECK(std::string(unknown.what()) == "run.toml: unknown key 'storge' (from --set)");
  CHECK(unknown.hint() == "did you mean 'storage'?");
  const Error deep = expect_error([] { bind("", {"storge.a.b=auto"}); });
  CHECK(std::string(deep.what()) == "run.toml: unknown key 'storge' (from --set)");
  const Error number = expect_error([] { bind("epochs = 1", {"name=2024-11-28"}); });
  CHECK(std::string(number.what()) ==
        "run.toml: 'name': expected text, found a date or time (from --set)");
  CHECK(number.hint() == "put it in quotes: --set 'name=\"...\"'");
  CHECK(bind("", {"name=\"2024-11-28\""}).name == "2024-11-28");
}

TEST_CASE("an empty file is a config without keys, and a folder is none") {
  const TempDir dir;
  const std::string empty = (dir.path() / "empty.toml").string();
  std::ofstream(empty).close();
  CHECK(Config::load(empty).file() == empty);
  const Error folder = expect_error([&] { (void)Config::load(dir.path().string()); });
  CHECK(folder.code() == ErrorCode::kUsage);
  CHECK(folder.hint() == "is it a regular file?");
}

TEST_CASE("all problems are told at once, in the order of the file") {
  const Error error = expect_error(
      [] { bind("epoch = 3\nrate = \"x\"\n[storage]\nhost = \"2 parsecs\"\n", {"shuffle=7"}); });
  const std::string text = error.what();
  CHECK(text.find("run.toml: 4 problems") == 0);
  const auto unknown = text.find("run.toml:1:1: unknown key 'epoch'; did you mean 'epochs'?");
  const auto type = text.find("run.toml:2:8: 'rate': expected number, found the text \"x\"");
  const auto size = text.find("run.toml:4:8: 'storage.host': '2 parsecs' is not a size");
  const auto set = text.find("'shuffle': expected true or false, found the integer 7 (from --set)");
  REQUIRE(unknown != std::string::npos);
  REQUIRE(type != std::string::npos);
  REQUIRE(size != std::string::npos);
  REQUIRE(set != std::string::npos);
  CHECK(unknown < type);
  CHECK(type < size);
}

TEST_CASE("broken TOML, a missing file and a bad --set are usage errors") {
  const Error broken = expect_error([] { bind("epochs = = 3"); });
  CHECK(broken.code() == ErrorCode::kUsage);
  CHECK(std::string(broken.what()).find("run.toml:1:10: not valid TOML") == 0);
  for (const char* text : {"epochs = 1979-05-27T(7:32", "\u00e9pochs = 3", "epochs = \u00e9"}) {
    const Error odd = expect_error([&] { bind(text); });
    CHECK(std::string(odd.what()).find("not valid TOML") != std::string::npos);
  }
  const Error missing = expect_error([] { (void)Config::load("/nonexistent/run.toml"); });
  CHECK(std::string(missing.what()) ==
        "/nonexistent/run.toml: cannot read the configuration: No such file or directory");
  CHECK(std::string(expect_error([] { bind("", {"epochs"}); }).what()) ==
        "--set 'epochs' is not KEY=VALUE");
  CHECK(std::string(expect_error([] { bind("epochs = 1", {"epochs.x=1"}); }).what()) ==
        "--set epochs.x: 'epochs' is not a table");
}

TEST_CASE("the dump binds back to the same dump") {
  Options options =
      bind("rate = 0.1\nname = \"a\\\"b\"\n[storage]\nhost = \"3MiB\"\n[[nodes]]\ntype = \"p\"\n",
           {"animal=cat"});
  Schema schema;
  options.describe(schema);
  const std::string dump = schema.dump();
  Options again = bind(dump);
  Schema schema_again;
  again.describe(schema_again);
  CHECK(schema_again.dump() == dump);
  CHECK(again.name == "a\"b");
  CHECK(again.rate == 0.1);
}

TEST_CASE("the reference names every key with type, default, unit, range and help") {
  Options options;
  Schema schema;
  options.describe(schema);
  const std::string text = schema.reference();
  for (const char* part : {"epochs = 10   # integer, 1 to 1000\n    passes over the data",
                           "rate = 0.5   # number, per step",
                           "[storage]   # where things sit",
                           "host = \"2GiB\"   # size such as \"2GiB\", at least",
                           "plan = \"auto\"   # one of \"auto\", \"sweep\"",
                           "auto: decide by cost",
                           "[[nodes]]",
                           "type = ...   # text, required",
                           "dog: a dog",
                           "barks = 2   # integer, 1 to 10"}) {
    CAPTURE(part);
    CHECK(text.find(part) != std::string::npos);
  }
}

TEST_CASE("nearest word") {
  const std::vector<std::string> known{"epochs", "batch_size", "features", "lr"};
  CHECK(nearest_word("epoch", known) == "epochs");
  CHECK(nearest_word("batchsize", known) == "batch_size");
  CHECK(nearest_word("faetures", known) == "features");
  CHECK_FALSE(nearest_word("zzz", known).has_value());
  const Error error = unknown_name("model", "gnc", {"gcn", "gat"});
  CHECK(std::string(error.what()) == "there is no model 'gnc'");
  CHECK(error.hint() == "did you mean 'gcn'? known: gcn, gat");
}

TEST_CASE("a name is of one entry") {
  Catalog<Animal> catalog = animals();
  const std::string taken = catalog.list().front().name;
  try {
    catalog.add<Cat>(taken, "another");
    FAIL("nothing was refused");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::kUsage);
    CHECK(error.message() == "animal '" + taken + "' is there already");
  }
  CHECK(catalog.list().size() == animals().list().size());
}

// Tasks of links from files to predictions: sluice-prep import, sluice-train run, evaluate,
// predict.
#include "cli/cora_dataset.h"
#include "cli/train_support.h"

#include <sluice/random.h>

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <fstream>
#include <map>
#include <set>

using namespace sluice;
using namespace sluice::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

using Lines = std::vector<std::string>;

Lines lines_of(const fs::path& file) {
  std::ifstream in(file);
  Lines lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

Lines words_of(const std::string& line) {
  std::istringstream in(line);
  Lines words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

fs::path import_links(const TempDir& dir, const std::string& toml, const fs::path& root) {
  const fs::path config = dir.write("graph.toml", toml);
  const Outcome made = run({tool("sluice-prep"),
                            "import",
                            "--config",
                            config,
                            "--root",
                            root,
                            "--overwrite",
                            "--out",
                            dir / "data"});
  REQUIRE_MESSAGE(made.code == 0, made.err);
  return dir / "data";
}

/// A config over `dir`/data, in `dir`/run.
std::string config_of(const TempDir& dir, const std::string& task, const std::string& train) {
  return "dataset.path = \"" + (dir / "data").string() + "\"\nrun.dir = \"" +
         (dir / "run").string() + "\"\nmemory.host = \"256MiB\"\n[task]\n" + task +
         "\n[train]\ncompute_threads = 1\n" + train;
}

/// Trains; `more` are --set assignments.
json run_links(const TempDir& dir, const std::string& config, const Lines& more = {}) {
  Lines arguments{"run", dir.write("links.toml", config), "--json", "--overwrite"};
  for (const std::string& assignment : more)
    arguments.insert(arguments.end(), {"--set", assignment});
  const Outcome outcome = train(arguments);
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  return json::parse(outcome.out);
}

Lines predicted(const TempDir& dir, const std::string& part) {
  const fs::path out = dir / (part + ".csv");
  const Outcome outcome = train({"predict", dir / "run", "--part", part, "--out", out});
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  return lines_of(out);
}

/// The ends in the rows of predictions, and in a text of triples or of types and ends.
std::multiset<std::string> predicted_ends(const Lines& rows) {
  std::multiset<std::string> ends;
  for (std::size_t i = 1; i < rows.size(); ++i)
    ends.insert(rows[i].substr(0, rows[i].find(',', rows[i].find(',') + 1)));
  return ends;
}

std::multiset<std::string> listed_ends(const fs::path& file, std::size_t source) {
  std::multiset<std::string> ends;
  for (const std::string& line : lines_of(file)) {
    const Lines words = words_of(line);
    ends.insert(words.at(source) + "," + words.at(source == 0 ? 2 : source + 1));
  }
  return ends;
}

/// Features by a random draw, one row for each id.
void write_nodes(const fs::path& file, const std::set<std::string>& ids, int columns) {
  std::ofstream out(file);
  out << "id";
  for (int c = 0; c < columns; ++c) out << ",x" << c;
  std::uint64_t row = 0;
  for (const std::string& id : ids) {
    const RandomKey key = RandomKey(7).with(row++);
    out << "\n" << id;
    for (int c = 0; c < columns; ++c)
      out << "," << fmt::format("{:.3f}", 2 * key.uniform(static_cast<std::uint64_t>(c)) - 1);
  }
  out << "\n";
}

std::set<std::string> ids_in(const fs::path& folder, std::size_t source) {
  std::set<std::string> ids;
  for (const char* part : {"train.txt", "valid.txt", "test.txt"})
    for (const std::string& line : lines_of(folder / part)) {
      const Lines words = words_of(line);
      ids.insert({words.at(source), words.at(source == 0 ? 2 : source + 1)});
    }
  return ids;
}

/// A folder of real data; empty, with a message, where it is not there.
fs::path real_data(const std::string& name) {
  const char* data = std::getenv("SLUICE_DATA");
  fs::path folder = (data == nullptr ? source_folder() / "../shared/data" : fs::path(data)) / name;
  if (fs::exists(folder)) return folder;
  MESSAGE("skipped: there is no " << folder);
  return {};
}

// Nodes of three classes that their features tell; an edge's type says those of its ends.
void write_known_answer(const TempDir& dir) {
  constexpr std::uint64_t kNodes = 600, kEdges = 6000;
  const RandomKey key(11);
  std::string nodes = "id,a,b,c\n", edges = "src,dst,kind\n";
  std::vector<std::uint64_t> classes;
  for (std::uint64_t n = 0; n < kNodes; ++n) {
    classes.push_back(key.below(3, n));
    nodes += fmt::format("n{}", n);
    for (std::uint64_t c = 0; c < 3; ++c)
      nodes += fmt::format(
          ",{:.3f}",
          (c == classes[n] ? 1 : 0) + 0.3 * (key.with("noise").uniform(3 * n + c) - 0.5));
    nodes += "\n";
  }
  for (std::uint64_t e = 0; e < kEdges; ++e) {
    const std::uint64_t from = key.with("from").below(kNodes, e);
    const std::uint64_t to = key.with("to").below(kNodes, e);
    edges += fmt::format("n{},n{},{}-to-{}\n", from, to, classes[from], classes[to]);
  }
  dir.write("nodes.csv", nodes);
  dir.write("edges.csv", edges);
}

constexpr const char* kKnownAnswer =
    "[[nodes]]\nids = \"string\"\nid_list = { file = \"nodes.csv\", column = \"id\" }\n"
    "features = { file = \"nodes.csv\", columns = [\"a\", \"b\", \"c\"] }\n"
    "[[edges]]\nfile = \"edges.csv\"\ntype_column = \"kind\"\ntypes = \"labels\"\n"
    "[[splits]]\nof = \"edges\"\nratio = [0.7, 0.1, 0.2]\n";

}  // namespace

TEST_CASE("edge classification learns types that follow from the ends' classes") {
  const TempDir dir;
  write_known_answer(dir);
  import_links(dir, kKnownAnswer, dir.path());
  const std::string config = config_of(dir,
                                       "type = \"edge_classification\"\nwidth = 16",
                                       "epochs = 12\nbatch_size = 128\noptimizer.lr = 0.01\n");
  const std::map<std::string, std::string> kinds = [&] {
    std::map<std::string, std::string> by_ends;
    for (const std::string& line : lines_of(dir / "edges.csv"))
      by_ends[line.substr(0, line.rfind(','))] = line.substr(line.rfind(',') + 1);
    return by_ends;
  }();
  // The dataset's split by ids, and one that the task draws; from disk alike.
  const json listed = run_links(dir, config);
  CHECK(listed.at("metrics").at("test.accuracy") > 0.9);
  CHECK(listed.at("metrics").at("test.f1_macro") > 0.9);
  const Lines rows = predicted(dir, "test");
  CHECK(rows[0] == "source,target,class,class_name");
  CHECK(rows.size() > 1000);
  std::size_t right = 0;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const std::string ends = rows[i].substr(0, rows[i].find(',', rows[i].find(',') + 1));
    right += rows[i].substr(rows[i].rfind(',') + 1) == kinds.at(ends) ? 1u : 0u;
  }
  const double share = static_cast<double>(right) / static_cast<double>(rows.size() - 1);
  CHECK(share == doctest::Approx(listed.at("metrics").at("test.accuracy").get<double>()));
  const json disk = run_links(dir, config, {"storage.features=disk", "storage.topology=disk"});
  CHECK(results(disk) == results(listed));
  const json drawn = run_links(dir, config, {"task.edge_split=[0.7, 0.1, 0.2]"});
  CHECK(drawn.at("metrics").at("test.accuracy") > 0.9);
}

TEST_CASE("edge classification: bonds of PTC_MR's molecules, from their atoms") {
  const fs::path folder = real_data("tu_ptc_mr");
  if (folder.empty()) return;
  const TempDir dir;
  constexpr int kElements = 18;
  std::string atoms;  // a column for each element
  for (const std::string& atom : lines_of(folder / "PTC_MR/PTC_MR_node_labels.txt")) {
    for (int c = 0; c < kElements; ++c)
      atoms += fmt::format("{}{}", c == 0 ? "" : ",", c == std::stoi(atom) ? 1 : 0);
    atoms += "\n";
  }
  dir.write("atoms.csv", atoms);
  for (const char* name : {"A", "edge_labels"})
    fs::copy(folder / fmt::format("PTC_MR/PTC_MR_{}.txt", name), dir / fmt::format("{}.csv", name));
  import_links(dir,
               "[[nodes]]\ntype = \"atom\"\nfirst_id = 1\nfeatures.file = \"atoms.csv\"\n"
               "[[edges]]\nrelation = \"bond\"\nfile = \"A.csv\"\n"
               "labels.file = \"edge_labels.csv\"\n[csv]\nheader = \"no\"\n",
               dir.path());
  const json report =
      run_links(dir,
                config_of(dir,
                          "type = \"edge_classification\"\nedge_split = [0.7, 0.1, 0.2]",
                          "epochs = 6\nbatch_size = 256\noptimizer.lr = 0.005\n"));
  // Over half of the bonds are single.
  CHECK(report.at("metrics").at("test.accuracy") > 0.62);
}

TEST_CASE("edge classification: types of WN18RR's triples, by its own files") {
  const fs::path folder = real_data("wn18rr");
  if (folder.empty()) return;
  const TempDir dir;
  write_nodes(dir / "nodes.csv", ids_in(folder, 0), 8);
  for (const char* name : {"train.txt", "valid.txt", "test.txt"})
    fs::copy(folder / name, dir / name);
  import_links(dir,
               "[[nodes]]\ntype = \"entity\"\nids = \"string\"\n"
               "id_list = { file = \"nodes.csv\", column = \"id\" }\n"
               "features = { file = \"nodes.csv\", id_column = \"id\" }\n"
               "[[edges]]\nfile = \"train.txt\"\nformat = \"triples\"\n"
               "type_column = \"relation\"\ntypes = \"labels\"\n"
               "source_column = \"head\"\ntarget_column = \"tail\"\n"
               "[[splits]]\nof = \"edges\"\nvalid = \"valid.txt\"\ntest = \"test.txt\"\n"
               "format = \"triples\"\n",
               dir.path());
  const json report = run_links(dir,
                                "sampler.fanout = [4, 4]\neval.fanout = [4, 4]\n" +
                                    config_of(dir,
                                              "type = \"edge_classification\"\nwidth = 16",
                                              "epochs = 2\nbatch_size = 1024\n"));
  // 40 of 100 are of the most frequent type.
  CHECK(report.at("metrics").at("test.accuracy") > 0.4);
  for (const char* part : {"valid", "test"}) {
    const Lines rows = predicted(dir, part);
    CHECK(predicted_ends(rows) == listed_ends(folder / fmt::format("{}.txt", part), 0));
    CHECK(rows[1].find(",_") != std::string::npos);
  }
}

TEST_CASE("link prediction: Amazon's own files, with examples of no link") {
  const fs::path folder = real_data("amazon");
  if (folder.empty()) return;
  const TempDir dir;
  write_nodes(dir / "nodes.csv", ids_in(folder, 1), 16);
  for (const char* name : {"train.txt", "valid.txt", "test.txt"})
    fs::copy(folder / name, dir / name);
  import_links(dir,
               "[[nodes]]\ntype = \"product\"\nids = \"integer\"\n"
               "id_list = { file = \"nodes.csv\", column = \"id\" }\n"
               "features = { file = \"nodes.csv\", id_column = \"id\" }\n"
               "[[edges]]\nrelation = \"with\"\nfile = \"train.txt\"\nformat = \"multiplex\"\n"
               "type_column = \"type\"\ntypes = \"labels\"\nsource_column = \"source\"\n"
               "target_column = \"target\"\nundirected = true\n"
               "[[splits]]\nof = \"edges\"\nvalid = \"valid.txt\"\ntest = \"test.txt\"\n"
               "format = \"multiplex\"\nlabel_column = \"label\"\n",
               dir.path());
  const json report =
      run_links(dir,
                "sampler.fanout = [5, 5]\neval.fanout = [10, 10]\nmodel.dropout = 0.1\n" +
                    config_of(dir,
                              "type = \"link_prediction\"\nwidth = 32",
                              "epochs = 1\nbatch_size = 1024\noptimizer.lr = 0.01\n"));
  CHECK(report.at("metrics").at("test.auc") > 0.65);
  CHECK(report.at("metrics").at("test.mrr").is_null());  // its examples of no link are no ranking
  CHECK(predicted_ends(predicted(dir, "test")) == listed_ends(folder / "test.txt", 1));
}

TEST_CASE("links: a run that is killed goes on to the same bits") {
  const TempDir dir;
  generate_dataset(dir / "data");
  const std::string config = "sampler.fanout = [5, 5]\nstorage.features = \"disk\"\n" +
                             config_of(dir,
                                       "type = \"link_prediction\"\n"
                                       "edge_split = [0.85, 0.05, 0.1]\nwidth = 8",
                                       "epochs = 3\nbatch_size = 256\ncheckpoint_minutes = 1e-9\n");
  const json whole = run_links(dir, config);
  const std::string metrics = metric_lines(dir / "run");
  int in_the_middle = 0;
  for (int attempt = 0; attempt < 10 && in_the_middle < 2; ++attempt) {
    CAPTURE(attempt);
    fs::remove_all(dir / "run");
    Process process({tool("sluice-train"), "run", dir / "links.toml", "--json"});
    wait_for_metric_lines(dir / "run", 1 + attempt % 2);
    process.signal(SIGKILL);
    if (process.finish().code != -SIGKILL) continue;  // it was quicker
    const Outcome resumed = train({"resume", dir / "run", "--json"});
    REQUIRE_MESSAGE(resumed.code == 0, resumed.err);
    CHECK(results(json::parse(resumed.out)) == results(whole));
    CHECK(metric_lines(dir / "run") == metrics);
    in_the_middle += resumed_after(resumed.err) > 0 ? 1 : 0;
  }
  CHECK(in_the_middle > 0);
}

TEST_CASE("config init --task link_prediction writes a config that runs as it stands") {
  const TempDir dir;
  generate_dataset(dir / "data");
  for (const bool listed : {false, true}) {
    CAPTURE(listed);
    std::string task = "link_prediction";
    if (listed) {
      write_known_answer(dir);
      import_links(dir, kKnownAnswer, dir.path());
      task = "edge_classification";
    }
    const Outcome init = train({"config", "init", dir / "data", "--task", task});
    REQUIRE_MESSAGE(init.code == 0, init.err);
    CHECK(init.out.find("type = \"" + task + "\"\n") != std::string::npos);
    // The dataset's own split where it has one.
    CHECK((init.out.find("edge_split = [0.85, 0.05, 0.1]\n") == std::string::npos) == listed);
    const Outcome outcome = train({"run",
                                   dir.write("made.toml", init.out),
                                   "--quiet",
                                   "--set",
                                   "train.epochs=1",
                                   "--set",
                                   "memory.host=256MiB",
                                   "--set",
                                   "run.dir=" + (dir / task).string()});
    CHECK_MESSAGE(outcome.code == 0, outcome.err);
    CHECK(outcome.out.find(listed ? "test.accuracy" : "test.auc") != std::string::npos);
    // Links that are hidden from the mini-batch that asks about them, of one task alone.
    const fs::path run = dir / task;
    const auto warned = [](const Outcome& said) {
      REQUIRE_MESSAGE(said.code == 0, said.err);
      return said.err.find("depends on eval.batch_size") != std::string::npos;
    };
    const std::string out = dir / "links.csv";
    CHECK(warned(train({"evaluate", run, "--part", "train"})) != listed);
    CHECK(warned(train({"predict", run, "--part", "train", "--out", out})) != listed);
    CHECK_FALSE(warned(train({"evaluate", run, "--part", "train", "--exact"})));
    CHECK_FALSE(warned(train({"evaluate", run, "--part", "test"})));
  }
  const Outcome unknown = train({"config", "init", dir / "data", "--task", "link_predictoin"});
  CHECK(unknown.code == 2);
  CHECK(unknown.err.find("did you mean 'link_prediction'?") != std::string::npos);
  const Outcome none = train({"config", "init", dir / "data"});
  CHECK(none.code == 2);
  CHECK(none.err.find("--task link_prediction") != std::string::npos);
}

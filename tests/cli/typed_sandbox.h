// A folder with a small graph of several node types and relations, as a user would write it down,
// and a config over it, for tests of sluice-train.
#pragma once

#include "cli/train_support.h"
#include "support/npy_file.h"

#include <sluice/random.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace sluice::test {

/// How the files of a TypedSandbox name the nodes for test.
enum class TestOrder { kAscending, kDrawn };

/// Papers of four classes, authors (stored as f16) and venues, of which nothing is known. Classes
/// run through all types, and features tell them. Authors write papers of their class, and review
/// those of the next; `written-by` is `writes` the other way round.
class TypedSandbox {
 public:
  static constexpr std::uint64_t kPapers = 600, kAuthors = 400, kVenues = 200, kClasses = 4;
  static constexpr std::uint64_t kPaperColumns = 24, kAuthorColumns = 7;
  static constexpr std::uint64_t kTrain = 240, kValid = 60;  ///< of papers; as many for test

  explicit TypedSandbox(TestOrder order = TestOrder::kAscending) {
    write_nodes("paper", kPapers, kPaperColumns);
    write_nodes("author", kAuthors, kAuthorColumns);
    write_edges("cites", 2400, kPapers, kPapers, 0);
    write_edges("writes", 2000, kAuthors, kPapers, 0);
    write_edges("reviews", 1500, kAuthors, kPapers, 1);
    write_edges("hosts", 900, kVenues, kPapers, 0);
    write_split(order);
    temp_.write("graph.toml", kGraph);
    prepare({"import", "--config", (temp_ / "graph.toml").string(), "--out", dataset().string()});
    temp_.write("typed.toml",
                fmt::format("dataset.path = \"{}\"\nrun.dir = \"{}\"\nmemory.host = \"128MiB\"\n"
                            "model = {{ type = \"rgcn\", hidden = 16 }}\nsampler.fanout = [4, 4]\n"
                            "eval = {{ fanout = [4, 4], batch_size = 64 }}\n"
                            "[train]\nepochs = 2\nbatch_size = 32\ncompute_threads = 1\n",
                            dataset().string(),
                            dir().string()));
  }

  std::filesystem::path folder() const { return temp_.path(); }
  std::filesystem::path dataset() const { return temp_ / "data"; }
  std::filesystem::path dir() const { return temp_ / "run"; }

  /// Runs sluice-prep; throws where it fails.
  void prepare(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), tool("sluice-prep"));
    const Outcome outcome = sluice::test::run(arguments);
    if (outcome.code != 0) throw std::runtime_error("sluice-prep failed: " + outcome.err);
  }

  /// Tables of papers. @param words a method, and what it is told
  void propagate(const std::vector<std::string>& words) const {
    std::vector<std::string> all{"propagate", dataset().string(), "--type", "paper", "--method"};
    all.insert(all.end(), words.begin(), words.end());
    prepare(all);
  }

  /// @param sets assignments of --set
  std::vector<std::string> command(const std::vector<std::string>& sets) const {
    std::vector<std::string> all{
        tool("sluice-train"), "run", (temp_ / "typed.toml").string(), "--json", "--overwrite"};
    for (const std::string& set : sets) all.insert(all.end(), {"--set", set});
    return all;
  }
  /// Trains; throws where that fails.
  nlohmann::json report(const std::vector<std::string>& sets) const {
    const Outcome outcome = sluice::test::run(command(sets));
    if (outcome.code != 0) throw std::runtime_error("sluice-train failed: " + outcome.err);
    return nlohmann::json::parse(outcome.out);
  }
  std::string metrics() const { return metric_lines(dir()); }

 private:
  static constexpr const char* kGraph =
      "[[nodes]]\ntype = \"paper\"\nfeatures.file = \"paper.npy\"\nlabels.file = \"labels.npy\"\n"
      "[[nodes]]\ntype = \"author\"\nfeatures = { file = \"author.npy\", dtype = \"f16\" }\n"
      "[[nodes]]\ntype = \"venue\"\ncount = 200\n"
      "[[edges]]\nrelation = \"cites\"\nsource = \"paper\"\ntarget = \"paper\"\n"
      "file = \"cites.csv\"\nout_edges = true\n"
      "[[edges]]\nrelation = \"writes\"\nsource = \"author\"\ntarget = \"paper\"\n"
      "file = \"writes.csv\"\nreverse = \"written-by\"\nout_edges = true\n"
      "[[edges]]\nrelation = \"reviews\"\nsource = \"author\"\ntarget = \"paper\"\n"
      "file = \"reviews.csv\"\nout_edges = true\n"
      "[[edges]]\nrelation = \"hosts\"\nsource = \"venue\"\ntarget = \"paper\"\n"
      "file = \"hosts.csv\"\nout_edges = true\n"
      "[[splits]]\ntrain = \"train.csv\"\nvalid = \"valid.csv\"\ntest = \"test.csv\"\n";

  // A node's class is its number modulo the classes.
  void write_nodes(const std::string& type, std::uint64_t count, std::uint64_t columns) const {
    const RandomKey key = RandomKey(41).with(type);
    std::vector<float> features;
    std::vector<std::int64_t> labels;
    for (std::uint64_t node = 0; node < count; ++node) {
      labels.push_back(static_cast<std::int64_t>(node % kClasses));
      for (std::uint64_t column = 0; column < columns; ++column)
        features.push_back(static_cast<float>(2 * key.with(node).uniform(column) - 1 +
                                              (column % kClasses == node % kClasses ? 1.0 : 0.0)));
    }
    temp_.write(type + ".npy",
                npy("<f4", fmt::format("({}, {})", count, columns), bytes_of_values(features)));
    if (type == "paper")
      temp_.write("labels.npy", npy("<i8", fmt::format("({},)", count), bytes_of_values(labels)));
  }

  // Nine of ten edges come from the class that lies `before` the target's.
  void write_edges(const std::string& relation,
                   std::uint64_t count,
                   std::uint64_t sources,
                   std::uint64_t targets,
                   std::uint64_t before) const {
    const RandomKey key = RandomKey(43).with(relation);
    std::string text = "source,target\n";
    for (std::uint64_t edge = 0; edge < count; ++edge) {
      const RandomKey draw = key.with(edge);
      const std::uint64_t target = draw.below(targets, 0);
      const std::uint64_t its_class = (target + kClasses - before) % kClasses;
      const std::uint64_t source = draw.uniform(1) < 0.9
                                       ? kClasses * draw.below(sources / kClasses, 2) + its_class
                                       : draw.below(sources, 3);
      text += fmt::format("{},{}\n", source, target);
    }
    temp_.write(relation + ".csv", text);
  }

  // Papers fall to parts by a drawn order, so that each part has all classes.
  void write_split(TestOrder order) const {
    std::vector<std::uint64_t> papers(kPapers);
    for (std::uint64_t i = 0; i < kPapers; ++i) papers[i] = i;
    const auto shuffle = [](std::vector<std::uint64_t>& ids, RandomKey key) {
      for (std::size_t i = 0; i + 1 < ids.size(); ++i)
        std::swap(ids[i], ids[i + key.below(ids.size() - i, i)]);
    };
    shuffle(papers, RandomKey(47));
    std::uint64_t at = 0;
    for (const auto& [name, count] :
         {std::pair{"train", kTrain}, {"valid", kValid}, {"test", kValid}}) {
      std::vector<std::uint64_t> ids(papers.begin() + static_cast<std::ptrdiff_t>(at),
                                     papers.begin() + static_cast<std::ptrdiff_t>(at + count));
      at += count;
      std::sort(ids.begin(), ids.end());
      if (order == TestOrder::kDrawn && name == std::string("test")) shuffle(ids, RandomKey(53));
      std::string text = "id\n";
      for (const std::uint64_t id : ids) text += fmt::format("{}\n", id);
      temp_.write(std::string(name) + ".csv", text);
    }
  }

  TempDir temp_;
};

/// Assignments that have venues learn a row each.
inline std::vector<std::string> with_venue_rows(const std::vector<std::string>& sets) {
  return with_sets(sets, {"embedding.types=[\"venue\"]", "embedding.dim=8", "embedding.init=0.1"});
}

}  // namespace sluice::test

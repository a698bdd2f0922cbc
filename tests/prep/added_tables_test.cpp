// Feature tables that attach and propagate add: what they may be called, where they stand, and that
// no byte of a dataset that shares files with theirs changes.
#include "attached_support.h"
#include "prep/check/verify.h"
#include "support/expect_error.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::test;
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kAddedSeed = 43;

/// Every file below a folder, by path.
std::map<std::string, std::string> all_files(const fs::path& root) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(root))
    if (entry.is_regular_file())
      files[fs::relative(entry.path(), root).string()] = read_all(entry.path());
  return files;
}

/// A source, and a dataset that was made of it and has its files by hard links, as reorder makes
/// one; rows to attach to type a.
struct LinkedDatasets {
  TempDir dir;
  PropagationSession session;
  fs::path source = dir / "source", made = dir / "made", rows = dir / "rows.safetensors";

  LinkedDatasets() {
    MESSAGE("seed " << kAddedSeed);
    TypedGraph(kAddedSeed).write(source);
    fs::copy(source, made, fs::copy_options::recursive | fs::copy_options::create_hard_links);
    write_embedded(rows, std::vector<float>(TypedGraph::kA * 2, 0.5f), 2);
  }

  AttachOptions attach(const std::string& name) const {
    AttachOptions options = attach_options(made, rows);
    options.name = name;
    return options;
  }
  static PropagationOptions propagate(PropagationMethod method,
                                      std::uint64_t hops,
                                      const std::string& name) {
    PropagationOptions options;
    options.method = method;
    options.hops = hops;
    options.name = name;
    options.node_type = "a";
    return options;
  }
  std::vector<std::string> tables() const {
    std::vector<std::string> names;
    const Dataset dataset = Dataset::open(made.string());
    for (const FeatureSchema& table : dataset.schema().nodes[0].features)
      names.push_back(table.name);
    return names;
  }
};

}  // namespace

TEST_CASE("no table is called as another file of its type, and the source keeps every byte") {
  LinkedDatasets data;
  const auto source = all_files(data.source), made = all_files(data.made);
  for (const Overwrite how : {Overwrite::kRefuse, Overwrite::kReplace}) {
    for (const char* name : {"labels", "ids", "ids.offsets", "times"}) {
      CAPTURE(name);
      AttachOptions attached = data.attach(name);
      attached.table = how;
      PropagationOptions propagated = data.propagate(PropagationMethod::kSgc, 1, name);
      propagated.tables = how;
      for (const Error& error :
           {expect_error([&] { (void)attach_table(attached, data.session.context); }),
            expect_error([&] { (void)data.session.run(data.made, propagated); }),
            expect_error(
                [&] { (void)plan_propagation(data.made, propagated, data.session.context); })}) {
        CHECK(error.code() == ErrorCode::kUsage);
        CHECK(error.message().find("'" + std::string(name) + "' is no name for a table") == 0);
        CHECK(error.hint() ==
              "choose another --name; labels, ids, ids.offsets and times are taken");
      }
      CHECK(all_files(data.source) == source);
      CHECK(all_files(data.made) == made);
    }
  }
  // What only begins so is a name: tables of the method labels do.
  CHECK(data.session.run(data.made, data.propagate(PropagationMethod::kSign, 1, "labels"))
            .tables.size() == 1);
  CHECK(all_files(data.source) == source);
}

TEST_CASE("tables that are replaced leave the files of a dataset that shares them") {
  LinkedDatasets data;
  const auto source = all_files(data.source);
  AttachOptions attached = data.attach("features");
  attached.table = Overwrite::kReplace;
  (void)attach_table(attached, data.session.context);
  CHECK(all_files(data.source) == source);
  PropagationOptions propagated = data.propagate(PropagationMethod::kMetapaths, 1, "p");
  (void)data.session.run(data.made, propagated);
  propagated.tables = Overwrite::kReplace;
  (void)data.session.run(data.made, propagated);
  CHECK(all_files(data.source) == source);
  CHECK(verify_dataset(data.made.string(), data.session.context).problems.empty());
  CHECK(verify_dataset(data.source.string(), data.session.context).problems.empty());
}

TEST_CASE("propagated tables that are replaced keep their places, and new ones stand behind") {
  using Names = std::vector<std::string>;
  LinkedDatasets data;
  PropagationOptions sign = data.propagate(PropagationMethod::kSign, 2, "s");
  (void)data.session.run(data.made, sign);
  (void)attach_table(data.attach("own"), data.session.context);
  CHECK(data.tables() == Names{"features", "s-1", "s-2", "own"});
  sign.hops = 3;
  sign.tables = Overwrite::kReplace;
  (void)data.session.run(data.made, sign);
  CHECK(data.tables() == Names{"features", "s-1", "s-2", "own", "s-3"});
  PropagationOptions sgc = data.propagate(PropagationMethod::kSgc, 1, "own");
  sgc.tables = Overwrite::kReplace;
  (void)data.session.run(data.made, sgc);
  CHECK(data.tables() == Names{"features", "s-1", "s-2", "own", "s-3"});
  const Dataset opened = Dataset::open(data.made.string());
  CHECK(opened.schema().nodes[0].features[3].dim == TypedGraph::kDimA);
  CHECK(verify_dataset(data.made.string(), data.session.context).problems.empty());
  CHECK(data.session.ledger.used() == 0);
}

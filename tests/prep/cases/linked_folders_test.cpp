// Data sets behind links to other disks.
#include "case_folder.h"

using namespace sluice;
using namespace sluice::test;

namespace {

namespace fs = std::filesystem;

void write_ogb(const CaseFolder& folder, const std::string& at) {
  folder.write(at + "/edge.csv", "0,1\n1,2\n2,0\n");
  folder.write(at + "/num-node-list.csv", "3\n");
  folder.write(at + "/node-label.csv", "0\n1\n0\n");
}

void check_ogb(const CaseFolder& folder, const std::string& path) {
  const auto made = folder.by_guess({path});
  CHECK((edges_of(made.dataset, "node__edge__node") ==
         NamedEdges{{"0", "1"}, {"1", "2"}, {"2", "0"}}));
  CHECK(labels_of(made.dataset) == std::vector<std::int32_t>{0, 1, 0});
}

}  // namespace

TEST_CASE("links: a folder of a data set that is a link") {
  CaseFolder folder;
  write_ogb(folder, "store/raw");
  fs::create_directories(folder.dir / "raw/linked/tiny");
  fs::create_directory_symlink("../../store/raw", folder.dir / "raw/linked/tiny/raw");
  check_ogb(folder, "linked/tiny");
  check_ogb(folder, "linked");
  // The root itself, as ever.
  fs::create_directory_symlink("linked/tiny", folder.dir / "raw/root");
  check_ogb(folder, "root");
}

TEST_CASE("links: at any depth, of files by the guess, and of files themselves") {
  CaseFolder folder;
  folder.write("store/a/edges.csv", "src,dst\n0,1\n1,2\n");
  folder.write("other/labels.npy", npy_ids({0, 1, 0}));
  fs::create_directories(folder.dir / "raw/data/deep");
  fs::create_directory_symlink(folder.dir / "raw/store/a", folder.dir / "raw/data/deep/er");
  fs::create_symlink(folder.dir / "raw/other/labels.npy", folder.dir / "raw/data/labels.npy");
  const auto described = folder.describe({"data"});
  CHECK(described.spec.edges.at(0).file == "deep/er/edges.csv");
  CHECK(labels_of(folder.by_guess(described).dataset) == std::vector<std::int32_t>{0, 1, 0});
}

TEST_CASE("links: circles neither hang nor double files") {
  CaseFolder folder;
  folder.write("data/sub/edges.csv", "src,dst\n0,1\n1,2\n");
  folder.write("foreign.csv", "src,dst\n5,6\n");
  fs::create_directory_symlink("..", folder.dir / "raw/data/sub/up");
  fs::create_directory_symlink("../..", folder.dir / "raw/data/sub/higher");
  fs::create_directory_symlink("sub", folder.dir / "raw/data/again");
  fs::create_directory_symlink("self", folder.dir / "raw/data/self");
  const auto described = folder.describe({"data"});
  CHECK(described.warnings.empty());
  REQUIRE(described.spec.edges.size() == 1);
  CHECK(described.spec.edges[0].file == "sub/edges.csv");
}

TEST_CASE("links: a folder of parts by name") {
  CaseFolder folder;
  folder.write("store/part-0.csv", "src,dst\n0,1\n");
  folder.write("store/part-1.csv", "src,dst\n1,2\n");
  fs::create_directory_symlink("store", folder.dir / "raw/edges");
  CHECK((edges_of(folder.by_toml("[[edges]]\nfile = 'edges'\n").dataset, "node__edge__node") ==
         NamedEdges{{"0", "1"}, {"1", "2"}}));
}

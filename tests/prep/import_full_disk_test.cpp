// Imports onto a full and onto a read-only file system: small ones of our own, mounted where nobody
// else sees them. Needs the right to make a mount namespace; reports itself skipped (77) without.
#include "column_ground.h"
#include "import_support.h"
#include "support/own_mounts.h"

#include <sluice/units.h>

using namespace sluice;
using namespace sluice::test;

namespace {

const std::string kToml = "[[nodes]]\nfeatures.file = 'x.npy'\n[[edges]]\nfile = 'e.csv'\n";

void write_graph(const ImportFolder& folder, std::size_t rows) {
  folder.write("x.npy", npy_rows(rows, 64, std::vector<float>(rows * 64, 1.0f)));
  folder.write("e.csv", "s,t\n0,1\n");
}

}  // namespace

TEST_CASE("no space: the error names the file, nothing is left, and a smaller graph then fits") {
  need_own_mounts();
  ImportFolder folder;
  const Mount disk(folder.dir / "out", "size=4m");
  write_graph(folder, 40'000);
  const std::uint64_t before = disk.used_bytes();
  const Error error = expect_error([&] { folder.run(kToml); });
  CHECK(error.code() == ErrorCode::kResource);
  // The rows of an .npy file are known: what they need is asked for before the first is written.
  CHECK(error.message().find("the features of 'node' need ") == 0);
  CHECK(error.message().find(" of disk, and ") != std::string::npos);
  CHECK(error.place().file.find("/out/.graph.partial-") != std::string::npos);
  CHECK(error.hint() == "free space on this file system, or choose another place");
  CHECK(folder.leftovers().empty());
  CHECK(disk.used_bytes() == before);
  write_graph(folder, 1'000);
  CHECK(folder.run(kToml).nodes == 1'000);
}

TEST_CASE("no space at any point of an import leaves nothing") {
  need_own_mounts();
  ImportFolder folder;
  write_graph(folder, 2'000);
  folder.write("t.npy", npy_ids({0, 1, 2}));
  const std::string toml = kToml + "[[splits]]\ntrain = 't.npy'\n";
  int failures = 0;
  for (int pages = 1; pages < 200; pages += 3) {
    const Mount disk(folder.dir / "out", fmt::format("size={}k", pages * 4).c_str());
    try {
      folder.run(toml);
      CHECK(Dataset::open(folder.out()).schema().total_nodes() == 2'000);
    } catch (const Error& error) {
      ++failures;
      CHECK(error.code() == ErrorCode::kResource);
      CHECK(folder.leftovers().empty());
    }
  }
  CHECK(failures > 30);
  CHECK(failures < 67);
}

TEST_CASE("no space for a column of edges is said before its scratch files are written") {
  need_own_mounts();
  const TempDir dir;
  const Mount disk(dir / "disk", "size=12m");
  const std::vector<std::int64_t> times = column_times();
  ColumnGround ground(9 * kMiB, dir / "disk/out", ColumnGround::mixed_ids(1'200'000));
  const std::uint64_t before = disk.used_bytes();
  const ScratchBytes values = ground.spool(times);
  const Error error = expect_error([&] { (void)ground.write<std::int64_t>(values); });
  CHECK(error.code() == ErrorCode::kResource);
  CHECK(error.message().find("the values of '" + ground.path() + "' need ") == 0);
  CHECK(error.hint() == "free space on this file system, or choose another place");
  CHECK(disk.used_bytes() == before);
}

TEST_CASE("a read-only folder") {
  need_own_mounts();
  ImportFolder folder;
  write_graph(folder, 10);
  const Mount disk(folder.dir / "out", "size=1m");
  disk.make_read_only();
  const Error error = expect_error([&] { folder.run(kToml); });
  CHECK(as_text(error, folder) ==
        "io|ROOT/out: cannot write to the folder: Read-only file system|the file system is "
        "read-only: choose another place");
  CHECK(folder.leftovers().empty());
}

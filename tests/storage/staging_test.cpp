#include "storage/format/staging.h"
#include "storage/format/dataset_writer.h"
#include "support/expect_error.h"
#include "support/temp_dir.h"

#include <doctest/doctest.h>

#include <iterator>

using namespace sluice;
using sluice::test::expect_error;
using sluice::test::TempDir;
namespace fs = std::filesystem;

namespace {

std::size_t entries_in(const fs::path& dir) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(dir), fs::directory_iterator{}));
}

void make_dataset(const fs::path& target, Overwrite overwrite, std::uint64_t value) {
  DatasetWriter writer(target, overwrite, nullptr);
  writer.write("x.bin", std::span<const std::uint64_t>(&value, 1));
  writer.commit("test");
}

}  // namespace

TEST_CASE("nothing of an uncommitted dataset stays, and a committed one is whole") {
  const TempDir dir;
  {
    DatasetWriter writer(dir / "x", Overwrite::kRefuse, nullptr);
    const std::uint64_t value = 1;
    writer.write("x.bin", std::span<const std::uint64_t>(&value, 1));
    CHECK_FALSE(fs::exists(dir / "x"));
  }
  CHECK(entries_in(dir.path()) == 0);
  make_dataset(dir / "x", Overwrite::kRefuse, 1);
  CHECK(entries_in(dir.path()) == 1);
  CHECK(Manifest::load(dir / "x").ok());
  CHECK(entries_in(dir / "x") == 3);  // x.bin, x.bin.sum, manifest.json: no lock
}

TEST_CASE("a data file is written anew, never through a hard link, and once") {
  const TempDir dir;
  make_dataset(dir / "old", Overwrite::kRefuse, 1);
  const std::string data = test::read_all(dir / "old/x.bin"),
                    sums = test::read_all(dir / "old/x.bin.sum");
  fs::create_directory(dir / "new");
  for (const char* name : {"x.bin", "x.bin.sum"})
    fs::create_hard_link(dir / "old" / name, dir / "new" / name);
  DataFileWriter file(dir / "new", "x.bin", nullptr);
  const std::uint64_t value = 2;
  file.append_values(std::span<const std::uint64_t>(&value, 1));
  (void)file.finish();
  CHECK(test::read_all(dir / "new/x.bin") != data);
  CHECK(test::read_all(dir / "new/x.bin.sum") != sums);
  CHECK(test::read_all(dir / "old/x.bin") == data);
  CHECK(test::read_all(dir / "old/x.bin.sum") == sums);

  const Manifest old = Manifest::load(dir / "old").or_throw();
  DatasetWriter writer(dir / "next", Overwrite::kRefuse, nullptr);
  writer.adopt(dir / "old", old.files.at("x.bin"));
  for (const Error& error : {expect_error([&] { (void)writer.create("x.bin"); }), expect_error([&] {
                               writer.adopt(dir / "old", old.files.at("x.bin"));
                             })}) {
    CHECK(error.code() == ErrorCode::kInternal);
    CHECK(error.message() == "the dataset has two contents for its file 'x.bin'");
  }
  CHECK(test::read_all(dir / "old/x.bin") == data);
}

TEST_CASE("an existing output is refused unless it is a dataset to replace") {
  const TempDir dir;
  make_dataset(dir / "x", Overwrite::kRefuse, 1);
  const Error error = expect_error([&] { make_dataset(dir / "x", Overwrite::kRefuse, 2); });
  CHECK(error.code() == ErrorCode::kUsage);
  CHECK(std::string(error.what()) == (dir / "x").string() + ": the output already exists");
  const std::string before = test::read_all(dir / "x/x.bin");
  make_dataset(dir / "x/", Overwrite::kReplace, 2);
  CHECK(test::read_all(dir / "x/x.bin") != before);
  CHECK(entries_in(dir.path()) == 1);
  dir.write("photos/a.jpg", "dear");
  CHECK(expect_error([&] { make_dataset(dir / "photos", Overwrite::kReplace, 2); }).code() ==
        ErrorCode::kUsage);
  CHECK(test::read_all(dir / "photos/a.jpg") == "dear");
}

TEST_CASE("what a dead run left is swept, what a living one works on is not") {
  const TempDir dir;
  dir.write(".x.partial-dead01/junk.bin", "junk");
  dir.write(".y.partial-other1/junk.bin", "junk");
  const StagingDirectory living(dir / "x", Overwrite::kRefuse);
  REQUIRE(living.swept().size() == 1);
  CHECK(living.swept()[0] == (dir / ".x.partial-dead01").string());
  const StagingDirectory second(dir / "x", Overwrite::kRefuse);
  CHECK(second.swept().empty());
  CHECK(fs::exists(living.path()));
  CHECK(fs::exists(dir / ".y.partial-other1"));
}

TEST_CASE("two writers of one output: the second to finish is told") {
  const TempDir dir;
  DatasetWriter first(dir / "x", Overwrite::kRefuse, nullptr);
  DatasetWriter second(dir / "x", Overwrite::kRefuse, nullptr);
  first.commit("first");
  const Error error = expect_error([&] { second.commit("second"); });
  CHECK(error.code() == ErrorCode::kUsage);
  CHECK(Manifest::load(dir / "x").or_throw().created_by == "first");
}

TEST_CASE("an output under a file or an unwritable folder is refused by name") {
  const TempDir dir;
  dir.write("file", "x");
  const Error error = expect_error([&] { make_dataset(dir / "file/x", Overwrite::kRefuse, 1); });
  CHECK(std::string(error.what()).find((dir / "file").string()) != std::string::npos);
  const Error proc = expect_error([&] { make_dataset("/proc/x", Overwrite::kRefuse, 1); });
  CHECK(std::string(proc.what()).find("/proc") == 0);
  CHECK_FALSE(proc.hint().empty());
}

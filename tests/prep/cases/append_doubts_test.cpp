// What is odd about edges that are appended: their numbers, their times, a reverse that stays.
#include "prep/update/append.h"
#include "roles_folder.h"

#include <string>

using namespace sluice;
using namespace sluice::test;

namespace {

struct AppendedFolder : RolesFolder {
  /// Appends as a config says. Returns what was said.
  std::string append(const std::string& toml) const {
    const TableFormats formats = table_formats();
    GraphSpec spec(formats);
    Config::parse(toml, "more.toml").bind_to(spec);
    std::ostringstream text;
    Logger log("test", std::make_shared<spdlog::sinks::ostream_sink_mt>(text));
    log.set_pattern("%l: %v");
    MemoryLedger ledger(budget, "--memory");
    ThreadArena arena(threads);
    PrepContext context{ledger, arena, log, ProgressStyle::kSilent};
    append_to_dataset(out(), std::move(spec), formats, dir / "raw", "test", context);
    return text.str();
  }
};

bool doubted(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("append: a first id that is not the dataset's is refused") {
  AppendedFolder folder;
  folder.write("e.csv", "src,dst\n0,1\n1,2\n");
  folder.write("more.csv", "src,dst\n1,2\n");
  const std::string more = "[[nodes]]\nfirst_id = 1\n[[edges]]\nfile = 'more.csv'\n";
  folder.listen("[[edges]]\nfile = 'e.csv'\n");
  const std::string text = as_text(expect_error([&] { folder.append(more); }), folder);
  CHECK(says(text, "first_id = 1, and the dataset's ids begin with 0"));
  // Ids of a dataset that counts from 1 are kept.
  folder.write("e.csv", "src,dst\n1,2\n2,3\n");
  folder.listen("[[nodes]]\nfirst_id = 1\n[[edges]]\nfile = 'e.csv'\n");
  folder.append("[[edges]]\nfile = 'more.csv'\n");
}

TEST_CASE("append: one way to edges that all stand both ways is told") {
  AppendedFolder folder;
  folder.write("e.csv", "src,dst\n0,1\n1,2\n2,2\n");
  folder.write("more.csv", "src,dst\n0,2\n");
  const std::string more = "[[edges]]\nfile = 'more.csv'\n";
  folder.listen("[[edges]]\nfile = 'e.csv'\nundirected = true\n");
  CHECK_FALSE(doubted(folder.append(more + "undirected = true\n"), "both ways"));
  CHECK(says(folder.append(more),
             "more.csv: edges of 'node__edge__node' stand both ways, and these are added as they "
             "are"));
  folder.listen("[[edges]]\nfile = 'e.csv'\n");
  CHECK_FALSE(doubted(folder.append(more), "both ways"));
}

TEST_CASE("append: times of another unit are told") {
  AppendedFolder folder;
  const std::string keys = "time_column = 't'\ntime_unit = ";
  folder.write("e.csv", "src,dst,t\n0,1,2024-01-02\n1,2,2024-01-03\n");
  folder.write("more.csv", "src,dst,t\n2,1,2024-01-01\n");
  const std::string more = "[[edges]]\nfile = 'more.csv'\n" + keys;
  folder.listen("[[edges]]\nfile = 'e.csv'\n" + keys + "'days'\n");
  CHECK_FALSE(doubted(folder.append(more + "'days'\n"), "same unit"));
  CHECK(says(folder.append(more + "'s'\n"),
             "more.csv: its times are 1704067200 to 1704067200, and those of the dataset are like "
             "19724 to 19725: are they in the same unit?"));
  folder.listen("[[edges]]\nfile = 'e.csv'\n" + keys + "'ms'\n");
  CHECK(doubted(folder.append(more + "'s'\n"), "same unit"));
}

TEST_CASE("append: a reverse that is not appended to is told") {
  AppendedFolder folder;
  folder.write("e.csv", "src,dst\n0,1\n1,2\n");
  folder.write("more.csv", "src,dst\n2,0\n");
  folder.listen("[[edges]]\nfile = 'e.csv'\nreverse = 'rev'\n");
  const std::string more = "[[edges]]\nfile = 'more.csv'\n";
  const std::string turned =
      "[[edges]]\nrelation = 'rev'\nfile = 'more.csv'\nsource_column = 'dst'\n"
      "target_column = 'src'\n";
  CHECK_FALSE(doubted(folder.append(more + turned), "the other way round"));
  CHECK(says(folder.append(more), "'node__rev__node' has as many edges as 'node__edge__node'"));
}

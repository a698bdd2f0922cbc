// What is odd about edges that are appended: their numbers, their times, a reverse that stays.
#include "prep/update/append.h"
#include "roles_folder.h"

#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::test;

namespace {

struct AppendedFolder : RolesFolder {
  /// Appends as a config says. Returns what was said.
  std::string append(const std::string& toml) const {
    const TableFormats formats = table_formats();
    GraphSpec spec(formats);
    Config::parse(toml, "more.toml").bind_to(spec);
    return heard([&](PrepContext& context) {
      append_to_dataset(out(), std::move(spec), formats, dir / "raw", "test", context);
    });
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

TEST_CASE("append: loops and duplicates that the import dropped or added") {
  AppendedFolder folder;
  const std::string key = "node__edge__node";
  folder.write("e.csv", "src,dst\n0,1\n1,2\n2,2\n0,1\n");
  folder.write("more.csv", "src,dst\n0,1\n0,2\n1,1\n0,2\n3,1\n");
  const std::string first = "[[edges]]\nfile = 'e.csv'\n", more = "[[edges]]\nfile = 'more.csv'\n";
  const std::string grown = "[[nodes]]\ncount = 4\n" + more;
  folder.listen(first + "duplicates = 'drop'\nself_loops = 'add'\n");
  const std::string said = folder.append(grown);
  CHECK(says(said, "more.csv: 1 self loops are left out, as by the import"));
  CHECK(says(said, "more.csv: 2 edges that are there, or came before, are left out"));
  using Lists = std::vector<std::vector<std::uint64_t>>;
  const Lists once{{0}, {0, 1, 3}, {1, 2, 0}, {3}};
  CHECK(in_edges(folder.opened(), key) == once);
  folder.check_sound();
  // Those of the log are there, too.
  CHECK(says(folder.append(more), "more.csv: 4 edges that are there"));
  CHECK(in_edges(folder.opened(), key) == once);
  // Nodes alone bring their loops.
  folder.append("[[nodes]]\ncount = 5\n");
  CHECK(in_edges(folder.opened(), key).at(4) == std::vector<std::uint64_t>{4});

  folder.listen(first + "duplicates = 'drop'\nundirected = true\n");
  folder.write("more.csv", "src,dst\n2,0\n1,0\n2,2\n0,2\n");
  CHECK(says(folder.append(more + "undirected = true\n"), "more.csv: 5 edges that are there"));
  CHECK(in_edges(folder.opened(), key) == Lists{{1, 2}, {0, 2}, {1, 2, 0}});

  folder.write("e.csv", "src,dst\n0,1\n1,2\n");
  folder.listen(first + "duplicates = 'error'\nself_loops = 'drop'\n");
  folder.write("more.csv", "src,dst\n2,0\n2,0\n");
  const std::string text = as_text(expect_error([&] { folder.append(more); }), folder);
  CHECK(says(text, "more than once"));
  CHECK(says(text, "duplicates = \"error\""));
  folder.write("more.csv", "src,dst\n0,1\n");
  CHECK(says(as_text(expect_error([&] { folder.append(more); }), folder), "the edge 0 -> 1"));
  folder.write("more.csv", "src,dst\n2,0\n1,1\n");
  folder.append(more);
  CHECK(in_edges(folder.opened(), key) == Lists{{2}, {0}, {1}});

  // What keeps all keeps all.
  folder.listen(first);
  folder.append(more);
  folder.append(more);
  CHECK(in_edges(folder.opened(), key) == Lists{{2, 2}, {0, 1, 1}, {1}});
}

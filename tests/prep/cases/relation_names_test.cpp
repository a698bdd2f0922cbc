// Types of edges whose names look alike, and many of them.
#include "roles_folder.h"

#include <map>

using namespace sluice;
using namespace sluice::test;

namespace {

const std::string kTriplesToml =
    "[[nodes]]\nids = 'string'\n[[edges]]\nfile = 'k.txt'\nformat = 'triples'\n"
    "source_column = 'head'\ntarget_column = 'tail'\ntype_column = 'relation'\n";

/// The relations by what the user calls them, each with its edges.
std::map<std::string, std::set<std::pair<std::string, std::string>>> by_title(
    const RolesFolder& folder) {
  std::map<std::string, std::set<std::pair<std::string, std::string>>> all;
  const Dataset dataset = folder.opened();
  for (const RelationSchema& relation : dataset.schema().relations)
    all[relation.title.empty() ? relation.name : relation.title] = folder.edges(relation.key());
  return all;
}

}  // namespace

TEST_CASE("relation names: types that look alike each have a relation, and their own name told") {
  const std::string stem = "/made_up/domain/of_a_few_words/kept_in_some_place./made_up/domain/in/";
  const std::vector<std::vector<std::string>> kinds{
      {stem + "a_year/named_by", stem + "a_year/named_for", stem + "a_year/number_of_times"},
      {"größe", "grüße", "gr_e", "gräße"},
      {"a b", "a/b", "a:b", "a_b", "a  b"},
      {"a.b", "a..b", "a...b"},
      {"名", "字", "type", "??"},
      {std::string(200, 'x') + "1", std::string(200, 'x') + "2", std::string(100, 'x')}};
  for (const std::vector<std::string>& titles : kinds) {
    CAPTURE(titles.front());
    RolesFolder folder;
    std::string text;
    std::map<std::string, std::set<std::pair<std::string, std::string>>> expected;
    for (std::size_t i = 0; i < titles.size(); ++i) {
      text += fmt::format("n{}\t{}\tn{}\n", i, titles[i], i + 1);
      expected[titles[i]] = {{fmt::format("n{}", i), fmt::format("n{}", i + 1)}};
    }
    folder.write("k.txt", text);
    for (const std::string more : {"", "relation = 'knows'\n", "reverse = 'back'\n"}) {
      CAPTURE(more);
      folder.listen(kTriplesToml + more);
      auto found = by_title(folder);
      if (!more.empty())  // plain names have the relation before them, and reverses are there
        for (const std::string& title : titles)
          if (!found.contains(title) && found.contains("knows_" + title))
            found[title] = found["knows_" + title];
      for (const std::string& title : titles) CHECK(found[title] == expected[title]);
      folder.check_sound();
    }
  }
}

TEST_CASE("relation names: names that are plain stay, and those that nobody else wants") {
  RolesFolder folder;
  folder.write("k.txt", "a\tlikes\tb\nb\tgr_e\tc\nc\tgröße\td\nd\t/made_up/one\ta\n");
  folder.listen(kTriplesToml);
  std::set<std::string> names;
  const Dataset dataset = folder.opened();
  for (const RelationSchema& relation : dataset.schema().relations)
    names.insert(relation.name);
  CHECK(names.contains("likes"));
  CHECK(names.contains("gr_e"));
  CHECK(names.contains("made_up_one"));
  CHECK(names.size() == 4);
  // Which one a type gets does not depend on the order of the file.
  folder.write("k.txt", "d\t/made_up/one\ta\nc\tgröße\td\nb\tgr_e\tc\na\tlikes\tb\n");
  folder.listen(kTriplesToml);
  std::set<std::string> again;
  const Dataset turned = folder.opened();
  for (const RelationSchema& relation : turned.schema().relations)
    again.insert(relation.name);
  CHECK(again == names);
}

TEST_CASE("relation names: splits of edges find the relations of types that look alike") {
  RolesFolder folder;
  folder.write("k.txt", "a\tx y\tb\nb\tx/y\tc\n");
  folder.write("t.txt", "b\tx/y\ta\nc\tx y\ta\n");
  folder.listen(kTriplesToml + "[[splits]]\nof = 'edges'\ntest = 't.txt'\nformat = 'triples'\n");
  const Dataset dataset = folder.opened();
  const auto& relations = dataset.schema().relations;
  const std::string bytes = read_all(folder.out() / "splits/default/test.bin");
  std::vector<std::uint64_t> rows(10);
  std::memcpy(rows.data(), bytes.data(), 80);
  CHECK(relations[rows[0]].title == "x/y");
  CHECK(relations[rows[5]].title == "x y");
}

TEST_CASE("relation names: types as labels keep full names, in one relation") {
  RolesFolder folder;
  folder.write("k.txt", "a\tx y\tb\nb\tx/y\tc\n");
  folder.listen(kTriplesToml + "types = 'labels'\n");
  const Dataset dataset = folder.opened();
  const auto& relations = dataset.schema().relations;
  CHECK(relations.size() == 1);
  CHECK(relations.front().labels->names == std::vector<std::string>{"x y", "x/y"});
}

TEST_CASE("many relations: their size is told before the work, with the way out") {
  std::string tabs, commas = "s,k,t\n";
  for (int i = 0; i < 2'000; ++i) {
    const int source = i * 37 % 1'000, target = (i * 53 + 7) % 1'000, type = i < 100 ? i : i % 97;
    tabs += fmt::format("Q{}\tP{}\tQ{}\n", source, type, target);
    commas += fmt::format("{},p{},{}\n", source, type, target);
  }
  RolesFolder folder;
  folder.write("k.txt", tabs);
  folder.write("k.csv", commas);
  for (const std::string ids : {"", "[[nodes]]\nids = 'integer'\n"}) {
    const std::string said =
        folder.listen(ids +
                      "[[edges]]\nfile = 'k.csv'\nsource_column = 's'\ntarget_column = 't'\n"
                      "type_column = 'k'\n");
    CHECK(says(said, "warning: k.csv: 100 types of edges make as many relations"));
    CHECK(says(said, "types = \"labels\""));
  }
  CHECK(says(folder.listen(kTriplesToml), "types = \"labels\""));
  CHECK(folder.listen(kTriplesToml + "types = 'labels'\n").find("types") == std::string::npos);
  folder.write("k.txt", "a\tx\tb\nb\ty\tc\n");
  CHECK(folder.listen(kTriplesToml).find("types") == std::string::npos);
}

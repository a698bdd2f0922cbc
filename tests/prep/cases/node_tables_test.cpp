// Tables of nodes, known by their ids: the values of a column are those of the edges.
#include "case_folder.h"
#include "prep/arrow_files.h"

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr const char* kPeople =
    "id,age,income,city\nann,31.5,2.75,Rome\nbob,44.0,3.10,Oslo\ncid,27.2,,Rome\n"
    "dan,50.1,4.00,Lima\n";
constexpr const char* kFollows =
    "from,to,since\nann,bob,1500000000\nbob,cid,1500003600\ndan,ann,1500007200\n";

void check_people(const CaseFolder& folder, const CaseFolder::Imported& made) {
  CHECK((edges_of(made.dataset, "node__edge__node") ==
         NamedEdges{{"ann", "bob"}, {"bob", "cid"}, {"dan", "ann"}}));
  CHECK(names_of(made.dataset, "node") == std::vector<std::string>{"ann", "bob", "cid", "dan"});
  auto features = features_of(folder, made.dataset);
  REQUIRE(features.size() == 8);
  features[5] = 0;  // cid's income, which is missing
  CHECK(features == std::vector<float>{31.5F, 2.75F, 44, 3.1F, 27.2F, 0, 50.1F, 4});
  CHECK(made.dataset.schema().relations[0].has_times);
}

bool warns_of(const LayoutFolder::Described& described, const std::string& text) {
  return std::any_of(described.warnings.begin(),
                     described.warnings.end(),
                     [&](const std::string& warning) { return has(warning, text); });
}

}  // namespace

TEST_CASE("node table: ids, features, a label to switch on, and reasons") {
  CaseFolder folder;
  folder.write("people.csv", kPeople);
  folder.write("follows.csv", kFollows);
  const auto described = folder.describe();
  CHECK(described.warnings.empty());
  const std::string toml = on_one_line(described.toml);
  CHECK(has(toml, "people.csv lists these nodes: its column id holds all 4 ids of follows.csv."));
  CHECK(has(toml, "Some cells of income are empty: they become the mean"));
  CHECK(has(described.toml,
            "# labels.file = \"people.csv\"\n# labels.columns = [\"city\"]\n"
            "# labels.kind = \"name\"\n"));
  CHECK(has(toml, "city of people.csv could be the label, 3 classes"));
  CHECK(described.spec.edges.at(0).time_column == "since");
  check_people(folder, folder.by_guess(described));

  // The lines as they are switched on.
  std::string on = described.toml;
  for (const char* key : {"labels.file", "labels.columns", "labels.kind"})
    on.erase(on.find(std::string("# ") + key), 2);
  const auto made = folder.by_toml(on);
  CHECK(made.dataset.schema().nodes[0].labels->width == 3);
}

TEST_CASE("node table: dates are told, and a split is offered that holds as it is") {
  CaseFolder folder;
  folder.write("items.csv",
               "id,team,born,price\na1,x,2024-05-31,1.5\nb2,y,2023-01-02,2\nc3,x,2022-07-08,3\n"
               "d4,y,2021-12-24,4\n");
  folder.write("with.csv",
               "one,other,last\na1,b2,2024/05/31 12:00\nb2,c3,2024/06/01\nd4,a1,2024/01/01\n");
  const auto described = folder.describe();
  const std::string toml = on_one_line(described.toml);
  CHECK(has(toml, "born (dates; as days since 1970, say, they would be a feature or a time)"));
  CHECK(has(toml, "The column last is left out: its dates are texts"));
  CHECK_FALSE(has(toml, "born of items.csv could be the label"));
  std::string on = described.toml;
  for (const char* key : {"labels.file", "labels.columns", "labels.kind", "[[splits]]", "ratio"})
    on.erase(on.find(std::string("# ") + key), 2);
  const auto made = folder.by_toml(on);
  REQUIRE(made.dataset.schema().splits.size() == 1);
  const SplitSchema& split = made.dataset.schema().splits[0];
  CHECK(split.train + split.valid + split.test == 4);
  // Nothing to draw from: no label is there, and none is offered.
  CaseFolder bare;
  bare.write("e.csv", "a,b\n0,1\n1,2\n");
  CHECK_FALSE(has(bare.describe().toml, "[[splits]]"));
}

TEST_CASE("node table: compressed, in Parquet, in parts, behind an index, by any name") {
  CaseFolder folder;
  folder.gz("t.csv.gz", kPeople);
  folder.write("follows.csv", kFollows);
  check_people(folder, folder.by_guess());

  CaseFolder parts;
  parts.write("people/part-0.csv", "id,age,income\nann,31.5,2.75\nbob,44.0,3.10\n");
  parts.write("people/part-1.csv", "id,age,income\ncid,27.2,\ndan,50.1,4.00\n");
  parts.write("follows.csv", kFollows);
  check_people(parts, parts.by_guess());

  CaseFolder index;
  index.write("x.csv",
              ",name,age,income\n0,ann,31.5,2.75\n1,bob,44.0,3.10\n2,cid,27.2,\n3,dan,50.1,4.00\n");
  index.write("follows.csv", kFollows);
  check_people(index, index.by_guess());

  CaseFolder parquet;
  const auto& text = arrow::utf8();
  const auto& real = arrow::float64();
  parquet.write("p.parquet",
                parquet_of(*table_of({{"id", array_of(text, R"(["ann", "bob", "cid", "dan"])")},
                                      {"age", array_of(real, "[31.5, 44.0, 27.2, 50.1]")},
                                      {"income", array_of(real, "[2.75, 3.1, null, 4.0]")}})));
  parquet.write(
      "follows.parquet",
      parquet_of(*table_of(
          {{"from", array_of(text, R"(["ann", "bob", "dan"])")},
           {"to", array_of(text, R"(["bob", "cid", "ann"])")},
           {"since", array_of(arrow::int64(), "[1500000000, 1500003600, 1500007200]")}})));
  check_people(parquet, parquet.by_guess());
}

TEST_CASE("node table: a column of labels is taken, integer ids are kept or counted") {
  CaseFolder folder;
  folder.write("edges.csv", "src,dst\n100,205\n205,317\n317,100\n");
  folder.write("things.csv", "key,size,label\n205,1.5,b\n100,0.5,a\n317,2.5,a\n");
  auto made = folder.by_guess();
  CHECK(names_of(made.dataset, "node") == std::vector<std::string>{"205", "100", "317"});
  CHECK(features_of(folder, made.dataset) == std::vector<float>{1.5, 0.5, 2.5});
  CHECK(labels_of(made.dataset) == std::vector<std::int32_t>{1, 0, 0});

  folder.write("edges.csv", "src,dst\n1,2\n2,3\n3,1\n");
  folder.write("things.csv", "key,size,label\n1,0.5,0\n2,1.5,1\n3,2.5,1\n");
  const auto described = folder.describe();
  CHECK(described.spec.nodes.at(0).first_id == 1);
  CHECK(described.spec.nodes.at(0).count == 3);
  made = folder.by_guess(described);
  CHECK(labels_of(made.dataset) == std::vector<std::int32_t>{0, 1, 1});
}

TEST_CASE("node table: whole numbers beside ids are no edges") {
  CaseFolder folder;
  folder.write("follows.csv", "from,to\nann,bob\nbob,cid\n");
  folder.write("people.csv", "id,age\nann,31\nbob,44\ncid,27\n");
  auto made = folder.by_guess();
  CHECK(made.dataset.schema().relations.size() == 1);
  CHECK(features_of(folder, made.dataset) == std::vector<float>{31, 44, 27});
  // Without names that say source and target, too.
  folder.write("follows.csv", "a,b\nann,bob\nbob,cid\nann,cid\n");
  made = folder.by_guess();
  CHECK(made.dataset.schema().relations.size() == 1);
  CHECK(features_of(folder, made.dataset) == std::vector<float>{31, 44, 27});
}

TEST_CASE("node table: several, of several node types") {
  CaseFolder folder;
  folder.write("users.csv", "user_id,age\n0,31\n1,44\n2,27\n");
  folder.write("movies.csv", "movie_id,price,genre\n0,1.5,x\n1,2.5,y\n2,3.5,x\n3,4.5,y\n");
  folder.write("ratings.csv",
               "user_id,movie_id,rating,timestamp\n0,3,4.5,1300000000\n1,0,3.5,1300000001\n"
               "2,2,1.0,1300000002\n0,1,2.5,1300000003\n");
  const auto described = folder.describe();
  CHECK(described.warnings.empty());
  const auto made = folder.by_guess(described);
  CHECK((edges_of(made.dataset, "users__ratings__movies") ==
         NamedEdges{{"0", "3"}, {"1", "0"}, {"2", "2"}, {"0", "1"}}));
  CHECK(features_of(folder, made.dataset, "users") == std::vector<float>{31, 44, 27});
  CHECK(features_of(folder, made.dataset, "movies") == std::vector<float>{1.5, 2.5, 3.5, 4.5});
  CHECK(made.dataset.schema().relations[0].has_times);
  CHECK(made.dataset.schema().relations[0].has_weights);
}

TEST_CASE("node table: of one of two types, the other is in no table") {
  CaseFolder folder;
  folder.write("users.csv", "name,age\nann,31\nbob,44\n");
  folder.write("likes.csv", "user,film\nann,f1\nbob,f2\nann,f2\n");
  const auto made = folder.by_guess();
  CHECK((edges_of(made.dataset, "users__likes__film") ==
         NamedEdges{{"ann", "f1"}, {"bob", "f2"}, {"ann", "f2"}}));
  CHECK(features_of(folder, made.dataset, "users") == std::vector<float>{31, 44});
}

TEST_CASE("node table: types that files of relations name") {
  CaseFolder folder;
  folder.write("paper__author.csv", "paper,author\n0,1\n1,0\n2,2\n");
  folder.write("papers.csv", "id,year,words\n0,1990,5.5\n1,1991,6.5\n2,1992,7.5\n");
  folder.write("author.csv", "id,h\n0,1.5\n1,2.5\n2,3.5\n");
  const auto described = folder.describe();
  CHECK(described.warnings.empty());
  const auto made = folder.by_guess(described);
  CHECK(features_of(folder, made.dataset, "paper") == std::vector<float>{5.5, 6.5, 7.5});
  CHECK(features_of(folder, made.dataset, "author") == std::vector<float>{1.5, 2.5, 3.5});
  CHECK(values_of<std::int64_t>(made.dataset.node_times("paper")) ==
        std::vector<std::int64_t>{1990, 1991, 1992});
}

TEST_CASE("node table: ids in part alone are proposed with the share") {
  CaseFolder folder;
  folder.write("follows.csv", "from,to\nann,bob\nbob,cid\ndan,ann\neve,fay\n");
  folder.write("people.csv", "id,age\nann,31.5\nbob,44.5\ncid,27.5\n");
  const auto described = folder.describe();
  CHECK(warns_of(described, "people.csv: its column id holds 3 of the 4 ids (75 %)"));
  CHECK(described.spec.nodes.at(0).features.file.empty());
  CHECK(folder.by_guess(described).dataset.schema().nodes[0].count == 6);
}

TEST_CASE("node table: nearly all ids are enough, and edges of others are said") {
  CaseFolder folder;
  std::string edges = "from,to\n", nodes = "id,x\n";
  for (int i = 0; i < 100; ++i) {
    edges += fmt::format("n{},n{}\n", i, (i + 1) % 100);
    if (i != 7) nodes += fmt::format("n{},{}.5\n", i, i);
  }
  folder.write("follows.csv", edges);
  folder.write("people.csv", nodes);
  const auto described = folder.describe();
  CHECK(described.spec.nodes.at(0).unknown_ids == UnknownIds::kSkip);
  CHECK(has(on_one_line(described.toml), "holds 99 of the 100 ids"));
  const auto made = folder.by_guess(described);
  CHECK(made.dataset.schema().nodes[0].count == 99);
  CHECK(made.dataset.schema().total_edges() == 98);
}

TEST_CASE("node table: where two readings are possible both are said and neither is taken") {
  CaseFolder folder;
  folder.write("follows.csv", "from,to\n0,1\n1,2\n2,0\n");
  folder.write("people.csv", "id,age\n0,31.5\n1,44.5\n2,27.5\n");
  folder.write("cities.csv", "id,area\n0,1.5\n1,2.5\n2,3.5\n3,4.5\n");
  const auto described = folder.describe();
  CHECK(warns_of(described, "neither is taken"));
  const std::string toml = on_one_line(described.toml);
  CHECK(has(toml, "Reading: the nodes are those of people.csv (id)"));
  CHECK(has(toml, "Reading: the nodes are those of cities.csv (id)"));
  CHECK(described.spec.nodes.at(0).features.file.empty());
  CHECK(folder.by_guess(described).dataset.schema().nodes[0].count == 3);
}

TEST_CASE("node table: a second table of the same nodes goes by its ids") {
  CaseFolder folder;
  folder.write("follows.csv", "from,to\nann,bob\nbob,cid\n");
  folder.write("a.csv", "id,age\nann,31.5\nbob,44.5\ncid,27.5\n");
  folder.write("b.csv", "who,class\ncid,1\nann,0\nbob,1\n");
  const auto made = folder.by_guess();
  CHECK(features_of(folder, made.dataset) == std::vector<float>{31.5, 44.5, 27.5});
  CHECK(labels_of(made.dataset) == std::vector<std::int32_t>{0, 1, 1});
}

TEST_CASE("node table: rows of an array stand in the order of the table") {
  CaseFolder folder;
  folder.write("follows.csv", "from,to\nann,bob\nbob,cid\n");
  folder.write("people.csv", "id,label\ncid,1\nann,0\nbob,1\n");
  folder.write("features.npy", npy_rows(3, 1, {3, 1, 2}));
  const auto described = folder.describe();
  CHECK(has(on_one_line(described.toml), "As many rows as people.csv, and in its order."));
  const auto made = folder.by_guess(described);
  CHECK(names_of(made.dataset, "node") == std::vector<std::string>{"cid", "ann", "bob"});
  CHECK(features_of(folder, made.dataset) == std::vector<float>{3, 1, 2});
}

TEST_CASE("node table: what is left of it is said") {
  CaseFolder folder;
  folder.write("follows.csv", "from,to\nann,bob\nbob,cid\n");
  folder.write("people.csv",
               "id,age,mail,country_id,train_mask,none,active\nann,31,a@x,1,True,,True\n"
               "bob,44,b@x,2,False,,False\ncid,27,c@x,1,True,,True\n");
  const std::string toml = on_one_line(folder.describe().toml);
  for (const char* column : {"mail", "country_id", "none", "active"})
    CHECK_MESSAGE(has(toml, std::string(column) + " ("), column);
  CHECK(features_of(folder, folder.by_guess().dataset) == std::vector<float>{31, 44, 27});
}

TEST_CASE("node table: a tree of children and parents is edges") {
  CaseFolder folder;
  folder.write("tree.csv", "child,parent\nann,bob\nbob,cid\ncid,bob\n");
  folder.write("likes.csv", "a,b\nann,cid\nann,bob\n");
  CHECK(folder.by_guess().dataset.schema().relations.size() == 2);
}

TEST_CASE("node table: ids that count up, before whole numbers or dates, number no edges") {
  CaseFolder folder;
  folder.write("follows.csv", "src,dst\n0,1\n1,2\n2,3\n3,0\n");
  folder.write("people.csv", "id,age,group\n0,31,1\n1,44,0\n2,2,3\n3,1,1\n");
  const auto described = folder.describe();
  CHECK(
      has(on_one_line(described.toml), "people.csv lists these nodes: its column id holds all 4"));
  REQUIRE(described.spec.edges.size() == 1);
  const auto made = folder.by_guess(described);
  CHECK(features_of(folder, made.dataset) == std::vector<float>{31, 1, 44, 0, 2, 3, 1, 1});

  folder.write("people.csv",
               "id,joined,age\n0,2020-01-01,5\n1,2021-05-05,7\n"
               "2,2022-01-01,9\n3,2022-01-02,8\n");
  const auto dates = folder.describe();
  CHECK(dates.spec.edges.size() == 1);
  CHECK(dates.spec.nodes.at(0).features.columns == std::vector<std::string>{"age"});

  // Many more rows than nodes, with ids in them: edges as well as nodes.
  std::string rows = "id,a,b\n";
  for (int i = 0; i < 12; ++i) rows += fmt::format("{},{},{}\n", i, i % 4, (i + 1) % 4);
  folder.write("people.csv", rows);
  const auto both = folder.describe();
  CHECK(both.spec.edges.size() == 1);
  CHECK(warns_of(both, "it may list nodes, by the ids in its first column, or hold edges"));

  // Alone, or with the ids of two other things, they number edges.
  CaseFolder alone;
  alone.write("people.csv", "id,user_id,item_id\n0,5,7\n1,7,6\n2,5,6\n");
  CHECK(alone.describe().spec.edges.at(0).source_column == "user_id");
  alone.write("follows.csv", "src,dst\n0,1\n1,2\n");
  CHECK(alone.describe().spec.edges.size() == 2);
}

TEST_CASE("node table: users, movies and ratings whose ids are the same numbers") {
  CaseFolder folder;
  std::string users = "id,age,zip\n", movies = "id,year\n", ratings = "user,movie,rating\n";
  for (int i = 0; i < 10; ++i) users += fmt::format("{},{},{}\n", i, 20 + i % 7, i % 5);
  for (int i = 0; i < 16; ++i) movies += fmt::format("{},{}\n", i, 1990 + i % 9);
  for (int i = 0; i < 80; ++i) ratings += fmt::format("{},{},{}\n", i % 10, i * 7 % 16, i % 5 + 1);
  folder.write("users.csv", users);
  folder.write("movies.csv", movies);
  folder.write("ratings.csv", ratings);
  const auto described = folder.describe();
  REQUIRE(described.spec.edges.size() == 1);
  CHECK(described.spec.edges[0].source == "users");
  CHECK(described.spec.edges[0].target == "movies");
  REQUIRE(described.spec.nodes.size() == 2);
  CHECK(described.spec.nodes[0].features.columns == std::vector<std::string>{"age", "zip"});
  const auto made = folder.by_guess(described);
  CHECK(made.dataset.schema().nodes[0].count == 10);
  CHECK(made.dataset.schema().nodes[1].count == 16);
}

TEST_CASE("node table: features in their order leave columns of texts out") {
  CaseFolder folder;
  folder.write("e.csv", "src,dst\n0,1\n1,2\n");
  folder.write("features.csv", "a,name,b\n1,x,2\n2,y,3\n3,z,4\n");
  const auto described = folder.describe();
  CHECK(warns_of(described, "features.csv: the columns name are texts, and no features"));
  CHECK(features_of(folder, folder.by_guess(described).dataset) ==
        std::vector<float>{1, 2, 2, 3, 3, 4});
}

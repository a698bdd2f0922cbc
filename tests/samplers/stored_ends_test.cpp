// Ends that links are ranked beside as NumPy writes them, what is no such file, and queries of
// links beside them.
#include "samplers/stored_ends.h"

#include "support/expect_error.h"
#include "support/npy_file.h"
#include "support/temp_dir.h"

#include <sluice/graph_schema.h>
#include <sluice/no_node.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::test;

namespace {

using Nodes = std::vector<std::uint64_t>;

StoredEnds open_valid(const TempDir& dir, std::uint64_t links, std::uint64_t nodes = 10) {
  return StoredEnds::open(dir / "valid.npy",
                          {links,
                           nodes,
                           "events",
                           "destinations",
                           "task.stored_negatives",
                           "a row an event in the order of time"});
}

std::shared_ptr<ListedLinks> links_between(const Nodes& sources, const Nodes& targets) {
  const auto column = [](const Nodes& nodes) {
    Array made = Array::make(DType::kU64, {static_cast<std::int64_t>(nodes.size())}).or_throw();
    std::ranges::copy(nodes, made.as<std::uint64_t>().begin());
    return made;
  };
  return std::make_shared<ListedLinks>(LinkArrays{column(sources), column(targets), {}, {}, {}});
}

// Nodes that rows of a mini-batch's queries stand for.
Nodes nodes_of(const QueryBatch& batch, const Array& rows, std::size_t type) {
  Nodes nodes;
  for (const std::int64_t row : rows.as<std::int64_t>())
    nodes.push_back(row < 0 ? kNoNode
                            : batch.seeds[type].as<std::uint64_t>()[static_cast<std::size_t>(row)]);
  return nodes;
}

}  // namespace

TEST_CASE("stored ends are rows of nodes, -1 where there is none, in any order") {
  const TempDir dir;
  dir.write("valid.npy", npy_table({3, 9, 0, -1, 5, 5}, 2));
  const StoredEnds ends = open_valid(dir, 3);
  CHECK(ends.columns() == 2);
  const Array read = ends.read_all(nullptr);
  REQUIRE(read.shape() == Array::Shape{3, 2});
  const auto nodes = read.as<std::uint64_t>();
  CHECK(Nodes(nodes.begin(), nodes.end()) == Nodes{3, 9, 0, kNoNode, 5, 5});
  const Nodes numbers{2, 0, 1, 1};
  Nodes some(8);
  ends.read(numbers, some).or_throw();
  CHECK(some == Nodes{5, 5, 3, 9, 0, kNoNode, 0, kNoNode});
}

TEST_CASE("a list of ends may have its header as any writer of .npy files puts it") {
  const TempDir dir;
  const std::string header = R"({"shape":(2,2),"fortran_order":False,"descr":"<i8"})"
                             "\n";
  const std::string front{
      '\x93', 'N', 'U', 'M', 'P', 'Y', 2, 0, static_cast<char>(header.size()), 0, 0, 0};
  dir.write("valid.npy", front + header + bytes_of_values<std::int64_t>({3, 9, 0, 1}));
  const Array read = open_valid(dir, 2).read_all(nullptr);
  const auto nodes = read.as<std::uint64_t>();
  CHECK(Nodes(nodes.begin(), nodes.end()) == Nodes{3, 9, 0, 1});
}

TEST_CASE("what is no list of ends is refused, and said why") {
  const TempDir dir;
  const std::string whole = npy_table({3, 9, 0, 1}, 2);
  const std::string bytes = bytes_of_values<std::int64_t>({3, 9, 0, 1});
  struct Bad {
    std::string text, words;
  };
  const std::vector<Bad> all{{"src,dst\n1,2\n", "is not an .npy file"},
                             {"", "is not an .npy file"},
                             {whole.substr(0, 9), "ends within its header"},
                             {whole.substr(0, 40), "ends within its header"},
                             {whole.substr(0, whole.size() - 1), "asks for"},
                             {whole + 'x', "asks for"},
                             {npy("<i8", "(4,)", bytes), "two dimensions"},
                             {npy("<i8", "(2, 0)", ""), "two dimensions"},
                             {npy("<f8", "(2, 2)", bytes), "int64"},
                             {npy("<i8", "(2, 2)", bytes, "True"), "row by row"},
                             {npy("<i8", "(2, 1000000)", bytes), "asks for"},
                             {npy("<i8", "(2, 10000000)", bytes), "10000000 columns"},
                             {npy_table({3, 9}, 2), "1 rows, and the part 2 events"},
                             {npy_table({3, 9, 10, 1}, 2), "row 1, column 0: 10"},
                             {npy_table({3, 9, 0, -2}, 2), "row 1, column 1: -2"}};
  for (const Bad& bad : all) {
    CAPTURE(bad.words);
    dir.write("valid.npy", bad.text);
    const Error error = expect_error([&] { (void)open_valid(dir, 2).read_all(nullptr); });
    CHECK(error.code() == ErrorCode::kData);
    CHECK(error.message().find(bad.words) != std::string::npos);
    CHECK(error.place().file == (dir / "valid.npy").string());
  }
  const TempDir none;
  const Error missing = expect_error([&] { (void)open_valid(none, 2); });
  CHECK(missing.code() == ErrorCode::kIo);
  CHECK(missing.hint().find("task.stored_negatives") != std::string::npos);
}

TEST_CASE("a row with the end of its own link is refused: rows in another order show by it") {
  const TempDir dir;
  dir.write("valid.npy", npy_table({3, 9, 0, -1}, 2));
  const StoredEnds ends = open_valid(dir, 2, 10'000);
  ends.check_beside(*links_between({3, 0}, {9999, 9}), StoredSide::kDestinations);
  const Error own = expect_error([&] {
    ends.check_beside(*links_between({7, 7}, {2, 0}), StoredSide::kDestinations);
  });
  CHECK(own.code() == ErrorCode::kData);
  CHECK(own.message().find("row 1, column 0: 0") != std::string::npos);
  const Error source = expect_error([&] {
    ends.check_beside(*links_between({9, 7}, {2, 2}), StoredSide::kSources);
  });
  CHECK(source.message().find("row 0, column 1: 9") != std::string::npos);
  // More rows than are looked at together: the last is looked at too.
  constexpr std::uint64_t kRows = 10'000;
  std::vector<std::int64_t> rows(kRows, 1);
  rows.back() = 2;
  dir.write("valid.npy", npy_table(rows, 1));
  const auto links = links_between(Nodes(kRows, 0), Nodes(kRows, 2));
  const Error last =
      expect_error([&] { open_valid(dir, kRows).check_beside(*links, StoredSide::kDestinations); });
  CHECK(last.message().find("row 9999, column 0: 2") != std::string::npos);
}

TEST_CASE("queries of links have the ends that are listed beside each, of both sides") {
  GraphSchema schema;
  schema.nodes.resize(2);
  schema.nodes[0].name = "user";
  schema.nodes[0].count = 6;
  schema.nodes[1].name = "item";
  schema.nodes[1].count = 9;
  schema.relations.resize(1);
  schema.relations[0].source = "user";
  schema.relations[0].target = "item";
  schema.relations[0].name = "buys";
  const Nodes sources{0, 1, 2, 3, 4}, targets{8, 7, 6, 5, 4};
  const std::vector<std::int64_t> destinations{0, 1, 2, -1, 3, 3, 1, 0, 2, 8};
  const std::vector<std::int64_t> others{5, 4, 3, -1, 2};
  const TempDir dir;
  dir.write("valid.npy", npy_table(destinations, 2));
  LinkQueryOptions options;
  options.batch_size = 2;
  options.listed_destinations = std::make_shared<StoredEnds>(open_valid(dir, 5, 9));
  dir.write("valid.npy.2", npy_table(others, 1));
  options.listed_sources = std::make_shared<StoredEnds>(
      StoredEnds::open(dir / "valid.npy.2", {5, 6, "links", "sources", "key", "in order"}));
  for (const Shuffle shuffle : {Shuffle::kOff, Shuffle::kEveryEpoch}) {
    options.shuffle = shuffle;
    const LinkQueries queries(schema, links_between(sources, targets), options);
    REQUIRE(queries.num_batches() == 3);
    Nodes seen;
    for (std::uint64_t index = 0; index < 3; ++index) {
      const QueryBatch batch = queries.batch(1, index, nullptr).or_throw();
      const Queries& asked = batch.queries;
      CHECK(asked.chunk == 1);
      CHECK(asked.shared.empty());
      const auto count = static_cast<std::size_t>(asked.size());
      REQUIRE(asked.negatives.shape() == Array::Shape{asked.size(), 2});
      REQUIRE(asked.shared_sources.shape() == Array::Shape{asked.size(), 1});
      const Nodes from = nodes_of(batch, asked.sources, 0);
      const Nodes to = nodes_of(batch, asked.negatives, 1);
      const Nodes beside = nodes_of(batch, asked.shared_sources, 0);
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t link = from[i];  // its source is its number
        seen.push_back(link);
        CHECK(static_cast<std::int64_t>(to[2 * i]) == destinations[2 * link]);
        CHECK(static_cast<std::int64_t>(to[2 * i + 1]) == destinations[2 * link + 1]);
        CHECK(static_cast<std::int64_t>(beside[i]) == others[link]);
      }
    }
    std::ranges::sort(seen);
    CHECK(seen == sources);
  }
  options.shared = {4, 0, 0};
  CHECK(expect_error([&] {
          (void)LinkQueries(schema, links_between(sources, targets), options);
        }).code() == ErrorCode::kUsage);
}

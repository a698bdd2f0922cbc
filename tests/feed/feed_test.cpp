// A loader by itself, opened within a budget from a flat table of options.
#include "feed/feed.h"
#include "support/expect_error.h"
#include "support/sample_dataset.h"
#include "support/temp_dir.h"

#include <doctest/doctest.h>
#include <sluice/registry.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace sluice;
using namespace sluice::test;

namespace {

using Keys = std::vector<std::pair<std::string, std::string>>;

const FeedRegistry& known_names() {
  static const FeedRegistry all{builtin_samplers(), builtin_caches()};
  return all;
}

FeedOptions options_of(const Keys& keys) {
  FeedOptions options(known_names());
  options.set(keys);
  return options;
}

Keys base(const Keys& more = {}) {
  Keys keys{{"fanout", "[5, 3]"}, {"batch_size", "16"}, {"hash", "true"}, {"memory", "\"64MiB\""}};
  keys.insert(keys.end(), more.begin(), more.end());
  return keys;
}

std::string sample_in(const TempDir& temp) {
  write_sample(temp / "data");
  return (temp / "data").string();
}

std::uint64_t hash_of(Feed& feed, std::uint64_t epoch) {
  feed.start({.epoch = epoch});
  while (feed.loader().next()) {
  }
  return feed.loader().stats().batches_xxh3;
}

}  // namespace

TEST_CASE("feed: the same mini-batches wherever data lies; waiting changes nothing") {
  const TempDir temp;
  const std::string path = sample_in(temp);
  const std::uint64_t wanted = hash_of(*Feed::open(path, options_of(base()), {}), 1);
  for (const char* features : {"\"memory\"", "\"disk\""}) {
    for (const char* topology : {"\"memory\"", "\"disk\""}) {
      const auto feed =
          Feed::open(path,
                     options_of(base({{"features", features},
                                      {"topology", topology},
                                      {"scratch", "\"" + temp.path().string() + "\""}})),
                     {});
      CHECK(feed->places().features.where ==
            (std::string(features) == "\"disk\"" ? Placement::kDisk : Placement::kMemory));
      feed->start({.epoch = 1});
      std::uint64_t batches = 0;
      for (;;) {
        while (!feed->loader().wait(std::chrono::milliseconds(1))) {
        }
        if (!feed->loader().next()) break;
        ++batches;
      }
      CHECK(feed->loader().wait(std::chrono::milliseconds(0)));
      CHECK(batches == feed->num_batches());
      CHECK(feed->loader().stats().batches_xxh3 == wanted);
    }
  }
}

TEST_CASE("feed: two beside one another within one budget") {
  const TempDir temp;
  const std::string path = sample_in(temp);
  const auto alone = Feed::open(path, options_of(base()), {});
  const Keys valid{{"part", "\"valid\""}, {"fanout", "[-1, -1]"}, {"shuffle", "false"}};
  const auto valid_alone = Feed::open(path, options_of(base(valid)), {});
  const auto feed = Feed::open(path, options_of(base()), {});
  const auto beside = feed->beside(options_of(base(valid)), {});
  for (const std::uint64_t epoch : {std::uint64_t{0}, std::uint64_t{1}}) {
    CHECK(hash_of(*feed, epoch) == hash_of(*alone, epoch));
    CHECK(hash_of(*beside, 0) == hash_of(*valid_alone, 0));
  }
  CHECK(feed->ledger()->peak() <= 64 * kMiB);
  const Error other = expect_error([&] {
    (void)feed->beside(options_of(base({{"queries", "\"links\""}})), {});
  });
  CHECK(other.code() == ErrorCode::kUsage);
}

TEST_CASE("feed: a budget that is too small is refused with one that works") {
  const TempDir temp;
  const std::string path = sample_in(temp);
  const Error error = expect_error([&] {
    (void)Feed::open(path, options_of(base({{"memory", "\"1MiB\""}})), {});
  });
  CHECK(error.code() == ErrorCode::kResource);
  const auto begin = error.hint().find('"') + 1;
  const std::string least = error.hint().substr(begin, error.hint().find('"', begin) - begin);
  CHECK(hash_of(*Feed::open(path, options_of(base({{"memory", "\"" + least + "\""}})), {}), 0) !=
        0);
}

TEST_CASE("feed: options that do not fit are named, with the nearest that does") {
  const std::vector<std::pair<Keys, std::string>> rows{
      {{{"fanuot", "[1]"}}, "unknown option 'fanuot'"},
      {{{"sampler", "\"neighbour\""}}, "there is no \"neighbour\""},
      {{{"sampler.fanuot", "[1]"}}, "unknown key 'sampler.fanuot'"},
      {{{"batch_size", "0"}}, "'batch_size'"},
      {{{"features", "\"disc\""}}, "did you mean \"disk\"?"},
  };
  for (const auto& [keys, words] : rows) {
    const Error error = expect_error([&, &given = keys] { (void)options_of(given); });
    CHECK(error.code() == ErrorCode::kUsage);
    CHECK_MESSAGE(std::string(error.what()).find(words) != std::string::npos, error.what());
  }
}

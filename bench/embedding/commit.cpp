#include "bench/embedding/cases.h"
#include "bench/support/folder.h"
#include "bench/support/program.h"
#include "bench/support/seconds.h"
#include "bench/support/write_rate.h"
#include "storage/io/aligned_buffer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace sluice::bench {
namespace {

struct Changed {
  std::uint64_t percent;
  const char* how;
  std::uint64_t step;  // from one row to the next that changes, in a hundredth of the table
};

// Rows that follow each other lie in as few pages as there can be; those here and there have a page
// each, or more.
constexpr std::array<Changed, 6> kChanged{{{0, "", 1},
                                           {1, "in a row", 1},
                                           {1, "here and there", 100},
                                           {10, "in a row", 1},
                                           {10, "here and there", 10},
                                           {100, "", 1}}};

std::string mode_of(const Changed& changed) {
  const std::string share = fmt::format("{} % of rows", changed.percent);
  return *changed.how == '\0' ? share : fmt::format("{} {}", share, changed.how);
}

struct Commits {
  double bytes = 0, seconds = 0;  // of the one in the middle, by time
};

Commits measure_commits(EmbeddingTable& table, const Changed& changed, std::uint64_t rounds) {
  const std::uint64_t count = table.rows() * changed.percent / 100;
  std::vector<std::uint64_t> ids(count);
  std::vector<double> seconds, bytes;
  const std::vector<float> gradients = gradients_of(count, table.dim());
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (std::uint64_t i = 0; i < count; ++i)
      ids[i] = changed.percent == 100 ? i : (i * changed.step + round) % table.rows();
    if (count != 0) {
      table.expect(ids);
      table.update(ids, gradients, 0.1);
    }
    const std::uint64_t before = table.stats().bytes_written;
    const auto begin = std::chrono::steady_clock::now();
    const std::uint64_t generation = table.commit();
    seconds.push_back(seconds_since(begin));
    bytes.push_back(static_cast<double>(table.stats().bytes_written - before));
    table.keep(std::span(&generation, 1));
  }
  return {median(bytes), median(seconds)};
}

// As many bytes written by the bare disk, and flushed.
double bare_rate(const EmbeddingSizes& sizes, double bytes) {
  const auto all = round_up_to_page(static_cast<std::uint64_t>(bytes));
  const std::uint64_t request = std::min<std::uint64_t>(4 << 20, round_up_to_page(all / 4));
  std::vector<double> rates;
  rates.reserve(sizes.rounds);
  for (std::uint64_t round = 0; round < sizes.rounds; ++round)
    rates.push_back(write_rate(sizes.dir, {.request_bytes = request, .bytes = all}));
  return median(rates);
}

}  // namespace

void commit_case(const EmbeddingSizes& sizes) {
  const Folder folder(std::filesystem::path(sizes.dir) / "bench-embedding-commit");
  ThreadArena threads(static_cast<int>(sizes.threads));
  const auto table = create_embedding_table(table_options(sizes, folder.path() / "rows", threads));
  touch_all(*table, table->rows());
  const std::uint64_t first = table->commit();
  table->keep(std::span(&first, 1));
  for (const Changed& changed : kChanged) {
    const Commits commits = measure_commits(*table, changed, sizes.rounds);
    Line line{.name = "commit", .work = commits.bytes, .seconds = commits.seconds};
    line.disk_rate = bare_rate(sizes, commits.bytes);
    line.more["mode"] = mode_of(changed);
    line.more["rows"] = sizes.rows;
    line.more["dim"] = sizes.dim;
    line.more["optimizer"] = sizes.optimizer;
    print(line);
  }
}

}  // namespace sluice::bench

// bench/embedding: tables of rows that are trained, beside the bare disk and beside memory.
#include "bench/embedding/cases.h"
#include "bench/support/program.h"

int main(int argc, char** argv) {
  sluice::bench::EmbeddingSizes sizes;
  sluice::bench::Program program("embedding",
                                 "Tables of rows that are trained: commits, windows, partitions.");
  program.option("--dir", sizes.dir, "a folder on the disk to measure");
  program.option("--rows", sizes.rows, "of a table");
  program.option("--dim", sizes.dim, "values a row");
  program.option("--optimizer", sizes.optimizer, "of commit, windows and partitions");
  program.option("--times", sizes.times, "how many times its cache a table is (windows)");
  program.option("--window", sizes.window, "rows that a mini-batch asks for");
  program.option("--windows", sizes.windows, "mini-batches");
  program.option(
      "--together", sizes.together, "mini-batches whose rows are read at once (windows)");
  program.option("--partitions", sizes.partitions, "of a table (partitions)");
  program.option("--slots", sizes.slots, "partitions to train in, beside a spare one");
  program.option("--rounds", sizes.rounds, "the middle one counts");
  program.option("--threads", sizes.threads, "that gather and update; 0: all cores");
  program.add_case("commit", "commits after 0, 1, 10 and 100 % of the rows changed", [&] {
    sluice::bench::commit_case(sizes);
  });
  program.add_case("windows", "gather and update of random and skewed rows, from disk", [&] {
    sluice::bench::windows_case(sizes);
  });
  program.add_case("partitions", "partitions read and written as an epoch swaps them", [&] {
    sluice::bench::partitions_case(sizes);
  });
  program.add_case(
      "steps", "steps of each optimizer, in memory", [&] { sluice::bench::steps_case(sizes); });
  return program.run(argc, argv);
}

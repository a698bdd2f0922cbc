// COO to CSC: in memory beside SciPy, DGL and PyG, and in a small budget beside the disk.
#include "bench/conversion/external.h"
#include "bench/conversion/in_memory.h"
#include "bench/support/program.h"

int main(int argc, char** argv) {
  using namespace sluice::bench;
  Program program("conversion", "COO to CSC, in memory and through the disk");
  InMemoryOptions memory;
  ExternalOptions external;
  std::string name = "once";
  program.option("--dir", memory.dir, "a folder on the disk to measure; 30 GB for external");
  program.option("--scale", memory.scale, "in memory: 2^scale nodes, 16 edges a node");
  program.option("--threads", memory.threads, "data threads");
  program.option("--rounds", memory.rounds, "in memory: rounds, of which the middle one counts");
  memory.peers = SLUICE_BENCH_PEERS;
  program.option("--peers", memory.peers, "the script that runs the peers; empty: none");
  program.option("--edges", external.edges, "external: edges");
  program.option("--external-scale", external.scale, "external: 2^scale nodes");
  program.option("--memory", external.memory, "external: the budget");
  program.option("--larger", external.larger, "external: a budget to compare with; empty: none");
  program.option("--name", name, "external_once: of the output in --dir");
  external.in_cgroup = SLUICE_IN_CGROUP;
  const auto share = [&] {
    external.dir = memory.dir;
    external.threads = memory.threads;
  };
  program.add_case(
      "in_memory", "a graph in memory, beside the peers", [&] { measure_in_memory(memory); });
  program.add_case("external", "a file of pairs to a dataset, in a cgroup of the budget", [&] {
    share();
    measure_external(external);
  });
  program.add_hidden_case("external_once", [&] {
    share();
    convert_once(external, name);
  });
  return program.run(argc, argv);
}

// COO to CSC: in memory beside SciPy, DGL and PyG, and in a small budget beside the disk.
#include "bench/conversion/events.h"
#include "bench/conversion/external.h"
#include "bench/conversion/in_memory.h"
#include "bench/support/program.h"

int main(int argc, char** argv) {
  using namespace sluice::bench;
  Program program("conversion", "COO to CSC, in memory and through the disk");
  InMemoryOptions memory;
  ExternalOptions external;
  EventOptions events;
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
  program.option("--edge-ids", external.edge_ids, "external_once: 1 to keep edge ids");
  program.option("--times", external.times, "external_once: 1 to keep times, which need edge ids");
  program.option("--hub-scale", events.hub_scale, "event_hubs: 2^scale nodes");
  program.option("--hub-events", events.hub_events, "event_hubs: events");
  program.option("--name", name, "external_once: of the output in --dir");
  external.in_cgroup = SLUICE_IN_CGROUP;
  const auto share = [&] {
    external.dir = memory.dir;
    external.threads = memory.threads;
    events.dir = memory.dir;
    events.scale = memory.scale;
    events.threads = memory.threads;
    events.rounds = memory.rounds;
    events.peers = memory.peers;
  };
  program.add_case(
      "in_memory", "a graph in memory, beside the peers", [&] { measure_in_memory(memory); });
  program.add_case("external", "a file of pairs to a dataset, in a cgroup of the budget", [&] {
    share();
    measure_external(external);
  });
  program.add_case("events", "events in the order of time, in memory, beside SciPy", [&] {
    share();
    measure_events(events);
  });
  program.add_case("event_hubs", "as many events between few nodes and between many", [&] {
    share();
    measure_event_hubs(events);
  });
  program.add_case(
      "external_events", "67 M events with times to a dataset, within a tenth of them", [&] {
        share();
        measure_external_events(external);
      });
  program.add_hidden_case("external_once", [&] {
    share();
    convert_once(external, name);
  });
  return program.run(argc, argv);
}

#include "registry/core.h"

#include "prep/generate/hetero.h"
#include "prep/generate/kg.h"
#include "prep/generate/rmat.h"
#include "prep/generate/sbm.h"
#include "prep/generate/temporal.h"
#include "prep/layout/dgl.h"
#include "prep/layout/files.h"
#include "prep/layout/named_triples.h"
#include "prep/layout/ogb.h"
#include "prep/layout/openke.h"
#include "prep/layout/tu.h"
#include "prep/order/bfs_order.h"
#include "prep/order/cluster_order.h"
#include "prep/order/degree_order.h"
#include "prep/order/metis_order.h"
#include "prep/order/none_order.h"
#include "prep/table/csr_reader.h"
#include "prep/table/csv_reader.h"
#include "prep/table/graphs_reader.h"
#include "prep/table/ipc_reader.h"
#include "prep/table/list_reader.h"
#include "prep/table/metis_reader.h"
#include "prep/table/mtx_reader.h"
#include "prep/table/npy_reader.h"
#include "prep/table/npz_reader.h"
#include "prep/table/parquet_reader.h"
#include "prep/table/raw_reader.h"

namespace sluice {

TableFormats table_formats() {
  TableFormats formats;
  formats.add<CsvReader>("csv",
                         "comma- or tab-separated text, with a header or without (.csv, .tsv)");
  formats.add<ListReader>("list",
                          "an edge list: fields by white space, # comments (.txt, .el, ...)");
  formats.add<TriplesReader>("triples", "a knowledge graph: head, relation, tail (.triples)");
  formats.add<OpenKeReader>(
      "openke", "a knowledge graph by number: a count, then head, tail, relation; or name, number");
  formats.add<MultiplexReader>("multiplex", "type, source, target and maybe label (.multiplex)");
  formats.add<MtxReader>("mtx", "a sparse MatrixMarket file: source, target, weight (.mtx)");
  formats.add<MetisReader>("metis", "a METIS graph: tables edges, nodes (.metis, .graph)");
  formats.add<GraphsReader>("graphs", "many small graphs in a text: tables edges, nodes, graphs");
  formats.add<NpyReader>("npy", "a NumPy array of numbers, one or two dimensions (.npy)");
  formats.add<NpzReader>("npz", "NumPy arrays by name, or a SciPy sparse matrix (.npz)");
  formats.add<CsrReader>("csr", "a sparse matrix in .npy files, named by its NAME_indptr.npy");
  formats.add<ParquetReader>("parquet", "Parquet (.parquet, .pq)");
  formats.add<IpcReader>("arrow", "an Arrow IPC file or stream (.arrow, .feather, .ipc)");
  formats.add<RawReader>("raw", "a binary array without a header, as [raw] says (.bin, .raw)");
  return formats;
}

Layouts layouts() {
  Layouts layouts("layout");
  layouts.add<OgbLayout>("ogb", "Open Graph Benchmark: raw/edge.csv.gz, split/SCHEME/...");
  layouts.add<TuLayout>("tu",
                        "TU Dortmund's sets of small graphs: DS_A.txt, DS_graph_indicator.txt");
  layouts.add<DglLayout>("dgl", "DGL: a metadata.yaml (GraphBolt) or meta.yaml (CSVDataset)");
  layouts.add<OpenKeLayout>("openke", "OpenKE: train2id.txt, entity2id.txt, relation2id.txt");
  layouts.add<NamedTriplesLayout>("triples",
                                  "numbered triples and names: train.txt, entities.txt, "
                                  "relations.txt");
  layouts.add<FilesLayout>("files", "any files: a guess by names, extensions, first rows and ids");
  return layouts;
}

Catalog<Generator> builtin_generators() {
  Catalog<Generator> generators("generator");
  generators.add<RmatGenerator>("rmat", "R-MAT: a power-law graph of 2^scale nodes");
  generators.add<SbmGenerator>("sbm", "stochastic block model: nodes of a class prefer each other");
  generators.add<TemporalGenerator>("temporal", "events in time order, many of them repeated");
  generators.add<HeteroGenerator>("hetero",
                                  "papers, authors and institutions, or any number of relations");
  generators.add<KgGenerator>("kg", "a knowledge graph: entities, relations, triples");
  return generators;
}

Catalog<NodeOrder> node_orders() {
  Catalog<NodeOrder> orders("node order");
  orders.add<NoneOrder>("none", "as the nodes came");
  orders.add<DegreeOrder>("degree", "hot nodes first: those that are most often a source");
  orders.add<BfsOrder>("bfs", "breadth-first from hot nodes");
  orders.add<MetisOrder>("metis", "by part of a METIS partition; the graph is in memory");
  orders.add<ClusterOrder>("cluster", "by cluster of a label propagation that streams the edges");
  return orders;
}

}  // namespace sluice

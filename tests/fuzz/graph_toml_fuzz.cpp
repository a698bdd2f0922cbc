// graph.toml: parsed, bound to a GraphSpec and completed; no file is opened.
#include "fuzz/targets.h"
#include "prep/import/graph_spec.h"
#include "registry/core.h"

namespace sluice::fuzz {
namespace {

void body(std::string_view bytes) {
  static const TableFormats formats = table_formats();
  const auto refused = refusal_of([&] {
    GraphSpec spec(formats);
    Config::parse(std::string(bytes), "graph.toml").bind_to(spec);
    complete_spec(spec);
    std::size_t named = 0;
    for (const SpecFile& file : files_of(spec)) named += file.file.size();
    expect(named != 0, "a complete spec names files");
    Schema schema;
    spec.describe(schema);
    expect(!schema.dump().empty(), "and can be written");
  });
  if (refused) expect(refused->code() == ErrorCode::kUsage, "what is wrong here is usage");
}

std::vector<std::string> seeds() {
  return {"[[edges]]\nfile = 'e.csv'\n",
          "root = 'raw'\n[[nodes]]\ncount = 3\nids = 'integer'\n"
          "features = { file = 'x.npy', not_finite = 'zero' }\n"
          "labels = { file = 'y.csv', columns = ['y'], kind = 'class', classes = 3 }\n"
          "[[edges]]\nfile = 'e.csv'\nsource_column = 'src'\nreverse = 'rev'\n"
          "[[splits]]\nratio = [0.8, 0.1, 0.1]\n[csv]\ndelimiter = ';'\nblock = '64KiB'\n",
          "[[nodes]]\ntype = 'a'\nids = 'string'\nid_list = { file = 'a.csv' }\n"
          "[[nodes]]\ntype = 'b'\nunknown_ids = 'create'\n"
          "[[edges]]\nrelation = 'r'\nsource = 'a'\ntarget = 'b'\nfile = 'e.csv'\n"
          "type_column = 't'\ntime_column = 'time'\ntime_scale = 1e3\nweight_column = 'w'\n"
          "[[splits]]\nof = 'edges'\nrelation = 'r'\norder = 'time'\nratio = [1, 0, 0]\n",
          "[graphs]\nmembership = { file = 'g.csv' }\nlabels = { file = 'y.csv' }\n"
          "[[edges]]\nfile = 'e.csv'\n[[splits]]\nof = 'graphs'\ntrain = 't.csv'\n",
          "a = [[[[[[[[[[[[1]]]]]]]]]]]]\n",
          "x = 1979-05-27T(7:32:00\n",
          "\u00e9 = 1\n",
          "x = 1979-05-27T07:32:00Z\ny = nan\nz = 0x7fffffffffffffff\n"};
}

}  // namespace

Target graph_toml_target() {
  return {"graph_toml",
          body,
          seeds,
          {"[[nodes]]",
           "[[edges]]",
           "[[splits]]",
           "[graphs]",
           "file = ",
           "type = ",
           "ratio = ",
           "columns = ",
           "format = ",
           "features = ",
           "labels = ",
           "times = ",
           "id_list = ",
           "membership = ",
           "sizes = ",
           "first_id = ",
           "9223372036854775807",
           "'MiB'"}};
}

}  // namespace sluice::fuzz

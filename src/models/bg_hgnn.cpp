#include "models/bg_hgnn.h"

#include "models/blended_rows.h"
#include "models/type_flow.h"

#include <memory>

namespace sluice::models {

void BgHgnn::Options::describe(Schema& schema) {
  gat.describe(schema);
  schema.field("rank", rank).help("products that a node's blend is the sum of").range(1, 1024);
  schema.field("code_width", code_width)
      .help("columns of the fixed random codes of node types and relations")
      .range(1, 1 << 16);
}

BgHgnn::BgHgnn(const Options& options, const ModelContext& context)
    : Gat(options.gat,
          context,
          "bg_hgnn",
          std::make_shared<BlendedRows>(
              BlendOptions{options.gat.stack.hidden, options.rank, options.code_width},
              context,
              type_flow(context.schema, context.target_types, options.gat.stack.layers)
                  .front()
                  .read)) {}

}  // namespace sluice::models

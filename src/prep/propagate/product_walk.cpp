#include "prep/propagate/product_walk.h"

#include "core/interrupt.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

constexpr const char* kWalkRows = "propagated rows";

class ProductWalk {
 public:
  ProductWalk(const WalkPlace& place, const TreePlan& plan, const WalkRoot& root)
      : place_(place),
        plan_(plan),
        root_(root),
        product_(place.dtype, place.chunk_bytes, plan.shape.panel, place.context),
        tables_(plan.tree.products.size()),
        progress_(place.context.progress, "propagate", num_edges(), "edges") {}

  ProductTables make() {
    if (root_.rows != nullptr && plan_.cut_first()) cut_root();
    make_room();
    for (std::size_t at = 0; at < tables_.size(); ++at)
      if (plan_.tree.products[at].kept) tables_[at] = table_of_product(at, plan_.shape.columns);
    for (panel_ = 0; panel_ < plan_.shape.panels(); ++panel_) {
      load_root();
      extend(std::nullopt, plan_.dtype, plan_.shape.rows);
    }
    return std::move(tables_);
  }

 private:
  const Product& product(std::size_t at) const { return plan_.tree.products[at]; }
  std::uint64_t rows_of(std::size_t at) const {
    return place_.manifest.schema.nodes[product(at).op.to].count;
  }
  std::uint32_t width() const { return plan_.shape.width(panel_); }

  std::uint64_t num_edges() const {
    std::uint64_t edges = 0;
    for (const Product& one : plan_.tree.products)
      edges += place_.manifest.schema.relations[one.op.relation].edges;
    return edges * plan_.shape.panels();
  }

  // @param columns all that the table has, or one panel's
  std::unique_ptr<PanelTable> table_of_product(std::size_t at, std::uint32_t columns) const {
    return std::make_unique<PanelTable>(
        place_.scratch, PanelShape{rows_of(at), columns, plan_.shape.panel}, place_.dtype);
  }

  void make_room() {
    std::uint64_t most = plan_.shape.rows * size_of(plan_.dtype);
    for (std::size_t at = 0; at < tables_.size(); ++at)
      if (plan_.tree.has_products_of(at))
        most = std::max(most, rows_of(at) * size_of(place_.dtype));
    resident_ =
        AlignedBuffer::make(most * plan_.shape.panel, &place_.context.ledger, "panel").or_throw();
  }

  // Calls take(first_row, rows) with all rows of the root, a chunk at a time.
  template <class Take>
  void scan_root(const Take& take) {
    const std::size_t row_bytes = root_.rows->row_bytes();
    const std::uint64_t chunk = chunk_rows(place_.chunk_bytes, row_bytes);
    const std::uint64_t most = std::min(chunk, plan_.shape.rows);
    AlignedBuffer rows =
        AlignedBuffer::make(most * row_bytes, &place_.context.ledger, kWalkRows).or_throw();
    for (std::uint64_t first = 0; first < plan_.shape.rows; first += chunk) {
      throw_if_interrupted();
      const std::uint64_t count = std::min(chunk, plan_.shape.rows - first);
      const std::span<std::byte> part = rows.bytes().first(count * row_bytes);
      root_.rows->read(first, part);
      take(first, part);
    }
  }

  void cut_root() {
    cut_ = std::make_unique<PanelTable>(place_.scratch, plan_.shape, plan_.dtype);
    const std::uint64_t rows =
        std::min(chunk_rows(place_.chunk_bytes, root_.rows->row_bytes()), plan_.shape.rows);
    AlignedBuffer room =
        AlignedBuffer::make(
            rows * plan_.shape.panel * size_of(plan_.dtype), &place_.context.ledger, kWalkRows)
            .or_throw();
    scan_root([&](std::uint64_t first, std::span<const std::byte> part) {
      cut_->write_whole_rows(first, part, room.bytes());
    });
    root_.panels = cut_.get();
  }

  void load_root() {
    const std::size_t element = size_of(plan_.dtype), bytes = width() * element;
    if (root_.panels != nullptr)
      return root_.panels->read_panel(panel_, resident_.bytes().first(plan_.shape.rows * bytes));
    const std::size_t row_bytes = root_.rows->row_bytes();
    scan_root([&](std::uint64_t first, std::span<const std::byte> part) {
      copy_columns(part.data() + plan_.shape.begin(panel_) * element,
                   row_bytes,
                   resident_.data() + first * bytes,
                   bytes,
                   bytes,
                   row_bytes == 0 ? 0 : part.size() / row_bytes);
    });
  }

  // All products of what is resident, then those of each of them, which becomes resident for it.
  void extend(std::optional<std::size_t> of, DType dtype, std::uint64_t rows) {
    const std::vector<std::size_t> next = plan_.tree.made_of(of);
    std::vector<std::unique_ptr<PanelTable>> steps(next.size());  // of this panel alone
    for (std::size_t i = 0; i < next.size(); ++i) {
      const bool kept = product(next[i]).kept;
      if (!kept) steps[i] = table_of_product(next[i], width());
      multiply(next[i], dtype, rows, kept ? *tables_[next[i]] : *steps[i], kept ? panel_ : 0);
    }
    for (std::size_t i = 0; i < next.size(); ++i) {
      if (!plan_.tree.has_products_of(next[i])) continue;
      const bool kept = product(next[i]).kept;
      const PanelTable& made = kept ? *tables_[next[i]] : *steps[i];
      const std::uint64_t count = rows_of(next[i]);
      made.read_panel(kept ? panel_ : 0,
                      resident_.bytes().first(count * width() * size_of(place_.dtype)));
      steps[i].reset();
      extend(next[i], place_.dtype, count);
    }
  }

  void multiply(
      std::size_t at, DType dtype, std::uint64_t rows, PanelTable& to, std::uint32_t panel) {
    const PanelView x{
        resident_.bytes().first(rows * width() * size_of(dtype)), dtype, rows, width()};
    EdgeSweep edges(place_.dataset,
                    place_.manifest,
                    product(at).op,
                    product_.max_rows(),
                    place_.context.ledger);
    const RelationSchema& relation = place_.manifest.schema.relations[product(at).op.relation];
    product_.multiply(x,
                      place_.weights,
                      edges,
                      fmt::format("relation '{}'", relation.key()),
                      [&](std::uint64_t first, std::span<const std::byte> part) {
                        to.write_rows(panel, first, part);
                      });
    progress_.add(relation.edges);
  }

  const WalkPlace& place_;
  const TreePlan& plan_;
  WalkRoot root_;
  PanelProduct product_;
  ProductTables tables_;
  Progress progress_;
  std::unique_ptr<PanelTable> cut_;  // the root by panels
  AlignedBuffer resident_;
  std::uint32_t panel_ = 0;
};

}  // namespace

std::uint64_t chunk_rows(std::uint64_t chunk_bytes, std::size_t row_bytes) {
  return std::max<std::uint64_t>(1, chunk_bytes / (row_bytes + sizeof(std::uint64_t)));
}

ProductTables make_products(const WalkPlace& place, const TreePlan& plan, const WalkRoot& root) {
  return ProductWalk(place, plan, root).make();
}

}  // namespace sluice

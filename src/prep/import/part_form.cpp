// Whether a part of a split is a mask, and whose its rows are.
#include "prep/import/mask_cells.h"
#include "prep/import/places_look.h"
#include "prep/import/split_parts.h"
#include "prep/table/column_names.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <limits>

namespace sluice {
namespace {

constexpr const char* kGiveIds = "give ids: numpy.flatnonzero(mask) has them";

/// Whether 0 and 1 may be ids, each once.
bool may_be_ids(const MaskGlance& glance, const NodeIds& ids) {
  const bool from_one = ids.kind() == IdKind::kDense && ids.first_id() == 1;
  if (glance.rows == 1) return glance.ones == 0 ? !from_one : from_one || *ids.count() > 1;
  return glance.rows == 2 && glance.ones == 1 && !from_one;
}

class MaskForm {
 public:
  MaskForm(ImportContext& context,
           const SplitPart& part,
           const SplitRows& rows,
           const MaskGlance& glance)
      : context_(context),
        part_(part),
        rows_(rows),
        glance_(glance),
        count_(*rows.ids.count()),
        what_(glance.truths ? "is a mask" : "holds 0 and 1 alone, as a mask does") {}

  PartForm run() {
    if (!part_.id_column.empty()) return {true, part_.id_column};
    if (!glance_.truths && may_be_ids(glance_, rows_.ids)) return say_ids();
    const std::string id = find_ids();
    if (id.empty()) check_rows();
    if (!glance_.truths)
      context_.prep.log.warn("{}: 0 and 1 alone, {}: taken as a mask, {} are in it",
                             part_.file,
                             id.empty() ? fmt::format("one for each of the {}", rows_.what)
                                        : fmt::format("beside the ids of {}", rows_.what),
                             format_count(glance_.ones));
    return {true, id};
  }

  [[noreturn]] void refuse(const std::string& message, const std::string& hint) const {
    throw Error(
        ErrorCode::kData, message, hint, Place{(context_.root / part_.file).string(), -1, -1, -1});
  }

 private:
  PartForm say_ids() const {
    if (glance_.rows == count_ && count_ > 1)
      context_.prep.log.warn("{}: 0 and 1 are taken as ids here; for a mask of the {} store bool",
                             part_.file,
                             rows_.what);
    return {};
  }

  /// The column of ids beside the mask, where its rows may not be in the order of the nodes.
  std::string find_ids() const {
    const auto table = context_.open(part_.file, part_.format);
    const std::string mask = find_id_column(*table, part_.column).name;
    std::string id = sort_columns(table->columns(), known_ids(*table, mask)).id;
    if (id.empty() || id == mask || is_listed() || in_order(id)) return {};
    context_.prep.log.warn("{}: the column '{}' holds ids: the mask{} goes by them (id_column)",
                           part_.file,
                           id,
                           mask.empty() ? "" : fmt::format(" '{}'", mask));
    return id;
  }

  /// The name of the ids, where the id list says it.
  std::string known_ids(const TableReader& table, const std::string& mask) const {
    if (rows_.node == nullptr || rows_.node->id_list.file.empty()) return {};
    const IdFileSpec& list = rows_.node->id_list;
    if (list.file == part_.file && list.column.empty()) return table.columns().front().name;
    for (const ColumnInfo& column : table.columns())
      if (column.name == list.column && column.name != mask) return column.name;
    return {};
  }

  /// Whether the table itself lists the nodes, each of them.
  bool is_listed() const {
    return rows_.node != nullptr && rows_.node->id_list.file == part_.file &&
           rows_.node->unknown_ids != UnknownIds::kCreate;
  }

  /// Whether ids count up as the nodes do, or number something else than rows.
  bool in_order(const std::string& id) const {
    const bool dense = rows_.ids.kind() == IdKind::kDense;
    const std::uint64_t most =
        dense ? std::numeric_limits<std::uint64_t>::max() : std::uint64_t{1} << 16;
    const PlacesLook look(context_.spec.formats, context_.formats, context_.root, context_.prep);
    const ColumnPeek ids = look.peek(part_.file, part_.format, id, most);
    if (ids.rows == 0) return false;
    if (ids.rows < most && ids.rows != glance_.rows) return true;  // another array of an archive
    if (!ids.different && !is_id_name(id)) return true;            // the graph of a node, say
    return dense && ids.counts_up && ids.first == rows_.ids.first_id() && ids.rows == count_;
  }

  /// That rows in their order say whose they are.
  void check_rows() const {
    if (glance_.rows != count_)
      refuse(fmt::format("{}, of {} rows, but there are {} {}",
                         what_,
                         format_count(glance_.rows),
                         format_count(count_),
                         rows_.what),
             fmt::format("a mask has one row for each of the {}, in their order; or {}",
                         rows_.what,
                         kGiveIds));
    if (rows_.ordered()) return;
    refuse(
        fmt::format("{}, and nothing tells the order of the {}", what_, rows_.what),
        fmt::format("name the list of their ids: id_list = {{ file = ... }}; or the ids beside the "
                    "mask: id_column; or {}",
                    kGiveIds));
  }

  ImportContext& context_;
  const SplitPart& part_;
  const SplitRows& rows_;
  const MaskGlance& glance_;
  std::uint64_t count_;
  std::string what_;
};

}  // namespace

PartForm form_of_part(ImportContext& context, const SplitPart& part, const SplitRows& rows) {
  const MaskGlance glance = glance_at_mask(context, part);
  MaskForm form(context, part, rows, glance);
  if (glance.bits) return form.run();
  if (part.id_column.empty()) return {};
  form.refuse(fmt::format("{}: id_column is of masks, and this holds other values than true and "
                          "false, or 0 and 1",
                          part.name),
              "leave id_column out for a file of ids, or name the mask: column = ..., or columns = "
              "[...] of the parts");
}

}  // namespace sluice

#include "train/carry_file.h"

#include <span>
#include <utility>

namespace sluice {

CarryFile::CarryFile(const std::filesystem::path& folder, MemoryLedger& ledger)
    : file_(File::scratch(folder).or_throw()),
      charge_(ledger.charge("carried rows", 0).or_throw()) {}

std::size_t CarryFile::write(const LayerCarry& carry) {
  constexpr std::uint64_t kOfEntry = sizeof(Stored) + 64;  // with its shape, about
  charge_.resize(charge_.bytes() + carry.size() * kOfEntry).or_throw();
  std::vector<Stored>& entry = entries_.emplace_back();
  for (const torch::Tensor& each : carry) {
    Stored stored;
    if (each.defined()) {
      const torch::Tensor whole = each.contiguous();
      const auto bytes = static_cast<std::size_t>(whole.nbytes());
      stored = {whole.scalar_type(), whole.sizes().vec(), true, end_};
      if (bytes != 0)
        file_.write_at(end_, {static_cast<const std::byte*>(whole.const_data_ptr()), bytes})
            .or_throw();
      end_ += bytes;
    }
    entry.push_back(std::move(stored));
  }
  return entries_.size() - 1;
}

LayerCarry CarryFile::read(std::size_t entry) const {
  LayerCarry carry;
  for (const Stored& stored : entries_.at(entry)) {
    torch::Tensor& made = carry.emplace_back();
    if (!stored.defined) continue;
    made = torch::empty(stored.shape, stored.dtype);
    const auto bytes = static_cast<std::size_t>(made.nbytes());
    if (bytes != 0)
      file_.read_at(stored.offset, {static_cast<std::byte*>(made.data_ptr()), bytes}).or_throw();
  }
  return carry;
}

}  // namespace sluice

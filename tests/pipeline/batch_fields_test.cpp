// Every field of a Batch, whatever it is called, goes through scratch files, packing and the hash:
// this fills all of them by the one description there is (core/batch_fields.h).
#include "core/batch_fields.h"
#include "pipeline/gpu/batch_packing.h"
#include "pipeline/stream/batch_spool.h"

#include "support/temp_dir.h"

#include <doctest/doctest.h>
#include <sluice/random.h>

#include <cstring>
#include <functional>
#include <vector>

using namespace sluice;

namespace {

constexpr std::size_t kDtypes = 4;

// Gives each field a value of its own: lists two elements, arrays some random bytes.
class FieldFiller {
 public:
  explicit FieldFiller(RandomKey key) : key_(key) {}

  template <class Number>
  void number(Number& value) {
    value = static_cast<Number>(1 + key_.below(2, ++fields_));
  }
  template <class List>
  void count(List& list) {
    list.resize(2);
  }
  void array(Array& array, BatchPart) {
    constexpr DType kinds[kDtypes] = {DType::kU64, DType::kI64, DType::kI32, DType::kF32};
    const RandomKey own = key_.with(++fields_);
    const auto rows = 1 + static_cast<std::int64_t>(own.below(900, 0));
    const auto columns = 1 + static_cast<std::int64_t>(own.below(3, 1));
    array = Array::make(kinds[own.below(kDtypes, 2)], {rows, columns}).or_throw();
    for (std::size_t i = 0; i < array.bytes(); ++i)
      array.raw()[i] = static_cast<std::byte>(own.draw(i + 3));
  }

 private:
  RandomKey key_;
  std::uint64_t fields_ = 0;
};

// All that is in a batch's fields, one after the other, but arrays of parts that were left out.
class FieldBytes {
 public:
  explicit FieldBytes(std::function<bool(BatchPart)> wanted) : wanted_(std::move(wanted)) {}

  template <class Number>
  void number(const Number& value) {
    add(static_cast<std::uint64_t>(value));
  }
  template <class List>
  void count(const List& list) {
    add(list.size());
  }
  void array(const Array& array, BatchPart part) {
    if (!wanted_(part)) return;
    add(static_cast<std::uint64_t>(array.dtype()));
    for (const std::int64_t extent : array.shape()) add(static_cast<std::uint64_t>(extent));
    bytes.insert(bytes.end(), array.raw().begin(), array.raw().end());
    ++arrays;
  }

  std::vector<std::byte> bytes;
  std::size_t arrays = 0;

 private:
  void add(std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8)
      bytes.push_back(static_cast<std::byte>(value >> shift));
  }

  std::function<bool(BatchPart)> wanted_;
};

Batch full_batch(std::uint64_t seed) {
  Batch batch;
  FieldFiller filler{RandomKey(seed)};
  visit_batch(batch, filler);
  return batch;
}

FieldBytes bytes_of(const Batch& batch, std::function<bool(BatchPart)> wanted) {
  FieldBytes bytes(std::move(wanted));
  visit_batch(batch, bytes);
  return bytes;
}

// Calls `change` with a copy of the batch for each array, that array one bit off.
template <class See>
void for_each_change(const Batch& batch, const See& see) {
  std::size_t count = 0;
  for_each_array(batch, [&](const Array&, BatchPart) { ++count; });
  for (std::size_t chosen = 0; chosen < count; ++chosen) {
    Batch changed = batch;
    std::size_t at = 0;
    BatchPart of = BatchPart::kSampled;
    for_each_array(changed, [&](Array& array, BatchPart part) {
      if (at++ != chosen) return;
      of = part;
      Array other = Array::make(array.dtype(), array.shape()).or_throw();
      std::memcpy(other.raw().data(), array.raw().data(), array.bytes());
      other.raw()[array.bytes() / 2] ^= std::byte{1};
      array = std::move(other);
    });
    see(changed, of);
  }
}

}  // namespace

TEST_CASE("batch fields: a scratch file gives back every field that is sampled") {
  const test::TempDir dir;
  MemoryLedger ledger;
  {
    Batch first = full_batch(1), second = full_batch(2);
    first.epoch = second.epoch = 3;
    first.index = 10;
    second.index = 11;
    BatchSpool spool(dir.path(), 10, ledger);
    const std::vector<Array> numbers(2);
    spool.append(first, numbers);
    spool.append(second, numbers);
    spool.finish();
    const auto sampled = [](BatchPart part) { return part == BatchPart::kSampled; };
    for (const Batch* batch : {&first, &second}) {
      const Batch back = std::move(spool.read(batch->index).batch);
      const FieldBytes wanted = bytes_of(*batch, sampled), found = bytes_of(back, sampled);
      CHECK(wanted.arrays > 20);
      CHECK(wanted.bytes == found.bytes);
      const auto others = [](BatchPart part) { return part != BatchPart::kSampled; };
      for_each_array(back, [&](const Array& array, BatchPart part) {
        if (others(part)) CHECK(array.empty());
      });
    }
  }
  CHECK(ledger.used() == 0);
}

TEST_CASE("batch fields: a slab holds every field but features, which have room there") {
  const Batch batch = full_batch(5);
  const std::vector<Array::Shape> shapes{{7, 3}, {2, 9}};
  const BatchPacking packing(batch, shapes, Gather::kHost);
  const auto slab = std::make_shared<std::vector<std::byte>>(packing.slab_bytes());
  packing.pack(batch, *slab);
  Batch there = packing.on_device(batch, slab->data(), MemorySpace::kHost, slab);
  const auto packed = [](BatchPart part) { return part != BatchPart::kFeatures; };
  CHECK(bytes_of(batch, packed).bytes == bytes_of(there, packed).bytes);
  std::size_t i = 0;
  for_each_array(there, [&](Array& array, BatchPart part) {
    if (part == BatchPart::kFeatures)
      array = packing.features_in(slab->data(), i++ % 2, MemorySpace::kHost, slab);
  });
  CHECK(i > 2);
  CHECK(there.nodes[1].features[1].shape() == shapes[1]);
  for_each_array(there, [&](const Array& array, BatchPart) {
    const auto* at = static_cast<const std::byte*>(array.data());
    CHECK(at >= slab->data());
    CHECK(at + array.bytes() <= slab->data() + slab->size());
  });
}

TEST_CASE("batch fields: the hash tells every field but what follows from others") {
  const Batch batch = full_batch(9);
  const std::uint64_t hash = hash_batch(batch);
  CHECK(hash == hash_batch(full_batch(9)));
  for_each_change(batch, [&](const Batch& changed, BatchPart of) {
    CHECK((hash_batch(changed) == hash) == (of == BatchPart::kDerived));
  });
}

// Sums and differences of counters, field by field: structs of numbers, arrays of numbers and other
// such structs. A field that is added to one of them is covered as it is: fields are counted, and a
// number of them that is not known yet does not compile.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>

namespace sluice {
namespace counts {

// What any field can be made of.
struct AnyField {
  template <class T>
  operator T() const;
};

template <class T, class... Fields>
constexpr std::size_t num_fields() {
  if constexpr (requires { T{Fields{}..., AnyField{}}; }) {
    return num_fields<T, Fields..., AnyField>();
  } else {
    return sizeof...(Fields);
  }
}

template <class T>
auto fields_of(T& counts) {
  constexpr std::size_t kFields = num_fields<std::remove_const_t<T>>();
  static_assert(kFields == 2 || (kFields >= 4 && kFields <= 6) || kFields == 11,
                "say below what so many fields are");
  if constexpr (kFields == 2) {
    auto& [a, b] = counts;
    return std::tie(a, b);
  } else if constexpr (kFields == 4) {
    auto& [a, b, c, d] = counts;
    return std::tie(a, b, c, d);
  } else if constexpr (kFields == 5) {
    auto& [a, b, c, d, e] = counts;
    return std::tie(a, b, c, d, e);
  } else if constexpr (kFields == 6) {
    auto& [a, b, c, d, e, f] = counts;
    return std::tie(a, b, c, d, e, f);
  } else if constexpr (kFields == 11) {
    auto& [a, b, c, d, e, f, g, h, i, j, k] = counts;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k);
  }
}

// change(x, y) for each number of `to` and the one of `from` in its place.
template <class T, class Change>
void for_each_number(T& to, const T& from, const Change& change) {
  if constexpr (std::is_arithmetic_v<T>) {
    change(to, from);
  } else if constexpr (requires { to.size(); }) {
    for (std::size_t i = 0; i < to.size(); ++i) for_each_number(to[i], from[i], change);
  } else {
    std::apply(
        [&](auto&... of_to) {
          std::apply([&](auto&... of_from) { (for_each_number(of_to, of_from, change), ...); },
                     fields_of(from));
        },
        fields_of(to));
  }
}

}  // namespace counts

template <class T>
T& add_counts(T& to, const T& more) {
  counts::for_each_number(to, more, [](auto& sum, auto one) { sum += one; });
  return to;
}

/// What was counted between `before` and `now`.
template <class T>
T counts_since(const T& before, T now) {
  counts::for_each_number(now, before, [](auto& count, auto then) { count -= then; });
  return now;
}

}  // namespace sluice

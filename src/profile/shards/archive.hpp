// Partial results as bytes: one description of a struct's members writes it and reads it back.
//
// `fields(archive, value)` of a struct calls `archive.members(value, value.a, value.b, ...)`, which does not
// compile where one is left out. Contract: the bytes are for a process of the same build on a machine of the same
// byte order. A FromBytes reads nothing beyond its bytes, and `ok()` is false from the first thing on that cannot
// be there; what was read is then worthless. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace corewise::profile {

static_assert(std::endian::native == std::endian::little);

/// Becomes whatever a member is; only for counting them.
struct AnyMember {
  template <class T>
  operator T() const;
};

/// How many members an aggregate has.
template <class T, class... Known>
consteval std::size_t count_members() {
  if constexpr (requires { T{Known{}..., AnyMember{}}; })
    return count_members<T, Known..., AnyMember>();
  else
    return sizeof...(Known);
}

template <class T>
concept Scalar = std::is_arithmetic_v<T> || std::is_enum_v<T>;

/// Writes; see ToBytes::put for what can be written.
class ToBytes {
 public:
  template <class T, class... Members>
  void members(T&, Members&... all) {
    static_assert(sizeof...(Members) == count_members<T>(), "every member is listed");
    (put(all), ...);
  }
  template <Scalar T>
  void put(T& value) {
    out_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void put(std::string& text) {
    put_size(text.size());
    out_ += text;
  }
  template <class T, std::size_t N>
  void put(std::array<T, N>& items) {
    for (T& item : items) put(item);
  }
  template <class T>
  void put(std::vector<T>& items) {
    put_size(items.size());
    for (T& item : items) put(item);
  }
  template <class K, class V>
  void put(std::map<K, V>& items) {
    put_map(items);
  }
  template <class K, class V, class Hash>
  void put(std::unordered_map<K, V, Hash>& items) {
    put_map(items);
  }
  template <class A, class B>
  void put(std::pair<A, B>& both) {
    put(both.first);
    put(both.second);
  }
  template <class... T>
  void put(std::tuple<T...>& all) {
    std::apply([&](T&... each) { (put(each), ...); }, all);
  }
  template <class T>
    requires std::is_aggregate_v<T>
  void put(T& value) {
    fields(*this, value);
  }

  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  void put_size(std::uint64_t size) { put(size); }

  template <class Map>
  void put_map(Map& items) {
    put_size(items.size());
    for (auto& [key, value] : items) {
      auto copy = key;
      put(copy);
      put(value);
    }
  }

  std::string out_;
};

/// Reads what ToBytes wrote.
class FromBytes {
 public:
  explicit FromBytes(std::string_view bytes) : left_(bytes) {}

  template <class T, class... Members>
  void members(T&, Members&... all) {
    (put(all), ...);
  }
  template <Scalar T>
  void put(T& value) {
    if (left_.size() < sizeof value) return fail();
    std::memcpy(&value, left_.data(), sizeof value);
    left_.remove_prefix(sizeof value);
  }
  void put(std::string& text) {
    const std::size_t size = take_size();
    text.assign(left_.substr(0, size));
    left_.remove_prefix(size);
  }
  template <class T, std::size_t N>
  void put(std::array<T, N>& items) {
    for (T& item : items) put(item);
  }
  template <class T>
  void put(std::vector<T>& items) {
    for (std::size_t left = take_size(); left > 0 && ok_; --left) put(items.emplace_back());
  }
  template <class K, class V>
  void put(std::map<K, V>& items) {
    put_map<K>(items);
  }
  template <class K, class V, class Hash>
  void put(std::unordered_map<K, V, Hash>& items) {
    put_map<K>(items);
  }
  template <class A, class B>
  void put(std::pair<A, B>& both) {
    put(both.first);
    put(both.second);
  }
  template <class... T>
  void put(std::tuple<T...>& all) {
    std::apply([&](T&... each) { (put(each), ...); }, all);
  }
  template <class T>
    requires std::is_aggregate_v<T>
  void put(T& value) {
    fields(*this, value);
  }

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return ok_ && left_.empty(); }

 private:
  void fail() {
    ok_ = false;
    left_ = {};
  }

  /// Of a list, each of whose items has a byte at least.
  std::size_t take_size() {
    std::uint64_t size = 0;
    put(size);
    if (size <= left_.size()) return static_cast<std::size_t>(size);
    fail();
    return 0;
  }

  template <class K, class Map>
  void put_map(Map& items) {
    for (std::size_t left = take_size(); left > 0 && ok_; --left) {
      K key{};
      put(key);
      put(items[key]);
    }
  }

  std::string_view left_;
  bool ok_ = true;
};

}  // namespace corewise::profile

// NumPy arrays in and out, the few shapes that the rooms' bindings share. Arrays out own a copy of their data.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace corewise::bind {

template <class T>
using ArrayIn = nanobind::ndarray<const T, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;
template <class T>
using MatrixIn = nanobind::ndarray<const T, nanobind::ndim<2>, nanobind::c_contig, nanobind::device::cpu>;
template <class T>
using ArrayOut = nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<1>, nanobind::c_contig>;
template <class T>
using MatrixOut = nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<2>, nanobind::c_contig>;

/// Senders, receivers, bytes, messages: four arrays of equal length.
using CoordinatesOut = nanobind::typed<nanobind::tuple, ArrayOut<std::int32_t>, ArrayOut<std::int32_t>,
                                       ArrayOut<std::uint64_t>, ArrayOut<std::uint64_t>>;

template <class T>
nanobind::capsule owner(std::unique_ptr<std::vector<T>> data) {
  return nanobind::capsule(data.release(), [](void* held) noexcept { delete static_cast<std::vector<T>*>(held); });
}

/// An empty vector has no data pointer, which nanobind refuses: one unused element gives it one.
template <class T>
T* storage(std::vector<T>& data) {
  if (data.capacity() == 0) data.reserve(1);
  return data.data();
}

template <class T>
ArrayOut<T> to_array(std::vector<T> values) {
  auto held = std::make_unique<std::vector<T>>(std::move(values));
  T* data = storage(*held);
  const std::size_t size = held->size();
  return ArrayOut<T>(data, {size}, owner(std::move(held)));
}

template <class T>
MatrixOut<T> to_matrix(std::vector<T> values, std::size_t rows, std::size_t columns) {
  auto held = std::make_unique<std::vector<T>>(std::move(values));
  T* data = storage(*held);
  return MatrixOut<T>(data, {rows, columns}, owner(std::move(held)));
}

}  // namespace corewise::bind

// Constructors of datatypes (MPI-3.1, section 4.1): room kernels says what the layout is.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "simmpi/api/entry.hpp"

namespace corewise::simmpi {
namespace {

using kernels::Datatype;
using Numbers = std::vector<std::int64_t>;
using Shape = Result<Datatype>;

/// Runs of one size become one; whole items of one run are multiplied.
void append(Signature& to, const Signature& part, std::int64_t times) {
  if (part.size() == 1 || times == 0) {
    for (auto [size, count] : part) {
      if (times == 0) continue;
      if (!to.empty() && to.back().first == size) {
        to.back().second += count * times;
      } else {
        to.emplace_back(size, count * times);
      }
    }
    return;
  }
  for (std::int64_t i = 0; i < times; ++i) {
    for (const auto& run : part) to.push_back(run);
  }
}

template <class Number>
Numbers numbers(int count, const Number* values) {
  return count > 0 ? Numbers(values, values + count) : Numbers();
}

/// Gives the new type its handle; the types it is made of stay alive with it.
int finish(Entry& entry, Shape shape, Construction how, const std::vector<std::pair<Type*, std::int64_t>>& parts,
           MPI_Datatype* newtype) {
  if (!shape.ok()) return entry.raise(nullptr, MPI_ERR_ARG);
  if (newtype == nullptr) return entry.raise(nullptr, MPI_ERR_ARG);
  auto* made = new Type;
  made->shape = std::move(shape).value();
  for (const auto& [type, times] : parts) append(made->signature, type->signature, times);
  made->construction = std::move(how);
  for (const MPI_Datatype each : made->construction.types) retain(*type_of(each));
  *newtype = handle_of(*made);
  return MPI_SUCCESS;
}

std::int64_t sum(const Numbers& values) {
  std::int64_t total = 0;
  for (const std::int64_t value : values) total += value;
  return total;
}

/// The class of what is wrong with the arguments that all constructors have.
int problem_of(int count, const Type* old) {
  return Demands().that(count >= 0, MPI_ERR_COUNT).that(old != nullptr, MPI_ERR_TYPE).code();
}

void add(std::vector<int>& to, int count, const int* values) {
  if (count > 0) to.insert(to.end(), values, values + count);
}

/// A count as the standard wants it first in the list of integers.
Construction listed(int combiner, int count, MPI_Datatype old) {
  Construction how;
  how.combiner = combiner;
  how.integers = {count};
  how.types = {old};
  return how;
}

kernels::Order order_of(int order) {
  return order == MPI_ORDER_C ? kernels::Order::c : kernels::Order::fortran;
}

std::vector<kernels::Distribution> distributions(int count, const int* values) {
  std::vector<kernels::Distribution> all;
  for (int i = 0; i < count; ++i) {
    all.push_back(values[i] == MPI_DISTRIBUTE_BLOCK    ? kernels::Distribution::block
                  : values[i] == MPI_DISTRIBUTE_CYCLIC ? kernels::Distribution::cyclic
                                                       : kernels::Distribution::none);
  }
  return all;
}

}  // namespace
}  // namespace corewise::simmpi

using namespace corewise::simmpi;

extern "C" {

int PMPI_Type_contiguous(int count, MPI_Datatype oldtype, MPI_Datatype* newtype) {
  Entry entry("MPI_Type_contiguous");
  Type* old = type_of(oldtype);
  if (const int code = problem_of(count, old)) return entry.raise(nullptr, code);
  return finish(entry, corewise::kernels::contiguous(count, old->shape),
                listed(MPI_COMBINER_CONTIGUOUS, count, oldtype), {{old, count}}, newtype);
}

int PMPI_Type_vector(int count, int blocklength, int stride, MPI_Datatype oldtype, MPI_Datatype* newtype) {
  Entry entry("MPI_Type_vector");
  Type* old = type_of(oldtype);
  if (const int code = problem_of(count, old)) return entry.raise(nullptr, code);
  Construction how = listed(MPI_COMBINER_VECTOR, count, oldtype);
  how.integers.insert(how.integers.end(), {blocklength, stride});
  return finish(entry, corewise::kernels::vector(count, blocklength, stride, old->shape), std::move(how),
                {{old, std::int64_t{count} * blocklength}}, newtype);
}

int PMPI_Type_create_hvector(int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype,
                             MPI_Datatype* newtype) {
  Entry entry("MPI_Type_create_hvector");
  Type* old = type_of(oldtype);
  if (const int code = problem_of(count, old)) return entry.raise(nullptr, code);
  Construction how = listed(MPI_COMBINER_HVECTOR, count, oldtype);
  how.integers.push_back(blocklength);
  how.addresses = {stride};
  return finish(entry, corewise::kernels::hvector(count, blocklength, stride, old->shape), std::move(how),
                {{old, std::int64_t{count} * blocklength}}, newtype);
}

int PMPI_Type_indexed(int count, const int array_of_blocklengths[], const int array_of_displacements[],
                      MPI_Datatype oldtype, MPI_Datatype* newtype) {
  Entry entry("MPI_Type_indexed");
  Type* old = type_of(oldtype);
  if (const int code = problem_of(count, old)) return entry.raise(nullptr, code);
  Construction how = listed(MPI_COMBINER_INDEXED, count, oldtype);
  add(how.integers, count, array_of_blocklengths);
  add(how.integers, count, array_of_displacements);
  const Numbers lengths = numbers(count, array_of_blocklengths);
  return finish(entry, corewise::kernels::indexed(lengths, numbers(count, array_of_displacements), old->shape),
                std::move(how), {{old, sum(lengths)}}, newtype);
}

int PMPI_Type_create_hindexed(int count, const int array_of_blocklengths[], const MPI_Aint array_of_displacements[],
                              MPI_Datatype oldtype, MPI_Datatype* newtype) {
  Entry entry("MPI_Type_create_hindexed");
  Type* old = type_of(oldtype);
  if (const int code = problem_of(count, old)) return entry.raise(nullptr, code);
  Construction how = listed(MPI_COMBINER_HINDEXED, count, oldtype);
  add(how.integers, count, array_of_blocklengths);
  how.addresses.assign(array_of_displacements, array_of_displacements + count);
  const Numbers lengths = numbers(count, array_of_blocklengths);
  return finish(entry, corewise::kernels::hindexed(lengths, numbers(count, array_of_displacements), old->shape),
                std::move(how), {{old, sum(lengths)}}, newtype);
}

int PMPI_Type_create_indexed_block(int count, int blocklength, const int array_of_displacements[],
                                   MPI_Datatype oldtype, MPI_Datatype* newtype) {
  Entry entry("MPI_Type_create_indexed_block");
  Type* old = type_of(oldtype);
  if (const int code = problem_of(count, old)) return entry.raise(nullptr, code);
  Construction how = listed(MPI_COMBINER_INDEXED_BLOCK, count, oldtype);
  how.integers.push_back(blocklength);
  add(how.integers, count, array_of_displacements);
  return finish(entry,
                corewise::kernels::indexed_block(blocklength, numbers(count, array_of_displacements), old->shape),
                std::move(how), {{old, std::int64_t{count} * blocklength}}, newtype);
}

int PMPI_Type_create_hindexed_block(int count, int blocklength, const MPI_Aint array_of_displacements[],
                                    MPI_Datatype oldtype, MPI_Datatype* newtype) {
  Entry entry("MPI_Type_create_hindexed_block");
  Type* old = type_of(oldtype);
  if (const int code = problem_of(count, old)) return entry.raise(nullptr, code);
  Construction how = listed(MPI_COMBINER_HINDEXED_BLOCK, count, oldtype);
  how.integers.push_back(blocklength);
  how.addresses.assign(array_of_displacements, array_of_displacements + count);
  return finish(entry,
                corewise::kernels::hindexed_block(blocklength, numbers(count, array_of_displacements), old->shape),
                std::move(how), {{old, std::int64_t{count} * blocklength}}, newtype);
}

int PMPI_Type_create_struct(int count, const int array_of_blocklengths[], const MPI_Aint array_of_displacements[],
                            const MPI_Datatype array_of_types[], MPI_Datatype* newtype) {
  Entry entry("MPI_Type_create_struct");
  if (count < 0) return entry.raise(nullptr, MPI_ERR_COUNT);
  Construction how;
  how.combiner = MPI_COMBINER_STRUCT;
  how.integers = {count};
  add(how.integers, count, array_of_blocklengths);
  std::vector<Datatype> shapes;
  std::vector<std::pair<Type*, std::int64_t>> parts;
  for (int i = 0; i < count; ++i) {
    Type* type = type_of(array_of_types[i]);
    if (type == nullptr) return entry.raise(nullptr, MPI_ERR_TYPE);
    how.addresses.push_back(array_of_displacements[i]);
    how.types.push_back(array_of_types[i]);
    shapes.push_back(type->shape);
    parts.emplace_back(type, array_of_blocklengths[i]);
  }
  return finish(entry,
                corewise::kernels::structure(numbers(count, array_of_blocklengths),
                                             numbers(count, array_of_displacements), shapes),
                std::move(how), parts, newtype);
}

int PMPI_Type_create_subarray(int ndims, const int array_of_sizes[], const int array_of_subsizes[],
                              const int array_of_starts[], int order, MPI_Datatype oldtype, MPI_Datatype* newtype) {
  Entry entry("MPI_Type_create_subarray");
  Type* old = type_of(oldtype);
  if (const int code = problem_of(ndims, old)) return entry.raise(nullptr, code);
  Construction how = listed(MPI_COMBINER_SUBARRAY, ndims, oldtype);
  add(how.integers, ndims, array_of_sizes);
  add(how.integers, ndims, array_of_subsizes);
  add(how.integers, ndims, array_of_starts);
  how.integers.push_back(order);
  std::int64_t items = 1;
  for (int i = 0; i < ndims; ++i) items *= array_of_subsizes[i];
  return finish(entry,
                corewise::kernels::subarray(numbers(ndims, array_of_sizes), numbers(ndims, array_of_subsizes),
                                            numbers(ndims, array_of_starts), order_of(order), old->shape),
                std::move(how), {{old, items}}, newtype);
}

int PMPI_Type_create_darray(int size, int rank, int ndims, const int array_of_gsizes[],
                            const int array_of_distribs[], const int array_of_dargs[], const int array_of_psizes[],
                            int order, MPI_Datatype oldtype, MPI_Datatype* newtype) {
  Entry entry("MPI_Type_create_darray");
  Type* old = type_of(oldtype);
  if (const int code = problem_of(ndims, old)) return entry.raise(nullptr, code);
  Construction how = listed(MPI_COMBINER_DARRAY, size, oldtype);
  how.integers.insert(how.integers.end(), {rank, ndims});
  add(how.integers, ndims, array_of_gsizes);
  add(how.integers, ndims, array_of_distribs);
  add(how.integers, ndims, array_of_dargs);
  add(how.integers, ndims, array_of_psizes);
  how.integers.push_back(order);
  Shape shape = corewise::kernels::darray(size, rank, numbers(ndims, array_of_gsizes),
                                          distributions(ndims, array_of_distribs), numbers(ndims, array_of_dargs),
                                          numbers(ndims, array_of_psizes), order_of(order), old->shape);
  const std::int64_t items = shape.ok() && old->shape.size > 0 ? shape.value().size / old->shape.size : 0;
  return finish(entry, std::move(shape), std::move(how), {{old, items}}, newtype);
}

int PMPI_Type_create_resized(MPI_Datatype oldtype, MPI_Aint lb, MPI_Aint extent, MPI_Datatype* newtype) {
  Entry entry("MPI_Type_create_resized");
  Type* old = type_of(oldtype);
  if (old == nullptr) return entry.raise(nullptr, MPI_ERR_TYPE);
  Construction how;
  how.combiner = MPI_COMBINER_RESIZED;
  how.addresses = {lb, extent};
  how.types = {oldtype};
  return finish(entry, corewise::kernels::resized(old->shape, lb, extent), std::move(how), {{old, 1}}, newtype);
}

int PMPI_Type_dup(MPI_Datatype oldtype, MPI_Datatype* newtype) {
  Entry entry("MPI_Type_dup");
  Type* old = type_of(oldtype);
  if (old == nullptr) return entry.raise(nullptr, MPI_ERR_TYPE);
  Construction how;
  how.combiner = MPI_COMBINER_DUP;
  how.types = {oldtype};
  if (const int code = finish(entry, old->shape, std::move(how), {{old, 1}}, newtype)) return code;
  Type& made = *type_of(*newtype);
  made.committed = old->committed;
  made.element = old->element;
  made.kind = old->kind;
  for (const auto& [key, value] : old->attributes.all()) {
    const Keyval& known = entry.rank().keyvals[static_cast<std::size_t>(key)];
    void* copied = nullptr;
    int flag = 0;
    if (known.copy_type == nullptr) continue;
    const int code = known.copy_type(oldtype, key, known.extra, value, static_cast<void*>(&copied), &flag);
    if (code != MPI_SUCCESS) return entry.raise(nullptr, code);
    if (flag != 0) made.attributes.set(key, copied);
  }
  return MPI_SUCCESS;
}

int PMPI_Type_commit(MPI_Datatype* datatype) {
  Entry entry("MPI_Type_commit");
  Type* type = datatype != nullptr ? type_of(*datatype) : nullptr;
  if (type == nullptr) return entry.raise(nullptr, MPI_ERR_TYPE);
  type->committed = true;
  return MPI_SUCCESS;
}

int PMPI_Type_free(MPI_Datatype* datatype) {
  Entry entry("MPI_Type_free");
  Type* type = datatype != nullptr ? type_of(*datatype) : nullptr;
  if (type == nullptr || type->predefined()) return entry.raise(nullptr, MPI_ERR_TYPE);
  const auto attributes = type->attributes.all();
  for (auto each = attributes.rbegin(); each != attributes.rend(); ++each) {
    const Keyval& known = entry.rank().keyvals[static_cast<std::size_t>(each->first)];
    if (known.delete_type != nullptr) known.delete_type(*datatype, each->first, each->second, known.extra);
  }
  type->attributes = {};
  *datatype = MPI_DATATYPE_NULL;
  release(*type);
  return MPI_SUCCESS;
}

}  // extern "C"

COREWISE_ALIAS(Type_contiguous);
COREWISE_ALIAS(Type_vector);
COREWISE_ALIAS(Type_create_hvector);
COREWISE_ALIAS(Type_indexed);
COREWISE_ALIAS(Type_create_hindexed);
COREWISE_ALIAS(Type_create_indexed_block);
COREWISE_ALIAS(Type_create_hindexed_block);
COREWISE_ALIAS(Type_create_struct);
COREWISE_ALIAS(Type_create_subarray);
COREWISE_ALIAS(Type_create_darray);
COREWISE_ALIAS(Type_create_resized);
COREWISE_ALIAS(Type_dup);
COREWISE_ALIAS(Type_commit);
COREWISE_ALIAS(Type_free);

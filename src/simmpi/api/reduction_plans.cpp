// Plans of collectives that combine, and operators (MPI-3.1, section 5.9). SPDX-License-Identifier: BSD-3-Clause
#include <vector>

#include "simmpi/api/plans.hpp"

namespace corewise::simmpi {
namespace {

const void* operand_of(const Operands& operands) {
  return operands.in == MPI_IN_PLACE ? nullptr : operands.in;
}

int problem_of(const Operands& operands) {
  Operator* operation = operator_of(operands.operation);
  Type* type = type_of(operands.datatype);
  return Demands()
      .that(operands.count >= 0, MPI_ERR_COUNT)
      .that(usable(type), MPI_ERR_TYPE)
      .that(operation != nullptr && (type == nullptr || applies(*operation, *type)), MPI_ERR_OP)
      .code();
}

Plan plan_of(const Operands& operands, MPI_Comm comm) {
  Plan plan;
  plan.comm = comm_of(comm);
  plan.error = plan.comm == nullptr ? int{MPI_ERR_COMM} : problem_of(operands);
  return plan;
}

Reduction reduction_of(const Operands& operands) {
  return {operator_of(operands.operation), type_of(operands.datatype), operands.count};
}

void move(Plan& plan, const Operands& operands, std::int64_t count, int root = -1) {
  if (plan.error != MPI_SUCCESS) return;
  const Type* type = type_of(operands.datatype);
  plan.moved = Moved{root, type->bytes(count), type, {}};
}

}  // namespace

Plan plan_reduce(Operands operands, int root, MPI_Comm comm) {
  Plan plan = plan_of(operands, comm);
  if (plan.error == MPI_SUCCESS && (root < 0 || root >= plan.comm->size())) plan.error = MPI_ERR_ROOT;
  move(plan, operands, operands.count, root);
  plan.work = [how = reduction_of(operands), in = operand_of(operands), out = operands.out, root](Context& call) {
    reduce(call, how, in, out, root);
  };
  return plan;
}

Plan plan_all_reduce(Operands operands, MPI_Comm comm) {
  Plan plan = plan_of(operands, comm);
  move(plan, operands, operands.count);
  plan.work = [how = reduction_of(operands), in = operand_of(operands), out = operands.out](Context& call) {
    all_reduce(call, how, in, out);
  };
  return plan;
}

Plan plan_reduce_scatter(Operands operands, const int* counts, MPI_Comm comm) {
  Plan plan = plan_of(operands, comm);
  if (plan.error != MPI_SUCCESS) return plan;
  std::vector<std::int64_t> each;
  for (int rank = 0; rank < plan.comm->size(); ++rank) {
    each.push_back(counts != nullptr ? counts[rank] : operands.count);
    if (each.back() < 0) plan.error = MPI_ERR_COUNT;
  }
  Reduction how = reduction_of(operands);
  how.count = each[static_cast<std::size_t>(plan.comm->rank)];
  move(plan, operands, how.count);
  plan.work = [how, each, in = operand_of(operands), out = operands.out](Context& call) {
    reduce_scatter(call, how, each, in, out);
  };
  return plan;
}

Plan plan_scan(Operands operands, bool exclusive, MPI_Comm comm) {
  Plan plan = plan_of(operands, comm);
  move(plan, operands, operands.count);
  plan.work = [how = reduction_of(operands), in = operand_of(operands), out = operands.out,
               exclusive](Context& call) { scan(call, how, in, out, exclusive); };
  return plan;
}

}  // namespace corewise::simmpi

using namespace corewise::simmpi;

extern "C" {

int PMPI_Op_create(MPI_User_function* user_fn, int commute, MPI_Op* op) {
  *op = handle_of(*new Operator{std::nullopt, user_fn, commute != 0});
  return MPI_SUCCESS;
}

int PMPI_Op_free(MPI_Op* op) {
  Entry entry("MPI_Op_free");
  Operator* found = operator_of(*op);
  if (found == nullptr || found->function == nullptr) return entry.raise(nullptr, MPI_ERR_OP);
  *op = MPI_OP_NULL;  // collectives in the background may still use it
  return MPI_SUCCESS;
}

int PMPI_Op_commutative(MPI_Op op, int* commute) {
  Entry entry("MPI_Op_commutative");
  const Operator* found = operator_of(op);
  if (found == nullptr) return entry.raise(nullptr, MPI_ERR_OP);
  *commute = found->commutes ? 1 : 0;
  return MPI_SUCCESS;
}

int PMPI_Reduce_local(const void* inbuf, void* inoutbuf, int count, MPI_Datatype datatype, MPI_Op op) {
  Entry entry("MPI_Reduce_local");
  if (const int code = problem_of({inbuf, inoutbuf, count, datatype, op})) return entry.raise(nullptr, code);
  combine(*operator_of(op), *type_of(datatype), count, inbuf, inoutbuf);
  return MPI_SUCCESS;
}

}  // extern "C"

COREWISE_ALIAS(Op_create);
COREWISE_ALIAS(Op_free);
COREWISE_ALIAS(Op_commutative);
COREWISE_ALIAS(Reduce_local);

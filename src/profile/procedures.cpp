// The table of procedures.
// SPDX-License-Identifier: BSD-3-Clause
#include "profile/procedures.hpp"

#include <algorithm>
#include <cctype>

namespace corewise::profile {
namespace {

struct MessageRow {
  std::string_view name;
  Transfer transfer;
  std::string_view recorded;  ///< empty where the wrapper is written by hand
};

struct CollectiveRow {
  std::string_view name;
  Volume volume;
  Meeting meeting;
  std::string_view recorded;  ///< "{init}": the request of the persistent form, else nullptr
};

struct OneSidedRow {
  std::string_view name;
  bool with_request;  ///< has a form that returns a request
  std::string_view recorded;
};

constexpr std::string_view kSend = "event.send(dest, tag, count, datatype, comm);";
constexpr std::string_view kPostSend = "event.post_send(dest, tag, count, datatype, comm, *request);";
constexpr std::string_view kInitSend = "event.init_send(dest, tag, count, datatype, comm, *request);";

constexpr MessageRow kMessages[] = {
    {"send", Transfer::standard_send, kSend},
    {"bsend", Transfer::unwitnessed_send, kSend},
    {"ssend", Transfer::synchronous_send, kSend},
    {"rsend", Transfer::standard_send, kSend},
    {"isend", Transfer::posted_send, kPostSend},
    {"ibsend", Transfer::posted_send, kPostSend},
    {"issend", Transfer::posted_send, kPostSend},
    {"irsend", Transfer::posted_send, kPostSend},
    {"send_init", Transfer::posted_send, kInitSend},
    {"bsend_init", Transfer::posted_send, kInitSend},
    {"ssend_init", Transfer::posted_send, kInitSend},
    {"rsend_init", Transfer::posted_send, kInitSend},
    {"psend_init", Transfer::posted_send,
     "event.init_partitioned_send(partitions, dest, tag, count, datatype, comm, *request);"},
    {"recv", Transfer::other, "event.receive(own.value(), comm);"},
    {"irecv", Transfer::other, "event.post_receive(source, tag, count, datatype, comm, *request);"},
    {"recv_init", Transfer::other, "event.init_receive(source, tag, count, datatype, comm, *request);"},
    {"precv_init", Transfer::other,
     "event.init_partitioned_receive(partitions, source, tag, count, datatype, comm, *request);"},
    {"sendrecv", Transfer::unwitnessed_send,
     "event.send(dest, sendtag, sendcount, sendtype, comm); event.receive_half(own.value(), comm);"},
    {"sendrecv_replace", Transfer::unwitnessed_send,
     "event.send(dest, sendtag, count, datatype, comm); event.receive_half(own.value(), comm);"},
    {"isendrecv", Transfer::posted_send,
     "event.send(dest, sendtag, sendcount, sendtype, comm);"
     " event.post_receive(source, recvtag, recvcount, recvtype, comm, *request);"},
    {"isendrecv_replace", Transfer::posted_send,
     "event.send(dest, sendtag, count, datatype, comm);"
     " event.post_receive(source, recvtag, count, datatype, comm, *request);"},
    {"probe", Transfer::probe, "event.probe(own.value(), comm);"},
    {"iprobe", Transfer::other, "if (*flag != 0) event.probe(own.value(), comm); else event.miss();"},
    {"mprobe", Transfer::probe, "event.probe_message(own.value(), comm, *message);"},
    {"improbe", Transfer::other,
     "if (*flag != 0) event.probe_message(own.value(), comm, *message); else event.miss();"},
    {"mrecv", Transfer::other, "event.receive_message(own.value(), taken, datatype);"},
    {"imrecv", Transfer::other, "event.post_receive_message(taken, count, datatype, *request);"},
    {"request_get_status", Transfer::other, ""},
    {"wait", Transfer::other, ""},
    {"waitall", Transfer::other, ""},
    {"waitany", Transfer::other, ""},
    {"waitsome", Transfer::other, ""},
    {"test", Transfer::other, ""},
    {"testall", Transfer::other, ""},
    {"testany", Transfer::other, ""},
    {"testsome", Transfer::other, ""},
    {"test_cancelled", Transfer::other, ""},
    {"start", Transfer::other, ""},
    {"startall", Transfer::other, ""},
    {"cancel", Transfer::other, ""},
    {"request_free", Transfer::other, ""},
    {"pready", Transfer::other, ""},
    {"pready_list", Transfer::other, ""},
    {"pready_range", Transfer::other, ""},
    {"parrived", Transfer::other, ""},
};

constexpr std::string_view kRootless = "event.rootless(count, datatype, comm, {init});";
constexpr std::string_view kGather = "event.gather(sendbuf, sendcount, sendtype, root, comm, {init});";
constexpr std::string_view kScatter = "event.scatter(recvbuf, recvcount, recvtype, root, comm, {init});";
constexpr std::string_view kNeighborSame = "event.neighbor_same(sendcount, sendtype, comm, {init});";

constexpr CollectiveRow kCollectives[] = {
    {"barrier", Volume::none, Meeting::barrier, "event.collective(comm, MPI_PROC_NULL, {}, {init});"},
    {"bcast", Volume::from_root, Meeting::from_root, "event.rooted(count, datatype, root, comm, {init});"},
    {"scatter", Volume::from_root, Meeting::from_root, kScatter},
    {"scatterv", Volume::from_root, Meeting::from_root, kScatter},
    {"reduce", Volume::to_root, Meeting::to_root, "event.reduce(count, datatype, root, comm, {init});"},
    {"gather", Volume::to_root, Meeting::to_root, kGather},
    {"gatherv", Volume::to_root, Meeting::to_root, kGather},
    {"allreduce", Volume::reduced, Meeting::all_to_all, kRootless},
    {"allgather", Volume::to_each, Meeting::all_to_all,
     "event.allgather(sendbuf, sendcount, sendtype, recvcount, recvtype, comm, {init});"},
    {"allgatherv", Volume::to_each, Meeting::all_to_all,
     "event.allgatherv(sendbuf, sendcount, sendtype, recvcounts, recvtype, comm, {init});"},
    {"alltoall", Volume::to_each, Meeting::all_to_all,
     "event.alltoall(sendbuf, sendcount, sendtype, recvcount, recvtype, comm, {init});"},
    {"alltoallv", Volume::per_peer, Meeting::all_to_all,
     "event.alltoallv(sendbuf, sendcounts, sendtype, recvcounts, recvtype, comm, {init});"},
    {"alltoallw", Volume::per_peer, Meeting::all_to_all,
     "event.alltoallw(sendbuf, sendcounts, sendtypes, recvcounts, recvtypes, comm, {init});"},
    {"reduce_scatter", Volume::from_each, Meeting::all_to_all,
     "event.reduce_scatter(recvcounts, datatype, comm, {init});"},
    {"reduce_scatter_block", Volume::from_each, Meeting::all_to_all,
     "event.rootless(recvcount, datatype, comm, {init});"},
    {"scan", Volume::from_previous, Meeting::prefix, kRootless},
    {"exscan", Volume::from_previous, Meeting::prefix, kRootless},
    {"neighbor_allgather", Volume::per_peer, Meeting::none, kNeighborSame},
    {"neighbor_allgatherv", Volume::per_peer, Meeting::none, kNeighborSame},
    {"neighbor_alltoall", Volume::per_peer, Meeting::none, kNeighborSame},
    {"neighbor_alltoallv", Volume::per_peer, Meeting::none,
     "event.neighbor_v(sendcounts, sendtype, comm, {init});"},
    {"neighbor_alltoallw", Volume::per_peer, Meeting::none,
     "event.neighbor_w(sendcounts, sendtypes, comm, {init});"},
};

constexpr std::string_view kPut = "event.put(target_rank, origin_count, origin_datatype, win);";
constexpr std::string_view kGet = "event.get(target_rank, origin_count, origin_datatype, win);";

constexpr OneSidedRow kOneSided[] = {
    {"put", true, kPut},
    {"get", true, kGet},
    {"accumulate", true, kPut},
    {"get_accumulate", true,
     "event.fetch(target_rank, op, origin_count, origin_datatype, result_count, result_datatype, win);"},
    {"fetch_and_op", false, "event.fetch(target_rank, op, 1, datatype, 1, datatype, win);"},
    {"compare_and_swap", false, "event.fetch(target_rank, MPI_REPLACE, 1, datatype, 1, datatype, win);"},
};

constexpr std::string_view kStartup[] = {"init", "init_thread", "finalize", "session_init", "session_finalize"};

template <class Row, std::size_t count>
const Row* row_of(const Row (&table)[count], std::string_view name) {
  const auto* found =
      std::find_if(std::begin(table), std::end(table), [&](const Row& each) { return each.name == name; });
  return found == std::end(table) ? nullptr : found;
}

void drop_suffix(std::string& name, std::string_view suffix) {
  if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
}

std::string stem_of(std::string_view procedure) {
  std::string name(procedure);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  while (name.ends_with('_')) name.pop_back();
  if (name.starts_with("mpi_")) name.erase(0, 4);
  for (const std::string_view suffix : {"_f08ts", "_f08", "_c"}) drop_suffix(name, suffix);
  return name;
}

const CollectiveRow* collective_of(ProcedureFacts& facts) {
  std::string name = facts.stem;
  drop_suffix(name, "_init");
  const CollectiveRow* row = row_of(kCollectives, name);
  facts.persistent = row != nullptr && name != facts.stem;
  facts.blocking = row != nullptr && !facts.persistent;
  return row == nullptr && name.starts_with('i') ? row_of(kCollectives, std::string_view(name).substr(1)) : row;
}

const OneSidedRow* one_sided_of(std::string_view stem) {
  const OneSidedRow* row = row_of(kOneSided, stem);
  if (row != nullptr || !stem.starts_with('r')) return row;
  row = row_of(kOneSided, stem.substr(1));
  return row != nullptr && row->with_request ? row : nullptr;
}

std::string mpi_name(std::string_view name, std::string_view form = "") {
  std::string full = std::string(form) + std::string(name);
  full.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(full.front())));
  return "MPI_" + full;
}

std::string with_init(std::string_view statement, std::string_view init) {
  static constexpr std::string_view kMark = "{init}";
  std::string out(statement);
  return out.replace(out.find(kMark), kMark.size(), init);
}

}  // namespace

ProcedureFacts procedure_facts(std::string_view procedure) {
  ProcedureFacts facts;
  facts.stem = stem_of(procedure);
  const std::string_view stem = facts.stem;
  if (const MessageRow* message = row_of(kMessages, stem)) {
    facts.row = message->name;
    facts.sort = ProcedureSort::message;
    facts.transfer = message->transfer;
  } else if (const CollectiveRow* collective = collective_of(facts)) {
    facts.row = collective->name;
    facts.sort = ProcedureSort::collective;
    facts.volume = collective->volume;
    facts.meeting = collective->meeting;
  } else if (const OneSidedRow* one_sided = one_sided_of(stem)) {
    facts.row = one_sided->name;
    facts.sort = ProcedureSort::one_sided;
  } else if (std::find(std::begin(kStartup), std::end(kStartup), stem) != std::end(kStartup)) {
    facts.sort = ProcedureSort::startup;
  } else if (stem.starts_with("win_") || stem.starts_with("file_")) {
    facts.sort = stem.starts_with("win_") ? ProcedureSort::one_sided : ProcedureSort::file;
  }
  return facts;
}

std::vector<std::pair<std::string, std::string>> recorded_procedures() {
  std::vector<std::pair<std::string, std::string>> out;
  for (const MessageRow& row : kMessages)
    if (!row.recorded.empty()) out.emplace_back(mpi_name(row.name), row.recorded);
  for (const CollectiveRow& row : kCollectives) {
    out.emplace_back(mpi_name(row.name), with_init(row.recorded, "nullptr"));
    out.emplace_back(mpi_name(row.name, "i"), with_init(row.recorded, "nullptr"));
    out.emplace_back(mpi_name(row.name) + "_init", with_init(row.recorded, "request"));
  }
  for (const OneSidedRow& row : kOneSided) {
    out.emplace_back(mpi_name(row.name), row.recorded);
    if (row.with_request) out.emplace_back(mpi_name(row.name, "r"), row.recorded);
  }
  return out;
}

std::vector<std::string> collective_procedures() {
  std::vector<std::string> out;
  for (const CollectiveRow& row : kCollectives)
    for (const std::string_view form : {"", "i"}) out.push_back(mpi_name(row.name, form));
  return out;
}

}  // namespace corewise::profile

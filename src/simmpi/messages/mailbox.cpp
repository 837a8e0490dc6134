// Two lists, searched from their heads. SPDX-License-Identifier: BSD-3-Clause
#include "simmpi/messages/mailbox.hpp"

namespace corewise::simmpi {
namespace {

bool fits(int wanted_source, int wanted_tag, const Message& message) {
  return (wanted_source == MPI_ANY_SOURCE || wanted_source == message.source) &&
         (wanted_tag == MPI_ANY_TAG || wanted_tag == message.tag);
}

template <class Node>
void append(Node*& first, Node*& last, Node& node) {
  node.next = nullptr;
  (last != nullptr ? last->next : first) = &node;
  last = &node;
}

/// Takes out the first node that fits.
template <class Node, class Fits>
Node* take(Node*& first, Node*& last, Fits wanted) {
  Node* before = nullptr;
  for (Node* node = first; node != nullptr; before = node, node = node->next) {
    if (!wanted(*node)) continue;
    (before != nullptr ? before->next : first) = node->next;
    if (last == node) last = before;
    node->next = nullptr;
    return node;
  }
  return nullptr;
}

}  // namespace

void Mailbox::post(Request& receive) {
  append(first_receive_, last_receive_, receive);
}

Request* Mailbox::take_receive(const Message& message) {
  return take(first_receive_, last_receive_,
              [&](const Request& receive) { return fits(receive.peer, receive.tag, message); });
}

Request* Mailbox::first_fitting(const Message& message) const {
  for (Request* receive = first_receive_; receive != nullptr; receive = receive->next) {
    if (fits(receive->peer, receive->tag, message)) return receive;
  }
  return nullptr;
}

void Mailbox::add(Message& message) {
  append(first_message_, last_message_, message);
}

Message* Mailbox::find(int source, int tag) const {
  for (Message* message = first_message_; message != nullptr; message = message->next) {
    if (fits(source, tag, *message)) return message;
  }
  return nullptr;
}

Message* Mailbox::take_message(int source, int tag) {
  return take(first_message_, last_message_, [&](const Message& message) { return fits(source, tag, message); });
}

void Mailbox::remove(Message& message) {
  take(first_message_, last_message_, [&](const Message& each) { return &each == &message; });
  message.taken = true;
}

bool Mailbox::withdraw(Request& receive) {
  return take(first_receive_, last_receive_, [&](const Request& each) { return &each == &receive; }) != nullptr;
}

}  // namespace corewise::simmpi

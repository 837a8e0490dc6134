// Matching: the order that MPI-3.1, section 3.5, asks for, with and without wildcards.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "simmpi/messages/mailbox.hpp"

namespace corewise::simmpi {
namespace {

Request receive(int source, int tag) {
  Request request;
  request.kind = Request::Kind::receive;
  request.peer = source;
  request.tag = tag;
  return request;
}

Message message(int source, int tag) {
  Message made;
  made.source = source;
  made.tag = tag;
  return made;
}

TEST(Mailbox, AMessageTakesTheFirstReceiveThatFits) {
  Mailbox box;
  Request other = receive(1, 8);
  Request any = receive(MPI_ANY_SOURCE, MPI_ANY_TAG);
  Request exact = receive(1, 7);
  for (Request* each : {&other, &any, &exact}) box.post(*each);
  const Message first = message(1, 7);
  EXPECT_EQ(box.take_receive(first), &any);
  EXPECT_EQ(box.take_receive(first), &exact);
  EXPECT_EQ(box.take_receive(first), nullptr);
  EXPECT_EQ(box.take_receive(message(1, 8)), &other);
}

TEST(Mailbox, AReceiveTakesTheFirstMessageThatFits) {
  Mailbox box;
  Message a = message(2, 1);
  Message b = message(1, 1);
  Message c = message(1, 2);
  for (Message* each : {&a, &b, &c}) box.add(*each);
  EXPECT_EQ(box.find(MPI_ANY_SOURCE, 2), &c);
  EXPECT_EQ(box.find(1, MPI_ANY_TAG), &b);
  EXPECT_EQ(box.take_message(MPI_ANY_SOURCE, MPI_ANY_TAG), &a);
  EXPECT_EQ(box.take_message(1, MPI_ANY_TAG), &b);
  EXPECT_EQ(box.take_message(2, 1), nullptr);
  EXPECT_EQ(box.take_message(1, 2), &c);
}

TEST(Mailbox, WhatIsTakenBackLeavesTheOrderOfTheOthers) {
  Mailbox box;
  Request first = receive(0, 1);
  Request second = receive(0, 1);
  Request third = receive(0, 1);
  for (Request* each : {&first, &second, &third}) box.post(*each);
  EXPECT_TRUE(box.withdraw(third));
  EXPECT_TRUE(box.withdraw(first));
  EXPECT_FALSE(box.withdraw(first));
  EXPECT_EQ(box.take_receive(message(0, 1)), &second);
  box.post(third);
  EXPECT_EQ(box.take_receive(message(0, 1)), &third);
}

}  // namespace
}  // namespace corewise::simmpi

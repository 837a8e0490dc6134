// The executable that runs simulated ranks. Everything is in the library, which the ranks' programs use too.
// SPDX-License-Identifier: BSD-3-Clause
extern "C" int corewise_simmpi_main(int count, char** words);

int main(int count, char** words) {
  return corewise_simmpi_main(count, words);
}

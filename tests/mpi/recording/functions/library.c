/* A shared library; built a second time as the plugin that is loaded by dlopen.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifdef PLUGIN
#define NAME from_plugin
#else
#define NAME from_library
#endif

__attribute__((noinline)) static int static_in_library(int value) {
  return value + 1;
}

int NAME(int value) {
  return static_in_library(value) + 1;
}

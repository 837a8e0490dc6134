/* corewise.h: a program names its own regions and phases, for `corewise run`.
 *
 *   corewise_begin("solve");  ...  corewise_end();     a region; regions nest, in every thread by themselves
 *   corewise_phase("setup");                           lasts until the thread's next phase
 *
 * Nothing has to be linked: without `corewise run` the calls do nothing. C and C++, GCC and Clang, ELF systems.
 * Names are copied; they are told apart by their text, up to 255 bytes and 1024 names.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COREWISE_H
#define COREWISE_H

#define COREWISE_INLINE static __inline__ __attribute__((unused, no_instrument_function))

#ifdef __cplusplus
extern "C" {
#endif

/* The preload's functions, or null. In a program that is not position-independent the linker settles an undefined
 * weak symbol as null, unless all references go through the global offset table. */
#if defined(__x86_64__) && !defined(__ILP32__)
#define COREWISE_LOOK_UP(function, symbol) \
  __asm__(".weak " symbol "\n\tmovq " symbol "@GOTPCREL(%%rip), %0" : "=r"(function))
#else
extern void corewise_preload_begin(const char* name) __asm__("corewise_begin") __attribute__((weak));
extern void corewise_preload_end(void) __asm__("corewise_end") __attribute__((weak));
extern void corewise_preload_phase(const char* name) __asm__("corewise_phase") __attribute__((weak));
#define COREWISE_LOOK_UP(function, symbol) (function = corewise_preload_##function)
#endif

/* These are the file's own and need names of their own. */
COREWISE_INLINE void corewise_begin(const char* name) __asm__("corewise_local_begin");
COREWISE_INLINE void corewise_begin(const char* name) {
  void (*begin)(const char*);
  COREWISE_LOOK_UP(begin, "corewise_begin");
  if (begin) begin(name);
}

COREWISE_INLINE void corewise_end(void) __asm__("corewise_local_end");
COREWISE_INLINE void corewise_end(void) {
  void (*end)(void);
  COREWISE_LOOK_UP(end, "corewise_end");
  if (end) end();
}

COREWISE_INLINE void corewise_phase(const char* name) __asm__("corewise_local_phase");
COREWISE_INLINE void corewise_phase(const char* name) {
  void (*phase)(const char*);
  COREWISE_LOOK_UP(phase, "corewise_phase");
  if (phase) phase(name);
}

#ifdef __cplusplus
}
#endif

#endif

/* corewise_sim.h: what a program on a simulated machine says of its own computation. Nothing else of it costs
 * simulated time: not the host's speed, not its load. With a real MPI the calls do nothing, so one source serves
 * both worlds.
 *
 *   cw_compute(cycles)      that many cycles of a core of the machine (setting cpu_ghz of corewise simrun)
 *   cw_compute_ns(ns)       that many nanoseconds
 *   cw_operations(count)    so many operations (setting operations_per_cycle)
 *
 * Where the settings cache_line_bytes, cache_sets and cache_ways describe a software cache in the local store of a
 * rank that is an SPE, data may lie in main memory behind it. Without such a cache these calls do nothing either.
 *
 *   cw_main_memory(start, bytes)    from now on these data lie in main memory; messages touch their own buffers
 *   cw_local_store(start)           what begins there is in the local store again (call it before it is freed)
 *   cw_touch(start, bytes, write)   the rank reads or writes these bytes: a look-up for each line of the cache, the
 *                                   transfers of a miss; nothing for data in the local store
 *
 * Where the setting overlay_bytes says how much room the local store has for code that comes from main memory:
 *
 *   cw_overlay(code, bytes)   the rank is about to run this code; a load where it is not there
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COREWISE_SIM_H
#define COREWISE_SIM_H

#include <stddef.h>

#if defined(COREWISE_SIMMPI)
#ifdef __cplusplus
extern "C" {
#endif
void cw_compute(double cycles);
void cw_compute_ns(double nanoseconds);
void cw_operations(double count);
void cw_main_memory(const void* start, size_t bytes);
void cw_local_store(const void* start);
void cw_touch(const void* start, size_t bytes, int write);
void cw_overlay(const void* code, size_t bytes);
#ifdef __cplusplus
}
#endif
#else
static __inline__ void cw_compute(double cycles) {
  (void)cycles;
}
static __inline__ void cw_compute_ns(double nanoseconds) {
  (void)nanoseconds;
}
static __inline__ void cw_operations(double count) {
  (void)count;
}
static __inline__ void cw_main_memory(const void* start, size_t bytes) {
  (void)start;
  (void)bytes;
}
static __inline__ void cw_local_store(const void* start) {
  (void)start;
}
static __inline__ void cw_touch(const void* start, size_t bytes, int write) {
  (void)start;
  (void)bytes;
  (void)write;
}
static __inline__ void cw_overlay(const void* code, size_t bytes) {
  (void)code;
  (void)bytes;
}
#endif

#endif

/* corewise_sim.h: what a program on a simulated machine says of its own computation. Nothing else of it costs simulated
 * time: not the host's speed, not its load. With a real MPI the calls do nothing, so one source serves both worlds.
 *
 *   cw_compute(cycles)      that many cycles of a core of the machine (setting cpu_ghz of corewise simrun)
 *   cw_compute_ns(ns)       that many nanoseconds
 *   cw_operations(count)    so many operations (setting operations_per_cycle)
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COREWISE_SIM_H
#define COREWISE_SIM_H

#if defined(COREWISE_SIMMPI)
#ifdef __cplusplus
extern "C" {
#endif
void cw_compute(double cycles);
void cw_compute_ns(double nanoseconds);
void cw_operations(double count);
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
#endif

#endif

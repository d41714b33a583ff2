/* Calls that the real libraries refuse, and what they look like when they are taken, each
 * with the source. It knows the loopback by the public names of its functions. One thread
 * drives eight devices. */
#include "misuse.h"

#include "misuse_hip.h"
#include "misuse_memory.h"
#include "misuse_handles.h"
#include "misuse_callback.h"
#include "misuse_queries.h"
#include "misuse_pools.h"
#include "misuse_capture.h"
#include "misuse_coll.h"
#include "misuse_code.h"
#include "misuse_symbols.h"
#include "misuse_ipc.h"
#include "misuse_values.h"
#include "misuse_contexts.h"

int main(void) {
  open_all();
  devices();
  memory();
  copies();
  memory_of_programs();
  handles();
  functions_are_called();
  functions_take_time();
  queries();
  pools();
  streams();
  events();
  captures();
  kernels();
  modules();
  symbols();
  ipc();
  values();
  contexts();
  modes_of_captures();
  managed_memory();
  communicators();
  calls();
  operators();
  registrations();
  groups();
  refused_in_groups();
  refusals_are_told();
  close_all();
  return 0;
}

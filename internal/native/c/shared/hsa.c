/* HSA's runtime under its own name and with its symbols' version. HIP programs are linked with it,
 * and UCX, which Open MPI uses, calls it (libuct_rocm). There is no GPU for HSA, so hsa_init fails
 * as on a host without a GPU, and programs that check the result continue without ROCm. RCCL's
 * UnitTests ignore the result: before they fork they count the agents that are GPUs (ROCm/rccl,
 * test/common/EnvVars.cpp). The agents here are the GPUs that the process sees. */
#define ZBL_VENDOR ZB_ROCM
#include "place.c"

/* The numbers and names in this file are from hsa.h at ROCm 6.4. */
enum {
  ZBH_OK = 0,
  ZBH_ERR_ARGUMENT = 0x1001,
  ZBH_ERR_RESOURCES = 0x1008,
  ZBH_ERR_NOT_INITIALIZED = 0x100b,
  ZBH_NAME = 0,
  ZBH_VENDOR_NAME = 1,
  ZBH_DEVICE = 17,
  ZBH_GPU = 1
};

/* hsa_agent_t, which is passed by value. The number 0 means no agent. */
typedef struct zbh_agent {
  uint64_t number;
} zbh_agent;

#define ZBH_PUBLIC __attribute__((visibility("default")))
ZBH_PUBLIC int hsa_init(void);
ZBH_PUBLIC int hsa_shut_down(void);
ZBH_PUBLIC int hsa_iterate_agents(int (*each)(zbh_agent, void *), void *data);
ZBH_PUBLIC int hsa_agent_get_info(zbh_agent agent, int what, void *value);
ZBH_PUBLIC int hsa_status_string(int status, const char **text);

/* Returns how many GPUs the process sees. It does not open the world, because a fork would share
 * the open world. */
static int zbh_gpus(void) {
  const char *path = getenv("ZBENCH_LOOPBACK");
  char *text = path != NULL ? zbs_read(path) : NULL;
  zbl_share how = {0};
  int ranks = text != NULL ? zbs_ranks(text) : 0;
  free(text);
  return ranks == 0 || zbs_place(ranks, &how) != NULL ? 0 : how.count > 0 ? how.count : ranks;
}

int hsa_init(void) { return ZBH_ERR_RESOURCES; }
int hsa_shut_down(void) { return ZBH_ERR_NOT_INITIALIZED; }

int hsa_iterate_agents(int (*each)(zbh_agent, void *), void *data) {
  int code = each == NULL ? ZBH_ERR_ARGUMENT : ZBH_OK;
  for (int i = 1, n = zbh_gpus(); i <= n && code == ZBH_OK; i++) {
    code = each((zbh_agent){(uint64_t)i}, data);
  }
  return code;
}

int hsa_agent_get_info(zbh_agent agent, int what, void *value) {
  char name[64] = {0};
  if (agent.number == 0 || value == NULL || (what != ZBH_NAME && what != ZBH_VENDOR_NAME && what != ZBH_DEVICE)) {
    return ZBH_ERR_ARGUMENT;
  }
  if (what == ZBH_DEVICE) {
    *(int *)value = ZBH_GPU;
  } else {
    strcpy(name, what == ZBH_NAME ? "gfx942" : "AMD");
    memcpy(value, name, sizeof name);
  }
  return ZBH_OK;
}

int hsa_status_string(int status, const char **text) {
  if (text == NULL) {
    return ZBH_ERR_ARGUMENT;
  }
  *text = status == ZBH_OK ? "no error" : "the loopback has no HSA";
  return ZBH_OK;
}

/* Implements all other functions. A program that checks the result of hsa_init calls none of
 * them. */
int zbh_absent(void);
int zbh_absent(void) { return ZBH_ERR_NOT_INITIALIZED; }

#define ABSENT(name) __asm__(".globl hsa_" #name "\n.type hsa_" #name ", %function\n.set hsa_" #name ", zbh_absent");
/* Declare one function per memory order. */
#define READS(of) ABSENT(of##_acquire) ABSENT(of##_relaxed) ABSENT(of##_scacquire)
#define WRITES(of) ABSENT(of##_relaxed) ABSENT(of##_release) ABSENT(of##_screlease)
#define CHANGES(of)                                                            \
  READS(of) ABSENT(of##_release) ABSENT(of##_screlease) ABSENT(of##_acq_rel) ABSENT(of##_scacq_screl)
/* clang-format off */
CHANGES(queue_add_write_index) CHANGES(queue_cas_write_index) CHANGES(signal_add)
CHANGES(signal_and) CHANGES(signal_cas) CHANGES(signal_exchange) CHANGES(signal_or)
CHANGES(signal_subtract) CHANGES(signal_xor) READS(queue_load_read_index)
READS(queue_load_write_index) READS(signal_load) READS(signal_wait) WRITES(queue_store_read_index)
WRITES(queue_store_write_index) WRITES(signal_store) ABSENT(agent_extension_supported)
ABSENT(agent_get_exception_policies) ABSENT(agent_iterate_caches) ABSENT(agent_iterate_isas)
ABSENT(agent_iterate_regions) ABSENT(agent_major_extension_supported)
ABSENT(amd_agent_iterate_memory_pools) ABSENT(amd_agent_memory_pool_get_info)
ABSENT(amd_agent_set_async_scratch_limit) ABSENT(amd_agents_allow_access)
ABSENT(amd_async_function) ABSENT(amd_coherency_get_type) ABSENT(amd_coherency_set_type)
ABSENT(amd_deregister_deallocation_callback) ABSENT(amd_enable_logging) ABSENT(amd_image_create)
ABSENT(amd_image_get_info_max_dim) ABSENT(amd_interop_map_buffer) ABSENT(amd_interop_unmap_buffer)
ABSENT(amd_ipc_memory_attach) ABSENT(amd_ipc_memory_create) ABSENT(amd_ipc_memory_detach)
ABSENT(amd_ipc_signal_attach) ABSENT(amd_ipc_signal_create) ABSENT(amd_memory_async_copy)
ABSENT(amd_memory_async_copy_on_engine) ABSENT(amd_memory_async_copy_rect)
ABSENT(amd_memory_copy_engine_status) ABSENT(amd_memory_fill) ABSENT(amd_memory_lock)
ABSENT(amd_memory_lock_to_pool) ABSENT(amd_memory_migrate) ABSENT(amd_memory_pool_allocate)
ABSENT(amd_memory_pool_can_migrate) ABSENT(amd_memory_pool_free) ABSENT(amd_memory_pool_get_info)
ABSENT(amd_memory_unlock) ABSENT(amd_pointer_info) ABSENT(amd_pointer_info_set_userdata)
ABSENT(amd_portable_close_dmabuf) ABSENT(amd_portable_export_dmabuf)
ABSENT(amd_profiling_async_copy_enable) ABSENT(amd_profiling_convert_tick_to_system_domain)
ABSENT(amd_profiling_get_async_copy_time) ABSENT(amd_profiling_get_dispatch_time)
ABSENT(amd_profiling_set_profiler_enabled) ABSENT(amd_queue_cu_get_mask)
ABSENT(amd_queue_cu_set_mask) ABSENT(amd_queue_get_info) ABSENT(amd_queue_set_priority)
ABSENT(amd_register_deallocation_callback) ABSENT(amd_register_system_event_handler)
ABSENT(amd_signal_async_handler) ABSENT(amd_signal_create) ABSENT(amd_signal_value_pointer)
ABSENT(amd_signal_wait_all) ABSENT(amd_signal_wait_any) ABSENT(amd_spm_acquire)
ABSENT(amd_spm_release) ABSENT(amd_spm_set_dest_buffer) ABSENT(amd_svm_attributes_get)
ABSENT(amd_svm_attributes_set) ABSENT(amd_svm_prefetch_async) ABSENT(amd_vmem_address_free)
ABSENT(amd_vmem_address_reserve) ABSENT(amd_vmem_address_reserve_align)
ABSENT(amd_vmem_export_shareable_handle) ABSENT(amd_vmem_get_access)
ABSENT(amd_vmem_get_alloc_properties_from_handle) ABSENT(amd_vmem_handle_create)
ABSENT(amd_vmem_handle_release) ABSENT(amd_vmem_import_shareable_handle) ABSENT(amd_vmem_map)
ABSENT(amd_vmem_retain_alloc_handle) ABSENT(amd_vmem_set_access) ABSENT(amd_vmem_unmap)
ABSENT(cache_get_info) ABSENT(code_object_deserialize) ABSENT(code_object_destroy)
ABSENT(code_object_get_info) ABSENT(code_object_get_symbol)
ABSENT(code_object_get_symbol_from_name) ABSENT(code_object_iterate_symbols)
ABSENT(code_object_reader_create_from_file) ABSENT(code_object_reader_create_from_memory)
ABSENT(code_object_reader_destroy) ABSENT(code_object_serialize) ABSENT(code_symbol_get_info)
ABSENT(executable_agent_global_variable_define) ABSENT(executable_create)
ABSENT(executable_create_alt) ABSENT(executable_destroy) ABSENT(executable_freeze)
ABSENT(executable_get_info) ABSENT(executable_get_symbol) ABSENT(executable_get_symbol_by_name)
ABSENT(executable_global_variable_define) ABSENT(executable_iterate_agent_symbols)
ABSENT(executable_iterate_program_symbols) ABSENT(executable_iterate_symbols)
ABSENT(executable_load_agent_code_object) ABSENT(executable_load_code_object)
ABSENT(executable_load_program_code_object) ABSENT(executable_readonly_variable_define)
ABSENT(executable_symbol_get_info) ABSENT(executable_validate) ABSENT(executable_validate_alt)
ABSENT(ext_image_clear) ABSENT(ext_image_copy) ABSENT(ext_image_create)
ABSENT(ext_image_create_with_layout) ABSENT(ext_image_data_get_info)
ABSENT(ext_image_data_get_info_with_layout) ABSENT(ext_image_destroy) ABSENT(ext_image_export)
ABSENT(ext_image_get_capability) ABSENT(ext_image_get_capability_with_layout)
ABSENT(ext_image_import) ABSENT(ext_program_add_module) ABSENT(ext_program_create)
ABSENT(ext_program_destroy) ABSENT(ext_program_finalize) ABSENT(ext_program_get_info)
ABSENT(ext_program_iterate_modules) ABSENT(ext_sampler_create) ABSENT(ext_sampler_create_v2)
ABSENT(ext_sampler_destroy) ABSENT(extension_get_name) ABSENT(isa_compatible)
ABSENT(isa_from_name) ABSENT(isa_get_exception_policies) ABSENT(isa_get_info)
ABSENT(isa_get_info_alt) ABSENT(isa_get_round_method) ABSENT(isa_iterate_wavefronts)
ABSENT(memory_allocate) ABSENT(memory_assign_agent) ABSENT(memory_copy) ABSENT(memory_deregister)
ABSENT(memory_free) ABSENT(memory_register) ABSENT(queue_create) ABSENT(queue_destroy)
ABSENT(queue_inactivate) ABSENT(region_get_info) ABSENT(signal_create) ABSENT(signal_destroy)
ABSENT(signal_group_create) ABSENT(signal_group_destroy) ABSENT(signal_group_wait_any_relaxed)
ABSENT(signal_group_wait_any_scacquire) ABSENT(signal_silent_store_relaxed)
ABSENT(signal_silent_store_screlease) ABSENT(soft_queue_create) ABSENT(system_extension_supported)
ABSENT(system_get_extension_table) ABSENT(system_get_info)
ABSENT(system_get_major_extension_table) ABSENT(system_major_extension_supported)
ABSENT(ven_amd_pcs_create) ABSENT(ven_amd_pcs_create_from_id) ABSENT(ven_amd_pcs_destroy)
ABSENT(ven_amd_pcs_flush) ABSENT(ven_amd_pcs_iterate_configuration) ABSENT(ven_amd_pcs_start)
ABSENT(ven_amd_pcs_stop) ABSENT(wavefront_get_info)

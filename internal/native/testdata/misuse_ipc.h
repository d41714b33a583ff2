/* Memory between processes, as far as one process can try it; client_ipc.h has several. Rules
 * are of ROCm/clr at rocm-6.2.2, hipamd/src/hip_memory.cpp, hipIpcGetMemHandle,
 * hipIpcOpenMemHandle and hipIpcCloseMemHandle. */

enum { ERR_POINTER = 17, ERR_CONTEXT = 201 };

/* Where a handle has what: to forge one. */
typedef struct forged_handle {
  uint64_t bytes, offset, at;
  int64_t owner;
} forged_handle;

static zbs_ipc forged(const zbs_ipc *handle, const forged_handle *with) {
  zbs_ipc h = *handle;
  memcpy(&h, with, sizeof *with);
  return h;
}

static void wrong_handles(const zbs_ipc *handle) {
  void *p;
  forged_handle f;
  memcpy(&f, handle, sizeof f);
  IS(ERR_CONTEXT, ipcOpen(&p, *handle, 1)); /* its own */
  f.owner++;
  IS(ZB_ERR_VALUE, ipcOpen(NULL, forged(handle, &f), 1));
  IS(ZB_ERR_VALUE, ipcOpen(&p, forged(handle, &f), 2));
  IS(ERR_POINTER, ipcOpen(&p, forged(handle, &f), 0)); /* no file where others are */
  f.bytes = 0;
  IS(ZB_ERR_VALUE, ipcOpen(&p, forged(handle, &f), 1));
  f.bytes = SIZE + 1;
  IS(ERR_POINTER, ipcOpen(&p, forged(handle, &f), 1));
  f.bytes = f.offset = SIZE;
  IS(ERR_POINTER, ipcOpen(&p, forged(handle, &f), 1));
  f.offset = 0;
  for (uint64_t at = 1; at != 0; at <<= 1) { /* anywhere, in the arena and out of it */
    f.at = at + (at & 1);
    IS(ERR_POINTER, ipcOpen(&p, forged(handle, &f), 1));
    f.at = at - 1;
    IS(ERR_POINTER, ipcOpen(&p, forged(handle, &f), 1));
  }
}

static void ipc(void) {
  zbs_ipc handle, again;
  void *p, *host;
  float seen = 0, value = 12;
  IS(0, mallocDevice(&p, SIZE));
  IS(0, mallocHost(&host, SIZE));
  IS(0, copy(p, &value, sizeof value, ZB_TO_DEVICE));
  IS(ZB_ERR_VALUE, ipcGet(NULL, p));
  IS(ZB_ERR_VALUE, ipcGet(&handle, NULL));
  IS(ZB_ERR_VALUE, ipcGet(&handle, plain));
  IS(ZB_ERR_VALUE, ipcGet(&handle, host));
  IS(0, ipcGet(&handle, p));
  IS(0, ipcGet(&again, p));
  CHECK(memcmp(&handle, &again, sizeof handle) == 0);
  IS(0, copy(&seen, p, sizeof seen, ZB_TO_HOST));
  CHECK(seen == value);
  wrong_handles(&handle);
  IS(ZB_ERR_VALUE, ipcClose(NULL));
  IS(ZB_ERR_VALUE, ipcClose(plain));
  IS(ZB_ERR_VALUE, ipcClose(p)); /* it was not opened */
  IS(0, freeDevice(p));
  IS(0, hostFree(host));
}

/* Modules of a program's own, and variables of its device code. Files of ROCm/clr are those of
 * hipamd/src at rocm-6.2.2. */
#include "code_object.h"

#include <unistd.h>

enum { ERR_SYMBOL = 13, ERR_NO_BINARY = 209, ERR_KERNEL_FILE = 218, ERR_NO_FILE = 301 };

/* hip_module.cpp, hip_fatbin.cpp and hip_code_object.cpp. */
static void modules_that_are_none(const code_object *o) {
  code_bundle b = make_code_bundle();
  code_object cut = *o;
  void *m;
  IS(ZB_ERR_VALUE, moduleLoad(NULL, o));
  IS(ZB_ERR_VALUE, moduleLoad(&m, NULL));
  IS(ERR_KERNEL_FILE, moduleLoad(&m, "no code"));
  cut.head.e_ident[EI_CLASS] = ELFCLASS32;
  IS(ERR_KERNEL_FILE, moduleLoadWith(&m, &cut, 0, NULL, NULL));
  cut = *o;
  cut.head.e_shoff = UINT64_MAX - sizeof cut;
  IS(ERR_KERNEL_FILE, moduleLoad(&m, &cut));
  b.entry[1].bytes = b.entry[2].bytes = sizeof cut - 1; /* its last part is missing */
  IS(ERR_KERNEL_FILE, moduleLoad(&m, &b));
  b.entries = 1u << 30;
  IS(ERR_KERNEL_FILE, moduleLoad(&m, &b));
  IS(ZB_ERR_VALUE, moduleLoadFile(NULL, "/no/such/file"));
  IS(ZB_ERR_VALUE, moduleLoadFile(&m, NULL));
  IS(ERR_NO_FILE, moduleLoadFile(&m, "/no/such/file"));
  IS(ZB_ERR_VALUE, moduleLoadFile(&m, "/dev/null"));
}

static void write_file(const char *path, const void *what, size_t bytes) {
  FILE *f = fopen(path, "wb");
  CHECK(f != NULL && fwrite(what, 1, bytes, f) == bytes && fclose(f) == 0);
}

/* A code object by file: whole, and without its end. */
static void modules_of_files(const code_object *o) {
  char path[] = "/tmp/zbench-code-XXXXXX";
  void *m, *f;
  int fd = mkstemp(path);
  CHECK(fd >= 0 && close(fd) == 0);
  write_file(path, o, sizeof *o);
  IS(0, moduleLoadFile(&m, path));
  IS(0, moduleFunction(&f, m, "_Z4fillPffi"));
  IS(0, moduleUnload(m));
  no_function(f); /* it went with its module */
  no_module(m);
  write_file(path, o, sizeof *o - 1);
  IS(ERR_KERNEL_FILE, moduleLoadFile(&m, path));
  unlink(path);
}

/* Symbols that lie outside of the file are not read. */
static void broken_objects(void) {
  void *m, *p;
  for (int what = 0; what < 7; what++) {
    code_object o = make_code_object();
    Elf64_Shdr *s = o.sections;
    switch (what) {
    case 0: s[SYMBOLS].sh_offset = 1u << 30; break;
    case 1: s[SYMBOLS].sh_link = SECTIONS + 1000; break;
    case 2: s[NAMES].sh_size = 1u << 30; break;
    case 3: o.symbols[2].st_name = 1u << 30; break;
    case 4: s[DATA].sh_offset = 1u << 30; break;
    case 5: o.symbols[2].st_size = 1u << 30; break;
    default: o.symbols[2].st_shndx = SECTIONS + 1000;
    }
    IS(0, moduleLoad(&m, &o));
    IS(ZB_ERR_NOT_FOUND, moduleGlobal(&p, NULL, m, "table"));
    IS(0, moduleUnload(m));
  }
}

/* hip_module.cpp, hipModuleGetGlobal: each device has its own, and a module's name is not
 * another's. */
static void module_variables(void *m) {
  void *p = NULL, *again, *elsewhere, *q;
  float seen[3];
  size_t bytes = 0;
  IS(ZB_ERR_VALUE, moduleGlobal(NULL, NULL, m, "table"));
  IS(ZB_ERR_VALUE, moduleGlobal(&p, &bytes, m, NULL));
  IS(ZB_ERR_VALUE, moduleGlobal(&p, &bytes, m, ""));
  IS(ZB_ERR_HANDLE, moduleGlobal(&p, &bytes, NULL, "table"));
  IS(ZB_ERR_NOT_FOUND, moduleGlobal(&p, &bytes, none, "table"));
  IS(ZB_ERR_NOT_FOUND, moduleGlobal(&p, &bytes, m, "tab"));
  IS(ZB_ERR_NOT_FOUND, moduleGlobal(&p, &bytes, m, "tables"));
  IS(0, moduleGlobal(&p, &bytes, m, "table"));
  CHECK(bytes == 12);
  IS(0, copy(seen, p, sizeof seen, ZB_TO_HOST));
  CHECK(seen[0] == 1.5F && seen[2] == 3.5F);
  IS(0, moduleGlobal(&again, NULL, m, "table"));
  CHECK(again == p);
  IS(0, setDevice(1));
  IS(0, moduleGlobal(&elsewhere, NULL, m, "table"));
  CHECK(elsewhere != p);
  IS(0, setDevice(0));
  IS(0, moduleGlobal(&q, &bytes, m, "counts"));
  CHECK(bytes == CODE_ZEROS && *(int *)q == 0);
}

/* A module's kernel runs as its version for the host; its arguments come as pointers or in
 * one buffer (hip_module.cpp, hipModuleLaunchKernel). */
static void module_kernels(void *m) {
  struct {
    float *to;
    float value;
    int n;
  } packed = {(float *)(void *)in[0], 6, 2};
  size_t bytes = sizeof packed;
  void *extra[] = {(void *)1, &packed, (void *)2, &bytes, (void *)3}, *bad[] = {(void *)7};
  void *args[] = {&packed.to, &packed.value, &packed.n}, *f, *again;
  IS(ZB_ERR_VALUE, moduleFunction(NULL, m, "fill"));
  IS(ZB_ERR_VALUE, moduleFunction(&f, m, NULL));
  IS(ZB_ERR_VALUE, moduleFunction(&f, m, ""));
  IS(ZB_ERR_NOT_FOUND, moduleFunction(&f, m, "fill"));
  IS(ZB_ERR_NOT_FOUND, moduleFunction(&f, m, "table")); /* a variable */
  IS(0, moduleFunction(&f, m, "_Z4fillPffi"));
  IS(0, moduleFunction(&again, m, "_Z4fillPffi"));
  CHECK(f == again);
  IS(ZB_ERR_VALUE, launchKernel(f, 0, 1, 1, 1, 1, 1, 0, stream[0], args, NULL));
  IS(ZB_ERR_VALUE, launchKernel(f, 1, 1, 1, 1, 1, 1, 0, none, args, NULL));
  IS(ZB_ERR_VALUE, launchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream[0], NULL, NULL));
  IS(ZB_ERR_VALUE, launchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream[0], NULL, bad));
  IS(0, launchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream[0], args, NULL));
  IS(0, streamSynchronize(stream[0]));
  CHECK(((float *)(void *)in[0])[1] == 6);
  packed.value = 7;
  IS(0, launchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream[0], NULL, extra));
  IS(0, streamSynchronize(stream[0]));
  CHECK(((float *)(void *)in[0])[1] == 7);
  bytes--;
  IS(ZB_ERR_VALUE, launchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream[0], NULL, extra));
}

/* One that has none is an error of its launch and its stream. */
static void unknown_kernels(void) {
  code_object o = make_code_object();
  void *m, *f, *s;
  memcpy(o.names + 1, "_Z4none", 7);
  IS(0, streamCreate(&s, 1));
  IS(0, moduleLoad(&m, &o));
  IS(ZB_ERR_NOT_FOUND, moduleFunction(&f, m, "_Z4fillPffi"));
  IS(0, moduleFunction(&f, m, "_Z4nonePffi"));
  IS(ERR_NO_BINARY, launchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL));
  IS(ERR_NO_BINARY, streamSynchronize(s));
  IS(0, moduleUnload(m));
  IS(0, streamDestroy(s));
}

static void modules(void) {
  code_object o = make_code_object();
  code_bundle b = make_code_bundle();
  void *m, *of_bundle, *p;
  modules_that_are_none(&o);
  modules_of_files(&o);
  broken_objects();
  unknown_kernels();
  IS(0, moduleLoad(&m, "zbench loopback kernels")); /* zbench's own code has no variables */
  IS(ZB_ERR_NOT_FOUND, moduleGlobal(&p, NULL, m, "table"));
  IS(0, moduleUnload(m));
  IS(0, moduleLoad(&m, &o));
  memset(&o, 0, sizeof o); /* the program's again */
  module_variables(m);
  module_kernels(m);
  IS(0, moduleLoadWith(&of_bundle, &b, 0, NULL, NULL));
  module_variables(of_bundle);
  IS(0, moduleGlobal(&p, NULL, m, "table"));
  IS(0, moduleUnload(of_bundle));
  IS(0, moduleUnload(m));
}

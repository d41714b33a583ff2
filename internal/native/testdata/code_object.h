/* A code object as a compiler would make it, as far as its names go: one kernel, a variable
 * with a value and one of zeros; and a bundle of it. */
#ifndef CODE_OBJECT_H
#define CODE_OBJECT_H

#include <elf.h>

enum { NO_SECTION, NAMES, SYMBOLS, DATA, ZEROS, SECTIONS };
enum { CODE_SYMBOLS = 4, CODE_ZEROS = 4096 };

typedef struct code_object {
  Elf64_Ehdr head;
  char names[64];
  Elf64_Sym symbols[CODE_SYMBOLS];
  float data[4];
  Elf64_Shdr sections[SECTIONS];
} code_object;

/* The names stand at 1, 16 and 22. */
static const char code_names[] = "\0_Z4fillPffi.kd\0table\0counts";

static code_object make_code_object(void) {
  code_object o = {.head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB},
                            .e_shoff = offsetof(code_object, sections), .e_shnum = SECTIONS}};
  const unsigned char object = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
  memcpy(o.names, code_names, sizeof code_names);
  o.symbols[1] = (Elf64_Sym){1, object, 0, DATA, 0x1000, 0};
  o.symbols[2] = (Elf64_Sym){16, object, 0, DATA, 0x1004, 12};
  o.symbols[3] = (Elf64_Sym){22, object, 0, ZEROS, 0x2000, CODE_ZEROS};
  o.data[1] = 1.5F, o.data[2] = 2.5F, o.data[3] = 3.5F;
  o.sections[NAMES] = (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = offsetof(code_object, names),
                                   .sh_size = sizeof o.names};
  o.sections[SYMBOLS] = (Elf64_Shdr){.sh_type = SHT_DYNSYM, .sh_link = NAMES,
                                     .sh_offset = offsetof(code_object, symbols),
                                     .sh_size = sizeof o.symbols};
  o.sections[DATA] = (Elf64_Shdr){.sh_type = SHT_PROGBITS, .sh_addr = 0x1000,
                                  .sh_offset = offsetof(code_object, data),
                                  .sh_size = sizeof o.data};
  o.sections[ZEROS] = (Elf64_Shdr){.sh_type = SHT_NOBITS, .sh_addr = 0x2000,
                                   .sh_offset = 1 << 30, .sh_size = CODE_ZEROS};
  return o;
}

/* Clang's bundle: the host's part, which is empty, and code objects of two GPUs. */
typedef struct code_bundle {
  char magic[24];
  uint64_t entries;
  struct {
    uint64_t offset, bytes, length;
    char triple[32];
  } entry[3];
  code_object object[2];
} code_bundle;

static code_bundle make_code_bundle(void) {
  static const char *const triple[] = {"host-x86_64-unknown-linux-gnu---",
                                       "hipv4-amdgcn-amd-amdhsa--gfx942:",
                                       "hipv4-amdgcn-amd-amdhsa--gfx1100"};
  code_bundle b = {.entries = 3};
  memcpy(b.magic, "__CLANG_OFFLOAD_BUNDLE__", sizeof b.magic);
  for (int i = 0; i < 3; i++) {
    b.entry[i].length = sizeof b.entry[i].triple;
    memcpy(b.entry[i].triple, triple[i], sizeof b.entry[i].triple);
    if (i > 0) {
      b.object[i - 1] = make_code_object();
      b.entry[i].offset = offsetof(code_bundle, object) + (size_t)(i - 1) * sizeof b.object[0];
      b.entry[i].bytes = sizeof b.object[0];
    }
  }
  b.object[1].data[1] = 9; /* of the GPU that is not the loopback's */
  return b;
}

#endif

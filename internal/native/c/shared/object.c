/* Code objects: finds items of a program's GPU code by name. It finds a module's kernels, and the
 * variables of its device code with their initial values. Nothing of the code runs. A code object
 * is an ELF file (LLVM, AMDGPU usage, "Code Object"); a bundle contains several (Clang, "Clang
 * Offload Bundler"). */
#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* An item of a code object. The field `first` is NULL if the item is initially zero. */
typedef struct zbl_found {
  const char *first;
  size_t bytes;
} zbl_found;

static const char zbl_bundle_magic[] = "__CLANG_OFFLOAD_BUNDLE__";
enum { ZBL_MAGIC_BYTES = sizeof zbl_bundle_magic - 1, ZBL_MOST_ENTRIES = 1024 };

static uint64_t zbl_read64(const char *at) {
  uint64_t value;
  memcpy(&value, at, sizeof value);
  return value;
}

static int zbl_is_elf(const char *image) {
  const uint64_t most = 1ull << 40; /* largest size in bytes, so that the following sum cannot
                                     * wrap */
  const Elf64_Ehdr *head = (const void *)image;
  return strncmp(image, ELFMAG, SELFMAG) == 0 && image[EI_CLASS] == ELFCLASS64 &&
         image[EI_DATA] == ELFDATA2LSB && head->e_shoff >= sizeof *head && head->e_shoff < most;
}

static const Elf64_Shdr *zbl_section(const char *object, unsigned i) {
  const Elf64_Ehdr *head = (const void *)object;
  return (const Elf64_Shdr *)(const void *)(object + head->e_shoff) + i;
}

/* Returns the size of a code object in bytes. Its last part is the table of its sections
 * (ROCm/clr, rocclr/elf/elf.cpp, getElfSize). */
static size_t zbl_object_bytes(const char *object) {
  const Elf64_Ehdr *head = (const void *)object;
  return head->e_shoff + (size_t)head->e_shnum * sizeof(Elf64_Shdr);
}

/* Reports whether a section lies inside the file. */
static int zbl_section_ok(const char *object, const Elf64_Shdr *s) {
  size_t all = zbl_object_bytes(object);
  return s->sh_type == SHT_NOBITS || (s->sh_offset <= all && s->sh_size <= all - s->sh_offset);
}

/* Returns a code object from a bundle: the one for gfx942 if there is one, otherwise the one for
 * another GPU, which is good enough because the code does not run. */
static const char *zbl_of_bundle(const char *bundle) {
  static const char kind[] = "hip";
  uint64_t entries = zbl_read64(bundle + ZBL_MAGIC_BYTES);
  const char *at = bundle + ZBL_MAGIC_BYTES + 8, *found = NULL;
  for (uint64_t i = 0; i < entries && entries <= ZBL_MOST_ENTRIES; i++) {
    uint64_t offset = zbl_read64(at), bytes = zbl_read64(at + 8), length = zbl_read64(at + 16);
    const char *triple = at + 24;
    if (bytes > sizeof(Elf64_Ehdr) && length > sizeof kind &&
        memcmp(triple, kind, sizeof kind - 1) == 0 && zbl_is_elf(bundle + offset) &&
        zbl_object_bytes(bundle + offset) <= bytes &&
        (found == NULL || memmem(triple, length, "gfx942", 6) != NULL)) {
      found = bundle + offset;
    }
    at = triple + length;
  }
  return found;
}

/* Returns the code object in an image; NULL if there is none. */
static const char *zbl_object_of(const void *image) {
  if (strncmp(image, ELFMAG, SELFMAG) == 0) {
    return zbl_is_elf(image) ? image : NULL;
  }
  return strncmp(image, zbl_bundle_magic, ZBL_MAGIC_BYTES) == 0 ? zbl_of_bundle(image) : NULL;
}

/* Describes the item that a symbol of the table stands for. */
static int zbl_tell_symbol(const char *object, const Elf64_Sym *symbol, zbl_found *found) {
  const Elf64_Ehdr *head = (const void *)object;
  const Elf64_Shdr *in;
  if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= head->e_shnum) {
    return 0;
  }
  in = zbl_section(object, symbol->st_shndx);
  if (!zbl_section_ok(object, in) || symbol->st_value < in->sh_addr || symbol->st_value - in->sh_addr > in->sh_size ||
      symbol->st_size > in->sh_size - (symbol->st_value - in->sh_addr)) {
    return 0;
  }
  found->bytes = symbol->st_size;
  found->first = in->sh_type == SHT_NOBITS
                     ? NULL
                     : object + in->sh_offset + (symbol->st_value - in->sh_addr);
  return 1;
}

/* Returns a symbol's name, or "" if the name is outside of the string table. */
static const char *zbl_symbol_name(const char *object, const Elf64_Shdr *table,
                                   const Elf64_Sym *symbol) {
  const Elf64_Ehdr *head = (const void *)object;
  const Elf64_Shdr *in = table->sh_link < head->e_shnum ? zbl_section(object, table->sh_link) : NULL;
  const char *names;
  if (in == NULL || in->sh_type != SHT_STRTAB || !zbl_section_ok(object, in) ||
      symbol->st_name >= in->sh_size) {
    return "";
  }
  names = object + in->sh_offset;
  return names[in->sh_size - 1] == '\0' ? names + symbol->st_name : "";
}

/* Finds a variable by its name or, with the suffix ".kd", the descriptor of a kernel by the
 * kernel's name. */
static int zbl_find_in(const char *object, const char *name, const char *suffix, zbl_found *found) {
  const Elf64_Ehdr *head = (const void *)object;
  size_t length = strlen(name);
  for (unsigned i = 0; i < head->e_shnum; i++) {
    const Elf64_Shdr *table = zbl_section(object, i);
    const Elf64_Sym *symbols = (const void *)(object + table->sh_offset);
    if (table->sh_type != SHT_DYNSYM || !zbl_section_ok(object, table)) {
      continue;
    }
    for (size_t k = 0; k < table->sh_size / sizeof *symbols; k++) {
      const char *is = zbl_symbol_name(object, table, &symbols[k]);
      if (ELF64_ST_TYPE(symbols[k].st_info) == STT_OBJECT && strncmp(is, name, length) == 0 &&
          strcmp(is + length, suffix) == 0) {
        return zbl_tell_symbol(object, &symbols[k], found);
      }
    }
  }
  return 0;
}

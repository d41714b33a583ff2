/* Facts that the loader does not report: why an existing file cannot be used, and which
 * libraries the process has already loaded. */
#include "dl.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
  int machine;
  const char *name;
} zb_machines[] = {{EM_386, "x86 (32 bits)"}, {EM_X86_64, "x86-64"},
                   {EM_AARCH64, "arm64"},     {EM_PPC64, "ppc64"},
                   {EM_RISCV, "riscv"},       {EM_ARM, "arm (32 bits)"}};

static const char *zb_machine_name(int machine) {
  for (size_t i = 0; i < sizeof zb_machines / sizeof zb_machines[0]; i++) {
    if (zb_machines[i].machine == machine) {
      return zb_machines[i].name;
    }
  }
  return "another architecture";
}

/* Returns the ELF machine number that this program was built for. */
static int zb_own_machine(void) {
#if defined(__x86_64__)
  return EM_X86_64;
#elif defined(__aarch64__)
  return EM_AARCH64;
#else
  return EM_NONE;
#endif
}

/* Reports whether the file contains all segments that its headers list. The loader also maps
 * a truncated file; the process then dies when it touches a missing part. */
static int zb_whole(FILE *f, const Elf64_Ehdr *head) {
  long size;
  if (fseek(f, 0, SEEK_END) != 0 || (size = ftell(f)) < 0) {
    return 0;
  }
  for (int i = 0; i < head->e_phnum; i++) {
    Elf64_Phdr p;
    uint64_t at = head->e_phoff + (uint64_t)i * sizeof p;
    if (at > (uint64_t)size || fseek(f, (long)at, SEEK_SET) != 0 ||
        fread(&p, sizeof p, 1, f) != 1 ||
        (p.p_type == PT_LOAD && p.p_filesz > 0 &&
         (p.p_filesz > (uint64_t)size ||
          p.p_offset > (uint64_t)size - p.p_filesz))) {
      return 0;
    }
  }
  return 1;
}

static const char *zb_head_fault(FILE *f, char *text, size_t len) {
  Elf64_Ehdr head = {0};
  size_t got = fread(&head, 1, sizeof head, f);
  if (got < SELFMAG || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) {
    return "it is no library (no ELF file)";
  }
  if (got < sizeof head) {
    return "the file is cut short";
  }
  if (head.e_ident[EI_CLASS] != ELFCLASS64 ||
      head.e_ident[EI_DATA] != ELFDATA2LSB) {
    return "it is for a 32-bit machine, or for the other byte order";
  }
  if (zb_own_machine() != EM_NONE && head.e_machine != zb_own_machine()) {
    snprintf(text, len, "it is for %s, this program for %s",
             zb_machine_name(head.e_machine), zb_machine_name(zb_own_machine()));
    return text;
  }
  return head.e_phentsize == sizeof(Elf64_Phdr) && zb_whole(f, &head)
             ? NULL
             : "the file is cut short";
}

static const char *zb_kind_name(mode_t mode) {
  return S_ISFIFO(mode)   ? "a FIFO"
         : S_ISDIR(mode)  ? "a folder"
         : S_ISSOCK(mode) ? "a socket"
                          : "a device";
}

/* Checks the headers of a file to see whether this process can load it as a library. The loader
 * reports a library for another machine as "no such file", and maps a truncated one. Returns −1 if
 * there is no file, 0 if nothing is wrong, otherwise 1 with the reason in text. */
int zb_file_fault(const char *path, char *text, size_t len) {
  char made[128];
  const char *why;
  struct stat about;
  /* Without O_NONBLOCK, opening a FIFO would wait for its other end. */
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  FILE *f = fd >= 0 ? fdopen(fd, "rb") : NULL;
  if (f == NULL) {
    int missing = errno == ENOENT || errno == ENOTDIR;
    snprintf(text, len, "%s", missing ? "no such file" : strerror(errno));
    if (fd >= 0) {
      close(fd);
    }
    return missing ? -1 : 1;
  }
  if (fstat(fd, &about) == 0 && !S_ISREG(about.st_mode)) {
    snprintf(text, len, "it is %s, not a file", zb_kind_name(about.st_mode));
    fclose(f);
    return 1;
  }
  why = zb_head_fault(f, made, sizeof made);
  fclose(f);
  if (why != NULL) {
    snprintf(text, len, "%s", why);
  }
  return why != NULL;
}

struct zb_wanted {
  const char *prefix;
  int left;
  char *path;
  size_t len;
};

static int zb_visit(struct dl_phdr_info *info, size_t size, void *data) {
  struct zb_wanted *w = data;
  const char *base = strrchr(info->dlpi_name, '/');
  char *whole;
  (void)size;
  base = base != NULL ? base + 1 : info->dlpi_name;
  if (strncmp(base, w->prefix, strlen(w->prefix)) != 0 || w->left-- > 0) {
    return 0;
  }
  whole = realpath(info->dlpi_name, NULL);
  snprintf(w->path, w->len, "%s", whole != NULL ? whole : info->dlpi_name);
  free(whole);
  return 1;
}

/* Writes the real path of the index-th library of the process whose file name begins with prefix;
 * returns 0 if there are fewer. */
int zb_loaded(const char *prefix, int index, char *path, size_t len) {
  struct zb_wanted w = {prefix, index, path, len};
  return dl_iterate_phdr(zb_visit, &w);
}

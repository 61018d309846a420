// As much of Linux as a static program needs that computes and prints: no files, no threads, no protection. What it prints goes to
// the serial port. The program is the boot loader's module, linked to kProgram or above; its arguments are the module's.
#include <elf.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

enum { kProgram = 0x10000000, kHeap = 0x12000000, kMapped = 0x16000000, kEnd = 0x1ff00000 };  // of 512 MB

void enter_program(uint64_t entry, uint64_t* stack);
extern char on_exception[];

// The compiler calls these two.
void* memcpy(void* to, const void* from, size_t count) {
  void* result = to;
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
  return result;
}
void* memset(void* to, int value, size_t count) {
  void* result = to;
  asm volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(value) : "memory");
  return result;
}

static void out(uint16_t port, uint8_t value) { asm volatile("outb %0, %1" : : "a"(value), "d"(port)); }
static uint8_t in(uint16_t port) {
  uint8_t value;
  asm volatile("inb %1, %0" : "=a"(value) : "d"(port));
  return value;
}

static void print(const char* text, size_t count) {
  for (; count > 0; --count) {
    while (!(in(0x3fd) & 0x20)) continue;  // until the serial port takes another byte
    out(0x3f8, (uint8_t)*text++);
  }
}
static void print_line(const char* text, uint64_t number) {
  size_t length = 0;
  while (text[length] != '\0') ++length;
  print(text, length);
  for (int shift = 60; shift >= 0; shift -= 4) print(&"0123456789abcdef"[number >> shift & 15], 1);
  print("\n", 1);
}

static void __attribute__((noreturn)) stop(void) {
  for (const char* word = "Shutdown"; *word != '\0'; ++word) out(0x8900, (uint8_t)*word);  // Bochs ends
  for (;;) asm volatile("hlt");
}

void exception(const uint64_t* stack) {
  print_line("exception: code or address ", stack[0]);
  print_line("address or segment ", stack[1]);
  stop();
}

// Memory once given is taken back only if it is the last.
static int64_t map(uint64_t bytes) {
  static uint64_t mapped = kMapped;
  bytes = (bytes + 4095) & ~4095ull;
  if (bytes > kEnd - mapped) return -12;  // ENOMEM
  mapped += bytes;
  memset((void*)(mapped - bytes), 0, bytes);
  return (int64_t)(mapped - bytes);
}

static int64_t set_heap_end(uint64_t end) {
  static uint64_t heap_end = kHeap;
  if (end > heap_end && end <= kMapped) memset((void*)heap_end, 0, end - heap_end);
  if (end >= kHeap && end <= kMapped) heap_end = end;
  return (int64_t)heap_end;
}

static int64_t arch_prctl(uint64_t code, uint64_t value) {
  if (code == 0x1023) return 0;     // ARCH_REQ_XCOMP_PERM: tiles are there for everyone
  if (code != 0x1002) return -22;   // ARCH_SET_FS
  asm volatile("wrmsr" : : "c"(0xc0000100), "a"((uint32_t)value), "d"((uint32_t)(value >> 32)));
  return 0;
}

int64_t system_call(uint64_t number, uint64_t a, uint64_t b, uint64_t c) {
  switch (number) {
    case SYS_write:
      print((const char*)b, c);
      return (int64_t)c;
    case SYS_writev: {
      int64_t count = 0;
      for (const struct iovec* part = (const struct iovec*)b; c > 0; --c, ++part)
        count += system_call(SYS_write, a, (uint64_t)part->iov_base, part->iov_len);
      return count;
    }
    case SYS_fstat:
    case SYS_newfstatat: {
      struct stat* status = (struct stat*)(number == SYS_fstat ? b : c);
      memset(status, 0, sizeof *status);
      status->st_mode = S_IFIFO;
      return 0;
    }
    case SYS_mmap:
      return map(b);
    case SYS_brk:
      return set_heap_end(a);
    case SYS_arch_prctl:
      return arch_prctl(a, b);
    case SYS_getrandom:
      memset((void*)a, 7, b);
      return (int64_t)b;
    case SYS_clock_gettime:
      memset((void*)b, 0, 16);
      return 0;
    case SYS_time:
    case SYS_munmap:
    case SYS_mprotect:
    case SYS_rt_sigaction:
    case SYS_rt_sigprocmask:
    case SYS_sigaltstack:
    case SYS_futex:
    case SYS_set_robust_list:
      return 0;
    case SYS_getpid:
    case SYS_gettid:
    case SYS_set_tid_address:
      return 1;
    case SYS_tgkill:
    case SYS_exit_group:
      print_line("exit status ", number == SYS_tgkill ? c : a);
      stop();
    default:
      return -38;  // ENOSYS
  }
}

static void catch_exceptions(void) {
  static uint64_t gates[32][2];
  const uint64_t address = (uint64_t)on_exception;
  for (int i = 0; i < 32; ++i)
    gates[i][0] = (address & 0xffff) | 8ull << 16 | 0x8e00ull << 32 | (address >> 16 & 0xffff) << 48;
  const struct __attribute__((packed)) {
    uint16_t limit;
    uint64_t base;
  } table = {sizeof gates - 1, (uint64_t)gates};
  asm volatile("lidt %0" : : "m"(table));
}

// The words of a command line, at most `most`.
static uint64_t split(const char* line, char* words, uint64_t* starts, uint64_t most) {
  uint64_t count = 0;
  while (*line != '\0' && count < most) {
    starts[count++] = (uint64_t)words;
    while (*line != ' ' && *line != '\0') *words++ = *line++;
    *words++ = '\0';
    while (*line == ' ') ++line;
  }
  return count;
}

void run_module(const uint32_t* multiboot) {
  catch_exceptions();
  const uint32_t* module = (const uint32_t*)(uint64_t)multiboot[6];
  const uint8_t* file = (const uint8_t*)(uint64_t)module[0];
  const Elf64_Ehdr* header = (const Elf64_Ehdr*)file;
  const Elf64_Phdr* segments = (const Elf64_Phdr*)(file + header->e_phoff);
  for (int i = 0; i < header->e_phnum; ++i) {
    if (segments[i].p_type != PT_LOAD) continue;
    memset((void*)segments[i].p_vaddr, 0, segments[i].p_memsz);
    memcpy((void*)segments[i].p_vaddr, file + segments[i].p_offset, segments[i].p_filesz);
  }

  static char words[512];
  static uint64_t stack[64];  // argc, argv, no environment, auxiliary vector; the real one, below the program, takes a copy
  const uint64_t most = 16;
  uint64_t count = split((const char*)(uint64_t)module[2], words, stack + 1, most);
  stack[0] = count;
  const uint64_t facts[] = {AT_PHDR,   kProgram + header->e_phoff, AT_PHENT, sizeof *segments, AT_PHNUM, header->e_phnum,
                            AT_PAGESZ, 4096, AT_RANDOM, (uint64_t)words, AT_SECURE, 0, AT_NULL, 0};
  memcpy(stack + count + 3, facts, sizeof facts);
  uint64_t* const top = (uint64_t*)kProgram - sizeof stack / sizeof *stack;
  memcpy(top, stack, sizeof stack);
  enter_program(header->e_entry, top);
}

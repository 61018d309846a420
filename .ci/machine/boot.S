# From the boot loader (multiboot, 32 bits) to a C function in 64 bits, with every vector register the processor has switched on.
# Everything runs in ring 0; addresses below 1 GB are those of the memory.
.section .multiboot, "a"
.long 0x1badb002, 0, -0x1badb002

.text
.code32
.global _start
_start:
  cli
  mov %ebx, %ebp                # what the boot loader has to say
  movl $page_directories + 3, page_maps
  movl $pages + 3, page_directories
  mov $0x83, %eax               # pages of 2 MB: present, writable, large
  mov $pages, %edi
1:
  mov %eax, (%edi)
  add $8, %edi
  add $0x200000, %eax
  cmp $0x40000083, %eax
  jne 1b
  mov $page_maps, %eax
  mov %eax, %cr3
  mov %cr4, %eax
  or $0x40620, %eax             # PAE, OSFXSR, OSXMMEXCPT, OSXSAVE
  mov %eax, %cr4
  mov $0xc0000080, %ecx         # EFER: long mode, system calls
  rdmsr
  or $0x101, %eax
  wrmsr
  mov %cr0, %eax
  and $~0xc, %eax               # neither emulation nor "task switched"
  or $0x80000022, %eax          # paging, native x87 errors, monitor
  mov %eax, %cr0
  lgdt segments_limit
  ljmp $8, $long_mode

.code64
long_mode:
  mov $16, %eax
  mov %eax, %ds
  mov %eax, %es
  mov %eax, %ss
  fninit
  mov $0xd, %eax                # XCR0: x87, SSE, AVX, AVX-512, AMX, as far as there are
  xor %ecx, %ecx
  cpuid
  and $0x600e7, %eax
  xor %edx, %edx
  xor %ecx, %ecx
  xsetbv
  mov $0xc0000081, %ecx         # STAR: the segments of a system call
  xor %eax, %eax
  mov $8, %edx
  wrmsr
  inc %ecx                      # LSTAR: its address
  mov $on_system_call, %eax
  xor %edx, %edx
  wrmsr
  mov $stack_end, %rsp
  mov %ebp, %edi
  call run_module

.global enter_program           # (entry, stack)
enter_program:
  mov %rsi, %rsp
  xor %edx, %edx
  jmp *%rdi

on_system_call:                 # %rcx: where to go on; only %rax, %rcx and %r11 may change
  mov %rsp, program_stack
  mov $stack_end, %rsp
  push %rdi; push %rsi; push %rdx; push %r10; push %r8; push %r9; push %rcx; push %rcx
  mov %rdx, %rcx
  mov %rsi, %rdx
  mov %rdi, %rsi
  mov %rax, %rdi
  call system_call
  pop %rcx; pop %rcx; pop %r9; pop %r8; pop %r10; pop %rdx; pop %rsi; pop %rdi
  mov program_stack, %rsp
  jmp *%rcx

.global on_exception
on_exception:
  mov %rsp, %rdi
  mov $stack_end, %rsp
  call exception

.data
.align 8
segments: .quad 0, 0x00af9a000000ffff, 0x00cf92000000ffff  # none, code, data
segments_limit: .word 23
  .long segments

.bss
program_stack: .quad 0
.align 4096
page_maps: .skip 4096
page_directories: .skip 4096
pages: .skip 4096
stack: .skip 65536
stack_end:

.section .note.GNU-stack, "", @progbits

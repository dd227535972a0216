/* A daemon that is never the same process for long: each one leaves its session, starts the next one, and ends. They
 * share their memory, because to copy it would take most of the time. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* Each one needs a stack of its own while the one before it is still ending. */
#define STACKS 64
#define STACK_BYTES 16384
static char stacks[STACKS][STACK_BYTES] __attribute__((aligned(16)));
static long hops;
static const char *words;

static void say(const char *word)
{
    int file = open(words, O_WRONLY);
    write(file, word, strlen(word));
    close(file);
}

static int hop(void *unused)
{
    setsid();
    if (++hops == 1000)
        say("hops\n");
    /* Still far faster than anybody looks, and no faster than a busy machine reaps: others need process ids, too. */
    usleep(200);
    if (clone(hop, stacks[hops % STACKS] + STACK_BYTES, CLONE_VM | SIGCHLD, unused) < 0)
        /* Nobody ended it: the machine ran out of process ids, because nobody reaped its ancestors. */
        say("starved\n");
    _exit(0);
}

int main(int argc, char **argv)
{
    words = argv[argc - 1];
    return fork() > 0 ? 0 : hop(NULL);
}

/* A daemon that may not be traced, and does not end when it is asked to. */
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(void)
{
    setsid();
    signal(SIGTERM, SIG_IGN);
    prctl(PR_SET_DUMPABLE, 0);
    printf("hidden %d\n", getpid());
    fflush(stdout);
    for (;;)
        pause();
}

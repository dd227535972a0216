/*
 * The time of day, wrong by the number of seconds in a file. It stands before the C library in processes that are
 * started with it as LD_PRELOAD. All other clocks stay true.
 *
 * The kernel is asked by number, since the C library's own functions are the ones replaced here. Nothing is allocated and
 * nothing is locked: allocators ask for the time, too, and long before main.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const int64_t right = 0;
static const volatile int64_t *offset_s = &right;

/* The file is mapped, so that a jump is seen at once and costs no system call. */
__attribute__((constructor)) static void open_file(void) {
    const char *path = getenv("TENURE_WALL_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *page = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *offset_s, PROT_READ, MAP_SHARED, file, 0);
    /* A test whose clock cannot jump would prove nothing. */
    if (page == MAP_FAILED) abort();
    close(file);
    offset_s = page;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += *offset_s;
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    int result = (int)syscall(SYS_gettimeofday, now, zone);
    if (result == 0) now->tv_sec += *offset_s;
    return result;
}

int timespec_get(struct timespec *now, int base) {
    return base == TIME_UTC && clock_gettime(CLOCK_REALTIME, now) == 0 ? base : 0;
}

time_t time(time_t *result) {
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    if (result) *result = now.tv_sec;
    return now.tv_sec;
}

/*
 * The time of day, wrong by the number of seconds in a file, or standing still at a time that follows it there. It stands
 * before the C library in processes that are started with it as LD_PRELOAD. All other clocks stay true.
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

struct setting {
    int64_t offset_s;
    /* In nanoseconds; 0 if it runs. */
    int64_t stopped_at;
    /* The offset after so many more looks at the clock; 0 if it stays as it is. */
    int64_t looks_until_jump;
    int64_t offset_after_jump_s;
};

static const struct setting right = {0, 0, 0, 0};
static const volatile struct setting *setting = &right;

/* The file is mapped, so that a jump is seen at once and costs no system call. */
__attribute__((constructor)) static void open_file(void) {
    const char *path = getenv("TENURE_WALL_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *page = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *setting, PROT_READ, MAP_SHARED, file, 0);
    /* A test whose clock cannot jump would prove nothing. */
    if (page == MAP_FAILED) abort();
    close(file);
    setting = page;
}

/* Since a jump was announced, in this process. */
static int64_t looks;

static int64_t offset_s(void) {
    int64_t until_jump = setting->looks_until_jump;
    if (until_jump == 0) {
        __atomic_store_n(&looks, 0, __ATOMIC_RELAXED);
        return setting->offset_s;
    }
    int64_t look = __atomic_add_fetch(&looks, 1, __ATOMIC_RELAXED);
    return look > until_jump ? setting->offset_after_jump_s : setting->offset_s;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    if (result != 0 || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return result;
    int64_t stopped_at = setting->stopped_at;
    if (stopped_at != 0) {
        now->tv_sec = stopped_at / 1000000000;
        now->tv_nsec = stopped_at % 1000000000;
    } else {
        now->tv_sec += offset_s();
    }
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec precise = {0};
    if (zone) syscall(SYS_gettimeofday, now, zone);
    int result = clock_gettime(CLOCK_REALTIME, &precise);
    if (result == 0 && now) {
        now->tv_sec = precise.tv_sec;
        now->tv_usec = precise.tv_nsec / 1000;
    }
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

/* What a disk and a kernel can do to a program, at a chosen moment: loaded before libc, it counts what the program does
 * to files below one folder, and at the n-th of these events kills it, fills the disk, or damages the file being read.
 *
 * torture_arm(root, mode, n) begins; torture_count() tells how many events there were.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { OFF, COUNT, KILL, TEAR, FULL, COUNT_READS, SHRINK, VANISH };

static char root[PATH_MAX];
static size_t root_length;
static int mode = OFF;
static long at;
static atomic_long events;

void torture_arm(const char *folder, int what, long n) {
    snprintf(root, sizeof root, "%s", folder);
    root_length = strlen(root);
    at = n;
    atomic_store(&events, 0);
    mode = what;
}

long torture_count(void) { return atomic_load(&events); }

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int below(const char *path) { return strncmp(path, root, root_length) == 0; }

static int path_of(int fd, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, PATH_MAX - 1);
    if (n < 0) return 0;
    path[n] = 0;
    return 1;
}

static int is_ours(int fd) {
    char path[PATH_MAX];
    return mode != OFF && path_of(fd, path) && below(path);
}

static int is_ours_at(int dir, const char *path) {
    if (mode == OFF) return 0;
    return path[0] == '/' || dir == AT_FDCWD ? below(path) : is_ours(dir);
}

static void die(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

/* An event that changes something. Returns 1 where the disk is full. */
static int event(int needs_room) {
    if (mode < COUNT || mode > FULL) return 0;
    long n = atomic_fetch_add(&events, 1) + 1;
    if ((mode == KILL || mode == TEAR) && n == at) die();
    if (mode == FULL && n >= at && needs_room) {
        errno = ENOSPC;
        return 1;
    }
    return 0;
}

/* How many bytes of a write go through: all, or half of them if this one is torn. */
static size_t share(size_t size, int *torn) {
    long n = atomic_load(&events) + 1;
    *torn = (mode == TEAR && n == at) || (mode == FULL && n == at && size > 1);
    return *torn ? size / 2 : size;
}

ssize_t write(int fd, const void *data, size_t size) {
    int torn = 0;
    if (!is_ours(fd)) return REAL(write)(fd, data, size);
    size_t part = share(size, &torn);
    if (torn && mode == FULL) {
        atomic_fetch_add(&events, 1);
        return REAL(write)(fd, data, part);
    }
    if (!torn && event(1)) return -1;
    ssize_t done = REAL(write)(fd, data, part);
    if (torn) die();
    return done;
}

static ssize_t write_at(ssize_t (*real)(int, const void *, size_t, off64_t), int fd, const void *data, size_t size,
                        off64_t start) {
    int torn = 0;
    if (!is_ours(fd)) return real(fd, data, size, start);
    size_t part = share(size, &torn);
    if (torn && mode == FULL) {
        atomic_fetch_add(&events, 1);
        return real(fd, data, part, start);
    }
    if (!torn && event(1)) return -1;
    ssize_t done = real(fd, data, part, start);
    if (torn) die();
    return done;
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t start) {
    return write_at((ssize_t(*)(int, const void *, size_t, off64_t))REAL(pwrite), fd, data, size, start);
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t start) {
    return write_at(REAL(pwrite64), fd, data, size, start);
}
ssize_t writev(int fd, const struct iovec *parts, int n) {
    if (is_ours(fd) && event(1)) return -1;
    return REAL(writev)(fd, parts, n);
}

#define ON_FD(type, name, declared, given)             \
    type name declared {                               \
        if (is_ours(fd) && event(0)) return -1;        \
        return REAL(name) given;                       \
    }
ON_FD(int, fsync, (int fd), (fd))
ON_FD(int, fdatasync, (int fd), (fd))
ON_FD(int, ftruncate, (int fd, off_t size), (fd, size))
ON_FD(int, ftruncate64, (int fd, off64_t size), (fd, size))

int posix_fallocate(int fd, off_t start, off_t size) {
    if (is_ours(fd) && event(1)) return ENOSPC;
    return REAL(posix_fallocate)(fd, start, size);
}
int posix_fallocate64(int fd, off64_t start, off64_t size) {
    if (is_ours(fd) && event(1)) return ENOSPC;
    return REAL(posix_fallocate64)(fd, start, size);
}

#define ON_PATH(name, room, dir, path, declared, given)           \
    int name declared {                                           \
        if (is_ours_at(dir, path) && event(room)) return -1;      \
        return REAL(name) given;                                  \
    }
ON_PATH(rename, 0, AT_FDCWD, old, (const char *old, const char *new), (old, new))
ON_PATH(renameat, 0, a, old, (int a, const char *old, int b, const char *new), (a, old, b, new))
ON_PATH(unlink, 0, AT_FDCWD, path, (const char *path), (path))
ON_PATH(unlinkat, 0, dir, path, (int dir, const char *path, int flags), (dir, path, flags))
ON_PATH(rmdir, 0, AT_FDCWD, path, (const char *path), (path))
ON_PATH(mkdir, 1, AT_FDCWD, path, (const char *path, mode_t rights), (path, rights))

static int open_new(int (*real)(int, const char *, int, ...), int dir, const char *path, int flags, mode_t rights) {
    if ((flags & O_CREAT) && is_ours_at(dir, path) && event(1)) return -1;
    return real(dir, path, flags, rights);
}

#define OPEN(name, at_name, has_dir, declared)                                         \
    int name declared {                                                                \
        va_list more;                                                                  \
        va_start(more, flags);                                                         \
        mode_t rights = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(more, mode_t) : 0;    \
        va_end(more);                                                                  \
        return open_new(REAL(at_name), has_dir, path, flags, rights);                  \
    }
OPEN(open, openat, AT_FDCWD, (const char *path, int flags, ...))
OPEN(open64, openat64, AT_FDCWD, (const char *path, int flags, ...))
OPEN(openat, openat, dir, (int dir, const char *path, int flags, ...))
OPEN(openat64, openat64, dir, (int dir, const char *path, int flags, ...))

/* A read of a file: before the n-th of them the file loses half of its bytes, or its name. */
static void before_read(int fd) {
    char path[PATH_MAX];
    if (mode < COUNT_READS || !path_of(fd, path) || !below(path)) return;
    if (atomic_fetch_add(&events, 1) + 1 != at) return;
    struct stat about;
    if (mode == SHRINK && stat(path, &about) == 0 && S_ISREG(about.st_mode) && truncate(path, about.st_size / 2)) _exit(99);
    if (mode == VANISH) REAL(unlink)(path);
}

ssize_t read(int fd, void *data, size_t size) {
    before_read(fd);
    return REAL(read)(fd, data, size);
}
ssize_t pread64(int fd, void *data, size_t size, off64_t start) {
    before_read(fd);
    return REAL(pread64)(fd, data, size, start);
}

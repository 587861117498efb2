// Preloaded into the command. Logs its calls on regular files, and at one of them kills the process or reports a full
// disk from then on.
//
// FAULT_LOG    file with one line per call: write, fsync or rename
// FAULT_CALL   the kind of call that fails
// FAULT_AT     the number of this call, from 1
// FAULT        kill, or full: no space left on device

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic int calls;
static _Atomic int is_full;

// Logs a call; returns 1 if the disk is full.
static int fails(const char *name) {
    const char *log = getenv("FAULT_LOG"), *call = getenv("FAULT_CALL");
    if (log) {
        int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0644);
        char line[16] = {0};
        strcat(strncpy(line, name, 8), "\n");
        syscall(SYS_write, fd, line, strlen(line));
        close(fd);
    }
    if (call && !strcmp(call, name) && ++calls == atoi(getenv("FAULT_AT"))) {
        if (!strcmp(getenv("FAULT"), "kill")) {
            kill(getpid(), SIGKILL);
            pause();
        }
        is_full = 1;
    }
    if (is_full) {
        errno = ENOSPC;
    }
    return is_full;
}

static int is_file(int fd) {
    struct stat status;
    return fd > 2 && !fstat(fd, &status) && S_ISREG(status.st_mode);
}

ssize_t write(int fd, const void *bytes, size_t len) {
    return is_file(fd) && fails("write") ? -1 : syscall(SYS_write, fd, bytes, len);
}

// Tests need no synced files.
int fsync(int fd) {
    (void)fd;
    return fails("fsync") ? -1 : 0;
}

int rename(const char *from, const char *to) {
    return fails("rename") ? -1 : syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

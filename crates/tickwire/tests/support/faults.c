// Loaded into the command before its own libraries. Notes its calls on regular files, and at one of them kills the process
// or has the disk full from then on.
//
// FAULT_LOG    file that gets a line a call: write, fsync or rename
// FAULT_CALL   the call that fails
// FAULT_AT     which of these calls, from 1
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

// Whether the disk is full at this call.
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

// Nothing that a test reads needs to be on the disk.
int fsync(int fd) {
    (void)fd;
    return fails("fsync") ? -1 : 0;
}

int rename(const char *from, const char *to) {
    return fails("rename") ? -1 : syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

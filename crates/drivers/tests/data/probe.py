"""What a hostile server tries by system calls (x86-64), and what an ordinary one does.

Arguments: `host PID STATE confined|free` tries to reach the process and the file of its state; `own FOLDER` does
to itself what programs do. A line of JSON for each call: its name, and `done` or the error.
"""

import ctypes
import errno
import json
import os
import socket
import struct
import sys

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long

PRLIMIT, SETPRIORITY, IOPRIO_SET = 302, 141, 251
SCHED_SETPARAM, SCHED_SETSCHEDULER, SCHED_SETATTR, SCHED_SETAFFINITY = 142, 144, 314, 203
PATH = -100


def call(number, *arguments):
    """One system call; raises with its error."""
    ctypes.set_errno(0)
    fixed = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = libc.syscall(ctypes.c_long(number), *fixed)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def put(path, text):
    with open(path, "w") as file:
        file.write(text)


def limits(pid):
    """The process's own limit of open files, set to what it is already."""
    old = ctypes.create_string_buffer(16)
    call(PRLIMIT, pid, 7, ctypes.c_void_p(0), old)
    return old


def host(pid, state, confined):
    name = state.encode()
    room = os.path.join(os.path.dirname(state), "..", "work")
    deep = ctypes.create_string_buffer(16)
    far = (ctypes.c_char * 64)()
    near = (ctypes.c_char * 64)()
    vector = lambda buffer: struct.pack("PN", ctypes.addressof(buffer), 8)
    first_thread = sorted(int(tid) for tid in os.listdir(f"/proc/{pid}/task"))[-1]
    param = struct.pack("i", 0)
    attributes = struct.pack("IIQiIQQQ", 48, 0, 0, 19, 0, 0, 0, 0)
    processors = ctypes.create_string_buffer(128)
    call(204, 0, 128, processors)
    times = struct.pack("qqqq", 1, 0, 1, 0)

    def terminal(command):
        main, other = os.openpty()
        call(16, other, command, ctypes.create_string_buffer(b"x\0\0\0"))

    def handle():
        wanted = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
        mount = ctypes.c_int()
        call(303, PATH, name, wanted, ctypes.byref(mount), 0)
        with_root = os.open("/", os.O_RDONLY)
        call(304, with_root, wanted, os.O_RDONLY)

    def other_numbers():
        # The numbers of the x32 form reach the same calls.
        call(0x40000000 + PRLIMIT, pid, 7, limits(pid), ctypes.c_void_p(0))

    def thread(call_of):
        return lambda: call_of(first_thread)

    pidfd = lambda: call(434, pid, 0)
    tries = {
        "prlimit": lambda: call(PRLIMIT, pid, 7, limits(pid), ctypes.c_void_p(0)),
        "prlimit of a thread": lambda: call(
            PRLIMIT, first_thread, 7, limits(pid), ctypes.c_void_p(0)
        ),
        "prlimit by other numbers": other_numbers,
        "setpriority": lambda: call(SETPRIORITY, 0, pid, 19),
        "setpriority of a thread": lambda: call(SETPRIORITY, 0, first_thread, 19),
        "setpriority of the group": lambda: call(SETPRIORITY, 1, os.getpgid(pid), 0),
        "setpriority of the user": lambda: call(SETPRIORITY, 2, 0, 0),
        "ioprio_set": lambda: call(IOPRIO_SET, 1, pid, 2 << 13 | 4),
        "ioprio_set of the group": lambda: call(IOPRIO_SET, 2, os.getpgid(pid), 2 << 13 | 4),
        "ioprio_set of the user": lambda: call(IOPRIO_SET, 3, os.getuid(), 2 << 13 | 4),
        "sched_setaffinity": lambda: call(SCHED_SETAFFINITY, pid, 128, processors),
        "sched_setaffinity of a thread": lambda: call(
            SCHED_SETAFFINITY, first_thread, 128, processors
        ),
        "sched_setscheduler": lambda: call(SCHED_SETSCHEDULER, pid, 0, param),
        "sched_setparam": lambda: call(SCHED_SETPARAM, pid, param),
        "sched_setattr": lambda: call(SCHED_SETATTR, pid, attributes, 0),
        "kill": lambda: call(62, pid, 0),
        "kill of the group": lambda: call(62, -os.getpgid(pid), 0),
        "tkill": lambda: call(200, first_thread, 0),
        "tgkill": lambda: call(234, pid, first_thread, 0),
        "pidfd_send_signal": lambda: call(424, pidfd(), 0, ctypes.c_void_p(0), 0),
        "rt_sigqueueinfo": lambda: call(
            129, pid, 0, struct.pack("iiiixxxx", 0, 0, -1, 0) + bytes(112)
        ),
        "ptrace attach": lambda: call(101, 16, pid, 0, 0),
        "ptrace seize": lambda: call(101, 0x4206, pid, 0, 0),
        "process_vm_readv": lambda: call(310, pid, vector(near), 1, vector(far), 1, 0),
        "process_vm_writev": lambda: call(311, pid, vector(near), 1, vector(far), 1, 0),
        "pidfd_getfd": lambda: call(438, pidfd(), 0, 0),
        "kcmp": lambda: call(312, os.getpid(), pid, 0, 0, 0),
        "move_pages": lambda: call(279, pid, 0, ctypes.c_void_p(0), ctypes.c_void_p(0), None, 0),
        "migrate_pages": lambda: call(256, pid, 64, struct.pack("Q", 1), struct.pack("Q", 1)),
        "perf_event_open": lambda: call(
            298, struct.pack("IIQQQQQ", 1, 112, 0, 0, 0, 0, 1 << 5 | 1 << 6) + bytes(64), pid, -1, -1, 0
        ),
        "setpgid": lambda: call(109, pid, pid),
        "memory by proc": lambda: open(f"/proc/{pid}/mem", "rb+").close(),
        "variables by proc": lambda: open(f"/proc/{pid}/environ", "rb").close(),
        "oom_score_adj": lambda: put(f"/proc/{pid}/oom_score_adj", "500"),
        "oom_score_adj of a thread": lambda: put(f"/proc/{first_thread}/oom_score_adj", "500"),
        "coredump_filter": lambda: put(f"/proc/{pid}/coredump_filter", "0x33"),
        "timerslack_ns": lambda: put(f"/proc/{pid}/timerslack_ns", "50000"),
        "core_pattern": lambda: put(
            "/proc/sys/kernel/core_pattern", open("/proc/sys/kernel/core_pattern").read()
        ),
        "cgroup": lambda: put(
            "/sys/fs/cgroup/cgroup.subtree_control", ""
        ),
        "read": lambda: open(state, "rb").close(),
        "write": lambda: open(state, "ab").close(),
        "truncate": lambda: call(76, name, 1 << 20),
        "chmod": lambda: call(90, name, 0o777),
        "fchmodat": lambda: call(268, PATH, name, 0o777),
        "fchmodat2": lambda: call(452, PATH, name, 0o777, 0),
        "chmod by a path descriptor": lambda: os.chmod(
            f"/proc/self/fd/{os.open(state, os.O_PATH)}", 0o777
        ),
        "chown": lambda: call(92, name, os.getuid(), os.getgid()),
        "lchown": lambda: call(94, name, os.getuid(), os.getgid()),
        "fchownat": lambda: call(260, PATH, name, os.getuid(), os.getgid(), 0),
        "fchownat of a path descriptor": lambda: call(
            260, os.open(state, os.O_PATH), b"", os.getuid(), os.getgid(), 0x1000
        ),
        "utime": lambda: call(132, name, struct.pack("qq", 1, 1)),
        "utimes": lambda: call(235, name, times),
        "futimesat": lambda: call(261, PATH, name, times),
        "utimensat": lambda: call(280, PATH, name, times, 0),
        "setxattr": lambda: call(188, name, b"user.probe", b"x", 1, 0),
        "lsetxattr": lambda: call(189, name, b"user.probe", b"x", 1, 0),
        "removexattr": lambda: call(197, name, b"user.kept"),
        "lremovexattr": lambda: call(198, name, b"user.kept"),
        "chmod of the folder": lambda: call(90, os.path.dirname(name), 0o777),
        "rename": lambda: os.rename(state, state + ".moved"),
        "unlink": lambda: os.unlink(state),
        "link": lambda: os.link(state, os.path.join(room, "linked")),
        "mount": lambda: call(165, b"none", room.encode(), b"tmpfs", 0, ctypes.c_void_p(0)),
        "umount": lambda: call(166, os.path.dirname(name), 2),
        "mount_setattr": lambda: call(442, PATH, b"/", 0, bytes(32), 32),
        "open_tree": lambda: call(428, PATH, b"/", 1),
        "setns": lambda: call(308, os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY), 0),
        "open_by_handle_at": handle,
        "bpf": lambda: call(321, 0, struct.pack("IIII", 1, 4, 4, 1) + bytes(112), 128),
        "io_uring_setup": lambda: call(425, 1, bytes(120)),
        "keyctl": lambda: call(250, 0, -3, 1),
        "userfaultfd": lambda: call(323, 1),
        "typing into a terminal": lambda: terminal(0x5412),
        "typing with high bits": lambda: terminal(0x5412 | 1 << 32),
        "swapoff": lambda: call(168, b"/nowhere"),
        "reboot": lambda: call(169, 0xFEE1DEAD, 0, 0, 0),
    }
    for key, attempt in tries.items():
        # Where nothing is confined, all processes of the user would be set.
        if confined or "of the user" not in key:
            said(key, attempt)


def own(folder):
    path = os.path.join(folder, "own")
    put(path, "x")
    me = os.getpid()
    child = lambda: os.waitstatus_to_exitcode(os.system("true")) and os.abort()

    def listening():
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            one.listen()

    tries = {
        "prlimit of 0": lambda: call(PRLIMIT, 0, 7, limits(0), ctypes.c_void_p(0)),
        "prlimit of itself": lambda: call(PRLIMIT, me, 7, limits(me), ctypes.c_void_p(0)),
        "setpriority of 0": lambda: call(SETPRIORITY, 0, 0, 19),
        "setpriority of itself": lambda: call(SETPRIORITY, 0, me, 19),
        "setpriority of its group": lambda: call(SETPRIORITY, 1, 0, 19),
        "ioprio_set of 0": lambda: call(IOPRIO_SET, 1, 0, 2 << 13 | 4),
        "sched_setaffinity of 0": lambda: os.sched_setaffinity(0, os.sched_getaffinity(0)),
        "sched_setaffinity of itself": lambda: os.sched_setaffinity(me, os.sched_getaffinity(me)),
        "sched_setscheduler of 0": lambda: os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0)),
        "kill of itself": lambda: os.kill(me, 0),
        "chmod": lambda: os.chmod(path, 0o600),
        "chmod by descriptor": lambda: os.fchmod(os.open(path, os.O_RDONLY), 0o600),
        "chown to itself": lambda: os.chown(path, os.getuid(), os.getgid()),
        "utimensat": lambda: os.utime(path, (1, 1)),
        "times by descriptor": lambda: os.utime(os.open(path, os.O_RDONLY), (1, 1)),
        "child": child,
        "listening": listening,
    }
    for key, attempt in tries.items():
        said(key, attempt)


def said(key, attempt):
    try:
        attempt()
        outcome = "done"
    except OSError as error:
        outcome = errno.errorcode.get(error.errno, str(error.errno))
    print(json.dumps([key, outcome]), flush=True)


if sys.argv[1] == "host":
    host(int(sys.argv[2]), sys.argv[3], sys.argv[4] == "confined")
else:
    own(sys.argv[2])

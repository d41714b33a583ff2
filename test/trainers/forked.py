#!/usr/bin/python3 -IS
"""A server that has imported PyTorch once and forks a process for each Python program. Importing PyTorch
takes ten times as long as most programs of these tests run.

    forked.py serve SOCKET    the server. It closes its standard output when it is ready, and ends when its
                              standard input ends
    python3 ...               this file under the name python3: a client with Python's own arguments. It
                              connects to the file named socket in its folder

The program runs with the client's standard streams, environment and working directory. The client ends
with the program's exit code or signal. If the client is killed, the program is killed too.
"""
import gc
import json
import os
import select
import signal
import socket
import sys

LIBRARIES = "LD_LIBRARY_PATH"  # a process reads this variable only when it starts


def ask():
    """The client: lets the server run a program, and ends as the program ended."""
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), "socket"))
        socket.send_fds(s, [b"f"], [0, 1, 2])
        s.sendall(json.dumps([sys.argv[1:], dict(os.environ), os.getcwd()]).encode() + b"\n")
        code = int(s.makefile().read() or "70")
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)


def serve(path):
    """The server. It returns only in the process of a program, with the program's arguments."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    os.close(1)  # the server is ready: clients can connect and wait
    os.open(os.devnull, os.O_WRONLY)
    import torch._dynamo  # noqa: F401 also imported here, because the first step of an optimizer imports it

    gc.collect()
    gc.freeze()  # so that programs end faster: their garbage collector skips these objects
    while listener in select.select([sys.stdin, listener], [], [])[0]:
        caller, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            return hand_over(caller)
        caller.close()
    while True:
        try:
            os.wait()
        except ChildProcessError:
            sys.exit()


def hand_over(caller):
    """Forks the program's process and returns there, with the program's arguments. The parent waits until the program
    ends, or kills it when the client is gone."""
    fds = socket.recv_fds(caller, 1, 3)[1]
    words, environ, folder = json.loads(caller.makefile().readline())
    program = os.fork()
    if program != 0:
        end = os.pidfd_open(program)
        if end not in select.select([end, caller], [], [])[0]:
            os.kill(program, signal.SIGKILL)
            os._exit(1)
        code = os.waitstatus_to_exitcode(os.waitpid(program, 0)[1])
        caller.sendall(str(code).encode())
        os._exit(0)
    caller.close()
    for to, fd in enumerate(fds):
        os.dup2(fd, to)
        os.close(fd)
    assert environ.get(LIBRARIES, os.environ[LIBRARIES]) == os.environ[LIBRARIES], "the libraries are not those of the loopback"
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    return words


def run(words):
    """Runs a program as a new Python process would, including the work of sitecustomize."""
    import runpy
    import warnings

    sys.path[:1] = os.environ.get("PYTHONPATH", "").split(":")
    if "ZBENCH_TORCH_RANKS" in os.environ:
        import zbench_torch

        zbench_torch.install()
    if words[0] == "-W":
        warnings.simplefilter(words[1])
        del words[:2]
    sys.argv = words
    if words[0] == "-c":
        exec(words.pop(1), {"__name__": "__main__"})
    else:
        runpy.run_path(words[0], run_name="__main__")


if sys.argv[1:2] == ["serve"]:
    run(serve(sys.argv[2]))
else:
    ask()

// Command workload runs in the tests' sandboxes: as PID 1 in place of the real init (exit N,
// wait), and as an agent that attacks the real one (attack).
package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

func main() {
	switch os.Args[1] {
	case "exit":
		code, _ := strconv.Atoi(os.Args[2])
		os.Exit(code)
	case "wait":
		signal.Ignore(syscall.SIGTERM)
		for {
			time.Sleep(time.Hour)
		}
	case "attack":
		attack()
	case "kill":
		number, _ := strconv.Atoi(os.Args[2])
		fmt.Println("kill:", syscall.Kill(1, syscall.Signal(number)))
		for {
			time.Sleep(time.Hour)
		}
	case "facts":
		facts()
	case "flood":
		size, _ := strconv.Atoi(os.Args[2])
		for block := make([]byte, 1<<20); size > 0; size -= len(block) {
			_, _ = os.Stdout.Write(block[:min(size, len(block))])
		}
	case "forks":
		forks()
	case "sleepers":
		sleepers()
	}
}

// attack tries everything that root in the sandbox could do to PID 1, and prints a line for each.
func attack() {
	for sig := syscall.Signal(1); sig < 65; sig++ {
		if sig != syscall.SIGKILL && sig != syscall.SIGSTOP {
			_ = syscall.Kill(1, sig)
		}
	}
	fmt.Println("signalled")
	report("ptrace attach", syscall.PtraceAttach(1))
	for _, path := range []string{"/proc/1/mem", "/proc/1/environ", "/proc/1/maps"} {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			f, err = os.Open(path)
		}
		if err == nil {
			var n int
			n, err = f.ReadAt(make([]byte, 16), 0)
			if n == 0 && err != nil {
				err = fmt.Errorf("read: %w", err)
			} else if n > 0 {
				err = nil
			}
		}
		report("open "+path, err)
	}
	for fd := range 32 {
		path := "/proc/1/fd/" + strconv.Itoa(fd)
		if f, err := os.OpenFile(path, os.O_RDWR, 0); err == nil {
			info, _ := f.Stat()
			target, _ := os.Readlink(path)
			fmt.Printf("opened %s: %v %s\n", path, info.Mode(), target)
		}
	}
	report("pidfd_getfd", getfd())
	report("process_vm_readv", vmRead())
	report("overwrite init", os.WriteFile("/.aibox/init", []byte("x"), 0o755))
	fmt.Println("done")
}

func report(what string, err error) {
	if err == nil {
		fmt.Println("SUCCEEDED:", what)
		return
	}
	fmt.Println("failed:", what+":", err)
}

// getfd tries to copy PID 1's descriptors by pidfd_open(434) and pidfd_getfd(438).
func getfd() error {
	pidfd, _, errno := syscall.Syscall(434, 1, 0, 0)
	if errno != 0 {
		return errno
	}
	for fd := range 32 {
		got, _, errno := syscall.Syscall(438, pidfd, uintptr(fd), 0)
		if errno == 0 {
			return fmt.Errorf("SUCCEEDED with descriptor %d as %d", fd, got)
		}
		if errno != syscall.EBADF {
			return errno
		}
	}
	return errors.New("no descriptor")
}

func vmRead() error {
	buf := make([]byte, 16)
	local := syscall.Iovec{Base: &buf[0], Len: 16}
	remote := local
	_, _, errno := syscall.Syscall6(310, 1, uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// facts prints properties of the sandbox.
func facts() {
	var u syscall.Utsname
	_ = syscall.Uname(&u)
	fmt.Println("uid", os.Getuid(), "pid", os.Getpid(), "ppid", os.Getppid())
	status, _ := os.ReadFile("/proc/self/status")
	fmt.Printf("%s\n", status)
	for _, path := range []string{"/probe-root", "/tmp/probe", "/.aibox/x"} {
		fmt.Println("write", path, os.WriteFile(path, []byte("x"), 0o755))
	}
	for _, path := range []string{"/etc/resolv.conf", "/etc/hosts", "/proc/1/cmdline"} {
		data, err := os.ReadFile(path)
		fmt.Printf("%s %q %v\n", path, data, err)
	}
	var fs syscall.Statfs_t
	fmt.Println("tmp", syscall.Statfs("/tmp", &fs), fs.Blocks*uint64(fs.Bsize))
	for _, entry := range os.Environ() {
		fmt.Println("env", entry)
	}
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		target, _ := os.Readlink("/proc/self/fd/" + e.Name())
		fmt.Println("fd", e.Name(), target)
	}
}

// forks starts processes until that fails, and then waits.
func forks() {
	made := 0
	for ; made < 5000; made++ {
		_, err := syscall.ForkExec("/proc/self/exe", []string{"workload", "wait"}, &syscall.ProcAttr{Files: []uintptr{0, 1, 2}})
		if err != nil {
			fmt.Println("stopped after", made, err)
			break
		}
	}
	for {
		time.Sleep(time.Hour)
	}
}

// sleepers leaves ten children that ignore SIGTERM, each in its own session.
func sleepers() {
	for range 10 {
		_, err := syscall.ForkExec("/proc/self/exe", []string{"workload", "wait"}, &syscall.ProcAttr{
			Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setsid: true},
		})
		if err != nil {
			fmt.Println("fork:", err)
		}
	}
	fmt.Println("ready")
	signal.Ignore(syscall.SIGTERM)
	for {
		time.Sleep(time.Hour)
	}
}

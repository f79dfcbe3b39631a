package main

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"aibox/internal/lifeline"
)

const (
	commitLimit = 200
	commitBytes = 64 << 10 // of git's output that are read
	commitTime  = 3 * time.Second
	// stoppedTime is commitTime in a box that is stopping: the supervisor does not
	// wait much longer for the end than it gave the agent.
	stoppedTime = time.Second
)

// commits lists what the agent committed on top of baseline. It asks git inside
// the box, where the agent's repository can do no harm; whatever goes wrong, the
// list is shorter or empty. The agent has run by now and may have put another
// program in the place of git or of init: the list is its word and no more. Every
// process of the box is gone when commits has asked, which takes no longer than limit.
func commits(r *reaper, s lifeline.Start, limit time.Duration) []string {
	dir := repository(workdir(s.Dir))
	if !isCommit(s.Baseline) || !moved(dir, s.Baseline) {
		return nil
	}
	env := append(environment(os.Environ(), s.Env), "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0")
	git, err := findProgram("git", dir, lookup(env, "PATH"))
	if err != nil {
		return nil
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		return nil
	}
	defer out.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		childOut.Close()
		return nil
	}
	defer null.Close()
	s.Argv = []string{
		"git", "--no-pager", "log", "--no-show-signature", "--format=%h %s",
		"--max-count=" + strconv.Itoa(commitLimit), s.Baseline + "..HEAD", "--",
	}
	_, _, err = r.start(self(), launchArgs(s, git), &syscall.ProcAttr{
		Dir: dir, Env: env, Sys: &syscall.SysProcAttr{Setsid: true},
		Files: []uintptr{null.Fd(), childOut.Fd(), null.Fd()},
	})
	childOut.Close()
	if err != nil {
		return nil
	}
	// What runs in the place of git may leave children in sessions of their own that
	// hold the pipe open, so neither its end nor the end of its output is waited for
	// without a limit. By now nothing else in the box is worth keeping.
	_ = out.SetReadDeadline(time.Now().Add(limit))
	data, _ := io.ReadAll(io.LimitReader(out, commitBytes))
	r.killAll(0, killLimit)
	return lines(string(data))
}

// moved reports whether HEAD of dir's repository may be elsewhere than at the
// baseline. It saves the start of git, which is slow under gVisor, in the usual
// case of an agent that commits nothing.
func moved(dir, baseline string) bool {
	data, err := readSmall(filepath.Join(dir, ".git", "HEAD"))
	if err != nil {
		return false
	}
	head := strings.TrimSpace(data)
	if ref, ok := strings.CutPrefix(head, "ref: "); ok {
		if !filepath.IsLocal(ref) {
			return false
		}
		if data, err = readSmall(filepath.Join(dir, ".git", ref)); err != nil {
			data = packed(dir, ref)
		}
		head = strings.TrimSpace(data)
	}
	return head != baseline
}

// repository is the folder around dir that has a .git; dir itself when none has.
func repository(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return dir
		}
	}
}

// packed is the commit of a ref in the beginning of packed-refs, where aibox puts
// the branch that the agent starts on; empty when it is not there.
func packed(dir, ref string) string {
	data, _ := readSmall(filepath.Join(dir, ".git", "packed-refs"))
	for line := range strings.Lines(data) {
		if id, name, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name == ref {
			return id
		}
	}
	return ""
}

// readSmall reads the start of a regular file; a FIFO of the agent's must not
// hold up the end of the box.
func readSmall(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", os.ErrInvalid
	}
	data, err := io.ReadAll(io.LimitReader(f, 4096))
	return string(data), err
}

func isCommit(id string) bool {
	return (len(id) == 40 || len(id) == 64) && strings.Trim(id, "0123456789abcdef") == ""
}

// lines splits git's output, bounded in number and length.
func lines(text string) []string {
	var list []string
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" || len(list) == commitLimit {
			continue
		}
		list = append(list, line[:min(len(line), 300)])
	}
	return list
}

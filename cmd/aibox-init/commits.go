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
	commitBytes = 64 << 10 // maximum read from git's output
	commitTime  = 3 * time.Second
	// stoppedTime is commitTime in a sandbox that is stopping: the supervisor waits only
	// a little longer than the agent's grace.
	stoppedTime = time.Second
)

// commits lists the agent's commits since the baseline. It runs git inside the sandbox,
// where the agent's repository is harmless. After an error the list is shorter or empty.
// The agent may have replaced git or init, so the list is not trustworthy. When commits
// returns, within limit, every other process of the sandbox has ended.
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
	c := command{path: git, dir: dir, nofile: s.NoFile, nproc: s.Nproc}
	c.argv = []string{
		"git", "--no-pager", "log", "--no-show-signature", "--format=%h %s",
		"--max-count=" + strconv.Itoa(commitLimit), s.Baseline + "..HEAD", "--",
	}
	_, _, err = r.start(self(), c.launchArgs(), &syscall.ProcAttr{
		Dir: "/", Env: env, Sys: &syscall.SysProcAttr{Setsid: true},
		Files: []uintptr{null.Fd(), childOut.Fd(), null.Fd()},
	})
	childOut.Close()
	if err != nil {
		return nil
	}
	// A fake git can leave children in other sessions that keep the pipe open, so there
	// is a limit on waiting for its end and its output. Nothing else in the sandbox is
	// needed any more.
	_ = out.SetReadDeadline(time.Now().Add(limit))
	data, _ := io.ReadAll(io.LimitReader(out, commitBytes))
	r.killAll(0, killLimit)
	return lines(string(data))
}

// moved reports whether HEAD of dir's repository can differ from the baseline. Most
// agents commit nothing, and then it saves starting git, which is slow under gVisor.
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

// repository returns the closest folder at or above dir that has a .git, else dir.
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

// packed returns the commit of a ref at the beginning of packed-refs, where aibox writes
// the agent's branch, or "".
func packed(dir, ref string) string {
	data, _ := readSmall(filepath.Join(dir, ".git", "packed-refs"))
	for line := range strings.Lines(data) {
		if id, name, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name == ref {
			return id
		}
	}
	return ""
}

// readSmall reads the start of a regular file. A FIFO of the agent must not delay the
// end of the sandbox.
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

// lines splits git's output, and limits the number and length of the lines.
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

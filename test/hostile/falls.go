package hostile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/creack/pty"
)

// Known reports whether this machine's git knows what the attack abuses. One that
// it does not know is still to be planted: nothing may come of it.
func (a Attack) Known() (bool, error) {
	if a.Since == "" {
		return true, nil
	}
	out, err := exec.CommandContext(context.Background(), "git", "version").Output()
	if err != nil {
		return false, err
	}
	var have, since [2]int
	_, err = fmt.Sscanf(string(out), "git version %d.%d", &have[0], &have[1])
	_, err2 := fmt.Sscanf(a.Since, "%d.%d", &since[0], &since[1])
	return have[0] > since[0] || have[0] == since[0] && have[1] >= since[1], errors.Join(err, err2)
}

// Falls runs the plain git command that the attack waits for, in the planted
// repository at dir, and reports whether the attack worked.
func (a Attack) Falls(dir, canary string) (bool, error) {
	out, err := a.provoke(dir)
	if err != nil {
		return false, err
	}
	return a.Worked(out, canary), nil
}

// Worked reports whether the attack had its effect on a program that printed out.
func (a Attack) Worked(out, canary string) bool {
	switch a.Effect {
	case Leaks:
		return strings.Contains(out, Secret)
	case Hides:
		return !strings.Contains(out, "a.txt")
	default:
		_, err := os.Lstat(canary)
		return err == nil
	}
}

// provoke returns what the command printed. Many an attack makes git fail
// afterwards, which is no error here.
func (a Attack) provoke(dir string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	who := []string{"-c", "user.name=U", "-c", "user.email=u@example.org"}
	cmd := exec.CommandContext(ctx, "git", append(who, a.Provoke...)...)
	cmd.WaitDelay = time.Second
	cmd.Dir = filepath.Join(dir, a.In)
	cmd.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "TERM=xterm", "GIT_EDITOR=", "PAGER=cat")
	for i, v := range cmd.Env {
		if v == "GIT_EDITOR=" { // set and empty is not unset
			cmd.Env = append(cmd.Env[:i], cmd.Env[i+1:]...)
			break
		}
	}
	cmd.Stdin = strings.NewReader(a.Stdin)
	if !a.Terminal {
		out, err := cmd.CombinedOutput()
		if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
			return "", err
		}
		return string(out), nil
	}
	cmd.Stdin = nil
	terminal, err := pty.Start(cmd)
	if err != nil {
		return "", err
	}
	defer terminal.Close()
	if _, err := io.WriteString(terminal, a.Stdin); err != nil {
		return "", err
	}
	out, err := io.ReadAll(terminal)
	if err != nil && !errors.Is(err, syscall.EIO) { // the end, on a terminal
		return "", err
	}
	_ = cmd.Wait()
	return string(out), nil
}

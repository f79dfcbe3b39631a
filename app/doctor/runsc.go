package doctor

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"aibox/internal/command"
	"aibox/internal/lazyregexp"
	"aibox/internal/termtext"
	"aibox/runtime"
	"aibox/scripts"
)

// runscRelease matches the date of a release in runsc's version.
var runscRelease = lazyregexp.New(`release-([0-9]{8})\.`)

// pinnedRelease matches the date of the release that the setup installs.
var pinnedRelease = lazyregexp.New(`(?m)^readonly RUNSC_RELEASE=([0-9]{8})\.`)

// runtimeProblems returns the problems of the runtime with which Docker starts sandboxes.
// The setup makes the same checks before it keeps a registered runtime (runtime_problems in
// its script).
func runtimeProblems(ctx context.Context, r runtime.Runtime) []string {
	var problems []string
	if !strings.HasPrefix(r.Path, setupDir) {
		if why := programProblem(ctx, r.Path); why != "" {
			problems = append(problems, why)
		}
	}
	return append(problems, r.Unsafe()...)
}

// programProblem returns why a program that aibox did not install cannot be trusted: other
// users can change it, or it is too old. "" means that it can be trusted.
func programProblem(ctx context.Context, path string) string {
	real, err := filepath.EvalSymlinks(path)
	info, statErr := os.Stat(real)
	if err != nil || statErr != nil || !filepath.IsAbs(path) || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return fmt.Sprintf("its program (%s) cannot be executed", termtext.Escape(path))
	}
	for dir := real; ; dir = filepath.Dir(dir) {
		if why := writableByOthers(dir); why != "" {
			return why
		}
		if dir == "/" {
			break
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	version, _ := command.Cmd{Name: real, Args: []string{"--version"}}.Output(ctx) // a failure prints no version
	line, _, _ := strings.Cut(string(version), "\n")
	release, pinned := runscRelease.FindStringSubmatch(line), pinnedRelease.FindSubmatch(scripts.Setup)
	if release == nil || pinned == nil || release[1] < string(pinned[1]) {
		return fmt.Sprintf("its version is not known to be as new as aibox's (it says: %s)", termtext.Escape(line))
	}
	return ""
}

// writableByOthers returns how users other than root and this one can change a file or a
// folder; "" if they cannot.
func writableByOthers(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return err.Error()
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok || stat.Uid != 0 && int(stat.Uid) != os.Getuid():
		return termtext.Escape(path) + " belongs to another user"
	case info.Mode()&0o022 != 0 && (!info.IsDir() || info.Mode()&fs.ModeSticky == 0): // in a sticky folder only the owner can replace a file
		return "others can write to " + termtext.Escape(path)
	}
	return ""
}

package doctor

import (
	"context"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"io"
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

	"golang.org/x/sys/unix"
)

// runscRelease matches the date of a release in runsc's version.
var runscRelease = lazyregexp.New(`release-([0-9]{8})\.`)

// These match, in the setup script, the release that it installs and its date, the SHA-512 of that release
// for a kind of processor, and the version that it builds from source if it cannot download the release.
var (
	pinnedRelease = lazyregexp.New(`(?m)^readonly RUNSC_RELEASE=(([0-9]{8})\.[0-9]+)$`)
	pinnedDigest  = lazyregexp.New(`(?m)^\t\[([a-z0-9_]+)\]=([0-9a-f]{128})$`)
	pinnedBuild   = lazyregexp.New(`(?m)^readonly RUNSC_MODULE=[^@\n]+@(\S+)$`)
)

// runtimeProblems returns the problem of the program of the runtime with which Docker starts
// sandboxes, "" if it has none, and those of its registration. The setup makes the same checks
// before it keeps a registered runtime (runtime_problems in its script).
func runtimeProblems(ctx context.Context, r runtime.Runtime) (program string, registration []string) {
	if isOurs(r.Path) {
		return ownProgramProblem(r.Path), r.Unsafe()
	}
	return programProblem(ctx, r.Path), r.Unsafe()
}

// isOurs reports whether the program at path is in the folder of the setup's runsc.
func isOurs(path string) bool { return filepath.Dir(path)+"/" == setupDir }

// ownProgramProblem returns why the program at path is not the one that the setup of this version of aibox
// installs; "" if it is. The setup makes the same checks (installed_runsc in its script).
func ownProgramProblem(path string) string {
	if !isProgram(path) {
		return fmt.Sprintf("its program (%s) cannot be executed", termtext.Escape(path))
	}
	if why := writableByOthers(path); why != "" {
		return why
	}
	release, build := pinnedRelease.FindSubmatch(scripts.Setup), pinnedBuild.FindSubmatch(scripts.Setup)
	switch name := filepath.Base(path); {
	case build != nil && name == "runsc-"+string(build[1]):
		return ""
	case release != nil && name == "runsc-release-"+string(release[1]) && isPinned(path):
		return ""
	}
	return fmt.Sprintf("its program (%s) is not the one of this version of aibox", termtext.Escape(path))
}

// isPinned reports whether the file at path is the release that the setup installs on this machine.
func isPinned(path string) bool {
	var machine unix.Utsname
	if err := unix.Uname(&machine); err != nil {
		return false
	}
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	sum := sha512.New()
	if _, err := io.Copy(sum, file); err != nil {
		return false
	}
	for _, pinned := range pinnedDigest.FindAllStringSubmatch(string(scripts.Setup), -1) {
		if pinned[1] == unix.ByteSliceToString(machine.Machine[:]) {
			return pinned[2] == hex.EncodeToString(sum.Sum(nil))
		}
	}
	return false
}

// isProgram reports whether the file at path can be executed.
func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// programProblem returns why a program that aibox did not install cannot be trusted: other
// users can change it, or it is too old. "" means that it can be trusted.
func programProblem(ctx context.Context, path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || !filepath.IsAbs(path) || !isProgram(real) {
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
	if release == nil || pinned == nil || release[1] < string(pinned[2]) {
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

package cli

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"aibox/internal/command"
	"aibox/internal/termtext"
	"aibox/runtime"
	"aibox/scripts"
)

// runscRelease is the date of a release in what runsc says of itself.
var runscRelease = regexp.MustCompile(`release-([0-9]{8})\.`)

// pinnedRelease is that of the release that the set-up installs.
var pinnedRelease = regexp.MustCompile(`(?m)^readonly RUNSC_RELEASE=([0-9]{8})\.`)

// oddRuntime says what speaks against the runtime that Docker starts boxes with; it is
// empty when nothing does. It asks what the set-up asks before it keeps a runtime that
// others have registered (odd_runtime in its script).
func oddRuntime(ctx context.Context, r runtime.Runtime) []string {
	var odd []string
	if !strings.HasPrefix(r.Path, setupDir) {
		if why := oddProgram(ctx, r.Path); why != "" {
			odd = append(odd, why)
		}
	}
	return append(odd, r.Unsafe()...)
}

// oddProgram says why a program that others have installed is not to be trusted: others
// can change it, or it is too old.
func oddProgram(ctx context.Context, path string) string {
	real, err := filepath.EvalSymlinks(path)
	info, statErr := os.Stat(real)
	if err != nil || statErr != nil || !filepath.IsAbs(path) || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return fmt.Sprintf("its program (%s) cannot be executed", termtext.Escape(path))
	}
	for dir := real; ; dir = filepath.Dir(dir) {
		if why := openToOthers(dir); why != "" {
			return why
		}
		if dir == "/" {
			break
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	said, _ := command.Cmd{Name: real, Args: []string{"--version"}}.Output(ctx) // one that fails says nothing
	line, _, _ := strings.Cut(string(said), "\n")
	release, pinned := runscRelease.FindStringSubmatch(line), pinnedRelease.FindSubmatch(scripts.Setup)
	if release == nil || pinned == nil || release[1] < string(pinned[1]) {
		return fmt.Sprintf("its version is not known to be as new as aibox's (it says: %s)", termtext.Escape(line))
	}
	return ""
}

// openToOthers says who else can change a file or a folder; "" when nobody can but root
// and the user.
func openToOthers(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return err.Error()
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok || stat.Uid != 0 && int(stat.Uid) != os.Getuid():
		return termtext.Escape(path) + " belongs to another user"
	case info.Mode()&0o022 != 0 && (!info.IsDir() || info.Mode()&fs.ModeSticky == 0): // a sticky folder lets nobody replace what is another's
		return "others can write to " + termtext.Escape(path)
	}
	return ""
}

package docker

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/docker/docker/api/types/system"

	"aibox/internal/fault"
	"aibox/internal/sorting"
	"aibox/runtime"
)

// Info queries the daemon once and caches the answer. It refuses a daemon that sandboxes
// cannot use; the fault has the fix as a hint.
func (b *Backend) Info(ctx context.Context) (found runtime.Info, err error) {
	err = b.answered(ctx, "asking Docker for its properties", func(ctx context.Context) error {
		found, err = b.askInfo(ctx)
		return err
	})
	return found, err
}

// askInfo is Info without a time limit.
func (b *Backend) askInfo(ctx context.Context) (runtime.Info, error) {
	select {
	case b.asking <- struct{}{}:
		defer func() { <-b.asking }()
	case <-ctx.Done():
		return runtime.Info{}, ctx.Err()
	}
	if b.info != nil {
		return *b.info, nil
	}
	raw, err := b.api.Info(ctx)
	if err != nil {
		return runtime.Info{}, b.unreachable(err)
	}
	info := infoOf(raw, b.api.ClientVersion())
	if err := b.accept(info); err != nil {
		return runtime.Info{}, err
	}
	if info.Site, err = b.site(ctx, info.Rootless); err != nil {
		return runtime.Info{}, err
	}
	b.info = &info
	return info, nil
}

func (b *Backend) accept(info runtime.Info) error {
	if !info.Rootless && !b.rootful {
		return fault.New(fault.Environment, "the Docker daemon at %q runs as root, and a sandbox that broke out of it would be root", b.socket).
			Hint(setupHint).
			Hint("use the root daemon all the same: --rootful")
	}
	if _, ok := info.Find(b.runtime); !ok {
		missing := fault.New(fault.Environment, "the Docker daemon has no runtime %q, so nothing would be sandboxed by gVisor", b.runtime)
		if b.rootful {
			return missing.Hint(runtime.SystemRegistration).Hint(ownDockerHint)
		}
		return missing.Hint(setupHint).Hint("`aibox doctor` checks Docker and runsc")
	}
	return nil
}

func infoOf(raw system.Info, api string) runtime.Info {
	info := runtime.Info{
		Version: raw.ServerVersion, APIVersion: api, DataRoot: raw.DockerRootDir,
		Rootless: slices.ContainsFunc(raw.SecurityOptions, func(option string) bool {
			return slices.Contains(strings.Split(option, ","), "name=rootless")
		}),
	}
	for name, r := range raw.Runtimes {
		registered := runtime.Runtime{Name: name, Path: r.Path, Args: r.Args}
		registered.Overlay, registered.OverlaySize = overlay(r.Args)
		if r.Type != "" {
			registered.Unknown = append(registered.Unknown, "runtimeType")
		}
		if len(r.Options) > 0 {
			registered.Unknown = append(registered.Unknown, "options")
		}
		info.Runtimes = append(info.Runtimes, registered)
	}
	sorting.Func(info.Runtimes, func(a, b *runtime.Runtime) int { return strings.Compare(a.Name, b.Name) })
	return info
}

// overlay reads runsc's --overlay2 flag, whose value is MOUNT:MEDIUM[,size=N] or none.
// Without the flag runsc overlays the root with no cap on its size. If there are several,
// the last one counts, as in Go's flag package.
func overlay(args []string) (on bool, size int64) {
	on = true
	for i, arg := range args {
		name, value, ok := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if name != "overlay2" || !strings.HasPrefix(arg, "-") {
			continue
		}
		if !ok && i+1 < len(args) {
			value = args[i+1]
		}
		mount, options, _ := strings.Cut(value, ":")
		on, size = mount == "root" || mount == "all", 0
		for option := range strings.SplitSeq(options, ",") {
			if text, ok := strings.CutPrefix(option, "size="); ok {
				size = parseSize(text)
			}
		}
	}
	return on, size
}

// parseSize reads a number with an optional k, m, g or t (powers of 1024);
// anything else is 0, no cap.
func parseSize(text string) int64 {
	text = strings.ToLower(strings.TrimSuffix(strings.ToLower(text), "b"))
	shift := 0
	if len(text) > 0 {
		if i := strings.IndexByte("kmgt", text[len(text)-1]); i >= 0 {
			shift, text = 10*(i+1), text[:len(text)-1]
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > (1<<62)>>shift {
		return 0
	}
	return n << shift
}

// clean makes a daemon's text fit for display: one line, printable, bounded.
func clean(err error) string {
	text := []rune(strings.Join(strings.Fields(err.Error()), " "))
	text = text[:min(len(text), 1000)]
	quoted := strconv.Quote(string(text))
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

// ownedBy reports whether the process belongs to uid.
func ownedBy(pid, uid int) bool {
	owner, err := ownerOf(fmt.Sprintf("/proc/%d", pid))
	return err == nil && owner == uid
}

func ownerOf(path string) (int, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return uidOf(info), nil
}

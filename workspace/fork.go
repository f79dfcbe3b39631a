package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"aibox/internal/fault"
	"aibox/internal/git"
	"aibox/internal/paths"
	"aibox/internal/undo"
)

// ForkRequest describes the fork of a workspace.
type ForkRequest struct {
	Of      *Workspace // its sandbox must be dead; of it, only rights change that the user needs to read its files
	Session string     // the id of the session that the fork is for: names refs, folders and files
	Dirs    paths.Dirs

	Observer Observer
}

// Fork copies a workspace with its baseline, so that the change set of the copy holds the
// work so far. The copy shares no file with the original: a large file is cloned where the
// file system can, and copied elsewhere. Symlinks are copied and never followed; sockets,
// pipes and devices are left out. The .git is copied as bytes and not read.
//
// On error it leaves nothing of the copy.
func Fork(ctx context.Context, req ForkRequest) (_ *Workspace, err error) {
	if !sessionID.MatchString(req.Session) {
		return nil, fmt.Errorf("%q is not a session id", req.Session)
	}
	var steps undo.Stack
	defer func() {
		if err != nil {
			err = errors.Join(explainFull(err, req.Dirs), steps.Run(ctx, 0))
		}
	}()
	ws := *req.Of
	ws.Session, ws.Holder = req.Session, ""
	ws.Baseline = filepath.Join(filepath.Dir(req.Of.Baseline), req.Session+".baseline")
	steps.Add(func(ctx context.Context) error { return forget(ctx, &ws) })
	if err := ws.makeFolder(req.Dirs, []string{ws.Name, ws.Name + "-" + ws.Session}, req.Observer, &steps); err != nil {
		return nil, err
	}
	if err := copyRefs(ctx, req.Of, req.Session); err != nil {
		return nil, fmt.Errorf("keeping the baseline of the copy: %w", err)
	}
	baseline, err := copyBaseline(req.Of.Baseline, ws.Baseline)
	if err != nil {
		return nil, err
	}
	to, err := unix.Open(ws.Path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(to)
	// A file of the baseline that the copy lacks would count as deleted by the agent.
	all := ThrowawayRequest{Of: req.Of, Dirs: req.Dirs, needs: baseline.has}
	return &ws, all.copyAll(ctx, &ws, to)
}

// copyRefs creates refs for another session to everything that the workspace's refs keep,
// except saved states.
func copyRefs(ctx context.Context, of *Workspace, session string) error {
	repo := git.Owned(of.GitDir)
	out, err := repo.Output(ctx, "for-each-ref", "--format=%(objectname) %(refname)", ref(of.Session, ""))
	if err != nil {
		return err
	}
	var updates strings.Builder
	for line := range strings.Lines(string(out)) {
		id, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		last, own := strings.CutPrefix(name, ref(of.Session, ""))
		if _, err := strconv.Atoi(last); own && err != nil { // a saved state has a number
			fmt.Fprintf(&updates, "create %s %s\n", ref(session, last), id)
		}
	}
	return repo.Run(ctx, strings.NewReader(updates.String()), nil, "update-ref", "--no-deref", "--stdin")
}

// copyBaseline copies a baseline for a copy of the workspace, and returns it. It leaves out the files'
// stat, so that each file is read when changes are computed.
func copyBaseline(from, to string) (*Baseline, error) {
	baseline, err := LoadBaseline(from)
	if err != nil {
		return nil, fmt.Errorf("reading the baseline: %w", err)
	}
	for i := range baseline.Files {
		baseline.Files[i].Stat = Stat{}
	}
	return baseline, baseline.Save(to)
}

// has reports whether a path is a file of the baseline, or a folder with one; "." is the top.
func (b *Baseline) has(path string) bool {
	if _, is := b.Find(path); is || path == "." {
		return len(b.Files) > 0
	}
	next, _ := b.Find(path + "/")
	return next < len(b.Files) && strings.HasPrefix(b.Files[next].Path, path+"/")
}

// CopyTree copies a folder that an agent filled to the folder to, which must not exist. It
// copies as Fork does, and returns a clause for each thing that is missing from the copy.
func CopyTree(ctx context.Context, from, to string) (notes []string, err error) {
	if err := os.Mkdir(to, 0o700); err != nil {
		return nil, err
	}
	top, err := openTop(ctx, from, false)
	if err != nil {
		return nil, err
	}
	defer unix.Close(top)
	copied, err := unix.Open(to, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(copied)
	d := (&ThrowawayRequest{}).duplicate(top, copied)
	if err := d.run(ctx); err != nil {
		var limit *fault.Fault
		if errors.As(err, &limit) {
			return nil, err
		}
		return nil, fmt.Errorf("copying %s: %w", from, err)
	}
	return d.notes(), nil
}

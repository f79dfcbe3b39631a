package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"aibox/internal/fault"
	"aibox/internal/git"
	"aibox/internal/paths"
	"aibox/internal/termtext"
	"aibox/internal/undo"
)

// The limits of a throwaway copy. Beyond them the copy is refused, not cut off: a
// verification must not run on half of the files.
const (
	maxThrowawayFiles = 2_000_000
	maxThrowawayBytes = 32 << 30
)

// ThrowawayRequest describes a throwaway copy.
type ThrowawayRequest struct {
	// Of is the agent's workspace. Its sandbox must be dead unless Live. Of it, only rights change that the
	// user needs to read its files.
	Of      *Workspace
	Has     string // the tree of Of's change set, in Of's GitDir
	Tree    string // the tree that the copy gets, in Of's GitDir; equal to Has to change nothing
	Session string // the id of the session that the copy is for: names the folder
	Dirs    paths.Dirs
	// Live allows the agent to run meanwhile: files that change are copied in some state,
	// files that disappear are left out.
	Live bool
	// FromStart creates a new .git in the copy (see startGit) and copies all files
	// unchanged. Has and Tree must be empty.
	FromStart bool

	Observer Observer

	readOnly *ReadOnly              // in Tree
	needs    func(path string) bool // as in duplicate

	maxFiles int   // 0 means maxThrowawayFiles
	maxBytes int64 // 0 means maxThrowawayBytes
}

// Throwaway copies the agent's workspace for one command, including ignored files such as
// installed packages and the agent's .git. Files that differ between the trees Has and Tree
// are written as in Tree. So are read-only files, and nothing else in their place is copied.
// The copy shares no file with the workspace; symlinks are copied and never followed;
// sockets, pipes and devices are left out. The .git is copied as bytes and not read. The copy
// has no baseline, so it has no change set; Remove removes it. If the workspace no longer
// exists, the copy holds only Tree.
//
// On error it leaves nothing of the copy.
func Throwaway(ctx context.Context, req ThrowawayRequest) (_ *Workspace, err error) {
	if !sessionID.MatchString(req.Session) {
		return nil, fmt.Errorf("%q is not a session id", req.Session)
	}
	gone, err := req.Of.Gone()
	if err != nil {
		return nil, err
	}
	if gone && req.FromStart {
		return nil, fault.New(fault.Usage, "the workspace of %s is gone", req.Of.Owner())
	}
	var steps undo.Stack
	defer func() {
		if err != nil {
			err = errors.Join(explainFull(err, req.Dirs), steps.Run(ctx, 0))
		}
	}()
	ws := &Workspace{
		Session: req.Session, Name: req.Of.Name, Repo: req.Of.Repo, URL: req.Of.URL,
		Head: req.Of.Head, HeadRef: req.Of.HeadRef, BaseTree: req.Tree, Hide: req.Of.Hide,
	}
	if err := ws.makeFolder(req.Dirs, []string{ws.Name + "-" + ws.Session}, req.Observer, &steps); err != nil {
		return nil, err
	}
	if err := req.fill(ctx, ws, gone); err != nil {
		return nil, err
	}
	if req.FromStart {
		return ws, req.startGit(ctx, ws)
	}
	return ws, nil
}

// fill copies the files.
func (req *ThrowawayRequest) fill(ctx context.Context, ws *Workspace, gone bool) error {
	to, err := unix.Open(ws.Path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(to)
	if !req.FromStart {
		if req.readOnly, err = req.readOnlyIn(ctx, req.Tree); err != nil {
			return err
		}
	}
	has := req.Has
	if gone {
		ws.Notes = append(ws.Notes, "the workspace is gone, so files outside the repository, such as installed packages, are missing")
		if has, err = emptyTree(ctx, req.Of.GitDir); err != nil {
			return err
		}
	} else if err := req.copyAll(ctx, ws, to); err != nil {
		return err
	}
	if err := req.putTree(ctx, ws, to, has, nil); err != nil || req.readOnly == nil || gone {
		return err
	}
	// Whatever the agent put in the place of read-only files was left out.
	nothing, err := emptyTree(ctx, req.Of.GitDir)
	if err != nil {
		return err
	}
	return req.putTree(ctx, ws, to, nothing, req.readOnly.Has)
}

// copyAll copies the agent's workspace. If necessary it first reclaims files of other users
// of the sandbox.
func (req *ThrowawayRequest) copyAll(ctx context.Context, ws *Workspace, to int) error {
	from, err := openTop(ctx, req.Of.Path, req.Live)
	if err != nil {
		return fmt.Errorf("opening the workspace %s: %w", req.Of.Path, err)
	}
	defer unix.Close(from)
	d := req.duplicate(from, to)
	if err := d.run(ctx); err != nil {
		return err
	}
	if d.unreadable > 0 && d.foreign && !req.Live && Reclaim(ctx, req.Of) == nil {
		if err := (&remover{root: to, known: map[string]bool{}}).empty("."); err != nil {
			return err
		}
		d = req.duplicate(from, to)
		if err := d.run(ctx); err != nil {
			return err
		}
	}
	if d.lost != "" {
		return fault.New(fault.Environment, "%s cannot be read, so that the copy would lack it", termtext.Escape(d.lost)).
			Hint("`ls -ld %s` shows its owner and its rights", termtext.Escape(join(req.Of.Path, d.lost)))
	}
	ws.Files, ws.Bytes = d.files, d.bytes
	ws.Notes = append(ws.Notes, d.notes()...)
	return nil
}

func (req *ThrowawayRequest) duplicate(from, to int) *duplicate {
	return &duplicate{
		from: from, to: to, readOnly: req.readOnly, needs: req.needs, uid: uint32(os.Getuid()), live: req.Live,
		maxFiles: cmp.Or(req.maxFiles, maxThrowawayFiles), maxBytes: req.mostBytes(),
	}
}

func (req *ThrowawayRequest) mostBytes() int64 { return cmp.Or(req.maxBytes, maxThrowawayBytes) }

// readOnlyIn returns the read-only paths for the files of a tree.
func (req *ThrowawayRequest) readOnlyIn(ctx context.Context, tree string) (*ReadOnly, error) {
	if len(req.Of.ReadOnly) == 0 {
		return nil, nil //nolint:nilnil // nil is valid
	}
	entries, err := git.Owned(req.Of.GitDir).Tree(ctx, tree)
	if err != nil {
		return nil, fmt.Errorf("reading the files of the copy: %s", git.Message(err))
	}
	return newReadOnly(req.Of.ReadOnly, func(yield func(string) bool) {
		for _, e := range entries {
			if !yield(e.Path) {
				return
			}
		}
	})
}

// emptyTree is the id of the tree without files.
func emptyTree(ctx context.Context, gitDir string) (string, error) {
	return git.Owned(gitDir).Line(ctx, "hash-object", "-t", "tree", "-w", "/dev/null")
}

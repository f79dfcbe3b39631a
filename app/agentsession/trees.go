package agentsession

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"aibox/internal/archive"
	"aibox/internal/diskuse"
	"aibox/internal/draft"
	"aibox/internal/fault"
	"aibox/internal/git"
	"aibox/internal/gitname"
	"aibox/internal/paths"
	"aibox/internal/undo"
	"aibox/session"
)

// The limits of an uploaded tree.
const (
	maxTreeBytes   = 2 << 30
	maxTreeEntries = 200_000
	treeLife       = time.Hour // for a tree without a session
	maxTrees       = 100       // for one tenant
)

// A tree is extracted in a draft, whose lock shows that its process lives.
const (
	draftPrefix = ".new-"
	draftTree   = "tree"
)

// Trees are source trees that tenants have uploaded, each as a repository that aibox owns.
type Trees struct {
	Dir string // a folder in aibox's own data; it need not exist
	// InUse reports whether a session uses the repository at a path. Its tree is then kept.
	InUse func(repository string) bool
	// Room returns room for a tree of a tenant, none of it reserved. Nil means that there are no
	// quotas.
	Room func(tenant session.Tenant) Room
}

// Room is disk space that is reserved for a tree until it is stored.
type Room interface {
	// Reserve reserves at least this many bytes. If the tenant's quota has no room for them, the
	// error is a Limit fault.
	Reserve(ctx context.Context, bytes int64) error
	Release()
}

// anyRoom is the room without a quota.
type anyRoom struct{}

func (anyRoom) Reserve(context.Context, int64) error { return nil }
func (anyRoom) Release()                             {}

// Tree is an uploaded tree.
type Tree struct {
	ID      string
	Expires time.Time // when it is removed unless a session was started on it
}

// Add stores the tree in a tar archive. It omits entries named .git, links to targets
// outside of the tree, devices and pipes.
func (t Trees) Add(ctx context.Context, tenant session.Tenant, in io.Reader) (_ Tree, err error) {
	if _, err := session.ParseTenant(string(tenant)); err != nil {
		return Tree{}, err
	}
	folder := filepath.Join(t.Dir, string(tenant))
	if err := paths.MakePrivate(folder); err != nil {
		return Tree{}, err
	}
	if err := t.sweep(folder); err != nil {
		return Tree{}, err
	}
	room := t.room(tenant)
	defer room.Release()
	if err := room.Reserve(ctx, 1); err != nil { // before anything is read
		return Tree{}, err
	}
	id := strings.ToLower(rand.Text()[:20])
	made := filepath.Join(folder, draftPrefix+id)
	dir := filepath.Join(made, draftTree)
	var undone undo.Stack
	defer func() { err = errors.Join(err, undone.Run(ctx, 0)) }()
	undone.Add(func(context.Context) error { return os.RemoveAll(made) })
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Tree{}, err
	}
	lock, err := draft.Lock(made)
	if err != nil {
		return Tree{}, err
	}
	undone.Add(func(context.Context) error { return lock.Close() })
	if err := extractTree(ctx, in, dir, room); err != nil {
		return Tree{}, err
	}
	if err := commitTree(ctx, dir); err != nil {
		return Tree{}, err
	}
	taken, err := diskuse.Total([]string{dir}, maxTreeEntries*2)
	if err == nil {
		err = room.Reserve(ctx, taken) // if git has needed more
	}
	if err != nil {
		return Tree{}, err
	}
	if err := os.Rename(dir, filepath.Join(folder, id)); err != nil {
		return Tree{}, err
	}
	return Tree{ID: id, Expires: time.Now().Add(treeLife)}, nil // without its draft
}

// room returns the room for a tree of a tenant.
func (t Trees) room(tenant session.Tenant) Room {
	if t.Room == nil {
		return anyRoom{}
	}
	return t.Room(tenant)
}

// extractTree extracts an archive, as far as there is room for the files, and for what git makes
// of each.
func extractTree(ctx context.Context, in io.Reader, dir string, room Room) error {
	var noRoom error
	_, err := archive.Extract(in, dir, "", archive.Options{
		IsGit: gitname.IsDotGit, MaxBytes: maxTreeBytes, MaxEntries: maxTreeEntries,
		Reserve: func(bytes int64) error {
			noRoom = room.Reserve(ctx, 2*bytes)
			return noRoom
		},
	})
	switch {
	case noRoom != nil:
		return noRoom
	case errors.Is(err, archive.ErrTooLarge), errors.Is(err, archive.ErrTooDeep):
		return fault.New(fault.Limit, "the tree cannot be stored: %w", err).Hint("leave out what can be built or downloaded again")
	case err != nil:
		return fault.New(fault.Usage, "the tree cannot be read: %w", err).Hint("upload a tar archive of the folder's contents")
	}
	return nil
}

// Bytes returns the disk space of the tenant's trees in bytes, without those that are being
// uploaded, whose room is reserved.
func (t Trees) Bytes(tenant session.Tenant) (int64, error) {
	if _, err := session.ParseTenant(string(tenant)); err != nil {
		return 0, err
	}
	folder := filepath.Join(t.Dir, string(tenant))
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	var trees []string
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), draftPrefix) {
			trees = append(trees, filepath.Join(folder, entry.Name()))
		}
	}
	const maxEntries = maxTrees * maxTreeEntries * 2 // each file is also an object
	bytes, err := diskuse.Total(trees, maxEntries)
	if err != nil {
		return 0, fault.New(fault.Limit, "the uploaded trees of the tenant cannot be measured: %w", err).Hint("delete sessions that are not needed any more")
	}
	return bytes, nil
}

// commitTree creates a repository with one commit from the files in dir. It uses only
// aibox's own configuration, so that attributes in the tree run nothing.
func commitTree(ctx context.Context, dir string) error {
	repo := git.Owned(filepath.Join(dir, ".git")).With("GIT_WORK_TREE=" + dir)
	who := []string{"-C", dir, "-c", "user.name=aibox", "-c", "user.email=aibox@localhost", "-c", "core.autocrlf=false"}
	for _, args := range [][]string{
		{"init", "--quiet", "--template=", "--initial-branch=main"},
		{"add", "--all", "--force", "--", "."},
		{"commit", "--quiet", "--allow-empty", "--no-verify", "--no-gpg-sign", "--message=Uploaded tree"},
	} {
		if err := repo.Run(ctx, nil, nil, append(append([]string{}, who...), args...)...); err != nil {
			return fmt.Errorf("making a repository of the uploaded tree: %w", err)
		}
	}
	return nil
}

// Repository returns the repository of a tenant's tree.
func (t Trees) Repository(tenant session.Tenant, id string) (string, error) {
	if session.IsName(id) && session.IsName(string(tenant)) {
		dir := filepath.Join(t.Dir, string(tenant), id)
		if info, err := os.Lstat(filepath.Join(dir, ".git")); err == nil && info.IsDir() {
			return dir, nil
		}
	}
	return "", fault.New(fault.NotFound, "there is no uploaded tree %q", id).Hint("trees are removed after an hour without a session; upload it again")
}

// holds reports whether a repository is a tree of the tenant.
func (t Trees) holds(tenant session.Tenant, repository string) bool {
	return t.Dir != "" && session.IsName(string(tenant)) && filepath.Dir(repository) == filepath.Join(t.Dir, string(tenant))
}

// Sweep removes what uploads of dead processes have left, and old trees without a session, of
// all tenants.
func (t Trees) Sweep() error {
	tenants, err := os.ReadDir(t.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, tenant := range tenants {
		if sweepErr := t.sweep(filepath.Join(t.Dir, tenant.Name())); fault.KindOf(sweepErr) != fault.Limit {
			err = errors.Join(err, sweepErr)
		}
	}
	return err
}

// sweep removes what uploads of dead processes have left of a tenant's trees, and trees that
// are old and not used by a session.
func (t Trees) sweep(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	count := 0
	for _, entry := range entries {
		dir := filepath.Join(folder, entry.Name())
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		isOld, isDraft := err == nil && time.Since(info.ModTime()) > treeLife, strings.HasPrefix(entry.Name(), draftPrefix)
		switch {
		case err == nil && isDraft:
			var isAlive bool
			if isAlive, err = draft.RemoveDead(dir, info.ModTime()); isAlive {
				count++
			}
		case isOld && !t.InUse(dir):
			err = os.RemoveAll(dir)
		default:
			count++
		}
		if err != nil {
			return err
		}
	}
	if count >= maxTrees {
		return fault.New(fault.Limit, "there are %d uploaded trees, the maximum", count).Hint("delete sessions that are not needed any more")
	}
	return nil
}

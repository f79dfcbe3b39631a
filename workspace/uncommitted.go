package workspace

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"aibox/internal/amount"
	"aibox/internal/git"
	"aibox/internal/termtext"
)

// commitUncommitted finds the blob that the user's repository stores, or would store, for
// each copied file. It records uncommitted work as a commit on top of the starting one, in
// the store.
func (p *preparation) commitUncommitted(ctx context.Context) error {
	if p.src.asIs {
		if err := p.resolveStored(ctx); err != nil {
			return err
		}
	}
	c := p.difference()
	refName := p.baseRef()
	if len(c.Put) == 0 && len(c.Remove) == 0 {
		if err := p.store.git.Run(ctx, nil, nil, "update-ref", refName, p.src.head); err != nil {
			return err
		}
		p.ws.BaseTree = p.src.tree
		if p.ws.BaseTree != "" {
			return nil
		}
		var err error
		p.ws.BaseTree, err = p.store.git.Line(ctx, "rev-parse", "--verify", refName+"^{tree}")
		return err
	}
	c.Ref, c.Parent, c.Who = refName, p.src.head, p.src.settings.who
	c.Message = "Uncommitted work before aibox session " + p.ws.Session + "\n"
	im := p.store.git.Import(ctx)
	err := errors.Join(p.putLinks(im), p.putAssumed(ctx, im), im.Commit(c))
	if err == nil {
		p.ws.Uncommitted, p.ws.BaseTree, err = im.Made()
	}
	return im.End(err)
}

// difference compares the copied files with the starting commit.
func (p *preparation) difference() git.Commit {
	var c git.Commit
	there := make(map[string]bool, len(p.files))
	for _, f := range p.files {
		if f.gone {
			continue
		}
		there[f.Path] = true
		if was := p.list.head[f.Path]; was.Mode != f.Mode || was.ID != hexID(f.Stored) {
			c.Put = append(c.Put, git.Entry{Mode: f.Mode, ID: hexID(f.Stored), Path: f.Path})
		}
	}
	for path := range p.list.head {
		if !there[path] && !p.list.absent[path] {
			c.Remove = append(c.Remove, path)
		}
	}
	slices.Sort(c.Remove)
	for _, m := range p.modules { // as they are checked out, since git would commit that
		path := strings.TrimPrefix(strings.TrimSuffix(m.src.prefix, "/"), p.src.prefix)
		if p.list.head[path].ID != m.src.head {
			c.Put = append(c.Put, git.Entry{Mode: git.Submodule, ID: m.src.head, Path: path})
		}
	}
	return c
}

// baseRef returns the ref that keeps the starting commit of the repository or submodule.
func (p *preparation) baseRef() string {
	if p.src.prefix == "" {
		return ref(p.ws.Session, "base")
	}
	sum := sha256.Sum256([]byte(p.src.prefix))
	return ref(p.ws.Session, "base-"+hex.EncodeToString(sum[:6]))
}

// putLinks stores the targets of the symlinks.
func (p *preparation) putLinks(im *git.Import) error {
	for _, f := range p.files {
		if f.Mode != git.Symlink || f.gone || p.list.head[f.Path].ID == hexID(f.Stored) {
			continue
		}
		if err := im.Blob(int64(len(f.content)), bytes.NewReader(f.content)); err != nil {
			return err
		}
	}
	return nil
}

// putAssumed stores the blobs that the index has, and the starting commit does not, of files marked
// assume-unchanged. The user has changed these files since.
func (p *preparation) putAssumed(ctx context.Context, im *git.Import) (err error) {
	var blobs *git.Blobs
	for _, f := range p.files {
		id := hexID(f.Stored)
		if f.gone || f.Stored == f.Raw || !p.list.assumed[f.Path] || p.list.index[f.Path].ID != id || p.list.head[f.Path].ID == id {
			continue
		}
		if blobs == nil {
			blobs = p.src.git.Blobs(ctx)
			defer func() { err = errors.Join(err, blobs.Close()) }()
		}
		content, err := blobs.Read(id)
		if err == nil {
			err = im.Blob(int64(len(content)), bytes.NewReader(content))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// resolveStored finds the blob that the user's own git stores for each file, after the
// user's line-ending rules and filters.
func (p *preparation) resolveStored(ctx context.Context) error {
	var odd, toHash []int
	for i := range p.files {
		f := &p.files[i]
		f.Stored = f.Raw
		if f.gone || f.Mode == git.Symlink {
			continue
		}
		tracked, known := p.list.index[f.Path]
		switch {
		case !known || tracked.ID == hexID(f.Raw) && p.list.head[f.Path].ID != tracked.ID:
			toHash = append(toHash, i)
		case tracked.ID != hexID(f.Raw):
			odd = append(odd, i)
		}
	}
	odd, err := p.keepFiltered(ctx, odd)
	if err != nil {
		return err
	}
	toHash = append(toHash, odd...)
	if err := p.hashAsUser(ctx, toHash); err != nil {
		return err
	}
	return p.keepAssumed(toHash)
}

// keepAssumed gives the files that the user marked assume-unchanged the blob of the index again:
// git never commits what the user changed there, such as a password, and no branch may have it.
// It notes these files, since the user's lines then look like the agent's.
func (p *preparation) keepAssumed(hashed []int) error {
	var changed []string
	for _, i := range hashed {
		f := &p.files[i]
		tracked := p.list.index[f.Path]
		if !p.list.assumed[f.Path] || hexID(f.Stored) == tracked.ID {
			continue
		}
		changed = append(changed, p.src.prefix+f.Path)
		if err := p.setStored(f, tracked.ID); err != nil {
			return err
		}
	}
	if len(changed) == 0 {
		return nil
	}
	what := termtext.Escape(changed[0]) + " is"
	if more := len(changed) - 1; more > 0 {
		what = fmt.Sprintf("%s and %s are", termtext.Escape(changed[0]), amount.Of(more, "other file"))
	}
	p.list.notes = append(p.list.notes, what+" marked assume-unchanged: your own changes there count as the agent's, once it changes the same file")
	return nil
}

// keepFiltered checks tracked files whose bytes differ from the index. Files that the user's
// git calls unmodified have a filter and keep their blob; it returns the others, those of
// which git says nothing because they are marked assume-unchanged, and those that the user has
// changed since they were copied.
func (p *preparation) keepFiltered(ctx context.Context, odd []int) ([]int, error) {
	if len(odd) == 0 {
		return nil, nil
	}
	modified, err := p.src.git.Records(ctx, "diff-files", "--name-only", "-z", "--ignore-submodules=all", "--no-ext-diff")
	if err != nil {
		return nil, fmt.Errorf("git: %s", git.Message(err))
	}
	isModified := make(map[string]bool, len(modified))
	for _, path := range modified {
		isModified[path] = true
	}
	odd, rest := p.asCopied(odd) // what git says about the others is not about the copies
	for _, i := range odd {
		f := &p.files[i]
		tracked := p.list.index[f.Path]
		if isModified[f.Path] || p.list.assumed[f.Path] || p.list.head[f.Path].ID != tracked.ID {
			rest = append(rest, i)
			continue
		}
		if err := p.setStored(f, tracked.ID); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

// asCopied splits files into those that the user has not changed since they were copied, and the others.
func (p *preparation) asCopied(which []int) (same, changed []int) {
	for _, i := range which {
		f := &p.files[i]
		var st unix.Stat_t
		err := unix.Lstat(join(p.src.top, f.Path), &st)
		if err == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && uint64(st.Size) == f.Stat.Size && st.Mtim.Nano() == f.mtime {
			same = append(same, i)
		} else {
			changed = append(changed, i)
		}
	}
	return same, changed
}

// hashAsUser stores the copied files as the user's own git would add them, and records their ids. Git gets
// them from the user's folder, where it finds filters and rules that the agent does not get, except those that
// the user has changed since they were copied.
func (p *preparation) hashAsUser(ctx context.Context, which []int) error {
	same, changed := p.asCopied(which)
	err := p.hashIn(ctx, p.src.top, same)
	same, more := p.asCopied(same)
	if err != nil && len(more) > 0 { // one of them may have disappeared
		err = p.hashAsUser(ctx, same)
	}
	if err != nil {
		return err
	}
	return p.hashIn(ctx, p.ws.Path, append(changed, more...))
}

// hashIn is hashAsUser for files in a work tree: the user's folder or the copy. It writes to the store, and
// neither to the user's repository nor to its index.
func (p *preparation) hashIn(ctx context.Context, tree string, which []int) error {
	if len(which) == 0 {
		return nil
	}
	index := filepath.Join(p.store.dir, "aibox", p.ws.Session+".index")
	defer os.Remove(index)
	var known, names bytes.Buffer
	for _, i := range which {
		path := p.files[i].Path
		names.WriteString(path + "\x00")
		if e, ok := p.list.index[path]; ok { // git does not convert the line endings of a text that it stores with CRLF
			fmt.Fprintf(&known, "%s %s\t%s\x00", e.Mode, e.ID, path)
		}
	}
	repo := git.Beside(p.src.gitDir, tree, index).With( // without alternates, since git does not write objects that an alternate has
		"GIT_OBJECT_DIRECTORY="+filepath.Join(p.store.dir, "objects"), "GIT_ALTERNATE_OBJECT_DIRECTORIES=",
	)
	err := repo.Run(ctx, &known, nil, "update-index", "-z", "--index-info")
	if err == nil {
		err = repo.Run(ctx, &names, nil, "update-index", "-z", "--add", "--stdin")
	}
	if err != nil {
		return fmt.Errorf("git: %s", git.Message(err))
	}
	stored, err := repo.Index(ctx)
	if err != nil {
		return fmt.Errorf("git: %s", git.Message(err))
	}
	for _, i := range which {
		f := &p.files[i]
		if stored[f.Path] == "" {
			return fmt.Errorf("git did not store %s", termtext.Escape(f.Path))
		}
		if err := p.setStored(f, stored[f.Path]); err != nil {
			return err
		}
	}
	return nil
}

// setStored records the user's blob, and whether it differs only in line endings.
func (p *preparation) setStored(f *copied, id string) error {
	raw, err := hex.DecodeString(id)
	if err != nil {
		return err
	}
	f.Stored = string(raw)
	if f.Stored == f.Raw || f.Stat.Size > 16<<20 {
		return nil
	}
	data, err := os.ReadFile(join(p.ws.Path, f.Path)) // our own copy, which no agent has seen yet
	if err != nil {
		return err
	}
	f.EOL = p.src.format.BlobID(UnixLines(data)) == id
	return nil
}

// UnixLines replaces CRLF with LF, as git stores text.
func UnixLines(data []byte) []byte { return bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")) }

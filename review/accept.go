package review

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"aibox/internal/fault"
	"aibox/internal/git"
	"aibox/internal/termtext"
	"aibox/workspace"

	"golang.org/x/sys/unix"
)

// AcceptOptions say how the work is delivered.
type AcceptOptions struct {
	Branch  string // without refs/heads/; empty means aibox/<session>, with a suffix when taken. A named branch that exists is a Conflict
	Message string // the commit message; empty means a plain one
}

// Accepted tells where the work is.
type Accepted struct {
	Branch      string `json:"branch"` // without refs/heads/
	Commit      string `json:"commit"`
	Uncommitted string `json:"uncommitted,omitempty"` // the commit below it that holds the user's uncommitted work
	Files       int    `json:"files"`
	Repo        string `json:"repo"`
}

// Accept makes a commit of the whole change set on a new branch in the user's
// repository, in the user's name. The working tree, the index and HEAD stay
// untouched. It returns ErrNothing when there is no change.
func Accept(ctx context.Context, ws *workspace.Workspace, cs *ChangeSet, opts AcceptOptions) (*Accepted, error) {
	if cs.Empty() {
		return nil, ErrNothing
	}
	if _, err := Save(ctx, ws, cs, Kept); err != nil {
		return nil, err
	}
	message := opts.Message
	if strings.TrimSpace(message) == "" {
		message = "Work of aibox session " + ws.Session
	}
	d := &delivery{
		from: git.Owned(ws.GitDir), to: git.User(ws.Repo), repo: ws.Repo,
		tree: cs.Tree, parent: ws.BaseCommit(), message: message, who: workspace.Identity(ctx, ws),
	}
	if err := d.name(ctx, opts.Branch, ws.Session); err != nil {
		return nil, err
	}
	accepted, err := d.run(ctx)
	if err != nil {
		return nil, err
	}
	accepted.Uncommitted, accepted.Files = ws.Uncommitted, len(cs.Changes)
	return accepted, nil
}

// delivery brings one tree from the repository that aibox owns to a new branch
// in the user's repository.
type delivery struct {
	from, to *git.Repo
	repo     string // of the user, for messages
	tree     string
	parent   string
	message  string
	who      git.Signature
	branch   string // fixed name, or empty
	prefer   []string
}

// name settles what the branch may be called.
func (d *delivery) name(ctx context.Context, branch, fallback string) error {
	if branch == "" {
		// A branch that is called just "aibox" forbids names below it.
		d.prefer = []string{"aibox/" + fallback, "aibox-" + fallback}
		return nil
	}
	d.branch = branch
	if err := d.to.Run(ctx, nil, nil, "check-ref-format", "refs/heads/"+branch); err != nil || strings.HasPrefix(branch, "-") {
		return fault.New(fault.Usage, "%s cannot be the name of a branch", termtext.Escape(branch)).
			Hint("leave --branch out, or use letters, digits, dashes and slashes")
	}
	return nil
}

func (d *delivery) run(ctx context.Context) (*Accepted, error) {
	known, err := d.meeting(ctx)
	if err != nil {
		return nil, err
	}
	commit, err := d.commit(ctx)
	if err != nil {
		return nil, err
	}
	if err := d.transfer(ctx, commit, known); err != nil {
		return nil, err
	}
	branch, err := d.point(ctx, commit)
	if err != nil {
		return nil, err
	}
	return &Accepted{Branch: branch, Commit: commit, Repo: d.repo}, nil
}

// meeting is the newest commit below the work that the user's repository has.
func (d *delivery) meeting(ctx context.Context) (string, error) {
	if _, err := os.Stat(d.repo); err != nil {
		return "", fault.New(fault.Usage, "your repository %s is not there any more: %w", termtext.Escape(d.repo), err).
			Hint("put it back where it was; the work is kept: aibox recover")
	}
	for _, rev := range []string{d.parent, d.parent + "^"} {
		id, err := d.from.Line(ctx, "rev-parse", "--verify", "--quiet", rev+"^{commit}")
		if err != nil {
			continue
		}
		if d.to.Run(ctx, nil, nil, "cat-file", "-e", id+"^{commit}") == nil {
			return id, nil
		}
	}
	return "", fault.New(fault.Conflict, "your repository %s does not have the commit any more that the work started from", termtext.Escape(d.repo)).
		Hint("the work is kept; take it as a patch: aibox diff ID | git apply")
}

// commit makes the commit in the repository that aibox owns.
func (d *delivery) commit(ctx context.Context) (string, error) {
	date := fmt.Sprintf("%d %s", time.Now().Unix(), time.Now().Format("-0700"))
	repo := d.from.With(
		"GIT_AUTHOR_NAME="+d.who.Name, "GIT_AUTHOR_EMAIL="+d.who.Email, "GIT_AUTHOR_DATE="+date,
		"GIT_COMMITTER_NAME="+d.who.Name, "GIT_COMMITTER_EMAIL="+d.who.Email, "GIT_COMMITTER_DATE="+date,
	)
	message := strings.TrimRight(strings.ReplaceAll(d.message, "\x00", ""), "\n") + "\n"
	var out strings.Builder
	err := repo.Run(ctx, strings.NewReader(message), &out, "commit-tree", "-p", d.parent, "-F", "-", d.tree)
	if err != nil {
		return "", fmt.Errorf("making the commit: %s", git.Message(err))
	}
	return strings.TrimSpace(out.String()), nil
}

// transfer copies the objects that the user's repository lacks. git checks each
// one on the way in and refuses what could harm a later checkout.
func (d *delivery) transfer(ctx context.Context, commit, known string) error {
	list, err := d.from.Output(ctx, "rev-list", "--objects", commit, "^"+known)
	if err != nil {
		return fmt.Errorf("listing the objects: %s", git.Message(err))
	}
	read, write := io.Pipe()
	packed := make(chan error, 1)
	go func() {
		err := d.from.Run(ctx, strings.NewReader(string(list)), write, "pack-objects", "-q", "--stdout", "--window=0")
		write.CloseWithError(err)
		packed <- err
	}()
	unpack := []string{"unpack-objects", "-q", "--strict"}
	if strings.Count(string(list), "\n") > 500 {
		unpack = []string{"index-pack", "--stdin", "--strict"}
	}
	err = d.to.Run(ctx, read, nil, unpack...)
	read.CloseWithError(io.ErrClosedPipe)
	if packErr := <-packed; packErr != nil && err == nil {
		err = packErr
	}
	if err != nil {
		return fault.New(whoseFault(git.Message(err)), "git does not take the work into %s: %s", termtext.Escape(d.repo), git.Message(err)).
			Hint("the work is kept; look at it with: aibox diff")
	}
	return nil
}

// whoseFault tells a disk that takes nothing from objects that git refuses, by the
// words of the C library that git repeats.
func whoseFault(message string) fault.Kind {
	for _, errno := range []syscall.Errno{unix.EROFS, unix.ENOSPC, unix.EDQUOT, unix.EACCES, unix.EIO} {
		if strings.Contains(strings.ToLower(message), errno.Error()) {
			return fault.Environment
		}
	}
	return fault.Refused
}

// suffixes bounds how many names are tried for a branch.
const suffixes = 1000

// point makes the branch. It never moves one that exists.
func (d *delivery) point(ctx context.Context, commit string) (string, error) {
	create := func(branch string) error {
		return d.to.Run(ctx, nil, nil, "update-ref", "-m", "aibox accept", "--no-deref", "refs/heads/"+branch, commit, strings.Repeat("0", len(commit)))
	}
	taken := func(branch string) bool {
		return d.to.Run(ctx, nil, nil, "show-ref", "--verify", "--quiet", "refs/heads/"+branch) == nil
	}
	if d.branch != "" {
		if taken(d.branch) {
			return "", fault.New(fault.Conflict, "the branch %s exists already", termtext.Escape(d.branch)).
				Hint("name another with --branch, or leave it out")
		}
		if err := create(d.branch); err != nil {
			return "", fmt.Errorf("making the branch %s: %s", termtext.Escape(d.branch), git.Message(err))
		}
		return d.branch, nil
	}
	var last error
	for _, name := range d.prefer {
		for n := 1; n < suffixes; n++ {
			branch := name
			if n > 1 {
				branch = fmt.Sprintf("%s-%d", name, n)
			}
			if taken(branch) {
				continue
			}
			if last = create(branch); last == nil {
				return branch, nil
			}
			if !taken(branch) {
				break // not a matter of the number
			}
		}
	}
	if last == nil {
		last = errors.New("every name is taken")
	}
	return "", fmt.Errorf("making a branch in %s: %s", termtext.Escape(d.repo), git.Message(last))
}

package workspace

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"aibox/internal/git"
)

// The workspace of a repository without any commit starts from an empty commit that aibox
// creates in its own repository. It is never delivered to the user's: accepted work begins
// with a commit that has no parent.

// startSubject is the subject of that commit.
const startSubject = "Before the first commit"

// isUnborn reports whether the branch that is checked out has no commit yet.
func (s *source) isUnborn(ctx context.Context) bool {
	return s.headRef != "" && s.git.Run(ctx, nil, nil, "rev-parse", "--verify", "--quiet", s.headRef) != nil
}

// begin creates the empty commit, and lets the source find it as if it were one of its own
// objects.
func (s *store) begin(ctx context.Context, src *source) error {
	tree, err := emptyTree(ctx, s.dir)
	if err != nil {
		return fmt.Errorf("making an empty start: %s", git.Message(err))
	}
	who := git.Signature{Name: "aibox", Email: "aibox@localhost", When: time.Now()}
	date := fmt.Sprintf("%d +0000", who.When.Unix())
	var out strings.Builder
	err = s.git.With(
		"GIT_AUTHOR_NAME="+who.Name, "GIT_AUTHOR_EMAIL="+who.Email, "GIT_AUTHOR_DATE="+date,
		"GIT_COMMITTER_NAME="+who.Name, "GIT_COMMITTER_EMAIL="+who.Email, "GIT_COMMITTER_DATE="+date,
	).Run(ctx, nil, &out, "commit-tree", "-m", startSubject, tree)
	if err != nil {
		return fmt.Errorf("making an empty start: %s", git.Message(err))
	}
	src.head = strings.TrimSpace(out.String())
	src.git = src.git.With(
		"GIT_OBJECT_DIRECTORY="+filepath.Join(s.dir, "objects"),
		"GIT_ALTERNATE_OBJECT_DIRECTORIES="+git.Quote(filepath.Join(src.common, "objects")),
	)
	return nil
}

// IsStart reports whether commit, in the repository that aibox owns, is the empty one before a
// repository's first commit.
func IsStart(ctx context.Context, owned *git.Repo, commit string) bool {
	said, err := owned.Line(ctx, "show", "--no-patch", "--format=%P|%T|%s", "--end-of-options", commit)
	if err != nil {
		return false
	}
	parents, rest, _ := strings.Cut(said, "|")
	tree, subject, _ := strings.Cut(rest, "|")
	if parents != "" || subject != startSubject {
		return false
	}
	files, err := owned.Output(ctx, "ls-tree", tree)
	return err == nil && len(files) == 0
}

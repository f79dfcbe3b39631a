package git

import (
	"context"
	"fmt"
	"strings"
)

// CommitTree creates a commit of a tree on parent, or a first commit if parent is empty, and
// returns its id. No ref points to it.
func (r *Repo) CommitTree(ctx context.Context, tree, parent, message string, who Signature) (string, error) {
	date := fmt.Sprintf("%d %s", who.When.Unix(), who.When.Format("-0700"))
	repo := r.With(
		"GIT_AUTHOR_NAME="+who.Name, "GIT_AUTHOR_EMAIL="+who.Email, "GIT_AUTHOR_DATE="+date,
		"GIT_COMMITTER_NAME="+who.Name, "GIT_COMMITTER_EMAIL="+who.Email, "GIT_COMMITTER_DATE="+date,
	)
	args := []string{"commit-tree"}
	if parent != "" {
		args = append(args, "-p", parent)
	}
	text := strings.TrimRight(strings.ReplaceAll(message, "\x00", ""), "\n") + "\n"
	var out strings.Builder
	err := repo.Run(ctx, strings.NewReader(text), &out, append(args, "-F", "-", tree)...)
	return strings.TrimSpace(out.String()), err
}

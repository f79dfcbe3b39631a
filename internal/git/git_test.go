package git_test

import (
	"path/filepath"
	"strings"
	"testing"

	"aibox/internal/git"
)

// A value means the same to aibox as to git.
func TestValuesAreTrueAsGitTakesThem(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "repository.git")
	repo := git.Owned(folder)
	if err := repo.Run(t.Context(), nil, nil, "init", "--quiet", "--bare", folder); err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{"true", "TRUE", "yes", "On", "1", "7", "-1", "false", "No", "off", "0", ""} {
		said, err := repo.Line(t.Context(), "-c", "core.symlinks="+value, "config", "--type=bool", "core.symlinks")
		if err != nil || said != "true" && said != "false" {
			t.Fatalf("git says %q, %v", said, err)
		}
		if got := git.IsTrue(value, true); got != (said == "true") {
			t.Errorf("%q is %v, but git says %s", value, got, strings.TrimSpace(said))
		}
	}
	if !git.IsTrue("", false) {
		t.Error("a name without a value is not true")
	}
}

package git_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

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
		if err := repo.Run(t.Context(), nil, nil, "config", "core.symlinks", value); err != nil {
			t.Fatal(err)
		}
		settings, err := repo.Settings(t.Context(), `^core\.symlinks$`)
		if err != nil || len(settings) != 1 || settings[0].Name != "core.symlinks" || settings[0].Value != value {
			t.Fatalf("the settings are %+v, %v", settings, err)
		}
		if got := settings[0].IsTrue(); got != (said == "true") {
			t.Errorf("%q is %v, but git says %s", value, got, strings.TrimSpace(said))
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "config"), []byte("[core]\n\tbare\n\trepositoryformatversion = 0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	settings, err := repo.Settings(t.Context(), `^core\.bare$`)
	if err != nil || len(settings) != 1 || !settings[0].IsTrue() {
		t.Errorf("a name without a value is %+v, %v", settings, err)
	}
	if settings, err := repo.Settings(t.Context(), `^no\.such$`); err != nil || len(settings) != 0 {
		t.Errorf("what is not set is %+v, %v", settings, err)
	}
}

// The settings of an owned repository are those of the disk that it was made on, which may not
// tell names apart by case. The names of files in it come from another disk.
func TestAnImportTellsNamesApartByCase(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "repository.git")
	repo := git.Owned(folder)
	for _, args := range [][]string{{"init", "--quiet", "--bare", folder}, {"config", "core.ignoreCase", "true"}} {
		if err := repo.Run(t.Context(), nil, nil, args...); err != nil {
			t.Fatal(err)
		}
	}
	empty, err := repo.Line(t.Context(), "hash-object", "-w", "--stdin")
	if err != nil {
		t.Fatal(err)
	}
	commit := git.Commit{Ref: "refs/heads/x", Message: "names\n", Who: git.Signature{Name: "aibox", When: time.Now()}}
	names := []string{"Folder/a", "README", "folder/b", "readme"}
	for _, name := range names {
		commit.Put = append(commit.Put, git.Entry{Mode: git.File, ID: empty, Path: name})
	}
	_, tree, err := repo.ImportCommit(t.Context(), commit)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for entry, err := range repo.Entries(t.Context(), tree) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, entry.Path)
	}
	if !slices.Equal(got, names) {
		t.Errorf("the tree has %q", got)
	}
}

package git_test

import (
	"os"
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

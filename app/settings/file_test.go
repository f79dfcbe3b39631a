package settings_test

import (
	"os"
	"slices"
	"testing"

	"aibox/app/settings"
	"aibox/config"
	"aibox/internal/fault"
)

func TestAFileThatOthersCanWriteToIsNotOneToEdit(t *testing.T) {
	file := userFile(t)
	write(t, file, "")
	if err := os.Chmod(file, 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := config.ReadUser(file)
	if got := fault.Hints(settings.Fault(err)); !slices.Equal(got, []string{"chmod go-w " + file}) {
		t.Errorf("%v has the hints %q", err, got)
	}
}

package app

import (
	"os"
	"path/filepath"
	"testing"

	"aibox/netguard/gateway/modelserver"
)

// An answer applies to one user at one address. Only the user can read the file.
func TestAnAnswerAboutAServerAppliesOnlyToThatUserAndPort(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_STATE_HOME", "")
	bob := modelserver.Owner{Address: "127.0.0.1:8000", UID: 1001, Name: "bob"}
	if admitsOwner(bob) {
		t.Error("nobody was asked, and the server is admitted")
	}
	owners, err := openServerOwners()
	if err != nil {
		t.Fatal(err)
	}
	if err := owners.remember(bob, true); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(owners.file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info, err)
	}
	for _, test := range []struct {
		owner modelserver.Owner
		want  bool
	}{
		{bob, true},
		{modelserver.Owner{Address: "127.0.0.1:8001", UID: 1001, Name: "bob"}, false},
		{modelserver.Owner{Address: "127.0.0.1:8000", UID: 1002, Name: "eve"}, false},
		{modelserver.Owner{Address: "127.0.0.1:8000", UID: 1001, Name: "carol"}, false}, // the uid was assigned to another user
	} {
		if got := admitsOwner(test.owner); got != test.want {
			t.Errorf("%+v: %t", test.owner, got)
		}
	}
	if err := owners.remember(bob, false); err != nil {
		t.Fatal(err)
	}
	if use, said := owners.decision(bob); use || !said || admitsOwner(bob) {
		t.Errorf("after a no: %t, %t", use, said)
	}
	if err := os.WriteFile(owners.file, []byte("[{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if admitsOwner(bob) {
		t.Error("a damaged file admits")
	}
	if filepath.Base(owners.file) != ownersFile {
		t.Error(owners.file)
	}
}
